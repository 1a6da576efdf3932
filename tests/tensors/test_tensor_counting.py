"""Counts of scores against enumeration: rankings of all lengths, in blocks of all sizes, compared and sorted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cranfield.tensors import counting
from cranfield.tensors.arrays import Arrays, TorchArrays

LENGTHS = {
    "similar": [3, 5, 4, 6, 4],
    "one long": [70, 1, 2, 3, 1, 2, 3, 3],
    "equal": [5, 5, 5, 5],
    "a single one": [9],
}


@pytest.fixture(params=["numpy", "torch", "as on a device"])
def ops(request: pytest.FixtureRequest) -> Arrays:
    if request.param == "numpy":
        return Arrays()
    torch = pytest.importorskip("torch")
    found = TorchArrays(torch, torch.device("cpu"))
    if request.param == "as on a device":
        found.on_device = True
        request.getfixturevalue("monkeypatch").setattr(counting, "usable", lambda *_: False)
    return found


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
@pytest.mark.parametrize("sort_from", [0, 4, 1000])
@pytest.mark.parametrize("block", [1, 7, 64, 1 << 18])
@pytest.mark.parametrize("masked", [False, True])
def test_counts_are_those_of_enumeration(
    ops: Arrays, lengths: list[int], sort_from: int, block: int, *, masked: bool
) -> None:
    ops.block, ops.sort_from = block, sort_from
    rng = np.random.default_rng(block + sort_from)
    begin = np.cumsum([0, *lengths])
    count = int(begin[-1])
    scores = rng.choice([-np.inf, -1.0, -0.0, 0.0, 1.0], count)
    mask = rng.random(count) < 0.7 if masked else np.ones(count, bool)
    at = np.flatnonzero(mask & (rng.random(count) < 0.6))
    row = np.searchsorted(begin, at, side="right") - 1
    order = rng.permutation(count)

    def device(values: Any) -> Any:
        return ops.to_device(values, device_scores)

    device_scores = scores if type(ops) is Arrays else ops.xp.from_numpy(scores)
    tables = counting.Tables(ops, begin, device_scores)
    orders = [(device(order), device(order[at])), (device(np.arange(count)), device(at))]
    of_rows, of_values = tables.count(device_scores, device(mask) if masked else None, row, device(scores[at]), orders)
    lists = [range(first, last) for first, last in zip(begin[:-1].tolist(), begin[1:].tolist(), strict=True)]
    assert of_rows.tolist() == [[sum(mask[e] for e in elements) for elements in lists], [0] * len(lists)]
    for element, query, found in zip(at.tolist(), row.tolist(), of_values.T.tolist(), strict=True):
        retrieved = [e for e in lists[query] if mask[e]]
        tied = [e for e in retrieved if scores[e] == scores[element]]
        assert found == [
            sum(scores[e] > scores[element] for e in retrieved),
            len(tied),
            sum(order[e] < order[element] for e in tied),
            sum(e < element for e in tied),
        ]


def test_a_kernel_sees_a_wide_row_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    widths = []

    class Kernel:
        """Counts like a kernel, in plain PyTorch."""

        def __getitem__(self, grid: tuple[int, int]) -> Any:
            def launch(scores: Any, stride: int, width: int, begin: Any, value: Any, *results: Any, **_: Any) -> None:
                higher, equal, _bad, _pieces = results
                widths.append(width)
                row = torch.searchsorted(begin, torch.arange(len(value)), right=True) - 1
                higher += (scores[row] > value[:, None]).sum(1)
                equal += (scores[row] == value[:, None]).sum(1)

            return launch

    monkeypatch.setattr(counting, "WIDEST", 4)
    monkeypatch.setattr(counting, "_kernel", lambda name: Kernel())
    scores = torch.from_numpy(np.random.default_rng(1).integers(0, 4, (3, 11))).float()
    row, value = torch.tensor([0, 0, 2]), torch.tensor([1.0, 3.0, 2.0])
    higher, equal = torch.zeros(3, dtype=torch.int64), torch.zeros(3, dtype=torch.int64)
    counting.FusedCounts(3, row, value).add(scores, 0, higher, equal, torch.zeros(3, dtype=torch.int64))
    assert widths == [4, 4, 3]
    assert higher.tolist() == (scores[row] > value[:, None]).sum(1).tolist()
    assert equal.tolist() == (scores[row] == value[:, None]).sum(1).tolist()
