"""``cranfield study power``: how well measures tell systems apart."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli import options
from cranfield.cli.studies import results
from cranfield.statistics.resampling import TESTS
from cranfield.studies.power import DEFAULT, DIFFERENCES


@click.command(short_help="How well measures tell systems apart, and with how many topics.")
@options.inputs
@options.measuring(" ".join(DEFAULT))
@click.option("--test", type=click.Choice(TESTS), default="bootstrap", show_default=True, help="How pairs are tested.")
@click.option("--b", type=click.IntRange(min=1), default=1000, show_default=True, help="Resamplings of the topics.")
@options.level(0.05, "The level of significance.")
@click.option(
    "--beta", type=options.CHANCE, default=0.2, show_default=True, help="The chance of missing a --difference."
)
@click.option(
    "--difference",
    "differences",
    type=click.FloatRange(0, min_open=True),
    multiple=True,
    default=DIFFERENCES,
    show_default=True,
    help="One to find: how many topics does it take? May be repeated.",
)
@click.option(
    "--trials", type=click.IntRange(min=1), default=100, show_default=True, help="Pairs of topic sets for swap rates."
)
@options.undefined
@options.corpus
@options.seed
@results.writing
def command(**given: Any) -> None:
    """Show how many pairs of at least two RUNs each measure tells apart, and how many topics that takes.

    Discriminative power and the difference required, as in Table 3 of Sakai, "Alternatives to Bpref" (SIGIR 2007), by a
    test of every pair; how often other topics would reverse a pair; the topics it takes to find a difference.

    \b
    cranfield study power qrels.txt *.run -m "AP nDCG@10 RR" --figures figures
    cranfield study power qrels.txt *.run --test tukey --b 10000
    """
    results.conduct("power", "reading", **given)
