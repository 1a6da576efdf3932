"""One value for each query or group of queries: mean, risk, abstention, variants, recall of neighbours, answers.

Risk: a system that is worse than others on some queries loses more than its mean shows. Abstention: whether a system
knows which of its rankings are poor, so that it could leave these queries out. Variants of a query: how rankings react
to another instruction, and how scores hold over a group of variants.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from cranfield import io
from cranfield.data import Floats, Judgments, Run
from cranfield.errors import InputError, UsageError
from cranfield.evaluation.scores import Scores
from cranfield.io.faults import quotable
from cranfield.io.formats.json import parse_json
from cranfield.io.side_tables import read_run_groups
from cranfield.io.streams import is_stream, open_stream
from cranfield.io.values import by_text
from cranfield.ranking.alignment import Aligner
from cranfield.ranking.tie_rules import TieRule, Ties, tie_rule
from cranfield.settings import Count, NotNegative, checked
from cranfield.statistics.rounding import SAME


class QueryValues(NamedTuple):
    """The mean, and the values that it is the mean of, by query or by group of queries. NaN: undefined.

    Undefined values do not count in the mean.
    """

    mean: float
    values: dict[str, float]

    @classmethod
    def of(cls, values: Mapping[str, float]) -> QueryValues:
        """These values and their mean."""
        counted = [value for value in values.values() if not math.isnan(value)]
        return cls(math.fsum(counted) / len(counted) if counted else math.nan, dict(values))


def values_of(scores: Any, run: str | None = None, measure: str | None = None) -> dict[str, float]:
    """One value for each query: of one run and measure of some scores, or of ``{query: value}``."""
    if not isinstance(scores, Scores):
        if not isinstance(scores, Mapping):
            raise UsageError(
                f"cannot take scores of queries from {type(scores).__name__}",
                hint="give the result of evaluate, or {query: score}",
            )
        values = by_text(scores, "scores")
        return {query: math.nan if value is None else float(value) for query, value in values.items()}
    r, m = choose(scores.runs, run, "run"), choose(scores.measures, measure, "measure")
    undefined = {"zero": 0.0, "one": 1.0}.get(scores.undefined, math.nan)
    return {q: undefined if value is None else value for q, value in scores._query_values(r, m).items()}


def choose(names: tuple[str, ...], name: str | None, kind: str) -> int:
    """The index of a name; without one, there must be a single name."""
    if name is None and len(names) == 1:
        return 0
    if name not in names:
        raise UsageError(
            f"the scores have {len(names)} {kind}s" if name is None else f"the scores have no {kind} `{name}`",
            hint=f"choose one with {kind}=: {', '.join(names)}",
        )
    return names.index(name)


@checked
def urisk(scores: Any, baseline: str, *, alpha: NotNegative = 1.0, measure: str | None = None) -> dict[str, float]:
    """URisk of every run but the baseline: its mean gain over the baseline, where losses count (1 + alpha) times.

    ``scores``: the result of `evaluate`, or ``{run: {query: score}}``; ``measure`` chooses among several. Queries
    count that have a score in every run. With ``alpha=0`` it is the difference of the means.

    >>> round(urisk({"old": {"1": 0.5, "2": 0.5}, "new": {"1": 0.9, "2": 0.4}}, "old")["new"], 6)
    0.1
    """
    runs, values = _table(scores, measure)
    at = choose(runs, baseline, "run")
    found = risk_utility(values, values[at], alpha).tolist() if values.size else [math.nan] * len(runs)
    return {run: value for run, value in zip(runs, found, strict=True) if run != baseline}


@checked
def georisk(scores: Any, *, alpha: NotNegative = 1.0, measure: str | None = None) -> dict[str, float]:
    """GeoRisk of every run among all of them: high if its mean is high and no query scores far below expectation.

    ``scores``: the result of `evaluate`, or ``{run: {query: score}}``, with all the runs to compare; ``measure``
    chooses among several. Queries count that have a score in every run.

    >>> found = georisk({"a": {"1": 0.5, "2": 0.5}, "b": {"1": 0.9, "2": 0.1}})
    >>> {run: round(value, 4) for run, value in found.items()}
    {'a': 0.4886, 'b': 0.4489}
    """
    runs, values = _table(scores, measure)
    if (values < 0).any():
        raise UsageError("GeoRisk needs scores that are not negative")
    found = geometric_risk(values, alpha).tolist() if values.size else [math.nan] * len(runs)
    return dict(zip(runs, found, strict=True))


def _table(scores: Any, measure: str | None) -> tuple[tuple[str, ...], Floats]:
    """The runs, and their values by (run, query)."""
    if isinstance(scores, Scores):
        return scores.runs, scores._matched(choose(scores.measures, measure, "measure"))[0]
    if not isinstance(scores, Mapping) or not scores or not all(isinstance(of, Mapping) for of in scores.values()):
        raise UsageError(
            "risk needs the scores of several runs", hint="give the result of evaluate, or {run: {query: score}}"
        )
    by_run = [{query: value for query, value in of.items() if value is not None} for of in scores.values()]
    common = [query for query in by_run[0] if all(query in of for of in by_run)]
    values = np.array([[of[query] for query in common] for of in by_run], np.float64).reshape(len(by_run), -1)
    return tuple(map(str, scores)), values[:, ~np.isnan(values).any(axis=0)]


def risk_utility(values: Floats, baseline: Floats, alpha: float) -> Floats:
    """URisk of each system (Wang et al. 2012): the mean gain over a baseline; losses count (1 + alpha) times.

    ``values`` (system, query), ``baseline`` (query,).
    """
    difference = values - baseline
    return np.asarray(np.where(difference < 0, (1 + alpha) * difference, difference).mean(axis=-1))


def geometric_risk(values: Floats, alpha: float) -> Floats:
    """GeoRisk of each system (Dinçer et al. 2016): the geometric mean of effectiveness and of risk among all systems.

    ``values`` (system, query), not negative. A system is expected to have its share of what all systems have on a
    query. z is the difference from this in standard units; where it is negative it counts (1 + alpha) times.
    """
    from scipy.special import ndtr

    queries, total = values.shape[1], values.sum()
    expected = np.outer(values.sum(axis=1), values.sum(axis=0)) / (total if total > 0 else 1)
    z = (values - expected) / np.sqrt(np.where(expected > 0, expected, 1))
    risk = np.where(z < 0, (1 + alpha) * z, z).sum(axis=1) / queries
    return np.asarray(np.sqrt(values.mean(axis=1) * ndtr(risk)))


RATES = np.linspace(0, 1, 11)[:-1]  # the shares of queries that are left out

ConfidenceKind = Literal["max", "std", "diff1"]


class Confidence(NamedTuple):
    """How sure a system is of a ranking, by its scores.

    ``max``: the best score; ``std``: the standard deviation of all scores; ``diff1``: the best score minus the second.
    """

    max: float
    std: float
    diff1: float

    @classmethod
    def of(cls, scores: Sequence[float]) -> Confidence:
        """The confidence of one ranking from the scores of its documents, in any order.

        >>> Confidence.of([3.0, 1.0, 2.0]).diff1
        1.0
        """
        if len(scores) == 0:
            return cls(math.nan, math.nan, math.nan)
        ranked = np.sort(np.asarray(scores, np.float64))[::-1]
        return cls(float(ranked[0]), float(ranked.std()), float(ranked[0] - ranked[1]) if len(ranked) > 1 else 0.0)


@checked
def confidence(run: Any, by: ConfidenceKind = "max") -> dict[str, float]:
    """The confidence of each ranking of a run.

    >>> confidence({"q": {"a": 3.0, "b": 1.0}}, "diff1")
    {'q': 2.0}
    """
    table = io.load(io.read_run(run))
    scores: dict[str, list[float]] = {}
    for query, score in zip(table.query, table.score.tolist(), strict=True):
        scores.setdefault(query, []).append(score)
    return {query: getattr(Confidence.of(of_query), by) for query, of_query in scores.items()}


def nauc(
    confidence: Mapping[str, float] | Sequence[float] | Floats,
    scores: Mapping[str, float | None] | Sequence[float] | Floats,
) -> float:
    """NAUC of abstention: how much leaving out the least confident queries raises the mean score.

    ``confidence``, ``scores``: one number for each query, by query or in the same order. For each rate 0, 0.1, ... 0.9
    this share of the queries is left out, those with the least confidence first, and the scores of the others are
    averaged. The area under these means is scaled: leaving out queries at random gives 0, and leaving out those with
    the lowest scores gives 1. NaN (undefined) if all scores are equal. Among queries with equal confidence the result
    is the mean over all orders in which they may be left out, so the order of the queries does not matter.

    >>> nauc([0.9, 0.1, 0.5, 0.7], [1, 0, 0.5, 0.8])
    1.0
    >>> nauc([0.5, 0.5], [1, 0])
    0.0
    """
    sure, values = _paired(confidence, scores)
    if len(values) == 0:
        return math.nan
    order = np.lexsort((values, sure))  # sums are the same to the last bit for every order of the queries
    sure, values = sure[order], values[order]
    found, best = _area(sure, values), _area(values, values)
    random = float((RATES[-1] - RATES[0]) * values.mean())
    return math.nan if abs(best - random) <= SAME else (found - random) / (best - random)


def _paired(confidence: Any, scores: Any) -> tuple[Floats, Floats]:
    if isinstance(confidence, Mapping) != isinstance(scores, Mapping):
        raise UsageError("confidence and scores must both be by query, or both be lists")
    if isinstance(scores, Mapping):
        values = by_text(scores, "scores")
        defined = {query: value for query, value in values.items() if value is not None and not math.isnan(value)}
        given = by_text(confidence, "confidence")
        faults = [f"query `{quotable(query)}` has no confidence" for query in defined if query not in given]
        if faults:
            raise InputError(faults)
        confidence, scores = [given[query] for query in defined], list(defined.values())
    if len(confidence) != len(scores):
        raise UsageError(f"expected a confidence for each of {len(scores)} scores, not {len(confidence)}")
    return np.asarray(confidence, np.float64), np.asarray(scores, np.float64)


def _area(key: Floats, values: Floats) -> float:
    """The area under the mean of the values that remain, where those with the lowest keys are left out first.

    Any value of a group with equal keys may remain, so each counts as the mean of its group.
    """
    _, group, size = np.unique(key, return_inverse=True, return_counts=True)
    expected = np.repeat(np.bincount(group, values) / size, size)
    left_out = np.minimum(np.round(RATES * len(expected)), len(expected) - 1).astype(np.int64)
    means = np.array([expected[n:].mean() for n in left_out])
    return float((np.diff(RATES) * (means[1:] + means[:-1]) / 2).sum())


ABSOLUTE, RELATIVE = 1e-3, 0.01  # the tolerances of ann-benchmarks


@checked
def ann_recall(
    true_distances: Any,
    found_distances: Any,
    count: Count,
    *,
    relative: bool = False,
    epsilon: NotNegative | None = None,
) -> QueryValues:
    """Recall as in ann-benchmarks: the share of ``count`` neighbours that are as near as the true ones.

    ``true_distances``: the distances of the true neighbours, nearest first; ``found_distances``: those of the
    neighbours found, in their order. Both are a list for one query, a list of lists, or ``{query: list}``.
    With t, the distance of the true neighbour number ``count``, a neighbour counts if its distance is at most
    t + epsilon (default 0.001), or with ``relative`` at most t (1 + epsilon) (default 0.01). Ids are not compared, so
    that ties at t all count. If fewer neighbours were found, the others count 0.

    >>> ann_recall([0.1, 0.2, 0.2, 0.5], [0.1, 0.2, 0.5, 0.6], 2).mean
    1.0
    """
    tolerance = (RELATIVE if relative else ABSOLUTE) if epsilon is None else epsilon
    true, found = _by_query(true_distances), _by_query(found_distances)
    faults, values = [], {}
    for query, distances in true.items():
        exact = np.sort(np.asarray(distances, np.float64))
        given = np.asarray(found.get(query, ()), np.float64)[:count]
        name = f"query `{quotable(query)}`"
        if len(exact) < count:
            faults.append(f"{name}: expected {count} true distances, found {len(exact)}")
        elif np.isnan(exact).any() or np.isnan(given).any():
            faults.append(f"{name}: a distance is NaN")
        elif relative and (exact.min() < 0 or given.min(initial=0) < 0):
            faults.append(f"{name}: a distance is negative, and has no relative tolerance")
        else:
            limit = exact[count - 1]
            limit = limit * (1 + tolerance) if relative else limit + tolerance
            values[query] = float((given <= limit).sum()) / count
    faults += [f"query `{quotable(query)}` has no true distances" for query in found if query not in true]
    if faults:
        raise InputError(faults)
    return QueryValues.of(values)


def _by_query(distances: Any) -> dict[str, Sequence[float]]:
    """The distances of each query; the queries of a list are numbered from 0."""
    if isinstance(distances, Mapping):
        return by_text(distances, "distances")
    rows = list(distances)
    nested = bool(rows) and np.ndim(rows[0]) > 0
    return {str(i): row for i, row in enumerate(rows)} if nested else {"0": rows}


Groups = Mapping[str, str] | Callable[[str], str]


def p_mrr(original: Any, changed: Any, documents: Any, *, ties: Ties | None = None) -> QueryValues:
    """p-MRR of FollowIR: how far documents sink that a changed instruction makes non-relevant.

    ``original``, ``changed``: the runs for the original queries and for the changed ones, under the same query ids.
    ``documents``: the documents of each query whose relevance changed, ``{query: [document, ...]}`` or judgments. With
    rank r before and s after the change, a document counts s/r - 1 if r ≥ s, else 1 - r/s; a document that is not
    retrieved counts as ranked right below the end. The values are means over the documents of a query, in [-1, 1];
    above 0, documents sank, as they should. A query that is not in both runs is left out. ``ties='expected'`` is the
    mean over all orders of tied documents.

    >>> p_mrr({"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, {"q": {"b": 3.0, "c": 2.0, "a": 1.0}}, {"q": ["a"]}).mean
    0.6666666666666667
    """
    rule = tie_rule(ties)
    if rule.arrange is not None:
        raise UsageError(
            f"p-MRR has no {ties} order of tied documents", hint="ties=expected is the mean over all orders"
        )
    judgments = _as_judgments(documents)
    before, after = (_ranks(io.read_run(run), judgments, rule) for run in (original, changed))
    values = {}
    for q, query in enumerate(judgments.queries):
        rows = range(int(judgments.begin[q]), int(judgments.begin[q + 1]))
        if q in before and q in after:
            values[query] = math.fsum(_change(before[q][d], after[q][d]) for d in rows) / len(rows)
    return QueryValues.of(values)


def _as_judgments(documents: Any) -> Judgments:
    if isinstance(documents, Mapping):
        documents = {query: list(listed) for query, listed in documents.items() if len(listed)}
    judgments = io.read_qrels(documents, name="documents")
    if not len(judgments.queries):
        message = "no query has changed documents"
        raise InputError([message])
    return judgments


def _ranks(run: Run, judgments: Judgments, rule: TieRule) -> dict[int, dict[int, Floats]]:
    """For each query of the run, the possible ranks of each document; all are equally likely."""
    alignment = Aligner(judgments).align(run, rule.key)
    positions, begin = alignment.positions, judgments.begin
    ranks = {
        q: dict.fromkeys(range(int(begin[q]), int(begin[q + 1])), np.array([length + 1.0]))
        for q, length in enumerate(alignment.length.tolist())
        if length >= 0
    }
    query, document, start, size, *_ = positions
    first = start + 1.0 + (0 if rule.position is None else getattr(positions, rule.position))
    count = size if rule.position is None else np.ones_like(size)
    for q, d, rank, n in zip(query.tolist(), document.tolist(), first, count.tolist(), strict=True):
        ranks[q][d] = rank + np.arange(n)
    return ranks


def _change(before: Floats, after: Floats) -> float:
    """The mean of p-MRR over all pairs of a rank before and a rank after the change."""
    r, s = before[:, None], after[None, :]
    return float(np.where(r >= s, s / r - 1, 1 - r / s).mean())


def robustness(
    scores: Any, groups: Groups | Any = None, *, run: str | None = None, measure: str | None = None
) -> QueryValues:
    """Robustness of InstructIR: the lowest score among the variants of a query, and the mean of these over queries.

    ``scores``: the result of `evaluate`, or ``{query: score}``; ``run`` and ``measure`` choose among several.
    ``groups``: which queries are variants of one another, ``{query: group}``, a file with lines ``query group``, or a
    function; by default the part of a query id before the first ``_``. A variant without a score counts 0.

    >>> robustness({"a_0": 0.5, "a_1": 0.25, "b_0": 1.0})
    QueryValues(mean=0.625, values={'a': 0.25, 'b': 1.0})
    """
    values = values_of(scores, run, measure)
    variants: dict[str, list[float]] = {}
    for query, group in _group_of(groups, values, lambda query: query.partition("_")[0]).items():
        variants.setdefault(group, []).append(values.get(query, 0.0))
    return QueryValues.of({group: _lowest(of_group) for group, of_group in variants.items()})


def _lowest(values: list[float]) -> float:
    return min((value for value in values if not math.isnan(value)), default=math.nan)


def paired_accuracy(
    scores: Any, pairs: Groups | Any = None, *, run: str | None = None, measure: str | None = None
) -> QueryValues:
    """Paired accuracy of NevIR: the share of query pairs in which both queries are right, that is, score 1.

    ``scores``: scores of the measure R@1, as the result of `evaluate` or as ``{query: score}``. ``pairs``: which two
    queries belong together, ``{query: pair}``, a file with lines ``query pair``, or a function; by default queries
    ``x_q1`` and ``x_q2`` are pair ``x``. A query with two relevant documents has a recall below 1 at rank 1, and
    counts as wrong.

    >>> paired_accuracy({"0_q1": 1.0, "0_q2": 1.0, "1_q1": 1.0, "1_q2": 0.0})
    QueryValues(mean=0.5, values={'0': 1.0, '1': 0.0})
    """
    values = values_of(scores, run, measure)
    members: dict[str, list[str]] = {}
    for query, pair in _group_of(pairs, values, _pair_of).items():
        members.setdefault(pair, []).append(query)
    faults = [
        f"pair `{quotable(pair)}` has {len(queries)} queries: {', '.join(f'`{quotable(q)}`' for q in queries[:5])}"
        for pair, queries in members.items()
        if len(queries) != 2
    ]
    faults += [f"query `{quotable(q)}` has no score" for of in members.values() for q in of if q not in values]
    if faults:
        raise InputError(faults, hint="a pair is two queries, such as `x_q1` and `x_q2`")
    accuracy = {}
    for pair, (first, second) in members.items():
        both = values[first], values[second]
        accuracy[pair] = math.nan if any(map(math.isnan, both)) else float(min(both) >= 1)
    return QueryValues.of(accuracy)


def _pair_of(query: str) -> str:
    name, mark, end = query.rpartition("_")
    return name if mark and end in ("q1", "q2") else query


def _group_of(groups: Any, values: Mapping[str, float], default: Callable[[str], str]) -> dict[str, str]:
    """The group of each query."""
    if groups is None or callable(groups):
        function = default if groups is None else groups
        return {query: str(function(query)) for query in values}
    given = read_run_groups(groups, member="query")
    unknown = [query for query in values if query not in given]
    if unknown:
        raise InputError([f"query `{quotable(query)}` has no group" for query in unknown])
    return given


# Answers of retrieval-augmented generation: nuggets that an answer supports, and contexts that match references.

CREDIT = {"support": 1.0, "partial_support": 0.5}
OKAY = 0.5  # the weight of a nugget that is not vital
SMOOTHING = 1e-10  # ragas adds this to the number of relevant contexts

Over = Literal["all", "vital", "weighted"]
Match = Literal["string", "id"]


@checked
def nugget_recall(
    nuggets: Any, *, over: Over = "all", strict: bool = False, undefined: Literal["zero", "skip"] = "zero"
) -> QueryValues:
    """Nugget recall of TREC RAG: the share of required facts that an answer contains.

    ``nuggets``: ``{query: [{"importance": "vital", "assignment": "support"}, ...]}``, or a file of JSON lines with
    ``qid`` and ``nuggets``, as the AutoNuggetizer writes them. A nugget that is supported counts 1, one with
    ``partial_support`` a half, and with ``strict`` 0. ``over='vital'`` is the mean over vital nuggets;
    ``over='weighted'`` counts all others half. A query without such nuggets scores 0, or is left out with
    ``undefined='skip'``.

    >>> nuggets = {"q": [{"importance": "vital", "assignment": "partial_support"},
    ...                  {"importance": "okay", "assignment": "support"}]}
    >>> nugget_recall(nuggets).mean, nugget_recall(nuggets, over="vital", strict=True).mean
    (0.75, 0.0)
    """
    empty = 0.0 if undefined == "zero" else math.nan
    values = {}
    for query, of_query in _nuggets(nuggets).items():
        weights = [1.0 if vital else {"all": 1.0, "vital": 0.0, "weighted": OKAY}[over] for vital, _ in of_query]
        credits = [CREDIT.get(assignment, 0.0) for _, assignment in of_query]
        if strict:
            credits = [math.floor(credit) for credit in credits]
        total = math.fsum(weights)
        earned = math.fsum(weight * credit for weight, credit in zip(weights, credits, strict=True))
        values[query] = earned / total if total else empty
    return QueryValues.of(values)


def _nuggets(source: Any) -> dict[str, list[tuple[bool, str]]]:
    """For each query, whether each nugget is vital, and its assignment."""
    rows: Iterable[tuple[str, Any]]
    if isinstance(source, Mapping):
        rows = by_text(source, "nuggets").items()
    elif is_stream(source):
        stream = open_stream(source, "nuggets")
        content = parse_json(stream)
        if isinstance(content, Mapping):
            return _nuggets(content)
        absent = [name for name in ("qid", "nuggets") if name not in content.names]
        if absent:
            raise InputError([f"{stream.source_name}: no line has the field `{name}`" for name in absent])
        rows = zip(content.column("qid"), content.column("nuggets"), strict=True)
    else:
        raise UsageError(
            f"cannot read nuggets from {type(source).__name__}",
            hint="give {query: [nugget, ...]}, or a file of JSON lines",
        )
    nuggets: dict[str, list[tuple[bool, str]]] = {}
    for query, listed in rows:
        if not isinstance(listed, Sequence) or not all(map(_is_nugget, listed)):
            raise InputError([f"query `{quotable(str(query))}`: expected nuggets with importance and assignment"])
        if str(query) in nuggets:
            raise InputError([f"query `{quotable(str(query))}` has two lists of nuggets"])
        nuggets[str(query)] = [(n["importance"] == "vital", str(n["assignment"])) for n in listed]
    return nuggets


def _is_nugget(value: Any) -> bool:
    return isinstance(value, Mapping) and {"importance", "assignment"} <= set(value)


@checked
def context_precision(
    retrieved: Sequence[Any], reference: Sequence[Any], *, match: Match = "string", threshold: float = 0.5
) -> float:
    """Context precision of ragas without a language model, for one query; NaN if undefined.

    ``retrieved``: the contexts, best first; ``reference``: those that should be retrieved. With ``match='string'`` a
    context is relevant if its similarity to some reference is at least the threshold, where similarity is one minus
    the edit distance divided by the longer length. The value is the mean precision at relevant contexts: SN_AP of the
    list, with 1e-10 added to the divisor as in ragas, so that it is never exactly 1. With ``match='id'`` both are ids,
    and the value is the share of different ids retrieved that are in the reference.

    >>> round(context_precision(["abc", "xyz", "abd"], ["abc"]), 6)
    0.833333
    """
    if match == "id":
        ids, wanted = set(map(str, retrieved)), set(map(str, reference))
        return len(ids & wanted) / len(ids) if ids else math.nan
    if not retrieved or not reference:
        return math.nan
    hits, total = 0, 0.0
    for rank, context in enumerate(retrieved, 1):
        if max(_similarity(context, other) for other in reference) >= threshold:
            hits += 1
            total += hits / rank
    return total / (hits + SMOOTHING)


@checked
def context_recall(
    retrieved: Sequence[Any], reference: Sequence[Any], *, match: Match = "string", threshold: float = 0.5
) -> float:
    """Context recall of ragas without a language model, for one query; NaN if undefined.

    The share of the references whose similarity to some retrieved context is above the threshold; at the threshold
    itself, `context_precision` counts a match and this does not, as in ragas. With ``match='id'``, the share of the
    different ids of the reference that were retrieved.

    >>> context_recall(["1", "2", "3"], ["2", "9"], match="id")
    0.5
    """
    if match == "id":
        ids, wanted = set(map(str, retrieved)), set(map(str, reference))
        return len(ids & wanted) / len(wanted) if wanted else math.nan
    if not retrieved or not reference:
        return math.nan
    found = [max(_similarity(context, other) for context in retrieved) > threshold for other in reference]
    return sum(found) / len(found)


def _similarity(a: str, b: str) -> float:
    longer = max(len(a), len(b))
    return 1 - edit_distance(a, b) / longer if longer else 1.0


def edit_distance(a: str, b: str) -> int:
    """Levenshtein's distance: the least number of characters to insert, delete or replace (Hyyrö 2003).

    >>> edit_distance("kitten", "sitting")
    3
    """
    if not a or not b:
        return len(a) or len(b)
    # Bit i of these numbers is about the first i + 1 characters of a: where the distance rises or falls by one.
    where: dict[str, int] = {}
    for i, character in enumerate(a):
        where[character] = where.get(character, 0) | 1 << i
    every, last = (1 << len(a)) - 1, 1 << (len(a) - 1)
    rises, falls, distance = every, 0, len(a)
    for character in b:
        equal = where.get(character, 0)
        vertical = equal | falls
        horizontal = (((equal & rises) + rises) ^ rises) | equal
        up, down = falls | ~(horizontal | rises) & every, rises & horizontal
        distance += bool(up & last) - bool(down & last)
        up, down = (up << 1 | 1) & every, down << 1 & every
        rises, falls = down | ~(vertical | up) & every, up & vertical
    return distance
