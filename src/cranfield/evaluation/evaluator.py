"""`evaluate` and `Evaluator`: score any number of runs with the same judgments and measures.

`Rescorer`: scores of a run whose documents stay the same while their scores change.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain, compress, count, islice
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np

from cranfield import io, native
from cranfield.data import Floats, Integers, Judgments, Repeats, Run, Table, TableStream
from cranfield.errors import MeasureError, UsageError, reading
from cranfield.evaluation.collection import Collection, checked_keywords, is_several
from cranfield.evaluation.evaluation import Evaluation, ScoredRun, complete_scores, counted_queries
from cranfield.evaluation.notes import Note
from cranfield.evaluation.overlap import (
    check_direction,
    check_identity,
    check_parts,
    check_query_overlap,
    find_disjoint,
    has_one_query,
)
from cranfield.evaluation.plan import (
    AlignmentKey,
    Column,
    Keys,
    Plan,
    Policy,
    PolicyOptions,
    Shown,
    default_measures,
    keys_of,
    make_plan,
    takes_policy,
)
from cranfield.evaluation.run_notes import (
    check_level,
    divisor_notes,
    gain_notes,
    level_notes,
    remark_notes,
    subtopic_notes,
    unanswerable_notes,
)
from cranfield.evaluation.run_scores import (
    GroupScores,
    Progress,
    RunReader,
    RunScores,
    check_columns,
    layer_rows,
    without_groups,
)
from cranfield.evaluation.scores import Scores, check_rankings, handle_undefined, summary_of
from cranfield.io import is_list_of_runs, is_mapping_of_runs
from cranfield.io.columns import Duplicates
from cranfield.io.streams import short_name
from cranfield.measures import Measure
from cranfield.parallel import ProgressLine, followed
from cranfield.ranking.tie_rules import tie_rule
from cranfield.ranking.views import with_nil
from cranfield.settings import checked

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Missing = Literal["error", "skip"]
SingleRun = Literal["means", "per_query", "values"]  # what an `Evaluator` answers for one run at once
OneMeasure = str | Measure | Callable[..., float]  # a function: see `cranfield.measure`
Measures = OneMeasure | Sequence[OneMeasure]


@checked_keywords
@checked
@takes_policy
def evaluate(
    qrels: Any,
    run: Any,
    measures: Measures | None = None,
    *,
    show: Shown | Sequence[Shown] = (),
    names: Sequence[str] | None = None,
    duplicates: Duplicates = "error",
    missing: Missing = "error",
    progress: bool = True,
    **options: Unpack[PolicyOptions],
) -> Scores:
    """The scores of one or several runs: a value for each query and measure, means over queries, and notes.

    Parameters
    ----------
    qrels
        A path, ``{query: {document: grade}}``, ``{query: {document, ...}}``, a DataFrame, `Judgments`, or a
        `Collection`, which can say more about the judgments, queries and documents. Several collections are ``{name:
        collection}``; a mean is then the mean of the means over the queries of each collection.
    run
        A path, ``{query: {document: score}}``, ``{query: [document, ...]}``, a DataFrame, a `Run`, a list of these, or
        ``{name: any of these}``. Two lists of lists are matched by position. Runs of one system with other seeds are
        `Repeats`. For several collections, a run is ``{name of the collection: run}``.
    measures
        Names such as ``"nDCG@10"``, or functions that take the grades of a ranking; see `measure`. By default AP,
        nDCG@10, RR, P@10, R@1000 and bpref; for judgments by subtopic, of passages, or with ``terminal``, others.
    ties, depth, condensed, terminal
        Views for all measures that do not name their own: the tie rule (by default ``trec``), the last rank that is
        read, lists without unjudged documents, and lists whose end counts as an answer.
    queries
        Which queries count: all ``judged`` queries (a query that the run does not answer scores as an empty ranking),
        those in ``both``, or all queries of the ``run``.
    undefined
        How a query counts if a measure is undefined for it.
    seed
        The random seed, which some measures need for queries with many tied documents.
    show
        Further columns. ``"residuals"``: how much higher scores could be if all unjudged documents were relevant, for
        measures that have a residual. ``"bounds"``: the lowest and highest score over the possible grades of unjudged
        documents; of graded measures, over grade 0 and the top grade. ``"standard-errors"``: the sampling error of
        measures that are estimates from a sample of judgments.
    names
        The names of the runs.
    duplicates
        What happens if a run has a document twice for a query: an ``"error"``, or keep the ``"first"`` or the one with
        the ``"best"`` score.
    missing
        What happens if a run lacks one of several collections: an ``"error"``, or ``"skip"``.
    progress
        Whether a call of more than two seconds shows in a terminal or a notebook how many runs are done.

    Returns
    -------
    Scores
        The values, their means by run and measure, and the notes.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = cf.evaluate({"q": {"b": 1}}, {"q": {"a": 2.0, "b": 1.0}}, ["RR", "P@1"])
    >>> scores.to_dict()["runs"]["run"]["RR"]
    {'mean': 0.5, 'n': 1, 'queries': {'q': 0.5}}
    """

    def of_collection(collection: Collection, run: Any, names: Sequence[str] | None) -> Scores:
        if collection.judges is not None:
            from cranfield.evaluation.designs import evaluate_judges

            return evaluate_judges(collection, partial(of_collection, run=run, names=names))
        evaluator = Evaluator(collection, measures, show=show, **options)
        bar = ProgressLine.of("runs") if progress else None
        return evaluator(run, names=names, duplicates=duplicates, progress=bar)

    if is_several(qrels, run):
        from cranfield.evaluation.designs import evaluate_each

        return evaluate_each(qrels, run, of_collection, missing)
    return of_collection(Collection.of(qrels), run, names)


class Evaluator:
    """Judgments and measures, prepared once; call it with any number of runs.

    Parameters
    ----------
    qrels, measures, show
        Judgments or a `Collection`, measures, and further columns, as `evaluate` takes them.
    **options
        The other options of `evaluate` about the evaluation: ties, depth, condensed, terminal, queries, undefined,
        seed.

    Examples
    --------
    >>> import cranfield as cf
    >>> evaluator = cf.Evaluator({"q": {"b": 1}}, ["RR", "P@1"])
    >>> evaluator.means({"q": {"a": 2.0, "b": 1.0}})
    {'RR': 0.5, 'P@1': 0.0}
    >>> evaluator.per_query({"q": {"a": 2.0, "b": 3.0}})
    {'q': {'RR': 1.0, 'P@1': 1.0}}
    """

    def __init__(
        self,
        qrels: Any,
        measures: Measures | None = None,
        *,
        show: Shown | Sequence[Shown] = (),
        **options: Unpack[PolicyOptions],
    ) -> None:
        collection = Collection.of(qrels)
        policy = collection.policy(**options)
        if measures is None:
            measures = default_measures(collection.judgments, terminal=policy.terminal)
        self._prepare(collection, make_plan(measures, policy, show))

    @classmethod
    def of(cls, qrels: Any, plan: Plan) -> Evaluator:
        """An evaluator for an existing plan, whose policy is that of the collection."""
        evaluator = cls.__new__(cls)
        evaluator._prepare(Collection.of(qrels), plan)
        return evaluator

    def _prepare(self, collection: Collection, plan: Plan) -> None:
        judgments, costs = collection.judgments, collection.costs
        check_parts(judgments, collection.given)
        if costs is not None:
            plan = replace(plan, columns=tuple(column.with_costs() for column in plan.columns))
        self.collection, self.plan, self.corpus, self._costs = collection, plan, collection.corpus, costs
        self._layers: list[Judgments] = []
        if collection.groups is not None:
            check_columns(plan.columns, judgments.name)
            self._layers = collection.layers
        for column in plan.columns:
            definition = column.measure.definition
            if not judgments.of_documents and not column.alignment.plain:
                raise MeasureError(f"{column.measure} needs judgments of documents, not of passages")
            needs_judgments = definition.gains not in ("none", "attribute") or not definition.retrieved_only
            if needs_judgments and not collection.is_judged:
                raise MeasureError(f"{column.measure} needs judgments, and the collection has none")
        self._nil: Integers | None = None
        self.judgments = judgments
        if plan.policy.nil is not None:
            self.judgments, self._nil = with_nil(judgments, plan.policy.nil)
        self._notes = [*remark_notes(self.judgments), *subtopic_notes(judgments, plan.columns)]
        levels = [column.measure.level for column in plan.columns if column.measure.level is not None]
        lowest = min([plan.policy.rel, *levels])  # a measure may name a lower one than the collection
        self._notes += unanswerable_notes(self.judgments, lowest, self._nil) if not self._layers else ()
        grades = np.concatenate([layer.grade for layer in self._layers or [judgments]])
        check_level(grades, plan, judgments.name)
        below = int(((grades > 0) & (grades < plan.policy.rel)).sum())
        self._notes += [*gain_notes(judgments.grade, plan.columns), *level_notes(below, plan), *divisor_notes(plan)]
        if self.corpus is not None and not plan.content_columns:
            self._notes.append(Note("corpus_unused"))
        if costs is not None and not any(column.alignment.costs for column in plan.columns):
            self._notes.append(Note("costs_unused"))
        self._notes += collection.notes
        self._queries = tuple(judgments.queries)
        self._looks_like_run = looks_like_scores(judgments)

    @property
    def policy(self) -> Policy:
        """All settings besides judgments and measures."""
        return self.plan.policy

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the scores."""
        return self.plan.columns

    @cached_property
    def _readers(self) -> list[RunReader]:
        return self._make_readers(self.columns)

    @cached_property
    def _program(self) -> Any:
        """The measures as a native program, for runs that are small dicts; None if a measure needs more."""
        from cranfield.evaluation.recorded import record

        given = self._layers or self._looks_like_run or self.judgments.by_position
        prepared = given or self.collection.map_documents is not None
        return None if prepared else record(self.reader, self.columns, self._queries)

    def __getstate__(self) -> dict[str, Any]:
        # A native program cannot be pickled; it is made again.
        return {name: value for name, value in vars(self).items() if name != "_program"}

    def _make_readers(self, columns: Sequence[Column], **options: Any) -> list[RunReader]:
        """The reader of runs, or one for each layer of groups; the highest grade is that of all groups."""
        if not self._layers:
            options |= {"nil": self._nil, "corpus": self.corpus, "costs": self._costs, "items": self.collection.items}
            return [RunReader(self.judgments, columns, self.policy, **options)]
        top = max(float(layer.grade.max(initial=0)) for layer in self._layers)
        columns = [without_groups(column) for column in columns]
        return [RunReader(layer, columns, self.policy, top_grade=top, **options) for layer in self._layers]

    def __call__(
        self,
        run: Any,
        *,
        names: Sequence[str | None] | None = None,
        duplicates: Duplicates = "error",
        progress: Progress | None = None,
    ) -> Scores:
        """The scores of one or several runs, with notes. Runs are read one by one and not kept in memory.

        A single ranking in memory may have no document in common with the judgments, whatever its ids look like.
        """
        runs = self.read_runs(run, names, duplicates)
        with_overlap = self._with_overlap(self._scores(runs, self._readers, progress))
        scored = [ScoredRun.of(scores, self.plan) for scores in with_overlap]
        return complete_scores(scored, self._queries, self.plan, self.collection, self._notes)

    @cached_property
    def _judge(self) -> Evaluator | None:
        """The same measures by predicted judgments; None if there are none."""
        predicted = self.collection.predicted
        if predicted is None:
            return None
        allowed = self.collection.allow_disjoint
        if not self._samples_documents:
            from cranfield.evaluation.predicted import check_queries

            check_queries(self._queries, list(predicted.queries))
        return Evaluator.of(Collection(predicted, documents=self.corpus, allow_disjoint=allowed), self.plan)

    @property
    def _samples_documents(self) -> bool:
        """Whether the human judgments are a sample of each query's documents."""
        sample = self.judgments.sample
        return sample is not None and (sample.probability is not None or bool((self.judgments.grade < 0).any()))

    def _scores(
        self, runs: Sequence[Run], readers: Sequence[RunReader], progress: Progress | None = None
    ) -> Iterator[RunScores]:
        if self._layers:
            scored_runs: Iterable[RunScores] = self._group_scores(runs, readers, progress)
        elif self._judge is not None:
            scored_runs = self._with_predictions(runs, readers[0], self._judge, progress)
        else:
            scored_runs = readers[0].scores(runs, progress)
        for scores in scored_runs:
            self._check(scores)
            yield scores

    def _with_predictions(
        self, runs: Sequence[Run], reader: RunReader, judge: Evaluator, progress: Progress | None
    ) -> Iterator[RunScores]:
        """The scores by human and by predicted judgments of runs that are opened once."""
        held, release = zip(*map(io.held, runs), strict=True)
        both = zip(reader.scores(held, progress), judge._scores(held, judge._readers), strict=True)
        for run, kept, free, (scores, by_predictions) in zip(runs, held, release, both, strict=True):
            if self._samples_documents:
                from cranfield.evaluation.predicted import predicted_in_sample

                scores.within_queries = predicted_in_sample(self.judgments, judge.judgments, kept, self.plan)
            scores.predicted, scores.run, by_predictions.run = by_predictions, run, run
            free()
            yield scores

    def _group_scores(
        self, runs: Sequence[Run], readers: Sequence[RunReader], progress: Progress | None
    ) -> Iterator[GroupScores]:
        rows = layer_rows(self._layers)
        for run in followed(runs, progress, len(runs)):
            of_layers = [next(reader.scores([run])) for reader in readers]
            yield GroupScores(list(zip(rows, of_layers, strict=True)))

    def __repr__(self) -> str:
        names = [column.label for column in self.columns]
        return f"Evaluator: {', '.join(names)}; {self.judgments!r}"

    def evaluation(
        self,
        run: Any,
        *,
        names: Sequence[str | None] | None = None,
        page: int = 0,
        duplicates: Duplicates = "error",
        progress: Progress | None = None,
    ) -> Evaluation:
        """The runs, read once and kept in memory for all further analyses.

        ``page``: the number of top documents to keep of each ranking, so that rankings can be shown. ``duplicates``: as
        in `evaluate`.
        """
        from cranfield.evaluation.pair_bounds import pair_depth

        rules = [tie_rule(self.policy.ties), tie_rule(None)]  # rankings can be shown in the order of either
        columns, kept = [*self.columns], page
        if not self._layers:
            # Other orders of a tie bring other documents to the top; all documents to read must be known in advance.
            columns += [column.tied("expected") for column in self.plan.content_columns]
            # Bounds of pairs need the unjudged documents that two runs share; measures of few ranks keep them.
            kept = max([page, *(pair_depth(column, self.policy) for column in self.columns)])
        readers = self._make_readers(columns, page=kept, rules=rules)
        runs = self.read_runs(run, names, duplicates)
        scores = self._with_overlap(self._scores(runs, readers, progress))
        return self._evaluation(scores, page)

    def _evaluation(self, runs: Iterable[RunScores], page: int = 0) -> Evaluation:
        scores = list(runs)
        judgments = self.judgments.of_runs([of_run.run for of_run in scores])
        return Evaluation(self.plan, self.collection, judgments, scores, self._queries, self._notes, page)

    @property
    def reader(self) -> RunReader:
        """The judgments prepared for alignment, and what the measures need of a run."""
        if self._layers:
            raise UsageError("judgments by group have no single alignment", hint="call the evaluator itself")
        return self._readers[0]

    def aligned_evaluation(self, runs: Sequence[RunScores]) -> Evaluation:
        """The evaluation of runs that were aligned elsewhere, with `RunReader.run_scores` of `reader`."""
        if self.collection.predicted is not None:
            raise UsageError("predicted judgments need rankings of documents", hint="leave out predicted")
        for run in runs:
            self._check(run)
        evaluation = self._evaluation(runs)
        evaluation.table(self.columns)  # raises if a measure needs what was not aligned
        return evaluation

    def means(self, run: Any, *, keys: Keys = "labels") -> dict[str, float]:
        """The mean of each measure over the queries of one run, without notes; NaN if undefined. Fast in loops.

        ``keys``: labels, or ``"plain"`` names such as ``ndcg_10``, which every tracker of experiments takes.
        """
        if keys != "labels":
            means = self.means(run)
            return dict(zip(keys_of(means, keys), means.values(), strict=True))
        if type(run) is dict and self._program is not None and (by_measure := self._program.means(run)) is not None:
            return by_measure
        return self._single(run, "means")

    def per_query(self, run: Any) -> dict[str, dict[str, float]]:
        """The score of each counted query and measure of one run; NaN if undefined."""
        if type(run) is dict and self._program is not None and (rows := self._program.per_query(run)) is not None:
            return rows
        return self._single(run, "per_query")

    def values(self, run: Any) -> Floats:
        """The scores of all judged queries of one run as an array, (column, query), in the order of the judgments."""
        if type(run) is dict and self._program is not None and (values := self._program.values(run)) is not None:
            return values
        return self._single(run, "values")

    def _single(self, run: Any, method: SingleRun) -> Any:
        """What a method of the native program gives for one run, or `of_aligned` if it cannot read the run."""
        read_run = self.collection.read_chunks or io.read_run
        (read,) = self._checked([read_run(run)])
        if self._program is not None and callable(read.source):
            with reading(read.source_name):
                result = getattr(self._program, method)(read.source)
            if result is not None:
                return result
        return self.of_aligned(next(self._scores([read], self._readers)), method)

    def of_aligned(self, scores: RunScores, method: SingleRun) -> Any:
        """`means`, `per_query` or `values` of a run that is already aligned."""
        if (result := self._of_positions(method, scores)) is not None:
            return result
        values = np.array([scores[column].value for column in self.columns])
        if method == "values":
            return values[:, : len(self._queries)]
        names = self._queries
        if self.policy.queries != "judged" or len(scores.unjudged_queries):
            counted = counted_queries(scores.length, len(scores.unjudged_queries), self.policy)
            names = tuple(compress((*names, *scores.unjudged_queries), counted.tolist()))
            values = values[:, counted]
        if method == "per_query":
            return native.nest(names, tuple(column.label for column in self.columns), values)
        undefined = self.policy.undefined
        return {
            column.label: summary_of(handle_undefined(row, undefined, column.aggregate), column.aggregate)
            for column, row in zip(self.columns, values, strict=True)
        }

    def _of_positions(self, method: SingleRun, scores: RunScores) -> Any:
        """What a method of the native program gives for a run that is already aligned; None if it has none."""
        if self._program is None:
            return None
        alignments = [scores.alignments[AlignmentKey(False, key)] for key in self.reader.keys]
        if any("by_id" not in alignment.tie_positions for alignment in alignments):
            return None
        queries = alignments[0].queries
        positions = [alignment.positions for alignment in alignments]
        return getattr(self._program, method)((positions, queries.length, queries.other_length))

    def rescorer(self, run: Any) -> Rescorer:
        """The documents of a run, to be scored again and again, for example by the features of a learner.

        Ids are matched with the judgments here, once. The scores of the run itself are not used.
        """
        if self._layers:
            raise UsageError("documents cannot be re-scored for judgments by group", hint="call the evaluator itself")
        if self.collection.read_chunks is not None:
            raise UsageError("chunks cannot be re-scored", hint="call the evaluator itself")
        read = io.read_run(run)
        check_identity(self.judgments, read)
        return Rescorer(self, self._readers[0], read)

    def read_runs(
        self, run: Any, names: Sequence[str | None] | None = None, duplicates: Duplicates = "error"
    ) -> list[Run]:
        """The runs of an argument, with unique names, not yet aligned."""
        return self._checked(read_runs(run, names, duplicates, self.collection.read_chunks))

    def _checked(self, runs: list[Run]) -> list[Run]:
        """The runs; an error if judgments and runs are swapped, or cannot belong together."""
        if self._looks_like_run:
            check_argument_order(self.judgments, runs)
        for run in runs:
            check_identity(self.judgments, run)
            check_direction(run, (column.measure.views.rule for column in self.columns))
        return [self.collection.prepared(run) for run in runs]

    def _with_overlap(self, runs: Iterable[RunScores]) -> Iterator[RunScores]:
        """The runs; an error if one has no document in common with the judgments, and ids of another kind.

        A single query in memory shows too little of the ids for such an error.
        """
        for scores in runs:
            if not scores.retrieves_judged:
                run, documents = scores.run, self.collection.documents
                scores.disjoint = find_disjoint(run, scores.alignment, documents)
                refused = scores.disjoint is not None and scores.disjoint.reason and not self.collection.allow_disjoint
                if scores.disjoint and refused and not has_one_query(run):
                    raise scores.disjoint.error(run)
            yield scores

    def _check(self, scores: RunScores) -> None:
        if self.policy.queries != "run":
            check_query_overlap(scores.run, scores.alignment)


