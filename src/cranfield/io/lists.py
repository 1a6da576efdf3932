"""Runs and judgments from lists and sets: ``{query: [document, ...]}``, pairs, and lists by position.

A ranking is a list of ids, best first; a list of pairs ``(id, score)``; ``{id: score}``; a list of records (see
`records`); or the response of a search engine. A run is ``{query: ranking}``, or a list of rankings for queries 1, 2,
3, ... Judgments are ``{query: {id, ...}}``, with a set, a list or ``{id: grade}``, or a list of these.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, KeysView, Mapping, Sequence, Set
from dataclasses import replace
from itertools import pairwise
from operator import itemgetter
from typing import Any, NoReturn

import numpy as np

from cranfield.data import Run, Table
from cranfield.errors import InputError, UsageError
from cranfield.io.faults import Fault, FaultList, Location, TableKind, fault_text, quotable
from cranfield.io.ids import Duplicates, codes_of, first_rows, id_text, is_id, texts_of
from cranfield.io.records import (
    Accessors,
    columns_of,
    frame_of_records,
    hits_of,
    is_record,
    is_response,
    rankings_of_records,
    read_records,
    response_remarks,
    unwrap,
    usual_field,
)
from cranfield.io.tables import Columns, is_column, list_of
from cranfield.io.values import is_scalar, number

Ranking = Mapping[str, float] | Sequence[str]

WHAT = {
    "run": "[document, ...], [(document, score), ...] or {document: score}",
    "qrels": "{document, ...}, [document, ...] or {document: grade}",
}


class ByPosition(dict[str, Any]):
    """``{"1": first, "2": second, ...}``, from a list."""


def shape_of(source: Any, location: Location) -> Mapping[Any, Any] | Columns:
    """An object as a mapping by query, or as a frame."""
    name = location.source_name or ("a run" if location.kind == "run" else "judgments")
    source = unwrap(source)
    if isinstance(source, Mapping):
        if hits_of(source) is not None:
            _wrong(f"{name}: found one response of a search engine", "write {query: response}, or [response]")
        return columns_of(source) or source
    if _is_series(source) and type(source.index).__name__ != "RangeIndex":  # by query
        pairs = pairs_of(source)
        if len(pairs) > len(rankings := dict(pairs)):
            repeated = next(query for query in rankings if [label for label, _ in pairs].count(query) > 1)
            _wrong(f"{name}: query {_show(repeated)} appears twice in the index of the series", "give each query once")
        return rankings
    if hasattr(source, "tocsr") and getattr(source, "ndim", 0) == 2:
        source = _rows_of_sparse(source.tocsr())
    if is_search_result(source):
        source = _rankings_of_arrays(source[0], source[1], name)
    if is_column(source):
        source = _without_padding(source)
    if isinstance(source, str | bytes) or not isinstance(source, Iterable):
        what = "a run" if location.kind == "run" else "judgments"
        raise UsageError(
            f"cannot read {what} from {type(source).__name__}",
            hint=f"give a path, an open binary file, {_NESTED[location.kind]} or a data frame",
        )
    if isinstance(source, ItemsView):
        _wrong(f"{name}: found the items of a dict", "give the dict itself")
    if isinstance(source, Set) and not isinstance(source, KeysView):
        _wrong(f"{name}: found a set, which has no order", "give a list of lists, or {query: [document, ...]}")
    items = source if isinstance(source, list | tuple) else list(source)
    if not items:
        _wrong(f"{name}: the list is empty", f"give a list with {WHAT[location.kind]} for each query")
    first = items[0]
    if is_object(first) and not is_response(first):
        nested = rankings_of_records(items)
        rows = nested if nested is not None else frame_of_records(items)
        if rows is not None:
            return rows
        if not isinstance(first, Mapping) or usual_field(first, "document") is not None:
            found = f"found a list of {type(first).__name__} without a query"
            _wrong(f"{name}: {found}", "give the results of each query as a list: {query: [...]} or [[...]]")
    return by_position(items, location.kind, name)


_NESTED = {
    "run": "{query: {document: score}}, {query: [document, ...]}",
    "qrels": "{query: {document: grade}}, {query: {document, ...}}",
}


def is_object(value: Any) -> bool:
    """Whether the value is a dict, a data class, a named tuple or another object with fields."""
    if is_id(value) or isinstance(value, Set | np.ndarray):
        return False
    if isinstance(value, Mapping) or is_record(value):
        return True
    return not isinstance(value, list | tuple) and (not isinstance(value, Iterable) or hasattr(value, "model_fields"))


def by_position(source: Sequence[Any], kind: TableKind, name: str) -> ByPosition:
    """A list by position as ``{"1": first, "2": second, ...}``; messages call it ``name``."""
    first: Any = source[0]
    if is_id(first):
        found = f"found a list of ids, such as {_show(first)}"
        _wrong(f"{name}: expected a list of lists, {found}", _one_list("[document, ...]"))
    if is_pair(first) and is_id(first[0]) and isinstance(first[1], float | np.floating):
        found = f"found a list of pairs, such as {_show(first)}"
        pair = "[(document, score), ...]" if kind == "run" else "[(document, grade), ...]"
        _wrong(f"{name}: expected a list of lists, {found}", _one_list(pair))
    of_query = isinstance(first, tuple) and len(first) == 2 and is_id(first[0])
    if of_query and isinstance(first[1], Iterable) and not isinstance(first[1], str | bytes):
        _wrong(f"{name}: found pairs of a query and a ranking, such as {_show(first)}", "write dict(...) around them")
    if _is_row(first):
        last = "score" if kind == "run" else "relevance"
        frame = f"a data frame with the columns query_id, doc_id and {last}"
        _wrong(
            f"{name}: found rows, such as {_show(first)}", f"write {_NESTED[kind].partition(', {query')[0]}, or {frame}"
        )
    return ByPosition((str(position), value) for position, value in enumerate(source, 1))


def _one_list(what: str) -> str:
    return f"for one query, write {{query: {what}}} or [{what}]"


def _is_row(value: Any) -> bool:
    """Whether this is ``(query, document, number)``. A list with a whole number at the end may be a ranking."""
    if not isinstance(value, tuple | list) or len(value) not in (3, 4) or not isinstance(value[0], str):
        return False
    return _is_number(value[-1]) and (isinstance(value, tuple) or isinstance(value[-1], float))


def rankings_of(
    source: Mapping[Any, Any],
    location: Location,
    duplicates: Duplicates = "error",
    accessors: Accessors | None = None,
    *,
    check_ids: bool = False,
) -> dict[str, Ranking]:
    """The rankings of a run by query. A list that begins with text stays as it is, unless its ids are to be checked."""
    accessors = accessors or Accessors()
    queries = texts_of(source, "", location)
    rankings = zip(queries, source.values(), strict=True)
    lazy = not check_ids and not accessors.given and duplicates == "error"
    return {
        query: value
        if lazy and type(value) in (list, tuple) and value and type(value[0]) is str
        else _ranking(value, query, location, duplicates, accessors)
        for query, value in rankings
    }


def listed_run(name: str, source: Mapping[Any, Any], rankings: Mapping[str, Ranking], source_name: str = "") -> Run:
    """The run of rankings that were given as lists, records or responses."""
    positions = len(source) if isinstance(source, ByPosition) else 0
    rising, remarks = scores_rise(source, rankings), response_remarks(source)
    return Run(name, rankings, source_name, by_position=positions, rising=rising, remarks=remarks)


def scores_rise(source: Mapping[Any, Any], rankings: Mapping[str, Ranking]) -> bool:
    """Whether scores rise from the first to the last document of every list, as distances do.

    Dicts and series of scores have no order of their own.
    """
    rising = False
    for value, ranking in zip(source.values(), rankings.values(), strict=True):
        if not len(ranking):
            continue
        if not isinstance(ranking, Mapping) or isinstance(value, Mapping) or is_scores(value):
            return False
        scores = list(ranking.values())
        if not _rise(scores):
            return False
        rising |= scores[0] != scores[-1]
    return rising


def _rise(scores: Sequence[Any]) -> bool:
    try:
        return bool(scores[0] <= scores[-1]) and all(a <= b for a, b in pairwise(scores))
    except TypeError:  # not numbers, which others report
        return False


def _ranking(value: Any, query: str, location: Location, duplicates: Duplicates, accessors: Accessors) -> Ranking:
    if type(value) is list:
        items: Sequence[Any] = value
    else:
        if is_scores(value):
            value = pairs_of(value)
        hits = hits_of(value, _at(query, location))
        if hits is None and isinstance(value, Mapping):
            return numbers_of(value, query, location)
        items = _items(value if hits is None else hits, query, location)
    if not items:
        return []
    if accessors.knows(items[0]):  # a type that was seen before: without a search for its fields
        return _ranking_of_records(items, query, location, duplicates, accessors)
    if not accessors.given and (is_id(items[0]) or items[0] is None or isinstance(items[0], bool | float | complex)):
        texts = texts_of(items, query, location)
        return texts if duplicates == "error" else list(dict.fromkeys(texts))
    if not accessors.given and is_pair(items[0]) and is_id(items[0][0]):
        ids, scores = _split(items, query, location)
        return _keep(texts_of(ids, query, location), scores, query, location, duplicates)
    return _ranking_of_records(items, query, location, duplicates, accessors)


def _ranking_of_records(
    items: Sequence[Any], query: str, location: Location, duplicates: Duplicates, accessors: Accessors
) -> Ranking:
    documents, found = read_records(items, query, location, accessors)
    texts = texts_of(documents, query, location)
    if found is None:
        return texts if duplicates == "error" else list(dict.fromkeys(texts))
    return _keep(texts, found, query, location, duplicates)


def numbers_of(value: Mapping[Any, Any], query: str, location: Location) -> dict[str, Any]:
    """``{document: number}`` with ids as text; the numbers are checked by others."""
    if set(map(type, value)) <= {str}:
        return value if type(value) is dict else dict(value)
    return dict(zip(texts_of(value, query, location), value.values(), strict=True))


def _items(value: Any, query: str, location: Location) -> Sequence[Any]:
    """The documents of one query in order."""
    if isinstance(value, list | tuple) and not is_record(value):
        return value
    where = _at(query, location)
    if isinstance(value, Set) and location.kind == "run" and not isinstance(value, KeysView):
        hint = "give a ranking as a list, best first; sets are for judgments, which come first"
        _wrong(f"{where}found a set, which has no order", hint)
    dimensions = getattr(value, "ndim", 1)
    if dimensions > 1:
        found = f"expected one ranking, found an array of {dimensions} dimensions"
        _wrong(f"{where}{found}", "give one array of ids, with a row for each query")
    if is_column(value):
        return _without_padding(value)
    if is_id(value) or value is None or is_object(value):
        nothing = "if nothing was retrieved" if location.kind == "run" else "if no document is relevant"
        advice = (
            f"write [{_show(value)}]" if is_id(value) else f"write [] {nothing}" if value is None else "give a list"
        )
        _wrong(f"{where}expected {WHAT[location.kind]}, found {_describe(value)}", advice)
    if getattr(value, "gi_frame", value) is None:
        _wrong(f"{where}the generator was already read to its end", "give a list, which can be read again")
    return list(value)


PADDING = -1  # of vector databases, in arrays of ids


def _without_padding(array: Any) -> list[Any]:
    """The values of an array, without the -1 that pads rows of ids."""
    values = list_of(array)
    if not _has_whole_numbers(array):
        return values
    rows = (row if not isinstance(row, list) else [value for value in row if value != PADDING] for row in values)
    return [row for row in rows if not isinstance(row, int) or row != PADDING]


def _has_whole_numbers(array: Any) -> bool:
    return "int" in str(getattr(array, "dtype", getattr(array, "type", "")))


def is_search_result(source: Any) -> bool:
    """Whether this is a pair of arrays, such as (scores, ids) of FAISS and of ``torch.topk``, with a row each query."""
    if not isinstance(source, tuple | list) or len(source) != 2:
        return False
    return all(hasattr(array, "dtype") and getattr(array, "ndim", 0) == 2 for array in source)


def _rankings_of_arrays(first: Any, second: Any, name: str) -> list[list[tuple[Any, Any]]]:
    """The rankings of two arrays of one shape: the scores, which are floats, and the ids, which are not."""
    scored = ["float" in str(array.dtype) for array in (first, second)]
    shapes = [tuple(int(n) for n in array.shape) for array in (first, second)]
    if scored[0] == scored[1] or shapes[0] != shapes[1]:
        kinds = " and ".join(f"{array.dtype} {shape}" for array, shape in zip((first, second), shapes, strict=True))
        _wrong(f"{name}: found a pair of arrays, {kinds}", "give an array of scores and one of ids, of the same shape")
    ids, scores = (second, first) if scored[0] else (first, second)
    rows = zip(list_of(ids), list_of(scores), strict=True)
    return [[pair for pair in zip(*row, strict=True) if pair[0] != PADDING] for row in rows]


def _rows_of_sparse(matrix: Any) -> list[dict[int, float]]:
    """The rows of a sparse matrix of SciPy, one for each query: the numbers of columns are ids of documents."""
    bounds, ids, values = matrix.indptr.tolist(), matrix.indices.tolist(), matrix.data.tolist()
    return [dict(zip(ids[a:b], values[a:b], strict=True)) for a, b in pairwise(bounds)]


def is_scores(value: Any) -> bool:
    """Whether this is a pandas series of scores, with the ids as its index.

    Whole numbers may be ids; they are scores if the index has names.
    """
    if not _is_series(value):
        return False
    return value.dtype.kind == "f" or (value.dtype.kind in "iub" and value.index.dtype.kind not in "iub")


def _is_series(value: Any) -> bool:
    return hasattr(value, "iloc") and getattr(value, "ndim", 0) == 1


def pairs_of(series: Any) -> list[tuple[Any, Any]]:
    """A pandas series as pairs of its index and its values; an index may have a label twice."""
    return list(zip(series.index.tolist(), series.tolist(), strict=True))


def is_pair(value: Any) -> bool:
    """Whether this is ``(document, number)``."""
    return isinstance(value, tuple | list) and len(value) == 2 and _is_number(value[1]) and not is_record(value)


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool) and is_scalar(value) and number(value) is not None


def _split(items: Sequence[Any], query: str, location: Location) -> tuple[list[Any], list[Any]]:
    """Pairs as ids and numbers."""
    usual = set(map(type, items)) <= {tuple, list} and set(map(len, items)) == {2}
    for position, item in enumerate(() if usual else items, 1):
        if not (isinstance(item, tuple | list) and len(item) == 2):
            second = "score" if location.kind == "run" else "grade"
            where = _at(query, location, position)
            _wrong(f"{where}expected (document, {second}), found {_describe(item)}", "give every document as a pair")
    return list(map(itemgetter(0), items)), list(map(itemgetter(1), items))


def _keep(
    texts: list[str], scores: Sequence[Any], query: str, location: Location, duplicates: Duplicates
) -> dict[str, float]:
    """Scores by document, each document once."""
    if location.kind == "run" and None in scores:
        position = next(position for position, score in enumerate(scores, 1) if score is None)
        message = f"{_at(query, location, position)}there is no score, but other documents have one"
        _wrong(message, "give every document a score, or none")
    ranking = dict(zip(texts, scores, strict=True))
    if len(ranking) == len(texts):
        return ranking
    if duplicates == "error":
        first: dict[str, int] = {}
        later = [fault_text(text) for i, text in enumerate(texts) if first.setdefault(text, i) != i]
        FaultList(Fault(0, "duplicate", fault_text(query), text, 0) for text in later).raise_if_any(location)
    for position, score in enumerate(scores, 1):
        if number(score) is None:
            message = f"{_at(query, location, position)}the score is not a number: {quotable(repr(score))}"
            _wrong(message, "give every document a score")
    kept: dict[str, float] = {}
    for text, score in zip(texts, scores, strict=True):
        # NaN stays, so that it is reported.
        if text not in kept or score != score or (duplicates == "best" and score > kept[text]):
            kept[text] = score
    return kept


def judged_of(source: Mapping[Any, Any], location: Location) -> tuple[dict[str, dict[str, Any]], int]:
    """``{query: {document: grade}}``, and how many judgments were repetitions. Sets and lists have grade 1."""
    judged: dict[str, dict[str, Any]] = {}
    repeated, accessors = 0, Accessors()
    for query, value in zip(texts_of(source, "", location), source.values(), strict=True):
        if type(value) in (set, list, frozenset) and set(map(type, value)) == {str}:  # the usual case
            judged[query] = dict.fromkeys(value if type(value) is list else sorted(value), 1)
            repeated += len(value) - len(judged[query])
            continue
        if is_scores(value):
            value = pairs_of(value)
        if isinstance(value, Mapping) and not is_response(value):
            judged[query] = numbers_of(value, query, location)
            continue
        if is_response(value):
            hint = f"responses are runs, which come second; judgments are {_NESTED['qrels'].replace('}}, ', '}} or ')}"
            _wrong(f"{_at(query, location)}found the response of a search engine", hint)
        items = _items(value, query, location)
        if not items:
            judged[query] = {}
        elif is_pair(items[0]) and is_id(items[0][0]):
            ids, grades = _split(items, query, location)
            judged[query] = _grades(texts_of(ids, query, location), grades, query, location)
        elif is_id(items[0]):
            texts = texts_of(items, query, location)
            judged[query] = dict.fromkeys(sorted(texts) if isinstance(value, Set) else texts, 1)
        else:
            documents, found = read_records(items, query, location, accessors)
            texts = texts_of(documents, query, location)
            judged[query] = _grades(texts, found or [1] * len(texts), query, location)
        repeated += len(items) - len(judged[query])
    return judged, repeated


def _grades(texts: list[str], grades: Sequence[Any], query: str, location: Location) -> dict[str, Any]:
    judged: dict[str, Any] = {}
    faults = []
    for text, grade in zip(texts, grades, strict=True):
        if judged.setdefault(text, grade) != grade:
            faults.append(Fault(0, "conflict", fault_text(query), fault_text(text), 0))
    FaultList(faults).raise_if_any(location)
    return judged


def without_repeats(run: Run, duplicates: Duplicates, load: Callable[[Run], Table]) -> Run:
    """A run in which every document appears once for each query."""
    source = run.source
    if isinstance(source, Mapping):
        rankings = source.items()
        kept = {q: r if isinstance(r, Mapping) else list(dict.fromkeys(r)) for q, r in rankings}
        return replace(run, source=kept)
    table = load(run)
    _, query_of = codes_of(table.query)
    first = first_rows(query_of, table.document)
    rows = np.flatnonzero(first == np.arange(len(first)))
    if len(rows) == len(first):
        return replace(run, source=table)
    # The first row of each document, or the first of those with its highest score. NaN stays, so that it is reported.
    position = np.arange(len(first))
    order = np.lexsort((position, -table.score if duplicates == "best" else position, ~np.isnan(table.score), first))
    rows = np.sort(order[np.flatnonzero(np.diff(first[order], prepend=-1))])
    return replace(run, source=table.take(rows))


def _at(query: str, location: Location, position: int = 0) -> str:
    """The beginning of a sentence about a query, or about a position in its list."""
    prefix = location.prefix(0, fault_text(query), "")
    return f"{prefix[:-2]}, position {position}: " if position else prefix


def _describe(value: Any) -> str:
    return "None" if value is None else f"{type(value).__name__} {_show(value)}"


def _show(value: Any) -> str:
    text = id_text(value)
    return quotable(repr(text if isinstance(value, str) else value))


def _wrong(message: str, hint: str = "") -> NoReturn:
    raise InputError([message], hint=hint)
