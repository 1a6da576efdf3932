"""Arguments and options that verbs share, each declared once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from cranfield.cli.output import QUIET
from cranfield.errors import InputError, UsageError
from cranfield.evaluation.policy import UNDEFINED
from cranfield.io.ids import DUPLICATES
from cranfield.ranking.tie_rules import TIES
from cranfield.report import FORMATS
from cranfield.statistics.standardisation import STANDARDISATIONS

if TYPE_CHECKING:
    from cranfield.data import Judgments
    from cranfield.evaluation.columns import Column
    from cranfield.evaluation.policy import Policy

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

# The defaults cover the whole ranking (AP, bpref), the first page, the first relevant document, and recall.
DEFAULT_MEASURES = ("AP", "nDCG@10", "RR", "P@10", "R@1000", "bpref")
# For judgments by subtopic: what TREC and NTCIR report, and subtopic recall.
DIVERSITY_MEASURES = ("ERR_IA@20", "alpha_nDCG@20", "NRBP", "AP_IA", "Dsharp_nDCG@20", "StRecall@20")
# For --terminal, which not every measure supports.
TERMINAL_MEASURES = ("AP", "nDCG@10", "RR", "RBP")


def several(*options: Decorator) -> Decorator:
    """Options as one decorator, shown in help in the order given."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def split_measures(text: str) -> Iterator[str]:
    """The measures in a text, separated by spaces outside brackets.

    >>> list(split_measures("AP nDCG(gain='exp', rel=2)@10 RR[ties=best, condensed]"))
    ['AP', "nDCG(gain='exp', rel=2)@10", 'RR[ties=best, condensed]']
    """
    depth, begin = 0, 0
    for i, character in enumerate(text + " "):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(character, 0)
        if character.isspace() and depth <= 0:
            if text[begin:i].strip():
                yield text[begin:i].strip()
            begin = i + 1
    # The parser reports a bracket that is never closed.
    if text[begin:].strip():
        yield text[begin:].strip()


def measure_names(texts: Iterable[str]) -> list[str]:
    """The measures in several texts."""
    return [name for text in texts for name in split_measures(text)]


def given_measures(_ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]) -> list[str] | None:
    """The measures of an option that may be repeated, None unless given."""
    # An empty -m is usually an unset variable: it must not silently select the defaults.
    return measure_names(value) if value else None


DIVERSITY_DEFAULT = "{name} has judgments by subtopic, so diversity measures are shown; use -m to choose others"


def choose_measures(
    measures: list[str] | None,
    judgments: Judgments | None,
    *,
    terminal: bool,
    default: Sequence[str] = DEFAULT_MEASURES,
) -> tuple[list[str], list[str]]:
    """The measures given, or defaults that fit the judgments (if these were read); and a note on the choice."""
    from cranfield.ranking.subtopics import diverse

    if measures is not None:
        return measures, []
    if terminal:
        return list(TERMINAL_MEASURES), []
    if judgments is not None and diverse(judgments):
        return list(DIVERSITY_MEASURES), [DIVERSITY_DEFAULT.format(name=judgments.name)]
    return list(default), []


def guarded_columns(measures: Sequence[str], policy: Policy) -> list[Column]:
    """The column of each measure that a check names; a measure may have several names."""
    from cranfield.evaluation.columns import make_columns

    return [column for name in measures for column in make_columns([name], policy.views)]


def absent(asked: Sequence[Column], columns: Sequence[Column]) -> list[Column]:
    """The columns whose measures are not among these, each once, under its first name."""
    known = {column.measure: column for column in reversed([*columns, *asked])}
    present = {column.measure for column in columns}
    return [known[measure] for measure in dict.fromkeys(c.measure for c in asked) if measure not in present]


class OutputFile(click.Path):
    """A file to write; see `refusing_inputs`."""


