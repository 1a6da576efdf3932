"""``cranfield completion``: scripts for shell completion."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from cranfield.cli.output import emit


@click.command(short_help="Print a shell completion script.")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print a script that lets a shell complete commands, options and measures.

    \b
    bash:  eval "$(cranfield completion bash)"     in ~/.bashrc
    zsh:   eval "$(cranfield completion zsh)"      in ~/.zshrc
    fish:  cranfield completion fish > ~/.config/fish/completions/cranfield.fish
    """
    completion = get_completion_class(shell)
    if completion is None:  # pragma: no cover (click supports all three)
        raise click.UsageError(f"no completion for {shell}")
    emit(completion(ctx.find_root().command, {}, "cranfield", "_CRANFIELD_COMPLETE").source() + "\n")
