"""Files as DataFrames that `evaluate` takes: Parquet, CSV and JSON as they name their columns, TREC text as it is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import functions as sql

from cranfield.errors import InputError
from cranfield.formats.opening import name_of

# What a line of TREC text holds, and which of it is a number.
LINES = {
    "run": ("query", "iteration", "document", "rank", "score", "tag"),
    "qrels": ("query", "iteration", "document", "grade"),
}
READERS = {"parquet": "parquet", "csv": "csv", "tsv": "csv", "json": "json", "jsonl": "json"}
PACKED = (".gz", ".bz2", ".zst", ".snappy", ".lz4")


def read_runs(spark: Any, paths: Sequence[str]) -> Any:
    """All runs in one frame: a file is a run, called as the file is, unless it has a column of runs."""
    names = [name_of(path.removesuffix("/")) for path in paths]
    if len(set(names)) < len(names):
        names = list(paths)  # two files of one name in different folders
    frame = None
    for path, name in zip(paths, names, strict=True):
        rows = _read(spark, path, "run")
        if "run" not in rows.columns:
            rows = rows.withColumn("run", sql.lit(name))
        frame = rows if frame is None else frame.unionByName(rows, allowMissingColumns=True)
    return frame


def read_qrels(spark: Any, path: str) -> Any:
    """The judgments of a file, or of a folder of files."""
    return _read(spark, path, "qrels")


def _read(spark: Any, path: str, what: str) -> Any:
    if path == "-":
        raise InputError(["Spark cannot read standard input"], hint="give a path that every worker can open")
    plain = path.removesuffix("/")
    while plain.endswith(PACKED):
        plain = os.path.splitext(plain)[0]
    kind = READERS.get(plain.rpartition(".")[2].lower(), "text")
    reader = spark.read
    if kind == "csv":
        mark = "\t" if plain.lower().endswith("tsv") else ","
        reader = reader.options(header=True, inferSchema=True, sep=mark)
    try:
        rows = reader.format(kind).load(path)
    except AnalysisException as error:
        if "PATH_NOT_FOUND" in (error.getCondition() or ""):
            raise InputError([f"{path}: there is no such file"]) from None
        raise InputError([f"{path}: Spark cannot read this as {kind}"]) from None
    return _columns(rows, what) if kind == "text" else rows


def _columns(lines: Any, what: str) -> Any:
    """TREC text as columns; what has no number where one should be has a null, which the evaluation refuses."""
    text = sql.trim("value")
    parts = sql.split(text, r"[\x01-\x20]+")
    names = LINES[what]
    rows = lines.where((text != "") & ~text.startswith("#")).select(parts.alias("parts"))
    fits = sql.size("parts") == len(names)
    cells = {name: sql.when(fits, sql.get("parts", sql.lit(i))) for i, name in enumerate(names)}
    # Of a line with too many or too few columns the first is told as its query: nothing else is sure of it.
    cells["query"] = sql.get("parts", sql.lit(0))
    kept = [name for name in names if name not in ("tag",) and not (what == "run" and name == "iteration")]
    numbers = ("rank", "score", "grade")
    return rows.select(
        *((cells[name].try_cast("double") if name in numbers else cells[name]).alias(name) for name in kept)
    )