def refusing_inputs(function: Callable[..., Any]) -> Callable[..., Any]:
    """The command, which does not start if a file to write is also one of its inputs."""

    @wraps(function)
    def command(*args: Any, **kwargs: Any) -> Any:
        ctx = click.get_current_context()
        files: dict[bool, list[str]] = {True: [], False: []}
        for param in ctx.command.params:
            value = ctx.params.get(param.name or "")
            if isinstance(param.type, click.Path) and param.type.file_okay and value:
                files[isinstance(param.type, OutputFile)] += [value] if isinstance(value, str) else value
        for output, source in product(files[True], files[False]):
            if Path(output).is_file() and Path(source).is_file() and Path(output).samefile(source):
                raise UsageError(
                    f"{output}: this file is an input of the command and would be replaced",
                    hint="write the output to another file",
                )
        return function(*args, **kwargs)

    return command


class MeasureName(click.types.StringParamType):
    """A measure as text, completed from the catalogue; the library parses it."""

    name = "measure"

    def shell_complete(self, _ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from cranfield.measures import CATALOGUE

        return [CompletionItem(d.symbol, help=d.summary) for d in CATALOGUE.values() if d.symbol.startswith(incomplete)]


FILE = click.Path(allow_dash=True)
CHANCE = click.FloatRange(0, 1, min_open=True, max_open=True)


# For every command that reads runs.
duplicates = click.option(
    "--duplicates",
    type=click.Choice(DUPLICATES),
    default="error",
    show_default=True,
    help="What to do if a document appears twice for a query: report an error, or keep the first row or the row with "
    "the best score.",
)


def _check_files(_ctx: click.Context, _param: click.Parameter, value: str | tuple[str, ...]) -> str | tuple[str, ...]:
    """Raise if a missing file is a measure: the shell makes files of -m AP nDCG@10."""
    for path in (value,) if isinstance(value, str) else value:
        if os.path.lexists(path):
            continue
        from cranfield.measures.grammar import is_measure

        if is_measure(path):
            hint = f'`{path}` is a measure; write several measures in quotes, as in -m "AP {path}", or repeat -m'
            raise InputError([f"{path}: there is no such file"], hint=hint)
    return value


inputs = several(
    click.argument("qrels", type=FILE, callback=_check_files),
    click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=FILE, callback=_check_files),
    duplicates,
)


def _load_measures(ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]) -> None:
    """Add the measures of each file to the catalogue until the command ends."""
    if not value:
        return
    from cranfield.measures.plugins import load_measures

    ctx.meta[MEASURES_FILES] = value
    for path in value:
        ctx.with_resource(load_measures(path))


MEASURES_FILES = "cranfield.measures_files"  # the key of the files in the context of click
measures_file = click.option(
    "--measures-file",
    multiple=True,
    is_eager=True,  # measures are parsed later
    expose_value=False,
    callback=_load_measures,
    type=click.Path(dir_okay=False),
    metavar="FILE.py",
    help="Python file with your own measures, which can then be named like any other; may be repeated.",
)


def measuring(default: str) -> Decorator:
    """The option -m, None unless given; ``default`` is what help says the verb uses then."""
    name = click.option(
        "-m",
        "--measure",
        "measures",
        multiple=True,
        type=MeasureName(),
        callback=given_measures,
        help=f"One or more measures, separated by spaces; may be repeated.  [default: {default}]",
    )
    return several(name, measures_file)


measures = measuring(" ".join(DEFAULT_MEASURES))

nil = click.option("--nil", metavar="ID", help='Document id that stands for "no answer".')

intents = click.option(
    "--intents",
    type=FILE,
    metavar="FILE",
    help="Weights of subtopics, in lines `query subtopic weight [inf|nav]`.  [default: equal weights, inf]",
)

queries_file = click.option(
    "--queries-file",
    type=FILE,
    metavar="FILE",
    help="Show the texts of queries from this file: JSON Lines, lines of an id, a tab and a text, or TREC topics.",
)

costs = click.option(
    "--costs",
    type=FILE,
    metavar="FILE",
    help="Costs of documents, for measures that use them, in lines `query document cost`.",
)

predicted = several(
    click.option(
        "--predicted",
        type=FILE,
        metavar="FILE",
        help="Predicted judgments, such as those of an LLM, of these and of other queries: shows means by humans, by "
        "predictions and by both together.",
    ),
    click.option(
        "--inference",
        type=click.Choice(("loo", "fixed")),
        default="loo",
        show_default=True,
        help="With --predicted: intervals for queries like these (loo), or for exactly these queries (fixed).",
    ),
)

