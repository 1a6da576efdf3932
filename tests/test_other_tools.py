"""The numbers on the page about other tools, from the tools themselves where they are installed."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

import cranfield as cf

pytestmark = pytest.mark.filterwarnings("ignore")


def means(judgments: Any, run: Any, measures: Any, **options: Any) -> list[float]:
    return cf.evaluate(judgments, run, measures, **options)._means[0].tolist()


def test_llama_index_counts_duplicates_twice() -> None:
    metrics = pytest.importorskip("llama_index.core.evaluation.retrieval.metrics")
    ids = {"expected_ids": ["a"], "retrieved_ids": ["a", "a"]}
    assert metrics.AveragePrecision().compute(**ids).score == 2.0
    assert metrics.NDCG().compute(**ids).score == pytest.approx(1.6309, abs=1e-4)
    assert means([["a"]], [["a", "a"]], ["AP", "nDCG"], duplicates="first") == [1.0, 1.0]


def test_mlflow_and_the_ideal_ranking() -> None:
    definitions = pytest.importorskip("mlflow.metrics.metric_definitions")
    import pandas as pd

    relevant, retrieved = ["a", "b", "c", "d", "e"], ["a", "v", "w", "x", "y"]
    (theirs,) = definitions._ndcg_at_k_eval_fn(5)(pd.Series([retrieved]), pd.Series([relevant])).scores
    assert theirs == 1.0 or theirs == pytest.approx(0.339, abs=1e-3)  # before and after the correction
    assert means([relevant], [retrieved], "nDCG@5") == pytest.approx([0.339], abs=1e-3)
    (chunks,) = definitions._ndcg_at_k_eval_fn(5)(pd.Series([["a", "a", "a"]]), pd.Series([["a", "b"]])).scores
    ours = means([["a", "b"]], [["a", "a", "a"]], "nDCG@5", duplicates="first")[0]
    assert chunks > ours
    (short,) = definitions._ndcg_at_k_eval_fn(5)(pd.Series([["a"]]), pd.Series([relevant])).scores
    assert short == 1.0 or short == pytest.approx(0.339, abs=1e-3)  # before and after the proposed correction
    assert means([relevant], [["a"]], "nDCG@5") == pytest.approx([0.339], abs=1e-3)


def test_mlflow_names_copies_without_collisions() -> None:
    definitions = pytest.importorskip("mlflow.metrics.metric_definitions")
    import pandas as pd

    relevant, retrieved = ["a_bc574ae_2"], ["a", "a", "z"]
    (theirs,) = definitions._ndcg_at_k_eval_fn(3)(pd.Series([retrieved]), pd.Series([relevant])).scores
    assert theirs in (0.0, pytest.approx(0.6309, abs=1e-4))  # after and before the correction
    assert means([relevant], [retrieved], "nDCG@3", duplicates="first") == [0.0]


def test_haystack_and_duplicates_and_its_denominator() -> None:
    evaluators = pytest.importorskip("haystack.components.evaluators")
    from haystack import Document

    a, b, x = (Document(content=name, score=1.0) for name in "abx")
    ndcg = evaluators.DocumentNDCGEvaluator().run(ground_truth_documents=[[a]], retrieved_documents=[[a, a]])["score"]
    assert ndcg in (1.0, pytest.approx(1.6309, abs=1e-4))  # after and before the correction
    ap = evaluators.DocumentMAPEvaluator().run(ground_truth_documents=[[a, b]], retrieved_documents=[[a, x]])["score"]
    assert ap in (0.5, 1.0)
    assert means([["a", "b"]], [["a", "x"]], "AP") == [0.5]


def test_trulens_and_duplicates() -> None:
    groundtruth = pytest.importorskip("trulens.feedback.groundtruth")
    from trulens.feedback.dummy.provider import DummyProvider

    chunks = [{"text": name, "expect_score": 1} for name in "AB"]
    truth = [{"query": "q", "expected_response": "", "expected_chunks": chunks}]
    recall = groundtruth.GroundTruthAgreement(ground_truth=truth, provider=DummyProvider()).recall_at_k
    assert recall("q", ["A", "A"], k=2) in (0.5, 1.0)  # after and before the correction
    assert means([["A", "B"]], [["A", "A"]], "R@2", duplicates="first") == [0.5]


@pytest.fixture
def ragas(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The metrics of ragas. It imports classes for Vertex AI that langchain-community no longer has."""
    chat_models = pytest.importorskip("langchain_community.chat_models")
    llms = pytest.importorskip("langchain_community.llms")
    if not hasattr(chat_models, "vertexai"):
        stub = ModuleType("langchain_community.chat_models.vertexai")
        stub.ChatVertexAI = type("ChatVertexAI", (), {})  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, stub.__name__, stub)
    if "VertexAI" not in vars(llms):
        monkeypatch.setattr(llms, "VertexAI", type("VertexAI", (), {}), raising=False)
    return pytest.importorskip("ragas.metrics", exc_type=ImportError)


def test_ragas_divides_by_the_relevant_documents_retrieved(ragas: Any) -> None:
    theirs = ragas.NonLLMContextPrecisionWithReference._calculate_average_precision
    assert theirs(None, [1, 0]) == pytest.approx(1.0)
    assert means([["a", "b", "c"]], [["a", "x"]], "AP") == pytest.approx([1 / 3])


