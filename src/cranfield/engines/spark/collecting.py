"""The corpus of a collection that is a Spark DataFrame: counted where the texts are, and as small as ever here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
from pyspark.sql import functions as sql
from pyspark.sql import types

from cranfield.corpus import Corpus, Settings
from cranfield.corpus.build import DEPTH, no_overlap_error, nothing_needed_error
from cranfield.corpus.corpus_file import Origin
from cranfield.corpus.counting import document_vectors, sort_by_bytes
from cranfield.data import Integers, Strings
from cranfield.engines.shards import Job
from cranfield.engines.spark import frames
from cranfield.engines.spark.evaluating import faulty
from cranfield.engines.texts import RECORD, Counting
from cranfield.engines.tops import Firsts
from cranfield.errors import InputError, optional
from cranfield.evaluation.columns import make_plan
from cranfield.evaluation.policy import Policy
from cranfield.io.documents import FieldChoice, Fields
from cranfield.io.faults import quotable
from cranfield.io.tables import strings_of

_RECORDS = frames.schema(RECORD)
_FIRSTS = "query binary, document binary, fault array<string>, faults bigint, hint string, kind string"


def corpus(
    texts: Any,
    *,
    qrels: Any = None,
    runs: Any = None,
    depth: int | None = DEPTH,
    settings: Settings | None = None,
    id: str | None = None,
    text: Sequence[str] | None = None,
    columns: Mapping[str, str] | None = None,
    qrels_columns: Mapping[str, str] | None = None,
    origins: Sequence[Origin] = (),
) -> Corpus:
    """The corpus of the texts in a Spark DataFrame: what ``cranfield corpus`` makes of files, to the last byte.

    ``texts`` has a row for each document; ``id`` and ``text`` are the columns that hold these, where their names do
    not tell. ``qrels`` and ``runs`` are DataFrames, and ``columns`` and ``qrels_columns`` their columns, as in
    `evaluate`: the words of judged documents are kept, and of those that may be among the first ``depth`` of a run.
    ``origins`` is where the texts came from, where somebody is to be told that it has changed.

    Texts are read once, and stay where they are. Here come the words of documents that are kept: what is in the file.
    """
    if qrels is None and runs is None:
        raise nothing_needed_error()
    settings = settings or Settings()
    fields = FieldChoice(id, tuple(text) if text else None).resolve(texts.columns, "texts")
    rows = _texts(texts, fields)
    with ExitStack() as held:

        def kept(frame: Any) -> Any:
            held.callback(frame.unpersist)
            return frame.persist()

        wanted: Any = None if qrels is None else _judged(qrels, qrels_columns)
        if runs is not None:
            retrieved = _retrieved(kept(_firsts(runs, columns, depth)), wanted)
            wanted = retrieved if wanted is None else wanted.unionByName(retrieved)
        wanted = kept(wanted.groupBy("document").agg(sql.max("judged").alias("judged")))
        named = wanted.select(sql.col("document").alias("id"), sql.lit(True).alias("kept"))
        # However many documents matter, it is their ids that go to the texts: texts go nowhere.
        marked = rows.join(sql.broadcast(named), "id", "left")
        marked = marked.select("id", sql.coalesce("kept", sql.lit(False)).alias("kept"), *rows.columns[1:])
        records = kept(marked.mapInArrow(Counting(settings, fields.id, fields.texts), _RECORDS))
        return Corpus(**_gathered(records, wanted), settings=settings, origins=tuple(origins))


def _texts(frame: Any, fields: Fields) -> Any:
    """Ids and texts of a frame, as bytes."""
    faults, cells = list[str](), list[Any]()
    for role, name in (("id", fields.id), *(("text", name) for name in fields.texts)):
        kind, column = frame.schema[name].dataType, sql.col(f"`{name}`")
        textual = isinstance(kind, types.StringType | types.VarcharType | types.CharType)
        if role == "text" and isinstance(kind, types.ArrayType) and isinstance(kind.elementType, types.StringType):
            column = sql.array_join(column, "\n")
        elif not textual and not (role == "id" and isinstance(kind, types.IntegralType)):
            faults.append(f"texts: column `{quotable(name)}` is {kind.simpleString()}; the {role} must be text")
        cells.append(column.cast("string").cast("binary").alias("id" if role == "id" else f"text{len(cells)}"))
    if faults:
        raise InputError(faults, hint="cast the column before")
    return frame.select(*cells)


def _judged(qrels: Any, columns: Mapping[str, str] | None) -> Any:
    """Judged documents, with their queries."""
    named = frames.qrels_columns(qrels, columns)
    ids = [sql.col(role).cast("binary").alias(role) for role in ("query", "document")]
    rows = frames.judgments(qrels, named).select(*ids, sql.lit(True).alias("judged"))
    first = rows.where("document is null").limit(InputError.SHOWN).collect()
    if first:
        where = f"a document's id must be text, found null in column `{quotable(named['document'])}`"
        raise InputError([f"qrels: query `{_shown(row['query'] or b'')}`: {where}" for row in first])
    if rows.isEmpty():
        raise InputError(["qrels: there is no judgment in it"])
    return rows


def _firsts(runs: Any, columns: Mapping[str, str] | None, depth: int | None) -> Any:
    """The first documents of rankings, with their queries."""
    plan = make_plan("P@1", Policy())  # nothing is measured: what orders documents are their scores
    named = frames.run_columns(runs, columns, plan)
    rows = frames.sharded(frames.rankings(runs, named), None, by_query=False)
    return rows.mapInArrow(Firsts(Job(plan, "qrels", 0, False, named), depth), _FIRSTS)


def _retrieved(firsts: Any, judged: Any) -> Any:
    """The first documents of judged queries; of all where there are no judgments."""
    total = firsts.agg(sql.count("*").alias("rows"), sql.sum("faults").alias("faults")).first()
    if total["faults"]:
        raise faulty(firsts, total["faults"])
    if not total["rows"]:
        raise InputError(["runs: there is no row in it"])
    if judged is not None:
        firsts = firsts.join(judged.select("query").distinct(), "query", "left_semi")
    return firsts.select("query", "document", sql.lit(False).alias("judged"))


def _gathered(records: Any, wanted: Any) -> dict[str, Any]:
    """All that a corpus holds but its settings, from what tasks counted."""
    facts = records.agg(
        *(sql.coalesce(sql.sum(name), sql.lit(0)).alias(name) for name in ("size", "empty", "count")),
        sql.count("fault").alias("faults"),
    ).first()
    if facts["faults"]:
        rows = records.where("fault is not null").select("fault").orderBy("fault").limit(InputError.SHOWN)
        raise InputError([row["fault"] for row in rows.collect()], total=facts["faults"])
    if not facts["size"]:
        raise InputError(["texts: there is no row in it"])
    every = records.where("term is not null").groupBy("term")
    terms = every.agg(sql.sum("count").alias("count"), sql.max("kept").alias("kept"))
    vocabulary = terms.where("kept").select("term", "count").toArrow().sort_by("term").combine_chunks()
    copies = records.where("document is not null").groupBy("document")
    documents = copies.agg(
        sql.count("*").alias("copies"),
        *(sql.min("digest").alias("digest"), sql.max("digest").alias("other")),
        *(sql.first(name).alias(name) for name in ("terms", "counts")),
    ).toArrow()
    _unlike(documents)
    names = _names(documents.column("document"))
    asked = wanted.toArrow()
    missing = _missing(asked, names)
    return {
        "terms": _strings(vocabulary.column("term")),
        "frequency": vocabulary.column("count").to_numpy(),
        "total": facts["count"],
        **document_vectors(names, *_rows(documents, vocabulary.column("term")), len(vocabulary)),
        "size": facts["size"],
        "empty": facts["empty"],
        "missing": Strings.of(missing),
        "repeated": sum(documents.column("copies").to_pylist()) - len(names),
    }


def _unlike(documents: Any) -> None:
    """An error where a document is there with different texts."""
    compute = optional("pyarrow.compute", "an engine", "arrow")
    twice = documents.filter(compute.not_equal(documents.column("digest"), documents.column("other")))
    if len(twice):
        rows = zip(_names(twice.column("document")), twice.column("copies").to_pylist(), strict=True)
        faults = [
            f"texts: document `{quotable(name)}` is there {many} times, with different texts" for name, many in rows
        ]
        raise InputError(sorted(faults), hint="an id is to stand for one document; keep one of its texts")


def _missing(wanted: Any, names: Sequence[str]) -> list[str]:
    """The documents that matter and are not there, in order; an error where nothing is."""
    asked, found = _names(wanted.column("document")), set(names)
    judged = sorted(name for name, said in zip(asked, wanted.column("judged").to_pylist(), strict=True) if said)
    if judged and found.isdisjoint(judged):
        raise no_overlap_error(len(judged), judged[0])
    if not found:
        raise no_overlap_error()
    return sort_by_bytes(set(asked) - found)


def _rows(documents: Any, terms: Any) -> tuple[Integers, Integers, Integers]:
    """Of every term of every document: whose it is, which it is, and how often it is there."""
    compute = optional("pyarrow.compute", "an engine", "arrow")
    places = terms.combine_chunks()
    owner = np.repeat(np.arange(len(documents)), compute.list_value_length(documents.column("terms")).to_numpy())
    # Chunk by chunk: all of them together may have more bytes than Arrow can count in 32 bits.
    term = [compute.index_in(some.flatten(), value_set=places).to_numpy() for some in documents.column("terms").chunks]
    count = [some.flatten().to_numpy() for some in documents.column("counts").chunks]
    return owner, np.concatenate(term).astype(np.int64), np.concatenate(count)


def _strings(column: Any) -> Strings:
    pyarrow = optional("pyarrow", "an engine", "arrow")
    return strings_of(column.cast(pyarrow.large_binary()).combine_chunks())


def _names(column: Any) -> list[str]:
    return list(_strings(column))


def _shown(name: bytes) -> str:
    return quotable(name.decode("utf-8", "replace"))
