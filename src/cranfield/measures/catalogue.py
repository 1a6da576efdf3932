"""The catalogue: every measure once, with all that the parser, the command line and the docs say of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from cranfield.errors import MeasureError
from cranfield.measures.parameters import (
    SHARED,
    GainKind,
    Parameter,
    Positive,
    Probability,
    Range,
    Rank,
    Share,
    literal,
)
from cranfield.measures.ties.estimate import Estimate
from cranfield.measures.ties.strategies import NO_CUTOFF, ClosedForm, Kernel, Scoring, TieStrategy
from cranfield.ranking.batch import Batch
from cranfield.ranking.rankings import Rankings, from_ranking
from cranfield.ranking.views import Gains, Views, ordered

# What the file of a family needs: the decorator, and types for the parameters of its functions.
__all__ = [
    "FIXED",
    "TERMINAL",
    "UNBOUNDED",
    "UNORDERED",
    "Positive",
    "Probability",
    "Range",
    "Rank",
    "Share",
    "measure",
]

Cutoff = Literal["none", "optional", "required", "recall"]

# Why a measure has no terminal form.
UNDEFINED = "nobody has defined one for it"
FIXED = "its divisor is fixed, so that it cannot tell silence from failure"
UNORDERED = "it does not look at the order, and a terminal document is a place in it"
UNBOUNDED = "it has no ideal that a terminal document could be part of"
TERMINAL = ""
CLOSED_FORM = ClosedForm()


@dataclass(frozen=True, eq=False)
class Definition:
    """A measure of the catalogue, before parameters are chosen."""

    symbol: str
    family: str
    function: Kernel
    cite: str
    formula: str
    gains: GainKind
    bounds: tuple[float, float]
    aggregate: Literal["mean", "geometric", "sum"] = "mean"
    ties: TieStrategy = CLOSED_FORM  # how its expectation over the orders of tied documents is taken
    residual: Kernel | None = None
    terminal: str = ""  # why it has no terminal form; empty where it has one
    retrieved_only: bool = False  # reads nothing but the documents retrieved
    rewards_promotion: bool = True  # a better document moved up never lowers it
    uses_nonrelevant: bool = False  # reads documents that are judged not relevant
    subtopics: bool = False  # needs judgments by subtopic
    content: bool = False  # reads documents, and needs a corpus of them
    preferences: bool = False  # needs preferences between documents instead of grades
    unused_when: tuple[tuple[str, str, Any], ...] = ()  # (p, q, x): parameter p is unused when q is x
    costs: bool = False  # reads what documents cost, where that is given
    cutoff_is_cost: bool = False  # its cutoff k is a cost, and not a rank

    # Signatures take long to read, and most measures are not asked for.
    @cached_property
    def _declared(self) -> dict[str, Parameter]:
        return _parameters(self.function)

    @cached_property
    def reads(self) -> Any:
        """The type of its first argument: with `GainSums` or `Preferences`, it also scores `Completions`."""
        return get_type_hints(self.function).get(self.function.__code__.co_varnames[0])

    @cached_property
    def own(self) -> dict[str, Parameter]:
        """The parameters that the function takes itself, but for the cut-off."""
        return {name: p for name, p in self._declared.items() if name not in ("k", "recall")}

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """All parameters, those that its gains have included."""
        return self.own | {p.name: p for p in SHARED[self.gains] if p.name not in self.own}

    @cached_property
    def cutoff(self) -> Cutoff:
        """Whether it looks at the first k only, or at what reaches a recall."""
        if "recall" in self._declared:
            return "recall"
        at = self._declared.get("k")
        return "none" if at is None else "required" if at.default is ... else "optional"

    @property
    def title(self) -> str:
        """The English name, which is the function's."""
        return self.function.__name__.replace("_", " ")

    @property
    def summary(self) -> str:
        """What the number means to a reader, in one sentence."""
        return inspect.getdoc(self.function).split("\n")[0]  # type: ignore[union-attr]

    @property
    def usage(self) -> str:
        """How it is written, with its defaults: ``RBP(p=0.8, gain='linear', rel=None, max=None)[@k]``."""
        inside = ", ".join(f"{p.name}={literal(p.default)}" for p in self.parameters.values())
        at = {"none": "", "optional": "[@k]", "required": "@k", "recall": "@recall"}[self.cutoff]
        return f"{self.symbol}{f'({inside})' if inside else ''}{at}"


CATALOGUE: dict[str, Definition] = {}


