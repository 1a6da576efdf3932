"""Golden cases of `cranfield.measures.sampled`, and what holds for every sample."""

from __future__ import annotations

from typing import Any

from golden_cases import cases_of, check


@cases_of("sampled")
def test_golden(case: dict[str, Any]) -> None:
    check(case)
