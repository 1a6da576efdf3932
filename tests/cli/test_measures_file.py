"""``--measures-file``: measures of the user's own in a Python file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import cranfield as cf
from cranfield.cli.main import Verbs, cli
from cranfield.cli.study import Studies

MINE = '''import cranfield as cf
from cranfield.measures.catalogue import Rank, measure


@cf.measure("Second")
def second(grades, *, level: float = 1):
    """Whether the second document is relevant."""
    return len(grades) > 1 and grades[1] >= level


@measure("Kernel", cite="", formula="")
def kernel(b, *, k: Rank = 3):
    """A measure of a batch."""
    return (b.gain * (b.start < k)).sum(axis=1)
'''
FILES = {
    "qrels.txt": "q1 0 d1 1\nq1 0 d2 2\nq2 0 d2 1\nq3 0 d1 1\n",
    "a.run": "q1 Q0 d1 1 2 a\nq1 Q0 d2 2 1 a\nq2 Q0 d1 1 2 a\nq3 Q0 d1 1 1 a\n",
    "b.run": "q1 Q0 d2 1 2 b\nq2 Q0 d2 1 2 b\nq3 Q0 d3 1 1 b\n",
    "mine.py": MINE,
}


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words))


def test_eval() -> None:
    result = call("eval", "qrels.txt", "a.run", "-m", "Second Second(level=3) Kernel AP", "--measures-file", "mine.py",
                  "--format", "json")  # fmt: skip
    scores = json.loads(result.stdout)["runs"]["a"]
    assert scores["Second"]["queries"] == {"q1": 1.0, "q2": 0.0, "q3": 0.0}
    assert scores["Second(level=3)"]["mean"] == 0
    assert scores["Kernel"]["mean"] == 1
    assert "Second" not in cf.measures.CATALOGUE
    assert "Kernel" not in cf.measures.CATALOGUE


def test_order_of_options_does_not_matter() -> None:
    result = call("eval", "--measures-file", "mine.py", "qrels.txt", "a.run", "-m", "Second")
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "qrels.txt", "a.run", "b.run", "-m"),
        ("audit", "qrels.txt", "a.run", "-m"),
        ("queries", "qrels.txt", "a.run", "b.run", "-m"),
        ("show",),
        ("properties", "--documents", "3"),
        ("study", "power", "qrels.txt", "a.run", "b.run", "--samples", "99", "-m"),
    ],
)
def test_other_commands(words: tuple[str, ...]) -> None:
    result = call(*words, "Second", "--measures-file", "mine.py")
    assert result.exit_code == 0, result.stderr
    assert "Second" in result.stdout


def test_commands_of_a_report_name_the_file() -> None:
    result = call("report", "qrels.txt", "a.run", "b.run", "-m", "Second", "-o", "r.html", "--measures-file", "mine.py")
    assert result.exit_code == 0, result.stderr
    assert "--measures-file mine.py" in Path("r.html").read_text()


def test_every_command_with_measures_has_it() -> None:
    for group in (Verbs, Studies):
        for name in group.NAMES:
            command = group(name).get_command(None, name)  # type: ignore[arg-type]
            options = {option for param in command.params for option in param.opts}  # type: ignore[union-attr]
            # Names and options of trec_eval are its own; conformance has cases of the catalogue only.
            if "--measure" in options and name not in ("trec_eval", "conformance"):
                assert "--measures-file" in options, name


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x = 1\n", "defines no measure"),
        ("import cranfield as cf\n\ncf.measure('AP')(len)\n", "own.py:3: AP is already a measure of the catalogue"),
        ("a = 1\nb = = 2\n", "own.py:2: SyntaxError"),
        ("import nothing_of_this_name\n", "own.py:1: ModuleNotFoundError"),
        ("raise SystemExit\n", "own.py:1: SystemExit"),
    ],
)
def test_faulty_files(content: str, message: str) -> None:
    Path("own.py").write_text(content)
    result = call("eval", "qrels.txt", "a.run", "-m", "Second", "--measures-file", "own.py")
    assert result.exit_code == 1
    assert message in result.stderr


def test_unknown_measure_of_a_file() -> None:
    result = call("eval", "qrels.txt", "a.run", "-m", "Secnd", "--measures-file", "mine.py")
    assert result.exit_code != 0
    assert "did you mean `Second`?" in result.stderr


@pytest.mark.parametrize("verb", ["eval", "compare", "audit", "queries", "report", "show", "properties"])
def test_help_says_that_code_is_run(verb: str) -> None:
    page = CliRunner().invoke(cli, [verb, "--help-all"]).output
    page = page if "--measures-file" in page else CliRunner().invoke(cli, [verb, "--help"]).output
    about = " ".join(page.partition("--measures-file")[2].partition("\n  -")[0].split())
    assert "code is run" in about