corpus = click.option(
    "--corpus",
    type=click.Path(),
    metavar="FILE",
    help="Document text, for measures that need it: a collection, or a file written by `cranfield corpus`.",
)

full_length = click.option(
    "--full-length",
    type=click.IntRange(min=1),
    metavar="N",
    help="Length limit of the systems: the end of a list of N documents does not count as an answer.",
)

ordering = several(
    # No default here: a measure's label says [ties=...] only if --ties was given.
    click.option("--ties", type=click.Choice(TIES), help="How to order documents with equal scores.  [default: trec]"),
    click.option("--depth", type=click.IntRange(min=1), metavar="N", help="Use only the first N documents."),
    click.option("--condensed", is_flag=True, help="Remove unjudged documents from rankings (condensed lists)."),
)

views = several(
    ordering,
    click.option(
        "--terminal",
        is_flag=True,
        help='Score the end of each list as an answer: "no more relevant documents".',
    ),
    nil,
    full_length,
)

undefined = click.option(
    "--undefined",
    type=click.Choice(UNDEFINED),
    default="skip",
    show_default=True,
    help="How to count a query for which a measure is undefined, such as AP without relevant documents.",
)

policies = several(
    click.option(
        "--queries",
        type=click.Choice(("judged", "both", "run")),
        default="judged",
        show_default=True,
        help="Queries to average over: all judged queries (a missing one is scored as an empty ranking), judged "
        "queries that the run answers, or all queries of the run.",
    ),
    undefined,
    click.option(
        "--negative",
        type=click.Choice(("unjudged", "nonrel")),
        default="unjudged",
        show_default=True,
        help="Treat negative grades as unjudged or as not relevant.",
    ),
)

standardise = click.option(
    "--standardise",
    type=click.Choice(STANDARDISATIONS),
    help="Standardise scores for each query over the runs: z-scores, or a normal or empirical distribution function.",
)

engine = several(
    click.option(
        "--engine",
        type=click.Choice(("local", "spark")),
        default="local",
        show_default=True,
        help="Compute in this process or on Apache Spark.",
    ),
    click.option("--master", metavar="URL", help="Spark master.  [default: that of the session or of spark-submit]"),
)

scores = click.option("--scores", metavar="DIR", help="With Spark: write per-query scores to this folder, as Parquet.")

seed = click.option(
    "--seed", type=click.IntRange(min=0), metavar="N", default=0, show_default=True, help="Random seed."
)


def _be_quiet(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[QUIET] = True


quiet = click.option(
    "--quiet",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_be_quiet,
    help="Print no notes and no progress; errors and failed checks only.",
)

output = several(
    click.option(
        "-o", "--output", type=OutputFile(), metavar="FILE", help="Write to this file instead of standard output."
    ),
    quiet,
    refusing_inputs,
)

verbose = click.option(
    "-v", "--verbose", is_flag=True, help="Print the notes on each run, however many runs there are."
)

digits = click.option(
    "--digits",
    type=click.IntRange(0, 17),
    metavar="N",
    default=4,
    show_default=True,
    help="Number of decimals in tables.",
)


def formats(names: Sequence[str], help: str) -> Decorator:
    """The option --format, a table by default."""
    help = f"Output format. {help}".strip()
    return click.option("--format", "format", type=click.Choice(names), default="table", show_default=True, help=help)


def figures(help: str) -> Decorator:
    """The option --figures: the folder to draw into."""
    return click.option("--figures", type=click.Path(file_okay=False), metavar="DIR", help=help)


def level(default: float, help: str) -> Decorator:
    """The option --alpha: the significance level."""
    return click.option("--alpha", type=CHANCE, metavar="P", default=default, show_default=True, help=help)


def renamed(old: str, new: str) -> Decorator:
    """A hidden option under its old name; using it is an error that names the new one."""

    def refuse(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
        if value is not None:
            raise click.UsageError(f"{old} was renamed: use {new}", ctx)

    return click.option(old, hidden=True, expose_value=False, callback=refuse, help=f"Renamed: use {new}.")


writing = several(digits, formats(FORMATS, "json and csv have full precision; trec prints as trec_eval does."), output)
