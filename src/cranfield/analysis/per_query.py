"""Where runs differ: by query, and within a query by document."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from cranfield.codec import plain
from cranfield.data import Floats
from cranfield.display import Displayed
from cranfield.errors import InputError, UsageError
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.scores import Scores, check_rankings
from cranfield.ranking.tie_rules import Ties
from cranfield.settings import Count, checked
from cranfield.statistics.rounding import SAME
from cranfield.wording import listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Order = Literal["difference", "loss", "hardest", "disagreement", "query"]
ORDERS: tuple[Order, ...] = get_args(Order)


@dataclass(frozen=True, eq=False, repr=False)
class PerQueryScores(Displayed):
    """One measure by query: ``values`` (run, query), for queries with a value in every run, in a chosen order.

    ``left_out``: the number of queries for which some run has no value.
    """

    _SHOWN_BY = "per_query"

    measure: str
    runs: tuple[str, ...]
    queries: tuple[str, ...]
    values: Floats
    left_out: int
    lower_is_better: bool = False

    def __repr__(self) -> str:
        return f"PerQueryScores: {self.measure} of {listed(self.runs, 'run')} for {listed(self.queries, 'query')}"

    @property
    def difference(self) -> Floats:
        """The value of the second run minus that of the first: new minus old."""
        return self.values[1] - self.values[0]

    @property
    def gain(self) -> Floats:
        """The difference, positive where the second run is better."""
        return -self.difference if self.lower_is_better else self.difference

    def lost(self, most: int) -> list[str]:
        """The queries on which the second run is worse than the first, the largest loss first."""
        return [self.queries[q] for q in np.argsort(self.gain, kind="stable")[:most].tolist() if self.gain[q] < -SAME]

    @property
    def mean(self) -> Floats:
        """The mean over runs: it is low for a hard query."""
        return self.values.mean(axis=0)

    @property
    def deviation(self) -> Floats:
        """The standard deviation over runs: how much they disagree on a query."""
        return self.values.std(axis=0)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the difference of two runs for each query, or the range of several; returns the Matplotlib axes.

        ``ax``: axes to draw on instead of a new figure.
        """
        return self._draw(ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "measure": self.measure,
            "queries": {
                query: {
                    "runs": {run: plain(self.values[r, q]) for r, run in enumerate(self.runs)},
                    "mean": plain(self.mean[q]),
                    "deviation": plain(self.deviation[q]),
                    **({"difference": plain(self.difference[q])} if len(self.runs) == 2 else {}),
                }
                for q, query in enumerate(self.queries)
            },
            "left_out": self.left_out,
        }


@checked
def queries(scores: Scores, measure: int | str = 0, order: Order | None = None) -> PerQueryScores:
    """One measure of all runs, query by query.

    Parameters
    ----------
    scores
        What `evaluate` returns.
    measure
        The measure: its column number, or any of its names.
    order
        ``difference``: by the size of the difference of two runs (second minus first), largest first; ``loss``: by the
        loss of the second run, largest first; ``hardest`` queries first; by ``disagreement`` between runs; or
        ``query``, the order of the input. The default is the difference for two runs, and otherwise the hardest first.

    Returns
    -------
    PerQueryScores
        The queries in this order with the score of each run.

    Examples
    --------
    >>> import cranfield as cf
    >>> qrels = {"q1": {"a": 1}, "q2": {"a": 1}}
    >>> runs = [{"q1": {"b": 2, "a": 1}, "q2": {"b": 2, "a": 1}}, {"q1": {"a": 2, "b": 1}, "q2": {"b": 2, "a": 1}}]
    >>> result = queries(cf.evaluate(qrels, runs, "RR", names=["old", "new"]))
    >>> result.queries, result.difference.tolist()
    (('q1', 'q2'), [0.5, 0.0])
    """
    measure = scores._column_of(measure) if isinstance(measure, str) else measure
    values, both = scores._matched(measure)
    if not len(both):
        raise InputError(
            [f"{scores.measures[measure]}: no query has a value in every run"],
            hint="check that the runs answer the same queries",
        )
    names = tuple(scores.queries[q] for q in both)
    left_out = int(scores.counted.any(axis=0).sum()) - len(both)
    lower = scores.columns[measure].lower_is_better
    unsorted = PerQueryScores(scores.measures[measure], scores.runs, names, values, left_out, lower)
    order = order or ("difference" if len(scores.runs) == 2 else "hardest")
    pair = order in ("difference", "loss")
    if pair and len(scores.runs) != 2:
        raise UsageError(
            f"sorting by {order} needs two runs, not {len(scores.runs)}", hint="sort by disagreement or hardest"
        )
    keys: dict[Order, Floats] = {
        **({"difference": -np.abs(unsorted.difference), "loss": unsorted.gain} if pair else {}),
        "hardest": unsorted.mean,
        "disagreement": -unsorted.deviation,
        "query": np.arange(len(names), dtype=np.float64),
    }
    rows = np.argsort(keys[order], kind="stable")
    return replace(unsorted, queries=tuple(names[q] for q in rows), values=unsorted.values[:, rows])


