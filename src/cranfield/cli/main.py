"""The command ``cranfield``: finds the verb, loads nothing else, and turns errors into messages and exit codes.

0: done; 1: the data cannot be used; 2: the command makes no sense; 130: interrupted; 143: told to end.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

import click

from cranfield import __version__, core
from cranfield.cli.lazy import Lazy
from cranfield.errors import CranfieldError

INTERRUPTED = 130
KILLED = 128  # and the number of the signal, as shells say it
BROKEN_PIPE = 141  # what the shell reports of a program that ends by SIGPIPE


class Verbs(Lazy):
    """The verbs, in the order in which a newcomer needs them."""

    NAMES = (
        "eval",
        "compare",
        "queries",
        "report",
        "audit",
        "measures",
        "show",
        "cite",
        "check",
        "study",
        "properties",
        "corpus",
        "explain",
        "convert",
        "simulate",
        "trec_eval",
        "demo",
        "completion",
    )
    PACKAGE = "cranfield.cli"
    KIND = "command"

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            ctx.exit(BROKEN_PIPE)  # whoever read our output has seen enough

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        try:
            code = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except click.UsageError as error:
            path = error.ctx.command_path if error.ctx else "cranfield"
            fail(error.format_message(), f"{path} --help", error.exit_code)
        except click.ClickException as error:
            fail(error.format_message(), "", error.exit_code)
        except click.Abort:
            sys.exit(INTERRUPTED)
        except CranfieldError as error:
            fail(error.message, error.hint, error.exit_code)
        except OSError as error:
            place = f"{os.fsdecode(error.filename)}: " if error.filename else ""
            fail(f"{place}{(error.strerror or str(error)).lower()}", "", 1)
        sys.exit(code if isinstance(code, int) else 0)


def fail(message: str, hint: str, code: int) -> None:
    """Says what is wrong and, after a blank line, what to do about it; then ends."""
    hint = f"\n\nhint: {hint}" if hint else ""
    # Ids and file names may hold bytes that are no text.
    click.echo(f"error: {message}{hint}".encode("utf-8", "surrogateescape"), err=True)
    sys.exit(code)


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
    epilog="Data goes to standard output, everything else to standard error.",
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Scores for rankings as they are: tied, cut short, half judged."""
    core.admit(lambda text: click.echo(f"note: {text}", err=True))
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def orderly() -> None:
    """Lets the program clean up behind itself where it is told to end: half-written files do not stay."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # not every system has both
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, lambda received, _: sys.exit(KILLED + received))


def main() -> None:
    """What the installed command runs."""
    orderly()
    cli.main(prog_name="cranfield")
