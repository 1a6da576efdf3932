"""Every format holds every number, and reads back."""

from __future__ import annotations

import csv
import io
import json
import math
import re

import numpy as np
import pytest

import cranfield as cf
from cranfield.errors import UsageError
from cranfield.evaluation.notes import Note
from cranfield.evaluation.plan import Column
from cranfield.evaluation.scores import Scores
from cranfield.report import FORMATS, write
from cranfield.report.per_query import queries

NAN = float("nan")


@pytest.fixture
def scores() -> Scores:
    """Two runs, two measures and a count, three queries; AP is undefined for one, and `b` lacks q2."""
    values = np.array(
        [
            [[0.5, 1 / 3, NAN], [0.25, 0.5, 0.0], [3, 4, 0]],
            [[0.5, NAN, NAN], [0.75, NAN, 0.5], [1, NAN, 2]],
        ]
    )
    counted = np.array([[True, True, True], [True, False, True]])
    columns = tuple(Column(cf.parse(name)) for name in ("AP", "RR", "NumRelRet"))
    return Scores(("a", "b_1"), columns, ("q1", "q2", "q|3"), values, counted, "skip", (Note("corpus_unused"),))


def test_table(scores: Scores) -> None:
    assert write(scores) == (
        "run      AP      RR  NumRelRet  queries\n"
        "───────────────────────────────────────\n"
        "a    0.4167  0.2500          7      2–3\n"
        "b_1  0.5000  0.6250          3      1–2\n"
    )


def test_the_queries_of_one_run_have_its_values_alone() -> None:
    page = queries(cf.queries(cf.evaluate({"q": {"a": 1}}, {"q": ["b", "a"]}, "RR")))
    assert page.sheet.columns == ("run",)
    assert [cell.text for cell in page.sheet.rows[0].cells] == ["0.5000"]


def test_table_of_queries(scores: Scores) -> None:
    assert write(scores, per_query=True, digits=2) == (
        "run  query    AP    RR  NumRelRet  queries\n"
        "──────────────────────────────────────────\n"
        "a    q1     0.50  0.25          3\n"
        "a    q2     0.33  0.50          4\n"
        "a    q|3       –  0.00          0\n"
        "a    all    0.42  0.25          7      2–3\n"
        "\n"
        "b_1  q1     0.50  0.75          1\n"
        "b_1  q|3       –  0.50          2\n"
        "b_1  all    0.50  0.62          3      1–2\n"
    )


def test_best_is_bold_only_where_higher_is_better(scores: Scores) -> None:
    bold = re.findall("\x1b\\[1m(.*?)\x1b\\[0m", write(scores, colour=True))
    assert bold == ["run", "AP", "RR", "NumRelRet", "queries", "0.5000", "0.6250"]


def test_without_colour_there_is_no_escape(scores: Scores) -> None:
    assert "\x1b" not in write(scores, interval="t")


def test_intervals_stand_below_the_means(scores: Scores) -> None:
    lines = write(scores, interval="t", digits=2, width=100).splitlines()
    assert "[0.00, 1.00]" in lines[3]
    assert lines[2].split()[0] == "a"


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("per_query", [False, True])
def test_tables_never_exceed_the_screen(width: int, per_query: bool) -> None:
    rng = np.random.default_rng(0)
    runs, measures, queries = 9, 12, 3
    names = (f"nDCG@{k}[ties=expected]" if k % 2 else f"P@{k}" for k in range(1, measures + 1))
    made = Scores(
        tuple(f"system-{r}" for r in range(runs)),
        tuple(Column(cf.parse(name)) for name in names),
        tuple(f"q{q}" for q in range(queries)),
        rng.random((runs, measures, queries)),
        np.ones((runs, queries), bool),
    )
    text = write(made, per_query=per_query, width=width)
    assert max(map(len, text.splitlines())) <= width
    for mean in made._means.flat:
        assert f"{mean:.4f}" in text


def test_turned_where_measures_do_not_fit(scores: Scores) -> None:
    lines = write(scores, width=28).splitlines()
    assert lines[0].split() == ["measure", "a", "b_1"]
    assert lines[2].split() == ["AP", "0.4167", "0.5000"]


def test_wide_characters_are_aligned(scores: Scores) -> None:
    from dataclasses import replace

    lines = write(replace(scores, runs=("検索", "b_1"))).splitlines()
    assert lines[2].startswith("検索  0.4167")
    assert lines[3].startswith("b_1   0.5000")


