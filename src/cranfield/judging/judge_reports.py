"""Is a judge any good? Its grades, its order of systems, and its favour for a family of runs, beside humans."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cranfield.codec import Result
from cranfield.data import Floats, Judgments, Run
from cranfield.errors import InputError, UsageError
from cranfield.evaluation.collection import Collection
from cranfield.evaluation.evaluator import Evaluator, read_runs
from cranfield.evaluation.predicted import mapping_of
from cranfield.io import read_qrels
from cranfield.judging.judgment_files import places_of
from cranfield.ranking.alignment import ranked_lists
from cranfield.report.canvas import BLUE, COLUMN, GREY, ORANGE, Drawings, Panel, plain
from cranfield.report.notebook import measure_index
from cranfield.report.pages import Page, table
from cranfield.report.sheet import Cell, interval, shown, signed
from cranfield.statistics.agreement import (
    FalsePositives,
    Favour,
    LabelAgreement,
    OrderAgreement,
    false_positives,
    favour,
    kappa_interval,
    label_agreement,
    order_agreement,
)
from cranfield.statistics.correlation import pearson
from cranfield.statistics.intervals import t_quantile
from cranfield.wording import decodable, plural, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


DEFAULT_MEASURES = ("nDCG@10", "AP")
Grades = Mapping[str, Mapping[str, float]]  # by query and document
TOPS = (5, 10)  # sizes of the top of a leaderboard
PAGE = 10  # documents of a run that count for false positives
LARGEST = 60  # runs whose names are legible in a figure


@dataclass(frozen=True)
class Guardrails:
    """What a judge must meet: κ with linear weights, missed top grades, and τ among the five best runs."""

    kappa: float = 0.4
    missed: float = 0.2
    tau_top: float = 0.6


@dataclass(frozen=True, eq=False)
class MeasureAgreement:
    """One measure: the means of all runs by humans and by the judge, their order, and the judge's bias by run.

    ``low``, ``high``: the interval of each run's bias, by the paired t. ``spread``: the standard deviation of biases
    over runs; ``with_score``: their correlation with the human score. ``own``: favour for the family, if one is given.
    """

    DERIVED: ClassVar[tuple[str, ...]] = ("top_taus",)

    measure: str
    runs: tuple[str, ...]
    order: OrderAgreement
    bias: Floats
    low: Floats
    high: Floats
    spread: float
    with_score: float
    own: Favour | None

    @property
    def top_taus(self) -> dict[int, float]:
        """τ-a among the best runs, for each of `TOPS`."""
        return {n: self.order.top(n).tau_a for n in TOPS}


@dataclass(frozen=True, eq=False, repr=False)
class JudgeReport(Result):
    """One judge beside humans.

    ``both``, ``human_only``, ``judge_only``: numbers of documents. ``kappa_low``, ``kappa_high``: the interval of
    ``labels.linear``. ``kappa_of_queries``: the mean of κ over queries, and ``defined`` of how many. ``family``: the
    runs of the judge's own family. ``false_positive``: on documents of that family only. ``warnings``: what speaks
    against using the judge.

    Examples
    --------
    >>> judges({"q": {"a": 1, "b": 0}}, {"q": {"a": 1, "b": 1, "c": 0}})[0]
    JudgeReport: qrels, κ 0.00 on 2 documents of 1 query
    """

    judge: str
    labels: LabelAgreement
    kappa_low: float
    kappa_high: float
    kappa_of_queries: float
    defined: int
    queries: int
    both: int
    human_only: int
    judge_only: int
    runs: tuple[str, ...]
    family: tuple[str, ...]
    measures: tuple[MeasureAgreement, ...]
    false_positive: FalsePositives | None
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        orders = [f"{agreement.measure} τ {agreement.order.tau_a:.2f}" for agreement in self.measures]
        judged = f"κ {self.labels.linear:.2f} on {plural(self.both, 'document')} of {plural(self.queries, 'query')}"
        return decodable(f"JudgeReport: {printable(self.judge)}, {', '.join([judged, *orders])}")

    def plot(self, measure: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the order of runs by humans beside that by the judge; returns the Matplotlib axes.

        ``measure``: by default the first. ``ax``: axes to draw on instead of a new figure.
        """
        if not self.measures:
            raise UsageError("there is no order of runs to draw", hint="give runs and measures to judges")
        index = measure_index([agreement.measure for agreement in self.measures], measure)
        return self._panel(self.measures[index]).on(ax)

    def drawings(self) -> Drawings:
        """A figure for each measure, by name."""
        return {f"judges-{self.judge}-{agreement.measure}": self._panel(agreement) for agreement in self.measures}

    def _panel(self, agreement: MeasureAgreement) -> Panel:
        draw = partial(draw_places, report=self, agreement=agreement)
        return Panel(draw, COLUMN * 1.3, max(2.0, 0.14 * len(self.runs) + 0.8))

    def pages(self, digits: int = 4) -> list[Page]:
        """All tables."""
        pages = [_labels(self, digits), _confusion(self)]
        if self.measures:
            pages.append(_orders(self, digits))
            pages += [_leaderboard(self, agreement, digits) for agreement in self.measures]
        if self.family and self.measures:
            pages.append(_favour(self, digits))
        return pages

    @property
    def notes(self) -> list[str]:
        """Warnings, and the document-level comparison of errors."""
        sentences, wrong = [f"warning: {warning}" for warning in self.warnings], self.false_positive
        if wrong is not None and not math.isnan(wrong.p_value):
            sentences.append(
                f"{self.judge}: nonrelevant documents called relevant: {wrong.rate_own:.0%} of those that only the "
                f"family retrieves, {wrong.rate_other:.0%} of those of other runs only (Fisher's p {wrong.p_value:.4f})"
            )
        return sentences


