"""The interface of pytrec_eval: to migrate, ``import cranfield.compat.pytrec_eval as pytrec_eval``.

Names, keys and numbers are those of trec_eval 9.0.8; `docs/compat/pytrec_eval` lists the differences.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.compat.trec_measures import (
    NICKNAMES,
    MeasureOptions,
    lines,
    measures_of_version,
    nickname,
)
from cranfield.errors import InputError, UsageError
from cranfield.evaluation.evaluator import Evaluator
from cranfield.evaluation.plan import Column
from cranfield.ranking.views import Views

__all__ = [
    "RelevanceEvaluator",
    "compute_aggregated_measure",
    "parse_qrel",
    "parse_run",
    "supported_measures",
    "supported_nicknames",
]

supported_measures = set(nickname("all_trec", 9))
supported_nicknames = {name: set(nickname(name, 9)) for name in (*NICKNAMES, "all_trec")}

# name, name.5 or name_5, name.5,10: the name may itself end in what looks like a parameter.
WRITTEN = re.compile(r"(?P<name>.+?)[._](?P<parameters>\d+(?:\.\d+)?(?:,\d+(?:\.\d+)?)*)")

Numbers = Mapping[str, Mapping[str, Any]]


class RelevanceEvaluator:
    """Judgments and measures, for any number of runs.

    >>> evaluator = RelevanceEvaluator({"q": {"a": 1, "b": 0}}, {"map", "ndcg_cut.1,10"})
    >>> evaluator.evaluate({"q": {"b": 2.0, "a": 1.0}})
    {'q': {'map': 0.5, 'ndcg_cut_1': 0.0, 'ndcg_cut_10': 0.6309297535714575}}
    """

    def __init__(
        self,
        query_relevance: Numbers,
        measures: Iterable[str],
        relevance_level: int = 1,
        judged_docs_only_flag: bool = False,
    ) -> None:
        if int(relevance_level) < 1:
            raise UsageError(f"relevance_level must be at least 1, not {relevance_level}")
        judged = {query: documents for query, documents in query_relevance.items() if len(documents)}
        views = Views("trec9", condensed=bool(judged_docs_only_flag))
        options = MeasureOptions(9, int(relevance_level), views=views)
        self._lines = [
            # Only cutoffs are part of a key.
            (name if line.kind.shape in ("numbers", "pairs") else line.name, line)
            for name, parameters in _combined(measures).items()
            for line in lines(name, parameters, options)
        ]
        self._queries = {query: row for row, query in enumerate(judged)}
        needed = (measure for _, line in self._lines for measure in (*line.measures, line.unless))
        measures_used = list(dict.fromkeys(measure for measure in needed if measure is not None))
        self._rows = {measure: row for row, measure in enumerate(measures_used)}
        # Most lines are the values of one measure, and nothing else is to be done with them.
        self._plain = bool(judged) and all(line.plain for _, line in self._lines)
        named = [Column(line.measures[0], "value", name) for name, line in self._lines if self._plain]
        columns: Sequence[Any] = named or measures_used
        self._evaluator = Evaluator(judged, columns, queries="both") if judged and columns else None
        texts = judged if self._evaluator is None else self._evaluator.judgments.queries
        self._texts = dict(zip(judged, texts, strict=True))  # ids may be numbers

    def evaluate(self, scores: Numbers) -> dict[str, dict[str, float]]:
        """``{query: {measure: value}}`` for the queries that are judged, in the run's order."""
        queries = [query for query in scores if query in self._queries]
        if not queries:
            return {}
        if self._plain and self._evaluator is not None:
            by_query = self._evaluator.per_query(scores)
            rankings = ((query, by_query[self._texts[query]]) for query in queries)
            return {query: {name: 0.0 if x != x else x for name, x in values.items()} for query, values in rankings}
        rows = [self._queries[query] for query in queries]
        values = np.zeros((0, len(self._queries))) if self._evaluator is None else self._evaluator.values(scores)
        # pytrec_eval has 0 for values that are not numbers: the run id and the string of grades.
        table = np.zeros((len(self._lines), len(queries)))
        for (name, line), row in zip(self._lines, table, strict=True):
            row[:] = line.values(lambda m: values[self._rows[m]])[rows] if line.measures else name == "num_q"
        names = [name for name, _ in self._lines]
        return {query: dict(zip(names, row, strict=True)) for query, row in zip(queries, table.T.tolist(), strict=True)}


def _combined(measures: Iterable[str]) -> dict[str, str]:
    """The parameters of each measure, in trec_eval's order of measures."""
    given: dict[str, list[str]] = {}
    for measure in [measures] if isinstance(measures, str) else measures:
        for name in nickname(measure, 9) or [measure]:
            if name in supported_measures:
                given.setdefault(name, [])
                continue
            written = WRITTEN.fullmatch(name)
            if written is None or written["name"] not in supported_measures:
                raise ValueError(f"unsupported measure `{measure}`")
            given.setdefault(written["name"], []).extend(written["parameters"].split(","))
    return {name: ",".join(_distinct(name, given[name])) for name in measures_of_version(9) if name in given}


def _distinct(name: str, parameters: list[str]) -> list[str]:
    """Cutoffs in one spelling, each once; other numbers unchanged, because their order matters."""
    shape = measures_of_version(9)[name].shape
    if shape == "cuts":
        return list(dict.fromkeys(str(int(float(x))) for x in parameters))
    return list(dict.fromkeys(repr(float(x)) for x in parameters)) if shape == "shares" else parameters


def compute_aggregated_measure(measure: str, values: Sequence[float]) -> float:
    """Aggregate the values of `RelevanceEvaluator.evaluate` over queries; those of gm_ measures are logarithms."""
    sample = np.asarray(values, np.float64)
    if measure.startswith("num_"):
        return float(sample.sum())
    return float(np.exp(sample.mean()) if measure.startswith("gm_") else sample.mean())


def parse_run(f_run: Iterable[str]) -> dict[str, dict[str, float]]:
    """``{query: {document: score}}`` from the lines of a run."""
    return _parse(f_run, ("query", "Q0", "document", "rank", "score", "tag"), 4, float)


def parse_qrel(f_qrel: Iterable[str]) -> dict[str, dict[str, int]]:
    """``{query: {document: grade}}`` from the lines of judgments."""
    return _parse(f_qrel, ("query", "iteration", "document", "grade"), 3, int)


def _parse(rows: Iterable[str], columns: Sequence[str], value_column: int, kind: Any) -> dict[str, dict[str, Any]]:
    parsed: dict[str, dict[str, Any]] = {}
    path = getattr(rows, "name", None)
    for number, line in enumerate(rows, 1):
        where = f"{path}:{number}" if isinstance(path, str) else f"line {number}"
        parts = line.split()
        if len(parts) != len(columns):
            raise InputError([f"{where}: expected {len(columns)} columns ({' '.join(columns)}), found {len(parts)}"])
        documents = parsed.setdefault(parts[0], {})
        if parts[2] in documents:
            raise InputError([f"{where}: document `{parts[2]}` appears twice for query `{parts[0]}`"])
        try:
            documents[parts[2]] = kind(parts[value_column])
        except ValueError:
            expected = "a number" if kind is float else "a whole number"
            text = parts[value_column]
            raise InputError([f"{where}: the {columns[value_column]} must be {expected}, not `{text}`"]) from None
    return parsed
