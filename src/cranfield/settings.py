"""What is said of a setting where it is declared, besides its type and its default.

Settings are parameters of experiments and fields of verbs. Their types are `Annotated`; the command line makes options
from them: ``samples: Annotated[Count, "Number of resamples."] = 1000`` becomes ``--samples N``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple


class Option(NamedTuple):
    """What is said of an option besides its type, default and help.

    ``names``: the names, separated by spaces, if the setting has another one. ``rare``: only --help-all shows it.
    ``default``: what help says of a default that depends on the verb or on other options, {default} being the verb's
    ``DEFAULT``.
    """

    names: str = ""
    metavar: str | None = None
    rare: bool = False
    default: str = ""
    callback: Callable[..., Any] | None = None
    eager: bool = False


class Limits(NamedTuple):
    """The numbers from ``low`` to ``high``; ``open``: without these two."""

    low: float | None = None
    high: float | None = None
    open: bool = False


class Choices(NamedTuple):
    """The texts allowed, where they are not a `Literal`."""

    names: tuple[str, ...]


RARE = Option(rare=True)
Count = Annotated[int, Limits(1)]
Whole = Annotated[int, Limits(0)]
Chance = Annotated[float, Limits(0, 1, open=True)]
Share = Annotated[float, Limits(0, 1)]
Positive = Annotated[float, Limits(0, open=True)]
