"""What a ranking's imperfections do to each score, and which of them could change the order of two runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np

from cranfield import formats
from cranfield.alignment import Aligner, Alignment
from cranfield.arguments import one_of
from cranfield.batch import Booleans
from cranfield.bounds import bounds
from cranfield.data import Floats, Integers, Run
from cranfield.errors import UsageError
from cranfield.evaluate import Negative, Queries, evaluate, planned
from cranfield.located import opened, reader
from cranfield.measures import Measure, parse
from cranfield.measures.weights import count
from cranfield.nil import with_nil
from cranfield.rows import summed
from cranfield.scored import Aligners
from cranfield.scores import Interval, Scores, Undefined, number
from cranfield.statistics.correlation import SAME, levels
from cranfield.views import Ties

Cause = Literal["ties", "unjudged", "condensed", "terminal", "queries"]
CAUSES: tuple[Cause, ...] = get_args(Cause)

# One of everything: the whole ranking, its first page, its first useful document, a user who may stop anywhere.
DEFAULT_MEASURES = ("AP", "nDCG@10", "RR", "RBP")
LEVEL = 0.95
ORDERS: tuple[Ties, ...] = ("worst", "expected", "best")


@dataclass(frozen=True)
class Swap:
    """Two runs whose order one cause could turn, though their scores differ.

    ``score``, ``low``, ``high`` have the numbers of the higher run first: what each scores, and between what the
    cause leaves it open. For ``condensed`` and ``terminal``, which are one number and not an interval, low is high.
    ``adjacent`` says that no other run scores between the two.
    """

    measure: str
    cause: Cause
    higher: str
    lower: str
    score: tuple[float, float]
    low: tuple[float, float]
    high: tuple[float, float]
    adjacent: bool

    @property
    def gap(self) -> float:
        """By how much the scores differ."""
        return self.score[0] - self.score[1]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        pairs = {name: list(getattr(self, name)) for name in ("score", "low", "high")}
        who = {"measure": self.measure, "cause": self.cause, "higher": self.higher, "lower": self.lower}
        return who | pairs | {"adjacent": self.adjacent}


@dataclass(frozen=True, eq=False)
class Audit:
    """Scores with all that could have made them different; arrays are (run, measure) unless said otherwise.

    ``score``, ``n``: the mean over queries, and how many these are.
    ``worst``, ``expected``, ``best``: the mean with ties in their worst order, over all orders, in their best; worst
    and best are NaN for measures of subtopics and those that read, as are ``lowest`` and ``highest``.
    ``lowest``, ``highest``: what judging the unjudged documents retrieved could make of the mean, over the same
    queries; bounds where ``hold``, elsewhere the range of the judgments that were tried.
    ``unjudged``: the share of documents that nobody judged among those that the measure looks at.
    ``condensed``: the mean without them. ``terminal``: with the end of each list as an answer; NaN where a measure
    has no such form.
    ``low``, ``high``: the confidence interval of the mean over queries like these.
    ``nil``, ``silent``: judged queries without a relevant document, and those of them answered by an empty list.
    ``empty``, ``length`` (run,): lists without a document, and documents in a list on average.
    ``aggregates`` (measure,): whether the "mean" is one, or a geometric mean or a sum.
    ``swaps``: every pair of runs that some cause could turn.
    """

    runs: tuple[str, ...]
    measures: tuple[str, ...]
    aggregates: tuple[str, ...]
    interval: Interval
    score: Floats
    n: Integers
    worst: Floats
    expected: Floats
    best: Floats
    lowest: Floats
    highest: Floats
    hold: Booleans
    unjudged: Floats
    condensed: Floats
    terminal: Floats
    low: Floats
    high: Floats
    nil: Integers
    silent: Integers
    empty: Integers
    length: Floats
    swaps: tuple[Swap, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def place(self) -> Floats:
        """Where the score stands from worst (0) to best (1); NaN where the order of ties changes nothing."""
        room = self.best - self.worst
        moved = room > SAME
        return np.where(moved, (self.score - self.worst) / np.where(moved, room, 1), np.nan)

    @property
    def pairs(self) -> Integers:
        """How many pairs of runs differ in a measure's score, (measure,)."""
        ranks = [_levels(column) for column in self.score.T]
        return np.array([sum(a != b for a, b in combinations(r[r >= 0], 2)) for r in ranks], np.int64)

    def reach(self, cause: Cause) -> tuple[Floats, Floats]:
        """Between which values a cause leaves each score open."""
        if cause == "ties":
            orders = self.score, self.worst, self.expected, self.best
            return reduce(np.fmin, orders), reduce(np.fmax, orders)
        if cause == "unjudged":
            return self.lowest, self.highest
        if cause == "queries":
            return self.low, self.high
        value = self.condensed if cause == "condensed" else self.terminal
        return value, value

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: ``{"runs": {run: {..., "measures": {measure: {...}}}}, "swaps": [...], ...}``."""
        return {
            "runs": {
                run: {
                    "empty": int(self.empty[r]),
                    "length": number(self.length[r]),
                    "measures": {measure: self._entry(r, m) for m, measure in enumerate(self.measures)},
                }
                for r, run in enumerate(self.runs)
            },
            "interval": {"method": self.interval, "level": LEVEL},
            "pairs": dict(zip(self.measures, self.pairs.tolist(), strict=True)),
            "swaps": [swap.to_dict() for swap in self.swaps],
            "notes": list(self.notes),
        }

    def _entry(self, r: int, m: int) -> dict[str, Any]:
        def of(**arrays: Floats) -> dict[str, float | None]:
            return {name: number(float(array[r, m])) for name, array in arrays.items()}

        return {
            **of(score=self.score),
            "n": int(self.n[r, m]),
            "ties": of(worst=self.worst, expected=self.expected, best=self.best, place=self.place),
            "unjudged": {
                **of(lowest=self.lowest, highest=self.highest),
                "hold": bool(self.hold[r, m]),
                **of(share=self.unjudged, condensed=self.condensed),
            },
            "lists": {**of(terminal=self.terminal), "nil": int(self.nil[r, m]), "silent": int(self.silent[r, m])},
            "queries": of(low=self.low, high=self.high),
        }


def audit(
    run: Any,
    qrels: Any,
    measures: str | Measure | Sequence[str | Measure] = DEFAULT_MEASURES,
    *,
    ties: Ties | None = None,
    depth: int | None = None,
    condensed: bool = False,
    terminal: bool = False,
    queries: Queries = "judged",
    undefined: Undefined = "skip",
    negative: Negative = "unjudged",
    nil: str | None = None,
    full_length: int | None = None,
    corpus: Any = None,
    names: Sequence[str] | None = None,
    interval: Interval = "t",
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Audit:
    """How far each score can be trusted: what ties, unjudged documents, short lists and few queries could change.

    Takes what `evaluate` takes. ``interval`` is how confidence intervals are made: Student's t, or the bca bootstrap.

    >>> import cranfield as cf
    >>> runs = [{"q": {"a": 1.0, "b": 1.0}}, {"q": {"b": 2.0, "a": 1.0}}]
    >>> found = cf.audit(runs, {"q": {"a": 1, "b": 0}}, "RR", names=["tied", "clear"])
    >>> found.score.tolist(), found.best.tolist()
    ([[0.5], [0.5]], [[1.0], [0.5]])
    """
    one_of("interval", interval, get_args(Interval))
    runs = [formats.read_run(one) for one in (run if isinstance(run, (list, tuple)) else [run])]
    if not runs:
        raise UsageError("no run was given", hint="an audit takes one run or several")
    judgments = formats.read_qrels(qrels)
    how: dict[str, Any] = {"ties": ties, "depth": depth, "queries": queries, "undefined": undefined}
    how |= {"negative": negative, "nil": nil, "full_length": full_length, "seed": seed}
    plan = planned(measures, condensed=condensed, terminal=terminal, **how)
    corpus = opened(corpus, judgments, runs, [column.measure for column in plan.columns])
    how |= {"names": names, "corpus": corpus}
    scores = evaluate(runs, judgments, measures, condensed=condensed, terminal=terminal, **how)
    closer = Closer(scores, {}, full_length, seed)
    if reading := [form for measure in closer.measures if measure.definition.content for form in closer.forms(measure)]:
        closer.aligners[True] = reader(runs, judgments, reading, corpus, negative=negative)
    if not all(measure.definition.content for measure in closer.measures):
        told, rows = (judgments, None) if nil is None else with_nil(judgments, nil)
        closer.aligners[False] = Aligner(told, negative, rows)
    if full_length is not None and closer.ended:
        evaluate(runs, judgments, closer.ended, **how)  # refuses lists that are longer
    looks = []
    # Most of the work is array arithmetic, which two threads do at once.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for look in pool.map(closer.look, runs, range(len(runs))):
            looks.append(look)
            if progress is not None:
                progress(len(looks), len(runs))
    cells = [(r, m) for r in range(len(runs)) for m in range(len(scores.measures))]
    shape = len(runs), len(scores.measures)
    limits = [scores.interval(r, m, level=LEVEL, method=interval, seed=seed) for r, m in cells]
    low, high = (np.array(end).reshape(shape) for end in zip(*limits, strict=True))
    sizes = np.array([len(scores.sample(r, m)) for r, m in cells]).reshape(shape)
    parts: dict[str, Any] = {name: np.array([look[name] for look in looks]) for name in looks[0]}
    found = Audit(
        scores.runs,
        scores.measures,
        scores.aggregates,
        interval,
        scores.means,
        sizes,
        low=low,
        high=high,
        notes=tuple(_notes(scores)),
        **parts,
    )
    return replace(found, swaps=tuple(_swaps(found)))


@dataclass(frozen=True, eq=False)
class Closer:
    """Runs met with judgments once more, for all that their scores do not tell."""

    scores: Scores
    aligners: Aligners
    full: int | None
    seed: int

    @cached_property
    def measures(self) -> list[Measure]:
        return [parse(name) for name in self.scores.measures]

    @cached_property
    def ended(self) -> list[Measure]:
        """The terminal form of every measure that has one."""
        forms = (dict(self.variants(measure)).get("terminal") for measure in self.measures)
        return [form for form in forms if form is not None]

    def variants(self, measure: Measure) -> Iterator[tuple[str, Measure]]:
        """The measure with one thing done otherwise, by what that is called."""
        views = measure.views
        # Ordered by gain, a tie is at its best or worst for one document after the other, not for what they say.
        for rule in ORDERS if _judged_alone(measure) else ("expected",):
            yield rule, replace(measure, views=replace(views, ties=rule))
        yield "condensed", replace(measure, views=replace(views, condensed=True))
        if not measure.definition.terminal:
            yield "terminal", replace(measure, views=replace(views, terminal=True, full=views.full or self.full))

    def forms(self, measure: Measure) -> list[Measure]:
        """The measure, and all its variants."""
        return [measure, *dict(self.variants(measure)).values()]

    def look(self, run: Run, r: int) -> dict[str, Any]:
        """Of each quantity of an `Audit` the part that is this run's."""
        slots = [(measure.definition.content, measure.views.key) for measure in self.measures]
        alignments = {(content, key): self.aligners[content].align(run, key) for content, key in sorted(set(slots))}
        parts = [self.measured(alignments[slot], r, m) for m, slot in enumerate(slots)]
        lists = next(iter(alignments.values()))
        length = self.placed(lists, lists.length, lists.other_length)[self.scores.counted[r]]
        return {
            **{name: [part[name] for part in parts] for name in parts[0]},
            "empty": int((length <= 0).sum()),
            "length": float(np.maximum(length, 0).mean()) if len(length) else np.nan,
        }

    def placed(self, alignment: Alignment, judged: Any, other: Any) -> Any:
        """Values of the judged queries and of the run's other ones, in the order of the scores' queries."""
        values = np.zeros(len(self.scores.queries), judged.dtype)
        values[: len(judged)] = judged
        place = {query: q for q, query in enumerate(self.scores.queries[len(judged) :], len(judged))}
        for query, value in zip(alignment.other, other, strict=True):
            if query in place:
                values[place[query]] = value
        return values

    def measured(self, alignment: Alignment, r: int, m: int) -> dict[str, Any]:
        """Every quantity of one run and measure."""
        scores, measure = self.scores, self.measures[m]
        judged, size = len(alignment.length), len(alignment.length) + len(alignment.other)
        batches = list(alignment.batches)
        if size > judged and len(scores.queries) > judged:
            batches.append((np.arange(judged, size), alignment.unjudged()))
        variants = dict(self.variants(measure))
        found = {name: np.full(size, np.nan) for name in (*variants, "lowest", "highest")}
        hold, nil, silent = np.zeros((3, size), bool)
        seen, there = np.zeros((2, size))
        k = int(measure.cutoff) if measure.cutoff and measure.definition.cutoff != "recall" else None
        for rows, batch in batches:
            for name, variant in variants.items():
                found[name][rows] = variant.values(batch, seed=self.seed).value
            if _judged_alone(measure):
                possible = bounds(measure, batch, seed=self.seed)
                found["lowest"][rows], found["highest"][rows], hold[rows] = possible.low, possible.high, possible.hold
            looked = measure.ordered(batch)
            seen[rows] = summed(looked.judged * looked.mean_over(count, k))
            there[rows] = looked.length if k is None else np.minimum(looked.length, k)
            nil[rows] = (looked.R == 0) | (batch.nil_grade > 0)
            silent[rows] = batch.length == batch.nil.sum(axis=1)
        values = {name: self.placed(alignment, array[:judged], array[judged:]) for name, array in found.items()}
        counted, undefined = scores.counted[r], np.isnan(scores.values[r, m])
        hold, seen, there = (self.placed(alignment, array[:judged], array[judged:]) for array in (hold, seen, there))
        barren = counted[:judged] & nil[:judged]
        return {
            **dict.fromkeys((*ORDERS, "terminal"), np.nan),
            **{name: scores.summary(r, m, instead=array) for name, array in values.items()},
            "hold": bool(hold[counted & ~undefined].all()),
            "unjudged": max(1 - seen[counted].sum() / there[counted].sum(), 0) if there[counted].any() else np.nan,
            "nil": int(barren.sum()),
            "silent": int((barren & silent[:judged]).sum()),
        }


