"""The order of systems under fewer judgments, shallower pools, or fewer queries.

Sakai, "Alternatives to Bpref" (SIGIR 2007), Figures 1 to 3: mean scores, agreement with the order under all judgments,
and discriminative power, as judgments are removed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np

from cranfield.data import Booleans, Floats, Integers
from cranfield.errors import MeasureError, UsageError
from cranfield.evaluation.notes import SENTENCES, Note
from cranfield.lab.relabelling import (
    RELEVANT,
    JudgmentStrata,
    Relabeller,
    nested_samples,
    reduced_sizes,
    summarize_repeats,
)
from cranfield.lab.studies.power import resolution_notes
from cranfield.lab.study import (
    SAKAI,
    Coefficient,
    Measures,
    Progress,
    Relevant,
    Repeats,
    Samples,
    Study,
    StudyResult,
    averaged,
)
from cranfield.lab.systems import (
    COEFFICIENTS,
    MIN_QUERIES,
    agreements,
    defined_for_all,
    mean_scores,
    score_systems,
    system_notes,
    tie_notes,
)
from cranfield.measures import parse
from cranfield.parallel import followed
from cranfield.ranking.views import Views
from cranfield.report.canvas import PAGE, Drawings, across, legend_below, new_figure, styles
from cranfield.report.pages import Page, column, table
from cranfield.report.sheet import Cell, shown
from cranfield.settings import Chance, Count, Limits, Option, Whole
from cranfield.statistics.resampling import bootstrap, draw_queries

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


DEFAULT = ("bpref", "rpref_relative2", "AP[condensed]", "Q[condensed]", "nDCG[condensed]", "AP", "Q", "nDCG")
RATES = (90, 70, 50, 30, 10)
ReducedBy = Literal["rates", "depths", "queries"]
SENTENCES.update(
    undefined_at_level=(
        "{measure} at {level}: becomes undefined for some queries; means are over at least {fewest} of {full} queries"
    ),
    no_order_at_level="{measure} at {level}: too few queries for an order in {count} of {repeats} repetitions",
)


@dataclass(frozen=True)
class Reduction(Study):
    """Scores and orders of systems with fewer judgments or queries.

    The experiment of Sakai, "Alternatives to Bpref" (SIGIR 2007), Figures 1 to 3: judgments are removed at random,
    separately for relevant and non-relevant documents, and the documents become unjudged. Smaller samples are contained
    in larger ones. Reports for each measure the mean score, the agreement with the order of at least two runs under all
    judgments, and discriminative power. --pool-depths makes pools shallower instead, --queries removes queries. ::

        cranfield study reduction qrels.txt *.run --figures figures
        cranfield study reduction qrels.txt *.run --pool-depths 100,50,20,10 -m "AP AP[condensed] bpref"
        cranfield study reduction qrels.txt *.run --queries 40,30,20,10
    """

    # Section 6 of the paper leaves out two measures.
    PAPER = SAKAI._replace(measures=tuple(m for m in SAKAI.measures if m not in ("bpref_N", "rpref_N")))

    rates: Annotated[
        Sequence[Annotated[int, Limits(1, 99)]] | None,
        "Percentages of the judgments to keep at random.",
        Option(default=",".join(map(str, RATES))),
    ] = None
    pool_depths: Annotated[
        Sequence[Count] | None,
        "In place of --rates: keep the judgments of documents that some run ranks in its first N.",
    ] = None
    queries: Annotated[Sequence[int] | None, "In place of --rates: keep N queries, chosen at random."] = None
    repeats: Repeats = 30
    rel: Relevant = 1.0
    least: Annotated[
        tuple[Whole, Whole],
        "Keep at least R relevant and N non-relevant judgments of each query, at every rate.",
        Option(metavar="R N", rare=True),
    ] = (1, 10)
    coefficient: Coefficient = "tau-a"
    samples: Samples = 1000
    alpha: Annotated[Chance, "Significance level of discriminative power."] = 0.05
    seed: Whole = 0

    @property
    def by(self) -> ReducedBy:
        """What is removed: judgments at random, those of deeper pools, or queries."""
        return "depths" if self.pool_depths is not None else "queries" if self.queries is not None else "rates"

    @property
    def levels(self) -> tuple[int, ...]:
        """The percentages, depths or numbers of queries, in descending order."""
        names = [name for name in ("rates", "pool_depths", "queries") if getattr(self, name) is not None]
        if len(names) > 1:
            raise UsageError(f"{' and '.join(names)} cannot be combined", hint="give one of them")
        return self._ascending(names[0])[::-1] if names else RATES

    @property
    def repetitions(self) -> int:
        """The number of random subsets; 1 where nothing is random."""
        return 1 if self.by == "depths" else self.repeats

    def run(
        self,
        qrels: Any,
        runs: Any,
        measures: Measures = DEFAULT,
        *,
        corpus: Any = None,
        progress: Progress | None = None,
    ) -> ReductionResult:
        """Score the runs at every level."""
        levels, repeats = self.levels, self.repetitions
        full, relabeller = score_systems(qrels, runs, measures, corpus=corpus, seed=self.seed)
        most = len(full.queries) - 1
        if self.by == "queries" and (wrong := [level for level in levels if not MIN_QUERIES <= level <= most]):
            raise UsageError(f"queries must be whole numbers from {MIN_QUERIES} to {most}, not {wrong[0]}")
        shape = len(full.measures), 1 + len(levels), repeats
        scores = np.full((*shape, len(full.runs)), np.nan)
        power, counted = np.full(shape, np.nan), np.zeros(shape, np.int64)
        judged = np.zeros(shape[1:], np.int64)
        for level, repeat, kept, chosen in followed(self._subsets(relabeller), progress, 1 + len(levels) * repeats):
            values = full.values if kept is None else relabeller.values(kept)
            usable = defined_for_all(values) & chosen
            # The complete data are evaluated once; they are the same in every repetition.
            cells = (slice(None), level, slice(None) if level == 0 else slice(repeat, repeat + 1))
            scores[cells] = mean_scores(values, usable)[:, None]
            counted[cells] = usable.sum(axis=1)[:, None]
            power[cells] = self._power(values, usable)[:, None]
            of_queries = np.repeat(chosen, np.diff(relabeller.judgments.begin)) & (relabeller.grade >= 0)
            judged[cells[1:]] = (of_queries if kept is None else of_queries & kept).sum()
        reference = np.broadcast_to(scores[:, :1, :1], scores.shape)
        result = ReductionResult(
            settings=self,
            runs=full.runs,
            measures=full.measures,
            queries=len(full.queries),
            mean=scores.mean(axis=-1),
            agreement=agreements(self.coefficient, reference, scores, counted >= MIN_QUERIES),
            power=power,
            counted=counted,
            judged=judged,
        )
        notes = (*system_notes(full), *tie_notes(full, self.coefficient), *_undefined_notes(result))
        resolution = resolution_notes("bootstrap", self.samples, self.alpha, len(full.queries))
        return replace(result, notes=(*notes, *resolution))

    def _subsets(self, relabeller: Relabeller) -> Iterator[tuple[int, int, Booleans | None, Booleans]]:
        """The level, the repetition, the judgments that are kept (None for all) and the queries that are evaluated.

        The complete data come first.
        """
        all_queries = np.ones(len(relabeller.judgments.queries), bool)
        yield 0, 0, None, all_queries
        if self.by == "depths":
            ranks = relabeller.ranks()
            best = np.where(ranks > 0, ranks, np.iinfo(np.int64).max).min(axis=0)
            for level, depth in enumerate(self.levels, 1):
                yield level, 0, best <= depth, all_queries
            return
        if self.by == "queries":
            for repeat in range(self.repeats):
                position = np.random.default_rng([self.seed, repeat]).permutation(len(all_queries))
                for level, size in enumerate(self.levels, 1):
                    yield level, repeat, None, position < size
            return
        strata = JudgmentStrata(relabeller.judgments, relabeller.grade, self.rel)
        if not strata.sizes[:, RELEVANT].any():
            raise UsageError(
                f"no document has a grade of {self.rel:g} or more, so none is relevant",
                hint=f"the highest grade is {relabeller.grade.max():g}; set the lowest relevant grade with --rel",
            )
        sizes = partial(reduced_sizes, least=self.least)
        for level, repeat, kept in nested_samples(strata, self.levels, sizes, self.repeats, self.seed):
            yield level + 1, repeat, kept, all_queries

    def _power(self, values: Floats, usable: Booleans) -> Floats:
        """The discriminative power of each measure; measures with the same queries use the same resamples."""
        power = np.full(len(usable), np.nan)
        for m, queries in enumerate(usable):
            if queries.sum() >= MIN_QUERIES:
                resamples = draw_queries(int(queries.sum()), self.samples, self.seed)
                power[m] = bootstrap(values[:, m, queries], resamples, self.alpha).power
        return power


@dataclass(frozen=True, eq=False, repr=False)
class ReductionResult(StudyResult):
    """Scores, orders and discriminative power at each level of reduction; the first level is the complete data.

    ``mean``, ``agreement``, ``power`` (measure, level, repeat): the mean over runs and queries; the agreement with the
    order under the complete data; the share of pairs of runs that differ significantly. ``counted``: the number of
    queries that they are computed from. ``judged`` (level, repeat): the number of judged documents.
    """

    DERIVED: ClassVar[tuple[str, ...]] = ("labels",)

    settings: Reduction
    runs: tuple[str, ...]
    measures: tuple[str, ...]
    queries: int
    mean: Floats
    agreement: Floats
    power: Floats
    counted: Integers
    judged: Integers
    notes: tuple[Note, ...] = ()

    @property
    def labels(self) -> list[str]:
        """The label of each level, the complete data first."""
        by, unit = self.settings.by, "%" if self.settings.by == "rates" else ""
        full = {"rates": "100%", "depths": "all", "queries": str(self.queries)}[by]
        return [full, *(f"{level}{unit}" for level in self.settings.levels)]

    summary = staticmethod(summarize_repeats)

    def pages(self, digits: int = 4) -> list[Page]:
        """Mean scores, agreement with the order under the complete data, and discriminative power."""
        runs = len(self.runs)
        pairs = f"share of the {runs * (runs - 1) // 2} pairs of runs"
        return _pages(self, f"{runs} runs, {self.queries} queries", significance(self, digits), pairs, digits)

    @classmethod
    def mean_pages(cls, results: Sequence[ReductionResult], digits: int = 4) -> list[Page]:
        """The same, averaged over collections, with the judged documents of all of them; no test of a mean."""
        mean = averaged(results, ("measures", "settings"), ("mean", "agreement", "power"), ("judged",))
        scope = f"mean over {len(results)} collections"
        return _pages(mean, scope, f", {scope}", f"share of the pairs of runs, {scope},", digits, several=True)

    def drawings(self) -> Drawings:
        """The one figure of the study."""
        return {f"reduction-{self.settings.by}": partial(draw, self)}


def _undefined_notes(result: ReductionResult) -> Iterator[Note]:
    """Notes on measures that become undefined for queries, and on repetitions with too few queries for an order."""
    full = result.counted[:, 0, 0]
    for level, label in enumerate(result.labels[1:], 1):
        fewest = result.counted[:, level].min(axis=1)
        without_order = np.isnan(result.agreement[:, level]).sum(axis=1)
        for m, measure in enumerate(result.measures):
            # If queries are removed, fewer queries are expected.
            if result.settings.by != "queries" and fewest[m] < full[m]:
                values = {"level": label, "fewest": fewest[m], "full": full[m]}
                yield Note("undefined_at_level", measure=measure, values=values)
            if without_order[m]:
                values = {"level": label, "count": without_order[m], "repeats": result.settings.repetitions}
                yield Note("no_order_at_level", measure=measure, values=values)


KEPT = {
    "rates": "By percentage of judgments kept at random",
    "depths": "By depth of the pools that judgments come from",
    "queries": "By number of queries kept at random",
}
COMPLETE = {"rates": "under all judgments", "depths": "under all judgments", "queries": "over all queries"}


def _pages(
    result: ReductionResult, scope: str, test: str, pairs: str, digits: int, *, several: bool = False
) -> list[Page]:
    settings = result.settings
    kept = f"{KEPT[settings.by]}, with the number of judged documents"
    if settings.by != "depths":
        deviation = f"±: standard deviation over {settings.repetitions} repetitions"
        kept += f"; {deviation if settings.repetitions > 1 else 'one repetition'}, seed {settings.seed}"
    power = (
        f"Discriminative power: {pairs} that differ significantly at "
        f"{settings.alpha:g} (paired bootstrap test, {settings.samples} resamples)"
    )
    # Collections differ in their number of queries.
    full = "all" if several and settings.by == "queries" else result.labels[0]
    judged = result.judged.mean(axis=1)
    labels = [full, *result.labels[1:]]
    heads = [f"{label}\n{count:.0f}" for label, count in zip(labels, judged, strict=True)]
    agreement = f"{result.symbol} with the order of runs {COMPLETE[settings.by]}{test}"
    return [
        _page(f"Mean score, {scope}. {kept}", heads, result, result.mean, digits, best=False),
        _page(agreement, heads, result, result.agreement, digits),
        _page(power, heads, result, result.power, digits),
    ]


def significance(result: ReductionResult, digits: int = 4) -> str:
    """The critical value of the coefficient, if there is one."""
    test = COEFFICIENTS[result.settings.coefficient].critical
    critical = 1.0 if test is None else test(len(result.runs), 0.01)
    return f" (significant at 0.01 beyond ±{shown(critical, digits)})" if critical < 1 else ""


def _page(
    title: str, heads: list[str], result: ReductionResult, values: Floats, digits: int, *, best: bool = True
) -> Page:
    mean, deviation = result.summary(values)[:2]
    columns = [column(list(mean[:, level]), digits, best=best) for level in range(mean.shape[1])]
    repeated = values.shape[2] > 1
    rows = []
    for m, measure in enumerate(result.measures):
        cells = []
        for level, cell in enumerate(cells_of_level[m] for cells_of_level in columns):
            has_deviation = repeated and level and not np.isnan(mean[m, level])
            cells.append(Cell(cell.text, cell.best, f"±{shown(deviation[m, level], digits)}" if has_deviation else ""))
        rows.append((measure, cells))
    return table(title, ("measure",), heads, rows, "kept")


X_LABELS = {"rates": "judgments kept (%)", "depths": "pool depth", "queries": "queries"}


def draw(result: ReductionResult) -> Figure:
    """Mean score, agreement and discriminative power side by side."""
    columns = across(result.measures, PAGE, 5)
    rows = -(-len(result.measures) // columns)
    figure = new_figure(PAGE, 2.5 + 0.16 * rows)
    left, middle, right = figure.subplots(1, 3)
    draw_quantity(result, result.mean, left, "mean score")
    draw_quantity(result, result.agreement, middle, f"{result.symbol} with the order {COMPLETE[result.settings.by]}")
    draw_quantity(result, result.power, right, f"discriminative power at {result.settings.alpha:g}")
    legend_below(figure, left, columns)
    return figure


def draw_quantity(result: ReductionResult, values: Floats, axis: Axes, name: str) -> Axes:
    """One quantity by level, with a band from the 5th to the 95th percentile over repetitions."""
    x = level_positions(result)
    mean, _, low, high = result.summary(values)
    for m, (measure, style) in enumerate(line_styles(result.measures).items()):
        axis.plot(x, mean[m], label=measure, markersize=3, **style)
        if values.shape[2] > 1:
            axis.fill_between(x, low[m], high[m], color=style["color"], alpha=0.1, linewidth=0)
    axis.set_ylabel(name)
    axis.set_xticks(x, [label.removesuffix("%") for label in result.labels])
    axis.invert_xaxis()  # the complete data are on the left
    axis.set_xlabel(X_LABELS[result.settings.by])
    axis.margins(x=0.03)
    return axis


def level_positions(result: ReductionResult) -> Floats:
    """The x-coordinates of the levels: rates and numbers of queries to scale, pool depths equally spaced."""
    levels = result.settings.levels
    if result.settings.by == "depths":
        return np.arange(len(levels), -1, -1.0)
    return np.array([100 if result.settings.by == "rates" else result.queries, *levels], np.float64)


def line_styles(measures: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """The style of each measure; variants of a measure share colour and marker, and the plain one is dotted."""
    plain = {measure: _without_views(measure) for measure in measures}
    stems = list(dict.fromkeys(plain.values()))
    shared = dict(zip(stems, styles(len(stems)), strict=True))
    lines = {}
    for measure, stem in plain.items():
        dotted = measure == stem and list(plain.values()).count(stem) > 1
        face = "white" if dotted else shared[stem]["color"]
        lines[measure] = shared[stem] | {"linestyle": ":" if dotted else "-", "markerfacecolor": face}
    return lines


def _without_views(measure: str) -> str:
    """The name of a measure without its views; the same if it is the name of a user's measure that is not loaded."""
    try:
        return str(replace(parse(measure), views=Views()))
    except MeasureError:
        return measure
