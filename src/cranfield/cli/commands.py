"""Commands made from records, how they are found, how their help is laid out, and hints for options that people try.

A verb is a class. Its fields are the arguments and options, its docstring is the help page, and `run` does the work. A
base class is a group of options that verbs share; ``GROUP`` is its title in help pages. Fields that the
library describes, such as those of `Policy`, are in ``FIELDS``; an annotation beside them is for type checkers.

    class CiteVerb(Output):
        '''Print the BibTeX entries of the papers behind MEASUREs.'''

        measures: Annotated[tuple[str, ...], MeasureName(), Argument("MEASURE...")]
        limit: Annotated[Count | None, "Print at most N entries.", RARE] = None

A field has a type, a default and, in `Annotated`, its help, what `cranfield.settings` has, an `Argument`, and a type of
click where all these say too little. The parameters of an experiment are fields of the same form (`cli.study`). A
module of verbs is imported only when one of them is called: reading one run should not wait for all of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import cleandoc, get_annotations
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, dataclass_transform, get_type_hints

import click

from cranfield.cli.output import emit, note
from cranfield.errors import UsageError
from cranfield.io import register, remarks_on_judgments
from cranfield.settings import RARE as RARE
from cranfield.settings import Choice, Limits, ListOf, MapOf, OneOf, Scalar, TupleOf, Type, declared, walk
from cranfield.settings import Option as Option
from cranfield.wording import did_you_mean, nearest

Callback = Callable[[click.Context, click.Parameter, Any], Any]

SCREEN = 10  # arguments and options of which help shows all
WIDEST = 22  # characters of the column of options; a longer one has a line of its own
HELP_ALL = "cranfield.help_all"  # where the context of click keeps --help-all
SENTENCE_END = re.compile(r"(?<=[.;:]) |[;:] |, such as | \(")
CONDITION = re.compile(r"(?:With|Without|In place of)[^:]*: ")  # says nothing alone
# How click writes the range of a number, which the error for a wrong number names as well.
RANGE = re.compile(r"  \[[^][; ]*x[^][; ]*\]|; [^][; ]*x[^][; ]*(?=\])")


class Argument(NamedTuple):
    """A field that is a positional argument."""

    metavar: str | None = None
    callback: Callback | None = None


class OutputFile(click.Path):
    """A file to write."""


class OutputFolder(click.Path):
    """A folder to write to."""


class VerbOption(click.Option):
    """An option that knows the group in which help pages show it, and whether only --help-all does."""

    def __init__(self, *args: Any, group: str = "", rare: bool = False, **facts: Any) -> None:
        super().__init__(*args, **facts)
        self.group, self.rare = group, rare


@dataclass_transform(kw_only_default=True, frozen_default=True)
class OptionGroup:
    """The values of a command line, one field each.

    Not a dataclass: building one with forty fields takes longer than scoring a small run.
    """

    GROUP: ClassVar[str] = ""
    FIELDS: ClassVar[Mapping[str, Any]] = {}
    DEFAULT: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def values_of(self, *groups: type[OptionGroup]) -> dict[str, Any]:
        """The values of the fields of some groups, by name."""
        return {name: getattr(self, name) for group in groups for name in groups_of(group)}

    def typed(self, *names: str) -> list[str]:
        """The words of a command line for those of the fields whose values are not the defaults."""
        words = []
        for name, field in fields_of(type(self), *names).items():
            param, value = parameter(name, field), getattr(self, name)
            if not value or value == param.default:
                continue
            for item in value if param.multiple else [value]:
                text = ",".join(map(str, item)) if isinstance(item, list) else str(item)
                words += [max(param.opts, key=len), *([] if value is True else [text])]
        return words

    def run(self) -> None:
        """Do what the command is for."""
        raise NotImplementedError


class OptionField(NamedTuple):
    """An argument or option to be: its type, its default, and its group in help pages.

    ``verb_default``: what help calls the default of the verb.
    """

    type: Type
    default: Any = ...
    group: str = ""
    verb_default: str = ""


def groups_of(record: Any) -> dict[str, str]:
    """The fields of a record, those of its base classes first, and the group of each; a verb's own have none."""
    group_of: dict[str, str] = {}
    for base in record.__bases__:
        for name, group in groups_of(base).items():
            group_of.setdefault(name, group)
    for name in (*record.__dict__.get("FIELDS", ()), *get_annotations(record)):
        if not name.isupper():
            group_of.setdefault(name, "" if "run" in record.__dict__ else record.GROUP)
    return group_of


