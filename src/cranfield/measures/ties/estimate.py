"""The result of an expectation over ties: values with standard errors, and the limits up to which they are exact."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.data import Floats

# A query with up to EXACT possibilities is scored exactly; beyond that, SAMPLES of them are drawn. There are separate
# limits for orders of tied documents, for the number of documents of each kind above a cutoff (CUTS), and for orders
# of documents of which no two are interchangeable (DISTINCT), which are expensive to score.
EXACT, SAMPLES = 5_000, 2_000
EXACT_CUTS = 100_000
EXACT_DISTINCT, SAMPLES_DISTINCT = 1_000, 500


@dataclass(eq=False)
class Estimate:
    """A value for each query, and its standard error if orders were sampled (else 0)."""

    value: Floats
    error: Floats | None = None

    @staticmethod
    def joined(queries: int, parts: Iterable[tuple[Any, Estimate]]) -> Estimate:
        """Combine estimates of parts of the queries, given with their indices; later parts replace earlier ones."""
        value, error = np.zeros((2, queries))
        for which, estimate in parts:
            value[which], error[which] = estimate.value, 0 if estimate.error is None else estimate.error
        return Estimate(value, error if error.any() else None)
