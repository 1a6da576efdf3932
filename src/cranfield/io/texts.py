"""The texts of some documents, for people to read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from cranfield.errors import InputError
from cranfield.io.collection import readers
from cranfield.io.documents import Choice, located


def texts(sources: Sequence[Any], wanted: Collection[str], choice: Choice | None = None) -> dict[str, str]:
    """The texts of such of the wanted documents as the sources have, read until all are found.

    >>> from io import BytesIO
    >>> texts([BytesIO(b'{"_id": "d1", "text": "a lamp"}\\n{"_id": "d2", "text": "a horn"}\\n')], {"d2", "d9"})
    {'d2': 'a horn'}
    """
    found: dict[str, str] = {}
    for source in sources:
        for reader in readers(source, choice or Choice()):
            for block in reader.blocks():
                documents = reader.parse(block)
                if documents.faults.total:
                    faults = [f"{located(reader, line)}: {sentence}" for line, sentence in documents.faults.shown]
                    raise InputError(faults, total=documents.faults.total)
                for i, name in enumerate(documents.names):
                    if name in wanted and name not in found:
                        text = documents.data[documents.offsets[i] : documents.offsets[i + 1]]
                        found[name] = text.tobytes().decode("utf-8", "replace")
                if len(found) == len(wanted):
                    return found
    return found
