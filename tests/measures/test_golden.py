"""The golden cases as a whole: every measure has one, and every one is tested by a file of its family."""

from __future__ import annotations

from typing import Any

import pytest

import cranfield as cf
from cranfield.measures import FAMILIES
from golden_cases import CASES, SPANS, cases_of, check, symbol


@cases_of("diversity")
def test_diversity(case: dict[str, Any]) -> None:
    check(case)


@pytest.mark.parametrize(
    "name", [name for name, d in cf.measures.CATALOGUE.items() if not d.content]
)  # these have texts
def test_every_measure_has_a_case(name: str) -> None:
    assert any(symbol(case) == name for case in (*CASES, *SPANS))


def test_every_family_has_a_file() -> None:
    families = {module.__name__.rpartition(".")[2] for module in FAMILIES}
    assert {cf.measures.CATALOGUE[symbol(case)].family for case in CASES} <= families
