"""What documents say: the words of a collection, for measures that compare contents and not only judgments."""

from cranfield.corpus.corpus import Corpus
from cranfield.corpus.settings import Settings, stop_words
from cranfield.corpus.wanted import wanted

__all__ = ["Corpus", "Settings", "stop_words", "wanted"]
