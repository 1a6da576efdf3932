"""How ties, unjudged documents, short lists and the choice of queries affect scores and the order of runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, reduce
from itertools import compress, repeat
from math import comb
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np

from cranfield.codec import plain
from cranfield.data import Booleans, Floats, Integers
from cranfield.display import Displayed
from cranfield.errors import UsageError
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.evaluator import Evaluator, Measures
from cranfield.evaluation.notes import Kind, Note, policy_line, sentences
from cranfield.evaluation.pair_bounds import differences_of_runs
from cranfield.evaluation.plan import Aggregate, AlignmentKey, Column
from cranfield.evaluation.plausible import Deck, plausible
from cranfield.evaluation.run_notes import judged_documents, unknown_tie_effect
from cranfield.evaluation.run_scores import Progress, RunScores
from cranfield.evaluation.scores import Interval, check_rankings
from cranfield.measures import Measure
from cranfield.measures.answering import false_answer_rate, missed_answer_rate
from cranfield.ranking.tie_rules import Ties
from cranfield.settings import checked
from cranfield.statistics.rounding import SAME, levels
from cranfield.wording import listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class NilDetection:
    """Counts of queries: all of them, those without relevant documents, those with an empty list, and both.

    ``queries``: all queries. ``nil``: queries without a relevant document. ``silent``: queries answered by an empty
    list. ``detected``: queries that are both.

    >>> detection = NilDetection(queries=10, nil=4, silent=3, detected=2)
    >>> detection.false_silences, detection.recall, round(detection.precision, 4)
    (1, 0.5, 0.6667)
    """

    DERIVED: ClassVar[tuple[str, ...]] = ("false_silences", "precision", "recall", "f1", "accuracy")

    queries: int
    nil: int
    silent: int
    detected: int

    @property
    def false_silences(self) -> int:
        """The number of queries with a relevant document but an empty list."""
        return self.silent - self.detected

    @property
    def missed(self) -> int:
        """The number of queries without a relevant document whose list is not empty."""
        return self.nil - self.detected

    @property
    def precision(self) -> float:
        """The share of empty lists that are right; NaN if there is no empty list."""
        return self.detected / self.silent if self.silent else math.nan

    @property
    def recall(self) -> float:
        """The share of queries without a relevant document that have an empty list; NaN if there is no such query."""
        return self.detected / self.nil if self.nil else math.nan

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; NaN if there is neither an empty list nor a query without one."""
        return 2 * self.detected / (self.silent + self.nil) if self.silent + self.nil else math.nan

    @property
    def accuracy(self) -> float:
        """The share of queries whose list is empty if and only if no document is relevant; NaN without queries."""
        right = self.queries - self.false_silences - self.missed
        return right / self.queries if self.queries else math.nan


def nil_detection(nil: Booleans, silent: Booleans) -> NilDetection:
    """The classification of queries by one run.

    ``nil`` (query,): no document is relevant. ``silent`` (query,): the list has no answer, which is an empty list or
    one that begins with NIL.

    >>> nil_detection(np.array([True, True, False]), np.array([True, False, True]))
    NilDetection(queries=3, nil=2, silent=2, detected=1)
    """
    nil, silent = np.asarray(nil, bool), np.asarray(silent, bool)
    if nil.ndim != 1 or nil.shape != silent.shape:
        raise UsageError(
            f"nil and silent must have one value for each query; their shapes are {nil.shape} and {silent.shape}"
        )
    return NilDetection(len(nil), int(nil.sum()), int(silent.sum()), int((nil & silent).sum()))


Cause = Literal["ties", "unjudged", "condensed", "terminal", "queries"]
CAUSES: tuple[Cause, ...] = get_args(Cause)

# The whole ranking, its first page, its first relevant document, and a user model.
LEVEL = 0.95
LEADING = 10  # of many runs, those with the highest scores get plausible scores
Z95 = 1.959963984540054  # the half-width of the interval of 95% of a normal distribution
ORDERS: tuple[Ties, ...] = ("worst", "expected", "best")
# Notes of the evaluation that an audit replaces with its own numbers.
REPLACED_NOTES: tuple[Kind, ...] = ("unjudged_documents", "tie_range", "tie_small", "tie_unknown")


