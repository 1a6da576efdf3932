"""A corpus as a Parquet file: one row whose columns are lists, and everything else in the metadata."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from cranfield.corpus.models import Settings
from cranfield.errors import InputError, UsageError, available, optional
from cranfield.io import register
from cranfield.io.columns import arrow_binary, strings_of
from cranfield.io.documents import document_files
from cranfield.io.formats.json import load_json
from cranfield.io.write import write_pieces

VERSION = 1
KEY = b"cranfield.corpus"
TEXT_COLUMNS = ("terms", "documents", "missing")
NUMBER_COLUMNS = ("frequency", "begin", "term", "count")
COUNTS = ("total", "size", "empty", "repeated")
REBUILD_HINT = "build it again: cranfield corpus SOURCE --qrels QRELS --run RUN -o {}"


def stale(path: str, fault: str) -> InputError:
    """The error for a file from which the corpus cannot be taken."""
    return InputError([f"{path}: {fault}"], hint=REBUILD_HINT.format(path))


@dataclass(frozen=True)
class Origin:
    """A source of a corpus at the time of reading: its files, and a digest of their names, sizes and times."""

    path: str
    files: int = 0  # 0 if the source was not a file, so that changes cannot be detected
    bytes: int = 0
    digest: str = ""

    @classmethod
    def of(cls, source: Any) -> Origin:
        """The source as it is now."""
        files = document_files(source)
        if not files:
            return cls(source if isinstance(source, str) else getattr(source, "name", None) or "<corpus>")
        path = os.path.abspath(os.fsdecode(source))
        digest, size = blake2b(digest_size=16), 0
        for file in files:
            status = os.stat(file)
            size += status.st_size
            name = os.path.relpath(file, path)
            digest.update(f"{name}\0{status.st_size}\0{status.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
        return cls(path, len(files), size, digest.hexdigest())

    def changed(self) -> bool:
        """Whether the source still exists and is different now."""
        return self.files > 0 and os.path.exists(self.path) and Origin.of(self.path) != self


def _arrow(purpose: str) -> tuple[Any, Any]:
    return optional("pyarrow", purpose, "arrow"), optional("pyarrow.parquet", purpose, "arrow")


def save(columns: dict[str, Any], settings: Settings, origins: Collection[Origin], path: str) -> None:
    """Write a corpus, completely or not at all."""
    pyarrow, parquet = _arrow("saving a corpus")

    def as_list(values: Any, array: Callable[[Any], Any]) -> Any:
        offsets = pyarrow.array([0, len(values)], pyarrow.int64())
        return pyarrow.LargeListArray.from_arrays(offsets, array(values))

    table = pyarrow.table(
        {name: as_list(columns[name], arrow_binary) for name in TEXT_COLUMNS}
        | {name: as_list(columns[name], pyarrow.array) for name in NUMBER_COLUMNS}
    )
    metadata = {
        "version": VERSION,
        "settings": asdict(settings) | {"stop": sorted(settings.stop)},
        "sources": [asdict(origin) for origin in origins],
        **{name: columns[name] for name in COUNTS},
    }
    sink = io.BytesIO()
    text = json.dumps(metadata)  # ASCII: paths that are not UTF-8 are read back unchanged
    parquet.write_table(table.replace_schema_metadata({KEY: text}), sink, compression="zstd")
    write_pieces(path, iter([sink.getvalue()]))


def is_corpus_file(source: Any) -> bool:
    """Whether this is a file that `save` wrote, of any version."""
    if not isinstance(source, str | os.PathLike) or not os.path.isfile(source) or not available("pyarrow"):
        return False
    path = os.fsdecode(source)
    register.active().read(path)
    with open(path, "rb") as file:
        if file.read(4) != b"PAR1":
            return False
    try:
        return _metadata(path) is not None
    except InputError:
        return False


def load(path: str, settings: Settings | None, *, trust: bool) -> tuple[dict[str, Any], Settings, tuple[Origin, ...]]:
    """Read what `save` wrote; raise if it does not match the settings or the sources."""
    metadata = _metadata(path)
    if metadata is None:
        raise stale(path, "this file was not written by `cranfield corpus`")
    if metadata.get("version") != VERSION:
        version = metadata.get("version")
        raise stale(path, f"the corpus has version {version}; this program reads version {VERSION}")
    try:
        fields = metadata["settings"]
        saved = Settings(fields["split"], fields["lower"], frozenset(fields["stop"]), fields["stemmer"])
        origins = tuple(Origin(**source) for source in metadata["sources"])
        columns = _columns(path) | {name: int(metadata[name]) for name in COUNTS}
        _check_consistency(columns)
    except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError, UsageError) as error:
        reason = error.message if isinstance(error, UsageError) else error
        raise stale(path, f"the corpus is damaged ({reason})") from error
    if settings is not None and settings != saved:
        raise stale(path, f"the corpus was built with {saved}, but the settings are {settings}")
    changed = [] if trust else [origin.path for origin in origins if origin.changed()]
    if changed:
        raise stale(path, f"{', '.join(changed)} has changed since the corpus was built")
    return columns, saved, origins


def _metadata(path: str) -> dict[str, Any] | None:
    pyarrow, parquet = _arrow("reading a saved corpus")
    try:
        text = (parquet.read_schema(path).metadata or {}).get(KEY)
        metadata = None if text is None else load_json(text.decode("utf-8"))
    except FileNotFoundError as error:
        raise InputError([f"{path}: there is no such file"]) from error
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise stale(path, "this is not a corpus, or it is damaged") from error
    return metadata if isinstance(metadata, dict) else None


def _columns(path: str) -> dict[str, Any]:
    pyarrow, parquet = _arrow("reading a saved corpus")
    try:
        table = parquet.read_table(path, columns=[*TEXT_COLUMNS, *NUMBER_COLUMNS])
        lists = {name: table.column(name).combine_chunks().flatten() for name in (*TEXT_COLUMNS, *NUMBER_COLUMNS)}
        texts = {name: strings_of(lists[name].cast(pyarrow.large_binary())) for name in TEXT_COLUMNS}
        numbers = {name: np.asarray(lists[name].cast(pyarrow.int64()).to_numpy()) for name in NUMBER_COLUMNS}
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError("the columns cannot be read") from error
    return texts | numbers


def _check_consistency(columns: dict[str, Any]) -> None:
    """Raise if the columns do not belong together."""
    begin, term, count, frequency = (columns[name] for name in ("begin", "term", "count", "frequency"))
    terms, rows = len(columns["terms"]), len(term)
    consistent = (
        len(frequency) == terms
        and len(begin) == len(columns["documents"]) + 1
        and begin[0] == 0
        and begin[-1] == rows == len(count)
        and bool((np.diff(begin) >= 0).all())
        and bool(((term >= 0) & (term < terms) & (count > 0)).all())
        # A term occurs in the collection at least as often as in the kept documents.
        and bool((np.bincount(term, count, terms) <= frequency).all())
        and int(frequency.sum()) <= columns["total"]
        and len(set(columns["documents"])) == len(begin) - 1 <= columns["size"] - columns["repeated"]
    )
    if not consistent:
        raise ValueError("the columns contradict each other")
