"""Golden cases of `cranfield.measures.average_precision`."""

from __future__ import annotations

from typing import Any

from golden_cases import cases_of, check


@cases_of("average_precision")
def test_golden(case: dict[str, Any]) -> None:
    check(case)
