"""The page: what was found, the charts' library and our own script, in one file."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from typing import Any

from cranfield import __version__
from cranfield.errors import optional
from cranfield.evaluation.evaluation import Evaluation
from cranfield.report.html.contents import contents


def report(evaluation: Evaluation, *, title: str = "Evaluation", **how: Any) -> str:
    """The HTML of a report on an evaluation; ``how`` is what `contents` takes.

    Charts are Vega-Lite's: under 1 MB with all it needs, drawn as SVG that prints well, and in one Python package
    that needs no network.
    """
    require()
    return html(contents(evaluation, **how), title)


def require() -> None:
    """An error where charts cannot be had: better said before the work than after it."""
    optional("vl_convert", "a report", "report")


def html(data: dict[str, Any], title: str) -> str:
    """The page around its data."""
    library = optional("vl_convert", "a report", "report").javascript_bundle()
    parts = {
        "version": escape(__version__),
        "title": escape(title),
        "style": _asset("style.css"),
        # Nothing in a script may look like the end of one.
        "data": json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c"),
        "charts": "(() => {" + library.replace("</script", "<\\/script") + "})();",
        "app": _asset("app.js"),
    }
    before, *pieces = _asset("page.html").split("{")
    text = [before]
    for piece in pieces:
        name, _, rest = piece.partition("}")
        text += [parts[name], rest]
    return "".join(text)


def _asset(name: str) -> str:
    return files("cranfield.report.html").joinpath(name).read_text(encoding="utf-8")
