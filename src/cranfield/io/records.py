"""Runs and judgments from lists: of ids, pairs, records, and responses of search engines.

A ranking is a list of ids, best first; a list of pairs ``(id, score)``; ``{id: score}``; a list of records (see
`records`); or the response of a search engine. A run is ``{query: ranking}``, or a list of rankings for queries 1, 2,
3, ... Judgments are ``{query: {id, ...}}``, with a set, a list or ``{id: grade}``, or a list of these.

Records are dicts, data classes, named tuples and objects of search and RAG libraries; `records` makes a run of them.
The fields with the id and the score are given by name, by a path such as ``"metadata.source"``, or by a function;
without that, the usual names are tried.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, KeysView, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import attrgetter, itemgetter
from typing import Any, NoReturn

import numpy as np

from cranfield.data import Run, Table
from cranfield.errors import InputError, UsageError, reading_objects
from cranfield.io.columns import (
    COLUMN_NAMES,
    RANKINGS,
    Columns,
    Duplicates,
    check_duplicates,
    codes_of,
    first_rows,
    id_text,
    is_column,
    is_id,
    is_scalar,
    list_of,
    normalise_name,
    number,
    texts_of,
)
from cranfield.io.faults import Fault, FaultList, Location, TableKind, fault_text, quotable

Accessor = str | Callable[[Any], Any] | None

# The usual fields, the most reliable ones first. A dot leads to a field of a field.
FIELDS: dict[str, tuple[str, ...]] = {
    "document": (
        *("doc_id", "docno", "document_id", "corpus_id", "docid", "did", "pid", "passage_id", "chunk_id", "_id", "id"),
        *("segment_id", "item_id", "product_id", "snippet_id", "page_id", "node.node_id", "node_id", "id_", "uuid"),
        *("metadata.doc_id", "metadata.document_id", "metadata.id", "meta.doc_id", "meta.document_id", "meta.id"),
    ),
    "score": ("score", "_score", "sim", "similarity", "relevance_score"),
    "grade": ("relevance", "rel", "grade", "label", "rating"),
    "ranking": RANKINGS,
    # Of chunks: the document that a chunk is of, its offsets, and the text whose length gives the end if nothing else
    # does. LlamaIndex, LangChain and Haystack have names of their own, and others in the dicts that they write.
    "source": (
        *("document", "doc_id", "document_id", "docno", "docid", "corpus_id", "node.ref_doc_id", "ref_doc_id"),
        *("node.relationships.1.node_id", "relationships.1.node_id", "metadata.source", "kwargs.metadata.source"),
        *("metadata.doc_id", "metadata.document_id", "meta.source_id", "meta.parent_id", "meta.source", "source"),
        *("source_id", "parent_id"),
    ),
    "start": (
        *("start", "node.start_char_idx", "start_char_idx", "metadata.start_index", "kwargs.metadata.start_index"),
        *("meta.split_idx_start", "split_idx_start", "start_index", "metadata.start", "meta.start"),
    ),
    "end": ("end", "node.end_char_idx", "end_char_idx", "metadata.end_index", "end_index", "metadata.end", "meta.end"),
    "text": ("page_content", "kwargs.page_content", "content", "text"),
    "quote": ("quote", "passage", "text", "page_content", "content"),
}
# Where the responses of vector databases (Qdrant, Pinecone, Weaviate) have their results.
RESULTS = ("points", "matches", "objects")
# The hits of the search clients' own classes have the fields of the document beside `meta`.
CLIENT_FIELDS = {"document": ("meta.id",), "score": ("meta.score",), "grade": ()}
CLIENTS = ("elasticsearch", "elasticsearch_dsl", "opensearchpy")
MAX_FIELDS = 12  # the number of fields that a message lists
MAX_COLUMNS = 200  # a dict with more keys has a key for each query, not for each column
ID_LIKE = ("id", "source", "file", "path", "url", "uri", "doc", "key", "name")  # parts of names of fields with ids


@dataclass
class Accessors:
    """How to read the id and the score of a record, and the offsets of a chunk.

    A field that is found by its usual name is the same for all records of a type, and either all records of the run
    have scores or none: else the ranking of a query would depend on other queries, or on the order of records.
    """

    document: Accessor = None
    score: Accessor = None
    start: Accessor = None
    end: Accessor = None
    field_of: dict[tuple[type, str], str | None] = field(default_factory=dict)
    scored: tuple[bool, str] | None = None  # whether records have scores, and the first query that says it

    @property
    def given(self) -> bool:
        """Whether the caller named a field."""
        return self.document is not None or self.score is not None

    def knows(self, item: Any) -> bool:
        """Whether the field with the id is known for records of this type."""
        return (type(item), "document") in self.field_of

    def values(self, role: str, items: Sequence[Any], query: str) -> list[Any] | None:
        """The values of a role for all records; None if the usual names have none."""
        accessor: Accessor = getattr(self, "document" if role == "source" else role, None)
        if callable(accessor):
            return [_call(accessor, item, role, query) for item in items]
        if accessor is not None:
            return _field_values(items, accessor, query)
        kinds = set(map(type, items))
        paths = {kind: self._usual(role, [item for item in items if type(item) is kind], query) for kind in kinds}
        if len(set(paths.values())) > 1:
            return [_lookup(item, paths[type(item)] or "") for item in items]
        path = paths[type(items[0])]
        return None if path is None else _field_values(items, path, query)

    def _usual(self, role: str, items: Sequence[Any], query: str) -> str | None:
        """The usual field of records of one type; an error if it is another one than in records before."""
        key = (type(items[0]), role)
        path = self.field_of[key] if key in self.field_of else usual_field(items[0], role)
        self.field_of[key] = path
        paths = _usual_paths(items[0], role)
        names = _names(items)
        for other in paths[: paths.index(path)] if path is not None else paths:
            if names is not None and other.partition(".")[0] not in names:
                continue
            position = next((at for at, item in enumerate(items, 1) if _lookup(item, other) is not None), None)
            if position is not None:
                instead = f"another record has only `{path}`" if path else "another record has no such field"
                raise InputError(
                    [f"{_where(query, position)}the {role} could be field `{other}`, but {instead}"],
                    hint="give all records the same fields"
                    + ("" if role == "grade" else f', or name one: cf.records(results, {role}="{other}")'),
                )
        return path

    def check_scores(self, role: str, query: str, *, scored: bool) -> None:
        """Raise if these records have scores and those of a query before have none, or the other way round."""
        if self.scored is None:
            self.scored = (scored, query)
        elif self.scored[0] != scored:
            with_one, without = (query, self.scored[1]) if scored else (self.scored[1], query)
            raise InputError(
                [f"query `{quotable(without)}`: no record has a {role}, but those of query `{quotable(with_one)}` do"],
                hint=f"give every record a {role}, or none",
            )


@reading_objects()
def records(
    results: Any,
    *,
    document: Accessor = None,
    score: Accessor = None,
    start: Accessor = None,
    end: Accessor = None,
    duplicates: str = "error",
    name: str = "run",
) -> Run:
    """A run from the results of a search: lists of objects by query or by position.

    Parameters
    ----------
    results
        ``{query: [object, ...]}``, or a list of lists for queries 1, 2, 3, ... An object is anything with an id: a
        dict, a data class, a document of LangChain, LlamaIndex or Haystack, a pair ``(object, score)``. The response
        of Elasticsearch or OpenSearch stands for its hits.
    document, score
        The field with the id and the score: a name, a path such as ``"metadata.source"``, or a function of the object.
        By default the usual names are tried. Without scores, documents are ranked as listed.
    start, end
        The offsets of chunks, for judged passages (``spans`` of a `Collection`); ``document`` is then the document that
        a chunk is of. Without an end, the length of the text of the chunk gives it.
    duplicates
        What happens if a document is listed twice for a query, as chunks of one document are: ``"error"``, keep the
        ``"first"``, or keep the one with the ``"best"`` score.
    name
        The name of the run.

    Returns
    -------
    Run
        The run of these results.

    Examples
    --------
    >>> import cranfield as cf
    >>> chunks = [[{"text": "a lamp", "source": "d2"}, {"text": "a horn", "source": "d2"}, {"source": "d1"}]]
    >>> run = cf.records(chunks, document="source", duplicates="first")
    >>> cf.Evaluator([{"d1"}], "RR").means(run)
    {'RR': 0.5}
    """
    check_duplicates(duplicates)
    location = Location("", "run", "entry")
    shaped = shape_of([results] if hits_of(results) is not None else results, location)
    if not isinstance(shaped, Mapping):
        raise UsageError(
            "these records have a query each",
            hint="give them to evaluate or read_run; records takes the results query by query",
        )
    if start is not None or end is not None:
        from dataclasses import replace

        from cranfield.io.spans import read_chunks

        accessors = Accessors(document, score, start, end)
        run = read_chunks(shaped, name=name, duplicates=duplicates, accessors=accessors)  # type: ignore[arg-type]
        return replace(
            run, by_position=len(shaped) if isinstance(shaped, ByPosition) else 0, records=(shaped, accessors)
        )
    rankings = rankings_of(shaped, location, duplicates, Accessors(document, score))  # type: ignore[arg-type]
    return listed_run(name, shaped, rankings)


def _body(response: Any) -> Any:
    """The plain content of a response of Elasticsearch's client, or the value itself."""
    return response.body if type(response).__module__.startswith("elastic_transport") else response


