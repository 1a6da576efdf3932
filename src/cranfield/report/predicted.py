"""Means and differences from human and predicted judgments, as tables with three lines each."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from cranfield.evaluation.predicted import PredictedMean
from cranfield.report.pages import Page, sheet, write
from cranfield.report.sheet import Cell, interval, shown, signed
from cranfield.wording import plural

FEW_HUMAN = {"fixed": 20, "loo": 15}  # queries below which intervals cover too little, by inference
LINES = {"human": "humans only", "predicted": "predictions only", "both": "both together"}


def pages(means: Sequence[PredictedMean], digits: int = 4) -> list[Page]:
    """A table for each measure: humans only, predictions only, and both together, with 95% intervals."""
    # Of some measures, not even the human line says anything.
    names = dict.fromkeys(mean.measure for mean in means if not (mean.reason and math.isnan(mean.human.estimate)))
    return [_page(name, [mean for mean in means if mean.measure == name], digits) for name in names]


def text(means: Sequence[PredictedMean], format: str, digits: int, *, width: int, colour: bool) -> str:
    """The tables as text after a table of scores; nothing for formats that hold one table only, or everything."""
    if format in ("json", "csv", "trec"):
        return ""
    return "\n" + write(pages(means, digits), {}, format, width=width, colour=colour)


def _page(measure: str, means: Sequence[PredictedMean], digits: int) -> Page:
    differences = bool(means[0].other)
    rows = []
    for mean in means:
        for kind, line in LINES.items():
            predicted = getattr(mean, kind)
            limits = interval(predicted.low, predicted.high, digits, shown)
            p = "" if math.isnan(predicted.p_value) or not limits else f"{predicted.p_value:.4f}"
            equivalent = (mean.worth_queries, mean.worth_judgments) if kind == "both" else (math.nan, math.nan)
            texts = [
                (signed if differences else shown)(predicted.estimate, digits),
                *(limits, str(predicted.queries), *([p] if differences else [])),
                *("" if math.isnan(x) else f"{x:+,.0f}" for x in equivalent),
            ]
            who = (mean.run, mean.other) if differences else (mean.run,)
            rows.append(((*(name if kind == "human" else "" for name in who), line), [*map(Cell, texts)]))
    names = ("run", "versus", "judgments") if differences else ("run", "judgments")
    columns = ("95% interval", "queries", *(("p",) if differences else ()), "worth\nqueries", "\njudgments")
    heads = ("difference" if differences else "mean", *columns)
    return Page(f"{measure}: human and predicted judgments", sheet(names, heads, rows))


def notes(means: Sequence[PredictedMean]) -> Iterator[str]:
    """Why some measures or pairs have no estimate, and what the intervals are."""
    texts = (f"{mean.measure}: {mean.reason}" if mean.other else mean.reason for mean in means if mean.reason)
    reasons = Counter(texts)
    for reason, count in reasons.items():
        yield reason if count == 1 else f"{reason} ({plural(count, 'time')})"
    if any(not mean.reason for mean in means):
        method = "fixed" if any(mean.both.method == "fixed" for mean in means) else "loo"
        yield (
            "predictions: intervals are for this query set only, of which the human queries are a random sample"
            if method == "fixed"
            else "predictions: intervals are for new queries of this kind; the human queries must be chosen at random"
        )
        if min(mean.both.human for mean in means if not mean.reason) < FEW_HUMAN[method]:
            yield (
                f"predictions: with fewer than {FEW_HUMAN[method]} human queries, intervals of measures with few "
                "values, such as P@1 and RR, may be too short"
                + ("; those of inference=loo are longer" if method == "fixed" else "")
            )
