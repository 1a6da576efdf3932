"""``cranfield study sampling``."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli import options, results, study_options
from cranfield.studies.candidates import DEFAULT
from cranfield.studies.sampling.experiment import RATES


@click.command(short_help="How many judgments a reliable order of systems needs.")
@study_options.inputs
@options.measuring(" ".join(DEFAULT))
@options.corpus
@click.option(
    "--rates",
    callback=study_options.integers,
    metavar="N,...",
    default=",".join(map(str, RATES)),
    show_default=True,
    help="Percentages of the judgments of each query to sample.",
)
@study_options.repeats
@study_options.relevant
@study_options.coefficient
@study_options.threshold
@study_options.variants
@options.seed
@results.writing
def command(**arguments: Any) -> None:
    """Show how well a sample of the judgments orders at least two RUNs.

    The experiment of Hui et al., "Dealing with Incomplete Judgments in Cascade Measures" (ICTIR 2017), Figure 1. The
    reference is the order of systems by a measure under all judgments. It is compared with the orders under samples of
    the judgments: by the same measure on raw and on condensed lists, and by measures that read document text.

    \b
    cranfield study sampling qrels.txt *.run --corpus corpus.parquet --figures figures
    cranfield study sampling qrels.txt *.run --corpus docs.jsonl -m "ERR_IA@20 DELTARB@20" --rates 1,5,15,50
    """
    study_options.run_study("sampling", "Sampling judgments", **arguments)
