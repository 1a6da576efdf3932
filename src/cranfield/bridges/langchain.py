"""Scores of a LangChain retriever."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cranfield.errors import optional
from cranfield.evaluation.collection import Collection
from cranfield.evaluation.evaluator import Measures, evaluate
from cranfield.evaluation.scores import Scores
from cranfield.io.records import Accessor, records


def evaluate_retriever(
    retriever: Any,
    queries: Mapping[str, str],
    relevant: Any,
    measures: Measures = ("nDCG@10", "RR"),
    *,
    document: Accessor = None,
    duplicates: str = "first",
    **options: Any,
) -> Scores:
    """Call a retriever with the text of every query, and score what it returns.

    ``queries``: texts by id; ``relevant``: judgments as `evaluate` takes them; ``document``: as in `records`, for
    example ``"metadata.source"``. ``options`` are those of `evaluate`.
    """
    optional("langchain_core", "the bridge to LangChain", "langchain")
    results = dict(zip(queries, retriever.batch(list(queries.values())), strict=True))
    collection = Collection.of(relevant).changed(allow_disjoint=True)
    return evaluate(collection, records(results, document=document, duplicates=duplicates), measures, **options)
