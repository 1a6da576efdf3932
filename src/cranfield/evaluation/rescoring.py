"""`Rescorer`: scores of a run whose documents stay the same while their scores change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy.typing as npt

from cranfield.data import Floats, Run
from cranfield.errors import UsageError
from cranfield.evaluation.plan import AlignmentKey
from cranfield.evaluation.reader import RunReader
from cranfield.evaluation.run_scores import RunScores, check_query_overlap
from cranfield.ranking.fixed_documents import FixedDocuments

if TYPE_CHECKING:
    from cranfield.evaluation.evaluator import Evaluator


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
        if reader.content_measures or reader.collection_measures or reader.costs is not None:
            raise UsageError(
                "documents cannot be re-scored with measures of document text or of other queries, or with costs",
                hint="call the evaluator itself",
            )
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

    def means(self, scores: npt.ArrayLike) -> dict[str, float]:
        """`Evaluator.means` of the run with these scores."""
        return self._evaluator.means_of(self._score(scores))

    def per_query(self, scores: npt.ArrayLike) -> dict[str, dict[str, float]]:
        """`Evaluator.per_query` of the run with these scores."""
        return self._evaluator.per_query_of(self._score(scores))

    def values(self, scores: npt.ArrayLike) -> Floats:
        """`Evaluator.values` of the run with these scores."""
        return self._evaluator.values_of(self._score(scores))

    def _score(self, scores: npt.ArrayLike) -> RunScores:
        alignments = self._documents.align(scores, self._reader.keys, by_id=self._reader.by_id)
        by_key = {AlignmentKey(False, key): alignment for key, alignment in alignments.items()}
        return RunScores(self._documents.run, by_key, seed=self._evaluator.policy.seed)
