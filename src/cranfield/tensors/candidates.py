"""`evaluate`: grades and scores of candidates, in a table or in flat form; and from counts of documents to runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from numbers import Real
from typing import Any

import numpy as np

from cranfield.data import Booleans, Floats, Integers, Judgments, Labels, Run, Strings
from cranfield.errors import InputError, MeasureError, UsageError
from cranfield.evaluation.collection import Collection
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.evaluator import MAX_SCORES, Evaluator, Measures, are_grades, looks_like_scores
from cranfield.evaluation.run_scores import RunScores
from cranfield.io.faults import quotable
from cranfield.io.runs import Positions, RunQueries, TopDocuments
from cranfield.ranking.alignment import Alignment
from cranfield.ranking.batch import Key, lexsorted
from cranfield.ranking.tie_rules import Ties
from cranfield.tensors.arrays import (
    Arrays,
    DocumentIds,
    Host,
    arrays_of,
    check_no_nan,
    check_shapes,
    column_names,
    memory_errors,
    named,
    row_names,
    shown,
)
from cranfield.tensors.counting import ScoreCounts, Tables, groups

POSITIONS = ("by_id", "by_input")  # of documents in a tie
NO_RANKS = "needs the ranks of documents, and a collection in blocks has none"


def evaluate(
    grades: Any,
    scores: Any,
    measures: Measures,
    *,
    mask: Any = None,
    ids: Any = None,
    missed: Any = None,
    unjudged: float | None = None,
    indexes: Any = None,
    query_ids: Sequence[Any] | None = None,
    ties: Ties = "expected",
    **options: Any,
) -> Evaluation:
    """The evaluation of candidates whose scores are a tensor: NumPy, PyTorch, or any array with DLPack, on any device.

    Scores stay on their device: higher and equal scores are counted there, and only counts leave it.

    Parameters
    ----------
    grades
        (queries, candidates); NaN means unjudged, and so does the value ``unjudged``. A third dimension has the grades
        by subtopic. More can be said of the judgments by ``Collection(grades, ...)``: the meaning of negative grades,
        and by ids of queries, documents and subtopics (numbers, unless they are given) costs, NIL or intents.
    scores
        The same shape, or ``{name: scores}`` for several runs over the same candidates.
    measures
        As in `cranfield.evaluate`.
    mask
        The same shape, true for candidates; all others, such as padding, are not retrieved.
    ids
        Document ids, one for each column or for each element; by default, columns are numbered.
    missed
        Grades of judged documents outside the candidates: a row for each query, padded with NaN, or ``{query: [grade,
        ...]}``, or ``{query: {document: grade}}``, which need ``query_ids`` or ``indexes``.
    unjudged
        The grade that means unjudged.
    indexes
        The number of the query of each element, in any order, as in torchmetrics; ``grades`` and ``scores`` then have
        one dimension.
    query_ids
        By default, queries are numbered.
    ties
        As in `cranfield.evaluate`, but tied documents stay tied by default; ``trec`` needs ``ids``.
    **options
        All other options of `cranfield.Evaluator`.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[3.0, 2.0, 2.0], [1.0, 5.0, 0.0]])
    >>> grades = np.array([[np.nan, 1.0, 0.0], [1.0, np.nan, np.nan]])
    >>> evaluate(grades, scores, ["RR", "P@1"]).scores.means
    {'run': {'RR': 0.4583333333333333, 'P@1': 0.0}}
    """
    collection = Collection.of(grades)
    runs = dict(scores) if isinstance(scores, Mapping) else {"run": scores}
    if not runs:
        raise UsageError("no runs given")
    given = {f"scores of {name}" if len(runs) > 1 else "scores": values for name, values in runs.items()}
    with memory_errors("the counts of these scores", "evaluate fewer queries at a time"):
        ops, arrays = arrays_of(**given, grades=collection.qrels, mask=mask, indexes=indexes)
        tables = dict(zip(runs, (arrays[name] for name in given), strict=True))
        candidates = candidates_of(ops, tables, arrays["grades"], arrays["mask"], arrays["indexes"], ids, query_ids)
        judged = JudgedCandidates.of(candidates, missed, unjudged)
        candidates.check_argument_order(judged.judgments)
        collection = collection.changed(qrels=judged.judgments)
        evaluator = make_evaluator(collection, measures, ids=ids is not None, ties=ties, **options)
        judged = replace(judged, rows=judged.rows.with_queries(evaluator.judgments))
        chosen = _chosen(candidates, judged, evaluator)
        return evaluator.aligned_evaluation(
            [_aligned(candidates, judged.rows, evaluator, *chosen, name) for name in candidates.runs]
        )


def candidates_of(
    ops: Arrays, runs: dict[str, Any], grades: Any, mask: Any, indexes: Any, ids: Any, query_ids: Any
) -> Candidates:
    """The candidates of these arrays; raise if their shapes or ids do not fit."""
    shape = tuple(int(n) for n in (next(iter(runs.values())) if indexes is None else indexes).shape)
    if indexes is None and len(shape) != 2:
        raise UsageError(
            f"scores must have two dimensions (queries, candidates), not the shape {shown(shape)}",
            hint="the flat form needs indexes=, the query of each element",
        )
    if indexes is not None and len(shape) != 1:
        raise UsageError(f"indexes must have one dimension, not the shape {shown(shape)}")
    check_shapes(shape, runs, grades, mask)
    check_no_nan(ops, "mask", mask)
    if shape[0] == 0:
        raise UsageError(f"there are no queries: {'scores has no rows' if indexes is None else 'indexes is empty'}")
    if shape[-1] == 0:
        raise UsageError("there are no candidates: scores has no columns")
    codes = None if ids is None else DocumentIds.of(ids, shape)
    if indexes is None:
        names, has_ids = row_names(query_ids, shape[0], "rows of scores"), query_ids is not None
        return Candidates(ops, runs, grades, mask, names, codes, np.arange(shape[0] + 1) * shape[1], shape, has_ids)
    # Queries in ascending order of their numbers; the elements of a query stay in input order.
    order, numbers, begin = groups(ops, indexes)
    if numbers.dtype.kind == "f" and np.isnan(numbers).any():
        raise InputError(["an index of a query is NaN"])
    with np.errstate(invalid="ignore"):
        rows = numbers.astype(np.int64)
    if (rows != numbers).any():
        raise InputError([f"an index of a query must be a whole number, found {numbers[rows != numbers][0]:g}"])
    names = Strings.of(map(str, rows.tolist()))
    if query_ids is not None:
        every = row_names(query_ids, len(query_ids), "queries")
        if rows.min() < 0 or rows.max() >= len(every):
            wrong = rows.min() if rows.min() < 0 else rows.max()
            raise UsageError(f"indexes must be from 0 to {len(every) - 1}, the rows of query_ids; found {wrong}")
        names = every.take(rows)
    if order is not None:
        runs, grades = {name: values[order] for name, values in runs.items()}, grades[order]
        mask = None if mask is None else mask[order]
        codes = None if codes is None else replace(codes, codes=codes.codes[ops.host(order)])
    return Candidates(ops, runs, grades, mask, names, codes, begin, shape, has_query_ids=True)


@dataclass(eq=False)
class Candidates:
    """The candidates of queries: scores of runs, grades, and which elements are retrieved (None: all of them).

    ``begin``: the first element of each query, and the number of all; ``shape``: (query, candidate) or (element,).
    """

    ops: Arrays
    runs: dict[str, Any]
    grades: Any
    mask: Any
    names: Strings
    ids: DocumentIds | None
    begin: Integers
    shape: tuple[int, ...]
    has_query_ids: bool  # of the caller; else rows are numbered

    @cached_property
    def tables(self) -> Tables:
        return Tables(self.ops, self.begin, self.grades)

    @cached_property
    def retrieved(self) -> Any:
        """The mask as true and false; None if all elements are retrieved."""
        return None if self.mask is None else self.mask != 0

    @cached_property
    def codes(self) -> Integers:
        """The code of the id of each element."""
        assert self.ids is not None
        return np.broadcast_to(self.ids.codes, self.shape).ravel()

    def query_of(self, at: Integers) -> Integers:
        """The row of the query of elements."""
        return at // self.shape[1] if len(self.shape) > 1 else np.searchsorted(self.begin, at, side="right") - 1

    def judged(self, unjudged: float | None) -> Any:
        """Which elements have a grade: (element) or (element, subtopic)."""
        if unjudged is not None and not isinstance(unjudged, Real):
            raise UsageError(f"unjudged must be a number, not {unjudged!r}")
        judged = ~self.ops.xp.isnan(self.grades)
        return judged if unjudged is None else judged & (self.grades != unjudged)

    def check_argument_order(self, judgments: Judgments) -> None:
        """Raise if the grades look like scores, and the scores like grades."""
        if not looks_like_scores(judgments):
            return
        first = (self.ops.host(scores[:MAX_SCORES]).ravel()[:MAX_SCORES] for scores in self.runs.values())
        if all(are_grades(scores.tolist()) for scores in first):
            raise UsageError(
                "the grades look like scores, and the scores look like grades",
                hint="judgments come first: evaluate(grades, scores, measures)",
            )

    def check_unique(self, judged: Integers) -> None:
        """Raise if a query has a document twice, among those that are retrieved or judged."""
        if self.ids is None:
            return
        at = np.arange(len(self.codes))
        if self.mask is not None:
            at = np.union1d(np.flatnonzero(self.ops.host(self.retrieved).ravel()), judged)
        pairs = np.sort(self.query_of(at) * len(self.ids.names) + self.codes[at])
        twice = np.flatnonzero(pairs[1:] == pairs[:-1])
        if len(twice):
            q, code = divmod(int(pairs[twice[0]]), len(self.ids.names))
            name = quotable(self.ids.names[code])
            raise InputError([f"query `{quotable(self.names[q])}`: document `{name}` appears twice among ids"])

    def document_names(self, at: Integers) -> Strings:
        """The ids of elements; columns are numbered if there are none."""
        if self.ids is not None:
            return self.ids.names.take(self.codes[at])
        column = at - self.begin[self.query_of(at)]
        return column_names(column)

    def count(self, scores: Any, at: Integers, query: Integers, rules: Sequence[str]) -> tuple[Host, Host]:
        """`Tables.count` for elements, with their positions by these rules."""
        ops, orders = self.ops, []
        for rule in rules:
            order = np.arange(self.shape[-1])
            if rule == "by_id":
                assert self.ids is not None
                order = self.ids.positions[self.ids.codes]
            of_elements = order.ravel()[at % max(order.size, 1)]
            orders.append((ops.to_device(order, scores), ops.to_device(of_elements, scores)))
        value = scores[tuple(ops.to_device(x, scores) for x in np.unravel_index(at, self.shape))]
        return self.tables.count(scores, self.retrieved, query, value, orders)

    def input_rank(self, at: Integers, query: Integers) -> Integers:
        """For each element, the number of retrieved elements of its query before it."""
        if self.mask is None:
            return at - self.begin[query]
        running = self.retrieved.reshape(-1).cumsum(0)
        of_element, of_first = (running[self.ops.to_device(x, self.grades)] for x in (at, self.begin[query]))
        first = self.retrieved.reshape(-1)[self.ops.to_device(self.begin[query], self.grades)]
        return self.ops.host(of_element - 1 - (of_first - first * 1)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class JudgedCandidates:
    """The judgments of candidates.

    ``rows``: the queries of the tensors. ``at``: the elements that are judged, ascending; ``document``: their rows in
    the judgments.
    """

    judgments: Judgments
    rows: QueryRows
    at: Integers
    document: Integers

    @classmethod
    def of(cls, candidates: Candidates, missed: Any, unjudged: float | None) -> JudgedCandidates:
        ops, names = candidates.ops, candidates.names
        judged = candidates.judged(unjudged)
        by_subtopic = len(judged.shape) > len(candidates.shape)
        flat = (judged.any(-1) if by_subtopic else judged).reshape(-1)
        on_device = ops.nonzero(flat)[0]
        at = ops.host(on_device)
        candidates.check_unique(at)
        query = candidates.query_of(at)
        values = ops.host(ops.doubles(candidates.grades.reshape(len(flat), -1)[on_device]))
        labels, grade = None, values[:, 0]
        if by_subtopic:
            labels = ops.host(judged.reshape(len(flat), -1)[on_device])
            grade = np.where(labels, values, -np.inf).max(axis=1, initial=-np.inf)
        ids = candidates.document_names(at)
        every_name, order = names, np.arange(len(query))
        queries, outside = _missed(missed, names, unjudged, has_ids=candidates.has_query_ids)
        if outside:
            if labels is not None:
                raise UsageError("missed cannot be combined with grades by subtopic")
            more_queries, documents, grades = zip(*outside, strict=True)
            every_name = Strings.of([*names, *queries])
            query, grade = np.append(query, more_queries), np.append(grade, grades)
            order = np.argsort(query, kind="stable")
            ids = Strings.of([*ids, *documents]).take(order)
        judgments, judged_rows = judgments_of(every_name, query[order], ids, grade[order])
        if outside:
            _check_missed(judgments)
        if labels is not None:
            document, subtopic = np.nonzero(labels)
            subtopics = Strings.of(map(str, range(labels.shape[1])))
            judgments = replace(judgments, labels=Labels(document, subtopic, values[document, subtopic], subtopics))
        row_of = np.empty(len(order), np.int64)
        row_of[order] = np.arange(len(order))
        rows = QueryRows(names, np.where(judged_rows < len(names), judged_rows, -1))
        return cls(judgments, rows, at, row_of[: len(at)])


def _check_missed(judgments: Any) -> None:
    ids, begin = list(judgments.documents), judgments.begin.tolist()
    for q, query in enumerate(judgments.queries):
        of_query = ids[begin[q] : begin[q + 1]]
        if len(set(of_query)) < len(of_query):
            twice = next(name for name in of_query if of_query.count(name) > 1)
            raise InputError([f"missed: query `{quotable(query)}` has document `{quotable(twice)}` twice"])


MISSED = "{query: {document: grade}}, {query: [grade, ...]} or a list of grades for each query"


def _missed(
    missed: Any, names: Strings, unjudged: float | None, *, has_ids: bool
) -> tuple[list[str], list[tuple[int, str, float]]]:
    """Judged documents outside the candidates: their queries without a row, numbered after the rows, and the judgments.

    A judgment has the number of the query, the document and the grade.
    """
    if missed is None:
        return [], []
    row_of = {name: q for q, name in enumerate(names)}
    if isinstance(missed, Mapping):
        if not has_ids:
            message = "missed has ids of queries, and the rows of scores have none"
            raise InputError([message], hint="give the ids of the rows, query_ids=[...], or missed as a list")
        by_query = named(missed, "missed")
        given = [(row_of.setdefault(query, len(row_of)), of_query) for query, of_query in by_query.items()]
    else:
        if not _is_list(missed):
            raise UsageError(f"missed must be {MISSED}, not {type(missed).__name__}")
        given = list(enumerate(missed))
        if len(given) != len(names):
            raise UsageError(f"missed has {len(given)} rows for {len(names)} queries")
    judged = []
    for q, of_query in given:
        with_documents = isinstance(of_query, Mapping)
        if not with_documents and not _is_list(of_query):
            raise UsageError(f"missed must be {MISSED}; a query has {quotable(repr(of_query))}")
        for document, value in named(of_query, "missed").items() if with_documents else enumerate(of_query):
            try:
                grade = float("" if isinstance(value, str | bytes) else value)  # text is not a number
            except (TypeError, ValueError, OverflowError):
                raise UsageError(f"missed: the grade is not a number: {quotable(repr(value))}") from None
            if not np.isnan(grade) and grade != unjudged:
                judged.append((q, str(document) if with_documents else f"missed {document}", grade))
    return list(row_of)[len(names) :], judged


def _is_list(value: Any) -> bool:
    """Whether this is a list, an array or another iterable, and not text or one number."""
    return isinstance(value, Iterable) and not isinstance(value, str | bytes) and getattr(value, "ndim", 1) > 0


def _chosen(candidates: Candidates, documents: JudgedCandidates, evaluator: Evaluator) -> tuple[Integers, Integers]:
    """The elements whose positions are counted, and their rows in the judgments.

    These are judged candidates, and others (row -1) that a measure needs by their id.
    """
    at, document = documents.at, documents.document
    reader, nil = evaluator.reader, evaluator.policy.nil
    if nil is not None:
        # NIL is now the last document of every query.
        document = document + documents.rows.number[candidates.query_of(at)]
    wanted = {nil} if nil is not None else set()
    if reader.collection_measures:
        wanted |= reader.judged_anywhere
    if reader.cost_aligner is not None:
        wanted |= set(reader.cost_aligner.judgments.documents)
    if wanted and candidates.ids is not None:
        names, codes = candidates.ids.names, candidates.codes
        more = np.array([name in wanted for name in names], bool)[codes]
        more[at] = False
        new = np.flatnonzero(more)
        row = np.full(len(new), -1)
        if nil is not None:
            of = documents.rows.number[candidates.query_of(new)]
            is_nil = np.array([name == nil for name in names], bool)[codes[new]]
            is_nil &= of < len(evaluator.judgments.queries)
            row[is_nil] = evaluator.judgments.begin[1:][of[is_nil]] - 1
        order = np.argsort(np.append(at, new), kind="stable")
        at, document = np.append(at, new)[order], np.append(document, row)[order]
    return at, document


def _aligned(
    candidates: Candidates, rows: QueryRows, evaluator: Evaluator, at: Integers, document: Integers, name: str
) -> RunScores:
    """The positions of these elements in one run."""
    ops, reader, scores = candidates.ops, evaluator.reader, candidates.runs[name]
    if candidates.retrieved is not None:
        present = ops.host(candidates.retrieved.reshape(-1)[ops.to_device(at, scores)])
        at, document = at[present], document[present]
    query = candidates.query_of(at)
    rules = ["by_id"] if candidates.ids is not None and reader.by_id else []
    if any(c.measure.views.rule.position == "by_input" for c in evaluator.columns):
        rules.append("by_input")
    counted: dict[Key, CountedDocuments] = {}
    for key in reader.keys:
        ranked = slice(0 if key == "rank" else None)  # the order of the input needs no counts
        of_key = ops.singles(scores) if key == "score32" else scores
        (length, bad), counts = candidates.count(of_key, at[ranked], query[ranked], rules)
        check_nan(bad, candidates.names, f"{name}: ", "; exclude the candidate with mask=, or give it a score")
        positions = dict(zip(rules, counts[2:], strict=True))
        if key == "rank":
            none = np.zeros_like(at)
            counts, positions = np.stack([candidates.input_rank(at, query), none + 1]), dict.fromkeys(POSITIONS, none)
        counted[key] = CountedDocuments(query, document, counts[0], counts[1], at, **positions)
    ids = None
    if candidates.ids is not None and (reader.collection_measures or reader.cost_aligner is not None):
        ids = candidates.document_names(at)
    return counted_run(evaluator, name, rows, length, counted, ids)


@dataclass(frozen=True, eq=False)
class QueryRows:
    """The queries of tensors: the name of each row, and the row of each judged query, -1 if it has none."""

    names: Strings
    row_of_query: Integers

    @cached_property
    def number(self) -> Integers:
        """The number of the query of each row: judged queries first, then the others."""
        number = np.full(len(self.names), -1)
        judged = np.flatnonzero(self.row_of_query >= 0)
        number[self.row_of_query[judged]] = judged
        number[self.others] = len(self.row_of_query) + np.arange(len(self.others))
        return number

    def with_queries(self, judgments: Judgments) -> QueryRows:
        """The rows for judgments that have more queries at the end, as complete judgments may."""
        rows = {name: row for row, name in enumerate(self.names)}
        added = [rows.get(query, -1) for query in islice(judgments.queries, len(self.row_of_query), None)]
        return replace(self, row_of_query=np.append(self.row_of_query, added).astype(np.int64)) if added else self

    @cached_property
    def others(self) -> Integers:
        """The rows of queries that are not judged."""
        judged = np.zeros(len(self.names), bool)
        judged[self.row_of_query[self.row_of_query >= 0]] = True
        return np.flatnonzero(~judged)


@dataclass(frozen=True, eq=False)
class CountedDocuments:
    """Documents of a run with counts, one row each.

    ``query``: the row of the query in the tensors. ``document``: the row in the judgments, -1 for others. ``start``,
    ``size``: the numbers of documents with a higher score, and with an equal one. ``by_id``, ``by_input``: positions in
    the tie group, if they were counted. ``sequence``: the input order.
    """

    query: Integers
    document: Integers
    start: Integers
    size: Integers
    sequence: Integers
    by_id: Integers | None = None
    by_input: Integers | None = None

    def positions(self, chosen: Booleans, rows: QueryRows) -> tuple[Positions, Integers]:
        """The positions of the chosen documents, best first, and their rows."""
        kept = np.flatnonzero(chosen)
        query = rows.number[self.query[kept]]
        order = lexsorted((self.sequence[kept], self.start[kept], query))
        kept, zero = kept[order], np.zeros_like(kept)
        by_id, by_input = (zero if values is None else values[kept] for values in (self.by_id, self.by_input))
        columns = query[order], self.document[kept], self.start[kept], self.size[kept]
        return Positions(*columns, by_id, by_input), kept


def counted_run(
    evaluator: Evaluator,
    name: str,
    rows: QueryRows,
    length: Integers,
    counted: Mapping[Key, CountedDocuments],
    ids: Strings | None = None,
) -> RunScores:
    """A run from its counts for each key; ``length``: the documents of each row; ``ids``: of all counted documents."""
    of_judged = np.where(rows.row_of_query >= 0, length[rows.row_of_query], -1)
    queries = RunQueries(of_judged, rows.names.take(rows.others), length[rows.others])
    reader, alignments = evaluator.reader, dict[Key, Alignment]()
    for key, documents in counted.items():
        positions, _ = documents.positions(documents.document >= 0, rows)
        positions_known = tuple(name for name in POSITIONS if getattr(documents, name) is not None)
        alignments[key] = Alignment(reader.aligner, positions, queries, tie_positions=positions_known)
        if ids is not None:
            positions, kept = documents.positions(documents.start < reader.top, rows)
            alignments[key].tops = TopDocuments(ids.take(kept), positions)
    return reader.run_scores(Run(name, {}), alignments)


def judgments_of(names: Strings, row: Integers, documents: Strings, grade: Floats) -> tuple[Judgments, Integers]:
    """Judgments from documents in ascending order of the rows of their queries, and the row of each judged query."""
    if not len(row):
        raise InputError(["grades: no document is judged"], hint="unjudged documents have the grade NaN")
    infinite = np.flatnonzero(~np.isfinite(grade))
    if len(infinite):
        example = quotable(names[int(row[infinite[0]])])
        raise InputError([f"grades: query `{example}` has an infinite grade"], total=len(infinite))
    begin = np.flatnonzero(np.diff(row, prepend=-1))
    rows = row[begin]
    begin = np.append(begin, len(row)).astype(np.int64)
    return Judgments("grades", names.take(rows), begin, documents, np.ascontiguousarray(grade, np.float64)), rows


def make_evaluator(collection: Collection, measures: Measures, *, ids: bool, **options: Any) -> Evaluator:
    """An evaluator for runs whose documents, judged or not, have ``ids`` or have none; raise if it needs more."""
    evaluator = Evaluator(collection, measures, **options)
    for name in ("predicted", "map_documents"):
        if name in collection.given:
            raise UsageError(f"{name} cannot be used with tensors", hint="use cranfield.evaluate")
    if evaluator.policy.nil is not None and not ids:
        raise UsageError("nil needs document ids")
    for column in evaluator.columns:
        if column.measure.definition.content:
            raise MeasureError(
                f"{column.measure} needs document text, which tensors do not have",
                hint="write the run to a file, and use cranfield.evaluate",
            )
        if (column.alignment.collection or column.alignment.costs or column.alignment.documents) and not ids:
            raise MeasureError(f"{column.measure} needs document ids")
    return evaluator


def make_block_evaluator(
    collection: Collection, measures: Measures, reason: str = NO_RANKS, **options: Any
) -> Evaluator:
    """An evaluator for counts alone: unjudged documents have no ids, and documents no ranks."""
    evaluator = make_evaluator(collection, measures, ids=False, **options)
    for column in evaluator.columns:
        if column.alignment.key != "score":
            raise MeasureError(
                f"{column.measure}: ties={column.measure.views.ties} {reason}",
                hint="ties=expected is the mean over all orders of tied documents",
            )
    return evaluator


def count_run(
    evaluator: Evaluator,
    rows: QueryRows,
    counts: ScoreCounts,
    query: Integers,
    document: Integers,
    sequence: Integers,
    position: str = "by_input",
) -> RunScores:
    """A run from counts alone; ``position``: what the positions are, if they were counted."""
    higher, equal, length, bad = (counts.ops.host(x) for x in (counts.higher, counts.equal, counts.length, counts.bad))
    check_nan(bad, rows.names)
    absent = np.flatnonzero(equal <= 0)
    if len(absent):
        example = quotable(rows.names[int(query[absent[0]])])
        raise InputError(
            [f"query `{example}`: the score of a judged document is in none of the blocks"],
            total=len(absent),
            hint="compute the scores of judged documents with the same product as all others: rounding may differ",
        )
    before = {} if counts.before is None else {position: counts.ops.host(counts.before)}
    counted: dict[Key, CountedDocuments] = {
        "score": CountedDocuments(query, document, higher, equal, sequence, **before)
    }
    return counted_run(evaluator, "run", rows, length, counted)


def check_nan(bad: Integers, names: Strings, run: str = "", advice: str = "") -> None:
    """Raise if a query has a score that is NaN."""
    if bad.any():
        faults = [f"{run}query `{quotable(names[int(q)])}` has a score that is NaN" for q in np.flatnonzero(bad)]
        raise InputError(faults, hint=f"NaN cannot be ordered{advice}")
