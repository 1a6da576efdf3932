"""The tables of the study `ties`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from cranfield.data import Floats
from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell, shown
from cranfield.studies.ties.cost import ALL, COLUMNS, TieCosts, Times
from cranfield.studies.ties.experiment import BEST, EXPECTED, QUANTILES, RULES, TREC, WORST, Ties
from cranfield.studies.ties.tie_groups import TieCounts, histogram_bins
from cranfield.wording import plural

PAIRS = 20  # pairs listed for each measure; json has all


def tables(result: Ties, digits: int = 4) -> list[Page]:
    """Tied documents and sizes of tie groups; for each measure the scores, swaps, and the effect of rounding."""
    pages = [_count_table(result), _size_table(result)]
    for m in range(len(result.measures)):
        pages.append(_score_table(result, m, digits))
        pages += _swap_tables(result, m, digits)
    if result.rounded:
        pages += [_rounding_table(result, m, digits) for m in range(len(result.measures))]
    return pages


def _count_rows(result: Ties) -> list[tuple[str, TieCounts]]:
    rows = list(zip(result.runs, result.counts, strict=True))
    return rows if len(rows) == 1 else [*rows, (ALL, result.total)]


def _count_table(result: Ties) -> Page:
    heads = (
        "retrieved",
        "tied",
        "judged",
        "judged,\ntied",
        "order\nmatters",
        "queries\nwith ties",
        "tie\ngroups",
        "largest\ngroup",
    )
    rows = []
    for name, counts in _count_rows(result):
        cells = [
            Cell(f"{counts.retrieved}"),
            Cell(_share(counts.tied, counts.retrieved)),
            Cell(f"{counts.judged}"),
            Cell(_share(counts.judged_tied, counts.judged)),
            Cell(f"{counts.decisive}"),
            Cell(f"{counts.queries_tied} of {counts.queries}"),
            Cell(f"{counts.groups}"),
            Cell(f"{counts.largest}"),
        ]
        rows.append(((name,), cells))
    title = (
        "Documents of judged queries that have the score of another document (order matters: relevant documents tied"
        " with a document of another grade or an unjudged one)"
    )
    return Page(title, sheet(("run",), heads, rows))


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "–"


def _size_table(result: Ties) -> Page:
    bins = list(histogram_bins(result.total.largest))
    heads = [f"{low}" if low == high else f"{low}–{high}" for low, high in bins]
    rows = [
        (
            (name,),
            [Cell(f"{sum(n for size, n in counts.sizes.items() if low <= size <= high)}") for low, high in bins],
        )
        for name, counts in _count_rows(result)
    ]
    return Page("Number of tie groups by size (documents with the same score)", sheet(("run",), heads, rows))


def _score_table(result: Ties, m: int, digits: int) -> Page:
    ends = [QUANTILES.index(0.05), QUANTILES.index(0.95)]
    rows = []
    for r, run in enumerate(result.runs):
        low, high = (shown(float(result.quantiles[i, m, r]), digits) for i in ends)
        error = float(result.sample_error[m, r])
        cells = [Cell(shown(float(result.scores[i, m, r]), digits)) for i in range(len(RULES))]
        cells.append(Cell(shown(float(result.sample_mean[m, r]), digits), aside=f"[{low}, {high}]"))
        cells.append(Cell(shown(error, digits + 2)))
        rows.append(((run,), cells))
    samples = result.settings.samples
    title = (
        f"{result.measures[m]} by tie rule, and the mean of {samples} random orders with their 5th and 95th percentile"
        f" and its standard error"
    )
    return Page(title, sheet(("run",), (*RULES, "random\norders", "standard\nerror"), rows))


def _swap_tables(result: Ties, m: int, digits: int) -> Iterator[Page]:
    pairs = result.swappable(m)
    if not pairs:
        return
    column = {run: r for r, run in enumerate(result.runs)}
    rows = []
    for ahead, other, chance in pairs[:PAIRS]:
        cells = [
            Cell(shown(float(result.scores[i, m, column[run]]), digits))
            for i in (EXPECTED, TREC)
            for run in (ahead, other)
        ]
        rows.append(((ahead, other), [*cells, Cell(f"{chance:.1%}")]))
    part = f", first {PAIRS} of {len(pairs)}" if len(pairs) > PAIRS else ""
    title = f"{result.measures[m]}: pairs that random orders swap; A is ahead in expectation{part}"
    heads = ("expected\nof A", "\nof B", "trec\nof A", "\nof B", "swapped")
    yield Page(title, sheet(("A", "B"), heads, rows))


def _rounding_table(result: Ties, m: int, digits: int) -> Page:
    total = result.total
    full = [("none", total.tied / max(total.retrieved, 1), result.scores, None)]
    rows = []
    for name, tied, scores, entry in [*full, *((e.rounding, e.tied, e.scores, e) for e in result.rounded)]:
        cells = [
            Cell(f"{tied:.1%}"),
            Cell(shown(_largest(scores[BEST, m] - scores[WORST, m]), digits)),
            Cell(f"{result.reversible(scores, m)}"),
        ]
        for rule in (TREC, EXPECTED):
            cells.append(Cell(shown(_largest(np.abs(scores[rule, m] - result.scores[rule, m])), digits)))
            cells.append(Cell("0" if entry is None else f"{result.rounding_swaps(entry, rule, m)}"))
        rows.append(((name,), cells))
    heads = (
        "tied",
        "best -\nworst",
        "reversible\npairs",
        "trec:\nchange",
        "trec:\nswapped",
        "expected:\nchange",
        "expected:\nswapped",
    )
    pairs = plural(len(result.pairs), "pair")
    title = (
        f"{result.measures[m]} of runs with rounded scores: largest range from the worst to the best order, largest"
        f" change against the scores as given, and swaps of {pairs} of runs"
    )
    return Page(title, sheet(("rounding",), heads, rows))


def _largest(values: Floats) -> float:
    return float(np.fmax.reduce(values)) if len(values) else np.nan


def cost_tables(costs: TieCosts) -> list[Page]:
    """The additional time for the expectation, with its range over measures; and the times themselves."""
    single = [times for measure, times in costs.measures.items() if measure != ALL]
    ranges = []
    for column in COLUMNS:
        shares = [times[column].overhead for times in single if column in times]
        if shares:
            ranges.append(f"{column} {min(shares):+.0%} to {max(shares):+.0%}")
    relative = f"Time with ties=expected over ties=trec, one measure at a time: {'; '.join(ranges)}"
    times = (
        f"Milliseconds of the processor, trec → expected: {costs.queries:,} queries with {costs.documents:,} documents,"
        f" scored by {costs.values} values ({costs.tied:.0%} tied); the shortest of {costs.repeats} measurements"
    )
    return [
        _cost_table(relative, costs, lambda times: f"{times.overhead:+.0%}"),
        _cost_table(times, costs, lambda times: f"{_milliseconds(times.trec)} → {_milliseconds(times.expected)}"),
    ]


def _cost_table(title: str, costs: TieCosts, text: Callable[[Times], str]) -> Page:
    rows = [
        ((measure,), [Cell(text(times[column]) if column in times else "no sort") for column in COLUMNS])
        for measure, times in costs.measures.items()
    ]
    heads = [column.replace(", ", ",\n").replace(" and ", " and\n") for column in COLUMNS]
    return Page(title, sheet(("measure",), heads, rows))


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.1f}" if seconds < 0.01 else f"{1000 * seconds:.0f}"
