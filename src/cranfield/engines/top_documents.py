"""The top documents of rankings: sorted Arrow rows in; one row per top document, or a fault, out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from cranfield.corpus.build import top_documents
from cranfield.engines.records import fault_record
from cranfield.engines.shards import Job, by_run, whole_keys
from cranfield.errors import CranfieldError, optional

FAULT_COLUMNS = ("fault", "faults", "hint", "kind")


@dataclass(frozen=True)
class TopDocuments:
    """Documents that may be in the top ``depth`` in some order of ties, with their query."""

    job: Job
    depth: int | None

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        for rows in whole_keys(batches):
            for name, part in by_run(rows):
                try:
                    documents = top_documents(self.job.run(name, part), self.depth)
                except CranfieldError as error:
                    yield _batch([(None, None)], fault_record(error))
                else:
                    yield _batch([(query, document) for query, names in documents.items() for document in names])


def _batch(pairs: list[tuple[Any, Any]], error: Any = None) -> Any:
    pyarrow = optional("pyarrow", "an engine", "arrow")
    encoded = [[None if text is None else text.encode("utf-8", "surrogateescape") for text in pair] for pair in pairs]
    ids = [pyarrow.array([pair[side] for pair in encoded], pyarrow.binary()) for side in range(2)]
    texts, count = pyarrow.string(), pyarrow.int64()
    types = dict(zip(FAULT_COLUMNS, (pyarrow.list_(texts), count, texts, texts), strict=True))
    faults = [
        pyarrow.nulls(len(pairs), arrow_type) if error is None else error.column(name)
        for name, arrow_type in types.items()
    ]
    return pyarrow.RecordBatch.from_arrays([*ids, *faults], names=["query", "document", *FAULT_COLUMNS])
