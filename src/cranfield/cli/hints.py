"""What helps at the prompt: hints for options that people try, and ``cranfield completion``."""

from __future__ import annotations

from typing import Annotated, Literal

import click

from cranfield.cli.commands import Argument, Settings, verb
from cranfield.cli.output import emit
from cranfield.wording import nearest

MEASURE = "use -m, for example -m nDCG@10; `cranfield measures` lists all measures"
CUTOFF = "a cutoff is part of the name of a measure, as in -m nDCG@10; --depth N uses only the first N documents"
RELEVANT = "the lowest relevant grade is a parameter of a measure, as in -m 'AP(rel=2)'"
CORES = "not needed: all available cores are used"
RANKINGS = "this command needs rankings; `cranfield compare`, `queries` and `report` take scores of other programs"
COMPARE = "significance tests are in `cranfield compare`"

# Guesses by what they stand for: an option that a command may have, and the hint.
MEANINGS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("--metric", "--metrics", "--measures", "--eval-metric", "--evaluation-measure"), "--measure", MEASURE),
    (("-k", "--k", "--at", "--cutoff", "--cutoffs", "--top-k", "--topk", "--rank"), "--measure", CUTOFF),
    (("-l", "--level", "--rel", "--relevance-level", "--relevance", "--min-rel"), "--measure", RELEVANT),
    (("--sort-by", "--sortby", "--order-by", "--order", "--ranked-by"), "--sort", "use --sort MEASURE, name or input"),
    (("--sort-by", "--sortby", "--order-by", "--sort"), "--order", "use --order"),
    (("--limit", "--head", "-n", "--first", "--most", "--max-runs", "--best"), "--top", "use --top N"),
    (("--silent", "-s", "--no-notes", "--no-warnings", "--no-progress"), "--quiet", "use --quiet"),
    (("--debug", "--all-notes", "--details"), "--verbose", "use -v"),
    (("--out", "--outfile", "--output-file", "--save", "--write", "--to"), "--output", "use -o FILE"),
    (("--precision", "--decimals", "--round", "--places"), "--digits", "use --digits N"),
    (("--per-topic", "--by-query", "--by-topic", "--all-queries", "--query-scores"), "--per-query", "use -q"),
    (("--topics", "--complete", "-c"), "--queries", "use --queries; by default all judged queries count"),
    (("--ci", "--confidence", "--confidence-interval", "--intervals"), "--interval", "use --interval bca or t"),
    (("--judged-only", "--judged", "-J", "--remove-unjudged"), "--condensed", "use --condensed"),
    (("-M", "--max-docs", "--truncate", "--max-depth"), "--depth", "use --depth N"),
    (("--tie", "--tie-breaking", "--ties-by", "--break-ties"), "--ties", "use --ties"),
    (("--threshold", "--min-score", "--fail-under"), "--fail-below", "use --fail-below MEASURE=VALUE"),
    (("--fail-on-regression", "--regression", "--gate"), "--fail-if-worse", "use --fail-if-worse MEASURE"),
    (("--tolerance", "--epsilon"), "--margin", "use --margin X"),
    (("--resamples", "--permutations", "--bootstrap-samples", "--iterations"), "--samples", "use --samples N"),
    (("--significance-level", "--level", "--p-value", "--pvalue"), "--alpha", "use --alpha P"),
    (("--figure", "--plot", "--plots"), "--figures", "use --figures DIR"),
    (("--scores",), "", RANKINGS),
    (("--threads", "--jobs", "-j", "--workers", "--n-jobs", "--cores"), "", CORES),
    (("--significance", "--p-values", "--pairwise"), "", COMPARE),
    (("--names", "--name", "--labels"), "", "a run may be given a name: NAME=FILE"),
)
FORMATS = ("--json", "--csv", "--latex", "--markdown", "--tsv", "--trec", "--md", "--tex")
CLOSE = 0.75  # how similar a name must be to be suggested


def hint(option: str, ctx: click.Context) -> str:
    """What to use instead of an unknown option of a command; empty if there is no suggestion."""
    options = {name for param in ctx.command.params for name in (*param.opts, *param.secondary_opts)}
    if option in FORMATS and "--format" in options:
        name = {"--md": "markdown", "--tex": "latex", "--tsv": "csv"}.get(option, option.removeprefix("--"))
        return f"use --format {name}"
    for guesses, meant, text in MEANINGS:
        if option in guesses and (not meant or meant in options):
            return text
    elsewhere = _commands_with(option, ctx)
    if elsewhere:
        return f"{option} is an option of {' and '.join(f'`{path}`' for path in elsewhere[:3])}"
    close = nearest(option, sorted(options), cutoff=CLOSE) if option.startswith("--") else None
    return f"did you mean {close}?" if close else ""


def _commands_with(option: str, ctx: click.Context) -> list[str]:
    """The other commands of the same group that have an option."""
    group = ctx.parent.command if ctx.parent is not None else None
    if ctx.parent is None or not isinstance(group, click.Group):
        return []
    paths = []
    for name in group.list_commands(ctx.parent):
        command = group.get_command(ctx.parent, name)
        if command is not None and any(option in param.opts for param in command.params):
            paths.append(f"{ctx.parent.command_path} {name}")
    return paths


class Completion(Settings):
    """Print a script that lets a shell complete commands, options and measures.

    \b
    bash:  eval "$(cranfield completion bash)"     in ~/.bashrc
    zsh:   eval "$(cranfield completion zsh)"      in ~/.zshrc
    fish:  cranfield completion fish > ~/.config/fish/completions/cranfield.fish
    """

    shell: Annotated[Literal["bash", "zsh", "fish"], Argument()]

    def run(self) -> None:
        from click.shell_completion import get_completion_class

        completion = get_completion_class(self.shell)
        assert completion is not None  # click supports all three
        root = click.get_current_context().find_root().command
        emit(completion(root, {}, "cranfield", "_CRANFIELD_COMPLETE").source() + "\n")


completion = verb(Completion, "Print a shell completion script.")