def fields_of(record: type[OptionGroup], *names: str) -> dict[str, OptionField]:
    """The fields of a record by name, or those with some names."""
    hints, default = get_type_hints(record, include_extras=True), " ".join(record.DEFAULT)
    declarations: dict[str, tuple[Type, Any]] = {}
    for base in reversed(record.__mro__):
        own = [name for name in get_annotations(base) if not name.isupper()]
        declarations |= {name: (walk(hints[name]), getattr(record, name, ...)) for name in own}
        declarations |= base.__dict__.get("FIELDS", {})
    return {
        name: OptionField(*declarations[name], group, default)
        for name, group in groups_of(record).items()
        if not names or name in names
    }


def described(source: Callable[..., Any], *names: str, without: Collection[str] = ()) -> dict[str, Any]:
    """The fields of a class of the library that are described: those with these names, or all but some."""
    return {
        name: field
        for name, field in declared(source).items()
        if field.type.help and (name in names if names else name not in without)
    }


def fields_of_function(function: Callable[..., Any], shared: Mapping[str, OptionField]) -> dict[str, OptionField]:
    """The fields of those parameters that are described, or shared with verbs.

    A shared parameter that is described has only the group in common.
    """
    fields: dict[str, OptionField] = {}
    for name, (kind, default) in declared(function).items():
        if kind.help:
            fields[name] = OptionField(kind, default, shared[name].group if name in shared else "")
        elif name in shared:
            fields[name] = shared[name]
    return fields


class Listed(click.ParamType):  # type: ignore[type-arg]  # older versions of click have no argument
    """Numbers or texts, separated by commas."""

    name = "list"

    def __init__(self, kind: type) -> None:
        self.kind = kind

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> list[Any]:
        """The values."""
        try:
            return [self.kind(part.strip()) for part in value.split(",")]
        except ValueError:
            expected = "whole numbers separated by commas, such as 50,20,10"
            if self.kind is float:
                expected = "numbers separated by commas, such as 0,1,2"
            self.fail(f"expected {expected}; got {value!r}", param, ctx)