class Swap(NamedTuple):
    """Two runs with different scores whose order one cause could reverse.

    ``score``, ``low``, ``high`` have the numbers of the higher run first: its score, and the lowest and highest score
    that the cause allows. ``condensed`` and ``terminal`` give one number, so low equals high. ``adjacent``: no other
    run scores between the two.
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
        """The difference of the scores."""
        return self.score[0] - self.score[1]


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Displayed):
    """Scores, and the values that they could have had; arrays are (run, measure) unless noted.

    ``score``, ``n``: the mean over queries, and the number of queries.
    ``worst``, ``expected``, ``best``: the mean with ties in the worst order, over all orders, and in the best order.
    ``worst``, ``best``, ``lowest`` and ``highest`` are NaN for measures of subtopics and of document text.
    ``lowest``, ``highest``: the lowest and highest mean that judging the unjudged documents could give, over the same
    queries; proven bounds if ``hold``, otherwise the range over the judgments that were tried.
    ``plausible``, ``plausible_low``, ``plausible_high``: the mean if unjudged documents were relevant as often as
    judged ones at the same depth, and where 95% of such judgments would put it; NaN if it is not known. Documents below
    the cutoff of a measure stay unjudged.
    ``unjudged``: the share of unjudged documents among those retrieved down to the last rank that the measure uses.
    ``condensed``: the mean without them. ``terminal``: the mean with the end of each list as an answer; NaN if the
    measure has no such form.
    ``low``, ``high``: the confidence interval of the mean.
    ``nil``, ``silent``, ``silences``: judged queries without a relevant document, those of them answered by an empty
    list, and all judged queries answered by an empty list; `nil_detection` has them as a classification. A list that
    begins with NIL is empty.
    ``judged_queries`` (run,): the number of judged queries that count. ``empty``, ``length`` (run,): the number of
    empty lists, and the mean length of a list.
    ``reversible``: the pairs that each cause could reverse, (measure, run, run), the higher run first; `swaps` has them
    with names and numbers. ``complete``: the judgments are complete, so that there is nothing to say about unjudged
    documents. ``passages``: the judgments are of passages, and the runs of chunks.
    """

    _SHOWN_BY = "audit"

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
    silences: Integers
    judged_queries: Integers
    empty: Integers
    length: Floats
    plausible: Floats
    plausible_low: Floats
    plausible_high: Floats
    reversible: Mapping[Cause, Booleans] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    complete: bool = False
    passages: bool = False
    policy: str = ""  # the policy line of the scores

    @property
    def causes(self) -> tuple[Cause, ...]:
        """What could have changed scores."""
        return tuple(cause for cause in CAUSES if not (self.complete and cause in ("unjudged", "condensed")))

    @property
    def measures(self) -> tuple[str, ...]:
        """The labels of the columns."""
        return tuple(column.label for column in self.columns)

    def __repr__(self) -> str:
        causes = [f"{cause} {pairs.sum()}" for cause, pairs in self.reversible.items() if pairs.any()]
        about = f"Audit: {listed(self.runs, 'run')}, {listed(self.measures, 'measure')}"
        return f"{about}; pairs that could be reversed: {', '.join(causes) or 'none'}"

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """How each column is aggregated: mean, geometric mean or sum."""
        return tuple(column.aggregate for column in self.columns)

    @property
    def place(self) -> Floats:
        """The position of the score between worst (0) and best (1); NaN if the order of ties changes nothing."""
        width = self.best - self.worst
        affected = width > SAME
        return np.where(affected, (self.score - self.worst) / np.where(affected, width, 1), np.nan)

    @property
    def pairs(self) -> Integers:
        """How many pairs of runs have different scores, (measure,)."""
        ranks = [_levels(column) for column in self.score.T]
        equal = [np.bincount(r[r >= 0]) for r in ranks]
        return np.array([comb(int(n.sum()), 2) - int((n * (n - 1) // 2).sum()) for n in equal], np.int64)

    @property
    def leading(self) -> tuple[str, ...]:
        """The runs with plausible scores: all of them, or of many those with the highest score in the first column."""
        return tuple(self.runs[r] for r in _leading(self.score[:, 0]))

    def reversible_pairs(self, cause: Cause, m: int) -> tuple[Integers, Integers]:
        """The higher and the lower run of each pair that a cause could reverse, neighbours first, closest first."""
        score, level = self.score[:, m], _levels(self.score[:, m])
        first, second = np.nonzero(self.reversible[cause][m])
        adjacent, gap = level[first] - level[second] == 1, score[first] - score[second]
        order = np.lexsort((second, first, gap, ~adjacent))
        return first[order], second[order]

    def swaps_of(self, cause: Cause, m: int, first: Integers, second: Integers) -> list[Swap]:
        """These pairs of runs, the higher run first, that a cause could reverse by one measure."""
        level, ends = _levels(self.score[:, m]), (self.score, *self.reach(cause))
        adjacent = (level[first] - level[second] == 1).tolist()
        names = ([self.runs[r] for r in rows.tolist()] for rows in (first, second))
        # The numbers of the higher and of the lower run.
        numbers = (zip(end[first, m].tolist(), end[second, m].tolist(), strict=True) for end in ends)
        return [*map(Swap, repeat(self.measures[m]), repeat(cause), *names, *numbers, adjacent)]

    @cached_property
    def swaps(self) -> tuple[Swap, ...]:
        """Every pair of runs that some cause could reverse: by cause and measure, neighbours first, closest first."""
        each = ((cause, m) for cause in self.reversible for m in range(len(self.measures)))
        return tuple(swap for cause, m in each for swap in self.swaps_of(cause, m, *self.reversible_pairs(cause, m)))

    def plausible_swaps(self, m: int) -> list[tuple[str, str]]:
        """The pairs of leading runs, higher run first, that plausible judgments could reverse, closest first.

        Their plausible intervals overlap, or have the other order; and unjudged documents could reverse them at all.
        """
        if "unjudged" not in self.reversible:
            return []
        score = self.score[:, m]
        likely = _could_reverse(score, self.plausible_low[:, m], self.plausible_high[:, m])
        first, second = np.nonzero(likely & self.reversible["unjudged"][m])
        order = np.argsort(score[first] - score[second], kind="stable")
        return [(self.runs[first[i]], self.runs[second[i]]) for i in order.tolist()]

    def nil_detection(self, run: int, measure: int) -> NilDetection:
        """How well a run recognises the queries without a document that is relevant for a measure."""
        at = run, measure
        nil, silences, detected = int(self.nil[at]), int(self.silences[at]), int(self.silent[at])
        return NilDetection(int(self.judged_queries[run]), nil, silences, detected)

    def reach(self, cause: Cause) -> tuple[Floats, Floats]:
        """The lowest and highest value that each score could have because of this cause."""
        if cause == "ties":
            orders = self.score, self.worst, self.expected, self.best
            return reduce(np.fmin, orders), reduce(np.fmax, orders)
        if cause == "unjudged":
            return self.lowest, self.highest
        if cause == "queries":
            return self.low, self.high
        value = self.condensed if cause == "condensed" else self.terminal
        return value, value

    def plot(self, measure: str | None = None, *, top: int | None = 40, ax: Axes | None = None) -> Axes:
        """Draw each score with the values that ties, unjudged documents and other queries could give it.

        Returns the Matplotlib axes. ``measure``: by default the first. ``top``: the best runs that are drawn; None for
        all. ``ax``: axes to draw on instead of a new figure.
        """
        return self._draw(measure=measure, top=top, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: ``{"runs": {run: {..., "measures": {measure: {...}}}}, "swaps": [...], ...}``."""
        return {
            "runs": {
                run: {
                    "empty": int(self.empty[r]),
                    "length": plain(self.length[r]),
                    "measures": {measure: self._entry(r, m) for m, measure in enumerate(self.measures)},
                }
                for r, run in enumerate(self.runs)
            },
            "interval": {"method": self.interval, "level": LEVEL},
            "pairs": dict(zip(self.measures, self.pairs.tolist(), strict=True)),
            "plausible": {
                "runs": list(self.leading),
                "swaps": {name: plain(self.plausible_swaps(m)) for m, name in enumerate(self.measures)},
            },
            "swaps": plain(self.swaps),
            "notes": sentences(self.notes),
        }

    def _entry(self, r: int, m: int) -> dict[str, Any]:
        def of(**arrays: Floats) -> dict[str, float | None]:
            return {name: plain(float(array[r, m])) for name, array in arrays.items()}

        return {
            **of(score=self.score),
            "n": int(self.n[r, m]),
            "ties": of(worst=self.worst, expected=self.expected, best=self.best, place=self.place),
            "unjudged": {
                **of(lowest=self.lowest, highest=self.highest),
                "hold": bool(self.hold[r, m]),
                "plausible": of(mean=self.plausible, low=self.plausible_low, high=self.plausible_high),
                **of(share=self.unjudged, condensed=self.condensed),
            },
            "lists": {
                **of(terminal=self.terminal),
                "nil": int(self.nil[r, m]),
                "silent": int(self.silent[r, m]),
                "nil_detection": plain(self.nil_detection(r, m)),
            },
            "queries": of(low=self.low, high=self.high),
        }


