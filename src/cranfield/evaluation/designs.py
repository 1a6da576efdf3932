"""Attributes of queries in scores: which queries belong together, means by group, nested means, several collections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from cranfield.codec import Saved
from cranfield.data import Floats, Integers, Repeats
from cranfield.errors import CranfieldError, UsageError
from cranfield.evaluation.collection import Collection
from cranfield.evaluation.notes import Note, sentences
from cranfield.evaluation.provenance import Provenance
from cranfield.evaluation.scores import COLLECTION, Scores, substituted
from cranfield.measures.catalogue import Better
from cranfield.settings import Chance, Whole, checked
from cranfield.statistics.design import Design, GroupEffect, Repeated, Sample, group_effect
from cranfield.wording import did_you_mean, few, listed, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes


NO_EFFECT = GroupEffect(np.nan, 0, 0, np.nan)
QUERY = "query"  # the attribute of queries that are the same in several collections
INDEPENDENT = "none"  # the cluster that says that they are not


def attribute_values(scores: Scores, name: str, queries: Sequence[int]) -> list[str]:
    """The value of an attribute for each of these queries; a query without one is an error."""
    defined = sorted({key for query in scores.queries for key in scores.attributes.get(query, {})})
    if name not in defined:
        hint = did_you_mean(name, defined, f"the attributes are {', '.join(defined)}")
        raise UsageError(
            f"queries have no attribute `{name}`",
            hint=hint if defined else "give a table of queries: queries= in Python, --queries-file on the command line",
        )
    names = [scores.queries[q] for q in queries]
    missing = [query for query in names if not scores.attributes.get(query, {}).get(name)]
    if missing:
        raise CranfieldError(
            f"{plural(len(missing), 'query')} of {len(names)} have no {name}: {few(missing)}"
            if len(missing) > 1
            else f"query `{missing[0]}` has no {name}",
            hint=f"add the {name} of these queries to the table of queries, or leave the queries out",
        )
    return [scores.attributes[query][name] for query in names]


def over_collections(scores: Scores, attribute: str) -> Scores:
    """The scores with means over the means of collections, which this attribute of queries names."""
    names = attribute_values(scores, attribute, range(len(scores.queries)))
    about = {
        query: {**scores.attributes[query], COLLECTION: name} for query, name in zip(scores.queries, names, strict=True)
    }
    return replace(scores, attributes=about, by_collection=True)


def cluster_of(scores: Scores, cluster: str | None) -> str | None:
    """The attribute of queries that belong together: by default, equal queries of several collections do."""
    shared = scores.by_collection and any(QUERY in scores.attributes.get(query, {}) for query in scores.queries)
    return QUERY if cluster is None and shared else cluster


def matched_sample(
    scores: Scores,
    measure: int,
    *,
    cluster: str | None = None,
    collection: str | None = None,
    repeats: Repeated = "random",
    check: bool = True,
) -> tuple[Sample, tuple[str, ...]]:
    """One measure over the queries for which every run has a value, sorted by id, with its design; and these queries.

    A query of a repeated run has a value if all its repeats have one. ``check``: raise if the design has no error.
    """
    values, both = scores._matched(measure)
    random = {scores.runs.index(run): table[measure] for run, table in scores.repeats.items()}
    complete = np.ones(len(both), bool)
    for table in random.values():
        complete &= np.isfinite(table[both]).all(axis=1)
    order = sorted(np.flatnonzero(complete).tolist(), key=lambda q: scores.queries[both[q]])
    at = both[order].tolist()
    names = tuple(scores.queries[q] for q in at)
    design = None
    cluster = None if cluster == INDEPENDENT else cluster
    collection = collection or (COLLECTION if scores.by_collection else None)
    if (cluster or collection) and len(at) > 1:
        of = {name: attribute_values(scores, name, at) for name in (cluster, collection) if name}
        design = Design.of(len(at), of.get(collection or ""), of.get(cluster or ""))
        if check:
            design.check(list(dict.fromkeys(of.get(collection or "", ()))))
    kept = {r: table[at] for r, table in random.items()} if repeats == "random" and len(at) > 1 else {}
    return Sample(values[:, order], design, kept), names


@dataclass(frozen=True, eq=False, repr=False)
class Groups(Saved):
    """Scores by the value of an attribute of queries.

    ``queries`` (measure, group): how many queries a group has. ``means`` (measure, run, group). With a baseline,
    ``difference``, ``low`` and ``high`` (measure, run, group) are the run minus the baseline with the limits of its
    interval by Student's t, and ``effects`` (measure, run) says whether the difference depends on the group.
    ``better``: whether higher or lower values of each measure are better.
    """

    _SHOWN_BY = "groups"

    _KIND: ClassVar[str] = "groups"
    _WHAT: ClassVar[str] = "saved groups"
    _HINT: ClassVar[str] = "save groups with `scores.by(attribute).save(FILE)`"

    attribute: str
    groups: tuple[str, ...]
    runs: tuple[str, ...]
    measures: tuple[str, ...]
    queries: Integers
    means: Floats
    baseline: str | None
    level: float
    difference: Floats
    low: Floats
    high: Floats
    effects: tuple[tuple[GroupEffect, ...], ...]
    better: tuple[Better, ...]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The groups that `to_dict` returned."""
        return super().from_dict(data)._with_provenance(Provenance.of_file(data))

    def plot(self, measure: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the differences from the baseline in each group, or the means; returns the Matplotlib axes.

        ``measure``: by default the first. ``ax``: axes to draw on instead of a new figure.
        """
        return self._draw(measure=measure, ax=ax)

    def __repr__(self) -> str:
        return f"Groups: {listed(self.runs, 'run')} by {self.attribute}: {listed(self.groups, 'group')}"


@checked
def grouped(
    scores: Scores,
    attribute: str | Sequence[str],
    baseline: str | None = None,
    *,
    cluster: str | None = None,
    repeats: Repeated = "random",
    level: Chance = 0.95,
    seed: Whole = 0,
) -> Groups:
    """`Scores.by`, which explains the arguments."""
    if baseline is not None and baseline not in scores.runs:
        raise UsageError(
            f"the baseline `{baseline}` is not one of the runs", hint=f"the runs are {few(scores.runs, 10)}"
        )
    cluster = cluster_of(scores, cluster)
    counted = np.flatnonzero(scores.counted.any(axis=0)).tolist()
    attributes = [attribute] if isinstance(attribute, str) else list(attribute)
    if not attributes:
        raise UsageError("groups need at least one attribute of queries")
    values = zip(*(attribute_values(scores, name, counted) for name in attributes), strict=True)
    of_query = dict(zip(counted, map(", ".join, values), strict=True))
    groups = _in_order(set(of_query.values()))
    parts = [scores._part([q for q in counted if of_query[q] == group]) for group in groups]
    shape = len(scores.measures), len(scores.runs), len(groups)
    means = np.stack([part._means.T for part in parts], axis=2)
    queries = np.stack([part._sizes.max(axis=0) for part in parts], axis=1)
    difference, low, high = np.full((3, *shape), np.nan)
    effects: list[tuple[GroupEffect, ...]] = []
    if baseline is not None:
        base = scores.runs.index(baseline)
        pairs = np.array([(r, base) for r in range(len(scores.runs))])
        group_of = {scores.queries[q]: group for q, group in of_query.items()}
        for m, column in enumerate(scores.columns):
            if column.aggregate == "geometric":  # no difference of means over queries
                effects.append((NO_EFFECT,) * len(scores.runs))
                continue
            for g, part in enumerate(parts):
                sample, names = matched_sample(part, m, cluster=cluster, repeats=repeats, check=False)
                if names:
                    difference[m, :, g] = sample.means - sample.means[base]
                if names and sample.units > 1:
                    low[m, :, g], high[m, :, g] = sample.error(pairs).interval(level).T
            effects.append(_effects(scores, m, base, group_of, cluster, seed))
    groups_of_queries = Groups(
        ", ".join(attributes),
        tuple(groups),
        scores.runs,
        scores.measures,
        queries,
        means,
        baseline,
        level,
        difference,
        low,
        high,
        tuple(effects),
        tuple(column.better for column in scores.columns),
    )
    return groups_of_queries._with_provenance(scores.provenance)


def _in_order(names: Iterable[str]) -> list[str]:
    """Names in the order of their text, or of their numbers if all are numbers."""
    try:
        return sorted(names, key=float)
    except ValueError:
        return sorted(names)


def _effects(
    scores: Scores, measure: int, base: int, group_of: dict[str, str], cluster: str | None, seed: int
) -> tuple[GroupEffect, ...]:
    sample, names = matched_sample(scores, measure, cluster=cluster, repeats="fixed", check=False)
    labels = np.unique([group_of[name] for name in names], return_inverse=True)[1] if names else np.zeros(0, np.int64)
    clusters = None if sample.design is None else sample.design.cluster
    return tuple(
        NO_EFFECT if r == base or not len(names) else group_effect(row - sample.x[base], labels, clusters, seed=seed)
        for r, row in enumerate(sample.x)
    )


def nested_means(scores: Scores, levels: Sequence[str]) -> Scores:
    """`Scores.averaged`, which explains the levels."""
    if not levels:
        raise UsageError("averaged needs the name of at least one attribute", hint='for example averaged("topic")')
    for column in scores.columns:
        if column.aggregate != "mean":
            raise UsageError(f"{column.label} is not a mean over queries, so that it has no nested means")
    counted = np.flatnonzero(scores.counted.any(axis=0)).tolist()
    chosen = scores._part(counted)
    labels = list(zip(*(attribute_values(scores, level, counted) for level in levels), strict=True))
    values = np.where(chosen.counted[:, None], substituted(chosen.values, chosen.undefined), np.nan)
    answered, repeats = chosen.counted, dict(chosen.repeats)
    for depth in range(len(levels), 0, -1):
        members: dict[tuple[str, ...], list[int]] = {}
        for i, label in enumerate(labels):
            members.setdefault(label[:depth], []).append(i)
        values = np.stack([_mean(values[:, :, rows], 2) for rows in members.values()], axis=2)
        answered = np.stack([answered[:, rows].any(axis=1) for rows in members.values()], axis=1)
        repeats = {
            run: np.stack([_mean(table[:, rows], 1) for rows in members.values()], axis=1)
            for run, table in repeats.items()
        }
        labels = list(members)
    of_topic: dict[str, list[Mapping[str, str]]] = {}
    for query in chosen.queries:
        of_topic.setdefault(scores.attributes[query][levels[0]], []).append(scores.attributes[query])
    attributes = {topic: _shared(queries) for topic, queries in of_topic.items()}
    return replace(
        chosen, queries=tuple(of_topic), values=values, counted=answered, attributes=attributes, repeats=repeats
    )


def _mean(values: Floats, axis: int) -> Floats:
    """The mean of the defined values; undefined without any."""
    defined = ~np.isnan(values)
    number = defined.sum(axis=axis)
    total = np.where(defined, values, 0).sum(axis=axis)
    return np.divide(total, number, out=np.full(number.shape, np.nan), where=number > 0)


def _shared(attributes: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The attributes that all of these queries have with the same value."""
    first, *rest = attributes
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in rest)}