class Rescorer:
    """The documents of one run, matched with the judgments once; call it with new scores as often as you like.

    Scores are an array with a number for each document, in the order of the run: query by query and document by
    document for ``{query: {document: score}}``, line by line for a file. `Evaluator.rescorer` creates it.

    >>> import cranfield as cf
    >>> evaluator = cf.Evaluator({"q": {"b": 1}}, ["RR", "P@1"])
    >>> rescorer = evaluator.rescorer({"q": {"a": 0.0, "b": 0.0}})
    >>> rescorer.means([2.0, 1.0]), rescorer.means([1.0, 2.0])
    ({'RR': 0.5, 'P@1': 0.0}, {'RR': 1.0, 'P@1': 1.0})
    """

    def __init__(self, evaluator: Evaluator, reader: RunReader, run: Run) -> None:
        if reader.top or reader.costs is not None:
            raise UsageError(
                "documents cannot be re-scored with measures of document text, items or other queries, or with costs",
                hint="call the evaluator itself",
            )
        from cranfield.ranking.alignment import FixedDocuments

        self._evaluator, self._reader = evaluator, reader
        self._documents = FixedDocuments(reader.aligner, run)
        if evaluator.policy.queries != "run":
            check_query_overlap(run, self._documents.alignment)

    def __len__(self) -> int:
        """The number of documents, which is the number of scores to give."""
        return len(self._documents)

    @property
    def documents(self) -> list[tuple[str, str]]:
        """The query and the document of each score."""
        table = self._documents.documents
        return list(zip(table.query, table.document, strict=True))

    def means(self, scores: ArrayLike) -> dict[str, float]:
        """`Evaluator.means` of the run with these scores."""
        return self._answer(scores, "means")

    def per_query(self, scores: ArrayLike) -> dict[str, dict[str, float]]:
        """`Evaluator.per_query` of the run with these scores."""
        return self._answer(scores, "per_query")

    def values(self, scores: ArrayLike) -> Floats:
        """`Evaluator.values` of the run with these scores."""
        return self._answer(scores, "values")

    def _answer(self, scores: ArrayLike, method: SingleRun) -> Any:
        alignments = self._documents.align(scores, self._reader.keys, by_id=self._reader.by_id)
        by_key = {AlignmentKey(False, key): alignment for key, alignment in alignments.items()}
        run = RunScores(self._documents.run, by_key, seed=self._evaluator.policy.seed)
        return self._evaluator.of_aligned(run, method)