def unwrap(response: Any) -> Any:
    """The plain content of a response of a client, or the value itself; ``_msearch`` becomes a list of responses."""
    response = _body(response)
    if type(response).__module__.startswith("ranx."):
        return response.to_dict()
    if isinstance(response, Mapping) and isinstance(response.get("responses"), list):
        return response["responses"]
    if isinstance(response, Mapping) and response.keys() >= {"ids", "distances", "metadatas"}:  # of Chroma
        return response["ids"]
    return response


def is_response(value: Any) -> bool:
    """Whether the value is the response of a search engine or a vector database, perhaps an error."""
    return _error_of(value) is not None or hits_of(value) is not None


def hits_of(response: Any, where: str = "") -> list[Any] | None:
    """The hits of a response of a search engine or a vector database; None for everything else.

    ``where``: the beginning of the sentence that says that the search failed.
    """
    response = _body(response)
    if not isinstance(response, Mapping):
        return _results_of(response)
    hits = response.get("hits")
    if isinstance(hits, Mapping) and isinstance(hits.get("hits"), list):
        return hits["hits"]
    error = _error_of(response)
    if error is not None:
        message = f"{where}the search engine answered with an error: {quotable(error)}"
        raise InputError([message], hint="repeat the search, or write [] for this query")
    return _results_of(response)


