"""Discriminative power, swap rates, and the number of queries that a difference needs.

The bootstrap sensitivity method of Sakai (SIGIR 2006; *Alternatives to Bpref*, SIGIR 2007, Table 3), the swap method of
Voorhees and Buckley (SIGIR 2002), and topic set size design (Sakai, 2016), all from the same scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from cranfield.data import Booleans, Floats
from cranfield.errors import InputError
from cranfield.evaluation.notes import SENTENCES, Note, QueryNames
from cranfield.evaluation.plan import Undefined
from cranfield.evaluation.scores import Scores
from cranfield.lab.study import SAKAI, Measures, Progress, Samples, Study, StudyResult, check_alike, mean_of
from cranfield.lab.systems import columns_of, defined_for_all, systems_of
from cranfield.report.canvas import (
    COLUMN,
    GREY,
    Drawings,
    across,
    legend_below,
    new_figure,
    room,
    styles,
)
from cranfield.report.pages import Page, table
from cranfield.report.sheet import Cell, shown
from cranfield.settings import Chance, Count, Positive, Whole
from cranfield.statistics.resampling import PairwiseTests, Test, discriminate
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
DIFFERENCES = (0.02, 0.05, 0.1, 0.2)
SEEDS = 5  # of the spread of the difference required, which is the largest of many random numbers
MAX_SWAP_RATE = 0.05  # a difference is large enough if at most this share of pairs is swapped
SENTENCES.update(
    omitted_for_all_measures=(
        "omitted for all measures: {queries}, where a measure is undefined ({by_measure}); {left} queries are used"
    ),
    few_resamples="with {samples} resamples only p = 0 is below {alpha:g}: use more resamples",
    smallest_p="with {cause} the smallest possible p is {least:.2g}: nothing can be significant at {alpha:g}",
)


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


@dataclass(frozen=True)
class Power(Study):
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

    PAPER = SAKAI

    test: Annotated[Test, "Significance test for pairs."] = "bootstrap"
    samples: Samples = 1000
    alpha: Annotated[Chance, "Significance level."] = 0.05
    beta: Annotated[Chance, "Accepted probability of missing one of --differences."] = 0.2
    differences: Annotated[
        tuple[Positive, ...],
        "Difference to detect; the study reports how many queries this takes. May be repeated.",
    ] = DIFFERENCES
    trials: Annotated[Count, "Number of pairs of query sets for swap rates."] = 100
    undefined: Undefined = "skip"
    standardise: Standardisation | None = None
    seed: Whole = 0

    def run(
        self,
        qrels: Any,
        runs: Any = None,
        measures: Measures = DEFAULT,
        *,
        corpus: Any = None,
        progress: Progress | None = None,
    ) -> PowerResult:
        """Test all pairs of runs by each measure."""
        scores = systems_of(
            qrels,
            runs,
            columns_of(qrels, measures, DEFAULT),
            undefined=self.undefined,
            corpus=corpus,
            seed=self.seed,
            standardise=self.standardise,
            progress=progress,
        )
        defined = defined_for_all(scores.values)
        used: Booleans = np.logical_and.reduce(defined, axis=0)
        if used.sum() < 2:
            worst = int(defined.sum(axis=1).argmin())
            name = scores.measures[worst]
            raise InputError(
                [
                    f"all measures are defined for all runs on {used.sum()} of {len(used)} queries; at least two are"
                    f" needed ({name} is defined on {defined[worst].sum()})"
                ],
                hint=f"leave out {name}, or study the measures one at a time",
            )
        values = scores.values[:, :, used]
        sensitivities = [
            self._sensitivity(measure, np.ascontiguousarray(values[:, m])) for m, measure in enumerate(scores.measures)
        ]
        queries = tuple(query for query, is_used in zip(scores.queries, used, strict=True) if is_used)
        resolution = resolution_notes(self.test, self.samples, self.alpha, len(queries))
        notes = (*scores.notes, *_omitted_notes(scores, defined), *resolution)
        return PowerResult(self, scores.runs, queries, tuple(sensitivities), notes)

    def _sensitivity(self, measure: str, values: Floats) -> Sensitivity:
        """The sensitivity of a measure; ``values`` (run, query)."""
        options: dict[str, Any] = {"samples": self.samples, "alpha": self.alpha}
        tests = discriminate(values, self.test, seed=self.seed, **options)
        required = [tests.difference_required]
        if self.test != "t" and not _all_permutations(self.test, self.samples, values.shape[1]):
            seeds = range(self.seed + 1, self.seed + SEEDS)
            required += [discriminate(values, self.test, seed=seed, **options).difference_required for seed in seeds]
        swaps = swap_rates(values, trials=self.trials, seed=self.seed)
        ends = min(required), max(required)
        return Sensitivity(measure, values.mean(axis=1), tests, swaps, difference_variance(values), ends)


@dataclass(frozen=True, eq=False, repr=False)
class PowerResult(StudyResult):
    """The sensitivity of each measure, on the ``queries`` where every measure is defined for every run."""

    DERIVED: ClassVar[tuple[str, ...]] = ("summaries",)

    settings: Power
    runs: tuple[str, ...]
    queries: tuple[str, ...]
    sensitivities: tuple[Sensitivity, ...]
    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        runs = len(self.runs)
        for part in self.sensitivities:
            sizes = [len(part.means), len(part.tests.p), len(part.tests.difference), len(part.tests.required)]
            if sizes != [runs, *[runs * (runs - 1) // 2] * 3]:
                raise ValueError(f"{part.measure}: another number of runs")

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the measures."""
        return tuple(sensitivity.measure for sensitivity in self.sensitivities)

    @property
    def permutations(self) -> int:
        """The number of sign permutations if the test enumerates all of them; otherwise 0."""
        return _all_permutations(self.settings.test, self.settings.samples, len(self.queries))

    @property
    def ranked(self) -> list[Sensitivity]:
        """The measures by decreasing discriminative power, as in Sakai's Table 3."""
        return sorted(self.sensitivities, key=lambda sensitivity: -sensitivity.tests.power)

    def queries_needed(self, sensitivity: Sensitivity, difference: float) -> int | None:
        """The number of queries that a paired t-test needs to detect a difference; None if it is out of reach."""
        return queries_needed(sensitivity.variance, difference, **self._design)

    def detectable_difference(self, sensitivity: Sensitivity) -> float:
        """The difference that a paired t-test detects on the queries of this study."""
        return detectable_difference(sensitivity.variance, len(self.queries), **self._design)

    @property
    def _design(self) -> dict[str, float]:
        return {"alpha": self.settings.alpha, "power": 1 - self.settings.beta}

    @property
    def summaries(self) -> list[dict[str, Any]]:
        """What follows from the tests and the swaps of each measure."""
        return [
            {
                "measure": sensitivity.measure,
                "significant": int(sensitivity.tests.significant.sum()),
                "pairs": len(sensitivity.tests.p),
                "power": sensitivity.tests.power,
                "difference_required": sensitivity.tests.difference_required,
                "queries_needed": {
                    f"{size:g}": self.queries_needed(sensitivity, size) for size in self.settings.differences
                },
                "detectable": self.detectable_difference(sensitivity),
                "swaps_required": sensitivity.swaps.required(MAX_SWAP_RATE),
                "swaps_required_extrapolated": sensitivity.swaps.required(MAX_SWAP_RATE, extrapolated=True),
            }
            for sensitivity in self.sensitivities
        ]

    @property
    def _values(self) -> Floats:
        """What the tables have of each measure, (measure, value); see `_pages`."""
        rows = []
        for part in self.sensitivities:
            swaps, tests = part.swaps, part.tests
            required, extrapolated = swaps.required(MAX_SWAP_RATE), swaps.required(MAX_SWAP_RATE, extrapolated=True)
            swapped = swaps.swapped[-1].sum() / swaps.compared[-1].sum()
            of_tests = tests.power, tests.difference_required, *part.required_range
            rows.append([*of_tests, swapped, required, swaps.share(required), extrapolated, part.variance])
        return np.array(rows, np.float64)

    def pages(self, digits: int = 4) -> list[Page]:
        """Discriminative power, swap rates, and the number of queries that a difference needs."""
        return _pages(self, self._values, digits)

    @classmethod
    def mean_pages(cls, results: Sequence[PowerResult], digits: int = 4) -> list[Page]:
        """The same averaged over collections; the number of queries follows from the mean variance of differences."""
        check_alike(results, "measures", "settings")
        mean = mean_of([result._values for result in results])
        return _pages(results[0], mean, digits, f", mean over {len(results)} collections")

    def drawings(self) -> Drawings:
        """P-values of all pairs, swap rates, and queries needed."""
        panels = {"power-asl": draw_p_values, "power-swaps": draw_swap_rates, "power-queries": draw_queries_needed}
        return {name: partial(draw, self, panel) for name, panel in panels.items()}


