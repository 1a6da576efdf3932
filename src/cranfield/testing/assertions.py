"""Assertions on the quality of rankings, for test suites; a failure shows the queries and documents behind it.

    def test_search_is_not_worse():
        assert_not_worse("qrels.txt", search(queries), "scores.json", "nDCG@10", by=0.01)

Nothing here needs pytest.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from cranfield.analysis.compare import Comparison, compare_scores
from cranfield.analysis.gates import Check, Gate, Verdict, query_names, verdict
from cranfield.analysis.per_query import documents, judged_grades, queries, top_documents
from cranfield.analysis.significance import ComparisonSettings
from cranfield.codec import PathLike
from cranfield.errors import CranfieldError, UsageError
from cranfield.evaluation.collection import check_options
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.evaluator import Evaluator, Measures
from cranfield.evaluation.notes import policy_line, sentences
from cranfield.evaluation.plan import make_columns
from cranfield.evaluation.scores import Scores
from cranfield.report import per_query
from cranfield.report.gates import sentence
from cranfield.report.gates import sentences as sentences_of
from cranfield.report.pages import Page, table, write
from cranfield.settings import check_all, declared
from cranfield.wording import few

P = ParamSpec("P")
T = TypeVar("T")
WIDTH = 100  # characters of a line in a message
TESTING = ("test", "correction", "family", "alpha", "samples", "cluster", "collection")


class QualityError(AssertionError):
    """Rankings are worse than allowed; the message has tables of queries and documents, ``checks`` the outcomes."""

    def __init__(self, message: str, checks: Sequence[Check]) -> None:
        super().__init__(message)
        self.checks = tuple(checks)


class UndecidedError(QualityError):
    """A check could not be decided: no difference could be significant with so few queries or resamples."""


class QualityWarning(UserWarning):
    """A check passed although queries lost more than is allowed: the loss is not significant."""


def without_source(function: Callable[P, T]) -> Callable[P, T]:
    """A function whose errors are shown by pytest as a message, without the source of this package."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = True
        try:
            return function(*args, **kwargs)
        except CranfieldError as error:
            raise error.with_traceback(None) from None

    return call


@without_source
def assert_not_worse(
    qrels: Any,
    run: Any,
    baseline: Any,
    measures: Measures,
    *,
    by: float = 0.0,
    significance: bool = True,
    margin: float | None = None,
    worst: int = 5,
    page: int = 10,
    **options: Any,
) -> Comparison:
    """Raise if a run is worse than the baseline in a measure: significantly lower, by more than ``by``.

    ``baseline``: a run, `Scores` of one run, or the path of saved scores (``.json``). ``significance=False``: ``by``
    alone decides. With significance, too few queries to decide are an error too, never a silent pass. A pass does not
    show that nothing was lost: queries that lost are named in a `QualityWarning`, and ``margin`` asks for evidence
    that the run is not worse by so much, as ``not_worse_by`` of an experiment. ``worst``: how many queries a
    failure shows; ``page``: how many documents of the worst query. ``options``: those of `evaluate`, and ``test``,
    ``correction``, ``family``, ``alpha``, ``samples``, ``cluster`` and ``collection`` of `compare`.

    >>> qrels = {f"q{i}": {"a": 1} for i in range(8)}
    >>> good, bad = ({q: {"a": 2.0, "b": b} for q in qrels} for b in (1.0, 3.0))
    >>> assert_not_worse(qrels, good, bad, "RR")["RR"].pairs[0].difference
    0.5
    >>> assert_not_worse(qrels, bad, good, "RR", worst=1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    cranfield.testing.assertions.QualityError: new is worse than baseline: RR 0.5000 vs 1.0000 (...)
    <BLANKLINE>
    RR by query, 1 of 8 queries; difference: new minus baseline
    query  baseline     new  difference
    ───────────────────────────────────
    q0       1.0000  0.5000     -0.5000
    ...
    """
    __tracebackhide__ = True
    if margin is not None:
        if not margin > 0 or by or not significance:
            raise UsageError("margin must be positive, and by and significance do not go with it")
        gate = Gate(not_worse_by=margin)
    else:
        gate = Gate(no_significant_loss=True, margin=by) if significance else Gate(may_drop=by)
    checked, _ = _assert(qrels, run, measures, gate, baseline, worst, page, options)
    assert checked.comparison is not None
    return checked.comparison


