"""MTEB's score dict, with its own keys, from the same inputs as its ``calculate_retrieval_scores``.

Values are equal to those of MTEB, but not rounded to five digits. Queries without judgments are left out; MTEB raises
KeyError. nAUC is NaN if all scores are equal, where MTEB may give 1.0, a ratio of two rounding errors. This module
needs no package.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.analysis.query_values import Confidence, nauc
from cranfield.evaluation.evaluator import Evaluator

K_VALUES = (1, 3, 5, 10, 20, 100, 1000)
KEYS = {"ndcg": "nDCG", "map": "AP", "recall": "R", "precision": "P", "mrr": "RR", "hit_rate": "Success"}
WITHOUT_NAUC = ("hit_rate",)
# MTEB sorts 64-bit scores for MRR itself; trec_eval, which gives it the other measures, compares 32 bits.
RANKED_BY_MTEB = ("RR",)


def retrieval_scores(
    results: Mapping[str, Mapping[str, float]], qrels: Any, k_values: Sequence[int] = K_VALUES
) -> dict[str, float]:
    """The scores of MTEB's retrieval tasks: ``ndcg_at_10``, ``map_at_10``, ``nauc_ndcg_at_10_max`` and so on.

    >>> retrieval_scores({"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 1}}, [1, 10])["mrr_at_10"]
    0.5
    """
    measures = [
        f"{symbol}@{k}[ties={'trec' if symbol in RANKED_BY_MTEB else 'trec9'}]"
        for symbol in KEYS.values()
        for k in k_values
    ]
    evaluator = Evaluator(qrels, measures, queries="both", undefined="zero")
    answered = [query for query in evaluator.judgments.queries if query in results]
    table = evaluator.values(results)
    judged = {query: row for row, query in enumerate(evaluator.judgments.queries)}
    values = np.nan_to_num(table[:, [judged[query] for query in answered]])
    names = [(key, k) for key in KEYS for k in k_values]
    scores = {f"{key}_at_{k}": float(row.mean()) for (key, k), row in zip(names, values, strict=True)}
    if "recall_at_1" in scores:
        scores["accuracy"] = scores["recall_at_1"]
    confidence = np.array([Confidence.of([*results[query].values()] or [0.0]) for query in answered]).reshape(-1, 3)
    for (key, k), row in zip(names, values, strict=True):
        if key not in WITHOUT_NAUC:
            for name, scale in zip(Confidence._fields, confidence.T, strict=True):
                scores[f"nauc_{key}_at_{k}_{name}"] = nauc(scale, row)
    return scores
