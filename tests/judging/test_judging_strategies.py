"""Orders of judging against golden values."""

from __future__ import annotations

from typing import Any

import pytest

from cranfield.judging.proposals import judging_order
from golden_cases import STRUCTURED

OPTIONS: dict[str, dict[str, Any]] = {
    "depth3": {"strategy": "depth", "depth": 3},
    "move_to_front": {"strategy": "mtf"},
    "maxmean": {"strategy": "maxmean"},
    "maxmean_rate0": {"strategy": "maxmean", "rate": 0.0},
    "maxmean_all": {"strategy": "maxmean", "credit": "all"},
    "hedge": {"strategy": "hedge"},
}


@pytest.mark.parametrize(
    "case", [case for case in STRUCTURED if case["id"].startswith("L1-")], ids=lambda case: case["id"]
)
def test_golden(case: dict[str, Any]) -> None:
    found = {
        name: list(judging_order(case["runs"], set(case["relevant"]), **options)) for name, options in OPTIONS.items()
    }
    assert found == case["expected"]


def test_worked_example() -> None:
    runs = [list("abcd"), list("cae"), list("fcb")]
    orders = {name: "".join(judging_order(runs, "bc", **options)) for name, options in OPTIONS.items()}
    assert orders == {
        "depth3": "acfbe",
        "move_to_front": "acefbd",
        "maxmean": "acefbd",
        "maxmean_rate0": "acefbd",
        "maxmean_all": "afbcde",
        "hedge": "cafebd",
    }
    assert "".join(judging_order(runs, "bc", "depth", depth=2)) == "acfb"