@checked
def audit(
    qrels: Any,
    run: Any = None,
    measures: Measures | None = None,
    *,
    interval: Interval = "t",
    names: Sequence[str] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Audit:
    """How ties, unjudged documents, short lists and the choice of queries affect each score.

    Parameters
    ----------
    qrels, run, measures
        Judgments or a `Collection`, runs and measures, as `evaluate` takes them; or an `Evaluation` alone.
    interval
        The method of confidence intervals: Student's ``t``, or the ``bca`` bootstrap.
    names
        The names of the runs.
    progress
        A function that is called with the number of runs done and of all.
    **options
        The options of `evaluate`.

    Returns
    -------
    Audit
        For each run and measure the score, what it may be over all orders of ties and over all judgments of unjudged
        documents, and which pairs of runs could be reversed.

    Examples
    --------
    >>> import cranfield as cf
    >>> runs = {"tied": {"q": {"a": 1.0, "b": 1.0}}, "clear": {"q": {"b": 2.0, "a": 1.0}}}
    >>> audit = cf.audit({"q": {"a": 1, "b": 0}}, runs, "RR")
    >>> audit.score.tolist(), audit.best.tolist()
    ([[0.5], [0.5]], [[1.0], [0.5]])
    """
    check_rankings(qrels, "an audit")
    if isinstance(qrels, Evaluation):
        if run is not None or options:
            raise UsageError("audit takes no runs, measures or options together with an Evaluation")
        return audit_evaluation(qrels, interval=interval, plausible=True, progress=progress)
    if run is None:
        raise UsageError(
            "audit needs judgments and runs", hint="call audit(qrels, runs, measures), or audit(evaluation)"
        )
    evaluation = Evaluator(qrels, measures, **options).evaluation(run, names=names)
    return audit_evaluation(evaluation, interval=interval, plausible=True, progress=progress)


def audit_evaluation(
    evaluation: Evaluation, *, interval: Interval = "t", plausible: bool = False, progress: Progress | None = None
) -> Audit:
    """`audit` of runs that were already read; ``plausible``: draw judgments of unjudged documents, which takes time."""

    def compute() -> Audit:
        return Auditor(evaluation, plausible=plausible).audit(interval, progress)

    return evaluation.remember(("audit", interval, plausible), compute)


@dataclass(frozen=True)
class Reversals:
    """The pairs of runs whose order by one measure ties or unjudged documents could reverse.

    ``checked``: the causes whose effect is known, or that do not occur. A cause that is not among them may reverse any
    pair: nothing is known of it. ``pairs``: the pairs that each cause could reverse, (run, run), the higher run first.
    """

    checked: tuple[Cause, ...]
    pairs: Mapping[Cause, Booleans]

    def causes(self, first: Integers, second: Integers) -> list[tuple[Cause, ...] | None]:
        """What could reverse each of these pairs of runs; None where that is not known."""
        nothing = () if set(self.pairs) <= set(self.checked) else None
        by_cause = [(above[first, second] | above[second, first]).tolist() for above in self.pairs.values()]
        return [tuple(compress(self.pairs, could)) or nothing for could in zip(*by_cause, strict=True)]


def reversals(evaluation: Evaluation, progress: Progress | None = None) -> dict[str, Reversals]:
    """For each measure, what ties and unjudged documents could reverse."""
    causes: tuple[Cause, ...] = ("ties", "unjudged")

    def find() -> dict[str, Reversals]:
        auditor = Auditor(evaluation)

        def limits_of(run: RunScores) -> dict[str, Any]:
            return auditor.limits(run) | {"share": [auditor.unjudged_share(run, c) for c in evaluation.columns]}

        parts = evaluation.for_each_run(limits_of, progress)
        share = np.array([part["share"] for part in parts])
        by_measure = {}
        for m, column in enumerate(evaluation.columns):
            absent = {
                "ties": not any(unknown_tie_effect(run, column).any() for run in evaluation.run_scores),
                "unjudged": not (share[:, m] > 0).any() and evaluation.policy.queries != "run",
            }
            limits = {cause: np.array([part[cause][m] for part in parts]).T for cause in causes}
            by_measure[column.label] = Reversals(
                tuple(cause for cause in causes if absent[cause] or not column.depends_on_above),
                {
                    cause: _reversed_by(cause, evaluation, m, low, high, share[:, m])
                    for cause, (low, high) in limits.items()
                },
            )
        return by_measure

    return evaluation.remember("reversals", find)


class Auditor:
    """Computes an audit from an evaluation, run by run."""

    def __init__(self, evaluation: Evaluation, *, plausible: bool = False) -> None:
        self.evaluation, self.scores, self.plausible = evaluation, evaluation.ranking_scores, plausible
        self.row = {run.run.name: r for r, run in enumerate(evaluation.run_scores)}

    def audit(self, interval: Interval, progress: Progress | None = None) -> Audit:
        """The audit of all runs."""
        if any(column.measure.views.groups for column in self.scores.columns):
            raise UsageError("an audit needs judgments without groups")
        scores, seed = self.scores, self.evaluation.policy.seed
        parts = self.evaluation.for_each_run(self.audit_run, progress)
        shape = len(scores.runs), len(scores.columns)
        limits = [
            scores._interval(r, m, level=LEVEL, method=interval, seed=seed)
            for r in range(shape[0])
            for m in range(shape[1])
        ]
        low, high = (np.array(end).reshape(shape) for end in zip(*limits, strict=True))
        arrays: dict[str, Any] = {name: np.array([part[name] for part in parts]) for name in parts[0]}
        audit = Audit(
            scores.runs,
            scores.columns,
            interval,
            scores._means,
            scores._sizes,
            low=low,
            high=high,
            notes=tuple(note for note in scores.notes if note.kind not in REPLACED_NOTES),
            complete=self.evaluation.policy.complete,
            passages=not self.evaluation.judgments.of_documents,
            policy=policy_line(scores),
            **arrays,
        )

        def reversed_by(cause: Cause) -> Booleans:
            ends = *audit.reach(cause), audit.unjudged
            return np.array(
                [_reversed_by(cause, self.evaluation, m, *(end[:, m] for end in ends)) for m in range(shape[1])]
            )

        return replace(audit, reversible={cause: reversed_by(cause) for cause in audit.causes})

    def variants(self, column: Column) -> dict[str, Column]:
        """The condensed and the terminal form of the column, as far as it has them."""
        views, full_length = column.measure.views, self.evaluation.policy.full_length
        variants = {"condensed": column if self.evaluation.policy.complete else column.varied(condensed=True)}
        if not column.measure.definition.terminal:
            variants["terminal"] = column.varied(terminal=True, full=views.full or full_length)
        return variants

    @cached_property
    def decks(self) -> dict[AlignmentKey, Deck]:
        """What the judged documents that the runs retrieve are like, for each alignment."""
        columns = {column.alignment: column.measure.views.rule.position for column in self.scores.columns}
        return {
            key: Deck.of([run.alignments[key] for run in self.evaluation.run_scores], position)
            for key, position in columns.items()
        }

    def plausible_mean(self, run: RunScores, m: int) -> tuple[float, float, float]:
        """The mean with plausible judgments, and the interval of 95% of them."""
        column, r = self.scores.columns[m], self.row[run.run.name]
        sampled = self.plausible and run.run.name in self.leading
        if not sampled or column.depends_on_above or column.aggregate not in ("mean", "sum"):
            return np.nan, np.nan, np.nan
        size = len(run.length) + len(run.unjudged_queries)
        mean, variance = np.zeros((2, size))
        deck, seed = self.decks[column.alignment], self.evaluation.policy.seed
        for queries, rankings in run.rankings(column.alignment):
            mean[queries], variance[queries] = plausible(column.measure, rankings, deck, seed=seed)
        centre = self.mean(run, m, mean)
        counted = self.scores.counted[r] & ~np.isnan(self.scores.values[r, m])
        total = float(self.in_query_order(run, variance)[counted].sum())
        number = 1 if column.aggregate == "sum" else max(int(self.scores._sizes[r, m]), 1)
        error = Z95 * math.sqrt(total) / number
        low, high = column.measure.definition.bounds
        return centre, max(centre - error, low), min(centre + error, high)

    @cached_property
    def leading(self) -> frozenset[str]:
        """The runs for which judgments are drawn."""
        return frozenset(self.scores.runs[r] for r in _leading(self.scores._means[:, 0]))

    def audit_run(self, run: RunScores) -> dict[str, Any]:
        """The row of this run in each array of an `Audit`."""
        parts = [self.audit_measure(run, m) for m in range(len(self.scores.columns))]
        alignment = run.alignment
        counted = self.scores.counted[self.row[run.run.name]]
        length = self.in_query_order(run, np.concatenate([alignment.length, alignment.other_length]))[counted]
        return {
            **{name: [part[name] for part in parts] for name in parts[0]},
            "judged_queries": int(counted[: len(run.length)].sum()),
            "empty": int((length <= 0).sum()),
            "length": float(np.maximum(length, 0).mean()) if len(length) else np.nan,
        }

    def limits(self, run: RunScores) -> dict[str, Any]:
        """For each column of this run, the lowest and highest mean that ties and unjudged documents allow."""
        ties, unjudged = [], []
        for m, column in enumerate(self.scores.columns):
            means = [
                self.scores._means[self.row[run.run.name], m],
                self.mean(run, m, run.with_ties(column, "expected")),
            ]
            means += [] if column.depends_on_above else [self.mean(run, m, value) for value in run.tie_limits(column)]
            ties.append((np.nanmin(means), np.nanmax(means)) if not np.isnan(means).all() else (np.nan, np.nan))
            unjudged.append((np.nan, np.nan) if column.depends_on_above else self.bounds(run, m))
        return {"ties": ties, "unjudged": unjudged}

    def bounds(self, run: RunScores, m: int) -> tuple[float, float]:
        """The lowest and highest mean that unjudged documents allow."""
        low, high = (run[part].value for part in _bounds_of(self.scores.columns[m]))
        return self.mean(run, m, low), self.mean(run, m, high)

    def mean(self, run: RunScores, m: int, values: Floats) -> float:
        """The mean of a column if these were its values."""
        return self.scores._summary(self.row[run.run.name], m, instead=self.in_query_order(run, values))

    def in_query_order(self, run: RunScores, values: Any) -> Any:
        """Values of a run's judged and other queries, in the order of the queries of the scores."""
        judged = len(run.length)
        if len(self.scores.queries) == judged:
            return values[:judged]
        ordered = np.zeros(len(self.scores.queries), values.dtype)
        ordered[:judged] = values[:judged]
        index = {query: q for q, query in enumerate(self.scores.queries[judged:], judged)}
        ordered[[index[query] for query in run.unjudged_queries]] = values[judged:]
        return ordered

    def audit_measure(self, run: RunScores, m: int) -> dict[str, Any]:
        """All numbers of one run and measure."""
        scores, column, r = self.scores, self.scores.columns[m], self.row[run.run.name]
        orders: tuple[Ties, ...] = ("expected",) if column.depends_on_above else ORDERS
        means: dict[str, float] = {ties: self.mean(run, m, run.with_ties(column, ties)) for ties in orders}
        means |= {name: self.mean(run, m, run[variant].value) for name, variant in self.variants(column).items()}
        hold = False
        if not column.depends_on_above:
            means["lowest"], means["highest"] = self.bounds(run, m)
            defined = scores.counted[r] & ~np.isnan(scores.values[r, m])
            hold = bool(self.in_query_order(run, run[_bounds_of(column)[0]].hold)[defined].all())
        unanswerable, silent = self._silence(run, column)
        considered = np.flatnonzero(scores.counted[r, : len(run.length)])
        detection = nil_detection(unanswerable[considered], silent[considered])
        names = "plausible", "plausible_low", "plausible_high"
        return {
            **dict(zip(names, self.plausible_mean(run, m), strict=True)),
            **dict.fromkeys((*ORDERS, "lowest", "highest", "terminal"), np.nan),
            **means,
            "hold": hold,
            "unjudged": self.unjudged_share(run, column),
            "nil": detection.nil,
            "silent": detection.detected,
            "silences": detection.silent,
        }

    def unjudged_share(self, run: RunScores, column: Column) -> float:
        """The share of unjudged documents among those retrieved down to the last rank that the measure uses."""
        depths = [k for k in (column.rank_cutoff, column.measure.views.depth) if k is not None]
        counted = self.scores.counted[self.row[run.run.name]]
        return judged_documents(run.alignments[column.alignment], [min(depths, default=None)], counted)[0].unjudged

    def _silence(self, run: RunScores, column: Column) -> tuple[Booleans, Booleans]:
        """By query: no relevant document exists; the list is certainly empty, or begins with NIL."""
        key, measure = column.alignment, column.measure
        if measure.definition.documents:  # which has no relevant documents of its own
            key, measure = key._replace(documents=False), Measure("FalseAnswer", views=measure.views)
        unanswerable, silent = np.zeros((2, len(run.length) + len(run.unjudged_queries)), bool)
        for queries, rankings in run.rankings(key):
            batch = measure.ordered(rankings)
            false_answer = false_answer_rate(batch)
            unanswerable[queries] = ~np.isnan(false_answer)
            silent[queries] = (false_answer == 0) | (missed_answer_rate(batch) == 1)
        return unanswerable, silent


@lru_cache(maxsize=256)
def _bounds_of(column: Column) -> tuple[Column, Column]:
    """The columns of the lowest and highest value."""
    return tuple(Column(column.measure, part, alignment=column.alignment) for part in ("lowest", "highest"))  # type: ignore[return-value]


def _levels(score: Floats) -> Integers:
    """The rank of each score from the lowest, equal scores together; -1 for NaN."""
    defined, ranks = ~np.isnan(score), np.full(len(score), -1)
    ranks[defined] = levels(score[defined])
    return ranks


def _leading(score: Floats) -> list[int]:
    """The runs with the highest scores."""
    return np.argsort(-np.nan_to_num(score, nan=-np.inf), kind="stable")[:LEADING].tolist()


def _could_reverse(score: Floats, low: Floats, high: Floats) -> Booleans:
    """The pairs in which the first run has the higher score, and could have a lower one than the second."""
    level = _levels(score)
    above: Booleans = (level[:, None] > level) & (level >= 0) & (low[:, None] < high - SAME)
    return above


def _reversed_by(cause: Cause, evaluation: Evaluation, m: int, low: Floats, high: Floats, share: Floats) -> Booleans:
    """The pairs that a cause could reverse by one measure, (run, run), the higher run first.

    ``low``, ``high``: the lowest and highest mean of each run that it allows. ``share``: of unjudged documents down to
    the cutoff. Two runs share unjudged documents, and the ideal ranking: a pair without unjudged documents down to the
    cutoff keeps its order, whatever is found below.
    """
    above = _could_reverse(evaluation.ranking_scores._means[:, m], low, high)
    if cause == "unjudged" and above.any():
        of_pairs = differences_of_runs(evaluation, m)
        if of_pairs is not None:
            above &= of_pairs < -SAME
        elif evaluation.policy.queries != "run":
            above &= (share[:, None] > 0) | (share > 0)
    return above
