"""Measures that need complete judgments, and candidates that may replace them (Hui et al., ICTIR 2017)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.data import Judgments
from cranfield.errors import MeasureError
from cranfield.evaluation.columns import Column, make_columns

# The paper evaluates the first twenty documents and plots these two of the measures that read document text.
DEFAULT = ("alpha_nDCG@20", "ERR_IA@20", "NRBP@20", "ABSRB@20", "DELTARB@20")
LISTS = ("raw", "condensed")
HIGH = 0.8  # the agreement that the paper considers high


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
