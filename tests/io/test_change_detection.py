"""Runs of TREC Change Detection: their rankings of documents and questions, days, nested means, and faults."""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.errors import InputError, UsageError

DAYS = ("2026-03-01", "2026-03-02")
META = {"runtag": "toy", "team": "x"}


def question(qid: str, rank: int, documents: dict[str, float], hyphens: bool = True) -> dict[str, Any]:
    names = ("question-rank", "doc-ranking") if hyphens else ("question_rank", "doc_ranking")
    return {"qid": qid, names[0]: rank, names[1]: [{"doc_id": d, "score": s} for d, s in documents.items()]}


# Day 1 of t1: q1 and q2 tied first, then q3. Day 2: the system says that there is nothing. t2: nothing on both days.
LINES = [
    META,
    {
        "topic": "t1",
        "results": {
            DAYS[0]: [question("q1", 0, {"a": 2.0, "b": 1.0}), question("q2", 0, {"c": 1.0, "d": 1.0}, False),
                      question("q3", 1, {"e": 1.0})],
            DAYS[1]: [],
        },
    },
    {"topic": "t2", "results": {DAYS[0]: [], DAYS[1]: []}},
]  # fmt: skip
DOCUMENTS = {"t1/q1/2026-03-01": {"a": 10, "z": 5}, "t1/q2/2026-03-01": {"d": 1}}
QUESTIONS = {"t1/2026-03-01": {"q1": 10, "q2": 1}}


def table() -> dict[str, dict[str, str]]:
    return {
        f"{topic}/{q}/{day}": {"topic": topic, "question": q, "day": day}
        for topic in ("t1", "t2")
        for q in ("q1", "q2", "q3")
        for day in DAYS
    }


def question_table() -> dict[str, dict[str, str]]:
    return {f"{t}/{day}": {"topic": t, "day": day, "questions": "q1 q2 q3"} for t in ("t1", "t2") for day in DAYS}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write(tmp_path, LINES)


def write(folder: Path, lines: list[Any]) -> Path:
    path = folder / "run.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def test_documents_by_topic_question_and_day_are_the_default(run: Path) -> None:
    expected = {
        "t1/q1/2026-03-01": {"a": 2, "b": 1},
        "t1/q2/2026-03-01": {"c": 1, "d": 1},
        "t1/q3/2026-03-01": {"e": 1},
    }
    assert cf.read_run(run).source == cf.read_run(f"{run}#documents").source == expected
    assert cf.read_run(run).name == "run"


def test_questions_by_topic_and_day_are_tied_at_equal_ranks_and_empty_days_are_there(run: Path) -> None:
    read = cf.read_run(f"{run}#questions")
    nothing = {"t1/2026-03-02": {}, "t2/2026-03-01": {}, "t2/2026-03-02": {}}
    assert read.source == {"t1/2026-03-01": {"q1": 0, "q2": 0, "q3": -1}, **nothing}
    assert read.name == "run#questions"


def test_documents_scored_by_hand_for_one_topic_and_day(run: Path) -> None:
    """Liu et al. with gains 0, 1, 5, 10, ties expected, lists that end where the system ends them.

    q1: gains 10, 0 of a pool {10, 5}: r_t = 10/15, at rank 3; the ideal list is 10, 5, 1.
    q2: one tie of c (0) and d (1) of a pool {1}: r_t = 1 at rank 3; the ideal list is 1, 1, and d is first in half of
    the orders. q3: R = 0, so that r_t = 1, at rank 2.
    """
    collection = cf.Collection(DOCUMENTS, queries=table(), complete=True)
    scores = cf.evaluate(collection, run, ["nDCG[terminal]", "RR[terminal]"], ties="expected")
    found = scores.to_dict()["runs"]["run"]
    discount = [1 / math.log2(rank + 1) for rank in (1, 2, 3)]
    q1 = (10 * discount[0] + 10 / 15 * discount[2]) / (10 * discount[0] + 5 * discount[1] + discount[2])
    q2 = ((discount[0] + discount[1]) / 2 + discount[2]) / (discount[0] + discount[1])
    q3 = discount[1] / discount[0]
    label = next(name for name in found if name.startswith("nDCG"))
    ndcg = found[label]["queries"]
    assert [ndcg[f"t1/{q}/2026-03-01"] for q in ("q1", "q2", "q3")] == pytest.approx([q1, q2, q3])
    rr = found[next(name for name in found if name.startswith("RR"))]["queries"]
    assert [rr[f"t1/{q}/2026-03-01"] for q in ("q1", "q2", "q3")] == pytest.approx([1, (1 + 1 / 2) / 2, 1 / 2])
    silent = [query for query in table() if not query.startswith("t1/") or query.endswith(DAYS[1])]
    assert {ndcg[query] for query in silent} == {rr[query] for query in silent} == {1}
    # Means over days for each question, then over questions, then over topics.
    t1 = ((q1 + 1) / 2 + (q2 + 1) / 2 + (q3 + 1) / 2) / 3
    averaged = scores.averaged("topic", "question")
    assert averaged[label]["run"] == pytest.approx((t1 + 1) / 2)


