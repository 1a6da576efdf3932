"""`evaluate`: grades and scores of candidates as tensors, in a table or in flat form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cranfield.data import Floats, Integers, Judgments, Labels, Strings
from cranfield.errors import InputError, UsageError
from cranfield.evaluation.collection import Collection
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.evaluator import MAX_SCORES, Evaluator, Measures, are_grades, looks_like_scores
from cranfield.io.faults import quotable
from cranfield.ranking.alignment import AlignedRun
from cranfield.ranking.batch import Key
from cranfield.ranking.tie_rules import Ties
from cranfield.tensors.arrays import (
    Arrays,
    DocumentIds,
    arrays_of,
    check_shapes,
    memory_errors,
    row_names,
    shown,
)
from cranfield.tensors.counting import changes, count_before, count_scores, count_segments
from cranfield.tensors.ranks import (
    CountedDocuments,
    QueryRows,
    check_nan,
    counted_run,
    judgments_of,
    make_evaluator,
)

PADDING = 2  # a table may have this many times the elements of the flat form that it replaces


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

    ``grades``: (queries, candidates); NaN means unjudged, and so does the value ``unjudged``. A third dimension has the
    grades by subtopic. More can be said of the judgments by ``Collection(grades, ...)``: the meaning of negative
    grades, and by ids of queries, documents and subtopics (numbers, unless they are given) costs, NIL or intents.
    ``scores``: the same shape, or ``{name: scores}`` for several runs over the same candidates. ``mask``: the same
    shape, true for candidates; all others, such as padding, are not retrieved.
    Flat form: ``grades`` and ``scores`` have one dimension, and ``indexes`` has the number of the query of each
    element, in any order, as in torchmetrics.
    ``ids``: document ids, one for each column or for each element; by default, columns are numbered.
    ``missed``: grades of judged documents outside the candidates: a row for each query, padded with NaN, or
    ``{query: [grade, ...]}``, or ``{query: {document: grade}}``. ``query_ids``: by default, queries are numbered.
    ``ties``: as in `cranfield.evaluate`, but tied documents stay tied by default; ``trec`` needs ``ids``.
    ``options``: all other options of `cranfield.Evaluator`.

    Scores stay on their device: higher and equal scores are counted there, and only counts leave it.

    >>> import numpy as np
    >>> scores = np.array([[3.0, 2.0, 2.0], [1.0, 5.0, 0.0]])
    >>> grades = np.array([[np.nan, 1.0, 0.0], [1.0, np.nan, np.nan]])
    >>> evaluate(grades, scores, ["RR", "P@1"]).scores.means.tolist()
    [[0.4583333333333333, 0.0]]
    """
    collection = Collection.of(grades)
    runs = dict(scores) if isinstance(scores, Mapping) else {"run": scores}
    if not runs:
        raise UsageError("no runs given")
    given = {f"scores of {name}" if len(runs) > 1 else "scores": values for name, values in runs.items()}
    with memory_errors("the counts of these scores", "evaluate fewer queries at a time"):
        ops, arrays = arrays_of(**given, grades=collection.qrels, mask=mask, indexes=indexes)
        tables = dict(zip(runs, (arrays[name] for name in given), strict=True))
        make = _table_form if indexes is None else _flat_form
        candidates = make(ops, tables, arrays["grades"], arrays["mask"], arrays["indexes"], ids, query_ids)
        judged = JudgedCandidates.of(candidates, missed, unjudged)
        candidates.check_argument_order(judged.judgments)
        collection = collection.changed(qrels=judged.judgments)
        evaluator = make_evaluator(collection, measures, ids=ids is not None, ties=ties, **options)
        chosen = Chosen.of(candidates, judged, evaluator)
        return evaluator.aligned_evaluation([chosen.run(name, values) for name, values in candidates.runs.items()])


def _table_form(
    ops: Arrays, runs: dict[str, Any], grades: Any, mask: Any, _: Any, ids: Any, query_ids: Sequence[Any] | None
) -> Candidates:
    shape = tuple(next(iter(runs.values())).shape)
    if len(shape) != 2:
        raise UsageError(
            f"scores must have two dimensions (queries, candidates), not the shape {shown(shape)}",
            hint="the flat form needs indexes=, the query of each element",
        )
    check_shapes(shape, runs, grades, mask)
    if shape[0] == 0:
        raise UsageError("there are no queries: scores has no rows")
    codes = None if ids is None else DocumentIds.of(ids, shape)
    return TableCandidates(ops, runs, grades, mask, row_names(query_ids, shape[0], "rows of scores"), codes)