def _omitted_notes(scores: Scores, defined: Booleans) -> Iterator[Note]:
    omitted = np.flatnonzero((~defined).any(axis=0)).tolist()
    if omitted:
        counts = {m: int((~row).sum()) for m, row in zip(scores.measures, defined, strict=True)}
        values = {
            "queries": QueryNames.of([scores.queries[q] for q in omitted]),
            "by_measure": ", ".join(f"{measure} on {count}" for measure, count in counts.items() if count),
            "left": len(scores.queries) - len(omitted),
        }
        yield Note("omitted_for_all_measures", values=values)


def _all_permutations(test: Test, samples: int, queries: int) -> int:
    return 2**queries if test == "randomisation" and 2.0**queries <= samples else 0


def resolution_notes(test: Test, samples: int, alpha: float, queries: int) -> Iterator[Note]:
    """A note if the test cannot reach significance with so few resamples or queries."""
    permutations = _all_permutations(test, samples, queries)
    least = 2 / permutations if permutations else 1 / (samples + 1)
    if test == "bootstrap" and samples * alpha < 1:
        yield Note("few_resamples", values={"samples": samples, "alpha": alpha})
    elif test not in ("t", "bootstrap") and least >= alpha:
        cause = f"{queries} queries" if permutations else f"{samples} resamples"
        yield Note("smallest_p", values={"cause": cause, "least": least, "alpha": alpha})


