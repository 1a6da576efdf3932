"""The greedy ideal order of documents on several subtopics."""

from __future__ import annotations

import numpy as np

from cranfield.ranking.subtopics import _greedy


def test_the_greedy_order_adds_subtopics_one_after_the_other() -> None:
    """As ndeval does: with α = 0.3 many documents add the same in exact arithmetic, and rounding decides."""
    rng = np.random.default_rng(4)
    for subtopics in (1, 2, 7, 12, 40):
        for _ in range(20):
            about = (rng.random((int(rng.integers(1, 30)), subtopics)) < 0.4) * 1.0
            weights, left, order = [1.0] * subtopics, list(range(len(about))), []
            while left:
                gains = [np.cumsum(weights * about[d])[-1] for d in left]
                order.append(left.pop(gains.index(max(gains))))
                weights = [w * (1 - 0.3) if on else w for w, on in zip(weights, about[order[-1]], strict=True)]
            assert _greedy(about, np.ones(subtopics), 0.3).tolist() == order