def response_remarks(source: Mapping[Any, Any]) -> tuple[str, ...]:
    """A remark if responses of a search engine, by query, say that they are incomplete."""
    partial = [str(query) for query, response in source.items() if _is_partial(response)]
    if not partial:
        return ()
    what = f"{len(partial)} of {len(source)} responses are incomplete: a search timed out or failed in part"
    return (f"{what} (first query: `{quotable(partial[0])}`)",)


def _is_partial(response: Any) -> bool:
    """Whether a response of Elasticsearch or OpenSearch lacks hits that a complete search would have."""
    response = _body(response)
    if not isinstance(response, Mapping) or not isinstance(response.get("hits"), Mapping):
        return False
    shards, clusters = response.get("_shards") or {}, response.get("_clusters") or {}
    flags = map(response.get, ("timed_out", "terminated_early", "is_partial"))
    counts = (shards.get("failed"), clusters.get("skipped"), clusters.get("partial"), clusters.get("failed"))
    return any(flag is True for flag in flags) or any(isinstance(count, int) and count > 0 for count in counts)


def _error_of(response: Any) -> str | None:
    """The error that a search engine answered with; None for everything else."""
    if not isinstance(response, Mapping) or "status" not in response or not isinstance(response.get("error"), Mapping):
        return None
    return str(response["error"].get("reason", response["error"]))


def _results_of(response: Any) -> list[Any] | None:
    """The results of a response of a vector database; None for everything else."""
    if isinstance(response, Mapping):
        results = response.get("matches")
        if not isinstance(results, list):
            return None
        of_documents = (
            bool(results) and isinstance(results[0], Mapping) and usual_field(results[0], "document") is not None
        )
        return results if of_documents or "namespace" in response else None
    if not hasattr(response, "__dict__") or isinstance(response, type) or is_record(response):
        return None
    results = next((listed for name in RESULTS if isinstance(listed := getattr(response, name, None), list)), None)
    return results if results is not None and usual_field(response, "document") is None else None