def check_argument_order(judgments: Judgments, runs: Sequence[Run]) -> None:
    """Raise if the judgments look like a run, and all runs like judgments."""
    if looks_like_scores(judgments) and all(looks_like_grades(run) for run in runs):
        raise UsageError(
            "the judgments look like a run, and the run looks like judgments",
            hint="judgments come first: evaluate(qrels, run, measures)",
        )


def looks_like_scores(judgments: Judgments) -> bool:
    """Whether the grades look like scores: mostly fractions or large, of many levels, and different within a query."""
    grade = judgments.grade[:MAX_SCORES]
    unusual = max(np.count_nonzero(grade != np.floor(grade)), np.count_nonzero(grade > HIGHEST_GRADE))
    query = judgments.begin.searchsorted(np.arange(len(grade)), "right")
    different = len(set(zip(query.tolist(), grade.tolist(), strict=True)))
    levels = len(set(grade.tolist()))
    return bool(levels > MAX_LEVELS and unusual >= len(grade) / 2 and different > MIN_SHARE * len(grade))


def looks_like_grades(run: Run) -> bool:
    """Whether the scores of a run in memory look like grades: few different small integers."""
    source = run.source
    if isinstance(source, TableStream):
        source = next(source.pieces())
    if isinstance(source, Table):
        scores = source.score[:MAX_SCORES].tolist()
    elif isinstance(run.source, Mapping):
        rankings = [ranking for ranking in run.source.values() if isinstance(ranking, Mapping)]
        scores = list(islice(chain.from_iterable(ranking.values() for ranking in rankings), MAX_SCORES))
    else:
        return False
    return are_grades(scores)


