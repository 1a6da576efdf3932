"""What comes out: a value for every run, measure and query, and what may be said of them together."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from cranfield.data import Floats, Integers
from cranfield.errors import CranfieldError, MissingDependency, UsageError
from cranfield.wording import few

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Undefined = Literal["skip", "zero", "one", "error"]
Aggregate = Literal["mean", "geometric", "sum"]
Interval = Literal["bca", "t"]
Layout = Literal["long", "wide"]

# Below this a value counts as this in a geometric mean, or one zero would erase all other queries.
SMALLEST = 1e-5


class Score(NamedTuple):
    """One value, with what it belongs to."""

    run: str
    measure: str
    query: str
    value: float


@dataclass(frozen=True, eq=False)
class Scores:
    """Values by (run, measure, query); NaN is undefined, and says so rather than passing for zero.

    ``counted`` (run, query) tells which queries a run is averaged over; ``notes`` what a reader of
    the means has to know.
    """

    runs: tuple[str, ...]
    measures: tuple[str, ...]
    queries: tuple[str, ...]
    values: Floats
    counted: npt.NDArray[np.bool_]
    aggregates: tuple[Aggregate, ...]
    undefined: Undefined = "skip"
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Score]:
        for r, run in enumerate(self.runs):
            for q in np.flatnonzero(self.counted[r]):
                for m, measure in enumerate(self.measures):
                    yield Score(run, measure, self.queries[q], float(self.values[r, m, q]))

    def sample(self, run: int, measure: int, *, instead: Floats | None = None) -> Floats:
        """The values that a mean is taken of: counted queries, undefined ones treated as the policy says.

        ``instead`` asks what the sample would be were these the values, a value for each query.
        """
        values = (self.values[run, measure] if instead is None else instead)[self.counted[run]]
        missing = np.isnan(values)
        if not missing.any():
            return values
        if self.undefined == "error":
            names = [self.queries[q] for q in np.flatnonzero(self.counted[run])[missing]]
            what = f"{self.measures[measure]} of {self.runs[run]}"
            raise CranfieldError(
                f"{what} is undefined for {len(names)} of {len(values)} queries: {few(names)}",
                hint="no relevant document is judged for them; use undefined = skip, zero or one",
            )
        if self.undefined == "skip":
            return values[~missing]
        return np.where(missing, float(self.undefined == "one"), values)

    def matched(self, measure: int) -> tuple[Floats, Integers]:
        """One measure by (run, query), and the queries: those that count and have a value in every run.

        What is undefined is treated as the policy says.
        """
        values = self.values[:, measure]
        if self.undefined in ("zero", "one"):
            values = np.where(np.isnan(values), float(self.undefined == "one"), values)
        both = np.flatnonzero(self.counted.all(axis=0) & ~np.isnan(values).any(axis=0))
        return values[:, both], both

    def summary(self, run: int, measure: int, *, instead: Floats | None = None) -> float:
        """One number over queries: the mean, or the geometric mean or sum where the measure asks for it."""
        return summary_of(self.sample(run, measure, instead=instead), self.aggregates[measure])

    def size(self, run: int, measure: int) -> int:
        """How many queries `summary` is of."""
        return len(self.sample(run, measure))

    @property
    def means(self) -> Floats:
        """`summary` of every run and measure, (run, measure)."""
        shape = len(self.runs), len(self.measures)
        return np.array([[self.summary(r, m) for m in range(shape[1])] for r in range(shape[0])]).reshape(shape)

    def interval(
        self, run: int, measure: int, *, level: float = 0.95, method: Interval = "bca", seed: int = 0
    ) -> tuple[float, float]:
        """Where the mean over queries like these may lie: bootstrap (BCa, 9,999 resamples) or Student's t."""
        sample, kind = self.sample(run, measure), self.aggregates[measure]
        if len(sample) < 2 or np.ptp(sample) == 0:
            value = float(aggregate(sample, kind))
            return (np.nan, np.nan) if len(sample) < 2 else (value, value)
        if method == "t" and kind == "mean":
            from scipy.special import stdtrit  # scipy.stats takes half a second to load

            half = stdtrit(len(sample) - 1, 0.5 + level / 2) * sample.std(ddof=1) / np.sqrt(len(sample))
            return float(sample.mean() - half), float(sample.mean() + half)
        if kind != "geometric":
            from cranfield.statistics.intervals import bca

            ends = bca(np.stack([sample, np.zeros_like(sample)]), np.array([[0, 1]]), level=level, seed=seed)[0]
            low, high = (ends * (len(sample) if kind == "sum" else 1)).tolist()
            return low, high
        from scipy import stats

        found = stats.bootstrap(
            (sample,),
            lambda x, axis: aggregate(x, kind, axis),
            confidence_level=level,
            n_resamples=9999,
            method="BCa",
            rng=np.random.default_rng(seed),
            vectorized=True,
        ).confidence_interval
        return float(found.low), float(found.high)

    def table(self, layout: Layout = "long") -> dict[str, list[Any]]:
        """Columns by name: ``long`` has a row for each value, ``wide`` a column for each measure. Undefined is None."""
        rows = [(r, q) for r in range(len(self.runs)) for q in np.flatnonzero(self.counted[r]).tolist()]
        ids: dict[str, list[Any]] = {
            "run": [self.runs[r] for r, _ in rows],
            "query": [self.queries[q] for _, q in rows],
        }
        values = [[number(self.values[r, m, q]) for r, q in rows] for m in range(len(self.measures))]
        if layout == "wide":
            return ids | dict(zip(self.measures, values, strict=True))
        if layout != "long":
            raise UsageError(f"layout must be one of long, wide; not {layout!r}")
        many = len(self.measures)
        return {
            **{name: [text for text in column for _ in range(many)] for name, column in ids.items()},
            "measure": list(self.measures) * len(rows),
            "value": [value for row in zip(*values, strict=True) for value in row],
        }

    def to_arrow(self, layout: Layout = "long") -> pyarrow.Table:
        """The values as a PyArrow table; see `table`."""
        try:
            import pyarrow
        except ImportError:
            raise MissingDependency("an Arrow table", "arrow") from None
        columns = self.table(layout)
        kinds = [pyarrow.string() if name in ("run", "query", "measure") else pyarrow.float64() for name in columns]
        return pyarrow.table({name: pyarrow.array(c, k) for (name, c), k in zip(columns.items(), kinds, strict=True)})

    def to_pandas(self, layout: Layout = "long") -> pandas.DataFrame:
        """The values as a pandas DataFrame; see `table`."""
        try:
            import pandas
        except ImportError:
            raise MissingDependency("a pandas DataFrame", "pandas") from None
        frame = pandas.DataFrame(self.table(layout))
        numbers = [name for name in frame.columns if name not in ("run", "query", "measure")]
        return frame.astype(dict.fromkeys(numbers, float))

    def to_polars(self, layout: Layout = "long") -> polars.DataFrame:
        """The values as a polars DataFrame; see `table`."""
        try:
            import polars
        except ImportError:
            raise MissingDependency("a polars DataFrame", "polars") from None
        columns = self.table(layout)
        kinds = {name: polars.Float64 for name in columns if name not in ("run", "query", "measure")}
        return polars.DataFrame(columns, schema_overrides=kinds)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: ``{"runs": {run: {measure: {"mean", "n", "queries"}}}, "notes": [...]}``."""
        return {
            "runs": {
                run: {
                    measure: {
                        "mean": number(self.summary(r, m)),
                        "n": self.size(r, m),
                        "queries": {
                            self.queries[q]: number(self.values[r, m, q]) for q in np.flatnonzero(self.counted[r])
                        },
                    }
                    for m, measure in enumerate(self.measures)
                }
                for r, run in enumerate(self.runs)
            },
            "notes": list(self.notes),
        }


@dataclass(frozen=True, eq=False)
class Summed(Scores):
    """Scores whose values stayed where the data are: summaries, and how many queries they are of, (run, measure)."""

    summed: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    sizes: Integers = field(default_factory=lambda: np.zeros((0, 0), np.int64))

    def sample(self, run: int, measure: int, *, instead: Floats | None = None) -> Floats:
        raise UsageError("only summaries are here: the values of queries stayed where the data are")

    def size(self, run: int, measure: int) -> int:
        return int(self.sizes[run, measure])

    def summary(self, run: int, measure: int, *, instead: Floats | None = None) -> float:
        return float(self.summed[run, measure])


def summary_of(sample: Floats, kind: Aggregate) -> float:
    """`aggregate` of one sample, rounded once: the same to the last bit in whatever order it is added up."""
    added = np.log(np.maximum(sample, SMALLEST)) if kind == "geometric" else sample
    try:
        total = math.fsum(added.tolist())
    except OverflowError:
        total = math.inf
    return averaged(total, len(sample), kind)


def averaged(total: float, count: int, kind: Aggregate) -> float:
    """The summary of so many values, from their sum, or that of their logarithms."""
    if kind == "sum":
        return total
    if count == 0:
        return math.nan
    return math.exp(total / count) if kind == "geometric" else total / count


def aggregate(sample: Floats, kind: Aggregate, axis: int = -1) -> Floats:
    """The mean, geometric mean or sum along an axis; undefined for nothing at all."""
    if kind == "sum":
        return sample.sum(axis=axis)
    if sample.shape[axis] == 0:
        return np.full(np.delete(sample.shape, axis), np.nan)
    if kind == "geometric":
        return np.exp(np.log(np.maximum(sample, SMALLEST)).mean(axis=axis))
    return sample.mean(axis=axis)


def number(value: float) -> float | None:
    """JSON has no NaN and no infinity: what is undefined, or beyond all numbers, is null."""
    return float(value) if np.isfinite(value) else None


UNDEFINED: tuple[str, ...] = get_args(Undefined)
