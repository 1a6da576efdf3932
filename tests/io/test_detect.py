"""A file format is one module: its record is all that the rest of the package needs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from io_samples import QRELS, RUN, SCORES, rows

from cranfield import io
from cranfield.io import formats, streams
from cranfield.io.streams import open_stream, short_name

MODULE = """
from cranfield.io.streams import FileFormat
from cranfield.io.tables import run_from_object


def recognises(stream, kind, columns):
    return stream.head.startswith(b"%PAIRS")


def read_run(stream, name, columns):
    scores = {}
    for line in stream.read_text().splitlines()[1:]:
        query, document, score = line.split("|")
        scores.setdefault(query, {})[document] = float(score)
    return run_from_object(scores, name, columns, stream.source_name)


def write(table):
    yield b"%PAIRS\\n"
    for query, document, _, score in table.rows():
        yield f"{query}|{document}|{score}\\n".encode()


FORMATS = (FileFormat("pairs", 5, recognises, read_run, writers={".pairs": write}, extensions=(".pairs",)),)
"""


@pytest.fixture
def _pairs_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module in the folder of formats."""
    folder = tmp_path / "formats"
    folder.mkdir()
    (folder / "pairs.py").write_text(MODULE)
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(folder)])
    _clear()
    yield
    monkeypatch.undo()
    sys.modules.pop("cranfield.io.formats.pairs", None)
    _clear()


def _clear() -> None:
    for function in (
        streams.formats,
        streams.file_formats,
        streams.source_formats,
        streams.file_extensions,
        streams.document_extensions,
    ):
        function.cache_clear()


@pytest.mark.usefixtures("_pairs_format")
def test_a_new_format_is_one_module(tmp_path: Path) -> None:
    path = tmp_path / "bm25.pairs"
    io.write_run(io.read_run(SCORES), path)
    assert path.read_bytes().startswith(b"%PAIRS\nq1|d1|3.5\n")
    run = io.read_run(path)
    assert (run.name, rows(run)) == ("bm25", rows(io.read_run(SCORES)))
    (tmp_path / "binary").write_bytes(b"a\0b")
    assert "LETOR, pairs, NTCIR text, TREC text" in str(io.check_run(tmp_path / "binary"))


def test_formats_of_files(tmp_path: Path) -> None:
    for name, content, kind, expected in (
        ("run", RUN, "run", "TREC text"),
        ("qrels", QRELS, "qrels", "TREC text"),
        ("run.csv", RUN, "run", "TREC text"),
        ("run.csv", "qid,docno,score\n", "run", "CSV"),
        ("run.csv", '{"q": {"d": 1}}', "run", "JSON"),
        ("docs", "d1\ta text\n", "documents", "CSV"),
        ("docs", "<DOC>\t<DOCNO>", "documents", "TREC <DOC>"),
        ("docs.tsv", "d1\ta <DOC> tag\n", "documents", "CSV"),
        ("docs", '{"id": "d1"}', "documents", "JSON"),
    ):
        path = tmp_path / name
        path.write_text(content)
        assert streams.detect_file(open_stream(path, "x"), kind).name == expected, (name, content)  # type: ignore[arg-type]


def test_records_are_complete() -> None:
    records = streams.file_formats()
    priorities = [record.priority for record in records]
    assert len(set(priorities)) == len(priorities)
    assert records[-1].name == "TREC text"
    for record in records:
        assert record.read_run or record.read_qrels or record.read_documents, record.name
        for extension in record.writers:
            assert not extension or short_name(f"a{extension}.gz") == "a"
