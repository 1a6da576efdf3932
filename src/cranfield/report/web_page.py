"""Web pages in one file: a template, its data, and the only scripts and styles that a browser may run."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html import escape
from importlib.resources import files
from typing import Any

from cranfield import __version__

SCRIPT = re.compile("<script>(.*?)</script>", re.DOTALL)
STYLE = re.compile("<style>(.*?)</style>", re.DOTALL)
PLACE = re.compile(r"\{(\w+)\}")


def page_of_data(package: str, template: str, data: Any, **parts: str) -> str:
    """The HTML of a template of a package, with the data that its script reads, and with other ``parts`` by name.

    Parts are HTML, scripts or styles of our own; everything from outside is in the data, or is escaped in a part. The
    page loads nothing, and runs only its own scripts: their digests are in its content security policy.
    """
    text = files(package).joinpath(template).read_text(encoding="utf-8")
    # Nothing in a script may look like its end tag.
    script = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    parts = {"version": escape(__version__), **parts}
    page = PLACE.sub(lambda place: parts.get(place[1], place[0]), text)
    return page.replace("{policy}", policy(page), 1).replace("{data}", script, 1)


def policy(page: str) -> str:
    """The content security policy of a page: its own scripts, styles and pictures, and nothing from the network."""
    styles = "'unsafe-inline'" if " style=" in SCRIPT.sub("", page) else " ".join(map(_digest, STYLE.findall(page)))
    scripts = " ".join(map(_digest, SCRIPT.findall(page)))
    sources = {"default": "'none'", "script": scripts, "style": styles, "img": "data:", "base-uri": ""}
    return escape("; ".join(f"{name}-src {source}" for name, source in sources.items() if source), quote=True)


def _digest(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
