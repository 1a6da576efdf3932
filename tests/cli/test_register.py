"""No command destroys what it reads: every command, every file that it opens, every output, in several spellings.

The files that a command reads are not listed here: its register has them, and Python's own record of opened files shows
that the register is complete.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from cranfield.cli import main
from cranfield.cli.commands import OutputFile
from cranfield.io.register import Register, registering

QUERIES = [f"q{i}" for i in range(6)]


def run_lines(order: str, tag: str) -> str:
    return "".join(f"{q} Q0 {d} {r} {9 - r} {tag}\n" for q in QUERIES for r, d in enumerate(order[:5], 1))


EXPERIMENT = """\
measures = ["RR"]
measures_files = ["own.py"]
baseline = "old.json#x"
[collections.c]
qrels = "qrels.txt"
queries = "queries.csv"
documents = "docs.jsonl"
[runs]
x = "x.run"
y = ["y1.run", "y2.run"]
[design]
by = "kind"
[gates]
RR = { at_least = 0.0 }
[report]
file = "report.html"
texts = ["docs.jsonl"]
[save]
scores = "scores.json"
comparison = "comparison.json"
junit = "junit.xml"
[history]
file = "history.jsonl"
"""
FILES = {
    "qrels.txt": "".join(f"{q} 0 a {i % 3}\n{q} 0 b 0\n{q} 0 c 1\n" for i, q in enumerate(QUERIES)),
    "predicted.txt": "".join(f"{q} 0 a {i % 2}\n{q} 0 b 0\n{q} 0 c 1\n{q} 0 d 1\n" for i, q in enumerate(QUERIES)),
    "diversity.txt": "".join(f"{q} {t} a 1\n{q} {t} b {t - 1}\n{q} {t} c 0\n" for q in QUERIES for t in (1, 2)),
    "x.run": run_lines("abcde", "x"),
    "y1.run": run_lines("bacde", "y"),
    "y2.run": run_lines("cabde", "y"),
    "queries.csv": "query,text,kind\n" + "".join(f"{q},what is {q},{'ab'[i % 2]}\n" for i, q in enumerate(QUERIES)),
    "docs.jsonl": "".join(f'{{"id": "{d}", "text": "light {d} lamp"}}\n' for d in "abcde"),
    "items.csv": "document,genre\n" + "".join(f"{d},{g}\n" for d, g in zip("abcde", "uvuvu", strict=True)),
    "judge.csv": "run,query,value\n" + "".join(f"{r},{q},0.{i}\n" for r in "xy" for i, q in enumerate(QUERIES)),
    "own.py": "from cranfield.measures import measure\n\n\n@measure('Own')\ndef own(run, qrels):\n    return 0.5\n",
    "new.json": '{"judgments": [{"query": "q0", "document": "d", "grade": 1}]}\n',
    "guide.txt": "0 Not\n1 Relevant: some\n",
    "stop.txt": "light\n",
    "collection.toml": 'qrels = "qrels.txt"\nqueries = "queries.csv"\ndocuments = "docs.jsonl"\n',
    "parts.txt": "a A\nb A\nc B\nd B\ne B\n",
    "two.csv": "run,query,RR,AP\n"
    + "".join(f"{r},{q},0.{i},0.{9 - i}\n" for r in "xyz" for i, q in enumerate(QUERIES)),
    "cranfield.toml": EXPERIMENT,
    "scores.toml": 'baseline = "x"\n[collections.c]\nqueries = "queries.csv"\n[scores]\njudge = "judge.csv"\n',
}
# Commands that together take every file that the commands can read; a new option must be added here.
SAMPLES = {
    "eval": [
        "collection.toml x.run y1.run -m 'RR Own' --measures-file own.py",
        "diversity.txt x.run -m DELTARB@5 --corpus docs.jsonl --queries-file queries.csv",
        "qrels.txt X=x.run Y=y1.run Y=y2.run -m RR",
    ],
    "compare": [
        "collection.toml x.run --baseline old.json -m RR",
        "--scores judge.csv --queries-file queries.csv",
        "diversity.txt x.run y1.run -m DELTARB@5 --corpus docs.jsonl --measures-file own.py",
    ],
    "run": ["cranfield.toml --allow-code", "scores.toml"],
    "history": ["cranfield.toml", "history.jsonl"],
    "queries": [
        "collection.toml x.run y1.run --measures-file own.py",
        "--scores judge.csv",
        "qrels.txt x.run y1.run --queries-file queries.csv --corpus docs.jsonl",
    ],
    "report": [
        "collection.toml x.run y1.run -m RR --texts docs.jsonl --measures-file own.py",
        "--scores judge.csv --queries-file queries.csv",
        "qrels.txt x.run y1.run -m RR --queries-file queries.csv --corpus docs.jsonl",
    ],
    "audit": [
        "collection.toml x.run y1.run -m RR --measures-file own.py",
        "qrels.txt x.run -m RR --queries-file queries.csv --corpus docs.jsonl",
    ],
    "judge": [
        "qrels.txt x.run y1.run --page page.html --texts docs.jsonl --queries-file queries.csv --guidelines guide.txt --strategy depth"
        " --measures-file own.py",
        "qrels.txt x.run --merge new.json -o merged.txt",
    ],
    "judges": ["qrels.txt predicted.txt x.run y1.run --measures-file own.py"],
    "sample": ["x.run y1.run --qrels qrels.txt"],
    "check": [
        "collection.toml x.run y1.run",
        "cranfield.toml",
        "qrels.txt x.run --corpus docs.jsonl --queries-file queries.csv",
    ],
    "depth-for": ["RBP --run x.run --qrels qrels.txt"],
    "corpus": [
        "docs.jsonl --qrels qrels.txt --run x.run --stop stop.txt -o corpus.parquet",
        "docs.jsonl --qrels collection.toml -o corpus.parquet",
    ],
    "explain": [
        "collection.toml x.run -m nDCG@10 --query q1 --measures-file own.py --page explained.html --texts docs.jsonl",
        "diversity.txt x.run --corpus docs.jsonl --query q1 --queries-file queries.csv",
    ],
    "exposure": ["x.run y1.run --items items.csv --by genre"],
    "convert": ["x.run converted.run --kind run"],
    "properties": ["--file own.py"],
    "study correlation": [
        "collection.toml x.run y1.run y2.run -m 'RR P@1' --measures-file own.py",
        "--scores two.csv",
        "diversity.txt x.run y1.run -m 'ERR_IA@5 DELTARB@5' --corpus docs.jsonl --also-collection other",
    ],
    "study power": [
        "collection.toml x.run y1.run --measures-file own.py -m RR --samples 9",
        "--scores two.csv --samples 9",
        "diversity.txt x.run y1.run -m 'ERR_IA@5 DELTARB@5' --corpus docs.jsonl --also-collection other --samples 9",
    ],
    "study reduction": [
        "collection.toml x.run y1.run -m RR --measures-file own.py --repeats 2 --samples 9",
        "diversity.txt x.run y1.run -m ERR_IA@5 --corpus docs.jsonl --also-collection other --repeats 2 --samples 9",
    ],
    "study reuse": [
        "diversity.txt x.run y1.run y2.run -m 'ERR_IA@5 DELTARB@5' --parts parts.txt --corpus docs.jsonl"
        " --measures-file own.py",
        "diversity.txt x.run y1.run -m ERR_IA@5 --pattern [ab] --also-collection other",
    ],
    "study sampling": [
        "diversity.txt x.run y1.run -m 'ERR_IA@5 DELTARB@5' --corpus docs.jsonl --measures-file own.py --repeats 2"
        " --also-collection other",
    ],
    "study stopping": ["collection.toml x.run y1.run -m RR --measures-file own.py --repeats 2"],
    "study ties": ["diversity.txt x.run y1.run -m 'ERR_IA@5 DELTARB@5' --corpus docs.jsonl --measures-file own.py"],
    "study truncation": [
        "collection.toml x.run y1.run --nil NIL --full-length 5 --measures-file own.py",
        "qrels.txt x.run y1.run --also-collection other --nil NIL --full-length 5",
    ],
    "study tie-cost": ["-m Own --measures-file own.py --queries 3 --repeats 1"],
    "study show": ["study.json"],
}
# These read no files of the user, or only write to new folders.
OTHERS = {"measures", "show", "cite", "conformance", "completion", "demo", "simulate", "trec_eval"}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files of all kinds, in which commands run."""
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "other" / "runs").mkdir(parents=True)
    for name, copy in {
        "diversity.txt": "qrels.diversity.txt",
        "docs.jsonl": "docs.jsonl",
        "x.run": "runs/x.run",
        "y1.run": "runs/y.run",
    }.items():
        (tmp_path / "other" / copy).write_text(FILES[name])
    monkeypatch.chdir(tmp_path)
    assert call("eval qrels.txt x.run -m RR --format json -o old.json").exit_code == 0
    study = "study stopping qrels.txt x.run -m RR --repeats 2"
    assert call(f"{study} --format json -o study.json").exit_code == 0
    first = EXPERIMENT.split("[design]")[0].replace('"old.json#x"', '"x"') + '[history]\nfile = "history.jsonl"\n'
    (tmp_path / "first.toml").write_text(first)
    assert call("run first.toml --allow-code").exit_code == 0
    return tmp_path


