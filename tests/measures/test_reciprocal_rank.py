"""Golden cases of `cranfield.measures.reciprocal_rank`."""

from __future__ import annotations

from typing import Any

from golden_cases import cases_of, check


@cases_of("reciprocal_rank")
def test_golden(case: dict[str, Any]) -> None:
    check(case)