TEST_NAMES = {
    "bootstrap": "paired bootstrap test",
    "randomisation": "paired randomisation test",
    "randomised-tukey": "randomised Tukey HSD test",
    "t": "paired t-test",
}


def _test(result: PowerResult) -> str:
    """The test, with its resamples."""
    if result.settings.test == "t":
        return TEST_NAMES["t"]
    if result.permutations:
        return f"{TEST_NAMES[result.settings.test]}, all {result.permutations} permutations"
    return f"{TEST_NAMES[result.settings.test]}, {result.settings.samples} resamples, seed {result.settings.seed}"


def _pages(result: PowerResult, values: Floats, digits: int, mean: str = "") -> list[Page]:
    """The tables of one collection, or of the mean over several."""
    settings, queries = result.settings, f"{len(result.queries)} queries"
    highest = values[:, 0].max() if np.ptp(values[:, 0]) > 0 else np.nan
    power_rows, swap_rows, query_rows = [], [], []
    for m in np.argsort(-values[:, 0], kind="stable").tolist():
        part = result.sensitivities[m]
        power, required, low, high, swapped, swap_required, share, extrapolated, variance = values[m].tolist()
        pairs = [] if mean else [f"{part.tests.significant.sum()}/{len(part.tests.p)}"]
        # Nothing is random where the ends are the same.
        ends = "–" if low == high else f"{low:.3f} to {high:.3f}"
        cells: list[Cell | str] = [*pairs, Cell(f"{power:.1%}", best=power == highest), two_digits(required), ends]
        power_rows.append((part.measure, cells))
        differences = shown(swap_required, digits), f"{share:.1%}", shown(extrapolated, digits)
        swap_rows.append((part.measure, [f"{swapped:.1%}", *differences]))
        needed = [queries_needed(variance, size, **result._design) for size in settings.differences]
        counts = [f"> {MAX_QUERIES:,}" if count is None else f"{count:,}" for count in needed]
        detectable = [] if mean else [shown(result.detectable_difference(part), digits)]
        query_rows.append((part.measure, [shown(float(np.sqrt(variance)), digits), *counts, *detectable]))
    pairs_of = "share of the pairs of runs" if mean else f"pairs of {len(result.runs)} runs"
    sets = "two halves of the queries" if mean else f"two sets of {result.sensitivities[0].swaps.sizes[-1]} queries"
    titles = (
        f"Discriminative power{mean}: {pairs_of} that differ significantly at {settings.alpha:g}"
        f"{'' if mean else f', {queries}'} ({_test(result)})",
        f"Swap rates{mean}: pairs whose order differs between {sets} ({settings.trials} trials), and the smallest"
        f" difference with a swap rate of at most {MAX_SWAP_RATE:.0%} (–: none)",
        f"Queries that a paired t-test needs to detect a difference (significance level {settings.alpha:g}, missed with"
        f" probability {settings.beta:g})"
        + (f": from the variance of differences{mean}" if mean else f", and the difference that {queries} detect"),
    )
    power_heads = [*([] if mean else ["pairs"]), "power", "difference\nrequired", f"over {SEEDS}\nseeds"]
    swap_heads = "pairs\nswapped", "difference", "share of\npairs", f"difference,\n{'all queries' if mean else queries}"
    query_heads = ["deviation of\ndifferences", *(f"{size:g}" for size in settings.differences)]
    query_heads += [] if mean else [f"detectable,\n{queries}"]
    return [
        table(titles[0], ("measure",), power_heads, power_rows, ""),
        table(titles[1], ("measure",), swap_heads, swap_rows, ""),
        table(titles[2], ("measure",), query_heads, query_rows, ""),
    ]


