"""Tables of every make give the same rows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from io_samples import FRAME, GRADES, QFRAME, ROWS, judged, rows

import cranfield as cf
from cranfield import io
from cranfield.data import Table
from cranfield.io.columns import Columns
from cranfield.io.faults import Location
from cranfield.io.tables import run_table


def chunked(frame: pd.DataFrame) -> pa.Table:
    """The frame as an Arrow table of sliced chunks, with rows on either side that do not belong to it."""
    table = pa.Table.from_pandas(frame)
    twice = pa.concat_tables([table, table]).combine_chunks()
    n = len(frame)
    return pa.concat_tables([twice.slice(n, 2), twice.slice(2, n - 2)])


def dictionary(frame: pd.DataFrame) -> pa.Table:
    table = pa.Table.from_pandas(frame)
    return pa.table(
        [
            c.dictionary_encode() if pa.types.is_large_string(c.type) or pa.types.is_string(c.type) else c
            for c in table.columns
        ],
        table.schema.names,
    )


def binary(frame: pd.DataFrame) -> pa.Table:
    table = pa.Table.from_pandas(frame)
    return pa.table([c.cast(pa.binary()) if i < 2 else c for i, c in enumerate(table.columns)], table.schema.names)


FRAMES = {
    "pandas": lambda f: f,
    "pandas, other index": lambda f: f.set_axis(range(10, 10 + len(f)), axis=0),
    "pandas, object": lambda f: f.astype(object),
    "pandas, category": lambda f: f.astype({f.columns[0]: "category", f.columns[1]: "category"}),
    "pandas, nullable": lambda f: f.convert_dtypes(),
    "polars": pl.from_pandas,
    "arrow": pa.Table.from_pandas,
    "arrow batch": pa.RecordBatch.from_pandas,
    "arrow slices and chunks": chunked,
    "arrow dictionary": dictionary,
    "arrow binary": binary,
}
ARROW_OF_POLARS = hasattr(pl.DataFrame, "__arrow_c_stream__")  # since Polars 1.3
if ARROW_OF_POLARS:
    FRAMES["arrow view"] = lambda f: pa.table(pl.from_pandas(f))


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_frames(make: Any) -> None:
    assert rows(io.read_run(make(FRAME))) == ROWS
    assert judged(io.read_qrels(make(QFRAME))) == GRADES


@pytest.mark.parametrize(
    "make", [FRAMES["pandas"], FRAMES["pandas, object"], FRAMES["pandas, nullable"], pl.from_pandas]
)
def test_frames_without_pyarrow(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run, qrels = make(FRAME), make(QFRAME)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert rows(io.read_run(run)) == ROWS
    assert judged(io.read_qrels(qrels)) == GRADES


def test_null_scores_of_every_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {"qid": ["q", "q"], "docno": ["d", "e"], "score": [1.5, None]}
    expected = "row 2, query `q`: the score is not a number: null\n\nhint: give the document a score, or leave it out"
    assert str(io.check_run(pa.table(columns))) == expected
    assert str(io.check_run(pl.DataFrame(columns))) == expected.replace("null", "null" if ARROW_OF_POLARS else "None")
    # What is missing and what is NaN is the same to pandas.
    assert str(io.check_run(pd.DataFrame(columns).convert_dtypes())).startswith("row 2, query `q`: the score is NaN\n")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert str(io.check_run(pl.DataFrame(columns))) == expected.replace("null", "None")


def test_arrow_ids_are_not_copied() -> None:
    ids = pa.array(["q", "q"], pa.large_string())
    table = io.load(io.read_run(pa.table({"qid": ids, "docno": ["a", "b"], "score": [1.0, 2.0]})))
    assert table.query.data.ctypes.data == ids.buffers()[2].address


def test_empty_frames() -> None:
    assert rows(io.read_run(FRAME.iloc[:0])) == []
    assert rows(io.read_run(pa.Table.from_pandas(FRAME).slice(0, 0))) == []
    assert judged(io.read_qrels(QFRAME.iloc[:0])) == {}


def test_integer_ids_are_their_digits() -> None:
    frame = pd.DataFrame(
        {"topic": [1, -2], "docid": np.array([2**63, 7], np.uint64), "sim": np.array([1, 2], np.float32)}
    )
    for table in (frame, pl.from_pandas(frame), frame.astype(object)):
        assert rows(io.read_run(table)) == [("1", "9223372036854775808", 1.0), ("-2", "7", 2.0)]


def test_column_names_told_and_guessed() -> None:
    frame = pd.DataFrame({"Query-ID": ["q"], "query": ["some words"], "docid": [0], "docno": ["d"], "bm25": [2]})
    assert rows(io.read_run(frame, columns={"score": "bm25"})) == [("q", "d", 2.0)]
    beir = pd.DataFrame({"query-id": ["q"], "corpus-id": ["d"], "score": [2]})
    assert judged(io.read_qrels(beir)) == {"q": {"d": 2.0}}


def test_a_table_with_ranks_only() -> None:
    run = io.read_run(pd.DataFrame({"qid": ["q", "q"], "docno": ["a", "b"], "rank": [2, 1]}))
    assert isinstance(run.source, Table)
    assert run.source.score.tolist() == [-2, -1]
    error = io.check_run(pd.DataFrame({"qid": ["q"], "docno": ["a"], "rank": ["first"]}))
    assert str(error).splitlines()[0] == "row 1, query `q`: the rank is not a number: 'first'"


def test_categories_and_lazy_frames_of_polars() -> None:
    frame = pl.DataFrame({"qid": ["q", "q"], "docno": ["a", "b"], "score": [2.0, 1.0]})
    for other in (
        frame.with_columns(pl.col("docno").cast(pl.Categorical), pl.col("qid").cast(pl.Enum(["q"]))),
        frame.lazy(),
    ):
        assert rows(io.read_run(other)) == rows(io.read_run(frame))


@pytest.mark.parametrize("subtopic", ["0", "Q0"])
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet", ".json"])
def test_a_lone_subtopic_zero_survives(subtopic: str, suffix: str, tmp_path: Path) -> None:
    judged = {"q": {"a": {subtopic: 1}, "b": {subtopic: 0}}}
    run = {"q": {"b": 2.0, "a": 1.0}}
    expected = cf.evaluate(judged, run, ["StRecall@1", "ERR_IA@5"])._means.tolist()
    path = tmp_path / f"qrels{suffix}"
    io.write_qrels(cf.read_qrels(judged), path)
    found = cf.read_qrels(path)
    assert found.labels is not None
    assert list(found.labels.names) == [subtopic]
    assert cf.evaluate(path, run, ["StRecall@1", "ERR_IA@5"])._means.tolist() == expected
    rows = [{"query_id": "q", "doc_id": d, "subtopic": subtopic, "relevance": g} for d, g in (("a", 1), ("b", 0))]
    assert cf.evaluate(rows, run, ["StRecall@1", "ERR_IA@5"])._means.tolist() == expected


def test_an_iteration_zero_is_no_subtopic(tmp_path: Path) -> None:
    path = tmp_path / "qrels.csv"
    path.write_text("query_id,iteration,doc_id,relevance\nq,0,a,1\n")
    assert cf.read_qrels(path).labels is None
    io.write_qrels(cf.read_qrels({"q": {"a": 1}}), path)
    assert "iteration" in path.read_text()
    assert cf.read_qrels(path).labels is None


@pytest.mark.skipif(not hasattr(pl, "Int128"), reason="Polars has these numbers since 1.18")
def test_numbers_of_polars_that_arrow_does_not_have() -> None:
    frame = pl.DataFrame({"query_id": ["q", "q"], "doc_id": [1, 2], "score": [1, 2]})
    for column in ("doc_id", "score"):
        wide = frame.with_columns(pl.col(column).cast(pl.Int128))
        assert cf.Evaluator({"q": {1: 1}}, "RR").means(wide) == {"RR": 0.5}


def test_a_row_of_an_engine_is_named_by_its_query_and_document() -> None:
    """Rows that an engine has dealt out have no number that a user could look up."""
    columns = {"query": ["q1", "q2"], "document": ["d1", "d2"], "score": [1.0, None]}
    with pytest.raises(
        cf.InputError, match=r"^run: query `q2`, document `d2`: the score in column `sim` is not a number"
    ):
        run_table(Columns.of(columns), {}, Location("run", "run", "entry", "sim"))
