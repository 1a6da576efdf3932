"""Commands made from records, how they are found, and how their help is laid out.

A verb is a class. Its fields are the arguments and options, its docstring is the help page, and `run` does the work. A
base class is a group of options that verbs share; ``GROUP`` is its title in help pages.

    class Cite(Output):
        '''Print the BibTeX entries of the papers behind MEASUREs.'''

        measures: Annotated[tuple[str, ...], MeasureName(), Argument("MEASURE...")]
        limit: Annotated[int | None, COUNT, "Print at most N entries.", Option(rare=True)] = None

A field has a type, a default and, in `Annotated`, its help, a type of click where Python's says too little, and an
`Option` or an `Argument` for what else there is to say. A module of verbs is imported only when one of them is called:
reading one run should not wait for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from inspect import cleandoc, get_annotations
from itertools import product
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

import click

from cranfield.errors import UsageError
from cranfield.wording import nearest

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
Callback = Callable[[click.Context, click.Parameter, Any], Any]

SCREEN = 22  # arguments and options of which help shows all
HELP_ALL = "cranfield.help_all"  # where the context of click keeps --help-all
# How click writes the range of a number, which the error for a wrong number names as well.
RANGE = re.compile(r"  \[[^][; ]*x[^][; ]*\]|; [^][; ]*x[^][; ]*(?=\])")


# What stands for the value of an option in help pages.
METAVARS = {click.IntRange: "N", click.FloatRange: "X", click.Path: "FILE"}


class Argument(NamedTuple):
    """A field that is a positional argument."""

    metavar: str | None = None
    callback: Callback | None = None


class Option(NamedTuple):
    """What is said of an option besides its type, default and help.

    ``names``: the names, separated by spaces, if the field has another one. ``rare``: only --help-all shows it.
    ``default``: what help says of a default that depends on the verb or on other options, {default} being the verb's
    ``DEFAULT``. ``immediate``: the callback does the work while the command line is parsed, and no value is needed.
    """

    names: str = ""
    metavar: str | None = None
    rare: bool = False
    default: str = ""
    callback: Callback | None = None
    immediate: bool = False
    eager: bool = False


RARE = Option(rare=True)


class OutputFile(click.Path):
    """A file to write; see `check_outputs`."""


class VerbOption(click.Option):
    """An option that knows the group in which help pages show it, and whether only --help-all does."""

    def __init__(self, *args: Any, group: str = "", rare: bool = False, **facts: Any) -> None:
        super().__init__(*args, **facts)
        self.group, self.rare = group, rare


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Settings:
    """The values of a command line, one field each.

    It is no dataclass: to make one with forty fields takes longer than to score a small run.
    """

    GROUP: ClassVar[str] = ""
    DEFAULT: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def values_of(self, *groups: type[Settings]) -> dict[str, Any]:
        """The values of the fields of some groups, by name."""
        return {name: getattr(self, name) for group in groups for name in groups_of(group)}

    def typed(self, *names: str) -> list[str]:
        """The words of a command line for those of the fields whose values are not the defaults."""
        words = []
        for param in parameters(type(self), *names):
            value = getattr(self, param.name or "")
            if not value or value == param.default:
                continue
            for item in value if param.multiple else [value]:
                words += [max(param.opts, key=len), *([] if value is True else [str(item)])]
        return words

    def run(self) -> None:
        """Do what the command is for."""
        raise NotImplementedError


def groups_of(record: Any) -> dict[str, str]:
    """The fields of a record, those of its base classes first, and the group of each; a verb's own have none."""
    found: dict[str, str] = {}
    for base in record.__bases__:
        for name, group in groups_of(base).items():
            found.setdefault(name, group)
    for name in get_annotations(record):
        if not name.isupper():
            found.setdefault(name, "" if "run" in record.__dict__ else record.GROUP)
    return found


def parameters(record: type[Settings], *names: str) -> list[click.Parameter]:
    """The arguments and options of a record, or those with some names."""
    hints = get_type_hints(record, include_extras=True)
    chosen = {name: group for name, group in groups_of(record).items() if not names or name in names}
    return [_parameter(record, name, hints[name], group) for name, group in chosen.items()]


