"""Files as DataFrames that `evaluate` takes: Parquet, CSV and JSON as they name their columns, TREC text as it is."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any
from urllib.parse import unquote, urlsplit

from pyspark.sql import functions as sql

from cranfield.engines.spark.session import FAILURES
from cranfield.errors import InputError
from cranfield.evaluation.evaluator import unique_names
from cranfield.io import check_qrels, check_run
from cranfield.io.faults import Fault, Location, TableKind, input_error
from cranfield.io.streams import short_name
from cranfield.io.tables import NUMBER, QRELS_COLUMNS, RUN_COLUMNS, choose_columns

# What a line of TREC text holds, what of it must be a number, and what says nothing.
LINES: dict[TableKind, tuple[str, ...]] = {
    "run": ("query", "iteration", "document", "rank", "score", "tag"),
    "qrels": ("query", "iteration", "document", "grade"),
}
COLUMNS: dict[TableKind, tuple[str, ...]] = {"run": (*RUN_COLUMNS, "run"), "qrels": QRELS_COLUMNS}
NUMBERS: dict[TableKind, str] = {"run": "score", "qrels": "grade"}
UNUSED: dict[TableKind, tuple[str, ...]] = {"run": ("iteration", "tag"), "qrels": ()}
BLANK = "".join(map(chr, range(1, 33)))
ROW = "row of the file"  # the column with the order of rows
READERS = {"parquet": "parquet", "csv": "csv", "tsv": "csv", "json": "json", "jsonl": "json"}
PACKED = (".gz", ".bz2", ".zst", ".snappy", ".lz4")


def read_runs(spark: Any, paths: Sequence[str]) -> tuple[Any, dict[str, str]]:
    """All runs in one frame: a file is a run, called as the file is, unless it has a column of runs.

    With it come the names, by path, of those that are a run each.
    """
    names = unique_names([short_name(path.removesuffix("/")) for path in paths], paths)
    frame, called = None, dict[str, str]()
    for path, name in zip(paths, names, strict=True):
        rows = _read(spark, path, "run")
        if "run" not in rows.columns:
            rows = rows.withColumn("run", sql.lit(name))
            called.setdefault(path, name)
        frame = rows if frame is None else frame.unionByName(rows, allowMissingColumns=True)
    return frame, called


def read_qrels(spark: Any, path: str) -> Any:
    """The judgments of a file, or of a folder of files."""
    return _read(spark, path, "qrels")


def read_texts(spark: Any, paths: Sequence[str]) -> Any:
    """The documents of files, or of folders of files, that name their columns."""
    frame = None
    for path in paths:
        if _kind(path) == "text":
            raise InputError(
                [f"{path}: Spark reads collections that are Parquet, JSON Lines, or columns apart by tabs or commas"],
                hint="their names end in .parquet, .jsonl, .tsv or .csv; all else is read without --engine spark",
            )
        tabs = _plain(path).lower().endswith("tsv")
        # Between tabs there are no quotes: what looks like one is text.
        quote = "" if tabs else '"'
        rows = _loaded(spark, path, {"quote": quote, "escape": quote, "multiLine": not tabs})
        frame = rows if frame is None else frame.unionByName(rows, allowMissingColumns=True)
    return frame


def explained(spark: Any, qrels: str | None, runs: Sequence[str]) -> InputError | None:
    """What is wrong with lines of TREC text, with file and line where the file can be opened here; None if nothing.

    It reads everything again, which only those do who know that something is wrong.
    """
    faults: list[str] = []
    hints, total = set(), 0
    sources: list[tuple[str, TableKind]] = [] if qrels is None else [(qrels, "qrels")]
    sources += [(path, "run") for path in dict.fromkeys(runs)]
    for path, what in sources:
        if _kind(path) != "text":
            continue
        rows = _lines(spark, path, what).where(~sql.col("sound")).select(ROW, "value")
        for place, texts in groupby(rows.orderBy(ROW).limit(InputError.SHOWN).collect(), lambda row: row[ROW]["file"]):
            found = _faults(place, what, [row["value"] for row in texts])
            faults += found.faults
            total += found.total
            hints.add(found.hint)
    return InputError(faults, total=total, hint=hints.pop() if len(hints) == 1 else "") if faults else None


def _faults(place: str, what: TableKind, texts: Sequence[str]) -> InputError:
    """What is wrong with a file that has these lines."""
    address = urlsplit(place)
    path = unquote(address.path)
    if address.scheme == "file" and os.access(path, os.R_OK):
        found = check_run(path) if what == "run" else check_qrels(path)
        if found is not None:
            return found
    faults: list[Fault] = []
    for text in texts:
        parts = text.split()
        kind, value, many = "columns", text, len(parts)
        if len(parts) == len(LINES[what]):
            value = parts[LINES[what].index(NUMBERS[what])]
            kind = "nan" if what == "run" and "nan" in value.lower() else NUMBERS[what]
        faults.append(Fault(0, kind, b"", value.encode("utf-8", "surrogateescape"), many))
    return input_error(faults, len(faults), Location(place, what))


def _kind(path: str) -> str:
    return READERS.get(_plain(path).rpartition(".")[2].lower(), "text")


def _plain(path: str) -> str:
    """A path without what only says how the file is packed."""
    path = path.removesuffix("/")
    while path.endswith(PACKED):
        path = os.path.splitext(path)[0]
    return path


def _read(spark: Any, path: str, what: TableKind) -> Any:
    """Columns by role: those that there are."""
    if _kind(path) == "text":
        return _lines(spark, path, what).drop("value", "sound")
    rows = _loaded(spark, path)
    found = choose_columns(rows.columns, COLUMNS[what], None, path)
    plain = _kind(path) == "csv"
    cells = {role: _cell(rows[f"`{name}`"], role, plain=plain) for role, name in found.items()}
    if what == "run" and "score" not in cells:
        cells["score"] = -cells["rank"]
    return rows.select(*(cell.alias(role) for role, cell in cells.items()), _place().alias(ROW))


def _cell(column: Any, role: str, *, plain: bool) -> Any:
    """An id as text and a number as such; where all is ``plain`` text, null where it is none."""
    if role not in ("score", "rank", "grade"):
        return column.cast("string")
    return _number(column) if plain else column


def _number(text: Any) -> Any:
    # Java takes more for a number than others do.
    return sql.when(text.rlike(rf"^\s*(?i:{NUMBER})\s*$"), text.try_cast("double"))


def _loaded(spark: Any, path: str, how: Mapping[str, Any] | None = None) -> Any:
    """The rows of a file, or its lines; ``how`` is for columns apart by commas or tabs."""
    if path == "-":
        raise InputError(["Spark cannot read standard input"], hint="give a path that every worker can open")
    kind, reader = _kind(path), spark.read
    if kind == "csv":
        reader = reader.options(header=True, sep="\t" if _plain(path).lower().endswith("tsv") else ",", **(how or {}))
    if kind == "text":
        reader = reader.options(lineSep="\n")
    try:
        rows = reader.format(kind).load(path)
    except FAILURES as error:
        if "PATH_NOT_FOUND" in str(error):
            raise InputError([f"{path}: there is no such file"]) from None
        raise InputError([f"{path}: Spark cannot read this as {kind}"]) from None
    if "_corrupt_record" in rows.columns:
        raise InputError([f"{path}: Spark reads JSON Lines, an object in each line, and there is something else"])
    return rows


def _place() -> Any:
    """Where a row stands: a file may be cut into splits, and rows of a split are numbered as they are read."""
    start, number = sql.col("_metadata.file_block_start"), sql.monotonically_increasing_id()
    return sql.struct(sql.col("_metadata.file_path").alias("file"), start.alias("start"), number.alias("number"))


def _lines(spark: Any, path: str, what: TableKind) -> Any:
    """TREC text as columns, and whether a line is ``sound``; what is not has nulls, which the evaluation refuses."""
    text = sql.btrim(sql.regexp_replace("value", "^\ufeff", ""), sql.lit(BLANK))
    names, number = LINES[what], NUMBERS[what]
    lines = _loaded(spark, path).select(sql.col("value"), text.alias("text"), _place().alias(ROW))
    parts = sql.split("text", r"[\x01-\x20]+").alias("parts")
    rows = lines.where((sql.col("text") != "") & ~sql.col("text").startswith("#")).select("value", ROW, parts)
    fits = sql.size("parts") == len(names)
    cells = {name: sql.when(fits, sql.get("parts", sql.lit(i))) for i, name in enumerate(names)}
    value = _number(cells[number])
    known = value.isNotNull() & ~sql.isnan(value)
    sound = known if what == "run" else known & (sql.abs(value) != float("inf"))
    # Of a line with too many or too few columns the first is told as its query: nothing else is sure of it.
    cells |= {"query": sql.get("parts", sql.lit(0)), number: value}
    if what == "run":
        cells["rank"] = cells["rank"].try_cast("double")
    kept = [name for name in names if name not in UNUSED[what]]
    return rows.select("value", ROW, sound.alias("sound"), *(cells[name].alias(name) for name in kept))