def is_record(value: Any) -> bool:
    """Whether a tuple is a named one."""
    return hasattr(value, "_fields")


def read_records(
    items: Sequence[Any], query: str, location: Location, accessors: Accessors
) -> tuple[list[Any], list[Any] | None]:
    """The ids of records, and their scores or grades if they have any."""
    scores: list[Any] | None = None
    if isinstance(items[0], list) and items[0] and is_id(items[0][0]):
        message = f"{_where(query, 1)}expected a document, found the list {quotable(repr(items[0]))}"
        raise InputError([message], hint="write one list for each query: [[document, ...], ...]")
    if _is_two(items[0]):
        if (position := next((at for at, item in enumerate(items, 1) if not _is_two(item)), None)) is not None:
            message = f"{_where(query, position)}expected a pair as before, found {type(items[position - 1]).__name__}"
            raise InputError([message], hint="give every document as a pair (document, score), or none")
        scores = [item[1] for item in items]
        items = [item[0] for item in items]
    documents = accessors.values("document", items, query)
    if documents is None:
        where = f"query `{quotable(query)}`: " if query else ""
        message = f"{where}no usual field for the document id in {_described(items[0])}"
        last_parts = {name: name.rpartition(".")[2].lower() for name in reversed(_field_names(items[0]))}
        example = next((name for name, last in last_parts.items() if any(part in last for part in ID_LIKE)), None)
        hint = f'name the field: cf.records(results, document="{example}")'
        if example is None:
            hint = "give the field with the id, or a function of the object: cf.records(results, document=...)"
        raise InputError([message], hint=hint)
    if (position := next((at for at, name in enumerate(documents, 1) if name in ("", b"")), None)) is not None:
        raise InputError([f"{_where(query, position)}the id of the document is empty"])
    role = "score" if location.kind == "run" else "grade"
    if scores is None or accessors.score is not None:
        own = accessors.values(role, items, query)
        scores = scores if own is None or all(value is None for value in own) else own
    accessors.check_scores(role, query, scored=scores is not None)
    if scores is None and location.kind == "run":
        _check_ranks(items, query)
    return documents, scores


def _check_ranks(items: Sequence[Any], query: str) -> None:
    """Raise if records have ranks that are not in the order of the list, which is the ranking."""
    ranks = [_lookup(item, "rank") for item in items]
    if set(map(type, ranks)) <= {int, float} and ranks != sorted(ranks):
        where = f"query `{quotable(query)}`: " if query else ""
        raise InputError(
            [f"{where}the ranks of the records are not in the order of the list"],
            hint="sort the records by rank, or give them scores",
        )


def read_chunk_records(
    items: Sequence[Any], query: str, kind: str, accessors: Accessors, *, quotes: bool = False
) -> list[tuple[Any, ...]]:
    """Chunks or judged passages as (document, start, end), and their scores or grades if they have any.

    ``quotes``: without a start, they may be (document, quote).
    """
    columns: dict[str, list[Any]] = {}
    value = "score" if kind == "run" else "grade"
    if isinstance(items[0], tuple | list) and not is_record(items[0]):
        items, columns[value] = ([item[i] for item in items] for i in range(2))
    for role in ("source", "start", "end", "text", value):
        values = (
            None if role in columns or (role == "text" and "end" in columns) else accessors.values(role, items, query)
        )
        if values is not None and any(part is not None for part in values):
            columns[role] = values
    if "text" in columns and "end" not in columns and "start" in columns:
        pairs = zip(columns["start"], columns["text"], strict=True)
        columns["end"] = [
            start + len(text) if isinstance(start, int) and isinstance(text, str) else None for start, text in pairs
        ]
    if quotes and "source" in columns and "start" not in columns:
        values = accessors.values("quote", items, query)
        if values is not None:
            roles = {"source": columns["source"], "quote": values, value: columns.get(value)}
            return list(zip(*filter(None, roles.values()), strict=True))
    where = f"query `{quotable(query)}`: " if query else ""
    for role, name in (("source", "document"), ("start", "start"), ("end", "end")):
        if role not in columns:
            raise InputError(
                [f"{where}no usual field for the {name} of a chunk in {_described(items[0])}"],
                hint="give the texts of documents, in which chunks are then searched (documents of the collection); "
                'or name the fields: cf.records(results, document="metadata.source", start="metadata.start", ...)',
            )
    return list(zip(*(columns[role] for role in ("source", "start", "end", value) if role in columns), strict=True))


