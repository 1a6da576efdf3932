"""``cranfield study``: a command for each study of the registry; loads only the study that is asked for."""

from __future__ import annotations

from importlib import import_module

import click

from cranfield.cli import results
from cranfield.cli.commands import LazyGroup
from cranfield.studies.registry import Study, study_names

# Commands beside those of the studies: their module, and their name there.
OTHERS = {
    "table1": ("cranfield.studies.truncation.table1", "command"),
    "tie-cost": ("cranfield.studies.ties.command", "cost_command"),
}


class Studies(LazyGroup):
    """The studies, then other commands and `show`."""

    NAMES = (*study_names(), *OTHERS, "show")
    PACKAGE = "cranfield.studies"
    KIND = "study"

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.NAMES:
            return None
        if cmd_name == "show":
            return show
        if cmd_name in OTHERS:
            module, name = OTHERS[cmd_name]
            command: click.Command = getattr(import_module(module), name)
            return command
        return Study(cmd_name).command


@click.group(cls=Studies, short_help="Run published experiments on your own runs.", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Study how a change of method affects scores and the order of systems.

    Save the result of a study with --format json -o FILE; `cranfield study show FILE` prints and draws it again.

    \b
    cranfield study truncation qrels.txt *.run --nil NIL --full-length 5 --figures figures
    cranfield study ties qrels.txt *.run -m "AP nDCG@10" --top 20
    cranfield study stopping qrels.txt bm25.run -m "nDCG(ideal='bounded')[terminal]"
    cranfield study reduction qrels.txt *.run -m "AP AP[condensed] bpref" --figures figures
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@click.command(short_help="Print and draw a saved study.")
@click.argument("file", type=click.Path())
@results.writing
def show(file: str, figures: str | None, digits: int, format: str, output: str | None) -> None:
    """Print and draw the study in FILE, which was written with --format json. Nothing is computed again.

    \b
    cranfield study stopping qrels.txt *.run --format json -o stopping.json
    cranfield study show stopping.json --format latex --figures figures
    """
    from cranfield.cli.output import colour, width
    from cranfield.cli.study_options import check_figures, deliver_result
    from cranfield.errors import InputError
    from cranfield.studies import saving

    name = saving.load(file)["study"]
    if name not in study_names():
        raise InputError([f"{file}: this version of cranfield has no study `{name}`"])
    study = Study(name)
    check_figures(study, figures)
    result = study.load(file)
    with saving.checked_file(name, file):
        text = study.write(result, format, digits=digits, width=width(), colour=colour(output))
    deliver_result(study, result, text, figures=figures, format=format, output=output)
