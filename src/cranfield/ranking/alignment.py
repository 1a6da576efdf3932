"""Alignment of runs with judgments: the only module that matches document ids and derives positions from scores."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from cranfield import io, native
from cranfield.data import Bytes, Floats, Integers, Judgments, Run, Strings, Table
from cranfield.errors import InputError, UsageError
from cranfield.io.columns import codes_of
from cranfield.io.runs import WHOLE_RANKING, Positions, RunQueries, TopDocuments
from cranfield.ranking.batch import CELLS, Key, cached_property, ragged
from cranfield.ranking.rankings import Judged, Pool, Rankings, Shown
from cranfield.ranking.subtopics import Subtopics
from cranfield.ranking.tie_rules import TieRule, Ties, tie_rule

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from cranfield.corpus.judged import Reading
    from cranfield.io.named_tables import Items

Negative = Literal["unjudged", "nonrel"]


def _index(judgments: Judgments) -> Any:
    """The native index of the ids of these judgments."""
    return native.Index(
        (judgments.queries.offsets, judgments.queries.data),
        judgments.begin,
        (judgments.documents.offsets, judgments.documents.data),
    )


class Aligner:
    """Judgments prepared for alignment with any number of runs: ids are hashed and pools are built once."""

    def __init__(
        self,
        judgments: Judgments,
        negative: Negative = "unjudged",
        nil: Integers | None = None,
        reading: Reading | None = None,
        *,
        top: float | None = None,
        costs: Floats | None = None,
        complete: bool = False,
        shown: Shown | None = None,
    ) -> None:
        """``nil``: the rows that mean "no answer"; ``top``: the highest grade, if these are not all judgments.

        ``costs``: the cost of each row of the judgments, NaN if it is not given. ``complete``: documents without a
        judgment, or with a negative one, are not relevant. ``shown``: as in `Judged`.
        """
        self.judgments = judgments
        keeps_negative = negative == "unjudged" and not complete
        grade = judgments.grade if keeps_negative else np.maximum(judgments.grade, 0)
        self.index = _index(judgments)
        top = float(max(grade.max(initial=0) if top is None else top, 0))
        subtopics = None if judgments.labels is None else Subtopics(judgments, top)
        rows = None
        self._nil_grade = np.full(len(judgments.begin) - 1, np.nan)
        if nil is not None:
            rows = np.zeros(len(grade), bool)
            rows[nil], self._nil_grade = True, grade[nil]
        others = judgments.preferences, costs, judgments.sample, complete, shown
        self.judged = Judged(grade, top, rows, subtopics, reading, *others)
        self.measurable: set[Hashable] = set()  # measures for which these judgments are known to suffice

    def __getstate__(self) -> dict[str, Any]:
        # The native index cannot be pickled, nor can weights that pools remember; both are made again.
        return {name: value for name, value in vars(self).items() if name not in ("index", "pools")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.index = _index(self.judgments)

    @property
    def grade(self) -> Floats:
        """The grade of each row of the judgments."""
        return self.judged.grade

    @property
    def reading(self) -> Reading | None:
        """The text of documents, if there is a corpus."""
        return self.judged.reading

    @cached_property
    def pools(self) -> list[Pool]:
        """Every judged query once: all in one pool, or in pools of similar width if padding would be large.

        The width is the number of judged documents, which no ranking can exceed.
        """
        width = np.diff(self.judgments.begin)
        queries = np.arange(len(width))
        if len(width) * width.max(initial=1) <= max(CELLS, 2 * width.sum()):
            return [self._pool(queries)]
        pools = []
        magnitude = np.ceil(np.log2(np.maximum(width, 1)))
        for bits in np.unique(magnitude):
            same_width = queries[magnitude == bits]
            step = max(1, CELLS >> int(bits))
            pools += [self._pool(same_width[i : i + step]) for i in range(0, len(same_width), step)]
        return pools

    def _pool(self, queries: Integers) -> Pool:
        row, column = ragged(np.diff(self.judgments.begin)[queries])
        document = self.judgments.begin[queries][row] + column
        return Pool(self.judged, queries, row, document, self._nil_grade[queries])

    def align(self, run: Run, key: Key = "score", *, by_id: bool = True) -> Alignment:
        """The positions of the judged documents in a run."""
        return self.read(run, [key], by_id=by_id)[key]

    def read(self, run: Run, keys: Sequence[Key], *, by_id: bool = True, top: int = 0) -> dict[Key, Alignment]:
        """Read a run once, and align it for each of the keys that rank documents.

        ``by_id``: compute the position of each document in its tie group by descending id. ``top``: keep the ids of
        all documents, judged or not, that may have a rank up to this.
        """
        joined = io.join(run, self.index, keys, by_id, top)
        if empty := set(run.empty):  # a table has no rows of an empty ranking
            joined.queries.length[[q for q, query in enumerate(self.judgments.queries) if query in empty]] = 0
        tops = joined.tops if top else [None] * len(keys)
        return {
            key: Alignment(self, positions, joined.queries, tops=of_key)
            for key, positions, of_key in zip(keys, joined.judged, tops, strict=True)
        }


@dataclass(eq=False, repr=False)
class Alignment:
    """The positions of the judged documents in a run; `rankings` has them for measures.

    ``tie_positions``: the columns with positions of documents in their tie groups; without ids, ``by_id`` is not known.
    ``tops``: the top documents, judged or not, if they were requested.
    """

    aligner: Aligner
    positions: Positions
    queries: RunQueries
    tie_positions: tuple[str, ...] = field(default=("by_id", "by_input"), kw_only=True)
    tops: TopDocuments | None = field(default=None, kw_only=True)

    def release(self) -> None:
        """Free the rankings, which are much larger than the positions; they are rebuilt when needed."""
        self.__dict__.pop("rankings", None)

    @property
    def length(self) -> Integers:
        """The number of documents retrieved for each judged query; -1 if the run does not answer it."""
        return self.queries.length

    @property
    def other(self) -> Strings:
        """The queries of the run without judgments."""
        return self.queries.other

    @property
    def other_length(self) -> Integers:
        """The number of documents retrieved for each query without judgments."""
        return self.queries.other_length

    @property
    def retrieves_judged(self) -> bool:
        """Whether any retrieved document is judged for its query."""
        return bool((self.aligner.grade[self.positions.document] >= 0).any())

    @cached_property
    def tied(self) -> bool:
        """Whether any judged document has the same score as another document."""
        return bool((self.positions.size > 1).any())

    @property
    def ranks_contradict(self) -> int:
        """The number of queries in which the rank column contradicts the scores, if it does in all; else 0."""
        contradicted = self.queries.ranks_contradicted
        return contradicted if contradicted == self.queries.ranks_compared else 0

    @cached_property
    def rankings(self) -> list[Rankings]:
        """Every judged query once."""
        positions, length, pools = self.positions, np.maximum(self.length, 0), self.aligner.pools
        if len(pools) == 1:
            return [Rankings(pools[0], length, *positions)]
        pool_of, row_of = np.zeros((2, len(length)), np.int64)
        for i, pool in enumerate(pools):
            pool_of[pool.query], row_of[pool.query] = i, np.arange(len(pool.query))
        pool_of_row, laid_out = pool_of[positions.query], []
        for i, pool in enumerate(pools):
            query, *others = positions.take(np.flatnonzero(pool_of_row == i))
            laid_out.append(Rankings(pool, length[pool.query], row_of[query], *others))
        return laid_out

    def unjudged(self) -> Rankings:
        """The queries of the run without judgments, as rankings without judged documents."""
        none = np.zeros(0, np.int64)
        pool = Pool.of(self.aligner.judged, none, none, np.full(len(self.other), -1))
        return Rankings(pool, self.other_length, *[none] * len(Positions._fields))


class FirstPage(NamedTuple):
    """The first documents of one query, ordered by score and tie rule.

    ``ties``: the sizes of the groups of documents with equal scores, in order; the end of the page may cut the last
    one. ``length``: the number of documents in the ranking.
    """

    documents: tuple[str, ...]
    ties: tuple[int, ...]
    length: int


def first_pages(
    tops: TopDocuments, queries: Sequence[str], length: Integers, depth: int, rule: TieRule
) -> dict[str, FirstPage]:
    """The first ``depth`` documents of every query that the run answers; ``queries`` names the rows of ``length``.

    A tie rule without a single order is shown in the order of trec_eval.
    """
    positions = tops.positions
    rank = positions.start + getattr(positions, rule.page_position)
    kept = np.flatnonzero(rank < depth)
    kept = kept[np.lexsort((rank[kept], positions.query[kept]))]
    query, start = positions.query[kept], positions.start[kept]
    names = list(tops.ids.take(kept))
    begin = np.searchsorted(query, np.arange(len(queries) + 1))
    pages = {}
    for q in np.flatnonzero(length >= 0).tolist():
        rows = slice(begin[q], begin[q + 1])
        first_of_tie = np.flatnonzero(np.diff(start[rows], prepend=-1, append=-1))
        pages[queries[q]] = FirstPage(tuple(names[rows]), tuple(np.diff(first_of_tie).tolist()), int(length[q]))
    return pages


def ranked_lists(
    runs: Sequence[Run], judgments: Judgments | None = None, ties: Ties | None = None, depth: int = WHOLE_RANKING
) -> list[dict[str, list[str]]]:
    """For each run the documents of every query in order, down to a depth; judged or not."""
    pages = ranked_pages(runs, judgments, ties, depth)
    return [{query: list(page.documents) for query, page in of_run.items()} for of_run in pages]


def ranked_pages(
    runs: Sequence[Run], judgments: Judgments | None = None, ties: Ties | None = None, depth: int = WHOLE_RANKING
) -> list[dict[str, FirstPage]]:
    """The same with the sizes of tie groups."""
    judgments = Judgments.none() if judgments is None else judgments
    aligner, rule = Aligner(judgments), tie_rule(ties)
    pages = []
    for run in runs:
        alignment = aligner.read(run, [rule.key], by_id=rule.page_position == "by_id", top=depth)[rule.key]
        assert alignment.tops is not None
        names = [*judgments.queries, *alignment.other]
        lengths = np.concatenate([alignment.length, alignment.other_length])
        pages.append(first_pages(alignment.tops, names, lengths, depth, rule))
    return pages


# Unjudged documents, for measures of document text, of costs or of all documents: which of them are read, and their
# positions. They are added to the judgments with a negative grade, which means pooled but not judged. Tie rules, depths
# and condensed lists then apply to them as to judged documents.


def cost_aligner(
    judgments: Judgments, costs: Mapping[str, Mapping[str, float]], negative: Negative, top_grade: float | None = None
) -> Aligner:
    """The judgments, with the unjudged documents that have a cost, and the costs of all of them."""
    plain = replace(judgments, labels=None, intents=None, navigational=None)
    extended = with_unjudged(plain, {query: set(documents) for query, documents in costs.items()}, negative)
    queries = extended.query.tolist()
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
        labels = labels._replace(document=labels.document + before[query])
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


@dataclass(eq=False, repr=False)
class CollectionAlignment(Alignment):
    """An alignment that also has the positions of documents in rankings of queries without judgments."""

    other_positions: Positions
    other_judged: Judged

    def unjudged(self) -> Rankings:
        positions = self.other_positions
        pool = Pool.of(self.other_judged, positions.query, positions.document, np.full(len(self.other), -1))
        return Rankings(pool, self.other_length, *positions)


# Rankings of documents that stay the same while their scores change, aligned without matching ids again.
#
# `Aligner` matches the ids of a run with those of the judgments, which is most of the work. Here this is done once;
# new scores then only give new positions. The result is what `Aligner` gives for the same run, row for row.


class FixedDocuments:
    """The documents of a run, whose ids are matched with the judgments once.

    ``documents``: the run in memory; new scores are in the order of its rows. ``alignment``: the run with its own
    scores.
    """

    def __init__(self, aligner: Aligner, run: Run) -> None:
        self.aligner, self.run = aligner, run
        self.documents: Table = io.load(run)
        self.alignment = aligner.align(run, by_id=False)
        table, queries = self.documents, aligner.judgments.queries
        # The rows of the judged queries, query by query.
        row_of = {name: q for q, name in enumerate(queries)}
        names, code = codes_of(table.query)
        query = np.array([row_of.get(name, -1) for name in names], np.int64)[code]
        rows = np.flatnonzero(query >= 0)
        self._rows = rows[np.argsort(query[rows], kind="stable")]
        self._begin = np.concatenate([[0], np.cumsum(np.bincount(query[rows], minlength=len(queries)))])
        self._order_of_ids = order_of_ids(table.document.take(self._rows))
        self._rank = None if table.rank is None else table.rank[self._rows]
        # Each document has a different score, so that its rank is its position among the documents of its query.
        numbered = Table(table.query, table.document, -np.arange(float(len(self))))
        hits = aligner.align(Run(run.name, numbered, run.source_name), by_id=False).positions
        self._judged_rows = np.ascontiguousarray(self._begin[hits.query] + hits.start)
        self._judged = np.ascontiguousarray(hits.document)
        self._in_order = bool((self._rows == np.arange(len(self))).all()) if len(rows) == len(self) else False

    def __len__(self) -> int:
        return len(self.documents.score)

    def _ordered(self, scores: ArrayLike) -> Floats:
        """The scores in the order of queries; raises if there is not one for each document, or one is NaN."""
        given = np.asarray(scores, np.float64)
        if given.shape != (len(self),):
            raise UsageError(
                f"expected {len(self):,} scores, one for each document of {self.run.name}; got {given.shape}"
            )
        if np.isnan(given).any():
            row = int(np.flatnonzero(np.isnan(given))[0])
            document = f"`{self.documents.document[row]}` of query `{self.documents.query[row]}`"
            raise UsageError(f"the score of document {document} is NaN")
        return np.ascontiguousarray(given) if self._in_order else given[self._rows]

    def align(self, scores: ArrayLike, keys: Sequence[Key], *, by_id: bool) -> dict[Key, Alignment]:
        """The positions of the judged documents with these scores, for each key that ranks documents."""
        ordered = self._ordered(scores)
        located = native.locate(
            self._order_of_ids, self._begin, self._judged_rows, self._judged, ordered, self._rank, list(keys), by_id
        )
        queries = RunQueries(self.alignment.length, self.alignment.other, self.alignment.other_length)
        return {
            key: Alignment(self.aligner, Positions(**hits), queries) for key, hits in zip(keys, located, strict=True)
        }


def order_of_ids(ids: Strings) -> tuple[Integers, Bytes]:
    """Texts of eight bytes in the order of the ids, as offsets and data: short texts are compared faster."""
    names = [name.encode("utf-8", "surrogateescape") for name in ids]
    position = np.empty(len(names), ">u8")
    position[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return np.arange(0, 8 * len(names) + 1, 8), position.view(np.uint8)
