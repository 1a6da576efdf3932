"""Whatever stands in a table, Markdown and LaTeX print it as it is."""

from __future__ import annotations

from cranfield.report.pages import latex, markdown
from cranfield.report.sheet import Cell, Row, Sheet

SHEET = Sheet(
    ("run", "query"),
    ("nDCG@10", "p\ncorrected"),
    (
        Row(("[a]", "q|1"), (Cell("0.5", best=True, aside="[0.1, 0.9]"), Cell("<0.0001"))),
        Row(("b_1", "all"), (Cell("–", aside="a–c", raised=True), Cell("snake_case", aside="c|d"))),
    ),
)


def test_markdown_is_escaped_in_cells_too() -> None:
    assert markdown(SHEET) == (
        "| run  | query |            nDCG@10 |      p corrected |\n"
        "| ---- | ----- | -----------------: | ---------------: |\n"
        "| [a]  | q\\|1  | **0.5** [0.1, 0.9] |          <0.0001 |\n"
        "| b\\_1 | all   |    –<sup>a–c</sup> | snake\\_case c\\|d |\n"
    )


def test_latex_is_escaped_in_cells_too() -> None:
    assert latex(SHEET) == (
        "% \\usepackage{booktabs}\n"
        "\\begin{tabular}{llrr}\n"
        "\\toprule\n"
        "run & query & nDCG@10 & p corrected \\\\\n"
        "\\midrule\n"
        "{}[a] & q$|$1 & \\textbf{0.5} {\\scriptsize [0.1, 0.9]} & $<$0.0001 \\\\\n"
        "b\\_1 & all & --\\textsuperscript{a--c} & snake\\_case {\\scriptsize c$|$d} \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
    )


def test_negative_numbers_have_a_minus_sign_in_latex() -> None:
    row = Row(("run-2",), (Cell("-0.0013", best=True, aside="[-0.1, +0.2]\n(-∞, 1e-05)"), Cell("ad-hoc 1-2")))
    assert latex(Sheet(("run",), ("AP", "x-1"), (row,))).splitlines()[3:6:2] == [
        "run & AP & x-1 \\\\",
        "run-2 & \\textbf{$-$0.0013} {\\scriptsize [$-$0.1, +0.2] ($-$$\\infty$, 1e-05)} & ad-hoc 1-2 \\\\",
    ]


def test_a_line_parts_the_runs() -> None:
    rows = tuple(Row((run, "all"), (Cell("1"),), last=True) for run in "ab")
    text = latex(Sheet(("run", "query"), ("AP",), rows))
    assert text.splitlines()[5:8] == ["a & all & 1 \\\\", "\\midrule", "b & all & 1 \\\\"]
