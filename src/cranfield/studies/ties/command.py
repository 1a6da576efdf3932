"""``cranfield study ties`` and ``cranfield study tie-cost``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from cranfield.cli import options, results, study_options
from cranfield.studies.ties.experiment import DEFAULT, ROUND_BITS, ROUND_DIGITS


@click.command(short_help="The effect of tied scores on measures and on the order of systems.")
@study_options.inputs
@options.measuring(" ".join(DEFAULT))
@click.option(
    "--samples",
    type=click.IntRange(min=2),
    metavar="N",
    default=200,
    show_default=True,
    help="Number of random orders of the tied documents of each run.",
)
@click.option(
    "--round-digits",
    callback=study_options.integers,
    metavar="N,...",
    default=",".join(map(str, ROUND_DIGITS)),
    show_default=True,
    help="Significant digits to round scores to.",
)
@click.option(
    "--round-bits",
    callback=study_options.integers,
    metavar="N,...",
    default=",".join(map(str, ROUND_BITS)),
    show_default=True,
    help="Bits of the significand to round scores to; a 32-bit float has 24.",
)
@options.corpus
@options.seed
@results.writing
def command(**arguments: Any) -> None:
    """Show how many documents of RUNs are tied, and how their order affects scores and the order of runs.

    After McSherry and Najork, "Computing Information Retrieval Performance Measures Efficiently in the Presence of Tied
    Scores" (ECIR 2008). Reports for each measure the scores by tie rule, the mean over all orders (`expected`) compared
    with random orders, the pairs of runs that random orders swap, and the effect of rounding scores.

    \b
    cranfield study ties qrels.txt *.run --figures figures
    cranfield study ties qrels.txt *.run -m "AP nDCG@10" --samples 1000 --round-digits 3,2 --round-bits 11
    """
    study_options.run_study("ties", "Ordering ties", **arguments)


@click.command(short_help="Measure the cost of the expectation over ties.")
@options.measuring(" ".join(DEFAULT))
@click.option(
    "--queries",
    type=click.IntRange(min=1),
    metavar="N",
    default=28_043,
    show_default=True,
    help="Number of queries to generate; the default is that of the paper.",
)
@click.option(
    "--documents",
    type=click.IntRange(min=1),
    metavar="N",
    default=20,
    show_default=True,
    help="Mean number of documents per query.",
)
@click.option(
    "--values",
    type=click.IntRange(min=1),
    metavar="N",
    default=10,
    show_default=True,
    help="Number of distinct scores.",
)
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    metavar="N",
    default=10,
    show_default=True,
    help="Number of repetitions; both tie rules take turns; the shortest processor time counts.",
)
@click.option(
    "--save", type=click.Path(file_okay=False), metavar="DIR", help="Write the collection as qrels.txt and feature.run."
)
@options.seed
@results.formats
@options.output
def cost_command(
    measures: list[str] | None,
    queries: int,
    documents: int,
    values: int,
    repeats: int,
    save: str | None,
    seed: int,
    format: str,
    output: str | None,
) -> None:
    """Measure how much longer the expectation over all orders of tied documents takes than ties broken by id.

    Section 3 of McSherry and Najork (ECIR 2008): queries are generated, and their documents are scored by a feature
    with few values. The judgments are prepared. Times are end to end (`evaluate` of dicts and of a run file; `means`,
    without notes), and of the kernels: the sort and the arithmetic of a measure, and the arithmetic alone. RR needs no
    sort, and is charged for none.

    \b
    cranfield study tie-cost
    cranfield study tie-cost --save feature && cranfield study ties feature/qrels.txt feature/feature.run
    """
    from cranfield.cli.progress import progress
    from cranfield.studies.ties.cost import feature_scores, tie_costs
    from cranfield.studies.ties.tables import cost_tables

    data = feature_scores(queries, documents, values, seed)
    if save is not None:
        data.save(save)
    with progress("Measuring") as step:
        costs = tie_costs(data, measures or DEFAULT, repeats=repeats, progress=step)
    results.deliver(cost_tables(costs), asdict(costs), None, format=format, output=output, figures=None)
