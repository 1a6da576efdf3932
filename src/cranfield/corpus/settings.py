"""How text becomes words, and words terms.

A word is a longest run of letters, digits and the marks that go with them, in any script; a script that puts no
space between words is to be split beforehand, and read with ``split="space"``. A term is a word in lower case and
in Unicode's composed form, unless it is a stop word; then its stem, where there is a stemmer.

Only the first step looks at every word of a collection. The others are done once for each different word.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

import numpy as np

from cranfield.corpus.english import ENGLISH
from cranfield.data import Bytes
from cranfield.errors import UsageError
from cranfield.io.optional import optional
from cranfield.io.streams import opened

Split = Literal["word", "space"]

SEPARATES, BEGINS, CONTINUES = 0, 1, 2
_JOINERS = (0x200C, 0x200D)  # invisible, and inside of words in Persian and in scripts of India
_SURROGATES = (0xD800, 0xE000)  # no text of their own, but what stands for bytes that are no UTF-8
_ASSIGNED = ((0, 0x32400), (0xE0100, 0xE01F0))  # beyond these Unicode has no letters, digits and marks yet


@dataclass(frozen=True)
class Settings:
    """What is a word, and which words are the same. The defaults keep every word as it stands, in lower case."""

    split: Split = "word"
    lower: bool = True
    stop: frozenset[str] = frozenset()
    stemmer: str = "none"

    def __post_init__(self) -> None:
        if self.split not in get_args(Split):
            raise UsageError(f"unknown way to split `{self.split}`", hint=f"one of {', '.join(get_args(Split))}")
        if self.stemmer != "none":
            _stemmer(self.stemmer)

    def terms(self, words: Iterable[str]) -> list[str]:
        """The term of each word; "" for stop words.

        >>> Settings(stop=frozenset(["the"])).terms(["The", "PIES"])
        ['', 'pies']
        """
        # Lower-casing may take a composed letter apart, so composing comes after it.
        found = [unicodedata.normalize("NFC", word.lower() if self.lower else word) for word in words]
        if self.stop:
            found = ["" if term.lower() in self.stop else term for term in found]
        return found if self.stemmer == "none" else _stemmer(self.stemmer)(found)

    def __str__(self) -> str:
        parts = [f"split={self.split}", f"stemmer={self.stemmer}"]
        parts += [f"stop={len(self.stop):,} words" if self.stop else "stop=none"]
        return ", ".join(parts if self.lower else [*parts, "case=kept"])


def stop_words(source: str) -> frozenset[str]:
    """``none``, ``english``, or the words in a file, apart by white space, in lower case."""
    if source == "none":
        return frozenset()
    if source == "english":
        return ENGLISH
    words = opened(source, "stop words").content().decode("utf-8", "surrogateescape").split()
    return frozenset(unicodedata.normalize("NFC", word.lower()) for word in words)


@cache
def _stemmer(name: str) -> Callable[[list[str]], list[str]]:
    package: Any = optional("Stemmer", "stemming", "stem")
    if name not in package.algorithms():
        raise UsageError(f"unknown stemmer `{name}`", hint=f"none, {', '.join(package.algorithms())}")
    stem: Callable[[list[str]], list[str]] = package.Stemmer(name).stemWords
    return stem


@cache
def kinds(split: Split) -> Bytes:
    """For each code point whether it separates words, may begin one, or can only continue one.

    >>> kinds("word")[[ord(c) for c in " a_é"]].tolist()
    [0, 1, 0, 1]
    """
    table = np.zeros(_ASSIGNED[-1][1], np.uint8)
    by_class = {"L": BEGINS, "N": BEGINS, "M": CONTINUES}
    for begin, end in _ASSIGNED:
        signs = map(chr, range(begin, end))
        if split == "word":
            table[begin:end] = [by_class.get(unicodedata.category(sign)[0], SEPARATES) for sign in signs]
        else:
            table[begin:end] = [SEPARATES if sign.isspace() else BEGINS for sign in signs]
    if split == "word":
        table[list(_JOINERS)] = CONTINUES
    table[slice(*_SURROGATES)] = SEPARATES
    return table
