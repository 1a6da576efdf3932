"""A page to judge documents on: one file that works without a network, with the keyboard, and on a phone."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

from cranfield import __version__
from cranfield.errors import UsageError
from cranfield.evaluation.predicted import mapping_of
from cranfield.io import read_qrels
from cranfield.io.collection import read_texts
from cranfield.io.query_texts import read_query_texts
from cranfield.judging.next_documents import Proposal


def judging_page(
    proposals: Sequence[Proposal],
    *,
    name: str = "",
    texts: Any = None,
    queries_file: Any = None,
    grades: Sequence[str] = ("0", "1", "2", "3"),
    suggestions: Any = None,
) -> str:
    """The HTML of a page with these documents.

    ``texts``: a collection with the texts of documents; ``queries_file``: the texts of queries. ``grades``: what may
    be given, each a single digit. ``suggestions``: predicted judgments, which the page marks and does not count.
    """
    if not grades or any(len(grade) != 1 or not grade.isdigit() for grade in grades):
        raise UsageError(f"the grades of the page must be single digits, not `{' '.join(grades)}`")
    if not proposals:
        raise UsageError(
            "there is no document to judge", hint="ask for a higher confidence, or for another strategy, such as depth"
        )
    text_of = {} if texts is None else read_texts([texts], {proposal.document for proposal in proposals})
    queries = dict.fromkeys(proposal.query for proposal in proposals)
    query_text_of = {} if queries_file is None else read_query_texts(queries_file, queries)
    said = {} if suggestions is None else mapping_of(read_qrels(suggestions))
    documents = [
        {
            "query": proposal.query,
            "document": proposal.document,
            "topic": query_text_of.get(proposal.query),
            "text": text_of.get(proposal.document),
            "reason": _reason(proposal),
            "suggestion": _suggestion(said.get(proposal.query, {}).get(proposal.document), grades),
        }
        for proposal in proposals
    ]
    pairs = "\n".join(f"{proposal.query} {proposal.document}" for proposal in proposals)
    data = {
        "id": f"{zlib.crc32(pairs.encode('utf-8', 'surrogateescape')):08x}",
        "name": name,
        "grades": list(grades),
        "documents": documents,
    }
    # Nothing in a script may look like its end tag.
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    template = files("cranfield.judging").joinpath("page.html").read_text(encoding="utf-8")
    before, _, after = template.partition("{data}")
    return before.replace("{version}", escape(__version__)) + text + after


def _reason(proposal: Proposal) -> str:
    if math.isnan(proposal.change):
        return ""
    return f"It can change {proposal.run} – {proposal.other} by {proposal.change:.4f}"


def _suggestion(grade: float | None, grades: Sequence[str]) -> str | None:
    text = None if grade is None else f"{grade:g}"
    return text if text in grades else None
