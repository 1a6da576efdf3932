"""The tables of the study `power`."""

from __future__ import annotations

import numpy as np

from cranfield.report.numbers import shown
from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell
from cranfield.statistics.design import MAX_QUERIES
from cranfield.studies.power.experiment import MAX_SWAP_RATE, Power

TESTS = {
    "bootstrap": "paired bootstrap test",
    "randomisation": "paired randomisation test",
    "randomised-tukey": "randomised Tukey HSD test",
    "t": "paired t-test",
}


def tables(result: Power, digits: int = 4) -> list[Page]:
    """Discriminative power, swap rates, and the number of queries that a difference needs."""
    return [_power_table(result), _swap_table(result, digits), _query_table(result, digits)]


def _power_table(result: Power) -> Page:
    ranked = result.ranked
    best, worst = ranked[0].tests.power, ranked[-1].tests.power
    rows = [
        (
            (sensitivity.measure,),
            [
                Cell(f"{sensitivity.tests.significant.sum()}/{len(sensitivity.tests.p)}"),
                Cell(f"{sensitivity.tests.power:.1%}", best=0 < best == sensitivity.tests.power and best > worst),
                Cell(two_digits(sensitivity.tests.difference_required)),
            ],
        )
        for sensitivity in ranked
    ]
    if result.test == "t":
        resamples = ""
    elif result.permutations:
        resamples = f", all {result.permutations} permutations"
    else:
        resamples = f", {result.samples} resamples, seed {result.seed}"
    title = (
        f"Discriminative power: pairs of {len(result.runs)} runs that differ significantly at {result.alpha:g},"
        f" {len(result.queries)} queries ({TESTS[result.test]}{resamples})"
    )
    return Page(title, sheet(("measure",), ("pairs", "power", "difference\nrequired"), rows))


def _swap_table(result: Power, digits: int) -> Page:
    rows = []
    for sensitivity in result.ranked:
        swaps = sensitivity.swaps
        required, extrapolated = swaps.required(MAX_SWAP_RATE), swaps.required(MAX_SWAP_RATE, extrapolated=True)
        rows.append(
            (
                (sensitivity.measure,),
                [
                    Cell(f"{swaps.swapped[-1].sum() / swaps.compared[-1].sum():.1%}"),
                    Cell(shown(required, digits)),
                    Cell(f"{swaps.share(required):.1%}"),
                    Cell(shown(extrapolated, digits)),
                ],
            )
        )
    size = int(result.sensitivities[0].swaps.sizes[-1])
    title = (
        f"Swap rates: pairs whose order differs between two sets of {size} queries ({result.trials} trials), and the"
        f" smallest difference with a swap rate of at most {MAX_SWAP_RATE:.0%} (–: none)"
    )
    heads = (
        "pairs\nswapped",
        "difference",
        "share of\npairs",
        f"difference,\n{len(result.queries)} queries",
    )
    return Page(title, sheet(("measure",), heads, rows))


def _query_table(result: Power, digits: int) -> Page:
    rows = []
    for sensitivity in result.ranked:
        counts = [result.queries_needed(sensitivity, difference) for difference in result.differences]
        cells = [Cell(f"> {MAX_QUERIES:,}" if count is None else f"{count:,}") for count in counts]
        deviation = Cell(shown(float(np.sqrt(sensitivity.variance)), digits))
        detectable = Cell(shown(result.detectable_difference(sensitivity), digits))
        rows.append(((sensitivity.measure,), [deviation, *cells, detectable]))
    title = (
        f"Queries that a paired t-test needs to detect a difference (significance level {result.alpha:g}, missed with"
        f" probability {result.beta:g}), and the difference that {len(result.queries)} queries detect"
    )
    heads = (
        "deviation of\ndifferences",
        *(f"{difference:g}" for difference in result.differences),
        f"detectable,\n{len(result.queries)} queries",
    )
    return Page(title, sheet(("measure",), heads, rows))


def two_digits(value: float) -> str:
    """A number with two significant digits.

    >>> two_digits(0.11374), two_digits(0.1), two_digits(12.34), two_digits(0.0)
    ('0.11', '0.10', '12', '0')
    """
    if value == 0:
        return "0"
    rounded = float(f"{value:.1e}")
    return f"{rounded:.{max(0, 1 - int(np.floor(np.log10(abs(rounded)))))}f}"
