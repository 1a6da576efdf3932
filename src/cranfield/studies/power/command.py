"""``cranfield study power``."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli import options, results, study_options
from cranfield.statistics.resampling import TESTS
from cranfield.studies.power.experiment import DEFAULT, DIFFERENCES
from cranfield.studies.presets import SAKAI, SAKAI_BY, SAKAI_TOP


@click.command(short_help="Discriminative power of measures, and how many queries it takes.")
@study_options.inputs
@options.measuring(" ".join(DEFAULT))
@study_options.paper(SAKAI, SAKAI_TOP, SAKAI_BY)
@click.option(
    "--test", type=click.Choice(TESTS), default="bootstrap", show_default=True, help="Significance test for pairs."
)
@study_options.samples
@options.level(0.05, "Significance level.")
@click.option(
    "--beta",
    type=options.CHANCE,
    metavar="P",
    default=0.2,
    show_default=True,
    help="Accepted probability of missing a --difference.",
)
@click.option(
    "--difference",
    "differences",
    type=click.FloatRange(0, min_open=True),
    metavar="X",
    multiple=True,
    default=DIFFERENCES,
    show_default=True,
    help="Difference to detect; the study reports how many queries this takes. May be repeated.",
)
@click.option(
    "--trials",
    type=click.IntRange(min=1),
    metavar="N",
    default=100,
    show_default=True,
    help="Number of pairs of query sets for swap rates.",
)
@options.undefined
@options.standardise
@options.corpus
@options.seed
@results.writing
def command(**arguments: Any) -> None:
    """Show how many pairs of at least two RUNs each measure distinguishes, and how many queries that takes.

    Tests every pair, and reports discriminative power and the difference required, as in Table 3 of Sakai,
    "Alternatives to Bpref" (SIGIR 2007). Also reports how often other queries reverse the order of a pair, and how
    many queries are needed to detect a given difference.

    \b
    cranfield study power qrels.txt *.run -m "AP nDCG@10 RR" --figures figures
    cranfield study power qrels.txt *.run --test randomised-tukey --samples 10000
    """
    study_options.run_study("power", "Reading runs", **arguments)
