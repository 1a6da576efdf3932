"""``cranfield study correlation``: which measures order systems alike."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli import options
from cranfield.cli.studies import results
from cranfield.studies.correlation import DEFAULT


@click.command(short_help="Which measures order systems alike.")
@options.inputs
@options.measuring(" ".join(DEFAULT))
@results.coefficient
@options.level(0.01, "The chance of taking independent orders for agreeing ones.")
@click.option("--swaps", is_flag=True, help="Name the pairs that the first measure and others order differently.")
@options.corpus
@options.seed
@results.writing
def command(swaps: bool, **given: Any) -> None:
    """Show how far every measure agrees with every other on the order of at least two RUNs.

    As in Table 2 of Sakai, "Alternatives to Bpref" (SIGIR 2007). One figure is a heat map with like measures side by
    side, the other shows the places of runs by every measure against those by the first. Measures that read documents
    take part where there is a --corpus (Hui et al., ICTIR 2017, Tables 3 and 4 and Figure 2).

    \b
    cranfield study correlation qrels.txt *.run -m "AP nDCG@10 RR bpref" --coefficient tau_ap
    cranfield study correlation qrels.txt *.run -m "ERR_IA@20 ABSRB@20 DELTARB@20" --corpus corpus.parquet
    """
    from cranfield.report.studies.correlation import swapped

    results.conduct("correlation", "reading", more=swapped if swaps else None, **given)
