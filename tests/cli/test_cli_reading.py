"""Measures that read, and their explanation, by the command line: from a collection to a table, a figure, an error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_samples import BM25, DENSE, LLM, QRELS, Call

import cranfield as cf
from cranfield import example
from golden_cases import STRUCTURED

DIVERSITY = str(example.path(example.DIVERSITY))
DOCUMENTS = str(example.path("documents.jsonl"))
CASES = STRUCTURED


@pytest.fixture
def corpus(call: Call, tmp_path: Path) -> str:
    path = str(tmp_path / "corpus.parquet")
    assert call("corpus", DOCUMENTS, "--qrels", DIVERSITY, "--run", BM25, "-o", path).exit_code == 0
    return path


@pytest.mark.parametrize("case", [c for c in CASES if c["measure"] == "divergence-gains"], ids=lambda c: c["id"])
def test_worked_case(call: Call, tmp_path: Path, case: dict) -> None:
    lines = [json.dumps({"id": name, "text": text}) for name, text in case["corpus"].items()]
    (tmp_path / "texts.jsonl").write_text("\n".join(lines) + "\n")
    qrels = [f"q {s} {d} 1\n" for s, documents in case["judgments"].items() for d in documents]
    (tmp_path / "qrels").write_text("".join(qrels))
    (tmp_path / "run").write_text("".join(f"q Q0 {d} {i} {-i} t\n" for i, d in enumerate(case["ranking"])))
    made = call(
        "corpus",
        tmp_path / "texts.jsonl",
        "--qrels",
        tmp_path / "qrels",
        "--run",
        tmp_path / "run",
        "-o",
        tmp_path / "c",
    )
    assert made.exit_code == 0, made.output
    names = [f"{name}(mu={case['params']['mu']:g})@5" for name in ("ABSNB", "ABSRB", "DELTANB", "DELTARB")]
    args = [
        "eval",
        tmp_path / "qrels",
        tmp_path / "run",
        "-m",
        " ".join(names),
        "--corpus",
        tmp_path / "c",
        "--format",
        "json",
    ]
    found = json.loads(call(*args).stdout)["runs"]["run"]
    for name in names:
        assert found[name]["mean"] == pytest.approx(case["expected"][name.partition("(")[0]], abs=case["tol"])


def test_a_corpus_and_its_collection_are_the_same(call: Call, corpus: str) -> None:
    args = ["eval", DIVERSITY, BM25, "-m", "DELTARB@20", "--format", "json", "--corpus"]
    kept, read = (json.loads(call(*args, source).stdout) for source in (corpus, DOCUMENTS))
    assert kept | {"provenance": 0} == read | {"provenance": 0}  # other files
    texts = {d["id"]: f"{d['title']} {d['text']}" for d in map(json.loads, Path(DOCUMENTS).read_text().splitlines())}
    ours = cf.evaluate(cf.Collection(DIVERSITY, documents=texts), BM25, "DELTARB@20").to_dict()
    assert kept["runs"]["bm25"]["DELTARB@20"]["mean"] == pytest.approx(
        ours["runs"]["bm25"]["DELTARB@20"]["mean"], abs=1e-12
    )


def test_documents_that_a_corpus_was_made_without(call: Call, tmp_path: Path) -> None:
    path = str(tmp_path / "corpus.parquet")
    assert call("corpus", DOCUMENTS, "--qrels", DIVERSITY, "-o", path).exit_code == 0
    result = call("eval", DIVERSITY, DENSE, "-m", "DELTARB@20", "--corpus", path)
    assert result.exit_code == 1
    assert "built without" in result.stderr


def test_explain(call: Call, corpus: str, tmp_path: Path) -> None:
    args = ["explain", DIVERSITY, BM25, "--corpus", corpus, "--query", "q3"]
    result = call(*args, "--figures", tmp_path / "drawn")
    assert result.exit_code == 0
    assert result.stdout.startswith("DELTARB@20 of bm25 for query q3: 0.0328\n")
    assert "rank  document  judged" in result.stdout
    assert "relevant documents are in the corpus" in result.stderr
    assert len(list((tmp_path / "drawn").iterdir())) == 3
    data = json.loads(call(*args, "--format", "json").stdout)
    assert data == cf.explain(cf.Collection(DIVERSITY, documents=corpus), BM25, "DELTARB@20", query="q3").to_dict()
    assert call(*args, "--format", "latex", "--words", 0).stdout.count("\\toprule") == 2


def test_the_page_has_the_texts_of_the_query_and_of_documents(call: Call, tmp_path: Path) -> None:
    page = tmp_path / "lesson.html"
    args = ["explain", QRELS, BM25, "-m", "nDCG@10", "--query", "q2"]
    result = call(*args, "--page", page, "--texts", DOCUMENTS)
    assert "the texts of queries are those of queries.jsonl" in result.stderr
    data = json.loads(page.read_text().partition('id="data">')[2].partition("</script>")[0])
    assert data["title"] == "bm25, query q2 (how far can the foghorn be heard)"
    assert all(document["text"] for document in data["documents"])
    call(*args, "--page", page)
    assert (
        "text" not in json.loads(page.read_text().partition('id="data">')[2].partition("</script>")[0])["documents"][0]
    )
    assert "needs --page" in call(*args, "--texts", DOCUMENTS).stderr


@pytest.mark.parametrize("source", [DOCUMENTS, "-", "kept"])
def test_compare_with_a_corpus(call: Call, tmp_path: Path, source: str) -> None:
    """From a collection, which standard input gives only once, and from a file: the same as from scores."""
    if source == "kept":
        source = str(tmp_path / "corpus.parquet")
        call("corpus", DOCUMENTS, "--qrels", DIVERSITY, "--run", BM25, "--run", DENSE, "-o", source)
    args = ["compare", DIVERSITY, BM25, DENSE, "-m", "DELTARB@5 AP", "--corpus", source, "--format", "json"]
    result = call(*args, input=Path(DOCUMENTS).read_bytes())
    assert result.exit_code == 0, result.stderr
    scores = cf.evaluate(cf.Collection(DIVERSITY, documents=DOCUMENTS), [BM25, DENSE], ["DELTARB@5", "AP"])
    for found, expected in zip(json.loads(result.stdout)["pairs"], cf.compare(scores).pairs, strict=True):
        assert (found["measure"], found["difference"]) == (expected.measure, expected.difference)


def test_queries_with_a_corpus(call: Call) -> None:
    args = ["queries", DIVERSITY, BM25, DENSE, "-m", "DELTARB@5", "--corpus", DOCUMENTS, "--format", "json"]
    found = json.loads(call(*args).stdout)["queries"]["q3"]["runs"]
    scores = cf.evaluate(cf.Collection(DIVERSITY, documents=DOCUMENTS), [BM25, DENSE], "DELTARB@5")
    assert list(found.values()) == scores.values[:, 0, scores.queries.index("q3")].tolist()


def test_audit_with_a_corpus(call: Call) -> None:
    result = call("audit", DIVERSITY, BM25, DENSE, "-m", "DELTARB@5", "--corpus", DOCUMENTS)
    assert result.exit_code == 0, result.stderr
    rows = [line.split() for line in result.stdout.splitlines() if line.startswith("DELTARB@5 ")]
    assert rows[0] == ["DELTARB@5", "1", "0", "–", "–", "0", "–", "1"]


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["eval", DIVERSITY, LLM, "-m", "DELTARB@20"], 2, "error: DELTARB@20 needs a corpus, because it uses document text\n"),
        *((
            [verb, DIVERSITY, LLM, BM25, "-m", "DELTARB@20"], 2, "error: DELTARB@20 needs a corpus, because it uses document text\n"
        ) for verb in ("compare", "queries", "audit")),
        (["eval", QRELS, LLM, "-m", "DELTARB@20", "--corpus", DOCUMENTS], 1, "error: qrels: DELTARB@20 needs judgments by subtopic"),
        (["eval", DIVERSITY, LLM, "-m", "DELTARB@20", "--corpus", "none"], 1, "error: none: there is no such file\n"),
        (["eval", DIVERSITY, LLM, "-m", "DELTARB@20", "--corpus", DOCUMENTS, "--terminal"], 2, "error: DELTARB has no terminal form"),
        (["explain", DIVERSITY, LLM, "--corpus", DOCUMENTS], 2, "error: explain needs a query"),
        (["explain", DIVERSITY, LLM, "--corpus", DOCUMENTS, "--query", "q8"], 1, "error: qrels.diversity: DELTARB@20 is undefined for query `q8`"),
        (["explain", DIVERSITY, LLM, "-m", "DELTARB@20", "--query", "q1"], 2, "error: DELTARB@20 needs a corpus"),
    ],
)  # fmt: skip
def test_errors(call: Call, args: list[str], code: int, message: str) -> None:
    result = call(*args)
    assert (result.exit_code, result.stderr[: len(message)]) == (code, message)
