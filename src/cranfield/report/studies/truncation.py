"""The study of truncation as tables, and Table 1 of the paper behind it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cranfield.measures import parse
from cranfield.ranking.rankings import from_ranking
from cranfield.report.numbers import shown
from cranfield.report.pages import Page, column, exchanged, sheet
from cranfield.report.sheet import Cell
from cranfield.studies.truncation import Truncation
from cranfield.views import Gains, terminate

PAIRS = 20  # inverted pairs named for each measure; json has all
RANGES = 10  # rows for list lengths, where these are many

# Rankings and R of Table 1 of Liu et al.; everything else of it is computed.
RANKINGS = (
    ("00", 0),
    ("000", 0),
    ("111", 3),
    ("11", 3),
    ("11100", 3),
    ("101", 3),
    ("1", 3),
    ("10100", 3),
    ("011", 3),
    ("01001", 3),
)
PRINTED = {"RR'": "RR", "RBP'": "RBP(p=0.5)", "NDCG'": "nDCG", "AP'": "AP"}


def pages(result: Truncation, digits: int = 4) -> list[Page]:
    """Systems, agreement, list lengths, and the pairs that change places."""
    return [_systems(result, digits), _agreement(result, digits), _lengths(result), *_inverted(result, digits)]


def _systems(result: Truncation, digits: int) -> Page:
    x, y = result.means
    columns: dict[str, list[Cell]] = {}
    for m, (plain, terminal) in enumerate(zip(result.measures, result.forms, strict=True)):
        columns[plain] = column(x[:, m], digits)
        columns[terminal] = column(y[:, m], digits)
    every = range(len(result.runs))
    columns["c@1"] = column([result.c_at_1(r) for r in every], digits)
    for i, when in enumerate(_times(result)):
        columns[f"short{when}"] = [Cell(f"{share:.1%}") for share in result.short[i]]
    rows = [((run,), [cells[r] for cells in columns.values()]) for r, run in enumerate(result.runs)]
    many = f"{len(result.queries)} queries; short: lists with fewer than {result.longest} answers"
    ended = f", before and after {result.nil} ends them" if result.nil else ""
    return Page(f"Means over {many}{ended}", sheet(("run",), tuple(columns), rows))


def _times(result: Truncation) -> tuple[str, ...]:
    """Without NIL nothing happens to the lists."""
    return (", before", ", after") if result.nil else ("",)


def _agreement(result: Truncation, digits: int) -> Page:
    rows = []
    for m, names in enumerate(zip(result.measures, result.forms, strict=True)):
        found = result.agreement(m)
        counts = (found.discordant, found.tied_x, found.tied_y, found.pairs)
        cells = [Cell(shown(tau, digits)) for tau in (found.tau_b, found.tau_a)] + [Cell(f"{n}") for n in counts]
        rows.append((names, cells))
    heads = ("τ-b", "τ-a", "inverted", "tied\nplain", "tied\nterminal", "pairs")
    title = f"Agreement on the order of {len(result.runs)} systems (Kendall's τ)"
    return Page(title, sheet(("plain", "terminal form"), heads, rows))


def _lengths(result: Truncation) -> Page:
    counts = np.zeros((result.longest + 1, 2), int)
    for length, both in result.histogram.items():
        counts[length] = both
    step = max(1, -(-result.longest // RANGES))
    begins = [0, *range(1, len(counts), step)]
    rows = []
    for begin, end in zip(begins, [*begins[1:], len(counts)], strict=True):
        name = f"{begin}" if end - begin == 1 else f"{begin}–{end - 1}"
        cells = [Cell(f"{n}") for n in counts[begin:end].sum(axis=0)]
        rows.append(((name,), cells[: len(_times(result))]))
    heads = [f"lists{when}" for when in _times(result)]
    ended = f": {result.nil} as an item, and without it" if result.nil else ""
    return Page(f"Lists by length{ended}", sheet(("length",), heads, rows))


def _inverted(result: Truncation, digits: int) -> Iterator[Page]:
    for m, measures in enumerate(zip(result.measures, result.forms, strict=True)):
        pairs = result.inverted(m)
        if pairs:
            means = dict(zip(result.runs, result.means[:, :, m].T, strict=True))
            yield exchanged(pairs, measures, means, digits, PAIRS)


def table1(digits: int = 3) -> Page:
    """Table 1 of *Quit While Ahead*, computed: ten rankings, the gain of their terminal documents, and four scores."""
    measures = {head: parse(f"{name}[terminal]") for head, name in PRINTED.items()}
    rows = []
    for ranking, relevant in RANKINGS:
        grades = [int(sign) for sign in ranking]
        listed = from_ranking(grades, missed=[1] * (relevant - sum(grades)))
        end = terminate(listed.batch(Gains("binary"), None)).tail[0]
        values = [end, *(m.values(listed).value[0] for m in measures.values())]
        rows.append(((f"“{ranking}”", f"R = {relevant}"), [Cell(shown(float(value), digits)) for value in values]))
    return Page(
        "Truncated rankings and their scores with a terminal document, p = 0.5 (Liu et al., SIGIR 2016, Table 1)",
        sheet(("Ranking", "R"), ("r_t", *measures), rows),
    )
