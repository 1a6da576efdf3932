"""Every run file is opened once, whatever is asked of it."""

from __future__ import annotations

import gzip
import os
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

import cranfield as cf
from cranfield import example
from cranfield.cli.main import cli

RUNS = [str(example.path(name)) for name in ("bm25.run", "dense.run", "llm.run")]
QRELS = str(example.path("qrels.txt"))
TEXTS = str(example.path("documents.jsonl"))
PREDICTED = "predicted.txt"


@pytest.fixture(autouse=True)
def _predicted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Judgments by a judge that is sometimes too strict."""
    monkeypatch.chdir(tmp_path)
    lines = [line.split() for line in Path(QRELS).read_text().splitlines()]
    judged = [f"{q} 0 {d} {max(int(grade) - i % 3, 0)}\n" for i, (q, _, d, grade) in enumerate(lines)]
    Path(PREDICTED).write_text("".join(judged))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each file was opened, by its name."""
    count: Counter[str] = Counter()
    plain_open, plain_path_open = os.open, Path.open

    def counted(path: object, *rest: object, **more: object) -> int:
        count[Path(os.fsdecode(path)).name] += 1  # type: ignore[arg-type]
        return plain_open(path, *rest, **more)  # type: ignore[arg-type]

    def counted_path(self: Path, *rest: object, **more: object) -> object:
        count[self.name] += 1
        return plain_path_open(self, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", counted)
    monkeypatch.setattr(Path, "open", counted_path)
    return count


@pytest.mark.parametrize(
    "command",
    [
        ["eval", "-m", "AP AP[ties=trec9] nDCG@10[ties=rank]"],
        ["compare", "-m", "AP nDCG@10", "--samples", "100"],
        ["audit", "-m", "AP nDCG@10 P@5[ties=trec9]"],
        ["audit", "-m", "DELTARB(whole=True)@5 AP", "--corpus", TEXTS],
        ["queries", "-m", "AP"],
        ["report", "-m", "AP nDCG@10", "--samples", "100", "-o", "report.html"],
        ["eval", "-m", "AP", "--predicted", PREDICTED],
        ["compare", "-m", "AP nDCG@10[ties=trec9]", "--samples", "100", "--predicted", PREDICTED],
        ["audit", "-m", "AP", "--predicted", PREDICTED],
        [
            "report",
            "-m",
            "AP",
            "--samples",
            "100",
            "--predicted",
            PREDICTED,
            "--baseline",
            "dense",
            "-o",
            "report.html",
        ],
    ],
    ids=lambda command: " ".join([*command[:3], *(word for word in command if word == "--predicted")]),
)
def test_commands(command: list[str], opened: Counter[str]) -> None:
    if command[0] == "report":
        pytest.importorskip("vl_convert")
    result = CliRunner().invoke(cli, [command[0], QRELS, *RUNS, *command[1:]])
    assert result.exit_code == 0, result.output
    assert {Path(run).name: opened[Path(run).name] for run in RUNS} == {Path(run).name: 1 for run in RUNS}


def test_two_rankings_of_a_query(opened: Counter[str]) -> None:
    result = CliRunner().invoke(cli, ["queries", QRELS, *RUNS[:2], "--query", "q2"])
    assert result.exit_code == 0, result.output
    assert [opened[Path(run).name] for run in RUNS[:2]] == [1, 1]


@pytest.mark.parametrize("study", ["correlation", "reduction", "truncation"])
def test_studies(study: str, opened: Counter[str]) -> None:
    how = {"rates": [50], "repeats": 1, "samples": 9} if study == "reduction" else {}
    getattr(cf.lab, study)(QRELS, RUNS, ["AP", "nDCG@10"], **how)
    assert [opened[Path(run).name] for run in RUNS] == [1, 1, 1]


def test_an_evaluation_is_asked_for_everything(opened: Counter[str]) -> None:
    evaluation = cf.Evaluator(QRELS, ["AP", "RR"]).evaluation(RUNS, page=5)
    cf.compare(evaluation, samples=100)
    evaluation.scores_of(["IPrec@0.1", "nDCG@5"])
    evaluation.first_pages(5)
    assert [opened[Path(run).name] for run in RUNS] == [1, 1, 1]


@pytest.mark.parametrize("kind", ["text", "gzip", "table", "repeats"])
def test_predictions_of_any_file_are_from_one_reading(kind: str, opened: Counter[str], tmp_path: Path) -> None:
    """Human and predicted judgments score the same rankings, from a file that is opened once."""
    runs: list[Path] = []
    for run in map(Path, RUNS):
        runs.append(
            tmp_path / (f"{run.name}.gz" if kind == "gzip" else f"{run.stem}.csv" if kind == "table" else run.name)
        )
        text = run.read_text()
        if kind == "table":
            lines = [",".join(row[i] for i in (0, 2, 4)) for row in map(str.split, text.splitlines())]
            text = "\n".join(["query,document,score", *lines, ""])
        runs[-1].write_bytes(gzip.compress(text.encode()) if kind == "gzip" else text.encode())
    opened.clear()
    given = {"one": runs[0], "many": cf.Repeats(runs[1:])} if kind == "repeats" else dict(zip("abc", runs, strict=True))
    collection = cf.Collection(QRELS, predicted=PREDICTED)
    evaluation = cf.Evaluator(collection, ["AP", "nDCG@10[ties=trec9]"]).evaluation(given, page=5)  # type: ignore[arg-type]
    compared = cf.compare(evaluation, samples=100)
    assert [opened[run.name] for run in runs] == [1, 1, 1]
    assert compared.predicted and evaluation.scores.predicted
    # As if every file were read for each kind of judgments.
    for judgments, scores in ((QRELS, evaluation.scores), (PREDICTED, evaluation.scores.predictions.scores)):  # type: ignore[union-attr]
        alone = cf.evaluate(judgments, given, ["AP", "nDCG@10[ties=trec9]"])  # type: ignore[arg-type]
        assert scores.values.tobytes() == alone.values.tobytes() and scores.queries == alone.queries
