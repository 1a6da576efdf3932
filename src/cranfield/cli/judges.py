"""``cranfield judges``: how far predicted judgments agree with human ones."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from cranfield.cli import options, results
from cranfield.cli.commands import Verb
from cranfield.errors import UsageError
from cranfield.io.ids import Duplicates

DEFAULT = ("nDCG@10", "AP")
RUN_COLUMNS = 6


@click.command(cls=Verb, short_help="Check predicted judgments, such as those of an LLM, against human ones.")
@click.argument("qrels", type=options.FILE)
@click.argument("files", metavar="PREDICTED... [RUN...]", nargs=-1, required=True, type=options.FILE)
@options.duplicates
@options.measuring(" ".join(DEFAULT))
@click.option(
    "--own",
    multiple=True,
    metavar="NAME",
    help="A run built with the judge's model or tuned on its labels, or a pattern such as `gpt*`; may be repeated.",
)
@click.option(
    "--rel", "rel_level", type=float, metavar="GRADE", default=1.0, show_default=True, help="Lowest relevant grade."
)
@options.undefined
@results.writing
def command(
    qrels: str,
    files: tuple[str, ...],
    duplicates: Duplicates,
    measures: list[str] | None,
    own: tuple[str, ...],
    rel_level: float,
    undefined: Any,
    figures: str | None,
    digits: int,
    format: str,
    output: str | None,
) -> None:
    """Compare PREDICTED judgments with the human judgments in QRELS, and the order of RUNs under both.

    Shows the confusion of grades, kappa with its interval, the correlation of both leaderboards, also among the best
    runs only, and the bias of the judge for each run. With --own it tests whether the judge favours a family of runs.
    Files of six columns are runs, all others predictions.

    \b
    cranfield judges qrels.txt llm.qrels *.run
    cranfield judges qrels.txt gpt.qrels *.run --own "gpt*" --figures figs
    """
    from cranfield.evaluation.evaluator import read_runs
    from cranfield.lab.judge_reports import judges
    from cranfield.report.figures.canvas import save_all

    results.drawable(figures)
    predicted = [file for file in files if not _is_run(file)]
    runs = [file for file in files if file not in predicted]
    if not predicted:
        raise UsageError("no predicted judgments given: all files after QRELS are runs")
    found = judges(
        qrels,
        predicted,
        read_runs(runs, duplicates=duplicates) if runs else None,
        measures or list(DEFAULT),
        own=own,
        rel_level=rel_level,
        undefined=undefined,
    )
    data = {"judges": [one.to_dict() for one in found], "notes": [note for one in found for note in one.notes]}
    pages = [page for one in found for page in one.pages(digits)]
    drawings = {name: draw for one in found for name, draw in one.drawings().items()}
    results.deliver(
        pages, data, partial(save_all, drawings) if runs else None, format=format, output=output, figures=figures
    )


def _is_run(file: str) -> bool:
    """Whether a file is a run: six columns, or a table with scores."""
    from cranfield.io.streams import open_stream

    first = open_stream(file, "run").first_line.decode("utf-8", "replace")
    names = {name.strip().lower() for name in first.replace(",", "\t").split("\t")}
    return len(first.split()) == RUN_COLUMNS or (
        "score" in names and not names & {"relevance", "grade", "rel", "label"}
    )
