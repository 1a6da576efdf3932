"""Reads each run once and aligns it with the judgments, as the columns need it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.data import Booleans, Integers, Judgments, Run, Strings, TextView
from cranfield.errors import InputError, MeasureError
from cranfield.evaluation.plan import AlignmentKey, Column, Policy, last_rank_read
from cranfield.evaluation.run_scores import RunScores
from cranfield.io.runs import TopDocuments
from cranfield.measures import Measure
from cranfield.parallel import followed
from cranfield.ranking.alignment import (
    Aligner,
    Alignment,
    align_collection,
    align_content,
    align_documents,
    cost_aligner,
    no_overlap_error,
    with_unjudged,
)
from cranfield.ranking.batch import Key
from cranfield.ranking.spans import judge_chunks
from cranfield.ranking.tie_rules import TieRule

if TYPE_CHECKING:
    from cranfield.io.named_tables import Items

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
        reading = [*self.content_measures, *self.collection_measures, *self.document_measures]
        return max([top, *map(last_rank_read, reading)])

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
        judgments = judge_chunks(self.judgments, [run])
        of_documents = judgments is self.judgments
        aligner = self.aligner if of_documents else Aligner(judgments, complete=self.policy.complete)
        alignments = aligner.read(run, self.keys, by_id=self.by_id, top=self.top)
        if run.empty:
            empty = [q for q, query in enumerate(judgments.queries) if query in set(run.empty)]
            for alignment in alignments.values():
                alignment.length[empty] = 0  # a table has no rows of an empty ranking
        return alignments

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


def documents_read(tops: TopDocuments, measure: Measure) -> Booleans:
    """Which of the top documents of a run the measure reads; if ties stay open, all that may be above its last rank."""
    position = measure.views.rule.position
    start = tops.positions.start
    rank = start if position is None else start + getattr(tops.positions, position)
    return np.asarray(rank < last_rank_read(measure))


def documents_read_by(
    tops_by_key: Mapping[Key, TopDocuments], measures: Sequence[Measure], queries: Strings
) -> dict[str, set[str]]:
    """The documents of a run, judged or not, that these measures read, for each judged query."""
    documents: dict[str, set[str]] = {}
    for key, tops in tops_by_key.items():
        masks = [documents_read(tops, measure) for measure in measures if measure.views.rule.key == key]
        number = tops.positions.query
        rows = np.flatnonzero(np.any(masks, axis=0) & (number < len(queries))) if masks else np.zeros(0, np.int64)
        for query, document in zip(number[rows].tolist(), tops.ids.take(rows), strict=True):
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
