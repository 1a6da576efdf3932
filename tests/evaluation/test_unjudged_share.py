"""The share of unjudged documents is one number, wherever it is shown, and a share above 0 is never shown as 0."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import cranfield as cf
from cranfield.analysis.collection_statistics import collection_statistics
from cranfield.cli.main import cli
from cranfield.evaluation.notes import Note, summarised

# Query 1: a, b judged, x not; y and z are tied at ranks 2 and 3 with a negative grade and none. Query 2 is short.
QRELS = "1 0 a 1\n1 0 b 0\n1 0 y -1\n2 0 c 1\n"
RUN = "1 Q0 a 1 9 r\n1 Q0 y 2 8 r\n1 Q0 z 3 8 r\n" + "".join(
    f"1 Q0 {'b' if i == 10 else f'u{i}'} {i} {8 - i} r\n" for i in range(4, 13)
)
RUN += "2 Q0 c 1 2 r\n2 Q0 x 2 1 r\n"
SHARE = 1 - 3 / 12  # of the ten and two documents down to rank 10, a, b and c are judged


def test_one_number_everywhere(tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels.txt", tmp_path / "one.run"
    qrels.write_text(QRELS)
    run.write_text(RUN)
    scores = cf.evaluate(str(qrels), str(run), "nDCG@10")
    (note,) = [n for n in scores.notes if n.kind == "unjudged_documents" and n.values["depth"] == 10]
    assert note.values["share"] == pytest.approx(SHARE)
    assert cf.audit(str(qrels), str(run), "nDCG@10").unjudged[0, 0] == pytest.approx(SHARE)
    assert collection_statistics(str(qrels), [str(run)]).runs[0].unjudged_at_top == pytest.approx(SHARE)
    assert "75% of the top 10 documents are unjudged" in CliRunner().invoke(cli, ["check", str(qrels), str(run)]).output


def test_a_small_share_of_unjudged_documents_is_not_called_none() -> None:
    qrels = {str(q): {f"d{i}": 1 for i in range(10)} for q in range(43)}
    good = {q: {d: -float(i) for i, d in enumerate(judged)} for q, judged in qrels.items()}
    one = good | {"0": {"x": 1.0} | good["0"]}
    text = str(cf.evaluate(qrels, one, "nDCG@10").to_dict()["notes"])
    assert "unjudged: less than 1% of the top 10" in text
    assert "unjudged" not in str(cf.evaluate(qrels, good, "nDCG@10").to_dict()["notes"])


def test_a_summary_has_the_runs_without_unjudged_documents() -> None:
    deep = [Note("unjudged_documents", f"run{i}", values={"depth": None, "share": 0.5}) for i in range(9)]
    top = Note("unjudged_documents", "run3", values={"depth": 10, "share": 0.002})
    expected = "9 runs: unjudged: 0% to less than 1% of the top 10, 50% of all retrieved documents"
    assert summarised([*deep, top])[0] == [expected]


def test_measures_say_what_they_divide_by() -> None:
    qrels, run = {"q": {"a": 1}}, {"q": ["a", "b"]}
    notes = cf.evaluate(qrels, run, ["Judged@10", "Judged(of='retrieved')@10", "Judged", "Unjudged@10"]).to_dict()[
        "notes"
    ]
    assert any(note.startswith("Judged@10, Unjudged@10 divide by the cutoff") for note in notes)
    assert not any("divide" in note for note in cf.evaluate(qrels, run, "Judged").to_dict()["notes"])
