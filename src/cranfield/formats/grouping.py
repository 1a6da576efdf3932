"""Which runs belong together: ``{run: group}``, or lines ``run group``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cranfield.errors import InputError, UsageError
from cranfield.formats.faults import shown
from cranfield.formats.opening import is_stream, opened
from cranfield.formats.records import BOM


def read_groups(source: Any) -> dict[str, str]:
    """The group of each run; the last column is the group, so that names of runs may hold spaces."""
    if isinstance(source, Mapping):
        return {str(run): str(group) for run, group in source.items()}
    if not is_stream(source):
        raise UsageError(
            f"cannot read groups from {type(source).__name__}",
            hint="give {run: group}, or a file with lines: run group",
        )
    stream = opened(source, "groups")
    groups: dict[str, str] = {}
    first: dict[str, int] = {}
    faults = []
    text = stream.content().removeprefix(BOM).decode("utf-8", "surrogateescape")
    for number, line in enumerate(text.split("\n"), 1):
        *names, group = line.rsplit(maxsplit=1) or ("", "")
        run = "".join(names).strip()
        if not group or line.lstrip().startswith("#"):
            continue
        where = f"{stream.place}:{number}"
        if not run:
            faults.append(f"{where}: expected 2 columns (run group), found 1: `{shown(group)}`")
        elif groups.setdefault(run, group) != group:
            faults.append(f"{where}: run `{shown(run)}` has another group already, from line {first[run]}")
        first.setdefault(run, number)
    if faults:
        raise InputError(faults)
    return groups
