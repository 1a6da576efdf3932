"""A judge beside humans, as tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cranfield.analysis.judges import TOPS, JudgeReport, MeasureAgreement
from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell, shown, signed
from cranfield.wording import plural


def pages(reports: Sequence[JudgeReport], digits: int = 4) -> list[Page]:
    """All tables of all judges."""
    return [page for report in reports for page in _pages(report, digits)]


def _pages(report: JudgeReport, digits: int) -> list[Page]:
    found = [_labels(report, digits), _confusion(report)]
    if report.measures:
        found.append(_orders(report, digits))
        found += [_leaderboard(report, one, digits) for one in report.measures]
    if report.family and report.measures:
        found.append(_favour(report, digits))
    return found


def _labels(report: JudgeReport, digits: int) -> Page:
    labels = report.labels
    documents = f"{plural(report.both, 'document')} of {plural(report.queries, 'query')} judged by both"
    others = f"{report.human_only:,} by humans only, {report.judge_only:,} by the judge only"
    values = [
        ("kappa, linear weights", labels.linear, f"[{shown(report.kappa_low, 2)}, {shown(report.kappa_high, 2)}]"),
        ("kappa, linear, mean over queries", report.kappa_of_queries, f"{report.defined} queries"),
        ("kappa, quadratic weights", labels.quadratic, ""),
        ("kappa, unweighted", labels.kappa, ""),
        ("same grade", labels.agreement, ""),
        ("judge less human, mean", labels.bias, ""),
        ("absolute difference, mean", labels.mae, ""),
        ("sensitivity", labels.sensitivity, ""),
        ("specificity", labels.specificity, ""),
    ]
    rows = [((name,), [Cell(shown(value, digits)), Cell(aside)]) for name, value, aside in values]
    return Page(f"{report.judge}: grades ({documents}; {others})", sheet(("agreement",), ("value", ""), rows))


def _confusion(report: JudgeReport) -> Page:
    labels, shares = report.labels, report.labels.shares
    names = [f"{level:g}" for level in labels.levels]
    rows = [
        (
            (names[i],),
            [Cell(f"{count:,}", aside=f"{shares[i, j]:.0%}") for j, count in enumerate(row)] + [Cell(f"{sum(row):,}")],
        )
        for i, row in enumerate(labels.confusion.tolist())
    ]
    columns = (*(f"judge {name}" for name in names), "all")
    return Page(
        f"{report.judge}: documents by human grade (rows) and grade of the judge", sheet(("human",), columns, rows)
    )


def _orders(report: JudgeReport, digits: int) -> Page:
    rows = []
    for one in report.measures:
        order = one.order
        values = order.tau_a, order.tau_b, order.tau_ap, *(order.top(n).tau_a for n in TOPS)
        cells = [Cell(shown(value, digits)) for value in values]
        cells += [Cell(str(order.judge_rank_of_best)), Cell(shown(order.loss, digits))]
        cells += [Cell(shown(one.spread, digits)), Cell(shown(one.with_score, 2))]
        rows.append(((one.measure,), cells))
    columns = (
        "τ-a",
        "τ-b",
        "τ_AP",
        *(f"τ-a top {n}" for n in TOPS),
        "judge's rank of the best",
        "human loss of the choice",
        "spread of bias",
        "bias with score, r",
    )
    return Page(f"{report.judge}: order of {len(report.runs)} runs, against humans", sheet(("measure",), columns, rows))


def _leaderboard(report: JudgeReport, one: MeasureAgreement, digits: int) -> Page:
    human, judge = one.order.human, one.order.judge
    places = [np.argsort(np.argsort(-x, kind="stable"), kind="stable") + 1 for x in (human, judge)]
    rows = []
    for r in np.argsort(-human, kind="stable").tolist():
        limits = f"[{signed(float(one.low[r]), digits)}, {signed(float(one.high[r]), digits)}]"
        own = " *" if report.runs[r] in report.family else ""
        cells = [
            Cell(shown(float(human[r]), digits)),
            Cell(shown(float(judge[r]), digits)),
            Cell(str(int(places[0][r]))),
            Cell(str(int(places[1][r]))),
            Cell(signed(float(one.bias[r]), digits)),
            Cell(limits),
        ]
        rows.append(((report.runs[r] + own,), cells))
    columns = ("humans", "judge", "place by\nhumans", "place by\njudge", "bias", "95% interval")
    return Page(f"{report.judge}: {one.measure} by humans and by the judge", sheet(("run",), columns, rows))


def _favour(report: JudgeReport, digits: int) -> Page:
    rows = []
    for one in report.measures:
        own = one.own
        assert own is not None
        adjusted = (
            "" if math.isnan(own.adjusted) else f"{signed(own.adjusted, digits)} ± {shown(own.adjusted_error, digits)}"
        )
        cells = [
            Cell(signed(own.favour, digits)),
            Cell(f"[{signed(own.low, digits)}, {signed(own.high, digits)}]"),
            Cell(f"{own.p_greater:.4f}"),
            Cell(adjusted),
            Cell("favours its own family" if own.favours else "no evidence of favour"),
        ]
        rows.append(((one.measure,), cells))
    columns = ("favour", "95% interval", "p", "given the human score", "verdict")
    return Page(f"{report.judge}: favour for {', '.join(report.family)}", sheet(("measure",), columns, rows))


def notes(reports: Sequence[JudgeReport]) -> list[str]:
    """Warnings, and the document-level comparison of errors."""
    found = [f"warning: {warning}" for report in reports for warning in report.warnings]
    for report in reports:
        wrong = report.false_positive
        if wrong is not None and not math.isnan(wrong.p_value):
            found.append(
                f"{report.judge}: nonrelevant documents called relevant: {wrong.rate_own:.0%} of those that only the "
                f"family retrieves, {wrong.rate_other:.0%} of those of other runs only (Fisher's p {wrong.p_value:.4f})"
            )
    return found
