"""What to judge next: the unjudged documents whose grades settle the most pairs of runs.

`mtc` (minimal test collections) orders documents by how much judging them can change the differences of all pairs of
runs that are not decided yet. `drawn` lists the documents of a sample that are still to be judged. The other strategies
choose for each query alone, in turn:

- `depth`: by the best rank of a document over all runs: depth-k pooling.
- `mtf`: move-to-front. Stay with a run while its documents are relevant; after one that is not, lower its priority.
- `maxmean`: a bandit. Always judge the next document of the run with the highest mean of relevant documents.
- `hedge`: judge the document with the highest total over runs, weighted by how well each run has done so far.

All orders are deterministic: ties are broken by the order in which runs are given, then by document id (bytewise).

A pair is *decided* if its bounds exclude 0: no grades of the unjudged documents can reverse it. It is *sure* if the
chance of the sign is at least the given confidence, for independent documents with the given chances of relevance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from cranfield.codec import Result, plain
from cranfield.data import Floats, Integers, Judgments
from cranfield.errors import InputError, MeasureError, UsageError
from cranfield.evaluation.collection import Collection
from cranfield.evaluation.evaluator import read_runs
from cranfield.evaluation.pair_bounds import (
    DECIMALS,
    ideal_scores,
    linear_part,
    lowest_differences,
    shared_gain,
)
from cranfield.evaluation.predicted import mapping_of
from cranfield.judging.judgment_files import TO_JUDGE
from cranfield.measures import Measure, parse
from cranfield.measures.weights import check_linear, rank_weights
from cranfield.ranking.alignment import ranked_lists
from cranfield.ranking.tie_rules import Ties
from cranfield.report.pages import Page, table
from cranfield.report.sheet import interval, shown
from cranfield.settings import Chance, Count, Limits, checked
from cranfield.statistics.rounding import SAME
from cranfield.wording import plural

QueryStrategy = Literal["depth", "mtf", "maxmean", "hedge"]
Credit = Literal["selected", "all"]
Oracle = Callable[[str], bool]  # whether a document is relevant
TIED_DECIMALS = 12  # totals equal to this number of decimals are tied
Strategy = Literal["mtc", "depth", "mtf", "maxmean", "hedge", "drawn"]
CANDIDATES = 2000  # documents whose weight is computed at a time
PAIRS = 1 << 22  # differences of weights that are held at a time


@checked
def judging_order(
    runs: Sequence[Sequence[str]],
    relevant: Oracle | AbstractSet[str],
    strategy: QueryStrategy = "maxmean",
    *,
    judged: AbstractSet[str] = frozenset(),
    depth: int | None = None,
    rate: float = 1.0,
    credit: Credit = "selected",
    beta: float = 0.1,
    seed: int | None = None,
) -> Iterator[str]:
    """The documents of one query in the order in which a strategy judges them.

    Parameters
    ----------
    runs
        Lists of document ids, best first.
    relevant
        The relevant documents, or a function that is asked for each document right after it was returned.
    strategy
        How documents are chosen.
    judged
        Documents that are skipped and change nothing.
    depth
        The last rank of each run to judge.
    rate
        What remains of earlier judgments in `maxmean` after each further one: 1 forgets nothing, 0 remembers the last
        judgment only.
    credit
        Which runs a judgment counts for in `maxmean`: the one that was selected, or all that retrieve the document.
    beta
        The rate of `hedge`.
    seed
        Shuffle the runs first.

    Returns
    -------
    Iterator[str]
        Document ids.

    Examples
    --------
    >>> runs = [["a", "b", "c", "d"], ["c", "a", "e"], ["f", "c", "b"]]
    >>> list(judging_order(runs, {"b", "c"}, "mtf"))
    ['a', 'c', 'e', 'f', 'b', 'd']
    """
    oracle: Oracle = relevant if callable(relevant) else set(relevant).__contains__
    lists = [list(run) if depth is None else list(run)[:depth] for run in runs]
    if seed is not None:
        lists = [lists[i] for i in np.random.default_rng(seed).permutation(len(lists))]
    if strategy == "depth":
        return _by_depth(lists, set(judged))
    if strategy == "mtf":
        return _move_to_front(lists, oracle, set(judged))
    if strategy == "maxmean":
        return _max_mean(lists, oracle, set(judged), rate, credit)
    return _hedge(lists, oracle, set(judged), beta)


def _by_depth(runs: list[list[str]], judged: set[str]) -> Iterator[str]:
    for rank in range(max(map(len, runs), default=0)):
        for run in runs:
            if rank < len(run) and run[rank] not in judged:
                judged.add(run[rank])
                yield run[rank]


class _Cursors:
    """The next unjudged document of each run."""

    def __init__(self, runs: list[list[str]], judged: set[str]) -> None:
        self.runs, self.judged, self.at = runs, judged, [0] * len(runs)

    def next_of(self, run: int) -> str | None:
        """The next unjudged document of a run, or None if all are judged."""
        documents, at = self.runs[run], self.at[run]
        while at < len(documents) and documents[at] in self.judged:
            at += 1
        self.at[run] = at
        return documents[at] if at < len(documents) else None


def _move_to_front(runs: list[list[str]], relevant: Oracle, judged: set[str]) -> Iterator[str]:
    cursors = _Cursors(runs, judged)
    priority = dict.fromkeys(range(len(runs)), 0)
    while priority:
        run = max(priority, key=lambda r: (priority[r], -r))
        document = cursors.next_of(run)
        while document is not None:
            judged.add(document)
            yield document
            if not relevant(document):
                priority[run] -= 1
                break
            document = cursors.next_of(run)
        if document is None:
            del priority[run]


def _max_mean(runs: list[list[str]], relevant: Oracle, judged: set[str], rate: float, credit: Credit) -> Iterator[str]:
    cursors = _Cursors(runs, judged)
    retrieving = [set(run) for run in runs] if credit == "all" else []
    relevant_seen, seen = [0.0] * len(runs), [0.0] * len(runs)
    left = list(range(len(runs)))
    while left:
        run = max(left, key=lambda r: ((1 + relevant_seen[r]) / (2 + seen[r]), -r))
        document = cursors.next_of(run)
        if document is None:
            left.remove(run)
            continue
        judged.add(document)
        yield document
        is_relevant = relevant(document)
        credited = [r for r, ids in enumerate(retrieving) if document in ids] if credit == "all" else [run]
        for r in credited:
            relevant_seen[r], seen[r] = rate * relevant_seen[r] + is_relevant, rate * seen[r] + 1


def _hedge(runs: list[list[str]], relevant: Oracle, judged: set[str], beta: float) -> Iterator[str]:
    documents = sorted({document for run in runs for document in run}, key=_bytes)
    column = {document: i for i, document in enumerate(documents)}
    longest, total = max(map(len, runs), default=0), len(documents)
    below = np.log(longest / np.arange(longest + 1, total + 1)).mean() if total > longest else 0.0
    value = np.full((len(runs), total), below)
    for r, run in enumerate(runs):
        value[r, [column[document] for document in run]] = np.log(longest / np.arange(1, len(run) + 1))
    loss = np.zeros(len(runs))
    left = np.array([document not in judged for document in documents], bool)
    while left.any():
        weights = beta ** (loss - loss.min())
        totals = np.einsum("r,rd->d", weights / weights.sum(), value)
        best = int(np.argmax(np.where(left, np.round(totals, TIED_DECIMALS), -np.inf)))
        left[best] = False
        yield documents[best]
        loss += (-0.5 if relevant(documents[best]) else 0.5) * value[:, best]


class Proposal(NamedTuple):
    """A document to judge: its weight, and the pair of runs for which it matters most.

    ``change``: how much its grade can change the mean difference of that pair; ``low``, ``high``: the bounds of the
    difference before. All are NaN for strategies that choose within a query. ``best_rank``: over all runs.
    """

    query: str
    document: str
    weight: float
    run: str
    other: str
    change: float
    low: float
    high: float
    best_rank: int


@dataclass(frozen=True, eq=False)
class PairStatus:
    """The mean difference of every pair of runs over all possible grades of unjudged documents; arrays are (pair,).

    ``low``, ``high``: bounds; ``low_alone``, ``high_alone``: from the bounds of each run alone. ``expected``,
    ``variance``: for the given chances of relevance, NaN if unknown.
    """

    runs: tuple[str, ...]
    pairs: Integers
    low: Floats
    high: Floats
    low_alone: Floats
    high_alone: Floats
    expected: Floats
    variance: Floats

    @property
    def decided(self) -> Any:
        """Whether no completion reverses the pair, (pair,)."""
        equal = (np.abs(self.low) <= SAME) & (np.abs(self.high) <= SAME)
        return (self.low > SAME) | (self.high < -SAME) | equal

    @property
    def confidence(self) -> Floats:
        """How sure the sign of each difference is."""
        from scipy.special import ndtr

        spread = np.sqrt(np.maximum(self.variance, 0))
        with np.errstate(divide="ignore", invalid="ignore"):
            sure = ndtr(np.abs(self.expected) / spread)
        fixed = np.where(np.abs(self.expected) > SAME, 1.0, 0.5)
        return np.where(self.decided, 1.0, np.where(spread == 0, fixed, sure))

    def settled(self, confidence: float) -> Any:
        """Whether each pair is decided, or its sign is at least this sure; with a confidence of 1, decided only."""
        return self.decided | ((self.confidence >= confidence) & (confidence < 1))  # NaN is not sure


@dataclass(frozen=True, eq=False, repr=False)
class NextDocuments(Result):
    """The documents to judge next, and how far the pairs of runs are settled.

    ``unjudged``: the number of unjudged documents that count. ``open_pairs``: pairs neither decided nor sure.

    Examples
    --------
    >>> runs = {"A": {"q": {"a": 2.0, "b": 1.0}}, "B": {"q": {"b": 2.0, "c": 1.0}}}
    >>> next_documents({"q": {"a": 1}}, runs, "P@2")
    NextDocuments: 1 document to judge next for P@2 (mtc); 1 of 1 pair of runs are open
    """

    measure: str
    strategy: str
    documents: tuple[Proposal, ...]
    status: PairStatus
    unjudged: int
    confidence: float
    depth: int

    def __repr__(self) -> str:
        documents = plural(len(self.documents), "document")
        pairs = f"{self.open_pairs:,} of {plural(len(self.status.pairs), 'pair')} of runs are open"
        return f"NextDocuments: {documents} to judge next for {self.measure} ({self.strategy}); {pairs}"

    def to_dict(self) -> dict[str, Any]:
        """The documents, and how far each pair of runs is settled, as plain data."""
        counts = ("unjudged", "confidence", "depth", "decided", "sure", "open_pairs", "stop")
        return {name: plain(getattr(self, name)) for name in ("measure", "strategy", *counts, "documents", "pairs")}

    @property
    def decided(self) -> int:
        return int(self.status.decided.sum())

    @property
    def sure(self) -> int:
        """Pairs that are sure, but not decided."""
        return int(self.status.settled(self.confidence).sum()) - self.decided

    @property
    def open_pairs(self) -> int:
        return len(self.status.pairs) - self.decided - self.sure

    @property
    def stop(self) -> Literal["decided", "sure"] | None:
        """Whether judging can stop: every pair is decided, or at least sure."""
        if self.decided == len(self.status.pairs):
            return "decided"
        return "sure" if self.open_pairs == 0 else None

    @property
    def pairs(self) -> list[dict[str, Any]]:
        """The bounds of each pair of runs, and how sure its sign is."""
        status = self.status
        rows = zip(status.pairs.tolist(), status.low, status.high, status.confidence, strict=True)
        return [
            {"run": status.runs[a], "other": status.runs[b], "low": low, "high": high, "confidence": confidence}
            for (a, b), low, high, confidence in rows
        ]

    def pages(self, digits: int = 4) -> list[Page]:
        """The documents in order, with the pair of runs for which each matters most."""
        if not self.documents:
            return []
        reasons = not math.isnan(self.documents[0].weight)
        rows = []
        for number, proposal in enumerate(self.documents, 1):
            cells = [str(proposal.best_rank or "–")]
            if reasons:
                limits = interval(proposal.low, proposal.high, digits)
                cells += [f"{proposal.run} – {proposal.other}", shown(proposal.change, digits + 2), limits]
            rows.append(((str(number), proposal.query, proposal.document), cells))
        columns = ("best rank", *(("matters most for", "by up to", "which is within") if reasons else ()))
        title = f"Documents to judge next, for {self.measure}"
        return [table(title, ("", "query", "document"), columns, rows)]

    @property
    def notes(self) -> Iterator[str]:
        """How far the pairs of runs are settled."""
        pairs = len(self.status.pairs)
        sure = f"{100 * self.confidence:.10g}% sure"
        if pairs > 1:
            decided = f"{self.decided:,} decided whatever the unjudged documents are"
            more = f", {self.sure:,} more {sure}" if self.confidence < 1 else ""
            yield f"{pairs:,} pairs of runs: {decided}{more}, {self.open_pairs:,} open"
        if self.stop == "decided" and pairs:
            yield f"judging can stop: unjudged documents cannot reverse any pair in {self.measure}"
        elif self.stop == "sure":
            which = "every pair is decided or" if pairs > 1 else "the pair is"
            yield f"judging can stop: {which} {sure}; a higher confidence asks for more documents"
        elif pairs == 1:
            yield f"the pair is open: it is {f'neither decided nor {sure}' if self.confidence < 1 else 'not decided'}"
        if not math.isnan(float(self.status.variance[:1].sum())) and self.sure:
            yield "the confidence assumes independent documents, each relevant with the same or the predicted chance"
        yield f"{plural(self.unjudged, 'unjudged document')} down to rank {self.depth} can still change a score"


class _Query(NamedTuple):
    """One query: documents (bytewise by id), and of each its weight and rank (0 for none) in every run.

    ``best``: the best rank over runs. ``gain``: of the judgment, NaN if unjudged. ``chance``: how likely it has the
    highest gain. ``elsewhere``: relevant documents that no run retrieves. ``defined``: whether the measure is.
    """

    name: str
    documents: list[str]
    weight: Floats
    best: Integers
    gain: Floats
    chance: Floats
    rank: Integers
    elsewhere: int
    defined: bool


@checked
def next_documents(
    qrels: Any,
    run: Any,
    measure: str | Measure,
    *,
    top: Count = 50,
    strategy: Strategy = "mtc",
    prior: Chance = 0.5,
    confidence: Annotated[float, Limits(0, 1, "(]")] = 0.95,
    depth: int = 100,
    ties: Ties | None = None,
    names: Sequence[str] | None = None,
) -> NextDocuments:
    """The next documents to judge, and how far every pair of runs is settled.

    Parameters
    ----------
    qrels
        The judgments so far. The predicted judgments of a `Collection` give the chance that a document is relevant.
    run, names
        Two or more runs and their names, as `evaluate` takes them.
    measure
        A measure that is linear in the gains, nDCG with the ideal ranking of the judgments so far, or AP.
    top
        The number of documents.
    strategy
        How documents are chosen.
    prior
        The chance that a document is relevant, without predicted judgments.
    confidence
        How sure the sign of a pair must be to settle it; 1 asks for bounds that exclude 0.
    depth
        The last rank of each run that counts.
    ties
        The tie rule.

    Returns
    -------
    NextDocuments
        The documents in the order in which to judge them, with the pairs of runs that are open.

    Examples
    --------
    >>> runs = {"A": {"q": {"a": 2.0, "b": 1.0}}, "B": {"q": {"b": 2.0, "c": 1.0}}}
    >>> found = next_documents({"q": {"a": 1}}, runs, "P@2")
    >>> [(proposal.document, proposal.change) for proposal in found.documents]
    [('c', 0.5)]
    """
    collection = Collection.of(qrels)
    judgments, guesses = collection.judgments, collection.predicted
    runs = read_runs(run, names)
    if len(runs) < 2 and strategy == "mtc":
        raise UsageError(
            "this strategy needs at least two runs: judgments settle which of them is better",
            hint="strategy `depth` takes the first ranks of a single run",
        )
    chosen = _measure_to_depth(parse(measure), depth)
    lists = ranked_lists(runs, judgments, ties or chosen.views.ties, chosen.rank_cutoff or depth)
    if guesses is not None and not set(guesses.queries) & set(judgments.queries):
        raise InputError(
            [f"predicted: none of the judged queries has predictions (first query: `{judgments.queries[0]}`)"],
            hint=f"the predictions are for queries such as `{guesses.queries[0]}`",
        )
    highest = float(max(judgments.grade.max(initial=1), 1))
    queries = _queries(chosen, judgments, lists, guesses, prior, highest)
    status = pair_status(chosen, queries, tuple(r.name for r in runs), highest)
    unjudged = sum(int(((query.weight > SAME).any(axis=0) & np.isnan(query.gain)).sum()) for query in queries)
    if strategy == "mtc":
        documents = _by_weight(chosen, queries, status, top, confidence, highest)
    elif strategy == "drawn":
        documents = _drawn(judgments, lists, top)
    else:
        documents = _by_strategy(strategy, judgments, lists, top, chosen.chosen.get("rel") or 1.0)
    return NextDocuments(str(measure), strategy, tuple(documents), status, unjudged, confidence, depth)


def _measure_to_depth(measure: Measure, depth: int) -> Measure:
    views = measure.views
    if measure.symbol == "AP" and not measure.chosen["graded"] and not (views.condensed or views.terminal):
        return measure
    try:
        check_linear(linear_part(measure) or measure)
    except MeasureError as error:
        raise MeasureError(error.message, hint="use AP, nDCG or a linear measure, such as P@10 or RBP") from None
    return replace(measure, views=replace(views, depth=min(views.depth or depth, depth)))


def _queries(
    measure: Measure,
    judgments: Judgments,
    lists: Sequence[Mapping[str, Sequence[str]]],
    guesses: Judgments | None,
    prior: float,
    top: float,
) -> list[_Query]:
    judged = mapping_of(judgments)
    predicted = {} if guesses is None else mapping_of(guesses)
    most, part = measure.highest_gain(top), linear_part(measure)
    ideal = ideal_scores(measure, judgments.begin, judgments.grade, top)
    of_queries = []
    for query, divisor in zip(judgments.queries, np.where(ideal > 0, ideal, np.inf).tolist(), strict=True):
        rankings = [of_run.get(query, ()) for of_run in lists]
        documents = sorted({d for ranking in rankings for d in ranking}, key=_bytes)
        column = {d: i for i, d in enumerate(documents)}
        gain = np.array([judged[query].get(d, -1) for d in documents], np.float64)
        gain[gain < 0] = np.nan
        gains = measure.gains.of(np.nan_to_num(gain), top)
        chance = np.full(len(documents), prior)
        if query in predicted:
            guessed = measure.gains.of(np.array([max(predicted[query].get(d, 0.0), 0.0) for d in documents]), top)
            has = np.array([d in predicted[query] for d in documents], bool)
            chance = np.where(has, np.clip(guessed / most, 0.02, 0.98), prior)
        weight, rank = np.zeros((len(rankings), len(documents))), np.zeros((len(rankings), len(documents)), np.int64)
        of_all = measure.gains.of(np.array(list(judged[query].values()), np.float64), top) > 0
        elsewhere = sum(bool(r) for d, r in zip(judged[query], of_all.tolist(), strict=True) if d not in column)
        best = np.full(len(documents), np.iinfo(np.int64).max)
        for r, ranking in enumerate(rankings):
            at = np.array([column[d] for d in ranking], np.int64)
            if not len(at):
                continue
            rank[r, at] = np.arange(1, len(at) + 1)
            best[at] = np.minimum(best[at], rank[r, at])
            if part is None:
                p = np.where(np.isnan(gain[at]), chance[at], gains[at])
                weight[r, at] = _precision_weights(p, measure.rank_cutoff)
            else:
                weight[r, at] = rank_weights(part, len(at), top) / divisor
        if part is None:
            expected = float(np.where(np.isnan(gain), chance, gains).sum()) + elsewhere
            weight /= max(expected, 1.0)
        gain = np.where(np.isnan(gain), np.nan, gains)
        of_queries.append(_Query(query, documents, weight, best, gain, chance, rank, elsewhere, divisor < np.inf))
    return of_queries


def _precision_weights(chance: Floats, cutoff: int | None) -> Floats:
    """How much the expected sum of precisions changes if the document at each rank is relevant or not."""
    rank = np.arange(1, len(chance) + 1)
    own = (1 + np.cumsum(chance) - chance) / rank
    below = chance / rank
    if cutoff is not None:
        own, below = np.where(rank <= cutoff, own, 0), np.where(rank <= cutoff, below, 0)
    later = np.cumsum(below[::-1])[::-1] - below
    return np.where(rank <= (cutoff or len(rank)), own + later, 0)


def pair_status(measure: Measure, queries: Sequence[_Query], runs: tuple[str, ...], top: float) -> PairStatus:
    """The bounds of the mean difference of every pair of runs, over all queries in which the measure is defined."""
    pairs = np.array(list(combinations(range(len(runs)), 2)), np.int64).reshape(-1, 2)
    a, b = pairs.T
    count, size = max(sum(query.defined for query in queries), 1), len(runs)
    expected = variance = np.full(len(pairs), np.nan)
    shared, spread = np.zeros((2, size, size))
    if linear_part(measure) is None:
        lowest, highest = _precision_bounds(queries, size, measure.rank_cutoff)
    else:
        most = measure.highest_gain(top)
        lowest, mean, room = np.zeros((3, size))
        for query in queries:
            open_ = np.isnan(query.gain)
            lowest += (query.weight[:, ~open_] * query.gain[~open_]).sum(axis=1)
            weight, p = most * query.weight[:, open_], query.chance[open_]
            mean += (weight * p).sum(axis=1)
            room += weight.sum(axis=1)
            uncertain = weight * (p * (1 - p))
            for r in range(size):
                spread[r, r:] += (uncertain[r] * weight[r:]).sum(axis=1)
            run, document = np.nonzero(weight)
            shared += shared_gain(run, document, weight[run, document], size)
        highest, mean = lowest + room, lowest + mean
        expected = (mean[a] - mean[b]) / count
        variance = np.maximum(spread[a, a] + spread[b, b] - 2 * spread[a, b], 0) / count**2
    alone, both = (lowest_differences(lowest, highest, of_both) / count for of_both in (0.0, shared))
    return PairStatus(runs, pairs, both[a, b], -both[b, a], alone[a, b], -alone[b, a], expected, variance)


def _precision_bounds(queries: Sequence[_Query], runs: int, cutoff: int | None) -> tuple[Floats, Floats]:
    """The lowest and highest sum of AP over queries of each run alone.

    The sum of precisions of a run lies between that of its known relevant documents and that with all unjudged ones;
    R lies between the known relevant documents and all documents that may be.
    """
    low, high = np.zeros((2, runs))
    for query in queries:
        relevant, open_ = query.gain > 0, np.isnan(query.gain)
        fewest = float(relevant.sum()) + query.elsewhere
        most = fewest + float(open_.sum())
        for r in range(runs):
            order = np.flatnonzero(query.rank[r] > 0)
            order = order[np.argsort(query.rank[r, order])][:cutoff]
            certain, possible = relevant[order], relevant[order] | open_[order]
            rank = np.arange(1, len(order) + 1)
            low[r] += float((certain * np.cumsum(certain) / rank).sum()) / max(most, 1)
            # With x more relevant documents both sides grow; all of them relevant, and at least these many, is enough.
            greatest = float((possible * np.cumsum(possible) / rank).sum())
            high[r] += min(greatest / max(fewest, 1), 1.0)
    return low, high


def _by_weight(
    measure: Measure, queries: Sequence[_Query], status: PairStatus, n: int, confidence: float, top: float
) -> list[Proposal]:
    """The documents with the greatest total weight over pairs that are neither decided nor sure."""
    most, count = measure.highest_gain(top), max(sum(query.defined for query in queries), 1)
    open_pairs = np.flatnonzero(~status.settled(confidence))
    if not len(open_pairs):
        return []
    a, b = status.pairs[open_pairs].T
    partners = np.bincount(np.concatenate([a, b]), minlength=len(status.runs))
    entries: list[tuple[float, int, int]] = []
    for q, query in enumerate(queries):
        open_ = np.flatnonzero(np.isnan(query.gain) & (query.weight > SAME).any(axis=0))
        limit = (partners[:, None] * query.weight[:, open_]).sum(axis=0)  # no total over pairs is greater
        entries += zip(limit.tolist(), [q] * len(open_), open_.tolist(), strict=True)
    entries.sort(key=lambda entry: -entry[0])
    weighted: list[tuple[float, Proposal]] = []
    for first in range(0, len(entries), CANDIDATES):
        if len(weighted) >= n and sorted((entry[0] for entry in weighted), reverse=True)[n - 1] > entries[first][0]:
            break
        chunk = entries[first : first + CANDIDATES]
        columns = np.array([queries[q].weight[:, d] for _, q, d in chunk])
        for i in range(0, len(chunk), step := max(1, PAIRS // len(open_pairs))):
            delta = np.abs(columns[i : i + step][:, a] - columns[i : i + step][:, b])
            total, strongest = delta.sum(axis=1), delta.argmax(axis=1)
            for row, (_, q, d) in enumerate(chunk[i : i + step]):
                if round(float(total[row]), DECIMALS) <= 0:
                    continue
                pair = int(open_pairs[strongest[row]])
                x, y = status.pairs[pair].tolist()
                query = queries[q]
                proposal = Proposal(
                    query.name,
                    query.documents[d],
                    most * float(total[row]) / count,
                    status.runs[x],
                    status.runs[y],
                    most * float(delta[row, strongest[row]]) / count,
                    float(status.low[pair]),
                    float(status.high[pair]),
                    int(query.best[d]),
                )
                weighted.append((float(total[row]), proposal))

    def rank(entry: tuple[float, Proposal]) -> tuple[Any, ...]:
        total, proposal = entry
        by_query = _bytes(proposal.query) if len(queries) > 1 else proposal.best_rank
        return -round(total, DECIMALS), by_query, _bytes(proposal.document)

    return [proposal for _, proposal in sorted(weighted, key=rank)[:n]]


def _by_strategy(
    strategy: QueryStrategy, judgments: Judgments, lists: Sequence[Mapping[str, Sequence[str]]], n: int, rel: float
) -> list[Proposal]:
    """Round robin over queries; judged documents answer for themselves, proposed ones count as not relevant."""
    judged = {
        query: {d: grade for d, grade in documents.items() if grade >= 0}
        for query, documents in mapping_of(judgments).items()
    }
    orders = {}
    for query in sorted(judged, key=_bytes):
        relevant = {d for d, grade in judged[query].items() if grade >= rel}
        orders[query] = judging_order([of_run.get(query, ()) for of_run in lists], relevant, strategy)
    proposals: list[Proposal] = []
    while orders and len(proposals) < n:
        for query in list(orders):
            document = next((d for d in orders[query] if d not in judged[query]), None)
            if document is None:
                del orders[query]
            elif len(proposals) < n:
                proposals.append(_without_reason(query, document, lists))
    return proposals


def _drawn(judgments: Judgments, lists: Sequence[Mapping[str, Sequence[str]]], n: int) -> list[Proposal]:
    """The documents of a sample that have no judgment yet, in the order of the file."""
    proposals = [
        _without_reason(query, document, lists)
        for query, documents in mapping_of(judgments).items()
        for document, grade in documents.items()
        if grade == TO_JUDGE
    ]
    return proposals[:n]


def _without_reason(query: str, document: str, lists: Sequence[Mapping[str, Sequence[str]]]) -> Proposal:
    ranks = [list(run[query]).index(document) + 1 for run in lists if document in run.get(query, ())]
    return Proposal(query, document, math.nan, "", "", math.nan, math.nan, math.nan, min(ranks, default=0))


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")
