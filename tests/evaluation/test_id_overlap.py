"""Runs without any judged document: what is said, when it is an error, and how chunks are mapped to documents."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import cranfield as cf
from cranfield.errors import InputError, UsageError
from cranfield.evaluation.overlap import id_shape

QRELS = {"1": {"guide.md": 1, "faq.md": 0}, "2": {"intro.md": 2}}
CHUNKS = {"1": {"guide.md#7": 3.0, "faq.md#1": 2.0, "guide.md#2": 1.0}, "2": {"faq.md#1": 2.0, "intro.md#0": 1.0}}
BAD = {"1": {"other.md": 2.0}, "2": {"more.md": 1.0}}


@pytest.mark.parametrize(
    ("name", "shape"),
    [("FT911-3", "a0-0"), ("clueweb09-en0000-00-00000", "a0-a0-0-0"), ("été_12", "a_0"), ("7", "0"), ("a b", "a a")],
)
def test_the_shape_of_an_id(name: str, shape: str) -> None:
    assert id_shape(name) == shape


def test_other_forms_of_ids_are_an_error_with_three_ids_of_each_side() -> None:
    with pytest.raises(InputError) as error:
        cf.evaluate(QRELS, CHUNKS, "RR")
    assert str(error.value).startswith(
        "run: none of the retrieved documents is judged for any query: retrieved `guide.md#7`, `faq.md#1`, "
        "`guide.md#2`; judged `guide.md`, `faq.md`, `intro.md`; ids of the two have different forms"
    )
    for way in ("map_documents", "strip", "spans", "allow_disjoint"):
        assert way in error.value.hint


def test_a_bad_run_with_the_right_kind_of_ids_keeps_its_zero_and_the_first_note_says_it() -> None:
    scores = cf.evaluate(QRELS, BAD, "RR")
    assert scores["RR"]["run"] == 0
    assert str(scores.notes[0]) == (
        "run: none of the retrieved documents is judged for any query: retrieved `other.md`, `more.md`; "
        "judged `guide.md`, `faq.md`, `intro.md`"
    )


def test_one_id_of_the_right_form_is_enough() -> None:
    run = {**CHUNKS, "2": {**CHUNKS["2"], "none.md": 0.5}}
    assert cf.evaluate(QRELS, run, "RR")["RR"]["run"] == 0


def test_a_document_that_is_judged_for_another_query_is_in_common() -> None:
    scores = cf.evaluate(QRELS, {"1": {"intro.md": 2.0, "x#1": 1.0}, "2": {"x#1": 1.0}}, "RR")
    assert not [note for note in scores.notes if note.kind == "disjoint"]


def test_allow_disjoint_goes_on_with_the_note() -> None:
    scores = cf.evaluate(cf.Collection(QRELS, allow_disjoint=True), CHUNKS, "RR")
    assert scores["RR"]["run"] == 0
    assert scores.notes[0].kind == "disjoint"


def test_known_documents_that_do_not_contain_the_retrieved_ones_are_an_error(tmp_path: Path) -> None:
    texts = {"guide.md": "a lamp", "faq.md": "a horn", "intro.md": "an oil lamp"}
    with pytest.raises(InputError, match="the documents of the collection do not contain them"):
        cf.evaluate(cf.Collection(QRELS, documents=texts), BAD, "RR")
    assert cf.evaluate(cf.Collection(QRELS, documents=texts | {"more.md": ""}), BAD, "RR")["RR"]["run"] == 0
    path = tmp_path / "documents.jsonl"
    path.write_text("".join(json.dumps({"_id": name, "text": text}) + "\n" for name, text in texts.items()))
    with pytest.raises(InputError, match="the documents of the collection do not contain them"):
        cf.evaluate(cf.Collection(QRELS, documents=str(path)), BAD, "RR")


def test_one_query_calls_of_an_evaluator_keep_their_zero() -> None:
    evaluator = cf.Evaluator(QRELS, "RR")
    assert evaluator({"1": CHUNKS["1"]})["RR"]["run"] == 0
    assert evaluator.means({"1": CHUNKS["1"]}) == {"RR": 0}
    assert evaluator.per_query(CHUNKS) == {"1": {"RR": 0}, "2": {"RR": 0}}
    with pytest.raises(InputError, match="different forms"):
        evaluator(CHUNKS)


def test_drop_ins_and_bridges_keep_their_zero() -> None:
    from cranfield.compat.pytrec_eval import RelevanceEvaluator

    assert RelevanceEvaluator(QRELS, {"recip_rank"}).evaluate(CHUNKS)["1"]["recip_rank"] == 0


def test_empty_lists_are_no_disjoint_run() -> None:
    assert cf.evaluate(QRELS, {"1": {}, "2": {}}, "RR")["RR"]["run"] == 0


def test_audits_and_comparisons_check_ids_too() -> None:
    with pytest.raises(InputError, match="different forms"):
        cf.audit(QRELS, {"good": {"1": ["guide.md"]}, "chunks": CHUNKS}, "RR")


def test_groups_have_documents_in_common_if_any_group_has() -> None:
    groups = {"1": {"g1": {"a1": 1}, "g2": {"guide.md#7": 1}}, "2": {"g1": {"b2": 1}}}
    assert cf.evaluate(cf.Collection(groups=groups), CHUNKS, "RR[groups]")["RR[groups]"]["run"] == 0.25


MAP = {"guide.md#7": "guide.md", "guide.md#2": "guide.md", "faq.md#1": "faq.md", "intro.md#0": "intro.md"}
EXPECTED = {"1": {"RR": 1.0, "P@2": 0.5, "NumRet": 2.0}, "2": {"RR": 0.5, "P@2": 0.5, "NumRet": 2.0}}


def sources(folder: Path) -> dict[str, Any]:
    rows = [{"chunk": chunk, "document": document} for chunk, document in MAP.items()]
    text = "".join(f"{chunk}\t{document}\n" for chunk, document in MAP.items())
    files = {
        "text.txt": text,
        "table.tsv": "chunk\tdocument\n" + text,
        "table.csv": "source,chunk_id\n" + "".join(f"{document},{chunk}\n" for chunk, document in MAP.items()),
        "object.json": json.dumps(MAP),
        "rows.jsonl": "".join(json.dumps(row) + "\n" for row in rows),
    }
    for name, content in files.items():
        (folder / name).write_text(content)
    paths = {name: folder / name for name in files}
    function = {"function": lambda chunk: chunk.partition("#")[0]}
    return (
        {"dict": MAP, "frame": pd.DataFrame(rows), "rows": rows, "stream": io.BytesIO(text.encode())} | paths | function
    )


@pytest.mark.parametrize(
    "name",
    "dict frame rows stream function text.txt table.tsv table.csv object.json rows.jsonl".split(),  # noqa: SIM905
)
def test_chunks_collapse_to_their_best_from_every_kind_of_map(name: str, tmp_path: Path) -> None:
    """By hand: guide.md (3.0, its better chunk) before faq.md (2.0); faq.md (2.0) before intro.md (1.0)."""
    collection = cf.Collection(QRELS, map_documents=sources(tmp_path)[name])
    scores = cf.evaluate(collection, CHUNKS, ["RR", "P@2", "NumRet"])
    found = {
        query: {m: scores.to_dict()["runs"]["run"][m]["queries"][query] for m in ("RR", "P@2", "NumRet")}
        for query in QRELS
    }
    assert found == EXPECTED


def test_a_map_applies_to_lists_files_and_calls_of_an_evaluator(tmp_path: Path) -> None:
    path = tmp_path / "chunks.run"
    lines = [f"{q} Q0 {d} {i} {s} x\n" for q, run in CHUNKS.items() for i, (d, s) in enumerate(run.items())]
    path.write_text("".join(lines))
    evaluator = cf.Evaluator(cf.Collection(QRELS, map_documents=MAP), ["RR", "P@2", "NumRet"])
    for run in (path, {query: list(ranking) for query, ranking in CHUNKS.items()}, CHUNKS):
        assert evaluator.per_query(run) == EXPECTED


def test_ids_without_an_entry_stay_and_are_counted_and_empty_lists_stay_empty() -> None:
    collection = cf.Collection(QRELS, map_documents={"guide.md#7": "guide.md"})
    scores = cf.evaluate(collection, {"1": {"x": 2.0, "guide.md#7": 1.0}, "2": {}}, "RR", queries="both")
    assert scores.to_dict()["runs"]["run"]["RR"]["queries"] == {"1": 0.5, "2": 0}
    assert "run: 1 of 2 retrieved ids are not in the map of documents; kept as they are" in map(str, scores.notes)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (b"a b c\n", "expected 2 columns (chunk document), found 3"),
        (b"a b\na c\n", ":2: chunk `a` already belongs to document `b`"),
        ({"a": 1.5}, "map of documents: chunk `a`: expected the id of a document, found 1.5"),
        (lambda chunk: 1.5, "map of documents: chunk `guide.md#7`: expected an id, found 1.5"),
        ([{"x": "a", "y": "b"}], "no column for the chunk; the columns are x, y"),
        (3, "cannot read map of documents from int"),
    ],
)
def test_wrong_maps_are_sentences(source: Any, message: str) -> None:
    source = io.BytesIO(source) if isinstance(source, bytes) else source
    with pytest.raises((InputError, UsageError)) as error:
        cf.evaluate(cf.Collection(QRELS, map_documents=source), CHUNKS, "RR")
    assert message in str(error.value)


def test_one_id_of_another_form_is_enough_in_a_file(tmp_path: Path) -> None:
    qrels, path = {"1": {"guide.md": 1}, "2": {"guide.md": 1}}, tmp_path / "chunks.run"
    path.write_text("1 Q0 guide.md#7 1 1.0 x\n2 Q0 guide.md#7 1 1.0 x\n")
    with pytest.raises(InputError, match="different forms"):
        cf.evaluate(qrels, path, "RR")
    assert cf.evaluate(qrels, {"1": ["guide.md#7"], "2": ["guide.md#7"]}, "RR")["RR"]["run"] == 0


def test_a_frame_of_one_query_keeps_its_zero() -> None:
    frame = pd.DataFrame({"query_id": ["1", "1"], "doc_id": ["guide.md#7", "faq.md#1"], "score": [2.0, 1.0]})
    assert cf.Evaluator(QRELS, "RR")(frame)["RR"]["run"] == 0