def _flat_form(
    ops: Arrays, runs: dict[str, Any], grades: Any, mask: Any, indexes: Any, ids: Any, query_ids: Sequence[Any] | None
) -> Candidates:
    shape = tuple(indexes.shape)
    if len(shape) != 1:
        raise UsageError(f"indexes must have one dimension, not the shape {shown(shape)}")
    if shape[0] == 0:
        raise UsageError("there are no queries: indexes is empty")
    check_shapes(shape, runs, grades, mask)
    # Queries in ascending order of their numbers; the elements of a query stay in input order.
    order = None
    if not bool((indexes[1:] >= indexes[:-1]).all()):
        order = ops.argsort(indexes)
        indexes = indexes[order]
    first = ops.nonzero(changes(ops, indexes))[0]
    numbers, begin = ops.host(indexes[first]), ops.host(first).astype(np.int64)
    lengths = np.diff(np.append(begin, shape[0]))
    if numbers.dtype.kind == "f" and np.isnan(numbers).any():
        raise InputError(["an index of a query is NaN"])
    if query_ids is None:
        names = Strings.of(map(str, numbers.astype(np.int64).tolist()))
    else:
        every = row_names(query_ids, len(query_ids), "queries")
        if numbers.min() < 0 or numbers.max() >= len(every):
            raise UsageError(
                f"indexes must be from 0 to {len(every) - 1}, the rows of query_ids; found {numbers.max():g}"
            )
        names = every.take(numbers.astype(np.int64))
    codes = None if ids is None else DocumentIds.of(ids, shape)
    if codes is not None and order is not None:
        codes = codes.take(ops.host(order))

    def sorted_rows(values: Any) -> Any:
        return values if order is None or values is None else values[order]

    flat = {name: sorted_rows(values) for name, values in runs.items()}
    grades, mask = sorted_rows(grades), sorted_rows(mask)
    width = int(lengths.max())
    if width * len(lengths) > PADDING * shape[0]:
        query = ops.to_device(np.repeat(np.arange(len(lengths)), lengths), indexes)
        return FlatCandidates(ops, flat, grades, mask, names, codes, query, begin)
    if (lengths == width).all():
        table = {name: values.reshape(len(lengths), width) for name, values in flat.items()}
        masks = None if mask is None else mask.reshape(len(lengths), width)
        codes = None if codes is None else codes.reshape((len(lengths), width))
        return TableCandidates(ops, table, grades.reshape(len(lengths), width, *grades.shape[1:]), masks, names, codes)
    cell = np.arange(shape[0]) + np.repeat(np.arange(len(lengths)) * width - begin, lengths)
    source = np.zeros(len(lengths) * width, np.int64)
    source[cell] = np.arange(shape[0])
    real = np.zeros(len(source), bool)
    real[cell] = True
    at, retrieved = ops.to_device(source, indexes), ops.to_device(real, indexes)
    present = retrieved if mask is None else retrieved & (mask[at] != 0)
    table = {name: values[at].reshape(len(lengths), width) for name, values in flat.items()}
    padded = grades[at].reshape(len(lengths), width, *grades.shape[1:])
    codes = None if codes is None else codes.take(source).reshape((len(lengths), width))
    outside = (~retrieved).reshape(len(lengths), width)
    return TableCandidates(ops, table, padded, present.reshape(len(lengths), width), names, codes, padding=outside)


