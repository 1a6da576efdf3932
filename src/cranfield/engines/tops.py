"""The first documents of rankings: sorted Arrow rows in; out comes a row for each of these, or what is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from cranfield.corpus.build import top_documents
from cranfield.engines.records import fault
from cranfield.engines.shards import Job, by_run, whole
from cranfield.errors import CranfieldError, optional

FAULT = ("fault", "faults", "hint", "kind")


@dataclass(frozen=True)
class Firsts:
    """Documents that any order of ties may put among the first so many, with their query."""

    job: Job
    depth: int | None

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        for rows in whole(batches):
            for name, part in by_run(rows):
                try:
                    found = top_documents(self.job.run(name, part), self.depth)
                except CranfieldError as error:
                    yield _batch([(None, None)], fault(error))
                else:
                    yield _batch([(query, document) for query, names in found.items() for document in names])


def _batch(pairs: list[tuple[Any, Any]], error: Any = None) -> Any:
    pyarrow = optional("pyarrow", "an engine", "arrow")
    encoded = [[None if text is None else text.encode("utf-8", "surrogateescape") for text in pair] for pair in pairs]
    ids = [pyarrow.array([pair[side] for pair in encoded], pyarrow.binary()) for side in range(2)]
    texts, count = pyarrow.string(), pyarrow.int64()
    types = dict(zip(FAULT, (pyarrow.list_(texts), count, texts, texts), strict=True))
    said = [pyarrow.nulls(len(pairs), kind) if error is None else error.column(name) for name, kind in types.items()]
    return pyarrow.RecordBatch.from_arrays([*ids, *said], names=["query", "document", *FAULT])
