"""Measures of your own: a function that scores one ranking becomes a measure like any other.

A function takes the grades of a ranking and returns a number. The tie rules, views, notes, tests and reports come from
the package. A measure that must be as fast as those of the catalogue is a function of a `Batch`; see
`cranfield.measures.catalogue.measure`.
"""

from __future__ import annotations

import inspect
import math
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Real
from types import FunctionType
from typing import Any, TypeVar, overload

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.errors import CranfieldError, InputError, MeasureError
from cranfield.io.columns import MAX_NUMBER
from cranfield.io.streams import open_stream
from cranfield.measures.catalogue import CATALOGUE, Aggregate, Definition, Measure, check_keywords
from cranfield.measures.ties.strategies import OverOrders
from cranfield.ranking.batch import Batch

RankingFunction = Callable[..., float]
Decorated = TypeVar("Decorated", bound=RankingFunction)

NAMING = "use `def NAME(grades)` or `@cf.measure('NAME')`, with a name of letters, digits and underscores"
SIGNATURE = "write it as `def NAME(grades)` or `def NAME(grades, judged, ids, items)`; parameters go after `*`"
OF_DOCUMENTS = ("ids", "items")  # arguments for all documents of a ranking, judged or not
UNLIMITED = -math.inf, math.inf
SHOWN = 10  # grades of a ranking that an error shows
# The attribute of a function for its definition: the same function is always the same measure.
DEFINITION = "__cranfield_measure__"


@overload
def measure(symbol: Decorated) -> Decorated: ...
@overload
def measure(
    symbol: str | None = None,
    *,
    formula: str = "",
    cite: str = "",
    bounds: tuple[float, float] = UNLIMITED,
    aggregate: Aggregate = "mean",
) -> Callable[[Decorated], Decorated]: ...
def measure(
    symbol: Any = None,
    *,
    formula: str = "",
    cite: str = "",
    bounds: tuple[float, float] = UNLIMITED,
    aggregate: Aggregate = "mean",
) -> Any:
    """Make a function of one ranking a measure with a name; a decorator, with or without arguments.

    The function is called with the grades of a ranking, best first, as an array; unjudged documents are NaN. If it has
    a second argument, it also gets the grades of all judged documents of the query, highest first. Arguments called
    ``ids`` and ``items`` get the ids of the ranking's documents, and ``{attribute: values}`` of them, for the items of
    the collection. It returns a number, or NaN if the measure is undefined for this ranking. Keyword arguments after
    ``*`` are the parameters of the measure; ``k`` is its cutoff.

    Parameters
    ----------
    symbol
        The name, by default that of the function.
    formula, cite
        For ``cranfield show``; ``cite`` has keys of the bundled bibliography.
    bounds
        The lowest and highest score.
    aggregate
        How the scores of queries are summarised.

    Returns
    -------
    The function itself, which is in the catalogue of measures from then on.

    Examples
    --------
    >>> import cranfield as cf
    >>> @cf.measure("Found")
    ... def found_in_first(grades, *, k: int = 10, level: float = 1):
    ...     return (grades[:k] >= level).sum()
    >>> cf.parse("Found(level=2)@3")([2, 0, 1, 2])
    1.0
    >>> del cf.measures.CATALOGUE["Found"]
    """
    if callable(symbol):
        return measure()(symbol)

    def add(function: Decorated) -> Decorated:
        definition = _define(function, symbol, formula=formula, cite=cite, bounds=bounds, aggregate=aggregate)
        CATALOGUE[definition.symbol] = definition
        return function

    return add


def measure_of(function: Any) -> Measure:
    """The measure of a function, which need not be in the catalogue; its name is that of the function."""
    # Other objects have no attributes of their own: a method shares those of its class.
    definition: Definition | None = getattr(function, DEFINITION, None) if isinstance(function, FunctionType) else None
    if definition is None:
        definition = _define(function, formula="", cite="", bounds=UNLIMITED)
    if definition.cutoff == "required":
        raise MeasureError(
            f"{definition.symbol} needs a cutoff, and a function alone has none",
            hint="give k a default, as in `k: int = 10`",
        )
    return Measure(definition.symbol, own=definition)


