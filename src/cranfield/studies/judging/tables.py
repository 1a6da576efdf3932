"""The tables of the study of judging."""

from __future__ import annotations

from cranfield.report.pages import Page, sheet
from cranfield.report.sheet import Cell, shown
from cranfield.studies.judging.budgets import sufficient
from cranfield.studies.judging.coverage import LIKE, THESE
from cranfield.studies.judging.experiment import DECISION_MEASURE, INTERVAL_MEASURE, Judging


def tables(result: Judging, digits: int = 4) -> list[Page]:
    """Judgments per strategy, judgments per pair, and coverage of intervals."""
    return [_strategies(result), _decisions(result), *_coverage(result, digits), _samples(result, digits)]


def _strategies(result: Judging) -> Page:
    settings = result.settings
    rows = []
    for one in result.strategies:
        enough = [sufficient(values, settings.budgets, settings.threshold) for values in (one.tau, one.found)]
        cells = [Cell("never" if budget is None else str(budget)) for budget in enough]
        cells += [Cell(shown(value, 2)) for value in one.tau]
        rows.append(((one.strategy,), cells))
    columns = (
        f"until τ ≥ {settings.threshold:g}",
        f"until {settings.threshold:.0%} of significant pairs",
        *(f"τ at {budget}" for budget in settings.budgets),
    )
    title = f"Judgments per query of each strategy (AP, grade {settings.rel:g} or higher, lists of {settings.depth})"
    return Page(title, sheet(("strategy",), columns, rows))


def _decisions(result: Judging) -> Page:
    rows = [((one.rule,), [Cell(f"{one.judgments:,.0f}"), Cell(f"{one.right:.1%}")]) for one in result.decisions]
    title = f"Judgments until a pair is settled, {DECISION_MEASURE}; {result.different:,.0f} documents differ"
    return Page(title, sheet(("rule",), ("judgments", "right sign"), rows))


def _coverage(result: Judging, digits: int) -> list[Page]:
    pages = []
    settings = result.settings
    for subject in dict.fromkeys(one.subject for one in result.coverage):
        chosen = {(one.judge, one.method): one for one in result.coverage if one.subject == subject}
        judges = list(dict.fromkeys(judge for judge, _ in chosen))
        rows = []
        for method in (*LIKE, *THESE):
            cells = []
            for judge in judges:
                one = chosen[judge, method]
                cells += [Cell(shown(one.coverage, 3)), Cell(shown(one.width, digits))]
            rows.append(((method,), cells))
        columns = [text for judge in judges for text in (f"{judge}: coverage", f"{judge}: width")]
        title = f"95% intervals of {INTERVAL_MEASURE}, {subject}: {settings.human} human queries of {result.queries}"
        pages.append(Page(f"{title}, {settings.repeats:,} repetitions", sheet(("interval",), columns, rows)))
    return pages


def _samples(result: Judging, digits: int) -> Page:
    rows = [
        (
            (one.judge, one.measure, one.estimator),
            [Cell(shown(one.coverage, 3)), Cell(shown(one.width, digits)), Cell(shown(one.bias, 2))],
        )
        for one in result.samples
    ]
    title = f"Estimates within queries, {result.settings.chance:.0%} of the documents judged"
    return Page(title, sheet(("judge", "measure", "estimator"), ("coverage", "width", "bias in standard errors"), rows))
