"""Sampled orders of tied documents."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import cranfield as cf
from cranfield.measures.ties import expectation, over_orders
from cranfield.measures.ties.over_orders import SampledPositions


@pytest.mark.parametrize(("documents", "size"), [(3, 12), (5, 7), (7, 7), (1, 4)])
def test_sampled_positions_are_all_different_and_equally_likely(documents: int, size: int) -> None:
    samples = 20_000
    drawn = SampledPositions(documents, size, samples, np.random.default_rng(5))[:samples]
    assert drawn.shape == (samples, documents)
    assert (np.diff(np.sort(drawn, axis=1), axis=1) > 0).all()
    for column in drawn.T:
        seen = np.bincount(column, minlength=size)
        assert len(seen) == size
        assert np.abs(seen / samples - 1 / size).max() < 5 * np.sqrt(1 / size / samples)
    # Of two documents either may be above.
    if documents > 1:
        assert abs((drawn[:, 0] < drawn[:, 1]).mean() - 0.5) < 5 * 0.5 / np.sqrt(samples)


@pytest.mark.parametrize(("documents", "size"), [(3, 12), (5, 7), (7, 7)])
def test_samples_in_parts_are_those_drawn_at_once(documents: int, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, same = np.random.default_rng(5), np.random.default_rng(5)
    whole = SampledPositions(documents, size, 90, rng)[:90]
    monkeypatch.setattr(over_orders, "CELLS", 4)
    parts = SampledPositions(documents, size, 90, same)
    assert np.array_equal(np.concatenate([parts[first : first + 40] for first in (0, 40, 80)]), whole)
    assert rng.random() == same.random()


# One query each: a tie with many orders, one with few, one with a single order, ties beside other documents, and grades
# of several kinds.
JUDGED = {
    "many": {f"d{i}": 1 + i % 3 for i in range(60)},
    "few": {"d3": 2, "d17": 1, "d18": 1},
    "single": {f"d{i}": 1 for i in range(80)},
    "beside": {**{f"a{i}": 1 for i in range(40)}, "d1": 2, "d2": 1},
}
RETRIEVED = {
    query: {**{f"a{i}": 2.0 + i for i in range(40)}, **{f"d{i}": 1.0 for i in range(80)}, "z": 0.5} for query in JUDGED
}
MEASURES = [
    "INST",
    "BPM@30",
    "IPrec@0.5",
    "IFT",
    "yaAP",
    "NERR8@40",
    "SN_AP@50",
    "SN_DCG@60",
    "G",
    "RR[terminal]",
    "Accuracy@50",
]


def test_blocks_do_not_change_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = cf.evaluate(JUDGED, RETRIEVED, MEASURES, ties="expected", show=("residuals",)).to_dict()
    for module in (expectation, over_orders):
        monkeypatch.setattr(module, "CELLS", 1500)
    assert cf.evaluate(JUDGED, RETRIEVED, MEASURES, ties="expected", show=("residuals",)).to_dict() == whole


@pytest.mark.parametrize("measure", ["INST", "BPM@1000", "IPrec@0.5", "IFT", "yaAP", "SN_AP@1000"])
def test_memory_of_a_long_tie(measure: str) -> None:
    """A tie of 200,000 documents took 3.2 GB."""
    retrieved = {"q": dict.fromkeys((f"d{i}" for i in range(200_000)), 1.0)}
    evaluator = cf.Evaluator({"q": {f"d{7 * i}": 1 + i % 3 for i in range(500)}}, [measure], ties="expected")
    tracemalloc.start()
    evaluator(retrieved)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 300 << 20


def test_documents_of_one_kind_have_one_order() -> None:
    """However many there are, and nothing is sampled."""
    retrieved = {"q": dict.fromkeys((f"d{i}" for i in range(5000)), 1.0)}
    judged = {"q": dict.fromkeys(retrieved["q"], 1)}
    tied = cf.evaluate(judged, retrieved, ["yaAP", "INST", "BPM@10"], ties="expected")
    untied = {"q": {document: -float(i) for i, document in enumerate(retrieved["q"])}}
    assert tied._means.tolist() == cf.evaluate(judged, untied, ["yaAP", "INST", "BPM@10"])._means.tolist()
