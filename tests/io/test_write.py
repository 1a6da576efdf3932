"""What is written is read back as it was, and a file is there whole or not at all."""

from __future__ import annotations

import os
import stat
import sys
import threading
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from io_samples import judged, rows

from cranfield import io
from cranfield.data import Run, Strings, Table
from cranfield.errors import InputError, MissingDependency

EXTENSIONS = [
    "run",
    "txt.gz",
    "json",
    "json.zst",
    "jsonl",
    "jsonl.bz2",
    "csv",
    "csv.xz",
    "tsv",
    "parquet",
    "parquet.gz",
]
REPEATED = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

# Any bytes make an id, also those that are no UTF-8.
anything = st.binary(max_size=6).map(lambda b: b.decode("utf-8", "surrogateescape")) | st.text(
    st.characters(codec="utf-8"), max_size=4
)
words = st.text(st.characters(min_codepoint=0x21, codec="utf-8"), min_size=1, max_size=4).filter(
    lambda t: not t.startswith(("#", "\ufeff", "{", "["))
) | st.binary(min_size=1, max_size=3).map(lambda b: b"x" + bytes(max(c, 0x21) for c in b)).map(
    lambda b: b.decode("utf-8", "surrogateescape")
)
scores = st.floats(allow_nan=False)
grades = st.integers(-2, 4).map(float) | st.floats(allow_nan=False, allow_infinity=False)


