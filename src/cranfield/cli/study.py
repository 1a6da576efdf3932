"""``cranfield study``: experiments about evaluation itself; finds the study and loads nothing else."""

from __future__ import annotations

import click

from cranfield.cli.commands import LazyGroup


class Studies(LazyGroup):
    """Studies, and what goes with them."""

    NAMES = (
        "truncation",
        "stopping",
        "correlation",
        "reduction",
        "newcomers",
        "power",
        "sampling",
        "reuse",
        "table1",
        "show",
    )
    PACKAGE = "cranfield.cli.studies"
    KIND = "study"


@click.group(cls=Studies, short_help="Experiments of papers, on your own runs.", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Study what a change of method does to scores and to the order of systems.

    The result of every study can be kept with --format json -o FILE, and be shown and drawn again from there.

    \b
    cranfield study truncation qrels.txt *.run --nil NIL --full-length 5 --figures figures
    cranfield study stopping qrels.txt bm25.run -m "nDCG(ideal='bounded')[terminal]"
    cranfield study reduction qrels.txt *.run -m "AP AP[condensed] bpref" --figures figures
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