def test_questions_scored_by_hand_for_one_topic_and_day(run: Path) -> None:
    """The tie of q1 (10) and q2 (1), then q3 (0): all found, so r_t = 1 at rank 4; the ideal list is 10, 1, 1."""
    collection = cf.Collection(QUESTIONS, queries=question_table(), complete=True)
    scores = cf.evaluate(collection, f"{run}#questions", "nDCG[terminal]", ties="expected")
    (label,) = scores.measures
    discount = [1 / math.log2(rank + 1) for rank in (1, 2, 3, 4)]
    expected = (11 * (discount[0] + discount[1]) / 2 + discount[3]) / (10 * discount[0] + discount[1] + discount[2])
    queries = scores.to_dict()["runs"]["run#questions"][label]["queries"]
    assert queries["t1/2026-03-01"] == pytest.approx(expected)
    assert [queries[query] for query in question_table() if query != "t1/2026-03-01"] == [1, 1, 1]


def test_there_are_no_notes_on_unanswered_queries_or_unjudged_documents(run: Path) -> None:
    scores = cf.evaluate(cf.Collection(DOCUMENTS, queries=table(), complete=True), run, "RR[terminal]")
    assert not {"unanswered_queries", "unjudged_documents"} & {note.kind for note in scores.notes}


SHORT = [META, {"topic": "t1", "results": {DAYS[0]: LINES[1]["results"][DAYS[0]]}}, LINES[2]]  # type: ignore[index]


def test_a_day_that_a_run_does_not_mention_is_an_error_by_default(tmp_path: Path) -> None:
    path = write(tmp_path, SHORT)
    for part, qrels, queries in (("", DOCUMENTS, table()), ("#questions", QUESTIONS, question_table())):
        with pytest.raises(InputError) as error:
            cf.evaluate(cf.Collection(qrels, queries=queries, complete=True), f"{path}{part}", "RR[terminal]")
        assert str(error.value).startswith(f"{path}: topic `t1` has no day `2026-03-02`")
        assert 'absent_days="empty"' in error.value.hint


def test_absent_days_are_empty_or_tied(tmp_path: Path) -> None:
    """Day 2 of t1 has news on q3 only. Empty: r_t = 0 at rank 1. Tied: q3 is at rank 1, 2 or 3 with equal chance."""
    path = f"{write(tmp_path, SHORT)}#questions"
    judged = {**QUESTIONS, "t1/2026-03-02": {"q3": 5}}
    for absent, expected in (("empty", 0), ("tied", (1 + 1 / 2 + 1 / 3) / 3)):
        collection = cf.Collection(judged, queries=question_table(), complete=True, absent_days=absent)  # type: ignore[arg-type]
        scores = cf.evaluate(collection, path, "RR", ties="expected")
        queries = scores.to_dict()["runs"]["run#questions"][scores.measures[0]]["queries"]
        assert queries["t1/2026-03-02"] == pytest.approx(expected)


