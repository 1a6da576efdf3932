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
UNCHECKED = "'unsafe-inline'"


def page_of_data(package: str, template: str, data: Any, *, own_styles: bool = True, **parts: str) -> str:
    """The HTML of a template of a package, with the data that its script reads, and with other ``parts`` by name.

    Parts are HTML, scripts or styles of our own; everything from outside is in the data, or is escaped in a part. The
    page loads nothing, and a browser runs only its own scripts: their digests are in its content security policy.
    ``own_styles``: the same of its styles.
    """
    text = files(package).joinpath(template).read_text(encoding="utf-8")
    # Nothing in a script may look like its end tag.
    script = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    parts |= {"version": escape(__version__), "data": script, "policy": ""}
    named = re.compile(r"\{(" + "|".join(parts) + r")\}")
    page = named.sub(lambda match: parts[match[1]], text)
    scripts, styles = (" ".join(map(_digest, kind.findall(page))) for kind in (SCRIPT, STYLE))
    sources = f"script-src {scripts}; style-src {styles if own_styles else UNCHECKED}; img-src data:"
    parts["policy"] = f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"
    return named.sub(lambda match: parts[match[1]], text)


def _digest(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
