"""Records of search and RAG libraries: their own classes, where they are installed."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

import cranfield as cf
from cranfield import io
from cranfield.errors import CranfieldError, InputError

JUDGED = [{"d1"}, {"d2"}]


def means(run: Any) -> dict[str, float]:
    return cf.Evaluator(JUDGED, "RR").means(run)


def test_langchain() -> None:
    documents = pytest.importorskip("langchain_core.documents")

    def chunk(name: str) -> Any:
        return documents.Document(page_content="a lamp", metadata={"source": name})

    results = [[chunk("d1"), chunk("d1"), chunk("d3")], [chunk("d3"), chunk("d2")]]
    assert means(cf.records(results, document="metadata.source", duplicates="first")) == {"RR": 0.75}
    scored = [[(chunk("d3"), 0.2), (chunk("d1"), 0.9)], [(chunk("d2"), 0.5)]]  # similarity_search_with_score
    assert means(cf.records(scored, document="metadata.source")) == {"RR": 1.0}
    with pytest.raises(CranfieldError, match=r"it has .*metadata, metadata\.source"):
        cf.records(results)
    with_ids = [[documents.Document(id="d1", page_content="")], [documents.Document(id="d2", page_content="")]]
    assert means(with_ids) == {"RR": 1.0}


def test_llama_index() -> None:
    schema = pytest.importorskip("llama_index.core.schema")

    def node(name: str, score: float | None = None) -> Any:
        return schema.NodeWithScore(node=schema.TextNode(text="a lamp", id_=name), score=score)

    assert means([[node("d1", 0.9), node("d3", 0.5)], [node("d3", 0.5), node("d2", 0.1)]]) == {"RR": 0.75}
    assert means([[node("d1"), node("d3")], [node("d3"), node("d2")]]) == {"RR": 0.75}


def test_haystack() -> None:
    haystack = pytest.importorskip("haystack")
    first = [haystack.Document(id="d3", score=0.1), haystack.Document(id="d1", score=0.7)]
    assert means([first, [haystack.Document(id="d2")]]) == {"RR": 1.0}


def hits(*names: str) -> dict[str, Any]:
    found = [{"_index": "i", "_id": name, "_score": None, "_source": {}} for name in names]
    return {"took": 1, "timed_out": False, "hits": {"total": {"value": len(names)}, "hits": found}}


def test_elasticsearch() -> None:
    transport = pytest.importorskip("elastic_transport")
    meta = transport.ApiResponseMeta(200, "1.1", transport.HttpHeaders(), 0.1, None)
    first, second = (transport.ObjectApiResponse(hits(*names), meta) for names in (("d1", "d3"), ("d3", "d2")))
    assert means([first, second]) == {"RR": 0.75}
    assert means(cf.records({"1": first, "2": second})) == {"RR": 0.75}
    many = transport.ObjectApiResponse({"responses": [hits("d1"), hits("d2")]}, meta)
    assert means(many) == {"RR": 1.0}


@pytest.mark.parametrize(
    ("response", "search"),
    [
        ("elasticsearch.dsl.response", "elasticsearch.dsl"),
        ("opensearchpy.helpers.response", "opensearchpy"),
    ],
)
def test_responses_of_the_dsl(response: str, search: str) -> None:
    module, dsl = pytest.importorskip(response), pytest.importorskip(search)
    first, second = (module.Response(dsl.Search(), hits(*names)) for names in (("d1", "d3"), ("d3", "d2")))
    assert means([first, second]) == {"RR": 0.75}


def test_names_are_found_in_every_record() -> None:
    with pytest.raises(CranfieldError, match="query `2`, position 2: no field `source` in dict; it has text"):
        cf.records([[{"source": "d1"}], [{"source": "d1"}, {"text": "a lamp"}]], document="source")
    with pytest.raises(CranfieldError, match=r"document= failed for dict \(KeyError: 'url'\); it has source"):
        cf.records([[{"source": "d1"}]], document=lambda record: record["url"])
    with pytest.raises(CranfieldError, match="found a list of dict without a query"):
        cf.records([{"id": "d1"}, {"id": "d2"}])


@pytest.mark.parametrize("name", ["chunk_id", "doc_id", "passage_id", "id"])
@pytest.mark.parametrize("document", [17, "17"])
def test_a_list_of_dicts_is_a_ranking_and_never_a_run(name: str, document: object) -> None:
    scores = cf.evaluate({1: [document]}, {1: [{name: document, "score": 0.9}, {name: 18, "score": 0.5}]}, "RR")
    assert (scores.runs, scores._means.tolist()) == (("run",), [[1.0]])


class Hit(NamedTuple):
    doc_id: str | None
    id: str
    score: float | None = None


UNEVEN: dict[str, tuple[dict[str, Any], str]] = {
    "two ids": ({"q": [{"id": "x"}], "r": [{"doc_id": "b", "id": "a"}, {"doc_id": "a", "id": "b"}]}, "document"),
    "two ids in a list": ({"q": [{"id": "x"}, {"doc_id": "b", "id": "a"}]}, "document"),
    "an id that is None": ({"q": [Hit(None, "x")], "r": [Hit("b", "a"), Hit("a", "b")]}, "document|an id must be"),
    "a nested id": ({"q": [{"id": "x"}], "r": [{"_id": "y", "id": "a"}]}, "document"),
    "two scores": (
        {"q": [{"id": "x", "_score": 1.0}], "r": [{"id": "a", "score": 1.0, "_score": 2.0}, {"id": "b", "score": 2.0}]},
        "score",
    ),
    "no score first": ({"q": [{"id": "a"}, {"id": "b", "score": 2.0}]}, "score"),
    "null first": ({"q": [{"id": "a", "score": None}, {"id": "b", "score": 2.0}]}, "score"),
    "null later": ({"q": [{"id": "b", "score": 2.0}, {"id": "a", "score": None}]}, "score"),
    "no score later": ({"q": [{"id": "b", "score": 2.0}, {"id": "a"}]}, "score"),
    "a query without scores": ({"q": [{"id": "a"}], "r": [{"id": "b", "score": 2.0}]}, "score"),
    "a query with nulls": ({"q": [{"id": "a", "score": None}], "r": [{"id": "b", "score": 2.0}]}, "score"),
    "an object with None": ({"q": [Hit("a", "1")], "r": [Hit("b", "2", 2.0)]}, "score"),
    "pairs and records": ({"q": [({"id": "a"}, 0.5)], "r": [{"id": "b"}]}, "score"),
    "pairs, then records": ({"q": [({"id": "a"}, 0.5), {"id": "b"}]}, "pair"),
    "records, then pairs": ({"q": [{"id": "b"}, ({"id": "a"}, 0.5)]}, "an id must be"),
}


@pytest.mark.parametrize("name", UNEVEN)
@pytest.mark.parametrize("turned", [False, True])
def test_no_field_of_a_record_decides_about_others(name: str, *, turned: bool) -> None:
    run, problem = UNEVEN[name]
    run = dict(reversed(run.items())) if turned else run
    with pytest.raises(InputError, match=f"no field|{problem}"):
        cf.evaluate({"r": {"a"}, "q": {"a"}}, run, "RR")
    with pytest.raises(InputError, match=f"no field|{problem}"):
        cf.records(run)


def test_a_named_field_is_the_same_for_all_records() -> None:
    run, _ = UNEVEN["two ids"]
    assert cf.Evaluator({"r": {"a"}}, "RR").means(cf.records(run, document="id")) == {"RR": 1.0}
    alone = {"r": run["r"]}
    assert cf.Evaluator({"r": {"a"}}, "RR").means(alone) == {"RR": 0.5}


@pytest.mark.parametrize(
    "judged",
    [
        {"q": [{"id": "a"}, {"id": "b", "relevance": 0}]},
        {"q": [{"id": "b", "relevance": 0}, {"id": "a"}]},
        {"q": [{"id": "a", "relevance": None}, {"id": "b", "relevance": 0}]},
        {"q": [{"id": "a"}], "r": [{"id": "b", "relevance": 0}]},
        {"q": [{"id": "a", "rel": 1}], "r": [{"id": "b", "relevance": 0, "rel": 2}]},
        {"q": [{"id": "a"}], "r": [{"doc_id": "b", "id": "c"}]},
    ],
)
def test_no_field_of_a_judgment_decides_about_others(judged: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"no field|grade|the document could be"):
        io.read_qrels(judged)
    with pytest.raises(InputError, match=r"no field|grade|the document could be"):
        io.read_qrels(dict(reversed(judged.items())))


def test_rows_have_the_columns_that_any_of_them_has() -> None:
    rows = [{"qid": "q", "docno": "a", "rank": 1}, {"qid": "q", "docno": "b", "rank": 2, "score": 2.0}]
    for order in (rows, rows[::-1]):
        with pytest.raises(InputError, match="no field `score`"):
            io.read_run(order)
    ids = [{"qid": "q", "docid": "1", "score": 1.0}, {"qid": "q", "docid": "2", "docno": "b", "score": 2.0}]
    for order in (ids, ids[::-1]):
        with pytest.raises(InputError, match="no field `docno`"):
            io.read_run(order)


def test_a_record_with_an_empty_id_is_refused() -> None:
    with pytest.raises(InputError, match="query `q`, position 2: the id of the document is empty"):
        cf.evaluate({"q": {"a": 1}}, {"q": [{"id": "a"}, {"id": ""}]}, "RR")


def test_ranks_of_records_must_be_in_the_order_of_the_list() -> None:
    ranked = [{"id": "b", "rank": 1}, {"id": "a", "rank": 2}]
    assert cf.Evaluator({"q": {"a": 1}}, "RR").means({"q": ranked}) == {"RR": 0.5}
    with pytest.raises(InputError, match="query `q`: the ranks of the records are not in the order of the list"):
        cf.evaluate({"q": {"a": 1}}, {"q": ranked[::-1]}, "RR")
    scored = [{"id": "a", "rank": 2, "score": 1.0}, {"id": "b", "rank": 1, "score": 2.0}, {"id": "c", "score": 0.5}]
    assert cf.Evaluator({"q": {"a": 1}}, "RR").means({"q": scored}) == {"RR": 0.5}


def test_ids_with_thousands_of_digits_are_refused() -> None:
    long = 10**5000
    for run in ({"q": [{"id": long}]}, {long: [{"id": "a"}]}, {long: ["a"]}):
        for read in (cf.records, lambda run: cf.evaluate({"q": {"a": 1}}, run, "RR")):
            with pytest.raises(InputError, match="a whole number in the input has more than 4,300 digits"):
                read(run)
