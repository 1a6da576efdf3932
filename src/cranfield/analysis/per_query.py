"""Where runs differ: query by query, and within a query document by document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from cranfield.arguments import one_of, whole
from cranfield.data import Floats
from cranfield.errors import InputError, UsageError
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.scores import Scores, number
from cranfield.ranking.tie_rules import Ties

Order = Literal["difference", "hardest", "disagreement", "query"]
ORDERS: tuple[Order, ...] = get_args(Order)


@dataclass(frozen=True, eq=False)
class Contrast:
    """One measure by query: ``values`` (run, query), for queries that every run has a value for, in a chosen order.

    ``left_out``: queries for which some run has none.
    """

    measure: str
    runs: tuple[str, ...]
    queries: tuple[str, ...]
    values: Floats
    left_out: int

    @property
    def difference(self) -> Floats:
        """The first run's value less the second one's."""
        return self.values[0] - self.values[1]

    @property
    def mean(self) -> Floats:
        """Over runs: a low one is a hard query."""
        return self.values.mean(axis=0)

    @property
    def deviation(self) -> Floats:
        """The standard deviation over runs: how far they disagree on a query."""
        return self.values.std(axis=0)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "measure": self.measure,
            "queries": {
                query: {
                    "runs": {run: number(self.values[r, q]) for r, run in enumerate(self.runs)},
                    "mean": number(self.mean[q]),
                    "deviation": number(self.deviation[q]),
                    **({"difference": number(self.difference[q])} if len(self.runs) == 2 else {}),
                }
                for q, query in enumerate(self.queries)
            },
            "left_out": self.left_out,
        }


def by_query(scores: Scores, measure: int = 0, order: Order | None = None) -> Contrast:
    """One measure of all runs, query by query.

    Ordered by ``difference`` (two runs; the first one's best queries first), ``hardest`` first, by ``disagreement``
    between runs, or as the queries stand. By default the difference of two runs, and else the hardest first.

    >>> import cranfield as cf
    >>> qrels = {"q1": {"a": 1}, "q2": {"a": 1}}
    >>> runs = [{"q1": {"a": 2, "b": 1}, "q2": {"b": 2, "a": 1}}, {"q1": {"b": 2, "a": 1}, "q2": {"b": 2, "a": 1}}]
    >>> found = by_query(cf.evaluate(qrels, runs, "RR", names=["new", "old"]))
    >>> found.queries, found.difference.tolist()
    (('q1', 'q2'), [0.5, 0.0])
    """
    values, both = scores.matched(measure)
    if not len(both):
        raise InputError(
            [f"{scores.measures[measure]}: no query has a value in every run"],
            hint="do the runs answer the same queries?",
        )
    names = tuple(scores.queries[q] for q in both)
    left_out = int(scores.counted.any(axis=0).sum()) - len(both)
    found = Contrast(scores.measures[measure], scores.runs, names, values, left_out)
    one_of("order", order, (*ORDERS, None))
    order = order or ("difference" if len(scores.runs) == 2 else "hardest")
    if order == "difference" and len(scores.runs) != 2:
        raise UsageError(
            f"a difference is one of two runs, and there are {len(scores.runs)}", hint="order by disagreement"
        )
    keys: dict[Order, Floats] = {
        "hardest": found.mean,
        "disagreement": -found.deviation,
        "query": np.arange(len(names), dtype=np.float64),
    }
    rows = np.argsort(-found.difference if order == "difference" else keys[order], kind="stable")
    return Contrast(found.measure, found.runs, tuple(names[q] for q in rows), found.values[:, rows], left_out)


class Place(NamedTuple):
    """A document in two runs: its grade, None where nobody judged it, and its ranks, None beyond the page."""

    document: str
    grade: float | None
    first: int | None
    second: int | None


def documents(evaluation: Evaluation, query: str, page: int = 10, ties: Ties | None = None) -> list[Place]:
    """What two runs put on the first page for a query: documents that the second one gained, lost and moved.

    >>> import cranfield as cf
    >>> runs = [{"q": {"a": 3, "b": 2}}, {"q": {"b": 3, "c": 2}}]
    >>> evaluation = cf.Evaluator({"q": {"c": 1, "b": 0}}, "AP").evaluation(runs, page=10)
    >>> documents(evaluation, "q")
    ... # doctest: +NORMALIZE_WHITESPACE
    [Place(document='b', grade=0.0, first=2, second=1),
     Place(document='c', grade=1.0, first=None, second=2),
     Place(document='a', grade=None, first=1, second=None)]
    """
    if len(evaluation.runs) != 2:
        raise UsageError(f"documents of a query are compared for two runs, not {len(evaluation.runs)}")
    pages = [of_run.get(query) for of_run in evaluation.first_pages(whole("page", page), ties)]
    if pages == [None, None]:
        raise InputError([f"neither run answers query `{query}`"])
    judgments = evaluation.judgments
    grades: dict[str, float] = {}
    if query in evaluation.queries:
        q = evaluation.queries.index(query)
        rows = np.arange(judgments.begin[q], judgments.begin[q + 1])
        grades = dict(zip(judgments.documents.take(rows), judgments.grade[rows].tolist(), strict=True))
    first, second = ({d: i + 1 for i, d in enumerate(one.documents)} if one else {} for one in pages)
    return [
        Place(document, grade if (grade := grades.get(document)) is not None and grade >= 0 else None, a, b)
        for document in dict.fromkeys([*second, *first])
        for a, b in [(first.get(document), second.get(document))]
    ]
