"""Measures that need complete judgments, candidates that may replace them, and a claim about these.

Hui et al. (ICTIR 2017), section 4.3: KLD(q‖R) ≤ KLD(q‖D). The first k results R of a ranking are at least as close to
the relevant documents of a subtopic q as the complete collection D is. The authors observe this in all of their data;
gains are cut at 0 where it does not hold. Under Dirichlet smoothing it need not hold. As their equations 5 and 6 are
printed, the probabilities of terms sum to far more than 1, and it held in all data tried. Both are counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from cranfield.data import Judgments, Smoothing, TextView
from cranfield.errors import MeasureError
from cranfield.evaluation.plan import AlignmentKey, Column, make_columns
from cranfield.lab.relabelling import Relabeller
from cranfield.measures import Measure
from cranfield.measures.content import ranked_rows

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
    def of(cls, measures: Any) -> CandidateMeasures:
        """Split the requested measures by whether they read document text."""
        columns = make_columns(measures)
        references = [c for c in columns if not c.measure.definition.content]
        if not references:
            raise MeasureError(
                "all requested measures read document text; the study needs a reference measure that does not",
                hint="add a measure such as alpha_nDCG@20",
            )
        for column in references:
            if column.measure.views.condensed:
                raise MeasureError(
                    f"{column.label}: this study evaluates raw and condensed lists itself",
                    hint=f"use {replace(column.measure, views=replace(column.measure.views, condensed=False))}",
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


def binary_judgments(judgments: Judgments, rel: float) -> Judgments:
    """The judgments with grade 1 for relevant documents and 0 for all others, including negative grades."""
    labels = judgments.labels
    if labels is not None:
        labels = replace(labels, grade=(labels.grade >= rel).astype(np.float64))
    return replace(judgments, grade=(judgments.grade >= rel).astype(np.float64), labels=labels)


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
