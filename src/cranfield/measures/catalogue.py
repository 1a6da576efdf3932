"""The catalogue of measures: the parser, the command line and the docs read measures and their parameters here."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from typing import Annotated, Any, Literal, NamedTuple, get_type_hints

import numpy as np

from cranfield.data import Booleans
from cranfield.errors import MeasureError
from cranfield.io.columns import MAX_NUMBER
from cranfield.measures.ties.strategies import (
    FULL,
    NO_CUTOFF,
    ClosedForm,
    Effort,
    Estimate,
    Kernel,
    OverCuts,
    Scoring,
    TieStrategy,
)
from cranfield.ranking.batch import Batch
from cranfield.ranking.rankings import Rankings, expanded, from_ranking
from cranfield.ranking.tie_rules import Arrangement
from cranfield.ranking.views import Gains, Views, judge_all, ordered, with_every_document
from cranfield.settings import Choice, Limits, OneOf, Scalar, Type, check, declared, expected, fits, walk

Cutoff = Literal["none", "optional", "required", "recall"]
# How the values of queries are aggregated. ``credit``: the mean, in which an undefined value counts as the share that
# the sum of the defined values has of all queries (c@1).
Aggregate = Literal["mean", "geometric", "sum", "credit", "error"]

Better = Literal["higher", "lower"]
OUTSIDE = "elsewhere"  # the family of measures that another program computed

# Why a measure has no terminal form.
UNDEFINED = "it has not been defined"
FIXED = "its divisor is fixed, so that an empty ranking always scores 0"
UNORDERED = "it ignores the order of documents, and a terminal document has a rank"
UNBOUNDED = "it has no ideal ranking, to which a terminal document could be added"
TERMINAL = ""
CLOSED_FORM = ClosedForm()


@dataclass(eq=False, repr=False)
class Definition:
    """A measure of the catalogue, before parameters are chosen."""

    symbol: str
    family: str
    function: Kernel
    cite: str
    formula: str
    gains: GainKind = "binary"
    bounds: tuple[float, float] = (0, 1)
    aggregate: Aggregate = "mean"
    ties: TieStrategy = CLOSED_FORM  # how to compute the expectation over the orders of tied documents
    residual: Kernel | None = None
    terminal: str = UNDEFINED  # why it has no terminal form; empty if it has one
    retrieved_only: bool = False  # depends only on the documents retrieved
    rewards_promotion: bool = True  # moving a better document up never lowers the score
    punishes_promotion: bool = False  # moving a better document up, or a judged one above others, never raises it
    uses_nonrelevant: bool = False  # depends on judged non-relevant documents
    subtopics: bool = False  # needs judgments by subtopic
    content: bool = False  # uses document text, and needs a corpus
    preferences: bool = False  # needs preferences between documents instead of grades
    spans: bool = False  # needs judgments of passages
    unused_when: tuple[tuple[str, str, Any], ...] = ()  # (p, q, x): parameter p is unused when q is x
    costs: bool = False  # reads what documents cost, where that is given
    cutoff_is_cost: bool = False  # its cutoff k is a cost, and not a rank
    collection: bool = False  # a document judged for any query counts as judged
    documents: bool = False  # needs the ids or attributes of all documents, judged or not
    sampled: bool = False  # estimates a score from judgments of a sample of documents
    linear: bool = False  # a sum over documents of gain times a weight that depends on the rank alone; retrieved_only
    probabilities: bool = False  # gains are probabilities, so that a grade above ``max`` is an error
    lower_is_better: bool = False
    neutral: bool = False  # neither higher nor lower values are better
    of_ranking: Callable[..., float] | None = None  # the user's function of one ranking, which `function` calls

    # Lazy, because reading signatures is slow, and most measures are not used.
    @cached_property
    def _declared(self) -> dict[str, Parameter]:
        return _parameters(self.of_ranking or self.function)

    @property
    def by_document(self) -> bool:
        """Whether documents of equal gain differ: in ids, subtopics, text, preferences, or how they were sampled."""
        if self.documents and self.gains != "attribute":
            return True
        return self.subtopics or self.content or self.preferences or self.sampled

    @property
    def is_own(self) -> bool:
        """Whether a user defined it; other processes do not know such a definition, so that measures carry it."""
        return self.of_ranking is not None or not self.function.__module__.startswith("cranfield.")

    @cached_property
    def reads(self) -> Any:
        """The type of its first argument: with `GainSums` or `Preferences`, it also scores `Completions`."""
        if self.of_ranking is not None:
            return Batch
        return get_type_hints(self.function).get(self.function.__code__.co_varnames[0])

    @cached_property
    def own(self) -> dict[str, Parameter]:
        """The parameters of the function itself, without the cutoff."""
        return {name: p for name, p in self._declared.items() if name not in ("k", "recall")}

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """All parameters, including those of its gains."""
        return self.own | {p.name: p for p in SHARED[self.gains] if p.name not in self.own}

    @cached_property
    def cutoff(self) -> Cutoff:
        """Whether the measure takes a cutoff at a rank or at a recall level."""
        if "recall" in self._declared:
            return "recall"
        at = self._declared.get("k")
        return "none" if at is None else "required" if at.default is ... else "optional"

    @property
    def default_cutoff(self) -> int | None:
        """The cutoff of a name without one, where the function has a number as the default of ``k``."""
        at = self._declared.get("k")
        return at.default if at is not None and isinstance(at.default, int) else None

    @property
    def title(self) -> str:
        """The English name, which is the name of the function."""
        return self.function.__name__.replace("_", " ")

    @property
    def summary(self) -> str:
        """What the number means to a reader, in one sentence."""
        return (inspect.getdoc(self.function) or "").split("\n")[0]

    @property
    def usage(self) -> str:
        """The syntax with all defaults: ``RBP(p=0.8, gain='linear', rel=None, max=None)[@k]``."""
        defaults = {p.name: "NAME" if p.default is ... else literal(p.default) for p in self.parameters.values()}
        inside = ", ".join(f"{name}={default}" for name, default in defaults.items())
        at = {"none": "", "optional": "[@k]", "required": "@k", "recall": "@recall"}[self.cutoff]
        return f"{self.symbol}{f'({inside})' if inside else ''}{at}"


CATALOGUE: dict[str, Definition] = {}


def measure(symbol: str, *, cite: str, formula: str, **facts: Any) -> Callable[[Kernel], Kernel]:
    """Add a function to the catalogue; its keyword arguments are the parameters of the measure.

    ``facts`` are the fields of `Definition`.
    """

    def add(function: Kernel) -> Kernel:
        check_keywords(function)
        if symbol in CATALOGUE:
            raise ValueError(f"{symbol} is in the catalogue already")
        family = function.__module__.rpartition(".")[2]
        retrieved_only = {"retrieved_only": facts.get("linear", False)}
        CATALOGUE[symbol] = Definition(symbol, family, function, cite, formula, **retrieved_only | facts)
        return function

    return add


def check_keywords(function: Any) -> None:
    """Raise if a parameter has no type."""
    for name in _keywords(function):
        if name not in function.__annotations__:
            example = "k: int = 10" if name == "k" else f"{name}: float = 1.0"
            raise MeasureError(f"{function.__name__}: the parameter `{name}` needs a type, as in `{example}`")


def _keywords(function: Any) -> tuple[str, ...]:
    """The names of a function's keyword arguments; objects that are no Python functions have none."""
    code = getattr(function, "__code__", None)
    if code is None:
        return ()
    names: tuple[str, ...] = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    return names