def call(words: str) -> Result:
    return CliRunner().invoke(main.cli, shlex.split(words), prog_name="cranfield")


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder and of the folders in it, by their paths in it."""
    found = (Path(home) / name for home, _, names in os.walk(folder) for name in names)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found if not path.is_symlink()}


_opened: list[str] | None = None


def _watch(event: str, about: tuple[Any, ...]) -> None:
    if (
        _opened is not None
        and event == "open"
        and isinstance(about[0], str)
        and not about[2] & (os.O_WRONLY | os.O_RDWR)
    ):
        _opened.append(about[0])


sys.addaudithook(_watch)


def inputs_of(words: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that a command reads, by its register, which has all that Python opened."""
    global _opened
    registers: list[Register] = []

    @contextmanager
    def kept() -> Iterator[Register]:
        with registering() as register:
            registers.append(register)
            yield register

    before = contents(folder)
    with monkeypatch.context() as patch:
        patch.setattr(main, "registering", kept)
        _opened = []
        result = call(words)
        opened, _opened = _opened, None
    assert result.exit_code == 0, result.output
    after = contents(folder)
    for name in after:
        if name not in before:
            (folder / name).unlink()
    changed = [name for name in before if after.get(name) != before[name]]
    assert changed in ([], ["history.jsonl"])
    registered = {os.path.relpath(os.path.realpath(name), folder) for one in registers for name in one.inputs}
    read = {os.path.relpath(os.path.realpath(name), folder) for name in opened}
    assert read & {*before} <= registered
    return sorted(registered & {*before})


