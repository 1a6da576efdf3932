"""Weights of intents for judgments that no task has whole: checked on the driver, and sent to every task."""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as sql

from cranfield.engines.shards import Weights
from cranfield.engines.totals import FIRST
from cranfield.evaluation.notes import Note, QueryNames
from cranfield.intents import weighed
from cranfield.io import read_qrels
from cranfield.io.weights import read_weights


def weights_of(judgments: Any, source: Any, *, subtopics: bool) -> tuple[Weights, list[Note]]:
    """The weights by query and subtopic, and what `intents.with_intents` says of them.

    Of the judgments only the subtopics of queries that have weights come to the driver, where the weights are.
    """
    name, weights = read_weights(source)
    asked = sorted({weight.query for weight in weights})
    wanted = sql.broadcast(judgments.sparkSession.createDataFrame([(query,) for query in asked], "query string"))
    sound = judgments.where("query is not null and iteration is not null")
    pairs = sound.join(wanted, "query", "left_semi").groupBy("query", "iteration")
    relevant = sql.max(sql.when((sql.col("score") > 0) & ~sql.isnan("score"), 1).otherwise(0))
    graded: dict[str, dict[str, Any]] = {}
    for query, subtopic, grade in pairs.agg(relevant).orderBy("query", "iteration").collect():
        # A document for each subtopic stands for all that there are.
        graded.setdefault(query, {})[subtopic] = {subtopic: grade} if subtopics else grade
    left = sound.select("query").distinct().join(wanted, "query", "left_anti")
    first = [row["query"] for row in left.orderBy("query").limit(FIRST + 2).collect()]
    many = left.count() if len(first) > FIRST + 1 else len(first)
    here = dict(graded)
    if not here and not first:  # every row is at fault, which tasks will tell
        return {}, []
    if not here:  # something has to be judged, if only to say that it is something else
        here, first, many = {first[0]: {"": {"": 0} if subtopics else 0}}, first[1:], many - 1
    _, notes = weighed(read_qrels(here, name="qrels"), name, weights, QueryNames(many, first))
    found: dict[str, dict[str, float]] = {}
    for weight in weights:
        if weight.query in graded:
            found.setdefault(weight.query, {})[weight.subtopic] = weight.value
    return found, notes
