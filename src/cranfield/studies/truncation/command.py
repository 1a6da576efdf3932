"""``cranfield study truncation``."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli import options, results, study_options
from cranfield.studies.truncation.experiment import DEFINITE


@click.command(short_help="Scores that count the end of a ranking as an answer.")
@study_options.inputs
@options.measuring("RR nDCG@N RBP(p=0.5) AP, N the full length")
@options.nil
@options.full_length
@click.option(
    "--ties",
    type=click.Choice(DEFINITE),
    default="trec",
    show_default=True,
    help="How to order documents with equal scores.",
)
@results.writing
def command(**arguments: Any) -> None:
    """Compare plain scores of at least two RUNs with scores that count the end of a list as an answer.

    The experiment of Liu et al., "Quit While Ahead" (SIGIR 2016). Reports the means of both scores, Kendall's tau
    between the two orders of systems, swapped pairs, nil detection, and list lengths before and after lists are cut at
    NIL. Draws the figures of the paper. Without --full-length, the end of every list counts as an answer. A measure
    without a terminal form is shown in its plain form only.

    \b
    cranfield study truncation qrels.txt *.run --nil NIL --full-length 5 --figures figures
    """
    study_options.run_study("truncation", "Scoring runs", **arguments)
