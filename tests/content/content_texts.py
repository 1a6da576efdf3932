"""Ways to look at a corpus that tests share."""

from __future__ import annotations

from cranfield.content import Corpus


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
