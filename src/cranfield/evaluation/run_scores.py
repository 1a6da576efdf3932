"""A run that is read once and aligned with the judgments, and its values, computed column by column and cached.

For measures with ``[groups]`` a value is the mean over the groups of a query's judgments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cranfield.data import Booleans, Floats, Integers, Judgments, Run, Strings, TextView
from cranfield.errors import InputError, MeasureError
from cranfield.evaluation.notes import Note, QueryNames
from cranfield.evaluation.overlap import Disjoint
from cranfield.evaluation.plan import AlignmentKey, Column, Policy, last_rank_read
from cranfield.io.runs import TopDocuments
from cranfield.measures import Measure
from cranfield.measures.ties.strategies import QUICK, Estimate
from cranfield.parallel import followed
from cranfield.ranking.alignment import (
    Aligner,
    Alignment,
    CollectionAlignment,
    align_collection,
    align_content,
    align_documents,
    cost_aligner,
    no_overlap_error,
    with_unjudged,
)
from cranfield.ranking.batch import Key
from cranfield.ranking.rankings import Rankings
from cranfield.ranking.tie_rules import DEFAULT, TieRule, Ties
from cranfield.wording import few, plural

if TYPE_CHECKING:
    from cranfield.evaluation.predicted import PredictedMean
    from cranfield.io.named_tables import Items


class ColumnValues(NamedTuple):
    """One column of one run, by query: judged queries first, then the other queries of the run.

    ``error``: the standard error if tie orders were sampled, else 0. ``hold``: lowest and highest are bounds, and best
    and worst are the limits of all orders.
    """

    value: Floats
    error: Floats
    hold: Booleans

    @classmethod
    def of(cls, estimate: Estimate) -> ColumnValues:
        """The values of a measure."""
        size = len(estimate.value)
        if estimate.error is None:
            return cls(estimate.value, _no_error(size), _all_hold(size))
        hold = np.isfinite(estimate.error)
        return cls(estimate.value, np.where(hold, estimate.error, 0), hold)


class RunScores:
    """A run that is read and aligned, and the values of the columns computed so far."""

    def __init__(
        self,
        run: Run,
        alignments: Mapping[AlignmentKey, Alignment],
        seed: int = 0,
        repeated_nil: tuple[str, ...] = (),
    ) -> None:
        """``repeated_nil``: the queries with more than one NIL."""
        self.repeated_nil = repeated_nil
        self.run, self.alignments, self.seed = run, dict(alignments), seed
        self._values: dict[tuple[object, ...], ColumnValues] = {}
        self._tied: dict[tuple[AlignmentKey, bool], list[tuple[Integers, int, Rankings]]] = {}
        self._tie_limits: dict[tuple[object, ...], Mapping[Ties, ColumnValues]] = {}
        self.disjoint: Disjoint | None = None  # if no retrieved document is judged for any query
        self.predicted: RunScores | None = None  # the same run by predicted judgments
        self.within_queries: tuple[PredictedMean, ...] = ()  # its means, if human judgments are a sample of documents

    @property
    def alignment(self) -> Alignment:
        """Any of the alignments: all have the same queries and lengths."""
        return next(iter(self.alignments.values()))

    @property
    def tops(self) -> dict[Key, TopDocuments]:
        """The top documents for each number that ranks documents, if they were requested."""
        return {key.key: a.tops for key, a in self.alignments.items() if key.plain and a.tops is not None}

    @property
    def length(self) -> Integers:
        """The number of documents retrieved for each judged query; -1 if the run does not answer it."""
        return self.alignment.length

    @property
    def unjudged_queries(self) -> Strings:
        """The queries of the run without judgments."""
        return self.alignment.other

    @property
    def retrieves_judged(self) -> bool:
        """Whether any retrieved document is judged for its query."""
        return self.alignment.retrieves_judged

    def rankings(self, key: AlignmentKey) -> list[tuple[Any, Rankings]]:
        """Every query once: indices of queries (judged queries first) and their rankings."""
        alignment = self.alignments[key]
        judged, unjudged, parts = len(alignment.length), len(alignment.other), alignment.rankings
        rankings: list[tuple[Any, Rankings]] = [
            (slice(judged) if len(parts) == 1 else part.query, part) for part in parts
        ]
        return [*rankings, (slice(judged, judged + unjudged), alignment.unjudged())] if unjudged else rankings

    def __getitem__(self, column: Column) -> ColumnValues:
        values = self._values.get(column.identity)
        return self._compute(column) if values is None else values

    def _compute(self, column: Column) -> ColumnValues:
        if column.alignment not in self.alignments:
            raise MeasureError(
                f"{column.measure} needs more of the run than was read", hint="give the measure to the Evaluator"
            )
        check_measurable(self.run, self.alignments[column.alignment], column.measure)
        if column.part in ("lowest", "highest"):
            self._compute_bounds(column)
            return self._values[column.identity]
        compute = column.measure.values if column.part == "value" else column.measure.residual
        if column.part == "standard error":
            from cranfield.measures.sampled import sampling_errors

            compute = partial(sampling_errors, column.measure)
        parts = [(queries, compute(part, seed=self.seed)) for queries, part in self.rankings(column.alignment)]
        # Most runs have a single part, whose values need not be copied.
        estimate = parts[0][1] if len(parts) == 1 else Estimate.joined(self._size, parts)
        values = self._values[column.identity] = ColumnValues.of(estimate)
        return values

    def _compute_bounds(self, column: Column) -> None:
        from cranfield.evaluation.bounds import bounds

        low, high = np.zeros((2, self._size))
        hold = np.ones(self._size, bool)
        for queries, rankings in self.rankings(column.alignment):
            limits = bounds(column.measure, rankings, seed=self.seed)
            low[queries], high[queries], hold[queries] = limits.low, limits.high, limits.hold
        measure, _, alignment = column.identity
        self._values[measure, "lowest", alignment] = ColumnValues(low, _no_error(len(low)), hold)
        self._values[measure, "highest", alignment] = ColumnValues(high, _no_error(len(high)), hold)

    @property
    def _size(self) -> int:
        """The number of queries, judged or not."""
        return len(self.length) + len(self.unjudged_queries)

    def tie_limits(self, column: Column) -> tuple[Floats, Floats]:
        """The lowest and highest values over the orders of ties; `ties_searched` says whether over all of them."""
        worst, best = self._limits(column).values()
        return worst.value, best.value

    def ties_searched(self, column: Column) -> Booleans:
        """For each query, whether no order of ties goes beyond `tie_limits`."""
        worst, best = self._limits(column).values()
        return worst.hold & best.hold

    def _limits(self, column: Column) -> Mapping[Ties, ColumnValues]:
        if column.identity not in self._tie_limits:
            orders: tuple[Ties, ...] = "worst", "best"
            self._tie_limits[column.identity] = {
                ties: self._reordered(column, column.tied(ties), effort=QUICK) for ties in orders
            }
        return self._tie_limits[column.identity]

    def with_ties(self, column: Column, ties: Ties) -> Floats:
        """The values by another tie rule; only queries in which ties have an effect are computed."""
        other = column.tied(ties)
        if not column.depends_on_above and column.measure.views.rule.fixes_order and other.identity not in self._values:
            values = self._limits(column).get(ties)
            if values is None or not values.hold.all():  # orders beyond those of a quick search
                values = self._reordered(column, other)
            self._values[other.identity] = values
        return self[other].value

    def _reordered(self, column: Column, other: Column, **effort: Any) -> ColumnValues:
        """The values of a column with another tie rule; only queries in which ties have an effect are computed."""
        if other.identity in self._values:
            return self._values[other.identity]
        values, measure = self[column], other.measure
        end = None if column.alignment.costs else measure.last_rank_of_order
        tied: list[tuple[Any, int, Rankings]]
        if column.measure.views.rule.fixes_order:
            tied = self._mixed_ties(column.alignment, any_grade=measure.orders_nonrelevant)
        else:
            tied = [(queries, 0, rankings) for queries, rankings in self.rankings(column.alignment)]
        limits = [
            (queries, measure.values(rankings, seed=self.seed, **effort))
            for queries, first, rankings in tied
            if end is None or first < end
        ]
        if not limits:
            return values
        return ColumnValues.of(Estimate.joined(self._size, [(slice(None), Estimate(values.value)), *limits]))

    def _mixed_ties(self, alignment: AlignmentKey, *, any_grade: bool) -> list[tuple[Integers, int, Rankings]]:
        """The queries in which ties have an effect: their indices, the start of the first such tie, their rankings."""
        if (key := (alignment, any_grade)) not in self._tied:
            tied = []
            for rankings in self.alignments[alignment].rankings:
                mixed = rankings.mixed_ties(any_grade=any_grade)
                rows = np.flatnonzero(np.bincount(rankings.row[mixed]))  # np.unique would load numpy.ma
                if len(rows):
                    tied.append((rankings.query[rows], int(rankings.start[mixed].min()), rankings.rankings(rows)))
            self._tied[key] = tied
        return self._tied[key]

    def release(self) -> None:
        """Free large arrays that can be rebuilt from the alignments."""
        self._tied.clear()
        for alignment in self.alignments.values():
            alignment.release()


@lru_cache(maxsize=16)
def _no_error(size: int) -> Floats:
    error = np.zeros(size)
    error.flags.writeable = False  # columns and runs share it
    return error


@lru_cache(maxsize=16)
def _all_hold(size: int) -> Booleans:
    hold = np.ones(size, bool)
    hold.flags.writeable = False
    return hold


def check_measurable(run: Run, alignment: Alignment, measure: Measure) -> None:
    """Raise if the judgments or the rankings of the run do not have what the measure needs."""
    position = measure.views.rule.position
    if measure.views.full is not None:
        _check_full_length(run, alignment, measure.views.full, measure.views.depth)
    if position is not None and position not in alignment.tie_positions:
        needs = "document ids" if position == "by_id" else "the positions of documents in the input"
        raise MeasureError(
            f"{measure}: ties={measure.views.ties or DEFAULT} needs {needs}",
            hint="ties=expected is the mean over all orders of tied documents",
        )
    if measure.definition.documents:
        _check_attributes(run, alignment, measure)
    aligner = alignment.aligner
    if measure not in aligner.measurable:
        check_judgments(aligner, measure)
        aligner.measurable.add(measure)


def _check_attributes(run: Run, alignment: Alignment, measure: Measure) -> None:
    """Raise if a document that the measure reads does not have the attribute that it needs."""
    attribute, position = measure.gains.attribute, measure.views.rule.position
    if attribute is None:
        return
    assert isinstance(alignment, CollectionAlignment)
    absent: dict[str, None] = {}
    for judged, positions in (
        (alignment.aligner.judged, alignment.positions),
        (alignment.other_judged, alignment.other_positions),
    ):
        if judged.shown is None or judged.shown.items is None:
            raise MeasureError(
                f"{measure} needs attributes of documents",
                hint="items= of a Collection, or --items, takes a table: document,price,...",
            )
        rank = positions.start if position is None else positions.start + getattr(positions, position)
        rows = positions.document[rank < last_rank_read(measure)]
        absent |= dict.fromkeys(judged.shown.ids.take(rows[np.isnan(judged.shown.numbers(*attribute)[rows])]))
    if absent:
        name, documents = attribute[0], plural(len(absent), "document")
        raise InputError(
            [f"{run.source_name or run.name}: {documents} without the attribute `{name}` ({few(list(absent))})"],
            hint=f"add to the items, or give a value: {measure.symbol}(of='{name}', missing=0)",
        )


def check_judgments(aligner: Aligner, measure: Measure) -> None:
    """Raise if the judgments do not have what the measure needs."""
    if measure.definition.content and aligner.reading is None:
        raise MeasureError(f"{measure} needs a corpus, because it uses document text")
    if measure.views.sampled:
        check_strata(aligner)
    judgments, definition = aligner.judgments, measure.definition
    needed = ""
    if measure.views.groups:
        needed = "judgments by group"
        hint = "use --judgments groups, or Collection(groups=...), for a file of judgments by group"
    elif definition.preferences and judgments.preferences is None:
        needed = "preferences, not grades"
        hint = "use --judgments preferences, or Collection(prefs=...), for a file of preferences"
    elif judgments.preferences is not None and not definition.preferences:
        needed = "judgments by grade, not preferences"
        hint = "measures of preferences are Prefs, NumPrefs, NumPrefsMet and PrefsR"
    elif definition.spans and judgments.of_documents:
        needed = "judgments of passages, not of documents"
        hint = "use --judgments spans, or Collection(spans=...), for a table of passages"
    elif definition.subtopics and aligner.judged.subtopics is None:
        needed = "judgments by subtopic"
        hint = "the subtopic is the second column of a qrels file, or column `subtopic` of a table"
    if needed:
        raise InputError([f"{judgments.name}: {measure} needs {needed}"], hint=hint)


def _check_full_length(run: Run, alignment: Alignment, full: int, depth: int | None) -> None:
    """Raise if a ranking is longer than the length limit of the systems."""
    length = alignment.length if depth is None else np.minimum(alignment.length, depth)
    longer = np.flatnonzero(length > full)
    if len(longer):
        names = alignment.aligner.judgments.queries
        source = run.source_name or run.name
        raise InputError(
            [f"{source}: query `{names[int(q)]}` has {length[q]} documents; the full length is {full}" for q in longer],
            hint="set the full length to the length limit of the system, or cut rankings with a depth",
        )


def check_strata(aligner: Aligner) -> None:
    """Raise if a stratum has no judged document, so that nothing is known of it."""
    sample, judgments = aligner.judged.sample, aligner.judgments
    if sample is None or not sample.stratified:
        return
    query = judgments.query
    cell = query * (int(sample.stratum.max(initial=0)) + 1) + sample.stratum
    unknown = ~np.isin(cell, cell[aligner.grade >= 0])
    rows = [int(np.flatnonzero(cell == c)[0]) for c in np.unique(cell[unknown]).tolist()]
    if rows:
        raise InputError(
            [
                f"{judgments.name}: no document of stratum `{sample.strata[row]}` of query "
                f"`{judgments.queries[int(query[row])]}` is judged"
                for row in rows
            ],
            hint="judge at least one document of every stratum; xinfAP and infnDCG leave such strata out",
        )


# The number of runs that a second thread reads in advance; fewer if together they may have more judged documents than
# MAX_JUDGED.
MAX_AHEAD, MAX_JUDGED = 8, 1 << 20

Progress = Callable[[int, int], None]


class RunReader:
    """Judgments prepared for alignment, and what the columns need of each run.

    ``nil``: rows of the judgments that mean "no answer"; ``top_grade``: the highest grade, if these are not all
    judgments; ``page``: the number of top documents of each query to keep, besides those that measures read;
    ``rules``: further tie rules for which rankings must be available; ``costs``:
    ``{query: {document: cost}}``; ``items``: attributes of documents.
    """

    def __init__(
        self,
        judgments: Judgments,
        columns: Sequence[Column],
        policy: Policy,
        *,
        nil: Integers | None = None,
        top_grade: float | None = None,
        corpus: Any = None,
        costs: Mapping[str, Mapping[str, float]] | None = None,
        items: Items | None = None,
        page: int = 0,
        rules: Sequence[TieRule] = (),
    ) -> None:
        self.judgments, self.columns, self.policy, self.corpus = judgments, tuple(columns), policy, corpus
        self.top_grade, self._nil = top_grade, nil
        self.keys: list[Key] = sorted({column.alignment.key for column in columns} | {rule.key for rule in rules})
        every_rule = [*rules, *(column.measure.views.rule for column in columns)]
        self.by_id = any(rule.needs_ids for rule in every_rule) or any(column.depends_on_above for column in columns)
        self.content_measures = [column.measure for column in columns if column.measure.definition.content]
        self.collection_measures = [column.measure for column in columns if column.measure.definition.collection]
        self.document_measures = [column.measure for column in columns if column.measure.definition.documents]
        self.page, self.costs, self.items = page, costs, items

    @cached_property
    def aligner(self) -> Aligner:
        """The judgments, prepared for alignment with any run."""
        complete = self.policy.complete
        return Aligner(self.judgments, self.policy.negative, self._nil, top=self.top_grade, complete=complete)

    @property
    def top(self) -> int:
        """The number of top documents to keep of each query."""
        top = self.page
        if self.costs is not None:
            top = max([top, *(c.last_cost for c in self.columns if c.alignment.costs)])
        return max([top, *(last_rank_read(column.measure) for column in self.columns)])

    @cached_property
    def cost_aligner(self) -> Aligner | None:
        """The aligner for measures that read costs, with the unjudged documents that have one; None without costs."""
        if self.costs is None or not any(column.alignment.costs for column in self.columns):
            return None
        return cost_aligner(self.judgments, self.costs, self.policy.negative, self.top_grade)

    def read(self, run: Run) -> RunScores:
        """Read and align a run; its values are computed on demand. Of several NILs of a query, the first one counts."""
        try:
            return self.run_scores(run, self._read(run))
        except InputError as error:
            if self.policy.nil is None:
                raise
            from cranfield.ranking.views import first_nil_only

            run, queries = first_nil_only(run, self.policy.nil)
            if not queries:
                raise
            try:
                return self.run_scores(run, self._read(run), queries)
            except InputError:
                raise error from None  # there are other faults

    def _read(self, run: Run) -> dict[Key, Alignment]:
        judgments = self.judgments.of_runs([run])
        own = judgments is not self.judgments
        aligner = Aligner(judgments, complete=self.policy.complete) if own else self.aligner
        return aligner.read(run, self.keys, by_id=self.by_id, top=self.top)

    def scores(self, runs: Sequence[Run], progress: Progress | None = None) -> Iterator[RunScores]:
        """The scores of all runs in turn; the next few runs are read at the same time."""
        read = self._read_ahead(runs)
        if not self.content_measures:
            yield from followed(read, progress, len(runs))
            return
        subtopics = self.judgments.labels is not None
        check_readable(self.content_measures, self.corpus, self.judgments.name, subtopics=subtopics)
        # The documents to look up in the corpus are known only after all runs are read.
        held = list(followed(read, progress, 2 * len(runs)))
        content = self.content_aligner(held)
        check_corpus_overlap(content, self.content_measures)
        for run in followed(held, progress, 2 * len(runs), len(runs)):
            yield self.with_content(run, content)

    def content_aligner(self, runs: Sequence[RunScores]) -> Aligner:
        """The aligner for measures of document text, with the unjudged documents that they read in these runs."""
        from cranfield.corpus import Corpus
        from cranfield.corpus.judged import Reading

        read: dict[str, set[str]] = {}
        for run in runs:
            for query, documents in self.documents_read(run).items():
                read.setdefault(query, set()).update(documents)
        extended = with_unjudged(self.judgments, read, self.policy.negative)
        reading = Reading(extended, Corpus.open(self.corpus, wanted=extended.documents))
        return Aligner(extended, reading=reading, top=self.top_grade)

    def documents_read(self, run: RunScores) -> dict[str, set[str]]:
        """The documents of a run that measures read, for each judged query."""
        return documents_read_by(run.tops, self.content_measures, self.judgments.queries)

    def with_content(self, run: RunScores, content: Aligner) -> RunScores:
        """The same run, also aligned with judgments that contain the unjudged documents whose text is read."""
        for key in self.keys:
            alignment = run.alignments[AlignmentKey(False, key)]
            run.alignments[AlignmentKey(True, key)] = align_content(alignment, content)
        return run

    def run_scores(
        self, run: Run, alignments: Mapping[Key, Alignment], repeated_nil: tuple[str, ...] = ()
    ) -> RunScores:
        """The values of a run with these alignments, and with those that measures of other documents need."""
        by_key = {AlignmentKey(False, key): alignment for key, alignment in alignments.items()}
        for key, alignment in alignments.items():
            if self.cost_aligner is not None:
                by_key[AlignmentKey(False, key, costs=True)] = align_content(alignment, self.cost_aligner)
            if self.collection_measures:
                by_key[AlignmentKey(False, key, collection=True)] = align_collection(alignment, self.judged_anywhere)
            if self.document_measures:
                by_key[AlignmentKey(False, key, documents=True)] = align_documents(alignment, self.items)
        return RunScores(run, by_key, self.policy.seed, repeated_nil)

    @cached_property
    def judged_anywhere(self) -> frozenset[str]:
        """The documents that are judged for some query."""
        documents = self.judgments.documents
        return frozenset(documents.take(np.flatnonzero(self.aligner.grade >= 0)))

    def _read_ahead(self, runs: Sequence[Run]) -> Iterator[RunScores]:
        if len(runs) == 1:
            yield self.read(runs[0])
            return
        from concurrent.futures import ThreadPoolExecutor

        ahead = max(2, min(MAX_AHEAD, MAX_JUDGED // max(len(self.judgments.grade), 1)))
        pool = ThreadPoolExecutor(1)
        try:
            waiting = [pool.submit(self.read, run) for run in runs[:ahead]]
            for run in runs[ahead:]:
                yield waiting.pop(0).result()
                waiting.append(pool.submit(self.read, run))
            while waiting:
                yield waiting.pop(0).result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # after an error or interrupt, do not read the other runs


def documents_read_by(
    tops_by_key: Mapping[Key, TopDocuments], measures: Sequence[Measure], queries: Strings
) -> dict[str, set[str]]:
    """The documents of a run, judged or not, that these measures read, for each judged query.

    If ties stay open, all that may be above the last rank of a measure.
    """
    documents: dict[str, set[str]] = {}
    for measure in measures:
        rule = measure.views.rule
        if (tops := tops_by_key.get(rule.key)) is None:  # no measure reads unjudged documents
            continue
        positions = tops.positions
        rank = positions.start if rule.position is None else positions.start + getattr(positions, rule.position)
        rows = np.flatnonzero((rank < last_rank_read(measure)) & (positions.query < len(queries)))
        for query, document in zip(positions.query[rows].tolist(), tops.ids.take(rows), strict=True):
            documents.setdefault(queries[query], set()).add(document)
    return documents


def check_corpus_overlap(aligner: Aligner, measures: Sequence[Measure]) -> None:
    """Raise if the corpus has none of the relevant documents."""
    reading = aligner.reading
    assert reading is not None
    for measure in measures:
        view = TextView.of(measure.chosen)
        absent, relevant = reading.absent(view)
        if relevant and absent == relevant:
            example = aligner.judgments.documents[int(reading.relevant(view).row[0])]
            raise no_overlap_error(aligner.judgments.name, relevant, example)


def check_readable(measures: Sequence[Measure], corpus: Any, name: str, *, subtopics: bool) -> None:
    """Raise if these measures need judgments by subtopic or a corpus, and it is missing."""
    for measure in measures:
        if not subtopics and not measure.chosen["whole"]:
            one_subtopic = replace(measure, parameters=(*measure.parameters, ("whole", True)))
            raise InputError(
                [f"{name}: {measure} needs judgments by subtopic"],
                hint=f"`{one_subtopic}` treats each query as one subtopic",
            )
    if corpus is None:
        raise MeasureError(
            f"{measures[0]} needs a corpus, because it uses document text",
            hint="documents= of a Collection, or --corpus, takes a corpus file, a collection, or {document: text}",
        )


class GroupScores(RunScores):
    """A run aligned with each layer of judgments: the first group of every query, the second one, and so on.

    ``layers``: for each layer, its queries as indices into those of the first layer, which has all queries; and the
    values of the run. What is not a value of a measure is that of the first layer.
    """

    def __init__(self, layers: Sequence[tuple[Integers, RunScores]]) -> None:
        first = layers[0][1]
        super().__init__(first.run, first.alignments, first.seed)
        self._layers = layers

    def __getitem__(self, column: Column) -> ColumnValues:
        """The mean over groups; a group in which the measure is undefined adds 0."""
        plain = without_groups(column)
        layers = [scores[plain] for _, scores in self._layers]
        error = self._mean([values.error**2 for values in layers], power=2)
        hold = self._mean([values.hold.astype(np.float64) for values in layers]) == 1
        return ColumnValues(self._mean([values.value for values in layers]), np.sqrt(error), hold)

    @property
    def retrieves_judged(self) -> bool:
        """Whether any retrieved document is judged for its query, in any group."""
        return any(scores.retrieves_judged for _, scores in self._layers)

    def tie_limits(self, column: Column) -> tuple[Floats, Floats]:
        """The means over groups, each with ties in its own worst and best order."""
        limits = [scores.tie_limits(without_groups(column)) for _, scores in self._layers]
        worst, best = (self._mean(list(values)) for values in zip(*limits, strict=True))
        return worst, best

    def with_ties(self, column: Column, ties: Ties) -> Floats:
        """The means over groups, each by another tie rule."""
        return self[column.tied(ties)].value

    def ties_searched(self, column: Column) -> Booleans:
        """For each query, whether no order of ties goes beyond `tie_limits` in any group."""
        searched = [scores.ties_searched(without_groups(column)).astype(np.float64) for _, scores in self._layers]
        return self._mean(searched) == 1

    def _mean(self, of_layers: Sequence[Floats], power: int = 1) -> Floats:
        """The mean over the groups of each query, by the number of groups to a power; undefined values add 0."""
        total = of_layers[0].copy()
        judged = len(self.length)
        total[:judged] = np.nan_to_num(total[:judged])
        count = np.ones(len(total))
        for (queries, _), values in zip(self._layers[1:], of_layers[1:], strict=True):
            total[queries] += np.nan_to_num(values[: len(queries)])
            count[queries] += 1
        return total / count**power

    def undefined_groups(self, column: Column) -> Integers:
        """The number of groups of each judged query in which the measure is undefined."""
        plain, count = without_groups(column), np.zeros(len(self.length), np.int64)
        for queries, scores in self._layers:
            count[queries] += np.isnan(scores[plain].value[: len(queries)])
        return count

    def release(self) -> None:
        """Free large arrays that can be rebuilt from the alignments."""
        for _, scores in self._layers:
            scores.release()


def group_notes(scores: GroupScores, columns: Sequence[Column]) -> Iterator[Note]:
    """Notes on groups in which a measure is undefined."""
    names = scores.alignment.aligner.judgments.queries
    for column in columns:
        undefined = scores.undefined_groups(column)
        if column.part == "value" and undefined.any():
            queries = QueryNames.of([names[q] for q in np.flatnonzero(undefined).tolist()])
            values = {"groups": int(undefined.sum()), "queries": queries}
            yield Note("undefined_groups", scores.run.name, column.label, values)


def without_groups(column: Column) -> Column:
    """The column without ``[groups]``, to be scored for each group."""
    return replace(column, measure=replace(column.measure, views=replace(column.measure.views, groups=False)))


def layer_rows(layers: Sequence[Judgments]) -> list[Integers]:
    """The queries of each layer, as indices into the queries of the first layer."""
    if len(layers) == 1:
        return [np.arange(len(layers[0].queries))]
    number = {query: row for row, query in enumerate(layers[0].queries)}
    return [np.array([number[query] for query in layer.queries], np.int64) for layer in layers]


def check_columns(columns: Sequence[Column], name: str) -> None:
    """Raise if a measure has no ``[groups]``: all judgments belong to groups."""
    plain = [column.measure for column in columns if not column.measure.views.groups]
    if plain:
        grouped = replace(plain[0], views=replace(plain[0].views, groups=True))
        raise InputError(
            [f"{name}: {measure} needs judgments without groups" for measure in plain],
            hint=f"for the mean over the groups of a query, write {grouped}",
        )
