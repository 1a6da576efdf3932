"""Somebody's Spark DataFrames as the columns that shards are made of: found, checked, keyed, sorted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import functions as sql
from pyspark.sql import types

from cranfield.engines.shards import RUN_BITS, RUN_MASK
from cranfield.errors import InputError, UsageError
from cranfield.evaluate import Plan
from cranfield.formats.faults import Place, shown
from cranfield.formats.tables import QRELS_COLUMNS, RUN_COLUMNS, chosen

ALONE = "run"  # what the only run is called where there is no column of runs


def run_columns(frame: Any, columns: Mapping[str, str] | None, plan: Plan) -> dict[str, str]:
    """Which column of a frame of runs has what, for those columns that the plan needs."""
    found = chosen(frame.columns, (*RUN_COLUMNS, "run", "row"), columns, Place("runs", "run", "row"))
    ranked = any(column.measure.views.key == "rank" for column in plan.columns)
    given = any(column.measure.views.ties == "input" for column in plan.columns)
    if "row" not in found and (given or (ranked and "rank" not in found)):
        what = "ties=input" if given else "ties=rank"
        raise InputError(
            [f"runs: {what} asks for the order in which documents were given, and a Spark DataFrame has none"],
            hint='keep it in a column of numbers called row, or say which it is: columns={"row": ...}',
        )
    if not given and not (ranked and "rank" not in found):
        found.pop("row", None)
    if not ranked and "score" in found:
        found.pop("rank", None)
    _typed(frame, found, "runs")
    return found


def qrels_columns(frame: Any, columns: Mapping[str, str] | None) -> dict[str, str]:
    """Which column of a frame of judgments has what."""
    found = chosen(frame.columns, QRELS_COLUMNS, columns, Place("qrels", "qrels", "row"))
    _typed(frame, found, "qrels")
    return found


def _typed(frame: Any, columns: Mapping[str, str], name: str) -> None:
    """Ids are text, bytes or whole numbers, and numbers are numbers: told from the schema, before any row is read."""
    texts = types.StringType, types.VarcharType, types.CharType, types.BinaryType, types.IntegralType
    faults = []
    for role, column in columns.items():
        kind = frame.schema[column].dataType
        if role in ("query", "document", "iteration", "run"):
            if not isinstance(kind, texts):
                faults.append(f"{name}: column `{shown(column)}` is {kind.simpleString()}; an id must be text")
        elif not isinstance(kind, types.NumericType) and not (role == "row" and isinstance(kind, types.StructType)):
            faults.append(f"{name}: column `{shown(column)}` is {kind.simpleString()}; the {role} must be a number")
    if faults:
        raise InputError(faults, hint="cast the column before")


def rankings(frame: Any, columns: Mapping[str, str]) -> Any:
    """The rows of runs by role, with their key."""

    def column(role: str, kind: str) -> Any:
        return sql.col(f"`{columns[role]}`").cast(kind)

    run = column("run", "string") if "run" in columns else sql.lit(ALONE)
    score = column("score", "double") if "score" in columns else -column("rank", "double")
    more = [column("rank", "double").alias("rank")] if "rank" in columns else []
    if "row" in columns:  # whatever has an order
        more.append(sql.col(f"`{columns['row']}`").alias("row"))
    rows = frame.select(
        run.alias("run"),
        column("query", "string").alias("query"),
        column("document", "string").alias("document"),
        score.alias("score"),
        *more,
    )
    of_run = sql.pmod(sql.xxhash64("run"), sql.lit(RUN_MASK)) + sql.lit(1)
    return rows.withColumn("key", _query_key().bitwiseOR(of_run))


def judgments(frame: Any, columns: Mapping[str, str]) -> Any:
    """The rows of judgments by role, with their key."""
    iteration = sql.col(f"`{columns['iteration']}`").cast("string") if "iteration" in columns else sql.lit("0")
    rows = frame.select(
        sql.col(f"`{columns['query']}`").cast("string").alias("query"),
        sql.col(f"`{columns['document']}`").cast("string").alias("document"),
        sql.col(f"`{columns['grade']}`").cast("double").alias("score"),
        iteration.alias("iteration"),
    )
    return rows.withColumn("key", _query_key())


def _query_key() -> Any:
    return sql.xxhash64("query").bitwiseAND(sql.lit(~RUN_MASK))


def sharded(rows: Any, partitions: int | None, *, by_query: bool) -> Any:
    """The rows of a ranking, or of all rankings of a query, in one partition, sorted by key."""
    if partitions is not None and (not isinstance(partitions, int) or partitions < 1):
        raise UsageError(f"partitions must be a whole number of at least 1, not {partitions!r}")
    owner = sql.shiftrightunsigned("key", RUN_BITS) if by_query else sql.col("key")
    parts = rows.repartition(owner) if partitions is None else rows.repartition(partitions, owner)
    return parts.sortWithinPartitions("key", *(["row"] if "row" in rows.columns else [])).drop("row")
