"""``cranfield study correlation``."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli import options, results, study_options
from cranfield.studies.correlation.experiment import DEFAULT
from cranfield.studies.presets import SAKAI, SAKAI_BY, SAKAI_TOP


@click.command(short_help="Agreement between measures on the order of systems.")
@study_options.inputs
@options.measuring(" ".join(DEFAULT))
@click.option(
    "--against",
    multiple=True,
    type=options.MeasureName(),
    callback=options.given_measures,
    metavar="MEASURE",
    help="Compare the measures of -m, in rows, with these only, in columns; given like -m.",
)
@study_options.paper(SAKAI, SAKAI_TOP, SAKAI_BY)
@study_options.coefficient
@study_options.threshold
@options.level(0.01, "Significance level of the coefficient.")
@click.option(
    "--swaps", is_flag=True, help="List the pairs of runs that the first measure and another order differently."
)
@options.standardise
@options.corpus
@options.seed
@results.writing
def command(swaps: bool, **arguments: Any) -> None:
    """Show how well measures agree on the order of at least two RUNs.

    As in Table 2 of Sakai, "Alternatives to Bpref" (SIGIR 2007). The first figure is a heat map with similar measures
    next to each other; the second plots the ranks of runs under each measure against their ranks under the first.
    Measures that read document text need a --corpus (Hui et al., ICTIR 2017, Tables 3 and 4 and Figure 2).

    \b
    cranfield study correlation qrels.txt *.run -m "AP nDCG@10 RR bpref" --coefficient tau_ap
    cranfield study correlation qrels.txt *.run -m "ERR_IA@20 NRBP" --against "ABSRB@20 DELTARB@20" --corpus docs.jsonl
    """
    from cranfield.studies.correlation.tables import swap_tables

    study_options.run_study("correlation", "Reading runs", extra_tables=swap_tables if swaps else None, **arguments)