def judges(
    qrels: Any,
    predicted: Any,
    run: Any = None,
    measures: Any = DEFAULT_MEASURES,
    *,
    own: str | Sequence[str] = (),
    guardrails: Guardrails | None = None,
    names: Sequence[str] | None = None,
    **policy: Any,
) -> list[JudgeReport]:
    """How far predicted judgments agree with human ones: grades, order of runs, and favour for a family of runs.

    Parameters
    ----------
    qrels
        The human judgments.
    predicted
        The predicted judgments, or a list or a mapping of several judges.
    run, measures, names
        Runs, measures and names of runs, as `evaluate` takes them; without runs, only grades are compared.
    own
        Names or patterns of the runs that were built with the judge's model or tuned on its labels.
    guardrails
        Thresholds for warnings.
    **policy
        The options of `evaluate`.

    Returns
    -------
    list of JudgeReport
        One report for each judge.

    Examples
    --------
    >>> report = judges({"q": {"a": 1, "b": 0}}, {"q": {"a": 1, "b": 1, "c": 0}})[0]
    >>> report.labels.agreement, report.judge_only
    (0.5, 1)
    """
    collection = Collection.of(qrels)
    human = collection.judgments
    given: dict[Any, Any] = dict(predicted) if _several(predicted) else {None: predicted}
    if isinstance(predicted, (list, tuple)):
        given = dict(enumerate(predicted))
    runs = [] if run is None else read_runs(run, names)
    lists = ranked_lists(runs, human, policy.get("ties"), PAGE) if runs else []
    patterns = [own] if isinstance(own, str) else list(own)
    reports = []
    for name, source in given.items():
        judgments = read_qrels(source, name=name) if isinstance(name, str) else read_qrels(source)
        limits = guardrails or Guardrails()
        reports.append(_report(human, judgments, runs, lists, measures, collection.rel, patterns, limits, policy))
    return reports


def _several(predicted: Any) -> bool:
    """Whether this is ``{name: judgments}`` and not ``{query: {document: grade}}``."""
    if not isinstance(predicted, Mapping) or not predicted:
        return False
    first = next(iter(predicted.values()))
    return not isinstance(first, Mapping) or any(isinstance(value, Mapping) for value in first.values())


