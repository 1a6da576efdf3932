"""Numbers, names and untrusted text in sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# Characters that move the cursor, end a line or change the direction of text.
# Surrogates that stand for no byte cannot be written at all.
_BEYOND_ASCII = "\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udc7f\udd00-\udfff"
CONTROL = f"[\x00-\x1f{_BEYOND_ASCII}]"
_SIGNED_NUMBER = r"[+-][0-9.,]*(?:e[+-]?[0-9]+)?[%∞]?"
NO_BYTE = re.compile("[\ud800-\udc7f\udd00-\udfff]")


def plural(number: int, noun: str) -> str:
    """A number with its noun.

    >>> plural(1, "query"), plural(2000, "query"), plural(0, "run")
    ('1 query', '2,000 queries', '0 runs')
    """
    plural_noun = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural_noun}"


def percent(share: float) -> str:
    """A share in percent, with as many digits as it has.

    >>> percent(0.95), percent(1 - 0.001)
    ('95%', '99.9%')
    """
    return f"{100 * share:.6g}%"


def listed(names: Sequence[str], noun: str, most: int = 3) -> str:
    """How many there are, and the first of them.

    >>> listed(["AP", "RR"], "measure"), listed(["a", "b", "c", "d"], "run"), listed([], "query")
    ('2 measures (AP, RR)', '4 runs (a, b, c, ...)', '0 queries')
    """
    return plural(len(names), noun) + (f" ({decodable(few(names, most))})" if names else "")


def few(names: Sequence[str], most: int = 5) -> str:
    """The first names of a list.

    >>> few(["a", "b", "c"]), few(["a", "b", "c"], most=2)
    ('a, b, c', 'a, b, ...')
    """
    return ", ".join(map(printable, names[:most])) + (", ..." if len(names) > most else "")


def one_of(names: Sequence[str], word: str = "or") -> str:
    """Alternatives; with the word ``and``, all of them.

    >>> one_of(["a"]), one_of(["a", "b", "c"]), one_of(["a", "b"], "and")
    ('a', 'a, b or c', 'a and b')
    """
    return f" {word} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def printable(text: str, *, lines: bool = False) -> str:
    r"""Text for people and for formats with one row per line: control characters are written as escapes.

    Every text that comes from outside (ids, names of runs and files, words of documents) passes through here before it
    is shown. Bytes that are not UTF-8 stay as they are. ``lines`` keeps newlines.

    >>> printable("q1"), printable("q\x1b[2J\n1"), printable("two\nlines", lines=True)
    ('q1', 'q\\x1b[2J\\n1', 'two\nlines')
    """
    if text.isprintable():
        return text
    if lines:
        return "\n".join(map(printable, text.split("\n")))
    return re.sub(CONTROL, lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def decodable(text: str) -> str:
    r"""Text for programs that take valid Unicode only: bytes that are not UTF-8 are shown as �.

    >>> decodable("caf\udcff")
    'caf�'
    """
    return NO_BYTE.sub("�", text).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def spreadsheet_cell(text: str) -> str:
    r"""Text for a cell of a CSV file; a spreadsheet does not take it for a formula.

    >>> spreadsheet_cell("q1"), spreadsheet_cell("-5"), spreadsheet_cell("=1+1")
    ('q1', '-5', "'=1+1")
    """
    text = printable(text)
    is_formula = text.startswith(("=", "+", "-", "@")) and not re.fullmatch(_SIGNED_NUMBER, text)
    return f"'{text}" if is_formula else text


def nearest(name: str, candidates: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The candidate most similar to a misspelt name, or None.

    >>> nearest("tie", ["ties", "depth"])
    'ties'
    """
    import difflib  # slow to load, and only needed for errors

    return next(iter(difflib.get_close_matches(name, candidates, n=1, cutoff=cutoff)), None)


def did_you_mean(name: str, names: Iterable[str], otherwise: str) -> str:
    """The hint for an unknown name: the most similar one that is known, if there is one.

    >>> did_you_mean("tie", ["ties", "depth"], ""), did_you_mean("x", ["ties"], "one of ties")
    ('did you mean `ties`?', 'one of ties')
    """
    close = nearest(name, names)
    return f"did you mean `{close}`?" if close else otherwise


MAX_LENGTH = 60  # characters of a text in a table


def shortened(text: str) -> str:
    """A text for a table.

    >>> shortened("lamps " * 20)
    'lamps lamps lamps lamps lamps lamps lamps lamps lamps lam...'
    """
    text = " ".join(text.split())
    return text if len(text) <= MAX_LENGTH else text[: MAX_LENGTH - 3].rstrip() + "..."