def are_grades(scores: Sequence[Any]) -> bool:
    """Whether these are few different small integers."""
    numbers = [score for score in scores if isinstance(score, (int, float, np.number)) and np.isfinite(score)]
    grades = {score for score in numbers if score == int(score)}
    return (
        bool(scores)
        and len(grades) <= MAX_LEVELS
        and all(score in grades and -2 <= score <= HIGHEST_GRADE for score in scores)
    )


MAX_LEVELS = 6  # of grades; a run has more scores
HIGHEST_GRADE = 10  # of judgments that are not a run
MIN_SHARE = 0.9  # judgments look like a run if this share of the grades differ within queries
MAX_SCORES = 1000  # the number of grades, and of scores of a run, that are checked


def read_runs(
    run: Any,
    names: Sequence[str | None] | None = None,
    duplicates: Duplicates = "error",
    read_chunks: Callable[..., Run] | None = None,
) -> list[Run]:
    """The runs, not yet read, with unique names. ``read_chunks``: the reader of runs of chunks."""
    check_rankings(run, "an evaluation")
    given: list[Any]
    if is_mapping_of_runs(run, chunks=read_chunks is not None):
        names, given = list(run) if names is None else names, list(run.values())
    else:
        given = list(run) if is_list_of_runs(run) else [run]
    if not given:
        raise UsageError(
            "no runs given: the list is empty",
            hint="give a path, {query: [document, ...]}, or a list with one ranking for each query",
        )
    if names is not None and len(names) != len(given):
        raise UsageError(f"expected {len(given)} names, one for each run, not {len(names)}")
    runs = [
        replace(read, remarks=(*read.remarks, *remarks)) if remarks else read
        for name, item, remarks in _distinct([None] * len(given) if names is None else names, given)
        for read in _read_item(item, name, duplicates, read_chunks)
    ]
    unique = unique_names([item.name for item in runs], [item.source_name for item in runs])
    return [item if item.name == name else replace(item, name=name) for item, name in zip(runs, unique, strict=True)]


