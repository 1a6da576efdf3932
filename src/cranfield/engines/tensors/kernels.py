"""Counting on NVIDIA devices: a kernel of Triton that reads every score once."""

from __future__ import annotations

from functools import cache
from typing import Any

from cranfield.errors import available

BLOCK, WARPS = 8192, 4  # scores that a program holds at a time, and its warps
JUDGED = 128  # judged documents for which a program holds counts
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
def _kernel() -> Any:
    import triton
    import triton.language

    globals()["tl"] = triton.language
    return triton.jit(_count)


def _count(scores, stride, width, begin, value, higher, equal, bad, pieces, BLOCK: tl.constexpr, JUDGED: tl.constexpr):  # type: ignore[no-untyped-def]
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


def count_scores(scores: Any, row: Any, value: Any) -> tuple[Any, Any]:
    """As `counting.count_scores`: for each value, the higher and the equal scores in its row."""
    import torch

    higher, equal = torch.zeros((2, len(value)), dtype=torch.int64, device=scores.device)
    bad = torch.zeros(len(scores), dtype=torch.int64, device=scores.device)
    if len(value) and scores.shape[1]:
        add_counts(scores, begin_of(row, len(scores)), value.float(), higher, equal, bad)
    return higher, equal


def begin_of(row: Any, rows: int) -> Any:
    """The first value of each row, and the number of all values."""
    import torch

    return torch.searchsorted(row.contiguous(), torch.arange(rows + 1, device=row.device))


def add_counts(scores: Any, begin: Any, value: Any, higher: Any, equal: Any, bad: Any) -> None:
    """Add the counts of a block of scores; the values of row r are ``value[begin[r]:begin[r + 1]]``.

    ``bad`` counts the programs that saw NaN in a row.
    """
    width = int(scores.shape[1])
    blocks = -(-width // BLOCK)
    pieces = max(min(blocks, blocks * len(scores) // PROGRAMS), 1)
    grid = (len(scores), -(-blocks // pieces))
    _kernel()[grid](
        scores,
        scores.stride(0),
        width,
        begin,
        value,
        higher,
        equal,
        bad,
        pieces,
        BLOCK=BLOCK,
        JUDGED=JUDGED,
        num_warps=WARPS,
    )
