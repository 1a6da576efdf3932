"""The retrieval metrics of LlamaIndex, with its own values for lists that have a document twice.

Where no document repeats, hit_rate is `Success` of the whole list, mrr is `RR`, precision and recall are `SetP` and
`SetR`, ap is `AP`, ndcg is `nDCG` with binary gains, and hit_rate_granular is `SetR`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def retrieval_metrics(retrieved: Sequence[str], expected: Sequence[str]) -> dict[str, float]:
    """All values for one query: ids retrieved, best first, and the ids that are expected.

    ``mrr_granular`` is the mean of 1/rank over the documents found; ``ndcg_before_0.14`` is ndcg with an ideal in which
    every retrieved document is relevant. As in LlamaIndex, neither list may be empty.

    >>> found = retrieval_metrics(["c", "b", "a"], ["a", "b", "z", "y"])
    >>> found["hit_rate_granular"], round(found["mrr_granular"], 4), round(found["ndcg"], 4)
    (0.5, 0.4167, 0.4415)
    """
    if not retrieved or not expected:
        raise ValueError("Retrieved ids and expected ids must be provided")
    wanted, different = set(expected), set(retrieved)
    ranks = [rank for rank, document in enumerate(retrieved, 1) if document in wanted]
    hits = len(wanted & different)
    gained = math.fsum(_discount(rank) for rank in ranks)
    precisions = [len(wanted.intersection(retrieved[:rank])) / rank for rank in ranks]
    return {
        "hit_rate": float(bool(ranks)),
        "hit_rate_granular": len(ranks) / len(expected),
        "mrr": 1 / ranks[0] if ranks else 0.0,
        "mrr_granular": math.fsum(1 / rank for rank in ranks) / len(ranks) if ranks else 0.0,
        "precision": hits / len(different),
        "recall": hits / len(wanted),
        "ap": math.fsum(precisions) / len(wanted),
        "ndcg": gained / _ideal(len(expected)),
        "ndcg_before_0.14": gained / _ideal(len(retrieved)),
    }


def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def _ideal(documents: int) -> float:
    return math.fsum(_discount(rank) for rank in range(1, documents + 1))
