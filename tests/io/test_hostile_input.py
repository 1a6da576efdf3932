"""Bad input is refused with a place, or read exactly; nothing else happens."""

from __future__ import annotations

import gzip
import io as python_io
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from io_samples import judged, rows

import cranfield as cf
from cranfield import io
from cranfield.data import Run, TableStream
from cranfield.errors import CranfieldError, InputError, MeasureError, UsageError, listing_faults
from cranfield.io.formats import delimited
from cranfield.io.formats import json as json_format


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def message_of(source: Any, kind: str = "run") -> str:
    error = io.check_run(source) if kind == "run" else io.check_qrels(source)
    assert error is not None
    return str(error).splitlines()[0]


# ---- columns

TWICE = {
    "csv": "query_id,doc_id,score,score\nq,d,1,2\n",
    "tsv": "query_id\tdoc_id\tscore\tdoc-id\nq\td\t1\te\n",
    "jsonl": '{"query_id": "q", "doc_id": "d", "docid": "e", "score": 1}\n' * 2,
    "json": '[{"query_id": "q", "doc_id": "d", "docid": "e", "score": 1}]',
}


@pytest.mark.parametrize("extension", TWICE)
def test_columns_that_could_both_be_meant_are_refused(extension: str) -> None:
    path = f"run.{extension}"
    Path(path).write_text(TWICE[extension])
    assert message_of(path) in (
        "run.csv: 2 columns are named `score`",
        f"{path}: several columns could be the document: `doc_id` and `docid`",
        f"{path}: several columns could be the document: `doc_id` and `doc-id`",
    )


def test_a_column_may_be_chosen_among_similar_ones() -> None:
    Path("run.jsonl").write_text(TWICE["jsonl"].splitlines()[0] + '\n{"query_id": "q", "doc_id": "f", "score": 2}\n')
    run = io.read_run("run.jsonl", columns={"document": "doc_id"})
    assert rows(run) == [("q", "d", 1.0), ("q", "f", 2.0)]


def test_frames_and_parquet_with_a_column_twice() -> None:
    names = ["query_id", "doc_id", "score", "score"]
    frame = pd.DataFrame([["q", "d", 1.0, 2.0]], columns=names)
    table = pa.Table.from_arrays([pa.array([v]) for v in ("q", "d", 1.0, 2.0)], names)
    pq.write_table(table, "run.parquet")
    for source in (frame, table, "run.parquet"):
        assert message_of(source).endswith("2 columns are named `score`")
    other = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "Doc-ID": ["e"], "score": [1]})
    assert message_of(other) == "several columns could be the document: `doc_id` and `Doc-ID`"
    judged_twice = table.rename_columns(["query_id", "doc_id", "rel", "rel"])
    assert message_of(judged_twice, "qrels") == "2 columns are named `rel`"
    # A column that is not needed may be there twice.
    assert rows(
        io.read_run(table.rename_columns(["query_id", "doc_id", "score", "x"]).append_column("x", pa.array([1])))
    ) == [("q", "d", 1.0)]


# ---- JSON


def test_a_key_given_twice_is_found_at_once() -> None:
    keys = ", ".join(f'"d{i}": 1' for i in range(200_000))
    Path("run.json").write_text(f'{{"q": {{{keys}, "d199999": 2}}}}')
    begin = time.process_time()
    assert message_of("run.json") == "run.json: `d199999` appears twice in one object"
    assert time.process_time() - begin < 60  # pairs of keys would take hours


DIGITS = "1" * 5000
BAD_JSON = {
    "digits": f'{{"q": {{"d": {DIGITS}}}}}',
    "digits in lines": f'{{"qid": "q", "docid": "d", "score": {DIGITS}}}\n{{"qid": "q", "docid": "e", "score": 1}}\n',
    "depth": '{"q": ' + '{"d": ' * 100_000,
    "depth in lines": '{"qid": "q", "docid": "e", "score": 1}\n' + '{"d": ' * 100_000 + "\n",
}


@pytest.mark.parametrize("text", BAD_JSON.values(), ids=BAD_JSON)
def test_json_that_python_cannot_hold(text: str) -> None:
    for name in ("run.json", "qrels.json"):
        Path(name).write_text(text)
    assert "thousands of digits" in message_of("run.json") or "nested too deeply" in message_of("run.json")
    assert message_of("qrels.json", "qrels").startswith("qrels.json:")
    for reader in (cf.evaluate, lambda q, r, m: cf.evaluate(cf.Collection(prefs="qrels.json"), r, m)):
        with pytest.raises(CranfieldError):
            reader("qrels.json", {"q": {"d": 1}}, ["AP"])


