"""A corpus as a file: Parquet with one row, in which every column is a list, and the rest in the metadata."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Collection
from dataclasses import asdict
from typing import Any

import numpy as np

from cranfield.corpus.origin import Origin
from cranfield.corpus.settings import Settings
from cranfield.data import Strings
from cranfield.errors import InputError, UsageError
from cranfield.io.optional import available, optional
from cranfield.io.tables import strings_of
from cranfield.io.write import save as save_whole

VERSION = 1
KEY = b"cranfield.corpus"
TEXTS = ("terms", "documents", "missing")
NUMBERS = ("frequency", "begin", "term", "count")
FACTS = ("total", "size", "empty", "repeated")
AGAIN = "make it again: cranfield corpus SOURCE --qrels QRELS --run RUN -o {}"


def save(columns: dict[str, Any], settings: Settings, origins: Collection[Origin], path: str) -> None:
    """Writes the columns and facts of a corpus, whole or not at all."""
    pyarrow = optional("pyarrow", "keeping a corpus in a file", "arrow")
    parquet = optional("pyarrow.parquet", "keeping a corpus in a file", "arrow")

    def listed(values: Any, kind: Any) -> Any:
        offsets = pyarrow.array([0, len(values)], pyarrow.int64())
        return pyarrow.LargeListArray.from_arrays(offsets, kind(values))

    def texts(values: Strings) -> Any:
        buffers = [None, pyarrow.py_buffer(values.offsets), pyarrow.py_buffer(values.data)]
        return pyarrow.Array.from_buffers(pyarrow.large_binary(), len(values), buffers)

    table = pyarrow.table(
        {name: listed(columns[name], texts) for name in TEXTS}
        | {name: listed(columns[name], pyarrow.array) for name in NUMBERS}
    )
    described = {
        "version": VERSION,
        "settings": asdict(settings) | {"stop": sorted(settings.stop)},
        "sources": [asdict(origin) for origin in origins],
        **{name: columns[name] for name in FACTS},
    }
    sink = io.BytesIO()
    text = json.dumps(described)  # ASCII: paths that are no UTF-8 come back as they were
    parquet.write_table(table.replace_schema_metadata({KEY: text}), sink, compression="zstd")
    save_whole(path, iter([sink.getvalue()]), "")


def is_corpus_file(source: Any) -> bool:
    """Whether this is a file that `save` wrote, of whatever version."""
    if not isinstance(source, str | os.PathLike) or not os.path.isfile(source) or not available("pyarrow"):
        return False
    with open(source, "rb") as file:
        if file.read(4) != b"PAR1":
            return False
    try:
        return _described(os.fsdecode(source)) is not None
    except InputError:
        return False


def load(path: str, settings: Settings | None, *, trust: bool) -> tuple[dict[str, Any], Settings, tuple[Origin, ...]]:
    """What `save` wrote; an error with the reason where it is not what was asked for."""
    described = _described(path)
    if described is None:
        raise InputError([f"{path}: this is not a corpus that was made by `cranfield corpus`"], hint=AGAIN.format(path))
    if described.get("version") != VERSION:
        message = f"{path}: a corpus of version {described.get('version')}; this program reads version {VERSION}"
        raise InputError([message], hint=AGAIN.format(path))
    try:
        made = described["settings"]
        found = Settings(made["split"], made["lower"], frozenset(made["stop"]), made["stemmer"])
        origins = tuple(Origin(**origin) for origin in described["sources"])
        columns = _columns(path) | {name: int(described[name]) for name in FACTS}
        _consistent(columns)
    except (KeyError, TypeError, ValueError, AttributeError, UsageError) as error:
        reason = error.message if isinstance(error, UsageError) else error
        raise InputError([f"{path}: the corpus is damaged ({reason})"], hint=AGAIN.format(path)) from error
    if settings is not None and settings != found:
        message = f"{path}: the corpus was made with {found}, and {settings} are asked for"
        raise InputError([message], hint=AGAIN.format(path))
    changed = [] if trust else [origin.place for origin in origins if origin.changed()]
    if changed:
        message = f"{path}: {', '.join(changed)} has changed since the corpus was made of it"
        raise InputError([message], hint=AGAIN.format(path))
    return columns, found, origins


def _described(path: str) -> dict[str, Any] | None:
    pyarrow = optional("pyarrow", "reading a corpus from a file", "arrow")
    parquet = optional("pyarrow.parquet", "reading a corpus from a file", "arrow")
    try:
        found = (parquet.read_schema(path).metadata or {}).get(KEY)
        described = None if found is None else json.loads(found)
    except FileNotFoundError as error:
        raise InputError([f"{path}: there is no such file"]) from error
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise InputError([f"{path}: not a corpus, or a damaged one"], hint=AGAIN.format(path)) from error
    return described if isinstance(described, dict) else None


def _columns(path: str) -> dict[str, Any]:
    pyarrow = optional("pyarrow", "reading a corpus from a file", "arrow")
    parquet = optional("pyarrow.parquet", "reading a corpus from a file", "arrow")
    try:
        table = parquet.read_table(path, columns=[*TEXTS, *NUMBERS])
        flat = {name: table.column(name).combine_chunks().flatten() for name in (*TEXTS, *NUMBERS)}
        texts = {name: strings_of(flat[name].cast(pyarrow.large_binary())) for name in TEXTS}
        numbers = {name: np.asarray(flat[name].cast(pyarrow.int64()).to_numpy()) for name in NUMBERS}
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError("its columns cannot be read") from error
    return texts | numbers


def _consistent(columns: dict[str, Any]) -> None:
    """An error where the columns do not belong together."""
    begin, term, count, frequency = (columns[name] for name in ("begin", "term", "count", "frequency"))
    many, rows = len(columns["terms"]), len(term)
    sound = (
        len(frequency) == many
        and len(begin) == len(columns["documents"]) + 1
        and begin[0] == 0
        and begin[-1] == rows == len(count)
        and bool((np.diff(begin) >= 0).all())
        and bool(((term >= 0) & (term < many) & (count > 0)).all())
        # What its documents say, the collection says at least as often.
        and bool((np.bincount(term, count, many) <= frequency).all())
        and int(frequency.sum()) <= columns["total"]
        and len(set(columns["documents"])) == len(begin) - 1 <= columns["size"] - columns["repeated"]
    )
    if not sound:
        raise ValueError("its columns contradict each other")