class Number(click.FloatRange):
    """A finite number in a range; of NaN, any comparison with the range is false."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


def _pairs(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> dict[str, str]:
    """Parse options of the form RUN=PART."""
    for text in value:
        if not all(text.rpartition("=")[::2]):
            raise click.BadParameter(f"expected {param.metavar}, such as bm25=B; got {text!r}", ctx, param)
    return {run: part for run, _, part in (text.rpartition("=") for text in value)}


def _click_type(kind: Type) -> Any:
    """The type of click for a declared type."""
    if own := kind.find(click.ParamType):
        return own
    match kind:
        case ListOf(Scalar(python), container) if container is Sequence and tuple not in kind.metadata:
            return Listed(python)
        case ListOf(item) | OneOf((item, *_)):
            return _click_type(item)
        case TupleOf(items):
            return click.Tuple([_click_type(item) for item in items])
        case Choice(names):
            return click.Choice(names)
        case Scalar(python) if limits := kind.find(Limits):
            low, high = (end if math.isfinite(end) else None for end in limits[:2])
            number: Any = click.IntRange if python is int else Number
            return number(low, high, limits.ends[0] == "(", high is not None and limits.ends[1] == ")")
        case Scalar(python):
            return Number() if python is float else python
    # Pairs are texts; what Python takes in several forms is a file here.
    return str if isinstance(kind, MapOf) else click.Path(allow_dash=True)


def _metavar(kind: Any) -> str | None:
    """What stands for the value of an option in help pages, unless the option says it."""
    if isinstance(kind, click.Path):
        return "FILE" if kind.file_okay else "DIR"
    letters = {click.IntRange: "N", click.FloatRange: "X", Listed: "N,..."}
    return next((letter for type_of, letter in letters.items() if isinstance(kind, type_of)), None)


def parameter(name: str, field: OptionField) -> click.Parameter:
    """The argument or option of a field."""
    setting, default = field.type, field.default
    kind, is_map = _click_type(setting), isinstance(setting, MapOf)
    several = is_map or tuple in (*setting.metadata, getattr(setting, "python", None))
    if argument := setting.find(Argument):
        facts: dict[str, Any] = {**argument._asdict(), "nargs": -1 if several else 1}
        return click.Argument([name], type=kind, required=default is ..., **facts)
    option, help = setting.find(Option) or Option(), setting.help
    if option.default:
        help = f"{help}  [default: {option.default.format(default=field.verb_default)}]"
    if isinstance(kind, Listed) and default is not None:
        default = ",".join(map(str, default))
    flag = kind is bool
    return VerbOption(
        [*(option.names.split() or [f"--{name.replace('_', '-')}"]), name],
        type=None if flag else kind,
        is_flag=flag,
        multiple=several,
        default=default,
        show_default=not option.default and default is not False and default not in (None, "", (), [], {}),
        metavar=option.metavar or _metavar(kind),
        help=help,
        callback=option.callback or (_pairs if is_map else None),
        is_eager=option.eager,
        group=field.group,
        rare=option.rare,
    )


def _register_files(ctx: click.Context) -> None:
    """Register the files of a command line; raise if an output is an input, or two outputs are one file."""
    files = register.active()
    for param in ctx.command.params:
        value = ctx.params.get(param.name or "")
        texts = [text for text in (value if isinstance(value, tuple | list) else [value]) if isinstance(text, str)]
        if isinstance(param.type, OutputFile):
            files.declare(texts)
        elif type(param.type) is click.Path:
            for text in texts:
                files.read(text)


def _show_all(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[HELP_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


def _visible(params: Sequence[click.Parameter]) -> int:
    """The number of parameters that help may show."""
    return sum(not getattr(param, "hidden", False) for param in params)


class Verb(click.Command):
    """A command whose help shows options in titled groups; rare ones, and all that is said, only for --help-all."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        params = super().get_params(ctx)
        if _visible(params) <= SCREEN or not any(getattr(param, "rare", False) for param in params):
            return params
        facts: dict[str, Any] = {"expose_value": False, "is_eager": True, "callback": _show_all}
        return [*params, click.Option(["--help-all"], is_flag=True, help="Show all options and exit.", **facts)]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        params = self.get_params(ctx)
        every = bool(ctx.meta.get(HELP_ALL)) or _visible(params) <= SCREEN
        groups: dict[str, list[tuple[str, str]]] = {"": []}
        for param in params:
            record = param.get_help_record(ctx)
            if isinstance(param, click.Option) and record is not None and (every or not getattr(param, "rare", False)):
                name, text = record[0], RANGE.sub("", record[1])
                if not every:
                    name, text = _without_choices(name), _first_sentence(text)
                groups.setdefault(getattr(param, "group", ""), []).append((name, text))
        own = groups.pop("")
        for title, records in {"Options": own, **groups}.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records, col_max=WIDEST)


def _without_choices(name: str) -> str:
    """An option with all its choices; NAME stands for many."""
    return re.sub(r"\[[^]]*\|[^]]*\]", "NAME", name) if len(name) > WIDEST else name


def _first_sentence(text: str) -> str:
    """The first sentence of the help of an option, and its default; --help-all has the others."""
    sentences, sign, default = text.partition("  [")
    begin = end_of.end() if (end_of := CONDITION.match(sentences)) else 0
    first = re.split(SENTENCE_END, sentences[begin:], maxsplit=1)[0]
    return f"{sentences[:begin]}{first.rstrip('.')}.{sign}{default}"


def command_of(
    name: str, fields: dict[str, OptionField], run: Callable[..., None], kind: type[Verb] = Verb, **facts: Any
) -> Verb:
    """A command with these fields that calls a function with their values; ``facts`` are further arguments of click."""

    def callback(**values: Any) -> None:
        _register_files(click.get_current_context())
        with remarks_on_judgments() as remarks:
            try:
                run(**values)
            finally:
                note(dict.fromkeys(remarks))
        if values.get("format") == "latex":
            note(["`cranfield cite cranfield` prints what to cite; add names of measures and tests for their papers"])

    return kind(name, callback=callback, params=[parameter(*field) for field in fields.items()], **facts)


def verb_name(record: type[OptionGroup]) -> str:
    """What the command of a record is called: ``compare`` for ``CompareVerb``."""
    return record.__name__.removesuffix("Verb").lower()


def verb(record: type[OptionGroup], short_help: str, kind: type[Verb] = Verb, **facts: Any) -> Verb:
    """The command of a record; ``facts`` are further arguments of click, such as a ``name`` that is not the class's."""
    facts = {"name": verb_name(record), "help": cleandoc(record.__doc__ or "")} | facts
    return command_of(
        fields=fields_of(record), run=lambda **values: record(**values).run(), kind=kind, short_help=short_help, **facts
    )


