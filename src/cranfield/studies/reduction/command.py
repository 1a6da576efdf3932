"""``cranfield study reduction``."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli import options, results, study_options
from cranfield.studies.presets import SAKAI_BY, SAKAI_REDUCED, SAKAI_TOP
from cranfield.studies.reduction.experiment import DEFAULT, RATES


@click.command(short_help="Scores and orders of systems with fewer judgments or queries.")
@study_options.inputs
@options.measuring(" ".join(DEFAULT))
@study_options.paper(SAKAI_REDUCED, SAKAI_TOP, SAKAI_BY)
@click.option(
    "--rates",
    callback=study_options.integers,
    metavar="N,...",
    help=f"Percentages of the judgments to keep at random.  [default: {','.join(map(str, RATES))}]",
)
@click.option(
    "--pool-depth",
    "pool_depths",
    callback=study_options.integers,
    metavar="N,...",
    help="Instead: keep the judgments of documents that some run ranks in its first N.",
)
@click.option(
    "--queries", callback=study_options.integers, metavar="N,...", help="Instead: keep N queries, chosen at random."
)
@study_options.repeats
@study_options.relevant
@click.option(
    "--least",
    type=(click.IntRange(0), click.IntRange(0)),
    default=(1, 10),
    show_default=True,
    metavar="R N",
    help="Keep at least R relevant and N non-relevant judgments of each query, at every rate.",
)
@study_options.coefficient
@study_options.samples
@options.level(0.05, "Significance level of discriminative power.")
@options.corpus
@options.seed
@results.writing
def command(**arguments: Any) -> None:
    """Show how scores and the order of at least two RUNs change as judgments are removed.

    The experiment of Sakai, "Alternatives to Bpref" (SIGIR 2007), Figures 1 to 3: judgments are removed at random,
    separately for relevant and non-relevant documents, and the documents become unjudged. Reports for each measure
    the mean score, the agreement with the order of systems under all judgments, and discriminative power.
    --pool-depth makes pools shallower instead; --queries removes queries instead.

    \b
    cranfield study reduction qrels.txt *.run --figures figures
    cranfield study reduction qrels.txt *.run --pool-depth 100,50,20,10 -m "AP AP[condensed] bpref"
    cranfield study reduction qrels.txt *.run --queries 40,30,20,10
    """
    study_options.run_study("reduction", "Reducing judgments", **arguments)
