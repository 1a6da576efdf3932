"""The experiment of Quit While Ahead: worked cases, and what the command says."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from study_samples import GOLDEN, call, written

import cranfield as cf
from cranfield import example
from cranfield.analysis.audit import NilDetection
from cranfield.lab.studies.truncation import TruncationResult, c_at_1
from cranfield.measures import parse
from cranfield.ranking.rankings import from_ranking
from cranfield.ranking.views import Gains, terminate

NAMES = {"RR": "RR", "nDCG@5": "NDCG", "RBP(p=0.5)": "RBP", "AP": "AP"}
QRELS = example.path(example.QRELS)
RUNS = [example.path(name) for name in example.RUNS]


@pytest.fixture
def found() -> TruncationResult:
    case = GOLDEN["A6-experiment"]
    runs, qrels = written(case["ranking"], case["judgments"])
    return cf.lab.truncation(qrels, runs, nil="NIL", full_length=5)


def test_right_answers_and_silence() -> None:
    for case in (case for name, case in GOLDEN.items() if name.startswith("A4")):
        given = case["params"]
        assert c_at_1(given["n"], given["n_ac"], given["n_u"]) == pytest.approx(case["expected"], abs=1e-9)


def test_counts_that_cannot_be() -> None:
    with pytest.raises(cf.CranfieldError, match="3 correct and 3 unanswered do not fit 5 questions"):
        c_at_1(5, 3, 3)


def test_which_lists_end_in_a_terminal_document() -> None:
    cases = [case for name, case in GOLDEN.items() if name.startswith("A5")]
    assert cases
    for case in cases:
        nothing_relevant = cf.Collection({"q": {"x": 0}}, nil="NIL", full_length=case["params"]["D"])
        run = cf.read_run({"q": case["ranking"]}, duplicates="first")
        score = cf.evaluate(nothing_relevant, run, "RR[terminal]").values[0, 0, 0]
        expected = case["expected"]
        assert score == (1 / (len(expected["answers"]) + 1) if expected["terminal"] else 0)


def test_the_experiment(found: TruncationResult) -> None:
    expected = GOLDEN["A6-experiment"]["expected"]
    assert found.measures == tuple(NAMES)
    for m, name in enumerate(NAMES.values()):
        case = expected[name]
        for means, kind in zip(found.means, ("original", "modified"), strict=True):
            assert dict(zip(found.runs, means[:, m], strict=True)) == pytest.approx(case[kind], abs=1e-9)
        assert found.agreement(m).tau_a == pytest.approx(case["tau_a"], abs=1e-9)
        assert found.agreement(m).tau_b == pytest.approx(case["tau_b"], abs=1e-9)
    lengths = found.to_dict()["lengths"]
    for when in ("before", "after"):
        assert {n: count for n, count in lengths[when].items() if count} == expected["figure1"][when]
    for r, run in enumerate(found.runs):
        shares = expected["figure3"][run]
        assert found.short[:, r] == pytest.approx([shares["pct_truncated_pre"], shares["pct_truncated_post"]], abs=1e-9)


def test_every_query(found: TruncationResult) -> None:
    cases = {name: case for name, case in GOLDEN.items() if name.startswith("A7")}
    assert cases
    for name, case in cases.items():
        _, run, query = name.split("-")
        r, q = found.runs.index(run), found.queries.index(query)
        for kind, values in (("original", found.plain), ("modified", found.terminal)):
            assert dict(zip(NAMES.values(), values[r, :, q], strict=True)) == pytest.approx(
                case["expected"][kind], abs=1e-9
            )


def test_pairs_that_change_places(found: TruncationResult) -> None:
    assert found.inverted(found.measures.index("nDCG@5")) == [("S1", "S4")]
    assert found.inverted(found.measures.index("AP")) == []


def test_silence_is_unanswered_even_where_it_is_right(found: TruncationResult) -> None:
    # S4: right for q2, q4 and q6; NIL first for q1, q3 and q5, two of which have no answer.
    assert found.c_at_1(found.runs.index("S4")) == pytest.approx(c_at_1(6, correct=3, unanswered=3))


def test_a_full_list_keeps_its_plain_score_where_more_is_relevant_than_it_holds() -> None:
    runs, qrels = written({"a": {"q": "11011"}, "b": {"q": "1"}}, {"q": 9})
    found = cf.lab.truncation(qrels, runs, nil="NIL", full_length=5)
    assert found.terminal[0] == pytest.approx(found.plain[0])
    assert (found.terminal[1] != found.plain[1]).any()


def test_ties_decide_where_nil_stands() -> None:
    runs: list[Any] = [{"q": {"a": 1.0, "NIL": 1.0, "b": 1.0}}, {"q": {"a": 1.0}}]
    after = {
        ties: cf.lab.truncation({"q": {"a": 1}}, runs, ["RR"], nil="NIL", ties=ties).after[0, 0]  # type: ignore[arg-type]
        for ties in ("trec", "input")
    }
    assert after == {"trec": 2, "input": 1}
    with pytest.raises(cf.CranfieldError, match="ties must be one of trec, trec9, input, rank; not 'expected'"):
        cf.lab.truncation({"q": {"a": 1}}, runs, ["RR"], nil="NIL", ties="expected")


def test_saved_and_read_again(found: TruncationResult, tmp_path: Path) -> None:
    found.save(tmp_path / "study.json")
    again = TruncationResult.load(tmp_path / "study.json")
    assert again.to_dict() == found.to_dict()
    assert np.array_equal(again.plain, found.plain)
    assert [path.name for path in tmp_path.iterdir()] == ["study.json"]


def test_undefined_values_are_kept_as_such(tmp_path: Path) -> None:
    runs = [{"q": {"a": 1.0}}, {"q": {"b": 1.0}}]
    found = cf.lab.truncation({"q": {"a": 0}}, runs, ["AP"])
    assert np.isnan(found.plain).all()
    assert found.means[0].tolist() == [[0.0], [0.0]]
    found.save(tmp_path / "study.json")
    assert np.isnan(TruncationResult.load(tmp_path / "study.json").plain).all()


def test_scores_above_1_are_pointed_out() -> None:
    runs, qrels = [{"q": {"a": 1.0}}, {"q": {"x": 1.0}}], {"q": {"a": 0.1, "b": 0.1}, "p": {"c": 1.0}}
    said = "nDCG[terminal] exceeds 1 for 1 list:"
    assert any(note.startswith(said) for note in map(str, cf.lab.truncation(qrels, runs, ["nDCG"]).notes))
    assert not any(
        "exceeds" in note for note in map(str, cf.lab.truncation(qrels, runs, ["nDCG(ideal='bounded')"]).notes)
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("no json", "not a saved study"),
        ("[]", "not a saved study"),
        ('{"study": "dowsing", "version": 2}', "not a saved study"),
        ('{"study": "truncation", "version": 2}', "not a saved study"),
    ],
)
def test_files_that_are_no_study(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "study.json").write_text(content)
    result = call("study", "show", tmp_path / "study.json")
    assert result.exit_code == 1
    assert message in result.stderr


def test_the_printed_table() -> None:
    printed = """
