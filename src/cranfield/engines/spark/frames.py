"""Somebody's Spark DataFrames as the columns that shards are made of: found, checked, keyed, sorted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import functions as sql
from pyspark.sql import types

from cranfield.engines.shards import RUN_BITS, RUN_MASK
from cranfield.errors import InputError, UsageError
from cranfield.evaluation.columns import Plan
from cranfield.io.faults import Location, quotable
from cranfield.io.tables import QRELS_COLUMNS, RUN_COLUMNS, choose_columns

ALONE = "run"  # what the only run is called where there is no column of runs

# What Spark calls the kinds of columns that records have.
_TYPES = {
    "text": "string",
    "texts": "array<string>",
    "bytes": "binary",
    "list of bytes": "array<binary>",
    "flag": "boolean",
    "flags": "array<boolean>",
    "count": "bigint",
    "list of counts": "array<bigint>",
    "numbers": "array<double>",
}


def schema(record: Mapping[str, str]) -> str:
    """The schema of records whose columns are of these kinds."""
    return ", ".join(f"`{name}` {_TYPES[kind]}" for name, kind in record.items())


def run_columns(frame: Any, columns: Mapping[str, str] | None, plan: Plan) -> dict[str, str]:
    """Which column of a frame of runs has what, for those columns that the plan needs."""
    found = _columns(frame, (*RUN_COLUMNS, "run", "row"), columns, Location("runs", "run", "row"))
    rules = [column.measure.views.rule for column in plan.columns]
    ranked = any(rule.key == "rank" for rule in rules)
    given = any(rule.position == "by_input" and rule.key != "rank" for rule in rules)
    if "row" not in found and (given or (ranked and "rank" not in found)):
        what = "ties=input" if given else "ties=rank"
        raise InputError(
            [f"runs: {what} asks for the order in which documents were given, and a Spark DataFrame has none"],
            hint='keep it in a column of numbers called row; in Python, columns={"row": ...} says which it is',
        )
    if not given and not (ranked and "rank" not in found):
        found.pop("row", None)
    if not ranked and "score" in found:
        found.pop("rank", None)
    _typed(frame, found, "runs")
    return found


def qrels_columns(frame: Any, columns: Mapping[str, str] | None) -> dict[str, str]:
    """Which column of a frame of judgments has what."""
    found = _columns(frame, QRELS_COLUMNS, columns, Location("qrels", "qrels", "row"))
    _typed(frame, found, "qrels")
    return found


def _columns(frame: Any, wanted: Sequence[str], columns: Mapping[str, str] | None, place: Location) -> dict[str, str]:
    """Which column of a frame has what, where there is one such column."""
    if not hasattr(frame, "sparkSession"):
        raise UsageError(f"{place.source_name} must be a Spark DataFrame, not {type(frame).__name__}")
    found = choose_columns(frame.columns, wanted, columns, place.source_name)
    many = [
        f"{place.source_name}: there are several columns called `{quotable(name)}`"
        for name in dict.fromkeys(found.values())
        if frame.columns.count(name) > 1
    ]
    if many:
        raise InputError(many, hint="drop all but one, or give them other names")
    return found


def _typed(frame: Any, columns: Mapping[str, str], name: str) -> None:
    """Ids are text, bytes or whole numbers, and numbers are numbers: told from the schema, before any row is read."""
    texts = types.StringType, types.VarcharType, types.CharType, types.BinaryType, types.IntegralType
    faults = []
    for role, column in columns.items():
        kind = frame.schema.fields[frame.columns.index(column)].dataType
        if role in ("query", "document", "iteration", "run"):
            if not isinstance(kind, texts):
                faults.append(f"{name}: column `{quotable(column)}` is {kind.simpleString()}; an id must be text")
        elif not isinstance(kind, types.NumericType) and not (role == "row" and isinstance(kind, types.StructType)):
            faults.append(f"{name}: column `{quotable(column)}` is {kind.simpleString()}; the {role} must be a number")
    if faults:
        raise InputError(faults, hint="cast the column before")


def rankings(frame: Any, columns: Mapping[str, str]) -> Any:
    """The rows of runs by role, with their key."""
    given, of = _by_place(frame, columns)
    run = of["run"].cast("string") if "run" in of else sql.lit(ALONE)
    score = of["score"].cast("double") if "score" in of else -of["rank"].cast("double")
    more = [of["rank"].cast("double").alias("rank")] if "rank" in of else []
    if "row" in of:  # whatever has an order
        more.append(of["row"].alias("row"))
    rows = given.select(
        run.alias("run"),
        of["query"].cast("string").alias("query"),
        of["document"].cast("string").alias("document"),
        score.alias("score"),
        *more,
    )
    of_run = sql.pmod(sql.xxhash64("run"), sql.lit(RUN_MASK)) + sql.lit(1)
    return rows.withColumn("key", _query_key().bitwiseOR(of_run))


def judgments(frame: Any, columns: Mapping[str, str]) -> Any:
    """The rows of judgments by role, with their key."""
    given, of = _by_place(frame, columns)
    iteration = of["iteration"].cast("string") if "iteration" in of else sql.lit("0")
    rows = given.select(
        of["query"].cast("string").alias("query"),
        of["document"].cast("string").alias("document"),
        of["grade"].cast("double").alias("score"),
        iteration.alias("iteration"),
    )
    return rows.withColumn("key", _query_key())


def _by_place(frame: Any, columns: Mapping[str, str]) -> tuple[Any, dict[str, Any]]:
    """The frame with columns called by their place, and by role those that have one.

    To Spark names are the same that differ in their letters' case, and backticks and dots mean something.
    """
    names = [f"column {i}" for i in range(len(frame.columns))]
    places = {role: frame.columns.index(column) for role, column in columns.items()}
    return frame.toDF(*names), {role: sql.col(f"`{names[place]}`") for role, place in places.items()}


def _query_key() -> Any:
    return sql.xxhash64("query").bitwiseAND(sql.lit(~RUN_MASK))


def sharded(rows: Any, partitions: int | None, *, by_query: bool) -> Any:
    """The rows of a ranking, or of all rankings of a query, in one partition, sorted by key."""
    if partitions is not None and (not isinstance(partitions, int) or partitions < 1):
        raise UsageError(f"partitions must be a whole number of at least 1, not {partitions!r}")
    owner = sql.shiftrightunsigned("key", RUN_BITS) if by_query else sql.col("key")
    parts = rows.repartition(owner) if partitions is None else rows.repartition(partitions, owner)
    if "row" not in rows.columns:
        return parts.sortWithinPartitions("key")
    shards = parts.sortWithinPartitions("key", "row")
    # Numbers are looked at once more where they are used; places in files, which are none, are known to be sound.
    return shards if isinstance(rows.schema["row"].dataType, types.NumericType) else shards.drop("row")
