"""Texts of queries, to show beside their ids."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from typing import Any

from cranfield.errors import InputError
from cranfield.io.collection import read_texts
from cranfield.io.documents import FieldChoice
from cranfield.io.faults import quotable
from cranfield.io.formats.json import InvalidJson, load_json
from cranfield.io.streams import open_stream

MAX_LENGTH = 60  # characters of a text in a table
ID_FIELDS = ("query_id", "qid", "_id", "id", "topic_id")
TEXT_FIELDS = ("text", "query", "title", "question", "topic")
_TOPIC = re.compile(r"<num>\s*(?:Number:)?\s*(\S+?)\s*(?:</num>\s*)?<title>\s*(?:Topic:)?\s*(.*?)\s*<", re.I | re.S)
_JSON = re.compile(rb'\s*\{\s*"')


def read_query_texts(source: Any, queries: Collection[str]) -> dict[str, str]:
    """The texts of these queries, as far as the source has them; an error if it has none of them.

    The source is a BEIR folder, JSON Lines with an id and a text, lines with an id, a tab and a text, or TREC topics.
    """
    path = os.fsdecode(source)
    if os.path.isdir(path):
        path = os.path.join(path, "queries.jsonl")
    stream = open_stream(path, "queries")
    if b"<num>" in stream.head.lower():
        found = {name: " ".join(text.split()) for name, text in _TOPIC.findall(stream.read_text() + "<")}
        texts = {name: found[name] for name in queries if name in found}
    else:
        texts = read_texts([path], queries, _fields(stream.head))
    if not texts:
        raise InputError([f"{path}: no text for any query (first query: `{quotable(next(iter(queries), ''))}`)"])
    return texts


def _fields(head: bytes) -> FieldChoice:
    """The fields of JSON Lines, which are other ones than those of documents."""
    if not _JSON.match(head):
        return FieldChoice()
    try:
        record = load_json(head.split(b"\n")[0].decode("utf-8", "replace"))
    except InvalidJson:
        return FieldChoice()
    name = next((field for field in ID_FIELDS if field in record), None)
    text = next((field for field in TEXT_FIELDS if field in record and field != name), None)
    return FieldChoice(name, (text,)) if name and text else FieldChoice()


def shortened(text: str) -> str:
    """A text for a table.

    >>> shortened("lamps " * 20)
    'lamps lamps lamps lamps lamps lamps lamps lamps lamps lam...'
    """
    text = " ".join(text.split())
    return text if len(text) <= MAX_LENGTH else text[: MAX_LENGTH - 3].rstrip() + "..."
