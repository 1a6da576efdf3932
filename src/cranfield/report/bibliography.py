"""The papers behind measures: the BibTeX entries of ``references.bib``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from unicodedata import normalize

from cranfield.errors import CranfieldError

SOURCE = Path(__file__).parent.parent / "references.bib"
HEAD = re.compile(r"^@(\w+)\s*\{\s*([^,\s]+)\s*,", re.MULTILINE)
FIELD = re.compile(r"(\w+)\s*=\s*")
VENUES = ("journal", "booktitle", "publisher", "institution", "school", "howpublished")
MARKS = {'"': "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", "c": "\u0327", "v": "\u030c"}
ACCENT = re.compile(r"""\\(["'`^~]|[cv](?=\{))\{?(\w)\}?""")


@cache
def entries(source: Path) -> dict[str, str]:
    """Every entry of a BibTeX file as it is written there, by its key."""
    text = source.read_text(encoding="utf-8")
    return {
        head[2]: text[head.start() : _closing(text, text.index("{", head.start())) + 1] for head in HEAD.finditer(text)
    }


def _closing(text: str, opening: int) -> int:
    depth = 0
    for i in range(opening, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return i
    raise CranfieldError(f"an entry of {SOURCE.name} has no closing brace: {text[opening : opening + 40]!r}")


def bibtex(keys: Iterable[str]) -> str:
    """The entries of these keys, each once, in this order; one text may hold several keys, separated by spaces."""
    unique = dict.fromkeys(key for text in keys for key in text.split())
    available = entries(SOURCE)
    missing = [key for key in unique if key not in available]
    if missing:
        raise CranfieldError(f"{SOURCE.name} has no entry for {', '.join(missing)}")
    return "\n\n".join(available[key] for key in unique) + "\n"


def fields(entry: str) -> dict[str, str]:
    """The fields of an entry, in lower case, without their outer braces.

    >>> fields("@article{x, title = {On {BM25}}, year = 1994}")
    {'title': 'On {BM25}', 'year': '1994'}
    """
    values, position = {}, entry.index(",") + 1
    while (head := FIELD.search(entry, position)) is not None:
        begin = head.end()
        if entry[begin : begin + 1] == "{":
            position = _closing(entry, begin) + 1
            value = entry[begin + 1 : position - 1]
        else:
            position = next((i for i in range(begin, len(entry)) if entry[i] in ",}"), len(entry))
            value = entry[begin:position].strip().strip('"')
        values[head[1].lower()] = " ".join(value.split())
    return values


def reference(key: str) -> str:
    """An entry in one line: authors, title, venue, year."""
    entry = {name: readable(value) for name, value in fields(entries(SOURCE)[key]).items()}
    names = [" ".join(reversed(name.split(", ", 1))) for name in entry.get("author", "").split(" and ")]
    authors = ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")
    venue = next((entry[name] for name in VENUES if name in entry), "")
    year = entry.get("year", "")
    return ". ".join(filter(None, [authors, entry.get("title"), venue, "" if year in venue else year]))


def readable(text: str) -> str:
    r"""TeX as plain text.

    >>> readable(r'{TREC} by J{\"a}rvelin and Kek\"al\"ainen')
    'TREC by Järvelin and Kekäläinen'
    >>> readable(r'cwl\_eval')
    'cwl_eval'
    """
    accented = ACCENT.sub(lambda match: normalize("NFC", match[2] + MARKS[match[1]]), text)
    return accented.replace("{", "").replace("}", "").replace("\\&", "&").replace("\\_", "_").replace("--", "–")
