"""Measures of one's own: a Python file whose functions enter the catalogue, for as long as they are needed."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cranfield.errors import InputError
from cranfield.measures.catalogue import CATALOGUE

HINT = "a measure is a function under @measure, as in `cranfield/measures/user_model.py`"


@contextmanager
def load_measures(path: str) -> Iterator[list[str]]:
    """Runs a file and yields the symbols that it entered into the catalogue; they leave it afterwards."""
    before = set(CATALOGUE)
    try:
        _run(path)
        found = [symbol for symbol in CATALOGUE if symbol not in before]
        if not found:
            raise InputError([f"{path}: enters no measure into the catalogue"], hint=HINT)
        yield found
    finally:
        for symbol in set(CATALOGUE) - before:
            del CATALOGUE[symbol]


def _run(path: str) -> None:
    place = Path(path)
    source = place.read_bytes()
    try:
        exec(compile(source, path, "exec"), {"__name__": place.stem, "__file__": path})
    except SyntaxError as error:
        line = f":{error.lineno}" if error.lineno else ""
        raise InputError([f"{error.filename or path}{line}: {type(error).__name__}: {error.msg}"]) from error
    except (Exception, SystemExit) as error:
        own = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
        line = f":{own[-1]}" if own else ""
        raise InputError([f"{path}{line}: {type(error).__name__}: {error}"]) from error
