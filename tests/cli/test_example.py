"""The bundled example has the troubles that it promises."""

from __future__ import annotations

import json
from collections import defaultdict

import pytest

from cranfield import example
from cranfield.errors import UsageError

Ranking = dict[str, list[tuple[str, float]]]


def lines(name: str) -> list[list[str]]:
    return [line.split() for line in example.path(name).read_text().splitlines()]


def run(name: str) -> Ranking:
    found: Ranking = defaultdict(list)
    for query, _, document, _, score, _ in lines(name):
        found[query].append((document, float(score)))
    return found


@pytest.fixture
def documents() -> set[str]:
    return {json.loads(line)["id"] for line in example.path("documents.jsonl").read_text().splitlines()}


@pytest.fixture
def grades() -> dict[tuple[str, str], int]:
    return {(query, document): int(grade) for query, _, document, grade in lines(example.QRELS)}


def test_every_id_is_that_of_a_document(documents: set[str], grades: dict[tuple[str, str], int]) -> None:
    assert {document for _, document in grades} <= documents
    for name in example.RUNS:
        assert {document for ranking in run(name).values() for document, _ in ranking} <= documents


def test_one_query_has_no_answer(grades: dict[tuple[str, str], int]) -> None:
    queries = {json.loads(line)["id"] for line in example.path("queries.jsonl").read_text().splitlines()}
    assert {query for query, _ in grades} == queries
    assert queries - {query for (query, _), grade in grades.items() if grade > 0} == {"q8"}
    assert set(grades.values()) == {0, 1, 2, 3}


def test_subtopics_agree_with_the_plain_judgments(grades: dict[tuple[str, str], int]) -> None:
    best: dict[tuple[str, str], int] = {}
    for query, _, document, grade in lines(example.DIVERSITY):
        best[query, document] = max(best.get((query, document), 0), int(grade))
    assert best == grades


@pytest.mark.parametrize("name", example.RUNS)
def test_every_run_has_documents_that_nobody_judged(name: str, grades: dict[tuple[str, str], int]) -> None:
    assert any((query, document) not in grades for query, ranking in run(name).items() for document, _ in ranking)


@pytest.mark.parametrize("name", ["dense.run", "llm.run"])
def test_scores_tie(name: str) -> None:
    for ranking in run(name).values():
        assert len({score for _, score in ranking}) < len(ranking)


def test_quiet_answers_where_it_is_sure() -> None:
    assert set(run("quiet.run")) == {"q1", "q2", "q3", "q5", "q6", "q7"}


def test_an_unknown_file_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="the example has no file `x`"):
        example.path("x")
