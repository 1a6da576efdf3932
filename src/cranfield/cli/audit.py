"""``cranfield audit``: how ties, unjudged documents and short lists affect scores."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from cranfield.analysis.audit import DEFAULT_MEASURES
from cranfield.cli import options, results
from cranfield.cli.commands import Verb
from cranfield.cli.evaluating import read_evaluation
from cranfield.cli.output import colour, emit, note, run_notes, say_written, width
from cranfield.cli.progress import progress
from cranfield.report.audit import FORMATS

if TYPE_CHECKING:
    from cranfield.evaluation.scores import Interval


@click.command(cls=Verb, short_help="Show how ties, unjudged documents and short lists affect scores.")
@options.inputs
@options.measuring(" ".join(DEFAULT_MEASURES))
@options.views
@options.corpus
@options.policies
@options.intents
@options.costs
@click.option(
    "--interval",
    type=click.Choice(("t", "bca")),
    default="t",
    show_default=True,
    help="95% confidence intervals of the means: Student's t or bootstrap (bca).",
)
@click.option("--all-pairs", is_flag=True, help="Name every pair of runs that could swap, not only a few.")
@options.figures("Folder for a figure of the audit, as PDF, SVG and PNG.")
@options.renamed("--figure", "--figures DIR")
@options.digits
@options.formats(FORMATS, "json has full precision and all pairs.")
@options.output
@options.verbose
@options.seed
def command(
    qrels: str,
    runs: tuple[str, ...],
    measures: list[str] | None,
    interval: Interval,
    all_pairs: bool,
    figures: str | None,
    digits: int,
    format: str,
    output: str | None,
    verbose: bool,
    **settings: Any,
) -> None:
    """Show how ties, unjudged documents, short lists and the choice of queries affect scores.

    Prints the pairs of runs that could swap, and why; then a table for each RUN. Of more than five runs, it shows those
    that matter; -v shows all.

    \b
    cranfield audit qrels.txt bm25.run dense.run -m "AP nDCG@10"
    cranfield audit qrels.txt *.run --figures figures
    """
    from cranfield.analysis.audit import audit_evaluation
    from cranfield.report import audit as report

    results.drawable(figures)
    evaluation, notes = read_evaluation(qrels, runs, measures, default=DEFAULT_MEASURES, **settings)
    with progress("Auditing runs") as step:
        audit = audit_evaluation(evaluation, interval=interval, progress=step)
    text = report.write(
        audit,
        format,
        all_pairs=all_pairs,
        all_runs=verbose,
        digits=digits,
        width=width(),
        colour=colour(output),
    )
    emit(text, output)
    if figures is not None:
        from cranfield.report.figures import audit as drawing
        from cranfield.report.figures import canvas

        files = canvas.save(partial(drawing.draw, audit), figures, "audit")
        say_written(f"{len(files)} files written to {figures}")
    if format != "json":
        note([*notes, *run_notes(audit.notes, verbose=verbose)])
