"""Other libraries on tensors: equal where they are right, and their known errors with both numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cranfield as cf


def untied(seed: int, *, negative: bool = False) -> tuple[Any, Any]:
    """Different scores, and at least one relevant document a query."""
    rng = np.random.default_rng(seed)
    scores = np.stack([rng.permutation(30) for _ in range(8)]).astype(np.float32) + 1
    grades = rng.integers(0, 3, (8, 30)).astype(float) * (rng.random((8, 30)) < 0.3)
    grades[:, 0] = 1
    return scores - 40 * negative, grades


def of_torchmetrics(metric: Any, scores: Any, grades: Any) -> float:
    import torch

    index = torch.arange(len(scores))[:, None].expand(*scores.shape).reshape(-1)
    return float(metric(torch.from_numpy(scores).reshape(-1), torch.from_numpy(grades).reshape(-1), indexes=index))


@pytest.mark.parametrize(
    ("measure", "name", "options"),
    [
        ("AP", "RetrievalMAP", {}),
        ("RR", "RetrievalMRR", {}),
        ("P@5", "RetrievalPrecision", {"top_k": 5}),
        ("R@5", "RetrievalRecall", {"top_k": 5}),
        ("Success@5", "RetrievalHitRate", {"top_k": 5}),
        ("Rprec", "RetrievalRPrecision", {}),
        ("nDCG@10", "RetrievalNormalizedDCG", {"top_k": 10}),
    ],
)
def test_torchmetrics_without_ties(measure: str, name: str, options: Any) -> None:
    retrieval = pytest.importorskip("torchmetrics.retrieval")
    scores, grades = untied(0)
    grades = grades if measure.startswith("nDCG") else np.minimum(grades, 1)
    given = grades if measure.startswith("nDCG") else grades.astype(int)
    ours = cf.tensors.evaluate(grades, scores, measure).scores._means[0, 0]
    assert of_torchmetrics(getattr(retrieval, name)(**options), scores, given) == pytest.approx(ours, abs=1e-6)


def test_torchmetrics_breaks_ties_by_accident() -> None:
    retrieval = pytest.importorskip("torchmetrics.retrieval")
    scores = np.ones((1, 2), np.float32)
    both = [of_torchmetrics(retrieval.RetrievalMRR(), scores, np.array([target])) for target in ([1, 0], [0, 1])]
    assert sorted(both) == [0.5, 1.0]
    ours = [cf.tensors.evaluate(np.array([grades]), scores, "RR").scores._means[0, 0] for grades in ([1, 0], [0, 1])]
    assert ours == [0.75, 0.75]


def test_torchmetrics_and_negative_scores() -> None:
    """Log-probabilities are scores; torchmetrics drops documents with a score of 0 or less from some measures."""
    retrieval = pytest.importorskip("torchmetrics.retrieval")
    scores, grades = untied(1, negative=True)
    grades = np.minimum(grades, 1)
    ours = cf.tensors.evaluate(grades, scores, "RR").scores._means[0, 0]
    assert ours == cf.tensors.evaluate(grades, scores + 100, "RR").scores._means[0, 0]
    theirs = of_torchmetrics(retrieval.RetrievalMRR(), scores, grades.astype(int))
    assert theirs == 0.0
    assert ours > 0.3


def test_tie_aware_retrieval_metrics() -> None:
    trm = pytest.importorskip("trm")
    rng = np.random.default_rng(2)
    scores = rng.integers(0, 6, (20, 15)).astype(float)
    relevant = rng.random((20, 15)) < 0.3
    relevant[:, 0] = True
    names = {"ndcg": "nDCG", "mrr": "RR", "map": "AP", "recall": "R", "precision": "P", "f1": "F1", "hits": "P"}
    cutoffs = [1, 3, 10, 15]
    theirs = trm.evaluate(scores.tolist(), relevant.tolist(), metrics=list(names), k_list=cutoffs)
    for metric, symbol in names.items():
        for k in cutoffs:
            times = k if metric == "hits" else 1
            found = theirs.metrics[metric][k]
            for ties, value in (("expected", found.expected), ("best", found.maximum), ("worst", found.minimum)):
                ours = cf.tensors.evaluate(relevant, scores, f"{symbol}@{k}", ties=ties).scores._means[0, 0]
                assert ours * times == pytest.approx(value, abs=1e-12), (metric, k, ties)
