"""The study of power as tables."""

from __future__ import annotations

import numpy as np

from cranfield.report.numbers import shown
from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell
from cranfield.statistics.design import MOST
from cranfield.studies.power import ERROR, Power

TESTS = {
    "bootstrap": "paired bootstrap test",
    "randomisation": "paired randomisation test",
    "tukey": "randomised Tukey HSD test",
}


def pages(result: Power, digits: int = 4) -> list[Page]:
    """What measures tell apart, how often other topics reverse it, and how many topics a difference takes."""
    return [_power(result), _swaps(result, digits), _topics(result, digits)]


def _power(result: Power) -> Page:
    ranked = result.ranked
    best = ranked[0].tested.power
    rows = [
        (
            (one.measure,),
            [
                Cell(f"{one.tested.significant.sum()}/{len(one.tested.p)}"),
                Cell(f"{one.tested.power:.1%}", best=0 < best == one.tested.power and best > ranked[-1].tested.power),
                Cell(significant(one.tested.difference_required)),
            ],
        )
        for one in ranked
    ]
    drawn = f"all {result.exact} tosses" if result.exact else f"B = {result.b}, seed {result.seed}"
    title = (
        f"Discriminative power: pairs of {len(result.runs)} runs that differ significantly at {result.alpha:g} on"
        f" {len(result.queries)} topics ({TESTS[result.test]}, {drawn})"
    )
    return Page(title, sheet(("measure",), ("pairs", "power", "difference\nrequired"), rows))


def _swaps(result: Power, digits: int) -> Page:
    rows = []
    for one in result.ranked:
        swaps = one.swaps
        required, later = swaps.required(ERROR), swaps.required(ERROR, extrapolated=True)
        rows.append(
            (
                (one.measure,),
                [
                    Cell(f"{swaps.swapped[-1].sum() / swaps.compared[-1].sum():.1%}"),
                    Cell(shown(required, digits)),
                    Cell(f"{swaps.share(required):.1%}"),
                    Cell(shown(later, digits)),
                ],
            )
        )
    size = int(result.outcomes[0].swaps.sizes[-1])
    title = (
        f"Swap rates: pairs that change places between two sets of {size} topics, {result.trials} times, and the"
        f" difference from which on at most {ERROR:.0%} do (–: none is large enough)"
    )
    heads = ("pairs\nswapped", "difference", "pairs that\ndiffer so", f"difference,\n{len(result.queries)} topics")
    return Page(title, sheet(("measure",), heads, rows))


def _topics(result: Power, digits: int) -> Page:
    rows = []
    for one in result.ranked:
        counts = [result.topics(one, wanted) for wanted in result.differences]
        cells = [Cell(f"> {MOST:,}" if count is None else f"{count:,}") for count in counts]
        found = Cell(shown(result.detectable(one), digits))
        rows.append(((one.measure,), [Cell(shown(float(np.sqrt(one.variance)), digits)), *cells, found]))
    title = (
        f"Topics needed to find a difference by a paired t-test, missing it in {100 * result.beta:g}% of cases at"
        f" {result.alpha:g}, and what {len(result.queries)} topics find"
    )
    heads = ("deviation of\ndifferences", *(f"{wanted:g}" for wanted in result.differences), "found with\nthese topics")
    return Page(title, sheet(("measure",), heads, rows))


def significant(value: float) -> str:
    """A number with two significant digits.

    >>> significant(0.11374), significant(0.1), significant(12.34), significant(0.0)
    ('0.11', '0.10', '12', '0')
    """
    if value == 0:
        return "0"
    rounded = float(f"{value:.1e}")
    return f"{rounded:.{max(0, 1 - int(np.floor(np.log10(abs(rounded)))))}f}"
