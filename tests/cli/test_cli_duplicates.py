"""``--duplicates``: every verb that reads runs can keep one of several rows of a document."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import cranfield as cf
from cranfield.cli.main import Verbs, cli
from cranfield.cli.study import Studies

# With the first rows, the relevant document a is second; with the best ones, it is first.
TWICE = "q1 Q0 a 1 1 t\nq1 Q0 x 2 2 t\nq1 Q0 a 3 3 t\nq2 Q0 a 1 1 t\n"
QRELS = "q1 0 a 1\nq1 0 x 0\nq2 0 a 1\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_text(QRELS)
    Path("predicted.toml").write_text("qrels = 'qrels.txt'\npredicted = 'qrels.txt'\n")
    Path("chunks.run").write_text(TWICE)
    Path("other.run").write_text(TWICE.replace(" t\n", " u\n"))
    Path("more/runs").mkdir(parents=True)
    Path("more/qrels.txt").write_text(QRELS)
    Path("more/runs/a.run").write_text(TWICE)
    Path("more/runs/b.run").write_text(TWICE)


def call(*args: str, code: int = 0) -> str:
    result = CliRunner().invoke(cli, args)
    assert result.exit_code == code, result.output
    return result.output


@pytest.mark.parametrize(("duplicates", "expected"), [("first", 0.75), ("best", 1.0)])
def test_one_row_is_kept(duplicates: str, expected: float) -> None:
    line = f"eval qrels.txt chunks.run -m RR --format json --quiet --duplicates {duplicates}"
    scores = json.loads(call(*line.split()))
    assert scores["runs"]["chunks"]["RR"]["mean"] == expected


def test_an_error_names_the_option() -> None:
    message = call("eval", "qrels.txt", "chunks.run", "-m", "RR", code=1)
    assert "chunks.run:3: document `a` appears twice for query `q1`, first in line 1" in message
    assert "--duplicates best" in message


@pytest.mark.parametrize(
    "line",
    [
        "compare qrels.txt chunks.run other.run -m RR",
        "queries qrels.txt chunks.run other.run -m RR",
        "audit qrels.txt chunks.run -m RR",
        "check qrels.txt chunks.run",
        "judge qrels.txt chunks.run other.run",
        "sample chunks.run",
        "depth-for RBP --run chunks.run",
        "convert chunks.run rows.csv --kind run",
        "study ties qrels.txt chunks.run other.run -m RR",
        "study power qrels.txt other.run chunks.run --also-collection more -m RR --samples 10",
        "judges qrels.txt qrels.txt chunks.run other.run -m RR",
        "judge qrels.txt chunks.run other.run --merge qrels.txt -o merged.txt",
        "check qrels.txt chunks.run --stats",
        "compare predicted.toml chunks.run other.run -m RR",
    ],
)
def test_every_verb(line: str) -> None:
    assert "appears twice" in CliRunner().invoke(cli, line.split()).output
    assert "appears twice" not in call(*line.split(), "--duplicates", "best")


def test_an_evaluation_has_the_argument_of_the_option() -> None:
    evaluator = cf.Evaluator("qrels.txt", "RR")
    assert evaluator.evaluation("chunks.run", duplicates="best").scores._means[0, 0] == 1.0
    with pytest.raises(cf.InputError, match="appears twice"):
        evaluator.evaluation("chunks.run")


def test_a_run_with_other_errors() -> None:
    Path("chunks.run").write_text(TWICE + "q2 Q0 b 2 high t\n")
    message = call("eval", "qrels.txt", "chunks.run", "-m", "RR", "--duplicates", "first", code=1)
    assert 'chunks.run:5: the score is not a number: "high"' in message


def test_every_command_with_runs_has_the_option() -> None:
    for group in (Verbs(), Studies()):
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            if name == "trec_eval":  # its options are those of trec_eval
                continue
            names = {param.name: param for param in command.params}
            reads_runs = any("RUN" in (param.metavar or "") for param in names.values()) or "run" in names
            assert not reads_runs or "duplicates" in names, name
