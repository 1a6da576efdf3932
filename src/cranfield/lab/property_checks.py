"""The checks of numeric properties: one measure on all small rankings, and the smallest counterexample to each."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter

import numpy as np

from cranfield.data import Booleans, Floats, Integers, Judgments, Labels, Strings
from cranfield.errors import CranfieldError, InputError, UsageError
from cranfield.measures import Measure
from cranfield.ranking.rankings import Rankings, from_tables
from cranfield.ranking.subtopics import Subtopics
from cranfield.statistics.rounding import SAME

MAX_RANKINGS = 1 << 18  # the most rankings that are ever checked
DEFAULT_RANKINGS = 3_500  # the most rankings that are checked by default
DEFAULT_DOCUMENTS = 8  # the length of the longest ranking, unless that gives too many rankings


@dataclass(frozen=True)
class DocumentKind:
    """A kind of document in a small ranking and the mark that represents it; the grade of an unjudged one is NaN."""

    mark: str
    grade: float
    subtopics: frozenset[int] = frozenset()

    def is_judged(self) -> bool:
        return not np.isnan(self.grade)


UNJUDGED = DocumentKind("?", np.nan)


@dataclass(frozen=True, eq=False)
class SmallRankings:
    """One ranking per row; each contains all documents of its query, so that all judgments are in the ranking.

    ``kind`` (row, rank): index into ``kinds``, -1 below the end of a ranking. ``tie`` (row,): the rank, from 0, of the
    first of two tied neighbours; -1 for none. Rows are in order of their ``size``.
    """

    kinds: tuple[DocumentKind, ...]
    kind: Integers
    tie: Integers

    @cached_property
    def size(self) -> Integers:
        return (self.kind >= 0).sum(axis=1)

    @property
    def documents(self) -> int:
        return self.kind.shape[1]

    @cached_property
    def grade(self) -> Floats:
        return np.array([*(kind.grade for kind in self.kinds), np.nan])[self.kind]

    @cached_property
    def top_grade(self) -> float:
        return max(kind.grade for kind in self.kinds if kind.is_judged())

    @cached_property
    def start(self) -> Integers:
        """The first rank, from 0, that a document can have."""
        ranks = np.broadcast_to(np.arange(self.documents), self.kind.shape)
        return ranks - ((ranks == self.tie[:, None] + 1) & (self.tie[:, None] >= 0))

    @cached_property
    def end(self) -> Integers:
        """One more than the last rank, from 0, that a document can have."""
        ranks = np.arange(self.documents)
        tied = (self.tie[:, None] >= 0) & ((ranks == self.tie[:, None]) | (ranks == self.tie[:, None] + 1))
        return self.start + np.where(tied, 2, 1)

    @cached_property
    def rankings(self) -> Rankings:
        """The rankings as input for measures, each with all documents of its query retrieved."""
        position = np.arange(self.documents) - self.start
        subtopics = self._subtopics() if any(kind.subtopics for kind in self.kinds) else None
        spans = self.start, self.end - self.start, position
        return from_tables(self.grade, *spans, self.size, self.top_grade, subtopics=subtopics)

    def _subtopics(self) -> Subtopics:
        judged = ~np.isnan(self.grade)
        document = np.cumsum(judged).reshape(self.kind.shape) - 1
        pairs = [(k, s) for k, kind in enumerate(self.kinds) for s in sorted(kind.subtopics)]
        rows = [document[self.kind == k] for k, _ in pairs]
        subtopic = np.repeat([s for _, s in pairs], [len(documents) for documents in rows])
        labels = Labels(
            np.concatenate(rows),
            subtopic,
            np.full(len(subtopic), self.top_grade),
            Strings.of(map(str, range(int(subtopic.max(initial=0)) + 1))),
        )
        names = [str(rank) for rank in np.nonzero(judged)[1].tolist()]
        begin = np.concatenate([[0], np.cumsum(judged.sum(axis=1))])
        queries = Strings.of(map(str, range(len(begin) - 1)))
        judgments = Judgments("small rankings", queries, begin, Strings.of(names), self.grade[judged], labels)
        return Subtopics(judgments, self.top_grade)

    def swapped(self, i: int, j: int) -> Integers:
        """The row with the documents at two ranks swapped; valid only if the rows come from `all_rankings`."""
        weight = len(self.kinds) ** np.maximum(self.size[:, None] - 1 - np.array([i, j]), 0)
        step = (self.kind[:, j] - self.kind[:, i]) * (weight[:, 0] - weight[:, 1])
        return np.arange(len(self.size)) + np.where(self.size > max(i, j), step, 0)

    def prefix_codes(self, k: int) -> Integers:
        """Numbers that are equal for rankings whose first k documents are the same and tied in the same way.

        If the cutoff divides a tie, both tied documents count, because either can be among the first k.
        """
        inside = (self.tie >= 0) & (self.tie < k)
        divided = inside & (self.tie == k - 1)
        ranks = np.arange(self.documents)
        visible = ranks < (k + divided)[:, None]
        digits = np.where(visible, self.kind + 1, 0)
        code = (digits * (len(self.kinds) + 1) ** ranks).sum(axis=1)
        return code * (self.documents + 1) + np.where(inside, self.tie + 1, 0)

    def text(self, row: int, k: int | None = None) -> str:
        """A ranking as text: best first, ties in parentheses, a bar at the cutoff."""
        separator = " " if any(len(kind.mark) > 1 for kind in self.kinds) else ""
        tie, size = int(self.tie[row]), int(self.size[row])
        parts = []
        for rank in range(size):
            mark = self.kinds[self.kind[row, rank]].mark
            mark = f"({mark}" if rank == tie else f"{mark})" if tie >= 0 and rank == tie + 1 else mark
            parts.append(f"|{mark}" if rank == k else mark)
        return separator.join(parts)

    def select(self, rows: Booleans) -> SmallRankings:
        """The selected rankings."""
        return SmallRankings(self.kinds, self.kind[rows], self.tie[rows])


def all_rankings(kinds: Sequence[DocumentKind], documents: int, *, ties: bool = False) -> SmallRankings:
    """All rankings of 1 to ``documents`` documents; with ``ties`` also each with every pair of neighbours tied."""
    blocks, tied = [], []
    for size in range(1, documents + 1):
        codes = np.arange(len(kinds) ** size)
        digits = codes[:, None] // len(kinds) ** np.arange(size)[::-1] % len(kinds)
        padded = np.pad(digits, ((0, 0), (0, documents - size)), constant_values=-1)
        for tie in range(-1, size - 1 if ties else 0):
            blocks.append(padded)
            tied.append(np.full(len(codes), tie))
    return SmallRankings(tuple(kinds), np.concatenate(blocks), np.concatenate(tied))


def uniform_ranking(kind: int, kinds: Sequence[DocumentKind], documents: int) -> SmallRankings:
    """One ranking of documents of the same kind."""
    return SmallRankings(tuple(kinds), np.full((1, documents), kind), np.array([-1]))


def count_rankings(kinds: int, documents: int, *, ties: bool = False) -> int:
    """The number of rankings that `all_rankings` returns."""
    return sum(kinds**size * (size if ties else 1) for size in range(1, documents + 1))


def default_documents(
    kinds: int, *, ties: bool = False, most: int = DEFAULT_DOCUMENTS, limit: int = DEFAULT_RANKINGS
) -> int:
    """The default length of the longest ranking."""
    return next(d for d in range(most, 0, -1) if d == 1 or count_rankings(kinds, d, ties=ties) <= limit)


def check_size(kinds: int, documents: int, *, ties: bool = False) -> None:
    """Raise if there are too many rankings to check all of them."""
    if not 1 <= documents <= 60 or (number := count_rankings(kinds, documents, ties=ties)) > MAX_RANKINGS:
        fits = (d for d in range(1, 61) if count_rankings(kinds, d, ties=ties) <= MAX_RANKINGS)
        reason = f" ({number:,} rankings)" if 1 <= documents <= 60 else ""
        raise UsageError(
            f"cannot check all rankings of {documents} documents with {kinds} kinds of document{reason}",
            hint=f"give a number of documents from 1 to {max(fits, default=1)}",
        )


def subtopic_kinds(grade: float, subtopics: int = 2) -> list[DocumentKind]:
    """A kind of document for every set of subtopics."""
    names = "abcdefgh"[:subtopics]
    sets = [chosen for n in range(subtopics + 1) for chosen in itertools.combinations(range(subtopics), n)]
    return [
        DocumentKind("".join(names[s] for s in chosen) or "0", grade if chosen else 0.0, frozenset(chosen))
        for chosen in sets
    ]


SEVEN = ("bounded", "monotone", "convergent", "top-weighted", "localized", "complete", "realizable")
MORE = ("truncatable", "stable", "neutral")
PROPERTIES = (*SEVEN, *MORE)

LONG = 2000  # documents of the rankings that show whether a score is unbounded
DEPTHS = (10, 20, 50, 100, 200, 500, 1000, LONG)
PAIR_DOCUMENTS, PAIR_RANKINGS = 6, 6_000  # limits for checks that compare rankings with each other


@dataclass(frozen=True)
class Counterexample:
    """The smallest ranking, or two rankings, that violate a property, with their cutoffs and scores.

    ``limit``: the bound that the score violates or does not reach. ``judged``: the judgment of the document x; the last
    two ``scores`` are those after that judgment.
    """

    rankings: tuple[str, ...]
    k: tuple[int, ...]
    scores: tuple[float, ...]
    limit: float | None = None
    judged: str = ""


@dataclass(frozen=True)
class PropertyVerdict:
    """Whether a property holds for all rankings checked; None if there is nothing to compare."""

    holds: bool | None
    counterexample: Counterexample | None = None


def is_list(measure: Measure) -> bool:
    """Whether k is the length of the list, because the measure has no cutoff or looks at the end of the list."""
    return measure.definition.cutoff in ("none", "recall") or measure.views.terminal


@dataclass(frozen=True, eq=False)
class PropertyChecks:
    """The checks of one measure on a set of small rankings."""

    measure: Measure
    rankings: SmallRankings

    def verdicts(self) -> Iterator[tuple[str, PropertyVerdict]]:
        """The verdict on every property."""
        for name in PROPERTIES:
            # The difference of two infinite scores is undefined and is skipped.
            with np.errstate(invalid="ignore"):
                verdict: PropertyVerdict = getattr(self, name.replace("-", "_"))()
            yield name, verdict

    @cached_property
    def scores(self) -> Floats:
        """Scores by (ranking, k - 1); NaN if undefined or below the end of the ranking."""
        return self.score_table(self.rankings)

    @cached_property
    def is_ranked(self) -> Booleans:
        return np.arange(1, self.rankings.documents + 1) <= self.rankings.size[:, None]

    @cached_property
    def gain(self) -> Floats:
        """The gain of each kind of document."""
        return self.measure.gains.of(np.array([kind.grade for kind in self.rankings.kinds]), self.rankings.top_grade)

    @cached_property
    def relevant(self) -> Floats:
        """The number of relevant documents of each ranking."""
        return np.append(self.gain > 0, False)[self.rankings.kind].sum(axis=1)

    @cached_property
    def less_relevant(self) -> Booleans:
        """Whether the kind in the row is less relevant than that in the column; never for unjudged documents."""
        kinds = self.rankings.kinds
        judged = np.array([kind.is_judged() for kind in kinds])
        if self.measure.definition.subtopics:
            less = np.array([[a.subtopics < b.subtopics for b in kinds] for a in kinds])
        else:
            less = self.gain[:, None] < self.gain
        return less & judged[:, None] & judged

    @property
    def limits(self) -> tuple[float, float]:
        """The bounds that scores should keep: those that the measure declares, otherwise 0 and 1."""
        low, high = self.measure.definition.bounds
        return (low if np.isfinite(low) else 0.0), (high if np.isfinite(high) else 1.0)

    def score_table(self, rankings: SmallRankings, length: int | None = None) -> Floats:
        """Scores by (ranking, k - 1), optionally of the list of the first ``length`` documents."""
        columns = [self.scores_at(rankings, k, length) for k in range(1, rankings.documents + 1)]
        is_ranked = np.arange(1, rankings.documents + 1) <= rankings.size[:, None]
        return np.where(is_ranked, np.column_stack(columns), np.nan)

    def scores_at(self, rankings: SmallRankings, k: int, length: int | None = None) -> Floats:
        """The score of every ranking at one cutoff, or of the list of its first k documents."""
        measure, views = self.measure, self.measure.views
        if is_list(measure):
            length = k if length is None else length
            kept = measure.cutoff if measure.definition.cutoff == "recall" else None
            cutoff = k + 1 if measure.definition.cutoff == "required" else kept
        else:
            cutoff = k
        if length is not None:
            views = replace(views, depth=length if views.depth is None else min(length, views.depth))
        copy = replace(rankings.rankings, memo={})  # without cached values, which would fill the memory
        return evaluate_rankings(replace(measure, cutoff=cutoff, views=views), copy)

    def smallest(self, violations: Booleans) -> tuple[int, int] | None:
        """The smallest violation as ranking and k: fewest documents, then smallest k, then the first row."""
        row, k = np.nonzero(violations)
        if not len(row):
            return None
        best = np.lexsort((row, k, self.rankings.size[row]))[0]
        return int(row[best]), int(k[best]) + 1

    def counterexample(self, rows: Sequence[int], ks: Sequence[int], limit: float | None = None) -> Counterexample:
        """A counterexample as text and scores."""
        pairs = list(zip(rows, ks, strict=True))
        texts = tuple(self.rankings.text(row, k) for row, k in pairs)
        return Counterexample(texts, tuple(ks), tuple(float(self.scores[row, k - 1]) for row, k in pairs), limit)

    def bounded(self) -> PropertyVerdict:
        """All scores are within one range, for any number of relevant documents."""
        low, high = self.limits
        worst = self.smallest((self.scores > high + SAME) | (self.scores < low - SAME))
        if worst is not None:
            row, k = worst
            return PropertyVerdict(
                False, self.counterexample([row], [k], high if self.scores[row, k - 1] > high else low)
            )
        if self.longest > self.rankings.documents:
            judged = [k for k, kind in enumerate(self.rankings.kinds) if kind.is_judged()]
            for kind in (judged[-1], judged[0]):
                long = uniform_ranking(kind, self.rankings.kinds, self.longest)
                for k in DEPTHS:
                    score = float(self.scores_at(long, k)[0])
                    if score > high + SAME or score < low - SAME:
                        text = f"{self.longest} times {self.rankings.kinds[kind].mark}"
                        limit = high if score > high else low
                        return PropertyVerdict(False, Counterexample((text,), (k,), (score,), limit))
        return _verdict(~np.isnan(self.scores), None)

    @property
    def longest(self) -> int:
        """The length of the longest ranking checked; ideal rankings for subtopics are too slow for long ones."""
        return self.rankings.documents if self.measure.definition.subtopics else LONG

    def monotone(self) -> PropertyVerdict:
        """A larger k never lowers the score of a ranking."""
        step = np.diff(self.scores, axis=1)
        worst = self.smallest(step < -SAME)
        return _verdict(~np.isnan(step), worst and self.counterexample([worst[0]] * 2, [worst[1], worst[1] + 1]))

    def convergent(self) -> PropertyVerdict:
        """Replacing one of the first k documents by a more relevant one from below raises the score."""
        spans, ks = self.rankings, np.arange(1, self.rankings.documents + 1)
        return self._check_swaps(lambda i, j: (spans.end[:, i, None] <= ks) & (spans.start[:, j, None] >= ks))

    def top_weighted(self) -> PropertyVerdict:
        """Swapping a document of the first k with a less relevant one above it raises the score."""
        spans, ks = self.rankings, np.arange(1, self.rankings.documents + 1)
        return self._check_swaps(
            lambda i, j: (spans.end[:, i] <= spans.start[:, j])[:, None] & (spans.end[:, j, None] <= ks)
        )

    def _check_swaps(self, allowed: Callable[[int, int], Booleans]) -> PropertyVerdict:
        kind, size = self.rankings.kind, self.rankings.size
        violations: list[tuple[int, ...]] = []
        tested = False
        for i in range(self.rankings.documents):
            for j in range(i + 1, self.rankings.documents):
                better = (size > j) & self.less_relevant[kind[:, i], kind[:, j]]
                after = self.rankings.swapped(i, j)
                rise = np.where(better[:, None] & allowed(i, j), self.scores[after] - self.scores, np.nan)
                tested = tested or not np.isnan(rise).all()
                worst = self.smallest(rise <= SAME)
                if worst is not None:
                    row, k = worst
                    violations.append((int(size[row]), k, row, i, j, int(after[row])))
        if not violations:
            return PropertyVerdict(True if tested else None)
        _, k, row, *_, after_row = min(violations)
        return PropertyVerdict(False, self.counterexample([row, after_row], [k, k]))

    def localized(self) -> PropertyVerdict:
        """The score at k depends on the first k documents only."""
        differs, other = np.zeros_like(self.is_ranked), np.zeros(self.is_ranked.shape, np.int64)
        undefined = np.zeros_like(self.is_ranked)
        for k in range(1, self.rankings.documents + 1):
            rows = np.flatnonzero(self.is_ranked[:, k - 1])
            scores = self.scores[rows, k - 1]
            # Compared with the first defined score of all rankings with the same prefix.
            order = np.lexsort((rows, np.isnan(scores)))
            _, first, group = np.unique(
                self.rankings.prefix_codes(k)[rows][order], return_index=True, return_inverse=True
            )
            reference = order[first[group]]
            gap = np.full(len(rows), np.nan)
            gap[order] = np.abs(scores[order] - scores[reference])
            differs[rows, k - 1] = gap > SAME
            undefined[rows[order], k - 1] = np.isnan(scores[order]) & ~np.isnan(scores[reference])
            other[rows[order], k - 1] = rows[reference]
        worst = self.smallest(differs) or self.smallest(undefined)
        if worst is None:
            return _verdict(~np.isnan(self.scores), None)
        row, k = worst
        return PropertyVerdict(False, self.counterexample([int(other[row, k - 1]), row], [k, k]))

    def complete(self) -> PropertyVerdict:
        """The score is defined if no document is relevant."""
        without_relevant = self.is_ranked & (self.relevant == 0)[:, None]
        worst = self.smallest(without_relevant & np.isnan(self.scores))
        return _verdict(without_relevant, worst and self.counterexample([worst[0]], [worst[1]]))

    def realizable(self) -> PropertyVerdict:
        """For any number of relevant documents except 0, some ranking reaches the highest score."""
        size, relevant, documents = self.rankings.size, self.relevant.astype(np.int64), self.rankings.documents
        best = np.full((documents + 1, documents + 1, documents), -np.inf)
        np.fmax.at(best, (size, relevant), np.where(np.isnan(self.scores), -np.inf, self.scores))
        bounded = self.bounded().holds is not False
        highest = (
            np.full_like(best, self.limits[1]) if bounded else np.broadcast_to(best.max(axis=1)[:, None], best.shape)
        )
        tested = np.isfinite(best)
        tested[:, 0] = False
        short = (best[size, relevant] < highest[size, relevant] - SAME) & tested[size, relevant]
        is_best = short & (np.abs(self.scores - best[size, relevant]) <= SAME)
        worst = self.smallest(is_best)
        if worst is None:
            return _verdict(tested, None)
        row, k = worst
        return PropertyVerdict(False, self.counterexample([row], [k], float(highest[size[row], relevant[row], k - 1])))

    def truncatable(self) -> PropertyVerdict:
        """Ending a list before a non-relevant document never lowers the score."""
        kind, documents = self.rankings.kind, self.rankings.documents
        nonrelevant = np.append(self.gain <= 0, False)[kind] & (self.rankings.end - self.rankings.start == 1)
        violations: list[tuple[int, int, int, int, float, float]] = []
        before, tested = self._list_scores(0), False
        for n in range(documents):
            after = self._list_scores(n + 1)
            rise = np.where(nonrelevant[:, n, None], after - before, np.nan)
            tested = tested or not np.isnan(rise).all()
            worst = self.smallest(rise > SAME)
            if worst is not None:
                row, k = worst
                scores = float(before[row, k - 1]), float(after[row, k - 1])
                violations.append((int(self.rankings.size[row]), n, k, row, *scores))
            before = after
        if not violations:
            return PropertyVerdict(True if tested else None)
        _, n, k, row, *pair = min(violations)
        ends = self.rankings.text(row, n), self.rankings.text(row, n + 1)
        return PropertyVerdict(
            False, Counterexample(ends, (n, n + 1) if is_list(self.measure) else (k, k), tuple(pair))
        )

    def _list_scores(self, length: int) -> Floats:
        """Scores of the lists of the first documents, by (ranking, k - 1); one column if there is no cutoff."""
        if not is_list(self.measure):
            return self.score_table(self.rankings, length)
        score = self.scores_at(self.rankings, length, length)
        return np.where(length <= self.rankings.size, score, np.nan)[:, None]

    def stable(self) -> PropertyVerdict:
        """Judging an unjudged document non-relevant does not reverse the order of two rankings."""
        kinds = [kind for k, kind in enumerate(self.rankings.kinds) if kind.is_judged() and self.gain[k] <= 0]
        return self._check_judging(kinds, anywhere=True)

    def neutral(self) -> PropertyVerdict:
        """Judging a document that two rankings have at the same rank does not reverse their order."""
        return self._check_judging([kind for kind in self.rankings.kinds if kind.is_judged()], anywhere=False)

    def _check_judging(self, kinds: Sequence[DocumentKind], *, anywhere: bool) -> PropertyVerdict:
        """Compare two rankings of the same documents before and after one document, x, is judged."""
        pairs = self.pairs
        x = len(pairs.kinds) - 1
        rank = (pairs.kind == x).argmax(axis=1)
        groups = np.unique(np.sort(pairs.kind, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
        before = self.score_table(pairs)
        tested, violations = False, list[tuple[tuple[int, ...], Counterexample]]()
        for kind in kinds:
            judged = replace(pairs, kinds=(*pairs.kinds[:-1], replace(kind, mark="x")))
            after = self.score_table(judged)
            for g in range(groups.max() + 1):
                rows = np.flatnonzero(groups == g)
                lead_before = before[rows, None] - before[rows]
                lead_after = after[rows, None] - after[rows]
                allowed = np.full(lead_before.shape[:2], anywhere) | (rank[rows, None] == rank[rows])
                tested = tested or bool((~np.isnan(lead_before + lead_after) & allowed[..., None]).any())
                a, b, k = np.nonzero((lead_before > SAME) & (lead_after < -SAME) & allowed[..., None])
                if len(a):
                    best = np.lexsort((b, a, k))[0]
                    first, second = int(rows[a[best]]), int(rows[b[best]])
                    key = int(pairs.size[first]), int(k[best]) + 1, first, second
                    cutoff = key[1]
                    scores = tuple(float(t[r, cutoff - 1]) for t in (before, after) for r in (first, second))
                    texts = pairs.text(first, cutoff), pairs.text(second, cutoff)
                    violations.append((key, Counterexample(texts, (cutoff,) * 2, scores, judged=kind.mark)))
        if not violations:
            return PropertyVerdict(True if tested else None)
        return PropertyVerdict(False, min(violations, key=itemgetter(0))[1])

    @cached_property
    def pairs(self) -> SmallRankings:
        """The rankings with exactly one document x, which is unjudged."""
        judged = [kind for kind in self.rankings.kinds if kind.is_judged()]
        kinds = (*judged, UNJUDGED, replace(UNJUDGED, mark="x"))
        limit = default_documents(len(kinds), most=PAIR_DOCUMENTS, limit=PAIR_RANKINGS)
        rankings = all_rankings(kinds, min(self.rankings.documents, limit))
        return rankings.select((rankings.kind == len(kinds) - 1).sum(axis=1) == 1)


def _verdict(tested: Booleans, counterexample: Counterexample | None) -> PropertyVerdict:
    if counterexample is not None:
        return PropertyVerdict(False, counterexample)
    return PropertyVerdict(True if tested.any() else None)


def evaluate_rankings(measure: Measure, rankings: Rankings) -> Floats:
    """The scores of a measure; a failure of a user's function is reported with its file and line."""
    function = measure.definition.function
    if function.__module__.startswith("cranfield."):
        return measure.values(rankings).value
    source = f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"
    try:
        with np.errstate(all="ignore"):
            values = np.asarray(measure.values(rankings).value, np.float64)
    except CranfieldError:
        raise
    except Exception as error:
        raise InputError([f"{source}: {measure.symbol} fails: {type(error).__name__}: {error}"]) from error
    if values.shape != rankings.length.shape:
        raise InputError(
            [f"{source}: {measure.symbol} returns an array of shape {values.shape}, expected {rankings.length.shape}"],
            hint="a measure must return one score per query, usually a sum over axis=1",
        )
    return values
