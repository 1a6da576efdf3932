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
TEXT = PAPER.read_text(encoding="utf-8")
PROSE, _, TABLE = TEXT.partition("# Reproducing")
ROWS = re.findall(r"^\| ([^|]*\d[^|]*) \| `([^`]+)` \|$", TABLE, re.MULTILINE)
COMMANDS = [row for row in ROWS if row[1].startswith("cranfield ")]  # the others take minutes


@pytest.mark.parametrize(("numbers", "command"), COMMANDS)
def test_a_command_gives_its_number(tmp_path: Path, numbers: str, command: str) -> None:
    for name in ("qrels.txt", "bm25.run", "dense.run"):
        (tmp_path / name).write_bytes(example.path(name).read_bytes())
    result = subprocess.run([sys.executable, "-m", *shlex.split(command)], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert all(number in result.stdout + result.stderr for number in numbers.split("; "))


def test_numbers_with_commands_are_those_of_the_text() -> None:
    assert len(COMMANDS) >= 7
    missing = [number for numbers, _ in ROWS for number in numbers.split("; ") if number.removeprefix("0") not in PROSE]
    assert missing == []


def test_rates_are_those_of_the_page_of_simulations() -> None:
    (rates,) = [numbers.split("; ") for numbers, command in ROWS if "validity.py" in command]
    page = (PAPER.parents[1] / "docs" / "validity.md").read_text(encoding="utf-8")
    shown = []
    for cell in ("12 even clusters, correlation 0.5", "12 even clusters, skewed, correlation 0.5"):
        without, t = re.search(rf"^\| {cell} \| ([\d.]+) \| ([\d.]+) \|", page, re.MULTILINE).groups()  # type: ignore[union-attr]
        shown += [f"{without}%", f"{t}%"]
    assert rates == shown


def test_every_score_of_the_text_has_a_command() -> None:
    """Scores and percentages; settings such as a level of .05 have at most two digits."""
    given = {number for numbers, _ in ROWS for number in numbers.split("; ")}
    scores = re.findall(r"(?<![\d@])\.\d{3,}", PROSE) + re.findall(r"[\d.]+%", PROSE)
    assert scores
    assert {score for score in scores if score not in given and f"0{score}" not in given} == set()


def test_the_paper_is_short_and_cites_what_exists() -> None:
    assert len(TEXT.split()) <= 1500
    files = (PAPER.parents[1] / "src/cranfield/references.bib", PAPER.with_name("paper.bib"))
    bibliography = "".join(file.read_text(encoding="utf-8") for file in files)
    keys = re.findall(r"@(\w+\d{4}\w?|treceval)", TEXT)
    assert "treceval" in keys
    assert all(f"{{{key}," in bibliography for key in keys)
