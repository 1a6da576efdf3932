"""Repeated ids are found wherever they are, by the native core as in plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield import native
from cranfield.data import Strings
from cranfield.io import ids as duplicates
from cranfield.native import plain

pairs = st.lists(st.tuples(st.integers(0, 2), st.text("ab\x00", max_size=3)), max_size=30)


@given(pairs)
def test_first_rows(given: list[tuple[int, str]]) -> None:
    given = [(min(group, len(given) - 1), text) for group, text in given]
    group, ids = np.array([g for g, _ in given], np.int64), Strings.of(t for _, t in given)
    expected = [given.index(pair) for pair in given]
    assert duplicates.first_rows(group, ids).tolist() == expected
    assert plain.first_rows(group, (ids.offsets, ids.data)).tolist() == expected


@pytest.mark.skipif(not native.NATIVE, reason="the native core is not built")
@pytest.mark.parametrize("group", [[-1, 0], [0, 2], [0]])
def test_groups_that_are_no_numbers_of_groups(group: list[int]) -> None:
    ids = Strings.of(["a", "a"])
    with pytest.raises(ValueError, match="group"):
        native.first_rows(np.array(group, np.int64), (ids.offsets, ids.data))


def test_a_slice_of_longer_data() -> None:
    whole = Strings.of(["skip", "x", "y", "x"])
    part = Strings(whole.offsets[1:], whole.data)
    assert duplicates.first_rows(np.zeros(3, np.int64), part).tolist() == [0, 1, 0]
    distinct, codes = duplicates.codes_of(part)
    assert (list(distinct), codes.tolist()) == (["x", "y"], [0, 1, 0])