def _report(
    human: Judgments,
    judge: Judgments,
    runs: Sequence[Run],
    lists: Sequence[Mapping[str, Sequence[str]]],
    measures: Any,
    rel: float,
    patterns: Sequence[str],
    guardrails: Guardrails,
    policy: dict[str, Any],
) -> JudgeReport:
    x, y = mapping_of(human), mapping_of(judge)
    queries = [query for query in x if query in y]
    if not queries:
        raise InputError(
            [f"{judge.name}: predictions for other queries: none is judged by humans (first query: `{next(iter(y))}`)"],
            hint=f"the human judgments cover queries such as `{human.queries[0]}`",
        )
    pairs = [(q, d) for q in queries for d, grade in x[q].items() if grade >= 0 and y[q].get(d, -1) >= 0]
    if not pairs:
        raise InputError([f"{judge.name}: no document is judged by humans and by the judge"])
    a, b = (np.array([side[q][d] for q, d in pairs], np.float64) for side in (x, y))
    scale = np.unique(np.concatenate([human.grade[human.grade >= 0], judge.grade[judge.grade >= 0]]))
    labels = label_agreement(a, b, rel_level=rel, levels=scale)
    index = np.arange(len(labels.levels), dtype=np.float64)
    low, high = kappa_interval(labels.confusion, np.abs(index[:, None] - index))
    by_query = _kappas(pairs, a, b, rel, scale)
    family = tuple(run.name for run in runs if any(fnmatchcase(run.name, pattern) for pattern in patterns))
    if patterns and not 0 < len(family) < len(runs):
        raise UsageError(
            f"the family must be some of the runs, but not all of them: {', '.join(patterns)}",
            hint=f"the runs are {', '.join(run.name for run in runs) or 'none'}",
        )
    grades = [{query: side[query] for query in queries} for side in (x, y)]
    evaluators = [Evaluator(Collection(side, rel=rel), measures, **policy) for side in grades if len(runs) > 1]
    agreements = _measures(evaluators, runs, family) if evaluators else ()
    wrong = _false_positives(grades, lists, [run.name in family for run in runs], rel) if family else None
    defined = by_query[~np.isnan(by_query)]
    sizes = [sum(grade >= 0 for of_query in side.values() for grade in of_query.values()) for side in grades]
    report = JudgeReport(
        judge.name,
        labels,
        low,
        high,
        float(defined.mean()) if len(defined) else math.nan,
        len(defined),
        len(queries),
        len(pairs),
        sizes[0] - len(pairs),
        sizes[1] - len(pairs),
        tuple(run.name for run in runs),
        family,
        agreements,
        wrong,
        (),
    )
    return replace(report, warnings=tuple(_warnings(report, np.unique(b), guardrails)))


def _kappas(pairs: Sequence[tuple[str, str]], a: Floats, b: Floats, rel: float, scale: Floats) -> Floats:
    rows: dict[str, list[int]] = {}
    for i, (query, _) in enumerate(pairs):
        rows.setdefault(query, []).append(i)
    return np.array(
        [label_agreement(a[i], b[i], rel_level=rel, levels=scale).linear for i in rows.values()], np.float64
    )


def _measures(sides: Sequence[Evaluator], runs: Sequence[Run], family: Sequence[str]) -> tuple[MeasureAgreement, ...]:
    """The agreement of evaluations by humans and by the judge."""
    values = np.array([[evaluator.values(run) for run in runs] for evaluator in sides])  # side, run, column, query
    is_own = np.array([run.name in family for run in runs], bool)
    agreements = []
    for m, column in enumerate(sides[0].columns):
        human, judge = np.nan_to_num(values[0, :, m]), np.nan_to_num(values[1, :, m])
        defined = ~np.isnan(values[:, :, m]).any(axis=(0, 1))
        human, judge = human[:, defined], judge[:, defined]
        if human.shape[1] < 2:
            raise InputError([f"{column.label}: fewer than two queries have a value by humans and by the judge"])
        excess = judge - human
        bias, n = excess.mean(axis=1), human.shape[1]
        half = t_quantile(0.95, n - 1) * excess.std(axis=1, ddof=1) / math.sqrt(n)
        means = human.mean(axis=1)
        flat = np.ptp(bias) == 0 or np.ptp(means) == 0
        agreements.append(
            MeasureAgreement(
                column.label,
                tuple(run.name for run in runs),
                order_agreement(means, judge.mean(axis=1)),
                bias,
                bias - half,
                bias + half,
                float(bias.std(ddof=1)),
                math.nan if flat else float(pearson(bias, means)),
                favour(human, judge, is_own) if family else None,
            )
        )
    return tuple(agreements)


