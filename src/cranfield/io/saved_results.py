"""Saved results: JSON files that begin with the kind of the result and the version of the format."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from cranfield.errors import CranfieldError, InputError
from cranfield.io.atomic_write import atomic_write

PathLike = str | os.PathLike[str]

DAMAGED = CranfieldError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError


def save_result(result: Mapping[str, Any], path: PathLike) -> None:
    """Write a result as one JSON file; an existing file is replaced only by a complete one."""
    with atomic_write(path) as temporary:
        text = json.dumps(result, allow_nan=False, ensure_ascii=False) + "\n"
        temporary.write_bytes(text.encode("utf-8", "surrogateescape"))


@contextmanager
def saved_result(path: PathLike, kind: str, version: int, *, what: str, hint: str) -> Iterator[dict[str, Any]]:
    """The content of a saved result of this kind, up to this version.

    Everything that is wrong with the file, also in what is done with its content, is one `InputError`. ``what``: what
    messages call the file.
    """
    from cranfield.io.formats.json import load_json
    from cranfield.io.streams import open_stream

    name = os.fspath(path)
    try:
        data = load_json(open_stream(name, what).read_text())
    except ValueError as error:
        raise InputError([f"{name}: not {what} ({error})"], hint=hint) from error
    if not isinstance(data, dict) or data.get("kind") != kind:
        raise InputError([f"{name}: not {what}"], hint=hint)
    found = data.get("version")
    if not isinstance(found, int) or not 1 <= found <= version:
        raise InputError(
            [f"{name}: version {found!r} of the file format; this version of cranfield reads up to {version}"],
            hint=f"update cranfield, or save the {kind} again",
        )
    try:
        yield data
    except DAMAGED as error:
        reason = error if isinstance(error, CranfieldError) else repr(error)
        whole = what.replace("a ", "a complete ", 1)
        raise InputError([f"{name}: not {whole} ({reason})"], hint=hint) from error
