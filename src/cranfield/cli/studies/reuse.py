"""``cranfield study reuse``: judgments of one collection, systems on another."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from cranfield.cli import options
from cranfield.cli.progress import progress
from cranfield.cli.studies import results
from cranfield.studies.reuse import DEFAULT


@click.command(short_help="Judgments of one collection for systems on another.")
@options.inputs
@results.measures(" ".join(DEFAULT))
@options.corpus
@click.option("--split", type=options.FILE, metavar="FILE", help="Which documents are where: lines `document part`.")
@click.option("--pattern", metavar="REGEX", help="Instead: part B has the documents whose ids match, A all others.")
@click.option(
    "--share",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.5,
    show_default=True,
    help="Without either: the share of the documents that are in A, at random.",
)
@results.relevant
@results.coefficient
@results.variants
@options.seed
@results.writing
def command(
    qrels: str,
    runs: tuple[str, ...],
    measures: list[str],
    figures: str | None,
    digits: int,
    format: str,
    output: str | None,
    **how: Any,
) -> None:
    """Show how well at least two RUNs on one collection can be ordered by judgments of another.

    The experiment of Hui et al., "Dealing with Incomplete Judgments in Cascade Measures" (ICTIR 2017), Tables 1 and 2.
    A collection is split into parts. Runs are restricted to a part, and the truth is what measures say that have its
    judgments; rivals have the judgments of another part. Words are weighed by the whole --corpus.

    \b
    cranfield study reuse qrels.txt *.run --corpus corpus.parquet --seed 1
    cranfield study reuse qrels.txt *.run --corpus corpus.parquet --pattern '^clueweb09-en(00(0.|1[01])|wp0[0-3])-'
    """
    from cranfield.report.figures.reuse import figures as draw
    from cranfield.report.studies.reuse import pages
    from cranfield.studies.reuse import reuse

    results.drawable(figures)
    with progress("reusing") as step:
        found = reuse(runs, qrels, measures or DEFAULT, progress=step, **how)
    results.deliver(
        pages(found, digits), found.to_dict(), partial(draw, found), format=format, output=output, figures=figures
    )
