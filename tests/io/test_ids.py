"""Repeated ids are found wherever they are, by the native core as in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cranfield as cf
from cranfield import io, native
from cranfield.data import Strings
from cranfield.errors import InputError
from cranfield.io import columns as duplicates
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


KINDS: dict[str, Callable[[str], Any]] = {
    "text": str,
    "whole numbers": int,
    "NumPy numbers": lambda text: np.int64(int(text)),
    "bytes": str.encode,
    "paths": Path,
}


def parts_of_collections(as_id: Callable[[str], Any]) -> dict[str, tuple[dict[str, Any], str]]:
    """Collections, each with another part whose ids are of one kind, and a measure that uses it."""
    q, a, b, c, d, e = (as_id(text) for text in ("1", "2", "3", "4", "5", "6"))
    grades = {"1": {"2": 0, "3": 1, "4": 2}}
    return {
        "inclusion": ({"qrels": grades, "inclusion": {q: {a: 0.5, b: 0.5, c: 0.5}}}, "P@2[sampled]"),
        "strata": ({"qrels": grades, "strata": {q: {a: "s", b: "t", c: "s"}}}, "xinfAP"),
        "method": ({"qrels": grades, "inclusion": {q: {b: 0.5, c: 0.5}}, "method": {q: {b: 1, c: 1}}}, "statAP"),
        "costs": ({"qrels": grades, "costs": {q: {a: 9.0, b: 1.0}}}, "TBG"),
        "prefs": ({"prefs": {q: [[d, e, a, 0], [d, e, b, 1], [d, e, c, 2]]}}, "Prefs(by='group')"),
        "groups": ({"groups": {q: {d: {a: 0, b: 1}, e: {c: 1}}}}, "AP[groups]"),
        "qrels": ({"qrels": {q: {a: 0, b: 1}}}, "AP"),
        "sets": ({"qrels": {q: {b, c}}}, "AP"),
        "predicted": ({"qrels": grades, "predicted": {q: {a: 1, b: 0}}}, "AP"),
        "subtopics": ({"qrels": {q: {a: {d: 1}, b: {e: 1}}}}, "ERR_IA"),
        "intents": ({"qrels": {"1": {"2": {"5": 1}, "3": {"6": 1}}}, "intents": {q: {d: 9, e: 1}}}, "ERR_IA"),
        "documents": ({"qrels": {"1": {"3": {"5": 1}}}, "documents": {a: "x y", b: "x z", c: "u"}}, "ABSRB@5"),
        "queries": ({"qrels": grades, "queries": {q: {"type": "x"}}}, "AP"),
    }


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("part", parts_of_collections(str))
def test_ids_of_any_kind_mean_the_same_at_every_door(name: str, part: str) -> None:
    as_id = KINDS[name]
    q, a, b, c = (as_id(text) for text in ("1", "2", "3", "4"))
    given, measure = parts_of_collections(as_id)[part]
    expected = cf.evaluate(
        cf.Collection(**parts_of_collections(str)[part][0]), {"1": {"2": 3.0, "3": 2.0, "4": 1.0}}, measure
    )
    runs = {q: {a: 3.0, b: 2.0, c: 1.0}}, {q: [a, b, c]}, {q: [(a, 3.0), (b, 2.0), (c, 1.0)]}
    rows = [{"query_id": q, "doc_id": d, "score": s} for d, s in ((a, 3.0), (b, 2.0), (c, 1.0))]
    for run in (*runs, rows):
        scores = cf.evaluate(cf.Collection(**given), run, measure)
        assert scores.values.tolist() == expected.values.tolist()
        assert scores.to_dict() == expected.to_dict()


@pytest.mark.parametrize("part", ["inclusion", "costs", "groups", "qrels", "predicted", "intents", "queries"])
@pytest.mark.parametrize("other", [1, b"1", Path("1")])
def test_two_ids_with_one_text_are_refused_at_every_door(part: str, other: Any) -> None:
    given, measure = parts_of_collections(str)[part]
    collided = {**given, part: {"1": given[part]["1"], other: given[part]["1"]}}
    with pytest.raises(InputError, match="different ids are the same text"):
        cf.evaluate(cf.Collection(**collided), {"1": ["2", "3"]}, measure)


@pytest.mark.parametrize("other", [1, b"1", Path("1")])
@pytest.mark.parametrize("column", ["query_id", "doc_id"])
def test_two_ids_with_one_text_are_refused_in_tables(column: str, other: Any) -> None:
    ids: list[Any] = ["1", other]
    columns = {"query_id": ["a", "b"], "doc_id": ["a", "b"], "score": [1.0, 2.0], "relevance": [1, 0], column: ids}
    for frame in (pd.DataFrame(columns), columns, pd.DataFrame(columns).to_dict("records")):
        with pytest.raises(InputError, match="different ids are the same text"):
            io.load(io.read_run(frame))
        with pytest.raises(InputError, match="different ids are the same text"):
            io.read_qrels(frame)


def test_numbers_of_other_types_are_the_same_id() -> None:
    columns = {"query_id": [1, np.int64(1)], "doc_id": ["a", "b"], "score": [1.0, 2.0]}
    assert list(io.load(io.read_run(pd.DataFrame(columns, dtype=object))).query) == ["1", "1"]


@pytest.mark.parametrize("policy", ["first", "best"])
@pytest.mark.parametrize("scores", [(1.0, float("nan")), (float("nan"), 1.0), (float("-inf"), float("nan"))])
def test_a_score_that_is_nan_is_reported_even_if_its_row_is_not_kept(
    policy: str, scores: tuple[float, float], tmp_path: Path
) -> None:
    (tmp_path / "run").write_text("".join(f"1 Q0 a 1 {score} t\n" for score in scores))
    columns = {"query_id": ["1", "1"], "doc_id": ["a", "a"], "score": list(scores)}
    runs = {"1": [("a", score) for score in scores]}, pd.DataFrame(columns), columns, tmp_path / "run"
    for run in runs:
        with pytest.raises(InputError, match="NaN"):
            cf.evaluate({"1": {"a"}}, run, "RR", duplicates=policy)
