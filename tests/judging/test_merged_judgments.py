"""Merged judgments and samples say what they said before, in every format, or nothing is written."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cranfield import io
from cranfield.errors import InputError
from cranfield.judging.judgment_files import SampledDocument, merge, sample_lines, sample_rows

GRADES = [0.1234567890123, 1e-7, 123456789.0, 2.0, 1 / 3, 0.0]
EXTENSIONS = ("txt", "csv", "tsv", "jsonl", "json", "csv.gz", "qrels.xz")
FORGED = ["a\nq 0 x 1", "a b", "a\tb", "a\rb", "a\x0bb", "", "a\0"]


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_grades_keep_all_digits(extension: str, tmp_path: Path) -> None:
    old = {"q": {f"d{i}": grade for i, grade in enumerate(GRADES)}}
    path = tmp_path / f"merged.{extension}"
    merge(old, [{"q": {"new": 0.1 + 0.2}}]).write(str(path))
    judgments = io.read_qrels(path)
    assert dict(zip(judgments.documents, judgments.grade.tolist(), strict=True)) == old["q"] | {"new": 0.1 + 0.2}


@pytest.mark.parametrize("name", FORGED)
@pytest.mark.parametrize("side", ["query", "document", "old"])
def test_no_id_forges_a_row_of_a_merged_file(name: str, side: str, tmp_path: Path) -> None:
    old = {"q": {name if side == "old" else "o": 1}}
    new = {name if side == "query" else "q": {name if side == "document" else "n": 1}}
    expected = {q: {d: 1.0 for part in (old, new) for d in part.get(q, {})} for q in (*old, *new)}
    for extension in EXTENSIONS:
        path = tmp_path / f"merged.{extension}"
        try:
            merge(old, [new]).write(str(path))
        except InputError as error:
            assert "cannot be written" in str(error)
            assert not path.exists()
            continue
        judgments = io.read_qrels(path)
        begin = judgments.begin.tolist()
        found = {q: set(list(judgments.documents)[begin[i] : begin[i + 1]]) for i, q in enumerate(judgments.queries)}
        assert found == {q: set(documents) for q, documents in expected.items()}


@pytest.mark.parametrize("name", [*FORGED, "#q"])
@pytest.mark.parametrize("side", ["query", "document"])
def test_no_id_forges_a_row_of_a_sample(name: str, side: str, tmp_path: Path) -> None:
    query, document = (name, "d") if side == "query" else ("q", name)
    sample = [SampledDocument(query, document, "1", True, 0.1 + 0.2, 1 / 3), SampledDocument("r", "e", "1", True, 1, 0)]
    for write, extension in ((sample_lines, "qrels"), (sample_rows, "csv")):
        path = tmp_path / f"sample.{extension}"
        try:
            path.write_bytes(write(sample, str(path)))
            judgments = io.read_qrels(path)
        except InputError as error:
            assert "cannot be written" in str(error) or "is empty" in str(error)
            continue
        assert (list(judgments.queries), list(judgments.documents)) == ([query, "r"], [document, "e"])
        assert judgments.grade.tolist() == [1 / 3, 0]


def same_sample(one: Any, other: Any) -> bool:
    if list(one.sample.strata) != list(other.sample.strata):
        return False
    for name in ("probability", "method"):
        values = [getattr(side.sample, name) for side in (one, other)]
        if (values[0] is None) != (values[1] is None):
            return False
        if values[0] is not None and not np.array_equal(values[0], values[1], equal_nan=name == "probability"):
            return False
    return True


SAMPLES = {
    "strata": "q 0 a 1 2\nq 0 b 2 -1\nq 0 c 2 -2\nr 0 a 1 0\n",
    "probabilities and methods": "q a 2 1 0.123456789\nq b 0 0 1\nq c -1 4 0.25\nr a 0 1 NA\n",
}


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("extension", EXTENSIONS)
def test_a_sample_is_converted_whole_or_not_at_all(name: str, extension: str, tmp_path: Path) -> None:
    (tmp_path / "sample").write_text(SAMPLES[name])
    before, path = io.read_qrels(tmp_path / "sample"), tmp_path / f"out.{extension}"
    try:
        io.write_qrels(before, path)
    except InputError as error:
        assert "the sample cannot be written" in str(error)
        assert extension == "json" or name != "strata"
        return
    after = io.read_qrels(path)
    assert same_sample(before, after)
    assert after.grade.tolist() == before.grade.tolist()


@pytest.mark.parametrize("name", SAMPLES)
def test_a_merged_sample_is_the_same_sample(name: str, tmp_path: Path) -> None:
    (tmp_path / "sample").write_text(SAMPLES[name])
    path = tmp_path / "merged.txt"
    merge(tmp_path / "sample", [{"q": {"c": 1 / 3}}]).write(str(path))
    before, after = io.read_qrels(tmp_path / "sample"), io.read_qrels(path)
    assert same_sample(before, after)
    assert after.grade.tolist() == [*before.grade.tolist()[:2], 1 / 3, 0.0]


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("new", [{"q": {"z": 1}}, {"z": {"a": 1}}])
def test_a_document_outside_a_sample_is_refused(name: str, new: Any, tmp_path: Path) -> None:
    (tmp_path / "sample").write_text(SAMPLES[name])
    with pytest.raises(InputError, match="is not in the pool of the sample"):
        merge(tmp_path / "sample", [new])


def test_subtopics_are_not_merged_away(tmp_path: Path) -> None:
    with_subtopics = {"q": {"a": {"1": 1, "2": 0}}}
    with pytest.raises(InputError, match="by subtopic cannot be merged"):
        merge(with_subtopics, [{"q": {"b": 1}}])
    with pytest.raises(InputError, match="by subtopic cannot be merged"):
        merge({"q": {"b": 1}}, [with_subtopics])
    (tmp_path / "new.csv").write_text("query_id,doc_id,relevance,subtopic\nq,a,1,1\nq,a,0,2\n")
    with pytest.raises(InputError, match="by subtopic cannot be merged"):
        merge({"q": {"b": 1}}, [tmp_path / "new.csv"])


FAULTY = {
    "a column twice": ("new.csv", "query_id,doc_id,relevance,relevance\nq,a,1,2\n", "2 columns are named"),
    "a document column twice": ("new.csv", "query_id,doc_id,docno,doc_id,relevance\nq,a,b,c,1\n", "columns"),
    "NaN": ("new.csv", "query_id,doc_id,relevance\nq,a,nan\n", "not a finite number"),
    "infinity": ("new.csv", "query_id,doc_id,relevance\nq,a,inf\n", "not a finite number"),
    "no id": ("new.csv", "query_id,doc_id,relevance\nq,,1\n", "empty"),
    "a field too few": ("new.csv", "query_id,doc_id,relevance\nq,a\n", "expected 3 fields"),
    "null": (
        "new.json",
        json.dumps({"judgments": [{"query": "q", "document": None, "grade": 1}]}),
        "judgment 1 has no",
    ),
    "a null query": ("new.json", json.dumps({"judgments": [{"query": None, "document": "a", "grade": 1}]}), "has no"),
    "a null grade": ("new.json", json.dumps({"judgments": [{"query": "q", "document": "a", "grade": None}]}), "has no"),
    "true": ("new.json", json.dumps({"judgments": [{"query": "q", "document": "a", "grade": True}]}), "has no"),
    "NaN of a page": ("new.json", '{"judgments": [{"query": "q", "document": "a", "grade": NaN}]}', "query|NaN"),
    "a number without an end": (
        "new.json",
        f'{{"judgments": [{{"query": "q", "document": "a", "grade": 1{"0" * 400}}}]}}',
        "has no",
    ),
    "no record": ("new.json", json.dumps({"judgments": [7, None, []]}), "judgment 1 has no"),
}


@pytest.mark.parametrize("name", FAULTY)
def test_faulty_judgments_are_refused(name: str, tmp_path: Path) -> None:
    path, content, message = FAULTY[name]
    (tmp_path / path).write_text(content)
    with pytest.raises(InputError, match=message):
        merge({"q": {"b": 1}}, [tmp_path / path])


ASSESSED = "query_id,doc_id,relevance,assessor,time\nq,a,1,ann,9:00\nq,n,2,bob,\n"


def named_file(path: Path) -> BytesIO:
    file = BytesIO(path.read_bytes())
    file.name = str(path)
    return file


@pytest.mark.parametrize("as_file_object", [False, True])
@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_a_table_keeps_its_assessors(delimiter: str, as_file_object: bool, tmp_path: Path) -> None:
    path = tmp_path / ("new.csv" if delimiter == "," else "new.tsv")
    path.write_text(ASSESSED.replace(",", delimiter))
    source: Any = named_file(path) if as_file_object else path
    merged = merge({"q": {"b": 1}}, [source])
    assert merged.grades == {"q": {"b": 1.0, "a": 1.0, "n": 2.0}}
    assert [entry[3:] for entry in merged.new] == [("ann", "9:00", str(path)), ("bob", "", str(path))]
    merged.write(str(tmp_path / "merged.csv"))
    path_of_old = tmp_path / "merged.csv"
    old: Any = named_file(path_of_old) if as_file_object else path_of_old
    again = merge(old, [{"q": {"c": 0}}])
    assert again.grades == {"q": {"b": 1.0, "a": 1.0, "n": 2.0, "c": 0.0}}
    assert again.known["q", "a"][3:] == ("ann", "9:00", str(path))
    assert ("q", "b") not in again.known


def test_a_lone_surrogate_is_not_written(tmp_path: Path) -> None:
    page = '{"assessor": "\\ud800", "judgments": [{"query": "q", "document": "a", "grade": 1}]}'
    (tmp_path / "new.json").write_text(page)
    merged = merge({"q": {"b": 1}}, [tmp_path / "new.json"])
    with pytest.raises(InputError, match="lone surrogates"):
        merged.write(str(tmp_path / "merged.csv"))
    assert not (tmp_path / "merged.csv").exists()


def test_a_page_without_a_name_has_no_assessor(tmp_path: Path) -> None:
    page = {"assessor": None, "judgments": [{"query": "q", "document": "a", "grade": 1, "time": None}]}
    (tmp_path / "new.json").write_text(json.dumps(page))
    assert merge({"q": {"b": 1}}, [tmp_path / "new.json"]).new[0][3:5] == ("", "")


NEW_SAMPLES = {
    "strata": ["q 0 c 1 1\n", "q 0 z 2 1\n", "q c 1 1 0.25\n"],
    "probabilities and methods": ["q c 1 4 0.5\n", "q c 1 1 0.25\n", "q 0 c 2 1\n", "q c 1 4 NA\n"],
}


@pytest.mark.parametrize("name", SAMPLES)
def test_another_sample_is_not_merged(name: str, tmp_path: Path) -> None:
    old, new, path = SAMPLES[name], tmp_path / "new", tmp_path / "sample"
    path.write_text(old)
    new.write_text(old.replace("q 0 c 2 -2", "q 0 c 2 1").replace("q c -1 4", "q c 1 4"))
    assert [entry.document for entry in merge(path, [new]).new] == ["c"]
    with pytest.raises(InputError, match="was not drawn in this way"):
        merge({"q": {"o": 1}}, [new])
    for text in NEW_SAMPLES[name]:
        new.write_text(text)
        with pytest.raises(InputError, match="was not drawn in this way"):
            merge(path, [new])


@pytest.mark.parametrize("form", ["page", "text", "csv", "dict"])
@pytest.mark.parametrize("grade", [-1.0, -2.0, -5.0, -0.5])
def test_negative_grades_are_grades(form: str, grade: float, tmp_path: Path) -> None:
    """TREC Web gives -2 to spam: new judgments are kept with their grades."""
    path = tmp_path / f"new.{ {'page': 'json', 'csv': 'csv'}.get(form, 'txt') }"
    contents = {
        "page": json.dumps({"judgments": [{"query": "q", "document": "d", "grade": grade}]}),
        "text": f"q 0 d {grade}\n",
        "csv": f"query,document,grade\nq,d,{grade}\n",
    }
    path.write_text(contents.get(form, ""))
    new: Any = {"q": {"d": grade}} if form == "dict" else path
    merged = merge({"q": {"a": 1, "s": -2}}, [new])
    assert merged.grades == {"q": {"a": 1.0, "s": -2.0, "d": grade}}
    assert len(merged.new) == 1
    assert merge({"q": {"d": grade}}, [new]).repeated == 1
    assert merge({"q": {"d": grade}}, [{"q": {"d": 1}}]).grades == {"q": {"d": 1.0}}
    with pytest.raises(InputError, match="nothing was merged"):
        merge({"q": {"d": 1}}, [new])
