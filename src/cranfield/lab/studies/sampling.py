"""How many judgments are enough: the order of systems from a sample of the judgments, against that from all.

Hui, Berberich and Mele, "Dealing with Incomplete Judgments in Cascade Measures" (ICTIR 2017), Figure 1: established
measures on raw and on condensed lists, and measures that read the text of judged documents.

Section 4.3 claims KLD(q‖R) ≤ KLD(q‖D): the first k results R of a ranking are at least as close to the relevant
documents of a subtopic q as the complete collection D is. The authors observe this in all of their data; gains are cut
at 0 where it does not hold. Under Dirichlet smoothing it is no theorem. As their equations 5 and 6 are printed, the
probabilities of terms sum to far more than 1, and it held in all data tried. Both are counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, get_args

import numpy as np
import numpy.typing as npt

from cranfield.data import Floats, Integers, Judgments, Smoothing, TextView
from cranfield.errors import MeasureError
from cranfield.evaluation.notes import SENTENCES, Note
from cranfield.evaluation.plan import AlignmentKey, Column, Policy, make_columns
from cranfield.evaluation.scores import Scores
from cranfield.lab.relabelling import JudgmentStrata, Relabeller, nested_samples, sample_sizes, summarize_repeats
from cranfield.lab.study import (
    HIGH,
    Coefficient,
    Measures,
    Progress,
    Relevant,
    Repeats,
    Study,
    StudyResult,
    Threshold,
    Variants,
    averaged,
)
from cranfield.lab.systems import (
    MIN_QUERIES,
    add_variants,
    agreements,
    defined_for_all,
    mean_scores,
    score_systems,
    studied,
    system_means,
    system_notes,
)
from cranfield.measures import Measure
from cranfield.measures.content import ranked_rows
from cranfield.parallel import followed
from cranfield.report.canvas import BLACK, GREY, Drawings, one_scale, panels, styles
from cranfield.report.pages import Page, column, table
from cranfield.report.sheet import UNDEFINED, Cell, shown
from cranfield.settings import Limits, Whole
from cranfield.statistics.rounding import SAME

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# The paper evaluates the first twenty documents and plots these two of the measures that read document text.
DEFAULT = ("alpha_nDCG@20", "ERR_IA@20", "NRBP@20", "ABSRB@20", "DELTARB@20")
LISTS = ("raw", "condensed")


@dataclass(frozen=True)
class CandidateMeasures:
    """Reference measures, and the candidates that are compared with each of them.

    ``references`` need judgments only. The candidates of a reference are the same measure with fewer judgments, on raw
    and on condensed lists, and ``content``, all measures that read document text. ``columns``: everything to compute.
    """

    references: tuple[str, ...]
    content: tuple[str, ...]
    columns: tuple[Column, ...]

    @classmethod
    def of(cls, measures: Any, rel: float = 1.0) -> CandidateMeasures:
        """Split the requested measures by whether they read document text.

        ``rel``: the lowest relevant grade of measures with a level, unless their names have another.
        """
        columns = make_columns(measures, Policy(rel=rel))
        references = [c for c in columns if not c.measure.definition.content]
        if not references:
            raise MeasureError(
                "all requested measures read document text; the study needs a reference measure that does not",
                hint="add a measure such as alpha_nDCG@20",
            )
        for reference in references:
            if reference.measure.views.condensed:
                raise MeasureError(
                    f"{reference.label}: this study evaluates raw and condensed lists itself",
                    hint=f"use {replace(reference.measure, views=replace(reference.measure.views, condensed=False))}",
                )
        content = [c for c in columns if c.measure.definition.content]
        condensed = [c.varied(condensed=True) for c in references]
        labels = tuple(c.label for c in references), tuple(c.label for c in content)
        return cls(*labels, (*references, *condensed, *content))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the candidates of each reference."""
        return *LISTS, *self.content

    def reference_scores(self, scores: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The scores of the references, (reference, ...), out of the scores of all `columns`."""
        return scores[: len(self.references)]

    def candidate_scores(self, scores: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The scores of the candidates of each reference, (reference, candidate, ...)."""
        n = len(self.references)
        content = np.broadcast_to(scores[2 * n :], (n, *scores[2 * n :].shape))
        return np.concatenate([scores[:n, None], scores[n : 2 * n, None], content], axis=1)


def without_negative_grades(judgments: Judgments) -> Judgments:
    """The judgments with grade 0 instead of negative grades."""
    labels = judgments.labels
    if labels is not None:
        labels = labels._replace(grade=np.maximum(labels.grade, 0))
    return replace(judgments, grade=np.maximum(judgments.grade, 0), labels=labels)


ROUNDING = 1e-12  # divergences that differ by less, relative to KLD(q‖D), are equal


@dataclass(frozen=True)
class DivergenceClaim:
    """How often KLD(q‖R) ≤ KLD(q‖D), over all runs, queries, subtopics, and ranks down to the cutoff.

    ``measure``: the first measure with these models and this cutoff; others with the same share the count.
    """

    measure: str
    smoothing: Smoothing
    holds: int
    total: int


def count_divergences(relabeller: Relabeller) -> Iterator[DivergenceClaim]:
    """The counts for each way to build models among the measures that read document text; under all judgments."""
    counted: dict[tuple[object, ...], Measure] = {}
    for measure in relabeller.measures:
        if measure.definition.content:
            chosen = measure.chosen
            counted.setdefault((measure.cutoff, chosen["mu"], chosen["rel"], chosen["whole"], measure.views), measure)
    for measure in counted.values():
        for smoothing in get_args(Smoothing):
            yield _count(relabeller, measure, smoothing)


def _count(relabeller: Relabeller, measure: Measure, smoothing: Smoothing) -> DivergenceClaim:
    chosen, holds, total = measure.chosen, 0, 0
    view = TextView.of(chosen)._replace(smoothing=smoothing)
    key = AlignmentKey(content=True, key=measure.views.rule.key)
    for run in relabeller.evaluation.run_scores:
        for rankings in run.alignments[key].rankings:
            batch = measure.ordered(rankings)
            reading = batch.reading
            assert reading is not None
            rows = ranked_rows(batch, measure.arguments["k"])
            nearness = reading.nearness(batch.query, rows, view, chosen["mu"])
            inside = np.arange(rows.shape[1]) < batch.length[:, None]
            defined = inside[:, :, None] & ~np.isnan(nearness)
            total += int(defined.sum())
            holds += int((nearness[defined] >= -ROUNDING).sum())
    return DivergenceClaim(str(measure), smoothing, holds, total)


RATES = (1, 5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100)


SENTENCES.update(
    undefined_at_rates=(
        "{measure}: becomes undefined for some queries at rates up to {rate}%; means are over at least {fewest} of "
        "{full} queries"
    ),
)


@dataclass(frozen=True)
class Sampling(Study):
    """How many judgments a reliable order of systems needs.

    The experiment of Hui et al., "Dealing with Incomplete Judgments in Cascade Measures" (ICTIR 2017), Figure 1. The
    reference is the order of at least two runs by a measure under all judgments, relevant or not. It is compared with
    the orders under samples of the judgments, drawn separately for relevant and other documents: by the same measure on
    raw and on condensed lists, and by measures that read document text. Smaller samples are contained in larger ones.
    ::

        cranfield study sampling qrels.txt *.run --corpus corpus.parquet --figures figures
        cranfield study sampling qrels.txt *.run --corpus docs.jsonl -m "ERR_IA@20 DELTARB@20" --rates 1,5,15,50
    """

    rates: Annotated[
        Sequence[Annotated[int, Limits(1, 100)]], "Percentages of the judgments of each query to sample."
    ] = RATES
    repeats: Repeats = 30
    rel: Relevant = 1.0
    coefficient: Coefficient = "tau-a"
    threshold: Threshold = HIGH
    variants: Variants = 0
    seed: Whole = 0

    @property
    def levels(self) -> tuple[int, ...]:
        """The rates in ascending order."""
        return self._ascending("rates")

    def run(
        self,
        qrels: Any,
        runs: Any,
        measures: Measures = DEFAULT,
        *,
        corpus: Any = None,
        progress: Progress | None = None,
    ) -> SamplingResult:
        """Compare orders of systems under samples of the judgments with those under all."""
        candidates, levels = CandidateMeasures.of(measures, self.rel), self.levels
        collection = studied(qrels, corpus)
        judgments = without_negative_grades(collection.judgments)
        all_runs, variant_notes = add_variants(runs, judgments, self.variants, self.seed)
        full, relabeller = score_systems(
            collection.changed(qrels=judgments), all_runs, candidates.columns, seed=self.seed
        )
        shape = len(candidates.columns), len(levels), self.repeats
        scores, counted = np.full((*shape, len(full.runs)), np.nan), np.zeros(shape, np.int64)
        strata = JudgmentStrata(relabeller.judgments, relabeller.grade, self.rel)
        samples = nested_samples(strata, levels, sample_sizes, self.repeats, self.seed)
        for level, repeat, keep in followed(samples, progress, len(levels) * self.repeats):
            values = full.values if keep.all() else relabeller.values(keep)
            usable = defined_for_all(values)
            scores[:, level, repeat], counted[:, level, repeat] = mean_scores(values, usable), usable.sum(axis=1)
        reference_scores = candidates.reference_scores(system_means(full))[:, None, None, None]
        reference, candidate = np.broadcast_arrays(reference_scores, candidates.candidate_scores(scores))
        enough = candidates.candidate_scores(counted) >= MIN_QUERIES
        return SamplingResult(
            settings=self,
            runs=full.runs,
            queries=len(full.queries),
            references=candidates.references,
            candidates=candidates.names,
            agreement=agreements(self.coefficient, reference, candidate, enough),
            judged=np.array([sample_sizes(strata.sizes, rate).sum(axis=0) for rate in levels]),
            claims=tuple(count_divergences(relabeller)),
            notes=(*variant_notes, *system_notes(full), *_undefined_notes(full, levels, counted)),
        )


@dataclass(frozen=True, eq=False, repr=False)
class SamplingResult(StudyResult):
    """The agreement of orders of systems from samples of the judgments with the order from all of them.

    ``agreement`` (reference, candidate, rate, repeat): with the reference measure under all judgments. Candidates are
    the same measure on raw and on condensed lists, and every measure that reads document text.
    ``judged`` (rate, 2): the number of relevant and of other documents that are judged at each rate. ``claims``: how
    often the results of a run are as close to a subtopic as the collection is, for all judgments.
    """

    settings: Sampling
    runs: tuple[str, ...]
    queries: int
    references: tuple[str, ...]
    candidates: tuple[str, ...]
    agreement: Floats
    judged: Integers
    claims: tuple[DivergenceClaim, ...] = ()
    notes: tuple[Note, ...] = ()

    summary = staticmethod(summarize_repeats)

    def sufficient_rates(self, high: float | None = None) -> list[list[int | None]]:
        """The lowest rate from which mean agreement stays at least ``high``, (reference, candidate); None if none.

        By default the threshold of the settings.
        """
        below = ~(self.summary(self.agreement)[0] >= (self.settings.threshold if high is None else high))
        first = np.where(below.any(axis=-1), below.shape[-1] - below[..., ::-1].argmax(axis=-1), 0)
        rates = [*self.settings.levels, None]
        return [[rates[i] for i in row] for row in first.tolist()]

    def pages(self, digits: int = 4) -> list[Page]:
        """The sufficient rates, then for each reference measure the agreement at every rate."""
        pages = [_sufficient_table(self, f"{len(self.runs)} runs, {self.queries} queries")]
        pages += [_mean_table(self, r, digits) for r in range(len(self.references))]
        if self.settings.repeats > 1:
            pages += [_percentile_table(self, r, digits) for r in range(len(self.references))]
        return [*pages, *claim_tables(self.claims)]

    @classmethod
    def mean_pages(cls, results: Sequence[SamplingResult], digits: int = 4) -> list[Page]:
        """The sufficient rates and the agreement at every rate, averaged over collections."""
        mean = averaged(results, ("references", "candidates", "settings"), ("agreement",), ("judged",))
        scope = f"mean over {len(results)} collections"
        pages = [_mean_table(mean, r, digits) for r in range(len(mean.references))]
        by_reference = [replace(page, title=f"{scope.capitalize()}: {page.title}") for page in pages]
        return [_sufficient_table(mean, scope), *by_reference]

    def drawings(self) -> Drawings:
        """The one figure of the study."""
        return {"sampling": partial(draw, self)}


def _undefined_notes(scores: Scores, levels: Sequence[int], counted: Integers) -> Iterator[Note]:
    """Notes on measures that become undefined for queries under a sample."""
    full = defined_for_all(scores.values).sum(axis=1)
    for m, measure in enumerate(scores.measures):
        fewest = counted[m].min(axis=1)
        affected = np.flatnonzero(fewest < full[m])
        if len(affected):
            values = {"rate": levels[affected[-1]], "fewest": fewest[affected].min(), "full": full[m]}
            yield Note("undefined_at_rates", measure=measure, values=values)


def _sufficient_table(result: SamplingResult, scope: str) -> Page:
    title = (
        f"Lowest percentage of judgments from which the mean {result.symbol} with the order under all judgments stays "
        f"at least {result.settings.threshold:g}: {scope}"
    )
    rows = [
        (reference, [UNDEFINED if rate is None else f"{rate}%" for rate in rates])
        for reference, rates in zip(result.references, result.sufficient_rates(), strict=True)
    ]
    return table(title, ("measure",), result.candidates, rows)


def claim_tables(claims: Sequence[DivergenceClaim]) -> list[Page]:
    """How often the results of runs are as close to a subtopic as the collection is; no table without text."""
    rows = [
        (
            (claim.measure, claim.smoothing),
            [f"{claim.holds}", f"{claim.total}", f"{claim.holds / claim.total:.2%}"],
        )
        for claim in claims
        if claim.total
    ]
    title = "KLD(q‖R) ≤ KLD(q‖D), counted over runs, queries, subtopics, and ranks down to the cutoff; all judgments"
    return [table(title, ("models of", "smoothing"), ("holds", "of", "share"), rows)] if rows else []


def _mean_table(result: SamplingResult, r: int, digits: int) -> Page:
    settings = result.settings
    title = (
        f"{result.symbol} with the order by {result.references[r]} under all judgments: mean and standard deviation "
        f"over {settings.repeats} samples, seed {settings.seed}"
    )
    mean, deviation, *_ = result.summary(result.agreement[r])
    rows = []
    for level, rate in enumerate(settings.levels):
        cells = column(list(mean[:, level]), digits)
        # A deviation of 0 is not printed.
        asides = [f"±{shown(value, digits)}" if value > SAME else "" for value in deviation[:, level].tolist()]
        row: list[Cell | str] = [str(int(result.judged[level].sum()))]
        row += [Cell(cell.text, cell.best, aside) for cell, aside in zip(cells, asides, strict=True)]
        rows.append((f"{rate}%", row))
    return table(title, ("judgments",), ("judged", *result.candidates), rows)


def _percentile_table(result: SamplingResult, r: int, digits: int) -> Page:
    title = (
        f"{result.symbol} with the order by {result.references[r]} under all judgments: 5th and 95th percentile over"
        " samples"
    )
    low, high = result.summary(result.agreement[r])[2:]
    rows = [
        (f"{rate}%", [_range(*ends, digits) for ends in zip(low[:, level], high[:, level], strict=True)])
        for level, rate in enumerate(result.settings.levels)
    ]
    return table(title, ("judgments",), result.candidates, rows)


def _range(low: float, high: float, digits: int) -> str:
    return UNDEFINED if np.isnan(low) else f"{shown(low, digits)} … {shown(high, digits)}"


def draw(result: SamplingResult) -> Figure:
    """All reference measures side by side, on one scale."""
    figure, axes = panels(len(result.references), 3, 2.5)
    for r, axis in enumerate(axes):
        draw_agreement(result, r, axis)
    one_scale(figure, axes, 1.02, 4)
    return figure


def draw_agreement(result: SamplingResult, reference: int, axis: Axes) -> Axes:
    """The candidates of one reference, with bands from the 5th to the 95th percentile over repetitions."""
    rates = result.settings.levels
    mean, _, low, high = result.summary(result.agreement[reference])
    for c, (candidate, style) in enumerate(candidate_styles(result.candidates).items()):
        axis.plot(rates, mean[c], label=legend_name(candidate), markersize=2.5, **style)
        axis.fill_between(rates, low[c], high[c], color=style["color"], alpha=0.1, linewidth=0)
    axis.axhline(result.settings.threshold, color=GREY, linewidth=0.6, linestyle=":")
    axis.set_title(result.references[reference])
    axis.set_xlabel("judgments sampled (%)")
    axis.set_ylabel(f"{result.symbol} with the order under all")
    axis.set_xlim(0, 101)
    return axis


def candidate_styles(candidates: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Dashed lines for measures that need judgments of the retrieved documents, solid lines for those reading text."""
    lists = {
        LISTS[0]: {"color": BLACK, "linestyle": "--", "marker": "x"},
        LISTS[1]: {"color": GREY, "linestyle": "--", "marker": "+"},
    }
    content = candidates[len(LISTS) :]
    return lists | dict(zip(content, styles(len(content)), strict=True))


def legend_name(candidate: str) -> str:
    """The name of a candidate in a legend."""
    return f"{candidate} list" if candidate in LISTS else candidate
