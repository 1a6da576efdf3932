"""Variants of a query: how rankings react to another instruction, and how scores hold over a group of variants."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cranfield import io
from cranfield.analysis.query_values import QueryValues, values_of
from cranfield.data import Floats, Judgments, Run
from cranfield.errors import InputError, UsageError
from cranfield.io.faults import quotable
from cranfield.io.side_tables import read_run_groups
from cranfield.ranking.alignment import Aligner
from cranfield.ranking.tie_rules import TieRule, Ties, tie_rule

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
