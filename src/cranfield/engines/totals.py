"""What records add up to, exactly: the same means whichever records came together, and in whichever order.

A sum of floats is kept as a few floats that add up to it without error; only the end result is rounded.
"""

from __future__ import annotations

import heapq
import math
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.data import Floats
from cranfield.errors import optional
from cranfield.evaluation.columns import Aggregate, Plan
from cranfield.evaluation.notes import QueryNames
from cranfield.evaluation.policy import Undefined
from cranfield.evaluation.run_notes import Figures, noted_depths
from cranfield.evaluation.scores import SMALLEST, averaged

FIRST = 5  # names that notes give


def exactly(values: Sequence[float]) -> list[float]:
    """A few floats whose sum is, without rounding, that of the values.

    >>> exactly([1e100, 1.0, -1e100, 1e-3])
    [1.001, 1.1015494072452725e-16]
    """
    parts: list[float] = []
    while (rest := math.fsum([*values, *(-part for part in parts)])) != 0:
        parts.append(rest)
        if not math.isfinite(rest):
            return [rest]
    return parts


@dataclass(frozen=True)
class Total:
    """Values added up: how many there are, and their sum in parts."""

    count: int = 0
    parts: tuple[float, ...] = ()

    @classmethod
    def of(cls, values: Floats, kind: Aggregate) -> Total:
        """The values that are defined, as their aggregate adds them up."""
        known = values[~np.isnan(values)]
        added = np.log(np.maximum(known, SMALLEST)) if kind == "geometric" else known
        return cls(len(known), tuple(exactly(added.tolist())))

    def __add__(self, other: Total) -> Total:
        return Total(self.count + other.count, tuple(exactly([*self.parts, *other.parts])))

    def mean(self, counted: int, kind: Aggregate, undefined: Undefined) -> float:
        """The aggregate of so many queries, those without a value treated as the policy says."""
        instead = {"zero": 0.0, "one": 1.0}.get(undefined)
        count, parts = self.count, self.parts
        if instead is not None:
            worth = math.log(max(instead, SMALLEST)) if kind == "geometric" else instead
            count, parts = counted, (*parts, worth * (counted - self.count))
        return averaged(math.fsum(parts), count, kind)


@dataclass(frozen=True, eq=False)
class Summary:
    """All that is to know of one run's records together; summaries add up, in any order."""

    counted: int
    missing: QueryNames
    other: QueryNames
    totals: tuple[tuple[Total, Total, Total], ...]  # by column: as it is, with ties at their worst, at their best
    undefined: tuple[QueryNames, ...]
    sampled: Floats  # (2, column): queries, and the sum of squared errors
    seen: Floats  # (2, depth): judged documents, and all
    loose: tuple[bool, ...]
    read: Floats  # (column that reads, 2): documents read that the corpus does not have, and all

    def __add__(self, other: Summary) -> Summary:
        return Summary(
            self.counted + other.counted,
            together(self.missing, other.missing),
            together(self.other, other.other),
            tuple((a[0] + b[0], a[1] + b[1], a[2] + b[2]) for a, b in zip(self.totals, other.totals, strict=True)),
            tuple(together(a, b) for a, b in zip(self.undefined, other.undefined, strict=True)),
            self.sampled + other.sampled,
            self.seen + other.seen,
            tuple(a or b for a, b in zip(self.loose, other.loose, strict=True)),
            self.read + other.read,
        )

    def means(self, plan: Plan, which: int = 0) -> list[float]:
        """The mean of every column: as it is, or with ties at their worst (1) or best (2)."""
        kinds = (column.aggregate for column in plan.columns)
        return [
            total[which].mean(self.counted, kind, plan.policy.undefined)
            for total, kind in zip(self.totals, kinds, strict=True)
        ]

    def sizes(self, plan: Plan) -> list[int]:
        """How many queries each mean is of."""
        return [total[0].count if plan.policy.undefined == "skip" else self.counted for total in self.totals]

    def figures(self, plan: Plan) -> Figures:
        """What notes are written from."""
        ends = zip(*(self.means(plan, which) for which in range(3)), strict=True)
        loose = [column for column, said in zip(plan.columns, self.loose, strict=True) if said]
        squares = zip(self.sampled[0], self.sampled[1], self.sizes(plan), strict=True)
        return Figures(
            self.missing,
            self.other,
            list(zip(noted_depths(plan.columns), self.seen[0].tolist(), self.seen[1].tolist(), strict=True)),
            [[] if any(map(math.isnan, of)) else list(of) for of in ends],
            [(int(many), math.sqrt(error) / max(size, 1)) for many, error, size in squares],
            [str(column.measure) for column in loose if column.part == "lowest"],
            [column.label for column in loose if column.part == "value"],
        )


def together(a: QueryNames, b: QueryNames) -> QueryNames:
    """QueryNames of one kind from two places: how many, and the first by id."""
    return QueryNames(a.count + b.count, heapq.nsmallest(FIRST, [*a.first, *b.first]))


