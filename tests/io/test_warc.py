"""WARC files as collections of texts: ids, text of pages, faults, compression."""

from __future__ import annotations

import gzip
from io import BytesIO
from pathlib import Path

import pytest
from click.testing import CliRunner

from cranfield.cli.main import cli
from cranfield.errors import InputError
from cranfield.io.collection import read_texts

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
    from cranfield.io.documents import FieldChoice

    with pytest.raises(UsageError, match="no named fields"):
        read_texts([BytesIO(warc())], {"a"}, FieldChoice(texts=("body",)))
