"""Which documents matter, the verb that keeps them, and a collection from its raw files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import cranfield as cf
from corpus_samples import same, search_results, vectors
from cranfield.cli.main import cli
from cranfield.corpus import Corpus, Settings, needed_documents, stop_words
from cranfield.corpus.corpus import build
from cranfield.errors import CranfieldError

TEXTS = {"a": "the Running dogs", "b": "a dog runs", "c": "nobody asks"}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.jsonl").write_text("".join(json.dumps({"_id": n, "text": t}) + "\n" for n, t in TEXTS.items()))
    (tmp_path / "q.txt").write_text("1 0 a 1\n1 0 gone 0\n")
    (tmp_path / "r.run").write_text("1 Q0 b 1 2 x\n1 Q0 c 2 1 x\n")
    return tmp_path


def call(*args: object) -> Result:
    return CliRunner().invoke(cli, list(map(str, args)), prog_name="cranfield")


def test_judged_and_near_the_top() -> None:
    qrels = cf.read_qrels({"q": {"j": 0, "k": 1}, "r": {"j": 1}})
    run = cf.read_run({"q": {"a": 3, "b": 2, "c": 1}, "r": {"d": 1}, "unjudged": {"e": 1}})
    assert needed_documents(qrels, [run], 2) == {"j", "k", "a", "b", "d"}
    assert needed_documents(None, [run], 1) == {"a", "d", "e"}
    assert needed_documents(qrels) == {"j", "k"}


def test_every_document_that_ties_may_bring_to_the_top_is_needed() -> None:
    tied = {"a": 1.0, "b": 1.0 + 1e-12, "c": 1.0, "d": 0.5}
    assert needed_documents(None, [cf.read_run({"q": tied})], 1) == {"a", "b", "c"}


def test_by_the_command(files: Path) -> None:
    result = call("corpus", "c.jsonl", "--qrels", "q.txt", "--run", "r.run", "--depth", 1, "-o", "c.parquet")
    assert result.exit_code == 0, result.output
    assert " ".join(result.stdout.replace("─", "").split()) == (
        "Corpus: split=word, stemmer=none, stop=none number "
        "documents 3 without words 0 words 8 documents kept 2 terms kept 6 missing 1"
    )
    assert result.stderr.startswith("note: 1 document ") and result.stderr.endswith(": gone\n")
    kept = Corpus.load("c.parquet", wanted=["a", "b", "gone"])
    same(kept, Corpus.of(TEXTS, wanted=["a", "b", "gone"]))


def test_settings_by_the_command(files: Path) -> None:
    pytest.importorskip("Stemmer")
    (files / "stop.txt").write_text("The\na")
    options = ("--stemmer", "porter", "--stop", "stop.txt", "-o", "c.parquet", "--format", "json")
    result = call("corpus", "c.jsonl", "--qrels", "q.txt", *options)
    assert json.loads(result.stdout)["words"] == 6
    kept = Corpus.load("c.parquet", settings=Settings(stop=frozenset(["a", "the"]), stemmer="porter"))
    assert vectors(kept) == {"a": {"run": 1, "dog": 1}}
    assert {"the", "of", "is"} < stop_words("english")
    assert stop_words("none") == frozenset()


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("c.jsonl",), 2, "a corpus needs judgments or runs: they say which documents to keep"),
        (
            ("c.jsonl", "--qrels", "other.txt"),
            1,
            "none of the 1 judged documents is in the collection (first document: `z`)",
        ),
        (("c.jsonl", "--run", "other.run"), 1, "none of the retrieved documents is in the collection"),
        (("c.jsonl", "--qrels", "q.txt", "--stemmer", "none such"), 2, "unknown stemmer `none such`"),
        (("c.jsonl", "--qrels", "q.txt", "--stop", "gone.txt"), 1, "gone.txt: there is no such file"),
        (("gone.jsonl", "--qrels", "q.txt"), 1, "gone.jsonl: there is no such file"),
        (
            ("c.jsonl", "--qrels", "q.txt", "-o", "no/such/c.parquet"),
            1,
            "no/such/c.parquet: cannot be written: no such file or directory",
        ),
        ((), 2, "Missing argument 'SOURCE...'."),
    ],
)
def test_faults_by_the_command(files: Path, args: tuple[str, ...], code: int, said: str) -> None:
    (files / "other.txt").write_text("1 0 z 1\n")
    (files / "other.run").write_text("1 Q0 z 1 1 x\n")
    result = call("corpus", *args)
    assert result.exit_code == code
    assert result.stderr.startswith(f"error: {said}\n")


def test_what_was_found(files: Path) -> None:
    (files / "d.tsv").write_text("a\tx\na\tx\nb\t...\n")
    result = call("corpus", "d.tsv", "--qrels", "q.txt")
    assert "note: 1 of 3 documents have no words" in result.stderr
    assert "note: 1 document is in the collection more than once" in result.stderr


# ---- AMBIENT's layout

RESULTS = "ID\turl\ttitle\tsnippet\n1.1\tu\tApple\tpie\n1.2\tu\tApple\tphone\n1.10\tu\tx\ty\n2.1\tu\tJaguar\tcat\n"


@pytest.fixture
def ambient(tmp_path: Path) -> Path:
    (tmp_path / "results.txt").write_text(RESULTS)
    (tmp_path / "STRel.txt").write_text("subTopicID\tresultID\n1.3\t1.1\n1.4\t1.1\n1.4\t1.10\n")
    return tmp_path


def test_search_results_in_a_folder(ambient: Path) -> None:
    qrels, run = cf.read_qrels(ambient), cf.read_run(ambient)
    assert list(qrels.queries) == ["1", "2"]
    assert list(qrels.documents) == ["1.1", "1.2", "1.10", "2.1"]
    assert qrels.grade.tolist() == [1, 0, 1, 0]
    assert run.source == {"1": {"1.1": -1, "1.2": -2, "1.10": -10}, "2": {"2.1": -1}}
    scores = cf.evaluate(ambient, ambient, ["StRecall@1", "P@3"]).to_dict()["runs"][ambient.name]
    assert scores["P@3"]["queries"] == {"1": pytest.approx(2 / 3), "2": 0}
    assert vectors(build(ambient, qrels=ambient))["1.2"] == {"apple": 1, "phone": 1}


def test_faults_of_search_results(ambient: Path) -> None:
    (ambient / "STRel.txt").write_text("subTopicID\tresultID\n1.3\t1.9\n1.3\t2.1\n")
    with pytest.raises(CranfieldError) as error:
        cf.read_qrels(ambient)
    place = ambient / "STRel.txt"
    assert (
        str(error.value)
        == f"{place}:2: subtopic `1.3` has no result `1.9`\n{place}:3: subtopic `1.3` has no result `2.1`"
    )
    (ambient / "STRel.txt").write_text("subTopicID\tresultID\n1.3\n")
    with pytest.raises(CranfieldError, match=r"STRel\.txt:2: expected 2 fields, found 1"):
        cf.read_qrels(ambient)
    (ambient / "results.txt").write_text(RESULTS + "1.1\tu\ta\tb\nthree\tu\ta\tb\n1.x\tu\ta\tb\n")
    with pytest.raises(CranfieldError) as error:
        cf.read_run(ambient)
    assert [line.partition("results.txt")[2] for line in str(error.value).splitlines()] == [
        ":6: `1.1` appears twice",
        ":7: expected QUERY.RANK, found `three`",
        ":8: expected QUERY.RANK, found `1.x`",
    ]


def test_many_search_results(tmp_path: Path) -> None:
    place = tmp_path / "found"
    place.mkdir()
    relevant = search_results(place)
    result = call("corpus", place, "--qrels", place, "--run", place, "-o", tmp_path / "c.parquet", "--format", "json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert (found["documents"], found["documents kept"], found["missing"], found["without words"]) == (720, 720, 0, 0)
    scores = cf.evaluate(place, place, ["alpha_nDCG@20", "StRecall@5", "NumRet"]).to_dict()["runs"]["found"]
    assert scores["alpha_nDCG@20"]["n"] == 12
    assert scores["NumRet"]["queries"] == {str(q): 60 for q in range(1, 13)}
    for query, value in scores["StRecall@5"]["queries"].items():
        of_query = [(subtopic, name) for subtopic, name in relevant if name.startswith(f"{query}.")]
        seen = {subtopic for subtopic, name in of_query if int(name.partition(".")[2]) <= 5}
        assert value == len(seen) / len({subtopic for subtopic, _ in of_query})
