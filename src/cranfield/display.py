"""Results show themselves as text, in notebooks and as figures."""

from __future__ import annotations

from typing import Any, ClassVar


class Displayed:
    """Tables and figures of a result; what makes them is loaded when a result is shown.

    ``repr`` is one line, which each class writes. ``_SHOWN_BY``: the module of `cranfield.report` with the functions
    ``pages``, ``notes`` and ``drawings`` of a class; a class above the reports has them as methods instead.
    """

    _SHOWN_BY: ClassVar[str] = ""

    def _repr_html_(self) -> str:
        """The tables for notebooks."""
        return str(_display("html", self))

    def __str__(self) -> str:
        return str(_display("text", self))

    def _write(self, format: str, **options: Any) -> str:
        """The tables of this class in a format."""
        return str(_display("written", self, format=format, **options))

    def _draw(self, **options: Any) -> Any:
        """The axes of the figure of this class."""
        return _display("plot", self, **options)


def _display(how: str, result: Any, **options: Any) -> Any:
    from cranfield.report import notebook  # the only import that points up: results show themselves

    return getattr(notebook, how)(result, **options)


class TableText(str):
    """A table as text that a notebook shows as a table."""

    __slots__ = ("html",)
    html: str

    @classmethod
    def of(cls, text: str, html: str) -> TableText:
        """The same table as text and as HTML."""
        table = cls(text)
        table.html = html
        return table

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.html


def table_text(scores: Any, **layout: Any) -> TableText:
    """A table of scores as text and as HTML."""
    table: TableText = _display("score_table", scores, **layout)
    return table
