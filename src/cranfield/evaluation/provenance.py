"""What a result was computed from: the version, measures and policy, and a digest of every input.

Digests are taken when a result is saved or printed as JSON, or by `io.digests.digesting` while files are read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from cranfield import __version__
from cranfield.codec import plain, typed
from cranfield.data import Judgments, Run
from cranfield.errors import UsageError
from cranfield.evaluation.plan import NO_POLICY, Column, Policy
from cranfield.io.columns import id_text
from cranfield.io.streams import Digests, active, digest_of_file, text_digest
from cranfield.ranking.tie_rules import DEFAULT
from cranfield.wording import few, plural

if TYPE_CHECKING:
    from cranfield.evaluation.collection import Collection

FILES = (
    *("queries", "documents", "items", "intents", "costs"),
    *("strata", "inclusion", "method", "predicted", "map_documents"),
)
OTHER_JUDGMENTS = "prefs", "groups", "spans"
JUDGMENTS = "qrels", *OTHER_JUDGMENTS
# Scores of other seeds are estimates of the same, and views are part of each measure.
NOT_COMPARED = {"seed", "ties", "depth", "condensed", "terminal"}
ABSENT = "absent"  # where scores depend on nothing of a kind
# What the judgments of one query change for all others: a sentence, and what else can be done.
OF_ALL = {
    "highest_grade": (
        "the highest grade{of} was {before:g} and is {after:g}",
        ", or name the grade that gains are divided by: max=GRADE",
    ),
    "judged_documents": ("other documents{of} are judged for some query", ""),
}
ORIGIN = ("time", "command", "experiment", "experiment_digest")  # what `results.with_origin` adds to files


class Source(NamedTuple):
    """An input: its kind, what it is called, and the file, if it is one, as it was when it was read."""

    kind: str
    name: str
    run: str | None = None
    collection: str | None = None
    path: str = ""
    state: tuple[int, int] | None = None
    digests: Digests | None = None

    @classmethod
    def of(cls, kind: str, given: Any, run: str | None = None) -> Source:
        """The source of a path, or of something in memory, which has no digest."""
        if not isinstance(given, (str, os.PathLike)) or not given:
            return cls(kind, "in memory", run)
        path = os.fsdecode(given)
        return cls(kind, path, run, path=path, state=_state(path), digests=active())

    @property
    def digest(self) -> str | None:
        """The digest of the content; None if there is no file, or if it changed since it was read."""
        if self.state is None:
            return None
        if self.digests is not None and (digest := self.digests.get(self.path)):
            return digest
        return digest_of_file(self.path) if _state(self.path) == self.state else None

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        about = {"kind": self.kind, "collection": self.collection, "run": self.run, "name": self.name}
        return {**{key: value for key, value in about.items() if value is not None}, "digest": self.digest}


def _state(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_size, status.st_mtime_ns


class SavedSource(NamedTuple):
    """An input in a file."""

    kind: str
    name: str = ""
    digest: str | None = None
    run: str | None = None
    collection: str | None = None


class SavedDependencies(NamedTuple):
    """What else scores depend on, in a file: digests, and the highest grade."""

    highest_grade: float | int | None = None
    judged_documents: str | None = None
    intents: str | None = None
    costs: str | None = None
    documents: str | None = None
    items: str | None = None
    map_documents: str | None = None


class SavedProvenance(NamedTuple):
    """The provenance in a file."""

    inputs: tuple[SavedSource, ...] = ()
    policy: Policy = NO_POLICY
    judgments: Mapping[str, tuple[int, str]] = MappingProxyType({})
    depends: Mapping[str, SavedDependencies] = MappingProxyType({})
    time: str = ""


@dataclass(eq=False, repr=False)
class Provenance:
    """What scores were computed from; `data` is plain."""

    columns: tuple[Column, ...] = ()
    policy: Policy | None = None
    sources: tuple[Source, ...] = ()
    judged: tuple[tuple[str, Collection], ...] = ()  # collections, and what the ids of their queries begin with
    saved: Mapping[str, Any] | None = None  # of a file

    @classmethod
    def of_runs(
        cls, columns: tuple[Column, ...], policy: Policy, collection: Collection, runs: Iterable[Run]
    ) -> Provenance:
        """Of the evaluation of runs on a collection."""
        given = collection.given
        sources = [Source.of(kind, given[kind]) for kind in FILES if kind in given]
        for run in runs:
            in_memory = isinstance(run.source, Mapping) or not run.source_name
            sources.append(Source.of("run", None if in_memory else run.source_name, run.name))
        return cls(columns, policy, tuple(sources), (("", collection),))

    @classmethod
    def of_several(cls, parts: Mapping[str, Provenance | None]) -> Provenance | None:
        """Of scores on several collections."""
        given = {name: part for name, part in parts.items() if part is not None}
        if not given:
            return None
        first = next(iter(given.values()))
        sources = [source._replace(collection=name) for name, part in given.items() for source in part.sources]
        judged = [(f"{name}/", collection) for name, part in given.items() for _, collection in part.judged]
        return replace(first, sources=tuple(sources), judged=tuple(judged))

    @classmethod
    def of_parts(cls, parts: Sequence[Provenance]) -> Provenance | None:
        """Of scores that were computed for parts of the queries; None if one of them was saved before."""
        if any(part.saved is not None for part in parts):
            return None
        sources = dict.fromkeys(source for part in parts for source in part.sources)
        return replace(parts[0], sources=tuple(sources), judged=tuple(pair for part in parts for pair in part.judged))

    @classmethod
    def of_file(cls, data: Mapping[str, Any]) -> Provenance | None:
        """Of a saved result, if the file has it."""
        if "provenance" not in data:
            return None
        typed(SavedProvenance, data["provenance"], "provenance")
        return cls(saved=data["provenance"])

    def with_sources(self, sources: Iterable[Source]) -> Provenance:
        """With further inputs."""
        return replace(self, sources=(*self.sources, *sources))

    @cached_property
    def judgments(self) -> dict[str, tuple[int, str]]:
        """How many judgments each query has, and the beginning of their digest, whatever their order."""
        if self.saved is not None:
            return {query: tuple(judged) for query, judged in self.saved.get("judgments", {}).items()}
        return {
            prefix + query: of_query
            for prefix, collection in self.judged
            for query, of_query in _digests_of(
                collection.layers if "groups" in collection.given else [collection.judgments]
            ).items()
        }

    @cached_property
    def depends(self) -> dict[str, dict[str, Any]]:
        """What else scores depend on, by collection: digests, and the highest grade; None for what is not known."""
        if self.saved is not None:
            return dict(self.saved.get("depends", {}))
        by_collection = {
            prefix.rstrip("/"): _dependencies(collection, self.columns, self.sources)
            for prefix, collection in self.judged
        }
        return {name: of_collection for name, of_collection in by_collection.items() if of_collection}

    @property
    def policy_data(self) -> dict[str, Any]:
        """The policy as plain data; empty if there is none."""
        if self.saved is not None:
            return dict(self.saved.get("policy", {}))
        return {} if self.policy is None else asdict(self.policy) | {"ties": self.policy.ties or DEFAULT}

    @property
    def origin(self) -> dict[str, Any]:
        """What made a saved result, and when."""
        return {key: value for key, value in (self.saved or {}).items() if key in ORIGIN}

    @cached_property
    def data(self) -> dict[str, Any]:
        """Plain data for JSON, which is always the same for the same inputs."""
        if self.saved is not None:
            return {key: value for key, value in self.saved.items() if key not in ORIGIN}
        inputs: list[dict[str, Any]] = []
        first = dict(self.judged[::-1])  # parts of the queries may have one prefix
        for prefix in dict.fromkeys(prefix for prefix, _ in self.judged):
            collection = first[prefix]
            own = [
                f"{q} {number} {digest}"
                for q, (number, digest) in sorted(self.judgments.items())
                if q.startswith(prefix)
            ]
            about = {"collection": prefix[:-1]} if prefix else {}
            kind = next((kind for kind in OTHER_JUDGMENTS if kind in collection.given), "qrels")
            name = collection.given.get(kind)
            named = os.fsdecode(name) if isinstance(name, (str, os.PathLike)) else getattr(name, "name", "in memory")
            digest = text_digest("\n".join(own).encode("utf-8", "surrogateescape"))
            inputs.append({"kind": kind, **about, "name": named, "digest": digest})
        inputs += [source.to_dict() for source in self.sources]
        return {
            "cranfield": __version__,
            "measures": {str(column.measure): plain(column.measure.chosen) for column in self.columns},
            **({"policy": self.policy_data} if self.policy is not None else {}),
            "inputs": inputs,
            **({"depends": plain(self.depends)} if self.depends else {}),
            **({"judgments": plain(self.judgments)} if self.judgments else {}),
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, ({**self.origin, **self.data},)


def _restored(data: Mapping[str, Any]) -> Provenance:
    return Provenance(saved=data)


def _digests_of(layers: Sequence[Judgments]) -> dict[str, tuple[int, str]]:
    """For each query the number of its judgments, and a digest of them in the order of their documents."""
    digests: dict[str, list[tuple[int, str]]] = {}
    for judgments in layers:
        rows = _with_subtopics(judgments)
        for q, (query, (begin, end)) in enumerate(
            zip(judgments.queries, pairwise(judgments.begin.tolist()), strict=True)
        ):
            lines = sorted(rows[begin:end]) + _preferences(judgments, q)
            digests.setdefault(query, []).append((end - begin, _digest(lines).removeprefix("sha256:")[:16]))
    return {
        query: of_query[0]
        if len(of_query) == 1
        else (
            sum(number for number, _ in of_query),
            _digest(sorted(digest for _, digest in of_query)).removeprefix("sha256:")[:16],
        )
        for query, of_query in digests.items()
    }


def _digest(lines: Iterable[str]) -> str:
    return text_digest("\n".join(lines).encode("utf-8", "surrogateescape"))


def _with_subtopics(judgments: Judgments) -> list[str]:
    """All that is known of each judged document."""
    rows = judgments.facts()
    if (labels := judgments.labels) is not None:
        names = list(labels.names)
        of_row = zip(labels.document.tolist(), labels.subtopic.tolist(), (labels.grade + 0.0).tolist(), strict=True)
        for document, subtopic, grade in sorted(of_row, key=lambda row: (row[0], names[row[1]])):
            rows[document] += f" {names[subtopic]} {grade!r}"
    return rows


def _preferences(judgments: Judgments, q: int) -> list[str]:
    """The preferences between the documents of a query."""
    given = judgments.preferences
    if given is None:
        return []
    names, first = judgments.documents, int(given.groups[q])
    pairs = range(given.begin[q], given.begin[q + 1])
    rows = [f"{names[given.better[i]]} {names[given.worse[i]]} {given.group[i] - first}" for i in pairs]
    for g in range(first, given.groups[q + 1]):
        members = range(given.member_begin[g], given.member_begin[g + 1])
        rows += [f"{g - first} {names[given.member[i]]} {given.relevant[i]} {given.single[g]}" for i in members]
    return sorted(rows)


def _dependencies(collection: Collection, columns: Sequence[Column], sources: Sequence[Source]) -> dict[str, Any]:
    """What scores on a collection depend on, apart from the judgments of each query."""
    depends: dict[str, Any] = {}
    given, judgments = collection.given, collection.judgments
    if any("highest_grade" in _needed(column, nil="nil" in given) for column in columns):
        depends["highest_grade"] = max(float(layer.grade.max(initial=0)) for layer in collection.layers)
    if any(column.measure.definition.collection for column in columns):
        depends["judged_documents"] = _digest(sorted({name for layer in collection.layers for name in layer.documents}))
    if judgments.intents is not None or judgments.navigational is not None:
        depends["intents"] = _digest(_intents(judgments))
    if (costs := collection.costs) is not None:
        depends["costs"] = _digest(sorted(f"{q} {d} {cost!r}" for q, row in costs.items() for d, cost in row.items()))
    for kind in ("documents", "items", "map_documents"):
        if isinstance(content := given.get(kind), Mapping):
            depends[kind] = _digest(sorted(f"{id_text(key)!r} {value!r}" for key, value in content.items()))
        elif content is not None:
            depends[kind] = next((source.digest for source in sources if source.kind == kind), None)
    return depends


def _intents(judgments: Judgments) -> list[str]:
    """The weights of subtopics, and those that are navigational."""
    names = [] if judgments.labels is None else list(judgments.labels.names)
    rows = []
    if (weights := judgments.intents) is not None:
        of_row = zip(weights.query.tolist(), weights.subtopic.tolist(), weights.weight.tolist(), strict=True)
        rows = [f"{judgments.queries[q]} {names[s] if s >= 0 else '-'} {weight!r}" for q, s, weight in of_row]
    if (single := judgments.navigational) is not None:
        pairs = zip(single.query.tolist(), single.subtopic.tolist(), strict=True)
        rows += [f"{judgments.queries[q]} {names[s] if s >= 0 else '-'} nav" for q, s in pairs]
    return sorted(rows)


def _needed(column: Column, *, nil: bool = False) -> set[str]:
    """What a column depends on, apart from the judgments of each query."""
    measure, definition, chosen = column.measure, column.measure.definition, column.measure.chosen
    unused = {name for name, other, value in definition.unused_when if chosen[other] == value}
    unset = any(name in chosen and chosen[name] is None and name not in unused for name in ("max", "top"))
    # The highest grade of an ideal ranking is divided by the same; a binary measure with `max` reads grades itself.
    scaled = unset and definition.gains != "ideal" and (not measure.binary_gains or definition.gains == "binary")
    ends = measure.views.terminal or nil
    facts = {
        "documents": definition.content,
        "items": definition.documents,
        "costs": definition.costs,
        "intents": definition.subtopics,
        "map_documents": True,
        "judged_documents": definition.collection,
        # A document that ends a ranking, or means "none", has the highest grade.
        "highest_grade": definition.is_own or scaled or (ends and not measure.binary_gains),
    }
    return {name for name, needed in facts.items() if needed}


def check_same(
    own: Provenance | None, other: Provenance | None, name: str, columns: Sequence[Column], *, allowed: bool
) -> list[str]:
    """Raise if the scores of a saved run were computed from something else, or with another policy.

    ``columns``: what is compared. ``allowed``: other judgments are no error, if they change the values of their own
    queries only. Returns the queries whose judgments are not the same; none if one of the two is not known.
    """
    if own is None or other is None:
        return []
    old, new = (side.policy_data for side in (other, own))
    for key in sorted(old.keys() & new.keys() - NOT_COMPARED):
        if old[key] != new[key]:
            raise UsageError(
                f"the scores of `{name}` were computed with {key}={old[key]}, and these with {key}={new[key]}",
                hint=f"use {key}={old[key]}, or compute the baseline again",
            )
    nil = bool(new.get("nil"))
    for collection in dict.fromkeys([*own.depends, *other.depends]):
        then, now = (side.depends.get(collection, {}) for side in (other, own))
        of = f" of {collection}" if collection else ""
        for kind in sorted(then.keys() | now.keys()):
            measures = [column.label for column in columns if kind in _needed(column, nil=nil)]
            before, after = then.get(kind, ABSENT), now.get(kind, ABSENT)
            if not measures or before == after or None in (before, after):
                continue
            if kind not in OF_ALL:
                message = f"the baseline `{name}` was scored with other {kind}{of}"
                raise UsageError(message, hint="save the baseline again")
            if allowed and ABSENT not in (before, after):
                what, hint = OF_ALL[kind]
                raise UsageError(
                    f"{what.format(of=of, before=before, after=after)}, and all values of {few(measures, 3)} depend on "
                    "it",
                    hint=f"save the baseline again{hint}",
                )
    judged, judged_now = other.judgments, own.judgments
    if not judged or not judged_now or judged == judged_now:
        return []
    changed = [query for query, digest in judged_now.items() if judged.get(query, digest) != digest]
    if allowed:
        return changed
    parts = []
    if changed:
        counts = [sum(side[query][0] for query in changed) for side in (judged, judged_now)]
        number = f"{plural(counts[0], 'judgment')} then, {counts[1]:,} now"
        parts = [f"{plural(len(changed), 'query')} changed ({few(changed, 3)}; {number})"]
    for what, names, side in (
        ("new", judged_now.keys() - judged, judged_now),
        ("gone", judged.keys() - judged_now, judged),
    ):
        if names:
            number = plural(sum(side[query][0] for query in names), "judgment")
            parts.append(f"{plural(len(names), 'query')} {what} ({few(sorted(names), 3)}; {number})")
    raise UsageError(
        f"the baseline `{name}` was scored with other judgments: {'; '.join(parts)}",
        hint="save the baseline again, or use --allow-changed-judgments to compare on the queries that are the same",
    )
