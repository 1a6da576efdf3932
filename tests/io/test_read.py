"""Every kind of input gives the rows of the TREC text that says the same."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
import types
from collections import OrderedDict
from collections.abc import Callable
from io import BufferedReader, BytesIO, RawIOBase, StringIO, TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from io_samples import FRAME, GRADES, QRELS, ROWS, RUN, SCORES, judged, rows

import cranfield as cf
from cranfield import io
from cranfield.data import Run
from cranfield.errors import InputError, MissingDependency, UsageError
from cranfield.io import streams
from cranfield.io.streams import short_name
from waiting import unread, until

PACKERS = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
}


class Unseekable(RawIOBase):
    """A pipe: bytes in small pieces, once."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._data = BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        return self._data.readinto(memoryview(buffer)[:7])


class OnlyRead:
    """The least that a file object can be."""

    def __init__(self, data: bytes) -> None:
        self._data = BytesIO(data)

    def read(self, size: int = -1) -> bytes:
        return self._data.read(size)


@pytest.mark.parametrize(
    "values",
    [
        SCORES,
        OrderedDict((q, OrderedDict(docs)) for q, docs in SCORES.items()),
        types.MappingProxyType({q: types.MappingProxyType(docs) for q, docs in SCORES.items()}),
        {np.str_(q): {np.str_(d): np.float64(s) for d, s in docs.items()} for q, docs in SCORES.items()},
    ],
)
def test_dicts(values: Any) -> None:
    assert rows(io.read_run(values)) == ROWS


def test_dict_of_integers_and_numpy_scalars() -> None:
    values = {"q": {"a": 2, "b": np.float32(0.5), "c": np.int8(1), "d": True}}
    assert rows(io.read_run(values)) == [("q", "a", 2.0), ("q", "b", 0.5), ("q", "c", 1.0), ("q", "d", 1.0)]
    assert judged(io.read_qrels(values)) == {"q": {"a": 2.0, "b": 0.5, "c": 1.0, "d": 1.0}}


def test_dict_qrels() -> None:
    assert judged(io.read_qrels(GRADES)) == GRADES
    assert judged(io.read_qrels({"q": {}, "r": {"d": 1}})) == {"q": {}, "r": {"d": 1.0}}
    assert judged(io.read_qrels({})) == {}
    labelled = {"q": {"a": {"1": 1.0, "2": 0.0}, "b": {"2": 3.0}}, "r": {"a": {"1": 1.0}}}
    assert judged(io.read_qrels(labelled)) == labelled


def test_dict_qrels_of_any_kind_of_number() -> None:
    grades = {"q": {"b": 2, "a": 0}, "é": {}, "r": {"€": -1, "d": 3}}
    usual = io.read_qrels(grades)
    numpy_s = io.read_qrels({q: {d: np.int64(grade) for d, grade in docs.items()} for q, docs in grades.items()})
    for name in ("queries", "documents"):
        column, other = getattr(usual, name), getattr(numpy_s, name)
        assert (list(column), column.offsets.dtype, column.data.dtype) == (list(other), np.int64, np.uint8)
    for name in ("begin", "grade"):
        np.testing.assert_array_equal(getattr(usual, name), getattr(numpy_s, name))
        assert getattr(usual, name).dtype == getattr(numpy_s, name).dtype
    assert (usual.labels, usual.repeated, usual.intents) == (None, 0, None)


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_files(pack: Any, tmp_path: Path) -> None:
    path = tmp_path / "my.run.dat"  # the name says nothing of the compression
    path.write_bytes(pack(RUN.encode()))
    with path.open("rb") as file:
        for source in (path, str(path), file):
            run = io.read_run(source)
            assert (run.name, run.source_name) == ("my.run.dat", str(path))
            assert rows(run) == rows(run) == ROWS
        assert not file.closed
    path.write_bytes(pack(QRELS.encode()))
    assert judged(io.read_qrels(path)) == GRADES


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
@pytest.mark.parametrize("kind", [Unseekable, OnlyRead, BytesIO])
def test_streams(pack: Any, kind: Any) -> None:
    run = io.read_run(kind(pack(RUN.encode())))
    assert (run.name, run.source_name) == ("run", "<run>")
    assert rows(run) == rows(run) == ROWS
    assert judged(io.read_qrels(kind(pack(QRELS.encode())))) == GRADES


def test_two_readings_at_once() -> None:
    run = io.read_run(Unseekable(RUN.encode() * 100))
    assert callable(run.source)
    one, other = run.source(), run.source()
    pieces: list[bytes] = []
    while piece := one.read(11):
        pieces.append(piece)
        assert other.read(11) == piece
    assert b"".join(pieces) == RUN.encode() * 100


