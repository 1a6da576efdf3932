"""The plain join, which everything else is measured against, against counting by hand."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.data import Strings
from cranfield.native import plain as _plain

QUERIES, BEGIN, DOCUMENTS = ["q1", "q2", "q3"], [0, 2, 4, 5], ["a", "b", "b", "c", "a"]
KEYS = ["score", "score32", "rank"]
VALUES = ["1", "2", "2.0000000001", "-inf", "-0", "0", "1e400"]

lines = st.lists(
    st.tuples(
        st.sampled_from(["q1", "q2", "q9"]), st.sampled_from("abcde"), st.sampled_from("123"), st.sampled_from(VALUES)
    ),
    max_size=12,
    unique_by=lambda row: row[:2],
)


def column(texts: list[str]) -> Any:
    strings = Strings.of(texts)
    return strings.offsets, strings.data


def index() -> _plain.Index:
    return _plain.Index(column(QUERIES), np.array(BEGIN), column(DOCUMENTS))


Line = tuple[str, str, str, str]
PLACES = ("start", "size", "by_id", "by_input")


def by_hand(given: list[Line], key: str) -> dict[Line, tuple[int, ...]]:
    """Documents above, documents tied, and the places by id and by input among these, of each line."""

    def value(row: Line) -> float:
        if key == "rank":
            return -float(row[2])
        return float(np.float32(row[3])) if key == "score32" else float(row[3])

    found = {}
    for i, row in enumerate(given):
        same = [(j, other) for j, other in enumerate(given) if other[0] == row[0]]
        tied = [(j, other) for j, other in same if value(other) == value(row)]
        found[row] = (
            sum(value(other) > value(row) for _, other in same),
            len(tied),
            sum(other[1] > row[1] for _, other in tied),
            sum(j < i for j, _ in tied),
        )
    return found


def judged(row: Line) -> int:
    """The row of the index, or -1."""
    q = QUERIES.index(row[0]) if row[0] in QUERIES else 3
    return next((d for d in range(*[*BEGIN, 5][q : q + 2]) if DOCUMENTS[d] == row[1]), -1)


@pytest.mark.filterwarnings("ignore:overflow")
@given(
    given=lines,
    keys=st.permutations(KEYS).flatmap(lambda keys: st.integers(1, 3).map(lambda n: keys[:n])),
    top=st.integers(0, 4),
)
def test_join_text(given: list[Line], keys: list[str], top: int) -> None:
    text = "".join(f"{q} Q0 {d} {r} {s} t\n" for q, d, r, s in given).encode()
    result = _plain.join_text(lambda: io.BytesIO(text), index(), keys, True, top)
    assert ("tops" in result) == (top > 0)
    numbers = {name: number for number, name in enumerate([*QUERIES, "q9"])}
    for hits, key in zip(result["hits"], keys, strict=True):
        rows = list(zip(*(hits[name].tolist() for name in ("query", "document", *PLACES)), strict=True))
        places = by_hand(given, key)
        expected = [(numbers[row[0]], judged(row), *places[row]) for row in given if judged(row) >= 0]
        assert rows == sorted(expected, key=lambda row: (row[0], row[2], row[5]))
    for tops, key in zip(result.get("tops", []), keys if top else [], strict=True):
        columns = [tops[name].tolist() for name in ("query", "judged", *PLACES)]
        rows = list(zip(*columns, Strings(*tops["document"]), strict=True))
        places = by_hand(given, key)
        expected = [(numbers[row[0]], judged(row), *places[row], row[1]) for row in given if places[row][0] < top]
        assert rows == sorted(expected, key=lambda row: (row[0], row[2], row[5]))
    lengths = [sum(row[0] == q for row in given) or -1 for q in QUERIES]
    assert result["length"].tolist() == lengths
    assert result["other_length"].sum() == sum(row[0] == "q9" for row in given)
    assert (result["lines"], result["tag"]) == (len(given), b"t" if given else b"")

    ids, ranks = (column([row[i] for row in given]) for i in (0, 1)), np.array([float(row[2]) for row in given])
    table = _plain.join_table(*ids, np.array([float(row[3]) for row in given]), ranks, index(), keys, True, top)
    for name in ("hits", "tops") if top else ("hits",):
        for of_table, of_text in zip(table[name], result[name], strict=True):
            for column_name in ("query", *PLACES):
                assert of_table[column_name].tolist() == of_text[column_name].tolist()


def test_faults_are_the_lowest_lines_and_all_are_counted() -> None:
    text = b"q Q0 d 1 1 t\n" * 50 + b"q Q0\n"
    result = _plain.join_text(lambda: io.BytesIO(text), index(), ["score"], False, 0)
    assert set(result) == {"faults", "faults_total"}
    assert result["faults_total"] == 50
    assert result["faults"] == [(line, "duplicate", b"q", b"d", 1) for line in range(2, 22)]


def test_order_given_where_there_are_no_ranks() -> None:
    ids = column(["q1", "q1"]), column(["b", "a"])
    result = _plain.join_table(*ids, np.array([1.0, 5.0]), None, index(), ["rank"], False, 0)
    assert [result["hits"][0][name].tolist() for name in ("document", "start")] == [[1, 0], [0, 1]]
    result = _plain.join_dict({"q1": {"b": 1.0, "a": 5.0}, "q2": {}}, index(), ["rank"], False, 0)
    assert [result["hits"][0][name].tolist() for name in ("document", "start")] == [[1, 0], [0, 1]]
    assert result["length"].tolist() == [2, 0, -1]
