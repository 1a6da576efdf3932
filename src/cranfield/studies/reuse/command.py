"""``cranfield study reuse``."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli import options, results, study_options
from cranfield.studies.reuse.experiment import DEFAULT


@click.command(short_help="Judgments of one collection for systems on another.")
@options.inputs
@options.measuring(" ".join(DEFAULT))
@options.corpus
@click.option("--split", type=options.FILE, metavar="FILE", help="Parts of the collection: lines `document part`.")
@click.option("--pattern", metavar="REGEX", help="Instead: documents whose ids match are in part B, all others in A.")
@click.option(
    "--share",
    type=options.CHANCE,
    metavar="P",
    default=0.5,
    show_default=True,
    help="Otherwise: share of documents that are assigned to part A at random.",
)
@study_options.relevant
@study_options.coefficient
@study_options.variants
@options.seed
@results.writing
def command(**arguments: Any) -> None:
    """Show how well judgments of one collection order at least two RUNs on another.

    The experiment of Hui et al., "Dealing with Incomplete Judgments in Cascade Measures" (ICTIR 2017), Tables 1 and 2.
    The collection is split into parts, and runs are restricted to one part, the target. The reference is the order by
    a measure under the target's own judgments; it is compared with orders under the judgments of another part. Word
    statistics come from the complete --corpus.

    \b
    cranfield study reuse qrels.txt *.run --corpus corpus.parquet --seed 1
    cranfield study reuse qrels.txt *.run --corpus corpus.parquet --pattern '^clueweb09-en(00(0.|1[01])|wp0[0-3])-'
    """
    study_options.run_study("reuse", "Scoring parts", **arguments)
