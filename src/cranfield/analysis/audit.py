"""What a ranking's imperfections do to each score, and which of them could change the order of two runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np

from cranfield.arguments import one_of
from cranfield.batch import Booleans
from cranfield.data import Floats, Integers
from cranfield.evaluation.columns import Aggregate, Column, make_plan
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.evaluator import Evaluator, Measures
from cranfield.evaluation.notes import Kind, Note, sentences
from cranfield.evaluation.policy import Policy
from cranfield.evaluation.reader import Progress
from cranfield.evaluation.run_scores import RunScores
from cranfield.evaluation.scores import Interval, Scores, number
from cranfield.measures.weights import count
from cranfield.ranking.tie_rules import Ties
from cranfield.rows import summed
from cranfield.statistics.rounding import SAME, levels

Cause = Literal["ties", "unjudged", "condensed", "terminal", "queries"]
CAUSES: tuple[Cause, ...] = get_args(Cause)

# One of everything: the whole ranking, its first page, its first useful document, a user who may stop anywhere.
DEFAULT_MEASURES = ("AP", "nDCG@10", "RR", "RBP")
LEVEL = 0.95
ORDERS: tuple[Ties, ...] = ("worst", "expected", "best")
# Notes of the evaluation that an audit reports at length.
TOLD_BY_AUDITS: tuple[Kind, ...] = ("unjudged_documents", "tie_range", "tie_small", "tie_unknown")


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
    ``swaps``: every pair of runs that some cause could turn.
    """

    runs: tuple[str, ...]
    columns: tuple[Column, ...]
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
    notes: tuple[Note, ...] = ()

    @property
    def measures(self) -> tuple[str, ...]:
        """The labels of the columns."""
        return tuple(column.label for column in self.columns)

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """Whether each "mean" is one, or a geometric mean or a sum."""
        return tuple(column.aggregate for column in self.columns)

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
            "notes": sentences(self.notes),
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
    qrels: Any,
    run: Any,
    measures: Measures = DEFAULT_MEASURES,
    *,
    interval: Interval = "t",
    intents: Any = None,
    corpus: Any = None,
    names: Sequence[str] | None = None,
    progress: Progress | None = None,
    **policy: Any,
) -> Audit:
    """How far each score can be trusted: what ties, unjudged documents, short lists and few queries could change.

    Takes what `evaluate` takes; ``policy`` are the fields of `Policy`. ``interval`` is how confidence intervals are
    made: Student's t, or the BCa bootstrap.

    >>> import cranfield as cf
    >>> runs = {"tied": {"q": {"a": 1.0, "b": 1.0}}, "clear": {"q": {"b": 2.0, "a": 1.0}}}
    >>> found = cf.audit({"q": {"a": 1, "b": 0}}, runs, "RR")
    >>> found.score.tolist(), found.best.tolist()
    ([[0.5], [0.5]], [[1.0], [0.5]])
    """
    one_of("interval", interval, get_args(Interval))
    plan = make_plan(measures, Policy.of(**policy))
    evaluation = Evaluator.of(qrels, plan, intents=intents, corpus=corpus).evaluation(run, names=names)
    return audit_evaluation(evaluation, interval=interval, progress=progress)


def audit_evaluation(evaluation: Evaluation, *, interval: Interval = "t", progress: Progress | None = None) -> Audit:
    """`audit` of runs that were read already."""
    return evaluation.remember(("audit", interval), lambda: Auditor(evaluation).audit(interval, progress))


def reversible(evaluation: Evaluation, progress: Progress | None = None) -> tuple[Swap, ...]:
    """The pairs of runs that other tie orders, or judgments of unjudged documents, could put in another order."""

    def find() -> tuple[Swap, ...]:
        auditor = Auditor(evaluation)
        parts = evaluation.for_each_run(auditor.limits, progress)
        causes: tuple[Cause, ...] = ("ties", "unjudged")
        reach = {cause: _stacked(parts, cause) for cause in causes}
        return tuple(_swaps(evaluation.scores, reach))

    return evaluation.remember("reversible", find)


