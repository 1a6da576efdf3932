"""Results that show themselves: as tables in notebooks, and as text if they are printed."""

from __future__ import annotations

from typing import Any


class Displayed:
    """Tables and figures of a result; what makes them is loaded when a result is shown.

    ``repr`` is one line, which each class writes. ``report.notebook`` has the tables and figures of all classes.
    """

    def _repr_html_(self) -> str:
        """The tables for notebooks."""
        from cranfield.report import notebook

        return notebook.html(self)

    def __str__(self) -> str:
        from cranfield.report import notebook

        return notebook.text(self)

    def _draw(self, **options: Any) -> Any:
        """The axes of the figure of this class."""
        from cranfield.report import notebook

        return notebook.plot(self, **options)


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
    from cranfield.report import notebook

    return notebook.score_table(scores, **layout)
