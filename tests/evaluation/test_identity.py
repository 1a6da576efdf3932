"""Queries of runs and judgments: both have ids, or both are lists in the same order; and the direction of scores."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.errors import CranfieldError, InputError, UsageError

torch = pytest.importorskip("torch")

N = 4
IDS = np.array([[10 * q, 10 * q + 1, 10 * q + 2] for q in range(N)])  # the first document of each query is relevant
SCORES = np.array([[3.0, 2.0, 1.0]] * N)
RELEVANT = [{10 * q} for q in range(N)]
KEYED = dict(enumerate(RELEVANT))
RANKED = dict(enumerate(IDS))

# Judgments and runs; the true RR of all is 1, and None means that they are refused.
SHAPES: dict[str, tuple[Any, Any, float | None]] = {
    "list, list": (RELEVANT, IDS.tolist(), 1),
    "list, array": (RELEVANT, IDS, 1),
    "list, tensor": (RELEVANT, torch.tensor(IDS), 1),
    "list, tuple of arrays": (RELEVANT, tuple(IDS), 1),
    "list, FAISS": (RELEVANT, (SCORES, IDS), 1),
    "list, hnswlib": (RELEVANT, (IDS, SCORES), 1),
    "list, topk": (RELEVANT, torch.topk(torch.eye(40)[::10], 3), 1),
    "list, named FAISS": (RELEVANT, {"dense": (SCORES, IDS)}, 1),
    "list, named array": (RELEVANT, {"dense": IDS}, 1),
    "list, named tensor": (RELEVANT, {"dense": torch.tensor(IDS)}, 1),
    "dict, named array": (KEYED, {"dense": IDS}, None),
    "list, an array without dimensions": (RELEVANT, np.array(3), None),
    "list, padded": (RELEVANT, np.where(IDS % 10 == 2, -1, IDS), 1),
    "list, records": (RELEVANT, [[{"id": d} for d in ranking] for ranking in IDS.tolist()], 1),
    "list, cf.records": (RELEVANT, cf.records([[{"id": d} for d in ranking] for ranking in IDS.tolist()]), 1),
    "list, responses": (RELEVANT, {"ids": IDS.tolist(), "distances": None, "metadatas": None}, 1),
    "dict, dict": (KEYED, RANKED, 1),
    "dict, dict of padded arrays": (KEYED, {q: np.append(ids, [-1, -1]) for q, ids in RANKED.items()}, 1),
    "dict, text keys": (KEYED, {str(q): ids for q, ids in RANKED.items()}, 1),
    "dict, array": (KEYED, IDS, None),
    "dict, tensor": (KEYED, torch.tensor(IDS), None),
    "dict, list": (KEYED, IDS.tolist(), None),
    "dict, FAISS": (KEYED, (SCORES, IDS), None),
    "dict, topk": (KEYED, torch.topk(torch.eye(40)[::10], 3), None),
    "dict, records": (KEYED, [[{"id": d} for d in ranking] for ranking in IDS.tolist()], None),
    "dict of 1, 2, 3, array": ({q + 1: relevant for q, relevant in KEYED.items()}, IDS, None),
    "list, dict": (RELEVANT, RANKED, None),
    "list, dict of 1, 2, 3": (RELEVANT, {q + 1: ids for q, ids in RANKED.items()}, None),
    "list, dict of scores": (RELEVANT, {str(q): {str(d): 1.0 for d in ids} for q, ids in RANKED.items()}, None),
    "list, rows": (RELEVANT, [{"query": q, "doc_id": 10 * q, "score": 1.0} for q in range(N)], None),
    "list, fewer lists": (RELEVANT, IDS[:-1], None),
    "list, two arrays of numbers": (RELEVANT, (SCORES, SCORES), None),
    "list, two arrays of ids": (RELEVANT, (IDS, IDS), None),
    "list, arrays of other shapes": (RELEVANT, (SCORES, IDS[:, :2]), None),
    "list, one query of FAISS": (RELEVANT[:2], (SCORES[0], IDS[0]), None),
}


def rr(method: str, qrels: Any, run: Any) -> float:
    """The mean by one of the doors."""
    if method == "evaluate":
        return float(cf.evaluate(qrels, run, "RR"))
    if method == "evaluation":
        return float(cf.Evaluator(qrels, "RR").evaluation(run).scores)
    run = run["dense"] if isinstance(run, dict) and "dense" in run else run  # the others take one run
    if method == "rescorer":
        rescorer = cf.Evaluator(qrels, "RR").rescorer(run)
        return rescorer.means(-np.arange(len(rescorer)))["RR"]
    found = getattr(cf.Evaluator(qrels, "RR"), method)(run)
    if method == "means":
        return float(found["RR"])
    return float(found.mean() if method == "values" else np.mean([of["RR"] for of in found.values()]))


@pytest.mark.parametrize("method", ["evaluate", "evaluation", "means", "per_query", "values", "rescorer"])
@pytest.mark.parametrize("name", SHAPES)
def test_ids_or_positions(name: str, method: str) -> None:
    qrels, run, expected = SHAPES[name]
    if expected is not None:
        assert rr(method, qrels, run) == expected
        return
    with pytest.raises(CranfieldError):
        rr(method, qrels, run)


def test_the_error_says_which_side_has_ids() -> None:
    with pytest.raises(InputError, match="the judgments have ids of queries, such as `0`, and the run is a list") as e:
        cf.Evaluator(KEYED, "RR").means(IDS)
    assert "query_ids=" in e.value.hint
    with pytest.raises(InputError, match="there are no judgments in the same order and the run is a list without ids"):
        cf.evaluate(cf.Collection(items={"a": {"price": 1}}), [["a"]], "DocMean(of='price')")
    with pytest.raises(InputError, match="dense has ids of queries, such as `0`, and the judgments are a list"):
        cf.evaluate(RELEVANT, {"dense": {q: [str(d) for d in ids] for q, ids in RANKED.items()}}, "RR")


def test_ids_for_lists() -> None:
    run = cf.read_run((SCORES, IDS), query_ids=range(N))
    assert cf.Evaluator(KEYED, "RR").means(run) == {"RR": 1}
    assert cf.Evaluator(KEYED, "RR").means(cf.read_run(IDS, query_ids=list(KEYED))) == {"RR": 1}
    with pytest.raises(UsageError, match="query_ids has 3 ids for 4 lists"):
        cf.read_run(IDS, query_ids=[1, 2, 3])
    with pytest.raises(UsageError, match="query_ids has the id `1` twice"):
        cf.read_run(IDS, query_ids=[1, 2, 3, 1])
    with pytest.raises(UsageError, match="query_ids= is for lists"):
        cf.read_run(RANKED, query_ids=[1, 2, 3, 4])


def test_lists_in_files(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps([[str(d) for d in ids] for ids in IDS.tolist()]))
    assert cf.Evaluator([{str(d) for d in ids} for ids in RELEVANT], "RR").means(path) == {"RR": 1}
    with pytest.raises(InputError, match=r"run.json is a list"):
        cf.Evaluator({1: {"0"}}, "RR").means(path)


def test_padding_of_arrays() -> None:
    padded = np.array([[7, 3, -1, -1], [4, -1, -1, -1]])
    assert cf.evaluate([{3}, {4}], padded, ["RR", "NumRet"]).means["run"] == {"RR": 0.75, "NumRet": 3}
    scores = np.array([[0.9, 0.8, -np.inf, -np.inf], [0.7, -np.inf, -np.inf, -np.inf]])
    assert cf.evaluate([{3}, {4}], (scores, padded), ["RR", "NumRet"]).means["run"] == {"RR": 0.75, "NumRet": 3}
    lists = [[7, 3, -1, -1], [4, -1, -1, -1]]
    pairs = [list(zip(row, (4, 3, 2, 1), strict=True)) for row in lists]
    rows = {"0": lists[0], "1": lists[1]}
    assert cf.Evaluator([{3}, {4}], ["RR", "NumRet"]).means(lists) == {"RR": 0.75, "NumRet": 3}
    assert cf.Evaluator([{3}, {4}], ["RR", "NumRet"]).means(pairs) == {"RR": 0.75, "NumRet": 3}
    assert cf.Evaluator({0: {3}, 1: {4}}, ["RR", "NumRet"]).means(rows) == {"RR": 0.75, "NumRet": 3}
    with pytest.raises(InputError, match="document `7` appears twice"):
        cf.evaluate([{3}], np.array([[7, 7, -1]]), "RR")


# Tensors: rows of scores and embeddings


def test_rows_of_embeddings() -> None:
    queries, documents = np.eye(N), np.eye(N)
    relevant = [{q} for q in range(N)]

    def mean(qrels: Any, **options: Any) -> float:
        return float(cf.tensors.evaluate_embeddings(qrels, queries, documents, "RR", **options).scores)

    assert mean(relevant) == 1
    assert mean(dict(enumerate(relevant)), query_ids=range(N)) == 1
    assert mean({f"q{q}": d for q, d in enumerate(relevant)}, query_ids=[f"q{q}" for q in range(N)]) == 1
    with pytest.raises(InputError, match="the judgments have ids of queries"):
        mean(dict(enumerate(relevant)))
    with pytest.raises(InputError, match="the judgments are a list"):
        mean(relevant, query_ids=range(N))
    with pytest.raises(InputError, match="5 lists and query_embeddings has 4"):
        mean([*relevant, {0}])


def test_missed_documents_of_tables() -> None:
    grades, scores = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[2.0, 1.0], [2.0, 1.0]])
    missed = {1: [1.0]}
    means = cf.tensors.evaluate(grades, scores, "R@1", missed=missed, query_ids=[0, 1]).scores.means
    assert means == {"run": {"R@1": 0.5}}
    with pytest.raises(InputError, match="missed has ids of queries"):
        cf.tensors.evaluate(grades, scores, "R@1", missed=missed)
    assert cf.tensors.evaluate(grades, scores, "R@1", missed=[[], [1.0]]).scores.means == means


# Direction of scores

RISING = {"q": [("b", 0.11), ("z", 0.35), ("c", 0.77)]}
RISING_SHAPES: dict[str, Any] = {
    "pairs of one query": RISING,
    "pairs": {**RISING, "r": [("b", 1), ("z", 2)]},
    "records": {"q": [{"id": d, "score": s} for d, s in RISING["q"]]},
    "cf.records": cf.records({"q": [{"id": d, "score": s} for d, s in RISING["q"]]}),
    "objects and scores": {"q": [({"id": d}, s) for d, s in RISING["q"]]},
    "NumPy numbers": {"q": [(d, np.float32(s)) for d, s in RISING["q"]]},
}


@pytest.mark.parametrize("name", RISING_SHAPES)
def test_rising_scores(name: str) -> None:
    run, qrels = RISING_SHAPES[name], {"q": {"b"}, "r": {"b"}}
    qrels = {query: qrels[query] for query in (run if isinstance(run, dict) else run.source)}
    evaluator = cf.Evaluator(qrels, "RR")
    for door in (evaluator, evaluator.means, evaluator.per_query, evaluator.values, evaluator.evaluation):
        with pytest.raises(InputError, match="scores rise from first to last in every list") as error:
            door(run)
        assert 'scores="distance"' in error.value.hint
    assert evaluator.means(cf.read_run(run, scores="distance")) == {"RR": 1}
    assert evaluator.means(cf.read_run(run, scores="similarity"))["RR"] < 1
    assert cf.Evaluator(qrels, "RR", ties="rank").means(run) == {"RR": 1}
    with pytest.raises(InputError):
        cf.Evaluator(qrels, "RR", ties="input").means(run)  # orders ties only


def test_rising_scores_of_chunks_and_arrays() -> None:
    chunks = {"q": [("d", 0, 9, 0.1), ("d", 10, 19, 0.2)]}
    evaluator = cf.Evaluator(cf.Collection(spans={"q": [("d", 0, 9)]}), "RR")
    with pytest.raises(InputError, match="scores rise from first to last in every list"):
        evaluator.means(chunks)
    assert evaluator.means({"q": [("d", 0, 9, 0.3), ("d", 10, 19, 0.2)]}) == {"RR": 1}
    with pytest.raises(InputError, match="scores rise from first to last in every list"):
        cf.Evaluator(RELEVANT, "RR").means((SCORES[:, ::-1], IDS))
    assert cf.Evaluator(RELEVANT, "RR").means(cf.read_run((SCORES[:, ::-1], IDS), scores="distance")) == {"RR": 1}


def test_scores_that_do_not_rise_in_every_list() -> None:
    for other in ([("b", 2.0), ("z", 1.0)], ["b", "z"], {"b": 1.0, "z": 2.0}):
        cf.Evaluator({"q": {"b"}, "r": {"b"}}, "RR").means({**RISING, "r": other})
    cf.Evaluator({"q": {"b"}}, "RR").means({"q": {"b": 0.1, "z": 0.2}})  # a dict has no order of its own
    cf.Evaluator({"q": {"b"}}, "RR").means({"q": [("b", 0.5), ("z", 0.5)]})
    cf.Evaluator({"q": {"b"}}, "RR").means({"q": [("b", 0.5)], "r": []})


def test_distances_in_every_form(tmp_path: Path) -> None:
    path = tmp_path / "x.run"
    path.write_text("q Q0 b 1 0.11 t\nq Q0 z 2 0.35 t\n")
    table = {"query_id": ["q", "q"], "doc_id": ["b", "z"], "score": [0.11, 0.35]}
    for source in (path, table, {"q": {"b": 0.11, "z": 0.35}}, {"q": [("b", 0.11), ("z", 0.35)]}):
        assert cf.Evaluator({"q": {"b"}}, "RR").means(cf.read_run(source, scores="distance")) == {"RR": 1}
    with pytest.raises(UsageError, match="scores must be one of"):
        cf.read_run(path, scores="cosine")  # type: ignore[arg-type]


# Runs that are given twice


def test_a_file_given_twice_counts_once(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.run").write_text("q Q0 d 1 1.0 t\n")
    paths = [tmp_path / "a.run", tmp_path / "b.run", tmp_path / "." / "a.run"]
    scores = cf.evaluate({"q": {"d": 1}}, paths, "RR")
    assert scores.runs == ("a", "b")
    assert any("a: the file is given 2 times; it counts once" in str(note) for note in scores.notes)
    scores = cf.evaluate({"q": {"d": 1}}, {"x": paths[0], "y": paths[0]}, "RR")
    assert scores.runs == ("x", "y")
    assert any("y: this is the same file as x" in str(note) for note in scores.notes)
    with pytest.raises(UsageError, match="x: the same file is given as two repeats"):
        cf.evaluate({"q": {"d": 1}}, {"x": cf.Repeats([paths[0], paths[2]])}, "RR")


def test_names_of_files_have_no_endings(tmp_path: Path) -> None:
    for ending in ("eval", "out", "scores", "tsv", "run.gz"):
        assert cf.io.streams.short_name(f"runs/old.{ending}") == "old"
    assert cf.io.streams.short_name("runs/bm25.v2.eval") == "bm25.v2"
    path = tmp_path / "old.eval"
    path.write_text("AP q1 0.5\nAP q2 0.7\nAP all 0.6\n")
    assert cf.read_scores(path).runs == ("old",)
