"""What documents say: the words of a collection, for measures that compare contents and not only judgments."""

from cranfield.content.corpus import Corpus
from cranfield.content.settings import Settings

__all__ = ["Corpus", "Settings"]
