"""A small collection that comes with the package: what visitors ask a lighthouse museum.

Eight queries, sixty-two short documents, judgments from 0 to 3, and four systems. The sentences, the
museum and the judgments are made up. It has one of every trouble that real collections have: scores that
tie (``dense``, ``llm``), lists that stop early (``llm``, ``quiet``), a query that a run does not
have (``quiet``, q4), documents that nobody judged (everywhere), and a query that nothing answers (q8).
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
    """Where a file of the example is.

    >>> path("qrels.txt").name
    'qrels.txt'
    """
    if name not in NAMES:
        message = f"the example has no file `{name}`"
        raise UsageError(message, hint=f"it has {', '.join(NAMES)}")
    return Path(__file__).with_name(name)
