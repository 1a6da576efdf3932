"""Lists of lists: which days of a table of queries a run answers, and what it lists that the table does not know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cranfield.data import DailyRankings, Judgments, Run
from cranfield.errors import InputError, max_faults
from cranfield.io.faults import quotable

if TYPE_CHECKING:
    from cranfield.evaluation.collection import AbsentDays

Table = Mapping[str, Mapping[str, str]]
HINT = (
    'absent_days="empty" of the collection takes these days as answered by empty lists; "tied" ranks all known '
    "questions as tied"
)


def fill_days(run: Run, queries: Table, judgments: Judgments, absent: AbsentDays) -> Run:
    """The run with a ranking for every query of the table; ``absent``: what happens on days that it does not mention.

    A question that the list of a day leaves out has no documents.
    """
    days = run.source
    assert isinstance(days, DailyRankings)
    check_table(queries)
    _check_items(run, days, queries)
    day_of = {query: (about["topic"], about["day"]) for query, about in queries.items()}
    unanswered = [day for day in dict.fromkeys(day_of.values()) if day not in days.line]
    if unanswered and absent == "error":
        faults = [
            f"{run.source_name or run.name}: topic `{quotable(topic)}` has no day `{quotable(day)}`"
            for topic, day in unanswered
        ]
        raise InputError(faults[: max_faults()], hint=HINT, total=len(faults))
    filled: dict[str, Any] = {query: days.get(query, {}) for query in queries} | dict(days)
    if absent == "tied" and days.ranks == "questions":
        by_topic = known_questions(days, queries, judgments)
        without = set(unanswered)
        tied = {query: dict.fromkeys(by_topic.get(day[0], ()), 0.0) for query, day in day_of.items() if day in without}
        filled |= tied
    return replace(run, source=filled)


def check_table(queries: Table) -> None:
    """Raise if a query of the table has no topic or no day."""
    faults = [
        f"queries: query `{quotable(query)}` has no {name}"
        for query, about in queries.items()
        for name in ("topic", "day")
        if name not in about
    ]
    if faults:
        hint = "runs of Change Detection need a table of queries with the columns query, topic, question and day"
        raise InputError(faults[: max_faults()], hint=hint, total=len(faults))


def _check_items(run: Run, days: DailyRankings, queries: Table) -> None:
    """Raise if the table has no query of the kind that the run ranks items for."""
    kind = "topic/day" if days.ranks == "questions" else "topic/question/day"
    of_table = ("/".join(about.get(part, "") for part in kind.split("/")) for about in queries.values())
    if queries and not any(query in queries for query in (*days, *of_table)):
        source, first = run.source_name or run.name, quotable(next(iter(queries)))
        raise InputError(
            [f"{source}: the queries of {days.ranks} are `{kind}`, and the table has none (first query: `{first}`)"],
            hint="give the table that belongs to the judgments; FILE#questions and FILE#documents choose the ranking",
        )


def known_questions(days: DailyRankings, queries: Table, judgments: Judgments) -> dict[str, dict[str, None]]:
    """The questions of each topic that the table names, in its columns question or questions.

    If it names none, those that are judged, or that the run ranks on any day.
    """
    by_topic = _table_questions(queries)
    if any(by_topic.values()):
        return by_topic
    for query, begin, end in zip(judgments.queries, judgments.begin[:-1], judgments.begin[1:], strict=True):
        topic = queries.get(query, {}).get("topic", query.rpartition("/")[0])
        by_topic.setdefault(topic, {}).update(dict.fromkeys(judgments.documents[i] for i in range(begin, end)))
    for topic, _, question in days.listed:
        by_topic.setdefault(topic, {})[question] = None
    return by_topic


def _table_questions(queries: Table) -> dict[str, dict[str, None]]:
    """The questions of each topic that the table names, in its columns question or questions."""
    by_topic: dict[str, dict[str, None]] = {}
    for about in queries.values():
        named = [about["question"]] if "question" in about else about.get("questions", "").replace(",", " ").split()
        by_topic.setdefault(about["topic"], {}).update(dict.fromkeys(named))
    return by_topic


def check_days(run: Run, queries: Table, judgments: Judgments) -> list[str]:
    """Raise for what the checker of the track would refuse: unknown questions, and documents of another day.

    Questions are those of the table of queries. Without a table, the judged queries ``topic/question/day`` need not
    name all questions, so that the others are only warnings, which are returned. The day of a document is that of its
    judgments.
    """
    days = run.source
    if not isinstance(days, DailyRankings):
        return []
    faults: list[str] = []
    warnings: list[str] = []
    if days.ranks == "questions":
        by_topic = _table_questions(queries) if queries else {}
        faults = list(_unknown_questions(run, days, by_topic)) if any(by_topic.values()) else []
    else:
        about = queries or {query: split_query(query) for query in judgments.queries}
        check_table(about)
        unknown = list(_unknown_questions(run, days, _table_questions(about)))
        faults, warnings = (unknown, []) if queries else ([], unknown)
        faults += _other_days(run, days, about, judgments)
    if faults:
        raise InputError(faults[: max_faults()], total=len(faults))
    return warnings


def _where(run: Run, days: DailyRankings, topic: str, day: str) -> str:
    return f"{run.source_name}:{days.line[topic, day]}: topic `{quotable(topic)}`, day `{quotable(day)}`"


def _unknown_questions(run: Run, days: DailyRankings, questions: dict[str, dict[str, None]]) -> Iterator[str]:
    """A fault for each unknown question of a topic, where it is listed first."""
    named_questions = {(topic, question) for topic, named in questions.items() for question in named}
    for topic, day, question in days.listed:
        if (topic, question) not in named_questions:
            named_questions.add((topic, question))
            yield f"{_where(run, days, topic, day)}: unknown question `{quotable(question)}`"


def _other_days(run: Run, days: DailyRankings, about: Table, judgments: Judgments) -> Iterator[str]:
    """A fault for each document that is judged for other days only."""
    days_of: dict[str, set[str]] = {}
    for query, begin, end in zip(judgments.queries, judgments.begin[:-1], judgments.begin[1:], strict=True):
        day = about.get(query, split_query(query)).get("day", "")
        for i in range(begin, end):
            days_of.setdefault(judgments.documents[i], set()).add(day)
    for topic, day, question in days.listed:
        for document in days[f"{topic}/{question}/{day}"]:
            if day not in days_of.get(document, {day}):
                of_day = f"document `{quotable(document)}` is of day `{quotable(min(days_of[document]))}`"
                yield f"{_where(run, days, topic, day)}, question `{quotable(question)}`: {of_day}"


def split_query(query: str) -> dict[str, str]:
    """The topic, question and day in the id of a query of documents, as far as it has them.

    >>> split_query("t1/q2/2026-03-01")
    {'topic': 't1', 'question': 'q2', 'day': '2026-03-01'}
    """
    rest, _, day = query.rpartition("/")
    topic, _, question = rest.rpartition("/")
    return {"topic": topic or rest, "question": question if topic else "", "day": day}
