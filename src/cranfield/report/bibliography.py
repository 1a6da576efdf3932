"""Where measures come from: the BibTeX entries of ``references.bib``."""

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
PLACES = ("journal", "booktitle", "publisher", "institution", "school", "howpublished")
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
    for place in range(opening, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place
    raise CranfieldError(f"an entry of {SOURCE.name} has no closing brace: {text[opening : opening + 40]!r}")


def bibtex(keys: Iterable[str]) -> str:
    """The entries of these keys, each once, in the order asked for; a key may be several, apart by spaces."""
    wanted = dict.fromkeys(key for several in keys for key in several.split())
    known = entries(SOURCE)
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
    entry = {name: readable(value) for name, value in fields(entries(SOURCE)[key]).items()}
    names = [" ".join(reversed(name.split(", ", 1))) for name in entry.get("author", "").split(" and ")]
    authors = ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")
    where = next((entry[name] for name in PLACES if name in entry), "")
    year = entry.get("year", "")
    return ". ".join(filter(None, [authors, entry.get("title"), where, "" if year in where else year]))


def readable(text: str) -> str:
    r"""TeX as people read it.

    >>> readable(r'{TREC} by J{\"a}rvelin and Kek\"al\"ainen')
    'TREC by Järvelin and Kekäläinen'
    """
    accented = ACCENT.sub(lambda found: normalize("NFC", found[2] + MARKS[found[1]]), text)
    return accented.replace("{", "").replace("}", "").replace("\\&", "&").replace("--", "–")
