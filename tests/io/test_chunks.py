"""Judged passages and runs of chunks from every source, and what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.errors import InputError, UsageError
from cranfield.io.spans import locate, parse_ids, read_chunks

SPANS = {"1": [("a", 10, 50), ("b", 0, 30)], "2": [("a", 100, 150)]}
RUN = {"1": [("a", 0, 60, 3.0), ("c", 0, 200, 2.0)], "2": [("b", 0, 200, 1.0), ("a", 90, 200, 0.5)]}
MEASURES = ["SpanR@1", "SpanP", "StRecall@2", "RR"]
EXPECTED = cf.evaluate(cf.Collection(spans=SPANS), RUN, MEASURES).values.tolist()

Rows = list[dict[str, Any]]


def rows(source: dict[str, Any], last: str) -> Rows:
    names = ("query", "document", "start", "end", last)
    return [dict(zip(names, (query, *row), strict=False)) for query, listed in source.items() for row in listed]


def as_text(delimiter: str) -> Callable[[Path, Rows], None]:
    def write(path: Path, table: Rows) -> None:
        lines = [list(table[0]), *(list(row.values()) for row in table)]
        path.write_text("".join(delimiter.join(map(str, line)) + "\n" for line in lines))

    return write


def as_json_lines(path: Path, table: Rows) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in table))


def as_parquet(path: Path, table: Rows) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.Table.from_pylist(table), path)


@pytest.mark.parametrize(
    ("ending", "write"),
    [(".csv", as_text(",")), (".tsv", as_text("\t")), (".jsonl", as_json_lines), (".parquet", as_parquet)],
)
def test_tables_in_files(tmp_path: Path, ending: str, write: Callable[[Path, Rows], None]) -> None:
    spans, run = tmp_path / f"spans{ending}", tmp_path / f"dense{ending}"
    write(spans, rows(SPANS, "grade"))
    write(run, rows(RUN, "score"))
    scores = cf.evaluate(cf.Collection(spans=spans), run, MEASURES)
    assert scores.values.tolist() == EXPECTED and scores.runs == ("dense",)


def test_nested_json_and_files_by_name(tmp_path: Path) -> None:
    (tmp_path / "spans.json").write_text(json.dumps(SPANS))
    (tmp_path / "run.json").write_text(json.dumps(RUN))
    collection = cf.Collection(spans=tmp_path / "spans.json")
    scores = cf.evaluate(collection, {"x": tmp_path / "run.json", "y": RUN}, MEASURES)
    assert scores.values.tolist() == EXPECTED * 2 and scores.runs == ("x", "y")


def test_frames_and_records_with_a_query_each() -> None:
    pandas = pytest.importorskip("pandas")
    spans, run = pandas.DataFrame(rows(SPANS, "grade")), pandas.DataFrame(rows(RUN, "score"))
    assert cf.evaluate(cf.Collection(spans=spans), run, MEASURES).values.tolist() == EXPECTED
    collection = cf.Collection(spans=rows(SPANS, "grade"))
    assert cf.evaluate(collection, rows(RUN, "score"), MEASURES).values.tolist() == EXPECTED
    assert cf.evaluate(collection, [run, run], MEASURES).values.tolist() == EXPECTED * 2


def test_plain_runs_whose_ids_are_those_of_passages(tmp_path: Path) -> None:
    plain = {q: {"{}:{}-{}".format(*chunk): chunk[3] for chunk in chunks} for q, chunks in RUN.items()}
    listed = {q: list(ranking) for q, ranking in plain.items()}
    collection = cf.Collection(spans=SPANS)
    trec = tmp_path / "trec.run"
    cf.io.write_run(cf.read_run(plain), trec)
    for run in (plain, listed, trec, cf.read_run(plain)):
        assert cf.evaluate(collection, run, MEASURES).values.tolist() == EXPECTED
    qrels = {q: {"{}:{}-{}".format(*span): 1 for span in spans} for q, spans in SPANS.items()}
    assert cf.evaluate(cf.Collection(spans=qrels), RUN, MEASURES).values.tolist() == EXPECTED
    with pytest.raises(InputError, match=r"run: `d7` is not a passage \(1 of 2 ids\)"):
        cf.evaluate(collection, {"1": ["d:1-2", "d7"]}, "RR")


def test_ids_are_parsed_from_the_right() -> None:
    table = read_chunks({"q": [("a:1-2", 3, 4), ("é", 0, 9)]}).source
    assert list(table.document) == ["a:1-2:3-4", "é:0-9"]
    parsed = parse_ids(table.document, "run")
    assert list(parsed.names) == ["a:1-2", "é"]
    assert (parsed.start.tolist(), parsed.end.tolist()) == ([3, 0], [4, 9])


def test_chunks_without_scores_are_ranked_as_listed_or_by_rank() -> None:
    listed = {q: [chunk[:3] for chunk in chunks] for q, chunks in RUN.items()}
    collection = cf.Collection(spans=SPANS)
    assert cf.evaluate(collection, listed, MEASURES).values.tolist() == EXPECTED
    ranked = [row | {"score": None, "rank": n} for n, row in enumerate(rows(RUN, "score"))]
    for row in ranked:
        del row["score"]
    assert cf.evaluate(collection, ranked, MEASURES).values.tolist() == EXPECTED
    interleaved = [rows(listed, "")[i] for i in (2, 0, 3, 1)]
    assert cf.evaluate(collection, interleaved, MEASURES).values.tolist() == EXPECTED


@dataclass
class LangChain:
    """The fields of a document of LangChain, split with ``add_start_index``."""

    page_content: str
    metadata: dict[str, Any]
    id: str = "a"


@dataclass
class Haystack:
    content: str
    meta: dict[str, Any]
    score: float
    id: str = "a"


@dataclass
class Node:
    ref_doc_id: str
    start_char_idx: int
    end_char_idx: int
    text: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class NodeWithScore:
    node: Node
    score: float


def langchain(document: str, start: int, end: int, score: float) -> Any:
    return LangChain("." * (end - start), {"source": document, "start_index": start}), score


def llama_index(document: str, start: int, end: int, score: float) -> Any:
    return NodeWithScore(Node(document, start, end), score)


def haystack(document: str, start: int, end: int, score: float) -> Any:
    meta = {"source_id": document, "split_idx_start": start, "split_id": 0}
    return Haystack("." * (end - start), meta, score)


@pytest.mark.parametrize("chunk", [langchain, llama_index, haystack])
def test_chunks_of_frameworks(chunk: Callable[..., Any]) -> None:
    run = {query: [chunk(*one) for one in chunks] for query, chunks in RUN.items()}
    assert cf.evaluate(cf.Collection(spans=SPANS), run, MEASURES).values.tolist() == EXPECTED
    assert cf.evaluate(cf.Collection(spans=SPANS), {"rag": run}, MEASURES).runs == ("rag",)


def test_records_with_fields_by_name() -> None:
    nested = {
        query: [{"id": i, "metadata": {"file": d, "from": a, "to": b}, "sim": s} for i, (d, a, b, s) in enumerate(of)]
        for query, of in RUN.items()
    }
    run = cf.records(nested, document="metadata.file", start="metadata.from", end="metadata.to")
    assert cf.evaluate(cf.Collection(spans=SPANS), run, MEASURES).values.tolist() == EXPECTED
    run = cf.records(list(nested.values()), document="metadata.file", start=lambda r: r["metadata"]["from"],
                     end=lambda r: r["metadata"]["to"], score="sim")  # fmt: skip
    assert cf.evaluate(cf.Collection(spans=list(SPANS.values())), run, MEASURES).values.tolist() == EXPECTED
    with pytest.raises(InputError, match="query `1`: no usual field for the start of a chunk in dict; it has"):
        cf.evaluate(cf.Collection(spans=SPANS), {"1": [{"document": "a", "at": 3}]}, "RR")


def test_a_chunk_twice_and_what_duplicates_does(tmp_path: Path) -> None:
    twice = {"1": [("a", 0, 60, 3.0), ("c", 0, 9, 2.5), ("a", 0, 60, 4.0)]}
    collection = cf.Collection(spans=SPANS)
    with pytest.raises(InputError, match="row 3: document `a:0-60` appears twice for query `1`, first in row 1"):
        cf.evaluate(collection, twice, "RR")
    path = tmp_path / "twice.csv"
    as_text(",")(path, rows(twice, "score"))
    with pytest.raises(InputError, match=r"twice.csv:4: document `a:0-60` appears twice .* first in line 2"):
        cf.evaluate(collection, path, "RR")
    best = read_chunks(twice, duplicates="best").source
    assert list(best.document) == ["c:0-9", "a:0-60"] and best.passages.start.tolist() == [0, 0]
    first = read_chunks(path, duplicates="first").source
    assert list(first.document) == ["a:0-60", "c:0-9"]


def test_the_same_passage_twice_counts_once_and_overlaps_are_united() -> None:
    spans = {"q": [("a", 0, 10), ("a", 5, 15), ("a", 0, 10)]}
    collection = cf.Collection(spans=spans)
    assert collection.judgments.repeated == 1
    assert float(cf.evaluate(collection, {"q": [("a", 0, 12)]}, "SpanR")) == 12 / 15
    with pytest.raises(InputError, match="already has another grade"):
        cf.evaluate(cf.Collection(spans={"q": [("a", 0, 10, 1), ("a", 0, 10, 2)]}), {"q": [("a", 0, 1)]}, "RR")


FAULTS = [
    ([("a", 7, 3)], "query `q`, position 1: the end 3 is before the start 7"),
    ([("a", 0, 3), ("a", -1, 3)], "query `q`, position 2: the start is negative: -1"),
    ([("a", 0.0, 3)], "query `q`, position 1: the start must be a whole number, found 0.0"),
    ([("a", 0, "x")], "query `q`, position 1: the end must be a whole number, found x"),
    ([("a", 0, None)], "query `q`, position 1: the end must be a whole number, found None"),
    ([("a", 0, True)], "query `q`, position 1: the end must be a whole number, found True"),
    ([("a", 0, 10**30)], "query `q`, position 1: the end is too large: 1000000000"),
    ([("a", 0)], "query `q`, position 1: expected a passage, found"),
    ([(None, 0, 3)], "query `q`, position 1: an id must be text or a whole number, found None"),
    ([[("a", 0, 3)]], "query `q`, position 1: expected a passage, found [('a', 0, 3)]"),
]


@pytest.mark.parametrize(("passages", "message"), FAULTS)
def test_bad_passages_have_their_place(passages: Any, message: str) -> None:
    with pytest.raises(InputError) as of_spans:
        _ = cf.Collection(spans={"q": passages}).judgments
    assert message in str(of_spans.value)
    with pytest.raises(InputError) as of_run:
        cf.evaluate(cf.Collection(spans=SPANS), {"q": passages}, "RR")
    assert message in str(of_run.value)


def test_bad_rows_have_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text("query,document,start,end,score\n1,a,0,5,2\n1,a,9,5,1\n1,b,-3,5,x\n1,b,1.5,5,x\n")
    with pytest.raises(InputError, match=r"run.csv:5: the start must be a whole number, found 1.5"):
        cf.evaluate(cf.Collection(spans=SPANS), path, "RR")
    path.write_text("query,document,start,end,score\n1,a,0,5,2\n1,a,9,5,1\n1,b,-3,5,x\n")
    with pytest.raises(InputError) as error:
        cf.evaluate(cf.Collection(spans=SPANS), path, "RR")
    assert str(error.value).splitlines()[:2] == [
        f"{path}:3: the end 5 is before the start 9",
        f"{path}:4: the start is negative: -3",
    ]
    path.write_text("query,document,start,end,score\n1,a,0,5,2\n1,b,3,5,x\n")
    with pytest.raises(InputError, match=r"run.csv:3: the score is not a number: \"x\""):
        cf.evaluate(cf.Collection(spans=SPANS), path, "RR")
    path.write_text("query,document,start,stopp\n1,a,0,5\n")
    with pytest.raises(InputError, match=r"run.csv: no column for the end; the columns are query, document, start"):
        cf.evaluate(cf.Collection(spans=SPANS), path, "RR")
    with pytest.raises(InputError, match="for passages and chunks, use --judgments spans"):
        cf.read_qrels(tmp_path / _written(tmp_path))


def _written(folder: Path) -> str:
    (folder / "spans.csv").write_text("query,document,start,end\n1,a,0,5\n")
    return "spans.csv"


def test_an_empty_passage_cannot_be_judged_and_an_empty_chunk_covers_nothing() -> None:
    with pytest.raises(InputError, match="query `q`, position 1: the passage is empty"):
        _ = cf.Collection(spans={"q": [("a", 3, 3)]}).judgments
    assert cf.evaluate(cf.Collection(spans=SPANS), {"1": [("a", 20, 20)]}, "SpanP").values[0, 0, 0] == 0
    assert cf.evaluate(cf.Collection(spans=SPANS), {"1": []}, ["RR", "SpanP", "SpanR"])._means.tolist() == [[0, 0, 0]]
    with pytest.raises(InputError, match="run: no passages"):
        cf.evaluate(cf.Collection(spans=SPANS), {}, "RR")


TEXTS = {"a": "The lamp was lit.\nThe lamp\n  was new.", "b": "A horn."}


def test_offsets_beyond_a_known_text() -> None:
    with pytest.raises(InputError, match="position 1: the end 8 is beyond the text of document `b`, which has 7 char"):
        _ = cf.Collection(spans={"q": [("b", 0, 8)]}, documents=TEXTS).judgments
    collection = cf.Collection(spans={"q": [("b", 0, 7)]}, documents=TEXTS)
    with pytest.raises(InputError, match="query `q`, position 2: the end 99 is beyond the text of document `a`"):
        cf.evaluate(collection, {"q": [("b", 0, 7), ("a", 0, 99), ("unknown", 0, 99)]}, "RR")
    assert float(cf.evaluate(collection, {"q": [("unknown", 0, 99), ("b", 0, 7)]}, "RR")) == 0.5


def test_quotes_are_located_exactly_then_up_to_white_space(tmp_path: Path) -> None:
    spans = {"q": [("a", "lamp was lit"), ("a", "The lamp was new", 2)]}
    judgments = cf.Collection(spans=spans, documents=TEXTS).judgments
    assert list(judgments.documents) == ["a:4-16", "a:18-36"] and judgments.grade.tolist() == [1, 2]
    path, texts = tmp_path / "quotes.csv", tmp_path / "documents.jsonl"
    path.write_text('query,document,quote\nq,a,"lamp was lit"\n')
    texts.write_text("".join(json.dumps({"_id": name, "text": text}) + "\n" for name, text in TEXTS.items()))
    assert list(cf.Collection(spans=path, documents=texts).judgments.documents) == ["a:4-16"]
    assert locate("aa", "aaa") == [(0, 2), (1, 3)]


@pytest.mark.parametrize(
    ("quote", "message"),
    [
        (("a", "a lamp was"), "query `q`, position 1: the quote is not found in document `a`: `a lamp was`"),
        (("a", "The lamp"), "query `q`, position 1: the quote is found 2 times in document `a`: `The lamp`"),
        (("z", "The lamp"), "query `q`, position 1: there is no document `z`"),
        (("a", "  "), "query `q`, position 1: expected a quote, found '  '"),
    ],
)
def test_quotes_that_are_not_in_one_place(quote: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        _ = cf.Collection(spans={"q": [quote]}, documents=TEXTS).judgments
    assert message in str(error.value)
    assert ("up to white space" in error.value.hint) == (quote[0] == "a"), "the document is missing, not the quote"


def test_quotes_in_records() -> None:
    spans = {
        "q": [{"document": "a", "quote": "lamp was lit", "grade": 2}, {"document": "b", "quote": "horn", "grade": 1}]
    }
    judgments = cf.Collection(spans=spans, documents=TEXTS).judgments
    assert list(judgments.documents) == ["a:4-16", "b:2-6"] and judgments.grade.tolist() == [2, 1]
    with pytest.raises(InputError, match="no usual field for the start of a chunk"):
        cf.evaluate(cf.Collection(spans=SPANS), {"1": [{"document": "a", "quote": "lamp"}]}, "RR")


def test_a_chunk_without_its_text_has_no_end() -> None:
    run = {"1": [{"document": "a", "start": 0, "text": "xx"}, {"document": "a", "start": 3, "text": None}]}
    with pytest.raises(InputError, match="query `1`, position 2: the end must be a whole number, found None"):
        cf.evaluate(cf.Collection(spans=SPANS), run, "RR")


def test_quotes_need_texts() -> None:
    with pytest.raises(UsageError, match="quotes need the texts of documents"):
        _ = cf.Collection(spans={"q": [("a", "lamp")]}).judgments
    with pytest.raises(UsageError, match="judged passages need the texts of documents, not int"):
        _ = cf.Collection(spans={"q": [("a", "lamp")]}, documents=3).judgments


def nested(source: dict[str, Any]) -> Rows:
    return [
        {"query": q, "score": score, "metadata": {"source": document, "start": start, "end": end}}
        for q, chunks in source.items()
        for document, start, end, score in chunks
    ]


def test_tables_of_records_with_nested_fields_and_with_lists(tmp_path: Path) -> None:
    results = [{"query": q, "results": [dict(zip(FIELD_NAMES, c, strict=True)) for c in cs]} for q, cs in RUN.items()]
    columns = {name: [row[name] for row in rows(RUN, "score")] for name in ("query", *FIELD_NAMES)}
    for source in (nested(RUN), results, columns, {q: np.array(c, object) for q, c in RUN.items()}):
        assert cf.evaluate(cf.Collection(spans=SPANS), source, MEASURES).values.tolist() == EXPECTED
    for name, table in (("nested", nested(RUN)), ("results", results)):
        as_json_lines(tmp_path / f"{name}.jsonl", table)
        scores = cf.evaluate(cf.Collection(spans=SPANS), tmp_path / f"{name}.jsonl", MEASURES)
        assert scores.values.tolist() == EXPECTED and scores.runs == (name,)
    judged = {name: [row[name] for row in rows(SPANS, "")] for name in ("query", *FIELD_NAMES[:3])}
    assert cf.evaluate(cf.Collection(spans=judged), RUN, MEASURES).values.tolist() == EXPECTED


FIELD_NAMES = ("document", "start", "end", "score")


def test_records_with_named_fields_are_judged_passages_too() -> None:
    judged = {q: [{"at": {"file": d, "from": a, "to": b}, "grade": 2} for d, a, b in one] for q, one in SPANS.items()}
    spans = cf.records(judged, document="at.file", start="at.from", end="at.to")
    collection = cf.Collection(spans=spans)
    assert collection.judgments.grade.tolist() == [2, 2, 2]
    assert cf.evaluate(collection, RUN, MEASURES).values.tolist() == EXPECTED


@pytest.mark.parametrize(
    "write",
    [
        lambda d, a, b, s: {
            "node": {"start_char_idx": a, "end_char_idx": b, "relationships": {"1": {"node_id": d}}},
            "score": s,
        },
        lambda d, a, b, s: {"content": "." * (b - a), "source_id": d, "split_idx_start": a, "score": s, "id": "x"},
        lambda d, a, b, s: (
            {"kwargs": {"page_content": "." * (b - a), "metadata": {"source": d, "start_index": a}}},
            s,
        ),
    ],
    ids=["LlamaIndex", "Haystack", "LangChain"],
)
def test_the_dicts_that_libraries_write(write: Callable[..., Any]) -> None:
    run = {q: [write(*chunk) for chunk in chunks] for q, chunks in RUN.items()}
    assert cf.evaluate(cf.Collection(spans=SPANS), run, MEASURES).values.tolist() == EXPECTED


@pytest.mark.parametrize("item", [None, 7, "a", ()])
def test_what_is_no_passage_is_named_with_its_place(item: Any) -> None:
    with pytest.raises(InputError, match="query `1`, position 2: expected a passage, found"):
        cf.evaluate(cf.Collection(spans=SPANS), {"1": [("a", 0, 5), item]}, "RR")


def test_faults_in_json_by_query_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"1": [["a", 0, 5], ["a", 7, 5]]}))
    with pytest.raises(InputError, match=r"run\.json: query `1`, position 2: the end 5 is before the start 7"):
        cf.evaluate(cf.Collection(spans=SPANS), path, "RR")
    path.write_text(json.dumps({"1": [{"text": "x"}]}))
    with pytest.raises(InputError, match=r"run\.json: query `1`: no usual field for the document of a chunk"):
        cf.evaluate(cf.Collection(spans=SPANS), path, "RR")


def test_ranks_of_a_table_are_a_tie_rule() -> None:
    table = [row | {"rank": rank} for row, rank in zip(rows(RUN, "score"), (2, 1, 2, 1), strict=True)]
    assert cf.evaluate(cf.Collection(spans=SPANS), table, "RR", ties="rank").values.tolist() == [[[0.5, 1.0]]]


def test_results_of_a_query_in_two_records_are_refused() -> None:
    results = [{"query": "1", "results": [{"document": "a", "start": 0, "end": 9}]}] * 2
    with pytest.raises(InputError, match="run: row 2: query `1` has two records, first run: row 1"):
        cf.evaluate(cf.Collection(spans=SPANS), results, "RR")