def _said(hint: Any) -> Iterator[Any]:
    """What a type says, from the outside to the inside: what is in `Annotated`, and Python's own types."""
    if get_origin(hint) is Annotated:
        yield from hint.__metadata__
        yield from _said(hint.__origin__)
    elif get_origin(hint) in (Union, UnionType):
        for kind in get_args(hint):
            yield from _said(kind)
    elif get_origin(hint) is tuple:
        yield tuple
        yield from _said(get_args(hint)[0])
    elif get_origin(hint) is Literal:
        yield click.Choice(get_args(hint))
    elif hint is not NoneType:
        yield hint


def _parameter(record: type[Settings], name: str, hint: Any, group: str) -> click.Parameter:
    said = list(_said(hint))
    several = tuple in said
    types = [one for one in said if isinstance(one, type) and one is not tuple]
    kind: Any = next((one for one in said if isinstance(one, click.ParamType)), None) or types[0]
    argument = next((one for one in said if isinstance(one, Argument)), None)
    if argument is not None:
        facts: dict[str, Any] = {"metavar": argument.metavar, "callback": argument.callback}
        return click.Argument(
            [name], type=kind, required=not hasattr(record, name), nargs=-1 if several else 1, **facts
        )
    option = next((one for one in said if isinstance(one, Option)), Option())
    help = next((one for one in said if isinstance(one, str)), "")
    if option.default:
        help = f"{help}  [default: {option.default.format(default=' '.join(record.DEFAULT))}]"
    default = getattr(record, name)
    flag = kind is bool
    letters = (metavar for type_of, metavar in METAVARS.items() if isinstance(kind, type_of))
    folder = isinstance(kind, click.Path) and not kind.file_okay
    return VerbOption(
        [*(option.names.split() or [f"--{name.replace('_', '-')}"]), name],
        type=None if flag else kind,
        is_flag=flag,
        multiple=several,
        default=default,
        show_default=not option.default and default is not False and default not in (None, "", (), [], {}),
        metavar=option.metavar or ("DIR" if folder else next(letters, None)),
        help=help,
        callback=option.callback,
        is_eager=option.eager,
        group=group,
        rare=option.rare,
    )


def options_of(record: type[Settings], *names: str, **changed: Any) -> Decorator:
    """A decorator of click that adds the options of a record, or some of them, to a function.

    Options that work while the command line is parsed are not passed to the function.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        hints = get_type_hints(record, include_extras=True)
        for param in reversed(parameters(record, *names)):
            said = _said(hints[param.name or ""])
            param.expose_value = not any(isinstance(one, Option) and one.immediate for one in said)
            for name, value in changed.items():
                setattr(param, name, value)
            # As click's own decorators do, from the last option to the first.
            function.__dict__.setdefault("__click_params__", []).append(param)
        return function

    return decorate


def check_outputs(ctx: click.Context) -> None:
    """Raise if a file to write is also an input of the command."""
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


def _show_all(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[HELP_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


class Verb(click.Command):
    """A command whose help page shows its options in titled groups, and the rare ones only for --help-all."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        params = super().get_params(ctx)
        if len(params) <= SCREEN or not any(getattr(param, "rare", False) for param in params):
            return params
        facts: dict[str, Any] = {"expose_value": False, "is_eager": True, "callback": _show_all}
        return [*params, click.Option(["--help-all"], is_flag=True, help="Show all options and exit.", **facts)]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        params = self.get_params(ctx)
        every = bool(ctx.meta.get(HELP_ALL)) or len(params) <= SCREEN
        groups: dict[str, list[tuple[str, str]]] = {"": []}
        for param in params:
            record = param.get_help_record(ctx)
            if isinstance(param, click.Option) and record is not None and (every or not getattr(param, "rare", False)):
                name, text = record
                groups.setdefault(getattr(param, "group", ""), []).append((name, RANGE.sub("", text)))
        own = groups.pop("")
        for title, records in {"Options": own, **groups}.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def verb(record: type[Settings], short_help: str, kind: type[Verb] = Verb, **facts: Any) -> Verb:
    """The command of a record; ``facts`` are further arguments of click."""

    def run(**values: Any) -> None:
        check_outputs(click.get_current_context())
        record(**values).run()

    help = cleandoc(record.__doc__ or "")
    name, params = record.__name__.lower(), parameters(record)
    return kind(name, callback=run, params=params, help=help, short_help=short_help, **facts)


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