@dataclass(eq=False)
class Candidates:
    """The candidates of queries: scores of runs, grades, and which elements are retrieved (None: all of them)."""

    ops: Arrays
    runs: dict[str, Any]
    grades: Any
    mask: Any
    names: Strings
    ids: DocumentIds | None

    # What the two forms do differently.
    def query_of(self, at: Any) -> Any:
        """The row of the query of elements."""
        raise NotImplementedError

    def host_queries(self, at: Integers) -> Integers:
        """The row of the query of elements, given and returned on the host."""
        return self.ops.host(self.query_of(self.ops.to_device(at, self.grades))).astype(np.int64)

    def column_of(self, at: Integers, query: Integers) -> Integers:
        """The number of elements within their queries."""
        raise NotImplementedError

    def lengths(self) -> Any:
        """The number of documents retrieved for each query."""
        raise NotImplementedError

    def bad_queries(self, bad: Any) -> Any:
        """For each query, the number of these elements."""
        raise NotImplementedError

    def count(self, scores: Any, at: Any, *, by_input: bool, by_id: bool) -> list[Any]:
        """For each element: higher and equal scores, and the positions in the tie."""
        raise NotImplementedError

    def input_rank(self, at: Any) -> Any:
        """For each element, the number of retrieved elements before it."""
        raise NotImplementedError

    @property
    def retrieved(self) -> Any:
        """The mask as true and false; None if all elements are retrieved."""
        return None if self.mask is None else self.mask != 0

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(next(iter(self.runs.values())).shape)

    def judged(self, unjudged: float | None) -> Any:
        """Which elements have a grade: (element) or (element, subtopic)."""
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

    def check_unique(self) -> None:
        """Raise if a query has a document twice."""
        if self.ids is None:
            return
        codes = np.broadcast_to(self.ids.codes, self.shape).ravel()
        at = np.arange(len(codes))
        if self.mask is not None:
            at = np.flatnonzero(self.ops.host(self.retrieved).ravel())
        pairs = np.sort(self.host_queries(at) * len(self.ids.names) + codes[at])
        twice = np.flatnonzero(pairs[1:] == pairs[:-1])
        if len(twice):
            q, code = divmod(int(pairs[twice[0]]), len(self.ids.names))
            name = quotable(self.ids.names[code])
            raise InputError([f"query `{quotable(self.names[q])}`: document `{name}` appears twice among ids"])

    def document_names(self, at: Integers, column: Integers) -> Strings:
        """The ids of elements; columns are numbered if there are none."""
        if self.ids is None:
            return Strings.of(map(str, range(int(column.max(initial=-1)) + 1))).take(column)
        return self.ids.names.take(np.broadcast_to(self.ids.codes, self.shape).ravel()[at])


@dataclass(eq=False)
class TableCandidates(Candidates):
    """Candidates as a table (query, candidate)."""

    padding: Any = field(default=None, kw_only=True)

    def judged(self, unjudged: float | None) -> Any:
        judged = super().judged(unjudged)
        if self.padding is None:
            return judged
        return judged & ~(self.padding if len(judged.shape) == 2 else self.padding[..., None])

    def query_of(self, at: Any) -> Any:
        return at // self.shape[1]

    def column_of(self, at: Integers, query: Integers) -> Integers:
        return at - query * self.shape[1]

    def lengths(self) -> Any:
        if self.mask is None:
            return self.ops.zeros(self.shape[0], self.grades) + self.shape[1]
        return self.ops.count(self.retrieved)

    def bad_queries(self, bad: Any) -> Any:
        return self.ops.count(bad)

    def count(self, scores: Any, at: Any, *, by_input: bool, by_id: bool) -> list[Any]:
        ops, mask = self.ops, self.retrieved
        row, column = at // self.shape[1], at % self.shape[1]
        if mask is not None:
            # Documents that are not retrieved get the lowest score of all; ties with it are counted off.
            scores = ops.xp.where(mask, ops.floats(scores), -np.inf)
        value = scores[row, column]
        higher, equal = count_scores(ops, scores, row, value)
        if mask is not None:
            outside = self.shape[1] - ops.count(mask)
            equal = equal - outside[row] * (value == -np.inf)
        counts = [higher, equal]
        orders = []
        if by_input:
            orders.append(ops.arange(self.shape[1], scores))
        if by_id:
            assert self.ids is not None
            orders.append(ops.to_device(self.ids.positions[self.ids.codes], scores))
        for positions in orders:
            position = positions[row, column] if len(positions.shape) > 1 else positions[column]
            if mask is None:
                counts.append(count_before(ops, scores, row, value, positions, position))
                continue
            of_all = positions if len(positions.shape) > 1 else positions[None]
            hidden = ops.xp.where(mask, of_all, int(max(self.shape[1], len(self.ids.names) if self.ids else 0)) + 1)
            counts.append(count_before(ops, scores, row, value, hidden, position))
        return counts

    def input_rank(self, at: Any) -> Any:
        ops, row, column = self.ops, at // self.shape[1], at % self.shape[1]
        if self.mask is None:
            return column
        present = self.retrieved
        return count_before(ops, present, row, present[row, column], ops.arange(self.shape[1], present), column)