def _stacked(parts: Sequence[dict[str, Any]], cause: Cause) -> tuple[Floats, Floats]:
    low, high = np.array([part[cause] for part in parts]).transpose(2, 0, 1)
    return low, high


class Auditor:
    """Computes an audit from an evaluation, run by run."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation, self.scores = evaluation, evaluation.scores
        self.row = {run.run.name: r for r, run in enumerate(evaluation.run_scores)}

    def audit(self, interval: Interval, progress: Progress | None = None) -> Audit:
        """All of it."""
        scores, seed = self.scores, self.evaluation.policy.seed
        parts = self.evaluation.for_each_run(self.audit_run, progress)
        shape = len(scores.runs), len(scores.columns)
        limits = [
            scores.interval(r, m, level=LEVEL, method=interval, seed=seed)
            for r in range(shape[0])
            for m in range(shape[1])
        ]
        low, high = (np.array(end).reshape(shape) for end in zip(*limits, strict=True))
        arrays: dict[str, Any] = {name: np.array([part[name] for part in parts]) for name in parts[0]}
        found = Audit(
            scores.runs,
            scores.columns,
            interval,
            scores.means,
            scores.sizes,
            low=low,
            high=high,
            notes=tuple(note for note in scores.notes if note.kind not in TOLD_BY_AUDITS),
            **arrays,
        )
        return replace(found, swaps=tuple(_swaps(scores, {cause: found.reach(cause) for cause in CAUSES})))

    def variants(self, column: Column) -> dict[str, Column]:
        """The column with one thing done otherwise, by what that is called."""
        views, full_length = column.measure.views, self.evaluation.policy.full_length
        rules: tuple[Ties, ...] = ("expected",) if column.new_counts else ORDERS
        variants = {rule: column.tied(rule) for rule in rules} | {"condensed": column.varied(condensed=True)}
        if not column.measure.definition.terminal:
            variants["terminal"] = column.varied(terminal=True, full=views.full or full_length)
        return variants

    def audit_run(self, run: RunScores) -> dict[str, Any]:
        """Of each array of an `Audit` the row of this run."""
        parts = [self.audit_measure(run, m) for m in range(len(self.scores.columns))]
        alignment = run.alignment
        counted = self.scores.counted[self.row[run.run.name]]
        length = self.placed(run, np.concatenate([alignment.length, alignment.other_length]))[counted]
        return {
            **{name: [part[name] for part in parts] for name in parts[0]},
            "empty": int((length <= 0).sum()),
            "length": float(np.maximum(length, 0).mean()) if len(length) else np.nan,
        }

    def limits(self, run: RunScores) -> dict[str, Any]:
        """Between which means ties, and unjudged documents, leave each column of this run."""
        ties, unjudged = [], []
        for m, column in enumerate(self.scores.columns):
            of_ties = [
                self.scores.means[self.row[run.run.name], m],
                self.mean(run, m, run[column.tied("expected")].value),
            ]
            of_ties += [] if column.new_counts else [self.mean(run, m, value) for value in run.tie_limits(column)]
            ties.append((np.nanmin(of_ties), np.nanmax(of_ties)) if not np.isnan(of_ties).all() else (np.nan, np.nan))
            unjudged.append((np.nan, np.nan) if column.new_counts else self.bounds(run, m))
        return {"ties": ties, "unjudged": unjudged}

    def bounds(self, run: RunScores, m: int) -> tuple[float, float]:
        """The lowest and highest mean that unjudged documents leave possible."""
        low, high = (run[part].value for part in _bounds_of(self.scores.columns[m]))
        return self.mean(run, m, low), self.mean(run, m, high)

    def mean(self, run: RunScores, m: int, values: Floats) -> float:
        """The mean of a column if these were its values."""
        return self.scores.summary(self.row[run.run.name], m, instead=self.placed(run, values))

    def placed(self, run: RunScores, values: Any) -> Any:
        """Values of a run's judged and other queries, in the order of the scores' queries."""
        judged = len(run.length)
        every = np.zeros(len(self.scores.queries), values.dtype)
        every[:judged] = values[:judged]
        if len(every) > judged:
            at = {query: q for q, query in enumerate(self.scores.queries[judged:], judged)}
            every[[at[query] for query in run.unjudged_queries]] = values[judged:]
        return every

    def audit_measure(self, run: RunScores, m: int) -> dict[str, Any]:
        """Every number of one run and measure."""
        scores, column, r = self.scores, self.scores.columns[m], self.row[run.run.name]
        if not column.new_counts:
            run.tie_limits(column)
        means = {name: self.mean(run, m, run[variant].value) for name, variant in self.variants(column).items()}
        hold = False
        if not column.new_counts:
            means["lowest"], means["highest"] = self.bounds(run, m)
            defined = scores.counted[r] & ~np.isnan(scores.values[r, m])
            hold = bool(self.placed(run, run[_bounds_of(column)[0]].hold)[defined].all())
        seen, there, without_answer, silent = self._lists(run, column)
        counted = scores.counted[r]
        judged, retrieved = (float(self.placed(run, count)[counted].sum()) for count in (seen, there))
        barren = counted[: len(run.length)] & without_answer[: len(run.length)]
        return {
            **dict.fromkeys((*ORDERS, "lowest", "highest", "terminal"), np.nan),
            **means,
            "hold": hold,
            "unjudged": max(1 - judged / retrieved, 0) if retrieved else np.nan,
            "nil": int(barren.sum()),
            "silent": int((barren & silent[: len(run.length)]).sum()),
        }

    def _lists(self, run: RunScores, column: Column) -> tuple[Floats, Floats, Booleans, Booleans]:
        """By query: judged documents that the measure looks at, all it looks at; none exists; none was given."""
        measure, k = column.measure, column.rank_cutoff
        size = len(run.length) + len(run.unjudged_queries)
        seen, there = np.zeros((2, size))
        without_answer, silent = np.zeros((2, size), bool)
        for queries, batch in run.batches(column.alignment):
            ranking = measure.ordered(batch)
            seen[queries] = summed(ranking.judged * ranking.mean_over(count, k))
            there[queries] = ranking.length if k is None else np.minimum(ranking.length, k)
            without_answer[queries] = (ranking.R == 0) | (batch.nil_grade > 0)
            silent[queries] = batch.length == batch.nil.sum(axis=1)
        return seen, there, without_answer, silent


def _bounds_of(column: Column) -> tuple[Column, Column]:
    """The columns of the lowest and the highest value."""
    return tuple(Column(column.measure, part, alignment=column.alignment) for part in ("lowest", "highest"))  # type: ignore[return-value]


def _levels(score: Floats) -> Integers:
    """The rank of each score from the lowest, equal ones together; -1 where there is none."""
    there, found = ~np.isnan(score), np.full(len(score), -1)
    found[there] = levels(score[there])
    return found


def _swaps(scores: Scores, reach: Mapping[Cause, tuple[Floats, Floats]]) -> Iterator[Swap]:
    """The pairs that each cause could turn: by cause and measure, neighbours first, closest first.

    ``reach``: for each cause the lowest and highest mean that it leaves possible, (run, measure).
    """
    for cause, (low, high) in reach.items():
        for m, measure in enumerate(scores.measures):
            score, level = scores.means[:, m], _levels(scores.means[:, m])
            above = (level[:, None] > level) & (level >= 0) & (low[:, m, None] < high[:, m] - SAME)
            pairs = [(int(a), int(b)) for a, b in np.argwhere(above)]
            for a, b in sorted(pairs, key=lambda p: (level[p[0]] - level[p[1]] > 1, score[p[0]] - score[p[1]], p)):
                yield Swap(
                    measure,
                    cause,
                    scores.runs[a],
                    scores.runs[b],
                    (float(score[a]), float(score[b])),
                    (float(low[a, m]), float(low[b, m])),
                    (float(high[a, m]), float(high[b, m])),
                    adjacent=bool(level[a] - level[b] == 1),
                )
