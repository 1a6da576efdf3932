"""The top documents of each query, from any source, are those that the ranks of measures say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield import io
from cranfield.corpus.corpus import top_documents
from cranfield.evaluation.run_scores import documents_read_by
from cranfield.ranking.alignment import Aligner

rows = st.lists(
    st.tuples(st.sampled_from("qr"), st.integers(0, 30), st.sampled_from([0.1, 0.2, 0.20000000001, 3.0, -1.0])),
    max_size=40,
    unique_by=lambda row: row[:2],
)
KEYS = {"trec": "score", "trec9": "score32", "expected": "score", "input": "score", "rank": "rank"}
JUDGMENTS = io.read_qrels({"q": {"d1": 1, "d2": 0}, "r": {"d1": 1}})


def expected(rows: list, k: int, ties: str) -> dict[str, set[str]]:
    """The documents of each query with fewer than k above them."""
    found: dict[str, set[str]] = {}
    for query in {row[0] for row in rows}:
        mine = [(f"d{d}", s) for q, d, s in rows if q == query]
        key = KEYS[ties]
        value = [
            float(np.float32(s)) if key == "score32" else -i if key == "rank" else s for i, (_, s) in enumerate(mine)
        ]

        def above(j: int, i: int, mine: list = mine, value: list = value) -> bool:
            tied = {"expected": False, "input": j < i, "rank": j < i}.get(ties, mine[j][0] > mine[i][0])
            return value[j] > value[i] or (value[j] == value[i] and tied)

        ranks = [sum(above(j, i) for j in range(len(mine))) for i in range(len(mine))]
        found[query] = {d for (d, _), rank in zip(mine, ranks, strict=True) if rank < k}
    return found


def read(source: object, k: int, ties: str) -> dict[str, set[str]]:
    measure = cf.parse(f"DELTARB@{k}[ties={ties}]")
    alignments = Aligner(JUDGMENTS).read(io.read_run(source), [KEYS[ties]], top=k)  # type: ignore[list-item]
    tops = {key: alignment.tops for key, alignment in alignments.items() if alignment.tops is not None}
    return documents_read_by(tops, [measure], JUDGMENTS.queries)


@settings(max_examples=60, deadline=None)
@given(rows, st.sampled_from([1, 2, 5]), st.sampled_from(sorted(KEYS)))
def test_every_source_gives_the_same(rows: list, k: int, ties: str) -> None:
    if ties == "rank":  # the order given, which dicts have by query alone
        rows = sorted(rows, key=lambda row: row[0])
    nested: dict[str, dict[str, float]] = {}
    for q, d, s in rows:
        nested.setdefault(q, {})[f"d{d}"] = s
    frame = pd.DataFrame(
        {"query": [r[0] for r in rows], "document": [f"d{r[1]}" for r in rows], "score": [r[2] for r in rows]}
    )
    answer = expected(rows, k, ties)
    assert read(nested, k, ties) == answer
    if rows:
        assert read(frame, k, ties) == answer


def test_text_whose_queries_are_not_together(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [("qr"[i % 2], i, float(rng.integers(0, 40))) for i in range(600)]
    path = tmp_path / "a.run"
    path.write_text("".join(f"{q} Q0 d{d} {i} {s:.17g} t\n" for i, (q, d, s) in enumerate(rows)).rstrip("\n"))
    for ties in ("trec", "input", "expected"):
        assert read(str(path), 7, ties) == expected(rows, 7, ties)


def test_a_corpus_pass_takes_what_any_order_of_ties_may_bring_up() -> None:
    run = io.read_run({"q": {"a": 3, "b": 2, "c": 2, "d": 1}, "x": {"e": 1}})
    assert top_documents(run, 2) == {"q": {"a", "b", "c"}, "x": {"e"}}
    assert top_documents(run, None) == {"q": {"a", "b", "c", "d"}, "x": {"e"}}


def test_faults_are_told(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_text("q Q0 a 1 1.0 t\nq Q0 b 2 x t\n")
    with pytest.raises(cf.InputError, match=r"a\.run:2: the score is not a number"):
        top_documents(io.read_run(str(path)))
