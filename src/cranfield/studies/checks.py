"""One measure on all small rankings, property by property, and the smallest ranking that speaks against each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from cranfield.batch import Booleans
from cranfield.data import Floats
from cranfield.errors import CranfieldError, InputError
from cranfield.measures import Measure
from cranfield.ranking.rankings import Rankings
from cranfield.statistics.correlation import SAME
from cranfield.studies import saving, worlds
from cranfield.studies.worlds import UNJUDGED, Kind, Worlds

SEVEN = ("bounded", "monotone", "convergent", "top-weighted", "localized", "complete", "realizable")
MORE = ("truncatable", "stable", "neutral")
PROPERTIES = (*SEVEN, *MORE)

LONG = 2000  # documents of the rankings that tell a large score from one without bound
DEPTHS = (10, 20, 50, 100, 200, 500, 1000, LONG)
PAIRED, PAIRS = 6, 6_000  # documents, and rankings, of the worlds in which rankings are compared with each other


@dataclass(frozen=True)
class Case:
    """The smallest ranking that speaks against a property, or two of them, with their cut-offs and scores.

    ``limit``: what the score should have kept to or reached. ``judged``: what the document x turned out to be; then
    the last two ``scores`` are those after that judgment.
    """

    rankings: tuple[str, ...]
    k: tuple[int, ...]
    scores: tuple[float, ...]
    limit: float | None = None
    judged: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data; an undefined score is None, an infinite one a text."""
        found: dict[str, Any] = {"rankings": list(self.rankings), "k": list(self.k)}
        found["scores"] = saving.listed(np.array(self.scores))
        if self.limit is not None:
            found["limit"] = saving.listed(np.array([self.limit]))[0]
        return found | ({"judged": self.judged} if self.judged else {})

    @classmethod
    def of_dict(cls, found: dict[str, Any]) -> Case:
        """What `to_dict` returned, as a case again."""
        scores = tuple(saving.array(found["scores"]).tolist())
        limit = float(found["limit"]) if "limit" in found else None
        return cls(tuple(found["rankings"]), tuple(found["k"]), scores, limit, found.get("judged", ""))


@dataclass(frozen=True)
class Verdict:
    """Whether a property holds in the worlds searched; None where they have nothing to compare."""

    holds: bool | None
    case: Case | None = None


def is_list(measure: Measure) -> bool:
    """Whether k is the length of the list, because there is no cut-off or it would hide where the list ends."""
    return measure.definition.cutoff in ("none", "recall") or measure.views.terminal


