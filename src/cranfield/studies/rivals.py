"""Measures that need judgments, and what may stand in for them where these are few (Hui et al., ICTIR 2017)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.data import Judgments
from cranfield.errors import MeasureError
from cranfield.evaluation.columns import Column, make_columns

# Of the measures that read, the two that the paper draws; it looks at the first twenty documents.
DEFAULT = ("alpha_nDCG@20", "ERR_IA@20", "NRBP@20", "ABSRB@20", "DELTARB@20")
LISTS = ("raw", "condensed")


@dataclass(frozen=True)
class Rivals:
    """What systems should be ordered by, and by what they could be.

    ``truths``: measures that judgments alone decide. Each has rivals: itself with fewer judgments, on lists as they
    are and on condensed ones, and all measures that read documents. ``columns`` is all that is to be computed.
    """

    truths: tuple[str, ...]
    readers: tuple[str, ...]
    columns: tuple[Column, ...]

    @classmethod
    def of(cls, measures: Any) -> Rivals:
        """The measures asked for, told apart by whether they read."""
        columns = make_columns(measures)
        truths = [c for c in columns if not c.measure.definition.content]
        if not truths:
            raise MeasureError(
                "all of these measures read documents, and there is none to hold them against",
                hint="add one that judgments alone decide, such as alpha_nDCG@20",
            )
        for column in truths:
            if column.measure.views.condensed:
                raise MeasureError(
                    f"{column.label}: this study looks at lists as they are and at condensed ones by itself",
                    hint=f"ask for {replace(column.measure, views=replace(column.measure.views, condensed=False))}",
                )
        readers = [c for c in columns if c.measure.definition.content]
        condensed = [c.varied(condensed=True) for c in truths]
        labels = tuple(c.label for c in truths), tuple(c.label for c in readers)
        return cls(*labels, (*truths, *condensed, *readers))

    @property
    def names(self) -> tuple[str, ...]:
        """What the rivals of a truth are called."""
        return *LISTS, *self.readers

    def true(self, scores: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """What the truths say, (truth, ...), of the scores by all `columns`."""
        return scores[: len(self.truths)]

    def rivals(self, scores: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """What the rivals of each truth say, (truth, rival, ...)."""
        many = len(self.truths)
        shared = np.broadcast_to(scores[2 * many :], (many, *scores[2 * many :].shape))
        return np.concatenate([scores[:many, None], scores[many : 2 * many, None], shared], axis=1)


def binary(judgments: Judgments, rel: float) -> Judgments:
    """The judgments as 1 for what is relevant and 0 for all else, negative grades included."""
    labels = judgments.labels
    if labels is not None:
        labels = replace(labels, grade=(labels.grade >= rel).astype(np.float64))
    return replace(judgments, grade=(judgments.grade >= rel).astype(np.float64), labels=labels)