def test_questions_that_no_table_names_are_those_judged_or_ranked(tmp_path: Path) -> None:
    path = f"{write(tmp_path, SHORT)}#questions"
    queries = {query: {"topic": about["topic"], "day": about["day"]} for query, about in question_table().items()}
    judged = {**QUESTIONS, "t1/2026-03-02": {"q9": 5}}
    collection = cf.Collection(judged, queries=queries, complete=True, absent_days="tied")
    scores = cf.evaluate(collection, path, ["RR", "NumRet"], ties="expected")
    found = scores.to_dict()["runs"]["run#questions"]
    number, reciprocal = (next(v for k, v in found.items() if k.startswith(name)) for name in ("NumRet", "RR"))
    assert number["queries"]["t1/2026-03-02"] == 4
    assert reciprocal["queries"]["t1/2026-03-02"] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)


def test_a_day_without_mention_has_no_documents_whatever_is_tied(tmp_path: Path) -> None:
    collection = cf.Collection(DOCUMENTS, queries=table(), complete=True, absent_days="tied")
    scores = cf.evaluate(collection, write(tmp_path, SHORT), "RR[terminal]")
    assert scores.to_dict()["runs"]["run"]["RR[terminal]"]["queries"]["t1/q1/2026-03-02"] == 1


def test_gains_as_they_are_is_a_switch(run: Path) -> None:
    """SPEC A.2: max=1 takes gains as they are, and a note says that scores may exceed 1."""
    collection = cf.Collection(DOCUMENTS, queries=table(), complete=True)
    scaled, plain = ("RBP(p=0.5)", "RBP(p=0.5, max=1)")
    scores = cf.evaluate(collection, run, [scaled, plain])
    assert scores[plain]["run"] == pytest.approx(10 * scores[scaled]["run"])
    assert "above_one" in {note.kind for note in scores.notes}


def wrong_lines() -> dict[str, tuple[Any, str]]:
    def results(*questions: Any, topic: Any = "t1", day: str = "d1") -> dict[str, Any]:
        return {"topic": topic, "results": {day: list(questions)}}

    good = question("q1", 0, {"a": 1.0})
    many = {f"d{i}": 1.0 for i in range(101)}
    return {
        "no json": ("{", ":2: invalid JSON"),
        "a number": ("7", ":2: expected an object, found 7"),
        "no topic": ({"results": {}}, ":2: the topic is not an id: None"),
        "no results": ({"topic": "t1", "results": []}, ":2: topic `t1`: expected results {day: [question, ...]}"),
        "something else": ({"other": 1}, ":2: expected an object with a topic and its results"),
        "a day": (
            {"topic": "t1", "results": {"d1": {}}},
            "topic `t1`, day `d1`: expected a list of questions, found {}",
        ),
        "a question": (results("q1"), "day `d1`: expected a question as an object, found 'q1'"),
        "no qid": (results({"question-rank": 0}), "day `d1`: the qid of a question is not an id: None"),
        "no rank": (results({"qid": "q1", "doc-ranking": []}), "must be a whole number of at least 0; there is none"),
        "negative": (
            results(question("q1", -1, {})),
            "the question-rank must be a whole number of at least 0; found -1",
        ),
        "fraction": (results(question("q1", 0.5, {})), "must be a whole number of at least 0; found 0.5"),  # type: ignore[arg-type]
        "no documents": (results({"qid": "q1", "question-rank": 0}), "the doc-ranking must be a list, found None"),
        "101 documents": (results(question("q1", 0, many)), "question `q1`: 101 documents; at most 100 are allowed"),
        "twice": (results(good, good), "question `q1`: it is listed twice"),
        "both spellings": (results({**good, "question_rank": 0}), "a field in both spellings"),
        "a document": (
            results({**good, "doc-ranking": ["a"]}),
            "question `q1`: expected a document as an object, found 'a'",
        ),
        "no doc_id": (results({**good, "doc-ranking": [{"score": 1}]}), "the doc_id is not an id: None"),
        "no score": (
            results({**good, "doc-ranking": [{"doc_id": "a"}]}),
            "document `a`: the score is not a number: None",
        ),
        "nan": (
            '{"topic": "t1", "results": {"d1": [{"qid": "q", "question-rank": 0, "doc-ranking": '
            '[{"doc_id": "a", "score": NaN}]}]}}',
            "document `a`: the score is not a number: nan",
        ),
        "a huge score": (
            results({**good, "doc-ranking": [{"doc_id": "a", "score": 10**400}]}),
            "document `a`: the score is not a number: 1000000",
        ),
        "a huge rank": (results(question("q1", 10**400, {})), "must be a whole number of at least 0; found 1000000"),
        "document twice": (
            results({**good, "doc-ranking": [{"doc_id": "a", "score": 1}, {"doc_id": "a", "score": 2}]}),
            "document `a` is listed twice",
        ),
        "topic twice": (
            "\n".join([json.dumps(results(good))] * 2),
            ":3: topic `t1`: it already has results, in line 2",
        ),
    }