def _is_two(item: Any) -> bool:
    """Whether this is a pair, which is no named tuple."""
    return isinstance(item, tuple | list) and len(item) == 2 and not is_record(item)


def _where(query: str, position: int) -> str:
    return f"query `{quotable(query)}`, position {position}: " if query else f"position {position}: "


def usual_field(item: Any, role: str) -> str | None:
    """The first usual field of a record that has a value."""
    return next((path for path in _usual_paths(item, role) if _lookup(item, path) is not None), None)


def _usual_paths(item: Any, role: str) -> tuple[str, ...]:
    client = type(item).__module__.partition(".")[0] in CLIENTS
    return CLIENT_FIELDS.get(role, FIELDS[role]) if client else FIELDS[role]


def _names(items: Sequence[Any]) -> set[str] | None:
    """The names of fields that any of these records of one type can have; None if nothing lists them."""
    kind = type(items[0])
    if kind is dict:
        return set().union(*items)
    if hasattr(kind, "__getattr__") or isinstance(items[0], Mapping):
        return None
    return set(dir(kind)).union(*(map(vars, items) if hasattr(items[0], "__dict__") else ()))


def _lookup(item: Any, path: str) -> Any:
    """The value at a path, or None if the path leads nowhere."""
    for step in path.split("."):
        item = item.get(step) if isinstance(item, Mapping) else getattr(item, step, None)
        if item is None or (callable(item) and not hasattr(item, "__dict__")):
            return None
    return None if callable(item) else item


def _field_values(items: Sequence[Any], path: str, query: str) -> list[Any]:
    """The values at a path for all records. Steps run over the whole list, which is fast."""
    values: Sequence[Any] = items
    for step in path.split("."):
        get: Callable[[Any], Any] = attrgetter(step)
        if isinstance(values[0], Mapping) or (hasattr(values[0], "__getitem__") and not is_record(values[0])):
            get = itemgetter(step)
        try:
            values = list(map(get, values))
        except (AttributeError, KeyError, TypeError, IndexError):
            values = [_single(value, step, path, position, query) for position, value in enumerate(values, 1)]
    return list(values)


def _single(value: Any, step: str, path: str, position: int, query: str) -> Any:
    """One value; an error that names the record."""
    try:
        return value[step] if isinstance(value, Mapping) else getattr(value, step)
    except (AttributeError, KeyError, TypeError, IndexError):
        if hasattr(value, "__getitem__") and not isinstance(value, str | bytes | Mapping):
            try:
                return value[step]
            except (KeyError, TypeError, IndexError):
                pass
    raise InputError(
        [f"{_where(query, position)}no field `{quotable(path)}` in {_described(value)}"],
        hint="name a field that every record has, or give a function of the record",
    )


def _call(accessor: Callable[[Any], Any], item: Any, role: str, query: str) -> Any:
    try:
        return accessor(item)
    except (AttributeError, KeyError, TypeError, IndexError, ValueError) as error:
        problem = quotable(f"{type(error).__name__}: {error}")
        message = f"query `{quotable(query)}`: {role}= failed for {_described(item, f' ({problem})')}"
        raise InputError(
            [message], hint=f"give a function that works for every record, or a field: {role}=..."
        ) from error


def _described(item: Any, problem: str = "") -> str:
    """The type of a record, what is wrong with it, and its fields."""
    names = _field_names(item)
    has = f"it has {', '.join(names[:MAX_FIELDS])}" if names else "it has no fields"
    return f"{type(item).__name__}{problem}; {has}"


def _field_names(item: Any) -> list[str]:
    """The fields of a record, and the keys of those that are dicts."""
    names = []
    for name, value in _fields(item).items():
        names.append(str(name))
        if isinstance(value, Mapping):
            names += [f"{name}.{key}" for key in value]
    return names