@without_source
def assert_gates(
    qrels: Any,
    run: Any,
    gates: Mapping[str, Gate | Mapping[str, Any]],
    baseline: Any = None,
    *,
    worst: int = 5,
    page: int = 10,
    **options: Any,
) -> Verdict:
    """Raise unless a run passes the gates of measures, as ``[gates]`` of an experiment has them.

    ``gates``: a gate for each measure, with the same keys: ``at_least``, ``at_most``, ``may_drop``, ``not_worse_by``,
    ``no_significant_loss``, ``margin``, ``where`` and ``queries``. All but the limits of means need a ``baseline``, and
    that and the other arguments are those of `assert_not_worse`.

    >>> import cranfield as cf
    >>> qrels = cf.Collection({"1": {"a": 1}, "2": {"a": 1}}, queries={"1": {"type": "how"}, "2": {"type": "who"}})
    >>> run = {"1": ["a"], "2": ["b", "a"]}
    >>> assert_gates(qrels, run, {"RR": {"at_least": 0.9, "where": {"type": "how"}}}).outcome
    'passed'
    """
    __tracebackhide__ = True
    return _assert(qrels, run, list(gates), gates_of(gates), baseline, worst, page, options)[0]


@without_source
def assert_at_least(
    qrels: Any, run: Any, limits: Mapping[str, float], *, worst: int = 5, page: int = 10, **options: Any
) -> Scores:
    """Raise if the mean of a measure is below its limit, as in ``{"nDCG@10": 0.7}``; see `assert_at_most`.

    ``worst``: how many of the queries with the lowest scores a failure shows; ``page``: how many documents of the worst
    query. ``options``: those of `evaluate`.

    >>> qrels, run = {"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}
    >>> assert_at_least(qrels, run, {"RR": 0.5}).means
    {'new': {'RR': 0.5}}
    >>> assert_at_least(qrels, run, {"RR": 0.7})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    cranfield.testing.assertions.QualityError: new: RR 0.5000 is below 0.7
    ...
    """
    __tracebackhide__ = True
    gates = {name: Gate(limit) for name, limit in limits.items()}
    return _assert(qrels, run, list(gates), gates, None, worst, page, options)[1]


@without_source
def assert_at_most(
    qrels: Any, run: Any, limits: Mapping[str, float], *, worst: int = 5, page: int = 10, **options: Any
) -> Scores:
    """Raise if the mean of a measure is above its limit, as in ``{"FalseAnswer": 0.05}``.

    >>> assert_at_most({"q": {"a": 0}}, {"q": {}}, {"FalseAnswer": 0.05}).means
    {'new': {'FalseAnswer': 0.0}}
    """
    __tracebackhide__ = True
    gates = {name: Gate(at_most=limit) for name, limit in limits.items()}
    return _assert(qrels, run, list(gates), gates, None, worst, page, options)[1]


def gates_of(gates: Mapping[str, Gate | Mapping[str, Any]]) -> dict[str, Gate]:
    """The gates of measures, some of them given by their keys."""
    for given in gates.values():
        if not isinstance(given, Gate):
            check_options(given, list(declared(Gate)))
    return {name: gate if isinstance(gate, Gate) else Gate(**check_all(Gate, gate)) for name, gate in gates.items()}