def _false_positives(
    grades: Sequence[Grades], lists: Sequence[Mapping[str, Sequence[str]]], is_own: Sequence[bool], rel: float
) -> FalsePositives:
    """The judge's errors on nonrelevant documents that only the family retrieves, against those of others only."""
    counts = np.zeros((2, 2), np.int64)  # own or other; false positive or right
    for query in grades[0]:
        sets: list[set[str]] = [set(), set()]
        for own, ranking in zip(is_own, lists, strict=True):
            sets[not own].update(ranking.get(query, ())[:PAGE])
        for side in (0, 1):
            for document in sets[side] - sets[1 - side]:
                grade, predicted = (of_query[query].get(document, -1) for of_query in grades)
                if 0 <= grade < rel and predicted >= 0:
                    counts[side, int(predicted < rel)] += 1
    return false_positives(*counts.ravel().tolist())


def _warnings(report: JudgeReport, used: Floats, guardrails: Guardrails) -> list[str]:
    """What speaks against using the judge, one sentence each."""
    labels, name, warnings = report.labels, report.judge, []
    if len(used) == 1:
        warnings.append(f"{name} gives one grade only, {used[0]:g}: it says nothing about any document")
    if math.isnan(labels.linear) or labels.linear < guardrails.kappa:
        warnings.append(f"{name}: linear kappa is {labels.linear:.2f}, below {guardrails.kappa:g}")
    missed = labels.top_called_nonrelevant
    if missed > guardrails.missed:
        warnings.append(f"{name} gives the lowest grade to {missed:.0%} of the documents with the highest human grade")
    for agreement in report.measures:
        top = agreement.order.top(TOPS[0]).tau_a
        if math.isnan(top) or top < guardrails.tau_top:
            value = "undefined" if math.isnan(top) else f"{top:.2f}, below {guardrails.tau_top:g}"
            warnings.append(f"{name}: tau among the {TOPS[0]} best runs is {value}, by {agreement.measure}")
        if agreement.own is None:
            continue
        if agreement.own.favours:
            warnings.append(
                f"{name} favours {', '.join(report.family)} by {agreement.own.favour:.4f} in {agreement.measure}: "
                "its judgments cannot be used to evaluate them"
            )
        elif not agreement.own.can_be_significant:
            warnings.append(
                f"{agreement.measure}: only {agreement.own.assignments} assignments of runs to a family of this size "
                "are possible, so that no test of favour can be significant"
            )
    return warnings


def _labels(report: JudgeReport, digits: int) -> Page:
    labels = report.labels
    documents = f"{plural(report.both, 'document')} of {plural(report.queries, 'query')} judged by both"
    others = f"{report.human_only:,} by humans only, {report.judge_only:,} by the judge only"
    values = [
        ("kappa, linear weights", labels.linear, interval(report.kappa_low, report.kappa_high, 2, shown)),
        ("kappa, linear, mean over queries", report.kappa_of_queries, f"{report.defined} queries"),
        ("kappa, quadratic weights", labels.quadratic, ""),
        ("kappa, unweighted", labels.kappa, ""),
        ("Krippendorff's alpha, ordinal", labels.alpha, ""),
        ("same grade", labels.agreement, ""),
        ("judge less human, mean", labels.bias, ""),
        ("absolute difference, mean", labels.mae, ""),
        ("sensitivity", labels.sensitivity, ""),
        ("specificity", labels.specificity, ""),
    ]
    rows = [(name, [shown(value, digits), aside]) for name, value, aside in values]
    return table(f"{report.judge}: grades ({documents}; {others})", ("agreement",), ("value", ""), rows)


