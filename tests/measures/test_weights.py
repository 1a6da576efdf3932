"""The sums behind the weights of ranks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import zeta

from cranfield.measures.weights import hurwitz


def test_hurwitz_zetas_are_those_of_scipy_and_the_same_from_a_table() -> None:
    x = np.concatenate([np.geomspace(0.01, 1e18, 2_000), np.arange(1, 100) / 3, [15.999, 16, 16.001]])
    np.testing.assert_allclose(hurwitz(x), zeta(2, x), rtol=2e-15)
    whole = np.arange(1.0, 3000)
    assert hurwitz(np.append(whole, 0.5))[:-1].tolist() == hurwitz(whole).tolist()
    assert hurwitz(np.array(1.0)) == pytest.approx(np.pi**2 / 6, rel=1e-15)
