"""Long tables are read in pieces: files of Parquet, Arrow's datasets and readers, and slices of data frames."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import cranfield as cf
from cranfield.data import Table, TableStream
from cranfield.errors import InputError
from cranfield.io import tables

QUERIES, DEPTH = 20, 7
ROWS = [(f"q{q}", f"d{(3 * q + d) % 11}", float(DEPTH - d)) for q in range(QUERIES) for d in range(DEPTH)]
QRELS = {f"q{q}": {f"d{q % 11}": 1, f"d{(q + 4) % 11}": 2} for q in range(QUERIES)}
MEASURES = ["nDCG@3", "RR", "AP", "NumRet"]


def frame(rows: list[tuple[str, str, float]] = ROWS) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "score"])


def parquet(data: pd.DataFrame, folder: Path) -> Path:
    path = folder / "x.parquet"
    pq.write_table(pa.Table.from_pandas(data, preserve_index=False), path, row_group_size=16)
    return path


FORMS: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "Parquet": parquet,
    "Parquet in memory": lambda data, folder: BytesIO(parquet(data, folder).read_bytes()),
    "dataset": lambda data, folder: pyarrow.dataset.dataset(parquet(data, folder)),
    "folder of files": lambda data, folder: pyarrow.dataset.dataset([parquet(data, folder)]),
    "reader": lambda data, _: pa.RecordBatchReader.from_batches(
        pa.Schema.from_pandas(data), pa.Table.from_pandas(data).to_batches(max_chunksize=9)
    ),
    "Arrow": lambda data, _: pa.Table.from_pandas(data),
    "pandas": lambda data, _: data,
    "pandas, other index": lambda data, _: data.set_axis(range(7, 7 + len(data)), axis=0),
    "polars": lambda data, _: pl.from_pandas(data),
    "lists": lambda data, _: {name: data[name].tolist() for name in data.columns},
}


@pytest.fixture(autouse=True)
def short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "ROWS_PER_BATCH", 16)


@pytest.mark.parametrize("form", FORMS)
def test_pieces_are_the_whole(form: str, tmp_path: Path) -> None:
    expected = cf.evaluate(QRELS, {"run": dict_of(ROWS)}, MEASURES).to_dict()["runs"]
    run = cf.read_run(FORMS[form](frame(), tmp_path), name="run")
    assert isinstance(run.source, TableStream)
    assert cf.evaluate(QRELS, run, MEASURES).to_dict()["runs"] == expected
    assert cf.evaluate(QRELS, run, MEASURES).to_dict()["runs"] == expected  # it can be read again
    assert len(run) == QUERIES
    assert run.to_pandas()["doc_id"].tolist() == [document for _, document, _ in ROWS]


@pytest.mark.parametrize("form", FORMS)
def test_queries_that_are_not_together(form: str, tmp_path: Path) -> None:
    rows = sorted(ROWS, key=lambda row: -row[2])
    expected = cf.evaluate(QRELS, {"run": dict_of(ROWS)}, MEASURES).to_dict()["runs"]
    run = cf.read_run(FORMS[form](frame(rows), tmp_path), name="run")
    assert cf.evaluate(QRELS, run, MEASURES).to_dict()["runs"] == expected


def dict_of(rows: list[tuple[str, str, float]]) -> dict[str, dict[str, float]]:
    run: dict[str, dict[str, float]] = {}
    for query, document, score in rows:
        run.setdefault(query, {})[document] = score
    return run


@pytest.mark.parametrize("form", ["Parquet", "dataset", "reader", "Arrow", "pandas", "polars"])
def test_faults_have_the_number_of_their_row(form: str, tmp_path: Path) -> None:
    rows = [*ROWS[:40], ("q5", "", 1.0), *ROWS[40:60], ROWS[59], *ROWS[60:]]
    with pytest.raises(InputError) as error:
        cf.evaluate(QRELS, FORMS[form](frame(rows), tmp_path), "RR")
    message = str(error.value)
    assert "row 41, query `q5`: the id in column `doc_id` is empty" in message
    assert "row 62: document `d5` appears twice for query `q8`, first in row 61" in message


def test_columns_are_chosen_before_rows_are_read(tmp_path: Path) -> None:
    path = parquet(frame().rename(columns={"score": "other"}), tmp_path)
    with pytest.raises(InputError, match="no column for the score; the columns are query_id, doc_id, other"):
        cf.read_run(path)
    assert len(cf.read_run(path, columns={"score": "other"})) == QUERIES


def test_judgments_of_datasets_and_readers(tmp_path: Path) -> None:
    judged = pd.DataFrame(
        [(q, d, g) for q, of in QRELS.items() for d, g in of.items()], columns=["qid", "docno", "rel"]
    )
    expected = cf.evaluate(QRELS, dict_of(ROWS), MEASURES).to_dict()["runs"]
    for form in ("dataset", "reader", "Parquet"):
        assert cf.evaluate(FORMS[form](judged, tmp_path), dict_of(ROWS), MEASURES).to_dict()["runs"] == expected


def test_short_tables_stay_in_memory() -> None:
    assert isinstance(cf.read_run(frame(ROWS[:10])).source, Table)


def test_empty_tables(tmp_path: Path) -> None:
    for form in ("Parquet", "dataset"):
        with pytest.raises(InputError, match="has no rows"):
            cf.read_run(FORMS[form](frame([]), tmp_path))


@pytest.mark.parametrize("form", ["Parquet", "dataset"])
def test_row_groups_do_not_stay_in_memory(form: str, tmp_path: Path) -> None:
    rows = [(f"q{q}", f"{q * 7919 % 10007}-{d}", d**0.5) for q in range(400) for d in range(100)]
    run, before = cf.read_run(FORMS[form](frame(rows), tmp_path)), pa.total_allocated_bytes()
    assert isinstance(run.source, TableStream)
    held = max(pa.total_allocated_bytes() for _ in run.source.pieces()) - before
    assert held < (tmp_path / "x.parquet").stat().st_size / 4