def _define(function: Any, symbol: str | None = None, **facts: Any) -> Definition:
    """The definition of a function's measure; raises if the name cannot be used, or the function does not fit."""
    name = getattr(function, "__name__", "") if symbol is None else symbol
    if not isinstance(name, str) or not re.fullmatch(r"[^\W\d]\w*", name):
        kind = "a lambda" if name == "<lambda>" else f"an object of type {type(function).__name__}"
        raise MeasureError(
            f"{kind} has no name" if symbol is None else f"{name!r} cannot be the name of a measure", hint=NAMING
        )
    takes = _arguments(function, name)
    check_keywords(function)
    present = CATALOGUE.get(name)
    if present is not None and not present.is_own:  # a user may define a measure again
        raise MeasureError(
            f"{name} is already a measure of the catalogue", hint="choose another name, as in @cf.measure('NAME')"
        )
    facts.update(ties=OverOrders(), rewards_promotion=False, uses_nonrelevant=True)
    facts.update(retrieved_only="judged" not in takes, documents=not {*OF_DOCUMENTS}.isdisjoint(takes))
    kernel = RankingKernel(function, name, takes)
    definition = Definition(name, "own measures", kernel, gains="none", of_ranking=function, **facts)
    if isinstance(function, FunctionType):
        setattr(function, DEFINITION, definition)
    return definition


