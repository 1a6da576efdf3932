"""Every way a collection is kept gives the same corpus, whoever reads it in whatever pieces; and every fault is told."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpus_samples import same, vectors
from cranfield.corpus import Corpus
from cranfield.errors import CranfieldError, InputError
from cranfield.io import documents
from cranfield.io.documents import Block, Fields
from cranfield.io.formats.json import parse_block, parse_lines

TEXTS = {"d1": "Apple pie", "d2": "apple <b>Tart</b> & é", "d3": ""}


def jsonl(id: str = "_id", text: str = "text", **more: str) -> bytes:
    return b"".join(json.dumps({id: n, **more, text: t}).encode() + b"\n" for n, t in TEXTS.items())


def parquet(texts: dict[str, str]) -> bytes:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(pa.table({"docno": list(texts), "n": [1] * len(texts), "text": list(texts.values())}), sink)
    return sink.getvalue()


def sgml(texts: dict[str, str]) -> bytes:
    import html

    escaped = {n: t if "<b>" in t else html.escape(t) for n, t in texts.items()}
    return "".join(
        f"<DOC>\n<DOCNO> {n} </DOCNO>\n<DATE>1 May</DATE>\n<TEXT>\n{t.replace(' & ', ' &amp; ')}\n</TEXT>\n</DOC>\n\n"
        for n, t in escaped.items()
    ).encode()


WAYS: dict[str, Callable[[], bytes]] = {
    "beir.jsonl": lambda: jsonl(title=""),
    "anserini.jsonl": lambda: jsonl("id", "contents"),
    "docno.json": lambda: jsonl("docno", "body", url="http://x.org"),
    "bare.tsv": lambda: "".join(f"{n}\t{t}\n" for n, t in TEXTS.items()).encode(),
    "head.tsv": lambda: b"ID\turl\ttitle\tsnippet\n" + "".join(f"{n}\tu\t\t{t}\r\n" for n, t in TEXTS.items()).encode(),
    "named-otherwise": lambda: "".join(f"{n}\t{t}\n" for n, t in TEXTS.items()).encode(),
    "table.parquet": lambda: parquet(TEXTS),
}


@pytest.fixture
def expected() -> Corpus:
    return Corpus.of(TEXTS)


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize(
    ("suffix", "pack"), [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_ways_in(tmp_path: Path, expected: Corpus, name: str, suffix: str, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / (name + suffix)
    path.write_bytes(pack(WAYS[name]()))
    same(Corpus.read(path), expected)


def test_trec(tmp_path: Path) -> None:
    (tmp_path / "news.txt").write_bytes(sgml(TEXTS))
    expected = Corpus.of(TEXTS | {"d2": "apple Tart é"})
    same(Corpus.read(tmp_path / "news.txt"), expected)
    (tmp_path / "small").write_bytes(sgml(TEXTS).replace(b"DOC", b"doc"))
    same(Corpus.read(tmp_path / "small"), expected)


def test_crawled_pages_have_no_text_element(tmp_path: Path) -> None:
    page = b"<DOC>\n<DOCNO>w1</DOCNO>\n<DOCHDR>\nhttp://head.er\n</DOCHDR>\n<html><title>One</title><!-- gone -->"
    page += b"<script>gone()</script><p class=x>two &amp; three&#33;</p></html>\n</DOC>\n"
    (tmp_path / "pages").write_bytes(page)
    assert vectors(Corpus.read(tmp_path / "pages")) == {"w1": {"one": 1, "two": 1, "three": 1}}


def test_latin_bytes_are_no_reason_to_stop(tmp_path: Path) -> None:
    (tmp_path / "news").write_bytes(b"<DOC><DOCNO>a</DOCNO><TEXT>caf\xe9 noir &lt;</TEXT></DOC>")
    assert vectors(Corpus.read(tmp_path / "news")) == {"a": {"caf": 1, "noir": 1}}


def test_a_folder_of_texts(tmp_path: Path, expected: Corpus) -> None:
    (tmp_path / "deeper").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "d9.txt").write_text("not a document")
    (tmp_path / ".hidden").write_text("nor this")
    (tmp_path / "d1.txt").write_text(TEXTS["d1"])
    (tmp_path / "deeper" / "d2.txt.gz").write_bytes(gzip.compress(TEXTS["d2"].encode()))
    (tmp_path / "d3").write_text("")
    same(Corpus.read(tmp_path), expected)


def test_a_folder_of_parts(tmp_path: Path, expected: Corpus) -> None:
    first, *others = jsonl().splitlines(keepends=True)
    (tmp_path / "part-0.jsonl.gz").write_bytes(gzip.compress(first))
    (tmp_path / "part-1.jsonl").write_bytes(b"".join(others))
    same(Corpus.read(tmp_path), expected)
    same(Corpus.read(tmp_path / "part-1.jsonl", tmp_path / "part-0.jsonl.gz"), expected)


def test_a_folder_of_disks(tmp_path: Path) -> None:
    (tmp_path / "ft911_1").write_bytes(sgml({"a": "one"}))
    (tmp_path / "ft911_2.gz").write_bytes(gzip.compress(sgml({"b": "two"})))
    assert set(vectors(Corpus.read(tmp_path))) == {"a", "b"}


def test_a_folder_of_beir(tmp_path: Path, expected: Corpus) -> None:
    """Its queries and judgments are in it, too, and are no documents."""
    (tmp_path / "corpus.jsonl.gz").write_bytes(gzip.compress(jsonl()))
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "which pie?"}\n')
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td1\t1\n")
    same(Corpus.read(tmp_path), expected)


def test_a_folder_of_documents_and_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_bytes(jsonl())
    (tmp_path / "qrels.txt").write_text("q 0 d1 1\n")
    assert message(tmp_path) == (
        f"{tmp_path}: the folder mixes collections, such as `docs.jsonl`, with other files, such as `qrels.txt`\n\n"
        "hint: give the files with the documents, not the folder"
    )


def test_what_lies_in_folders(tmp_path: Path) -> None:
    """The first file is empty, a folder is elsewhere, a link leads in a circle, a pipe is no document."""
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "texts"
    elsewhere.mkdir()
    folder.mkdir()
    (folder / "a.txt").write_text("")
    (elsewhere / "b.txt").write_text("apple")
    (folder / "linked").symlink_to(elsewhere)
    (folder / "circle").symlink_to(folder)
    os.mkfifo(folder / "pipe")
    same(Corpus.read(folder), Corpus.of({"a": "", "b": "apple"}))
    (folder / "0.txt").symlink_to(tmp_path / "nowhere")
    assert message(folder) == f"{folder}/0.txt: this link points to a missing file"


def test_documents_about_markup(tmp_path: Path) -> None:
    (tmp_path / "c.tsv").write_text("a\ta <DOC> begins\n")
    assert vectors(Corpus.read(tmp_path / "c.tsv")) == {"a": {"a": 1, "doc": 1, "begins": 1}}


def test_standard_input_and_file_objects(monkeypatch: pytest.MonkeyPatch, expected: Corpus) -> None:
    same(Corpus.read(io.BytesIO(jsonl())), expected)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(jsonl()))))
    same(Corpus.read("-"), expected)


def test_ir_datasets(monkeypatch: pytest.MonkeyPatch, expected: Corpus) -> None:
    class Document:
        def __init__(self, doc_id: str, text: str) -> None:
            self.doc_id, self.text = doc_id, text

        def default_text(self) -> str:
            return self.text

    def load(name: str) -> Any:
        if name != "toy":
            raise KeyError(name)
        return types.SimpleNamespace(docs_iter=lambda: iter([Document(*pair) for pair in TEXTS.items()]))

    monkeypatch.setitem(sys.modules, "ir_datasets", types.SimpleNamespace(load=load))
    same(Corpus.read("irds:toy"), expected)
    with pytest.raises(InputError, match="irds:none: ir_datasets has no documents with this name"):
        Corpus.read("irds:none")


def test_fields_may_be_named(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text('{"key": 7, "a": "one", "b": ["two", "three"], "text": "four"}\n')
    read = Corpus.read(tmp_path / "c.jsonl", id="key", text=["b", "a"])
    assert vectors(read) == {"7": {"one": 1, "two": 1, "three": 1}}
    (tmp_path / "c.tsv").write_text("key\ta\nx\tone\n")
    assert vectors(Corpus.read(tmp_path / "c.tsv", id="key", text=["a"])) == {"x": {"one": 1}}


@pytest.mark.parametrize("size", [1, 7, 40, 1 << 22])
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("name", ["beir.jsonl", "head.tsv", "news.trec"])
def test_pieces_do_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, size: int, workers: int
) -> None:
    many = {f"d{i}": f"word{i % 7} Ä{i % 3} common\u2014{i}" for i in range(60)}
    if name == "news.trec":
        content = sgml(many)
    elif name == "head.tsv":
        content = b"docid\ttitle\ttext\n" + "".join(f"{n}\t\t{t}\n" for n, t in many.items()).encode()
    else:
        content = b"\n".join(json.dumps({"_id": n, "text": t}).encode() for n, t in many.items())
    path = tmp_path / name
    path.write_bytes(content)
    monkeypatch.setattr(documents.TextReader, "block_bytes", size)
    wanted = ["d3", "d59", "none"]
    steps: list[tuple[int, int]] = []
    read = Corpus.read(path, wanted=wanted, workers=workers, progress=lambda *step: steps.append(step))
    same(read, Corpus.of(many, wanted))
    assert steps[-1][0] in range(len(content) - 2, len(content) + 1)  # blank lines at the end are no block
    assert steps == sorted(steps)


# ---- faults


def message(*sources: Any, **options: Any) -> str:
    with pytest.raises(CranfieldError) as error:
        Corpus.read(*sources, **options)
    return str(error.value)


def test_every_fault_of_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(
        b'{"_id": "a", "title": "", "text": "x"}\n{"_id": "b", "text": \n\n[1]\n{"text": "x"}\n{"_id": null, "text": ""}\n'
        b'{"_id": "c"}\n{"_id": "d", "text": 5}\n{"_id": "e", "text": "\0"}\n{"_id": "", "text": ""}\n{"_id": 7, "text": null}\n'
    )
    assert message(path).replace(str(path), "c.jsonl") == (
        "c.jsonl:2: invalid JSON: expecting value at column 22\n"
        "c.jsonl:4: expected an object, found [1]\n"
        "c.jsonl:5: there is no field `_id`\n"
        "c.jsonl:6: the id must be text, found None\n"
        "c.jsonl:7: no field for the text; the fields are _id\n"
        "c.jsonl:8: the field `text` must be text, found 5\n"
        "c.jsonl:9: the line contains a NUL byte; this is not a text file\n"
        "c.jsonl:10: the id must be text, found ''"
    )


def test_many_faults_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents.TextReader, "block_bytes", 50)
    (tmp_path / "c.jsonl").write_text('{"_id": "a", "text": "x"}\n' + "{]\n" * 50)
    said = message(tmp_path / "c.jsonl", workers=3).splitlines()
    assert len(said) == 21
    assert [line.split(":")[1] for line in said[:20]] == [str(n) for n in range(2, 22)]
    assert said[20] == "... and 30 more errors"


def test_faults_of_tab_separated_lines(tmp_path: Path) -> None:
    path = tmp_path / "c.tsv"
    path.write_bytes(b"docid\ttext\na\tx\nb\n\tx\nc\tx\ty\nd\t\0\n")
    assert message(path).replace(str(path), "c.tsv") == (
        "c.tsv:3: expected 2 fields as in the first line, found 1\n"
        "c.tsv:4: the id is empty\n"
        "c.tsv:5: expected 2 fields as in the first line, found 3\n"
        "c.tsv:6: the line contains a NUL byte; this is not a text file"
    )
    path.write_bytes(b"a\tx\nb\n")
    assert message(path) == f"{path}:2: expected an id, a tab and a text, found no tab"


def test_faults_of_trec(tmp_path: Path) -> None:
    path = tmp_path / "c.trec"
    path.write_bytes(
        b"<DOC><DOCNO>a</DOCNO></DOC>\n<DOC>\n</DOC>\n<DOC><DOCNO>b</DOCNO>\n<DOC><DOCNO>c</DOCNO></DOC>\n<DOC>"
    )
    assert message(path).replace(str(path), "c.trec") == (
        "c.trec:2: the document has no id: <DOCNO> is missing\n"
        "c.trec:4: the document has no end: </DOC> is missing\n"
        "c.trec:6: the document has no end: </DOC> is missing"
    )
    path.write_bytes(b"<DOC><DOCNO>a</DOCNO></DOC>\n<DOC><DOCNO>b</DOCNO>\n\0</DOC>\n")
    assert message(path) == f"{path}:2: the document contains a NUL byte; this is not text"


def test_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl.gz"
    packed = gzip.compress(
        b"".join(json.dumps({"_id": str(i), "text": str(i**9)}).encode() + b"\n" for i in range(9999))
    )
    path.write_bytes(packed[: len(packed) // 2])
    assert (
        message(path)
        == f"{path}: the gzip data end too early\n\nhint: the file is incomplete; download or write it again"
    )


def test_what_is_wrong_before_the_end_comes_first(tmp_path: Path) -> None:
    lines = [json.dumps({"_id": str(i), "text": "" if i else 5}).encode() for i in range(99999)]
    packed = gzip.compress(b'{"_id": "x", "text": ""}\n' + b"\n".join(lines))
    (tmp_path / "c.jsonl.gz").write_bytes(packed[:-9])
    said = message(tmp_path / "c.jsonl.gz").splitlines()
    assert said[0].endswith(":2: the field `text` must be text, found 5")
    assert said[1].endswith(": the gzip data end too early")


def test_the_same_id_with_another_text(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("d1\tone\nd2\ttwo\nd1\tone\nd2\tother\n")
    (tmp_path / "b.tsv").write_text("d1\tthree\n")
    a, b = tmp_path / "a.tsv", tmp_path / "b.tsv"
    assert message(a, b) == (
        f"{a}:4: document `d2` appears again with another text, first in {a}:2\n"
        f"{b}:1: document `d1` appears again with another text, first in {a}:1\n\n"
        "hint: each id must have one text; keep one of them"
    )
    (tmp_path / "a.tsv").write_text("d1\tone two\nd2\ttwo\nd1\tone two\n")
    read = Corpus.read(a)
    assert vectors(read) == {"d1": {"one": 1, "two": 1}, "d2": {"two": 1}}
    assert (read.repeated, read.size) == (1, 3)


def test_binary_files_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "b.png").write_bytes(b"\x89PNG\0")
    assert message(tmp_path) == f"{tmp_path}: file 2: `b.png` contains a NUL byte; this is not text"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"just some words\n", "this is not a collection of documents"),
        (b"", "the file is empty"),
        (b'{"id": "a", "number": 5}\n', "no field for the text; the fields are id, number"),
        (b'{"text": "a"}\n', "no field for the id; the fields are text"),
        (b'[{"id": "a", "text": ""}]\n', "the documents are in one JSON list"),
        (b"PAR1 and nothing\0", "the Parquet data are damaged"),
    ],
)
def test_no_collection(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "c.jsonl").write_bytes(content)
    assert message(tmp_path / "c.jsonl").startswith(f"{tmp_path / 'c.jsonl'}: {said}")


def test_no_files(tmp_path: Path) -> None:
    assert message(tmp_path) == f"{tmp_path}: the folder has no files"
    assert message(tmp_path / "x.jsonl") == f"{tmp_path / 'x.jsonl'}: there is no such file"
    (tmp_path / "a.txt").write_text("x")
    assert message(tmp_path, id="x") == f"{tmp_path}: this source has no named fields"


def test_columns_that_are_no_text(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"id": ["a", None, ""], "text": ["x", "y", "z"]}), tmp_path / "c.parquet")
    path = tmp_path / "c.parquet"
    assert message(path) == f"{path}: row 2: the id is empty\n{path}: row 3: the id is empty"
    pq.write_table(pa.table({"id": [1], "text": [2.5]}), path)
    assert message(path) == f"{path}: the column `text` must be text, found double"


def test_rows_without_text_keep_their_place(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    names = ["a", "b", "c", "d"]
    expected = Corpus.of({"a": "", "b": "apple\npie", "c": "", "d": "tart"})
    titles, texts = pa.array([None, "apple", None, None]), pa.array([None, "pie", None, "tart"])
    for id, title, text in (
        (pa.array(names), titles, texts),
        (pa.array(names).dictionary_encode(), titles.dictionary_encode(), texts.dictionary_encode()),
    ):
        pq.write_table(pa.table({"id": id, "title": title, "text": text}), tmp_path / "c.parquet")
        same(Corpus.read(tmp_path / "c.parquet"), expected)
    pq.write_table(pa.table({"id": names, "text": pa.nulls(4)}), tmp_path / "c.parquet")
    assert Corpus.read(tmp_path / "c.parquet").empty == 4


@pytest.mark.parametrize("arrow", [True, False])
def test_later_records_may_have_fields_that_the_first_has_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arrow: bool
) -> None:
    if not arrow:
        monkeypatch.setattr("cranfield.io.formats.json.available", lambda name: None)
    path = tmp_path / "c.jsonl"
    path.write_text(
        '{"id": "a", "Title": "apple"}\n{"id": "b", "Title": "pie", "text": "tart"}\n{"id": "c", "body": "x"}\n'
    )
    same(Corpus.read(path), Corpus.of({"a": "apple", "b": "pie tart", "c": "x"}))
    path.write_text('{"id": "a", "Title": "apple"}\n{"id": "b", "Title": "pie", "text": "tart"}\n')
    same(Corpus.read(path, text=["Title"]), Corpus.of({"a": "apple", "b": "pie"}))


# ---- any bytes

FIELDS = Fields("_id", ("title", "text"))
values = (
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.text(max_size=4) | st.lists(st.text(max_size=2))
)
records = st.dictionaries(
    st.sampled_from(["_id", "title", "text", "more"]), values | st.dictionaries(st.text(), values)
)
lines = (
    st.fixed_dictionaries({"_id": st.text(min_size=1)}, optional={"title": st.text(), "text": st.text()}).map(
        json.dumps
    )
    | records.map(json.dumps)
    | records.map(lambda r: json.dumps(r, ensure_ascii=False))
    | st.sampled_from(
        ['{"_id":"a","text":"b"}{"_id":"c","text":"d"}', '{"_id":"a","_id":"b","text":"x"}', "{", "", " ", "7", "[]"]
    )
).map(lambda text: text.encode("utf-8", "surrogatepass"))


@settings(deadline=None)
@given(
    st.lists(lines | st.binary(max_size=12), max_size=6),
    st.sampled_from([b"\n", b"\r\n"]),
    st.booleans(),
    st.integers(1, 2),
)
def test_both_ways_to_read_json_agree(parts: list[bytes], newline: bytes, ends: bool, line: int) -> None:
    pytest.importorskip("pyarrow")
    block = Block(line, newline.join(parts) + newline * ends)
    quick, sure = parse_block(block, FIELDS), parse_lines(block, FIELDS)
    if quick is None:
        return
    assert not sure.faults
    assert list(quick.lines) == list(sure.lines)
    assert list(quick.names) == list(sure.names)
    same_texts = [
        [d.data[a:b].tobytes() for a, b in zip(d.offsets[:-1], d.offsets[1:], strict=True)] for d in (quick, sure)
    ]
    assert same_texts[0] == same_texts[1]


def test_the_quick_way_is_taken() -> None:
    pytest.importorskip("pyarrow")
    assert parse_block(Block(1, jsonl(title="")), FIELDS) is not None
    assert parse_block(Block(1, jsonl(title="")[:-1]), FIELDS) is not None


BEGINNINGS = [
    b"",
    b'{"_id": "a", "text": "b"}\n',
    b"<DOC><DOCNO>a</DOCNO><TEXT>",
    b"id\ttext\n",
    b"a\tb\n",
    b"PAR1",
    b"\x1f\x8b",
    b"BZh9",
]
PIECES = [
    b'{"_id": "c", "text": "d"}',
    b"<DOC>",
    b"</DOC>",
    b"<DOCNO>",
    b"</DOCNO>",
    b"<TEXT>",
    b"&#x110000;",
    b"&amp",
    b"\t",
    b"\n",
    b"\r",
    b"\0",
    b"\xff",
    b"{",
    b'"',
    b"[",
    b"<",
    b">",
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
@given(st.sampled_from(BEGINNINGS), st.lists(st.sampled_from(PIECES) | st.binary(max_size=6), max_size=12))
def test_any_bytes_are_read_or_refused(tmp_path: Path, begin: bytes, pieces: list[bytes]) -> None:
    path = tmp_path / "c"
    path.write_bytes(begin + b"".join(pieces))
    try:
        read = Corpus.read(path, workers=1)
    except InputError as error:
        assert str(path) in str(error)
    else:
        assert read.size >= len(read.documents)
        assert read.count.sum() <= read.total
