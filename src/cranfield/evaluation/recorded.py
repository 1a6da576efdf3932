"""Measures as one native program: values of small runs in memory, without arrays on the way.

Most measures only use sums of gains (`GainSums`, `Preferences`) and arithmetic on their results. Such a measure's
function is called once, with an object that records these operations. The record is a program that the native core runs
for each query, straight from the dict. A function that does anything else raises `NotRecordable`, and its measure is
computed from batches, as always. Values are the same to the last bit either way.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from cranfield import native
from cranfield.data import Floats, Integers
from cranfield.errors import CranfieldError
from cranfield.evaluation.plan import Column, Queries
from cranfield.evaluation.run_scores import RunReader, check_judgments
from cranfield.io.tables import may_be_fields
from cranfield.measures.ties.strategies import ClosedForm, OverCuts, OverOrdersIfCosts
from cranfield.ranking.batch import Batch, Documents, GainSums, Preferences, Weights
from cranfield.ranking.rankings import Pool, Rankings
from cranfield.ranking.tie_rules import best, worst
from cranfield.ranking.views import Gains

# Rankings are shorter than this. Dicts with more documents and larger files are joined by several threads first.
RANKS, MOST_DOCUMENTS, MOST_BYTES = 1 << 11, 60_000, 1 << 18
# In the order of the native core.
OPERATIONS = (
    *("constant", "literal", "length", "add", "subtract", "multiply", "divide", "minimum", "maximum", "negative"),
    *("floor", "truncate", "greater", "greater_equal", "less", "less_equal", "equal", "not_equal", "choose"),
    *("gained", "cumulated", "preferences", "nonrelevant", "judged", "ideal", "first", "total"),
)
UFUNCS = {getattr(np, name): name for name in OPERATIONS if isinstance(getattr(np, name, None), np.ufunc)}
ORDERS = ("by_id", "by_input", None, best, worst)
UNDEFINED = {"skip": 0, "error": 0, "zero": 1, "one": 2}
AGGREGATES, OTHER = {"mean": 0, "sum": 1}, 2
CLOSED_FORMS = (ClosedForm, OverOrdersIfCosts)  # costs are never recorded


class NotRecordable(Exception):
    """A measure's function asks for something that programs do not have."""


class Tape:
    """A program that is being written; equal steps are written once."""

    def __init__(self, queries: int) -> None:
        self.queries = queries
        self.steps: list[tuple[str, int, int, int, int]] = []
        self.literals: list[float] = []
        self.constants: list[Floats] = []
        self.weights: list[Weights] = []
        self.layouts: list[list[int]] = []
        self.gains: list[Gains] = []
        self._numbers: dict[Any, int] = {}

    def step(self, operation: str, a: int = 0, b: int = 0, c: int = 0, d: int = 0, literal: float = 0.0) -> int:
        """The number of a step."""
        key = operation, a, b, c, d, struct.pack("d", literal)
        if key not in self._numbers:
            self._numbers[key] = len(self.steps)
            self.steps.append((operation, a, b, c, d))
            self.literals.append(literal)
        return self._numbers[key]

    def value(self, operation: str, *operands: int, **others: int) -> Value:
        """The result of a step."""
        return Value(self, self.step(operation, *operands, **others))

    def number(self, value: Any) -> int:
        """The step that has this value: a recorded one, a number, or an array with one for each query."""
        if isinstance(value, Value):
            return value.number
        if isinstance(value, (int, float, np.number, np.bool_)):
            return self.step("literal", literal=float(value))
        is_array = isinstance(value, np.ndarray) and value.dtype.kind in "biuf"
        if not is_array or value.shape not in ((), (self.queries,)):
            raise NotRecordable(f"a value of type {type(value).__name__}")
        column = np.ascontiguousarray(value, np.float64)
        if column.ndim == 0 or column.tobytes() == column[:1].tobytes() * len(column):
            return self.step("literal", literal=float(column.flat[0]))
        key = "constant", column.tobytes()
        if key not in self._numbers:
            self._numbers[key] = len(self.constants)
            self.constants.append(column)
        return self.step("constant", self._numbers[key])


