"""Counts of higher and of equal scores: all that a ranking needs to know of each judged document."""

from __future__ import annotations

from typing import Any

from cranfield.engines.tensors.arrays import Arrays


def count_scores(ops: Arrays, scores: Any, row: Any, value: Any) -> tuple[Any, Any]:
    """For each value, the number of higher and of equal scores in its row of a table.

    ``row`` must be ascending. On an NVIDIA device a compiled kernel reads every score once.
    """
    if ops.on_device:
        from cranfield.engines.tensors import kernels

        if kernels.usable(scores):
            return kernels.count_scores(scores, row, value)
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
    # Where the values of each block of rows begin; known on the host only without an accelerator.
    for first in range(0, rows, step):
        if step >= rows:
            part: Any = slice(None)
        else:
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
    import numpy as np

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
        low = ops.where(lower, middle + 1, low)
        high = ops.where(lower, high, middle)
        high = ops.where(high < low, low, high)
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
    new_query = ops.zeros(len(score), score) + 1
    new_query[1:] = new_query[1:] * (q[1:] != q[:-1])
    new_tie = ops.zeros(len(score), score) + 1
    new_tie[1:] = new_tie[1:] * ((q[1:] != q[:-1]) | (s[1:] != s[:-1]))
    before = ops.running_sum(w) - w
    first_of_query, first_of_tie = ops.running_max(at * new_query), ops.running_max(at * new_tie)
    # The weight of a tie is the difference of running sums at its first element and after its last one.
    tie = ops.running_sum(new_tie) - 1
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
