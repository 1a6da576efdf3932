"""WARC files as collections of texts: ids, text of pages, faults, compression."""

from __future__ import annotations

import gzip
from io import BytesIO
from pathlib import Path

import pytest
from click.testing import CliRunner

from cranfield.cli.main import cli
from cranfield.errors import InputError
from cranfield.io.documents import read_texts

HTML = (
    b"<html><head><title>A lamp</title><style>p {}</style><script>x()</script></head><body>caf&eacute; &amp; oil</body>"
)


def http(body: bytes, kind: bytes = b"text/html", end: bytes = b"\r\n") -> bytes:
    return b"HTTP/1.1 200 OK" + end + b"Content-Type: " + kind + end + b"X: y" + end + end + body


def record(
    name: str, content: bytes, kind: str = "response", field: str = "WARC-TREC-ID", end: bytes = b"\r\n"
) -> bytes:
    lines = ["WARC/1.0", f"WARC-Type: {kind}", f"Content-Length: {len(content)}"]
    lines += [f"{field}: {name}"] if name else []
    return end.join(line.encode() for line in lines) + end + end + content + end + end


def warc(*pages: bytes) -> bytes:
    return record("", b"software: crawler\r\n", "warcinfo") + b"".join(pages)


def words(data: bytes, *names: str) -> dict[str, list[str]]:
    return {name: text.split() for name, text in read_texts([BytesIO(data)], set(names)).items()}


def test_pages() -> None:
    data = warc(
        record("clueweb12-0-0", http(HTML)),
        record("", b"GET / HTTP/1.1\r\n\r\n", "request"),
        record("<urn:uuid:7>", http(b"plain < words", b"text/plain"), field="WARC-Record-ID"),
        record("image", http(b"\x89PNG\0", b"image/png")),
    )
    found = words(data, "clueweb12-0-0", "urn:uuid:7", "image")
    assert found == {
        "clueweb12-0-0": ["A", "lamp", "café", "&", "oil"],
        "urn:uuid:7": ["plain", "<", "words"],
        "image": [],
    }


def test_line_ends_and_lengths_of_clueweb09() -> None:
    page = record("clueweb09-en0000-00-00000", http(HTML, end=b"\n"), end=b"\n").replace(b"WARC/1.0", b"WARC/0.18")
    longer = page.replace(b"caf&eacute; &amp; oil", b"caf&eacute; &amp; oil and wick")  # longer than it says
    found = words(warc(longer, record("next", http(b"<p>sea"))), "clueweb09-en0000-00-00000", "next")
    assert found == {"clueweb09-en0000-00-00000": ["A", "lamp", "café", "&", "oil", "and", "wick"], "next": ["sea"]}


@pytest.mark.parametrize("where", ["header", "page"])
def test_other_encodings(where: str) -> None:
    body, kind = "<p>café".encode("latin-1"), b"text/html"
    if where == "header":
        kind = b"text/html; charset=iso-8859-1"
    else:
        body = b'<meta charset="ISO-8859-1">' + body
    assert words(warc(record("a", http(body, kind))), "a") == {"a": ["café"]}
    assert words(warc(record("a", http(b"<p>x", b"text/html; charset=no-such"))), "a") == {"a": ["x"]}


def test_a_nul_separates_words_and_bytes_that_look_like_warc_do_not() -> None:
    page = record("a", http(b"<p>one\0two\nWARC/1.0 three"))
    assert words(warc(page), "a") == {"a": ["one", "two", "WARC/1.0", "three"]}


def test_faults() -> None:
    broken = b"WARC/1.0\r\nWARC-Type: response\r\nWARC-TREC-ID: x\r\n\r\nbody\r\n\r\n"
    with pytest.raises(InputError, match="record 2: the record has no length"):
        words(warc(broken), "a")
    with pytest.raises(InputError, match="record 2: the record ends after"):
        words(warc(record("x", http(HTML)))[:-40], "a")
    huge = record("x", b"y").replace(b"Content-Length: 1\r", b"Content-Length: 99999999999999999999\r")
    with pytest.raises(InputError, match="record 2: the record is longer than"):
        words(warc(huge), "a")
    with pytest.raises(InputError, match="record 2: the record has no id"):
        words(warc(record("", http(HTML))), "a")
    with pytest.raises(InputError, match="record 1: the header of the record does not end"):
        words(b"WARC/1.0\r\nWARC-Type: response\r\n", "a")


