"""The first documents of each query, from any source, are those that a join would put first."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield import formats
from cranfield.formats import tops
from cranfield.formats.tops import First, firsts

rows = st.lists(
    st.tuples(st.sampled_from("qr"), st.integers(0, 30), st.sampled_from([0.1, 0.2, 0.20000000001, 3.0, -1.0])),
    max_size=40,
    unique_by=lambda row: row[:2],
)


def expected(rows: list, k: int | None, key: str, settles: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for query in {row[0] for row in rows}:
        mine = [(f"d{d}", s) for q, d, s in rows if q == query]
        value = [
            float(np.float32(s)) if key == "score32" else -i if key == "rank" else s for i, (_, s) in enumerate(mine)
        ]
        places = [
            sum(v > value[i] or (v == value[i] and _before(settles, mine, j, i)) for j, v in enumerate(value))
            for i in range(len(mine))
        ]
        found[query] = {d for (d, _), place in zip(mine, places, strict=True) if k is None or place < k}
    return found


def _before(settles: str, mine: list, j: int, i: int) -> bool:
    return {"id": mine[j][0] > mine[i][0], "input": j < i, "nothing": False}[settles]


@settings(max_examples=60, deadline=None)
@given(
    rows,
    st.sampled_from([None, 1, 2, 5]),
    st.sampled_from(["score", "score32", "rank"]),
    st.sampled_from(["id", "input", "nothing"]),
)
def test_every_source_gives_the_same(rows: list, k: int | None, key: str, settles: str) -> None:
    wanted = First(k, key, settles)
    if key == "rank":  # the order given, which dicts have by query alone
        rows = sorted(rows, key=lambda row: row[0])
    nested: dict[str, dict[str, float]] = {}
    for q, d, s in rows:
        nested.setdefault(q, {})[f"d{d}"] = s
    frame = pd.DataFrame(
        {"query": [r[0] for r in rows], "document": [f"d{r[1]}" for r in rows], "score": [r[2] for r in rows]}
    )
    answer = expected(rows, k, key, settles)
    assert firsts(formats.read_run(nested), wanted) == answer
    if rows:
        assert firsts(formats.read_run(frame), wanted) == answer


@pytest.mark.parametrize("piece", [64, 1 << 22])
def test_text_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    monkeypatch.setattr(tops, "PIECE", piece)
    rng = np.random.default_rng(0)
    rows = [(f"q{i % 3}", i, float(rng.integers(0, 40))) for i in range(600)]
    path = tmp_path / "a.run"
    path.write_text("".join(f"{q} Q0 d{d} {i} {s:.17g} t\n" for i, (q, d, s) in enumerate(rows)).rstrip("\n"))
    for settles in ("id", "input", "nothing"):
        found = firsts(formats.read_run(str(path)), First(7, "score", settles))
        assert found == expected(rows, 7, "score", settles)


def test_faults_are_left_to_whoever_joins(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_text("q Q0 a 1 1.0 t\nq Q0 b 2 x t\n")
    assert firsts(formats.read_run(str(path)), First(5, "score", "id")) == {}
    assert firsts(formats.read_run({"q": {"a": "x"}}), First(5, "score", "id")) == {}
    path.write_text("q" * (3 << 20))
    assert firsts(formats.read_run(str(path)), First(5, "score", "id")) == {}
