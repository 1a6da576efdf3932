"""Sheets as Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cranfield.report.sheet import Cell, Sheet
from cranfield.wording import printable

_MINUS = re.compile(r"(?<![\w.)\]])-(?=[\d.∞])")  # the sign of a number, not of an exponent or within a name
_TAG_OR_LINK = re.compile(r"<(?=[A-Za-z/!?])|(?<=\])\(")

SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{sign: f"${sign}$" for sign in "<>|"},  # the default font encoding prints these as ¡, ¿ and —
    **{"▲": "$\\blacktriangle$", "▼": "$\\blacktriangledown$"},
    **{"–": "--", "τ": "$\\tau$", "ρ": "$\\rho$", "±": "$\\pm$", "∞": "$\\infty$"},
}


def piped(text: str) -> str:
    r"""Text escaped for Markdown, also inside a table.

    >>> piped("my_run|2")
    'my\\_run\\|2'
    """
    escaped = "".join(f"\\{sign}" if sign in "\\|*_`" else sign for sign in printable(text))
    return _TAG_OR_LINK.sub(r"\\\g<0>", escaped)


def escaped(text: str) -> str:
    r"""Text escaped for LaTeX.

    >>> escaped("50% of my_run")
    '50\\% of my\\_run'
    """
    return "".join(SPECIAL.get(sign, sign) for sign in printable(text))


def number(text: str) -> str:
    r"""The text of a cell escaped for LaTeX; a minus sign is not a hyphen.

    >>> number("[-0.0013, +2e-05]")
    '[$-$0.0013, +2e-05]'
    """
    return "$-$".join(map(escaped, _MINUS.split(text)))


def markdown(sheet: Sheet) -> str:
    """A pipe table, aligned so that its source is readable too."""
    head = [piped(name) for name in _heads(sheet)]
    body = [[*map(piped, row.names), *map(_starred, row.cells)] for row in sheet.rows]
    widths = [max(3, *(len(line[i]) for line in [head, *body])) for i in range(len(head))]
    left = len(sheet.names)
    rule = ["-" * w if i < left else "-" * (w - 1) + ":" for i, w in enumerate(widths)]

    def joined(texts: Sequence[str]) -> str:
        cells = (t.ljust(w) if i < left else t.rjust(w) for i, (t, w) in enumerate(zip(texts, widths, strict=True)))
        return f"| {' | '.join(cells)} |\n"

    return "".join(map(joined, (head, rule, *body)))


def latex(sheet: Sheet) -> str:
    """A tabular with the rules of the booktabs package."""
    marked = any(cell.text in ("▲", "▼") for row in sheet.rows for cell in row.cells)
    lines = [
        f"% \\usepackage{{booktabs{',amssymb' if marked else ''}}}",
        f"\\begin{{tabular}}{{{'l' * len(sheet.names)}{'r' * len(sheet.columns)}}}",
        "\\toprule",
        _ampersands([escaped(name) for name in _heads(sheet)]),
        "\\midrule",
        *_rows(sheet),
        "\\bottomrule",
        "\\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _heads(sheet: Sheet) -> list[str]:
    """The headings, each on one line."""
    return [" ".join(name.split()) for name in sheet.names + sheet.columns]


def _starred(cell: Cell) -> str:
    text = f"**{piped(cell.text)}**" if cell.best else piped(cell.text)
    if cell.raised and cell.aside:
        return f"{text}<sup>{cell.aside}</sup>"
    return f"{text} {piped(cell.one_line_aside)}".rstrip()


def _rows(sheet: Sheet) -> Iterator[str]:
    for row in sheet.rows:
        yield _ampersands([*map(escaped, row.names), *map(_set, row.cells)])
        if sheet.ends(row):
            yield "\\midrule"


def _ampersands(cells: Sequence[str]) -> str:
    line = " & ".join(cells) + " \\\\"
    # LaTeX would read `[` or `*` at the start of a row as an argument of the row before.
    return f"{{}}{line}" if line[:1] in ("[", "*") else line


def _set(cell: Cell) -> str:
    text = f"\\textbf{{{number(cell.text)}}}" if cell.best else number(cell.text)
    if cell.raised and cell.aside:
        return f"{text}\\textsuperscript{{{number(cell.aside)}}}"
    return f"{text} {{\\scriptsize {number(cell.one_line_aside)}}}" if cell.aside else text
