"""``cranfield trec_eval``: the arguments and the output of trec_eval."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import click

from cranfield.cli.commands import Argument, Option, OptionGroup, Verb, described, verb
from cranfield.cli.output import emit
from cranfield.compat import trec_eval as program


class WrongUsage(click.UsageError):
    """A usage error with trec_eval's exit code."""

    exit_code = 1


class TrecEvalCommand(Verb):
    """A command that exits with code 1 on wrong usage, as trec_eval does."""

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        try:
            return super().make_context(*args, **extra)
        except click.UsageError as error:
            raise WrongUsage(error.format_message(), error.ctx) from error


class TrecEvalVerb(OptionGroup):
    """Score RUN against QRELS as trec_eval does: the same arguments, and the same output byte for byte.

    To use the old name: alias trec_eval='cranfield trec_eval'. Exit codes: 1 for wrong usage, 2 for unreadable files,
    4 if a measure cannot be computed, 7 if RUN and QRELS have no query in common.

    \b
    cranfield trec_eval qrels.txt bm25.run
    cranfield trec_eval -q -c -m map -m ndcg_cut.5,10 qrels.txt bm25.run
    """

    FIELDS = described(program.Options)

    measures: tuple[str, ...]
    files: Annotated[tuple[str, ...], click.Path(allow_dash=True), Argument("QRELS RUN")] = ()
    compat: Annotated[Literal["9", "10"], "The version of trec_eval to reproduce."] = "9"
    debug: Annotated[
        str, "With .QUERY: score only this query. No debug output.", Option("-D --Debug_level", "N[.QUERY]")
    ] = "0"
    old: Annotated[bool, "Has no effect, as in trec_eval.", Option("-o")] = False
    older: Annotated[str | None, "Has no effect, as in trec_eval.", Option("--Output_old_results_format", "X")] = None
    version: Annotated[bool, "Print the version of trec_eval that is reproduced.", Option("-v --version")] = False
    help_wanted: Annotated[bool, "Print this help; with -m, also explain the measures.", Option("-h --help")] = False

    def run(self) -> None:
        ctx = click.get_current_context()
        generation: Literal[9, 10] = 10 if self.compat == "10" else 9
        if self.version:
            click.echo(f"trec_eval version {program.VERSIONS[generation]}", err=True)
            ctx.exit(0)
        if self.help_wanted:
            measures = program.requested_measures(self.measures, generation) if self.measures else {}
            emit(f"{ctx.get_help()}\n{program.explain_measures(measures)}")
            ctx.exit(0)
        if len(self.files) != 2:
            raise program.TrecEvalError(
                f"expected 2 files (judgments and one run), found {len(self.files)}",
                1,
                hint="see `cranfield trec_eval --help`",
            )
        only = self.debug.partition(".")[2]
        options = program.Options(
            generation=generation, only=only, **{name: getattr(self, name) for name in self.FIELDS}
        )
        for part in program.evaluate(*self.files, options):
            emit(part)  # output that precedes an error is printed, as by trec_eval


command = verb(
    TrecEvalVerb,
    "Run as a drop-in replacement for trec_eval.",
    TrecEvalCommand,
    context_settings={"help_option_names": []},
)
