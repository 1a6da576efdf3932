"""``cranfield study reuse``: judgments of one collection, systems on another."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli import options
from cranfield.cli.studies import results
from cranfield.studies.reuse import DEFAULT


@click.command(short_help="Judgments of one collection for systems on another.")
@options.inputs
@options.measuring(" ".join(DEFAULT))
@options.corpus
@click.option("--split", type=options.FILE, metavar="FILE", help="Which documents are where: lines `document part`.")
@click.option("--pattern", metavar="REGEX", help="Instead: part B has the documents whose ids match, A all others.")
@click.option(
    "--share",
    type=options.CHANCE,
    default=0.5,
    show_default=True,
    help="Without either: the share of the documents that are in A, at random.",
)
@results.relevant
@results.coefficient
@results.variants
@options.seed
@results.writing
def command(**given: Any) -> None:
    """Show how well at least two RUNs on one collection can be ordered by judgments of another.

    The experiment of Hui et al., "Dealing with Incomplete Judgments in Cascade Measures" (ICTIR 2017), Tables 1 and 2.
    A collection is split into parts. Runs are restricted to a part, and the truth is what measures say that have its
    judgments; rivals have the judgments of another part. Words are weighed by the whole --corpus.

    \b
    cranfield study reuse qrels.txt *.run --corpus corpus.parquet --seed 1
    cranfield study reuse qrels.txt *.run --corpus corpus.parquet --pattern '^clueweb09-en(00(0.|1[01])|wp0[0-3])-'
    """
    results.conduct("reuse", "reusing", **given)
