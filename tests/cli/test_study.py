"""The commands of studies: collection files in place of judgments, and help pages of one screen."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from cranfield.cli.main import cli

SCREEN = 45  # lines


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    queries = [f"q{i}" for i in range(8)]
    (tmp_path / "qrels.txt").write_text("".join(f"{q} 0 a 1\n{q} 0 b 2\n{q} 0 c 0\n" for q in queries))
    for name, order in (("x", "abc"), ("y", "bca")):
        rows = (f"{q} Q0 {d} {r} {-r} {name}\n" for q in queries for r, d in enumerate(order))
        (tmp_path / f"{name}.run").write_text("".join(rows))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def study(*words: str) -> Result:
    return CliRunner().invoke(cli, ["study", *words])


REDUCTION = "x.run", "y.run", "-m", "P@1", "--repeats", "2", "--samples", "9"


def test_a_collection_file_in_place_of_judgments(folder: Path) -> None:
    (folder / "queries.csv").write_text("query,text\nq0,what\n")
    (folder / "strict.toml").write_text('qrels = "qrels.txt"\nqueries = "queries.csv"\nrel = 2\n')
    strict = study("reduction", "strict.toml", *REDUCTION)
    assert strict.exit_code == 0
    by_name = study("reduction", "qrels.txt", "--rel", "2", *(word.replace("P@1", "P(rel=2)@1") for word in REDUCTION))
    numbers = re.compile(r"[\d.]+%?")
    assert numbers.findall(strict.stdout.replace("P@1", "")) == numbers.findall(
        by_name.stdout.replace("P(rel=2)@1", "")
    )
    lenient = study("reduction", "strict.toml", *REDUCTION, "--rel", "1").stdout
    assert lenient == study("reduction", "qrels.txt", *REDUCTION).stdout
    assert lenient != strict.stdout


@pytest.mark.parametrize("key", ["complete = true", 'costs = "costs.txt"', 'nil = "NIL"'])
def test_a_key_that_a_study_cannot_use(key: str, folder: Path) -> None:
    (folder / "costs.txt").write_text("q0 a 1\n")
    (folder / "collection.toml").write_text(f'qrels = "qrels.txt"\n{key}\n')
    result = study("reduction", "collection.toml", *REDUCTION)
    assert result.exit_code == 2
    assert f"cannot use the key `{key.partition(' ')[0]}`" in result.stderr


def commands(group: click.Group, before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The words of all commands of a group and of the groups in it."""
    found = []
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        inner = commands(command, (*before, name)) if isinstance(command, click.Group) else []
        found += [(*before, name), *inner]
    return found


@pytest.mark.parametrize("words", commands(cli), ids=" ".join)
def test_help_fits_on_a_screen(words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(cli, [*words, "--help"], terminal_width=80, prog_name="cranfield")
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) <= SCREEN
    assert "::" not in result.stdout


def test_options_are_few() -> None:
    """Each option is one more thing to know: all verbs together, studies aside."""
    names = set()
    for words in commands(cli):
        command: click.Command = cli
        for word in words:
            assert isinstance(command, click.Group)
            found = command.get_command(click.Context(command), word)
            assert found is not None
            command = found
        if words[0] not in ("study", "trec_eval"):
            names |= {max(p.opts, key=len) for p in command.params if isinstance(p, click.Option)}
    assert 60 < len(names) <= 118