def names_of(queries: Any) -> QueryNames:
    """Ids in an Arrow array: how many, and the first."""
    compute = optional("pyarrow.compute", "an engine", "arrow")
    first = compute.array_sort_indices(queries).slice(0, FIRST)
    return QueryNames(len(queries), texts(queries.take(first)))


def texts(ids: Any) -> list[str]:
    """Ids in an Arrow array, which may hold bytes that are no text."""
    pyarrow = optional("pyarrow", "an engine", "arrow")
    return [one.decode("utf-8", "surrogateescape") for one in ids.cast(pyarrow.large_binary()).to_pylist()]


def summary(plan: Plan, records: Any) -> Summary:
    """The summary of some records of one run, given as an Arrow table."""
    pyarrow = optional("pyarrow", "an engine", "arrow")
    records = records.combine_chunks()
    queries = records.column("query").combine_chunks()
    length = records.column("length").to_numpy()
    judged = records.column("judged").to_numpy()
    counted = judged & ((length >= 0) | (plan.policy.queries == "judged")) | (~judged & (plan.policy.queries == "run"))
    depths = noted_depths(plan.columns)
    values = _numbers(records, "value", len(plan.columns))
    ends = [_numbers(records, name, len(plan.columns), instead=values) for name in ("worst", "best")]
    error = _numbers(records, "error", len(plan.columns))[counted]
    seen = _numbers(records, "seen", len(depths))
    inside = [length if k is None else np.minimum(length, k) for k in depths]
    there = counted & judged & (length > 0)

    def named(chosen: npt.NDArray[np.bool_]) -> QueryNames:
        return names_of(queries.filter(pyarrow.array(chosen)))

    totals = []
    for m, column in enumerate(plan.columns):
        as_is, worst, best = (Total.of(table[counted, m], column.aggregate) for table in (values, *ends))
        totals.append((as_is, worst, best))
    return Summary(
        int(counted.sum()),
        named(judged & (length < 0)),
        named(~judged),
        tuple(totals),
        tuple(named(counted & np.isnan(values[:, m])) for m in range(len(plan.columns))),
        np.stack([(error > 0).sum(axis=0), np.nansum(error**2, axis=0)]),
        np.stack([np.nansum(seen[there], axis=0), [float(many[there].sum()) for many in inside]]),
        tuple(map(bool, np.any(_numbers(records, "loose", len(plan.columns)) > 0, axis=0))),
        np.nansum(_numbers(records, "read", 2 * len(plan.content_columns))[counted], axis=0).reshape(-1, 2),
    )


def _numbers(records: Any, name: str, width: int, instead: Floats | None = None) -> Floats:
    """A column of lists as a table (record, number); NaN, or something instead, where there is no list."""
    column = records.column(name).combine_chunks()
    found = np.full((len(column), width), np.nan) if instead is None else instead.copy()
    there = column.is_valid().to_numpy(zero_copy_only=False)
    found[there] = column.flatten().to_numpy(zero_copy_only=False).reshape(int(there.sum()), width)
    return found


def summaries(plan: Plan, batches: Iterable[Any]) -> Iterator[Any]:
    """Records in; out comes, for each run among them, its name and its summary, which `merged` reads."""
    pyarrow = optional("pyarrow", "an engine", "arrow")
    found: dict[str, list[Summary]] = {}
    for batch in batches:
        if not batch.num_rows:
            continue
        records = pyarrow.Table.from_batches([batch])
        coded = records.column("run").combine_chunks().dictionary_encode()
        codes = coded.indices.to_numpy()
        for code, run in enumerate(coded.dictionary.to_pylist()):
            found.setdefault(run, []).append(summary(plan, records.filter(pyarrow.array(codes == code))))
    yield packed({run: reduce(Summary.__add__, parts) for run, parts in found.items()})


def undefined_names(batches: Iterable[Any]) -> Iterator[Any]:
    """Distinct pairs of a measure and a query in; for each measure its `QueryNames` out."""
    pyarrow = optional("pyarrow", "an engine", "arrow")
    found: dict[str, QueryNames] = {}
    for batch in batches:
        for measure in batch.column("measure").unique().to_pylist():
            chosen = pyarrow.compute.equal(batch.column("measure"), measure)
            found[measure] = together(
                found.get(measure, QueryNames(0, ())), names_of(batch.column("query").filter(chosen))
            )
    yield packed(found)


def packed(found: Mapping[str, Any]) -> Any:
    """Things by name, as rows that engines can carry."""
    pyarrow = optional("pyarrow", "an engine", "arrow")
    parts = [pyarrow.array(list(found), pyarrow.string())]
    parts.append(pyarrow.array([pickle.dumps(thing) for thing in found.values()], pyarrow.binary()))
    return pyarrow.RecordBatch.from_arrays(parts, names=["name", "found"])


def merged(batches: Iterable[Any]) -> Iterator[Any]:
    """What `packed` made, added up by name."""
    found: dict[str, Any] = {}
    for batch in batches:
        for name, data in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
            thing = pickle.loads(data)
            if name in found:
                thing = together(found[name], thing) if isinstance(thing, QueryNames) else found[name] + thing
            found[name] = thing
    yield packed(found)
