"""Means and differences from human and predicted judgments, as tables with three lines each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from cranfield.evaluation.predicted import PredictedMean
from cranfield.report.pages import Page, sheet, write
from cranfield.report.sheet import Cell, shown, signed
from cranfield.wording import plural

LINES = {"human": "humans only", "predicted": "predictions only", "both": "both together"}


def pages(means: Sequence[PredictedMean], digits: int = 4) -> list[Page]:
    """A table for each measure: humans only, predictions only, and both together, with 95% intervals."""
    return [_page(name, [mean for mean in means if mean.measure == name], digits) for name in _measures(means)]


def text(means: Sequence[PredictedMean], format: str, digits: int, *, width: int, colour: bool) -> str:
    """The tables as text after a table of scores; nothing for formats that hold one table only, or everything."""
    if format in ("json", "csv", "trec"):
        return ""
    return "\n" + write(pages(means, digits), {}, format, width=width, colour=colour)


def _measures(means: Sequence[PredictedMean]) -> list[str]:
    return list(dict.fromkeys(mean.measure for mean in means if not _hopeless(mean)))


def _hopeless(mean: PredictedMean) -> bool:
    """Whether not even the human line says anything."""
    return bool(mean.reason) and math.isnan(mean.human.estimate)


def _page(measure: str, means: Sequence[PredictedMean], digits: int) -> Page:
    differences = bool(means[0].other)
    names = ("run", "versus", "judgments") if differences else ("run", "judgments")
    value = "difference" if differences else "mean"
    rows = []
    for mean in means:
        for kind, line in LINES.items():
            estimate = getattr(mean, kind)
            text = (signed if differences else shown)(estimate.estimate, digits)
            limits = (
                "" if math.isnan(estimate.low) else f"[{shown(estimate.low, digits)}, {shown(estimate.high, digits)}]"
            )
            cells = [Cell(text), Cell(limits), Cell(str(estimate.queries))]
            if differences:
                cells.append(Cell("" if math.isnan(estimate.p_value) or not limits else f"{estimate.p_value:.4f}"))
            worth = (mean.worth, mean.judgments) if kind == "both" else (math.nan, math.nan)
            cells += [Cell("" if math.isnan(x) else f"{x:+,.0f}") for x in worth]
            first = kind == "human"
            who = (mean.run if first else "", *((mean.other if first else "",) if differences else ()), line)
            rows.append((who, cells))
    columns = (value, "95% interval", "queries", *(("p",) if differences else ()), "worth\nqueries", "\njudgments")
    return Page(f"{measure}: human and predicted judgments", sheet(names, columns, rows))


def notes(means: Sequence[PredictedMean]) -> Iterator[str]:
    """Why some measures or pairs have no estimate, and what the intervals are."""
    reasons: dict[str, int] = {}
    for mean in means:
        if mean.reason:
            reason = mean.reason if mean.other == "" else f"{mean.measure}: {mean.reason}"
            reasons[reason] = reasons.get(reason, 0) + 1
    for reason, count in reasons.items():
        yield reason if count == 1 else f"{reason} ({plural(count, 'time')})"
    if any(not mean.reason for mean in means):
        fixed = any(mean.both.method == "fixed" for mean in means)
        yield (
            "predictions: intervals are for exactly these queries, of which the human ones are a random sample"
            if fixed
            else "predictions: intervals are for queries like these; the human queries must be chosen at random"
        )