def _confusion(report: JudgeReport) -> Page:
    labels, shares = report.labels, report.labels.shares
    names = [f"{level:g}" for level in labels.levels]
    rows = [
        (
            (names[i],),
            [Cell(f"{count:,}", aside=f"{shares[i, j]:.0%}") for j, count in enumerate(row)] + [f"{sum(row):,}"],
        )
        for i, row in enumerate(labels.confusion.tolist())
    ]
    columns = (*(f"judge {name}" for name in names), "all")
    return table(f"{report.judge}: documents by human grade (rows) and grade of the judge", ("human",), columns, rows)


def _orders(report: JudgeReport, digits: int) -> Page:
    rows = []
    for agreement in report.measures:
        order = agreement.order
        values = order.tau_a, order.tau_b, order.tau_ap, *agreement.top_taus.values()
        cells = [shown(value, digits) for value in values]
        cells += [str(order.judge_rank_of_best), shown(order.loss, digits)]
        cells += [shown(agreement.spread, digits), shown(agreement.with_score, 2)]
        rows.append((agreement.measure, cells))
    columns = (
        *("τ-a", "τ-b", "τ_AP", *(f"τ-a top {n}" for n in TOPS)),
        *("judge's rank of the best", "human loss of the choice", "spread of bias", "bias with score, r"),
    )
    return table(f"{report.judge}: order of {len(report.runs)} runs, against humans", ("measure",), columns, rows)


def _leaderboard(report: JudgeReport, agreement: MeasureAgreement, digits: int) -> Page:
    human, judge = agreement.order.human, agreement.order.judge
    places = places_of(human), places_of(judge)
    rows = []
    for r in np.argsort(-human, kind="stable").tolist():
        limits = interval(float(agreement.low[r]), float(agreement.high[r]), digits)
        own = " *" if report.runs[r] in report.family else ""
        means = [shown(float(side[r]), digits) for side in (human, judge)]
        texts = [*means, *(f"{side[r]}" for side in places), signed(float(agreement.bias[r]), digits), limits]
        rows.append(((report.runs[r] + own,), texts))
    columns = ("humans", "judge", "place by\nhumans", "place by\njudge", "bias", "95% interval")
    return table(f"{report.judge}: {agreement.measure} by humans and by the judge", ("run",), columns, rows)


def _favour(report: JudgeReport, digits: int) -> Page:
    rows = []
    for agreement in report.measures:
        own = agreement.own
        assert own is not None
        adjusted = (
            "" if math.isnan(own.adjusted) else f"{signed(own.adjusted, digits)} ± {shown(own.adjusted_error, digits)}"
        )
        verdict = "favours its own family" if own.favours else "no evidence of favour"
        limits = interval(own.low, own.high, digits)
        rows.append(
            (agreement.measure, [signed(own.favour, digits), limits, f"{own.p_greater:.4f}", adjusted, verdict])
        )
    columns = ("favour", "95% interval", "p", "given the human score", "verdict")
    return table(f"{report.judge}: favour for {', '.join(report.family)}", ("measure",), columns, rows)


def draw_places(axis: Axes, report: JudgeReport, agreement: MeasureAgreement) -> Axes:
    """A line for each run, from its place by humans to its place by the judge; those of its family in orange."""
    count = len(report.runs)
    left, right = places_of(agreement.order.human), places_of(agreement.order.judge)
    size = 7 if count <= 30 else 5
    for r, run in enumerate(report.runs):
        colour = ORANGE if run in report.family else BLUE if left[r] != right[r] else GREY
        axis.plot([0, 1], [left[r], right[r]], color=colour, marker="o", markersize=2.5)
        if count <= LARGEST:
            axis.text(-0.04, left[r], plain(run, 24), ha="right", va="center", fontsize=size)
            axis.text(1.04, right[r], plain(run, 24), ha="left", va="center", fontsize=size)
    axis.set_ylim(count + 0.7, 0.3)
    axis.set_xlim(-0.9, 1.9)
    axis.set_xticks([0, 1], ["humans", plain(report.judge, 16)])
    axis.set_yticks([])
    for side in ("left", "bottom"):
        axis.spines[side].set_visible(False)
    axis.set_title(f"{agreement.measure}, τ = {agreement.order.tau_a:.2f}")
    return axis
