"""``cranfield study correlation``: which measures order systems alike."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from cranfield.cli import options
from cranfield.cli.progress import progress
from cranfield.cli.studies import results
from cranfield.studies.correlation import DEFAULT


@click.command(short_help="Which measures order systems alike.")
@options.inputs
@results.measures(" ".join(DEFAULT))
@results.coefficient
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.01,
    show_default=True,
    help="The chance of taking independent orders for agreeing ones.",
)
@click.option("--swaps", is_flag=True, help="Name the pairs that the first measure and others order differently.")
@options.corpus
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
    swaps: bool,
    **how: Any,
) -> None:
    """Show how far every measure agrees with every other on the order of at least two RUNs.

    As in Table 2 of Sakai, "Alternatives to Bpref" (SIGIR 2007). One figure is a heat map with like measures side by
    side, the other shows the places of runs by every measure against those by the first. Measures that read documents
    take part where there is a --corpus (Hui et al., ICTIR 2017, Tables 3 and 4 and Figure 2).

    \b
    cranfield study correlation qrels.txt *.run -m "AP nDCG@10 RR bpref" --coefficient tau_ap
    cranfield study correlation qrels.txt *.run -m "ERR_IA@20 ABSRB@20 DELTARB@20" --corpus corpus.parquet
    """
    from cranfield.report.figures.correlation import figures as draw
    from cranfield.report.studies.correlation import pages, swapped
    from cranfield.studies.correlation import correlation

    results.drawable(figures)
    with progress("reading") as step:
        found = correlation(runs, qrels, measures or DEFAULT, progress=step, **how)
    tables = [*pages(found, digits), *(swapped(found, digits) if swaps else ())]
    results.deliver(tables, found.to_dict(), partial(draw, found), format=format, output=output, figures=figures)
