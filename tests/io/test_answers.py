"""TREC question answering: pairs of document and answer, and NIL that appears more than once."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import cranfield as cf
from cranfield.cli.main import cli
from cranfield.errors import InputError
from cranfield.io.formats.trec import answer_id

JUDGED = """\
1 AP-1 1 Tom Hanks
1 AP-1 -1 Tom  Cruise
1 AP-2 2 Tom Hanks
2 AP-3 -1 in Paris
2 AP-4 X Paris France
"""
RUN = """\
1 Q0 AP-1 1 5 sys Tom Cruise
1 Q0 AP-1 2 4 sys Tom Hanks
1 Q0 AP-2 3 3 sys Tom Hanks
2 Q0 AP-3 1 5 sys in Paris
2 Q0 NIL 2 4 sys
2 Q0 NIL 3 3 sys
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("judged.txt").write_text(JUDGED)
    Path("sys.txt").write_text(RUN)
    return tmp_path


def test_pairs_are_ids(folder: Path) -> None:
    qrels = cf.read_qrels("qa:judged.txt")
    assert list(qrels.documents) == [
        "AP-1/Tom_Hanks",
        "AP-1/Tom_Cruise",
        "AP-2/Tom_Hanks",
        "AP-3/in_Paris",
        "AP-4/Paris_France",
    ]
    assert qrels.grade.tolist() == [1, 0, 0, 0, 0]
    assert answer_id("AP-1", "Tom \t Hanks ") == "AP-1/Tom_Hanks"


def test_scores_with_a_repeated_nil(folder: Path) -> None:
    scores = cf.evaluate(
        cf.Collection("qa:judged.txt", nil="NIL"), "qa:sys.txt", ["RR", "P@5", "RR[terminal]"], undefined="zero"
    )
    # Question 1: the second answer is right. Question 2 has no answer: the first NIL is right, the second gains nothing.
    assert scores.values[0, 0].tolist() == [0.5, 0.5]
    assert scores.values[0, 1].tolist() == pytest.approx([0.2, 0.2])
    assert scores.values[0, 2].tolist() == [0.5, 0.5]
    assert "sys: `NIL` appears more than once for 1 query (2); only the first one counts" in map(str, scores.notes)


def test_a_repeated_nil_of_trec_text_and_tables(folder: Path) -> None:
    Path("plain.run").write_text("q Q0 NIL 2 1 t\nq Q0 a 1 2 t\nq Q0 NIL 3 0 t\nr Q0 NIL 1 3 t\nr Q0 NIL 2 3 t\n")
    qrels, measures = {"q": {"a": 0}, "r": {"a": 1}}, ["RR", "NumRet", "RR[terminal]"]
    scores = cf.evaluate(cf.Collection(qrels, nil="NIL"), "plain.run", measures, undefined="zero")
    once = {"q": {"a": 2.0, "NIL": 1.0, "x": 0.0}, "r": {"NIL": 3.5, "x": 3.0}}
    expected = cf.evaluate(cf.Collection(qrels, nil="NIL"), once, measures, undefined="zero")
    assert scores.values.tolist() == expected.values.tolist()
    assert sum(note.kind == "repeated_nil" for note in scores.notes) == 1
    evaluation = cf.Evaluator(cf.Collection(qrels, nil="NIL"), measures).evaluation("plain.run")
    assert any(note.kind == "repeated_nil" for note in evaluation.scores.notes)
    with pytest.raises(InputError, match="appears twice"):
        cf.evaluate(qrels, "plain.run", measures)


def test_the_best_nil_counts(folder: Path) -> None:
    Path("plain.run").write_text("q Q0 NIL 2 1 t\nq Q0 NIL 1 3 t\nq Q0 a 3 2 t\n")
    assert cf.evaluate(cf.Collection({"q": {"a": 0}}, nil="NIL"), "plain.run", "RR")._means.tolist() == [[1.0]]


def test_other_faults_are_still_reported(folder: Path) -> None:
    Path("plain.run").write_text("q Q0 NIL 2 1 t\nq Q0 NIL 1 3 t\nq Q0 a 3 2 t\nq Q0 a 4 1 t\n")
    with pytest.raises(InputError, match=r"plain\.run:4"):
        cf.evaluate(cf.Collection({"q": {"a": 0}}, nil="NIL"), "plain.run", "RR")


def test_faults_have_lines(folder: Path) -> None:
    Path("bad.txt").write_text("1 AP-1\n1 AP-1 7 x\n")
    with pytest.raises(InputError) as error:
        cf.read_qrels("qa:bad.txt")
    assert [line.partition(": ")[0] for line in error.value.message.splitlines()] == ["bad.txt:1", "bad.txt:2"]
    Path("bad.txt").write_text("1 Q0 AP-1 1 5\n1 Q0 AP-1 1 high sys x\n1 Q0 AP-1 1 nan sys x\n")
    with pytest.raises(InputError) as error:
        cf.evaluate("qa:judged.txt", "qa:bad.txt", "RR")
    assert [line.partition(": ")[0] for line in error.value.message.splitlines()[:3]] == [
        f"bad.txt:{i}" for i in (1, 2, 3)
    ]


def test_command_line(folder: Path) -> None:
    result = CliRunner().invoke(cli, ["eval", "qa:judged.txt", "qa:sys.txt", "-m", "RR", "--nil", "NIL"])
    assert result.exit_code == 0, result.output
    assert "0.5000" in result.output
    Path("other.txt").write_text(RUN.replace("Cruise", "H."))
    study = ["study", "truncation", "qa:judged.txt", "qa:sys.txt", "qa:other.txt", "--nil", "NIL"]
    result = CliRunner().invoke(cli, study)
    assert result.exit_code == 0, result.output