def test_json_is_to_dict(scores: Scores) -> None:
    assert json.loads(write(scores, "json")) == scores.to_dict()


def test_csv_is_tidy_and_exact(scores: Scores) -> None:
    rows = list(csv.DictReader(io.StringIO(write(scores, "csv", per_query=True))))
    assert list(rows[0]) == ["run", "query", "measure", "value"]
    found = {(row["run"], row["query"], row["measure"]): row["value"] for row in rows}
    assert len(found) == len(rows) == 5 * 3 + 2 * 3
    for score in scores:
        text = found[score.run, score.query, score.measure]
        assert (text == "") if math.isnan(score.value) else (float(text) == score.value)
    assert float(found["a", "all", "AP"]) == scores["AP"]["a"]
    assert [row["query"] for row in csv.DictReader(io.StringIO(write(scores, "csv")))] == ["all"] * 6


def test_csv_has_columns_for_intervals(scores: Scores) -> None:
    rows = list(csv.DictReader(io.StringIO(write(scores, "csv", interval="t"))))
    assert (float(rows[0]["low"]), float(rows[0]["high"])) == scores._interval(0, 0, method="t")
    assert rows[3]["low"] == ""  # of one query nothing can be said


def test_markdown_is_aligned_and_escaped(scores: Scores) -> None:
    assert write(scores, "markdown", per_query=True) == (
        "| run  | query |         AP |         RR | NumRelRet | queries |\n"
        "| ---- | ----- | ---------: | ---------: | --------: | ------: |\n"
        "| a    | q1    |     0.5000 |     0.2500 |         3 |         |\n"
        "| a    | q2    |     0.3333 |     0.5000 |         4 |         |\n"
        "| a    | q\\|3  |          – |     0.0000 |         0 |         |\n"
        "| a    | all   |     0.4167 |     0.2500 |         7 |     2–3 |\n"
        "| b\\_1 | q1    |     0.5000 |     0.7500 |         1 |         |\n"
        "| b\\_1 | q\\|3  |          – |     0.5000 |         2 |         |\n"
        "| b\\_1 | all   | **0.5000** | **0.6250** |         3 |     1–2 |\n"
    )


def test_latex_has_rules_and_escapes(scores: Scores) -> None:
    assert write(scores, "latex") == (
        "% \\usepackage{booktabs}\n"
        "\\begin{tabular}{lrrrr}\n"
        "\\toprule\n"
        "run & AP & RR & NumRelRet & queries \\\\\n"
        "\\midrule\n"
        "a & 0.4167 & 0.2500 & 7 & 2--3 \\\\\n"
        "b\\_1 & \\textbf{0.5000} & \\textbf{0.6250} & 3 & 1--2 \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
    )


def test_trec_has_three_columns(scores: Scores) -> None:
    lines = write(scores, "trec", per_query=True).splitlines()
    assert lines[0] == "runid                 \tall\ta"
    assert lines[1:4] == [
        "AP                    \tq1\t0.5000",
        "RR                    \tq1\t0.2500",
        "NumRelRet             \tq1\t3",
    ]
    assert "AP                    \tq|3\t   nan" in lines
    assert lines[-1] == "NumRelRet             \tall\t3"


def test_one_run_needs_no_runid(scores: Scores) -> None:
    from dataclasses import replace

    one = replace(scores, runs=("a",), values=scores.values[:1], counted=scores.counted[:1])
    assert write(one, "trec").splitlines()[0] == "AP                    \tall\t0.4167"


@pytest.mark.parametrize("format", ["json", "trec"])
def test_no_intervals_where_there_is_no_place_for_them(scores: Scores, format: str) -> None:
    with pytest.raises(UsageError, match=f"{format} .* intervals"):
        write(scores, format, interval="bca")


def test_an_unknown_format_is_named(scores: Scores) -> None:
    with pytest.raises(UsageError, match="unknown format `xml`"):
        write(scores, "xml")


@pytest.mark.parametrize("format", FORMATS)
def test_no_query_at_all_is_no_reason_to_fail(format: str) -> None:
    empty = Scores(("a",), (Column(cf.parse("AP")),), (), np.empty((1, 1, 0)), np.empty((1, 0), bool))
    assert write(empty, format, per_query=True).endswith("\n")
