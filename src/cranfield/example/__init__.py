"""A small collection that comes with the package: questions of visitors to a lighthouse museum.

Eight queries, sixty-two short documents, judgments from 0 to 3, and four systems, all invented. The collection has
every problem of real collections: tied scores (``dense``, ``llm``), lists that end early (``llm``, ``quiet``), a query
that a run does not answer (``quiet``, q4), unjudged documents (in all runs), and a query without relevant documents
(q8).
"""

from __future__ import annotations

from pathlib import Path

from cranfield.errors import UsageError

QRELS = "qrels.txt"
DIVERSITY = "qrels.diversity.txt"
DOCUMENTS = "documents.jsonl"
RUNS = ("bm25.run", "dense.run", "llm.run", "quiet.run")
NAMES = (DOCUMENTS, "queries.jsonl", QRELS, DIVERSITY, *RUNS)


def path(name: str) -> Path:
    """The path of a file of the example.

    >>> path("qrels.txt").name
    'qrels.txt'
    """
    if name not in NAMES:
        raise UsageError(f"the example has no file `{name}`", hint=f"it has {', '.join(NAMES)}")
    return Path(__file__).with_name(name)