@dataclass(eq=False)
class FlatCandidates(Candidates):
    """Candidates as a list, grouped by query; ``query``: of each element; ``begin``: the first element of queries."""

    query: Any
    begin: Integers

    def query_of(self, at: Any) -> Any:
        return self.query[at]

    def column_of(self, at: Integers, query: Integers) -> Integers:
        return at - self.begin[query]

    @property
    def weight(self) -> Any:
        ones = self.ops.zeros(self.shape[0], self.grades) + 1
        return ones if self.mask is None else ones * self.retrieved

    def _sums(self, weight: Any) -> Any:
        running = self.ops.zeros(self.shape[0] + 1, self.grades)
        running[1:] = weight.cumsum(0)
        begin = self.ops.to_device(np.append(self.begin, self.shape[0]), self.grades)
        return running[begin[1:]] - running[begin[:-1]]

    def lengths(self) -> Any:
        return self._sums(self.weight)

    def bad_queries(self, bad: Any) -> Any:
        return self._sums(bad * (self.ops.zeros(self.shape[0], self.grades) + 1))

    def count(self, scores: Any, at: Any, *, by_input: bool, by_id: bool) -> list[Any]:
        higher, equal, before = count_segments(self.ops, self.query, scores, self.weight, at)
        counts = [higher, equal, *([before] if by_input else [])]
        if by_id:
            assert self.ids is not None
            order = self.ops.to_device(self.ids.positions[self.ids.codes], scores)
            counts.append(count_segments(self.ops, self.query, scores, self.weight, at, order)[2])
        return counts

    def input_rank(self, at: Any) -> Any:
        before = self.weight.cumsum(0) - self.weight
        begin = self.ops.to_device(self.begin, self.grades)
        return before[at] - before[begin[self.query[at]]]


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
        candidates.check_unique()
        ops, names = candidates.ops, candidates.names
        judged = candidates.judged(unjudged)
        by_subtopic = len(judged.shape) > len(candidates.shape)
        flat = (judged.any(-1) if by_subtopic else judged).reshape(-1)
        on_device = ops.nonzero(flat)[0]
        at = ops.host(on_device)
        query = ops.host(candidates.query_of(on_device)).astype(np.int64)
        values = ops.host(ops.doubles(candidates.grades.reshape(len(flat), -1)[on_device]))
        labels, grade = None, values[:, 0]
        if by_subtopic:
            labels = ops.host(judged.reshape(len(flat), -1)[on_device])
            grade = np.where(labels, values, -np.inf).max(axis=1, initial=-np.inf)
        ids = candidates.document_names(at, candidates.column_of(at, query))
        every_name, order = names, np.arange(len(query))
        extra = _missed(missed, names, unjudged, ops)
        if extra.query.size:
            if labels is not None:
                raise UsageError("missed cannot be combined with grades by subtopic")
            every_name = Strings.of([*names, *extra.queries])
            query, grade = np.append(query, extra.query), np.append(grade, extra.grade)
            order = np.argsort(query, kind="stable")
            ids = Strings.of([*ids, *extra.documents]).take(order)
        judgments, judged_rows = judgments_of(every_name, query[order], ids, grade[order])
        if extra.query.size and candidates.ids is not None:
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


@dataclass(frozen=True)
class _Missed:
    """Judged documents outside the candidates; ``queries`` are queries without a row, numbered after the rows."""

    query: Integers
    documents: list[str]
    grade: Floats
    queries: list[str]


def _missed(missed: Any, names: Strings, unjudged: float | None, ops: Arrays) -> _Missed:
    if missed is None:
        return _Missed(np.zeros(0, np.int64), [], np.zeros(0), [])
    row_of: dict[str, int] = {}
    queries: list[str] = []
    given: list[tuple[int, Any]]
    if isinstance(missed, Mapping):
        row_of = {name: q for q, name in enumerate(names)}
        given = []
        for key, of_query in missed.items():
            name = str(key)
            if name not in row_of:
                row_of[name] = len(row_of)
                queries.append(name)
            given.append((row_of[name], of_query))
    else:
        rows = ops.host(missed) if hasattr(missed, "detach") and hasattr(ops, "torch") else missed
        given = list(enumerate(rows))
        if len(given) != len(names):
            raise UsageError(f"missed has {len(given)} rows for {len(names)} queries")
    query, documents, grade = [], [], []
    for q, of_query in given:
        pairs = of_query.items() if isinstance(of_query, Mapping) else enumerate(of_query)
        for document, value in pairs:
            number = float(value)
            if np.isnan(number) or number == unjudged:
                continue
            query.append(q)
            documents.append(str(document) if isinstance(of_query, Mapping) else f"missed {document}")
            grade.append(number)
    return _Missed(np.array(query, np.int64), documents, np.array(grade, np.float64), queries)


