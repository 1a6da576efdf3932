"""``cranfield study sampling``: how few judgments will do."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from cranfield.cli import options
from cranfield.cli.progress import progress
from cranfield.cli.studies import results
from cranfield.studies.rivals import DEFAULT
from cranfield.studies.sampling import RATES


@click.command(short_help="How few judgments will do, with and without reading.")
@options.inputs
@results.measures(" ".join(DEFAULT))
@options.corpus
@click.option(
    "--rates",
    callback=results.numbers,
    metavar="N,...",
    help=f"Percent of the judgments of each query to know.  [default: {','.join(map(str, RATES))}]",
)
@click.option("--repeats", type=click.IntRange(1), default=30, show_default=True, help="Random samples of each size.")
@results.relevant
@results.coefficient
@results.variants
@options.seed
@results.writing
def command(
    qrels: str,
    runs: tuple[str, ...],
    measures: list[str],
    rates: list[int] | None,
    figures: str | None,
    digits: int,
    format: str,
    output: str | None,
    **how: Any,
) -> None:
    """Show how well at least two RUNs can be ordered from a sample of the judgments.

    The experiment of Hui et al., "Dealing with Incomplete Judgments in Cascade Measures" (ICTIR 2017), Figure 1. The
    measures that judgments alone decide are the truth under all judgments. Under samples of these they are scored on
    lists as they are and on condensed lists, beside the measures that read documents.

    \b
    cranfield study sampling qrels.txt *.run --corpus corpus.parquet --figures figures
    cranfield study sampling qrels.txt *.run --corpus docs.jsonl -m "ERR_IA@20 DELTARB@20" --rates 1,5,15,50
    """
    from cranfield.report.figures.sampling import figures as draw
    from cranfield.report.studies.sampling import pages
    from cranfield.studies.sampling import sampling

    results.drawable(figures)
    with progress("sampling") as step:
        found = sampling(
            runs, qrels, measures or DEFAULT, rates=RATES if rates is None else rates, progress=step, **how
        )
    results.deliver(
        pages(found, digits), found.to_dict(), partial(draw, found), format=format, output=output, figures=figures
    )