00 0 1.000 0.333 0.250 0.500 0.333
000 0 1.000 0.250 0.125 0.431 0.250
111 3 1.000 1.000 1.000 1.000 1.000
11 3 0.667 1.000 0.917 0.922 0.648
11100 3 1.000 1.000 0.906 0.971 0.917
101 3 0.667 1.000 0.708 0.698 0.528
1 3 0.333 1.000 0.667 0.742 0.306
10100 3 0.667 1.000 0.646 0.678 0.491
011 3 0.667 0.500 0.458 0.554 0.403
01001 3 0.667 0.500 0.302 0.490 0.299"""
    measures = [parse(f"{name}[terminal]") for name in ("RR", "RBP(p=0.5)", "nDCG", "AP")]
    for line in printed.strip().splitlines():
        ranking, relevant, *numbers = line.split()
        grades = [int(digit) for digit in ranking]
        rankings = from_ranking(grades, missed=[1] * (int(relevant) - sum(grades)))
        terminal = terminate(rankings.batch(Gains("binary"), None)).tail[0]
        values = [terminal, *(measure.values(rankings).value[0] for measure in measures)]
        assert [f"{value:.3f}" for value in values] == numbers


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        ((QRELS, RUNS[0]), 2, "error: this study needs at least two runs, got 1\n"),
        ((QRELS, *RUNS, "--full-length", "5"), 1, "query `q1` has 12 documents"),
    ],
)
def test_what_cannot_be_studied(args: tuple[Any, ...], code: int, message: str) -> None:
    result = call("study", "truncation", *args)
    assert result.exit_code == code
    assert message in result.stderr


def test_a_study_that_does_not_exist() -> None:
    result = call("study", "truncatoin")
    assert result.exit_code == 2
    assert result.stderr == "error: unknown study `truncatoin`\n\nhint: did you mean `truncation`?\n"


@pytest.mark.parametrize("format", ["table", "markdown", "latex"])
def test_tables_have_every_system_and_pair(format: str) -> None:
    shown = call("study", "truncation", QRELS, *RUNS, "-m", "RR", "--format", format).stdout
    for name in (
        "bm25",
        "dense",
        "llm",
        "quiet",
        "0.8542",
        "0.1826",
        "Number of lists by length",
        "A is ahead in RR",
    ):
        assert name in shown


def test_kept_shown_and_drawn_again(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    study = ("study", "truncation", QRELS, *RUNS, "-m", "RR nDCG")
    shown = call(*study, "--figures", tmp_path / "first").stdout
    call(*study, "--format", "json", "-o", tmp_path / "study.json")
    assert json.loads((tmp_path / "study.json").read_text())["study"] == "truncation"
    again = call("study", "show", tmp_path / "study.json", "--figures", tmp_path / "again")
    assert again.stdout == shown
    figures = sorted(path.name for path in (tmp_path / "first").iterdir())
    names = ("lengths", "scores", "shift")
    assert figures == [f"truncation-{name}.{kind}" for name in names for kind in ("pdf", "png", "svg")]
    for name in figures:
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "again" / name).read_bytes(), name


def test_figures_need_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = call("study", "truncation", QRELS, *RUNS, "--figures", tmp_path / "figures")
    assert result.exit_code == 1
    assert result.stderr == "error: a figure needs an optional package\n\nhint: pip install '.[plot]'\n"
    assert not (tmp_path / "figures").exists()


def test_a_measure_without_a_terminal_form_is_shown_plain(tmp_path: Path) -> None:
    found = cf.lab.truncation(QRELS, RUNS, ["AP", "bpref"])
    assert found.terminal_measures == ("AP[terminal]", None) and found.paired == [0]
    assert np.isnan(found.terminal[:, 1]).all()
    assert any(
        note.startswith("bpref has no terminal form, and is shown in its plain form only: ")
        for note in map(str, found.notes)
    )
    data = found.to_dict()
    assert data["terminal_measures"] == ["AP[terminal]", None]
    assert np.isnan(np.array(data["terminal"], float)[:, 1]).all()
    found.save(tmp_path / "study.json")
    assert TruncationResult.load(tmp_path / "study.json").to_dict() == data
    alone = cf.lab.truncation(QRELS, RUNS, ["bpref"])
    assert found.means[0][:, 1].tolist() == alone.means[0][:, 0].tolist()
    args = ("-m", "bpref Rprec", "--figures", tmp_path / "figures")
    result = call("study", "truncation", QRELS, *RUNS, *args)
    assert result.exit_code == 0 and "Agreement" not in result.stdout
    assert {path.stem for path in (tmp_path / "figures").iterdir()} == {"truncation-lengths"}


def test_the_first_answer_counts_whatever_is_measured() -> None:
    several = cf.lab.truncation(QRELS, RUNS, ["AP", "P@1"])
    assert several.correct.tolist() == cf.lab.truncation(QRELS, RUNS, ["AP"]).correct.tolist()


def test_nil_detection_by_hand(tmp_path: Path) -> None:
    # q1 and q2 have no relevant document. The first run is silent for q1 and, wrongly, for q3.
    runs, qrels = written(
        {"a": {"q1": "N", "q2": "0", "q3": "N1", "q4": "1"}, "b": {"q1": "0N", "q2": "00", "q3": "1", "q4": "0"}},
        {"q1": 0, "q2": 0, "q3": 1, "q4": 2},
    )
    found = cf.lab.truncation(qrels, runs, ["RR"], nil="NIL")
    first, second = (found.nil_detection(r) for r in range(2))
    assert first == NilDetection(queries=4, nil=2, silent=2, detected=1)
    assert (first.precision, first.recall, first.false_silences, first.missed) == (0.5, 0.5, 1, 1)
    assert second == NilDetection(queries=4, nil=2, silent=0, detected=0)
    assert found.to_dict()["summaries"][0]["nil_detection"]["recall"] == 0.5
    found.save(tmp_path / "study.json")
    assert TruncationResult.load(tmp_path / "study.json").nil_detection(0) == first
    shown = call("study", "show", tmp_path / "study.json").stdout
    assert "2 of 4 queries have no relevant document" in " ".join(shown.split()) and "nan" not in shown
    assert "Nil detection" not in call("study", "truncation", *_full(tmp_path)).stdout


def _full(folder: Path) -> list[Path]:
    """A collection in which every query has a relevant document, and no list is empty."""
    (folder / "qrels").write_text("q 0 a 1\n")
    for name in ("x", "y"):
        (folder / f"{name}.run").write_text("q Q0 a 1 1 t\n")
    return [folder / "qrels", folder / "x.run", folder / "y.run"]