def _fields(item: Any) -> Mapping[Any, Any]:
    if isinstance(item, Mapping):
        return item
    if hasattr(item, "_asdict"):
        return dict(item._asdict())
    if hasattr(item, "__dict__"):
        return {name: value for name, value in vars(item).items() if not name.startswith("_")}
    slots = [name for kind in type(item).__mro__ for name in getattr(kind, "__slots__", ())]
    return {name: getattr(item, name, None) for name in slots if not name.startswith("_")}


def frame_of_records(items: Sequence[Any]) -> Columns | None:
    """Rows that have a query and a document each, as columns; None if the first record is something else."""
    if not {"query", "document"} <= _roles(_fields(items[0])).keys():
        return None
    names = dict.fromkeys(_roles(_all_fields(items)).values())
    return Columns.of({name: _field_values(items, name, "") for name in names})


def _all_fields(items: Sequence[Any]) -> dict[Any, Any]:
    """The fields that any of the records has."""
    fields: dict[Any, Any] = {}
    for item in items:
        of_item = _fields(item)
        if not of_item.keys() <= fields.keys():
            fields = {**of_item, **fields}
    return fields


def columns_of(source: Mapping[Any, Any]) -> Columns | None:
    """``{"query_id": [...], "doc_id": [...], ...}`` as columns; None for everything else."""
    if len(source) > MAX_COLUMNS:
        return None
    roles = _roles(source)
    if not {"query", "document"} <= roles.keys():
        return None
    lists = [isinstance(source[name], list | tuple) for name in roles.values()]
    if not all(lists) or len({len(source[name]) for name in roles.values()}) > 1:
        return None
    return Columns.of({name: list(source[name]) for name in roles.values()})


def rankings_of_records(items: Sequence[Any]) -> dict[Any, Any] | None:
    """Records with a query and its results each, as ``{query: results}``; None if the first record is something else.

    sentence-transformers writes its predictions so.
    """
    if _roles(_fields(items[0])).get("query") is None:
        return None
    fields = _all_fields(items)
    ranking = next((name for name in FIELDS["ranking"] if isinstance(fields.get(name), list | tuple)), None)
    query = _roles(fields).get("query")
    if ranking is None or query is None:
        return None
    queries, rankings = _field_values(items, query, ""), _field_values(items, ranking, "")
    texts = list(map(str, queries))
    if len(set(texts)) < len(texts):
        repeated = next(text for text in texts if texts.count(text) > 1)
        raise InputError([f"query `{quotable(repeated)}` has two records"], hint="give the results of a query once")
    return dict(zip(queries, rankings, strict=True))


def _roles(fields: Mapping[Any, Any]) -> dict[str, str]:
    """The fields that have the usual name of a column, by role."""
    normalised = {normalise_name(name): name for name in reversed(list(fields)) if isinstance(name, str)}
    roles = ("query", "document", "score", "rank", "grade", "iteration")
    names = {role: [normalised[name] for name in COLUMN_NAMES[role] if name in normalised] for role in roles}
    return {role: columns[0] for role, columns in names.items() if columns}


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
        source = list_of(source)
    if isinstance(source, str | bytes) or not isinstance(source, Iterable) or getattr(source, "ndim", 1) == 0:
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
            problem = f"found a list of {type(first).__name__} without a query"
            _wrong(f"{name}: {problem}", "give the results of each query as a list: {query: [...]} or [[...]]")
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
        problem = f"found a list of ids, such as {_show(first)}"
        _wrong(f"{name}: expected a list of lists, {problem}", _one_list("[document, ...]"))
    if is_pair(first) and is_id(first[0]) and isinstance(first[1], float | np.floating):
        problem = f"found a list of pairs, such as {_show(first)}"
        pair = "[(document, score), ...]" if kind == "run" else "[(document, grade), ...]"
        _wrong(f"{name}: expected a list of lists, {problem}", _one_list(pair))
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
    except (TypeError, ArithmeticError):  # not numbers, or `Decimal("NaN")`, which others report
        return False


def _ranking(value: Any, query: str, location: Location, duplicates: Duplicates, accessors: Accessors) -> Ranking:
    texts, scores = _entries(value, query, location, accessors)
    if isinstance(texts, dict):
        return texts
    if scores is None:
        return texts if duplicates == "error" else list(dict.fromkeys(texts))
    return _keep(texts, scores, query, location, duplicates)


