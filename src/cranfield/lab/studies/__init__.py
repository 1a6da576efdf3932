"""The studies: every module of this package is one, and nothing else lists them; see `lab.study`."""

from __future__ import annotations

from pkgutil import iter_modules


def study_names() -> tuple[str, ...]:
    """The names of all studies, in alphabetical order."""
    return tuple(sorted(module.name for module in iter_modules(__path__)))
