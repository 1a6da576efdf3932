"""The command ``cranfield``: loads the verb that was asked for, and turns errors into messages and exit codes.

0: success; 1: bad data; 2: bad usage; 3: a check failed; 4: a check could not be decided; 130: interrupted;
143: terminated.
"""

from __future__ import annotations

import errno
import os
import shlex
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from types import FrameType
from typing import Any

import click

from cranfield import __version__, native
from cranfield.cli.commands import LazyGroup
from cranfield.cli.output import say
from cranfield.errors import CranfieldError
from cranfield.io.register import registering

INTERRUPTED = 130
TERMINATED = 128  # plus the number of the signal, as in shells
BROKEN_PIPE = 141  # what a shell reports for a program that SIGPIPE ended


# The verbs by what they are for, and the module of each; there it has its own name, or is the only `command`.
GROUPS = {
    "Scores and comparisons": {
        "eval": "eval",
        "compare": "compare",
        "queries": "analysis",
        "explain": "analysis",
        "audit": "analysis",
        "exposure": "analysis",
        "report": "analysis",
    },
    "Experiments and gates": {"run": "experiment", "history": "experiment"},
    "Judgments": {"judge": "judging", "judges": "judging", "sample": "judging", "depth-for": "judging"},
    "Measures": {"measures": "catalogue", "show": "catalogue", "cite": "catalogue", "properties": "study"},
    "Files": {"check": "files", "convert": "files", "corpus": "files"},
    "Studies": {"study": "study", "simulate": "study"},
    "Other": {
        "demo": "catalogue",
        "spark": "spark",
        "trec_eval": "trec_eval",
        "conformance": "catalogue",
        "completion": "commands",
    },
}
MODULES = {name: module for group in GROUPS.values() for name, module in group.items()}


class Verbs(LazyGroup):
    """The verbs by name."""

    NAMES = tuple(MODULES)
    KIND = "command"

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in MODULES:
            return None
        module = import_module(f"cranfield.cli.{MODULES[cmd_name]}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"), None) or module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, names in GROUPS.items():
            commands = [(name, command) for name in names if (command := self.get_command(ctx, name)) is not None]
            with formatter.section(title):
                formatter.write_dl([(name, command.get_short_help_str(limit=100)) for name, command in commands])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with registering():
                return super().invoke(ctx)
        except BrokenPipeError:
            ctx.exit(BROKEN_PIPE)  # the reader closed the pipe

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
        from cranfield.codec import made_by

        words = sys.argv[1:] if args is None else args
        try:
            with made_by(command=shlex.join(["cranfield", *words])):
                code = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except click.NoSuchOption as error:
            from cranfield.cli import commands

            help_page = f"see `{error.ctx.command_path if error.ctx else 'cranfield'} --help`"
            suggestion = commands.hint(error.option_name, error.ctx) if error.ctx else ""
            fail(f"unknown option {error.option_name}", f"{suggestion} ({help_page})" if suggestion else help_page, 2)
        except click.UsageError as error:
            path = error.ctx.command_path if error.ctx else "cranfield"
            fail(error.format_message(), f"see `{path} --help`", error.exit_code)
        except click.ClickException as error:
            fail(error.format_message(), "", error.exit_code)
        except click.Abort:
            sys.exit(INTERRUPTED)
        except CranfieldError as error:
            fail(error.message, error.hint, error.exit_code)
        except MemoryError:
            fail("there is not enough memory", "", 1)
        except OSError as error:
            name = error.filename or ("standard output" if error.errno == errno.ENOSPC else "")  # of help pages
            path = f"{os.fsdecode(name)}: " if name else ""
            fail(f"{path}{(error.strerror or str(error)).lower()}", "", 1)
        sys.exit(code if isinstance(code, int) else 0)


def fail(message: str, hint: str, code: int) -> None:
    """Print the error and, after a blank line, the hint; then exit."""
    hint = f"\n\nhint: {hint}" if hint else ""
    say(f"error: {message}{hint}")
    sys.exit(code)


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
    epilog="Results go to standard output, everything else to standard error.",
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Evaluate rankings against relevance judgments.

    Every measure handles ties, unjudged documents and short lists. Start with `cranfield demo`.
    """
    if ctx.obj is not None:
        ctx.with_resource(ctx.obj())
    native.warn_if_slow(lambda text: say(f"note: {text}"))
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@contextmanager
def exit_on_signals() -> Iterator[None]:
    """Exit in an orderly way on SIGTERM, SIGHUP and SIGINT, so that half-written files are removed."""
    numbers = [getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP", "SIGINT")]  # not every system has all
    handled = [number for number in numbers if number is not None and signal.getsignal(number) == signal.SIG_DFL]
    for number in handled:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)
        if hasattr(signal, "setitimer") and signal.setitimer(signal.ITIMER_REAL, 0)[0]:
            signal.raise_signal(signal.SIGALRM)  # one that waits for the end of an import


def _stop(received: int, frame: FrameType | None) -> None:
    """Raise what ends the command; within an import later, or other threads could wait for Python's lock for ever."""
    outer = frame
    while outer is not None and hasattr(signal, "setitimer"):
        if outer.f_code.co_filename.startswith("<frozen importlib"):
            signal.signal(signal.SIGALRM, lambda _, then: _stop(received, then))
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            return
        outer = outer.f_back
    if received == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(TERMINATED + received)


def main() -> None:
    """Run the command, and end it without delay after a signal."""
    native.keep_freed_memory()
    try:
        cli.main(prog_name="cranfield", obj=exit_on_signals)
    except SystemExit as stop:
        if isinstance(stop.code, int) and stop.code > TERMINATED:
            # After a signal, do not wait for threads that still compute.
            with suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(stop.code)
        raise
