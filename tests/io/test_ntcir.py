"""Files of NTCIR: grades L0, L1, ..., three columns, and a description of the system at the top of a run."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import cranfield as cf
from cranfield import io

RUN = "q 0 a 1 3.5 own\nq 0 b 2 2.5 own\nq 0 c 3 1.5 own\n"
GRADES = {"q": {"a": 0.0, "b": 2.0, "c": 1.0}}


def judged(path: Path) -> dict[str, dict[str, float]]:
    judgments = io.read_qrels(path)
    begin, documents = judgments.begin, list(judgments.documents)
    return {
        query: dict(zip(documents[begin[q] : begin[q + 1]], judgments.grade[begin[q] : begin[q + 1]].tolist(), strict=True))
        for q, query in enumerate(judgments.queries)
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "q a L0\nq b L2\nq c L1\n",
        "q a 0\nq b 2\nq c 1\n",
        "q\ta\tL0\r\nq\tb\tL2\r\n\r\nq\tc\tL1",
        "# judged\nq a L0\nq b L2\nq c L1\n",
        "q 0 a L0\nq 0 b L2\nq 0 c L1\n",
        "\ufeffq 0 a L0\nq 0 b 2\nq 0 c L1\n",
    ],
)
def test_grades(text: str, tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_bytes(text.encode())
    assert judged(path) == GRADES
    assert io.read_qrels(path).labels is None


def test_intents_are_subtopics(tmp_path: Path) -> None:
    (tmp_path / "Iqrels").write_text("q 1 a L2\nq 2 a L0\nq 2 b L1\n")
    (tmp_path / "Iprob").write_text("q 1 0.75\nq 2 0.25\nq 3 0.5\n")
    run = {"q": {"a": 2.0, "b": 1.0}}
    scores = cf.evaluate(cf.Collection(tmp_path / "Iqrels", intents=tmp_path / "Iprob"), run, "D_nDCG@2")
    plain = cf.evaluate(
        cf.Collection({"q": {"a": {"1": 2, "2": 0}, "b": {"2": 1}}}, intents={"q": {"1": 0.75, "2": 0.25}}),
        run,
        "D_nDCG@2",
    )
    assert scores.values.tolist() == plain.values.tolist()
    assert [note.kind for note in scores.notes].count("unjudged_subtopics") == 1


@pytest.mark.parametrize(
    "description",
    [
        "<SYSDESC>BM25 with default parameters</SYSDESC>\n",
        "<SYSDESC>\nBM25,\n# two lines\n</SYSDESC>\n",
        "\ufeff<sysdesc>small letters</sysdesc> \r\n",
        "<SYSDESC>never closed\n",
        f"<SYSDESC>{'long ' * 3000}</SYSDESC>\n",
    ],
)
def test_description_of_a_run(description: str, tmp_path: Path) -> None:
    plain, path, packed = tmp_path / "plain", tmp_path / "own.txt", tmp_path / "own.gz"
    plain.write_text(RUN)
    path.write_bytes((description + RUN).encode())
    packed.write_bytes(gzip.compress((description + RUN).encode()))
    expected = cf.evaluate(GRADES, plain, ["nDCG", "NumRet"]).values.tolist()
    for given in (path, packed):
        assert cf.evaluate(GRADES, given, ["nDCG", "NumRet"]).values.tolist() == expected
    assert io.load(io.read_run(path)).score.tolist() == [3.5, 2.5, 1.5]
    with path.open("rb") as file:
        assert cf.evaluate(GRADES, file, ["nDCG", "NumRet"]).values.tolist() == expected


def test_faults_have_their_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run").write_text("<SYSDESC>x\ny</SYSDESC>\nq 0 a 1 high own\n")
    assert str(io.check_run("run")).startswith("run:3: the score is not a number")
    Path("qrels").write_text("q a L0\n" * 1 + "q b L1\n" * 2000 + "q c\nq d high\n")
    error = str(io.check_qrels("qrels"))
    assert "qrels:2002: expected 3 fields as in the first line, found 2" in error
    assert 'the grade is not a finite number: "high"' in error
    Path("mixed").write_text("q a 1\nq 0 b 1\n")
    assert "mixed:1: expected 4 columns" in str(io.check_qrels("mixed"))
    Path("empty").write_text("# nothing\n")
    assert io.check_qrels("empty") is not None


def test_control_characters_do_not_separate_columns(tmp_path: Path) -> None:
    """The first lines of a file are split as all of it is."""
    path = tmp_path / "qrels"
    path.write_bytes(b"q\x1a1 a 2\nq\x1a1 b\x02c 0\n")
    assert judged(path) == {"q\x1a1": {"a": 2.0, "b\x02c": 0.0}}
    path.write_bytes(b"q\x1a0 2\nq 2\n")
    with pytest.raises(cf.InputError, match="4 columns"):
        io.read_qrels(path)


def test_columns_after_the_first_bytes(tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_bytes(b"q a 1" + b" " * 5000 + b"0 b 2\n")
    with pytest.raises(cf.InputError, match="found 6"):
        io.read_qrels(path)