@dataclass(eq=False)
class Chosen:
    """The elements whose positions are counted: judged candidates, and others that a measure needs by their id."""

    candidates: Candidates
    documents: JudgedCandidates
    evaluator: Evaluator
    at: Integers
    document: Integers

    @classmethod
    def of(cls, candidates: Candidates, documents: JudgedCandidates, evaluator: Evaluator) -> Chosen:
        at, document = documents.at, documents.document
        reader, nil = evaluator.reader, evaluator.policy.nil
        if nil is not None:
            # NIL is now the last document of every query.
            document = document + documents.rows.number[candidates.host_queries(at)]
        wanted = {nil} if nil is not None else set()
        if reader.collection_measures:
            wanted |= reader.judged_anywhere
        if reader.cost_aligner is not None:
            wanted |= set(reader.cost_aligner.judgments.documents)
        if wanted and candidates.ids is not None:
            names, codes = candidates.ids.names, np.broadcast_to(candidates.ids.codes, candidates.shape).ravel()
            more = np.array([name in wanted for name in names], bool)[codes]
            more[at] = False
            new = np.flatnonzero(more)
            row = np.full(len(new), -1)
            if nil is not None:
                of = documents.rows.number[candidates.host_queries(new)]
                is_nil = np.array([name == nil for name in names], bool)[codes[new]]
                is_nil &= of < len(evaluator.judgments.queries)
                row[is_nil] = evaluator.judgments.begin[1:][of[is_nil]] - 1
            order = np.argsort(np.append(at, new), kind="stable")
            at, document = np.append(at, new)[order], np.append(document, row)[order]
        return cls(candidates, documents, evaluator, at, document)

    def run(self, name: str, scores: Any) -> AlignedRun:
        """The positions of the chosen elements in one run."""
        candidates, ops = self.candidates, self.candidates.ops
        reader = self.evaluator.reader
        retrieved = candidates.retrieved
        at, shown, document = ops.to_device(self.at, candidates.grades), self.at, self.document
        bad = ops.xp.isnan(scores)
        if retrieved is not None:
            scores = ops.xp.where(bad & ~retrieved, 0, scores)
            bad = bad & retrieved
            present = retrieved.reshape(-1)[at]
            on_host = ops.host(present)
            at, shown, document = at[ops.nonzero(present)[0]], shown[on_host], document[on_host]
        length, faults = ops.host(ops.xp.stack([candidates.lengths(), candidates.bad_queries(bad)]))
        check_nan(faults, candidates.names, f"{name}: ", "; exclude the candidate with mask=, or give it a score")
        by_input = any(c.measure.views.rule.position == "by_input" for c in self.evaluator.columns)
        by_id = candidates.ids is not None and reader.by_id
        query = ops.host(candidates.query_of(at))
        counted: dict[Key, CountedDocuments] = {}
        for key in reader.keys:
            if key == "rank":
                start = ops.host(candidates.input_rank(at)).astype(np.int64)
                none = np.zeros_like(start)
                counted[key] = CountedDocuments(query, document, start, none + 1, shown, none, none)
                continue
            of_key = ops.singles(scores) if key == "score32" else scores
            counts = candidates.count(of_key, at, by_input=by_input, by_id=by_id)
            start, size, *positions = ops.host(ops.xp.stack(counts)).astype(np.int64)
            inputs = positions.pop(0) if by_input else None
            counted[key] = CountedDocuments(
                query, document, start, size, shown, positions.pop() if by_id else None, inputs
            )
        ids = None
        if candidates.ids is not None and (reader.collection_measures or reader.cost_aligner is not None):
            ids = candidates.document_names(shown, shown)
        return counted_run(self.evaluator, name, self.documents.rows, length.astype(np.int64), counted, ids)
