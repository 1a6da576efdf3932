"""The corpus of a collection in a Spark DataFrame: tasks count words, the driver gets the kept documents.

A row of a task has an id, whether the words of the document are kept (``kept``), and its texts. A record is one of: a
term and its frequency in the texts of a task; a kept document with its terms; the number of texts; a fault. Spark adds
up frequencies and numbers of texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
import pyarrow
from pyarrow import compute
from pyspark.sql import functions as sql
from pyspark.sql import types

from cranfield.corpus import Corpus, Settings
from cranfield.corpus.corpus import DEPTH, no_overlap_error, nothing_needed_error
from cranfield.corpus.corpus_file import Origin
from cranfield.corpus.counting import ONE_TEXT_HINT, KeptDocuments, WordCounter, document_vectors, sort_by_bytes
from cranfield.data import Integers, Strings
from cranfield.errors import InputError
from cranfield.evaluation.plan import Policy, make_plan
from cranfield.io.columns import strings_of
from cranfield.io.documents import Documents, FieldChoice, Fields, join_text_columns
from cranfield.io.faults import quotable
from cranfield.spark import frames, shards
from cranfield.spark.scores import collect_faults
from cranfield.spark.shards import Job, binary, record_batch

# A task returns its counts after this many bytes of text, or terms of kept documents, so that its memory is limited.
MAX_BYTES, MAX_KEPT_TERMS = 1 << 28, 1 << 22

RECORD = {
    "term": "binary",
    "count": "bigint",
    "kept": "boolean",  # whether a kept document has the term
    "document": "binary",
    "digest": "binary",  # of its text
    "terms": "array<binary>",
    "counts": "array<bigint>",
    "size": "bigint",  # texts
    "empty": "bigint",  # texts without words
    "fault": "string",
}


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
    """The corpus of the texts in a Spark DataFrame: the same as ``cranfield corpus`` builds from files.

    Texts are read once and are not moved. Only the words of kept documents come to the driver.

    Parameters
    ----------
    texts
        A DataFrame with one row per document.
    qrels, runs, columns, qrels_columns
        As in `evaluate`: the words of judged documents are kept, and of those near the top of a run.
    depth
        How far down a run a document may be whose words are kept.
    settings
        What a word is, and which words are the same term.
    id, text
        The columns with the id and the text, if they do not have a usual name.
    origins
        The sources of the texts, so that later changes can be noticed.

    Returns
    -------
    Corpus
        The words of the kept documents, and their frequencies in all texts.

    Examples
    --------
    >>> corpus = cf.spark.corpus(spark.read.parquet("docs"), qrels=qrels, runs=runs)  # doctest: +SKIP
    >>> corpus.save("corpus.parquet")  # doctest: +SKIP
    """
    if qrels is None and runs is None:
        raise nothing_needed_error()
    settings = settings or Settings()
    fields = FieldChoice(id, tuple(text) if text else None).resolve(texts.columns, "texts")
    rows = _texts(texts, fields)
    with ExitStack() as persisted:

        def persist(frame: Any) -> Any:
            persisted.callback(frame.unpersist)
            return frame.persist()

        wanted: Any = None if qrels is None else _judged(qrels, qrels_columns)
        if runs is not None:
            retrieved = _retrieved(persist(_top_documents(runs, columns, depth)), wanted)
            wanted = retrieved if wanted is None else wanted.unionByName(retrieved)
        wanted = persist(wanted.groupBy("document").agg(sql.max("judged").alias("judged")))
        kept_ids = wanted.select(sql.col("document").alias("id"), sql.lit(True).alias("kept"))
        # The ids are broadcast to the texts, however many they are; texts are not moved.
        marked = rows.join(sql.broadcast(kept_ids), "id", "left")
        marked = marked.select("id", sql.coalesce("kept", sql.lit(False)).alias("kept"), *rows.columns[1:])
        records = persist(marked.mapInArrow(partial(count_words, settings, fields), shards.schema(RECORD)))
        return Corpus(**_corpus_columns(records, wanted), settings=settings, origins=tuple(origins))


def _texts(frame: Any, fields: Fields) -> Any:
    """Ids and texts of a frame, as bytes."""
    faults, cells = list[str](), list[Any]()
    for role, name in (("id", fields.id), *(("text", name) for name in fields.texts)):
        column_type, column = frame.schema[name].dataType, sql.col(f"`{name}`")
        is_text = isinstance(column_type, types.StringType | types.VarcharType | types.CharType)
        if (
            role == "text"
            and isinstance(column_type, types.ArrayType)
            and isinstance(column_type.elementType, types.StringType)
        ):
            column = sql.array_join(column, "\n")
        elif not is_text and not (role == "id" and isinstance(column_type, types.IntegralType)):
            faults.append(f"texts: column `{quotable(name)}` is {column_type.simpleString()}; the {role} must be text")
        cells.append(column.cast("string").cast("binary").alias("id" if role == "id" else f"text{len(cells)}"))
    if faults:
        raise InputError(faults, hint="cast the column first")
    return frame.select(*cells)


def _judged(qrels: Any, columns: Mapping[str, str] | None) -> Any:
    """Judged documents, with their queries."""
    chosen = frames.qrels_columns(qrels, columns)
    ids = [sql.col(role).cast("binary").alias(role) for role in ("query", "document")]
    rows = frames.judgments(qrels, chosen).select(*ids, sql.lit(True).alias("judged"))
    first = rows.where("document is null").limit(InputError.SHOWN).collect()
    if first:
        problem = f"a document's id must be text, found null in column `{quotable(chosen['document'])}`"
        raise InputError([f"qrels: query `{_quotable(row['query'] or b'')}`: {problem}" for row in first])
    if rows.isEmpty():
        raise InputError(["qrels: the frame has no judgments"])
    return rows


def _top_documents(runs: Any, columns: Mapping[str, str] | None, depth: int | None) -> Any:
    """The top documents of rankings, with their queries."""
    plan = make_plan("P@1", Policy())  # only to order documents by score; nothing is measured
    chosen = frames.run_columns(runs, columns, plan)
    rows = frames.sharded(frames.rankings(runs, chosen), None, by_query=False)
    job = Job(plan, "qrels", 0, False, chosen)
    return rows.mapInArrow(partial(shards.top_document_records, job, depth), shards.schema(shards.TOP_DOCUMENT))


def _retrieved(top: Any, judged: Any) -> Any:
    """The top documents of judged queries, or of all queries without judgments."""
    total = top.agg(sql.count("*").alias("rows"), sql.sum("faults").alias("faults")).first()
    if total["faults"]:
        raise collect_faults(top, total["faults"])
    if not total["rows"]:
        raise InputError(["runs: the frame has no rows"])
    if judged is not None:
        top = top.join(judged.select("query").distinct(), "query", "left_semi")
    return top.select("query", "document", sql.lit(False).alias("judged"))


def _corpus_columns(records: Any, wanted: Any) -> dict[str, Any]:
    """All fields of a corpus except its settings, from the records of tasks."""
    totals = records.agg(
        *(sql.coalesce(sql.sum(name), sql.lit(0)).alias(name) for name in ("size", "empty", "count")),
        sql.count("fault").alias("faults"),
    ).first()
    if totals["faults"]:
        rows = records.where("fault is not null").select("fault").orderBy("fault").limit(InputError.SHOWN)
        raise InputError([row["fault"] for row in rows.collect()], total=totals["faults"])
    if not totals["size"]:
        raise InputError(["texts: the frame has no rows"])
    by_term = records.where("term is not null").groupBy("term")
    terms = by_term.agg(sql.sum("count").alias("count"), sql.max("kept").alias("kept"))
    vocabulary = terms.where("kept").select("term", "count").toArrow().sort_by("term").combine_chunks()
    by_document = records.where("document is not null").groupBy("document")
    documents = by_document.agg(
        sql.count("*").alias("copies"),
        *(sql.min("digest").alias("digest"), sql.max("digest").alias("other")),
        *(sql.first(name).alias(name) for name in ("terms", "counts")),
    ).toArrow()
    _check_copies(documents)
    names = _names(documents.column("document"))
    missing = _missing(wanted.toArrow(), names)
    return {
        "terms": _strings(vocabulary.column("term")),
        "frequency": vocabulary.column("count").to_numpy(),
        "total": totals["count"],
        **document_vectors(names, *_rows(documents, vocabulary.column("term")), len(vocabulary)),
        "size": totals["size"],
        "empty": totals["empty"],
        "missing": Strings.of(missing),
        "repeated": sum(documents.column("copies").to_pylist()) - len(names),
    }


def _check_copies(documents: Any) -> None:
    """Raise if a document has different texts."""
    different = documents.filter(compute.not_equal(documents.column("digest"), documents.column("other")))
    if len(different):
        rows = zip(_names(different.column("document")), different.column("copies").to_pylist(), strict=True)
        faults = [
            f"texts: document `{quotable(name)}` appears {copies} times with different texts" for name, copies in rows
        ]
        raise InputError(sorted(faults), hint=ONE_TEXT_HINT)


def _missing(wanted: Any, names: Sequence[str]) -> list[str]:
    """The wanted documents that the collection does not have, in order; raise if it has none of them."""
    wanted_names, present = _names(wanted.column("document")), set(names)
    flags = wanted.column("judged").to_pylist()
    judged = sorted(name for name, is_judged in zip(wanted_names, flags, strict=True) if is_judged)
    if judged and present.isdisjoint(judged):
        raise no_overlap_error(len(judged), judged[0])
    if not present:
        raise no_overlap_error()
    return sort_by_bytes(set(wanted_names) - present)


def _rows(documents: Any, terms: Any) -> tuple[Integers, Integers, Integers]:
    """For every term of every document: the document, the term, and the count."""
    vocabulary = terms.combine_chunks()
    owner = np.repeat(np.arange(len(documents)), compute.list_value_length(documents.column("terms")).to_numpy())
    # Chunk by chunk, because all chunks together may exceed Arrow's 32-bit offsets.
    term = [
        compute.index_in(chunk.flatten(), value_set=vocabulary).to_numpy() for chunk in documents.column("terms").chunks
    ]
    count = [chunk.flatten().to_numpy() for chunk in documents.column("counts").chunks]
    return owner, np.concatenate(term).astype(np.int64), np.concatenate(count)


def _strings(column: Any) -> Strings:
    return strings_of(column.cast(pyarrow.large_binary()))


def _names(column: Any) -> list[str]:
    return list(_strings(column))


def _quotable(name: bytes) -> str:
    return quotable(name.decode("utf-8", "replace"))


def count_words(settings: Settings, fields: Fields, batches: Iterable[Any]) -> Iterator[Any]:
    """Count the words of batches of rows; ``fields`` has the users' names of the columns."""
    counter, kept, bytes_read = WordCounter(settings), list[KeptDocuments](), 0
    for batch in batches:
        if not batch.num_rows:
            continue
        faults = _faults(fields, batch)
        if faults:
            yield record_batch(RECORD, len(faults), fault=faults)
            continue
        texts = join_text_columns([batch.column(name) for name in batch.schema.names[2:]])
        documents = Documents(range(batch.num_rows), _names(batch.column("id")), texts.offsets, texts.data)
        rows = np.flatnonzero(batch.column("kept").to_numpy(zero_copy_only=False))
        kept.append(counter.count_rows(documents, rows))
        bytes_read += int(documents.offsets[-1] - documents.offsets[0])
        if bytes_read >= MAX_BYTES or sum(len(block.word) for block in kept) >= MAX_KEPT_TERMS:
            yield from _count_records(settings, counter, kept)
            counter, kept, bytes_read = WordCounter(settings), [], 0
    yield from _count_records(settings, counter, kept)


