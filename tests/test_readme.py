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
from click.testing import CliRunner

import cranfield as cf
from cranfield import example
from cranfield.cli.main import cli

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8") if README.exists() else ""
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TEXT, re.DOTALL)


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (README.parent / target).exists(), target


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    words = shlex.split(command)
    assert words[0] == "cranfield", command
    environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1"}
    line = [sys.executable, "-m", *words]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, env=environment)


def test_commands(tmp_path: Path) -> None:
    """Each command's output is what stands below it; `make` and `pip` are left to `make test-wheel`."""
    where, ran = tmp_path, 0
    for language, block in BLOCKS:
        if language != "console":
            continue
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            words = shlex.split(command)
            if words[0] in ("make", "pip"):
                continue
            if words[0] == "cd":
                where = where / words[1]
                continue
            done = run(command, where)
            assert done.returncode == 0, done.stderr
            if expected.strip():
                assert [line.rstrip() for line in done.stdout.strip().splitlines()] == expected.strip().splitlines()
            ran += 1
    assert ran >= 3


def test_two_commands_set_everything_up() -> None:
    made = re.findall(r"^\$ make (\S+)$", TEXT, re.MULTILINE)
    assert made == ["demo", "test"]
    targets = re.findall(r"^(\w+): \$\(VENV\)", (README.parent / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(made) <= set(targets)


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    for name in example.NAMES:
        shutil.copy(example.path(name), tmp_path)
    return tmp_path


def test_exit_codes(collection: Path) -> None:
    rows = re.findall(r"^\| `(cranfield .*)` \| (\d): .* \|$", TEXT, re.MULTILINE)
    assert {code for _, code in rows} == {"0", "3", "4"}
    for command, code in rows:
        assert run(command, collection).returncode == int(code), command


def test_the_numbers_of_the_tie_story() -> None:
    """Those of other tools are checked in test_docs.py."""
    scores = cf.evaluate({"q": {"a": 1}}, {"q": dict.fromkeys("abc", 1.0)}, ["RR", "RR@10"], ties="expected")
    shown = re.search(r"^\| Cranfield, `ties=\"expected\"` \| (.*) \| (.*) \|$", TEXT, re.MULTILINE)
    assert shown is not None
    assert [f"{mean:.2f}" for mean in scores._means[0]] == list(shown.groups())
    assert "(0.3333 to 1.0000)" in str(scores.notes[-1])
    dense = cf.evaluate(example.path("qrels.txt"), example.path("dense.run"), "nDCG@10", ties="worst")
    best = cf.evaluate(example.path("qrels.txt"), example.path("dense.run"), "nDCG@10", ties="best")
    assert f"between {dense._means[0, 0]:.2f} and {best._means[0, 0]:.2f}" in " ".join(TEXT.split())


@pytest.mark.parametrize("command", re.findall(r"^\|[^|]*\| `cranfield (.*)` \|$", TEXT, re.MULTILINE))
def test_commands_of_the_table(command: str, collection: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(collection)
    done = CliRunner().invoke(cli, shlex.split(command))
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("block", [block for language, block in BLOCKS if language == "python"])
def test_python(block: str) -> None:
    """What is printed is what the comment beside it says."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, "README", "exec"), {})
    expected = re.findall(r"^print\(.*\)\s*# (.*)$", block, re.MULTILINE)
    for line, comment in zip(printed.getvalue().splitlines(), expected, strict=True):
        assert line.startswith(comment.removesuffix("...")), (line, comment)
