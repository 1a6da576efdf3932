"""The studies: every module of this package is one, and nothing else lists them.

A module ``name`` has the experiment, a function ``name``, whose parameters are the settings (`lab.registry` says how
they become options); its result ``Name``, a `StudyResult`; and, for the result,

- ``tables(result, digits)``, a list of pages; ``write(result, format, ...)`` too, if pages are not all;
- ``mean_tables(results, digits)``, if the study takes several collections;
- ``drawings(result)``, the functions that draw its figures, by name; optional;
- ``PAPER``, the measures and runs of a published experiment, and ``ON_REQUEST``, further tables with the names and
  descriptions of their options; optional.
"""

from __future__ import annotations

from pkgutil import iter_modules


def study_names() -> tuple[str, ...]:
    """The names of all studies, in alphabetical order."""
    return tuple(sorted(module.name for module in iter_modules(__path__)))
