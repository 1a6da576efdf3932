"""Counts of higher and of equal scores: all that a ranking needs to know of each judged document.

On NVIDIA devices, kernels of Triton read every score once. Elsewhere, the same counts are made by PyTorch or NumPy.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from cranfield.errors import available
from cranfield.tensors.arrays import Arrays

SIZES = {"compare": (4096, 4), "search": (2048, 4)}  # scores that a program holds at a time, and its warps
JUDGED = 128  # judged documents for which a program holds counts
SEARCH_FROM = 24  # with this many values a row, searching is faster than comparing
PROGRAMS = 4096  # enough programs to fill a device

tl: Any = None  # the language of Triton, loaded with the first kernel; a kernel looks it up among the globals


def count_scores(ops: Arrays, scores: Any, row: Any, value: Any) -> tuple[Any, Any]:
    """For each value, the number of higher and of equal scores in its row of a table.

    ``row`` must be ascending. On an NVIDIA device a compiled kernel reads every score once.
    """
    if usable(ops, scores):
        higher, equal = ops.zeros(len(value), scores), ops.zeros(len(value), scores)
        if len(value) and scores.shape[1]:
            FusedCounts(len(scores), row, value).add(scores, 0, higher, equal, ops.zeros(len(scores), scores))
        return higher, equal
    if len(value) > ops.sort_from * max(len(scores), 1):
        return _by_sorting(ops, scores, row, value)
    return _by_comparing(ops, scores, row, value)


def _by_comparing(ops: Arrays, scores: Any, row: Any, value: Any) -> tuple[Any, Any]:
    higher, equal = ops.zeros(len(value), scores), ops.zeros(len(value), scores)
    width = max(int(scores.shape[1]), 1)
    step = max(ops.block // width, 1)
    for first in range(0, len(value), step):
        part = slice(first, first + step)
        # Rows that are wider than a block are compared in pieces.
        for begin in range(0, width, max(ops.block, 1)):
            rows, values = scores[row[part], begin : begin + ops.block], value[part][:, None]
            higher[part] += ops.count(rows > values)
            equal[part] += ops.count(rows == values)
    return higher, equal


def _by_sorting(ops: Arrays, scores: Any, row: Any, value: Any) -> tuple[Any, Any]:
    """The same by binary search in sorted rows."""
    higher, equal = ops.zeros(len(value), scores), ops.zeros(len(value), scores)
    width, rows = int(scores.shape[1]), len(scores)
    step = max(ops.block * 4 // max(width, 1), 1)
    for first in range(0, rows, step):
        if step >= rows:
            part: Any = slice(None)
        else:
            # Where the values of each block of rows begin is known on the host only without an accelerator.
            part = ops.nonzero((row >= first) & (row < first + step))[0] if ops.on_device else _span(row, first, step)
        ordered = ops.sort_rows(scores[first : first + step] + 0)  # + 0 turns -0.0 into 0.0
        local, values = row[part] - first, value[part] + 0
        below = _search(ops, ordered, local, values, right=False)
        up_to = _search(ops, ordered, local, values, right=True)
        higher[part] += width - up_to
        equal[part] += up_to - below
    return higher, equal


def _span(row: Any, first: int, step: int) -> slice:
    """The elements of an ascending array with values from ``first`` to ``first + step - 1``."""
    bounds = np.searchsorted(np.asarray(row), [first, first + step])
    return slice(int(bounds[0]), int(bounds[1]))


def _search(ops: Arrays, ordered: Any, row: Any, value: Any, *, right: bool) -> Any:
    """For each value, the number of elements of its row that are lower or, with ``right``, not higher."""
    low = ops.zeros(len(value), ordered)
    high = low + int(ordered.shape[1])
    last = max(int(ordered.shape[1]) - 1, 0)
    for _ in range(int(ordered.shape[1]).bit_length()):
        middle = (low + high) // 2
        seen = ordered[row, middle.clip(max=last)]
        lower = (seen <= value) if right else (seen < value)
        lower = lower & (low < high)
        low = ops.xp.where(lower, middle + 1, low)
        high = ops.xp.where(lower, high, middle)
        high = ops.xp.where(high < low, low, high)
    return low


def count_before(ops: Arrays, scores: Any, row: Any, value: Any, positions: Any, position: Any) -> Any:
    """For each value, the number of equal scores of its row at lower positions.

    ``positions``: the position of each column or, with two dimensions, of each element; ``position``: of each value.
    """
    before = ops.zeros(len(value), scores)
    width = max(int(scores.shape[1]), 1)
    step = max(ops.block // width, 1)
    for first in range(0, len(value), step):
        part = slice(first, first + step)
        at = positions[row[part]] if len(positions.shape) > 1 else positions[None]
        before[part] = ops.count((scores[row[part]] == value[part][:, None]) & (at < position[part][:, None]))
    return before


def changes(ops: Arrays, values: Any) -> Any:
    """1 for the first element of each series of equal ones, 0 for the others."""
    first = ops.zeros(len(values), values) + 1
    first[1:] = first[1:] * (values[1:] != values[:-1])
    return first


def count_segments(ops: Arrays, query: Any, score: Any, weight: Any, chosen: Any, order: Any = None) -> Any:
    """Rankings in flat form: for each chosen element, higher and equal scores of its query, and equal ones before it.

    ``weight``: 1 for scores that count, 0 for others. ``order``: the order of the elements of a tie; by default the
    order of the input.
    """
    sequence = ops.arange(len(score), score) if order is None else ops.argsort(order)
    sequence = sequence[ops.argsort(score[sequence], descending=True)]
    sequence = sequence[ops.argsort(query[sequence])]
    q, s, w = query[sequence], score[sequence], weight[sequence]
    at = ops.arange(len(score), score)
    new_query = changes(ops, q)
    new_tie = new_query | changes(ops, s)
    before = w.cumsum(0) - w
    first_of_query, first_of_tie = ops.running_max(at * new_query), ops.running_max(at * new_tie)
    # The weight of a tie is the difference of running sums at its first element and after its last one.
    tie = new_tie.cumsum(0) - 1
    bounds = ops.zeros(len(score) + 1, score)
    starts = ops.nonzero(new_tie)[0]
    bounds[: len(starts)] = before[starts]
    bounds[len(starts)] = before[-1] + w[-1] if len(score) else 0
    equal = bounds[tie + 1] - bounds[tie]
    higher = before[first_of_tie] - before[first_of_query]
    position = ops.zeros(len(score), score)
    position[sequence] = at
    rows = position[chosen]
    return higher[rows], equal[rows], before[rows] - before[first_of_tie[rows]]


class ScoreCounts:
    """Counts for a list of values, each of one row: the higher and the equal scores of all blocks added so far.

    ``row``: the row of each value, ascending; ``position``: its position among tied documents, if ties are ordered.
    """

    def __init__(self, ops: Arrays, rows: int, row: Any, value: Any, position: Any = None) -> None:
        self.ops, self.rows, self.row, self.value, self.position = ops, rows, row, value, position
        self.higher, self.equal = ops.zeros(len(value), value), ops.zeros(len(value), value)
        self.before = None if position is None else ops.zeros(len(value), value)
        self.length, self.bad = ops.zeros(rows, value), ops.zeros(rows, value)
        self._kernel: Any = None

    def add(self, scores: Any, *, first: int = 0, mask: Any = None, positions: Any = None) -> None:
        """Count a block (rows, documents) whose first row is number ``first``."""
        if not scores.shape[1] or not len(scores):
            return
        ops, of_rows = self.ops, slice(first, first + len(scores))
        self.length[of_rows] += int(scores.shape[1])
        if mask is not None:
            scores = ops.xp.where(mask != 0, ops.floats(scores), -np.inf)
            self.length[of_rows] -= ops.count(mask == 0)
        elif self.before is None and self._fused(scores, first):
            return
        row, value, chosen = self.row, self.value, slice(None)
        if first != 0 or len(scores) != self.rows:
            chosen = ops.nonzero((self.row >= first) & (self.row < first + len(scores)))[0]
            row, value = self.row[chosen] - first, self.value[chosen]
        higher, equal = count_scores(ops, scores, row, value)
        if mask is not None:
            equal = equal - ops.count(mask == 0)[row] * (value == -np.inf)
        self.bad[of_rows] += ops.xp.isnan(ops.xp.amax(scores, 1)) * 1  # the highest of scores with NaN is NaN
        self.higher[chosen] += higher
        self.equal[chosen] += equal
        if self.before is not None:
            if mask is not None:
                positions = ops.xp.where(mask != 0, positions[None], np.iinfo(np.int64).max)
            self.before[chosen] += count_before(ops, scores, row, value, positions, self.position[chosen])

    def _fused(self, scores: Any, first: int) -> bool:
        """Count with the kernel, if it can be used."""
        if not usable(self.ops, scores):
            return False
        if self._kernel is None:
            self._kernel = FusedCounts(self.rows, self.row, self.value)
        self._kernel.add(scores, first, self.higher, self.equal, self.bad)
        return True

    def merge(self, other: ScoreCounts) -> None:
        for name in self.fields:
            getattr(self, name).__iadd__(getattr(other, name))

    @property
    def fields(self) -> list[str]:
        return ["higher", "equal", "length", "bad", *([] if self.before is None else ["before"])]


def usable(ops: Arrays, scores: Any) -> bool:
    """Whether the kernel can count these scores: floats of at most 32 bits on an NVIDIA device, with Triton."""
    return (
        ops.on_device
        and bool(scores.is_cuda)
        and scores.is_floating_point()
        and scores.element_size() <= 4
        and scores.stride(1) == 1
        and available("triton") is not None
    )


@cache
def _kernel(name: str) -> Any:
    import triton
    import triton.language

    globals()["tl"] = triton.language
    return triton.jit({"compare": _compare_kernel, "search": _search_kernel}[name])


def _compare_kernel(  # type: ignore[no-untyped-def]
    scores, stride, width, begin, value, higher, equal, bad, pieces, BLOCK: tl.constexpr, JUDGED: tl.constexpr
):
    """One program: some blocks of one row, against all values of the row."""
    row = tl.program_id(0).to(tl.int64)
    first = tl.load(begin + row)
    last = tl.load(begin + row + 1)
    base = tl.program_id(1) * pieces
    numbers = tl.arange(0, JUDGED)
    faults = 0
    group = first
    while group < tl.maximum(last, first + 1):
        above = tl.zeros([JUDGED], tl.int32)
        same = tl.zeros([JUDGED], tl.int32)
        end = tl.minimum(last, group + JUDGED)
        for piece in range(base, base + pieces):
            at = piece * BLOCK + tl.arange(0, BLOCK)
            x = tl.load(scores + row * stride + at, mask=at < width, other=float("-inf")).to(tl.float32)
            faults += tl.sum((x != x).to(tl.int32))
            # Positions beyond the row equal nothing, not even minus infinity.
            x = tl.where(at < width, x, float("nan"))
            for j in range(group, end):
                v = tl.load(value + j)
                # Both counts in one sum; a block has fewer than 65,536 scores.
                both = tl.sum(tl.where(x > v, 1, 0) + tl.where(x == v, 65536, 0))
                chosen = numbers == (j - group)
                above += tl.where(chosen, both & 65535, 0)
                same += tl.where(chosen, both >> 16, 0)
        at_value = group + numbers
        tl.atomic_add(higher + at_value, above.to(tl.int64), mask=at_value < end)
        tl.atomic_add(equal + at_value, same.to(tl.int64), mask=at_value < end)
        group += JUDGED
    if faults > 0:
        tl.atomic_add(bad + row, 1)


def _search_kernel(  # type: ignore[no-untyped-def]
    scores, stride, width, begin, value, higher, equal, bad, pieces, BLOCK: tl.constexpr, JUDGED: tl.constexpr
):
    """The same by binary search among the values of the row, which are ascending and different."""
    row = tl.program_id(0).to(tl.int64)
    first = tl.load(begin + row)
    count = (tl.load(begin + row + 1) - first).to(tl.int32)
    base = tl.program_id(1) * pieces
    faults = 0
    # Class 2k: the score is higher than k values; class 2k + 1: it also equals the next one.
    classes = tl.zeros([2 * JUDGED], tl.int32)
    for piece in range(base, base + pieces):
        at = piece * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(scores + row * stride + at, mask=at < width, other=float("-inf")).to(tl.float32)
        faults += tl.sum((x != x).to(tl.int32))
        below = tl.zeros([BLOCK], tl.int32)
        step = JUDGED // 2
        while step > 0:
            probe = below + step - 1
            v = tl.load(value + first + probe, mask=probe < count, other=float("inf"))
            below = tl.where(v < x, below + step, below)
            step = step // 2
        v = tl.load(value + first + below, mask=below < count, other=float("nan"))
        # Positions beyond the row are in class 0, which no value counts.
        number = tl.where(at < width, 2 * below + (v == x).to(tl.int32), 0)
        classes += tl.histogram(number, 2 * JUDGED)
    outside, same = tl.split(tl.reshape(classes, [JUDGED, 2]))
    both = outside + same
    above = tl.cumsum(both, 0, reverse=True) - both
    numbers = tl.arange(0, JUDGED)
    tl.atomic_add(higher + first + numbers, above.to(tl.int64), mask=numbers < count)
    tl.atomic_add(equal + first + numbers, same.to(tl.int64), mask=numbers < count)
    if faults > 0:
        tl.atomic_add(bad + row, 1)


class FusedCounts:
    """The values of rows, prepared for any number of blocks of scores.

    With many values a row, each score is searched among the different values of its row; otherwise it is compared
    with all of them.
    """

    def __init__(self, rows: int, row: Any, value: Any) -> None:
        import torch

        self.value, self.begin = value.float(), _begin_of(row, rows)
        self.different: Any = None
        if not SEARCH_FROM * rows <= len(value):
            return
        # Ascending values of each row, each once; + 0 turns -0.0 into 0.0.
        order = torch.sort(self.value + 0, stable=True).indices
        order = order[torch.sort(row[order], stable=True).indices]
        values, rows_of = self.value[order] + 0, row[order]
        new = torch.ones_like(rows_of, dtype=torch.bool)
        new[1:] = (values[1:] != values[:-1]) | (rows_of[1:] != rows_of[:-1])
        begin = _begin_of(rows_of[new], rows)
        if int((begin[1:] - begin[:-1]).max()) >= JUDGED:
            return
        self.different = torch.empty_like(row)
        self.different[order] = torch.cumsum(new, 0) - 1
        self.values, self.begins = values[new], begin

    def add(self, scores: Any, first: int, higher: Any, equal: Any, bad: Any) -> None:
        """Add the counts of a block of scores whose first row is number ``first``.

        ``bad`` counts the programs that saw NaN in a row.
        """
        import torch

        last = first + len(scores)
        if self.different is None:
            _launch("compare", scores, self.begin[first : last + 1], self.value, higher, equal, bad[first:last])
            return
        counts = torch.zeros((2, len(self.values)), dtype=torch.int64, device=scores.device)
        _launch("search", scores, self.begins[first : last + 1], self.values, counts[0], counts[1], bad[first:last])
        higher += counts[0][self.different]
        equal += counts[1][self.different]


def _begin_of(row: Any, rows: int) -> Any:
    """The first value of each row, and the number of all values."""
    import torch

    return torch.searchsorted(row.contiguous(), torch.arange(rows + 1, device=row.device))


def _launch(kernel: str, scores: Any, begin: Any, value: Any, higher: Any, equal: Any, bad: Any) -> None:
    """Count a block of scores; the values of row r are ``value[begin[r]:begin[r + 1]]``."""
    width = int(scores.shape[1])
    block, warps = SIZES[kernel]
    blocks = -(-width // block)
    pieces = max(min(blocks, blocks * len(scores) // PROGRAMS), 1)
    grid = (len(scores), -(-blocks // pieces))
    arguments = scores, scores.stride(0), width, begin, value, higher, equal, bad, pieces
    _kernel(kernel)[grid](*arguments, BLOCK=block, JUDGED=JUDGED, num_warps=warps)