def _arguments(function: Any, name: str) -> tuple[str, ...]:
    """What a function gets after the grades: ``judged``, ``ids``, ``items``; raises if it does not fit."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # functions in C need not have a signature
        return ()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p.name for p in positional if p.default is p.empty]
    optional = ("judged", *OF_DOCUMENTS)
    misplaced = [p.name for p in positional[1:] if p.default is not p.empty and p.name not in optional]
    without_default = [
        p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty and p.name != "k"
    ]
    if misplaced:
        raise MeasureError(f"{name}: the parameter `{misplaced[0]}` must stand after `*`", hint=SIGNATURE)
    if without_default:
        raise MeasureError(f"{name}: the parameter `{without_default[0]}` needs a default", hint=SIGNATURE)
    if not positional and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        raise MeasureError(f"{name} takes no arguments, expected the grades of a ranking", hint=SIGNATURE)
    if len([p for p in required[1:] if p not in OF_DOCUMENTS]) > 1:
        raise MeasureError(
            f"{name} needs {len(required)} arguments ({', '.join(required)}), expected one or two", hint=SIGNATURE
        )
    return tuple(p.name if p.name in OF_DOCUMENTS else "judged" for p in positional[1:])


class RankingKernel:
    """A kernel that calls a function for each ranking of a batch without ties."""

    def __init__(self, function: RankingFunction, name: str, takes: tuple[str, ...]) -> None:
        self.function, self.name, self.takes = function, name, takes
        self.__name__ = getattr(function, "__name__", name)
        self.__doc__ = (inspect.getdoc(function) or "") if hasattr(function, "__code__") else ""

    def __call__(self, b: Batch, **parameters: Any) -> Floats:
        grades = np.full((len(b.length), int(b.length.max(initial=0))), np.nan)
        row, column = np.nonzero(b.judged & (b.start < b.length[:, None]))
        # Gains are grades here; a document that is relevant only by assumption has a gain alone.
        grades[row, b.start[row, column]] = b.gain[row, column]
        rows = np.full(grades.shape, -1)
        if b.shown is not None:
            row, column = np.nonzero(~np.isnan(b.grade) & (b.start < b.length[:, None]))
            rows[row, b.start[row, column]] = b.document[row, column]
        values = np.empty(len(grades))
        with warnings.catch_warnings():
            # The mean of no documents is an undefined score.
            warnings.simplefilter("ignore", RuntimeWarning)
            for q, length in enumerate(b.length.tolist()):
                arguments: list[Any] = [grades[q, :length]]
                arguments += [_given(b, q, rows[q, :length], name) for name in self.takes]
                values[q] = _call(self.function, self.name, arguments, parameters)
        return values


def _given(b: Batch, q: int, rows: Integers, name: str) -> Any:
    """An argument of a function for query q, whose documents are these rows."""
    if name == "judged" or b.shown is None:
        return _judged(b, q)
    if name == "ids":
        return np.array([b.shown.ids[row] for row in rows.tolist()], object)
    if b.shown.items is None:
        raise MeasureError("a measure of items needs attributes of documents", hint="give items= of a Collection")
    items = b.shown.row[rows].tolist()
    columns = b.shown.items.attributes.items()
    return {name: np.array([None if i < 0 else values[i] for i in items]) for name, values in columns}


def _judged(b: Batch, q: int) -> Floats:
    """The grades of all judged documents of a query, highest first."""
    relevant = b.ideal[q][b.ideal[q] > 0]
    assumed = np.full(max(int(b.R[q]) - len(relevant), 0), b.top)
    return np.concatenate([np.sort(np.append(relevant, assumed))[::-1], np.zeros(int(b.N[q]))])


def _call(function: RankingFunction, name: str, arguments: list[Any], parameters: dict[str, Any]) -> float:
    shown = arguments[0].copy()
    try:
        with np.errstate(divide="ignore", invalid="ignore"):  # 0/0 is an undefined score
            value: Any = function(*arguments, **parameters)
    except Exception as error:
        file = getattr(getattr(function, "__code__", None), "co_filename", None)
        line = _line(error, file)
        where = f" ({file}{line})" if line else ""
        raise MeasureError(
            f"{name} raised {type(error).__name__}: {error}{where}, for the grades {_listed(shown)}"
        ) from error
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    is_number = isinstance(value, (Real, np.bool_))
    if not is_number or abs(value) > MAX_NUMBER:
        # Python does not write whole numbers of any length.
        returned = f"a number of {value.bit_length()} bits" if isinstance(value, int) else repr(value)
        large = f" up to {MAX_NUMBER:g}" if is_number and abs(value) < math.inf else ""
        raise MeasureError(
            f"{name} returned {returned} for the grades {_listed(shown)}, expected a number{large}",
            hint="return a finite number, or NaN if the measure is undefined",
        )
    return float(value)


def _line(error: BaseException, file: str | None) -> str:
    """``:LINE``, the last line of the file in which an error was raised, if there is one."""
    import traceback

    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f":{lines[-1]}" if lines else ""


def _listed(grades: Floats) -> str:
    more = ", ..." if len(grades) > SHOWN else ""
    return f"[{', '.join(f'{grade:g}' for grade in grades[:SHOWN])}{more}]"


HINT = "a measure is a function under `@cf.measure`; see the page on your own measures"


@contextmanager
def load_measures(path: str) -> Iterator[list[str]]:
    """Run a file and yield the symbols of the measures that it defines; afterwards remove them from the catalogue."""
    before = set(CATALOGUE)
    try:
        _run(path)
        symbols = [symbol for symbol in CATALOGUE if symbol not in before]
        if not symbols:
            raise InputError([f"{path}: defines no measure"], hint=HINT)
        yield symbols
    finally:
        for symbol in set(CATALOGUE) - before:
            del CATALOGUE[symbol]


def _run(path: str) -> None:
    from pathlib import Path

    file, source = Path(path), open_stream(path, "measures").read()
    try:
        exec(compile(source, path, "exec"), {"__name__": file.stem, "__file__": path})
    except SyntaxError as error:
        line = f":{error.lineno}" if error.lineno else ""
        raise InputError([f"{error.filename or path}{line}: {type(error).__name__}: {error.msg}"]) from error
    except (Exception, SystemExit) as error:
        text = error.message if isinstance(error, CranfieldError) else f"{type(error).__name__}: {error}"
        raise InputError([f"{path}{_line(error, path)}: {text}"], hint=getattr(error, "hint", "")) from error
