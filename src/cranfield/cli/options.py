"""Arguments and options that verbs share, each declared once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from cranfield.evaluation.policy import UNDEFINED
from cranfield.ranking.tie_rules import TIES
from cranfield.report import FORMATS

if TYPE_CHECKING:
    from cranfield.data import Judgments
    from cranfield.evaluation.columns import Column
    from cranfield.evaluation.policy import Policy

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

# What is reported when no measure is asked for: two views of the whole ranking, one of its first
# useful document, one of its first page, one of how much was found at all, and one that unjudged documents spare.
DEFAULT_MEASURES = ("AP", "nDCG@10", "RR", "P@10", "R@1000", "bpref")
# The same where judgments are by subtopic: what TREC and NTCIR report, and how many subtopics were reached.
DIVERSITY_MEASURES = ("ERR_IA@20", "alpha_nDCG@20", "NRBP", "AP_IA", "Dsharp_nDCG@20", "StRecall@20")
# The same where the end of a list is an answer, which not every measure can see.
TERMINAL_MEASURES = ("AP", "nDCG@10", "RR", "RBP")


def several(*options: Decorator) -> Decorator:
    """Options as one decorator, shown in help in the order given."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def split(text: str) -> Iterator[str]:
    """Measures that stand in one text, apart by spaces outside of brackets.

    >>> list(split("AP nDCG(gain='exp', rel=2)@10 RR[ties=best, condensed]"))
    ['AP', "nDCG(gain='exp', rel=2)@10", 'RR[ties=best, condensed]']
    """
    depth, begin = 0, 0
    for place, sign in enumerate(text + " "):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(sign, 0)
        if sign.isspace() and depth <= 0:
            if text[begin:place].strip():
                yield text[begin:place].strip()
            begin = place + 1
    # A bracket that never closes is the parser's to complain about.
    if text[begin:].strip():
        yield text[begin:].strip()


def listed(texts: Iterable[str]) -> list[str]:
    """The measures that stand in several texts."""
    return [name for text in texts for name in split(text)]


def _asked(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> list[str] | None:
    # An empty -m is most often a variable without a value: no reason to report something else instead.
    return listed(value) if value else None


DIVERSE = "{name} has judgments by subtopic, so that these are measures of diversity; -m asks for others"


def fitting(
    measures: list[str] | None,
    judgments: Judgments | None,
    *,
    terminal: bool,
    usual: Sequence[str] = DEFAULT_MEASURES,
) -> tuple[list[str], list[str]]:
    """The measures asked for, or where none were those that fit the judgments, if these are here; and a note."""
    from cranfield.subtopics import diverse

    if measures is not None:
        return measures, []
    if terminal:
        return list(TERMINAL_MEASURES), []
    if judgments is not None and diverse(judgments):
        return list(DIVERSITY_MEASURES), [DIVERSE.format(name=judgments.name)]
    return list(usual), []


def guarded_columns(measures: Sequence[str], policy: Policy) -> list[Column]:
    """The columns of measures that --fail-if-worse names."""
    from cranfield.evaluation.columns import make_columns

    return make_columns(measures, policy.views) if measures else []


def _symbols(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from cranfield.measures import CATALOGUE

    return [CompletionItem(d.symbol, help=d.summary) for d in CATALOGUE.values() if d.symbol.startswith(incomplete)]


class MeasureName(click.types.StringParamType):
    """A measure as text; the catalogue knows how to complete it, and the library how to read it."""

    name = "measure"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return _symbols(ctx, param, incomplete)


FILE = click.Path(allow_dash=True)
CHANCE = click.FloatRange(0, 1, min_open=True, max_open=True)

inputs = several(
    click.argument("qrels", type=FILE),
    click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=FILE),
)


def measuring(default: str) -> Decorator:
    """The option -m, None unless given: each verb knows its own default, which is told here in words."""
    return click.option(
        "-m",
        "--measure",
        "measures",
        multiple=True,
        type=MeasureName(),
        callback=_asked,
        help=f"A measure, or several apart by spaces; may be repeated.  [default: {default}]",
    )


measures = measuring(" ".join(DEFAULT_MEASURES))

nil = click.option("--nil", metavar="ID", help="The document id that means: there is no answer.")

intents = click.option(
    "--intents",
    type=FILE,
    metavar="FILE",
    help="How many readers want which subtopic: lines `query subtopic weight [inf|nav]`.  [default: all alike, inf]",
)

corpus = click.option(
    "--corpus",
    type=click.Path(),
    metavar="FILE",
    help="What documents say, for measures that read: a file of `cranfield corpus`, or a collection.",
)

full_length = click.option(
    "--full-length",
    type=click.IntRange(min=1),
    metavar="N",
    help="Lists of N documents were not ended by the system: no terminal document.",
)

ordering = several(
    # No default here: a measure's label says [ties=...] only where somebody asked for it.
    click.option("--ties", type=click.Choice(TIES), help="What orders documents of one score.  [default: trec]"),
    click.option("--depth", type=click.IntRange(min=1), metavar="N", help="Look at the first N documents only."),
    click.option("--condensed", is_flag=True, help="Leave out documents that nobody judged (condensed lists)."),
)

views = several(
    ordering,
    click.option("--terminal", is_flag=True, help="Take the end of a list as an answer: no more is relevant."),
    nil,
    full_length,
)

undefined = click.option(
    "--undefined",
    type=click.Choice(UNDEFINED),
    default="skip",
    show_default=True,
    help="What a query without relevant documents counts where its score is undefined.",
)

policies = several(
    click.option(
        "--queries",
        type=click.Choice(("judged", "both", "run")),
        default="judged",
        show_default=True,
        help="Average over judged queries (unanswered ones count 0), those in both, or those of the run.",
    ),
    undefined,
    click.option(
        "--negative",
        type=click.Choice(("unjudged", "nonrel")),
        default="unjudged",
        show_default=True,
        help="What a negative grade means.",
    ),
)

engine = several(
    click.option(
        "--engine",
        type=click.Choice(("local", "spark")),
        default="local",
        show_default=True,
        help="Where to compute: in this process, or on Apache Spark.",
    ),
    click.option("--master", metavar="URL", help="Spark's master; else the session's or spark-submit's own."),
)

scores = click.option("--scores", metavar="DIR", help="With Spark: write every query's scores here, as Parquet.")

seed = click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Where random steps begin."
)

output = click.option(
    "-o", "--output", type=click.Path(), metavar="FILE", help="Write here instead of standard output."
)

digits = click.option(
    "--digits", type=click.IntRange(0, 17), default=4, show_default=True, help="Decimals shown to people."
)


def formats(known: Sequence[str], help: str) -> Decorator:
    """The option --format: a table unless another one is asked for."""
    return click.option("--format", "format", type=click.Choice(known), default="table", show_default=True, help=help)


def figures(help: str) -> Decorator:
    """The option --figures: into which folder to draw."""
    return click.option("--figures", type=click.Path(file_okay=False), metavar="DIR", help=help)


def level(default: float, help: str) -> Decorator:
    """The option --alpha: a chance of being wrong."""
    return click.option("--alpha", type=CHANCE, default=default, show_default=True, help=help)


writing = several(digits, formats(FORMATS, "json and csv have full precision; trec is what trec_eval prints."), output)
