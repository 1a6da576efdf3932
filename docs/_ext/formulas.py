"""Formulas in MathML: ``math`` directives and roles become markup that browsers show without scripts or fonts."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

SOURCE = Path(__file__).parent.parent / "formulas.toml"
NOTATION = """\
In formulas, {math}`b_i` is 1 if the document at rank {math}`i` is relevant and 0 otherwise; {math}`g_i` is its gain;
{math}`k` is the cutoff; {math}`R` and {math}`N` are the numbers of documents judged relevant and non-relevant. A star
marks the ideal ranking, all judged documents in descending order of gain: {math}`g^{*}_i` is the gain at its rank
{math}`i`."""


@cache
def load() -> dict[str, list[str]]:
    """The lines of the formula of each measure, by symbol."""
    table = tomllib.loads(SOURCE.read_text(encoding="utf-8"))
    del table["introductions"]
    return {symbol: [lines] if isinstance(lines, str) else lines for symbol, lines in table.items()}


@cache
def phrases() -> dict[str, str]:
    """Formulas in the introductions of families: plain text and LaTeX."""
    found: dict[str, str] = tomllib.loads(SOURCE.read_text(encoding="utf-8"))["introductions"]
    return found


def typeset(text: str) -> str:
    """The introduction of a family with its formulas as roles; a formula may go over the end of a line."""
    longest_first = sorted(phrases(), key=len, reverse=True)
    pattern = "|".join(re.escape(plain).replace("\\ ", r"\s+") for plain in longest_first)
    return re.sub(rf"(?<!\w)(?:{pattern})", lambda m: f"{{math}}`{phrases()[' '.join(m[0].split())]}`", text)


def markdown(symbol: str) -> list[str]:
    """The formula of a measure as directives, one for each line."""
    return [part for line in load()[symbol] for part in ("```{math}", line, "```", "")]


@cache
def mathml(latex: str, display: str) -> str:
    """The formula as a MathML element."""
    from latex2mathml.converter import convert

    # Around `mtext`, which counts as space, operators lose their distance; a name of several letters does not.
    made: str = convert(latex.strip(), display=display)
    return made.replace("<mtext>", '<mi mathvariant="normal">').replace("</mtext>", "</mi>")


def _skip() -> Exception:
    """What ends the visit of a node; formulas are also read without Sphinx, by tests."""
    from docutils.nodes import SkipNode

    return SkipNode()


def inline(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula inside a sentence."""
    self.body.append(mathml(node.astext(), "inline"))
    raise _skip()


def block(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on lines of its own. Parts between which there is a wide space may go to the next line."""
    parts = "".join(mathml(part, "block") for part in node.astext().split(r"\quad") if part.strip())
    self.body.append(f'<div class="math">{parts}</div>\n')
    raise _skip()


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", inline_renderers=(inline, None), block_renderers=(block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
