"""``cranfield explain``: why documents earned what they did from a measure that reads."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from cranfield.cli import options, results


@click.command(short_help="Show why documents earned what they did from a measure that reads.")
@click.argument("qrels", type=options.FILE)
@click.argument("run", type=options.FILE)
@click.option(
    "-m",
    "--measure",
    default="DELTARB@20",
    show_default=True,
    type=options.MeasureName(),
    help="ABSNB, ABSRB, DELTANB or DELTARB.",
)
@options.corpus
@click.option("--query", metavar="ID", help="Whose ranking; may be left out where there is only one.")
@click.option(
    "--words", type=click.IntRange(min=0), default=3, show_default=True, help="How many words of each document to show."
)
@options.ordering
@results.writing
def command(
    qrels: str,
    run: str,
    measure: str,
    words: int,
    figures: str | None,
    digits: int,
    format: str,
    output: str | None,
    **how: Any,
) -> None:
    """Show, rank by rank, what the documents of one query of RUN earned, and why, though nobody may have judged them.

    For each document: what it earned, the subtopic that it brought nearest, and the words that did it.

    \b
    cranfield explain qrels.txt bm25.run --corpus corpus.parquet --query q1
    cranfield explain qrels.txt bm25.run -m ABSRB@10 --corpus corpus.parquet --query q1 --figures figures
    """
    from cranfield import explain
    from cranfield.report.explanation import pages
    from cranfield.report.figures.explanation import figures as draw

    results.drawable(figures)
    found = explain(qrels, run, measure, **how)
    shown = pages(found, digits, words)
    results.deliver(shown, found.to_dict(), partial(draw, found), format=format, output=output, figures=figures)
