"""Data sets by their folder or their name: AMBIENT, BEIR, and those of the package ir_datasets.

AMBIENT has the results of a search engine: ``results.txt`` has the best results of each query, in the engine's order,
as ``query.rank``, address, title and snippet; ``STRel.txt`` has pairs ``query.subtopic`` and ``query.rank``. All
results are judged: those without a pair are relevant to no subtopic. Other data sets of search results use the same
files.

BEIR has its documents in ``corpus.jsonl``, its queries in ``queries.jsonl`` and its judgments in ``qrels/test.tsv``.

``irds:DATASET`` names a data set of ir_datasets: its judgments and its documents.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from cranfield.data import Judgments, Run
from cranfield.errors import InputError, optional
from cranfield.io.columns import Columns
from cranfield.io.documents import ROWS_PER_BLOCK, Block, Documents, encode_text
from cranfield.io.faults import Location, quotable
from cranfield.io.streams import SourceFormat, open_stream, without_compression
from cranfield.io.tables import qrels_from_dict, qrels_from_object

NO_SUBTOPIC = "0"  # the subtopic of documents that are relevant to none, as in TREC's judgments
RESULTS, RELEVANT = "results.txt", "STRel.txt"


def is_ambient(path: str) -> bool:
    """Whether the folder has AMBIENT's files."""
    return os.path.isdir(path) and all(os.path.isfile(os.path.join(path, name)) for name in (RESULTS, RELEVANT))


def read_ambient_run(path: str, name: str | None) -> Run:
    """The ranking of the search engine."""
    ranking: dict[str, dict[str, float]] = {}
    for query, rank, result in _results(path):
        ranking.setdefault(query, {})[result] = -float(rank)
    return Run(name or _folder_name(path), ranking, path)


def read_ambient_qrels(path: str, name: str | None) -> Judgments:
    """Grade 1 for each subtopic to which a result is relevant."""
    judged: dict[str, dict[str, dict[str, float]]] = {}
    for query, _, result in _results(path):
        judged.setdefault(query, {})[result] = {}
    source_name, faults = os.path.join(path, RELEVANT), []
    for line, (subtopic, result) in _rows(source_name, 2):
        (query, number), (query_of_result, _) = _split_at_last_dot(subtopic), _split_at_last_dot(result)
        if query != query_of_result or result not in judged.get(query, {}):
            faults.append(f"{source_name}:{line}: subtopic `{quotable(subtopic)}` has no result `{quotable(result)}`")
            continue
        judged[query][result][number] = 1
    if faults:
        raise InputError(faults)
    graded = {
        query: {result: labels or {NO_SUBTOPIC: 0} for result, labels in results.items()}
        for query, results in judged.items()
    }
    return qrels_from_dict(graded, name or _folder_name(path), Location(path, "qrels", "entry"))


def _folder_name(path: str) -> str:
    return os.path.basename(os.path.abspath(path))


def _results(path: str) -> list[tuple[str, int, str]]:
    """The query, the rank and the id of each result."""
    source_name, faults, results = os.path.join(path, RESULTS), [], dict[str, tuple[str, int, str]]()
    for line, (result, *_) in _rows(source_name, 4):
        query, rank = _split_at_last_dot(result)
        if not query or not rank.isascii() or not rank.isdigit():
            faults.append(f"{source_name}:{line}: expected QUERY.RANK, found `{quotable(result)}`")
        elif result in results:
            faults.append(f"{source_name}:{line}: `{quotable(result)}` appears twice")
        else:
            results[result] = query, int(rank), result
    if faults:
        raise InputError(faults)
    return list(results.values())


def _split_at_last_dot(text: str) -> tuple[str, str]:
    before, _, after = text.rpartition(".")
    return before, after


def _rows(path: str, width: int) -> Iterator[tuple[int, list[str]]]:
    """The lines after the first one, which has the names of the fields."""
    lines = open_stream(path, "results").read().decode("utf-8", "surrogateescape").split("\n")
    rows = [(n, line.rstrip("\r").split("\t")) for n, line in enumerate(lines, 1) if n > 1 and line.strip()]
    faults = [f"{path}:{n}: expected {width} fields, found {len(row)}" for n, row in rows if len(row) != width]
    if faults:
        raise InputError(faults)
    return iter(rows)


