"""Every golden case has its value, and every measure has a case."""

from __future__ import annotations

from typing import Any

import pytest

import cranfield as cf
from cranfield.measures import FAMILIES
from golden_cases import CASES, SPANS, check, symbol

OF_SYMBOL: dict[str, list[dict[str, Any]]] = {}
for case in CASES:
    OF_SYMBOL.setdefault(symbol(case), []).append(case)


@pytest.mark.parametrize("symbol", OF_SYMBOL)
def test_golden(symbol: str) -> None:
    """All cases of a measure; a failure names its case."""
    for case in OF_SYMBOL[symbol]:
        check(case)


def test_every_measure_has_a_case() -> None:
    needed = {name for name, definition in cf.measures.CATALOGUE.items() if not definition.content}  # these have texts
    assert needed <= {symbol(case) for case in (*CASES, *SPANS)}


def test_cases_are_of_known_families() -> None:
    families = {module.__name__.rpartition(".")[2] for module in FAMILIES}
    assert {cf.measures.CATALOGUE[symbol(case)].family for case in CASES} <= families
