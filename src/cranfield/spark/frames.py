"""Spark DataFrames of users as rows for shards: columns chosen, types checked, keys added, rows sorted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import functions as sql
from pyspark.sql import types

from cranfield.errors import InputError, UsageError
from cranfield.evaluation.plan import Plan
from cranfield.io.faults import quotable
from cranfield.io.tables import QRELS_COLUMNS, RUN_COLUMNS, choose_columns
from cranfield.spark.shards import RUN_BITS, RUN_MASK

DEFAULT_RUN = "run"  # the name of the run if there is no column of runs


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
