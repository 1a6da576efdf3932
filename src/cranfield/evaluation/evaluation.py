"""`Evaluation`: runs that are read once, and results that are computed from them on demand and cached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np

from cranfield.data import Booleans, Floats, Integers, Judgments, Run, Strings
from cranfield.display import Displayed
from cranfield.errors import UsageError
from cranfield.evaluation.collection import Collection
from cranfield.evaluation.notes import Note
from cranfield.evaluation.plan import Column, Plan, Policy, make_columns
from cranfield.evaluation.run_notes import remark_notes, run_notes, score_notes
from cranfield.evaluation.run_scores import GroupScores, Progress, RunScores, check_columns, group_notes
from cranfield.evaluation.scores import Scores
from cranfield.parallel import followed, parallel
from cranfield.ranking.alignment import FirstPage, first_pages
from cranfield.ranking.tie_rules import Ties, tie_rule
from cranfield.wording import listed, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cranfield.evaluation.predicted import PredictedMean

Result = TypeVar("Result")
# The judged documents from which several threads save time; calls of NumPy for fewer are so short that threads mostly
# wait for each other.
MIN_SHARED = 1 << 16


class ScoredRun(NamedTuple):
    """What scores keep of a run: lengths of its lists, unjudged queries, values (column, query), and notes.

    ``predicted``: the same by predicted judgments; ``within_queries``: the means of both, if the human judgments are a
    sample of each query's documents.
    """

    run: Run
    length: Integers
    unjudged_queries: Strings
    values: Floats
    notes: Sequence[Note] = ()
    predicted: ScoredRun | None = None
    within_queries: tuple[PredictedMean, ...] = ()

    @classmethod
    def of(cls, run: RunScores, plan: Plan, *, notes: bool = True) -> ScoredRun:
        values = np.array([run[column].value for column in plan.columns])
        listed: list[Note] = []
        if notes:
            counted = counted_queries(run.length, len(run.unjudged_queries), plan.policy)
            of_run = group_notes(run, plan.columns) if isinstance(run, GroupScores) else run_notes(run, plan, counted)
            listed = [*remark_notes(run.run), *of_run]
        predicted = None if run.predicted is None else cls.of(run.predicted, plan, notes=False)
        return cls(run.run, run.length, run.unjudged_queries, values, listed, predicted, run.within_queries)


class Evaluation(Displayed):
    """A collection, its judgments (with NIL, if there is one), a plan, and runs aligned with the judgments.

    Scores, notes, audits, comparisons, rankings and curves are computed from it on demand and cached. Runs are never
    read again. `Evaluator.evaluation` creates it.

    Examples
    --------
    >>> import cranfield as cf
    >>> evaluation = cf.Evaluator({"q": {"a": 1}}, "RR").evaluation({"q": {"b": 2.0, "a": 1.0}})
    >>> evaluation.scores.values.tolist()
    [[[0.5]]]
    """

    _SHOWN_BY = "scores"

    def __init__(
        self,
        plan: Plan,
        collection: Collection,
        judgments: Judgments,
        run_scores: Sequence[RunScores],
        queries: tuple[str, ...],
        notes: Sequence[Note] = (),
        page: int = 0,
    ) -> None:
        self.plan, self.collection, self.judgments = plan, collection, judgments
        self.run_scores, self.queries = tuple(run_scores), queries
        self.page = page
        self._notes = tuple(notes)
        self._results: dict[Any, Any] = {}

    def __repr__(self) -> str:
        measures = listed([column.label for column in self.columns], "measure")
        return f"Evaluation: {listed(self.runs, 'run')}, {measures}, {plural(len(self.queries), 'judged query')}"

    @property
    def policy(self) -> Policy:
        """Every choice besides judgments and measures."""
        return self.plan.policy

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of `scores`."""
        return self.plan.columns

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of the runs."""
        return tuple(run.run.name for run in self.run_scores)

    @property
    def unjudged_grade(self) -> float | None:
        """The grade of a document without a judgment: 0 if the judgments are complete, else None."""
        return 0.0 if self.policy.complete else None

    def remember(self, key: Any, compute: Callable[[], Result]) -> Result:
        """The result of ``compute``, which is called only once for each key."""
        if key not in self._results:
            self._results[key] = compute()
        result: Result = self._results[key]
        return result

    def for_each_run(self, compute: Callable[[RunScores], Result], progress: Progress | None = None) -> list[Result]:
        """The result of ``compute`` for every run, on all cores if runs are large; its batches are freed afterwards."""

        def work(run: RunScores) -> Result:
            try:
                return compute(run)
            finally:
                run.release()

        share = parallel if len(self.judgments.grade) >= MIN_SHARED else map
        return list(followed(share(work, self.run_scores), progress, len(self.run_scores)))

    def plot(self, curve: Literal["recall", "gain"] = "recall", *, ax: Axes | None = None) -> Axes:
        """Draw precision by recall, or nDCG by cutoff (``gain``), of all runs; returns the Matplotlib axes.

        The best four runs by the first measure are coloured. ``ax``: axes to draw on instead of a new figure.
        """
        return self._draw(curve=curve, ax=ax)

    @cached_property
    def _scored(self) -> list[ScoredRun]:
        return self.for_each_run(lambda run: ScoredRun.of(run, self.plan))

    @cached_property
    def scores(self) -> Scores:
        """The scores of all systems, with notes; the values of a system with repeats are means over them."""
        return complete_scores(self._scored, self.queries, self.plan, self.collection, self._notes)

    @cached_property
    def ranking_scores(self) -> Scores:
        """The scores of every ranking, with notes; each repeat of a system has its own."""
        if not any(run.run.system for run in self.run_scores):
            return self.scores
        return build_scores(self._scored, self.queries, self.plan, self._notes)

    def scores_of(self, measures: Any, **views: Any) -> Scores:
        """The scores of other measures, without notes; ``views`` replace fields of the policy."""
        policy = replace(self.policy, **views)
        columns = tuple(make_columns(measures, policy))
        if any(isinstance(run, GroupScores) for run in self.run_scores):
            check_columns(columns, self.judgments.name)
        if any(key.costs for run in self.run_scores for key in run.alignments):
            columns = tuple(column.with_costs() for column in columns)
        self.for_each_run(lambda run: [run[column] for column in columns])
        return self.table(columns)

    def table(self, columns: Sequence[Column]) -> Scores:
        """The values of these columns as scores, without notes."""
        plan = replace(self.plan, columns=tuple(columns))
        return build_scores([ScoredRun.of(run, plan, notes=False) for run in self.run_scores], self.queries, plan)

    def first_pages(self, depth: int, ties: Ties | None = None) -> list[dict[str, FirstPage]]:
        """For each run, the first documents of every query in the order of a tie rule."""
        if depth > self.page:
            raise UsageError(f"the evaluation keeps {self.page} top documents, not {depth}")
        rule = tie_rule(ties)
        judged = list(self.queries)
        return [
            first_pages(
                run.tops[rule.key],
                [*judged, *run.unjudged_queries],
                np.concatenate([run.length, run.alignment.other_length]),
                depth,
                rule,
            )
            for run in self.run_scores
        ]


def counted_queries(length: Integers, unjudged: int, policy: Policy) -> Booleans:
    """Which queries of a run count: judged queries first, then unjudged ones."""
    counted = np.zeros(len(length) + unjudged, bool)
    counted[: len(length)] = True if policy.queries == "judged" else length >= 0
    counted[len(length) :] = policy.queries == "run"
    return counted


def complete_scores(
    scored: Sequence[ScoredRun], queries: tuple[str, ...], plan: Plan, collection: Collection, notes: Sequence[Note]
) -> Scores:
    """The scores of systems: repeats together, with predictions, the attributes of queries and the provenance."""
    runs = [part.run for part in scored]
    systems = [run.system for run in runs]
    scores = collection.describe(build_scores(scored, queries, plan, notes), plan, runs)._with_repeats(systems)
    judged = [part.predicted for part in scored if part.predicted is not None]
    if collection.predicted is None or not judged:
        return scores
    from cranfield.evaluation.predicted import Predictions, judged_per_query

    by_predictions = build_scores(judged, tuple(collection.predicted.queries), plan)._with_repeats(systems)
    predictions = Predictions(by_predictions, collection.inference, judged_per_query(collection.judgments))
    within = tuple(mean for part in scored for mean in part.within_queries)
    return replace(scores, predictions=predictions, predicted=within or predictions.means(scores))


def build_scores(
    scored: Sequence[ScoredRun], names: tuple[str, ...], plan: Plan, notes: Sequence[Note] | None = None
) -> Scores:
    """The scores of runs for these judged queries and, if the policy counts them, for unjudged queries.

    ``notes``: those on the collection, which come before those on runs; None for scores without notes.
    """
    judged, policy = len(names), plan.policy
    others: dict[str, int] = {}
    if policy.queries == "run":
        for run in scored:
            for query in run.unjudged_queries:
                others.setdefault(query, judged + len(others))
    values = np.full((len(scored), len(plan.columns), judged + len(others)), np.nan)
    counted = np.zeros((len(scored), judged + len(others)), bool)
    for r, run in enumerate(scored):
        values[r, :, :judged] = run.values[:, :judged]
        counted[r, :judged] = counted_queries(run.length, 0, policy)
        if policy.queries == "run":
            at = [others[query] for query in run.unjudged_queries]
            values[r][:, at] = run.values[:, judged:]
            counted[r, at] = True
    runs = tuple(part.run.name for part in scored)
    scores = Scores(runs, plan.columns, (*names, *others), values, counted, policy.undefined)
    if policy.undefined == "error":
        _ = scores._means  # raises if a value is undefined
    if notes is None:
        return scores
    of_runs = [note for run in scored for note in run.notes]
    every = dict.fromkeys([*score_notes(scores), *notes, *of_runs])
    return replace(scores, notes=tuple(sorted(every, key=lambda note: note.kind != "disjoint")))
