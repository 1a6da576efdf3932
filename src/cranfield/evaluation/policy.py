"""`Policy`: all settings of an evaluation besides runs, judgments and measures."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

import numpy as np

from cranfield.errors import UsageError, check_choice, check_count
from cranfield.ranking.tie_rules import TIES, Ties
from cranfield.ranking.views import Views
from cranfield.wording import nearest

Queries = Literal["judged", "both", "run"]
Undefined = Literal["skip", "zero", "one", "error"]
Negative = Literal["unjudged", "nonrel"]

QUERIES: tuple[str, ...] = get_args(Queries)
UNDEFINED: tuple[str, ...] = get_args(Undefined)
NEGATIVE: tuple[str, ...] = get_args(Negative)
LONGEST = 10**9


@dataclass(frozen=True)
class Policy:
    """The checked settings of an evaluation; `evaluate` explains each of them."""

    ties: Ties | None = None
    depth: int | None = None
    condensed: bool = False
    terminal: bool = False
    queries: Queries = "judged"
    undefined: Undefined = "skip"
    negative: Negative = "unjudged"
    nil: str | None = None
    full_length: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("ties", self.ties, (*TIES, None))
        check_choice("queries", self.queries, QUERIES)
        check_choice("undefined", self.undefined, UNDEFINED)
        check_choice("negative", self.negative, NEGATIVE)
        for name in ("depth", "full_length"):
            number = getattr(self, name)
            integer = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
            if number is not None and (not integer or not 0 < number < LONGEST):
                message = f"{name} must be a whole number of at least 1, not {number!r}"
                raise UsageError(message)
        if self.nil is not None and not isinstance(self.nil, str):
            message = f"nil must be a document id (a string), not {self.nil!r}"
            raise UsageError(message)
        check_count("seed", self.seed, 0)

    @classmethod
    def of(cls, **chosen: Any) -> Policy:
        """The policy with these settings; an unknown setting raises an error that suggests the nearest one."""
        names = [field.name for field in fields(cls)]
        for name in chosen:
            if name not in names:
                close = nearest(name, names)
                hint = f"did you mean `{close}`?" if close else f"the options are: {', '.join(names)}"
                message = f"unknown option `{name}`"
                raise UsageError(message, hint=hint)
        return cls(**chosen)

    @property
    def views(self) -> Views:
        """The views of every measure that does not name its own."""
        return Views(self.ties, self.depth, self.condensed, self.full_length, self.terminal)
