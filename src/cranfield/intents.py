"""Which subtopics readers want, and how many of them each: weights that go with judgments by subtopic.

They need not add up to 1: measures divide by the sum over the subtopics that have a relevant document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from cranfield.data import Intents, Judgments
from cranfield.errors import InputError
from cranfield.formats.faults import shown
from cranfield.formats.weighing import Weight, read_weights
from cranfield.wording import few, plural


class Others(NamedTuple):
    """Judged queries that are not here, and that there are no weights for: how many, and the first of them."""

    many: int = 0
    first: Sequence[str] = ()


NOBODY = Others()


def with_intents(judgments: Judgments, source: Any) -> tuple[Judgments, list[str]]:
    """The judgments with weights for their subtopics; and notes on queries and subtopics that go without."""
    return weighed(judgments, *read_weights(source))


def weighed(
    judgments: Judgments, name: str, weights: Sequence[Weight], others: Others = NOBODY
) -> tuple[Judgments, list[str]]:
    """`with_intents` of weights that were read, for judgments of all queries but the ``others``."""
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
        f"{w.place}: nobody judged a document for subtopic `{shown(w.subtopic)}` of query `{shown(w.query)}`"
        for pair, w in found.items()
        if pair not in known
    ]
    weighed = {query for query, _ in found}
    nothing = weighed - {query for (query, _), w in found.items() if w.value > 0}
    firsts = {queries[w.query]: w.place for w in reversed(judged)}
    faults += [f"{firsts[q]}: all weights of query `{judgments.queries[q]}` are 0" for q in sorted(nothing)]
    if faults:
        example = next(iter(sorted(weighed)), 0)
        names = [labels.names[s] for q, s in sorted(known) if q == example]
        raise InputError(faults, hint=f"query `{judgments.queries[example]}`, say, has subtopics {few(names)}")
    if weights and not judged:
        raise InputError(
            [f"{name}: none of its queries is judged (for example `{shown(weights[0].query)}`)"],
            hint=f"the judgments are for queries such as `{next(chain(judgments.queries, others.first))}`; "
            "do the two belong together?",
        )
    rows = np.array(list(found), np.int64).reshape(-1, 2)
    intents = Intents(rows[:, 0], rows[:, 1], np.array([w.value for w in found.values()], np.float64))

    def notes() -> Iterator[str]:
        plain = [judgments.queries[q] for q in range(len(judgments.queries)) if q not in weighed]
        if many := len(plain) + others.many:
            yield f"{name} has no weights for {_queries([*plain, *others.first], many)}: all subtopics alike"
        other = list(dict.fromkeys(w.query for w in weights if w.query not in queries))
        if other:
            yield f"{name} has weights for {_queries(other, len(other))} that nobody judged: not used"
        positive = {pair for pair, w in found.items() if w.value > 0}
        left = [pair for pair in sorted(wanted) if pair[0] in weighed and pair not in positive]
        if left:
            pairs = few([f"{labels.names[s]} of {judgments.queries[q]}" for q, s in left])
            these = plural(len(left), "subtopic")
            yield f"{name} gives no weight to {these} with relevant documents ({pairs}): not counted"

    return replace(judgments, intents=intents), list(notes())


def _queries(names: Sequence[str], many: int) -> str:
    return f"{plural(many, 'query')} ({few(names)})"
