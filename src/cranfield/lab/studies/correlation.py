"""Agreement between measures on the order of systems (Sakai, SIGIR 2007, Table 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from cranfield.data import Floats
from cranfield.errors import UsageError
from cranfield.evaluation.notes import SENTENCES, Note
from cranfield.lab.study import (
    HIGH,
    SAKAI,
    Coefficient,
    Measures,
    Progress,
    Study,
    StudyResult,
    Threshold,
    averaged,
)
from cranfield.lab.systems import COEFFICIENTS, columns_of, system_means, system_notes, systems_of, tie_notes
from cranfield.report.canvas import BLUE, COLUMN, GREY, PAGE, Drawings, new_figure, panels
from cranfield.report.pages import Page, exchanged, table
from cranfield.report.sheet import Cell, shown
from cranfield.settings import Chance, Whole
from cranfield.statistics.correlation import mean_ranks, swaps
from cranfield.statistics.standardisation import Standardisation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# After the paper, with the usual nDCG; `SAKAI` has the measures of the paper itself.
DEFAULT = (
    "bpref",
    "bpref_N",
    "rpref_N",
    "rpref_relative2",
    "AP[condensed]",
    "Q[condensed]",
    "nDCG[condensed]",
    "AP",
    "Q",
    "nDCG",
)
SENTENCES.update(
    references="{symbol}: {measures} are the references, the others the estimates",
    row_reference="{symbol}: the measure in the row is the reference, that in the column the estimate",
)


@dataclass(frozen=True)
class Correlation(Study):
    """Agreement between measures on the order of systems.

    As in Table 2 of Sakai, "Alternatives to Bpref" (SIGIR 2007), for at least two runs. A run's score is its mean over
    the queries where the measure is defined for all runs. The first figure is a heat map with similar measures next to
    each other; the second plots the ranks of runs under each measure against their ranks under the first. Measures that
    read document text need a corpus (Hui et al., ICTIR 2017, Tables 3 and 4 and Figure 2). Scores that another program
    computed take the place of judgments and runs. ::

        cranfield study correlation qrels.txt *.run -m "AP nDCG@10 RR bpref" --coefficient tau_ap
        cranfield study correlation qrels.txt *.run -m "ERR_IA@20 NRBP" --against DELTARB@20 --corpus docs.jsonl
        cranfield study correlation --scores judge.csv
    """

    PAPER = SAKAI

    coefficient: Coefficient = "tau-a"
    threshold: Threshold = HIGH
    alpha: Annotated[Chance, "Significance level of the coefficient."] = 0.01
    standardise: Standardisation | None = None
    swaps: Annotated[bool, "List the pairs of runs that the first measure and another order differently."] = False
    seed: Whole = 0

    def run(
        self,
        qrels: Any,
        runs: Any = None,
        measures: Measures = DEFAULT,
        *,
        against: Annotated[
            Measures | None, "Compare the measures of -m, in rows, with these only, in columns; given like -m."
        ] = None,
        corpus: Any = None,
        progress: Progress | None = None,
    ) -> CorrelationResult:
        """Compare the orders of runs by all pairs of measures."""
        asked = [] if against is None else columns_of(qrels, against, DEFAULT)
        others = {column.measure for column in asked}
        chosen = [column for column in columns_of(qrels, measures, DEFAULT) if column.measure not in others]
        if not chosen:
            raise UsageError("all measures are also in `against`, so that there is nothing to compare")
        if len(chosen) + len(asked) < 2:
            raise UsageError("this study compares measures and needs at least two, got one")
        scores = systems_of(
            qrels,
            runs,
            [*chosen, *asked],
            corpus=corpus,
            seed=self.seed,
            standardise=self.standardise,
            progress=progress,
        )
        comparison = COEFFICIENTS[self.coefficient]
        notes = [*system_notes(scores), *tie_notes(scores, self.coefficient)]
        if not comparison.symmetric:
            values = {"symbol": comparison.symbol, "measures": ", ".join(scores.measures[: len(chosen)])}
            notes.append(Note("references" if asked else "row_reference", values=values))
        means = system_means(scores)
        return CorrelationResult(
            self,
            scores.runs,
            scores.measures,
            len(scores.queries),
            means,
            comparison.compute(means[:, None], means),
            scores.measures[len(chosen) :],
            tuple(notes),
        )


@dataclass(frozen=True, eq=False, repr=False)
class CorrelationResult(StudyResult):
    """The agreement of measures on the order of runs.

    ``means`` (measure, run); ``matrix`` (measure, measure): the row is the reference, if the coefficient has one.
    ``against``: the measures, the last ones, that the others are compared with; empty if all are compared with all.
    """

    DERIVED: ClassVar[tuple[str, ...]] = ("critical", "clustered_measures")

    settings: Correlation
    runs: tuple[str, ...]
    measures: tuple[str, ...]
    queries: int
    means: Floats
    matrix: Floats
    against: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def rows(self) -> tuple[str, ...]:
        """The measures in the rows of tables."""
        return tuple(measure for measure in self.measures if measure not in self.against)

    @property
    def columns(self) -> tuple[str, ...]:
        """The measures in the columns of tables."""
        return self.against or self.measures

    @property
    def critical(self) -> float | None:
        """The absolute value that independent orders exceed with probability ``alpha``; None if there is no test."""
        test = COEFFICIENTS[self.settings.coefficient].critical
        return None if test is None else test(len(self.runs), self.settings.alpha)

    @cached_property
    def linkage(self) -> Floats:
        """The average-linkage clustering of the measures, in the format of `scipy.cluster.hierarchy`."""
        from scipy.cluster import hierarchy
        from scipy.spatial.distance import squareform

        # An undefined coefficient counts as no agreement.
        similarity = np.nan_to_num((self.matrix + self.matrix.T) / 2)
        distance = np.clip(1 - similarity, 0, None)
        np.fill_diagonal(distance, 0)
        return np.asarray(hierarchy.linkage(squareform(distance, checks=False), "average", optimal_ordering=True))

    @cached_property
    def clustered(self) -> list[int]:
        """The measures in an order that puts similar ones next to each other."""
        from scipy.cluster import hierarchy

        return [int(i) for i in hierarchy.leaves_list(self.linkage)]

    @property
    def clustered_measures(self) -> list[str]:
        """Their names."""
        return [self.measures[i] for i in self.clustered]

    def swaps(self, first: int, second: int) -> list[tuple[str, str]]:
        """Pairs of runs that two measures order differently; the run that the first measure prefers comes first."""
        return swaps(self.means[first], self.means[second], self.runs)

    def pages(self, digits: int = 4) -> list[Page]:
        """The agreement of every pair of measures, and swapped pairs of runs if they were asked for."""
        scope, critical = f"{len(self.runs)} runs, {self.queries} queries", self.critical
        page = _page(self, scope, digits, -1 if critical is None or critical >= 1 else critical)
        pages = [replace(page, title=f"{page.title}. {significance(self, digits)}")]
        return [*pages, *_swap_pages(self, digits)] if self.settings.swaps else pages

    @classmethod
    def mean_pages(cls, results: Sequence[CorrelationResult], digits: int = 4) -> list[Page]:
        """The agreement of every pair of measures, averaged over collections; there is no test of a mean."""
        mean = averaged(results, ("measures", "against", "settings"), ("matrix",))
        return [_page(mean, f"mean over {len(results)} collections", digits, -1)]

    def drawings(self) -> Drawings:
        """The heat map and the ranks of runs."""
        return {"correlation": partial(draw, self), "correlation-ranks": partial(scatter, self)}


def _page(result: CorrelationResult, scope: str, digits: int, critical: float) -> Page:
    """The coefficients of pairs of measures; those up to the critical value are not significant."""
    index = {measure: m for m, measure in enumerate(result.measures)}

    def cell(row: str, column: str) -> Cell:
        value = float(result.matrix[index[row], index[column]])
        best = value > result.settings.threshold and row != column
        return Cell(shown(value, digits), best=best, aside="n.s." if abs(value) <= critical else "")

    title = f"{result.symbol} between measures, {scope} (bold: above {result.settings.threshold:g})"
    rows = [(row, [cell(row, column) for column in result.columns]) for row in result.rows]
    return table(title, ("measure",), result.columns, rows)


def _swap_pages(result: CorrelationResult, digits: int) -> list[Page]:
    """The pairs of runs that the first measure and another one order differently."""
    first, *others = result.measures
    swaps = {measure: result.swaps(0, m) for m, measure in enumerate(others, 1)}
    return [
        exchanged(pairs, (first, measure), dict(zip(result.runs, result.means[[0, m]].T, strict=True)), digits)
        for m, (measure, pairs) in enumerate(swaps.items(), 1)
        if pairs
    ]


def significance(result: CorrelationResult, digits: int = 4) -> str:
    """A sentence on which values are significant."""
    symbol, critical = result.symbol, result.critical
    if critical is None:
        return f"There is no significance test for {symbol}."
    if critical >= 1:
        return f"Too few runs: no {symbol} is significant at {result.settings.alpha:g}."
    return f"Values within ±{shown(critical, digits)} are not significant at {result.settings.alpha:g} (n.s.)."


# Inches: the width of a cell, the least that has room for a number, that below which names are vertical, the least of
# all; the width of a letter; the width of the colour bar.
CELL, ROOMY, UPRIGHT, SMALLEST, LETTER, BAR = 0.42, 0.28, 0.2, 0.11, 0.056, 0.75


def draw(result: CorrelationResult) -> Figure:
    """The heat map below its dendrogram."""
    count, names = len(result.measures), LETTER * max(map(len, result.measures))
    width = float(np.clip(CELL * count + names + BAR, COLUMN, PAGE))
    cell = max((width - names - BAR) / count, SMALLEST)
    vertical = cell < UPRIGHT  # slanted names would overlap
    width = max(width, cell * count + names + BAR)
    height = cell * count * 8 / 7 + names * (1 if vertical else 0.65) + 0.1
    figure = new_figure(width, height)
    tree, heat_map = figure.subplots(2, 1, height_ratios=(1, 7), sharex=True, gridspec_kw={"hspace": 0})
    draw_dendrogram(result, tree)
    draw_heat_map(result, heat_map, cell=cell, vertical=vertical)
    return figure


def draw_dendrogram(result: CorrelationResult, axis: Axes) -> Axes:
    """The clustering of the measures by distance."""
    from scipy.cluster import hierarchy

    tree = hierarchy.dendrogram(result.linkage, no_plot=True)
    for x, height in zip(tree["icoord"], tree["dcoord"], strict=True):
        # SciPy puts leaves at 5, 15, 25, ...; the columns of the heat map are at 0, 1, 2, ...
        axis.plot((np.array(x) - 5) / 10, height, color=GREY, linewidth=0.8)
    axis.set_axis_off()
    return axis


def draw_heat_map(result: CorrelationResult, axis: Axes, *, cell: float = CELL, vertical: bool = False) -> Axes:
    """The coefficients as colours and, where they fit, as numbers."""
    order = result.clustered
    names = [result.measures[i] for i in order]
    matrix = result.matrix[np.ix_(order, order)]
    low = float(np.floor(np.fmin.reduce(matrix, axis=None, initial=0.9) * 10 + 1e-9) / 10)
    image = axis.imshow(np.ma.masked_invalid(matrix), cmap="cividis", vmin=low, vmax=1, aspect="auto")
    for (i, j), value in np.ndenumerate(matrix) if cell >= ROOMY else ():
        text, dark = f"{value:.2f}" if np.isfinite(value) else "–", (value - low) / (1 - low) < 0.55
        size = min(6, 6 * cell / CELL * 1.4)
        axis.text(j, i, text, ha="center", va="center", color="white" if dark else "black", fontsize=size)
    positions = range(len(names))
    if vertical:
        axis.set_xticks(positions, names, rotation=90)
    else:
        axis.set_xticks(positions, names, rotation=40, ha="right", rotation_mode="anchor")
    axis.set_yticks(positions, names)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    bar = axis.figure.colorbar(image, ax=axis, shrink=0.6, pad=0.02, aspect=25)
    bar.set_label(f"{result.symbol}, {len(result.runs)} runs")
    bar.outline.set_visible(False)
    return axis


def scatter(result: CorrelationResult) -> Figure:
    """The rank of every run under each measure against its rank under the first measure; rank 1 is the best run.

    As in Figure 2 of Hui et al. (ICTIR 2017): if two measures agree, all runs are on the diagonal.
    """
    from matplotlib.ticker import MaxNLocator

    figure, axes = panels(len(result.measures) - 1, 4, 1.9)
    first = mean_ranks(result.means[0])
    end = len(result.runs) + 0.7
    for m, axis in enumerate(axes, 1):
        axis.plot((0.3, end), (0.3, end), color=GREY, linewidth=0.6, linestyle=":")
        axis.scatter(first, mean_ranks(result.means[m]), s=9, color=BLUE, alpha=0.8, linewidths=0)
        symbol, value = result.symbol, result.matrix[0, m]
        axis.set_title(f"{symbol} = {value:.2f}" if np.isfinite(value) else f"{symbol} is undefined", fontsize=7)
        axis.set_xlabel(f"rank by {result.measures[0]}")
        axis.set_ylabel(f"rank by {result.measures[m]}")
        axis.set_xlim(0.3, end)
        axis.set_ylim(0.3, end)
        axis.set_aspect("equal")
        for side in (axis.xaxis, axis.yaxis):
            side.set_major_locator(MaxNLocator(4, integer=True))
    return figure
