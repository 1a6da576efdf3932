"""Which subtopics readers want, and how many of them each: weights that go with judgments by subtopic.

They need not add up to 1: measures divide by the sum over the subtopics that have a relevant document. Intents also
have types: readers with an informational intent (``inf``, the default) have a use for every relevant document, those
with a navigational one (``nav``) for a single document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from cranfield.data import Intents, Judgments, Navigational
from cranfield.errors import InputError
from cranfield.evaluation.notes import Note, QueryNames
from cranfield.io.faults import quotable
from cranfield.io.weights import Weight, read_types, read_weights
from cranfield.wording import few

NO_QUERIES = QueryNames()


def with_intents(judgments: Judgments, source: Any) -> tuple[Judgments, list[Note]]:
    """The judgments with weights for their subtopics; and notes on queries and subtopics that go without."""
    return add_weights(judgments, *read_weights(source))


def add_weights(
    judgments: Judgments, name: str, weights: Sequence[Weight], others: QueryNames = NO_QUERIES
) -> tuple[Judgments, list[Note]]:
    """`with_intents` of weights that were read; ``others`` are judged queries elsewhere that have no weights."""
    if judgments.labels is None:
        raise InputError(
            [f"{judgments.name}: weights of intents need judgments by subtopic, and these have none"],
            hint="the second column of the judgments, or `subtopic` in a table, is the subtopic",
        )
    labels = judgments.labels
    of_query = np.searchsorted(judgments.begin, labels.document, side="right") - 1
    relevant = labels.grade > 0
    codes = np.stack([of_query, labels.subtopic], axis=1)
    known, wanted = (set(map(tuple, np.unique(rows, axis=0).tolist())) for rows in (codes, codes[relevant]))
    queries = {query: row for row, query in enumerate(judgments.queries)}
    subtopics = {subtopic: row for row, subtopic in enumerate(labels.names)}

    judged = [weight for weight in weights if weight.query in queries]
    found = {(queries[w.query], subtopics.get(w.subtopic, -1)): w for w in judged}
    faults = [
        f"{w.location}: nobody judged a document for subtopic `{quotable(w.subtopic)}` of query `{quotable(w.query)}`"
        for pair, w in found.items()
        if pair not in known
    ]
    weighed = {query for query, _ in found}
    nothing = weighed - {query for (query, _), w in found.items() if w.value > 0}
    firsts = {queries[w.query]: w.location for w in reversed(judged)}
    faults += [f"{firsts[q]}: all weights of query `{judgments.queries[q]}` are 0" for q in sorted(nothing)]
    if faults:
        example = next(iter(sorted(weighed)), 0)
        names = [labels.names[s] for q, s in sorted(known) if q == example]
        raise InputError(faults, hint=f"query `{judgments.queries[example]}`, say, has subtopics {few(names)}")
    if weights and not judged:
        raise InputError(
            [f"{name}: none of its queries is judged (for example `{quotable(weights[0].query)}`)"],
            hint=f"the judgments are for queries such as `{next(chain(judgments.queries, others.first))}`; "
            "do the two belong together?",
        )
    rows = np.array(list(found), np.int64).reshape(-1, 2)
    intents = Intents(rows[:, 0], rows[:, 1], np.array([w.value for w in found.values()], np.float64))

    def notes() -> Iterator[Note]:
        plain = [judgments.queries[q] for q in range(len(judgments.queries)) if q not in weighed]
        if many := len(plain) + others.count:
            names = QueryNames(many, tuple([*plain, *others.first][:5]))
            yield Note("unweighted_queries", values={"name": name, "queries": names})
        other = list(dict.fromkeys(w.query for w in weights if w.query not in queries))
        if other:
            yield Note("unjudged_weights", values={"name": name, "queries": QueryNames(len(other), tuple(other[:5]))})
        positive = {pair for pair, w in found.items() if w.value > 0}
        left = [pair for pair in sorted(wanted) if pair[0] in weighed and pair not in positive]
        if left:
            subtopics = tuple(f"{labels.names[s]} of {judgments.queries[q]}" for q, s in left)
            yield Note("unweighted_subtopics", values={"name": name, "subtopics": subtopics})

    navigational = [pair for pair, w in found.items() if w.type == "nav"]
    return replace(judgments, intents=intents, navigational=_navigational(navigational)), list(notes())


def with_types(judgments: Judgments, source: Any) -> Judgments:
    """The judgments with types of intents from ``{query: {subtopic: "inf" or "nav"}}``; others stay as they are."""
    types = read_types(source)
    labels = judgments.labels
    if labels is None:
        raise InputError(
            [f"{judgments.name}: types of intents need judgments by subtopic, and these have none"],
            hint="the second column of the judgments, or `subtopic` in a table, is the subtopic",
        )
    queries = {query: row for row, query in enumerate(judgments.queries)}
    subtopics = {subtopic: row for row, subtopic in enumerate(labels.names)}
    of_query = np.searchsorted(judgments.begin, labels.document, side="right") - 1
    known = set(zip(of_query.tolist(), labels.subtopic.tolist(), strict=True))
    given = {(queries[q], subtopics.get(s, -1)): (q, s, kind) for (q, s), kind in types.items() if q in queries}
    faults = [
        f"types: nobody judged a document for subtopic `{quotable(s)}` of query `{quotable(q)}`"
        for pair, (q, s, _) in given.items()
        if pair not in known
    ]
    if types and not given:
        faults = [f"types: none of its queries is judged (for example `{quotable(next(iter(types))[0])}`)"]
    if faults:
        raise InputError(faults)
    before = judgments.navigational
    old = set() if before is None else set(zip(before.query.tolist(), before.subtopic.tolist(), strict=True))
    new = {pair for pair, (_, _, kind) in given.items() if kind == "nav"}
    return replace(judgments, navigational=_navigational(sorted((old - given.keys()) | new)))


def _navigational(pairs: Sequence[tuple[int, int]]) -> Navigational | None:
    rows = np.array(pairs, np.int64).reshape(-1, 2)
    return Navigational(rows[:, 0], rows[:, 1]) if len(rows) else None
