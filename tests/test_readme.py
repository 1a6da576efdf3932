"""The README's commands and examples, run as they stand."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cranfield import example

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text() if README.exists() else ""
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TEXT, re.DOTALL)


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (README.parent / target).exists(), target


def test_commands(tmp_path: Path) -> None:
    """Each command's output is what stands below it; `make` is left to those who run this test."""
    where, ran = tmp_path, 0
    for language, block in BLOCKS:
        if language != "console":
            continue
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            words = shlex.split(command)
            if words[0] == "make":
                continue
            if words[0] == "cd":
                where = where / words[1]
                continue
            program = words[0].removeprefix("../")
            assert program == ".venv/bin/cranfield", command
            environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1"}
            done = subprocess.run(
                [sys.executable, "-m", "cranfield", *words[1:]],
                cwd=where,
                capture_output=True,
                text=True,
                env=environment,
            )
            assert done.returncode == 0, done.stderr
            if expected.strip():
                assert [line.rstrip() for line in done.stdout.strip().splitlines()] == expected.strip().splitlines()
            ran += 1
    assert ran >= 2


@pytest.mark.parametrize("command", re.findall(r"^\|[^|]*\| `cranfield (.*)` \|$", TEXT, re.MULTILINE))
def test_commands_of_the_table(command: str, tmp_path: Path) -> None:
    for name in example.NAMES:
        shutil.copy(example.path(name), tmp_path)
    line = [sys.executable, "-m", "cranfield", *shlex.split(command)]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", [block for language, block in BLOCKS if language == "python"])
def test_python(block: str) -> None:
    """What is printed is what the comment beside it says."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, "README", "exec"), {})
    expected = re.findall(r"^print\(.*\)\s*# (.*)$", block, re.MULTILINE)
    for line, comment in zip(printed.getvalue().splitlines(), expected, strict=True):
        assert line.startswith(comment.removesuffix("...")), (line, comment)
