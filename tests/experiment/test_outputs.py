"""An experiment writes inside one folder, and replaces only what Cranfield wrote there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cranfield.cli.main import cli

FILE = """\
measures = ["RR"]
[collections.c]
qrels = "qrels.txt"
[runs]
x = "x.run"
y = "y.run"
[report]
file = "report.html"
[save]
scores = "scores.json"
comparison = "comparison.json"
junit = "junit.xml"
[history]
file = "history.jsonl"
"""
NAMES = ["report.html", "scores.json", "comparison.json", "junit.xml", "history.jsonl"]
VICTIM = "precious\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / "qrels.txt").write_text("".join(f"q{i} 0 a 1\n" for i in range(3)))
    for name, order in {"x": "ab", "y": "ba"}.items():
        rows = (f"q{i} Q0 {d} {r} {-r} {name}\n" for i in range(3) for r, d in enumerate(order))
        (home / f"{name}.run").write_text("".join(rows))
    (home / "cranfield.toml").write_text(FILE)
    (tmp_path / "victim").write_text(VICTIM)
    monkeypatch.chdir(home)
    return home


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, ["run", *words], catch_exceptions=False)


def test_its_own_files_are_replaced(folder: Path) -> None:
    assert run().exit_code == 0
    assert run().exit_code == 0
    assert len((folder / "history.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["absolute", "link", "folder", "dots"])
def test_nothing_outside_is_written(name: str, kind: str, folder: Path) -> None:
    victim = folder.parent / "victim"
    (folder / "link").symlink_to(victim)
    (folder / "far").symlink_to(folder.parent)
    text = {"absolute": str(victim), "link": "link", "folder": "far/victim", "dots": "../victim"}[kind]
    (folder / "cranfield.toml").write_text(FILE.replace(name, text))
    before = sorted(os.listdir(folder))
    result = run()
    assert result.exit_code == 1
    assert "outside the folder for outputs" in result.stderr
    assert "--into" in result.stderr
    assert victim.read_text() == VICTIM
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("content", [VICTIM, "{}\n", '{"kind": "groups", "version": 1}\n', "<html>"])
def test_files_of_others_are_kept(name: str, content: str, folder: Path) -> None:
    (folder / name).write_text(content)
    result = run()
    assert result.exit_code == 1
    assert name in result.stderr
    assert (folder / name).read_text() == content
    assert not {*NAMES} - {name} & {*os.listdir(folder)}


@pytest.mark.parametrize("name", NAMES)
def test_pipes_are_no_outputs(name: str, folder: Path) -> None:
    os.mkfifo(folder / name)
    result = run()
    assert result.exit_code == 1
    assert f"`{name}` is not a file" in result.stderr


def test_an_empty_file_is_replaced(folder: Path) -> None:
    for name in NAMES:
        (folder / name).touch()
    assert run().exit_code == 0


def test_another_folder(folder: Path) -> None:
    out = folder.parent / "out"
    out.mkdir()
    assert run("--into", str(out)).exit_code == 0
    assert sorted(os.listdir(out)) == sorted(NAMES)
    assert not {*NAMES} & {*os.listdir(folder)}
    (out / "scores.json").write_text(VICTIM)
    assert run("--into", str(out)).exit_code == 1


def test_figures_of_others_are_kept(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    (folder / "cranfield.toml").write_text(FILE.replace("[save]", '[save]\nfigures = "plots"'))
    assert run().exit_code == 0
    assert run().exit_code == 0
    figure = next((folder / "plots").glob("*.pdf"))
    figure.write_text(VICTIM)
    result = run()
    assert result.exit_code == 1
    assert "Cranfield did not write it" in result.stderr
    assert figure.read_text() == VICTIM
    assert len((folder / "history.jsonl").read_text().splitlines()) == 2
