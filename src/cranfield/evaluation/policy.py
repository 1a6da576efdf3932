"""`Policy`: all settings of an evaluation besides runs, judgments and measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from cranfield.errors import UsageError, check_choice, check_count
from cranfield.ranking.tie_rules import TIES, Ties
from cranfield.ranking.views import Views

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
                raise UsageError(f"{name} must be a whole number of at least 1, not {number!r}")
        if self.nil is not None and not isinstance(self.nil, str):
            raise UsageError(f"nil must be a document id (a string), not {self.nil!r}")
        check_count("seed", self.seed, 0)

    @property
    def views(self) -> Views:
        """The views of every measure that does not name its own."""
        return Views(self.ties, self.depth, self.condensed, self.full_length, self.terminal)