class DocumentRanks(NamedTuple):
    """A document in two runs: its grade, None if unjudged, and its ranks, None if not among the top documents."""

    document: str
    grade: float | None
    first: int | None
    second: int | None


@checked
def documents(evaluation: Evaluation, query: str, page: Count = 10, ties: Ties | None = None) -> list[DocumentRanks]:
    """The top documents of two runs for a query: those that the second run gained, lost and moved.

    >>> import cranfield as cf
    >>> runs = [{"q": {"a": 3, "b": 2}}, {"q": {"b": 3, "c": 2}}]
    >>> evaluation = cf.Evaluator({"q": {"c": 1, "b": 0}}, "AP").evaluation(runs, page=10)
    >>> documents(evaluation, "q")
    ... # doctest: +NORMALIZE_WHITESPACE
    [DocumentRanks(document='b', grade=0.0, first=2, second=1),
     DocumentRanks(document='c', grade=1.0, first=None, second=2),
     DocumentRanks(document='a', grade=None, first=1, second=None)]
    """
    check_rankings(evaluation, "a comparison of documents")
    if len(evaluation.runs) != 2:
        raise UsageError(f"comparing documents needs two runs, not {len(evaluation.runs)}")
    pages = [pages_by_query.get(query) for pages_by_query in evaluation.first_pages(page, ties)]
    if pages == [None, None]:
        raise InputError([f"neither run answers query `{query}`"])
    grades = judged_grades(evaluation, query)
    first, second = ({d: i + 1 for i, d in enumerate(page.documents)} if page else {} for page in pages)
    return [
        DocumentRanks(document, grades.get(document, evaluation.unjudged_grade), a, b)
        for document in dict.fromkeys([*second, *first])
        for a, b in [(first.get(document), second.get(document))]
    ]


def judged_grades(evaluation: Evaluation, query: str) -> dict[str, float]:
    """The grades of the judged documents of a query."""
    if query not in evaluation.queries:
        return {}
    judgments, q = evaluation.judgments, evaluation.queries.index(query)
    rows = np.arange(judgments.begin[q], judgments.begin[q + 1])
    pairs = zip(judgments.documents.take(rows), judgments.grade[rows].tolist(), strict=True)
    return {document: grade for document, grade in pairs if grade >= 0}


@checked
def top_documents(evaluation: Evaluation, query: str, page: Count = 10) -> list[tuple[str, float | None]]:
    """The top documents of the first run for a query, with their grades, None if unjudged; none if it has no ranking.

    >>> import cranfield as cf
    >>> evaluation = cf.Evaluator({"q": {"c": 1}}, "AP").evaluation({"q": {"b": 3, "c": 2}}, page=10)
    >>> top_documents(evaluation, "q")
    [('b', None), ('c', 1.0)]
    """
    check_rankings(evaluation, "a list of documents")
    grades, ranking = judged_grades(evaluation, query), evaluation.first_pages(page)[0].get(query)
    shown = () if ranking is None else ranking.documents[:page]
    return [(document, grades.get(document, evaluation.unjudged_grade)) for document in shown]
