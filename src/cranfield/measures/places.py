"""Where documents of a tie stand when each order of it is as likely."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np

from cranfield.batch import CELLS, ragged
from cranfield.data import Floats, Integers


@lru_cache(maxsize=8)
def _logarithms(bits: int) -> Floats:
    """The logarithms of factorials."""
    return np.concatenate([[0], np.cumsum(np.log(np.arange(1, 1 << bits)))])


def mean_at(size: Integers, many: Integers, nth: Integers, score: Callable[[Integers, Integers], Floats]) -> Floats:
    """The mean of a score of the nth, from 0, of so many documents of ties, over all places that it can have.

    ``score`` takes numbers of ties and places in these, from 0. With r documents in n places the one with j of them
    above stands at place x with chance C(x, j) C(n-1-x, r-1-j) / C(n, r).
    """
    found = np.zeros(len(size))
    for part in _parts(size - many + 1):
        n, r, j = size[part], many[part], nth[part]
        owner, step = ragged(n - r + 1)
        log = _logarithms(max(10, int(n.max(initial=0)).bit_length()))
        # x = j + step and n-1-x = r-1-j + after; what does not depend on x is made up for at the end.
        after = (n - r)[owner] - step
        x = j[owner] + step
        ways = log[x] - log[step] + log[(r - 1 - j)[owner] + after] - log[after]
        ways += (log[r] + log[n - r] - log[n] - log[j] - log[r - 1 - j])[owner]
        chance = np.exp(ways)
        total = np.bincount(owner, chance * score(part[owner], x), len(n))
        found[part] = total / np.bincount(owner, chance, len(n))
    return found


def _parts(cells: Integers) -> Iterator[Integers]:
    """Numbers of ties, as many at a time as fit into memory."""
    part = np.cumsum(cells) // CELLS
    return (np.flatnonzero(part == i) for i in np.unique(part))
