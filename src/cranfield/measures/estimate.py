"""What a measure says of queries: values, and how sure they are."""

from __future__ import annotations

from dataclasses import dataclass

from cranfield.data import Floats


@dataclass(frozen=True, eq=False)
class Estimate:
    """A value for each query; where orders were sampled, with its standard error (else 0)."""

    value: Floats
    error: Floats | None = None