def evaluate_each(
    collections: Mapping[str, Any],
    runs: Any,
    evaluate: Callable[[Collection, Any, Sequence[str] | None], Scores],
    missing: str,
) -> Scores:
    """The scores of runs, ``{run: {collection: run}}``, on each collection, put together."""
    table = _by_collection(runs, collections)
    lacking = [(run, name) for run, of_run in table.items() for name in collections if name not in of_run]
    if lacking and missing == "error":
        run, name = lacking[0]
        more = f" (and {len(lacking) - 1} more)" if len(lacking) > 1 else ""
        raise UsageError(
            f"run `{run}` has no ranking for the collection `{name}`{more}",
            hint='add it, or use missing="skip" to average over the collections that a run has',
        )
    parts, judged = {}, {}
    for name, given in collections.items():
        here = {run: of_run[name] for run, of_run in table.items() if name in of_run}
        if here:
            collection = Collection.of(given)
            parts[name] = evaluate(collection, list(here.values()), list(here))
            if collection.judges is None:
                judged[name] = collection
    scores = together(parts, tuple(table), collections)
    same = _same_queries(judged)
    return _with_same(scores, same) if same else scores


def _same_queries(collections: Mapping[str, Collection]) -> dict[str, str]:
    """The queries of several collections that are the same: equal ids, with a judged document in common.

    Each is named by its id. The topics 1 to 50 of two unrelated collections have no document in common.
    """
    judged: dict[str, dict[str, set[str]]] = {}
    for name, collection in collections.items():
        judgments = collection.judgments
        documents = list(judgments.documents)
        for query, (begin, end) in zip(judgments.queries, pairwise(judgments.begin.tolist()), strict=True):
            judged.setdefault(query, {})[name] = set(documents[begin:end])
    same = {}
    for query, of_query in judged.items():
        for name, own in of_query.items():
            if any(own & others for other, others in of_query.items() if other != name):
                same[f"{name}/{query}"] = query
    return same