def test_folder_of_compressed_files(tmp_path: Path) -> None:
    folder = tmp_path / "en0000"
    folder.mkdir()
    for i in range(2):
        pages = [record(f"d{i}{j}", http(b"<p>lamp " + str(j).encode())) for j in range(3)]
        # ClueWeb compresses each record on its own.
        (folder / f"0{i}.warc.gz").write_bytes(b"".join(gzip.compress(part) for part in (warc(), *pages)))
    assert len(read_texts([folder], {f"d{i}{j}" for i in range(2) for j in range(3)})) == 6
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("q 1 d00 1\nq 1 d11 0\n")
    target = tmp_path / "corpus.npz"
    result = CliRunner().invoke(cli, ["corpus", str(folder), "--qrels", str(qrels), "-o", str(target)])
    assert result.exit_code == 0, result.output
    assert "6" in result.output


def test_many_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    from cranfield.io.formats import warc as module

    monkeypatch.setattr(module, "BLOCK_BYTES", 100)
    data = warc(*(record(f"d{i}", http(f"<p>word{i}".encode())) for i in range(20)))
    assert len(words(data, *(f"d{i}" for i in range(20)))) == 20


def test_fields_cannot_be_chosen() -> None:
    from cranfield.errors import UsageError
    from cranfield.io.documents import FieldChoice, document_readers

    with pytest.raises(UsageError, match="no named fields"):
        list(document_readers(BytesIO(warc()), FieldChoice(texts=("body",))))


@pytest.mark.parametrize(
    "page",
    [
        b"<!--" * 400_000,
        b"<script>" * 200_000,
        b"<style><script" * 100_000,
        b"<!-- <script> <style> " * 50_000 + b"</style>" * 10_000,
        b"</script" + b" " * 1_000_000,
        b"<script></script" * 60_000,
        b"<script>" + b"</script " * 100_000,
        b"<" * 1_000_000,
        b"&" * 1_000_000,
        b"&#" * 500_000,
        b"&#" + b"1" * 1_000_000 + b";&#" + b"0" * 100_000 + b"65;",
        b"\r\n" * 500_000,
    ],
    ids=lambda page: page[:24],
)
def test_hostile_markup_takes_time_that_grows_with_its_length(page: bytes) -> None:
    """With time that grew with its square, each of these would take many minutes."""
    found = words(warc(record("a", http(page + b" <p>lamp"))), "a")
    assert found["a"][-1:] == ["lamp"]
    sgml = b"<DOC><DOCNO>a</DOCNO>" + page + b" <p>lamp</DOC>"
    assert read_texts([BytesIO(sgml)], {"a"}).keys() == {"a"}


@pytest.mark.parametrize(
    "kind",
    [
        b"text/html; charset=" + b" " * 500_000 + b"!",
        b"text/html; charset" * 50_000,
        b"text/html; charset=" + b"x" * 1_000_000,
        b"text/html; charset=punycode",
        b"text/html; charset=idna",
        b"text/html; charset=unicode_escape",
        b"text/html; charset=zlib",
        b"text/html; charset=undefined",
    ],
    ids=lambda kind: kind[:34],
)
def test_encodings_that_no_page_has(kind: bytes) -> None:
    page = b"<p>lamp \\q-" + b"a" * 1_000_000
    assert words(warc(record("a", http(page, kind))), "a") == {"a": ["lamp", "\\q-" + "a" * 1_000_000]}


@pytest.mark.parametrize(
    "text",
    [
        b"<DOCNO>" * 100_000,
        b"<DOCNO>" + b" " * 100_000 + b"x" + b" " * 100_000,
        b"<DOCNO>a</DOCNO>" + b"<DOCHDR><FILEID>" * 60_000,
        b"<DOCNO>a</DOCNO><TEXT></TEXT>" + b"<TEXT><TITLE>" * 60_000,
        b"<DOCNO>a</DOCNO><TEXT>" + b"</TEXT " * 100_000,
        b"<DOCNO>a</DOCNO>" + b"<TEXT " * 100_000,
    ],
    ids=lambda text: text[:34],
)
def test_elements_without_an_end(text: bytes) -> None:
    if b"</DOCNO>" in text:
        assert read_texts([BytesIO(b"<DOC>" + text + b"</DOC>")], {"a"}).keys() == {"a"}
    else:
        with pytest.raises(InputError, match=":1: the document has no id"):
            read_texts([BytesIO(b"<DOC>" + text + b"</DOC>")], {"a"})


def test_a_number_above_every_character() -> None:
    """Python refuses to read a number of 5,000 digits."""
    page = b"one&#" + b"9" * 5000 + b";two&#" + b"0" * 5000 + b"65;&#" + b"0" * 5000 + b";"
    assert words(warc(record("a", http(page))), "a") == {"a": ["one\ufffdtwoA\ufffd"]}
