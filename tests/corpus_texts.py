"""A small collection that tests share, and ways to look at one."""

from __future__ import annotations

from cranfield.corpus import Corpus

TEXTS = {
    "D1": "apple pie apple tart",
    "D2": "apple phone chip",
    "D3": "phone chip phone screen",
    "D4": "banana pie recipe",
    "D5": "the the of apple",
    "D6": "chip fab wafer the",
}


def vectors(corpus: Corpus) -> dict[str, dict[str, int]]:
    """The words of each document."""
    terms = list(corpus.terms)
    return {
        name: {terms[t]: int(c) for t, c in zip(corpus.term[a:b], corpus.count[a:b], strict=True)}
        for name, a, b in zip(corpus.documents, corpus.begin[:-1], corpus.begin[1:], strict=True)
    }


def frequencies(corpus: Corpus) -> dict[str, int]:
    """How often each term occurs in the collection."""
    return dict(zip(corpus.terms, corpus.frequency.tolist(), strict=True))


def same(one: Corpus, other: Corpus) -> None:
    """All but where they came from."""
    assert vectors(one) == vectors(other)
    assert frequencies(one) == frequencies(other)
    for name in ("total", "size", "empty", "repeated", "settings"):
        assert getattr(one, name) == getattr(other, name), name
    for name in ("terms", "documents", "missing"):
        assert list(getattr(one, name)) == list(getattr(other, name)), name
    assert one.begin.tolist() == other.begin.tolist()
    assert one.term.tolist() == other.term.tolist()