def _parameters(function: Any) -> dict[str, Parameter]:
    names = _keywords(function)
    fields = declared(function) if names else {}
    return {name: Parameter(name, _one_type(fields[name].type), fields[name].default) for name in names}


def _one_type(kind: Type) -> Type:
    """The type of a parameter that can be written in a name: the first that is a number, text, flag or choice."""
    types = kind.types if isinstance(kind, OneOf) else (kind,)
    first = next((item for item in types if isinstance(item, Scalar | Choice)), Scalar(float))
    return replace(first, optional=kind.optional)


@dataclass(frozen=True)
class Measure:
    """A measure with parameters, cutoff and views; ``parse(str(measure))`` is an equal measure."""

    symbol: str
    parameters: tuple[tuple[str, Any], ...] = ()  # only those that differ from the default, sorted as declared
    cutoff: float | None = None
    views: Views = field(default_factory=Views)
    own: Definition | None = field(default=None, repr=False)  # of a measure that a user defined

    def __post_init__(self) -> None:
        given = dict(self.parameters)
        if self.definition.gains == "either" and not given.get("graded") and given.keys() & {"gain", "max"}:
            raise MeasureError(
                f"{self.symbol} is binary and does not use gains",
                hint=f"write {self.symbol}(graded=True, ...) to use gains",
            )
        if "rel" in given and given.get("gain", "binary") != "binary":
            raise MeasureError(
                f"{self.symbol}: rel makes relevance binary, so that gain has no effect", hint="give either rel or gain"
            )
        for name, other, value in self.definition.unused_when:
            if name in given and self.chosen[other] == value:
                raise MeasureError(
                    f"{self.symbol}: {name} has no effect with {other}={literal(value)}",
                    hint=f"omit {name}, or choose another {other}",
                )
        if self.views.sampled:
            self._check_estimated()
        if self.views.terminal and self.definition.terminal:
            symbols = ", ".join(d.symbol for d in CATALOGUE.values() if not d.terminal)
            raise MeasureError(
                f"{self.symbol} has no terminal form: {self.definition.terminal}",
                hint=f"measures with a terminal form: {symbols}",
            )
        if self.views.terminal and self.chosen.get("R") == "retrieved":
            raise MeasureError(
                f"{self.symbol}(R='retrieved') has no terminal form: its ideal ranking has all judged documents",
                hint="leave out R or terminal",
            )

    def _check_estimated(self) -> None:
        """Raise if the score cannot be estimated from a sample by expanding gains."""
        if not self.definition.linear:
            symbols = ", ".join(d.symbol for d in CATALOGUE.values() if d.linear)
            raise MeasureError(
                f"{self.symbol} has no estimate from a sample: it is not linear in the gains of documents",
                hint=f"measures that are: {symbols}; estimates of their own are xinfAP, infnDCG and statAP",
            )
        if self.views.condensed or self.views.terminal:
            raise MeasureError(f"{self.symbol}: sampled cannot be combined with condensed or terminal")

    @property
    def definition(self) -> Definition:
        return CATALOGUE[self.symbol] if self.own is None else self.own

    # Cached, because measures are keys in many loops.
    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.symbol, self.parameters, self.cutoff, self.views, self.own))

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={literal(value)}" for name, value in self.parameters)
        at = "" if self.cutoff is None else f"@{self.cutoff:g}"
        return f"{self.symbol}{f'({inside})' if inside else ''}{at}{self.views}"

    def __getstate__(self) -> dict[str, Any]:
        # Without cached properties: these hold functions, which cannot be pickled.
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @property
    def rank_cutoff(self) -> int | None:
        """The cutoff, where it is the last rank that the measure looks at."""
        definition = self.definition
        cutoff = definition.default_cutoff if self.cutoff is None else self.cutoff
        is_rank = cutoff is not None and definition.cutoff != "recall" and not definition.cutoff_is_cost
        return int(cutoff) if is_rank else None  # type: ignore[arg-type]

    @cached_property
    def chosen(self) -> Mapping[str, Any]:
        """The values of all parameters, including defaults."""
        return {name: p.default for name, p in self.definition.parameters.items()} | dict(self.parameters)

    @cached_property
    def gains(self) -> Gains:
        """How this measure maps grades to gains."""
        chosen, kind = self.chosen, self.definition.gains
        rel = chosen.get("rel")
        if kind == "attribute":
            return Gains(attribute=(chosen["of"], chosen["missing"]))
        if kind == "grades" or self.definition.preferences or self.definition.of_ranking:  # it maps grades itself
            return Gains("graded", rel)
        elif kind == "none":  # binary gains tell the fewest documents of a tie apart
            return Gains("binary")
        elif kind == "ideal":
            # Liu et al., eq 3, uses gains as they are; without a terminal document, scaling changes nothing.
            kind = "graded" if self.views.terminal and chosen["max"] is None else "scaled"
        elif kind == "either":
            kind, rel = ("scaled", dict(self.parameters).get("rel")) if chosen["graded"] else ("binary", rel)
        return Gains(kind, rel, chosen.get("gain", "linear"), chosen.get("max"), chosen.get("min", 0.0))

    @property
    def level(self) -> float | None:
        """The lowest relevant grade; None if the measure does not tell relevant from other documents."""
        return self.gains.level if "rel" in self.definition.parameters else None

    def at_level(self, rel: float) -> Measure:
        """The measure with this lowest relevant grade, if its gains are binary and it does not name its own."""
        given, declared = dict(self.parameters), self.definition.parameters
        if "rel" in given or self.level in (None, rel):
            return self
        given["rel"] = rel
        return replace(self, parameters=tuple((name, given[name]) for name in declared if name in given))

    @property
    def binary_gains(self) -> bool:
        """Whether gains are 0 and 1, whatever the grades."""
        return self.gains.kind == "binary" or self.gains.rel is not None or self.gains.gain == "binary"

    def highest_gain(self, top: float) -> float:
        """The highest gain of any grade up to ``top``: that of the top grade, unless a map gives more to another."""
        gain = self.gains.gain
        mapped = [grade for grade, _ in gain if grade <= top] if isinstance(gain, tuple) else []
        return float(self.gains.of(np.array([top, *mapped]), top).max())

    @cached_property
    def arguments(self) -> Mapping[str, Any]:
        """The keyword arguments of the function; parameters of the gains are not among them."""
        own = {name: value for name, value in self.chosen.items() if name in self.definition.own}
        if self.definition.cutoff == "recall":
            own["recall"] = self.cutoff
        elif self.definition.cutoff != "none":
            own["k"] = self.definition.default_cutoff if self.cutoff is None else int(self.cutoff)
        return own

    @cached_property
    def needs_all_documents(self) -> bool:
        # With subtopics, a document without gain for its highest grade may have a gain for another subtopic.
        definition = self.definition
        return definition.uses_nonrelevant or definition.subtopics or definition.preferences

    def values(self, rankings: Rankings, *, seed: int = 0, effort: Effort = FULL) -> Estimate:
        """The score of each ranking, and its standard error if orders of tied documents were sampled.

        ``effort``: how many orders are tried for their highest or lowest score.
        """
        estimate = self.scoring.expectation(self.prepared(rankings), seed)
        if self.views.rule.limit is None or not rankings.tied:
            return estimate
        return self._limit_over_orders(rankings, estimate, seed, effort)

    @cached_property
    def limit_order(self) -> Arrangement | None:
        """The order of ties that has the highest or lowest score; None if orders must be searched."""
        rule, definition = self.views.rule, self.definition
        if rule.limit is None or definition.by_document:
            return None
        if definition.punishes_promotion:
            return self._opposite.views.rule.arrange
        by_set = isinstance(definition.ties, OverCuts) and definition.ties.rewards_promotion
        return rule.arrange if by_set or definition.rewards_promotion else None

    @property
    def last_rank_of_order(self) -> int | None:
        """The rank below which the order of documents has no effect; None without one.

        It is the cutoff, unless a list is condensed before it is cut, or the order decides what a depth leaves.
        """
        return None if self.views.condensed or self.views.depth is not None else self.rank_cutoff

    @cached_property
    def orders_nonrelevant(self) -> bool:
        """Whether the order of documents without gain, judged or not, may change the score."""
        views, definition, gain = self.views, self.definition, self.gains.gain
        if definition.by_document or definition.spans or definition.costs:
            return True
        if views.depth is not None and (views.condensed or views.terminal or definition.uses_nonrelevant):
            return True
        # bpref counts the non-relevant documents above a relevant one, whatever their order.
        preference = definition.rewards_promotion and not definition.retrieved_only
        gains = isinstance(gain, tuple) and any(grade <= 0 < value for grade, value in gain)
        return gains or (definition.uses_nonrelevant and not preference)

    @property
    def _opposite(self) -> Measure:
        """The measure with the lowest score over orders for the highest one, or the reverse."""
        return replace(self, views=replace(self.views, ties="worst" if self.views.ties == "best" else "best"))

    def _limit_over_orders(self, rankings: Rankings, by_gain: Estimate, seed: int, effort: Effort) -> Estimate:
        """The highest or lowest scores over all orders of ties, from the scores in the order of gains."""
        needs_search = self._needs_search(rankings)
        if needs_search is None or not needs_search.any():
            return by_gain
        rows = np.flatnonzero(np.bincount(rankings.row[needs_search]))
        rankings = rankings.rankings(rows)
        batch = replace(self, views=replace(self.views, ties="expected")).prepared(rankings)
        if not self.definition.by_document and not self.definition.spans:
            batch = batch.changed(subtopics=None, reading=None, judged_pairs=None)
        estimate = self.scoring._replace(effort=effort).expectation(batch, seed)
        if estimate.error is not None:  # not all orders were tried: those of gains are two more
            opposite = self._opposite.scoring.expectation(self._opposite.prepared(rankings), seed).value
            tried = np.stack([estimate.value, by_gain.value[rows], opposite])
            tried[0] = np.where(np.isnan(estimate.value) & (estimate.error > 0), tried[1], estimate.value)
            assert self.views.rule.limit is not None
            ends = self.views.rule.limit.reduce(np.nan_to_num(tried))
            estimate.value = np.where(np.isnan(tried).all(axis=0), np.nan, ends)
        return Estimate.joined(len(by_gain.value), [(slice(None), by_gain), (rows, estimate)])

    def _needs_search(self, rankings: Rankings) -> Booleans | None:
        """The tied documents for which the order of gains may not have the highest or lowest score; None for none."""
        views, definition = self.views, self.definition
        order_suffices = (
            self.limit_order is not None and not isinstance(definition.ties, OverCuts) and not views.sampled
        )
        if not order_suffices or rankings.judged.costs is not None:
            last = self.last_rank_of_order or views.depth
            tied = rankings.size > 1
            return tied if last is None or rankings.judged.costs is not None else tied & (rankings.start < last)
        nil_matters = (views.terminal or definition.ties.nil_matters) and rankings.judged.nil is not None
        nil = (rankings.size > 1) & rankings.nil if nil_matters else None
        # If it depends on documents retrieved alone, a better one in the place of the last never lowers the score.
        rising = definition.retrieved_only and definition.rewards_promotion
        if views.depth is None or (rising and not views.condensed and not views.terminal):
            return nil
        across = (rankings.start < views.depth) & (rankings.start + rankings.size > views.depth)
        return across if nil is None else across | nil

    def prepared(self, rankings: Rankings) -> Batch:
        """The rankings as `values` scores them, before they are condensed and terminated."""
        all_documents = self.needs_all_documents or rankings.judged.costs is not None
        batch = self.ordered(rankings, all_documents=all_documents)
        if self.views.sampled:
            batch = expanded(rankings, batch)
        return rankings.with_pool(batch) if self.definition.sampled else batch

    def residual(self, rankings: Rankings, *, seed: int = 0) -> Estimate:
        """The increase of each score if all unjudged documents and all ranks below the end had full gain."""
        # With ties=best and ties=worst, the residual is that of the order of gains.
        kernel, strategy = self.definition.residual, self.definition.ties.for_residual
        if kernel is None:
            symbols = ", ".join(with_residual())
            raise MeasureError(f"{self.symbol} has no residual", hint=f"measures with a residual: {symbols}")
        if self.views.terminal:
            raise MeasureError(f"{self} has no residual: a terminated ranking has no unknown ranks below its end")
        return self._scoring_by(kernel, strategy).expectation(self.ordered(rankings, all_documents=True), seed)

    def ordered(self, rankings: Rankings, *, all_documents: bool = True) -> Batch:
        """The rankings with the gains of this measure, tie rule and depth applied; see `views.ordered`."""
        if self.definition.probabilities:
            self._check_probabilities(rankings)
        batch = ordered(rankings, self.gains, self.views, all_documents=all_documents, arrange=self.limit_order)
        # Every chunk is judged, and documents with ids have grades already.
        if not rankings.judged.complete or self.definition.spans or self.definition.documents:
            return batch
        # A subtopic has no gain from a document without a judgment; it matters only where unjudged ones are removed.
        by_subtopic = self.definition.subtopics
        if self.views.condensed or (all_documents and not by_subtopic):
            batch = judge_all(with_every_document(batch, subtopics=by_subtopic), relevant=False)
        return batch

    def _check_probabilities(self, rankings: Rankings) -> None:
        """Raise if a grade is above ``max``, or a map has gains above 1."""
        judged, pool = rankings.judged, rankings.pool.document
        top = judged.top if judged.subtopics is None or not self.definition.subtopics else judged.subtopics.top
        limit = self.chosen.get("max")
        if limit is not None and top > limit and (self.gains.rel is None or self.definition.subtopics):
            raise MeasureError(
                f"{self}: grade {top:g} is above max={limit:g}, and gains must be probabilities",
                hint=f"choose max={top:g} or more, or leave it out",
            )
        if self.gains.kind == "scaled" and (highest := judged.gain(self.gains)[pool].max(initial=0)) > 1:
            raise MeasureError(
                f"{self}: a gain of {highest:g} is above 1, and gains must be probabilities",
                hint="give each grade of the judgments a gain of at most 1, or choose max",
            )

    def scored(self, batch: Batch, *, seed: int = 0) -> Estimate:
        """The expected scores of a batch from `ordered`, or of one derived from it."""
        return self.scoring.expectation(batch, seed)

    @cached_property
    def scoring(self) -> Scoring:
        """The function of this measure with all that its tie strategy needs."""
        return self._scoring_by(self.definition.function, self.definition.ties)

    def _scoring_by(self, kernel: Kernel, strategy: TieStrategy) -> Scoring:
        return Scoring(
            kernel,
            self.arguments,
            strategy,
            self.views,
            bounded=self.views.terminal and self.chosen.get("ideal") == "bounded",
            cutoff=self.rank_cutoff or NO_CUTOFF,
            retrieved_only=self.definition.retrieved_only,
            arrange=self.limit_order if kernel is self.definition.function else None,
        )

    def __call__(self, ranking: Iterable[Any], missed: Sequence[float] = ()) -> float:
        """The score of a ranking given as grades, best first; None means unjudged, a tuple is a tie.

        >>> import cranfield as cf
        >>> round(cf.parse("AP")([1, 0, 1], missed=[1]), 6)
        0.555556
        >>> round(cf.parse("RR[ties=expected]")([(1, 0, 0)]), 6)
        0.611111
        """
        if self.definition.preferences:
            raise MeasureError(
                f"{self} needs preferences between documents, not grades",
                hint="use evaluate(Collection(prefs=...), run, ...)",
            )
        definition = self.definition
        if definition.subtopics or definition.content or definition.spans or definition.documents:
            raise MeasureError(f"{self} cannot be computed from grades alone: it needs documents or subtopics")
        return float(self.values(from_ranking(ranking, missed)).value[0])