def measure(
    symbol: str,
    *,
    cite: str,
    formula: str,
    gains: GainKind = "binary",
    bounds: tuple[float, float] = (0, 1),
    aggregate: Literal["mean", "geometric", "sum"] = "mean",
    ties: TieStrategy = CLOSED_FORM,
    residual: Kernel | None = None,
    terminal: str = UNDEFINED,
    retrieved_only: bool = False,
    rewards_promotion: bool = True,
    uses_nonrelevant: bool = False,
    subtopics: bool = False,
    content: bool = False,
    preferences: bool = False,
    unused_when: tuple[tuple[str, str, Any], ...] = (),
    costs: bool = False,
    cutoff_is_cost: bool = False,
) -> Callable[[Kernel], Kernel]:
    """Enters a function into the catalogue; its keyword arguments are the measure's parameters."""

    def enter(function: Kernel) -> Kernel:
        for name in _keywords(function):
            if name not in function.__annotations__:
                raise ValueError(
                    f"{function.__name__}: the parameter `{name}` needs a type, as in `{name}: float = 1.0`"
                )
        if symbol in CATALOGUE:
            raise ValueError(f"{symbol} is in the catalogue already")
        CATALOGUE[symbol] = Definition(
            symbol,
            function.__module__.rpartition(".")[2],
            function,
            cite,
            formula,
            gains,
            bounds,
            aggregate,
            ties,
            residual,
            terminal,
            retrieved_only,
            rewards_promotion,
            uses_nonrelevant,
            subtopics,
            content,
            preferences,
            unused_when,
            costs,
            cutoff_is_cost,
        )
        return function

    return enter


def _keywords(function: Any) -> tuple[str, ...]:
    """The names of a function's keyword arguments."""
    code = function.__code__
    names: tuple[str, ...] = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    return names


def _parameters(function: Kernel) -> dict[str, Parameter]:
    hints = get_type_hints(function, include_extras=True)
    defaults = function.__kwdefaults__ or {}
    found = {}
    for name in _keywords(function):
        default = defaults.get(name, ...)
        alternatives = [hints[name], *get_args(hints[name])]
        limit = next((a for t in alternatives if get_origin(t) is Annotated for a in get_args(t)[1:]), None)
        types = [get_args(t)[0] if get_origin(t) is Annotated else t for t in alternatives]
        choices = next((get_args(t) for t in types if get_origin(t) is Literal), ())
        kind = next((t for t in types if t in (int, float, bool)), str)
        found[name] = Parameter(name, kind, default, limit, choices, NoneType in types)
    return found


