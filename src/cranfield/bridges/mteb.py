"""MTEB's score dict, with its own keys, from the same inputs as its ``calculate_retrieval_scores``.

Values are equal to those of MTEB, but not rounded to five digits. Queries without judgments are left out; MTEB raises
KeyError. nAUC is NaN if all scores are equal, where MTEB may give 1.0, a ratio of two rounding errors. This module
needs no package.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.analysis.query_values import nauc
from cranfield.data import Floats
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
    confidence = _confidence([results[query] for query in answered])
    for (key, k), row in zip(names, values, strict=True):
        if key not in WITHOUT_NAUC:
            for name, scale in confidence.items():
                scores[f"nauc_{key}_at_{k}_{name}"] = nauc(scale, row)
    return scores


def _confidence(rankings: Sequence[Mapping[str, float]]) -> dict[str, Floats]:
    """How confident a system is in each ranking: its highest score, their deviation, and the first gap."""
    table = np.zeros((3, len(rankings)))
    for q, ranking in enumerate(rankings):
        scores = np.fromiter(ranking.values(), np.float64, len(ranking))
        if len(scores):
            top = np.partition(scores, -2)[-2:] if len(scores) > 1 else np.repeat(scores, 2)
            table[:, q] = top[-1], np.std(scores), top[-1] - top[0]
    return {"max": table[0], "std": table[1], "diff1": table[2]}
