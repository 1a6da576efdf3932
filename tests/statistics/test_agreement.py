"""Agreement of a judge with humans against golden values."""

from __future__ import annotations

import math
from typing import Any

import pytest

from cranfield.statistics.agreement import false_positives, favour, label_agreement, order_agreement
from golden_cases import STRUCTURED


def rows(prefix: str) -> Any:
    cases = [case for case in STRUCTURED if case["id"].split("-")[0] == prefix]
    return pytest.mark.parametrize("case", cases, ids=lambda case: case["id"])


def same(found: Any, expected: Any, tol: float) -> bool:
    return math.isnan(found) if expected is None else found == pytest.approx(expected, abs=tol)


@rows("K1")
def test_labels(case: dict[str, Any]) -> None:
    found = label_agreement(case["human"], case["judge"], rel_level=case["rel_level"])
    for name, expected in case["expected"].items():
        if name in ("levels", "confusion"):
            assert getattr(found, name).tolist() == expected
        else:
            assert same(getattr(found, name), expected, case["tol"]), name


@rows("K2")
def test_orders(case: dict[str, Any]) -> None:
    found = order_agreement(case["human"], case["judge"])
    names = {"human_loss_of_judge_choice": "loss"}
    for name, expected in case["expected"].items():
        if name.startswith("top"):
            top = found.top(int(name[3:]))
            assert top.systems == expected["systems"]
            assert same(top.tau_a, expected["tau_a"], case["tol"])
        else:
            assert same(getattr(found, names.get(name, name)), expected, case["tol"]), name


@rows("K3")
def test_favour(case: dict[str, Any]) -> None:
    found = favour(case["human"], case["judge"], case["own"])
    names = {"query_low": "low", "query_high": "high", "adjusted_favour": "adjusted", "adjusted_se": "adjusted_error"}
    for name, expected in case["expected"].items():
        value = getattr(found, names.get(name, name))
        if name == "bias":
            assert value == pytest.approx(expected, abs=case["tol"])
        else:
            assert same(value, expected, case["tol"]), name


@rows("K4")
def test_false_positives(case: dict[str, Any]) -> None:
    counts = [case[side][kind] for side in ("own", "other") for kind in ("false_positive", "true_negative")]
    found = false_positives(*counts)
    assert tuple(found) == pytest.approx(tuple(case["expected"].values()), abs=case["tol"])
