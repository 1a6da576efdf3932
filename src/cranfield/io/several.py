"""Whether an argument is one run or several: ``[run, run]`` and ``{name: run}`` beside the shapes of one run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from cranfield.data import Run
from cranfield.errors import InputError
from cranfield.io.faults import quotable


def is_list_of_runs(run: Any) -> bool:
    """Whether this is a list of runs and not a list of rankings or records."""
    if not isinstance(run, list | tuple) or hasattr(run, "_fields"):
        return False
    if len(run) > 1 and all(isinstance(item, str) and "." not in item and not _is_path(item) for item in run):
        hint = "in Python, one ranking is {query: [document, ...]} or [[document, ...]]"
        raise InputError([f"{quotable(run[0])}: there is no such file"], hint=hint)
    return not run or _is_run(run[0])


def _is_run(item: Any) -> bool:
    """Whether an item of a list is a run."""
    if type(item) is dict and item and type(next(iter(item.values()))) is dict and not {"hits", "error"} & item.keys():
        return True
    if isinstance(item, str | os.PathLike | Run) or hasattr(item, "read"):
        return True
    from cranfield.io.lists import is_object
    from cranfield.io.records import is_response, rankings_of_records
    from cranfield.io.tables import is_frame

    if isinstance(item, Mapping):
        if is_response(item) or rankings_of_records([item]) is not None or not item:
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
        from cranfield.io.records import is_response

        return not is_response(first)
    if isinstance(first, list | tuple) and first:
        from cranfield.io.records import unwrap

        if unwrap(run) is not run:
            return False
        name = next(name for name, value in run.items() if value is first)
        return _is_list_of_rankings(first, quotable(str(name)))
    if isinstance(first, str) and not any(map(_is_path, run.values())):
        name = next(name for name, value in run.items() if value is first)
        found = f"expected [document, ...], found the text {quotable(repr(first))}, which is not a file either"
        raise InputError([f"query `{quotable(str(name))}`: {found}"], hint=f"write [{quotable(repr(first))}]")
    if isinstance(first, str | os.PathLike | Run) or hasattr(first, "read"):
        return True
    from cranfield.io.tables import is_frame

    return is_frame(first)


def _is_path(value: Any) -> bool:
    return not isinstance(value, str) or value == "-" or ":" in value or os.path.exists(value) or os.sep in value


def _is_scalar(value: Any) -> bool:
    from cranfield.io.ids import is_id

    return value is None or isinstance(value, float | bool) or is_id(value) or getattr(value, "ndim", None) == 0


def _is_list_of_rankings(value: Sequence[Any], name: str) -> bool:
    """Whether a value of a dict is a list of rankings, as a run is, and not one ranking; ``name`` is its key."""
    from cranfield.io.ids import is_id
    from cranfield.io.lists import is_pair
    from cranfield.io.records import is_response, usual_field

    first = value[0]
    if isinstance(first, Mapping):
        return is_response(first) or usual_field(first, "document") is None
    if isinstance(first, set | frozenset) or not isinstance(first, list | tuple) or hasattr(first, "_fields"):
        return False
    if any(isinstance(item, float) for item in first) and not is_pair(first):
        message = f"query `{name}`, position 1: expected (document, score), found {quotable(repr(first))}"
        raise InputError([message], hint="write a pair with the id first, then the score, and nothing else")
    if isinstance(first, tuple) or not is_pair(first) or not all(map(is_pair, value)):
        return not is_pair(first)
    if isinstance(first[1], int) and is_id(first[0]) and not isinstance(first[0], str):
        message = f"`{name}`: {first!r} may be a document with its score, or a ranking of two documents"
        raise InputError([message], hint="write a pair as a tuple (document, score), or give ids as text")
    return False
