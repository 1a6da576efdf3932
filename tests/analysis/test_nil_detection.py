"""Nil detection: counts and shares by hand, and against their definitions."""

import math

import numpy as np
import pytest

from cranfield.analysis.audit import NilDetection, nil_detection
from cranfield.codec import plain
from cranfield.errors import UsageError


def test_counts_and_shares_by_hand() -> None:
    nil = np.array([1, 1, 1, 0, 0, 0, 0, 0], bool)
    silent = np.array([1, 1, 0, 1, 0, 0, 0, 0], bool)
    found = nil_detection(nil, silent)
    assert found == NilDetection(queries=8, nil=3, silent=3, detected=2)
    assert (found.false_silences, found.missed) == (1, 1)
    assert (found.precision, found.recall, found.f1) == pytest.approx((2 / 3, 2 / 3, 2 / 3))
    assert found.accuracy == pytest.approx(6 / 8)


def test_f1_is_the_harmonic_mean() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        nil, silent = rng.random((2, 30)) < 0.4
        found = nil_detection(nil, silent)
        p, r = found.precision, found.recall
        if p + r > 0:
            assert found.f1 == pytest.approx(2 * p * r / (p + r))
        assert found.accuracy == pytest.approx((nil == silent).mean())


def test_a_share_of_nothing_is_undefined() -> None:
    found = nil_detection(np.zeros(3, bool), np.zeros(3, bool))
    assert all(math.isnan(share) for share in (found.precision, found.recall, found.f1))
    assert found.accuracy == 1
    assert plain(found)["precision"] is None
    assert math.isnan(nil_detection(np.zeros(0, bool), np.zeros(0, bool)).accuracy)


def test_the_two_columns_must_fit() -> None:
    with pytest.raises(UsageError, match="one value for each query"):
        nil_detection(np.zeros(3, bool), np.zeros(2, bool))