@pytest.mark.parametrize("name", wrong_lines())
def test_every_fault_is_a_sentence_with_its_line(name: str, tmp_path: Path) -> None:
    line, message = wrong_lines()[name]
    path = write(tmp_path, [META, line, {"topic": "t9", "results": {}}])
    for source in (str(path), f"{path}#questions"):
        with pytest.raises(InputError) as error:
            cf.read_run(source)
        assert message in str(error.value)
        assert str(error.value).startswith(f"{path}:")


def test_all_faults_are_listed_at_once(tmp_path: Path) -> None:
    bad = {"topic": "t1", "results": {"d1": [question("q1", -1, {}), question("q2", -2, {})]}}
    with pytest.raises(InputError) as error:
        cf.read_run(write(tmp_path, [META, bad]))
    assert error.value.total == 2


def test_a_part_of_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_text("q Q0 d 1 1.0 x\n")
    with pytest.raises(InputError, match="#questions is for runs of Change Detection, which this is not"):
        cf.read_run(f"{path}#questions")


def test_json_lines_of_other_shapes_are_read_as_before(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"topic": "1", "docid": "results", "score": 2}\n{"topic": "1", "docid": "b", "score": 1}\n')
    assert float(cf.evaluate({"1": {"b": 1}}, path, "RR")) == 0.5


def test_a_table_without_topic_or_day_is_refused(run: Path) -> None:
    with pytest.raises(InputError, match="queries: query `t1/q1/2026-03-01` has no topic"):
        cf.evaluate(cf.Collection(DOCUMENTS, queries={query: {} for query in table()}, complete=True), run, "RR")


def test_absent_days_has_three_values() -> None:
    with pytest.raises(UsageError, match="absent_days"):
        cf.Collection(DOCUMENTS, absent_days="all")  # type: ignore[arg-type]


def test_empty_and_compressed_files(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "run.jsonl.gz"
    path.write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in LINES).encode()))
    assert len(cf.read_run(path).source) == 3  # type: ignore[arg-type]
    assert len(cf.read_run(f"{path}#questions").source) == 4  # type: ignore[arg-type]


def test_a_table_file_keeps_the_question_as_an_attribute(tmp_path: Path, run: Path) -> None:
    path = tmp_path / "queries.csv"
    rows = [f"{query},{about['topic']},{about['question']},{about['day']}\n" for query, about in table().items()]
    path.write_text("query,topic,question,day\n" + "".join(rows))
    scores = cf.evaluate(cf.Collection(DOCUMENTS, queries=path, complete=True), run, "RR[terminal]")
    assert scores.averaged("topic", "question").queries == ("t1", "t2")


def test_questions_that_differ_are_the_texts_of_queries_too() -> None:
    from cranfield.io.named_tables import read_queries

    rows = [{"id": "1", "question": "How does the lamp turn?"}, {"id": "2", "question": "Who kept the light?"}]
    about = read_queries(rows)
    assert about["1"] == {"text": "How does the lamp turn?", "question": "How does the lamp turn?"}


PAGE = Path(__file__).parents[2] / "docs" / "cookbook" / "change_detection.md"


