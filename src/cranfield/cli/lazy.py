"""Commands that are imported only when called: reading one run should not wait for all of them."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import ClassVar

import click

from cranfield.errors import UsageError


class Lazy(click.Group):
    """Commands by name, in the order of help, each the `command` of a module of that name in a package.

    ``KIND``: what one of them is called in messages.
    """

    NAMES: ClassVar[tuple[str, ...]]
    PACKAGE: ClassVar[str]
    KIND: ClassVar[str]

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.NAMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.NAMES:
            return None
        found: click.Command = import_module(f"{self.PACKAGE}.{cmd_name}").command
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.NAMES and not args[0].startswith("-"):
            near = get_close_matches(args[0], self.NAMES, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"one of {', '.join(self.NAMES)}"
            raise UsageError(f"no such {self.KIND} `{args[0]}`", hint=hint)
        return super().resolve_command(ctx, args)
