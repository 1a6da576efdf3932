"""Agreement of a judge with humans against golden values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
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


def test_krippendorffs_alpha() -> None:
    """Example A of Krippendorff (2011), and ordered grades by the definition, over all pairs of judgments."""
    human, judge = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    assert round(label_agreement(human, judge).alpha, 3) == 0.095
    rng = np.random.default_rng(3)
    human = rng.integers(0, 4, 30)
    judge = np.clip(human + rng.integers(-1, 2, 30), 0, 3)
    both = np.concatenate([human, judge])

    def distance(a: int, b: int) -> float:
        low, high = sorted((a, b))
        inside = sum(((both == grade).sum() for grade in range(low, high + 1)), 0)
        return float(inside - ((both == low).sum() + (both == high).sum()) / 2) ** 2

    observed = np.mean([distance(a, b) for a, b in zip(human, judge, strict=True)])
    pairs = [(a, b) for i, a in enumerate(both) for j, b in enumerate(both) if i != j]
    expected = np.mean([distance(a, b) for a, b in pairs])
    assert label_agreement(human, judge).alpha == pytest.approx(1 - observed / expected)
    assert np.isnan(label_agreement([1, 1], [1, 1]).alpha)
    assert label_agreement([0, 1, 2], [0, 1, 2]).alpha == 1
