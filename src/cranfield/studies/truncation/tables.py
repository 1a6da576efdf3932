"""The tables of the study `truncation`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cranfield.report.numbers import shown
from cranfield.report.pages import Page, column, exchanged, sheet
from cranfield.report.sheet import Cell
from cranfield.studies.truncation.experiment import Truncation

PAIRS = 20  # swapped pairs listed for each measure; json has all
RANGES = 10  # rows of the table of list lengths


def tables(result: Truncation, digits: int = 4) -> list[Page]:
    """Scores of systems, agreement, list lengths, and swapped pairs."""
    return [
        _score_table(result, digits),
        _agreement_table(result, digits),
        _length_table(result),
        *_swap_tables(result, digits),
    ]


def _score_table(result: Truncation, digits: int) -> Page:
    x, y = result.means
    columns: dict[str, list[Cell]] = {}
    for m, (plain, terminal) in enumerate(zip(result.measures, result.terminal_measures, strict=True)):
        columns[plain] = column(x[:, m], digits)
        columns[terminal] = column(y[:, m], digits)
    columns["c@1"] = column([result.c_at_1(r) for r in range(len(result.runs))], digits)
    for i, when in enumerate(_stages(result)):
        columns[f"short{when}"] = [Cell(f"{share:.1%}") for share in result.short[i]]
    rows = [((run,), [cells[r] for cells in columns.values()]) for r, run in enumerate(result.runs)]
    stages = f", before and after cutting them at {result.nil}" if result.nil else ""
    short = f"short: share of lists with fewer than {result.longest} answers{stages}"
    return Page(f"Mean scores, {len(result.queries)} queries ({short})", sheet(("run",), tuple(columns), rows))


def _stages(result: Truncation) -> tuple[str, ...]:
    """Before and after lists are cut at NIL; without NIL they are not cut."""
    return (", before", ", after") if result.nil else ("",)


def _agreement_table(result: Truncation, digits: int) -> Page:
    rows = []
    for m, names in enumerate(zip(result.measures, result.terminal_measures, strict=True)):
        agreement = result.agreement(m)
        counts = (agreement.discordant, agreement.tied_x, agreement.tied_y, agreement.pairs)
        cells = [Cell(shown(tau, digits)) for tau in (agreement.tau_b, agreement.tau_a)]
        cells += [Cell(f"{count}") for count in counts]
        rows.append((names, cells))
    heads = ("τ-b", "τ-a", "swapped", "tied\nplain", "tied\nterminal", "pairs")
    title = f"Agreement of plain and terminal measures on the order of {len(result.runs)} systems (Kendall's τ)"
    return Page(title, sheet(("plain", "terminal"), heads, rows))


def _length_table(result: Truncation) -> Page:
    counts = np.zeros((result.longest + 1, 2), int)
    for length, numbers in result.histogram.items():
        counts[length] = numbers
    step = max(1, -(-result.longest // RANGES))
    begins = [0, *range(1, len(counts), step)]
    rows = []
    for begin, end in zip(begins, [*begins[1:], len(counts)], strict=True):
        name = f"{begin}" if end - begin == 1 else f"{begin}–{end - 1}"
        cells = [Cell(f"{n}") for n in counts[begin:end].sum(axis=0)]
        rows.append(((name,), cells[: len(_stages(result))]))
    heads = [f"lists{when}" for when in _stages(result)]
    stages = f": before and after cutting them at {result.nil}" if result.nil else ""
    return Page(f"Number of lists by length{stages}", sheet(("length",), heads, rows))


def _swap_tables(result: Truncation, digits: int) -> Iterator[Page]:
    for m, measures in enumerate(zip(result.measures, result.terminal_measures, strict=True)):
        pairs = result.inverted(m)
        if pairs:
            means = dict(zip(result.runs, result.means[:, :, m].T, strict=True))
            yield exchanged(pairs, measures, means, digits, PAIRS)