def _entries(
    value: Any, query: str, location: Location, accessors: Accessors
) -> tuple[dict[str, Any] | list[str], Sequence[Any] | None]:
    """What is ranked or judged for a query, as text, with scores or grades if there are any; a dict has them inside."""
    if is_scores(value):
        value = pairs_of(value)
    if type(value) is list:
        items: Sequence[Any] = value
    else:
        if location.kind == "qrels" and is_response(value):
            hint = f"responses are runs, which come second; judgments are {_NESTED['qrels'].replace('}}, ', '}} or ')}"
            _wrong(f"{_at(query, location)}found the response of a search engine", hint)
        hits = hits_of(value, _at(query, location))
        if hits is None and isinstance(value, Mapping):
            return numbers_of(value, query, location), None
        items = _items(value if hits is None else hits, query, location)
    if not items:
        return [], None
    first, by_field = items[0], accessors.given or accessors.knows(items[0])  # a type that was seen before
    if not by_field and (is_id(first) or first is None or isinstance(first, bool | float | complex)):
        items, _ = _without_padding(items, None)
        return texts_of(items, query, location), None
    is_scored = not by_field and is_pair(first) and is_id(first[0])
    entries = _split(items, query, location) if is_scored else read_records(items, query, location, accessors)
    ids, numbers = _without_padding(*entries)
    return texts_of(ids, query, location), numbers


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
        problem = f"expected one ranking, found an array of {dimensions} dimensions"
        _wrong(f"{where}{problem}", "give one array of ids, with a row for each query")
    if is_column(value):
        return list_of(value)
    if is_id(value) or value is None or is_object(value):
        nothing = "if nothing was retrieved" if location.kind == "run" else "if no document is relevant"
        advice = (
            f"write [{_show(value)}]" if is_id(value) else f"write [] {nothing}" if value is None else "give a list"
        )
        _wrong(f"{where}expected {WHAT[location.kind]}, found {_describe(value)}", advice)
    if getattr(value, "gi_frame", value) is None:
        _wrong(f"{where}the generator was already read to its end", "give a list, which can be read again")
    return list(value)


PADDING = -1  # of vector databases, at the end of a row of ids


def _without_padding(ids: Sequence[Any], numbers: Sequence[Any] | None) -> tuple[Sequence[Any], Sequence[Any] | None]:
    """The ids of a ranking, and their scores if they have any, without the number -1 that pads arrays of ids."""
    if not any(isinstance(ids[end], int | np.integer) for end in (0, -1)) or PADDING not in ids:
        return ids, numbers
    kept = [at for at, name in enumerate(ids) if name != PADDING]
    return [ids[at] for at in kept], None if numbers is None else [numbers[at] for at in kept]


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
    return [list(zip(*row, strict=True)) for row in rows]


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
    """Whether this is ``(document, number)``, or has in its place a value that is neither a number nor text."""
    if not _is_two(value):
        return False
    return _is_number(value[1]) or (isinstance(value, tuple) and is_scalar(value[1]) and not is_id(value[1]))


def _is_number(value: Any) -> bool:
    if isinstance(value, bool | int):
        return not isinstance(value, bool)
    return is_scalar(value) and number(value) is not None


def _split(items: Sequence[Any], query: str, location: Location) -> tuple[list[Any], list[Any]]:
    """Pairs as ids and numbers, which others check."""
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
    if location.kind == "run" and type(None) in set(map(type, scores)):
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
    for query, value in zip(texts_of(source, "", location, encodable=True), source.values(), strict=True):
        texts: dict[str, Any] | list[str]
        usual = type(value) in (set, list, frozenset) and set(map(type, value)) == {str}
        texts, grades = (list(value), None) if usual else _entries(value, query, location, accessors)
        if isinstance(texts, dict):
            judged[query] = texts
            continue
        texts = sorted(texts) if isinstance(value, Set) else texts
        judged[query] = _grades(texts, grades or [1] * len(texts), query, location)
        repeated += len(texts) - len(judged[query])
    return judged, repeated


def _grades(texts: list[str], grades: Sequence[Any], query: str, location: Location) -> dict[str, Any]:
    judged: dict[str, Any] = {}
    faults = []
    for text, grade in zip(texts, grades, strict=True):
        first = judged.setdefault(text, grade)
        if first is not grade and first != grade:
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
