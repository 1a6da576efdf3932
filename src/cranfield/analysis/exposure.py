"""What is shown: how many documents of a catalogue, how evenly, and which groups of them; no judgments are needed.

The *exposure* of a document for a query is the probability that it is among the first k, over all orders of tied
documents. A tie is a random ranking, so that this is exact: 1, 0, or s/g in a tie of g documents of which s are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from cranfield.codec import plain
from cranfield.data import Floats, Integers, Strings
from cranfield.display import Displayed
from cranfield.errors import InputError, UsageError
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.evaluator import read_runs
from cranfield.io.columns import Duplicates, first_rows, is_missing
from cranfield.io.faults import quotable
from cranfield.io.named_tables import Items, read_items
from cranfield.io.runs import Piece, for_each_piece
from cranfield.ranking.tie_rules import DEFAULT, tie_rule
from cranfield.settings import Count, checked
from cranfield.statistics.intervals import t_quantile
from cranfield.statistics.rounding import SAME
from cranfield.wording import listed, plural

MOST_SHOWN = 10  # documents of a run that are listed
NO_GROUP = "(none)"  # the group of items without the attribute
CONFIDENCE = 0.95


@dataclass(frozen=True)
class ShareDifference:
    """The share of a group in the exposure of a run, minus that of another run, with its interval by queries.

    The interval is NaN if there is no spread between queries: nothing is known of other queries.
    """

    run: str
    other: str
    group: str
    difference: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class RunExposure:
    """What one run shows.

    ``coverage``: the expected share of the catalogue that is shown for at least one query. ``gini``: the Gini
    coefficient of the exposure of all documents of the catalogue, from 0 (all equal) to almost 1; NaN if nothing is
    shown. ``shares``: the share of each group in the exposure. ``tied_queries``: queries in which ties decide what is
    shown. ``totals``: the exposure of each document of the catalogue, summed over queries.
    """

    coverage: float
    gini: float
    shares: dict[str, float]
    tied_queries: int
    catalogue: Strings = field(repr=False)
    totals: Floats = field(repr=False)

    @property
    def exposure(self) -> dict[str, float]:
        """The exposure of each document of the catalogue, summed over queries."""
        return dict(zip(self.catalogue, self.totals.tolist(), strict=True))

    @property
    def most_shown(self) -> dict[str, float]:
        """The documents with the highest exposure, highest first."""
        order = np.argsort(-self.totals, kind="stable")[:MOST_SHOWN]
        return {self.catalogue[row]: float(self.totals[row]) for row in order.tolist() if self.totals[row] > 0}


@dataclass(frozen=True, eq=False, repr=False)
class Exposure(Displayed):
    """What several runs show for the same queries: ``exposure["run"].coverage``, ``.gini``, ``.shares``, ...

    ``k``: how many documents of a list are shown. ``queries``: those that all runs have; ``left_out``: the others.
    ``documents``: the number of documents in the catalogue. ``by``: the attribute whose groups have shares;
    ``catalogue_shares``: the share of each group in the catalogue. ``differences``: of shares, from ``baseline``.
    Coverage and Gini depend on the number of queries and have no intervals.
    """

    _SHOWN_BY = "exposure"

    k: int
    queries: int
    left_out: int
    documents: int
    by: str | None
    catalogue_shares: dict[str, float]
    baseline: str | None
    runs: dict[str, RunExposure]
    differences: tuple[ShareDifference, ...] = ()

    def __getitem__(self, run: str) -> RunExposure:
        if run not in self.runs:
            raise UsageError(f"`{run}` is not one of the runs", hint=f"the runs are {', '.join(self.runs)}")
        return self.runs[run]

    def __repr__(self) -> str:
        return f"Exposure: {listed(list(self.runs), 'run')}, first {self.k} of {plural(self.queries, 'query')}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        names = ("k", "queries", "left_out", "documents", "by", "catalogue_shares", "baseline", "differences")
        of_run = ("coverage", "gini", "shares", "tied_queries", "most_shown")
        runs = {name: {part: getattr(run, part) for part in of_run} for name, run in self.runs.items()}
        return plain({**{name: getattr(self, name) for name in names}, "runs": runs})


@checked
def exposure(
    runs: Any,
    k: Count = 10,
    items: Any = None,
    by: str | None = None,
    *,
    baseline: str | None = None,
    names: Sequence[str | None] | None = None,
    duplicates: Duplicates = "error",
) -> Exposure:
    """What runs show in the first k documents: coverage and concentration, and shares of groups of documents.

    Parameters
    ----------
    runs
        As ``run`` of `evaluate`. They are read piece by piece.
    k
        How many documents of a list are shown.
    items
        The catalogue, all documents that could be shown, with attributes: ``{document: {attribute: value}}``, or a
        table with a column for the document. By default all documents that any run shows.
    by
        An attribute of items; its groups have shares of the exposure.
    baseline
        The run from which differences of shares are taken, by default the first.
    names
        The names of the runs.
    duplicates
        What to do if a document occurs twice in a list.

    Returns
    -------
    Exposure
        For each run its coverage, Gini coefficient, shares and most shown documents.

    Examples
    --------
    >>> import cranfield as cf
    >>> run = {"ann": {"a": 2.5, "b": 1.5}, "bob": {"a": 1.5, "c": 1.5}}
    >>> shown = cf.exposure({"top": run}, k=1, items={"a": {}, "b": {}, "c": {}, "d": {}})["top"]
    >>> shown.exposure, shown.coverage
    ({'a': 1.5, 'b': 0.0, 'c': 0.5, 'd': 0.0}, 0.375)
    """
    given = read_runs(runs, names, duplicates)
    readers = {run.name: partial(for_each_piece, run, k) for run in given}
    return _exposure(readers, k, None if items is None else read_items(items), by, baseline)


def exposure_of(evaluation: Evaluation, k: int, by: str | None = None, baseline: str | None = None) -> Exposure:
    """What the runs of an evaluation show, which keeps at least k top documents, and has items."""
    key = tie_rule(DEFAULT).key

    def reader(r: int) -> Reader:
        run = evaluation.run_scores[r]
        names = [*evaluation.queries, *run.unjudged_queries]
        answered = np.append(run.length >= 0, np.ones(len(run.unjudged_queries), bool))
        tops, number = run.tops[key], np.cumsum(answered) - 1
        queries = [names[q] for q in np.flatnonzero(answered).tolist()]
        shown = tops.positions.take(np.flatnonzero(tops.positions.start < k))
        ids = tops.ids.take(np.flatnonzero(tops.positions.start < k))
        piece = Piece(queries, ids, number[shown.query], shown.start, shown.size)

        def read(begin: Callable[[], Any], add: Callable[[Any, Piece], None]) -> Any:
            total = begin()
            add(total, piece)
            return total

        return read

    readers = {name: reader(r) for r, name in enumerate(evaluation.runs)}
    return _exposure(readers, k, evaluation.collection.items, by, baseline)


Reader = Callable[[Callable[[], Any], Callable[[Any, Piece], None]], Any]


class Catalogue:
    """The documents that could be shown, numbered; without items, those that runs show, in order of appearance."""

    def __init__(self, items: Items | None, by: str | None) -> None:
        if by is not None and items is None:
            raise UsageError(f"the groups of `{by}` need items", hint="give a table of documents with this attribute")
        self.ids = Strings.of([]) if items is None else items.ids
        self.items, self.groups, self.group = items, (), np.zeros(len(self.ids), np.int64)
        if by is not None and items is not None:
            values = [NO_GROUP if is_missing(value) else str(value) for value in items.column(by)]
            names, self.group = np.unique(np.array(values, object), return_inverse=True)
            self.groups = tuple(names.tolist())

    def numbers(self, ids: Strings) -> Integers:
        """The number of each document; new ones get the next numbers."""
        size = len(self.ids)
        every = Strings.concatenate([self.ids, ids])
        first = first_rows(np.zeros(len(every), np.int64), every)
        new = np.flatnonzero(first[size:] == np.arange(size, len(every)))
        number = np.arange(len(every))
        number[size + new] = size + np.arange(len(new))
        self.ids = Strings.concatenate([self.ids, ids.take(new)])
        self.group = np.concatenate([self.group, np.zeros(len(new), np.int64)])
        return number[first[size:]]

    def check(self) -> None:
        """Raise if a run shows a document that is not among the items."""
        if self.items is None or len(self.ids) == len(self.items.ids):
            return
        unknown = plural(len(self.ids) - len(self.items.ids), "document")
        example = quotable(self.ids[len(self.items.ids)])
        raise InputError(
            [f"{self.items.name}: runs show {unknown} not among the items, such as `{example}`"],
            hint="items are the whole catalogue; add these documents",
        )


class Counts:
    """The exposure that one run gives to each document, and to each group by query; added up over pieces."""

    def __init__(self, k: int, catalogue: Catalogue, kept: set[str] | None = None) -> None:
        """``kept``: only these queries count."""
        self.k, self.catalogue, self.kept = k, catalogue, kept
        self.total, self.missed, self.tied_queries = np.zeros(0), np.ones(0), 0
        self.queries: list[str] = []
        self.by_query: list[Floats] = []  # (query, group): the exposure of each group

    def add(self, piece: Piece) -> None:
        """Count the documents of further queries."""
        names = piece.queries
        kept = np.array([self.kept is None or name in self.kept for name in names], bool)
        rows = np.flatnonzero(kept[piece.query])
        query = (np.cumsum(kept) - 1)[piece.query[rows]]
        start, size = piece.start[rows], piece.size[rows]
        chance = np.minimum(self.k - start, size) / size
        document = self.catalogue.numbers(piece.ids if kept.all() else piece.ids.take(rows))
        documents, groups, queries = len(self.catalogue.ids), max(len(self.catalogue.groups), 1), int(kept.sum())
        new = np.zeros(documents - len(self.total))
        self.total = np.concatenate([self.total, new]) + np.bincount(document, chance, documents)
        self.missed = np.concatenate([self.missed, new + 1])
        np.multiply.at(self.missed, document, 1 - chance)
        cell = query * groups + self.catalogue.group[document]
        by_query: Floats = np.bincount(cell, chance, queries * groups).astype(np.float64)
        self.by_query.append(by_query.reshape(queries, groups))
        self.tied_queries += len(np.unique(query[chance < 1]))
        self.queries += [name for name, counts in zip(names, kept.tolist(), strict=True) if counts]

    def result(self) -> RunExposure:
        """The exposure over the whole catalogue."""
        documents = len(self.catalogue.ids)
        new = np.zeros(documents - len(self.total))
        total, missed = np.concatenate([self.total, new]), np.concatenate([self.missed, new + 1])
        shown, groups = total.sum(), self.catalogue.groups
        rank = 2 * np.arange(1, documents + 1) - documents - 1
        gini = (rank * np.sort(total)).sum() / (documents * shown) if shown else np.nan
        shares = np.bincount(self.catalogue.group, total, len(groups)) / (shown or np.nan) if groups else ()
        return RunExposure(
            float((1 - missed).mean()) if documents else np.nan,
            float(gini),
            dict(zip(groups, map(float, shares), strict=True)),
            self.tied_queries,
            self.catalogue.ids,
            total,
        )


def _exposure(
    readers: Mapping[str, Reader], k: int, items: Items | None, by: str | None, baseline: str | None
) -> Exposure:
    if baseline is not None and baseline not in readers:
        raise UsageError(f"the baseline `{baseline}` is not one of the runs", hint=f"the runs are {', '.join(readers)}")

    def count(kept: set[str] | None = None) -> tuple[Catalogue, dict[str, Counts]]:
        catalogue = Catalogue(items, by)
        counts = {name: read(partial(Counts, k, catalogue, kept), Counts.add) for name, read in readers.items()}
        catalogue.check()
        return catalogue, counts

    catalogue, counts = count()
    queries = [set(of_run.queries) for of_run in counts.values()]
    common, every = set.intersection(*queries), set.union(*queries)
    if len(common) < len(every):  # coverage and Gini are comparable for the same queries only
        if not common:
            raise InputError(["the runs have no query in common"], hint="coverage is compared for the same queries")
        catalogue, counts = count(common)
    results = {name: of_run.result() for name, of_run in counts.items()}
    reference = (baseline or next(iter(counts))) if len(counts) > 1 else None
    sizes = np.bincount(catalogue.group, minlength=len(catalogue.groups)) / max(len(catalogue.ids), 1)
    return Exposure(
        k,
        len(common),
        len(every) - len(common),
        len(catalogue.ids),
        by,
        dict(zip(catalogue.groups, sizes.tolist(), strict=False)),
        reference,
        results,
        tuple(_differences(counts, catalogue.groups, reference)) if reference and catalogue.groups else (),
    )


def _differences(counts: dict[str, Counts], groups: Sequence[str], reference: str) -> Iterable[ShareDifference]:
    """The difference of each share from that of the reference, with its interval over queries.

    A share is a ratio of sums over queries, x / n; the contribution of query q to its error is
    (x_q - share n_q) / mean n (the linearisation of a ratio: Cochran, 1977, section 6.5).
    """
    order = {query: row for row, query in enumerate(counts[reference].queries)}
    queries = len(order)

    def influence(of_run: Counts) -> tuple[Floats, Floats]:
        table = np.empty((queries, len(groups)))
        table[[order[query] for query in of_run.queries]] = np.concatenate(of_run.by_query)
        shown = table.sum(axis=1, keepdims=True)
        share = table.sum(axis=0) / (shown.sum() or np.nan)
        return share, (table - share * shown) / (shown.mean() or np.nan)

    other_share, other = influence(counts[reference])
    for run, of_run in counts.items():
        if run == reference:
            continue
        share, own = influence(of_run)
        error = np.sqrt(((own - other) ** 2).sum(axis=0) / (queries * (queries - 1))) if queries > 1 else np.nan
        half_width = t_quantile(CONFIDENCE, max(queries - 1, 1)) * error * np.ones(len(groups))
        for g, group in enumerate(groups):
            difference, width = float(share[g] - other_share[g]), float(half_width[g])
            width = np.nan if width == 0 and abs(difference) > SAME else width
            yield ShareDifference(run, reference, group, difference, difference - width, difference + width)
