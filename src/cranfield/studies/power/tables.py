"""The tables of the study `power`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from cranfield.data import Floats
from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell, shown
from cranfield.statistics.design import MAX_QUERIES
from cranfield.studies.power.experiment import MAX_SWAP_RATE, Power, Sensitivity
from cranfield.studies.several import check_alike, mean_of

TESTS = {
    "bootstrap": "paired bootstrap test",
    "randomisation": "paired randomisation test",
    "randomised-tukey": "randomised Tukey HSD test",
    "t": "paired t-test",
}
SWAP_HEADS = ("pairs\nswapped", "difference", "share of\npairs")


def tables(result: Power, digits: int = 4) -> list[Page]:
    """Discriminative power, swap rates, and the number of queries that a difference needs."""
    return [_power_table(result), _swap_table(result, digits), _query_table(result, digits)]


def mean_tables(results: list[Power], digits: int = 4) -> list[Page]:
    """The same averaged over collections; the number of queries follows from the mean variance of differences."""
    check_alike(results, "measures", "test", "samples", "alpha", "beta", "differences", "trials")
    first, scope = results[0], f"mean over {len(results)} collections"

    def mean(values: Callable[[Sensitivity], Sequence[float]]) -> Floats:
        return mean_of([np.array([values(part) for part in result.sensitivities]) for result in results])

    power = mean(lambda part: (part.tests.power, part.tests.difference_required))
    swaps, variance = mean(_swap_values), mean(lambda part: (part.variance,))
    order = np.argsort(-power[:, 0], kind="stable").tolist()
    best = power[:, 0].max() if np.ptp(power[:, 0]) > 0 else np.nan
    power_rows, swap_rows, query_rows = [], [], []
    for m in order:
        name = (first.measures[m],)
        share, required = power[m].tolist()
        power_rows.append((name, [Cell(f"{share:.1%}", best=share == best), Cell(two_digits(required))]))
        swap_rows.append((name, _swap_cells(swaps[m].tolist(), digits)))
        pooled = replace(first.sensitivities[m], variance=float(variance[m, 0]))
        query_rows.append((name, _query_cells(first, pooled, digits)))
    return [
        Page(
            f"Discriminative power, {scope}: share of the pairs of runs that differ significantly at {first.alpha:g}"
            f" ({_test(first)})",
            sheet(("measure",), ("power", "difference\nrequired"), power_rows, ""),
        ),
        Page(
            f"Swap rates, {scope}: pairs whose order differs between two halves of the queries ({first.trials} trials),"
            f" and the smallest difference with a swap rate of at most {MAX_SWAP_RATE:.0%} (–: none)",
            sheet(("measure",), (*SWAP_HEADS, "difference,\nall queries"), swap_rows, ""),
        ),
        Page(
            f"{_needed(first)}: from the variance of differences, {scope}",
            sheet(("measure",), _query_heads(first), query_rows, ""),
        ),
    ]


def _test(result: Power) -> str:
    """The test, with its resamples."""
    if result.test == "t":
        return TESTS["t"]
    if result.permutations:
        return f"{TESTS[result.test]}, all {result.permutations} permutations"
    return f"{TESTS[result.test]}, {result.samples} resamples, seed {result.seed}"


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
    title = (
        f"Discriminative power: pairs of {len(result.runs)} runs that differ significantly at {result.alpha:g},"
        f" {len(result.queries)} queries ({_test(result)})"
    )
    return Page(title, sheet(("measure",), ("pairs", "power", "difference\nrequired"), rows, ""))


def _swap_values(sensitivity: Sensitivity) -> tuple[float, float, float, float]:
    """The share of swapped pairs; the difference required, with its share of pairs; and that for all queries."""
    swaps = sensitivity.swaps
    required, extrapolated = swaps.required(MAX_SWAP_RATE), swaps.required(MAX_SWAP_RATE, extrapolated=True)
    return swaps.swapped[-1].sum() / swaps.compared[-1].sum(), required, swaps.share(required), extrapolated


def _swap_cells(values: Sequence[float], digits: int) -> list[Cell]:
    swapped, required, share, extrapolated = values
    texts = (f"{swapped:.1%}", shown(required, digits), f"{share:.1%}", shown(extrapolated, digits))
    return [Cell(text) for text in texts]


def _swap_table(result: Power, digits: int) -> Page:
    rows = [((part.measure,), _swap_cells(_swap_values(part), digits)) for part in result.ranked]
    size = int(result.sensitivities[0].swaps.sizes[-1])
    title = (
        f"Swap rates: pairs whose order differs between two sets of {size} queries ({result.trials} trials), and the"
        f" smallest difference with a swap rate of at most {MAX_SWAP_RATE:.0%} (–: none)"
    )
    heads = (*SWAP_HEADS, f"difference,\n{len(result.queries)} queries")
    return Page(title, sheet(("measure",), heads, rows, ""))


def _needed(result: Power) -> str:
    return (
        f"Queries that a paired t-test needs to detect a difference (significance level {result.alpha:g}, missed with"
        f" probability {result.beta:g})"
    )


def _query_heads(result: Power) -> tuple[str, ...]:
    return "deviation of\ndifferences", *(f"{difference:g}" for difference in result.differences)


def _query_cells(result: Power, sensitivity: Sensitivity, digits: int) -> list[Cell]:
    """The deviation of differences, and the number of queries for each difference."""
    counts = [result.queries_needed(sensitivity, difference) for difference in result.differences]
    cells = [Cell(f"> {MAX_QUERIES:,}" if count is None else f"{count:,}") for count in counts]
    return [Cell(shown(float(np.sqrt(sensitivity.variance)), digits)), *cells]


def _query_table(result: Power, digits: int) -> Page:
    rows = []
    for part in result.ranked:
        detectable = Cell(shown(result.detectable_difference(part), digits))
        rows.append(((part.measure,), [*_query_cells(result, part, digits), detectable]))
    queries = f"{len(result.queries)} queries"
    heads = (*_query_heads(result), f"detectable,\n{queries}")
    return Page(f"{_needed(result)}, and the difference that {queries} detect", sheet(("measure",), heads, rows, ""))


def two_digits(value: float) -> str:
    """A number with two significant digits.

    >>> two_digits(0.11374), two_digits(0.1), two_digits(12.34), two_digits(0.0)
    ('0.11', '0.10', '12', '0')
    """
    if value == 0:
        return "0"
    rounded = float(f"{value:.1e}")
    return f"{rounded:.{max(0, 1 - int(np.floor(np.log10(abs(rounded)))))}f}"
