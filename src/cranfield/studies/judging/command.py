"""``cranfield study judging``."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli import options, results, study_options
from cranfield.studies.judging.budgets import BUDGETS


@click.command(short_help="How few judgments decide, and which intervals hold with predicted judgments.")
@study_options.inputs
@study_options.relevant
@click.option(
    "--depth", type=click.IntRange(min=1), metavar="N", default=100, show_default=True, help="Length of lists."
)
@click.option(
    "--budgets",
    callback=study_options.integers,
    metavar="N,...",
    default=",".join(map(str, BUDGETS)),
    show_default=True,
    help="Judgments per query.",
)
@click.option("--threshold", type=options.CHANCE, default=0.9, show_default=True, help="Agreement that counts as high.")
@click.option(
    "--pairs", type=click.IntRange(min=1), metavar="N", default=150, show_default=True, help="Random pairs of runs."
)
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    metavar="N",
    default=1000,
    show_default=True,
    help="Repetitions of each coverage.",
)
@click.option(
    "--human",
    type=click.IntRange(min=3),
    metavar="N",
    help="Queries with human judgments.  [default: 40 of 100 or more queries, else 15]",
)
@options.seed
@results.writing
def command(**arguments: Any) -> None:
    """Show how far few judgments go, on a collection with all judgments and at least three RUNs.

    Judgments that each strategy needs until the order of runs agrees with that from all judgments and until the
    significant pairs are found; judgments until pairs of runs are decided; and, with simulated judges, the coverage and
    width of intervals from human and predicted judgments.

    \b
    cranfield study judging qrels.txt *.run --rel 2 --figures figures
    """
    study_options.run_study("judging", "Judging", measures=None, **arguments)
