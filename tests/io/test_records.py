"""Records of search and RAG libraries: their own classes, where they are installed."""

from __future__ import annotations

from typing import Any

import pytest

import cranfield as cf
from cranfield.errors import CranfieldError

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
    scores = cf.evaluate({1: [document]}, {1: [{name: 18, "score": 0.5}, {name: document, "score": 0.9}]}, "RR")
    assert (scores.runs, scores.means.tolist()) == (("run",), [[1.0]])
