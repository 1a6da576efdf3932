"""Where measures come from: the BibTeX entries of ``references.bib``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from cranfield.errors import CranfieldError

SOURCE = Path(__file__).parent.parent / "references.bib"
HEAD = re.compile(r"^@(\w+)\s*\{\s*([^,\s]+)\s*,", re.MULTILINE)
FIELD = re.compile(r"(\w+)\s*=\s*")


@cache
def entries(source: Path = SOURCE) -> dict[str, str]:
    """Every entry of a BibTeX file as it is written there, by its key."""
    text = source.read_text(encoding="utf-8")
    return {
        head[2]: text[head.start() : _closing(text, text.index("{", head.start())) + 1] for head in HEAD.finditer(text)
    }


def _closing(text: str, opening: int) -> int:
    depth = 0
    for place in range(opening, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place
    raise CranfieldError(f"an entry of {SOURCE.name} has no closing brace: {text[opening : opening + 40]!r}")


def bibtex(keys: Iterable[str]) -> str:
    """The entries of these keys, each once, in the order asked for; a key may be several, apart by spaces."""
    wanted = dict.fromkeys(key for several in keys for key in several.split())
    known = entries()
    missing = [key for key in wanted if key not in known]
    if missing:
        raise CranfieldError(f"{SOURCE.name} has no entry for {', '.join(missing)}")
    return "\n\n".join(known[key] for key in wanted) + "\n"


def fields(entry: str) -> dict[str, str]:
    """The fields of an entry, in lower case, without their outer braces.

    >>> fields("@article{x, title = {On {BM25}}, year = 1994}")
    {'title': 'On {BM25}', 'year': '1994'}
    """
    found, place = {}, entry.index(",") + 1
    while (head := FIELD.search(entry, place)) is not None:
        begin = head.end()
        if entry[begin : begin + 1] == "{":
            place = _closing(entry, begin) + 1
            value = entry[begin + 1 : place - 1]
        else:
            place = next((i for i in range(begin, len(entry)) if entry[i] in ",}"), len(entry))
            value = entry[begin:place].strip().strip('"')
        found[head[1].lower()] = " ".join(value.split())
    return found


def reference(key: str) -> str:
    """An entry in one line for people: authors, title, where, year."""
    entry = fields(entries()[key])
    where = next(
        (entry[name] for name in ("journal", "booktitle", "publisher", "institution", "school") if name in entry), ""
    )
    names = [" ".join(reversed(name.split(", ", 1))) for name in entry.get("author", "").split(" and ")]
    authors = ", ".join(names[:3]) + (" et al." if len(names) > 3 else "")
    parts = [authors, entry.get("title", ""), where, entry.get("year", "")]
    return ". ".join(part.replace("{", "").replace("}", "") for part in parts if part)
