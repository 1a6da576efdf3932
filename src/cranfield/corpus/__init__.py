"""The words of documents, for measures that compare contents: corpora, language models and divergences."""

from cranfield.corpus.corpus import Corpus, needed_documents
from cranfield.corpus.models import Settings, stop_words

__all__ = ["Corpus", "Settings", "needed_documents", "stop_words"]
