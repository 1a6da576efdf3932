"""`Scores`: a value for every run, measure and query, with means, intervals and conversions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from cranfield.codec import PathLike, Saved, plain, typed
from cranfield.data import Booleans, Floats, Integers
from cranfield.display import Displayed, TableText, table_text
from cranfield.errors import CranfieldError, InputError, MeasureError, UnknownName, UsageError, optional
from cranfield.evaluation.notes import Note, sentences
from cranfield.evaluation.plan import Aggregate, Column, Part, Undefined
from cranfield.io.columns import MAX_NUMBER
from cranfield.measures import Measure, parse
from cranfield.measures.catalogue import Better, outside_measure
from cranfield.settings import checked
from cranfield.wording import decodable, few, listed, plural, printable

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from matplotlib.axes import Axes

    from cranfield.evaluation.designs import Groups
    from cranfield.evaluation.predicted import PredictedMean, Predictions
    from cranfield.evaluation.provenance import Provenance
    from cranfield.statistics.standardisation import Standardisation

Interval = Literal["bca", "t"]
Layout = Literal["long", "wide"]

# The lower limit of values in a geometric mean; otherwise a single zero would make the mean 0.
SMALLEST = 1e-5
TEXT = "text"  # the attribute of queries that is shown beside their ids
COLLECTION = "collection"  # the attribute of queries of several collections
SHOWN_RUNS = 6  # in one line of text


class Score(NamedTuple):
    """A value with its run, measure and query."""

    run: str
    measure: str
    query: str
    value: float


class ScoreTable(Displayed):
    """The common part of tables of scores: runs as rows, columns with their measures, means, and notes.

    Public methods take and return names. Methods that begin with an underscore take the numbers of rows and columns,
    for the modules that compute with arrays.
    """

    _SHOWN_BY = "scores"

    runs: tuple[str, ...]
    columns: tuple[Column, ...]
    notes: tuple[Note, ...]
    _means: Floats  # (run, column): the mean over queries
    _sizes: Integers  # (run, column): the number of these queries

    @property
    def _policy(self) -> Mapping[str, Any]:
        """The settings of the evaluation; empty if they are not known."""
        raise NotImplementedError

    @property
    def measures(self) -> tuple[str, ...]:
        """The labels of the columns."""
        return tuple(column.label for column in self.columns)

    @property
    def means(self) -> dict[str, dict[str, float]]:
        """The mean of each measure over queries, by run: ``{run: {measure: mean}}``. NaN means undefined.

        >>> import cranfield as cf
        >>> runs = {"old": {"q": ["b", "a"]}, "new": {"q": ["a", "b"]}}
        >>> cf.evaluate({"q": {"a": 1}}, runs, ["RR", "P@1"]).means
        {'old': {'RR': 0.5, 'P@1': 0.0}, 'new': {'RR': 1.0, 'P@1': 1.0}}
        """
        rows = zip(self.runs, self._means.tolist(), strict=True)
        return {run: dict(zip(self.measures, means, strict=True)) for run, means in rows}

    def only(
        self, *, runs: str | Iterable[str] | None = None, measures: str | Iterable[str] | None = None
    ) -> ScoreTable:
        """The scores of these runs and measures, in this order, with the notes on them; by default all."""
        table: ScoreTable = self
        if runs is not None:
            table = table._of_runs([self._row_of(name) for name in _names(runs)])
        if measures is not None:
            table = table._of_columns([self._column_of(name) for name in _names(measures)])
        return table

    def order(self, by: str | None = None) -> list[str]:
        """The runs by a measure, best first (by default the first measure), by ``name``, or as in the ``input``."""
        return [self.runs[r] for r in self._order(by)]

    def best(self, number: int | None, by: str | None = None) -> list[str]:
        """The runs with the highest means of a measure (by default the first measure), in their given order.

        Of equal means the first are kept; None keeps all.
        """
        return [self.runs[r] for r in sorted(self._order(by)[:number])]

    def _query_values(self, run: int, column: int) -> dict[str, float | None]:
        """The values of the counted queries, by id; None if a value is undefined."""
        raise NotImplementedError

    def _of_runs(self, rows: Sequence[int]) -> ScoreTable:
        """The scores of these runs, in this order, with the notes on them."""
        raise NotImplementedError

    def _of_columns(self, columns: Sequence[int]) -> ScoreTable:
        """The scores of these columns."""
        raise NotImplementedError

    def _order(self, by: str | None = None) -> list[int]:
        rows = list(range(len(self.runs)))
        if by == "input":
            return rows
        if by == "name":
            return sorted(rows, key=self.runs.__getitem__)
        column = 0 if by is None else self._column_of(by)
        values = self._means[:, column] * (1 if self.columns[column].lower_is_better else -1)
        return sorted(rows, key=lambda r: (np.isnan(values[r]), values[r]))

    def _row_of(self, run: str) -> int:
        if run not in self.runs:
            raise UnknownName(f"`{run}` is not one of the runs", hint=f"the runs are {few(self.runs, 10)}")
        return self.runs.index(run)

    def _column_of(self, name: str) -> int:
        """The column of a measure, given by its label or by any of its names."""
        if name in self.measures:
            return self.measures.index(name)
        try:
            measure = parse(name)
        except MeasureError:
            measure = None
        for m, column in enumerate(self.columns):
            if measure is not None and column.part == "value" and _is_named(column.measure, measure):
                return m
        raise UnknownName(f"`{name}` is not one of the measures", hint=f"the measures are {', '.join(self.measures)}")

    def __repr__(self) -> str:
        about = f"{type(self).__name__}: {listed(self.runs, 'run')}, {listed(self.measures, 'measure')}"
        return f"{about}, {plural(int(self._sizes.max(initial=0)), 'query')}"

    def __float__(self) -> float:
        if len(self.columns) != 1:
            raise UsageError(
                f"scores of {plural(len(self.columns), 'measure')} are not one number",
                hint="name the measure: float(scores[measure])",
            )
        return float(ScoreColumn(self, 0))

    def __getitem__(self, measure: str) -> ScoreColumn:
        """The column of a measure, given by its label or by any of its names.

        >>> import cranfield as cf
        >>> scores = cf.evaluate({"q": {"a": 1}}, {"old": {"q": ["b", "a"]}, "new": {"q": ["a", "b"]}}, ["RR", "AP"])
        >>> scores["recip_rank"]["new"]
        1.0
        >>> dict(scores["RR"])
        {'old': 0.5, 'new': 1.0}
        """
        return ScoreColumn(self, self._column_of(measure))

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.measures)

    def table(
        self,
        *,
        per_query: bool = False,
        digits: int = 4,
        interval: Interval | None = None,
        sort: str | None = None,
        top: int | None = None,
        width: int = 100,
    ) -> TableText:
        """The table that ``cranfield eval`` prints; a notebook shows it as a table.

        ``interval``: also show 95% confidence intervals of the means. ``sort``: as in `order`. ``top``: the first runs
        only.

        >>> import cranfield as cf
        >>> runs = {"old": {"q": ["b", "a"]}, "new": {"q": ["a", "b"]}}
        >>> cf.evaluate({"q": {"a": 1}}, runs, ["RR", "P@1"]).table(digits=2)
        run    RR   P@1  queries
        ────────────────────────
        new  1.00  1.00        1
        old  0.50  0.00        1
        <BLANKLINE>
        Ties broken by document id (trec); relevant: grade 1 or higher; undefined values skipped; means over
        1 query.
        <BLANKLINE>
        """
        chosen = self._of_runs(self._order(sort)[:top])
        return table_text(chosen, per_query=per_query, digits=digits, interval=interval, width=width)

    def _notes_on(self, runs: Sequence[str]) -> tuple[Note, ...]:
        return tuple(note for note in self.notes if note.run is None or note.run in runs)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: ``{"runs": {run: {measure: {"mean", "n", "queries"}}}, "notes": [...]}``."""
        return {
            "runs": {
                run: {
                    measure: {
                        "mean": number(self._means[r, m]),
                        "n": int(self._sizes[r, m]),
                        "queries": self._query_values(r, m),
                    }
                    for m, measure in enumerate(self.measures)
                }
                for r, run in enumerate(self.runs)
            },
            "notes": sentences(self.notes),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Scores(ScoreTable, Saved):
    """Values by (run, column, query). NaN means undefined.

    ``columns``: the measure, and the part of it, of each column; ``measures``: their labels. ``counted`` (run, query):
    the queries over which a run is averaged. ``notes``: facts that a reader of the means should know.
    ``attributes``: what is known of queries, by query and name. ``repeats``: the values of each repeat of a run that
    has several, (column, query, repeat), by run; the values are then means over the repeats.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = cf.evaluate({"1": {"a": 1}, "2": {"b": 1}}, {"x": {"1": ["a"], "2": ["a", "b"]}}, "RR")
    >>> scores.means, scores["RR"].per_query["x"]
    ({'x': {'RR': 0.75}}, {'1': 1.0, '2': 0.5})
    """

    _KIND: ClassVar[str] = "scores"
    _WHAT: ClassVar[str] = "a file of scores"
    _HINT: ClassVar[str] = "save scores with `cranfield eval ... --format json -o FILE` or `scores.save(FILE)`"

    runs: tuple[str, ...]
    columns: tuple[Column, ...]
    queries: tuple[str, ...]
    values: Floats
    counted: Booleans
    undefined: Undefined = "skip"
    notes: tuple[Note, ...] = ()
    predicted: tuple[PredictedMean, ...] = ()  # means from these scores and predicted judgments together
    predictions: Predictions | None = None  # the scores by predicted judgments; not saved
    attributes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    repeats: Mapping[str, Floats] = field(default_factory=dict)
    by_collection: bool = False  # whether a mean is that over the means of collections, an attribute of queries
    provenance: Provenance | None = None
    judges: Scores | None = None  # the scores by each of several judges, as collections; the values are their means

    @property
    def _policy(self) -> Mapping[str, Any]:
        if self.provenance is None:
            return {}
        return self.provenance.policy_data if self.provenance.policy is None else asdict(self.provenance.policy)

    def __iter__(self) -> Iterator[Score]:
        for r, run in enumerate(self.runs):
            for q in np.flatnonzero(self.counted[r]):
                for m, measure in enumerate(self.measures):
                    yield Score(run, measure, self.queries[q], float(self.values[r, m, q]))

    def __contains__(self, item: object) -> bool:
        if not isinstance(item, str):
            return any(score == item for score in self)
        try:
            self._column_of(item)
        except UnknownName:
            return False
        return True

    def _sample(self, run: int, measure: int, *, instead: Floats | None = None) -> Floats:
        """The values of the counted queries; undefined values are handled by the policy.

        ``instead``: other values to use, one for each query.
        """
        values = (self.values[run, measure] if instead is None else instead)[self.counted[run]]
        missing = np.isnan(values)
        kind = self.columns[measure].aggregate
        if self.undefined == "error" and kind != "credit" and missing.any():
            names = [self.queries[q] for q in np.flatnonzero(self.counted[run])[missing]]
            what = f"{self.columns[measure].label} of {self.runs[run]}"
            raise CranfieldError(
                f"{what} is undefined for {len(names)} of {len(values)} queries: {few(names)}",
                hint="these queries have no relevant documents; use undefined=skip, zero or one",
            )
        return handle_undefined(values, self.undefined, kind)

    def _matched(self, measure: int) -> tuple[Floats, Integers]:
        """One measure by (run, query), and the queries that count and have a value in every run.

        Undefined values are handled by the policy.
        """
        values = self._filled(measure)
        common = np.flatnonzero(self.counted.all(axis=0) & ~np.isnan(values).any(axis=0))
        return values[:, common], common

    def _filled(self, measure: int) -> Floats:
        """One measure by (run, query), undefined values as the policy has them; credit is given within a collection."""
        values = self.values[:, measure]
        if self.columns[measure].aggregate != "credit":
            return substituted(values, self.undefined)
        values = values.copy()
        for rows in self._rows_of_collections.values() if self.by_collection else [np.arange(len(self.queries))]:
            for r, counted in enumerate(self.counted):
                chosen = rows[counted[rows]]
                values[r, chosen] = handle_undefined(values[r, chosen], self.undefined, "credit")
        return values

    def _summary(self, run: int, measure: int, *, instead: Floats | None = None) -> float:
        """The mean over queries; the geometric mean or the sum for measures that declare it."""
        kind = self.columns[measure].aggregate
        if not self.by_collection:
            return summary_of(self._sample(run, measure, instead=instead), kind)
        means = [part._summary(run, measure) for part in self._collections.values() if part.counted[run].any()]
        return summary_of(np.array([mean for mean in means if not math.isnan(mean)]), "mean")

    @cached_property
    def _rows_of_collections(self) -> dict[str, Integers]:
        """The queries of each collection, if there are several."""
        rows: dict[str, list[int]] = {}
        for q, query in enumerate(self.queries) if self.by_collection else ():
            rows.setdefault(self.attributes[query][COLLECTION], []).append(q)
        return {name: np.array(queries, np.int64) for name, queries in rows.items()}

    @cached_property
    def _collections(self) -> dict[str, Scores]:
        """The scores on each collection, if there are several."""
        return {name: self._part(rows.tolist()) for name, rows in self._rows_of_collections.items()}

    def _part(self, queries: Sequence[int]) -> Scores:
        """The scores of these queries."""
        kept = list(queries)
        return replace(
            self,
            queries=tuple(self.queries[q] for q in kept),
            values=self.values[:, :, kept],
            counted=self.counted[:, kept],
            repeats={run: table[:, kept] for run, table in self.repeats.items()},
            predicted=(),
            predictions=None,
            by_collection=False,
            judges=None,
        )

    def _with_repeats(self, systems: Sequence[str | None]) -> Scores:
        """The scores, with the runs of one system as one run whose values are means; ``systems`` are by run."""
        members: dict[str, list[int]] = {}
        for r, (run, system) in enumerate(zip(self.runs, systems, strict=True)):
            members.setdefault(system or run, []).append(r)
        if len(members) == len(self.runs):
            return self if not any(systems) else replace(self, runs=tuple(members))
        rows = list(members.values())
        for system, members_of in zip(members, rows, strict=True):
            if (self.counted[members_of] != self.counted[members_of[0]]).any():
                raise UsageError(f"the repeats of `{system}` do not answer the same queries", hint="use queries=judged")
        tables = [self.values[members_of] for members_of in rows]
        for m, column in enumerate(self.columns):
            if column.aggregate == "credit":  # each repeat has a credit of its own
                filled = self._filled(m)
                for table, members_of in zip(tables, rows, strict=True):
                    table[:, m] = filled[members_of] if len(members_of) > 1 else table[:, m]
        return replace(
            self,
            runs=tuple(members),
            values=np.stack([table.mean(axis=0) for table in tables]),
            counted=np.stack([self.counted[members_of[0]] for members_of in rows]),
            repeats={
                run: np.moveaxis(table, 0, 2) for run, table in zip(members, tables, strict=True) if len(table) > 1
            },
        )

    @cached_property
    def _means(self) -> Floats:  # type: ignore[override]
        """The mean of every run and column, (run, column)."""
        shape = len(self.runs), len(self.columns)
        return np.array([[self._summary(r, m) for m in range(shape[1])] for r in range(shape[0])]).reshape(shape)

    @cached_property
    def _sizes(self) -> Integers:  # type: ignore[override]
        """The number of queries of each mean, (run, column)."""
        counted = self.counted[:, None]
        if self.undefined == "skip":
            credit = np.array([column.aggregate == "credit" for column in self.columns])
            counted = counted & (~np.isnan(self.values) | credit[:, None])
        return np.broadcast_to(counted.sum(axis=2), (len(self.runs), len(self.columns)))

    def only(
        self,
        *,
        runs: str | Iterable[str] | None = None,
        measures: str | Iterable[str] | None = None,
        queries: str | Iterable[str] | None = None,
    ) -> Scores:
        """The scores of these runs, measures and queries, in this order, with the notes on them; by default all.

        >>> import cranfield as cf
        >>> qrels = {"1": {"a": 1}, "2": {"a": 1}}
        >>> scores = cf.evaluate(qrels, {"1": ["a"], "2": ["b", "a"]}, ["RR", "AP"])
        >>> float(scores.only(measures="RR", queries=["2"]))
        0.5
        """
        table = super().only(runs=runs, measures=measures)
        assert isinstance(table, Scores)
        if queries is None:
            return table
        index = {query: q for q, query in enumerate(self.queries)}
        names = _names(queries)
        for name in names:
            if name not in index:
                raise UnknownName(
                    f"`{name}` is not one of the queries", hint=f"the queries are {few(self.queries, 10)}"
                )
        return replace(table._part([index[name] for name in names]), by_collection=self.by_collection)

    def _of_columns(self, columns: Sequence[int]) -> Scores:
        kept = list(columns)
        return replace(
            self,
            columns=tuple(self.columns[m] for m in kept),
            values=self.values[:, kept],
            predictions=self.predictions and self.predictions.only(columns=kept),
            repeats={run: values[kept] for run, values in self.repeats.items()},
            judges=self.judges and self.judges._of_columns(kept),
        )

    def _of_runs(self, rows: Sequence[int]) -> Scores:
        runs = tuple(self.runs[r] for r in rows)
        kept = list(rows)
        return replace(
            self,
            runs=runs,
            values=self.values[kept],
            counted=self.counted[kept],
            notes=self._notes_on(runs),
            predicted=tuple(mean for mean in self.predicted if mean.run in runs),
            predictions=self.predictions and self.predictions.only(rows),
            repeats={run: values for run, values in self.repeats.items() if run in runs},
            judges=self.judges and self.judges._of_runs(kept),
        )

    def with_run(self, other: Scores, run: str | None = None, *, changed_judgments: bool = False) -> Scores:
        """The scores, and before them a run of other scores, which must have the same measures and judgments.

        ``run``: by default the first of the others. Queries that only one of the two has are kept; they do not count
        for the other. ``changed_judgments``: queries whose judgments are not the same are allowed, and do not count.
        """
        from cranfield.evaluation.provenance import check_same

        added = other.runs[0] if run is None else run
        row = other._row_of(added)
        changed = check_same(self.provenance, other.provenance, added, self.columns, allowed=changed_judgments)
        labels = {column.measure: m for m, column in enumerate(other.columns) if column.part == "value"}
        missing = [str(column.measure) for column in self.columns if column.measure not in labels]
        if missing:
            # In full: a measure of another policy may have the same label.
            raise UsageError(
                f"`{added}` has no scores for {', '.join(missing)}",
                hint=f"its measures are {', '.join(map(str, labels))}",
            )
        if other.undefined != self.undefined:
            raise UsageError(
                f"the scores of `{added}` treat undefined values otherwise: {other.undefined}",
                hint=f"use undefined={other.undefined}, or compute them again",
            )
        queries = tuple(dict.fromkeys([*self.queries, *other.queries]))
        index = {query: q for q, query in enumerate(queries)}
        values = np.full((1 + len(self.runs), len(self.columns), len(queries)), np.nan)
        counted = np.zeros((1 + len(self.runs), len(queries)), bool)
        values[1:, :, : len(self.queries)], counted[1:, : len(self.queries)] = self.values, self.counted
        at = [index[query] for query in other.queries]
        chosen = [labels[column.measure] for column in self.columns]
        values[0][:, at] = other.values[row, chosen]
        counted[0, at] = other.counted[row]
        name = f"{added} (baseline)" if added in self.runs else added

        def over_all(table: Floats, places: Sequence[int]) -> Floats:
            """Repeats (column, query, repeat) over the queries of both."""
            wide = np.full((len(self.columns), len(queries), table.shape[2]), np.nan)
            wide[:, places] = table
            return wide

        repeats = {own: over_all(table, range(len(self.queries))) for own, table in self.repeats.items()}
        if added in other.repeats:
            repeats[name] = over_all(other.repeats[added][chosen], at)
        # With several judges, the judgments of a query are known by judge and query.
        named = [query if query in index else query.partition("/")[2] for query in changed]
        changed = [query for query in dict.fromkeys(named) if query in index]
        counted[:, [index[query] for query in changed]] = False
        sentence = f"{listed(changed, 'query')} left out: other judgments than when the baseline was saved"
        return replace(
            self,
            notes=(*self.notes, *([Note.saved(sentence)] if changed else [])),
            runs=(name, *self.runs),
            predictions=None,
            queries=queries,
            values=values,
            counted=counted,
            attributes={**other.attributes, **self.attributes},
            repeats=repeats,
            judges=None,
        )

    def standardised(self, method: Standardisation = "normal", reference: Sequence[str] | None = None) -> Scores:
        """The scores standardised for each query over the runs: see `statistics.standardisation.standardise`.

        ``method``: z-scores, their normal distribution function, or the empirical one. ``reference``: the names of the
        runs that are compared with; by default all. Columns of all measures are then aggregated by the mean.

        >>> import cranfield as cf
        >>> qrels = {"hard": {"a": 1, "b": 1}, "easy": {"a": 1}}
        >>> runs = {"x": {"hard": {"a": 1.0}, "easy": {"a": 1.0}}, "y": {"hard": {"c": 1.0}, "easy": {"a": 1.0}}}
        >>> cf.evaluate(qrels, runs, "AP").standardised("empirical").means
        {'x': {'AP standardised': 0.625}, 'y': {'AP standardised': 0.375}}
        """
        from cranfield.statistics.standardisation import standardise

        for name in reference or ():
            self._row_of(name)
        chosen = None if reference is None else np.array([run in reference for run in self.runs])
        values = standardise(np.where(self.counted[:, None], self.values, np.nan), method, chosen)
        columns = tuple(
            Column(column.measure, "standardised", f"{column.label} standardised", column.alignment)
            for column in self.columns
        )
        runs = len(self.runs) if chosen is None else int(chosen.sum())
        note = Note("standardised", values={"method": method, "runs": runs})
        return replace(
            self, columns=columns, values=values, notes=(note, *self.notes), repeats={}, predictions=None, judges=None
        )

    @property
    def _texts(self) -> dict[str, str]:
        """The texts of queries, as far as they are known."""
        return {query: about[TEXT] for query, about in self.attributes.items() if TEXT in about}

    def _with_attributes(self, table: Mapping[str, Mapping[str, str]]) -> Scores:
        """The scores, with the attributes of their queries in this table."""
        attributes = {query: dict(table[query]) for query in self.queries if query in table}
        if not attributes:
            raise InputError(
                [f"queries: none of them has a score (first query: `{printable(next(iter(table), ''))}`)"],
                hint=f"the scores are of queries such as `{printable(self.queries[0] if self.queries else '')}`",
            )
        return replace(self, attributes=attributes)

    def by(self, attribute: str | Sequence[str], baseline: str | None = None, **options: Any) -> Groups:
        """The scores by the value of an attribute of queries: means of each group, and differences from the baseline.

        Several attributes, as in ``by(["segment", "country"])``, have a group for each combination of their values.
        ``options``: the ``cluster`` of queries, whether ``repeats`` are random or fixed, ``level`` and ``seed``, as in
        `compare`. With a baseline, the result says whether differences depend on the group.

        >>> import cranfield as cf
        >>> values = {"new": {"m": {"1": 0.5, "2": 1.0, "3": 0.25}}, "old": {"m": {"1": 0.5, "2": 0.5, "3": 0.0}}}
        >>> kinds = {"1": {"type": "how"}, "2": {"type": "what"}, "3": {"type": "what"}}
        >>> cf.read_scores(values, queries=kinds).by("type").means.tolist()
        [[[0.5, 0.625], [0.5, 0.25]]]
        """
        from cranfield.evaluation.designs import grouped

        return grouped(self, attribute, baseline, **options)

    def averaged(self, *levels: str) -> Scores:
        """Nested means: over the queries of the last level, then of the one before; the first has the queries left.

        ``averaged("topic", "question")`` is the mean over the queries of each question, then over the questions of each
        topic: scores whose queries are the topics.

        >>> import cranfield as cf
        >>> kinds = {"1": {"topic": "t"}, "2": {"topic": "t"}, "3": {"topic": "u"}}
        >>> scores = cf.read_scores({"run": {"m": {"1": 1.0, "2": 0.0, "3": 1.0}}}, queries=kinds).averaged("topic")
        >>> scores["m"].per_query["run"], float(scores["m"])
        ({'t': 0.5, 'u': 1.0}, 0.75)
        """
        from cranfield.evaluation.designs import nested_means

        return nested_means(self, levels)

    def interval(
        self, run: str, measure: str, *, level: float = 0.95, method: Interval = "bca", seed: int = 0
    ) -> tuple[float, float]:
        """A confidence interval of the mean over queries: bootstrap (BCa, 9,999 resamples) or Student's t.

        It does not go beyond the bounds of the measure.
        """
        return self._interval(self._row_of(run), self._column_of(measure), level=level, method=method, seed=seed)

    def _interval(
        self, run: int, measure: int, *, level: float = 0.95, method: Interval = "bca", seed: int = 0
    ) -> tuple[float, float]:
        sample, kind = self._sample(run, measure), self.columns[measure].aggregate
        if kind == "error":
            return np.nan, np.nan
        if self.by_collection:
            return self._interval_over_collections(run, measure, level=level, method=method, seed=seed)
        if len(sample) < 2:
            return np.nan, np.nan
        if np.ptp(sample) == 0:
            value = summary_of(sample, kind)
            return value, value
        if method == "t" and kind == "mean":
            from cranfield.statistics.intervals import t_quantile

            half = t_quantile(level, len(sample) - 1) * sample.std(ddof=1) / np.sqrt(len(sample))
            return self._within_bounds(measure, float(sample.mean() - half), float(sample.mean() + half))
        from cranfield.statistics.design import Sample
        from cranfield.statistics.intervals import bca

        # BCa limits follow a change of scale: those of a geometric mean are those of the mean of logarithms.
        terms = np.log(np.maximum(sample, SMALLEST)) if kind == "geometric" else sample
        ends = bca(Sample(np.stack([terms, np.zeros_like(terms)])), np.array([[0, 1]]), level=level, seed=seed)[0]
        low, high = (np.exp(ends) if kind == "geometric" else ends * (len(sample) if kind == "sum" else 1)).tolist()
        return low, high

    def _within_bounds(self, measure: int, low: float, high: float) -> tuple[float, float]:
        """An interval by Student's t, which knows nothing of the bounds of the measure, cut at these."""
        limited = self.columns[measure].part in ("value", "lowest", "highest")
        least, most = self.columns[measure].measure.definition.bounds if limited else (-math.inf, math.inf)
        return max(low, least), min(high, most)

    def _interval_over_collections(
        self, run: int, measure: int, *, level: float, method: Interval, seed: int
    ) -> tuple[float, float]:
        """The interval of the mean over the means of collections."""
        from cranfield.statistics.design import Design, Sample
        from cranfield.statistics.intervals import bca

        values = np.where(self.counted[run], self._filled(measure)[run], np.nan)
        defined = np.flatnonzero(~np.isnan(values))
        names = [self.attributes[self.queries[q]][COLLECTION] for q in defined.tolist()]
        sizes = np.array([names.count(name) for name in names])
        kind = self.columns[measure].aggregate
        if not len(sizes) or sizes.min() < 2 or kind == "geometric":  # a mean of geometric means has no sample
            return np.nan, np.nan
        x = np.stack([values[defined] * (sizes if kind == "sum" else 1), np.zeros(len(defined))])
        sample, pair = Sample(x, Design.of(len(defined), names)), np.array([[0, 1]])
        ends = sample.error(pair).interval(level) if method == "t" else bca(sample, pair, level=level, seed=seed)
        low, high = ends[0].tolist()
        return self._within_bounds(measure, low, high) if method == "t" else (low, high)

    def plot(
        self,
        measure: str | None = None,
        *,
        top: int | None = 40,
        interval: Interval = "bca",
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the mean of each run with its 95% confidence interval, best on top; returns the Matplotlib axes.

        ``measure``: by default the first. ``top``: the best runs that are drawn; None for all. ``ax``: axes to draw on
        instead of a new figure.
        """
        m = 0 if measure is None else self._column_of(measure)
        return self._draw(m=m, top=top, interval=interval, ax=ax)

    @checked
    def to_columns(self, layout: Layout = "long") -> dict[str, list[Any]]:
        """Columns by name. ``long``: a row for each value; ``wide``: a column for each measure. None: undefined."""
        rows = [(r, q) for r in range(len(self.runs)) for q in np.flatnonzero(self.counted[r]).tolist()]
        ids: dict[str, list[Any]] = {
            "run": [self.runs[r] for r, _ in rows],
            "query": [self.queries[q] for _, q in rows],
        }
        values = [[number(self.values[r, m, q]) for r, q in rows] for m in range(len(self.measures))]
        if layout == "wide":
            return ids | dict(zip(self.measures, values, strict=True))
        measures = len(self.measures)
        return {
            **{name: [text for text in column for _ in range(measures)] for name, column in ids.items()},
            "measure": list(self.measures) * len(rows),
            "value": [value for row in zip(*values, strict=True) for value in row],
        }

    def to_arrow(self, layout: Layout = "long") -> pyarrow.Table:
        """The values as a PyArrow table; see `to_columns`."""
        pyarrow = optional("pyarrow", "an Arrow table", "arrow")
        columns = self.to_columns(layout)
        kinds = [pyarrow.string() if name in ("run", "query", "measure") else pyarrow.float64() for name in columns]
        return pyarrow.table({name: pyarrow.array(c, k) for (name, c), k in zip(columns.items(), kinds, strict=True)})

    def to_pandas(self, layout: Layout = "long") -> pandas.DataFrame:
        """The values as a pandas DataFrame; see `to_columns`."""
        pandas = optional("pandas", "a pandas DataFrame", "pandas")
        frame = pandas.DataFrame(self.to_columns(layout))
        numbers = [name for name in frame.columns if name not in ("run", "query", "measure")]
        return frame.astype(dict.fromkeys(numbers, float))

    def to_polars(self, layout: Layout = "long") -> polars.DataFrame:
        """The values as a polars DataFrame; see `to_columns`."""
        polars = optional("polars", "a polars DataFrame", "polars")
        columns = self.to_columns(layout)
        kinds = {name: polars.Float64 for name in columns if name not in ("run", "query", "measure")}
        return polars.DataFrame(columns, schema_overrides=kinds)

    def _query_values(self, run: int, column: int) -> dict[str, float | None]:
        values = self.values[run, column]
        return {self.queries[q]: number(values[q]) for q in np.flatnonzero(self.counted[run])}

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, which `load` reads: a header, then ``runs`` and ``notes`` as in `ScoreTable`.

        With predictions also ``"predicted"``.
        """
        return {
            **self._header(),
            "undefined": self.undefined,
            "queries": list(self.queries),
            "measures": {
                c.label: {"measure": str(c.measure), "part": c.part, **({"better": c.better} if c.is_outside else {})}
                for c in self.columns
            },
            **super().to_dict(),
            **({"predicted": plain(self.predicted)} if self.predicted else {}),
            **({"attributes": self.attributes} if self.attributes else {}),
            **({"repeats": plain(self.repeats)} if self.repeats else {}),
            **({"by_collection": True} if self.by_collection else {}),
            **({"judges": self.judges.to_dict()} if self.judges is not None else {}),
            **({"provenance": self.provenance.data} if self.provenance is not None else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The scores that `to_dict` returned; notes become plain sentences."""
        from cranfield.evaluation.predicted import PredictedMean
        from cranfield.evaluation.provenance import Provenance

        parts = typed(dict[str, _SavedColumn], data["measures"], "measures")
        queries, runs = typed(tuple[str, ...], data["queries"], "queries"), typed(dict[str, Any], data["runs"], "runs")
        values, counted = _saved_values(runs, list(parts), queries)
        return cls(
            tuple(runs),
            tuple(column.column(label) for label, column in parts.items()),
            queries,
            values,
            counted,
            typed(Undefined, data["undefined"], "undefined"),
            tuple(map(Note.saved, typed(tuple[str, ...], data["notes"], "notes"))),
            typed(tuple[PredictedMean, ...], data.get("predicted", []), "predicted"),
            None,
            typed(dict[str, dict[str, str]], data.get("attributes", {}), "attributes"),
            {
                run: _saved_repeats(table, (len(parts), len(queries)))
                for run, table in typed(dict[str, Floats], data.get("repeats", {}), "repeats").items()
            },
            typed(bool, data.get("by_collection", False), "by_collection"),
            Provenance.of_file(data),
            cls.from_dict(typed(dict[str, Any], data["judges"], "judges")) if "judges" in data else None,
        )

    def save(self, path: PathLike) -> None:
        """Write the scores as one JSON file; an existing file is replaced only by a complete one.

        >>> import cranfield as cf
        >>> scores = cf.evaluate({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, "RR")
        >>> scores.save("scores.json")  # doctest: +SKIP
        >>> cf.load("scores.json").means  # doctest: +SKIP
        {'run': {'RR': 0.5}}
        """
        if (np.abs(self.values) > MAX_NUMBER).any():
            raise UsageError(f"scores that are not between {-MAX_NUMBER:g} and {MAX_NUMBER:g} cannot be saved")
        super().save(path)


class _SavedColumn(NamedTuple):
    """A column in a file of scores."""

    measure: str
    part: Part
    better: Better | None = None  # of a measure that another program computed

    def column(self, label: str) -> Column:
        """The column of the scores."""
        measure = parse(self.measure) if self.better is None else outside_measure(self.measure, self.better)
        return Column(measure, self.part, label)


def _saved_repeats(table: Floats, shape: tuple[int, int]) -> Floats:
    if table.shape[:2] != shape:
        raise ValueError("repeats do not fit the measures and queries")
    return table


def _saved_values(runs: Mapping[str, Any], labels: list[str], queries: tuple[str, ...]) -> tuple[Floats, Booleans]:
    """The values (run, column, query) in a file of scores, and which queries count for each run."""
    if not runs or not labels:
        raise ValueError("there are no scores")
    index = {query: q for q, query in enumerate(queries)}
    if len(index) < len(queries):
        raise ValueError("a query appears twice")
    values = np.full((len(runs), len(labels), len(queries)), np.nan)
    counted = np.zeros((len(runs), len(queries)), bool)
    for r, measures in enumerate(runs.values()):
        for m, label in enumerate(labels):
            by_query = typed(dict[str, float], measures[label]["queries"], label)
            at = [index[query] for query in by_query]
            values[r, m, at] = list(by_query.values())
            if m and set(at) != set(np.flatnonzero(counted[r]).tolist()):
                raise ValueError(f"{label} has other queries than {labels[0]}")
            counted[r, at] = True
    if (np.abs(values) > MAX_NUMBER).any():
        raise ValueError(f"a score is not between {-MAX_NUMBER:g} and {MAX_NUMBER:g}")
    return values, counted


class ScoreColumn(Displayed, Mapping[str, float]):
    """One column of scores: the mean of each run, by its name. NaN means undefined.

    ``per_query``: the values of the counted queries, by run; None if undefined. A column of one run is a number too.
    """

    _SHOWN_BY = "scores"

    def __init__(self, scores: ScoreTable, column: int) -> None:
        self.scores, self._column = scores, column

    @property
    def measure(self) -> str:
        """The label of the column."""
        return self.scores.measures[self._column]

    @property
    def per_query(self) -> dict[str, dict[str, float | None]]:
        """The values of the counted queries, by run."""
        return {run: self.scores._query_values(r, self._column) for r, run in enumerate(self.scores.runs)}

    def __getitem__(self, run: str) -> float:
        return float(self.scores._means[self.scores._row_of(run), self._column])

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores.runs)

    def __len__(self) -> int:
        return len(self.scores.runs)

    def __float__(self) -> float:
        if len(self) != 1:
            raise UsageError(
                f"{self.measure} of {plural(len(self), 'run')} is not one number",
                hint="name the run: scores[measure][run]",
            )
        return float(self.scores._means[0, self._column])

    def __repr__(self) -> str:
        means = (f"{printable(run)}: {mean:.4f}" for run, mean in list(self.items())[:SHOWN_RUNS])
        rest = f", ... ({plural(len(self), 'run')})" if len(self) > SHOWN_RUNS else ""
        return decodable(f"{self.measure}: {', '.join(means)}{rest}")

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.scores.runs)

    def plot(self, *, top: int | None = 40, interval: Interval = "bca", ax: Axes | None = None) -> Axes:
        """Draw the mean of each run, as `Scores.plot`."""
        if not isinstance(self.scores, Scores):
            raise UsageError("a figure with intervals needs per-query values, and these scores have none")
        return self.scores.plot(self.measure, top=top, interval=interval, ax=ax)


def _is_named(measure: Measure, name: Measure) -> bool:
    """Whether a name means this measure: it is the same measure, and the views that the name has are those."""
    views = name.views.over(measure.views)
    same_views = views.rule is measure.views.rule and replace(views, ties=measure.views.ties) == measure.views
    return same_views and replace(name, views=measure.views) == measure


def _names(given: str | Iterable[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def check_rankings(source: Any, what: str) -> None:
    """Raise if these are scores, which say nothing of the documents that were ranked."""
    if isinstance(source, ScoreTable):
        raise UsageError(f"{what} needs rankings, and scores have none", hint="give judgments and runs")


def handle_undefined(values: Floats, undefined: Undefined, kind: Aggregate = "mean") -> Floats:
    """The values without undefined ones, or with 0, 1 or their credit in their place."""
    missing = np.isnan(values)
    if not missing.any():
        return values
    if kind == "credit":
        return np.where(missing, math.fsum(values[~missing].tolist()) / len(values), values)
    values = substituted(values, undefined)
    return values[~np.isnan(values)]


def substituted(values: Floats, undefined: Undefined) -> Floats:
    """The values with 0 or 1 in place of undefined ones, if the policy says so."""
    return np.where(np.isnan(values), float(undefined == "one"), values) if undefined in ("zero", "one") else values


def summary_of(sample: Floats, kind: Aggregate) -> float:
    """The mean of a sample, or another aggregate, rounded once: the result does not depend on the order of values."""
    added = np.log(np.maximum(sample, SMALLEST)) if kind == "geometric" else sample**2 if kind == "error" else sample
    return averaged(math.fsum(added.tolist()), len(sample), kind)


def averaged(total: float, count: int, kind: Aggregate) -> float:
    """The mean, geometric mean or sum from the sum of ``count`` values, or of their logarithms.

    ``error``: the standard error of a mean, from the sum of the squared standard errors of its values.
    """
    if kind == "sum":
        return total
    if count == 0:
        return math.nan
    if kind == "error":
        return math.sqrt(max(total, 0.0)) / count
    return math.exp(total / count) if kind == "geometric" else total / count


def number(value: float) -> float | None:
    """A number for JSON: None for NaN and infinity."""
    return float(value) if np.isfinite(value) else None
