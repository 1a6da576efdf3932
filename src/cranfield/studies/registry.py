"""The studies that exist: every folder of this package is one, and nothing else lists them.

A study called ``name`` has, in the folder of that name:

- ``experiment.py``: the function ``name`` and its result class ``Name``, a `StudyResult`;
- ``tables.py``: ``tables(result, digits)``, a list of pages; ``write(result, format, ...)`` too, if pages are not all;
  ``mean_tables(results, digits)`` too, if the study takes several collections;
- ``figures.py``: ``drawings(result)``, the functions that draw its figures, by name; optional;
- ``command.py``: ``command``, for ``cranfield study name``.

Modules are imported on first use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING

import cranfield.studies
from cranfield.errors import UsageError
from cranfield.studies import saving
from cranfield.studies.saving import StudyResult
from cranfield.studies.several import SeveralCollections

if TYPE_CHECKING:
    import click

    from cranfield.report.figures.canvas import Drawings
    from cranfield.report.pages import Page


def study_names() -> tuple[str, ...]:
    """The names of all studies, in alphabetical order."""
    return tuple(sorted(module.name for module in iter_modules(cranfield.studies.__path__) if module.ispkg))


@dataclass(frozen=True)
class Study:
    """One study, by name; each property imports the module that it needs."""

    name: str

    def __post_init__(self) -> None:
        if self.name not in study_names():
            raise UsageError(f"unknown study `{self.name}`", hint=f"one of {', '.join(study_names())}")

    @property
    def _package(self) -> str:
        return f"cranfield.studies.{self.name}"

    def _module(self, part: str) -> ModuleType:
        return import_module(f"{self._package}.{part}")

    @property
    def experiment(self) -> Callable[..., StudyResult]:
        """The function that runs the study."""
        function: Callable[..., StudyResult] = getattr(self._module("experiment"), self.name)
        return function

    @property
    def result_class(self) -> type[StudyResult]:
        """The class of its results."""
        result: type[StudyResult] = getattr(self._module("experiment"), self.name.capitalize())
        return result

    @property
    def command(self) -> click.Command:
        """Its command, for ``cranfield study``."""
        command: click.Command = self._module("command").command
        return command

    @property
    def has_figures(self) -> bool:
        """Whether it can be drawn."""
        return any(module.name == "figures" for module in iter_modules(import_module(self._package).__path__))

    @property
    def takes_several(self) -> bool:
        """Whether it takes several collections: whether it has tables of their mean."""
        return hasattr(self._module("tables"), "mean_tables")

    def require_several(self) -> None:
        """Raise if the study takes one collection only."""
        if not self.takes_several:
            raise UsageError(
                f"the study `{self.name}` takes one collection: its results have no mean over collections",
                hint="run it on each collection",
            )

    def load(self, path: saving.PathLike) -> StudyResult:
        """Read a saved result of this study, on one or on several collections."""
        data = saving.load(path)
        if "by_collection" not in data:
            return self.result_class.load(path)
        with saving.checked_file(self.name, path):
            return SeveralCollections.from_dict(data)

    def tables(self, result: StudyResult, digits: int = 4) -> list[Page]:
        """A result as titled tables; on several collections, the tables of each, and those of the mean."""
        module = self._module("tables")
        if isinstance(result, SeveralCollections):
            by_collection = ((name, module.tables(part, digits)) for name, part in result.results.items())
            pages = [replace(page, title=f"{name}: {page.title}") for name, part in by_collection for page in part]
            return [*pages, *module.mean_tables(list(result.results.values()), digits)]
        single: list[Page] = module.tables(result, digits)
        return single

    def write(
        self, result: StudyResult, format: str = "table", *, digits: int = 4, width: int = 80, colour: bool = False
    ) -> str:
        """A result as text in one of the formats of `report.pages`, ending in a newline."""
        tables = self._module("tables")
        if hasattr(tables, "write"):
            text: str = tables.write(result, format, digits=digits, width=width, colour=colour)
            return text
        from cranfield.report import pages

        return pages.write(self.tables(result, digits), result.to_dict(), format, width=width, colour=colour)

    def require_figures(self) -> None:
        """Raise if the study has no figures."""
        if not self.has_figures:
            raise UsageError(f"the study `{self.name}` has no figures", hint="leave out --figures")

    def save_figures(self, result: StudyResult, folder: str) -> list[Path]:
        """Draw the figures of a result into a folder; the files written."""
        self.require_figures()
        if isinstance(result, SeveralCollections):
            parts = result.results.items()
            return [path for name, part in parts for path in self.save_figures(part, str(Path(folder) / name))]
        from cranfield.report.figures.canvas import save_all

        return save_all(self.drawings(result), folder)

    def drawings(self, result: StudyResult) -> Drawings:
        """The figures of a result, by name: functions that draw them."""
        self.require_figures()
        if isinstance(result, SeveralCollections):
            parts = result.results.items()
            return {f"{name}/{key}": draw for name, part in parts for key, draw in self.drawings(part).items()}
        drawings: Drawings = self._module("figures").drawings(result)
        return drawings