@pytest.mark.parametrize(
    "text",
    [
        '{"study": ' + "[" * 100_000,
        f'{{"study": {DIGITS}}}',
        '{"kind": "study", "study": "power", "version": Infinity}',
    ],
)
def test_saved_studies(text: str) -> None:
    from cranfield.lab.study import StudyResult

    Path("study.json").write_text(text)
    with pytest.raises(InputError, match=r"study\.json"):
        StudyResult.load("study.json")


@pytest.mark.parametrize("value", ["Infinity", "1e400", "[" * 100_000, DIGITS])
def test_corpus_metadata(value: str) -> None:
    from cranfield.corpus import corpus_file
    from cranfield.corpus.models import Settings

    columns: dict[str, Any] = {name: io.read_qrels({"q": {"d": 1}}).documents for name in corpus_file.TEXT_COLUMNS}
    columns |= {"frequency": np.array([1]), "begin": np.array([0, 1]), "term": np.array([0]), "count": np.array([1])}
    columns |= {"total": 1, "size": 2, "empty": 0, "repeated": 0}
    corpus_file.save(columns, Settings(), [], "corpus.parquet")
    table = pq.read_table("corpus.parquet")
    metadata = table.schema.metadata[corpus_file.KEY].decode()
    changed = metadata.replace('"size": 2', f'"size": {value}')
    assert changed != metadata
    pq.write_table(table.replace_schema_metadata({corpus_file.KEY: changed.encode()}), "corpus.parquet")
    with pytest.raises(InputError, match=r"corpus\.parquet"):
        corpus_file.load("corpus.parquet", None, trust=True)


# ---- lines, empty ids, empty files


def test_faults_have_the_line_of_the_file() -> None:
    Path("run.csv").write_text('qid,docid,score\n\nq,"d\nd",1\nq,e,x\n,f,1\nq,,1\nq,g\nq,h,nan\nq,e,2\nq,e,1\n')
    error = io.check_run("run.csv")
    assert error is not None
    assert error.faults == (
        'run.csv:5: the score is not a number: "x"',
        "run.csv:6: the id in column `qid` is empty",
        "run.csv:7: the id in column `docid` is empty",
        "run.csv:8: expected 3 fields as in the first line, found 2",
        "run.csv:9: the score is NaN",
        "run.csv:11: document `e` appears twice for query `q`, first in line 10",
    )
    Path("run.jsonl").write_text(
        '{"qid": "q", "docid": "d", "score": 1}\n\n{"qid": "", "docid": "d", "score": 1}\n{"qid": "q", "docid": null}\n'
        '{"qid": \n5\n{"qid": "q", "docid": "e", "score": "1"}\n{"qid": "q", "docid": "d", "score": 0}\n'
    )
    error = io.check_run("run.jsonl")
    assert error is not None
    assert [fault.split(": ", 1) for fault in error.faults] == [
        ["run.jsonl:3", "the id in column `qid` is empty"],
        ["run.jsonl:4", "an id must be text or a whole number, found None in column `docid`"],
        ["run.jsonl:5", "invalid JSON: expecting value at column 9"],
        ["run.jsonl:6", "expected an object, found 5"],
        ["run.jsonl:7", "the score is not a number: '1'"],
        ["run.jsonl:8", "document `d` appears twice for query `q`, first in line 1"],
    ]
    Path("qrels.csv").write_text("qid,docid,rel\n\nq,d,1\nq,e,x\nq,d,2\nq,f,inf\n")
    error = io.check_qrels("qrels.csv")
    assert error is not None
    assert error.faults[0] == 'qrels.csv:4: the grade is not a finite number: "x"'
    Path("qrels.csv").write_text("qid,docid,rel\n\nq,d,1\nq,d,2\n")
    assert (
        message_of("qrels.csv", "qrels")
        == "qrels.csv:4: document `d` already has another grade for query `q`, first in line 3"
    )


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_empty_ids_in_frames(frame: Any) -> None:
    table = frame({"qid": ["q", ""], "docid": ["", "d"], "score": [1, 2]})
    error = io.check_run(table)
    assert error is not None
    assert error.faults == (
        "row 1, query `q`: the id in column `docid` is empty",
        "row 2: the id in column `qid` is empty",
    )