@pytest.mark.parametrize(("relevant", "expected"), [("d99", 1.0), ("d00", 0.0)])
def test_mteb_and_a_constant_scorer(relevant: str, expected: float) -> None:
    metrics = pytest.importorskip("mteb._evaluators.retrieval_metrics")
    constant = {"q": {f"d{number:02}": 0.5 for number in range(100)}}
    assert metrics.mrr({"q": {relevant: 1}}, constant, [10])["MRR@10"] == [expected]
    assert means({"q": {relevant}}, constant, "RR@10", ties="expected") == pytest.approx([0.02929], abs=1e-5)


def test_mteb_and_equal_confidence() -> None:
    metrics = pytest.importorskip("mteb._evaluators.retrieval_metrics")
    import numpy as np

    confidence = np.array([0.5, 0.5, 0.5, 0.9])
    ours = cf.stats.nauc(confidence, [0.5, 1, 0, 0.8])
    theirs = metrics.nauc(confidence, np.array([0.5, 1, 0, 0.8]))
    assert theirs == pytest.approx(ours) or theirs == pytest.approx(0.0361, abs=1e-4)  # after and before the correction
    assert ours == pytest.approx(0.346, abs=1e-4)


def test_pykeen_and_the_rank_of_a_tie() -> None:
    evaluation = pytest.importorskip("pykeen.evaluation")
    import torch

    scores = torch.full((1, 100), 0.5)
    evaluator = evaluation.RankBasedEvaluator()
    evaluator.process_scores_(torch.tensor([[0, 0, 7]]), "tail", scores, scores[:, 7:8])
    realistic = evaluator.finalize().to_dict()["tail"]["realistic"]
    assert realistic["inverse_harmonic_mean_rank"] == pytest.approx(1 / 50.5, abs=1e-6)
    assert realistic["hits_at_10"] == 0.0
    constant = {"q": {f"entity{i}": 0.5 for i in range(100)}}
    assert means({"q": {"entity7"}}, constant, ["RR", "Success@10"], ties="expected") == pytest.approx(
        [0.05187, 0.1], abs=1e-5
    )


def test_scikit_learn_has_the_mean_over_orders_of_scholars_example() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    grades, tied = [10, 0, 0, 1, 5], [1.0, 1.0, 1.0, 0.5, 0.5]
    ours = means(
        {"q": dict(zip("abcde", grades, strict=True))},
        {"q": dict(zip("abcde", tied, strict=True))},
        "nDCG[ties=expected]",
    )
    assert ours == pytest.approx([metrics.ndcg_score([grades], [tied])])
    assert ours == pytest.approx([0.699812], abs=1e-6)


def test_an_empty_list_where_nothing_is_relevant() -> None:
    """Silence is as bad as a wrong answer, or is left out; a terminal document tells them apart."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    ir_measures = pytest.importorskip("ir_measures")
    qrels, answered = {"q1": {"a": 1}, "q2": {"b": 0}}, {"q1": {"a": 1.0}}
    silent, wrong = {**answered, "q2": {}}, {**answered, "q2": {"c": 1.0}}

    def pytrec_rr(run: Any) -> list[float]:
        return [
            values["recip_rank"]
            for values in pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(run).values()
        ]

    assert pytrec_rr(silent) == pytrec_rr(wrong) == [1.0, 0.0]
    assert pytrec_rr(answered) == [1.0]
    for run in (silent, answered, wrong):
        assert ir_measures.calc_aggregate([ir_measures.RR], qrels, run) == {ir_measures.RR: 0.5}
    ours = [means(qrels, run, ["RR", "RR[terminal]", "FalseAnswer"]) for run in (silent, answered, wrong)]
    assert ours == [[0.5, 1.0, 0.0], [0.5, 1.0, 0.0], [0.5, 0.75, 1.0]]


@pytest.mark.parametrize(("action", "expected"), [("neg", 0.5), ("pos", 1.0)])
def test_torchmetrics_and_queries_without_a_relevant_document(action: str, expected: float) -> None:
    torch, retrieval = pytest.importorskip("torch"), pytest.importorskip("torchmetrics.retrieval")
    scores, relevant = torch.tensor([0.9, 0.8]), torch.tensor([True, False])
    metric = retrieval.RetrievalMRR(empty_target_action=action)
    assert float(metric(scores, relevant, indexes=torch.tensor([0, 1]))) == expected


def test_torchmetrics_and_negative_scores() -> None:
    torch, retrieval = pytest.importorskip("torch"), pytest.importorskip("torchmetrics.retrieval")
    scores, relevant, queries = (
        torch.tensor([-1.0, -2.0, -3.0]),
        torch.tensor([True, False, False]),
        torch.tensor([0, 0, 0]),
    )
    for name, expected in {
        **dict.fromkeys(("MAP", "MRR", "Precision", "Recall"), 0.0),
        **dict.fromkeys(("NormalizedDCG", "HitRate", "RPrecision"), 1.0),
    }.items():
        metric = getattr(retrieval, f"Retrieval{name}")()
        assert float(metric(scores, relevant, indexes=queries)) == expected, name
    assert means([["a"]], [{"a": -1.0, "b": -2.0, "c": -3.0}], ["AP", "RR"]) == [1.0, 1.0]