def test_a_file_object_is_read_from_where_it_stands() -> None:
    file = BytesIO(b"not this line\n" + RUN.encode())
    file.readline()
    assert rows(io.read_run(file)) == ROWS


def test_text_file_objects(run_path: Path) -> None:
    assert rows(io.read_run(StringIO(RUN))) == ROWS
    with run_path.open() as file:
        assert rows(io.read_run(file)) == ROWS


@pytest.mark.parametrize("seekable", [True, False])
def test_standard_input(seekable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = BytesIO(RUN.encode()) if seekable else BufferedReader(Unseekable(RUN.encode()))
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(raw))
    run = io.read_run("-")
    assert (run.name, run.source_name) == ("stdin", "<stdin>")
    assert rows(run) == rows(run) == ROWS


def test_standard_input_of_a_process() -> None:
    script = "from cranfield import io; r = io.read_run('-'); print(len(io.load(r).score), len(io.load(r).score))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], input=RUN.encode(), capture_output=True, check=False
    )
    assert (done.stdout.split(), done.stderr) == ([b"5", b"5"], b"")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_named_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(RUN,))
    writer.start()
    run = io.read_run(path)
    assert rows(run) == rows(run) == ROWS
    writer.join()


def late_pipe(data: bytes, *, buffered: bool) -> tuple[Any, threading.Thread]:
    """A pipe in non-blocking mode into which a thread writes in pieces, with pauses."""
    end, start = os.pipe()
    os.set_blocking(end, False)

    def write() -> None:
        for piece in (data[:9], data[9:40], data[40:]):
            time.sleep(0.03)
            os.write(start, piece)
        os.close(start)

    thread = threading.Thread(target=write)
    thread.start()
    return open(end, "rb", buffering=-1 if buffered else 0), thread


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
@pytest.mark.parametrize("buffered", [False, True])
def test_no_data_yet_is_not_the_end(pack: Callable[[bytes], bytes], *, buffered: bool) -> None:
    file, thread = late_pipe(pack(RUN.encode()), buffered=buffered)
    with file:
        run = io.read_run(file)
        assert rows(run) == rows(run) == ROWS
    thread.join()


@pytest.mark.parametrize("text", ["1 0 a 1\n1 0 b 0\n", '{"1": {"a": 1, "b": 0}}', "1,a,1\n1,b,0\n"])
def test_judgments_of_a_late_pipe_are_complete(text: str) -> None:
    file, thread = late_pipe(text.encode(), buffered=True)
    with file:
        assert io.read_qrels(file).grade.tolist() == [1, 0]
    thread.join()


def test_a_socket_in_non_blocking_mode_is_waited_for() -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)

    def write() -> None:
        for piece in (RUN[:20], RUN[20:]):
            time.sleep(0.03)
            theirs.sendall(piece.encode())
        theirs.close()

    thread = threading.Thread(target=write)
    thread.start()
    with ours, socket.SocketIO(ours, "r") as file:
        assert rows(io.read_run(file)) == ROWS
    thread.join()


class NothingYet(OnlyRead):
    """A file object that has no data yet and no descriptor to wait for."""

    def read(self, size: int = -1) -> bytes:
        return self._data.read(min(size, 20)) or None  # type: ignore[return-value]


def test_a_file_object_that_cannot_be_waited_for_is_an_error() -> None:
    with pytest.raises(UsageError, match="no data yet: it is in non-blocking mode"):
        rows(io.read_run(NothingYet(RUN.encode())))


def test_standard_input_in_non_blocking_mode_is_read_to_its_end() -> None:
    script = "from cranfield import io; print(len(io.load(io.read_run('-')).score))"
    end, start = os.pipe()
    os.set_blocking(end, False)
    process = subprocess.Popen([sys.executable, "-c", script], stdin=end, stdout=subprocess.PIPE)
    for piece in (RUN[:20], RUN[20:]):
        os.write(start, piece.encode())
        until(lambda: unread(end) == 0, "it has read this piece")
    os.close(end)
    os.close(start)
    assert process.communicate()[0].split() == [b"5"]