def nested(ids: st.SearchStrategy[str], values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(ids, st.dictionaries(ids, values, min_size=1, max_size=5), min_size=1, max_size=4)


def ids_for(extension: str) -> st.SearchStrategy[str]:
    if extension.startswith(("run", "txt")):
        return words
    if extension.startswith(("csv", "tsv")):
        return anything.filter(lambda text: text and "\0" not in text and text[0] != "\ufeff")
    return anything if extension.split(".")[0] == "json" else anything.filter(lambda text: text and text[0] != "\ufeff")


@pytest.mark.parametrize("extension", ["csv", "tsv", "jsonl", "parquet", "txt"])
def test_a_mark_that_readers_refuse_is_not_written(extension: str, tmp_path: Path) -> None:
    for write, read in ((io.write_run, io.read_run), (io.write_qrels, io.read_qrels)):
        with pytest.raises(InputError, match="cannot be written"):
            write(read({"\ufeffq": {"d": 1}}), tmp_path / f"out.{extension}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("extension", EXTENSIONS)
@REPEATED
@given(data=st.data())
def test_runs_come_back(extension: str, data: st.DataObject, tmp_path: Path) -> None:
    given = data.draw(nested(ids_for(extension), scores))
    path = tmp_path / f"run.{extension}"
    io.write_run(io.read_run(given), path)
    assert rows(io.read_run(path)) == rows(io.read_run(given))


@pytest.mark.parametrize("extension", EXTENSIONS)
@REPEATED
@given(data=st.data())
def test_judgments_come_back(extension: str, data: st.DataObject, tmp_path: Path) -> None:
    ids = ids_for(extension)
    labelled = st.dictionaries(ids, grades, min_size=1, max_size=3)
    given = data.draw(nested(ids, grades) | nested(ids, labelled))
    path = tmp_path / f"qrels.{extension}"
    before = io.read_qrels(given)
    io.write_qrels(before, path)
    assert judged(io.read_qrels(path)) == judged(before)


def test_trec_text(tmp_path: Path) -> None:
    path = tmp_path / "out"
    io.write_run(io.read_run({"q": {"b": 1, "a": 2.5}, "r": {"c": float("-inf")}}, name="my run"), path)
    assert path.read_text() == "q Q0 b 1 1.0 my_run\nq Q0 a 2 2.5 my_run\nr Q0 c 1 -inf my_run\n"
    io.write_run(io.read_run(path), path, tag="bm25")
    assert path.read_text() == "q Q0 b 1 1.0 bm25\nq Q0 a 2 2.5 bm25\nr Q0 c 1 -inf bm25\n"
    io.write_qrels(io.read_qrels({"q": {"a": 1, "b": 0.5}}), path)
    assert path.read_text() == "q 0 a 1\nq 0 b 0.5\n"


def test_other_texts(tmp_path: Path) -> None:
    run = io.read_run({"q": {"b": 1, "a,c": 2.5}})
    for extension, content in (
        ("json", '{"q": {"b": 1.0, "a,c": 2.5}}\n'),
        (
            "jsonl",
            '{"query_id": "q", "doc_id": "b", "rank": 1, "score": 1.0}\n{"query_id": "q", "doc_id": "a,c", "rank": 2, "score": 2.5}\n',
        ),
        ("csv", 'query_id,doc_id,rank,score\nq,b,1,1.0\nq,"a,c",2,2.5\n'),
    ):
        path = tmp_path / f"out.{extension}"
        io.write_run(run, path)
        assert path.read_text() == content


def test_ranks_are_kept(tmp_path: Path) -> None:
    table = Table(Strings.of(["q", "q"]), Strings.of(["a", "b"]), np.array([1.0, 2.0]), np.array([7.0, 3.5]))
    io.write_run(table, tmp_path / "out")
    assert (tmp_path / "out").read_text() == "q Q0 a 7 1.0 run\nq Q0 b 3.5 2.0 run\n"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a b", "TREC text has no way to write an id that is empty or contains blanks"),
        ("", "TREC text has no way to write an id that is empty or contains blanks"),
        ("a\0b", "TREC text has no way to write an id that is empty or contains blanks"),
        ("#1", "TREC text that begins like this is read as something else"),
        ('{"', "TREC text that begins like this is read as another format"),
    ],
)
def test_ids_that_trec_text_cannot_hold(name: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("what was there")
    with pytest.raises(InputError) as caught:
        io.write_run(io.read_run({name: {"d": 1}}), path)
    shown = name.replace("\0", "\\x00")
    assert (
        str(caught.value) == f"{path}: the id `{shown}` cannot be written: {why}\n\nhint: write .jsonl or .csv instead"
    )
    assert os.listdir(tmp_path) == ["out"]
    assert path.read_text() == "what was there"


def test_csv_without_nul_bytes(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    with pytest.raises(InputError) as caught:
        io.write_run(io.read_run({"q": {"a\0": 1}}), path)
    assert str(caught.value) == (
        f"{path}: the id `a\\x00` cannot be written: CSV cannot contain a NUL byte\n\nhint: write .jsonl instead"
    )


def test_faulty_runs_are_not_written(tmp_path: Path) -> None:
    twice = Run("r", lambda: BytesIO(b"q Q0 d 1 1 t\nq Q0 d 2 0 t\n"), "r.txt")
    with pytest.raises(InputError, match="appears twice"):
        io.write_run(twice, tmp_path / "out")
    assert os.listdir(tmp_path) == []


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "no" / "out"
    with pytest.raises(InputError) as caught:
        io.write_run(io.read_run({"q": {"d": 1}}), path)
    assert str(caught.value) == f"{path}: cannot be written: no such file or directory"
    with pytest.raises(InputError) as caught:
        io.write_run(io.read_run({"q": {"d": 1}}), tmp_path)
    assert str(caught.value) == f"{tmp_path}: cannot be written: is a directory"


def test_permissions_are_those_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    io.write_run(io.read_run({"q": {"d": 1}}), tmp_path / "out")
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipes_are_written_to(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(path.read_text()))
    reader.start()
    io.write_qrels(io.read_qrels({"q": {"a": 1}}), path)
    reader.join()
    assert got == ["q 0 a 1\n"]


def test_missing_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = io.read_run({"q": {"d": 1}})
    for module, name, what in (("pyarrow", "out.parquet", "writing Parquet"), ("zstandard", "out.zst", "writing zstd")):
        monkeypatch.setitem(sys.modules, module, None)
        monkeypatch.setitem(sys.modules, "compression", None)
        with pytest.raises(MissingDependency, match=what):
            io.write_run(run, tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    run = io.read_run({"q": {"d": 1}})
    for extension in EXTENSIONS:
        one, other = tmp_path / f"one.{extension}", tmp_path / f"other.{extension}"
        io.write_run(run, one)
        io.write_run(run, other)
        assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("rankings", [{"q2": {}, "q1": {"d": 1.0}}, {"q2": {}}])
def test_json_keeps_queries_without_documents(rankings: dict[str, dict[str, float]], tmp_path: Path) -> None:
    run, qrels = tmp_path / "run.json", tmp_path / "qrels.json"
    io.write_run(io.read_run(rankings), run)
    assert [*io.read_run(run)] == [*rankings]
    judged = {**rankings, "q3": {"d": 2}}
    io.write_qrels(io.read_qrels(judged), qrels)
    assert [*io.read_qrels(qrels).queries] == [*judged]
    subtopics = {"q1": {"d": {"1": 1}}, "q2": {}}
    io.write_qrels(io.read_qrels(subtopics), qrels)
    assert [*io.read_qrels(qrels).queries] == [*subtopics]