def _faults(fields: Fields, batch: Any) -> list[str]:
    """The faults of rows, one sentence each."""
    ids, *texts = (batch.column(name).cast("binary") for name in ("id", *batch.schema.names[2:]))
    without_id = compute.fill_null(compute.equal(compute.binary_length(ids), 0), True)
    without_text = texts[0].is_null()
    for column in texts[1:]:
        without_text = compute.and_(without_text, column.is_null())
    faults = []
    for row in compute.indices_nonzero(without_id).to_pylist():
        begins = next((text for column in texts if (text := column[row].as_py())), b"")[:40]
        value = "null" if ids[row].as_py() is None else "an empty id"
        faults.append(
            f"texts: a document must have an id, found {value} in column `{quotable(fields.id)}`; "
            f"the text begins with `{_quotable(begins)}`"
        )
    where, contain = ("column", "contains") if len(fields.texts) == 1 else ("columns", "contain")
    columns = ", ".join(f"`{quotable(name)}`" for name in fields.texts)
    rows = compute.indices_nonzero(compute.and_not(without_text, without_id)).to_pylist()
    problem = f"there is no text; {where} {columns} {contain} null"
    return faults + [f"texts: document `{_quotable(ids[row].as_py())}`: {problem}" for row in rows]


def _count_records(settings: Settings, counter: WordCounter, kept: Sequence[KeptDocuments]) -> Iterator[Any]:
    """The counts so far, as records."""
    words, counts = counter.core.columns()
    term_of_word = settings.terms(Strings(*words))
    terms, is_term = Strings.of(term_of_word), np.array([bool(term) for term in term_of_word], bool)
    in_kept = np.zeros(len(is_term), bool)
    for block in kept:
        in_kept[block.word] = True
    yield record_batch(RECORD, 1, size=[sum(block.size for block in kept)], empty=[sum(block.empty for block in kept)])
    rows = np.flatnonzero(is_term)
    if len(rows):
        yield record_batch(RECORD, len(rows), term=binary(terms.take(rows)), count=counts[rows], kept=in_kept[rows])
    for block in kept:
        if block.names:
            with_term = is_term[block.word]
            begin = np.concatenate([[0], np.cumsum(with_term)])[block.begin]
            yield record_batch(
                RECORD,
                len(block.names),
                document=binary(Strings.of(block.names)),
                digest=block.digests,
                terms=_lists(begin, binary(terms.take(block.word[with_term]))),
                counts=_lists(begin, block.count[with_term]),
            )


def _lists(begin: Any, values: Any) -> Any:
    return pyarrow.ListArray.from_arrays(pyarrow.array(begin, pyarrow.int32()), values)
