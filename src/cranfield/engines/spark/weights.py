"""Weights of intents for judgments that are distributed: checked on the driver, and sent to every task."""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as sql

from cranfield.engines.shards import Weights
from cranfield.engines.totals import MAX_NAMES
from cranfield.errors import InputError
from cranfield.evaluation.intents import add_weights
from cranfield.evaluation.notes import Note, QueryNames
from cranfield.io import read_qrels
from cranfield.io.weights import read_weights


def weights_of(judgments: Any, source: Any, *, subtopics: bool) -> tuple[Weights, list[Note]]:
    """The weights by query and subtopic, and the notes of `intents.with_intents`.

    Only the subtopics of queries that have weights are collected on the driver.
    """
    name, weights = read_weights(source)
    navigational = next((weight for weight in weights if weight.type == "nav"), None)
    if navigational is not None:
        raise InputError(
            [f"{navigational.location}: navigational intents need judgments that are sent to every task"],
            hint="increase broadcast=, the size in bytes up to which judgments are sent to every task",
        )
    queries = sorted({weight.query for weight in weights})
    weighted = sql.broadcast(judgments.sparkSession.createDataFrame([(query,) for query in queries], "query string"))
    valid = judgments.where("query is not null and iteration is not null")
    pairs = valid.join(weighted, "query", "left_semi").groupBy("query", "iteration")
    relevant = sql.max(sql.when((sql.col("score") > 0) & ~sql.isnan("score"), 1).otherwise(0))
    graded: dict[str, dict[str, Any]] = {}
    for query, subtopic, grade in pairs.agg(relevant).orderBy("query", "iteration").collect():
        # One document per subtopic is enough to check the weights.
        graded.setdefault(query, {})[subtopic] = {subtopic: grade} if subtopics else grade
    unweighted = valid.select("query").distinct().join(weighted, "query", "left_anti")
    first = [row["query"] for row in unweighted.orderBy("query").limit(MAX_NAMES + 2).collect()]
    count = unweighted.count() if len(first) > MAX_NAMES + 1 else len(first)
    sample = dict(graded)
    if not sample and not first:  # every row has a fault; the tasks report them
        return {}, []
    if not sample:  # no weight fits: one judged query is needed for the message
        sample, first, count = {first[0]: {"": {"": 0} if subtopics else 0}}, first[1:], count - 1
    _, notes = add_weights(read_qrels(sample, name="qrels"), name, weights, QueryNames(count, first))
    by_query: dict[str, dict[str, float]] = {}
    for weight in weights:
        if weight.subtopic in graded.get(weight.query, {}):
            by_query.setdefault(weight.query, {})[weight.subtopic] = weight.value
    return by_query, notes