def expected_scores(judged: dict[str, float], scores: dict[str, float]) -> tuple[float, float]:
    """RR' and NDCG' of Liu et al. (equations 1 to 3), the means over all orders of tied documents."""
    total, orders = [0.0, 0.0], 0
    mass = sum(judged.values())
    for order in permutations(scores):
        if any(scores[a] < scores[b] for a, b in pairwise(order)):
            continue
        gains = [judged.get(document, 0) for document in order]
        gains.append(sum(gains) / mass if mass else 1.0)
        best = [*sorted((gain for gain in judged.values() if gain > 0), reverse=True), 1.0][: len(gains)]
        total[0] += next((1 / rank for rank, gain in enumerate(gains, 1) if gain > 0), 0)
        dcg, ideal = (sum(gain / math.log2(i + 2) for i, gain in enumerate(listed)) for listed in (gains, best))
        total[1] += dcg / ideal
        orders += 1
    return total[0] / orders, total[1] / orders


def test_the_run_of_the_page_is_scored_as_by_the_equations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """2 topics x 30 days x 5 questions; means over days, then questions, then topics."""
    found = re.search(r"```\{file\} generate.py\n(.*?)\n```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    monkeypatch.chdir(tmp_path)
    exec(compile(found[1], "generate.py", "exec"), {})
    judged: dict[str, dict[str, float]] = {}
    for line in Path("documents.qrels").read_text().splitlines():
        query, _, document, grade = line.split()
        judged.setdefault(query, {})[document] = float(grade)
    lists: dict[str, dict[str, float]] = {}
    for line in Path("run.jsonl").read_text().splitlines()[1:]:
        topic = json.loads(line)
        for day, listed in topic["results"].items():
            for item in listed:
                ranking = {one["doc_id"]: one["score"] for one in item["doc-ranking"]}
                lists[f"{topic['topic']}/{item['qid']}/{day}"] = ranking
    days = [f"2026-04-{day:02}" for day in range(1, 31)]

    def mean_of(topic: str, measure: int) -> float:
        of_questions = []
        for number in range(1, 6):
            queries = [f"{topic}/q{number}/{day}" for day in days]
            values = [expected_scores(judged.get(query, {}), lists.get(query, {}))[measure] for query in queries]
            of_questions.append(sum(values) / 30)
        return sum(of_questions) / 5

    collection = cf.Collection("documents.qrels", queries="documents.csv", complete=True)
    scores = cf.evaluate(collection, "run.jsonl", ["RR[terminal]", "nDCG[terminal]"], ties="expected")
    averaged = scores.averaged("topic", "question")
    expected = [[mean_of(topic, measure) for topic in ("storm", "strike")] for measure in (0, 1)]
    assert averaged.queries == ("storm", "strike")
    np.testing.assert_allclose(averaged.values[0], expected, rtol=1e-12)


def test_a_table_of_the_other_ranking_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    line = {"topic": "t", "results": {"d": [{"qid": "q", "question-rank": 0, "doc-ranking": []}]}}
    Path("run.jsonl").write_text(json.dumps({"runtag": "x"}) + "\n" + json.dumps(line) + "\n")
    about = {"topic": "t", "question": "q", "day": "d"}
    documents = cf.Collection({"t/q/d": {"x": 1}}, queries={"t/q/d": about}, complete=True)
    questions = cf.Collection({"t/d": {"q": 1}}, queries={"t/d": about}, complete=True)
    assert cf.evaluate(documents, "run.jsonl", "RR")._means.tolist() == [[0]]
    assert cf.evaluate(questions, "run.jsonl#questions", "RR")._means.tolist() == [[1]]
    with pytest.raises(InputError, match=r"the queries of questions are `topic/day`, and the table has none .*`t/q/d`"):
        cf.evaluate(documents, "run.jsonl#questions", "RR")
    with pytest.raises(InputError, match=r"the queries of documents are `topic/question/day`, and the table has none"):
        cf.evaluate(questions, "run.jsonl", "RR")