class Value(np.lib.mixins.NDArrayOperatorsMixin):
    """A number for each query that is not known yet; arithmetic with it is recorded."""

    def __init__(self, tape: Tape, number: int) -> None:
        self.tape, self.number = tape, number

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Value:
        if method != "__call__" or options or ufunc not in UFUNCS:
            raise NotRecordable(f"{ufunc.__name__}.{method}")
        # Truth values have an arithmetic of their own.
        if any(isinstance(operand, Condition) for operand in operands):
            raise NotRecordable(f"{ufunc.__name__} of a condition")
        kind = Condition if UFUNCS[ufunc] in CONDITIONS else Value
        return kind(self.tape, self.tape.step(UFUNCS[ufunc], *map(self.tape.number, operands)))

    def __array_function__(self, function: Any, types: Any, operands: Any, options: Any) -> Value:
        if function is not np.where or len(operands) != 3 or options:
            raise NotRecordable(function.__name__)
        condition, *others = operands
        if not isinstance(condition, Condition) and getattr(condition, "dtype", None) != np.bool_:
            raise NotRecordable("a condition that is a number")
        if any(isinstance(other, Condition) for other in others):
            raise NotRecordable("a choice of conditions")
        return Value(self.tape, self.tape.step("choose", *map(self.tape.number, operands)))

    def astype(self, kind: Any) -> Value:
        """The number rounded towards 0, or itself."""
        if kind not in (np.int64, np.float64):
            raise NotRecordable(f"astype({kind})")
        return Value(self.tape, self.tape.step("truncate", self.number) if kind is np.int64 else self.number)

    def sum_of_weights(self, weights: Weights) -> Value:
        """The sum of the weights of so many ranks."""
        return self.tape.value("total", self.number, _position(weights, self.tape.weights))

    def _unknown(self, *_: Any, **__: Any) -> Any:
        raise NotRecordable("a value that is not known yet")

    __array__ = __getitem__ = __setitem__ = __len__ = __iter__ = _unknown
    __bool__ = __int__ = __float__ = __index__ = __getattr__ = _unknown


class Condition(Value):
    """Whether something holds for each query."""


CONDITIONS = ("greater", "greater_equal", "less", "less_equal", "equal", "not_equal")


OF_JUDGMENTS = ("R", "N", "mass", "tail", "full_gain")


class RecordedSums:
    """`GainSums` and `Preferences` that are recorded; what only depends on judgments is computed here.

    ``judged``: the judgments of all queries, with empty rankings. The last query has none.
    """

    def __init__(self, tape: Tape, judged: Batch, layout: int) -> None:
        self._tape, self._judged, self._layout = tape, judged, layout

    def __getattr__(self, name: str) -> Any:
        if name in OF_JUDGMENTS:
            return getattr(self._judged, name)
        raise NotRecordable(name)

    @property
    def length(self) -> Any:
        return self._tape.value("length")

    @property
    def has_ties(self) -> bool:
        """Never: a function that asks is recorded for rankings without ties."""
        layout = self._tape.layouts[self._layout]
        layout[-1] = int(ORDERS[layout[1]] is None)
        return False

    @property
    def nonrelevant_retrieved(self) -> Any:
        return self._tape.value("nonrelevant", self._layout)

    def gained(self, weights: Weights, k: Any = None) -> Any:
        return self._sum("gained", weights, k)

    def ideal_gained(self, weights: Weights, k: int | None = None, of: Documents = "judged") -> Any:
        if of == "judged":
            return self._judged.ideal_gained(weights, k)
        return self._sum("ideal", weights, k)

    def cumulated(self, weights: Weights, k: Any = None) -> Any:
        if weights.moment is None:
            raise NotRecordable("cumulated gain with other weights")
        simple = weights.table is not None and (k is None or isinstance(k, int))
        return self._sum("cumulated", weights, k, d=int(simple))

    def judged_weight(self, weights: Weights, k: Any = None) -> Any:
        return self._sum("judged", weights, k)

    def highest_weight(self, weights: Weights, k: Any = None) -> Any:
        return self._sum("first", weights, k)

    def preferences(self, limit: Any, pairs: Any) -> Any:
        return self._tape.value("preferences", self._layout, self._tape.number(limit), self._tape.number(pairs))

    def _sum(self, operation: str, weights: Weights, k: Any, **others: int) -> Value:
        cutoff = -1 if k is None else self._tape.number(k)
        return self._tape.value(operation, self._layout, _position(weights, self._tape.weights), cutoff, **others)


def _position(item: Any, items: list[Any]) -> int:
    """The index of an item in a list, to which it is added if it is new."""
    if item not in items:
        items.append(item)
    return items.index(item)