def _distinct(names: Sequence[str | None], given: Sequence[Any]) -> Iterator[tuple[str | None, Any, list[str]]]:
    """Each run once, though its file may be given several times; and remarks on such files."""
    keys = [
        (name, _real_path(item) or position) for position, (name, item) in enumerate(zip(names, given, strict=True))
    ]
    times, first = Counter(keys), dict[Any, str | None]()
    for (name, path), item in zip(keys, given, strict=True):
        if count := times.pop((name, path), 0):
            remarks = [f"the file is given {count} times; it counts once"] if count > 1 else []
            if path in first:
                remarks.append(f"this is the same file as {first[path] or short_name(str(path))}")
            first.setdefault(path, name)
            yield name, item, remarks


def _read_item(
    item: Any, name: str | None, duplicates: Duplicates, read_chunks: Callable[..., Run] | None
) -> list[Run]:
    """The runs of one item of a list, which may be repeats."""
    if not isinstance(item, Repeats):
        if read_chunks is not None:
            return [read_chunks(item, name=name, duplicates=duplicates)]
        return io.read_runs(item, name=name, duplicates=duplicates)
    system = name or "run"
    if not item.runs:
        raise UsageError(f"`{system}` has no repeats: the list is empty")
    files = list(filter(None, map(_real_path, item.runs)))
    if len(set(files)) < len(files):
        raise UsageError(f"{system}: the same file is given as two repeats", hint="give each repeat once")
    read = read_chunks or io.read_run
    repeats = [read(run, name=f"{system} {i}", duplicates=duplicates) for i, run in enumerate(item.runs, 1)]
    return [replace(run, system=system) for run in repeats]


