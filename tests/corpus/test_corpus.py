"""Small collections in memory: what counts as a word, and what is kept of whom."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_samples import TEXTS, frequencies, vectors
from cranfield.corpus import Corpus, Settings
from cranfield.errors import CranfieldError, InputError


def test_worked_example() -> None:
    corpus = Corpus.of(TEXTS)
    assert vectors(corpus)["D1"] == {"apple": 2, "pie": 1, "tart": 1}
    expected = {"apple": 4, "pie": 2, "tart": 1, "phone": 3, "chip": 3, "screen": 1}
    expected |= {"banana": 1, "recipe": 1, "the": 3, "of": 1, "fab": 1, "wafer": 1}
    assert frequencies(corpus) == expected
    assert (corpus.total, corpus.size, corpus.empty, len(corpus.missing)) == (22, 6, 0, 0)


def test_words_of_others_count_but_are_not_kept() -> None:
    corpus = Corpus.of(TEXTS, wanted=["D3", "D9", "D1", "D3"])
    assert list(corpus.documents) == ["D1", "D3"]
    assert list(corpus.missing) == ["D9"]
    assert frequencies(corpus) == {"apple": 4, "pie": 2, "tart": 1, "phone": 3, "chip": 3, "screen": 1}
    assert corpus.total == 22


def test_an_empty_corpus_and_empty_documents() -> None:
    corpus = Corpus.of({}, wanted=["a"])
    assert (corpus.total, corpus.size, len(corpus.terms), list(corpus.missing)) == (0, 0, 0, ["a"])
    assert corpus.begin.tolist() == [0]
    corpus = Corpus.of({"a": " ... ", "b": ""})
    assert (corpus.size, corpus.empty, corpus.begin.tolist()) == (2, 2, [0, 0, 0])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't stop_words", "don t stop words"),
        ("e-mail: a.b@c.de, 3.14", "e mail a b c de 3 14"),
        ("Ärger ÄRGER", "ärger"),
        ("cafe\u0301 café", "café"),  # composed and not: the same word
        ("ΟΔΟΣ İstanbul", "οδος i\u0307stanbul"),
        ("हिन्दी भाषा", "हिन्दी भाषा"),  # vowel signs are marks, and inside of words
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("x\u0301y \u0301z", "x\u0301y z"),  # a mark alone begins no word
        ("2\u20e3 ½ Ⅳ x²", "2\u20e3 ½ ⅳ x²"),
        ("中文，中文", "中文"),
        ("a\ud800b \ufffd c\x00d", "a b c d"),
        ("𝔘𝔫𝔦 𐐀𐐨", "𝔘𝔫𝔦 𐐨𐐨"),
    ],
)
def test_what_is_a_word(text: str, words: str) -> None:
    assert set(Corpus.of({"d": text}).terms) == set(words.split(" "))


def test_case_may_matter() -> None:
    corpus = Corpus.of({"d": "US us Ö ö"}, settings=Settings(lower=False))
    assert list(corpus.terms) == ["US", "us", "Ö", "ö"]
    assert list(Corpus.of({"d": "US us Ö ö"}).terms) == ["us", "ö"]


def test_split_at_spaces_only() -> None:
    corpus = Corpus.of({"d": "don't  中 文\u3000x-y\n"}, settings=Settings(split="space"))
    assert set(corpus.terms) == {"don't", "中", "文", "x-y"}


def test_stop_words_are_left_out_of_everything() -> None:
    corpus = Corpus.of(TEXTS, settings=Settings(stop=frozenset(["the", "of"])))
    assert corpus.total == 18
    assert vectors(corpus)["D5"] == {"apple": 1}
    assert corpus.empty == 0


def test_words_of_one_stem_are_one_term() -> None:
    pytest.importorskip("Stemmer")
    texts = {"a": "connected connecting connects", "b": "connection"}
    corpus = Corpus.of(texts, wanted=["a"], settings=Settings(stemmer="porter"))
    assert vectors(corpus) == {"a": {"connect": 3}}
    assert frequencies(corpus) == {"connect": 4}


@pytest.mark.parametrize("wrong", [{"split": "x"}, {"stemmer": "x"}])
def test_unknown_settings(wrong: dict) -> None:
    with pytest.raises(CranfieldError):
        Settings(**wrong)


def test_texts_must_be_texts() -> None:
    with pytest.raises(InputError, match="document `b`: expected text, found NoneType"):
        Corpus.of({"a": "x", "b": None})  # type: ignore[dict-item]


documents = st.dictionaries(st.text(max_size=3), st.lists(st.sampled_from(["a", "B", "b", "ß", "é", "e\u0301"])))


@settings(deadline=None)
@given(documents, st.sets(st.text(max_size=3)) | st.none())
def test_same_as_counting_by_hand(texts: dict[str, list[str]], wanted: set[str] | None) -> None:
    texts = {name.encode("utf-8", "replace").decode(): words for name, words in texts.items()}
    folded = {n: Counter(w.lower().replace("e\u0301", "é") for w in words) for n, words in texts.items()}
    corpus = Corpus.of({n: " ".join(words) for n, words in texts.items()}, wanted)
    kept = set(texts) if wanted is None else wanted & set(texts)
    everything = sum(folded.values(), Counter())
    assert vectors(corpus) == {n: dict(folded[n]) for n in kept}
    assert frequencies(corpus) == {t: everything[t] for n in kept for t in folded[n]}
    assert corpus.total == everything.total()
    assert list(corpus.terms) == sorted(corpus.terms, key=str.encode)
    assert set(corpus.missing) == (wanted or set()) - kept
    assert corpus.empty == sum(not words for words in texts.values())
    assert all(np.all(np.diff(corpus.term[a:b]) > 0) for a, b in pairwise(corpus.begin))
