"""`evaluate_tensors`: scores and grades of candidates as tensors, in a table or in flat form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from cranfield.data import Floats, Integers, Judgments, Labels, Strings
from cranfield.engines.tensors.arrays import Arrays, arrays_of, memory_errors
from cranfield.engines.tensors.counted import (
    CountedDocuments,
    RunLengths,
    check_identities,
    counted_run,
    judgments_of,
)
from cranfield.engines.tensors.counting import count_before, count_scores, count_segments
from cranfield.errors import InputError, UsageError
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.evaluator import (
    MAX_SCORES,
    Evaluator,
    Measures,
    are_grades,
    evaluator_of,
    looks_like_scores,
)
from cranfield.evaluation.scores import Scores
from cranfield.io.faults import quotable
from cranfield.ranking.alignment import AlignedRun
from cranfield.ranking.batch import Key
from cranfield.ranking.tie_rules import Ties

PADDING = 2  # a table may have this many times the elements of the flat form that it replaces


def evaluate_tensors(
    scores: Any,
    grades: Any,
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
) -> Scores:
    """The scores of candidates whose scores are a tensor: NumPy, PyTorch, or any array with DLPack, on any device.

    ``scores``: (queries, candidates), or ``{name: scores}`` for several runs over the same candidates. ``grades``: the
    same shape; NaN means unjudged, and so does the value ``unjudged``. A third dimension has the grades by subtopic.
    ``mask``: the same shape, true for candidates; all others, such as padding, are not retrieved.
    Flat form: ``scores`` and ``grades`` have one dimension, and ``indexes`` has the number of the query of each
    element, in any order, as in torchmetrics.
    ``ids``: document ids, one for each column or for each element; by default, columns are numbered.
    ``missed``: grades of judged documents outside the candidates: a row for each query, padded with NaN, or
    ``{query: [grade, ...]}``, or ``{query: {document: grade}}``. ``query_ids``: by default, queries are numbered.
    ``ties``: as in `evaluate`, but tied documents stay tied by default; ``trec`` needs ``ids``.
    ``options``: all other options of `evaluate`.

    Scores stay on their device: higher and equal scores are counted there, and only counts leave it.

    >>> import numpy as np
    >>> scores = np.array([[3.0, 2.0, 2.0], [1.0, 5.0, 0.0]])
    >>> grades = np.array([[np.nan, 1.0, 0.0], [1.0, np.nan, np.nan]])
    >>> evaluate_tensors(scores, grades, ["RR", "P@1"]).means.tolist()
    [[0.4583333333333333, 0.0]]
    """
    return tensor_evaluation(
        scores,
        grades,
        measures,
        mask=mask,
        ids=ids,
        missed=missed,
        unjudged=unjudged,
        indexes=indexes,
        query_ids=query_ids,
        ties=ties,
        **options,
    ).scores


def tensor_evaluation(
    scores: Any,
    grades: Any,
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
    """The same as `evaluate_tensors`, as an `Evaluation` for audits and comparisons."""
    runs = dict(scores) if isinstance(scores, Mapping) else {"run": scores}
    if not runs:
        raise UsageError("no runs given")
    given = {f"scores of {name}" if len(runs) > 1 else "scores": values for name, values in runs.items()}
    with memory_errors("the counts of these scores", "evaluate fewer queries at a time"):
        ops, arrays = arrays_of(**given, grades=grades, mask=mask, indexes=indexes)
        tables = dict(zip(runs, (arrays[name] for name in given), strict=True))
        make = _table_form if indexes is None else _flat_form
        candidates = make(ops, tables, arrays["grades"], arrays["mask"], arrays["indexes"], ids, query_ids)
        return candidates.evaluation(measures, missed, unjudged, ties=ties, **options)


def _table_form(
    ops: Arrays, runs: dict[str, Any], grades: Any, mask: Any, _: Any, ids: Any, query_ids: Sequence[Any] | None
) -> Candidates:
    shape = tuple(next(iter(runs.values())).shape)
    if len(shape) != 2:
        raise UsageError(
            f"scores must have two dimensions (queries, candidates), not the shape {_shown(shape)}",
            hint="the flat form needs indexes=, the query of each element",
        )
    _check_shapes(shape, runs, grades, mask)
    if len(shape) == 2 and shape[0] == 0:
        raise UsageError("there are no queries: scores has no rows")
    names = _names(range(shape[0]) if query_ids is None else query_ids, shape[0], "query_ids", "rows of scores")
    codes = None if ids is None else DocumentIds.of(ids, shape)
    return TableCandidates(ops, runs, grades, mask, names, codes)


def _flat_form(
    ops: Arrays, runs: dict[str, Any], grades: Any, mask: Any, indexes: Any, ids: Any, query_ids: Sequence[Any] | None
) -> Candidates:
    shape = tuple(indexes.shape)
    if len(shape) != 1:
        raise UsageError(f"indexes must have one dimension, not the shape {_shown(shape)}")
    if shape[0] == 0:
        raise UsageError("there are no queries: indexes is empty")
    _check_shapes(shape, runs, grades, mask)
    # Queries in ascending order of their numbers; the elements of a query stay in input order.
    order = None
    if not ops.all(indexes[1:] >= indexes[:-1]):
        order = ops.argsort(indexes)
        indexes = indexes[order]
    first = ops.nonzero(_changes(ops, indexes))[0]
    numbers, begin = ops.host(indexes[first]), ops.host(first).astype(np.int64)
    lengths = np.diff(np.append(begin, shape[0]))
    if numbers.dtype.kind == "f" and np.isnan(numbers).any():
        message = "an index of a query is NaN"
        raise InputError([message])
    if query_ids is None:
        names = Strings.of(map(str, numbers.astype(np.int64).tolist()))
    else:
        every = _names(query_ids, len(query_ids), "query_ids", "queries")
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


def _changes(ops: Arrays, indexes: Any) -> Any:
    """1 for the first element of each run of equal elements."""
    first = ops.zeros(len(indexes), indexes) + 1
    first[1:] = first[1:] * (indexes[1:] != indexes[:-1])
    return first


def _check_shapes(shape: tuple[int, ...], runs: dict[str, Any], grades: Any, mask: Any) -> None:
    others = {name if len(runs) > 1 else "scores": values for name, values in runs.items()}
    if mask is not None:
        others["mask"] = mask
    for name, values in others.items():
        if tuple(values.shape) != shape:
            raise UsageError(f"{name} has the shape {_shown(values.shape)}, expected {_shown(shape)}")
    if tuple(grades.shape[: len(shape)]) != shape or len(grades.shape) > len(shape) + 1:
        raise UsageError(
            f"grades has the shape {_shown(grades.shape)}, but scores has the shape {_shown(shape)}",
            hint="unjudged candidates have the grade NaN",
        )


def _shown(shape: Any) -> str:
    return "(" + ", ".join(str(int(n)) for n in shape) + ("," if len(shape) == 1 else "") + ")"


def _names(ids: Any, count: int, argument: str, what: str) -> Strings:
    """Ids as text; they must be as many as the rows, and all different."""
    if hasattr(ids, "tolist"):
        ids = ids.tolist()
    names = [name if isinstance(name, str) else str(name) for name in ids]
    if len(names) != count:
        raise UsageError(f"{argument} has {len(names)} ids for {count} {what}")
    if len(set(names)) != len(names):
        seen: set[str] = set()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise UsageError(f"{argument} has the id `{quotable(twice)}` twice")
    return Strings.of(names)


@dataclass(frozen=True, eq=False)
class DocumentIds:
    """Document ids as codes: ``codes`` has the shape of the scores, or one code for each column."""

    names: Strings
    codes: Integers

    @classmethod
    def of(cls, ids: Any, shape: tuple[int, ...]) -> DocumentIds:
        """Ids for columns or for elements of scores of this shape."""
        if hasattr(ids, "detach"):
            ids = ids.detach().cpu().numpy()
        array = np.asarray(ids, None if hasattr(ids, "dtype") else object)
        if array.shape not in (shape, shape[-1:]):
            raise UsageError(
                f"ids has the shape {_shown(array.shape)}, expected {_shown(shape[-1:])} or {_shown(shape)}"
            )
        if array.dtype.kind in "iu":
            values, codes = np.unique(array, return_inverse=True)
            return cls(Strings.of(map(str, values.tolist())), codes.reshape(array.shape))
        numbers: dict[str, int] = {}
        flat = [str(name) for name in array.ravel().tolist()]
        codes = np.fromiter((numbers.setdefault(name, len(numbers)) for name in flat), np.int64, len(flat))
        return cls(Strings.of(numbers), codes.reshape(array.shape))

    def take(self, rows: Integers) -> DocumentIds:
        return DocumentIds(self.names, self.codes[rows])

    def reshape(self, shape: tuple[int, int]) -> DocumentIds:
        return DocumentIds(self.names, self.codes.reshape(shape))

    @cached_property
    def positions(self) -> Integers:
        """The position of each code in descending order of the bytes of its id, as in trec_eval."""
        encoded = [name.encode("utf-8", "surrogateescape") for name in self.names]
        order = sorted(range(len(encoded)), key=encoded.__getitem__, reverse=True)
        position = np.empty(len(order), np.int64)
        position[order] = np.arange(len(order))
        return position


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

    def id_codes(self) -> Any:
        """The code of the id of every element, on the device."""
        assert self.ids is not None
        return self.ops.to_device(np.broadcast_to(self.ids.codes, self.shape).copy(), self.grades)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(next(iter(self.runs.values())).shape)

    def judged(self, unjudged: float | None) -> Any:
        """Which elements have a grade: (element) or (element, subtopic)."""
        judged = ~self.ops.is_nan(self.grades)
        return judged if unjudged is None else judged & (self.grades != unjudged)

    def evaluation(self, measures: Measures, missed: Any, unjudged: float | None, **options: Any) -> Evaluation:
        """The evaluation of all runs."""
        if self.ids is not None:
            self._check_unique()
        with_grades = self.judged(unjudged)
        by_subtopic = len(with_grades.shape) > len(self.shape)
        judged = with_grades.any(-1) if by_subtopic else with_grades
        documents = JudgedCandidates.of(self, judged, with_grades if by_subtopic else None, missed, unjudged)
        self._check_argument_order(documents.judgments)
        evaluator = evaluator_of(documents.judgments, measures, options)
        check_identities(evaluator, ids=self.ids is not None)
        chosen = Chosen.of(self, documents, evaluator)
        return evaluator.aligned_evaluation([chosen.run(name, scores) for name, scores in self.runs.items()])

    def _check_argument_order(self, judgments: Judgments) -> None:
        """Raise if the grades look like scores, and the scores like grades."""
        if not looks_like_scores(judgments):
            return
        first = (self.ops.host(scores[:MAX_SCORES]).ravel()[:MAX_SCORES] for scores in self.runs.values())
        if all(are_grades(scores.tolist()) for scores in first):
            raise UsageError(
                "the grades look like scores, and the scores look like grades",
                hint="scores come first here: evaluate_tensors(scores, grades, measures)",
            )

    def _check_unique(self) -> None:
        """Raise if a query has a document twice."""
        assert self.ids is not None
        codes = np.broadcast_to(self.ids.codes, self.shape).ravel()
        at = np.arange(len(codes))
        if self.mask is not None:
            at = np.flatnonzero(self.ops.host(self.retrieved).ravel())
        query = self.ops.host(self.query_of(self.ops.to_device(at, self.grades))).astype(np.int64)
        pairs = np.sort(query * len(self.ids.names) + codes[at])
        twice = np.flatnonzero(pairs[1:] == pairs[:-1])
        if len(twice):
            q, code = divmod(int(pairs[twice[0]]), len(self.ids.names))
            fault = f"query `{quotable(self.names[q])}`: document `{quotable(self.ids.names[code])}` is twice among ids"
            raise InputError([fault])

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
        lowest = None
        if mask is not None:
            # Documents that are not retrieved get the lowest score of all; ties with it are counted off.
            scores, lowest = ops.lowest(scores)
            scores = ops.where(mask, scores, lowest)
        value = scores[row, column]
        higher, equal = count_scores(ops, scores, row, value)
        if mask is not None:
            outside = self.shape[1] - ops.count(mask)
            equal = equal - outside[row] * (value == lowest)
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
            hidden = ops.where(mask, of_all, int(max(self.shape[1], len(self.ids.names) if self.ids else 0)) + 1)
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
        running[1:] = self.ops.running_sum(weight)
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
        before = self.ops.running_sum(self.weight) - self.weight
        begin = self.ops.to_device(self.begin, self.grades)
        return before[at] - before[begin[self.query[at]]]


@dataclass(frozen=True, eq=False)
class JudgedCandidates:
    """The judgments of candidates.

    ``at``: the elements that are judged, ascending; ``document``: their rows in the judgments. ``number``: for each row
    of the tensors the number of its query: judged queries first, then the others. ``unanswered``: the number of judged
    queries that have no row.
    """

    judgments: Any
    at: Integers
    document: Integers
    number: Integers
    unanswered: int

    @classmethod
    def of(
        cls, candidates: Candidates, judged: Any, by_subtopic: Any, missed: Any, unjudged: float | None
    ) -> JudgedCandidates:
        ops, names = candidates.ops, candidates.names
        flat = judged.reshape(-1)
        on_device = ops.nonzero(flat)[0]
        at = ops.host(on_device)
        query = ops.host(candidates.query_of(on_device)).astype(np.int64)
        grades = candidates.grades.reshape(len(flat), -1)
        values = ops.host(ops.doubles(grades[on_device]))
        labels = None
        if by_subtopic is None:
            grade = values[:, 0]
        else:
            labels = ops.host(by_subtopic.reshape(len(flat), -1)[on_device])
            grade = np.where(labels, values, -np.inf).max(axis=1, initial=-np.inf)
        documents = candidates.document_names(at, candidates.column_of(at, query))
        extra = _missed(missed, names, unjudged, ops)
        if extra.query.size and labels is not None:
            raise UsageError("missed cannot be combined with grades by subtopic")
        rows, ids, of_rows = np.append(query, extra.query), documents, np.append(grade, extra.grade)
        every_name = names
        if len(extra.query):
            ids = Strings.of([*documents, *extra.documents])
            every_name = Strings.of([*names, *extra.queries])
        order = np.argsort(rows, kind="stable")
        with_judgments = np.unique(rows)
        number = np.full(len(every_name), -1)
        number[with_judgments] = np.arange(len(with_judgments))
        if not len(with_judgments):
            raise InputError(["grades: no candidate is judged"], hint="unjudged candidates have the grade NaN")
        judgments = judgments_of(
            "grades",
            every_name.take(with_judgments),
            number[rows[order]],
            ids if len(order) == len(query) and not extra.query.size else ids.take(order),
            of_rows[order],
        )
        if extra.query.size and candidates.ids is not None:
            _check_missed(judgments)
        row_of = np.empty(len(order), np.int64)
        row_of[order] = np.arange(len(order))
        if labels is not None:
            document, subtopic = np.nonzero(labels)
            subtopics = Strings.of(map(str, range(labels.shape[1])))
            judgments = _with_labels(judgments, document, subtopic, values[document, subtopic], subtopics)
        number = number[: len(names)]
        others = np.flatnonzero(number < 0)
        number[others] = len(with_judgments) + np.arange(len(others))
        return cls(judgments, at, row_of[: len(query)], number, int((with_judgments >= len(names)).sum()))


def _with_labels(judgments: Any, document: Integers, subtopic: Integers, grade: Floats, names: Strings) -> Any:
    from dataclasses import replace

    return replace(judgments, labels=Labels(document, subtopic, grade, names))


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
        query = candidates.ops.host(candidates.query_of(candidates.ops.to_device(at, candidates.grades)))
        if nil is not None:
            # NIL is now the last document of every query.
            document = document + documents.number[query]
        if candidates.ids is None:
            if nil is not None:
                raise UsageError("nil needs document ids", hint="give ids=")
            return cls(candidates, documents, evaluator, at, document)
        wanted = {nil} if nil is not None else set()
        if reader.collection_measures:
            wanted |= reader.judged_anywhere
        if reader.cost_aligner is not None:
            wanted |= set(reader.cost_aligner.judgments.documents)
        if wanted:
            names = candidates.ids.names
            is_wanted = np.array([name in wanted for name in names], bool)
            more = is_wanted[np.broadcast_to(candidates.ids.codes, candidates.shape).ravel()]
            more[at] = False
            new = np.flatnonzero(more)
            row = np.full(len(new), -1)
            if nil is not None:
                of = documents.number[candidates.ops.host(candidates.query_of(_device(candidates, new)))]
                codes = np.broadcast_to(candidates.ids.codes, candidates.shape).ravel()[new]
                is_nil = np.array([name == nil for name in names], bool)[codes]
                is_judged = of < len(evaluator.judgments.queries)
                last = evaluator.judgments.begin[1:] - 1
                row[is_nil & is_judged] = last[of[is_nil & is_judged]]
            order = np.argsort(np.append(at, new), kind="stable")
            at, document = np.append(at, new)[order], np.append(document, row)[order]
        return cls(candidates, documents, evaluator, at, document)

    def run(self, name: str, scores: Any) -> AlignedRun:
        """The positions of the chosen elements in one run."""
        candidates, ops = self.candidates, self.candidates.ops
        reader = self.evaluator.reader
        retrieved = candidates.retrieved
        at = _device(candidates, self.at)
        bad = ops.is_nan(scores)
        if retrieved is not None:
            scores = ops.without(scores, bad & ~retrieved)
            bad = bad & retrieved
        of_queries = ops.host(ops.stack([candidates.lengths(), candidates.bad_queries(bad)]))
        if of_queries[1].any():
            faulty = np.flatnonzero(of_queries[1])
            faults = [f"{name}: query `{quotable(candidates.names[int(q)])}` has a score that is NaN" for q in faulty]
            raise InputError(faults, hint="NaN cannot be ordered; exclude the candidate with mask=, or give it a score")
        present = None if retrieved is None else retrieved.reshape(-1)[at]
        shown = self.at if present is None else self.at[ops.host(present)]
        document = self.document if present is None else self.document[ops.host(present)]
        at = at if present is None else at[ops.nonzero(present)[0]]
        by_input = any(c.measure.views.rule.position == "by_input" for c in self.evaluator.columns)
        by_id = candidates.ids is not None and reader.by_id
        query = self.documents.number[ops.host(candidates.query_of(at))]
        counted: dict[Key, CountedDocuments] = {}
        for key in reader.keys:
            if key == "rank":
                start = ops.host(candidates.input_rank(at)).astype(np.int64)
                none = np.zeros_like(start)
                counted[key] = CountedDocuments(query, document, start, none + 1, shown, none, none)
                continue
            of_key = ops.singles(scores) if key == "score32" else scores
            counts = candidates.count(of_key, at, by_input=by_input, by_id=by_id)
            start, size, *positions = ops.host(ops.stack(counts)).astype(np.int64)
            inputs = positions.pop(0) if by_input else None
            ids = positions.pop(0) if by_id else None
            counted[key] = CountedDocuments(query, document, start, size, shown, ids, inputs)
        return counted_run(self.evaluator, name, self._lengths(of_queries[0]), counted, self._ids(shown))

    def _lengths(self, lengths: Integers) -> RunLengths:
        number, judged = self.documents.number, len(self.evaluator.judgments.queries)
        of_judged = np.full(judged, -1, np.int64)
        answered = number < judged
        of_judged[number[answered]] = lengths[answered]
        others = np.flatnonzero(~answered)
        return RunLengths(of_judged, self.candidates.names.take(others), lengths[others].astype(np.int64))

    def _ids(self, shown: Integers) -> Strings | None:
        reader = self.evaluator.reader
        if self.candidates.ids is None or not (reader.collection_measures or reader.cost_aligner is not None):
            return None
        return self.candidates.document_names(shown, shown)


def _device(candidates: Candidates, rows: Integers) -> Any:
    return candidates.ops.to_device(rows, candidates.grades)
