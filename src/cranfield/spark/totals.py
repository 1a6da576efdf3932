"""Exact sums over records: the means do not depend on the order of records, or on how they are distributed.

A sum of floats is kept as a few floats that add up to it without error; only the final result is rounded.
"""

from __future__ import annotations

import heapq
import math
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import reduce
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
from pyarrow import compute

from cranfield.data import Floats
from cranfield.evaluation.notes import QueryNames
from cranfield.evaluation.plan import Aggregate, Plan, Undefined
from cranfield.evaluation.run_notes import Figures, JudgedCount, noted_depths
from cranfield.evaluation.scores import SMALLEST, averaged

MAX_NAMES = 5  # queries that a note names


def exact_parts(values: Sequence[float]) -> list[float]:
    """A few floats whose sum is the exact sum of the values.

    >>> exact_parts([1e100, 1.0, -1e100, 1e-3])
    [1.001, 1.1015494072452725e-16]
    """
    parts: list[float] = []
    while (rest := math.fsum([*values, *(-part for part in parts)])) != 0:
        parts.append(rest)
        if not math.isfinite(rest):
            return [rest]
    return parts


@dataclass(frozen=True)
class ExactTotal:
    """A count of values, and the parts of their exact sum."""

    count: int = 0
    parts: tuple[float, ...] = ()

    @classmethod
    def of(cls, values: Floats, aggregate: Aggregate) -> ExactTotal:
        """The defined values; their logarithms for a geometric mean."""
        defined = values[~np.isnan(values)]
        terms = np.log(np.maximum(defined, SMALLEST)) if aggregate == "geometric" else defined
        return cls(len(defined), tuple(exact_parts(terms.tolist())))

    def __add__(self, other: ExactTotal) -> ExactTotal:
        return ExactTotal(self.count + other.count, tuple(exact_parts([*self.parts, *other.parts])))

    def mean(self, counted: int, aggregate: Aggregate, undefined: Undefined) -> float:
        """The aggregate of ``counted`` queries; the policy decides the value of undefined ones."""
        substitute = {"zero": 0.0, "one": 1.0}.get(undefined)
        count, parts = self.count, self.parts
        if aggregate == "credit":
            credit = math.fsum(parts) / counted if counted else 0.0
            return averaged(math.fsum([*parts, *repeat(credit, counted - count)]), counted, aggregate)
        if substitute is not None:
            term = math.log(max(substitute, SMALLEST)) if aggregate == "geometric" else substitute
            count, parts = counted, (*parts, term * (counted - self.count))
        return averaged(math.fsum(parts), count, aggregate)


@dataclass(frozen=True, eq=False)
class Summary:
    """The records of a run summed up. Summaries can be added in any order."""

    counted: int
    missing: QueryNames
    other: QueryNames
    totals: tuple[tuple[ExactTotal, ...], ...]  # by column: the value, with ties at their worst, at their best
    undefined: tuple[QueryNames, ...]
    sampled: Floats  # (2, column): queries, and the sum of squared errors
    seen: Floats  # (2, depth): judged documents, and all
    unbounded: tuple[bool, ...]
    read: Floats  # (content column, 2): documents read that the corpus does not have, and all documents read

    def means(self, plan: Plan, which: int = 0) -> list[float]:
        """The mean of every column: of the values (0), or with ties at their worst (1) or best (2)."""
        aggregates = (column.aggregate for column in plan.columns)
        return [
            total[which].mean(self.counted, aggregate, plan.policy.undefined)
            for total, aggregate in zip(self.totals, aggregates, strict=True)
        ]

    def sizes(self, plan: Plan) -> list[int]:
        """The number of queries in each mean."""
        skip = [plan.policy.undefined == "skip" and column.aggregate != "credit" for column in plan.columns]
        return [total[0].count if left_out else self.counted for left_out, total in zip(skip, self.totals, strict=True)]

    def figures(self, plan: Plan) -> Figures:
        """The numbers for notes."""
        ends = zip(*(self.means(plan, which) for which in range(3)), strict=True)
        unbounded = [column for column, flag in zip(plan.columns, self.unbounded, strict=True) if flag]
        squares = zip(self.sampled[0], self.sampled[1], self.sizes(plan), strict=True)
        return Figures(
            self.missing,
            self.other,
            list(map(JudgedCount, noted_depths(plan.columns), self.seen[0].tolist(), self.seen[1].tolist())),
            [list(means) for means in ends],
            [(int(queries), math.sqrt(error) / max(size, 1)) for queries, error, size in squares],
            [str(column.measure) for column in unbounded if column.part == "lowest"],
            [column.label for column in unbounded if column.part == "value"],
        )


def added(a: Any, b: Any) -> Any:
    """The sum of two numbers, arrays, or records and tuples of such; of disjoint sets of queries, the union."""
    if isinstance(a, Summary):
        return Summary(*(added(getattr(a, field.name), getattr(b, field.name)) for field in fields(a)))
    if isinstance(a, tuple):
        return tuple(map(added, a, b))
    if isinstance(a, QueryNames):
        return QueryNames(a.count + b.count, heapq.nsmallest(MAX_NAMES, [*a.first, *b.first]))
    return a or b if isinstance(a, bool) else a + b


