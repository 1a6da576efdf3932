"""``cranfield study sampling``: how few judgments will do."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli import options
from cranfield.cli.studies import results
from cranfield.studies.rivals import DEFAULT
from cranfield.studies.sampling import RATES


@click.command(short_help="How few judgments will do, with and without reading.")
@options.inputs
@options.measuring(" ".join(DEFAULT))
@options.corpus
@click.option(
    "--rates",
    callback=results.numbers,
    metavar="N,...",
    default=",".join(map(str, RATES)),
    show_default=True,
    help="Percent of the judgments of each query to know.",
)
@results.repeats
@results.relevant
@results.coefficient
@results.variants
@options.seed
@results.writing
def command(**given: Any) -> None:
    """Show how well at least two RUNs can be ordered from a sample of the judgments.

    The experiment of Hui et al., "Dealing with Incomplete Judgments in Cascade Measures" (ICTIR 2017), Figure 1. The
    measures that judgments alone decide are the truth under all judgments. Under samples of these they are scored on
    lists as they are and on condensed lists, beside the measures that read documents.

    \b
    cranfield study sampling qrels.txt *.run --corpus corpus.parquet --figures figures
    cranfield study sampling qrels.txt *.run --corpus docs.jsonl -m "ERR_IA@20 DELTARB@20" --rates 1,5,15,50
    """
    results.conduct("sampling", "sampling", **given)
