"""Runs of TREC Change Detection: for each topic and day a ranking of questions, each with a ranking of documents.

JSON Lines: a line of metadata, then one for each topic: ``{"topic": t, "results": {day: [{"qid": q, "question-rank": 0,
"doc-ranking": [{"doc_id": d, "score": 1.5}]}]}}``. Names of fields may have underscores instead of hyphens.
``FILE#documents``, or FILE alone, is the run with a ranking of documents for each query ``topic/question/day``;
``FILE#questions`` the one with a ranking of questions for each query ``topic/day``. Equal ranks are tied.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cranfield.data import DailyRankings, ListedItems, Run
from cranfield.errors import InputError
from cranfield.io.columns import id_text
from cranfield.io.faults import quotable
from cranfield.io.formats.json import InvalidJson, load_json
from cranfield.io.streams import (
    BOM,
    ContentKind,
    FileFormat,
    Roles,
    SourceFormat,
    Stream,
    open_stream,
    reject_columns,
)

LARGEST = sys.float_info.max  # integers in JSON may be larger
MAX_DOCUMENTS = 100  # of a question and day; the track refuses more
_RESULTS = rb'"results"\s*:\s*[^\s\d"+-]'  # no score of a document with this id


class Answer(NamedTuple):
    """One question of a topic and day: its rank, and its documents with their scores."""

    topic: str
    day: str
    question: str
    rank: float
    documents: dict[str, float]


class _Reader:
    """The answers of a file; all its faults are one error."""

    def __init__(self, stream: Stream) -> None:
        self.source_name = stream.source_name
        self.faults: list[str] = []
        self.answers: list[Answer] = []
        self.days: dict[tuple[str, str], int] = {}  # the line of each topic and day
        topics: dict[str, int] = {}
        with stream.text_lines(newline="\n") as lines:
            for number, text in enumerate(lines, 1):
                if text.strip():
                    self._read_line(number, text.removeprefix("\ufeff"), topics)
        if self.faults:
            raise InputError(self.faults)
        if not topics:
            raise InputError([f"{self.source_name}: the file has no line with a topic"])

    def _fault(self, line: int, where: str, what: str) -> None:
        self.faults.append(f"{self.source_name}:{line}: {where}{': ' if where else ''}{what}")

    def _read_line(self, number: int, text: str, topics: dict[str, int]) -> None:
        try:
            line = load_json(text.rstrip("\r\n"))
        except InvalidJson as error:
            return self._fault(number, "", error.reason)
        if not isinstance(line, dict):
            return self._fault(number, "", f"expected an object, found {quotable(repr(line))}")
        if "topic" not in line and "results" not in line:
            return None if number == 1 else self._fault(number, "", "expected an object with a topic and its results")
        topic = id_text(line.get("topic"))
        if not topic:
            return self._fault(number, "", f"the topic is not an id: {quotable(repr(line.get('topic')))}")
        where = f"topic `{quotable(topic)}`"
        if topics.setdefault(topic, number) != number:
            return self._fault(number, where, f"it already has results, in line {topics[topic]}")
        if not isinstance(line.get("results"), dict):
            shown = quotable(repr(line.get("results")))
            return self._fault(number, where, f"expected results {{day: [question, ...]}}, found {shown}")
        for day, listed in line["results"].items():
            self.days[topic, day] = number
            of_day = f"{where}, day `{quotable(day)}`"
            if not isinstance(listed, list):
                self._fault(number, of_day, f"expected a list of questions, found {quotable(repr(listed))}")
                continue
            questions: set[str] = set()
            for item in listed:
                self._read_question(number, of_day, topic, day, item, questions)
        return None

    def _read_question(self, line: int, where: str, topic: str, day: str, item: Any, questions: set[str]) -> None:
        fields = self._fields(line, where, item, "a question")
        question = id_text(fields.get("qid"))
        if not question:
            if fields:
                self._fault(line, where, f"the qid of a question is not an id: {quotable(repr(fields.get('qid')))}")
            return
        where = f"{where}, question `{quotable(question)}`"
        if question in questions:
            self._fault(line, where, "it is listed twice")
        questions.add(question)
        rank, ranking = fields.get("question_rank"), fields.get("doc_ranking")
        if not isinstance(rank, int) or isinstance(rank, bool) or not 0 <= rank <= LARGEST:
            problem = "there is none" if rank is None else f"found {quotable(repr(rank))}"
            self._fault(line, where, f"the question-rank must be a whole number of at least 0; {problem}")
            rank = 0
        if not isinstance(ranking, list):
            self._fault(line, where, f"the doc-ranking must be a list, found {quotable(repr(ranking))}")
            ranking = []
        if len(ranking) > MAX_DOCUMENTS:
            self._fault(line, where, f"{len(ranking):,} documents; at most {MAX_DOCUMENTS} are allowed")
        documents = dict(self._documents(line, where, ranking))
        self.answers.append(Answer(topic, day, question, float(rank), documents))

    def _documents(self, line: int, where: str, ranking: list[Any]) -> Iterator[tuple[str, float]]:
        seen: set[str] = set()
        for item in ranking:
            fields = self._fields(line, where, item, "a document")
            name, score = id_text(fields.get("doc_id")), fields.get("score")
            if not name:
                if fields:
                    self._fault(line, where, f"the doc_id is not an id: {quotable(repr(fields.get('doc_id')))}")
                continue
            if name in seen:
                self._fault(line, where, f"document `{quotable(name)}` is listed twice")
            seen.add(name)
            if isinstance(score, bool) or not isinstance(score, int | float) or not -LARGEST <= score <= LARGEST:
                shown = quotable(repr(score))
                self._fault(line, where, f"document `{quotable(name)}`: the score is not a number: {shown}")
                continue
            yield name, float(score)

    def _fields(self, line: int, where: str, item: Any, what: str) -> Mapping[str, Any]:
        """The fields of an object, with underscores in their names; empty if it is faulty."""
        if not isinstance(item, dict) or not item:
            self._fault(line, where, f"expected {what} as an object, found {quotable(repr(item))}")
            return {}
        fields = {name.replace("-", "_"): value for name, value in item.items()}
        if len(fields) < len(item):
            self._fault(line, where, f"{what} has a field in both spellings, with a hyphen and with an underscore")
        return fields

    def run(self, name: str, items: ListedItems) -> Run:
        """The run that ranks these items."""
        rankings: dict[str, dict[str, float]] = {}
        if items == "questions":
            rankings = {f"{topic}/{day}": {} for topic, day in self.days}
            for answer in self.answers:
                rankings[f"{answer.topic}/{answer.day}"][answer.question] = 0.0 - answer.rank
        else:
            rankings = {f"{answer.topic}/{answer.question}/{answer.day}": answer.documents for answer in self.answers}
        listed = [(answer.topic, answer.day, answer.question) for answer in self.answers]
        return Run(name, DailyRankings(rankings, items, self.days, listed), self.source_name)


def is_change_run(stream: Stream, kind: ContentKind, _columns: Roles = None) -> bool:
    """Whether JSON Lines have topics with results by day."""
    head = stream.head.removeprefix(BOM)
    if kind != "run" or not head.lstrip().startswith(b"{"):
        return False
    return all(re.search(pattern, head) for pattern in (rb'"topic"\s*:', _RESULTS))


def read_run(stream: Stream, name: str, columns: Roles) -> Run:
    """The rankings of documents."""
    reject_columns(columns)
    return _Reader(stream).run(name, "documents")


def is_part(path: str) -> bool:
    """Whether a path is FILE#documents or FILE#questions, and FILE exists."""
    file, _, items = path.rpartition("#")
    return items in ("documents", "questions") and not os.path.exists(path) and os.path.isfile(file)


def read_part(path: str, name: str | None) -> Run:
    """The rankings of documents or of questions."""
    file, _, items = path.rpartition("#")
    stream = open_stream(file, "run")
    if not is_change_run(stream, "run"):
        hint = 'lines look like {"topic": ..., "results": {day: [{"qid": ..., "question-rank": 0, "doc-ranking": []}]}}'
        raise InputError([f"{file}: #{items} is for runs of Change Detection, which this is not"], hint=hint)
    kind: ListedItems = "questions" if items == "questions" else "documents"
    return _Reader(stream).run(name or (stream.name if kind == "documents" else f"{stream.name}#questions"), kind)


FORMATS = (
    FileFormat("Change Detection", priority=-7, recognises=is_change_run, read_run=read_run, listed=False),
    SourceFormat("Change Detection part", is_part, read_run=read_part),
)
