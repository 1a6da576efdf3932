"""User-defined measures: a Python file whose functions are added to the catalogue temporarily."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cranfield.errors import CranfieldError, InputError
from cranfield.io.streams import open_stream
from cranfield.measures.catalogue import CATALOGUE

HINT = "a measure is a function under `@cf.measure`; see the page on your own measures"


@contextmanager
def load_measures(path: str) -> Iterator[list[str]]:
    """Run a file and yield the symbols of the measures that it defines; afterwards remove them from the catalogue."""
    before = set(CATALOGUE)
    try:
        _run(path)
        symbols = [symbol for symbol in CATALOGUE if symbol not in before]
        if not symbols:
            raise InputError([f"{path}: defines no measure"], hint=HINT)
        yield symbols
    finally:
        for symbol in set(CATALOGUE) - before:
            del CATALOGUE[symbol]


def _run(path: str) -> None:
    file, source = Path(path), open_stream(path, "measures").read()
    try:
        exec(compile(source, path, "exec"), {"__name__": file.stem, "__file__": path})
    except SyntaxError as error:
        line = f":{error.lineno}" if error.lineno else ""
        raise InputError([f"{error.filename or path}{line}: {type(error).__name__}: {error.msg}"]) from error
    except (Exception, SystemExit) as error:
        text = error.message if isinstance(error, CranfieldError) else f"{type(error).__name__}: {error}"
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
        line = f":{lines[-1]}" if lines else ""
        raise InputError([f"{path}{line}: {text}"], hint=getattr(error, "hint", "")) from error