@dataclass(frozen=True, eq=False)
class Checks:
    """One measure on all worlds, and what of each property they leave standing."""

    measure: Measure
    worlds: Worlds

    def verdicts(self) -> Iterator[tuple[str, Verdict]]:
        """Every property with its verdict."""
        checks = (
            self.bounded,
            self.monotone,
            self.convergent,
            self.top_weighted,
            self.localized,
            self.complete,
            self.realizable,
            self.truncatable,
            self.stable,
            self.neutral,
        )
        for name, check in zip(PROPERTIES, checks, strict=True):
            # Of two infinite scores no difference can be taken, and none is.
            with np.errstate(invalid="ignore"):
                verdict = check()
            yield name, verdict

    @cached_property
    def scores(self) -> Floats:
        """Scores by (ranking, k - 1); undefined, or below the end of the ranking, is NaN."""
        return self.tabled(self.worlds)

    @cached_property
    def there(self) -> Booleans:
        return np.arange(1, self.worlds.documents + 1) <= self.worlds.size[:, None]

    @cached_property
    def gain(self) -> Floats:
        """What each kind of document is worth to the measure."""
        return self.measure.gains.of(np.array([kind.grade for kind in self.worlds.kinds]), self.worlds.top)

    @cached_property
    def found(self) -> Floats:
        """How many relevant documents each world has."""
        return np.append(self.gain > 0, False)[self.worlds.kind].sum(axis=1)

    @cached_property
    def lesser(self) -> Booleans:
        """Which kind of document is less relevant than which; of one that nobody judged nobody knows."""
        kinds = self.worlds.kinds
        judged = np.array([kind.is_judged() for kind in kinds])
        if self.measure.definition.subtopics:
            below = np.array([[a.about < b.about for b in kinds] for a in kinds])
        else:
            below = self.gain[:, None] < self.gain
        return below & judged[:, None] & judged

    @property
    def limits(self) -> tuple[float, float]:
        """What scores should keep to: what the measure declares, and 0 and 1 where it declares no bound."""
        low, high = self.measure.definition.bounds
        return (low if np.isfinite(low) else 0.0), (high if np.isfinite(high) else 1.0)

    def tabled(self, some: Worlds, length: int | None = None) -> Floats:
        """Scores by (ranking, k - 1), of the list of the first ``length`` documents where one is given."""
        columns = [self.at(some, k, length) for k in range(1, some.documents + 1)]
        there = np.arange(1, some.documents + 1) <= some.size[:, None]
        return np.where(there, np.column_stack(columns), np.nan)

    def at(self, some: Worlds, k: int, length: int | None = None) -> Floats:
        """The score of every ranking at one cut-off, or of its list of the first k."""
        measure, views = self.measure, self.measure.views
        if is_list(measure):
            length = k if length is None else length
            kept = measure.cutoff if measure.definition.cutoff == "recall" else None
            cutoff = k + 1 if measure.definition.cutoff == "required" else kept
        else:
            cutoff = k
        if length is not None:
            views = replace(views, depth=length if views.depth is None else min(length, views.depth))
        rankings = replace(some.rankings, memo={})  # without what was made of it before: there are many cut-offs
        return valued(replace(measure, cutoff=cutoff, views=views), rankings)

    def first(self, against: Booleans) -> tuple[int, int] | None:
        """The smallest world and k among those marked: fewest documents, then least k, then the first written."""
        row, k = np.nonzero(against)
        if not len(row):
            return None
        best = np.lexsort((row, k, self.worlds.size[row]))[0]
        return int(row[best]), int(k[best]) + 1

    def case(self, rows: Sequence[int], ks: Sequence[int], limit: float | None = None) -> Case:
        """A counterexample written out."""
        pairs = list(zip(rows, ks, strict=True))
        texts = tuple(self.worlds.text(row, k) for row, k in pairs)
        return Case(texts, tuple(ks), tuple(float(self.scores[row, k - 1]) for row, k in pairs), limit)

    def bounded(self) -> Verdict:
        """All scores keep to one range, however many documents are relevant."""
        low, high = self.limits
        worst = self.first((self.scores > high + SAME) | (self.scores < low - SAME))
        if worst is not None:
            row, k = worst
            return Verdict(False, self.case([row], [k], high if self.scores[row, k - 1] > high else low))
        if self.longest > self.worlds.documents:
            judged = [k for k, kind in enumerate(self.worlds.kinds) if kind.is_judged()]
            for kind in (judged[-1], judged[0]):
                long = worlds.alike(kind, self.worlds.kinds, self.longest)
                for k in DEPTHS:
                    score = float(self.at(long, k)[0])
                    if score > high + SAME or score < low - SAME:
                        text = f"{self.longest} times {self.worlds.kinds[kind].mark}"
                        return Verdict(False, Case((text,), (k,), (score,), high if score > high else low))
        return _verdict(~np.isnan(self.scores), None)

    @property
    def longest(self) -> int:
        """The length of the longest ranking tried; an ideal order of subtopics is not for many documents."""
        return self.worlds.documents if self.measure.definition.subtopics else LONG

    def monotone(self) -> Verdict:
        """A longer look at a ranking never lowers its score."""
        step = np.diff(self.scores, axis=1)
        worst = self.first(step < -SAME)
        return _verdict(~np.isnan(step), worst and self.case([worst[0]] * 2, [worst[1], worst[1] + 1]))

    def convergent(self) -> Verdict:
        """A better document from below the first k in the place of one of them raises the score."""
        spans, ks = self.worlds, np.arange(1, self.worlds.documents + 1)
        return self._swaps(lambda i, j: (spans.end[:, i, None] <= ks) & (spans.start[:, j, None] >= ks))

    def top_weighted(self) -> Verdict:
        """A better document of the first k that changes places with one above it raises the score."""
        spans, ks = self.worlds, np.arange(1, self.worlds.documents + 1)
        return self._swaps(lambda i, j: (spans.end[:, i] <= spans.start[:, j])[:, None] & (spans.end[:, j, None] <= ks))

    def _swaps(self, allowed: Callable[[int, int], Booleans]) -> Verdict:
        kind, size = self.worlds.kind, self.worlds.size
        smallest: tuple[int, ...] | None = None
        tested = False
        for i in range(self.worlds.documents):
            for j in range(i + 1, self.worlds.documents):
                better = (size > j) & self.lesser[kind[:, i], kind[:, j]]
                after = self.worlds.swapped(i, j)
                rise = np.where(better[:, None] & allowed(i, j), self.scores[after] - self.scores, np.nan)
                tested = tested or not np.isnan(rise).all()
                worst = self.first(rise <= SAME)
                if worst is not None:
                    row, k = worst
                    key = int(size[row]), k, row, i, j, int(after[row])
                    smallest = key if smallest is None else min(smallest, key)
        if smallest is None:
            return Verdict(True if tested else None)
        _, k, row, *_, after_row = smallest
        return Verdict(False, self.case([row, after_row], [k, k]))

    def localized(self) -> Verdict:
        """The first k documents are all that a score at k depends on."""
        differs, other = np.zeros_like(self.there), np.zeros(self.there.shape, np.int64)
        undefined = np.zeros_like(self.there)
        for k in range(1, self.worlds.documents + 1):
            rows = np.flatnonzero(self.there[:, k - 1])
            scores = self.scores[rows, k - 1]
            # Against the first defined score of all that begin alike; one that has none is left to definedness.
            order = np.lexsort((rows, np.isnan(scores)))
            _, first, group = np.unique(self.worlds.prefixes(k)[rows][order], return_index=True, return_inverse=True)
            model = order[first[group]]
            gap = np.full(len(rows), np.nan)
            gap[order] = np.abs(scores[order] - scores[model])
            differs[rows, k - 1] = gap > SAME
            undefined[rows[order], k - 1] = np.isnan(scores[order]) & ~np.isnan(scores[model])
            other[rows[order], k - 1] = rows[model]
        worst = self.first(differs) or self.first(undefined)
        if worst is None:
            return _verdict(~np.isnan(self.scores), None)
        row, k = worst
        return Verdict(False, self.case([int(other[row, k - 1]), row], [k, k]))

    def complete(self) -> Verdict:
        """There is a score where no document is relevant."""
        barren = self.there & (self.found == 0)[:, None]
        worst = self.first(barren & np.isnan(self.scores))
        return _verdict(barren, worst and self.case([worst[0]], [worst[1]]))

    def realizable(self) -> Verdict:
        """However many documents are relevant, if one is, some ranking has the highest score there is."""
        size, found, documents = self.worlds.size, self.found.astype(np.int64), self.worlds.documents
        best = np.full((documents + 1, documents + 1, documents), -np.inf)
        np.fmax.at(best, (size, found), np.where(np.isnan(self.scores), -np.inf, self.scores))
        within = self.bounded().holds is not False
        highest = (
            np.full_like(best, self.limits[1]) if within else np.broadcast_to(best.max(axis=1)[:, None], best.shape)
        )
        tested = np.isfinite(best)
        tested[:, 0] = False
        short = (best[size, found] < highest[size, found] - SAME) & tested[size, found]
        reached = short & (np.abs(self.scores - best[size, found]) <= SAME)
        worst = self.first(reached)
        if worst is None:
            return _verdict(tested, None)
        row, k = worst
        return Verdict(False, self.case([row], [k], float(highest[size[row], found[row], k - 1])))

    def truncatable(self) -> Verdict:
        """A list may stop before a document that is not relevant, at no loss."""
        kind, documents = self.worlds.kind, self.worlds.documents
        idle = np.append(self.gain <= 0, False)[kind] & (self.worlds.end - self.worlds.start == 1)
        smallest: tuple[int, ...] | None = None
        before, tested = self._listed(0), False
        pair: tuple[float, float] = (np.nan, np.nan)
        for n in range(documents):
            after = self._listed(n + 1)
            rise = np.where(idle[:, n, None], after - before, np.nan)
            tested = tested or not np.isnan(rise).all()
            worst = self.first(rise > SAME)
            if worst is not None:
                row, k = worst
                key = int(self.worlds.size[row]), n, k, row
                if smallest is None or key < smallest:
                    smallest, pair = key, (float(before[row, k - 1]), float(after[row, k - 1]))
            before = after
        if smallest is None:
            return Verdict(True if tested else None)
        _, n, k, row = smallest
        ends = self.worlds.text(row, n), self.worlds.text(row, n + 1)
        return Verdict(False, Case(ends, (n, n + 1) if is_list(self.measure) else (k, k), pair))

    def _listed(self, length: int) -> Floats:
        """Scores of the lists of the first so many documents, by (ranking, k - 1); one column where there is no k."""
        if not is_list(self.measure):
            return self.tabled(self.worlds, length)
        score = self.at(self.worlds, length, length)
        return np.where(length <= self.worlds.size, score, np.nan)[:, None]

    def stable(self) -> Verdict:
        """A document that is judged not to be relevant, and was not judged before, turns no order of two rankings."""
        worth = [kind for k, kind in enumerate(self.worlds.kinds) if kind.is_judged() and self.gain[k] <= 0]
        return self._judging(worth, anywhere=True)

    def neutral(self) -> Verdict:
        """A new judgment of a document that two rankings have at the same rank does not turn their order."""
        return self._judging([kind for kind in self.worlds.kinds if kind.is_judged()], anywhere=False)

    def _judging(self, kinds: Sequence[Kind], *, anywhere: bool) -> Verdict:
        """Two rankings of the same documents before and after one of these, x, is judged to be of a kind."""
        pairs = self.pairs
        x = len(pairs.kinds) - 1
        place = (pairs.kind == x).argmax(axis=1)
        groups = np.unique(np.sort(pairs.kind, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
        before = self.tabled(pairs)
        tested, smallest = False, None
        for kind in kinds:
            judged = replace(pairs, kinds=(*pairs.kinds[:-1], replace(kind, mark="x")))
            after = self.tabled(judged)
            for g in range(groups.max() + 1):
                rows = np.flatnonzero(groups == g)
                lead = before[rows, None] - before[rows]
                left = after[rows, None] - after[rows]
                fair = np.full(lead.shape[:2], anywhere) | (place[rows, None] == place[rows])
                tested = tested or bool((~np.isnan(lead + left) & fair[..., None]).any())
                a, b, k = np.nonzero((lead > SAME) & (left < -SAME) & fair[..., None])
                if len(a):
                    best = np.lexsort((b, a, k))[0]
                    one, two = int(rows[a[best]]), int(rows[b[best]])
                    key = int(pairs.size[one]), int(k[best]) + 1, one, two
                    if smallest is None or key < smallest[0]:
                        at = key[1] - 1
                        scores = tuple(float(t[r, at]) for t in (before, after) for r in (one, two))
                        smallest = (
                            key,
                            Case(
                                (pairs.text(one, key[1]), pairs.text(two, key[1])),
                                (key[1],) * 2,
                                scores,
                                judged=kind.mark,
                            ),
                        )
        if smallest is None:
            return Verdict(True if tested else None)
        return Verdict(False, smallest[1])

    @cached_property
    def pairs(self) -> Worlds:
        """Rankings in which one document is x: nobody has judged it yet."""
        judged = [kind for kind in self.worlds.kinds if kind.is_judged()]
        kinds = (*judged, UNJUDGED, replace(UNJUDGED, mark="x"))
        most = min(self.worlds.documents, worlds.usual(len(kinds), most=PAIRED, limit=PAIRS))
        some = worlds.every(kinds, most)
        return some.only((some.kind == len(kinds) - 1).sum(axis=1) == 1)


def _verdict(tested: Booleans, case: Case | None) -> Verdict:
    if case is not None:
        return Verdict(False, case)
    return Verdict(True if tested.any() else None)


def valued(measure: Measure, rankings: Rankings) -> Floats:
    """A measure's scores; what goes wrong in a function that is not ours is told as an error of its file."""
    function = measure.definition.function
    if function.__module__.startswith("cranfield."):
        return measure.values(rankings).value
    place = f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"
    try:
        with np.errstate(all="ignore"):
            found = np.asarray(measure.values(rankings).value, np.float64)
    except CranfieldError:
        raise
    except Exception as error:
        raise InputError([f"{place}: {measure.symbol} fails: {type(error).__name__}: {error}"]) from error
    if found.shape != rankings.length.shape:
        raise InputError(
            [f"{place}: {measure.symbol} returns an array of shape {found.shape}, not {rankings.length.shape}"],
            hint="a measure returns one score for each query, most often a sum over axis=1",
        )
    return found
