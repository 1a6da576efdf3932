"""Golden cases of `cranfield.measures.preference_judgments`."""

from __future__ import annotations

from typing import Any

from golden_cases import cases_of, check


@cases_of("preference_judgments")
def test_golden(case: dict[str, Any]) -> None:
    check(case)
