"""Discriminative power, swap rates, and the number of queries that a difference needs.

The bootstrap sensitivity method of Sakai (SIGIR 2006; *Alternatives to Bpref*, SIGIR 2007, Table 3), the swap method of
Voorhees and Buckley (SIGIR 2002), and topic set size design (Sakai, 2016), all from the same scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from cranfield.data import Booleans, Floats
from cranfield.errors import InputError, UsageError, check_choice, check_count, check_fraction
from cranfield.evaluation.notes import QueryNames
from cranfield.evaluation.plan import Undefined
from cranfield.lab import registry
from cranfield.lab.registry import SAKAI, Measures, Progress, Samples, check_alike, mean_of
from cranfield.lab.systems import SystemValues, columns_of, systems_of
from cranfield.report.canvas import (
    BLACK,
    BLUE,
    COLUMN,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    Drawings,
    across,
    new_figure,
    room,
)
from cranfield.report.pages import Page, table
from cranfield.report.sheet import Cell, shown
from cranfield.settings import Chance, Count, Option, Positive
from cranfield.statistics.resampling import TESTS, PairwiseTests, Test, discriminate
from cranfield.statistics.sample_size import (
    MAX_QUERIES,
    SwapRates,
    detectable_difference,
    difference_variance,
    queries_needed,
    swap_rates,
)
from cranfield.statistics.standardisation import Standardisation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


DEFAULT = ("AP", "nDCG", "nDCG@10", "P@10", "RR", "bpref", "Q", "AP[condensed]", "nDCG[condensed]", "Q[condensed]")
PAPER = SAKAI
DIFFERENCES = (0.02, 0.05, 0.1, 0.2)
SEEDS = 5  # of the spread of the difference required, which is the largest of many random numbers
MAX_SWAP_RATE = 0.05  # a difference is large enough if at most this share of pairs is swapped


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """The sensitivity of one measure.

    ``means``: of each run; ``tests``: every pair of runs; ``swaps``: how often other queries reverse a pair;
    ``variance``: of the difference between two runs over queries, averaged over pairs. ``required_range``: the lowest
    and highest difference required over several seeds, of which ``tests`` has the first.
    """

    measure: str
    means: Floats
    tests: PairwiseTests
    swaps: SwapRates
    variance: float
    required_range: tuple[float, float]


@dataclass(frozen=True, eq=False, repr=False)
class Power(registry.StudyResult):
    """The sensitivity of each measure, on the ``queries`` where every measure is defined for every run."""

    JSON: ClassVar[tuple[str, ...]] = (
        *("settings/test", "settings/samples", "settings/alpha", "settings/beta", "settings/differences"),
        *("settings/trials", "settings/undefined", "settings/seed", "runs", "queries"),
        *("measures/{measures} = summaries", "measures/{measures} = sensitivities", "notes"),
    )

    runs: tuple[str, ...]
    queries: tuple[str, ...]
    sensitivities: tuple[Sensitivity, ...]
    test: Test
    samples: int
    alpha: float
    beta: float
    differences: tuple[float, ...]
    trials: int
    undefined: Undefined
    seed: int
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        runs = len(self.runs)
        for one in self.sensitivities:
            sizes = [len(one.means), len(one.tests.p), len(one.tests.difference), len(one.tests.required)]
            if sizes != [runs, *[runs * (runs - 1) // 2] * 3]:
                raise ValueError(f"{one.measure}: another number of runs")

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the measures."""
        return tuple(sensitivity.measure for sensitivity in self.sensitivities)

    @property
    def permutations(self) -> int:
        """The number of sign permutations if the test enumerates all of them; otherwise 0."""
        return _all_permutations(self.test, self.samples, len(self.queries))

    @property
    def ranked(self) -> list[Sensitivity]:
        """The measures by decreasing discriminative power, as in Sakai's Table 3."""
        return sorted(self.sensitivities, key=lambda sensitivity: -sensitivity.tests.power)

    def queries_needed(self, sensitivity: Sensitivity, difference: float) -> int | None:
        """The number of queries that a paired t-test needs to detect a difference; None if it is out of reach."""
        return queries_needed(sensitivity.variance, difference, alpha=self.alpha, power=1 - self.beta)

    def detectable_difference(self, sensitivity: Sensitivity) -> float:
        """The difference that a paired t-test detects on the queries of this study."""
        return detectable_difference(sensitivity.variance, len(self.queries), alpha=self.alpha, power=1 - self.beta)

    @property
    def summaries(self) -> list[dict[str, Any]]:
        """What follows from the tests and the swaps of each measure."""
        return [
            {
                "significant": int(sensitivity.tests.significant.sum()),
                "pairs": len(sensitivity.tests.p),
                "power": sensitivity.tests.power,
                "difference_required": sensitivity.tests.difference_required,
                "difference_required_over_seeds": list(sensitivity.required_range),
                "queries_needed": {f"{size:g}": self.queries_needed(sensitivity, size) for size in self.differences},
                "detectable": self.detectable_difference(sensitivity),
                "swaps": {
                    "required": sensitivity.swaps.required(MAX_SWAP_RATE),
                    "required_extrapolated": sensitivity.swaps.required(MAX_SWAP_RATE, extrapolated=True),
                },
            }
            for sensitivity in self.sensitivities
        ]


