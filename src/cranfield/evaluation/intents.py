"""Weights and types of intents, for judgments by subtopic.

The weight of a subtopic is proportional to the share of readers who want it. Weights need not sum to 1: measures divide
by the sum over the subtopics with a relevant document; D-Q and DIN-Q, whose gains have a scale, by the sum over all.
Readers with an informational intent (``inf``, the default) can use every relevant document; readers with a navigational
intent (``nav``) need a single document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from cranfield.data import Integers, Intents, Judgments, Labels, Navigational
from cranfield.errors import InputError
from cranfield.evaluation.notes import Note, QueryNames
from cranfield.io.faults import quotable
from cranfield.io.side_tables import Weight, read_types, read_weights
from cranfield.wording import few

NO_QUERIES = QueryNames()


def with_intents(judgments: Judgments, source: Any) -> tuple[Judgments, list[Note]]:
    """The judgments with weights for their subtopics, and notes on queries and subtopics without weights."""
    return add_weights(judgments, *read_weights(source))


def add_weights(
    judgments: Judgments, name: str, weights: Sequence[Weight], others: QueryNames = NO_QUERIES
) -> tuple[Judgments, list[Note]]:
    """`with_intents` for weights that are read already; ``others``: further judged queries without weights."""
    labels, queries, subtopics, codes = _subtopics(judgments, "weights")
    judged_pairs, relevant_pairs = (
        set(map(tuple, np.unique(rows, axis=0).tolist())) for rows in (codes, codes[labels.grade > 0])
    )

    judged = [weight for weight in weights if weight.query in queries]
    pairs = [(queries[w.query], subtopics.get(w.subtopic, -1)) for w in judged]
    weight_of = {pair: w for pair, w in zip(pairs, judged, strict=True) if pair in judged_pairs}
    unjudged = [w for pair, w in zip(pairs, judged, strict=True) if pair not in judged_pairs]
    faults = []
    if unjudged and not weight_of:  # the subtopics of another collection, or other names of them
        faults = [
            f"{w.location}: no document is judged for subtopic `{quotable(w.subtopic)}` of query `{quotable(w.query)}`"
            for w in unjudged
        ]
    weighted_queries = {query for query, _ in pairs}
    all_zero = weighted_queries - {queries[w.query] for w in judged if w.value > 0}
    firsts = {queries[w.query]: w.location for w in reversed(judged)}
    faults += [f"{firsts[q]}: all weights of query `{judgments.queries[q]}` are 0" for q in sorted(all_zero)]
    if faults:
        example = next(iter(sorted(weighted_queries)), 0)
        names = [labels.names[s] for q, s in sorted(judged_pairs) if q == example]
        raise InputError(faults, hint=f"query `{judgments.queries[example]}` has subtopics {few(names)}")
    if weights and not judged:
        raise InputError(
            [f"{name}: none of its queries is judged (for example `{quotable(weights[0].query)}`)"],
            hint=f"the judgments cover queries such as `{next(chain(judgments.queries, others.first))}`; "
            "check that both belong to the same collection",
        )
    # Subtopics without judgments keep their share of the readers, though no document is relevant for them.
    weighted = [*weight_of.items(), *(((queries[w.query], -1), w) for w in unjudged)]
    rows = np.array([pair for pair, _ in weighted], np.int64).reshape(-1, 2)
    intents = Intents(rows[:, 0], rows[:, 1], np.array([w.value for _, w in weighted], np.float64))

    def notes() -> Iterator[Note]:
        unweighted = [judgments.queries[q] for q in range(len(judgments.queries)) if q not in weighted_queries]
        if count := len(unweighted) + others.count:
            names = QueryNames(count, tuple([*unweighted, *others.first][:5]))
            yield Note("unweighted_queries", values={"name": name, "queries": names})
        other = list(dict.fromkeys(w.query for w in weights if w.query not in queries))
        if other:
            yield Note("unjudged_weights", values={"name": name, "queries": QueryNames(len(other), tuple(other[:5]))})
        if unjudged:
            unused = tuple(f"{w.subtopic} of {w.query}" for w in unjudged)
            yield Note("unjudged_subtopics", values={"name": name, "subtopics": unused})
        positive = {pair for pair, w in weight_of.items() if w.value > 0}
        missing = [pair for pair in sorted(relevant_pairs) if pair[0] in weighted_queries and pair not in positive]
        if missing:
            subtopics = tuple(f"{labels.names[s]} of {judgments.queries[q]}" for q, s in missing)
            yield Note("unweighted_subtopics", values={"name": name, "subtopics": subtopics})

    navigational = [pair for pair, w in weight_of.items() if w.type == "nav"]
    return replace(judgments, intents=intents, navigational=_navigational(navigational)), list(notes())


def _subtopics(judgments: Judgments, what: str) -> tuple[Labels, dict[str, int], dict[str, int], Integers]:
    """The labels, the numbers of queries and of subtopics by name, and both numbers of each label."""
    labels = judgments.labels
    if labels is None:
        raise InputError(
            [f"{judgments.name}: {what} of intents need judgments by subtopic"],
            hint="the subtopic is the second column of a qrels file, or column `subtopic` of a table",
        )
    of_query = np.searchsorted(judgments.begin, labels.document, side="right") - 1
    queries, subtopics = ({name: i for i, name in enumerate(names)} for names in (judgments.queries, labels.names))
    return labels, queries, subtopics, np.stack([of_query, labels.subtopic], axis=1)


def with_types(judgments: Judgments, source: Any) -> Judgments:
    """The judgments with types of intents from ``{query: {subtopic: "inf" or "nav"}}``; other types stay unchanged."""
    types = read_types(source)
    _, queries, subtopics, codes = _subtopics(judgments, "types")
    judged_pairs = set(map(tuple, codes.tolist()))
    of_judged = {(queries[q], subtopics.get(s, -1)): (q, s, kind) for (q, s), kind in types.items() if q in queries}
    given = {pair: kind for pair, (_, _, kind) in of_judged.items() if pair in judged_pairs}
    if types and not of_judged:
        raise InputError([f"types: none of its queries is judged (for example `{quotable(next(iter(types))[0])}`)"])
    if of_judged and not given:
        raise InputError(
            [
                f"types: no document is judged for subtopic `{quotable(s)}` of query `{quotable(q)}`"
                for q, s, _ in of_judged.values()
            ]
        )
    before = judgments.navigational
    old = set() if before is None else set(zip(before.query.tolist(), before.subtopic.tolist(), strict=True))
    new = {pair for pair, kind in given.items() if kind == "nav"}
    return replace(judgments, navigational=_navigational(sorted((old - given.keys()) | new)))


def _navigational(pairs: Sequence[tuple[int, int]]) -> Navigational | None:
    rows = np.array(pairs, np.int64).reshape(-1, 2)
    return Navigational(rows[:, 0], rows[:, 1]) if len(rows) else None
