"""The numbers of the paper, computed by the commands that it gives."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cranfield import example

PAPER = Path(__file__).parents[1] / "paper" / "paper.md"
TEXT = PAPER.read_text(encoding="utf-8") if PAPER.exists() else ""
ROWS = re.findall(r"^\| ([^|]+) \| `(cranfield [^`]+)` \|$", TEXT, re.MULTILINE)


@pytest.mark.parametrize(("numbers", "command"), ROWS)
def test_a_command_gives_its_number(tmp_path: Path, numbers: str, command: str) -> None:
    for name in ("qrels.txt", "bm25.run", "dense.run"):
        (tmp_path / name).write_bytes(example.path(name).read_bytes())
    result = subprocess.run([sys.executable, "-m", *shlex.split(command)], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert all(number in result.stdout + result.stderr for number in numbers.split("; "))
    prose = TEXT.partition("# Reproducing")[0]
    assert all(number.removeprefix("0") in prose for number in numbers.split("; "))


def test_the_paper_is_short_and_cites_what_exists() -> None:
    if not TEXT:
        pytest.skip("not a checkout")
    assert len(TEXT.split()) <= 1500
    bibliography = (PAPER.parents[1] / "src/cranfield/references.bib").read_text(encoding="utf-8")
    keys = re.findall(r"@(\w+\d{4}\w?)", TEXT)
    assert keys
    assert all(f"{{{key}," in bibliography for key in keys)