@dataclass(frozen=True)
class Measure:
    """A measure with its parameters, cut-off and views chosen; ``str`` of it parses back to it."""

    symbol: str
    parameters: tuple[tuple[str, Any], ...] = ()  # only those that differ from the default, sorted as declared
    cutoff: float | None = None
    views: Views = field(default_factory=Views)

    def __post_init__(self) -> None:
        given = dict(self.parameters)
        if self.definition.gains == "either" and not given.get("graded") and given.keys() & {"gain", "max"}:
            raise MeasureError(
                f"{self.symbol} sees only relevant or not, and has no use for a gain",
                hint=f"write {self.symbol}(graded=True, ...) to have gains counted",
            )
        if "rel" in given and given.get("gain", "binary") != "binary":
            raise MeasureError(
                f"{self.symbol}: with rel a document is relevant or not, and a gain has no use",
                hint="give one of the two",
            )
        for name, other, value in self.definition.unused_when:
            if name in given and self.chosen[other] == value:
                raise MeasureError(
                    f"{self.symbol}: {name} has no use with {other}={literal(value)}",
                    hint=f"leave {name} out, or choose another {other}",
                )
        if self.definition.preferences and self.views.ties in ("best", "worst"):
            raise MeasureError(
                f"{self.symbol}: the {self.views.ties} order of tied documents is not defined for preferences",
                hint="ties=expected is the mean over all orders",
            )
        if self.definition.content and self.views.ties in ("best", "worst"):
            raise MeasureError(
                f"{self.symbol}: what a document earns depends on all that is read before it, and nobody knows the "
                f"{self.views.ties} order",
                hint="ties=expected is the mean over all orders",
            )
        if self.views.terminal and self.definition.terminal:
            able = ", ".join(d.symbol for d in CATALOGUE.values() if not d.terminal)
            raise MeasureError(
                f"{self.symbol} has no terminal form: {self.definition.terminal}", hint=f"those that have: {able}"
            )

    @property
    def definition(self) -> Definition:
        return CATALOGUE[self.symbol]

    # Measures are looked up in every loop of every caller, and their fields hold other records.
    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.symbol, self.parameters, self.cutoff, self.views))

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={literal(value)}" for name, value in self.parameters)
        at = "" if self.cutoff is None else f"@{self.cutoff:g}"
        return f"{self.symbol}{f'({inside})' if inside else ''}{at}{self.views}"

    def __getstate__(self) -> dict[str, Any]:
        # What is cached holds functions, which cannot be pickled. It is computed again where it is needed.
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @property
    def rank_cutoff(self) -> int | None:
        """The cutoff, where it is the last rank that the measure looks at."""
        definition = self.definition
        is_rank = self.cutoff is not None and definition.cutoff != "recall" and not definition.cutoff_is_cost
        return int(self.cutoff) if is_rank else None  # type: ignore[arg-type]

    @cached_property
    def chosen(self) -> Mapping[str, Any]:
        """Every parameter's value, defaults included."""
        return {name: p.default for name, p in self.definition.parameters.items()} | dict(self.parameters)

    @cached_property
    def gains(self) -> Gains:
        """How this measure sees grades."""
        chosen, kind = self.chosen, self.definition.gains
        rel = chosen.get("rel")
        if kind == "grades" or kind == "none":  # whatever the measure makes of them
            return Gains("graded", rel)
        elif kind == "ideal":
            kind = "scaled"
        elif kind == "either":
            kind, rel = ("scaled", dict(self.parameters).get("rel")) if chosen["graded"] else ("binary", rel)
        return Gains(kind, rel, chosen.get("gain", "linear"), chosen.get("max"), chosen.get("min", 0.0))

    @cached_property
    def arguments(self) -> Mapping[str, Any]:
        """What the function is called with: its own parameters, not those that the gains took."""
        own = {name: value for name, value in self.chosen.items() if name in self.definition.own}
        if self.definition.cutoff == "recall":
            own["recall"] = self.cutoff
        elif self.definition.cutoff != "none":
            own["k"] = None if self.cutoff is None else int(self.cutoff)
        return own

    def values(self, rankings: Rankings, *, seed: int = 0) -> Estimate:
        """The score of every ranking, and the sampling error where orders had to be sampled."""
        # A document without gain by its highest grade may have some by another subtopic's.
        whole = self.definition.uses_nonrelevant or self.definition.subtopics or self.definition.preferences
        whole = whole or rankings.judged.costs is not None
        return self.scored(self.ordered(rankings, whole=whole), seed=seed)

    def residual(self, rankings: Rankings, *, seed: int = 0) -> Estimate:
        """How much higher each score could be if all that nobody judged or retrieved were fully relevant."""
        kernel, strategy = self.definition.residual, self.definition.ties.for_residual
        if kernel is None:
            raise MeasureError(f"{self.symbol} has no residual", hint=f"those that have: {', '.join(with_residual())}")
        if self.views.terminal:
            raise MeasureError(f"{self}: a list that ends leaves nothing open below it, and has no residual")
        return self._scoring_by(kernel, strategy).expectation(self.ordered(rankings, whole=True), seed)

    def ordered(self, rankings: Rankings, *, whole: bool = True) -> Batch:
        """A batch of rankings in this measure's gains, its ties ruled on, and cut at its depth; see `views.ordered`."""
        return ordered(rankings, self.gains, self.views, whole=whole)

    def scored(self, batch: Batch, *, seed: int = 0) -> Estimate:
        """The expected score of what `ordered` returned, or of something made of it."""
        return self._scoring.expectation(batch, seed)

    @cached_property
    def _scoring(self) -> Scoring:
        return self._scoring_by(self.definition.function, self.definition.ties)

    def _scoring_by(self, kernel: Kernel, strategy: TieStrategy) -> Scoring:
        return Scoring(
            kernel,
            self.arguments,
            strategy,
            self.views,
            bounded=self.views.terminal and self.chosen.get("ideal") == "bounded",
            cutoff=self.arguments.get("k") or NO_CUTOFF,
            retrieved_only=self.definition.retrieved_only,
        )

    def __call__(self, ranking: Iterable[Any], missed: Sequence[float] = ()) -> float:
        """The score of one ranking written as grades, best first: None is unjudged, a tuple a tie.

        >>> import cranfield as cf
        >>> round(cf.parse("AP")([1, 0, 1], missed=[1]), 6)
        0.555556
        >>> round(cf.parse("RR[ties=expected]")([(1, 0, 0)]), 6)
        0.611111
        """
        if self.definition.preferences:
            raise MeasureError(
                f"{self} needs preferences: grades alone do not say which",
                hint="use evaluate(None, run, ..., prefs=...)",
            )
        if self.definition.subtopics or self.definition.content:
            raise MeasureError(f"{self} needs to know what documents are about: grades alone do not say")
        return float(self.values(from_ranking(ranking, missed)).value[0])


def with_residual() -> Iterator[str]:
    """The measures that can say how much they leave open."""
    return (d.symbol for d in CATALOGUE.values() if d.residual is not None)
