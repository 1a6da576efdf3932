"""Whatever stands in a table, Markdown and LaTeX print it as it is."""

from __future__ import annotations

import csv
import re
from html.parser import HTMLParser

import pytest

import cranfield as cf
import cranfield.report as scores
from cranfield.report import audit, notebook
from cranfield.report import compare as report
from cranfield.report.pages import Page, latex, markdown, write
from cranfield.report.sheet import Cell, Row, Sheet
from cranfield.wording import CONTROL, decodable, printable

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


# Names as a hostile file may have them: markup, links, ends of cells and of lines, escapes of terminals, formulas.
NASTY = (
    *(
        "a|b",
        "a\\|b",
        "`code",
        "``x`y",
        "**bold**",
        "*i*",
        "_i_",
        "~~gone~~",
        "<b>x</b>",
        "<img src=x onerror=alert(1)>",
    ),
    *("</td></tr></table><script>alert(1)</script>", "<!-- x", "<https://evil.example>", "[x](javascript:alert(1))"),
    *(
        "![x](https://evil.example/p.png)",
        "[x][y]",
        "[x]: https://evil.example",
        "[^1]",
        "&lt;b&gt;",
        "&#60;b&#62;",
        "&amp;",
    ),
    *(
        "two\nlines",
        "a\r\nb",
        "a\tb",
        "\x1b[2J\x1b]0;title\x07",
        "\x9b31m",
        "left\u202eright",
        "\u2028",
        "\ud800",
        "caf\udcff",
    ),
    *(
        "=1+1",
        "+1+1",
        "-1+1",
        "@SUM(A1)",
        '=HYPERLINK("https://evil.example")',
        "\t=1",
        "%PDF",
        "$x$",
        "a&b",
        "#h",
        "{x}",
    ),
    *(
        "\\input{x}",
        "\\end{tabular}",
        "^^41",
        "~",
        "x_y^z",
        "'; drop",
        '"quoted"',
        "# heading",
        "- item",
        "1. item",
        "",
        " ",
    ),
)


def sheet_of(names: tuple[str, ...]) -> Sheet:
    rows = tuple(
        Row(
            (name, "all"), (Cell(name), Cell("1", aside=printable(name)), Cell("2", aside=printable(name), raised=True))
        )
        for name in names
    )
    return Sheet(("run", "query"), ("x", "y", "z"), rows)


def pages_of(names: tuple[str, ...]) -> list[Page]:
    return [Page(name, Sheet(("run", "query"), (name, "y", "z"), sheet_of(names).rows), (name,)) for name in names]


@pytest.mark.parametrize("format", ["table", "markdown", "latex", "csv"])
def test_no_name_controls_a_terminal_or_ends_a_line(format: str) -> None:
    for name in filter(str.strip, NASTY):
        text = write([Page("title", sheet_of((name,)))], {}, format, width=999)
        assert not [sign for sign in text.replace("\n", "") if re.fullmatch(CONTROL, sign)]
        assert len(text.splitlines()) == len(write([Page("title", sheet_of(("plain",)))], {}, format).splitlines())


def test_every_name_is_text_in_markdown() -> None:
    parser = (
        pytest.importorskip("markdown_it").MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    )
    allowed = {"table", "thead", "tbody", "tr", "th", "td", "paragraph", "strong", "inline", "text", "softbreak"}
    for name in NASTY:
        text = decodable(write(pages_of((name,)), {}, "markdown"))
        tokens = [inner for token in parser.parse(text) for inner in (token, *(token.children or ()))]
        kinds = {token.type.removesuffix("_open").removesuffix("_close") for token in tokens}
        tags = {token.content for token in tokens if token.type == "html_inline"}
        assert kinds - allowed <= {"html_inline"} and tags <= {"<sup>", "</sup>"}, (name, kinds, tags)
        cells = ["".join(c.content for c in t.children) for t in tokens if t.type == "inline"]
        assert decodable(printable(name)).strip() in [cell.strip() for cell in cells], name


def test_every_name_is_text_in_latex() -> None:
    for name in NASTY:
        body = write(pages_of((name,)), {}, "latex").partition("\\midrule\n")[2].partition("\\bottomrule")[0]
        own = r"\\(text(backslash|asciitilde|asciicircum)\{\}|text(bf|superscript)\{|rlap\{|scriptsize|[&%$#_{}]|\\)|\{\}|\$[-<>|]\$"
        rest = re.sub(own, "", body)
        assert not re.search(r"[\\%#^~_$]", rest), (name, body)
        assert rest.count("&") == 4, (name, body)


def test_no_name_is_a_formula_in_csv() -> None:
    number = re.compile(r"[+-][\d.,]*")
    for name in NASTY:
        text = decodable(write([Page("title", sheet_of((name,)))], {}, "csv"))
        rows = list(csv.reader(text.splitlines()[1:]))
        assert len(rows) == 2
        for cell in (cell for row in rows for cell in row):
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r")) or number.fullmatch(cell), (name, cell)


class Tags(HTMLParser):
    """The tags and the texts of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert {name for name, _ in attrs} <= {"style"}

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_every_name_is_text_in_html() -> None:
    for name in NASTY:
        parser = Tags()
        parser.feed(decodable(notebook.table(sheet_of((name,)))))
        assert parser.tags <= {"table", "thead", "tbody", "tr", "th", "td", "br", "small", "sup"}
        shown = decodable(printable(name))
        assert not shown.strip() or shown in parser.texts


def test_names_of_files_and_ids_are_text_everywhere() -> None:
    """Evaluations, comparisons, audits and queries of hostile names, in every format."""
    names = [name for name in NASTY if name.strip()][:12]
    qrels = {query: {name: i % 2 for i, name in enumerate(names)} for query in names}
    runs = {run: dict.fromkeys(names, names[i:]) for i, run in enumerate(names[:3])}
    evaluation = cf.Evaluator(qrels, ["AP", "RR"]).evaluation(runs)
    compared = cf.compare(evaluation)
    found = [
        str(evaluation.scores),
        str(compared),
        str(cf.audit(evaluation)),
        audit.write(cf.audit(evaluation), "markdown"),
    ]
    found += [
        write(report.pages(compared, details=True), {}, format) for format in ("table", "markdown", "latex", "csv")
    ]
    found += [
        scores.write(evaluation.scores, format, per_query=True)
        for format in ("table", "markdown", "latex", "csv", "trec")
    ]
    assert not [sign for text in found for sign in text if re.fullmatch(CONTROL, sign) and sign not in "\n\t"]
    parser = pytest.importorskip("markdown_it").MarkdownIt("commonmark", {"html": True}).enable("table")
    tokens = [inner for token in parser.parse(found[3]) for inner in (token, *(token.children or ()))]
    assert not {"html_inline", "html_block", "link_open", "image"} & {token.type for token in tokens}
