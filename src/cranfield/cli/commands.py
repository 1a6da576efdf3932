"""How verbs are found and how their help is laid out.

A verb's module is imported only when the verb is called: reading one run should not wait for all of them.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import ClassVar

import click

from cranfield.errors import UsageError
from cranfield.wording import nearest

# The titled groups of options in help pages, by the names of parameters; all others stand under "Options".
SECTIONS = {
    "Significance": ("test", "tests", "correction", "family", "alpha", "samples", "audit"),
    "Checks for pipelines": ("guarded", "by", "ignore_significance", "limits", "junit"),
    "Rankings": ("duplicates", "ties", "depth", "condensed", "terminal", "nil", "full_length"),
    "Judgments and queries": (
        "queries",
        "undefined",
        "negative",
        "intents",
        "corpus",
        "costs",
        "predicted",
        "inference",
    ),
    "Spark": ("engine", "master", "scores"),
    "Output": ("sort", "top", "all_pairs", "digits", "format", "output", "figures", "quiet", "verbose"),
}
# How click writes the range of a number, which the error for a wrong number names as well.
RANGE = re.compile(r"  \[[^][; ]*x[^][; ]*\]|; [^][; ]*x[^][; ]*(?=\])")
SECTION_OF = {name: title for title, names in SECTIONS.items() for name in names}


class Verb(click.Command):
    """A command whose help page shows its options in titled groups."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {"Options": [], **{title: [] for title in SECTIONS}}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if isinstance(param, click.Option) and record is not None:
                name, text = record
                groups[SECTION_OF.get(param.name or "", "Options")].append((name, RANGE.sub("", text)))
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class LazyGroup(click.Group):
    """Commands by name, in the order of help; each is the `command` of the module of that name in ``PACKAGE``.

    ``KIND`` is what messages call one of them.
    """

    NAMES: ClassVar[tuple[str, ...]]
    PACKAGE: ClassVar[str]
    KIND: ClassVar[str]

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(self.NAMES)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.NAMES:
            return None
        command: click.Command = import_module(f"{self.PACKAGE}.{cmd_name.replace('-', '_')}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.NAMES and not args[0].startswith("-"):
            close = nearest(args[0], self.NAMES)
            hint = f"did you mean `{close}`?" if close else f"use one of {', '.join(self.NAMES)}"
            raise UsageError(f"unknown {self.KIND} `{args[0]}`", hint=hint)
        return super().resolve_command(ctx, args)