TEXTS = {
    "byte order mark": "\ufeff" + RUN,
    "CRLF": RUN.replace("\n", "\r\n"),
    "tabs": RUN.replace(" ", "\t"),
    "many blanks": " " + RUN.replace(" ", " \t ").replace("\n", " \n "),
    "comments": "# made by hand\n" + RUN.replace("\n", "\n  # more\n\n"),
    "no newline at the end": RUN.rstrip("\n"),
    "signs": RUN.replace(" 7 ", " +7.e0 "),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_texts(text: str, tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_bytes(text.encode())
    assert rows(io.read_run(path)) == ROWS


def test_interleaved_judgments() -> None:
    text = b"b 0 x 1\na 0 x 2\nb 0 y 0\na 0 z 1\nb 0 x 1\n"
    judgments = io.read_qrels(BytesIO(text))
    assert list(judged(judgments).items()) == [("b", {"x": 1.0, "y": 0.0}), ("a", {"x": 2.0, "z": 1.0})]
    assert judgments.repeated == 1
    assert judgments.labels is None


def test_subtopics_in_text() -> None:
    text = b"1 1 a 1\n1 2 a 2\n2 1 a 1\n1 1 b 0\n1 2 a 2\n"
    judgments = io.read_qrels(BytesIO(text))
    assert judged(judgments) == {"1": {"a": {"1": 1.0, "2": 2.0}, "b": {"1": 0.0}}, "2": {"a": {"1": 1.0}}}
    assert judgments.repeated == 1


def test_ids_that_are_not_utf8() -> None:
    run = io.read_run(BytesIO(b"q\xff Q0 d\xe9 1 1 t\n"))
    assert rows(run) == [("q\udcff", "d\udce9", 1.0)]
    assert io.load(run).document.data.tobytes() == b"d\xe9"
    qrels = io.read_qrels({"q\udcff": {"d\udce9": 1}})
    assert qrels.documents.data.tobytes() == b"d\xe9"


JSONS = {
    "nested": json.dumps(SCORES),
    "nested, indented": json.dumps(SCORES, indent=2),
    "rows": json.dumps([{"query_id": q, "doc_id": d, "score": s} for q, d, s in ROWS]),
    "lines": "\n".join(json.dumps({"qid": q, "docno": d, "score": s}) for q, d, s in ROWS),
    "lines, CRLF": "\r\n".join(json.dumps({"qid": q, "docno": d, "score": s}) for q, d, s in ROWS) + "\r\n\r\n",
    "byte order mark": "\ufeff \n" + json.dumps(SCORES),
}


@pytest.mark.parametrize("text", JSONS.values(), ids=JSONS)
@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_json(text: str, pack: Any, tmp_path: Path) -> None:
    path = tmp_path / "any name"
    path.write_bytes(pack(text.encode()))
    assert rows(io.read_run(path)) == ROWS
    path.write_bytes(pack(text.replace('"score"', '"rel"').encode()))
    assert judged(io.read_qrels(path)) == SCORES


def test_one_json_line() -> None:
    run = io.read_run(BytesIO(b'{"qid": 1, "docno": "d", "score": 2}\n'))
    assert rows(run) == [("1", "d", 2.0)]


def test_brackets_do_not_make_json() -> None:
    assert rows(io.read_run(BytesIO(b"[1] Q0 d 1 1 t\n"))) == [("[1]", "d", 1.0)]
    assert rows(io.read_run(BytesIO(b"{q} Q0 d 1 1 t\n"))) == [("{q}", "d", 1.0)]
    assert rows(io.read_run(BytesIO(b"PAR1 Q0 d 1 1 t\n"))) == [("PAR1", "d", 1.0)]
    assert rows(io.read_run(BytesIO(b"BZh9 Q0 d 1 1 t\n"))) == [("BZh9", "d", 1.0)]


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_parquet(pack: Any, tmp_path: Path) -> None:
    sink = BytesIO()
    pq.write_table(pa.Table.from_pandas(FRAME.assign(noise=1)), sink)
    path = tmp_path / "run"
    path.write_bytes(pack(sink.getvalue()))
    assert rows(io.read_run(path)) == ROWS
    with path.open("rb") as file:
        assert rows(io.read_run(file)) == ROWS


def test_csv_and_its_kin(tmp_path: Path) -> None:
    for name, mark in (("run.csv", ","), ("run.tsv", "\t"), ("run.CSV", ",")):
        path = tmp_path / name
        path.write_text(
            "\n".join(mark.join(row) for row in [("qid", "docno", "score"), *((q, d, str(s)) for q, d, s in ROWS)])
        )
        assert rows(io.read_run(path)) == ROWS
        packed = tmp_path / f"{name}.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        assert rows(io.read_run(packed)) == ROWS


def test_trec_lines_that_are_called_tsv(tmp_path: Path) -> None:
    path = tmp_path / "qrels.dev.tsv"
    path.write_text(QRELS.replace(" ", "\t"))
    qrels = io.read_qrels(path)
    assert (qrels.name, judged(qrels)) == ("qrels.dev", GRADES)


CUT = {name: pack for name, pack in PACKERS.items() if name != "plain"}


@pytest.mark.parametrize(("name", "pack"), CUT.items(), ids=CUT)
def test_truncated(name: str, pack: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.txt.gz"
    noise = os.urandom(300_000).hex()
    packed = pack((RUN + "\n".join(f"q Q0 {noise[i : i + 20]} 1 1 t" for i in range(0, len(noise), 20))).encode())
    path.write_bytes(packed[:-100])
    assert str(io.check_run(path)) == (
        f"{path}: the {name} data end too early\n\nhint: the file is incomplete; download or write it again"
    )


@pytest.mark.parametrize(("name", "pack"), CUT.items(), ids=CUT)
def test_damaged(name: str, pack: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.txt.gz"
    packed = bytearray(pack(os.urandom(200_000)))
    packed[1000:1400] = bytes(400)
    packed[-12:] = bytes(12)
    path.write_bytes(bytes(packed))
    with pytest.raises(InputError) as caught:
        io.open_stream(path, "run").read()
    assert str(caught.value) == f"{path}: the {name} data are damaged\n\nhint: download or write the file again"


def test_compressed_in_several_members(tmp_path: Path) -> None:
    path = tmp_path / "run"
    head, tail = RUN[:40].encode(), RUN[40:].encode()
    for pack in CUT.values():
        path.write_bytes(pack(head) + pack(tail))
        assert rows(io.read_run(path)) == ROWS


def test_missing_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run"
    for module, content, message in (
        (
            "pyarrow.parquet",
            b"PAR1\0",
            "reading Parquet needs an optional package\n\nhint: pip install '.[arrow]'",
        ),
        (
            "zstandard",
            PACKERS["zstd"](b"x"),
            "reading zstd needs an optional package\n\nhint: pip install '.[zstd]'",
        ),
    ):
        monkeypatch.setitem(sys.modules, module, None)
        monkeypatch.setitem(sys.modules, "compression", None)
        path.write_bytes(content)
        with pytest.raises(MissingDependency) as caught:
            io.read_run(path)
        assert str(caught.value) == message


def test_names() -> None:
    assert short_name("/a/b/bm25.run.gz") == "bm25"
    assert short_name("input.BM25+RM3.res") == "input.BM25+RM3"
    assert short_name("runs/v1.5") == "v1.5"
    assert short_name(".txt") == ".txt"


def test_names_of_runs(run_path: Path, qrels_path: Path) -> None:
    run = io.read_run(run_path)
    assert run.name == "bm25"
    assert io.read_run(run_path, name="x").name == "x"
    assert io.read_run(run) is run
    assert io.read_run(run, name="y") == Run("y", run.source, run.source_name) or io.read_run(run, name="y").name == "y"
    assert io.read_run(SCORES).name == io.read_run(FRAME).name == "run"
    qrels = io.read_qrels(qrels_path)
    assert qrels.name == "robust"
    assert io.read_qrels(qrels) is qrels
    assert io.read_qrels(qrels, name="z").name == "z"


class Judged(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int
    iteration: str


def test_datasets(monkeypatch: pytest.MonkeyPatch) -> None:
    class Dataset:
        def qrels_iter(self) -> Any:
            return iter([Judged("1", "a", 2, "0"), Judged("1", "b", 0, "0")])

    held = {"vaswani": Dataset(), "docs-only": object()}
    monkeypatch.setitem(sys.modules, "ir_datasets", types.SimpleNamespace(load=held.__getitem__))
    qrels = io.read_qrels("irds:vaswani")
    assert (qrels.name, judged(qrels)) == ("vaswani", {"1": {"a": 2.0, "b": 0.0}})
    for name in ("unknown", "docs-only"):
        assert str(io.check_qrels(f"irds:{name}")) == (
            f"irds:{name}: ir_datasets has no judgments with this name\n\nhint: see https://ir-datasets.com for a list of data sets"
        )
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(MissingDependency, match="reading irds:vaswani needs an optional package"):
        io.read_qrels("irds:vaswani")


def test_importing_is_cheap() -> None:
    heavy = ["gzip", "bz2", "lzma", "json", "csv", "tempfile", "pyarrow", "pandas", "polars", "zstandard", "scipy"]
    script = (
        "import sys, numpy; before = set(sys.modules)\n"
        "import cranfield.io\n"
        f"print(sorted((set(sys.modules) - before) & set({heavy})))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_kinds_of_compression_are_all_known() -> None:
    assert {streams.compression_of_name(f"x{extension}") for extension in streams.EXTENSIONS} == set(CUT)


SHAPES_OF_JSON: dict[str, Any] = {
    "lists of ids": {"q one": ["d1", "d9"], "q two": ["d4", "d2"]},
    "pairs": {"q one": [["d1", 0.9], ["d9", 0.5]], "q two": [["d4", 3], ["d2", 1]]},
    "hits": {"q one": [{"chunk_id": "d1", "score": 0.9}], "q two": [{"chunk_id": "d2", "score": 3}]},
    "scores": {"q one": {"d1": 0.9}, "q two": {"d4": 0.9, "d2": 0.3}},
    "a list of lists": [["d1", "d9"], ["d4", "d2"]],
    "a list of pairs": [[["d1", 2], ["d9", 1]], [["d4", 2], ["d2", 1]]],
    "a list of hits": [[{"id": "d1", "score": 2}], [{"id": "d4", "score": 1}, {"id": "d2", "score": 0.5}]],
    "numbers": [[17, 4], [2, 5]],
}


@pytest.mark.parametrize("shape", SHAPES_OF_JSON)
def test_json_on_the_command_line_is_what_python_takes(shape: str, tmp_path: Path) -> None:
    run = SHAPES_OF_JSON[shape]
    qrels = ["d1"], ["d2"]
    judged = [*qrels] if isinstance(run, list) else dict(zip(run, qrels, strict=True))
    judged = [[17], [5]] if shape == "numbers" else judged
    for name, value in (("run.json", run), ("qrels.json", judged)):
        (tmp_path / name).write_text(json.dumps(value))
    from_files = cf.evaluate(tmp_path / "qrels.json", tmp_path / "run.json", ["RR", "AP"])
    in_memory = cf.evaluate(judged, run, ["RR", "AP"])
    assert from_files.queries == in_memory.queries
    assert from_files.values.tolist() == in_memory.values.tolist()
    assert from_files.values[0, 0, 0] == 1


def test_a_frame_with_other_names_says_how_to_name_them() -> None:
    frame = {"person": ["1"], "chunk": ["d1"], "sim": [0.4]}
    pandas = pytest.importorskip("pandas")
    with pytest.raises(cf.InputError, match="no column for the query") as caught:
        cf.evaluate({"1": ["d1"]}, pandas.DataFrame(frame), "RR")
    assert 'cf.read_run(table, columns={"query": "...", "document": "...", "score": "..."})' in str(caught.value)
    named = cf.read_run(pandas.DataFrame(frame), columns={"query": "person", "document": "chunk", "score": "sim"})
    assert cf.evaluate({"1": ["d1"]}, named, "RR")._means.tolist() == [[1.0]]


def test_usual_names_of_passages_and_questions() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"question": ["1", "1"], "chunk_id": ["x", "a"], "similarity": [0.9, 0.4]})
    assert cf.evaluate({"1": ["a"]}, frame, "RR")._means.tolist() == [[0.5]]


@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize("field", ["results", "hits", "retrieved", "ranking"])
@pytest.mark.parametrize("ranking", [["x", "a"], [{"chunk_id": "x", "score": 0.9}, {"chunk_id": "a", "score": 0.4}]])
def test_records_of_queries_are_read_from_files_as_in_python(
    tmp_path: Path, lines: bool, field: str, ranking: list[Any]
) -> None:
    records = [{"user": "u1", "question": query, field: ranking} for query in ("1", "2")]
    path = tmp_path / "run.json"
    path.write_text("\n".join(map(json.dumps, records)) if lines else json.dumps(records))
    qrels = {"1": ["a"], "2": ["a"]}
    expected = cf.evaluate(qrels, records, "RR").values.tolist()
    assert cf.evaluate(qrels, str(path), "RR").values.tolist() == expected == [[[0.5, 0.5]]]


def test_columns_belong_to_the_reading_of_a_table() -> None:
    with pytest.raises(cf.CranfieldError, match=r"cf.read_run\(table, columns=...\)"):
        cf.evaluate({"1": ["a"]}, {"1": ["a"]}, "RR", columns={"query": "user"})


@pytest.mark.parametrize("name", ["x.run", "x.run.gz", "x.csv", "x.json"])
def test_a_run_of_a_file_goes_to_another_process(name: str, tmp_path: Path) -> None:
    io.write_run(io.read_run({"q": {"b": 2.0, "a": 1.0}}), tmp_path / name)
    run = io.read_run(tmp_path / name)
    for copy in (pickle.loads(pickle.dumps(run)), run):
        assert list(io.load(copy).document) == ["b", "a"]
