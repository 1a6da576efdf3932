"""Unjudged documents for measures of document text or costs: which documents of a run are read, and their positions.

These documents are added to the judgments with a negative grade, which means pooled but not judged. Tie rules, depths
and condensed lists then apply to them as to judged documents.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from cranfield.data import Floats, Integers, Judgments, Strings
from cranfield.errors import InputError
from cranfield.io.runs import Positions
from cranfield.ranking.alignment import Aligner, Alignment
from cranfield.ranking.rankings import Judged, Pool, Rankings, Shown

if TYPE_CHECKING:
    from cranfield.io.named_tables import Items

Negative = Literal["unjudged", "nonrel"]


def cost_aligner(
    judgments: Judgments, costs: Mapping[str, Mapping[str, float]], negative: Negative, top_grade: float | None = None
) -> Aligner:
    """The judgments, with the unjudged documents that have a cost, and the costs of all of them."""
    plain = replace(judgments, labels=None, intents=None, navigational=None)
    extended = with_unjudged(plain, {query: set(documents) for query, documents in costs.items()}, negative)
    queries = np.repeat(np.arange(len(extended.queries)), np.diff(extended.begin)).tolist()
    of_query = [costs.get(query, {}) for query in extended.queries]
    values = [of_query[q].get(document, np.nan) for q, document in zip(queries, extended.documents, strict=True)]
    return Aligner(extended, top=top_grade, costs=np.array(values, np.float64))


def no_overlap_error(name: str, relevant: int, example: str) -> InputError:
    """An error for a corpus without any relevant document."""
    return InputError(
        [f"{name}: none of its {relevant} relevant documents is in the corpus (for example `{example}`)"],
        hint="check that both belong to the same collection; a corpus must be built with the judged documents",
    )


def with_unjudged(
    judgments: Judgments, documents: Mapping[str, set[str]], negative: Negative = "unjudged"
) -> Judgments:
    """The judgments with these documents, if unjudged, added after the judged documents of each query.

    ``negative`` is the meaning of a negative grade in the judgments.

    >>> from cranfield.io import read_qrels
    >>> more = with_unjudged(read_qrels({"q": {"b": 1}, "r": {"b": 0}}), {"q": {"a", "b"}, "x": {"c"}})
    >>> list(more.documents), more.grade.tolist(), more.begin.tolist()
    (['b', 'a', 'b'], [1.0, -1.0, 0.0], [0, 2, 3])
    """
    begin, judged_ids = judgments.begin, list(judgments.documents)
    new = [
        sorted(documents.get(query, set()).difference(judged_ids[begin[q] : begin[q + 1]]))
        for q, query in enumerate(judgments.queries)
    ]
    counts = np.array([len(names) for names in new], np.int64)
    before = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    at = np.repeat(begin[1:], counts)
    rows = np.insert(np.arange(len(judged_ids)), at, len(judged_ids) + np.arange(len(at)))
    ids = Strings.of([*judged_ids, *(name for names in new for name in names)]).take(rows)
    labels = judgments.labels
    if labels is not None:
        query = np.searchsorted(begin, labels.document, side="right") - 1
        labels = replace(labels, document=labels.document + before[query])
    judged = judgments.grade if negative == "unjudged" else np.maximum(judgments.grade, 0)
    grade: Floats = np.insert(judged, at, -1.0)
    return replace(judgments, begin=begin + before, documents=ids, grade=grade, labels=labels, sample=None)


def align_content(alignment: Alignment, aligner: Aligner) -> Alignment:
    """The alignment of a run that was read with judgments that contain some of its unjudged documents."""
    tops, queries = alignment.tops, aligner.judgments.queries
    moved = aligner.judgments.begin - alignment.aligner.judgments.begin
    positions = alignment.positions
    judged = positions._replace(document=positions.document + moved[positions.query])
    if tops is None:
        return replace(alignment, aligner=aligner, positions=judged)
    row_of = {
        (q, aligner.judgments.documents[row]): row
        for q in range(len(queries))
        for row in range(aligner.judgments.begin[q + 1] - (moved[q + 1] - moved[q]), aligner.judgments.begin[q + 1])
    }
    top = tops.positions
    candidates = np.flatnonzero((top.document < 0) & (top.query < len(queries)))
    ids = zip(top.query[candidates].tolist(), tops.ids.take(candidates), strict=True)
    document = np.array([row_of.get(pair, -1) for pair in ids], np.int64)
    added = top.take(candidates[document >= 0])._replace(document=document[document >= 0])
    merged = Positions.concatenate([judged, added])
    order = np.lexsort((merged.by_input, merged.start, merged.query))
    return replace(alignment, aligner=aligner, positions=merged.take(order))


def align_collection(alignment: Alignment, judged: Collection[str]) -> Alignment:
    """The alignment of a run in which each of its top documents that is judged for any query counts as judged.

    All of them have the grade 1. Queries without judgments have such documents, too.
    """
    assert alignment.tops is not None
    chosen = np.flatnonzero([document in judged for document in alignment.tops.ids])
    return _align_tops(alignment, chosen, np.ones(len(alignment.tops.ids)))


def align_documents(alignment: Alignment, items: Items | None) -> Alignment:
    """The alignment of a run with all its top documents, judged or not, their ids and items."""
    judged, tops = alignment.aligner.judged, alignment.tops
    assert tops is not None
    row = tops.positions.document
    grade = np.where(row >= 0, np.append(judged.grade, -1)[row], 0 if judged.complete else -1)
    number = np.full(len(row), -1) if items is None else items.rows(tops.ids)
    absent = np.flatnonzero(np.bincount(row[row >= 0], minlength=len(judged.grade)) == 0)
    return _align_tops(alignment, np.arange(len(row)), grade, Shown(tops.ids, number, items), absent)


NO_ROWS = np.zeros(0, np.int64)


def _align_tops(
    alignment: Alignment,
    chosen: Integers,
    grade: Floats,
    shown: Shown | None = None,
    absent: Integers = NO_ROWS,
) -> Alignment:
    """The alignment with the chosen top documents as judged ones; ``grade``, ``shown``: of all top documents.

    ``absent``: rows of the judgments that are judged documents, too, and not among the top documents.
    """
    tops, own = alignment.tops, alignment.aligner
    assert tops is not None
    top = tops.positions
    queries, complete = len(own.judgments.queries), own.judged.complete
    chosen = chosen[np.lexsort((top.by_input[chosen], top.start[chosen], top.query[chosen]))]
    positions = top.take(chosen)
    answered = int(np.searchsorted(positions.query, queries))
    judged_queries, others = positions.take(slice(answered)), positions.take(slice(answered, None))
    in_judged, in_others = chosen[:answered], chosen[answered:]
    query = np.append(judged_queries.query, np.searchsorted(own.judgments.begin, absent, side="right") - 1)
    order = np.argsort(query, kind="stable")
    begin = np.searchsorted(query[order], np.arange(queries + 1)).astype(np.int64)
    ids = Strings.concatenate([tops.ids.take(in_judged), own.judgments.documents.take(absent)]).take(order)
    grades = np.append(grade[in_judged], own.judged.grade[absent])[order]
    judgments = Judgments(own.judgments.name, own.judgments.queries, begin, ids, grades)
    of_judged = of_others = None
    if shown is not None:
        of_judged = Shown(ids, np.append(shown.row[in_judged], np.full(len(absent), -1))[order], shown.items)
        of_others = Shown(tops.ids.take(in_others), shown.row[in_others], shown.items)
    return CollectionAlignment(
        Aligner(judgments, top=None if shown is None else own.judged.top, complete=complete, shown=of_judged),
        judged_queries._replace(document=np.argsort(order)[:answered]),
        alignment.queries,
        others._replace(query=others.query - queries, document=np.arange(len(in_others))),
        Judged(grade[in_others], 1.0, complete=complete, shown=of_others),
        tie_positions=alignment.tie_positions,
    )


@dataclass(eq=False)
class CollectionAlignment(Alignment):
    """An alignment that also has the positions of documents in rankings of queries without judgments."""

    other_positions: Positions
    other_judged: Judged

    def unjudged(self) -> Rankings:
        positions = self.other_positions
        pool = Pool.of(self.other_judged, positions.query, positions.document, np.full(len(self.other), -1))
        return Rankings(pool, self.other_length, *positions)
