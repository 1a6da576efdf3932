"""Tables for the terminal: numbers right-aligned, the best of each column bold, never wider than the screen.

Not drawn by Rich, which takes 4 s instead of 0.1 s for a table of seven thousand queries.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.cells import cell_len

from cranfield.report.sheet import Cell, Row, Sheet

GAP = 2
BOLD, DIM, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
TONES = {"": "", "good": "\x1b[32m", "bad": "\x1b[31m"}


def render(sheet: Sheet, *, width: int = 80, colour: bool = False) -> str:
    """The sheet for a screen of this width; transposed or split into blocks of columns if it is too wide."""
    return "\n".join(draw(part, colour=colour) for part in arranged(sheet, width))


def draw(sheet: Sheet, *, colour: bool) -> str:
    """The sheet in lines: headings, a rule, rows; intervals are dimmed below their numbers."""
    needed = [wide - GAP for wide in widths(sheet)]
    left = len(sheet.names)

    def line(names: Sequence[str], texts: Sequence[str], styles: Sequence[str]) -> str:
        spaces = [" " * (wide - cell_len(text)) for text, wide in zip([*names, *texts], needed, strict=True)]
        styled = [
            f"{style}{text}{PLAIN}" if style and text else text for text, style in zip(texts, styles, strict=True)
        ]
        cells = [name + space for name, space in zip(names, spaces[:left], strict=True)]
        cells += [space + text for space, text in zip(spaces[left:], styled, strict=True)]
        return (" " * GAP).join(cells).rstrip() + "\n"

    def lines() -> Iterator[str]:
        heads = [column.split("\n") for column in sheet.columns]
        height = max(map(len, heads), default=1)
        for level in range(-height, 0):
            names = [name if level == -1 else "" for name in sheet.names]
            texts = [head[level] if len(head) >= -level else "" for head in heads]
            yield line(names, texts, [BOLD if colour else ""] * len(texts))
        yield "─" * (sum(needed) + GAP * (len(needed) - 1)) + "\n"
        for row in sheet.rows:
            styles = [(BOLD if c.best else "") + TONES[c.tone] if colour else "" for c in row.cells]
            yield line(row.names, [c.text for c in row.cells], styles)
            below = [cell.aside.split("\n") for cell in row.cells]
            for level in range(max(map(len, below), default=0)):
                asides = [texts[level] if level < len(texts) else "" for texts in below]
                if any(asides):
                    yield line([""] * left, asides, [DIM if colour else ""] * len(asides))
            if sheet.ends(row):
                yield "\n"

    return "".join(lines())


def arranged(sheet: Sheet, width: int) -> list[Sheet]:
    """The sheet in the first form with the fewest blocks: as it is, with folded headings, numbered, or transposed."""
    forms = [sheet, folded(sheet)]
    # A sheet whose rows have a run and a query cannot be transposed.
    if sheet.square:
        forms += [numbered(sheet), numbered(sheet, fold=True)]
    elif len(sheet.names) == 1:
        forms.append(sheet.transposed)
    return min((list(blocks(form, width)) for form in forms), key=len)


def folded(sheet: Sheet) -> Sheet:
    """The sheet with long headings in two lines: the measure, then its views."""
    folds = sheet.folded or tuple(name.replace("[", "\n[", 1) for name in sheet.columns)
    return replace(sheet, columns=folds)


def numbered(sheet: Sheet, *, fold: bool = False) -> Sheet:
    """A square sheet with numbers as headings; rows have the number and the name, a long one with its views below."""
    digits, blank = len(str(len(sheet.rows))), (Cell(""),) * len(sheet.columns)
    # Names without views cannot be folded: folding narrower than these saves nothing.
    longest = max((len(row.names[0].partition("[")[0]) for row in sheet.rows), default=0) if fold else math.inf

    def rows() -> Iterator[Row]:
        for i, row in enumerate(sheet.rows, 1):
            name = row.names[0]
            first = name if len(name) <= longest else name.partition("[")[0]
            yield replace(row, names=(f"{i:>{digits}} {first}",))
            if first != name:
                yield Row((" " * (digits + 1) + name.removeprefix(first),), blank)

    return replace(sheet, columns=tuple(map(str, range(1, len(sheet.columns) + 1))), rows=tuple(rows()), folded=())


def blocks(sheet: Sheet, width: int) -> Iterator[Sheet]:
    """The sheet split between columns so that each part fits; a column that is too wide gets its own part."""
    left, needed = len(sheet.names), widths(sheet)
    begin = end = 0
    while begin < len(sheet.columns):
        used = sum(needed[:left]) - GAP
        while end < len(sheet.columns) and (end == begin or used + needed[left + end] <= width):
            used += needed[left + end]
            end += 1
        yield sheet.part(slice(begin, end))
        begin = end


def widths(sheet: Sheet) -> list[int]:
    """The width of each column, including the gap to the next."""
    names = [[head, *(row.names[i] for row in sheet.rows)] for i, head in enumerate(sheet.names)]
    cells = [
        [*head.split("\n"), *(t for row in sheet.rows for t in (row.cells[i].text, *row.cells[i].aside.split("\n")))]
        for i, head in enumerate(sheet.columns)
    ]
    return [max(map(cell_len, texts)) + GAP for texts in names + cells]
