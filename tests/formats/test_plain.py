"""The plain join, which everything else is measured against, against counting by hand."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield import _plain
from cranfield.data import Strings

QUERIES, BEGIN, DOCUMENTS = ["q1", "q2", "q3"], [0, 2, 4, 5], ["a", "b", "b", "c", "a"]
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


def by_hand(given: list[tuple[str, str, str, str]], key: str) -> set[tuple[int, ...]]:
    """Query, document, start, size, by_id, by_input of each judged document retrieved."""

    def value(row: tuple[str, str, str, str]) -> float:
        if key == "rank":
            return -float(row[2])
        return float(np.float32(row[3])) if key == "score32" else float(row[3])

    found = set()
    for i, row in enumerate(given):
        if row[0] in QUERIES:
            q = QUERIES.index(row[0])
            judged = {DOCUMENTS[d]: d for d in range(BEGIN[q], BEGIN[q + 1])}
            if row[1] in judged:
                same = [(j, other) for j, other in enumerate(given) if other[0] == row[0]]
                tied = [(j, other) for j, other in same if value(other) == value(row)]
                found.add(
                    (
                        q,
                        judged[row[1]],
                        sum(value(other) > value(row) for _, other in same),
                        len(tied),
                        sum(other[1] > row[1] for _, other in tied),
                        sum(j < i for j, _ in tied),
                    )
                )
    return found


@pytest.mark.parametrize("key", ["score", "score32", "rank"])
@pytest.mark.filterwarnings("ignore:overflow")
@given(given=lines)
def test_join_text(key: str, given: list[tuple[str, str, str, str]]) -> None:
    text = "".join(f"{q} Q0 {d} {r} {s} t\n" for q, d, r, s in given).encode()
    result = _plain.join_text(lambda: io.BytesIO(text), index(), key, True)
    names = ("query", "document", "start", "size", "by_id", "by_input")
    rows = list(zip(*(result[name].tolist() for name in names), strict=True))
    assert set(rows) == by_hand(given, key)
    assert len(set(rows)) == len(rows)
    assert result["query"].tolist() == sorted(result["query"].tolist())
    lengths = [sum(row[0] == q for row in given) or -1 for q in QUERIES]
    assert result["length"].tolist() == lengths
    assert result["other_length"].sum() == sum(row[0] == "q9" for row in given)
    assert (result["lines"], result["tag"]) == (len(given), b"t" if given else b"")

    ids, ranks = (column([row[i] for row in given]) for i in (0, 1)), np.array([float(row[2]) for row in given])
    table = _plain.join_table(*ids, np.array([float(row[3]) for row in given]), ranks, index(), key, True)
    for name in (*names, "length", "other_length"):
        assert table[name].tolist() == result[name].tolist()


def test_faults_are_the_lowest_lines_and_all_are_counted() -> None:
    text = b"q Q0 d 1 1 t\n" * 50 + b"q Q0\n"
    result = _plain.join_text(lambda: io.BytesIO(text), index(), "score", False)
    assert set(result) == {"faults", "faults_total"}
    assert result["faults_total"] == 50
    assert result["faults"] == [(line, "duplicate", b"q", b"d", 1) for line in range(2, 22)]


def test_order_given_where_there_are_no_ranks() -> None:
    ids = column(["q1", "q1"]), column(["b", "a"])
    result = _plain.join_table(*ids, np.array([1.0, 5.0]), None, index(), "rank", False)
    assert (result["document"].tolist(), result["start"].tolist()) == ([1, 0], [0, 1])
    result = _plain.join_dict({"q1": {"b": 1.0, "a": 5.0}, "q2": {}}, index(), "rank", False)
    assert (result["document"].tolist(), result["start"].tolist()) == ([1, 0], [0, 1])
    assert result["length"].tolist() == [2, 0, -1]
