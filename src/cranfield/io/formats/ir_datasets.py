"""Data sets of the package ir_datasets, named ``irds:DATASET``: their judgments and their documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from cranfield.data import Judgments
from cranfield.errors import InputError, optional
from cranfield.io.detect import SourceFormat
from cranfield.io.documents import ROWS_PER_BLOCK, Block, Documents, encode_text
from cranfield.io.objects import qrels_from_object
from cranfield.io.tables import ListFrame

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


def read_qrels(source: str, name: str | None) -> Judgments:
    """The judgments of a data set."""
    rows = list(_load(source, "qrels_iter", "judgments")())
    fields = [field for field in _FIELDS if not rows or hasattr(rows[0], field)]
    frame = ListFrame({field: [getattr(row, field) for row in rows] for field in fields})
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


FORMATS = (SourceFormat("ir_datasets", is_dataset, read_qrels=read_qrels, read_documents=DatasetDocuments),)
