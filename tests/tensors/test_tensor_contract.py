"""Tensors keep the contract of engines: rows of runs and judgments as candidates have the scores of `evaluate`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tensor_samples import library

import cranfield as cf
from cranfield.analysis.compare import Comparison
from cranfield.corpus import Corpus
from cranfield.errors import MeasureError, UsageError
from cranfield.evaluation.collection import split_options
from cranfield.evaluation.run_notes import score_notes
from cranfield.tensors import evaluate
from cranfield.testing.engine_contract import Columns, EngineContract, Evaluated, by_query, collection, evaluated

Judged = dict[str, dict[str, dict[int, float]]]  # the grades of a document by subtopic


def judged_documents(qrels: Columns) -> Judged:
    """The judgments by query and document; subtopics are numbers."""
    judged: Judged = {}
    subtopics = qrels.get("subtopic", ["0"] * len(qrels["query"]))
    for query, document, grade, subtopic in zip(
        qrels["query"], qrels["document"], qrels["grade"], subtopics, strict=True
    ):
        judged.setdefault(query, {}).setdefault(document, {})[int(subtopic)] = grade
    return judged


class OnTensors(EngineContract):
    """The documents that a run retrieved are its candidates, in flat form; runs have different ones, so each is a call."""

    library: str

    def scores(self, runs: Any, qrels: Columns, measures: Any, **policies: Any) -> cf.Scores:
        rows = by_query({name: [value for piece in runs for value in piece[name]] for name in runs[0]})
        judged = judged_documents(by_query(qrels))
        parts, options = split_options(policies)
        return combined(
            [
                self.evaluation(name, rows, judged, "subtopic" in qrels, measures, parts, {"ties": None, **options})
                for name in sorted(set(rows["run"]))
            ]
        )

    def evaluation(
        self, run: str, rows: Columns, judged: Judged, subtopics: bool, measures: Any, parts: Any, options: Any
    ) -> cf.Evaluation:
        chosen = [i for i, name in enumerate(rows["run"]) if name == run]
        elements = [(rows["query"][i], rows["document"][i], rows["score"][i], True) for i in chosen]
        known = {(query, document) for query, document, _, _ in elements}
        others = [
            (query, document) for query, of in judged.items() for document in of if (query, document) not in known
        ]
        missed: dict[str, dict[str, float]] = {}
        if subtopics:  # judged documents that the run did not retrieve
            elements += [(query, document, 0.0, False) for query, document in others]
        else:
            for query, document in others:
                missed.setdefault(query, {})[document] = judged[query][document][0]
        names = sorted({query for query, _, _, _ in elements})
        number = {query: i for i, query in enumerate(names)}
        grades = np.full(
            (len(elements), 1 + max((max(g) for of in judged.values() for g in of.values()), default=0)), np.nan
        )
        for i, (query, document, _, _) in enumerate(elements):
            for subtopic, grade in judged.get(query, {}).get(document, {}).items():
                grades[i, subtopic] = grade
        with library(self.library) as array:
            return evaluate(
                cf.Collection(array(grades if subtopics else grades[:, 0]), **parts),
                {run: array([score for _, _, score, _ in elements])},
                measures,
                ids=[document for _, document, _, _ in elements],
                mask=array([kept for _, _, _, kept in elements]),
                indexes=array([number[query] for query, _, _, _ in elements]),
                query_ids=names,
                missed=missed or None,
                **options,
            )

    def evaluate(self, runs: Any, qrels: Columns, measures: Any, **policies: Any) -> Evaluated:
        return evaluated(self.scores(runs, qrels, measures, **policies))

    def compare(self, runs: Any, qrels: Columns, measures: Any, terms: Any, **policies: Any) -> Comparison:
        return cf.compare(self.scores(runs, qrels, measures, **policies), **terms)

    # What tensors cannot hold is refused, or said in another way.

    def test_contents(self) -> None:
        runs, qrels = collection(1, queries=2, subtopics=2)
        with pytest.raises(MeasureError, match="needs document text, which tensors do not have"):
            self.evaluate([runs], qrels, ["DELTARB@5"], documents=Corpus.of({"d0": "text"}))

    def test_nulls_in_runs(self) -> None:
        runs, qrels = collection(1, queries=2)
        self.refused([{**runs, "document": [None, *runs["document"][1:]]}], qrels, "an id must be text")
        with library(self.library) as array, pytest.raises(UsageError, match="scores must be numbers"):
            evaluate(array([[1.0]]), [[None]], "AP")

    def test_bad_rows_of_judgments(self) -> None:
        runs, qrels = collection(1, queries=2)
        query = f"query `{qrels['query'][0]}`"
        self.refused([runs], {**qrels, "grade": [float("inf"), *qrels["grade"][1:]]}, query, "grade")
        documents = [None, *qrels["document"][1:]]
        self.refused([runs], {**qrels, "document": documents}, "an id must be text")

    def test_a_missing_column(self) -> None:
        """Without ids, an order by id is refused."""
        with library(self.library) as array, pytest.raises(MeasureError, match="needs document ids"):
            evaluate(array([[1.0, 0.0]]), array([[1.0, 1.0]]), "AP", ties="trec")


class TestNumPy(OnTensors):
    library = "numpy"


class TestTorch(OnTensors):
    library = "torch"


def combined(evaluations: list[cf.Evaluation]) -> cf.Scores:
    """The scores of all runs, with queries in the order of ids, and the notes on all of them."""
    every = [evaluation.scores for evaluation in evaluations]
    queries = sorted({query for scores in every for query in scores.queries})
    values = np.full((len(every), len(every[0].columns), len(queries)), np.nan)
    counted = np.zeros((len(every), len(queries)), bool)
    for r, scores in enumerate(every):
        at = [queries.index(query) for query in scores.queries]
        values[r][:, at], counted[r, at] = scores.values[0], scores.counted[0]
    runs, policy = tuple(scores.runs[0] for scores in every), evaluations[0].policy
    made = cf.Scores(runs, every[0].columns, tuple(queries), values, counted, policy.undefined)
    notes = [n for scores in every for n in scores.notes if n not in set(score_notes(scores))]
    return cf.Scores(runs, made.columns, made.queries, values, counted, policy.undefined, (*score_notes(made), *notes))
