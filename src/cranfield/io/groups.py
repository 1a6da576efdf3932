"""What belongs together: ``{run: group}``, or lines ``run group``; and the same of other things."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cranfield.errors import InputError, UsageError
from cranfield.io.detect import BOM
from cranfield.io.faults import shown
from cranfield.io.streams import is_stream, opened


def read_groups(source: Any, member: str = "run", kind: str = "group") -> dict[str, str]:
    """The group of each run; the last column is the group, so that names of runs may hold spaces."""
    if isinstance(source, Mapping):
        return {str(name): str(group) for name, group in source.items()}
    if not is_stream(source):
        raise UsageError(
            f"cannot read {kind}s from {type(source).__name__}",
            hint=f"give {{{member}: {kind}}}, or a file with lines: {member} {kind}",
        )
    stream = opened(source, f"{kind}s")
    groups: dict[str, str] = {}
    first: dict[str, int] = {}
    faults = []
    text = stream.content().removeprefix(BOM).decode("utf-8", "surrogateescape")
    for number, line in enumerate(text.split("\n"), 1):
        *names, group = line.rsplit(maxsplit=1) or ("", "")
        name = "".join(names).strip()
        if not group or line.lstrip().startswith("#"):
            continue
        where = f"{stream.place}:{number}"
        if not name:
            faults.append(f"{where}: expected 2 columns ({member} {kind}), found 1: `{shown(group)}`")
        elif groups.setdefault(name, group) != group:
            faults.append(f"{where}: {member} `{shown(name)}` has another {kind} already, from line {first[name]}")
        first.setdefault(name, number)
    if faults:
        raise InputError(faults)
    return groups
