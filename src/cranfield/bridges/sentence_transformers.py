"""An evaluator for the trainer of sentence-transformers: graded judgments, any measure, ties in no order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cranfield.data import Run, Strings, Table
from cranfield.errors import optional
from cranfield.evaluation.evaluator import Evaluator, Measures
from cranfield.evaluation.plan import Keys, keys_of
from cranfield.io.columns import by_text
from cranfield.ranking.tie_rules import Ties

_package = optional("sentence_transformers", "the bridge to sentence-transformers", "sentence-transformers")
_BASE = (
    getattr(_package, "SentenceEvaluator", None)
    or __import__("sentence_transformers.evaluation", fromlist=["SentenceEvaluator"]).SentenceEvaluator
)
QUERIES_PER_BLOCK = 256


class RetrievalEvaluator(_BASE):  # type: ignore[misc,valid-type]
    """Encodes queries and documents, ranks all documents for each query, and returns the mean of each measure.

    ``queries`` and ``corpus``: texts by id; ``relevant``: judgments as `evaluate` takes them. The first measure is the
    primary one. ``depth``: how many documents of each ranking are kept; those tied with the last one are kept, too.
    ``keys``: those of the means: labels, or ``"plain"`` names such as ``ndcg_10``, which every tracker takes.
    """

    def __init__(
        self,
        queries: Mapping[str, str],
        corpus: Mapping[str, str],
        relevant: Any,
        measures: Measures = ("nDCG@10", "RR@10", "AP@100", "R@100"),
        *,
        name: str = "",
        depth: int = 1000,
        ties: Ties = "expected",
        batch_size: int = 32,
        keys: Keys = "labels",
    ) -> None:
        super().__init__()
        self.evaluator = Evaluator(relevant, measures, ties=ties, undefined="zero")
        judged = set(self.evaluator.judgments.queries)
        self.queries = {query: text for query, text in by_text(queries, "queries").items() if query in judged}
        self.corpus = by_text(corpus, "corpus")
        self.name, self.depth, self.batch_size = name, depth, batch_size
        self._keys: Keys = keys
        self.primary_metric = keys_of([column.label for column in self.evaluator.columns], keys)[0]

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: int = -1, steps: int = -1
    ) -> dict[str, float]:
        """The mean of each measure."""
        options = {"batch_size": self.batch_size, "convert_to_numpy": True, "show_progress_bar": False}
        encode_query, encode_document = (
            getattr(model, name, model.encode) for name in ("encode_query", "encode_document")
        )
        queries = np.asarray(encode_query(list(self.queries.values()), **options))
        documents = np.asarray(encode_document(list(self.corpus.values()), **options))
        run = self._run(lambda block: np.asarray(model.similarity(queries[block], documents)))
        means = self.evaluator.means(run, keys=self._keys)
        result: dict[str, float] = self.prefix_name_to_metrics(means, self.name)
        self.store_metrics_in_model_card_data(model, result, epoch, steps)
        return result

    def _run(self, similarity: Any) -> Run:
        names = Strings.of(self.corpus)
        rows: list[Any] = []
        for first in range(0, len(self.queries), QUERIES_PER_BLOCK):
            scores = similarity(slice(first, first + QUERIES_PER_BLOCK))
            depth = min(self.depth, scores.shape[1])
            least = np.partition(scores, -depth, axis=1)[:, -depth]
            query, document = np.nonzero(scores >= least[:, None])
            rows.append((query + first, document, scores[query, document]))
        query, document, score = (np.concatenate(column) for column in zip(*rows, strict=True))
        table = Table(Strings.of(self.queries).take(query), names.take(document), score.astype(np.float64))
        return Run(self.name or "model", table)
