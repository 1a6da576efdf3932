"""A claim of Hui et al. (ICTIR 2017, section 4.3): KLD(q‖R) ≤ KLD(q‖D), counted over a collection.

The first k results R of a ranking are at least as close to the relevant documents of a subtopic q as the complete
collection D is. The authors observe this in all of their data; gains are cut at 0 where it does not hold. Under
Dirichlet smoothing it is no theorem. As their equations 5 and 6 are printed, the probabilities of terms sum to far more
than 1, and it held in all data tried. Both are counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

import numpy as np

from cranfield.data import Smoothing, TextView
from cranfield.evaluation.columns import AlignmentKey
from cranfield.measures import Measure
from cranfield.measures.content import ranked_rows
from cranfield.studies.relabelling import Relabeller

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