def two_digits(value: float) -> str:
    """A number with two significant digits.

    >>> two_digits(0.11374), two_digits(0.1), two_digits(12.34), two_digits(0.0)
    ('0.11', '0.10', '12', '0')
    """
    if value == 0:
        return "0"
    rounded = float(f"{value:.1e}")
    return f"{rounded:.{max(0, 1 - int(np.floor(np.log10(abs(rounded)))))}f}"


AXIS_LEVELS = 4  # the axis of p-values ends at this multiple of alpha, if every measure has pairs below it
MIN_PAIRS = 3  # the fewest pairs that each measure must have below that end
POINTS = 60
LEGEND = 6  # points


def draw(result: PowerResult, panel: Any) -> Figure:
    """One panel with a legend below it."""
    names = [f"{sensitivity.measure} (00.0%)" for sensitivity in result.sensitivities]
    columns = across(names, COLUMN, 2, LEGEND)
    width, rows = max(COLUMN, room(names, LEGEND)), -(-len(names) // columns)
    figure = new_figure(width, 2.2 + 0.13 * rows)
    axis = panel(result, figure.subplots())
    legend_below(figure, axis, columns, fontsize=LEGEND, handlelength=2.6)
    return figure


def line_styles(result: PowerResult) -> dict[str, dict[str, Any]]:
    """The style of each measure; measures differ in colour and marker."""
    line = {"markersize": 2.8, "markerfacecolor": "white", "markeredgewidth": 0.7, "linewidth": 0.9}
    names = [sensitivity.measure for sensitivity in result.ranked]
    return {name: style | line for name, style in zip(names, styles(len(names)), strict=True)}


def draw_p_values(result: PowerResult, axis: Axes) -> Axes:
    """The p-values of all pairs in decreasing order: the closer to the origin, the more sensitive the measure."""
    from matplotlib.ticker import MaxNLocator

    lines = line_styles(result)
    top = min(1.0, AXIS_LEVELS * result.settings.alpha)
    if min((sensitivity.tests.p <= top).sum() for sensitivity in result.sensitivities) < MIN_PAIRS:
        top = 1.0
    pairs = len(result.sensitivities[0].tests.p)
    for i, sensitivity in enumerate(result.ranked):
        p = np.sort(sensitivity.tests.p)[::-1]
        # Shifted, so that the markers of different curves do not overlap.
        every = max(1, pairs // 8)
        marks = (int(every * i / len(lines)), every)
        axis.plot(
            np.arange(1, pairs + 1),
            p,
            **lines[sensitivity.measure],
            markevery=marks,
            label=f"{sensitivity.measure} ({sensitivity.tests.power:.1%})",
        )
    axis.set_ylim(-0.01 * top, 1.01 * top)
    axis.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    first = min(int((sensitivity.tests.p > top).sum()) for sensitivity in result.sensitivities)
    axis.set_xlim(max(0, first - 0.03 * (pairs - first)), pairs + max(1, 0.01 * pairs))
    _draw_level(axis, result.settings.alpha, f"α = {result.settings.alpha:g}")
    axis.set_xlabel(f"pairs of {len(result.runs)} runs, by decreasing p")
    axis.set_ylabel("achieved significance level (p)")
    return axis


def draw_swap_rates(result: PowerResult, axis: Axes) -> Axes:
    """The swap rate of a pair by its difference on the first set of queries."""
    from matplotlib.ticker import MaxNLocator

    lines = line_styles(result)
    last = max(np.flatnonzero(sensitivity.swaps.compared[-1])[-1] for sensitivity in result.sensitivities)
    for sensitivity in result.ranked:
        swaps = sensitivity.swaps
        axis.plot(swaps.edges, 100 * swaps.rates[-1], **lines[sensitivity.measure], label=sensitivity.measure)
    _draw_level(axis, 100 * MAX_SWAP_RATE, f"{MAX_SWAP_RATE:.0%}")
    axis.set_ylim(bottom=0)
    if last < len(result.sensitivities[0].swaps.edges) - 1:
        axis.set_xlim(right=max(sensitivity.swaps.edges[last + 1] for sensitivity in result.sensitivities))
    size = int(result.sensitivities[0].swaps.sizes[-1])
    axis.xaxis.set_major_locator(MaxNLocator(5))
    axis.set_xlabel(f"difference on {size} queries")
    axis.set_ylabel(f"swapped on {size} other queries (%)")
    return axis


def draw_queries_needed(result: PowerResult, axis: Axes) -> Axes:
    """The number of queries that a paired t-test needs, by the difference to detect."""
    lines = line_styles(result)
    differences = np.geomspace(min(0.01, *result.settings.differences), max(0.3, *result.settings.differences), POINTS)
    for i, sensitivity in enumerate(result.ranked):
        if sensitivity.variance == 0:
            continue
        counts = [result.queries_needed(sensitivity, float(difference)) or np.nan for difference in differences]
        every = POINTS // 6
        marks = (int(every * i / len(lines)), every)
        axis.plot(differences, counts, **lines[sensitivity.measure], markevery=marks, label=sensitivity.measure)
    axis.set_xscale("log")
    axis.set_yscale("log")
    _draw_level(axis, len(result.queries), f"{len(result.queries)} queries (this study)", left=True)
    ticks = sorted({0.01, 0.02, 0.05, 0.1, 0.2, *result.settings.differences})
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.yaxis.set_major_formatter("{x:,.0f}")
    axis.minorticks_off()
    axis.set_xlabel("difference to detect")
    axis.set_ylabel(f"queries needed (α = {result.settings.alpha:g}, β = {result.settings.beta:g})")
    return axis


def _draw_level(axis: Axes, height: float, text: str, *, left: bool = False) -> None:
    """A horizontal line with a label above one of its ends."""
    axis.axhline(height, color=GREY, linewidth=0.6, linestyle=":")
    style: dict[str, Any] = {"ha": "left" if left else "right", "va": "bottom", "fontsize": 6, "color": GREY}
    axis.annotate(text, (0.01 if left else 1, height), (0, 1.5), axis.get_yaxis_transform(), "offset points", **style)
