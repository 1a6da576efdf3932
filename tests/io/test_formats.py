"""Files of search engines, evaluation tools and benchmarks."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield import io, native
from cranfield.data import Table
from cranfield.errors import InputError
from cranfield.io.formats import delimited

RESPONSE = {
    "took": 1,
    "hits": {"total": {"value": 2}, "hits": [{"_id": "d3", "_score": 2.0}, {"_id": "d1", "_score": 1.0}]},
}
RANK_EVAL = {
    "metric_score": 0.5,
    "details": {"1": {"hits": [{"hit": hit, "rating": None} for hit in RESPONSE["hits"]["hits"]]}},
}
REQUEST = {
    "requests": [{"id": "1", "request": {}, "ratings": [{"_index": "i", "_id": "d1", "rating": 3}]}],
    "metric": {},
}
RATINGS = {"name": "j", "judgmentRatings": [{"query": "1", "ratings": [{"docId": "d1", "rating": "3.000"}]}]}
NUGGETS = {"qid": "1", "nuggets": [{"text": "a lamp", "importance": "vital", "assignment": "support"}]}
PREDICTION = {
    "query_id": "1",
    "query": "lamp",
    "results": [{"corpus_id": "d3", "score": 0.9}, {"corpus_id": "d1", "score": 0.8}],
}

RUNS = {
    "_search": json.dumps(RESPONSE),
    "_search, indented": json.dumps(RESPONSE, indent=2),
    "_msearch": json.dumps({"took": 3, "responses": [RESPONSE]}),
    "responses by query": json.dumps({"1": RESPONSE}),
    "a list of responses": json.dumps([RESPONSE]),
    "_rank_eval": json.dumps(RANK_EVAL),
    "predictions": json.dumps(PREDICTION) + "\n",
    "two predictions": json.dumps(PREDICTION) + "\n" + json.dumps(PREDICTION | {"query_id": "2"}) + "\n",
    "MS MARCO": "1\td3\t1\n1\td1\t2\n",
    "four columns": "1\td3\t1\t9.5\n1\td1\t2\t9.1\n",
    "scores": "1,d1,0.5\n1,d3,0.9\n",
    "semicolons": "1;d1;0.5\n1;d3;0.9\n",
    "TREC RAG": json.dumps({"topic_id": "1", "references": ["d3", "d1"], "answer": []}) + "\n",
}
QRELS = {
    "_rank_eval": json.dumps(REQUEST),
    "judgment list": json.dumps(RATINGS),
    "judgment list as found": json.dumps({"hits": {"hits": [{"_source": RATINGS}]}}),
    "Quepid": "query,docid,rating\n1,d1,3\n",
    "MS MARCO": "1\t0\td1\t3\n",
    "three columns": "1,d1,3\n",
}


def file(folder: Path, content: str, name: str) -> Path:
    path = folder / name
    path.write_text(content)
    return path


@pytest.mark.parametrize("name", RUNS)
def test_runs(name: str, tmp_path: Path) -> None:
    suffix = ".csv" if "," in RUNS[name][:3] else ".txt"
    run = file(tmp_path, RUNS[name], f"run{suffix}")
    listed = name.startswith(("_search", "_msearch", "a list"))  # without ids of queries
    assert cf.Evaluator([{"d1"}] if listed else {"1": {"d1"}}, "RR").means(run) == {"RR": 0.5}


@pytest.mark.parametrize("name", QRELS)
def test_judgments(name: str, tmp_path: Path) -> None:
    judgments = io.read_qrels(file(tmp_path, QRELS[name], "j.csv" if name == "Quepid" else "qrels.tsv"))
    assert (list(judgments.queries), list(judgments.documents), judgments.grade.tolist()) == (["1"], ["d1"], [3.0])


def test_nuggets(tmp_path: Path) -> None:
    path = file(tmp_path, json.dumps(NUGGETS), "nuggets.jsonl")
    assert io.read_qrels(path).grade.tolist() == [2.0]
    assert cf.Evaluator(path, "R@10").means(path) == {"R@10": 1.0}
    wrong = NUGGETS | {"nuggets": [{"text": "a lamp", "importance": "high"}]}
    with pytest.raises(InputError, match="the importance of a nugget is 'high'; expected vital, okay"):
        io.read_qrels(file(tmp_path, json.dumps(wrong), "wrong.jsonl"))


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ("1\td3\t1\n1\td1\t2\n2\td1\t1\n", "query, document, rank"),
        ("1\td3\t3\n1\td1\t2\n", "query, document, score"),
        ("1\td3\t1e0\n1\td1\t2e0\n", "query, document, rank"),
        ("1\td3\t1\t0.5\n", "query, document, rank, score"),
        ("1\td3\t1\t12\n1\td1\t2\t9\n", "query, document, rank, score"),
        ("1\td3\t2\t1.2\n1\td1\t4\t0.9\n", "query, document, rank, score"),
    ],
)
def test_a_note_says_which_columns_were_assumed(content: str, columns: str, tmp_path: Path) -> None:
    scores = cf.evaluate({"1": {"d1"}}, file(tmp_path, content, "run.tsv"), "RR")
    sentence = f"run: the file has no column names; its columns were read as {columns}"
    assert sentence in [str(note) for note in scores.notes]


RANKS_OR_SCORES = {
    "a missing rank": "1 d3 1|1 d1 2|1 d2 4",
    "from two on": "1 d3 2|1 d1 3|1 d2 4",
    "from a thousand on": "1 d3 1001|1 d1 1002|1 d2 1003",
    "queries in turn": "1 d3 1|2 d3 1|1 d1 2|2 d1 2",
    "unsorted": "1 d1 2|1 d3 1|1 d2 3",
    "reversed": "1 d2 3|1 d1 2|1 d3 1",
    "reversed with a gap": "1 d2 5|1 d1 2|1 d3 1",
    "from zero on with a gap": "1 d3 0|1 d1 1|1 d2 3",
    "written as floats": "1 d3 1.0|1 d1 2.0|1 d2 4.0",
    "tied": "1 d3 1|1 d1 2|1 d4 2|1 d2 4",
    "one query of many": "1 d3 1|1 d1 2|2 d3 1|2 d1 3",
    "steps of ten": "1 d3 1|1 d1 11|1 d2 21",
    "with exponents": "1 d3 1.0e+00|1 d1 2.0e+00|1 d2 4.0e+00",
    "tied ones at their mean": "1 d3 1|1 d1 2.5|1 d4 2.5|1 d2 4",
    "score before rank": "1 d3 9.5 1|1 d1 9.1 2",
    "score before rank, whole numbers": "1 d3 9 1|1 d1 8 2",
    "score before rank, halves": "1 d3 9.5 1|1 d1 8 2",
    "two columns that count": "1 d3 1 1|1 d1 2 2",
}


@pytest.mark.parametrize("separator", ["\t", ",", ";"])
@pytest.mark.parametrize("rows", RANKS_OR_SCORES.values(), ids=RANKS_OR_SCORES)
def test_numbers_that_could_be_ranks_or_scores_are_refused(rows: str, separator: str, tmp_path: Path) -> None:
    content = rows.replace(" ", separator).replace("|", "\n") + "\n"
    for name in ("run.tsv", "run.txt", "run.csv"):
        path = file(tmp_path, content, name)
        with pytest.raises(InputError, match="could hold ranks or scores") as error:
            cf.evaluate({"1": {"d1"}}, path, "RR")
        assert "--columns query,document,rank" in error.value.hint
        assert "--columns query,document,score" in error.value.hint


@pytest.mark.parametrize("name", ["a missing rank", "from two on", "unsorted", "reversed", "from a thousand on"])
def test_chosen_columns_decide_what_the_numbers_are(name: str, tmp_path: Path) -> None:
    path = file(tmp_path, RANKS_OR_SCORES[name].replace(" ", "\t").replace("|", "\n") + "\n", "run.tsv")
    evaluator = cf.Evaluator({"1": {"d3"}}, "RR")
    assert evaluator.means(cf.read_run(path, columns={"rank": "3"})) == {"RR": 1.0}
    assert evaluator.means(cf.read_run(path, columns={"score": "3"})) == {"RR": 1 / 3}
    with pytest.raises(InputError, match=r"3 columns without names, which do not fit {rank: 4}"):
        cf.read_run(path, columns={"rank": "4"})


@pytest.mark.parametrize(
    "rows",
    [
        "1 d1 0.5|1 d3 1|1 d2 2",
        "1 d3 -1|1 d1 -2",
        "1 d3 30|1 d1 20|1 d2 10",
        "1 d3 7|2 d1 5",
        "1 d3 1234567890123|1 d1 1|1 d2 2",
        "1 d3 1.5e308|1 d1 1.2e308",
    ],
)
def test_numbers_that_are_scores_for_certain_are_scores(rows: str, tmp_path: Path) -> None:
    path = file(tmp_path, rows.replace(" ", "\t").replace("|", "\n") + "\n", "run.tsv")
    scores = cf.evaluate({"1": {"d1"}}, path, "RR")
    assert any("read as query, document, score" in str(note) for note in scores.notes)


@pytest.mark.parametrize("blank", ["\t\t", "\t\t\r", " \t \t ", ""])
@pytest.mark.parametrize("before", ["", "1\td3\t0.5\n"])
def test_lines_without_text_are_blank(before: str, blank: str, tmp_path: Path) -> None:
    content = f"{before}{blank}\n1\td1\t0.4\n{blank}\n"
    assert list(io.load(io.read_run(file(tmp_path, content, "run.tsv"))).document)[-1] == "d1"
    assert list(io.read_qrels(file(tmp_path, content, "qrels.tsv")).documents)[-1] == "d1"


@pytest.mark.parametrize("name", ["run.tsv", "run.txt"])
def test_a_quote_in_an_id_does_not_join_lines(name: str, tmp_path: Path) -> None:
    path = file(tmp_path, '1\t"d1\t0.5\n1\td"2\t0.4\n1\td3"\t0.3\n1\t"d4"\t0.2\n1\t"d""5"\t0.1\n', name)
    assert list(io.load(io.read_run(path)).document) == ['"d1', 'd"2', 'd3"', "d4", 'd"5']
    path = file(tmp_path, '1\t"d1\t1\n1\td2"\t0\n', "qrels.txt")
    assert list(io.read_qrels(path).documents) == ['"d1', 'd2"']


@pytest.mark.parametrize("separator", [",", ";"])
def test_a_quote_that_is_not_closed_is_an_error(separator: str, tmp_path: Path) -> None:
    path = file(tmp_path, '1,"d1,0.5\n1,d2",0.4\n'.replace(",", separator), "run.txt")
    with pytest.raises(InputError, match=r"run.txt:1: invalid CSV"):
        io.read_run(path)


def test_a_beir_folder(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    for name, content in {
        "corpus.jsonl": '{"_id": "d1", "text": "a lamp"}\n',
        "queries.jsonl": '{"_id": "1", "text": "lamp"}\n',
        "qrels/test.tsv": "query-id\tcorpus-id\tscore\n1\td1\t1\n",
        "qrels/dev.tsv": "query-id\tcorpus-id\tscore\n2\td1\t1\n",
    }.items():
        (tmp_path / name).write_text(content)
    judgments = io.read_qrels(tmp_path)
    assert list(judgments.queries) == ["1"]
    assert judgments.remarks == ("the judgments are those of test.tsv, one of 2 splits",)
    (tmp_path / "qrels" / "test.tsv").rename(tmp_path / "qrels" / "train.tsv")
    with pytest.raises(InputError, match=r"the splits are dev\.tsv, train\.tsv"):
        io.read_qrels(tmp_path)


FAULTY: dict[str, tuple[Any, str]] = {
    "a failed search": (
        {"took": 1, "responses": [{"error": {"reason": "no such index"}, "status": 404}]},
        "no such index",
    ),
    "no id": ({"took": 1, "hits": {"hits": [{"_score": 1.0}]}}, "no usual field for the document id"),
}


@pytest.mark.parametrize("name", FAULTY)
def test_faulty_responses(name: str, tmp_path: Path) -> None:
    content, message = FAULTY[name]
    with pytest.raises(InputError, match=message):
        io.read_run(file(tmp_path, json.dumps(content), "run.json"))


FAULTY_QRELS: dict[str, tuple[Any, str]] = {
    "no ratings": ({"judgmentRatings": [{"query": "1"}]}, r"expected `judgmentRatings`: \[\{query, ratings"),
    "a rating twice": (
        {
            "judgmentRatings": [
                {"query": "1", "ratings": [{"docId": "d", "rating": "1"}, {"docId": "d", "rating": "2"}]}
            ]
        },
        "query `1`: document `d` appears twice",
    ),
    "a query twice": ({"judgmentRatings": [{"query": "1", "ratings": []}] * 2}, "query `1` appears twice"),
    "a query that is a list": ({"judgmentRatings": [{"query": [], "ratings": []}]}, "expected `judgmentRatings`"),
    "requests without ids": ({"requests": [{"ratings": []}]}, r"expected `requests`: \[\{id, ratings"),
    "requests with a rating twice": (
        {"requests": [{"id": "1", "ratings": [{"_id": "d", "rating": 1}, {"_id": "d", "rating": 2}]}]},
        "query `1`: document `d` appears twice",
    ),
    "nuggets without text": ({"qid": "1", "nuggets": [{"importance": "vital"}]}, r"expected \{qid, nuggets"),
    "nuggets that are numbers": ({"qid": "1", "nuggets": [3]}, r"expected \{qid, nuggets"),
}


@pytest.mark.parametrize("name", FAULTY_QRELS)
def test_faulty_judgments(name: str, tmp_path: Path) -> None:
    content, message = FAULTY_QRELS[name]
    with pytest.raises(InputError, match=message):
        io.read_qrels(file(tmp_path, json.dumps(content), "qrels.json"))


@pytest.mark.parametrize("number", ["1" * 5000, "[" * 3000])
def test_json_that_python_cannot_hold(number: str, tmp_path: Path) -> None:
    for start in ('{"judgmentRatings": [', '{"requests": [', '{"qid": "1", "nuggets": ['):
        with pytest.raises(InputError, match=r"thousands of digits|nested too deeply|expecting"):
            io.read_qrels(file(tmp_path, start + number, "qrels.json"))


def test_an_answer_twice(tmp_path: Path) -> None:
    record = json.dumps({"topic_id": "1", "references": ["d1"], "answer": []}) + "\n"
    with pytest.raises(InputError, match="query `1` appears twice"):
        io.read_run(file(tmp_path, record * 2, "answers.jsonl"))


def response(**parts: Any) -> dict[str, Any]:
    return {"took": 1, "hits": {"hits": [{"_id": "d1", "_score": 1.0}]}, **parts}


PARTIAL = {
    "timed out": {"timed_out": True},
    "failed shards": {"timed_out": False, "_shards": {"total": 2, "failed": 1}},
    "stopped early": {"terminated_early": True},
    "skipped clusters": {"_clusters": {"total": 2, "skipped": 1}},
}


@pytest.mark.parametrize("name", PARTIAL)
def test_an_incomplete_response_gives_a_note(name: str, tmp_path: Path) -> None:
    whole, part = response(timed_out=False, _shards={"total": 2, "failed": 0}), response(**PARTIAL[name])
    forms: dict[str, Any] = {
        "by query": {"1": whole, "2": part},
        "by position": [whole, part],
        "several searches": {"took": 2, "responses": [whole, part]},
    }
    runs = [*forms.values(), *(file(tmp_path, json.dumps(form), f"{i}.json") for i, form in enumerate(forms.values()))]
    for run in [*runs, cf.records(forms["by query"])]:
        run = io.read_run(run)
        scores = cf.evaluate([{"d1"}, {"d1"}] if run.by_position else {"1": {"d1"}, "2": {"d1"}}, run, "RR")
        sentence = "1 of 2 responses are incomplete: a search timed out or failed in part (first query: `2`)"
        assert any(sentence in str(note) for note in scores.notes)
    assert not any("incomplete" in str(note) for note in cf.evaluate({"1": {"d1"}}, {"1": whole}, "RR").notes)


CELLS = st.sampled_from(
    ["q1", "d 7", "1.5", "-2e3", "1_0", "٣", "", " 3 ", "nan", 'a"b', '"a,b"', '"x\ny"', "\x1c4", "inf"]
)


@settings(max_examples=150, deadline=None)
@given(
    table=st.lists(st.lists(CELLS, min_size=2, max_size=4), min_size=1, max_size=8),
    end=st.sampled_from(["\n", "\r\n", "\r", "\n\n"]),
    rows=st.integers(1, 3),
    last=st.booleans(),
)
def test_plain_lines_are_read_as_by_the_csv_module(table: list[list[str]], end: str, rows: int, *, last: bool) -> None:
    text = end.join(["query,document,score", *map(",".join, table)]) + end * last

    def read() -> Any:
        try:
            run = io.read_run(Path("plain.csv"))
            pieces = [run.source] if isinstance(run.source, Table) else list(run.source.pieces())
        except cf.InputError as error:
            return str(error)
        return [
            row
            for piece in pieces
            for row in [*zip(piece.query, piece.document, map(float.hex, piece.score.tolist()), piece.line.tolist(), strict=True),
                        *map(str, piece.faults)]
        ]  # fmt: skip

    with TemporaryDirectory() as folder, contextlib.chdir(folder), patch.object(delimited, "ROWS_PER_PIECE", rows):
        Path("plain.csv").write_bytes(text.encode())
        found = read()
        with patch.object(native, "split_fields", lambda *_: None):
            expected = read()
    # Pieces may end elsewhere, so faults may come later among the rows.
    assert sorted(map(str, found)) == sorted(map(str, expected))


@pytest.mark.parametrize("kind", ["run", "qrels"])
@pytest.mark.parametrize("text", ['"a,b",1\n', '"\x1b[2J,x",inf', '"a;b";2\n"c;d";1\n'])
def test_delimiters_in_quotes_are_no_columns(text: str, kind: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(InputError, match="no column names, and 2 columns where 3"):
        (cf.read_run if kind == "run" else cf.read_qrels)(tmp_path / "x.csv")
