"""Directive ``rows``: a table of expressions, each with its value. The build evaluates them.

The content begins with statements, which are shown as code. After a line ``---`` every line is a row
``what : expression``.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


def evaluate(content: list[str]) -> list[tuple[str, str, str]]:
    """What each row is about, its expression, and the value."""
    at = content.index("---")
    namespace: dict[str, Any] = {}
    exec("\n".join(content[:at]), namespace)
    rows = []
    for line in content[at + 1 :]:
        if line.strip():
            what, _, expression = line.partition(" : ")
            rows.append((what.strip(), expression.strip(), repr(eval(expression, namespace))))
    return rows


class Rows(SphinxDirective):
    """A table with three columns: what you hold, the expression, and its value."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """The statements as code, and the table."""
        content = list(self.content)
        code = "\n".join(content[: content.index("---")])
        lines = ["| what you hold | what you write | what you get |", "|---|---|---|"]
        lines += [f"| {what} | `{expression}` | `{value}` |" for what, expression, value in evaluate(content)]
        container = nodes.container()
        self.state.nested_parse(StringList(lines, source="rows"), 0, container)
        return [nodes.literal_block(code, code, language="python"), *container.children]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("rows", Rows)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