@pytest.mark.parametrize("name", ["x.json", "x.csv", "x.tsv", "list.json", "x.parquet"])
def test_a_file_without_rows_is_refused(name: str) -> None:
    columns = {"qid": ["q"], "docid": ["d"], "score": [1], "rel": [1]}
    if name == "x.parquet":
        pq.write_table(pa.table(columns).slice(0, 0), name)
    else:
        texts = {"x.json": "{}", "list.json": "[]\n", "x.csv": ",".join(columns), "x.tsv": "\t".join(columns)}
        Path(name).write_text(texts[name])
    assert message_of(name) == f"{name}: the file has no rows"
    assert message_of(name, "qrels") == f"{name}: the file has no rows"


def test_an_open_quote_is_refused() -> None:
    Path("run.csv").write_text('qid,docid,score\nq,d,1\nq,e,"2\nq,f,3\n')
    assert message_of("run.csv") == "run.csv:3: invalid CSV: unexpected end of data"


# ---- pieces


@pytest.mark.parametrize("extension", ["csv", "jsonl"])
@pytest.mark.parametrize("interleaved", [False, True])
def test_pieces_are_read_as_the_whole(extension: str, interleaved: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    table = [
        (f"q{q}", f"d{d}", float(random.integers(4)), d) for q in range(9) for d in range(int(random.integers(1, 9)))
    ]
    if interleaved:
        random.shuffle(table)
    run = {query: {} for query, *_ in table}
    for query, document, score, _ in table:
        run[query][document] = score
    path = f"run.{extension}"
    names = ("query_id", "doc_id", "score", "rank")
    lines = [json.dumps(dict(zip(names, row, strict=True))) for row in table]
    if extension == "csv":
        lines = [",".join(names), *(",".join(map(str, row)) for row in table)]
    Path(path).write_text("\n".join(lines) + "\n")
    qrels = {f"q{q}": {f"d{d}": int(random.integers(3)) for d in range(6)} for q in (7, 1, 3, 12)}
    measures = ["AP", "nDCG@3", "RR[ties=expected]", "P@2[ties=rank]"]
    whole = cf.evaluate(qrels, run if not interleaved else path, measures[:3])
    ranked = cf.evaluate(qrels, path, measures)
    for size in (1, 2, 3, 5, 1000):
        monkeypatch.setattr(delimited, "ROWS_PER_PIECE", size)
        monkeypatch.setattr(json_format, "ROWS_PER_PIECE", size)
        read = io.read_run(path)
        assert isinstance(read.source, TableStream) == (size < len(table))
        np.testing.assert_array_equal(cf.evaluate(qrels, read, measures[:3]).values, whole.values)
        np.testing.assert_array_equal(cf.evaluate(qrels, read, measures).values, ranked.values)
        assert sorted(rows(read)) == sorted((q, d, s) for q, d, s, _ in table)
        scores = cf.evaluate(qrels, read, measures[:2], queries="run")
        assert scores.to_dict() == cf.evaluate(qrels, io.read_run(path), measures[:2], queries="run").to_dict()


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_pieces_count_all_faults(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "ROWS_PER_PIECE", size)
    lines = ["qid,docid,score,rank"]
    lines += [f"q{i // 10},d{i % 7},{'x' if i % 9 == 0 else 'nan' if i % 11 == 5 else i},{i}" for i in range(60)]
    Path("run.csv").write_text("\n".join(lines))
    seen: set[tuple[int, int]] = set()
    expected = []
    for i in range(60):
        bad = i % 9 == 0 or i % 11 == 5
        if bad or (i // 10, i % 7) in seen:
            expected.append(i + 2)
        if not bad:
            seen.add((i // 10, i % 7))
    with listing_faults(None):
        error = io.check_run("run.csv")
    assert error is not None
    assert [int(fault.split(":")[1]) for fault in error.faults] == expected
    assert error.total == len(expected)
    with pytest.raises(InputError) as caught:
        io.load(io.read_run("run.csv"))
    assert caught.value.total == len(expected)


def test_qrels_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("qrels.csv").write_text(
        "qid,subtopic,docid,rel\n" + "".join(f"q{i % 3},{i % 2},d{i},{i % 4}\n" for i in range(40))
    )
    whole = judged(io.read_qrels("qrels.csv"))
    monkeypatch.setattr(delimited, "ROWS_PER_PIECE", 3)
    assert judged(io.read_qrels("qrels.csv")) == whole


def test_later_lines_must_have_the_same_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_format, "ROWS_PER_PIECE", 2)
    first = '{"qid": "q", "docid": "%d", "score": 1}\n'
    Path("run.jsonl").write_text("".join(first % i for i in range(4)) + '{"qid": "q", "doc_id": "x", "score": 1}\n')
    assert message_of("run.jsonl") == "run.jsonl:5: the document is in column `doc_id`; the lines before have `docid`"


# ---- file objects and read errors


class TooMuch(python_io.RawIOBase):
    def __init__(self, count: Any) -> None:
        self.count = count

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> Any:
        return self.count if isinstance(self.count, str) else len(buffer) + self.count


class Text:
    def read(self, size: int) -> str:
        return "q Q0 d 1 1 t\n"


class Greedy:
    def read(self, size: int) -> bytes:
        return b"q Q0 d 1 1 t\n" * size


def closed() -> python_io.BytesIO:
    file = python_io.BytesIO(b"q Q0 d 1 1 t\n")
    file.close()
    return file


@pytest.mark.parametrize(
    "make",
    [
        lambda: TooMuch(1),
        lambda: TooMuch(1 << 40),
        lambda: TooMuch(-(1 << 40)),
        lambda: TooMuch("x"),
        Text,
        Greedy,
        closed,
        lambda: open("out", "wb"),  # noqa: SIM115 - closed below
        lambda: open("out", "w"),  # noqa: SIM115
    ],
    ids=["one more", "far more", "negative", "no number", "text", "greedy", "closed", "write-only", "write-only text"],
)
def test_file_objects_that_break_the_contract(make: Any) -> None:
    file = make()
    for read in (io.read_run, io.read_qrels, io.check_run):
        with pytest.raises(UsageError, match="file object"):
            read(file)
    if hasattr(file, "close"):
        file.close()


def test_a_file_object_closed_after_it_was_opened() -> None:
    file = python_io.BytesIO(b"q Q0 d 1 1 t\n")
    run = io.read_run(file)
    file.close()
    with pytest.raises(UsageError, match="<run>: the file object is closed"):
        io.load(run)


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="needs a file that cannot be read")
def test_read_errors_name_the_file() -> None:
    assert message_of("/proc/self/mem") == "/proc/self/mem: cannot be read: input/output error"
    Path("x").touch()
    write_only = Run("x", lambda: os.open("x", os.O_WRONLY), "x.run")
    for read in (io.load, lambda run: cf.evaluate({"q": {"d": 1}}, run, ["AP"])):
        with pytest.raises(InputError, match=r"x\.run: cannot be read: bad file descriptor"):
            read(write_only)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on memory")
@pytest.mark.parametrize(
    "words",
    [
        ("eval", "qrels.txt", "big.run"),
        ("convert", "big.run", "out.run", "--kind", "run"),
        ("check", "qrels.txt", "big.run"),
        ("eval", "big.txt", "big.run"),
    ],
)
def test_out_of_memory_is_a_sentence(words: tuple[str, ...]) -> None:
    Path("qrels.txt").write_text("q 0 d1 1\n")
    with open("big.run", "wb") as file:
        file.writelines(b"q Q0 %s%d 1 %d t\n" % (b"d" * 300, i, -i) for i in range(300_000))
    with open("big.txt", "wb") as file:
        file.writelines(b"q 0 %s%d 1\n" % (b"d" * 300, i) for i in range(300_000))
    code = (
        "import sys, resource; import cranfield.cli.main as m, cranfield.io.write, cranfield.evaluation.evaluator\n"
        "import cranfield.cli.eval, cranfield.cli.files, cranfield.report\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * 4096\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (60 << 20), used + (60 << 20)))\n"
        "m.cli.main(sys.argv[1:], prog_name='cranfield')\n"
    )
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "CRANFIELD_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, env=environment)
    assert done.returncode == 1, done.stderr
    assert "not enough memory" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


def test_grades_near_the_largest_number() -> None:
    Path("qrels.txt").write_text("q 0 d1 1e308\nq 0 d2 1e308\nq 0 d3 1\n")
    run = {"q": {"d1": 3, "d2": 3, "d3": 1, "d4": 0}}
    # pytest makes every warning an error
    for measure in ("AP", "RR", "P@10", "RBP", "bpref"):
        assert np.isfinite(cf.evaluate("qrels.txt", run, [measure], show="bounds")._means[:, 0]).all()
    for measure in ("nDCG@10", "DCG@5", "Q", "CG@5", "ERR@5", "nDCG(gain='exp')@10", "INST"):
        try:
            scores = cf.evaluate("qrels.txt", run, [measure])
        except MeasureError as error:
            assert "too large" in str(error) or "overflows" in str(error)
        else:
            assert np.isfinite(scores._means).all()


def test_a_block_of_documents_that_is_null() -> None:
    from cranfield.io.documents import Block, Fields
    from cranfield.io.formats.json import parse_block

    # PyArrow ends the process here.
    assert parse_block(Block(1, b"null\n"), Fields("_id", ("text",))) is None
    assert parse_block(Block(1, b'{"_id": "d", "text": "t"}\nnull\n'), Fields("_id", ("text",))) is None


@pytest.mark.parametrize("text", ["q1,d1,1\nq2,x\n", "q1\td1\t1\nq2\n", f"q1,d1,{'1' * 5000}\nq1,d2,2\n"])
def test_tables_without_column_names(text: str) -> None:
    for name in ("x.csv", "x.tsv", "x.txt"):
        Path(name).write_text(text)
        assert io.check_run(name) is not None or "1" * 5000 in text


# ---- memory

MEASURED = """
import re, sys
import cranfield as cf

def highest():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024

cf.evaluate({"q": {"d": 1}}, {"q": {"d": 1}}, ["AP"])
open("/proc/self/clear_refs", "w").write("5")
before = highest()
print(float(cf.evaluate(sys.argv[1], sys.argv[2], ["AP"])), highest() - before)
"""


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="needs Linux, to measure memory")
@pytest.mark.parametrize("shape", ["blank", "csv", "jsonl", "one query"])
def test_memory_depends_on_the_largest_query(shape: str) -> None:
    Path("qrels.txt").write_text("q1 0 d1 1\nq2 0 d1 1\n")
    run = f"x.{shape}" if shape in ("csv", "jsonl") else "x.run"
    with open(run, "wb") as file:
        if shape == "blank":
            file.write(b"q1 Q0 d1 1 1 t\n" + b"\n" * 40_000_000 + b"q2 Q0 d1 1 1 t\n")
        elif shape == "one query":
            file.writelines(b"q1 Q0 document%024d 1 %d t\n" % (i, i % 7919) for i in range(700_000))
            file.write(b"q1 Q0 d1 1 9999 t\n")
        elif shape == "csv":
            file.write(b"qid,docid,score\n")
            file.writelines(b"q%d,d%d,%d\n" % (i // 500, i % 500, i) for i in range(300_000))
        else:
            row = b'{"qid": "q%d", "docid": "d%d", "score": %d}\n'
            file.writelines(row % (i // 500, i % 500, i) for i in range(200_000))
    words = [sys.executable, "-c", MEASURED, "qrels.txt", run]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    mean, megabytes = map(float, done.stdout.split())
    assert mean > 0
    most = 2.5 * os.path.getsize(run) / 2**20 if shape == "one query" else 20 if shape == "blank" else 110
    assert megabytes < most


ONE = {"q": {"a": 1}}


@pytest.mark.parametrize("name", ["", " ", "\n"])
def test_a_file_object_with_an_empty_name_is_named_in_messages(name: str) -> None:
    for data in (b"", b"[]", b"q Q0 a 1 x t\n", b'{"q": 3}\n'):
        for arguments, kind in (((ONE, ...), "run"), ((..., {"q": ["a"]}), "qrels")):
            file = python_io.BytesIO(data)
            file.name = name  # type: ignore[attr-defined]
            with pytest.raises(cf.CranfieldError, match=f"<{kind}>"):
                cf.evaluate(*(file if given is ... else given for given in arguments), "RR")


@pytest.mark.parametrize(
    "text",
    [
        "<topic number='1'>" * 100_000,
        "<topic" * 200_000,
        "<topic number='1'>" + "<query>" * 200_000 + "</topic>",
        f"<topic number='1' {'a' * 500_000}><query>x</query></topic>",
        "<num> Number: 1 <title>" + "<num>" * 200_000,
        "<num>" + " " * 1_000_000,
        "<num> Number: 1 <title> " + " " * 1_000_000 + "x",
        "<topic number='1'><query>" + "<" * 1_000_000 + "</query></topic>",
        f"<topic number='1'><query>&#{'9' * 5000};</query></topic>",
    ],
    ids=lambda text: text[:30],
)
def test_hostile_topics_take_time_that_grows_with_their_length(text: str, tmp_path: Path) -> None:
    (tmp_path / "topics").write_text(text)
    try:
        cf.evaluate(cf.Collection({"1": {"a": 1}}, queries=str(tmp_path / "topics")), {"1": ["a"]}, "RR")
    except InputError as error:
        assert "topics" in str(error)


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl"])
@pytest.mark.parametrize("what", ["spans", "queries", "scores"])
def test_columns_whose_names_differ_by_blanks_are_refused(what: str, name: str, tmp_path: Path) -> None:
    """The values of both came into one column, and moved all later rows."""
    columns = ["query_id", "doc_id", "start", "end", "start ", "RR", "run"]
    path = tmp_path / name
    rows = [["q1", "a", 0, 10, 3, 0.5, "r"], ["q2", "b", 3, 4, 1, 0.5, "r"]]
    if name == "x.csv":
        path.write_text("\n".join(",".join(map(str, row)) for row in [columns, *rows]) + "\n")
    else:
        path.write_text("".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows))
    with pytest.raises(InputError, match=r"the column `start ?` appears twice"):
        if what == "scores":
            cf.read_scores(path)
        elif what == "spans":
            cf.evaluate(cf.Collection(spans=path), {"q1": [("a", 0, 5)]}, "RR")
        else:
            cf.evaluate(cf.Collection({"q1": {"a": 1}}, queries=path), {"q1": ["a"]}, "RR")


@pytest.mark.parametrize(("extension", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_quotes_in_two_ids_do_not_join_the_lines_between_them(extension: str, delimiter: str, tmp_path: Path) -> None:
    path = tmp_path / f"run.{extension}"
    path.write_text('query_id,doc_id,score\nq,"d1,3\nq,d2,2\nq,d3",1\n'.replace(",", delimiter))
    with pytest.raises(InputError, match=rf"run.{extension}:2: quotes join lines that could be rows"):
        io.load(io.read_run(path))
    run = {"q": {delimiter.join(("d1", "1", "3\nq", "d2")): 1.0}}
    with pytest.raises(InputError, match="its lines look like rows"):
        io.write_run(io.read_run(run), path)
    run = {"q": {"d1\nd2": 3.0, f"d1{delimiter}d2": 2.0, f"d1{delimiter}\nd2": 1.0}}
    io.write_run(io.read_run(run), path)
    assert list(io.load(io.read_run(path)).document) == list(run["q"])


def test_decompressors_of_the_caller_that_end_too_early_are_a_sentence() -> None:
    whole = gzip.compress(b"q Q0 d 1 1 t\n" * 1000)
    for damaged in (whole[:-4], whole[:40]):
        with pytest.raises(CranfieldError, match=r"<run>: (the file object )?cannot be read"):
            io.load(io.read_run(gzip.GzipFile(fileobj=python_io.BytesIO(damaged))))


@pytest.mark.parametrize("extension", ["run", "csv"])
def test_a_byte_order_mark_in_the_middle_of_a_file_makes_no_other_query(extension: str, tmp_path: Path) -> None:
    lines = {"run": "q1 Q0 a 1 2 t\n|q1 Q0 b 2 1 t\n", "csv": "query_id,doc_id,score\n|q1,a,2\n|q1,b,1\n"}[extension]
    judged = {"run": "q1 0 a 1\n|q1 0 b 0\n", "csv": "query_id,doc_id,grade\n|q1,a,1\n|q1,b,0\n"}[extension]
    paths = tmp_path / f"x.{extension}", tmp_path / f"y.{extension}"
    for mark in range(lines.count("|") + 1):
        for path, text in zip(paths, (lines, judged), strict=True):
            first, *others = text.split("|")
            path.write_text(
                "\ufeff" + first + "".join("\ufeff" * (at == mark) + line for at, line in enumerate(others, 1))
            )
        run, qrels = paths
        if mark == 0:
            assert cf.Evaluator(qrels, "RR").means(run) == {"RR": 1.0}
            continue
        with pytest.raises(InputError, match="the id of a query begins with a byte order mark"):
            cf.evaluate({"q1": {"a": 1}}, run, "RR")
        with pytest.raises(InputError, match="the id of a query begins with a byte order mark"):
            io.read_qrels(qrels)
