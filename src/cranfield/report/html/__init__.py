"""The HTML report: one file that needs no network, with data, chart library and script.

Charts use Vega-Lite, which is under 1 MB, draws SVG that prints well, and comes in one Python package.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from cranfield import __version__
from cranfield.errors import optional
from cranfield.io.write import atomic_write
from cranfield.parallel import in_background
from cranfield.report.html.contents import compact
from cranfield.wording import printable


def require() -> None:
    """Raise if the chart library is not installed; called before the work starts."""
    _chart_library()


@cache
def _chart_library() -> Future[str]:
    """The script of the chart library, in a thread, while runs are read."""
    vl_convert = optional("vl_convert", "the HTML report", "report")
    return in_background(lambda: _kept(f"vega-{vl_convert.__version__}.js", vl_convert.javascript_bundle))


def _kept(name: str, make: Callable[[], str]) -> str:
    """A text from the user's cache folder. If it is not there yet, it is made and kept there."""
    try:
        file = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "cranfield", name)
        return file.read_text(encoding="utf-8")
    except RuntimeError:  # no home
        return make()
    except (OSError, UnicodeError):
        text = make()
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(file) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return text


def html(data: dict[str, Any], title: str) -> str:
    """The page with its data."""
    library = _chart_library().result()
    parts = {
        "version": escape(__version__),
        "title": escape(printable(title)),
        "style": _asset("style.css"),
        # Nothing in a script may look like its end tag.
        "data": json.dumps(compact(data), allow_nan=False, separators=(",", ":")).replace("<", "\\u003c"),
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
