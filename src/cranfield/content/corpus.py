"""A collection as language models need it: the words of some documents, and how often each occurs in all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cranfield.content.counting import Counting
from cranfield.content.settings import Settings
from cranfield.data import Integers, Strings
from cranfield.errors import InputError
from cranfield.formats.faults import shown


@dataclass(frozen=True, eq=False)
class Corpus:
    """What a collection says about its words, and the words of the documents that matter.

    Words of other documents are in ``total`` and in the frequencies alone: P(v|D) of a term that none of the
    documents at hand has is never asked for. Terms and ids are in the order of their bytes.
    """

    terms: Strings  # of the documents whose words are kept
    frequency: Integers  # (t,) how often each of these terms occurs in the whole collection
    total: int  # words in the whole collection, stop words left out
    documents: Strings  # those whose words are kept
    begin: Integers  # (d + 1,) document i's words are rows begin[i]:begin[i + 1]
    term: Integers  # (n,) row of `terms`, ascending within a document
    count: Integers  # (n,) how often the term occurs in the document
    settings: Settings
    size: int  # documents in the collection
    empty: int  # of which had no words
    missing: Strings  # ids of documents asked for that the collection does not have

    @classmethod
    def of(
        cls, texts: Mapping[str, str], wanted: Iterable[str] | None = None, settings: Settings | None = None
    ) -> Corpus:
        """A small collection in memory; ``wanted`` are the documents whose words to keep, all where it is None.

        >>> corpus = Corpus.of({"D1": "Apple pie, apple tart", "D2": "apple phone"}, wanted=["D1", "D9"])
        >>> list(corpus.terms), corpus.frequency.tolist(), corpus.total
        (['apple', 'pie', 'tart'], [3, 1, 1], 6)
        >>> corpus.count.tolist(), list(corpus.missing)
        ([2, 1, 1], ['D9'])
        """
        if isinstance(wanted, str):
            wanted = [wanted]
        settings = settings or Settings()
        counting = Counting(settings, texts if wanted is None else wanted)
        wrong = {name: type(text).__name__ for name, text in texts.items() if not isinstance(text, str)}
        if wrong:
            raise InputError([f"document `{shown(name)}`: expected text, found {kind}" for name, kind in wrong.items()])
        counting.add(list(texts), list(texts.values()))
        return cls(**counting.columns(), settings=settings)