class LazyGroup(click.Group):
    """Commands by name, in the order of help, each loaded when it is asked for.

    ``KIND`` is what messages call one of them.
    """

    NAMES: ClassVar[tuple[str, ...]]
    KIND: ClassVar[str]

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(self.NAMES)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.NAMES and not args[0].startswith("-"):
            hint = did_you_mean(args[0], self.NAMES, f"use one of {', '.join(self.NAMES)}")
            raise UsageError(f"unknown {self.KIND} `{args[0]}`", hint=hint)
        return super().resolve_command(ctx, args)


# What helps at the prompt: hints for options that people try, and ``cranfield completion``.

MEASURE = "use -m, for example -m nDCG@10; `cranfield measures` lists all measures"
CUTOFF = "a cutoff is part of the name of a measure, as in -m nDCG@10; --depth N uses only the first N documents"
RELEVANT = "use --rel GRADE, or a parameter of a measure, as in -m 'AP(rel=2)'"
CORES = "not needed: all available cores are used"
RANKINGS = "this command needs rankings; `cranfield compare`, `queries` and `report` take scores of other programs"
COMPARE = "significance tests are in `cranfield compare`"

# Guesses by what they stand for: an option that a command may have, and the hint.
MEANINGS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("--metric", "--metrics", "--measures", "--eval-metric", "--evaluation-measure"), "--measure", MEASURE),
    (("-k", "--k", "--at", "--cutoff", "--cutoffs", "--top-k", "--topk", "--rank"), "--measure", CUTOFF),
    (("-l", "--level", "--relevance-level", "--relevance", "--min-rel"), "--rel", RELEVANT),
    (("--top", "--top-k", "--topk", "--cutoff", "--depth", "--at"), "-k", "use -k N"),
    (("--sort-by", "--sortby", "--order-by", "--sort", "--ranked-by"), "--order", "use --order"),
    (("--limit", "--head", "-n", "--first", "--most", "--max-runs", "--best"), "--top", "use --top N"),
    (("--silent", "-s", "--no-notes", "--no-warnings", "--no-progress"), "--quiet", "use --quiet"),
    (("--debug", "--all-notes", "--details"), "--verbose", "use -v"),
    (("--group-by", "--group", "--segment"), "--by", "use --by ATTRIBUTE"),
    (("--out", "--outfile", "--output-file", "--save", "--write", "--to"), "--output", "use -o FILE"),
    (("--precision", "--decimals", "--round", "--places"), "--digits", "use --digits N"),
    (("--per-topic", "--by-query", "--by-topic", "--all-queries", "--query-scores"), "--per-query", "use -q"),
    (("--topics", "--complete", "-c"), "--queries", "use --queries; by default all judged queries count"),
    (("--ci", "--confidence", "--confidence-interval", "--intervals"), "--interval", "use --interval bca or t"),
    (("--judged-only", "--judged", "-J", "--remove-unjudged"), "--condensed", "use --condensed"),
    (("-M", "--max-docs", "--truncate", "--max-depth"), "--depth", "use --depth N"),
    (("--tie", "--tie-breaking", "--ties-by", "--break-ties"), "--ties", "use --ties"),
    (("--threshold", "--min-score", "--fail-under", "--fail-below"), "--at-least", "use --at-least MEASURE=VALUE"),
    (("--fail-on-regression", "--regression", "--gate"), "--no-significant-loss", "use --no-significant-loss MEASURE"),
    (("--tolerance", "--epsilon", "--margin"), "--may-drop", "use --may-drop MEASURE=VALUE"),
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
    from cranfield.evaluation.collection import PARTS

    options = {name for param in ctx.command.params for name in (*param.opts, *param.secondary_opts)}
    if option in FORMATS and "--format" in options:
        name = {"--md": "markdown", "--tex": "latex", "--tsv": "csv"}.get(option, option.removeprefix("--"))
        return f"use --format {name}"
    for guesses, meant, text in MEANINGS:
        if option in guesses and (not meant or meant in options):
            return text
    part = option.removeprefix("--").replace("-", "_")
    if "--judgments" in options and part in PARTS:
        return f"write {part} in a collection file (FILE.toml), which takes the place of QRELS"
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


class CompletionVerb(OptionGroup):
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


completion = verb(CompletionVerb, "Print a shell completion script.")
