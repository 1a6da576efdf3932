"""What documents say: the words of a collection, for measures that compare contents and not only judgments."""

from cranfield.content.corpus import Corpus
from cranfield.content.settings import Settings, stop_words
from cranfield.content.wanted import wanted

__all__ = ["Corpus", "Settings", "stop_words", "wanted"]