def _assert(
    qrels: Any,
    run: Any,
    measures: Measures,
    gates: Gate | Mapping[str, Gate],
    baseline: Any,
    worst: int,
    page: int,
    options: dict[str, Any],
) -> tuple[Verdict, Scores]:
    """Raise unless a run passes; ``gates``: one for all measures, or one for each."""
    __tracebackhide__ = True
    settings, saved, runs = None, None, {"new": run}
    if baseline is not None:
        chosen = {name: options.pop(name) for name in TESTING if name in options}
        settings, saved = ComparisonSettings(seed=options.get("seed", 0), **chosen), _saved(baseline)
        runs = runs if saved is not None else {"baseline": baseline, **runs}
    evaluation = Evaluator(qrels, measures, **options).evaluation(list(runs.values()), names=list(runs), page=page)
    scores = evaluation.scores if saved is None else evaluation.scores.with_run(saved)
    comparison = None
    if settings is not None:
        comparison = compare_scores(scores, replace(settings, baseline=scores.runs[0]), evaluation)
    if isinstance(gates, Gate):
        gates = dict.fromkeys(scores.measures, gates)
    else:
        label_of = {column.measure: column.label for column in scores.columns}
        labels = [label_of[column.measure] for column in make_columns(list(gates), evaluation.policy)]
        gates = dict(zip(labels, gates.values(), strict=True))
    checked = verdict(gates, scores.only(runs="new"), comparison, scores)
    _raise_unless_passed(checked, gates, scores, evaluation, worst, page)
    for check in checked.let_through:
        warnings.warn(sentence(check), QualityWarning, stacklevel=4)
    return checked, scores


def _saved(baseline: Any) -> Scores | None:
    """The scores of a baseline that is not a run."""
    if isinstance(baseline, (str, os.PathLike)) and os.fspath(baseline).endswith(".json"):
        baseline = Scores.load(baseline)
    if not isinstance(baseline, Scores):
        return None
    if len(baseline.runs) != 1:
        raise UsageError(
            f"the baseline has {len(baseline.runs)} runs",
            hint=f"choose one with scores.only(runs=name): {few(baseline.runs, 10)}",
        )
    return baseline


def _raise_unless_passed(
    checked: Verdict, gates: Mapping[str, Gate], scores: Scores, evaluation: Evaluation, worst: int, page: int
) -> None:
    __tracebackhide__ = True
    if checked.outcome == "passed":
        return
    lines = sentences_of(checked, checked.outcome)
    if checked.outcome == "undecided":
        rules = {check.rule for check in checked.checks}
        if checked.comparison is not None and "no_significant_loss" in rules:
            lines += sentences(checked.comparison.resolution_notes)
        lines.append("hint: significance=False lets `by` alone decide")
        raise UndecidedError("\n".join(lines), checked.checks)
    label = checked.of("failed")[0].measure
    scores = scores.only(queries=query_names(gates[label], scores))
    pages = _culprits(scores, evaluation, scores.measures.index(label), worst, page)
    tables = write(pages, {}, width=WIDTH)
    raise QualityError("\n".join([*lines, "", tables, policy_line(scores)]), checked.checks)


def _culprits(scores: Scores, evaluation: Evaluation, measure: int, worst: int, page: int) -> list[Page]:
    """The queries with the largest losses, or the lowest scores, and the documents of the first of them."""
    ranked = queries(scores, measure, "loss" if len(scores.runs) == 2 else "hardest")
    pages = [per_query.queries(ranked, most=worst, bars=False, texts=scores._texts)]
    query = ranked.queries[0]
    if len(evaluation.runs) == 2:
        first, second = evaluation.runs
        text = scores._texts.get(query, "")
        pages.append(per_query.first_pages(documents(evaluation, query, page), (first, second), query, page, text))
    else:
        pages.append(_ranking(evaluation, query, page))
    return pages


def _ranking(evaluation: Evaluation, query: str, page: int) -> Page:
    """The top documents of the run, and the relevant documents that are not among them."""
    top = top_documents(evaluation, query, page)
    rows = [(document, ["?" if grade is None else f"{grade:g}", str(i)]) for i, (document, grade) in enumerate(top, 1)]
    present = {document for document, _ in top}
    missed = [(d, g) for d, g in judged_grades(evaluation, query).items() if g > 0 and d not in present]
    missed.sort(key=lambda pair: -pair[1])
    rows += [(document, [f"{grade:g}", "–"]) for document, grade in missed[:page]]
    title = f"Query {query}: the top {page}, then relevant documents that are not there (? = unjudged)"
    return table(title, ("document",), ("grade", "rank"), rows)


@without_source
def save_baseline(path: PathLike, qrels: Any, run: Any, measures: Measures, **options: Any) -> Scores:
    """Write the scores of a run as the baseline of later checks; ``options`` are those of `evaluate`."""
    scores = Evaluator(qrels, measures, **options)([run], names=["baseline"])
    scores.save(path)
    return scores
