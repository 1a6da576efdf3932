"""How text becomes words, and words become terms.

A word is a maximal sequence of letters, digits and combining marks, in any script. Text in a script without spaces
between words must be split beforehand and read with ``split="space"``. A term is a word in lower case and in Unicode's
composed form (NFC), stemmed if there is a stemmer; stop words are left out.

Splitting is done for every word of a collection, the other steps only once for each distinct word.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

import numpy as np

from cranfield.data import Bytes
from cranfield.errors import UsageError, optional
from cranfield.io.streams import open_stream

Split = Literal["word", "space"]

SEPARATES, BEGINS, CONTINUES = 0, 1, 2
_JOINERS = (0x200C, 0x200D)  # invisible; inside of words in Persian and in Indian scripts
_SURROGATES = (0xD800, 0xE000)  # stand for bytes that are not UTF-8
_ASSIGNED = ((0, 0x32400), (0xE0100, 0xE01F0))  # Unicode has no letters, digits and marks elsewhere


# English function words.
_ARTICLES = "a an the"
_PRONOUNS = """
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her
hers herself it its itself they them their theirs themselves one this that these those who whom whose which
what
"""
_VERBS = """
am is are was were be been being have has had having do does did doing done can could shall should will would
may might must ought
"""
_PREPOSITIONS = """
about above across after against along among around at before behind below beneath beside between beyond by
down during for from in inside into near of off on onto out outside over past since through throughout till to
toward towards under until up upon with within without
"""
_CONJUNCTIONS = "although and as because but if nor or so than though unless when where whereas whether while yet"
_OTHERS = """
again all also any both each either else ever every few here how however just more most much neither never no
not now once only other own perhaps quite same some such then there therefore thus too very why
"""
_ENDINGS = "s t d m o y re ve ll don didn doesn isn aren wasn weren hasn haven hadn won wouldn shouldn couldn mustn"

ENGLISH_STOP_WORDS = frozenset(
    " ".join((_ARTICLES, _PRONOUNS, _VERBS, _PREPOSITIONS, _CONJUNCTIONS, _OTHERS, _ENDINGS)).split()
)


@dataclass(frozen=True)
class Settings:
    """What a word is, and which words are the same term. By default every word is kept, in lower case."""

    split: Split = "word"
    lower: bool = True
    stop: frozenset[str] = frozenset()
    stemmer: str = "none"

    def __post_init__(self) -> None:
        if self.split not in get_args(Split):
            raise UsageError(f"unknown value of split: `{self.split}`", hint=f"use one of {', '.join(get_args(Split))}")
        if self.stemmer != "none":
            _stemmer(self.stemmer)

    def terms(self, words: Iterable[str]) -> list[str]:
        """The term of each word; "" for stop words.

        >>> Settings(stop=frozenset(["the"])).terms(["The", "PIES"])
        ['', 'pies']
        """
        # Lower-casing may decompose a letter, so composition comes after it.
        terms = [unicodedata.normalize("NFC", word.lower() if self.lower else word) for word in words]
        if self.stop:
            terms = ["" if term.lower() in self.stop else term for term in terms]
        return terms if self.stemmer == "none" else _stemmer(self.stemmer)(terms)

    def __str__(self) -> str:
        parts = [f"split={self.split}", f"stemmer={self.stemmer}"]
        parts += [f"stop={len(self.stop):,} words" if self.stop else "stop=none"]
        return ", ".join(parts if self.lower else [*parts, "case=kept"])


def stop_words(source: str) -> frozenset[str]:
    """``none``, ``english``, or the words in a file, separated by white space, in lower case."""
    if source == "none":
        return frozenset()
    if source == "english":
        return ENGLISH_STOP_WORDS
    words = open_stream(source, "stop words").read().decode("utf-8", "surrogateescape").split()
    return frozenset(unicodedata.normalize("NFC", word.lower()) for word in words)


@cache
def _stemmer(name: str) -> Callable[[list[str]], list[str]]:
    package: Any = optional("Stemmer", "stemming", "stem")
    if name not in package.algorithms():
        raise UsageError(f"unknown stemmer `{name}`", hint=f"use none, {', '.join(package.algorithms())}")
    stem: Callable[[list[str]], list[str]] = package.Stemmer(name).stemWords
    return stem


@cache
def character_classes(split: Split) -> Bytes:
    """For each code point: whether it separates words, can begin a word, or can only continue one.

    >>> character_classes("word")[[ord(c) for c in " a_é"]].tolist()
    [0, 1, 0, 1]
    """
    table = np.zeros(_ASSIGNED[-1][1], np.uint8)
    by_class = {"L": BEGINS, "N": BEGINS, "M": CONTINUES}
    for begin, end in _ASSIGNED:
        characters = map(chr, range(begin, end))
        if split == "word":
            table[begin:end] = [by_class.get(unicodedata.category(character)[0], SEPARATES) for character in characters]
        else:
            table[begin:end] = [SEPARATES if character.isspace() else BEGINS for character in characters]
    if split == "word":
        table[list(_JOINERS)] = CONTINUES
    table[slice(*_SURROGATES)] = SEPARATES
    return table
