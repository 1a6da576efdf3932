"""Whether an argument is one run or several: ``[run, run]`` and ``{name: run}`` beside the shapes of one run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from cranfield.data import Run
from cranfield.errors import InputError


def is_list_of_runs(run: Any) -> bool:
    """Whether this is a list of runs and not a list of rankings or records."""
    if not isinstance(run, list | tuple) or hasattr(run, "_fields"):
        return False
    return not run or _is_run(run[0])


def _is_run(item: Any) -> bool:
    """Whether an item of a list is a run."""
    if type(item) is dict and item and type(next(iter(item.values()))) is dict:
        return "hits" not in item
    if isinstance(item, str | os.PathLike | Run) or hasattr(item, "read"):
        return True
    from cranfield.io.lists import is_object
    from cranfield.io.records import hits_of, rankings_of_records
    from cranfield.io.tables import is_frame

    if isinstance(item, Mapping):
        if hits_of(item) is not None or rankings_of_records([item]) is not None or not item:
            return False
        return not _is_scalar(next(iter(item.values())))
    return is_frame(item) and not is_object(item)


def is_mapping_of_runs(run: Any) -> bool:
    """Whether this is ``{name: run}`` and not ``{query: ranking}``."""
    if not isinstance(run, Mapping) or not run:
        return False
    first = next((value for value in run.values() if not isinstance(value, Mapping) or value), None)
    if isinstance(first, Mapping):
        inner = next(iter(first.values()))
        if _is_scalar(inner):
            return False
        from cranfield.io.records import hits_of

        return hits_of(first) is None
    if isinstance(first, list | tuple) and first:
        return _is_list_of_rankings(first)
    if isinstance(first, str) and not any(map(_is_path, run.values())):
        message = f"expected {{query: [document, ...]}} or {{name: run}}, found text: {first!r} is not a file"
        raise InputError([message], hint=f"write [{first!r}] if this is a document")
    return (
        first is not None and not isinstance(first, (int, float, list, tuple, set, frozenset)) and not _is_lazy(first)
    )


def _is_path(value: Any) -> bool:
    return not isinstance(value, str) or value == "-" or ":" in value or os.path.exists(value) or os.sep in value


def _is_lazy(value: Any) -> bool:
    """Whether the value is an array or a generator, which are rankings."""
    return hasattr(value, "ndim") and value.ndim == 1 if hasattr(value, "ndim") else hasattr(value, "__next__")


def _is_scalar(value: Any) -> bool:
    from cranfield.io.ids import is_id

    return value is None or isinstance(value, float | bool) or is_id(value) or getattr(value, "ndim", None) == 0


def _is_list_of_rankings(value: Sequence[Any]) -> bool:
    """Whether a value of a dict is a list of rankings, as a run is, and not one ranking."""
    from cranfield.io.ids import is_id
    from cranfield.io.lists import is_pair
    from cranfield.io.records import hits_of, usual_field

    first = value[0]
    if isinstance(first, Mapping):
        return hits_of(first) is not None or usual_field(first, "document") is None
    if isinstance(first, set | frozenset) or not isinstance(first, list | tuple) or hasattr(first, "_fields"):
        return False
    if isinstance(first, tuple) or not is_pair(first) or not all(map(is_pair, value)):
        return not is_pair(first)
    if isinstance(first[1], int) and is_id(first[0]) and not isinstance(first[0], str):
        message = f"{first!r} may be a document with its score, or a ranking of two documents"
        raise InputError([message], hint="write a pair as a tuple (document, score), or give ids as text")
    return False
