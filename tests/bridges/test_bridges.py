"""Bridges to other tools, with the real packages where they are installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.bridges.mteb import retrieval_scores


def collection(queries: int, documents: int, seed: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
    rng = np.random.default_rng(seed)
    names = [f"d{number}" for number in range(documents)]
    results, qrels = {}, {}
    for query in range(queries):
        found = rng.permutation(documents)[: documents // 2]
        scores = rng.normal(size=len(found)).astype(np.float32).astype(float).round(2)  # with ties
        results[f"q{query}"] = {names[d]: float(s) for d, s in zip(found, scores, strict=True)}
        judged = rng.permutation(documents)[:20]
        qrels[f"q{query}"] = {names[d]: int(grade) for d, grade in zip(judged, rng.integers(0, 3, 20), strict=True)}
    return results, qrels


Collection = tuple[dict[str, Any], dict[str, Any]]
ODD_COLLECTIONS: dict[str, Callable[[Collection], Collection]] = {
    "ties and grades": lambda c: c,
    "another order of queries": lambda c: (dict(reversed(c[0].items())), c[1]),
    "queries without a ranking": lambda c: ({q: r for q, r in c[0].items() if q != "q3"}, c[1]),
    "empty rankings": lambda c: (c[0] | {"q3": {}}, c[1]),
    "short rankings": lambda c: ({q: dict(list(r.items())[:5]) for q, r in c[0].items()}, c[1]),
    "no relevant documents": lambda c: (c[0], c[1] | {"q3": dict.fromkeys(c[1]["q3"], 0)}),
    "negative grades": lambda c: (c[0], {q: {d: grade - 1 for d, grade in j.items()} for q, j in c[1].items()}),
    "a constant scorer": lambda c: ({q: dict.fromkeys(r, 0.5) for q, r in c[0].items()}, c[1]),
}


@pytest.mark.parametrize("name", ODD_COLLECTIONS)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.filterwarnings("ignore")
def test_mteb_keys_and_values(name: str, seed: int) -> None:
    mteb = pytest.importorskip("mteb._evaluators.retrieval_metrics")
    results, qrels = ODD_COLLECTIONS[name](collection(40, 200, seed))
    ks = [1, 3, 10, 100]
    theirs = mteb.calculate_retrieval_scores(results, qrels, ks)
    expected = mteb.make_score_dict(
        **{"ndcg": theirs.ndcg, "_map": theirs.map, "recall": theirs.recall, "precision": theirs.precision},
        **{"mrr": theirs.mrr, "naucs": theirs.naucs, "naucs_mrr": theirs.naucs_mrr, "hit_rate": theirs.hit_rate},
        task_scores={},
    )
    ours = retrieval_scores(results, qrels, ks)
    assert ours.keys() == expected.keys()
    for key, value in expected.items():
        rounded = 1e-9 if "nauc" in key or "mrr" in key else 5.1e-6  # they round means to five digits
        assert ours[key] == pytest.approx(value, abs=rounded, nan_ok=True), key


def test_mteb_needs_judgments_of_every_query() -> None:
    mteb = pytest.importorskip("mteb._evaluators.retrieval_metrics")
    results, qrels = {"q": {"a": 2.0, "b": 1.0}, "unjudged": {"a": 1.0}}, {"q": {"b": 1}}
    with pytest.raises(KeyError):
        mteb.calculate_retrieval_scores(results, qrels, [1])
    assert retrieval_scores(results, qrels, [1]) == pytest.approx(
        retrieval_scores({"q": results["q"]}, qrels, [1]), nan_ok=True
    )


def test_mteb_without_the_package() -> None:
    scores = retrieval_scores({"q": {"a": 2.0, "b": 1.0}, "unjudged": {"a": 1.0}}, {"q": {"b": 1}}, [1, 10])
    assert (scores["ndcg_at_1"], scores["mrr_at_10"], scores["accuracy"]) == (0.0, 0.5, 0.0)


def test_mteb_ranks_64_bit_scores_for_mrr_and_32_bit_scores_for_the_rest() -> None:
    results, qrels = {"q": {"a": 0.5000000001, "b": 0.5}}, {"q": {"a": 1}}
    scores = retrieval_scores(results, qrels, [1, 10])
    assert (scores["mrr_at_1"], scores["mrr_at_10"]) == (1.0, 1.0)
    assert (scores["precision_at_1"], scores["map_at_10"], scores["hit_rate_at_1"]) == (0.0, 0.5, 0.0)
    tied = retrieval_scores({"q": {"a": 0.5, "b": 0.5}}, qrels, [10])
    assert tied["mrr_at_10"] == 0.5  # by descending id


def test_mteb_has_the_same_abstention_as_the_function_for_it() -> None:
    results, qrels = collection(40, 200)
    results = {query: {d: round(score) for d, score in ranking.items()} for query, ranking in results.items()}
    values = cf.evaluate(qrels, results, "nDCG@10", ties="trec9")._query_values(0, 0)
    sure = cf.stats.confidence(results)
    assert len(set(sure.values())) < 5
    found = retrieval_scores(results, qrels, [10])
    assert found["nauc_ndcg_at_10_max"] == cf.stats.nauc(sure, values)
    flat = retrieval_scores({"q": {"a": 2.0}}, {"q": {"a": 1, "b": 1, "c": 1}}, [10])
    assert np.isnan(flat["nauc_recall_at_10_max"])  # one query; MTEB may give 1.0 here, a ratio of rounding errors


class Model:
    """Embeds a text as the counts of its letters a, b and c."""

    model_card_data = type("Card", (), {"set_evaluation_metrics": lambda *_: None})()

    def encode(self, texts: list[str], **options: Any) -> Any:
        return np.array([[text.count(letter) for letter in "abc"] for text in texts], float)

    def similarity(self, left: Any, right: Any) -> Any:
        return left @ right.T


@pytest.mark.filterwarnings("ignore")
def test_sentence_transformers() -> None:
    pytest.importorskip("sentence_transformers")
    from sentence_transformers.evaluation import SentenceEvaluator

    from cranfield.bridges.sentence_transformers import RetrievalEvaluator

    evaluator = RetrievalEvaluator(
        {"q1": "a", "q2": "b"},
        {"d1": "aa", "d2": "bb", "d3": "ab"},
        {"q1": {"d1": 2, "d3": 1}, "q2": {"d3"}},
        name="dev",
    )
    scores = evaluator(Model())
    assert isinstance(evaluator, SentenceEvaluator)
    assert evaluator.primary_metric == "dev_nDCG@10"
    assert scores["dev_nDCG@10"] == pytest.approx((1 + 1 / np.log2(3)) / 2)
    tied = RetrievalEvaluator({"q": "c"}, {"d1": "a", "d2": "b"}, {"q": {"d1"}}, ["RR"], depth=1)
    assert tied(Model())["RR"] == 0.75  # the mean of both orders
    views = RetrievalEvaluator({"q": "a"}, {"d1": "b", "d2": "a"}, {"q": {"d1"}}, ["AP", "AP[condensed]"])
    assert views.primary_metric == "AP"
    assert views(Model()) == {"AP": 0.5, "AP[condensed]": 1.0}


@pytest.mark.filterwarnings("ignore")
def test_mlflow() -> None:
    pytest.importorskip("mlflow.metrics")
    import pandas as pd

    from cranfield.bridges.mlflow import metric

    ours = metric("nDCG@5")
    value = ours.eval_fn(pd.Series([["a", "b"], ["x", "x", "b"]]), pd.Series([["a"], ["b", "c"]]))
    assert ours.name == "ndcg_5"
    assert value.scores == pytest.approx([1.0, (1 / np.log2(3)) / (1 + 1 / np.log2(3))])


@pytest.mark.filterwarnings("ignore")
def test_pyterrier() -> None:
    pyterrier = pytest.importorskip("pyterrier")
    import pandas as pd

    from cranfield.bridges.pyterrier import Experiment

    topics = pd.DataFrame({"qid": ["1"], "query": ["lamp"]})
    qrels = pd.DataFrame({"qid": ["1"], "docno": ["d1"], "label": [1]})
    results = pd.DataFrame({"qid": ["1", "1"], "query": ["lamp"] * 2, "docno": ["d1", "d2"], "score": [1.0, 2.0]})
    system = pyterrier.Transformer.from_df(results)
    frame = Experiment([system, results], topics, qrels, ["RR", "P@1"], names=["a", "b"])
    assert frame.to_dict("list") == {"name": ["a", "b"], "RR": [0.5, 0.5], "P@1": [0.0, 0.0]}


@pytest.mark.filterwarnings("ignore")
def test_llama_index() -> None:
    pytest.importorskip("llama_index.core")
    from cranfield.bridges.llama_index import metric

    result = metric("AP").compute(expected_ids=["a", "b"], retrieved_ids=["a", "a", "b"])
    assert result.score == 1.0
    assert metric("RR").metric_name == "RR"


@pytest.mark.filterwarnings("ignore")
def test_langchain() -> None:
    documents = pytest.importorskip("langchain_core.documents")
    retrievers = pytest.importorskip("langchain_core.retrievers")
    from cranfield.bridges.langchain import evaluate_retriever

    class Retriever(retrievers.BaseRetriever):  # type: ignore[misc,name-defined]
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Any]:
            return [documents.Document(page_content="", metadata={"source": name}) for name in query.split()]

    queries = {"q1": "d1 d1 d2", "q2": "d2 d3"}
    scores = evaluate_retriever(Retriever(), queries, {"q1": {"d2"}, "q2": {"d2"}}, "RR", document="metadata.source")
    assert scores._means[0, 0] == 0.75


@pytest.mark.filterwarnings("ignore")
def test_haystack() -> None:
    haystack = pytest.importorskip("haystack")
    from cranfield.bridges.haystack import RetrievalEvaluator

    a, b, c = (haystack.Document(id=name) for name in "abc")
    pipeline = haystack.Pipeline()
    pipeline.add_component("scores", RetrievalEvaluator("RR"))
    inputs = {"ground_truth_documents": [[a], [b]], "retrieved_documents": [[a, c], [c, c, b]]}
    assert pipeline.run({"scores": inputs})["scores"] == {"score": 0.75, "individual_scores": [1.0, 0.5]}


def test_importing_cranfield_loads_no_other_package() -> None:
    import subprocess
    import sys

    packages = ("pandas", "polars", "pyarrow", "torch", "torchmetrics", "matplotlib", "mteb", "sentence_transformers")
    packages += ("mlflow", "pyterrier", "llama_index", "langchain_core", "haystack", "pyspark", "ir_datasets", "uuid")
    loaded = f"[m for m in sys.modules if m.partition('.')[0] in {packages} or m.startswith('cranfield.bridges')]"
    code = f"import sys, cranfield; cranfield.evaluate([['a']], [['a']], 'RR'); print({loaded})"
    path = str(next(iter(cf.__path__)).removesuffix("/cranfield"))
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {path!r}); {code}"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.filterwarnings("ignore")
def test_the_trainer_of_sentence_transformers_accepts_the_evaluator(tmp_path: Any) -> None:
    for package in ("accelerate", "datasets", "tokenizers"):
        pytest.importorskip(package)
    package = pytest.importorskip("sentence_transformers")
    from datasets import Dataset
    from sentence_transformers import losses
    from sentence_transformers.models import StaticEmbedding
    from tokenizers import Tokenizer, models, pre_tokenizers

    from cranfield.bridges.sentence_transformers import RetrievalEvaluator

    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "a": 1, "b": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    model = package.SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=8)], device="cpu")
    trainer = package.SentenceTransformerTrainer(
        model=model,
        args=package.SentenceTransformerTrainingArguments(str(tmp_path), max_steps=1, report_to="none", use_cpu=True),
        train_dataset=Dataset.from_dict({"anchor": ["a", "b"], "positive": ["a a", "b b"]}),
        loss=losses.MultipleNegativesRankingLoss(model),
        evaluator=RetrievalEvaluator({"q": "a"}, {"d1": "a a", "d2": "b"}, {"q": {"d1": 2}}, ["nDCG@10"], name="dev"),
    )
    trainer.train()
    assert trainer.evaluate()["eval_dev_nDCG@10"] == 1.0