def query_names(queries: Any) -> QueryNames:
    """The ids in an Arrow array: their number, and the first ones."""
    first = compute.array_sort_indices(queries).slice(0, MAX_NAMES)
    return QueryNames(len(queries), id_list(queries.take(first)))


def id_list(ids: Any) -> list[str]:
    """The ids in an Arrow array, which may have bytes that are not UTF-8."""
    return [text.decode("utf-8", "surrogateescape") for text in ids.cast(pyarrow.large_binary()).to_pylist()]


def summary(plan: Plan, records: Any) -> Summary:
    """The summary of records of one run, given as an Arrow table."""
    records = records.combine_chunks()
    queries = records.column("query").combine_chunks()
    length = records.column("length").to_numpy()
    judged = records.column("judged").to_numpy()
    counted = judged & ((length >= 0) | (plan.policy.queries == "judged")) | (~judged & (plan.policy.queries == "run"))
    depths = noted_depths(plan.columns)
    values = _numbers(records, "value", len(plan.columns))
    ends = [_numbers(records, name, len(plan.columns), default=values) for name in ("worst", "best")]
    error = _numbers(records, "error", len(plan.columns))[counted]
    seen = _numbers(records, "seen", len(depths))
    retrieved = [length if depth is None else np.minimum(length, depth) for depth in depths]
    answered = counted & judged & (length > 0)

    def names(chosen: npt.NDArray[np.bool_]) -> QueryNames:
        return query_names(queries.filter(pyarrow.array(chosen)))

    return Summary(
        int(counted.sum()),
        names(judged & (length < 0)),
        names(~judged),
        tuple(
            tuple(ExactTotal.of(table[counted, m], column.aggregate) for table in (values, *ends))
            for m, column in enumerate(plan.columns)
        ),
        tuple(names(counted & np.isnan(values[:, m])) for m in range(len(plan.columns))),
        np.stack([(error > 0).sum(axis=0), np.nansum(error**2, axis=0)]),
        np.stack([np.nansum(seen[answered], axis=0), [float(documents[answered].sum()) for documents in retrieved]]),
        tuple(map(bool, np.any(_numbers(records, "unbounded", len(plan.columns)) > 0, axis=0))),
        np.nansum(_numbers(records, "read", 2 * len(plan.content_columns))[counted], axis=0).reshape(-1, 2),
    )


def _numbers(records: Any, name: str, width: int, default: Floats | None = None) -> Floats:
    """A column of lists as a table (record, number); the default, or NaN, where a list is null."""
    column = records.column(name).combine_chunks()
    table = np.full((len(column), width), np.nan) if default is None else default.copy()
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    table[valid] = column.flatten().to_numpy(zero_copy_only=False).reshape(int(valid.sum()), width)
    return table


def summaries(plan: Plan, batches: Iterable[Any]) -> Iterator[Any]:
    """Records in; the name and the packed summary of each run out, for `merged`."""
    by_run: dict[str, list[Summary]] = {}
    for batch in batches:
        if not batch.num_rows:
            continue
        records = pyarrow.Table.from_batches([batch])
        coded = records.column("run").combine_chunks().dictionary_encode()
        codes = coded.indices.to_numpy()
        for code, run in enumerate(coded.dictionary.to_pylist()):
            by_run.setdefault(run, []).append(summary(plan, records.filter(pyarrow.array(codes == code))))
    yield pack({run: reduce(added, parts) for run, parts in by_run.items()})


def undefined_names(batches: Iterable[Any]) -> Iterator[Any]:
    """Distinct pairs of a measure and a query in; the packed `QueryNames` of each measure out."""
    by_measure: dict[str, QueryNames] = {}
    for batch in batches:
        for measure in batch.column("measure").unique().to_pylist():
            chosen = compute.equal(batch.column("measure"), measure)
            names = query_names(batch.column("query").filter(chosen))
            by_measure[measure] = added(by_measure.get(measure, QueryNames()), names)
    yield pack(by_measure)


PACKED_SCHEMA = "name string, data binary"


def pack(by_name: Mapping[str, Any]) -> Any:
    """Python objects by name as Arrow rows, which Spark can transport; see `unpack`."""
    names = pyarrow.array(list(by_name), pyarrow.string())
    data = pyarrow.array([pickle.dumps(value) for value in by_name.values()], pyarrow.binary())
    return pyarrow.RecordBatch.from_arrays([names, data], names=["name", "data"])


def unpack(rows: Iterable[Any]) -> dict[str, Any]:
    """Python objects by name, from rows that Spark collected; each name occurs once."""
    return {row["name"]: pickle.loads(bytes(row["data"])) for row in rows}


def merged(batches: Iterable[Any]) -> Iterator[Any]:
    """Packed objects, added up by name."""
    total: dict[str, Any] = {}
    for batch in batches:
        for row in batch.to_pylist():
            name, value = row["name"], pickle.loads(row["data"])
            total[name] = added(total[name], value) if name in total else value
    yield pack(total)
