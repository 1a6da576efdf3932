"""``cranfield check``: everything that is wrong with the input, at once."""

from __future__ import annotations

import click

from cranfield.cli import options
from cranfield.cli.output import emit


@click.command(short_help="Report every fault of the input at once.")
@options.inputs
@click.pass_context
def command(ctx: click.Context, qrels: str, runs: tuple[str, ...]) -> None:
    """Report every fault of QRELS and RUNs, with file and line, and what to be warned of.

    Warnings: queries that only one side has, scores that tie, documents that nobody judged, queries without relevant
    documents. Exit 1 if there is any fault; warnings are no faults.
    """
    from cranfield.cli.inspection import inspect
    from cranfield.wording import plural

    findings = inspect(qrels, runs)
    emit("".join(f"{line}\n" for found in findings for line in found.lines()))
    faults = sum(found.faults for found in findings)
    warnings = sum(len(found.warnings) for found in findings)
    click.echo(f"{plural(len(findings), 'file')}: {plural(faults, 'fault')}, {plural(warnings, 'warning')}", err=True)
    if faults:
        ctx.exit(1)