def _from_elsewhere(_: Any) -> Any:
    raise MeasureError("a measure of another program cannot be computed here; give its scores")


@cache
def outside_measure(name: str, better: Better = "higher") -> Measure:
    """A measure that another program computed: any text is its name, and its values have no bounds."""
    facts: dict[str, Any] = {"gains": "none", "bounds": (-np.inf, np.inf), "lower_is_better": better == "lower"}
    return Measure(name, own=Definition(name, OUTSIDE, _from_elsewhere, "", "", **facts))


def with_residual() -> Iterator[str]:
    """The symbols of the measures with a residual."""
    return (d.symbol for d in CATALOGUE.values() if d.residual is not None)


# Parameters of measures: their types and ranges, and the parameters that all measures of a kind share.

GainKind = Literal["binary", "graded", "grades", "scaled", "either", "ideal", "none", "attribute"]


Rank = Annotated[int, Limits(1, 10_000_000)]  # weights are tabulated for every rank down to the cutoff
LEAST = 1e-6  # smaller parameters overflow when they are squared or inverted, and mean nothing
Positive = Annotated[float, Limits(LEAST, 1e6)]
Value = Annotated[float, Limits(-MAX_NUMBER, MAX_NUMBER)]
UpToOne = Annotated[float, Limits(LEAST, 1)]


