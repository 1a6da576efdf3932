"""What a measure says of queries: values, and how sure they are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.data import Floats


@dataclass(frozen=True, eq=False)
class Estimate:
    """A value for each query; where orders were sampled, with its standard error (else 0)."""

    value: Floats
    error: Floats | None = None

    @staticmethod
    def joined(queries: int, parts: Iterable[tuple[Any, Estimate]]) -> Estimate:
        """Estimates of some of the queries, each with which these are; of two for one query the later."""
        value, error = np.zeros((2, queries))
        for which, found in parts:
            value[which], error[which] = found.value, 0 if found.error is None else found.error
        return Estimate(value, error if error.any() else None)