def _with_same(scores: Scores, same: Mapping[str, str]) -> Scores:
    """The scores with an attribute that says which queries are the same."""
    about = {query: {**attributes, QUERY: same.get(query, query)} for query, attributes in scores.attributes.items()}
    return replace(scores, attributes=about)


def evaluate_judges(collection: Collection, evaluate: Callable[[Collection], Scores]) -> Scores:
    """The scores of runs, each the mean over the judges, if there are several.

    A query that not all have judged does not count. With the same queries for all, a test of these means is that of
    the mean of the judges' means, with queries as clusters.
    """
    if collection.judges is None:
        return evaluate(collection)
    own = zip(collection.judges, collection.of_each_judge, strict=True)
    parts = {str(name): evaluate(judged) for name, judged in own}
    first = next(iter(parts.values()))
    each = together(parts, first.runs)
    each = _with_same(each, {f"{name}/{query}": query for name, part in parts.items() for query in part.queries})
    common = set.intersection(*(set(part.queries) for part in parts.values()))
    kept = [q for q, query in enumerate(each.queries) if each.attributes[query][QUERY] in common]
    if not kept:
        raise UsageError("no query is judged by all judges")
    each = replace(each._part(kept), by_collection=True)
    means = nested_means(each, [QUERY])
    left_out = list(dict.fromkeys(q for part in parts.values() for q in part.queries if q not in common))
    texts = [f"{listed(left_out, 'query')} left out: not judged by all judges"] if left_out else []
    attributes = {query: dict(first.attributes[query]) for query in means.queries if query in first.attributes}
    notes = (*each.notes, *map(Note.saved, [*texts, *_orders(each, means)]))
    return replace(means, attributes=attributes, by_collection=False, notes=notes, judges=each)


