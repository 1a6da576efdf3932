"""Documents that appear twice for a query: what to do with them, and how they are found."""

from __future__ import annotations

from typing import Literal

import numpy as np

from cranfield import native
from cranfield.data import Integers, Strings
from cranfield.errors import check_choice

Duplicates = Literal["error", "first", "best"]
DUPLICATES: tuple[Duplicates, ...] = ("error", "first", "best")


def check_duplicates(duplicates: str) -> None:
    """Raise if this is no policy for documents that appear twice."""
    check_choice("duplicates", duplicates, DUPLICATES)


def first_rows(group: Integers, ids: Strings) -> Integers:
    """For each row the first row with the same group and the same id, usually the row itself.

    Groups are numbered from 0, with no number above that of the last row.
    """
    rows: Integers = native.first_rows(group, (ids.offsets, ids.data))
    return rows


def codes_of(ids: Strings) -> tuple[Strings, Integers]:
    """The distinct strings in order of appearance, and for each row the index of its string."""
    first = first_rows(np.zeros(len(ids), np.int64), ids)
    is_first = first == np.arange(len(first))
    return ids.take(np.flatnonzero(is_first)), (np.cumsum(is_first) - 1)[first]