def _judged_alone(measure: Measure) -> bool:
    """Whether grades say all about a document: what it is about, where nobody judged it, is anybody's guess."""
    return not measure.definition.subtopics and not measure.definition.content


def _notes(scores: Scores) -> Iterator[str]:
    """What the evaluation has to say, but for what an audit says at length."""
    told = tuple(f"{run}: {what}" for run in scores.runs for what in ("nobody judged", "tied scores"))
    return (note for note in scores.notes if not note.startswith(told))


def _levels(score: Floats) -> Integers:
    """The rank of each score from the lowest, equal ones together; -1 where there is none."""
    there, found = ~np.isnan(score), np.full(len(score), -1)
    found[there] = levels(score[there])
    return found


def _swaps(found: Audit) -> Iterator[Swap]:
    """The pairs that each cause could turn: by cause and measure, neighbours first, closest first."""
    for cause in CAUSES:
        low, high = found.reach(cause)
        for m, measure in enumerate(found.measures):
            score, level = found.score[:, m], _levels(found.score[:, m])
            above = (level[:, None] > level) & (level >= 0) & (low[:, m, None] < high[:, m] - SAME)
            pairs = [(int(a), int(b)) for a, b in np.argwhere(above)]
            for a, b in sorted(pairs, key=lambda p: (level[p[0]] - level[p[1]] > 1, score[p[0]] - score[p[1]], p)):
                yield Swap(
                    measure,
                    cause,
                    found.runs[a],
                    found.runs[b],
                    (float(score[a]), float(score[b])),
                    (float(low[a, m]), float(low[b, m])),
                    (float(high[a, m]), float(high[b, m])),
                    adjacent=bool(level[a] - level[b] == 1),
                )