class Parameter(NamedTuple):
    """One parameter of a measure, as its function's signature declares it."""

    name: str
    type: Type
    default: Any

    def check(self, value: Any, where: str) -> Any:
        """The value, converted to the type of the parameter; raises if it is not allowed."""
        is_whole = isinstance(value, float) and value.is_integer() and getattr(self.type, "python", None) is int
        return check(self.type, f"{where}: {self.name}", int(value) if is_whole else value, MeasureError)


class GainParameter(Parameter):
    """``gain=``: the mapping from grades to gains, as a name or as ``{grade: gain}``."""

    def check(self, value: Any, where: str) -> Any:
        given = value
        if isinstance(value, dict):
            value = tuple(value.items())
        if isinstance(value, tuple) and value and all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
            flat = [number for pair in value for number in pair]
            numbers = all(isinstance(n, (int, float)) and not isinstance(n, bool) and math.isfinite(n) for n in flat)
            if numbers and min(gain for _, gain in value) < 0:
                raise MeasureError(f"{where}: a gain must not be negative")
            if numbers and max(gain for _, gain in value) > MAX_NUMBER:
                raise MeasureError(f"{where}: a gain must be at most {MAX_NUMBER:g}")
            if numbers:
                return tuple(sorted((float(grade), float(gain)) for grade, gain in value))
        elif fits(self.type, value):
            return value
        raise MeasureError(
            f"{where}: gain must be {expected(self.type)} or a map such as {{1: 0.5, 2: 1}}, not {given!r}"
        )


