"""Scores for programs and papers: json, csv, trec_eval's lines, Markdown, LaTeX."""

from __future__ import annotations

import csv as comma
import json as notation
from collections.abc import Iterator
from io import StringIO

import numpy as np

from cranfield.report.sheet import ALL, Cell, Look, Sheet
from cranfield.scores import Scores

SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{sign: f"${sign}$" for sign in "<>|"},  # which the oldest and still usual encoding of fonts prints as ¡, ¿ and —
}


def json(scores: Scores, look: Look) -> str:
    """``scores.to_dict()`` and nothing else: means, values of every query, notes."""
    return notation.dumps(scores.to_dict(), allow_nan=False) + "\n"


def csv(scores: Scores, look: Look) -> str:
    """One value a line, at full precision, undefined ones empty; means are those of query ``all``."""
    out = StringIO()
    lines = comma.writer(out, lineterminator="\n")
    lines.writerow(["run", "query", "measure", "value", *(["low", "high"] if look.interval else [])])
    for r, run in enumerate(scores.runs):
        if look.per_query:
            for q in np.flatnonzero(scores.counted[r]):
                for m, measure in enumerate(scores.measures):
                    padding = ["", ""] if look.interval else []
                    lines.writerow([run, scores.queries[q], measure, exact(scores.values[r, m, q]), *padding])
        for m, measure in enumerate(scores.measures):
            limits = look.limits(scores, r, m) or ()
            lines.writerow([run, ALL, measure, exact(scores.summary(r, m)), *map(exact, limits)])
    return out.getvalue()


def exact(value: float) -> str:
    """The shortest text that reads back as the same number; nothing for undefined."""
    return "" if np.isnan(value) else repr(float(value))


def trec(scores: Scores, look: Look) -> str:
    """trec_eval's three columns; several runs follow each other, each headed by its ``runid``."""
    return "".join(_trec_lines(scores, look))


def _trec_lines(scores: Scores, look: Look) -> Iterator[str]:
    counts = [kind == "sum" for kind in scores.aggregates]

    def line(m: int, query: str, value: float) -> str:
        # trec_eval has no word for undefined; nan is what C prints and what every parser of floats takes.
        shown = f"{value:.0f}" if counts[m] and not np.isnan(value) else f"{value:6.{look.digits}f}"
        return f"{scores.measures[m]:<22}\t{query}\t{shown}\n"

    for r, run in enumerate(scores.runs):
        if len(scores.runs) > 1:
            yield f"{'runid':<22}\t{ALL}\t{run}\n"
        if look.per_query:
            for q in np.flatnonzero(scores.counted[r]):
                for m in range(len(scores.measures)):
                    yield line(m, scores.queries[q], float(scores.values[r, m, q]))
        for m in range(len(scores.measures)):
            yield line(m, ALL, scores.summary(r, m))


def markdown(scores: Scores, look: Look) -> str:
    """A pipe table, aligned so that it can be read unrendered too."""
    sheet = look.sheet(scores)
    head = [_pipe(name) for name in sheet.names + sheet.columns]
    body = [[*map(_pipe, row.names), *map(_starred, row.cells)] for row in sheet.rows]
    widths = [max(3, *(len(line[i]) for line in [head, *body])) for i in range(len(head))]
    left = len(sheet.names)

    def joined(texts: list[str]) -> str:
        cells = (t.ljust(w) if i < left else t.rjust(w) for i, (t, w) in enumerate(zip(texts, widths, strict=True)))
        return f"| {' | '.join(cells)} |\n"

    rule = ["-" * w if i < left else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
    return joined(head) + joined(rule) + "".join(map(joined, body))


def _pipe(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")


def _starred(cell: Cell) -> str:
    text = f"**{cell.text}**" if cell.best else cell.text
    return f"{text} {cell.aside}".rstrip()


def latex(scores: Scores, look: Look) -> str:
    """A tabular with the rules of the booktabs package, best means in bold."""
    sheet = look.sheet(scores)
    lines = [
        "% \\usepackage{booktabs}",
        f"\\begin{{tabular}}{{{'l' * len(sheet.names)}{'r' * len(sheet.columns)}}}",
        "\\toprule",
        _ampersands([escaped(name) for name in sheet.names + sheet.columns]),
        "\\midrule",
        *_latex_rows(sheet),
        "\\bottomrule",
        "\\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _latex_rows(sheet: Sheet) -> Iterator[str]:
    for row in sheet.rows:
        yield begun(_ampersands([*map(escaped, row.names), *map(_set, row.cells)]))
        if sheet.ends(row):
            yield "\\midrule"


def _ampersands(cells: list[str]) -> str:
    return " & ".join(cells) + " \\\\"


def _set(cell: Cell) -> str:
    text = escaped(cell.text.replace("–", "--"))
    text = f"\\textbf{{{text}}}" if cell.best else text
    return f"{text} {{\\scriptsize {cell.aside}}}" if cell.aside else text


def escaped(text: str) -> str:
    """Text that LaTeX prints as it is.

    >>> escaped("50% of my_run")
    '50\\\\% of my\\\\_run'
    """
    return "".join(SPECIAL.get(sign, sign) for sign in text)


def begun(text: str) -> str:
    """The first cell of a row: `[` or `*` there would be taken for an argument of the row before.

    >>> begun("[a]"), begun("a")
    ('{}[a]', 'a')
    """
    return f"{{}}{text}" if text[:1] in ("[", "*") else text
