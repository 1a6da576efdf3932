"""Whether a run belongs to its judgments: the queries and the documents that they have in common."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from cranfield.data import Judgments, Run, Strings, Table
from cranfield.errors import InputError
from cranfield.io.columns import codes_of, id_text, passage_ids
from cranfield.io.faults import quotable
from cranfield.io.runs import load, load_unchecked
from cranfield.ranking.alignment import Alignment
from cranfield.ranking.tie_rules import TieRule

if TYPE_CHECKING:
    from cranfield.io.side_tables import DocumentMap

IN_MEMORY = 3  # ids of each side needed to compare their shapes in memory: small examples have ids of all kinds
SHOWN = 3  # ids of each side that messages show
LOOKED_UP = 1000  # retrieved ids that are looked up in a collection of documents
HINT = (
    "ids of chunks change with the chunking: map them to documents (map_documents of the "
    "collection, in Python also a function that strips the number of the chunk), or judge passages instead of ids "
    "(spans); allow_disjoint of the collection scores the run as it is"
)
PASSAGE_HINT = (
    "chunks and judged passages must name documents in the same way: map those of chunks "
    "(map_documents of the collection); allow_disjoint scores the run as it is"
)


GIVE_IDS = "give the ids: cf.read_run(run, query_ids=[...]), or write {query: ranking}"


def check_query_overlap(run: Run, alignment: Alignment) -> None:
    """Raise if the run answers no judged query: it probably belongs to another collection."""
    judged, unjudged = alignment.aligner.judgments.queries, alignment.other
    if len(unjudged) and len(judged) and (alignment.length < 0).all():
        raise other_queries_error(run.source_name or run.name, unjudged[0], judged[0])


def other_queries_error(run: str, unjudged: str, judged: str) -> InputError:
    """The error for a run without a judged query, with an example of its queries and of those that are judged."""
    return InputError(
        [f"{run}: none of its queries is judged (for example `{unjudged}`)"],
        hint=f"the judgments cover queries such as `{judged}`; check that both belong to the same collection",
    )


def check_identity(judgments: Judgments, run: Run, give_ids: str = GIVE_IDS) -> None:
    """Raise unless the queries of both have ids, or both are lists of the same length, which are matched by position.

    A list against a dict would be a guess: positions count from 1, and keys of dicts usually from 0.
    """
    name = run.source_name or ("the run" if run.name == "run" else run.name)
    if judgments.by_position and not run.by_position:
        keyed = _query_id(run)
        raise InputError(
            [f"{name} has ids of queries{keyed} and the judgments are a list without ids"],
            hint="give both as dicts, {query: ...}, or both as lists in the same order",
        )
    if run.by_position and not judgments.by_position:
        given = "there are no judgments in the same order"
        if len(judgments.queries):
            given = f"the judgments have ids of queries, such as `{quotable(judgments.queries[0])}`,"
        raise InputError([f"{given} and {name} is a list without ids"], hint=give_ids)
    if judgments.by_position != run.by_position:
        lengths = f"{judgments.by_position} lists and {name} has {run.by_position}"
        raise InputError(
            [f"lists are matched by position, but the judgments have {lengths}"],
            hint="give one list for each query in both, or write {query: ...}",
        )


KEYED = ("queries", "intents", "types", "costs", "strata", "inclusion", "method")  # parts of a collection, by query


def check_parts(judgments: Judgments, given: Iterable[str]) -> None:
    """Raise if judgments are a list, and other parts of the collection have ids of queries."""
    if judgments.by_position and (keyed := [name for name in KEYED if name in given]):
        raise InputError(
            [f"{keyed[0]} has ids of queries, and the judgments are a list without ids"],
            hint="give the judgments as a dict, {query: ...}",
        )


def _query_id(run: Run) -> str:
    """An id of a run in memory, for messages."""
    queries = run.source.query if isinstance(run.source, Table) else run.source
    first = next(iter(queries), None) if isinstance(queries, Mapping | Strings) else None
    return "" if first is None else f", such as `{quotable(str(first))}`,"


RISING = "scores rise from first to last in every list; high scores come first"


def check_direction(run: Run, rules: Iterable[TieRule]) -> None:
    """Raise if scores rise from first to last in every list, unless the order of the lists is the ranking."""
    if run.rising and any(rule.key != "rank" for rule in rules):
        raise InputError(
            [f"{run.source_name or run.name}: {RISING}"],
            hint='if low scores are better: cf.read_run(run, scores="distance"); if not, and lists are sorted the '
            'other way: scores="similarity"; ties="rank" (--ties rank) takes the order of the lists',
        )


class Disjoint(NamedTuple):
    """The first ids of a run and of judgments that have no document in common.

    ``reason``: why these are other kinds of ids; "" if the run may just be bad.
    """

    retrieved: tuple[str, ...]
    judged: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        retrieved, judged = (", ".join(f"`{quotable(name)}`" for name in ids) for ids in (self.retrieved, self.judged))
        return f"none of the retrieved documents is judged for any query: retrieved {retrieved}; judged {judged}"

    def error(self, run: Run) -> InputError:
        """The error for ids of another kind."""
        of_passages = isinstance(run.source, Table) and run.source.passages is not None
        hint = PASSAGE_HINT if of_passages else HINT
        return InputError([f"{run.source_name or run.name}: {self}; {self.reason}"], hint=hint)


def find_disjoint(run: Run, alignment: Alignment, documents: Any = None) -> Disjoint | None:
    """The ids of a run and of its judgments if no retrieved document is judged for any query; else None.

    Of chunks and judged passages, these are the documents that they are of. ``documents``: the documents of the
    collection, if they are known.
    """
    judgments = alignment.aligner.judgments
    if alignment.retrieves_judged or not len(judgments.sources):
        return None
    retrieved, judged = dict.fromkeys(load(run).sources), dict.fromkeys(judgments.sources)
    if not retrieved or not retrieved.keys().isdisjoint(judged):
        return None
    reason = ""
    enough = 1 if run.source_name else IN_MEMORY
    if min(len(retrieved), len(judged)) >= enough and {*map(id_shape, retrieved)}.isdisjoint(map(id_shape, judged)):
        reason = "ids of the two have different forms"
    elif documents is not None and not _contains_any(documents, retrieved):
        reason = "the documents of the collection do not contain them"
    return Disjoint(tuple(islice(retrieved, SHOWN)), tuple(islice(judged, SHOWN)), reason)


def has_one_query(run: Run) -> bool:
    """Whether this is the ranking of one query in memory, which shows too little of the ids."""
    source = run.source
    if isinstance(source, Table):
        return not run.source_name and len(set(source.query)) < 2
    return isinstance(source, Mapping) and len(source) < 2


def id_shape(name: str) -> str:
    """The form of an id: letters and digits are kinds of characters, and everything else is itself.

    >>> id_shape("FT911-3"), id_shape("guide.md#chunk12")
    ('a0-0', 'a.a#a0')
    """
    return re.sub(r"\d+", "0", re.sub(r"[^\W\d_]+", "a", name))


def _contains_any(documents: Any, names: Iterable[str]) -> bool:
    """Whether a collection of documents has one of these; a long list of names is cut."""
    from cranfield.corpus import Corpus

    sample = set(islice(names, LOOKED_UP))
    corpus = Corpus.open(documents, wanted=sample)
    return not sample.isdisjoint(corpus.row_of) or bool(corpus.not_requested(sample))


def map_documents(run: Run, document_map: DocumentMap) -> Run:
    """The run with source documents in place of their chunks; the best chunk of a document counts.

    An id without an entry in the map stays as it is. Of a run of chunks with offsets, the documents that chunks are of
    get other names, and chunks stay chunks.
    """
    table = load(run)
    ids = table.sources
    new_ids = [document_map(name) for name in ids]
    kept = sum(source is None for source in new_ids)
    names = Strings.of([name if source is None else source for name, source in zip(ids, new_ids, strict=True)])
    remarks = run.remarks
    if kept:
        what = "retrieved ids" if table.passages is None else "documents of chunks"
        remarks += (f"{kept:,} of {len(new_ids):,} {what} are not in the map of documents; kept as they are",)
    if table.passages is None:
        table = replace(table, document=names)
    else:
        unique, code = codes_of(names)
        passages = table.passages._replace(names=unique, document=code[table.passages.document])
        table = replace(table, document=passage_ids(passages), passages=passages)
    mapped = replace(run, source=table, remarks=remarks)
    from cranfield.io.records import without_repeats

    mapped = without_repeats(mapped, "best", load_unchecked)
    return mapped if not isinstance(run.source, Mapping) else replace(mapped, source=_with_empty(mapped, run.source))


def _with_empty(run: Run, given: Mapping[Any, Any]) -> dict[str, dict[str, float]]:
    """The rankings of a run by query, with the empty ones that were given."""
    table = run.source
    assert isinstance(table, Table)
    rankings: dict[str, dict[str, float]] = {id_text(query) or str(query): {} for query in given}
    for query, document, score in zip(table.query, table.document, table.score.tolist(), strict=True):
        rankings[query][document] = score
    return rankings
