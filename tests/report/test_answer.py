"""What a comparison says before its tables: who is best, against whom, by how much, how sure, and what could change it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.report import compare as report


def of(values: dict[str, list[float]], measures: tuple[str, ...] = ("m",), **how: Any) -> cf.Comparison:
    """A comparison of runs by per-query values, the same for each measure."""
    table = {
        run: {m: {str(q): value for q, value in enumerate(of_run)} for m in measures} for run, of_run in values.items()
    }
    return cf.compare(cf.read_scores(table), test="t", **how)


def said(comparison: cf.Comparison) -> str:
    return report.answer(comparison).title


UP = [0.5, 0.6, 0.7, 0.5, 0.6, 0.8]
DOWN = [0.1, 0.3, 0.2, 0.1, 0.2, 0.3]
NEAR = [0.4, 0.7, 0.6, 0.6, 0.7, 0.6]


def test_a_difference_of_two_runs_is_new_minus_old() -> None:
    found = of({"old": UP, "new": DOWN})
    gap = np.mean(DOWN) - np.mean(UP)
    text = said(found)
    assert text.startswith("new is significantly worse than old in m (")
    assert f"({gap:+.4f}, 95% interval [-0." in text and "p < 0.0001" in text
    (row,) = report.answer(found).sheet.rows
    assert [cell.text for cell in row.cells[:3]] == ["0.6167", "0.2000", f"{gap:+.4f}"]
    assert said(of({"new": DOWN, "old": UP}, baseline="old")).startswith("new is significantly worse than old")


def test_no_significant_difference_says_what_these_queries_detect() -> None:
    found = of({"old": UP, "new": NEAR})
    text = said(found)
    assert "neither significantly better nor significantly worse" in text
    detectable = found["m"].pairs[0].detectable()
    assert f"6 queries detect a difference of {detectable:.4f} with 80% power." in text
    assert "takes about" not in text
    assert said(of({"old": UP, "new": UP})) == "new and old have the same mean in m."


def test_measures_of_two_runs_are_told_apart() -> None:
    table = {"old": {"a": UP, "b": DOWN, "c": NEAR}, "new": {"a": DOWN, "b": UP, "c": NEAR}}
    scores = cf.read_scores(
        {run: {m: {str(q): x for q, x in enumerate(xs)} for m, xs in of.items()} for run, of in table.items()}
    )
    text = said(cf.compare(scores, test="t"))
    assert text.startswith(
        "new is significantly better than old in b and significantly worse than old in a; "
        "no significant difference in c (a -0.4167"
    )


def test_the_best_of_many_runs() -> None:
    found = of({"low": DOWN, "up": UP, "near": NEAR})
    text = said(found)
    assert text.startswith(
        "up has the highest m, 0.6167. It is significantly better than low; its difference from near (+0.0167,"
    )
    page = report.answer(found)
    assert [row.names[1] for row in page.sheet.rows] == ["up", "near", "low"]
    last = [cell.text for cell in page.sheet.rows[2].cells]
    assert (
        last[1] == "-0.4167"
        and page.sheet.rows[2].cells[0].mark == "▼"
        and "▼ significantly worse than the best" in page.below[0]
    )
    against = said(of({"low": DOWN, "up": UP, "near": NEAR}, baseline="low"))
    assert "It is significantly better than the baseline low (+0.4167" in against
    assert "of 2 runs, 2 are significantly better and 0 significantly worse" in against


def test_equal_means_are_best_together() -> None:
    assert said(of({"a": UP, "b": UP, "c": DOWN})).startswith("a and b have the highest m, 0.6167. a is significantly")


def test_the_best_run_of_each_measure_is_the_baseline() -> None:
    table = {"x": {"a": UP, "b": DOWN}, "y": {"a": DOWN, "b": UP}, "z": {"a": NEAR, "b": NEAR}}
    scores = cf.read_scores(
        {run: {m: {str(q): v for q, v in enumerate(vs)} for m, vs in of.items()} for run, of in table.items()}
    )
    found = cf.compare(scores, baseline="best", test="t")
    assert found.baseline == "best"
    assert [(c.measure, c.run, c.other) for c in found.pairs] == [
        *(("a", "y", "x"), ("a", "z", "x")),
        *(("b", "x", "y"), ("b", "z", "y")),
    ]
    for one in found.pairs:  # as if this measure were alone
        alone = cf.compare(scores.only(measures=one.measure), baseline=one.other, test="t")
        assert one in alone.pairs
    assert any("selected by the scores" in str(note) for note in found.notes)
    again = cf.Comparison.from_dict(found.to_dict())
    assert again.to_dict() == found.to_dict() and again.pairs == found.pairs
    assert [cell.text for cell in report.answer(found).sheet.rows[0].cells][1::2][0] == "best"


@pytest.mark.parametrize(
    ("how", "name"),
    [
        ({}, "interval at the corrected level"),
        ({"correction": "bonferroni"}, "interval at the corrected level"),
        ({"correction": "bh", "baseline": "low"}, "interval at the corrected level"),
        ({"correction": "none"}, "95% interval"),
        ({"correction": "none", "alpha": 0.1}, "90% interval"),
    ],
)
def test_an_interval_is_named_by_its_level(how: dict[str, Any], name: str) -> None:
    """In the sentence, the tables of pairs, and the figure; CSV and JSON have its ends."""
    found = of({"low": DOWN, "up": UP, "near": NEAR}, **how)
    assert f", {name} [" in said(found)
    assert f"; {name} by the paired t-test" in report.pages(found, table="pairs")[0].title
    figure = pytest.importorskip("matplotlib.figure").Figure()
    assert found.plot(ax=figure.add_subplot()).get_xlabel().endswith(f", {name}")
    ends = [(pair.low, pair.high) for pair in found.pairs]
    columns, data = found.to_columns(), found.to_dict()
    assert [*zip(columns["low"], columns["high"], strict=True)] == ends
    assert [(pair["low"], pair["high"]) for pair in data["pairs"]] == ends


def test_a_single_test_and_a_joint_one_have_intervals_of_their_own_name() -> None:
    assert ", 95% interval [" in said(of({"low": DOWN, "up": UP}))
    values = {run: {"m": dict(zip("abcdef", row, strict=True))} for run, row in (("x", UP), ("y", DOWN), ("z", NEAR))}
    assert ", simultaneous 95% interval [" in said(cf.compare(cf.read_scores(values), test="tukey"))


def test_tables_for_papers_and_programs() -> None:
    found = of({"low": DOWN, "up": UP, "near": NEAR})
    paper = found.to_latex()
    assert paper.splitlines()[1:3] == ["\\begin{table}", "\\centering"] and paper.endswith("\\end{table}\n")
    assert "letters name the runs that are significantly worse (paired t-test; Holm correction" in paper
    assert "\\textbf{0.6167}\\textsuperscript{c}" in paper
    assert found.to_markdown("pairs").startswith("**m: all pairs, 6 queries;")
    frame = pytest.importorskip("pandas") and found.to_pandas()
    assert frame[["run", "other"]].values.tolist() == [["up", "low"], ["near", "low"], ["near", "up"]]
    assert frame["difference"].tolist() == found["m"].difference.tolist()


@pytest.mark.parametrize(("runs", "measures", "most"), [(2, 1, 25), (37, 6, 100), (126, 6, 100)])
def test_an_answer_fits_the_screen(runs: int, measures: int, most: int) -> None:
    from cranfield.report.pages import write

    rng = np.random.default_rng(0)
    values = {f"team-{r:03}": rng.random(9).tolist() for r in range(runs)}
    found = of(values, tuple(f"measure{m}" for m in range(measures)))
    text = write(report.pages(found), {}, "table", width=80)
    assert len(text.splitlines()) + len(report.notes(found)) + 1 <= most
    assert max(map(len, text.splitlines())) <= 80