# Parameters that all measures of a kind share. They determine the gains of a batch, which is all that kernels see.
Level = Annotated[float, Limits(0, ends="(]")]
REL = Parameter("rel", walk(Level), 1.0)
GRADED_REL = Parameter("rel", walk(Level | None), None)
GAIN = GainParameter("gain", walk(Literal["linear", "exp", "binary"]), "linear")
MAX = Parameter("max", walk(Annotated[float | None, Limits(1 / MAX_NUMBER, MAX_NUMBER)]), None)
MIN = Parameter("min", walk(Annotated[float, Limits(0)]), 0.0)
IDEAL = Parameter("ideal", walk(Literal["paper", "bounded"]), "paper")
SHARED: dict[GainKind, tuple[Parameter, ...]] = {
    "binary": (REL,),
    "graded": (GAIN, GRADED_REL),
    "grades": (GRADED_REL,),  # the measure maps grades to gains itself
    "scaled": (GAIN, GRADED_REL, MAX, MIN),
    "ideal": (GAIN, GRADED_REL, MAX, IDEAL),  # scaled, and compared with a perfect ranking
    "none": (),  # the measure does not use grades
    "attribute": (),  # an attribute of documents is their gain
    "either": (REL, Parameter("graded", walk(bool), False), GAIN, MAX),  # binary, unless graded=True
}


def literal(value: Any) -> str:
    """A value as written in the name of a measure."""
    if isinstance(value, tuple):
        return "{" + ", ".join(f"{literal(a)}: {literal(b)}" for a, b in value) + "}"
    is_integer = isinstance(value, float) and value.is_integer() and abs(value) < 1e16
    return str(int(value)) if is_integer else repr(value)