def _real_path(item: Any) -> str:
    """The path of a file, in one spelling; "" for everything else."""
    is_file = isinstance(item, str | os.PathLike) and os.path.isfile(item)
    return os.path.realpath(os.fsdecode(item)) if is_file else ""


def unique_names(names: Sequence[str], sources: Sequence[str]) -> list[str]:
    """A different name for each run: a repeated one becomes the run's path, or gets a number.

    Names are seen by others, to whom the upper folders of this machine say nothing.

    >>> unique_names(["bm25", "bm25 (3)", "bm25", "bm25"], ["a/bm25.run", "", "b/bm25.run", ""])
    ['bm25', 'bm25 (3)', 'b/bm25.run', 'bm25 (4)']
    >>> unique_names(["bm25", "bm25", "bm25"], ["/home/ann/a/bm25", "/home/ann/b/bm25", "/home/bob/b/bm25"])
    ['bm25', 'b/bm25', 'bob/b/bm25']
    """
    taken: dict[str, int] = {}
    unique = []
    for plain, source in zip(names, sources, strict=True):
        name = plain
        if name in taken:
            from pathlib import Path  # slow to load, and rarely needed

            parts = Path(source).parts
            shorter = (str(Path(*parts[n:])) for n in range(len(parts) - 2, 0, -1))
            paths = shorter if Path(source).is_absolute() else [source]
            others = chain(paths, (f"{plain} ({n})" for n in count(taken[plain] + 1)))
            name = next(other for other in others if other and other not in taken)
        taken[plain] = taken.get(plain, 0) + 1
        taken.setdefault(name, 1)
        unique.append(name)
    return unique