@registry.recorded
def power(
    qrels: Any,
    runs: Any = None,
    measures: Measures = DEFAULT,
    *,
    test: Annotated[Test, "Significance test for pairs."] = "bootstrap",
    samples: Samples = 1000,
    alpha: Annotated[Chance, "Significance level."] = 0.05,
    beta: Annotated[Chance, "Accepted probability of missing a --difference."] = 0.2,
    differences: Annotated[
        Sequence[Positive],
        tuple,
        "Difference to detect; the study reports how many queries this takes. May be repeated.",
        Option("--difference"),
    ] = DIFFERENCES,
    trials: Annotated[Count, "Number of pairs of query sets for swap rates."] = 100,
    undefined: Undefined = "skip",
    standardise: Standardisation | None = None,
    corpus: Any = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Power:
    """Discriminative power of measures, and how many queries it takes.

    Tests every pair of at least two runs, and reports discriminative power and the difference required, as in Table 3
    of Sakai, "Alternatives to Bpref" (SIGIR 2007). Also reports how often other queries reverse the order of a pair,
    and how many queries are needed to detect a given difference. A query where a measure is undefined is omitted for
    all measures, unless undefined scores count as 0 or 1. Scores that another program computed take the place of
    judgments and runs. ::

        cranfield study power qrels.txt *.run -m "AP nDCG@10 RR" --figures figures
        cranfield study power qrels.txt *.run --test randomised-tukey --samples 10000
        cranfield study power --scores judge.csv
    """
    check_choice("test", test, TESTS)
    samples, trials = check_count("samples", samples), check_count("trials", trials)
    alpha, beta = check_fraction("alpha", alpha), check_fraction("beta", beta)
    for difference in differences:
        if not 0 < difference < math.inf:
            raise UsageError(f"a difference must be positive and finite, not {difference:g}")
    systems = systems_of(
        qrels,
        runs,
        columns_of(qrels, measures, DEFAULT),
        undefined=undefined,
        corpus=corpus,
        seed=seed,
        standardise=standardise,
        progress=progress,
    )
    used: Booleans = np.logical_and.reduce(systems.defined, axis=0)
    if used.sum() < 2:
        worst = int(systems.defined.sum(axis=1).argmin())
        raise InputError(
            [
                f"all measures are defined for all runs on {used.sum()} of {len(used)} queries; at least two are needed"
                f" ({systems.measures[worst]} is defined on {systems.defined[worst].sum()})"
            ],
            hint=f"leave out {systems.measures[worst]}, or study the measures one at a time",
        )
    sensitivities = []
    for m, measure in enumerate(systems.measures):
        scores = np.ascontiguousarray(systems.values[:, m][:, used])
        tests = discriminate(scores, test, samples=samples, alpha=alpha, seed=seed)
        swaps = swap_rates(scores, trials=trials, seed=seed)
        required = [tests.difference_required]
        if test != "t" and not _all_permutations(test, samples, int(used.sum())):
            seeds = range(seed + 1, seed + SEEDS)
            again = (discriminate(scores, test, samples=samples, alpha=alpha, seed=other) for other in seeds)
            required += [tests.difference_required for tests in again]
        variance, ends = difference_variance(scores), (min(required), max(required))
        sensitivities.append(Sensitivity(measure, scores.mean(axis=1), tests, swaps, variance, ends))
    notes = (*systems.input_notes, *_omitted_notes(systems), *resolution_notes(test, samples, alpha, int(used.sum())))
    queries = tuple(query for query, is_used in zip(systems.queries, used, strict=True) if is_used)
    return Power(
        systems.runs,
        queries,
        tuple(sensitivities),
        test,
        samples,
        alpha,
        beta,
        tuple(dict.fromkeys(map(float, differences))),
        trials,
        undefined,
        seed,
        notes,
    )


def _omitted_notes(systems: SystemValues) -> Iterator[str]:
    omitted = np.flatnonzero((~systems.defined).any(axis=0)).tolist()
    if not omitted:
        return
    counts = {m: int((~row).sum()) for m, row in zip(systems.measures, systems.defined, strict=True)}
    by_measure = ", ".join(f"{measure} on {count}" for measure, count in counts.items() if count)
    names, left = QueryNames.of([systems.queries[q] for q in omitted]), len(systems.queries) - len(omitted)
    yield f"omitted for all measures: {names}, where a measure is undefined ({by_measure}); {left} queries are used"


def _all_permutations(test: Test, samples: int, queries: int) -> int:
    return 2**queries if test == "randomisation" and 2.0**queries <= samples else 0


def resolution_notes(test: Test, samples: int, alpha: float, queries: int) -> Iterator[str]:
    """A note if the test cannot reach significance with so few resamples or queries."""
    if test == "t":
        return
    permutations = _all_permutations(test, samples, queries)
    if test == "bootstrap":
        if samples * alpha < 1:
            yield f"with {samples} resamples only p = 0 is below {alpha:g}: use more resamples"
        return
    least = 2 / permutations if permutations else 1 / (samples + 1)
    if least >= alpha:
        cause = f"{queries} queries" if permutations else f"{samples} resamples"
        yield f"with {cause} the smallest possible p is {least:.2g}: nothing can be significant at {alpha:g}"


TEST_NAMES = {
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

    power = mean(lambda part: (part.tests.power, part.tests.difference_required, *part.required_range))
    swaps, variance = mean(_swap_values), mean(lambda part: (part.variance,))
    order = np.argsort(-power[:, 0], kind="stable").tolist()
    best = power[:, 0].max() if np.ptp(power[:, 0]) > 0 else np.nan
    power_rows, swap_rows, query_rows = [], [], []
    for m in order:
        name = first.measures[m]
        share, required, low, high = power[m].tolist()
        cells = Cell(f"{share:.1%}", best=share == best), two_digits(required), _range((low, high))
        power_rows.append((name, cells))
        swap_rows.append((name, _swap_cells(swaps[m].tolist(), digits)))
        pooled = replace(first.sensitivities[m], variance=float(variance[m, 0]))
        query_rows.append((name, _query_cells(first, pooled, digits)))
    titles = (
        f"Discriminative power, {scope}: share of the pairs of runs that differ significantly at {first.alpha:g}"
        f" ({_test(first)})",
        f"Swap rates, {scope}: pairs whose order differs between two halves of the queries ({first.trials} trials),"
        f" and the smallest difference with a swap rate of at most {MAX_SWAP_RATE:.0%} (–: none)",
        f"{_needed(first)}: from the variance of differences, {scope}",
    )
    return [
        table(titles[0], ("measure",), ("power", "difference\nrequired", f"over {SEEDS}\nseeds"), power_rows, ""),
        table(titles[1], ("measure",), (*SWAP_HEADS, "difference,\nall queries"), swap_rows, ""),
        table(titles[2], ("measure",), _query_heads(first), query_rows, ""),
    ]


def _test(result: Power) -> str:
    """The test, with its resamples."""
    if result.test == "t":
        return TEST_NAMES["t"]
    if result.permutations:
        return f"{TEST_NAMES[result.test]}, all {result.permutations} permutations"
    return f"{TEST_NAMES[result.test]}, {result.samples} resamples, seed {result.seed}"


def _power_table(result: Power) -> Page:
    ranked = result.ranked
    best, worst = ranked[0].tests.power, ranked[-1].tests.power
    rows = []
    for sensitivity in ranked:
        tests = sensitivity.tests
        share = Cell(f"{tests.power:.1%}", best=0 < best == tests.power and best > worst)
        pairs = f"{tests.significant.sum()}/{len(tests.p)}"
        required = two_digits(tests.difference_required), _range(sensitivity.required_range)
        rows.append((sensitivity.measure, (pairs, share, *required)))
    title = (
        f"Discriminative power: pairs of {len(result.runs)} runs that differ significantly at {result.alpha:g},"
        f" {len(result.queries)} queries ({_test(result)})"
    )
    heads = ("pairs", "power", "difference\nrequired", f"over {SEEDS}\nseeds")
    return table(title, ("measure",), heads, rows, "")


def _range(ends: tuple[float, float]) -> str:
    """Two numbers, or a dash if nothing is random."""
    return "–" if ends[0] == ends[1] else f"{ends[0]:.3f} to {ends[1]:.3f}"


def _swap_values(sensitivity: Sensitivity) -> tuple[float, float, float, float]:
    """The share of swapped pairs; the difference required, with its share of pairs; and that for all queries."""
    swaps = sensitivity.swaps
    required, extrapolated = swaps.required(MAX_SWAP_RATE), swaps.required(MAX_SWAP_RATE, extrapolated=True)
    return swaps.swapped[-1].sum() / swaps.compared[-1].sum(), required, swaps.share(required), extrapolated


def _swap_cells(values: Sequence[float], digits: int) -> list[str]:
    swapped, required, share, extrapolated = values
    return [f"{swapped:.1%}", shown(required, digits), f"{share:.1%}", shown(extrapolated, digits)]


def _swap_table(result: Power, digits: int) -> Page:
    rows = [(part.measure, _swap_cells(_swap_values(part), digits)) for part in result.ranked]
    size = int(result.sensitivities[0].swaps.sizes[-1])
    title = (
        f"Swap rates: pairs whose order differs between two sets of {size} queries ({result.trials} trials), and the"
        f" smallest difference with a swap rate of at most {MAX_SWAP_RATE:.0%} (–: none)"
    )
    heads = (*SWAP_HEADS, f"difference,\n{len(result.queries)} queries")
    return table(title, ("measure",), heads, rows, "")


def _needed(result: Power) -> str:
    return (
        f"Queries that a paired t-test needs to detect a difference (significance level {result.alpha:g}, missed with"
        f" probability {result.beta:g})"
    )


def _query_heads(result: Power) -> tuple[str, ...]:
    return "deviation of\ndifferences", *(f"{difference:g}" for difference in result.differences)


def _query_cells(result: Power, sensitivity: Sensitivity, digits: int) -> list[str]:
    """The deviation of differences, and the number of queries for each difference."""
    counts = [result.queries_needed(sensitivity, difference) for difference in result.differences]
    cells = [f"> {MAX_QUERIES:,}" if count is None else f"{count:,}" for count in counts]
    return [shown(float(np.sqrt(sensitivity.variance)), digits), *cells]


def _query_table(result: Power, digits: int) -> Page:
    rows = []
    for part in result.ranked:
        detectable = shown(result.detectable_difference(part), digits)
        rows.append((part.measure, [*_query_cells(result, part, digits), detectable]))
    queries = f"{len(result.queries)} queries"
    heads = (*_query_heads(result), f"detectable,\n{queries}")
    return table(f"{_needed(result)}, and the difference that {queries} detect", ("measure",), heads, rows, "")


def two_digits(value: float) -> str:
    """A number with two significant digits.

    >>> two_digits(0.11374), two_digits(0.1), two_digits(12.34), two_digits(0.0)
    ('0.11', '0.10', '12', '0')
    """
    if value == 0:
        return "0"
    rounded = float(f"{value:.1e}")
    return f"{rounded:.{max(0, 1 - int(np.floor(np.log10(abs(rounded)))))}f}"


COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, BLACK)
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
MARKERS = "osD^vPX*<>"
AXIS_LEVELS = 4  # the axis of p-values ends at this multiple of alpha, if every measure has pairs below it
MIN_PAIRS = 3  # the fewest pairs that each measure must have below that end
POINTS = 60
LEGEND = 6  # points


def drawings(result: Power) -> Drawings:
    """P-values of all pairs, swap rates, and queries needed."""
    panels = {"power-asl": draw_p_values, "power-swaps": draw_swap_rates, "power-queries": draw_queries_needed}
    return {name: partial(draw, result, panel) for name, panel in panels.items()}


def draw(result: Power, panel: Any) -> Figure:
    """One panel with a legend below it."""
    names = [f"{sensitivity.measure} (00.0%)" for sensitivity in result.sensitivities]
    columns = across(names, COLUMN, 2, LEGEND)
    width, rows = max(COLUMN, room(names, LEGEND)), -(-len(names) // columns)
    figure = new_figure(width, 2.2 + 0.13 * rows)
    axis = panel(result, figure.subplots())
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=LEGEND, handlelength=2.6)
    return figure


def line_styles(result: Power) -> dict[str, dict[str, Any]]:
    """The style of each measure; measures differ in colour, dashes and markers."""
    return {
        sensitivity.measure: {
            "color": COLOURS[i % len(COLOURS)],
            "linestyle": DASHES[i // len(COLOURS) % len(DASHES)],
            "marker": MARKERS[i % len(MARKERS)],
            "markersize": 2.8,
            "markerfacecolor": "white",
            "markeredgewidth": 0.7,
            "linewidth": 0.9,
        }
        for i, sensitivity in enumerate(result.ranked)
    }


def draw_p_values(result: Power, axis: Axes) -> Axes:
    """The p-values of all pairs in decreasing order: the closer to the origin, the more sensitive the measure."""
    from matplotlib.ticker import MaxNLocator

    styles = line_styles(result)
    top = min(1.0, AXIS_LEVELS * result.alpha)
    if min((sensitivity.tests.p <= top).sum() for sensitivity in result.sensitivities) < MIN_PAIRS:
        top = 1.0
    pairs = len(result.sensitivities[0].tests.p)
    for i, sensitivity in enumerate(result.ranked):
        p = np.sort(sensitivity.tests.p)[::-1]
        # Shifted, so that the markers of different curves do not overlap.
        every = max(1, pairs // 8)
        marks = (int(every * i / len(styles)), every)
        axis.plot(
            np.arange(1, pairs + 1),
            p,
            **styles[sensitivity.measure],
            markevery=marks,
            label=f"{sensitivity.measure} ({sensitivity.tests.power:.1%})",
        )
    axis.set_ylim(-0.01 * top, 1.01 * top)
    axis.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    first = min(int((sensitivity.tests.p > top).sum()) for sensitivity in result.sensitivities)
    axis.set_xlim(max(0, first - 0.03 * (pairs - first)), pairs + max(1, 0.01 * pairs))
    _draw_level(axis, result.alpha, f"α = {result.alpha:g}")
    axis.set_xlabel(f"pairs of {len(result.runs)} runs, by decreasing p")
    axis.set_ylabel("achieved significance level (p)")
    return axis


def draw_swap_rates(result: Power, axis: Axes) -> Axes:
    """The swap rate of a pair by its difference on the first set of queries."""
    from matplotlib.ticker import MaxNLocator

    styles = line_styles(result)
    last = max(np.flatnonzero(sensitivity.swaps.compared[-1])[-1] for sensitivity in result.sensitivities)
    for sensitivity in result.ranked:
        swaps = sensitivity.swaps
        axis.plot(swaps.edges, 100 * swaps.rates[-1], **styles[sensitivity.measure], label=sensitivity.measure)
    _draw_level(axis, 100 * MAX_SWAP_RATE, f"{MAX_SWAP_RATE:.0%}")
    axis.set_ylim(bottom=0)
    if last < len(result.sensitivities[0].swaps.edges) - 1:
        axis.set_xlim(right=max(sensitivity.swaps.edges[last + 1] for sensitivity in result.sensitivities))
    size = int(result.sensitivities[0].swaps.sizes[-1])
    axis.xaxis.set_major_locator(MaxNLocator(5))
    axis.set_xlabel(f"difference on {size} queries")
    axis.set_ylabel(f"swapped on {size} other queries (%)")
    return axis


def draw_queries_needed(result: Power, axis: Axes) -> Axes:
    """The number of queries that a paired t-test needs, by the difference to detect."""
    styles = line_styles(result)
    differences = np.geomspace(min(0.01, *result.differences), max(0.3, *result.differences), POINTS)
    for i, sensitivity in enumerate(result.ranked):
        if sensitivity.variance == 0:
            continue
        counts = [result.queries_needed(sensitivity, float(difference)) or np.nan for difference in differences]
        every = POINTS // 6
        marks = (int(every * i / len(styles)), every)
        axis.plot(differences, counts, **styles[sensitivity.measure], markevery=marks, label=sensitivity.measure)
    axis.set_xscale("log")
    axis.set_yscale("log")
    _draw_level(axis, len(result.queries), f"{len(result.queries)} queries (this study)", left=True)
    ticks = sorted({0.01, 0.02, 0.05, 0.1, 0.2, *result.differences})
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.yaxis.set_major_formatter("{x:,.0f}")
    axis.minorticks_off()
    axis.set_xlabel("difference to detect")
    axis.set_ylabel(f"queries needed (α = {result.alpha:g}, β = {result.beta:g})")
    return axis


def _draw_level(axis: Axes, height: float, text: str, *, left: bool = False) -> None:
    """A horizontal line with a label above one of its ends."""
    axis.axhline(height, color=GREY, linewidth=0.6, linestyle=":")
    style: dict[str, Any] = {"ha": "left" if left else "right", "va": "bottom", "fontsize": 6, "color": GREY}
    axis.annotate(text, (0.01 if left else 1, height), (0, 1.5), axis.get_yaxis_transform(), "offset points", **style)
