"""What a result was computed from: the version, measures and policy, and a digest of every input.

Digests are taken when a result is saved or printed as JSON, or by `io.digests.digesting` while files are read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from cranfield import __version__
from cranfield.data import Judgments, Run
from cranfield.errors import UsageError
from cranfield.io.streams import Digests, active, digest_of_file, text_digest
from cranfield.ranking.tie_rules import DEFAULT
from cranfield.record import record
from cranfield.results import plain, typed
from cranfield.wording import few, plural

if TYPE_CHECKING:
    from cranfield.evaluation.collection import Collection
    from cranfield.evaluation.plan import Column, Policy

FILES = "queries", "documents", "intents", "costs", "strata", "inclusion", "method", "predicted", "map_documents"
OTHER_JUDGMENTS = "prefs", "groups", "spans"
# Files on which scores depend, whatever the measures.
COMPARED_FILES = *OTHER_JUDGMENTS, "intents", "costs", "map_documents"
# Scores of other seeds are estimates of the same, and views are part of each measure.
NOT_COMPARED = {"seed", "ties", "depth", "condensed", "terminal"}
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
        in_any_order = self.kind in OTHER_JUDGMENTS
        if not in_any_order and self.digests is not None and (found := self.digests.get(self.path)):
            return found
        return digest_of_file(self.path, in_any_order=in_any_order) if _state(self.path) == self.state else None

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        about = {"kind": self.kind, "collection": self.collection, "run": self.run, "name": self.name}
        return {**{key: value for key, value in about.items() if value is not None}, "digest": self.digest}


def _state(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_size, found.st_mtime_ns


@record(eq=False)
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
        kinds = [kind for kind in (*FILES, *OTHER_JUDGMENTS) if kind in given]
        sources = [Source.of(kind, given[kind]) for kind in kinds]
        for run in runs:
            in_memory = isinstance(run.source, Mapping) or not run.source_name
            sources.append(Source.of("run", None if in_memory else run.source_name, run.name))
        return cls(columns, policy, tuple(sources), (("", collection),))

    @classmethod
    def of_several(cls, parts: Mapping[str, Provenance | None]) -> Provenance | None:
        """Of scores on several collections."""
        known = {name: part for name, part in parts.items() if part is not None}
        if not known:
            return None
        first = next(iter(known.values()))
        sources = [source._replace(collection=name) for name, part in known.items() for source in part.sources]
        judged = [(f"{name}/", one) for name, part in known.items() for _, one in part.judged]
        return replace(first, sources=tuple(sources), judged=tuple(judged))

    @classmethod
    def of_file(cls, data: Mapping[str, Any]) -> Provenance | None:
        """Of a saved result, if the file has it."""
        if "provenance" not in data:
            return None
        saved = typed(dict[str, Any], data["provenance"], "provenance")
        typed(dict[str, tuple[int, str]], saved.get("judgments", {}), "judgments")
        typed(dict[str, Any], saved.get("policy", {}), "policy")
        for one in typed(tuple[dict[str, Any], ...], saved.get("inputs", []), "inputs"):
            typed(str, one.get("kind"), "kind")
        return cls(saved=saved)

    def with_sources(self, sources: Iterable[Source]) -> Provenance:
        """With further inputs."""
        return replace(self, sources=(*self.sources, *sources))

    @cached_property
    def judgments(self) -> dict[str, tuple[int, str]]:
        """How many judgments each query has, and the beginning of their digest, whatever their order."""
        if self.saved is not None:
            return {query: tuple(found) for query, found in self.saved.get("judgments", {}).items()}
        return {
            prefix + query: of_query
            for prefix, one in self.judged
            if not one.given.keys() & set(OTHER_JUDGMENTS)
            for query, of_query in _digests_of(one.judgments).items()
        }

    @cached_property
    def compared_files(self) -> dict[tuple[str, str | None], str | None]:
        """The digests of the files, apart from graded judgments, that are the same for scores that are compared."""
        if self.saved is not None:
            inputs = [(one["kind"], one.get("collection"), one.get("digest")) for one in self.saved.get("inputs", ())]
        else:
            own = [source for source in self.sources if source.kind in COMPARED_FILES]
            inputs = [(source.kind, source.collection, source.digest) for source in own]
        return {(kind, collection): digest for kind, collection, digest in inputs if kind in COMPARED_FILES}

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
        for prefix, one in self.judged:
            if one.given.keys() & set(OTHER_JUDGMENTS):
                continue
            own = [
                f"{q} {number} {digest}"
                for q, (number, digest) in sorted(self.judgments.items())
                if q.startswith(prefix)
            ]
            about = {"collection": prefix[:-1]} if prefix else {}
            name = one.given.get("qrels")
            named = os.fsdecode(name) if isinstance(name, (str, os.PathLike)) else getattr(name, "name", "in memory")
            whole = text_digest("\n".join(own).encode("utf-8", "surrogateescape"))
            inputs.append({"kind": "qrels", **about, "name": named, "digest": whole})
        inputs += [source.to_dict() for source in self.sources]
        return {
            "cranfield": __version__,
            "measures": {str(column.measure): plain(column.measure.chosen) for column in self.columns},
            **({"policy": self.policy_data} if self.policy is not None else {}),
            "inputs": inputs,
            **({"judgments": plain(self.judgments)} if self.judgments else {}),
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, ({**self.origin, **self.data},)


def _restored(data: Mapping[str, Any]) -> Provenance:
    return Provenance(saved=data)


def _digests_of(judgments: Judgments) -> dict[str, tuple[int, str]]:
    """For each query the number of its judgments, and a digest of them in the order of their documents."""
    rows = [
        f"{document} {grade!r}" for document, grade in zip(judgments.documents, judgments.grade.tolist(), strict=True)
    ]
    if (sample := judgments.sample) is not None and sample.probability is not None:
        rows = [f"{row} {share!r}" for row, share in zip(rows, sample.probability.tolist(), strict=True)]
    if (labels := judgments.labels) is not None:
        names = list(labels.names)
        of_row = zip(labels.document.tolist(), labels.subtopic.tolist(), labels.grade.tolist(), strict=True)
        for document, subtopic, grade in sorted(of_row, key=lambda row: (row[0], names[row[1]])):
            rows[document] += f" {names[subtopic]} {grade!r}"
    found = {}
    for query, (begin, end) in zip(judgments.queries, pairwise(judgments.begin.tolist()), strict=True):
        text = "\n".join(sorted(rows[begin:end]))
        found[query] = end - begin, text_digest(text.encode("utf-8", "surrogateescape")).removeprefix("sha256:")[:16]
    return found


def check_same(own: Provenance | None, other: Provenance | None, name: str, *, allowed: bool) -> list[str]:
    """Raise if the scores of a saved run were computed from other judgments, or with another policy.

    ``allowed``: other judgments are no error. Returns the queries whose judgments are not the same; none if one of the
    two is not known.
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
    for (kind, collection), digest in own.compared_files.items():
        then = other.compared_files.get((kind, collection))
        if digest is not None and then is not None and digest != then:
            of = f" of {collection}" if collection else ""
            raise UsageError(f"the baseline `{name}` was scored with other {kind}{of}", hint="save the baseline again")
    before, after = other.judgments, own.judgments
    if not before or not after or before == after:
        return []
    changed = [query for query, one in after.items() if before.get(query, one) != one]
    if allowed:
        return changed
    parts = []
    if changed:
        counts = [sum(side[query][0] for query in changed) for side in (before, after)]
        number = f"{plural(counts[0], 'judgment')} then, {counts[1]:,} now"
        parts = [f"{plural(len(changed), 'query')} changed ({few(changed, 3)}; {number})"]
    for what, some, side in (("new", after.keys() - before, after), ("gone", before.keys() - after, before)):
        if some:
            number = plural(sum(side[query][0] for query in some), "judgment")
            parts.append(f"{plural(len(some), 'query')} {what} ({few(sorted(some), 3)}; {number})")
    raise UsageError(
        f"the baseline `{name}` was scored with other judgments: {'; '.join(parts)}",
        hint="save the baseline again, or use --allow-changed-judgments to compare on the queries that are the same",
    )
