"""Counts of higher and of equal scores: all that a ranking needs to know of each judged document.

On NVIDIA devices, kernels of Triton read every score once. Elsewhere, the same counts are made by PyTorch or NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from cranfield.data import Integers
from cranfield.errors import available
from cranfield.tensors.arrays import Arrays, Host

SIZES = {"compare": (4096, 4), "search": (2048, 4)}  # scores that a program holds at a time, and its warps
JUDGED = 128  # judged documents for which a program holds counts
SEARCH_FROM = 12  # with this many values a row, searching is faster than comparing
PADDING = 2  # a table may have this many times the elements of the rankings in it
PROGRAMS = 4096  # enough programs to fill a device
WIDEST = (
    1 << 30
)  # columns that a kernel sees: it numbers them in 32 bits, those of the last programs beyond the end too

tl: Any = None  # the language of Triton, loaded with the first kernel; a kernel looks it up among the globals


def count_scores(
    ops: Arrays, scores: Any, row: Any, value: Any, positions: Any = None, position: Any = None
) -> tuple[Any, Any, Any]:
    """For each value, the number of higher and of equal scores in its row of a table, and of equal ones before it.

    ``row`` must be ascending. ``positions``: the position of each column or, with two dimensions, of each element;
    ``position``: of each value. Without them, the third result is None.
    """
    if positions is None and usable(ops, scores):
        higher, equal = ops.zeros(len(value), scores), ops.zeros(len(value), scores)
        if len(value) and scores.shape[1]:
            FusedCounts(len(scores), row, value).add(scores, 0, higher, equal, ops.zeros(len(scores), scores))
        return higher, equal, None
    by_sorting = len(value) > ops.sort_from * max(len(scores), 1)
    return (_by_sorting if by_sorting else _by_comparing)(ops, scores, row, value, positions, position)


def _by_comparing(ops: Arrays, scores: Any, row: Any, value: Any, positions: Any, position: Any) -> Any:
    higher, equal, before = (ops.zeros(len(value), scores) for _ in range(3))
    width = max(int(scores.shape[1]), 1)
    step = max(ops.block // width, 1)
    for first in range(0, len(value), step):
        part = slice(first, first + step)
        # Rows that are wider than a block are compared in pieces.
        for begin in range(0, width, ops.block):
            columns = slice(begin, begin + ops.block)
            rows, values = scores[row[part], columns], value[part][:, None]
            same = rows == values
            higher[part] += ops.count(rows > values)
            equal[part] += ops.count(same)
            if positions is not None:
                at = positions[row[part], columns] if len(positions.shape) > 1 else positions[None, columns]
                before[part] += ops.count(same & (at < position[part][:, None]))
    return higher, equal, None if positions is None else before


def _by_sorting(ops: Arrays, scores: Any, row: Any, value: Any, positions: Any, position: Any) -> Any:
    """The same by binary search in sorted rows; the elements of a tie are in the order of their positions."""
    higher, equal, before = (ops.zeros(len(value), scores) for _ in range(3))
    width, rows = int(scores.shape[1]), len(scores)
    step = max(ops.block * 4 // max(width, 1), 1)
    for first in range(0, rows, step):
        if step >= rows:
            part: Any = slice(None)
        else:
            # Where the values of each block of rows begin is known on the host only without an accelerator.
            part = ops.nonzero((row >= first) & (row < first + step))[0] if ops.on_device else _span(row, first, step)
        table = scores[first : first + step] + 0  # + 0 turns -0.0 into 0.0
        local, values, low = row[part] - first, value[part] + 0, ops.zeros(len(value[part]), scores)
        if positions is None:
            table = ops.sort_rows(table)
        else:
            of_table = positions[first : first + step] if len(positions.shape) > 1 else positions
            order, of_table = (ops.xp.broadcast_to(x, table.shape) for x in (ops.argsort(of_table), of_table))
            order = ops.gather(order, ops.argsort(ops.gather(table, order)))
            table, of_table = ops.gather(table, order), ops.gather(of_table, order)
        below = _search(ops, table, local, values, low, low + width)
        up_to = _search(ops, table, local, values, below, low + width, right=True)
        higher[part] += width - up_to
        equal[part] += up_to - below
        if positions is not None:
            before[part] += _search(ops, of_table, local, position[part], below, up_to) - below
    return higher, equal, None if positions is None else before


def _span(row: Any, first: int, step: int) -> slice:
    """The elements of an ascending array with values from ``first`` to ``first + step - 1``."""
    bounds = np.searchsorted(np.asarray(row), [first, first + step])
    return slice(int(bounds[0]), int(bounds[1]))


def _search(ops: Arrays, ordered: Any, row: Any, value: Any, low: Any, high: Any, *, right: bool = False) -> Any:
    """For each value, the first place from ``low`` to ``high`` whose element in its row is not lower.

    With ``right``, the first whose element is higher.
    """
    last = max(int(ordered.shape[1]) - 1, 0)
    for _ in range(int(ordered.shape[1]).bit_length()):
        middle = (low + high) // 2
        seen = ordered[row, middle.clip(max=last)]
        lower = ((seen <= value) if right else (seen < value)) & (low < high)
        low = ops.xp.where(lower, middle + 1, low)
        high = ops.xp.where(lower, high, middle)
    return low


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
        outside, lowest = None, -np.inf
        if mask is not None:
            # Documents that are not retrieved get the lowest score of all; ties with it are counted off.
            lowest, outside = ops.lowest(scores), ops.count(mask == 0)
            scores = ops.xp.where(mask != 0, scores, lowest)
            self.length[of_rows] -= outside
            if positions is not None:
                of_all = positions if len(positions.shape) > 1 else positions[None]
                positions = ops.xp.where(mask != 0, of_all, np.iinfo(np.int64).max)
        elif self.before is None and self._fused(scores, first):
            return
        row, value, position, chosen = self.row, self.value, self.position, slice(None)
        if first != 0 or len(scores) != self.rows:
            chosen = ops.nonzero((self.row >= first) & (self.row < first + len(scores)))[0]
            row, value = self.row[chosen] - first, self.value[chosen]
            position = None if position is None else position[chosen]
        higher, equal, before = count_scores(ops, scores, row, value, positions, position)
        if outside is not None:
            equal = equal - outside[row] * (value == lowest)
        self.bad[of_rows] += ops.xp.isnan(ops.xp.amax(scores, 1)) * 1  # the highest of scores with NaN is NaN
        self.higher[chosen] += higher
        self.equal[chosen] += equal
        if self.before is not None:
            self.before[chosen] += before

    def _fused(self, scores: Any, first: int) -> bool:
        """Count with the kernel, if it can be used."""
        if not usable(self.ops, scores):
            return False
        if self._kernel is None:
            self._kernel = FusedCounts(self.rows, self.row, self.value)
        self._kernel.add(scores, first, self.higher, self.equal, self.bad)
        return True

    def replace(self, values: Integers, rows: Integers, other: ScoreCounts) -> None:
        """Take the counts of these values, and of their rows, from other counts."""
        at, of_rows = self.ops.to_device(values, self.value), self.ops.to_device(rows, self.value)
        self.value[at], self.higher[at], self.equal[at] = other.value, other.higher, other.equal
        self.length[of_rows], self.bad[of_rows] = other.length, other.bad
        if self.before is not None:
            self.before[at] = other.before

    @property
    def sums(self) -> list[Any]:
        """All counts, which are sums over blocks."""
        return [self.higher, self.equal, self.length, self.bad, *([] if self.before is None else [self.before])]


def all_reduce(tensors: Sequence[Any], group: Any) -> None:
    """Add tensors over all processes of a group of ``torch.distributed``, in place."""
    import torch.distributed as distributed

    for tensor in tensors:
        distributed.all_reduce(tensor, group=None if group == "world" else group)


class Tables:
    """Rankings of all lengths as tables: one, or those of similar lengths in one if it would be mostly padding.

    ``begin``: the first element of each ranking, and the number of all elements. Values of the elements are a list, or
    a table if all rankings have one length.
    """

    def __init__(self, ops: Arrays, begin: Integers, like: Any) -> None:
        self.ops, lengths = ops, np.diff(begin)
        self.table_of, self.row_of = np.zeros(len(lengths), np.int64), np.arange(len(lengths))
        self.parts: list[tuple[Integers, Any, Any]] = [(self.row_of, None, None)]  # rankings, elements, and if they are
        width = lengths.max(initial=0)
        if (lengths == width).all():
            return
        skewed = width * len(lengths) > PADDING * begin[-1]
        sizes = np.frexp(lengths)[1] if skewed else np.zeros_like(lengths)
        self.parts, self.row_of = [], np.zeros_like(lengths)
        for size in np.unique(sizes):
            rows = np.flatnonzero(sizes == size)
            self.table_of[rows], self.row_of[rows] = len(self.parts), np.arange(len(rows))
            column = np.arange(lengths[rows].max())
            inside = column < lengths[rows, None]
            elements = np.where(inside, begin[rows, None] + column, 0)
            self.parts.append((rows, ops.to_device(elements, like), ops.to_device(inside, like)))

    def count(
        self, scores: Any, mask: Any, row: Integers, value: Any, orders: Sequence[tuple[Any, Any]] = ()
    ) -> tuple[Host, Host]:
        """Lengths of rankings, and scores that are NaN, (2, ranking); and counts for values, (2 + orders, value).

        ``row``: the ranking of each value, ascending. Counts are those of `count_scores`; ``orders`` has positions, of
        elements or of columns, and the position of each value.
        """
        ops, single = self.ops, len(self.parts) == 1
        of_rows = np.zeros((2, len(self.row_of)), np.int64)
        of_values = np.zeros((2 + len(orders), len(row)), np.int64)
        for number, (rows, elements, inside) in enumerate(self.parts):
            here: Any = slice(None) if single else np.flatnonzero(self.table_of[row] == number)
            at = ops.to_device(self.row_of[row[here]], scores)
            chosen = here if single else ops.to_device(here, scores)
            table, retrieved = _table(scores, rows, elements), inside
            if mask is not None:
                retrieved = _table(mask, rows, elements) if inside is None else inside & _table(mask, rows, elements)
            counts = ScoreCounts(ops, len(rows), at, value[chosen])
            for i, (positions, position) in enumerate(orders):
                if tuple(positions.shape) != tuple(table.shape[1:]):
                    positions = _table(positions, rows, elements)
                counts = ScoreCounts(ops, len(rows), at, value[chosen], position[chosen])
                counts.add(table, mask=retrieved, positions=positions)
                of_values[2 + i, here] = ops.host(counts.before)
            if not orders:
                counts.add(table, mask=retrieved)
            of_rows[:, rows] = ops.host(ops.xp.stack([counts.length, counts.bad]))
            of_values[:2, here] = ops.host(ops.xp.stack([counts.higher, counts.equal]))
        return of_rows, of_values


def _table(values: Any, rows: Integers, elements: Any) -> Any:
    """The values of elements as a table of these rows."""
    return values.reshape(len(rows), -1) if elements is None else values[elements]


def groups(ops: Arrays, numbers: Any) -> tuple[Any, Host, Integers]:
    """Groups of equal numbers, ascending: the order of elements (None: as it is), their numbers, where they begin."""
    order = None
    if not bool((numbers[1:] >= numbers[:-1]).all()):
        order = ops.argsort(numbers)
        numbers = numbers[order]
    new = ops.zeros(len(numbers), numbers) + 1
    new[1:] = numbers[1:] != numbers[:-1]
    first = ops.nonzero(new)[0]
    return order, ops.host(numbers[first]), np.append(ops.host(first), len(numbers)).astype(np.int64)


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
        most = int((begin[1:] - begin[:-1]).max())
        if most >= JUDGED:
            return
        self.classes = 1 << most.bit_length()  # the next power of two: fewer steps of the search
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
            _launch("compare", JUDGED, scores, self.begin[first : last + 1], self.value, higher, equal, bad[first:last])
            return
        counts = torch.zeros((2, len(self.values)), dtype=torch.int64, device=scores.device)
        begin = self.begins[first : last + 1]
        _launch("search", self.classes, scores, begin, self.values, counts[0], counts[1], bad[first:last])
        higher += counts[0][self.different]
        equal += counts[1][self.different]


def _begin_of(row: Any, rows: int) -> Any:
    """The first value of each row, and the number of all values."""
    import torch

    return torch.searchsorted(row.contiguous(), torch.arange(rows + 1, device=row.device))


def _launch(kernel: str, judged: int, scores: Any, begin: Any, value: Any, higher: Any, equal: Any, bad: Any) -> None:
    """Count a block of scores; the values of row r are ``value[begin[r]:begin[r + 1]]``."""
    block, warps = SIZES[kernel]
    for column in range(0, int(scores.shape[1]), WIDEST):
        part = scores[:, column : column + WIDEST]
        width = int(part.shape[1])
        blocks = -(-width // block)
        pieces = max(min(blocks, blocks * len(part) // PROGRAMS), 1)
        grid = (len(part), -(-blocks // pieces))
        arguments = part, part.stride(0), width, begin, value, higher, equal, bad, pieces
        _kernel(kernel)[grid](*arguments, BLOCK=block, JUDGED=judged, num_warps=warps)
