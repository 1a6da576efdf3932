"""What a job summary or a comment on a change says of an experiment: gates, leaderboard, what lost most, the report."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

import numpy as np

from cranfield.experiment.experiment import Experiment
from cranfield.experiment.running import Outcome
from cranfield.report import answer, guard
from cranfield.report import write as write_scores
from cranfield.report.pages import Page, sheet, write
from cranfield.report.sheet import Cell, shown, signed
from cranfield.wording import shortened

LOST = 5  # queries that are named


def summary(experiment: Experiment, outcome: Outcome, folder: Path, link: str | None = None) -> str:
    """The summary as Markdown. ``folder``: where it is written to; ``link``: where the report is, if not in a file."""
    comparison = outcome.comparison
    parts = ["## Search quality\n\n", guard.markdown(outcome.checks) if outcome.checks else ""]
    if comparison is None:
        parts.append(write_scores(outcome.scores, "markdown"))
    else:
        pages = [answer.answer(comparison), *losses(outcome)]
        parts.append(write(pages, {}, "markdown"))
    if report := experiment.output("report", "file"):
        path = Path(os.path.relpath(Path(report).resolve(), folder.resolve())).as_posix()
        parts.append(f"\n[The report]({link or quote(path)}) has every query and ranking.\n")
    return "".join(parts)


def losses(outcome: Outcome) -> list[Page]:
    """The queries on which runs lost most against the baseline, by the first measure; none without a loss."""
    comparison, scores = outcome.comparison, outcome.compared
    if comparison is None or comparison.references is None:
        return []
    name, column = comparison.runs[comparison.references[0]], scores.columns[0]
    base = scores.runs.index(name)
    values, at = scores.matched(0)
    lost = (values - values[base]) * (-1 if column.lower_is_better else 1)
    order = np.argsort(lost, axis=None, kind="stable")[:LOST].tolist()
    rows = []
    for r, q in (divmod(place, lost.shape[1]) for place in order):
        if lost[r, q] < 0:
            query = scores.queries[at[q]]
            numbers = [shown(float(values[row, q]), 4) for row in (base, r)]
            difference = signed(float(values[r, q] - values[base, q]), 4)
            names = query, shortened(scores.texts.get(query, "")), scores.runs[r]
            rows.append((names, [Cell(text) for text in (*numbers, difference)]))
    if not rows:
        return []
    heads = [name, "run", "difference"]
    return [Page(f"{column.label}: the queries that lost most", sheet(("query", "text", "run"), heads, rows))]
