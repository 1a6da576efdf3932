"""``cranfield audit``: what the imperfections of rankings do to their scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cranfield.analysis.audit import DEFAULT_MEASURES
from cranfield.cli import options
from cranfield.cli.evaluating import read_evaluation
from cranfield.cli.output import colour, emit, note, replace, width
from cranfield.cli.progress import progress
from cranfield.report.audit import FORMATS

if TYPE_CHECKING:
    from cranfield.evaluation.scores import Interval


@click.command(short_help="Show what could have made scores others.")
@options.inputs
@options.measuring(" ".join(DEFAULT_MEASURES))
@options.views
@options.corpus
@options.policies
@options.intents
@click.option(
    "--interval",
    type=click.Choice(("t", "bca")),
    default="t",
    show_default=True,
    help="95 % confidence intervals of means: Student's t or bootstrap (bca).",
)
@click.option("--all-pairs", is_flag=True, help="Name every pair of runs that could change places, not only a few.")
@click.option("--figure", type=click.Path(), metavar="FILE", help="Also draw it: a .pdf, .svg or .png file.")
@options.digits
@options.formats(FORMATS, "json has full precision and every pair.")
@options.output
@options.seed
def command(
    qrels: str,
    runs: tuple[str, ...],
    measures: list[str] | None,
    interval: Interval,
    all_pairs: bool,
    figure: str | None,
    digits: int,
    format: str,
    output: str | None,
    **how: Any,
) -> None:
    """Show what ties, unjudged documents, short lists and few queries could change.

    For each RUN a table with a row for each measure; then, in words, which pairs of runs could change places and why.

    \b
    cranfield audit qrels.txt bm25.run dense.run -m "AP nDCG@10"
    cranfield audit qrels.txt *.run --figure audit.pdf
    """
    from cranfield.analysis.audit import audit_evaluation
    from cranfield.evaluation.notes import sentences
    from cranfield.report import audit as report

    if figure:
        from cranfield.report.figures import audit as figures

        figures.accept(figure)
    evaluation, said = read_evaluation(qrels, runs, measures, usual=DEFAULT_MEASURES, **how)
    with progress("looking closely") as step:
        found = audit_evaluation(evaluation, interval=interval, progress=step)
    text = report.write(found, format, all_pairs=all_pairs, digits=digits, width=width(), colour=colour(output))
    emit(text, output)
    if figure:
        replace(figure, figures.render(found, figure))
    if format != "json":
        note([*said, *sentences(found.notes)])