def _beir_corpus(path: str) -> str | None:
    """The file with the documents of a BEIR folder, compressed or not."""
    names = {without_compression(name): name for name in os.listdir(path)}
    return os.path.join(path, names["corpus.jsonl"]) if {"corpus.jsonl", "queries.jsonl"} <= names.keys() else None


def is_beir(path: str) -> bool:
    """Whether the folder has BEIR's files."""
    return os.path.isdir(path) and _beir_corpus(path) is not None


def read_beir_qrels(path: str, name: str | None) -> Judgments:
    """The judgments of the only split, or of the test split."""
    from cranfield.io import read_qrels

    folder = os.path.join(path, "qrels")
    splits = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    splits = [split for split in splits if without_compression(split).endswith(".tsv")]
    test = [split for split in splits if without_compression(split) == "test.tsv"]
    if not splits or (len(splits) > 1 and not test):
        splits_shown = f"the splits are {', '.join(splits)}" if splits else "there are no files"
        message = f"{folder}: {splits_shown}"
        raise InputError([message], hint="give the file with the judgments, such as qrels/test.tsv")
    chosen = test[0] if test else splits[0]
    judgments = read_qrels(os.path.join(folder, chosen), name=name or _folder_name(path))
    if len(splits) == 1:
        return judgments
    return replace(judgments, remarks=(f"the judgments are those of {chosen}, one of {len(splits)} splits",))


PREFIX = "irds:"
_FIELDS = ("query_id", "doc_id", "relevance", "subtopic_id", "iteration")


def is_dataset(source: str) -> bool:
    """Whether the source is the id of a data set."""
    return source.startswith(PREFIX)


def _load(source: str, method: str, content: str) -> Callable[[], Any]:
    """A method of a data set that iterates over its content."""
    datasets = optional("ir_datasets", f"reading {source}", "datasets")
    try:
        iterate: Callable[[], Any] = getattr(datasets.load(source.removeprefix(PREFIX)), method)
    except (KeyError, AttributeError) as error:
        message = f"{source}: ir_datasets has no {content} with this name"
        raise InputError([message], hint="see https://ir-datasets.com for a list of data sets") from error
    return iterate


def read_dataset_qrels(source: str, name: str | None) -> Judgments:
    """The judgments of a data set."""
    rows = list(_load(source, "qrels_iter", "judgments")())
    fields = [field for field in _FIELDS if not rows or hasattr(rows[0], field)]
    frame = Columns.of({field: [getattr(row, field) for row in rows] for field in fields})
    return qrels_from_object(frame, name or source.removeprefix(PREFIX), None, source)


class DatasetDocuments:
    """The documents of a data set."""

    unit = "document"
    bytes = 0

    def __init__(self, source: str) -> None:
        self.source_name = source
        self.iterate = _load(source, "docs_iter", "documents")

    def blocks(self) -> Iterator[Block]:
        documents = ((document.doc_id, document.default_text()) for document in self.iterate())
        first = 1
        while content := list(islice(documents, ROWS_PER_BLOCK)):
            yield Block(first, content)
            first += len(content)

    def parse(self, block: Block) -> Documents:
        lines = range(block.line, block.line + len(block.content))
        names = [name for name, _ in block.content]
        return Documents.of(lines, names, [encode_text(text) for _, text in block.content])


FORMATS = (
    SourceFormat(
        "AMBIENT folder",
        is_ambient,
        read_run=read_ambient_run,
        read_qrels=read_ambient_qrels,
        document_files=lambda path: [os.path.join(path, RESULTS)],
    ),
    SourceFormat(
        "BEIR folder", is_beir, read_qrels=read_beir_qrels, document_files=lambda path: [_beir_corpus(path) or path]
    ),
    SourceFormat("ir_datasets", is_dataset, read_qrels=read_dataset_qrels, read_documents=DatasetDocuments),
)
