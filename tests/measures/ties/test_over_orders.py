"""Sampled orders of tied documents."""

from __future__ import annotations

import numpy as np
import pytest

from cranfield.measures.ties.over_orders import sample_positions


@pytest.mark.parametrize(("documents", "size"), [(3, 12), (5, 7), (7, 7), (1, 4)])
def test_sampled_positions_are_all_different_and_equally_likely(documents: int, size: int) -> None:
    samples = 20_000
    drawn = sample_positions(documents, size, samples, np.random.default_rng(5))
    assert drawn.shape == (samples, documents)
    assert (np.diff(np.sort(drawn, axis=1), axis=1) > 0).all()
    for column in drawn.T:
        seen = np.bincount(column, minlength=size)
        assert len(seen) == size
        assert np.abs(seen / samples - 1 / size).max() < 5 * np.sqrt(1 / size / samples)
    # Of two documents either may be above.
    if documents > 1:
        assert abs((drawn[:, 0] < drawn[:, 1]).mean() - 0.5) < 5 * 0.5 / np.sqrt(samples)
