"""Shapes that people give by mistake, each with the sentence and the hint that answer it."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pandas as pd


@dataclasses.dataclass
class Passage:
    text: str
    source: str


class Hit(NamedTuple):
    text: str
    rank: int


JUDGED = [{"d1"}, {"d2"}]

# What was given, as (judgments, run).
SHAPES: dict[str, tuple[Any, Any]] = {
    "one document for each query": (JUDGED, {"q1": "d1", "q2": "d2"}),
    "a list of ids": ({"q": {"d1"}}, [1, 2, 3]),
    "a list of pairs": (JUDGED, [("d1", 0.9), ("d2", 0.8)]),
    "rows": (JUDGED, [("q1", "d1", 0.9), ("q2", "d2", 0.8)]),
    "rows with ranks": (JUDGED, [("q1", "d1", 1), ("q2", "d2", 2)]),
    "rows as lists": (JUDGED, [["q1", "d1", 0.9], ["q2", "d2", 0.8]]),
    "two texts": (JUDGED, ["d1", "d2"]),
    "two arrays of scores": (JUDGED, (np.array([[0.7], [0.6]]), np.array([[0.9], [0.8]]))),
    "ids and scores of other shapes": (JUDGED, (np.array([["d1"], ["d2"]]), np.array([[0.9], [0.8], [0.7]]))),
    "a dict and a list": ({0: {"d1"}, 1: {"d2"}}, [["d1"], ["d2"]]),
    "a list and a dict": (JUDGED, {0: ["d1"], 1: ["d2"]}),
    "distances": (JUDGED, [[("d1", 0.1), ("d3", 0.4)], [("d2", 0.1), ("d3", 0.7)]]),
    "items": (JUDGED, [("q1", ["d1"]), ("q2", ["d2"])]),
    "sets": (JUDGED, [{"d1"}, {"d2"}]),
    "a set of tuples": (JUDGED, {("d1", "d2"), ("d3",)}),
    "text": (JUDGED, [["d1"], "d2"]),
    "one id": (JUDGED, {"1": ["d1"], "2": 7}),
    "None": (JUDGED, [["d1"], None]),
    "None as an id": (JUDGED, [["d1", None], ["d2"]]),
    "broken text as an id": (JUDGED, [["d\ud800"], ["d2"]]),
    "a fraction as an id": (JUDGED, [[1.0, 2.0], [3.0]]),
    "a truth value as an id": (JUDGED, [[True, False], [True]]),
    "lists as ids": (JUDGED, [["d1", ["d2"]], ["d2"]]),
    "ids that collide": (JUDGED, [["1", 1], ["d2"]]),
    "queries that collide": (JUDGED, {1: ["d1"], "1": ["d2"]}),
    "fewer lists": (JUDGED, [["d1"]]),
    "more lists": (JUDGED, [["d1"], ["d2"], ["d3"]]),
    "an empty list": (JUDGED, []),
    "an empty generator": (JUDGED, (ranking for ranking in ())),
    "a number": (JUDGED, 0.5),
    "nothing": (JUDGED, None),
    "a repeated document": (JUDGED, [["d1", "d1"], ["d2"]]),
    "a repeated pair": (JUDGED, [[("d1", 1.0), ("d1", 0.5)], [("d2", 1.0)]]),
    "a pair without a score": (JUDGED, [[("d1", 1.0), "d3"], [("d2", 1.0)]]),
    "a pair with the score first": (JUDGED, {"1": [(0.9, "d1")], "2": [(0.8, "d2")]}),
    "a document with score and text": (JUDGED, {"1": [("d1", 0.9, "a lamp")], "2": []}),
    "a pair with None": (JUDGED, [[("d1", 1.0), ("d3", None)], [("d2", 1.0)]]),
    "text as a score": (JUDGED, [[("d1", 1.0), ("d3", "0.5")], [("d2", 1.0)]]),
    "NaN": (JUDGED, [[("d1", float("nan"))], [("d2", 1.0)]]),
    "two numbers": (JUDGED, {"bm25": [[1, 2], [3, 4]]}),
    "one response": (JUDGED, {"took": 1, "hits": {"hits": [{"_id": "d1", "_score": 1.0}]}}),
    "a failed response": (JUDGED, [{"error": {"reason": "no such index"}, "status": 404}]),
    "objects without a query": (JUDGED, [Passage("a lamp", "d1"), Passage("a horn", "d2")]),
    "objects without an id": (JUDGED, [[Passage("a lamp", "d1")], []]),
    "dicts without an id": (JUDGED, [[{"text": "a lamp", "metadata": {"source": "d1"}}], []]),
    "named tuples without an id": (JUDGED, [[Hit("a lamp", 1)], []]),
    "a table of scores": (JUDGED, np.zeros((2, 2))),
    "a frame without scores": (JUDGED, pd.DataFrame({"qid": ["1"], "docno": ["d1"]})),
    "a list of relevant ids": (["d1", "d2"], [["d1"], ["d2"]]),
    "one relevant id": ({"1": "d1"}, [["d1"], ["d2"]]),
    "relevant rows": ([("1", "d1", 1), ("2", "d2", 1)], [["d1"], ["d2"]]),
    "two grades": ({"1": [("d1", 1), ("d1", 2)]}, [["d1"]]),
    "grades as text": ({"1": [("d1", 1), ("d2", "high")]}, [["d1"]]),
    "a response as judgments": ([{"hits": {"hits": []}}], [["d1"]]),
    "other queries": ({"q1": {"d1"}, "q2": {"d2"}}, [["d1"], ["d2"]]),
}
