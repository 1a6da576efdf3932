"""``cranfield study``: experiments about evaluation itself; finds the study and loads nothing else."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module

import click

from cranfield.errors import UsageError

# Each is a module of `cranfield.cli.studies`.
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


class Studies(click.Group):
    """Studies that are imported only when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(NAMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in NAMES:
            return None
        found: click.Command = import_module(f"cranfield.cli.studies.{cmd_name}").command
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in NAMES and not args[0].startswith("-"):
            near = get_close_matches(args[0], NAMES, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"one of {', '.join(NAMES)}"
            raise UsageError(f"no such study `{args[0]}`", hint=hint)
        return super().resolve_command(ctx, args)


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
