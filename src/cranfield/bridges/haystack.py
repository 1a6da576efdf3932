"""A Haystack component with the interface of its document evaluators, for any measure."""

from __future__ import annotations

from typing import Any

from cranfield.errors import optional
from cranfield.evaluation.evaluator import Evaluator
from cranfield.io.records import records

_haystack = optional("haystack", "the bridge to Haystack", "haystack")


class RetrievalEvaluator:
    """The score of a measure for lists of relevant and of retrieved documents.

    ``document``: the field with the id, such as ``"id"`` or ``"meta.file_id"``.
    """

    def __init__(self, measure: str = "nDCG@10", document: str = "id", duplicates: str = "first") -> None:
        self.measure, self.document, self.duplicates = measure, document, duplicates

    @_haystack.component.output_types(score=float, individual_scores=list[float])  # type: ignore[untyped-decorator]
    def run(
        self,
        ground_truth_documents: list[list[_haystack.Document]],  # type: ignore[name-defined]
        retrieved_documents: list[list[_haystack.Document]],  # type: ignore[name-defined]
    ) -> dict[str, Any]:
        """The mean and the score of each query; a query without relevant documents scores 0."""
        relevant = records(ground_truth_documents, document=self.document, score=lambda _: 1, duplicates="first")
        evaluator = Evaluator(relevant.source, [self.measure], undefined="zero")
        # Documents are ranked as listed, as by Haystack's evaluators.
        listed = [[(document, -rank) for rank, document in enumerate(documents)] for documents in retrieved_documents]
        run = records(listed, document=self.document, duplicates=self.duplicates)
        label = evaluator.columns[0].label
        by_query = evaluator.per_query(run)
        individual = [by_query[query][label] for query in evaluator.judgments.queries]
        individual = [0.0 if score != score else score for score in individual]  # NaN
        return {"score": evaluator.means(run)[label], "individual_scores": individual}


RetrievalEvaluator = _haystack.component(RetrievalEvaluator)  # type: ignore[misc]