def _orders(each: Scores, means: Scores) -> Iterator[str]:
    """Whether the order of runs is the same with each judge as by their mean."""
    from cranfield.statistics.correlation import kendall

    for m, column in enumerate(means.columns) if len(means.runs) > 1 else ():
        taus, changed, undefined = [], [], []
        for judge, part in each._collections.items():
            ours, theirs = means._means[:, m], part._means[:, m]
            if np.isnan(theirs).any():
                undefined.append(judge)
                continue
            pairs = [
                f"{means.runs[a]} and {means.runs[b]}"
                for a, b in combinations(range(len(means.runs)), 2)
                if (ours[a] - ours[b]) * (theirs[a] - theirs[b]) < 0
            ]
            taus.append(f"{judge} {kendall(ours, theirs).tau_b:.2f}")
            changed += [f"{few(pairs, 3)} with {judge}"] if pairs else []
        if undefined:
            yield f"{column.label}: undefined with {few(undefined)}, so that the order of runs cannot be compared"
        elif changed:
            with_mean = f"(τ with the mean: {', '.join(taus)})"
            yield f"{column.label}: the order of runs changes: {'; '.join(changed)} {with_mean}"
        else:
            yield f"{column.label}: the order of runs is the same with each judge"


def _by_collection(runs: Any, collections: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    if not isinstance(runs, Mapping) or not runs:
        raise UsageError(
            f"with several collections, runs are {{run: {{collection: run}}}}, not {type(runs).__name__}",
            hint=f"the collections are {few(list(collections), 10)}",
        )
    table = {}
    for run, given in runs.items():
        of_run = given
        if isinstance(given, Repeats) and all(isinstance(repeat, Mapping) for repeat in given.runs):
            names = dict.fromkeys(name for repeat in given.runs for name in repeat)
            of_run = {name: Repeats([repeat[name] for repeat in given.runs if name in repeat]) for name in names}
        if not isinstance(of_run, Mapping) or not of_run.keys() <= collections.keys():
            unknown = [str(name) for name in of_run if name not in collections] if isinstance(of_run, Mapping) else []
            given_shape = f"the unknown collection `{unknown[0]}`" if unknown else type(given).__name__
            raise UsageError(
                f"run `{run}`: expected {{collection: run}}, found {given_shape}",
                hint=f"the collections are {few(list(collections), 10)}",
            )
        table[str(run)] = dict(of_run)
    return table


def together(parts: Mapping[str, Scores], runs: tuple[str, ...], collections: Iterable[str] = ()) -> Scores:
    """The scores of all collections; the id of a query begins with the name of its collection.

    ``collections``: the names of all that were asked for; notes say which of them no run has.
    """
    first = next(iter(parts.values()))
    queries = [f"{name}/{query}" for name, part in parts.items() for query in part.queries]
    if len(set(queries)) < len(queries):
        same = next(query for query in queries if queries.count(query) > 1)
        raise UsageError(
            f"two queries have the id `{same}`, which is COLLECTION/QUERY", hint="give the collections other names"
        )
    shape = len(runs), len(first.columns), len(queries)
    values, counted = np.full(shape, np.nan), np.zeros((shape[0], shape[2]), bool)
    repeats = {run: _repeats(run, parts, shape) for run in runs if any(run in part.repeats for part in parts.values())}
    attributes: dict[str, dict[str, str]] = {}
    begin = 0
    for name, part in parts.items():
        end = begin + len(part.queries)
        rows = [runs.index(run) for run in part.runs]
        values[rows, :, begin:end], counted[rows, begin:end] = part.values, part.counted
        for run, table in part.repeats.items():
            repeats[run][:, begin:end] = table
        for query in part.queries:
            attributes[f"{name}/{query}"] = {**part.attributes.get(query, {}), COLLECTION: name}
        begin = end
    notes = [
        *(Note.saved(f"{name}: left out, as no run has it") for name in collections if name not in parts),
        *(Note.saved(f"{name}: {text}") for name, part in parts.items() for text in sentences(part.notes)),
    ]
    return replace(
        first,
        runs=runs,
        queries=tuple(queries),
        values=values,
        counted=counted,
        notes=tuple(notes),
        attributes=attributes,
        repeats=repeats,
        by_collection=True,
        provenance=Provenance.of_several({name: part.provenance for name, part in parts.items()}),
    )


def _repeats(run: str, parts: Mapping[str, Scores], shape: tuple[int, int, int]) -> Any:
    numbers = {
        name: part.repeats[run].shape[2] if run in part.repeats else 1
        for name, part in parts.items()
        if run in part.runs
    }
    if len(set(numbers.values())) > 1:
        listed_numbers = ", ".join(f"{name} {number}" for name, number in numbers.items())
        raise UsageError(f"run `{run}` has other numbers of repeats in other collections: {listed_numbers}")
    return np.full((shape[1], shape[2], next(iter(numbers.values()))), np.nan)
