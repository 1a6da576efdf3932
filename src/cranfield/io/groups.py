"""Groups of runs, or of other things: ``{run: group}``, or a file with lines ``run group``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cranfield.errors import InputError, UsageError
from cranfield.io.faults import quotable
from cranfield.io.streams import is_stream, open_stream


def read_groups(source: Any, member: str = "run", kind: str = "group") -> dict[str, str]:
    """The group of each run. The last column is the group, so names of runs may contain spaces."""
    if isinstance(source, Mapping):
        return {str(name): str(group) for name, group in source.items()}
    if not is_stream(source):
        raise UsageError(
            f"cannot read {kind}s from {type(source).__name__}",
            hint=f"give {{{member}: {kind}}}, or a file with lines: {member} {kind}",
        )
    stream = open_stream(source, f"{kind}s")
    groups: dict[str, str] = {}
    first_line: dict[str, int] = {}
    faults = []
    for number, line in enumerate(stream.read_text().split("\n"), 1):
        *names, group = line.rsplit(maxsplit=1) or ("", "")
        name = "".join(names).strip()
        if not group or line.lstrip().startswith("#"):
            continue
        where = f"{stream.source_name}:{number}"
        if not name:
            faults.append(f"{where}: expected 2 columns ({member} {kind}), found 1: `{quotable(group)}`")
        elif groups.setdefault(name, group) != group:
            faults.append(
                f"{where}: {member} `{quotable(name)}` already has another {kind}, in line {first_line[name]}"
            )
        first_line.setdefault(name, number)
    if faults:
        raise InputError(faults)
    return groups
