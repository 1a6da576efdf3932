"""A run without any judged document: an error if its ids look different, and what the options do about it."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_samples import Call

from collection_files import write_collection

QRELS = "1 0 guide.md 1\n1 0 faq.md 0\n2 0 intro.md 2\n"
CHUNKS = """1 Q0 guide.md#7 1 3.0 x
1 Q0 faq.md#1 2 2.0 x
1 Q0 guide.md#2 3 1.0 x
2 Q0 faq.md#1 1 2.0 x
2 Q0 intro.md#0 2 1.0 x
"""
MAP = "guide.md#7 guide.md\nguide.md#2 guide.md\nfaq.md#1 faq.md\nintro.md#0 intro.md\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    paths = tmp_path / "qrels.txt", tmp_path / "chunks.run", tmp_path / "map.txt"
    for path, text in zip(paths, (QRELS, CHUNKS, MAP), strict=True):
        path.write_text(text)
    return paths


@pytest.mark.parametrize("verb", [("eval", "-m", "RR"), ("check",), ("audit", "-m", "RR"), ("queries", "-m", "RR")])
def test_every_verb_refuses_ids_of_another_kind(verb: tuple[str, ...], files: tuple[Path, ...], call: Call) -> None:
    result = call(verb[0], *files[:2], *verb[1:])
    assert result.exit_code == 1
    assert "ids of the two have different forms" in result.output
    assert "map_documents" in result.output


def test_a_run_from_standard_input_is_read_again_for_its_ids(files: tuple[Path, ...], call: Call) -> None:
    result = call("eval", files[0], "-", "-m", "RR", input=CHUNKS.encode())
    assert result.exit_code == 1
    assert "retrieved `guide.md#7`, `faq.md#1`, `guide.md#2`; judged `guide.md`" in result.output


def test_allow_disjoint_scores_the_run_and_says_so_first(files: tuple[Path, ...], call: Call) -> None:
    collection = write_collection(files[0].parent, qrels=files[0], allow_disjoint=True)
    result = call("eval", collection, files[1], "-m", "RR")
    assert result.exit_code == 0
    assert "0.0000" in result.stdout
    assert result.stderr.startswith("note: chunks: none of the retrieved documents is judged for any query")
    checked = call("check", collection, files[1])
    assert checked.exit_code == 0
    assert "warning: none of the retrieved documents is judged for any query" in checked.stdout


def test_chunks_are_mapped_to_documents(files: tuple[Path, ...], call: Call) -> None:
    collection = write_collection(files[0].parent, qrels=files[0], map_documents=files[2])
    result = call("eval", collection, files[1], "-m", "RR")
    assert result.exit_code == 0
    assert "0.7500" in result.stdout
    assert call("check", collection, files[1]).exit_code == 0


def test_check_reports_lists_of_distances_and_lists_without_ids(call: Call, tmp_path: Path) -> None:
    qrels, distances, lists = tmp_path / "qrels.txt", tmp_path / "distances.json", tmp_path / "lists.json"
    qrels.write_text("q 0 a 1\n")
    distances.write_text('{"q": [["a", 0.1], ["b", 0.5]]}')
    lists.write_text('[["a", "b"]]')
    warned = call("check", qrels, distances)
    assert f"{distances}: warning: scores rise from first to last in every list" in warned.stdout
    refused = call("check", qrels, lists)
    assert refused.exit_code == 1
    assert "the judgments have ids of queries, such as `q`" in refused.stdout + refused.stderr
