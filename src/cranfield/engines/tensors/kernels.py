"""Counting on NVIDIA devices: a kernel of Triton that reads every score once."""

from __future__ import annotations

from functools import cache
from typing import Any

from cranfield.errors import available

SIZES = {"compare": (4096, 4), "search": (2048, 4)}  # scores that a program holds at a time, and its warps
JUDGED = 128  # judged documents for which a program holds counts
SEARCH_FROM = 24  # with this many values a row, searching is faster than comparing
PROGRAMS = 4096  # enough programs to fill a device

tl: Any = None  # the language of Triton, loaded with the first kernel; a kernel looks it up among the globals


def usable(scores: Any) -> bool:
    """Whether the kernel can count these scores: floats of at most 32 bits on an NVIDIA device, with Triton."""
    return (
        bool(scores.is_cuda)
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
    return triton.jit({"compare": _compare, "search": _search}[name])


def _compare(  # type: ignore[no-untyped-def]
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


def _search(  # type: ignore[no-untyped-def]
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


def count_scores(scores: Any, row: Any, value: Any) -> tuple[Any, Any]:
    """As `counting.count_scores`: for each value, the higher and the equal scores in its row."""
    import torch

    higher, equal = torch.zeros((2, len(value)), dtype=torch.int64, device=scores.device)
    bad = torch.zeros(len(scores), dtype=torch.int64, device=scores.device)
    if len(value) and scores.shape[1]:
        FusedCounts(len(scores), row, value).add(scores, 0, higher, equal, bad)
    return higher, equal


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