def record(reader: RunReader, columns: Sequence[Column], queries: tuple[str, ...]) -> Any:
    """The native program of these columns; None if one of them, or the collection, needs more than a program has."""
    policy, aligner = reader.policy, reader.aligner
    plain = policy.nil is None and not policy.complete and reader.top == 0
    if native.Program is None or not plain or not aligner.judged.anonymous or len(aligner.pools) != 1:
        return None
    try:
        return _record(reader, columns, queries)
    except (NotRecordable, CranfieldError):  # errors in a measure are reported when it is computed
        return None


def _record(reader: RunReader, columns: Sequence[Column], queries: tuple[str, ...]) -> Any:
    aligner, policy = reader.aligner, reader.policy
    rankings = _unanswered(aligner.pools[0])
    tape = Tape(len(rankings.length))
    results = [tape.number(_recorded(tape, column, rankings, reader)) for column in columns]
    judged, counted = aligner.judged, get_args(Queries).index(policy.queries)
    code = [(OPERATIONS.index(operation), *operands) for operation, *operands in tape.steps]
    return native.Program(
        aligner.index,
        reader.keys,
        reader.by_id,
        _integers([counted, UNDEFINED[policy.undefined], not may_be_fields(queries), MOST_DOCUMENTS, MOST_BYTES]),
        judged.grade,
        [_finite(judged.gain(gains)) for gains in tape.gains],
        _integers(tape.layouts).reshape(-1, 5),
        [_tables(weights) for weights in tape.weights],
        tape.constants,
        _integers(code).reshape(-1, 5),
        np.array(tape.literals),
        _integers(results),
        queries,
        tuple(column.label for column in columns),
        _integers([AGGREGATES.get(column.aggregate, OTHER) for column in columns]),
    )


def _finite(gain: Floats) -> Floats:
    """The gains; programs leave out what is below a cutoff, which is nothing only where no gain is infinite."""
    if not np.isfinite(gain).all():
        raise NotRecordable("an infinite gain")
    return np.ascontiguousarray(gain)


def _integers(numbers: Any) -> Integers:
    return np.array(numbers, np.int64)


def _unanswered(pool: Pool) -> Rankings:
    """Empty rankings for all judged queries, and for one that is not judged."""
    none, size = np.zeros(0, np.int64), len(pool.query) + 1
    everyone = Pool.of(pool.judged, pool.row, pool.document, np.append(pool.query, -1))
    return Rankings(everyone, np.zeros(size, np.int64), *[none] * 6)


def _recorded(tape: Tape, column: Column, rankings: Rankings, reader: RunReader) -> Any:
    """The value of a column, recorded."""
    measure, definition = column.measure, column.measure.definition
    views, rule, all_documents = measure.views, measure.views.rule, measure.needs_all_documents
    if column.part != "value" or column.alignment.costs or definition.collection or definition.sampled:
        raise NotRecordable(column.label)
    if not views.plain or views.groups or views.sampled or views.full is not None:
        raise NotRecordable(str(views))
    # A function from elsewhere may do anything with its argument, unless it says that it only uses sums.
    if definition.is_own and definition.reads not in (GainSums, Preferences):
        raise NotRecordable(definition.symbol)
    check_judgments(reader.aligner, measure)
    judged = measure.ordered(rankings, all_documents=all_documents)
    if rule.limit is not None and (measure.limit_order is None or isinstance(definition.ties, OverCuts)):
        raise NotRecordable("orders that must be searched")
    order = ORDERS.index(rule.position or measure.limit_order)
    closed = isinstance(definition.ties, CLOSED_FORMS)
    needs_order = rule.leaves_ties and not closed
    gains = _position(measure.gains, tape.gains)
    layout = [reader.keys.index(rule.key), order, gains, int(all_documents), int(needs_order)]
    sums = RecordedSums(tape, judged, _position(layout, tape.layouts))
    function: Callable[..., Any] = definition.function
    return function(sums, **measure.arguments)


def _tables(weights: Weights) -> list[npt.NDArray[np.float64]]:
    """The weight of each rank, from 0 on, and sums over the first n ranks."""
    n = np.arange(RANKS)
    at = np.zeros(RANKS)
    at[1:] = weights.at(n[1:])
    tables = [at, weights.total(n), np.zeros(0) if weights.moment is None else weights.moment(n)]
    return [np.ascontiguousarray(table, np.float64) for table in tables]
