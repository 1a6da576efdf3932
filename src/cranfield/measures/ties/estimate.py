"""What the expectation of a measure over ties is: values, how precise these are, and when they are exact."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.data import Floats

# Up to how many possibilities of a query all are scored, and how many are sampled beyond that: orders of tied
# documents; numbers of documents of each kind that reach a cutoff; and orders of documents no two of which are
# interchangeable, each of which is expensive to score.
EXACT, SAMPLES = 5_000, 2_000
EXACT_CUTS = 100_000
EXACT_DISTINCT, SAMPLES_DISTINCT = 1_000, 500


@dataclass(eq=False)
class Estimate:
    """A value for each query; where orders were sampled, with its standard error (else 0)."""

    value: Floats
    error: Floats | None = None

    @staticmethod
    def joined(queries: int, parts: Iterable[tuple[Any, Estimate]]) -> Estimate:
        """Estimates of parts of the queries, each with the indices of its queries; a later part replaces an earlier."""
        value, error = np.zeros((2, queries))
        for which, estimate in parts:
            value[which], error[which] = estimate.value, 0 if estimate.error is None else estimate.error
        return Estimate(value, error if error.any() else None)