def commands(group: click.Group = main.cli, before: str = "") -> dict[str, click.Command]:
    """All commands that can be called without Spark, those of groups with the name of the group."""
    found: dict[str, click.Command] = {}
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if not isinstance(command, click.Group):
            found[f"{before}{name}"] = command
        elif name != "spark":
            found |= commands(command, f"{name} ")
    return found


def is_input(param: click.Parameter) -> bool:
    return type(param.type) is click.Path and isinstance(param, click.Option) and not param.hidden


def test_samples_have_every_option_that_reads_a_file() -> None:
    for name, command in commands().items():
        if name in OTHERS:
            continue
        for param in command.params:
            if is_input(param):
                assert any(opt in line for opt in param.opts for line in SAMPLES[name]), (name, param.opts)


def linked(file: str) -> str:
    """The name of a symbolic link to a file."""
    return f"link.{file.replace('/', '.')}"


def outputs_of(name: str) -> list[str]:
    return [
        max(p.opts, key=len)
        for p in commands()[name].params
        if isinstance(p.type, OutputFile) and isinstance(p, click.Option)
    ]


@pytest.mark.parametrize("name", SAMPLES)
def test_no_output_replaces_an_input(name: str, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (world / "links").symlink_to(world)
    number = 0
    for sample in SAMPLES[name]:
        inputs = inputs_of(f"{name} {sample}", world, monkeypatch)
        assert inputs
        before = contents(world)
        spellings: list[Callable[[str], str]] = [
            lambda n: n,
            lambda n: str(world / n),
            lambda n: f"links/{n}",
            linked,
            lambda n: f"./../{world.name}/{n}",
        ]
        for file in inputs:
            (world / linked(file)).symlink_to(file)
        for option in [*outputs_of(name), *(["OUT"] if name == "convert" else [])]:
            words = shlex.split(sample)
            if option in ("--output", "--page") and any(given in words for given in ("-o", option)):
                at = words.index("-o" if "-o" in words else option)
                del words[at : at + 2]
            for file in inputs:
                number += 1
                spelled = spellings[number % len(spellings)](file)
                line = shlex.join([*name.split(), *words, option, spelled])
                if option == "OUT":
                    line = f"convert x.run {spelled} --kind run"
                if option == "--junit":
                    line += " --at-least RR=0" if name in ("eval", "compare") else ""
                result = call(line)
                assert result.exit_code not in (0, 3, 4), (line, result.output)
                assert isinstance(result.exception, SystemExit), (line, result.exception)
                assert {n: b for n, b in contents(world).items() if n in before} == before, line
        for file in inputs:
            (world / linked(file)).unlink()
    assert number or not outputs_of(name)


OUTPUTS = {"report.html", "scores.json", "comparison.json", "junit.xml", "history.jsonl"}


@pytest.mark.parametrize("output", sorted(OUTPUTS))
def test_no_output_of_an_experiment_replaces_an_input(
    output: str, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = inputs_of("run cranfield.toml --allow-code", world, monkeypatch)
    assert {"qrels.txt", "own.py", "old.json", "docs.jsonl", "queries.csv", "y2.run"} <= {*inputs}
    (world / "links").symlink_to(world)
    before = contents(world)
    for file in inputs:
        (world / f"link.{file}").symlink_to(file)
        for spelled in (file, f"./{file}", str(world / file), f"links/{file}", f"link.{file}"):
            if os.path.basename(spelled).endswith(output):
                continue
            (world / "cranfield.toml").write_text(
                EXPERIMENT.replace(f'file = "{output}"', f'file = "{spelled}"', 1).replace(
                    f'= "{output}"', f'= "{spelled}"', 1
                )
            )
            result = call("run cranfield.toml --allow-code")
            assert result.exit_code == 1, (spelled, result.output)
            assert isinstance(result.exception, SystemExit)
            (world / "cranfield.toml").write_text(EXPERIMENT)
            assert {n: b for n, b in contents(world).items() if n in before} == before, spelled


def test_figures_do_not_replace_inputs(world: Path) -> None:
    """A run whose file is where a figure would be."""
    for words in (
        "compare qrels.txt x.run y1.run -m RR",
        "queries qrels.txt x.run y1.run",
        "audit qrels.txt x.run -m RR",
        "judges qrels.txt predicted.txt x.run y1.run",
        "study stopping qrels.txt x.run -m RR --repeats 2",
    ):
        assert call(f"{words} --figures plots").exit_code == 0
        for figure in (world / "plots").iterdir():
            figure.unlink()
            figure.symlink_to(world / "x.run")
        result = call(f"{words} --figures plots")
        assert result.exit_code == 2
        assert "input of the command" in result.stderr
        assert (world / "x.run").read_text() == FILES["x.run"]
        for figure in (world / "plots").iterdir():
            figure.unlink()


@pytest.mark.parametrize("option", ["--output", "--summary"])
@pytest.mark.parametrize("spelled", ["history.jsonl", "./history.jsonl", "links/history.jsonl"])
def test_no_output_replaces_the_history_that_begins(option: str, spelled: str, world: Path) -> None:
    (world / "links").symlink_to(world)
    (world / "history.jsonl").unlink()
    result = call(f"run cranfield.toml --allow-code {option} {spelled}")
    assert result.exit_code == 2
    assert "two outputs cannot be one file" in result.stderr
    assert not (world / "history.jsonl").exists()
