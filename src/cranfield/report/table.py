"""Tables for people: numbers right-aligned, the best of each column bold, never wider than the screen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from io import StringIO

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cranfield.report.sheet import RESIDUAL, Cell, Sheet

GAP = 2  # between columns: one space of padding, one for the line that is not drawn


def render(sheet: Sheet, *, width: int = 80, colour: bool = False) -> str:
    """The sheet drawn for a screen of this width; turned or cut into blocks of columns where it is too wide."""
    return "\n".join(draw(table_of(part), width=width, colour=colour) for part in arranged(sheet, width))


def draw(table: Table, *, width: int, colour: bool) -> str:
    """What Rich makes of a table, without the spaces that it leaves at the end of lines."""
    out = StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        no_color=not colour,
        legacy_windows=False,
    )
    console.print(table)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def plain(*headings: str, right: tuple[str, ...] = ()) -> Table:
    """An empty table in the house's manner: a rule below the headings and no other lines."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for heading in headings:
        table.add_column(
            Text(heading), justify="right" if heading in right else "left", overflow="fold", no_wrap=heading in right
        )
    return table


def table_of(sheet: Sheet) -> Table:
    """The sheet as a Rich table."""
    table = plain(*sheet.names)
    for column in sheet.columns:
        table.add_column(Text(column), justify="right", overflow="fold", no_wrap=True)
    for row in sheet.rows:
        # Text, not markup: brackets in a measure's name are its own.
        last = row.last and len(sheet.names) > 1 and row is not sheet.rows[-1]
        table.add_row(*map(Text, row.names), *map(drawn, row.cells), end_section=last)
    return table


def drawn(cell: Cell) -> Text:
    """The number, bold where it is the best, with its interval dim below it."""
    text = Text(cell.text, style="bold" if cell.best else "")
    if cell.aside:
        text.append(f"\n{cell.aside}", style="not bold dim")
    return text


def arranged(sheet: Sheet, width: int) -> list[Sheet]:
    """The sheet in a form that fits: as it is, headings folded, turned, or in as few blocks of columns as will do."""
    forms = [sheet, folded(sheet)]
    # Turning lets runs and measures change places; rows told by run and query have no such twin.
    if len(sheet.names) == 1:
        forms.append(sheet.transposed)
    return min((list(blocks(form, width)) for form in forms), key=len)


def folded(sheet: Sheet) -> Sheet:
    """The sheet with long headings in two lines: the measure, then what was done to the ranking."""
    columns = (name.replace("[", "\n[", 1).replace(RESIDUAL, f"\n{RESIDUAL.strip()}") for name in sheet.columns)
    return replace(sheet, columns=tuple(columns))


def blocks(sheet: Sheet, width: int) -> Iterator[Sheet]:
    """The sheet cut between columns so that each part fits; a column that never will gets a part of its own."""
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
    """The screen columns that each column of the sheet needs, the gap to the next one included."""
    names = [[head, *(row.names[i] for row in sheet.rows)] for i, head in enumerate(sheet.names)]
    cells = [
        [*head.split("\n"), *(text for row in sheet.rows for text in (row.cells[i].text, row.cells[i].aside))]
        for i, head in enumerate(sheet.columns)
    ]
    return [max(map(cell_len, texts)) + GAP for texts in names + cells]
