"""`cranfield check FILE.toml`: all errors of an experiment and of everything that it reads, at once."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner
from experiment_samples import write_whole

from cranfield.cli.main import cli


def check(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli, ["check", *words], catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


def test_a_right_experiment(tmp_path: Path) -> None:
    code, out, err = check(str(write_whole(tmp_path)))
    assert code == 0, out
    assert "21 files: 0 errors" in err
    assert not (tmp_path / "report.html").exists()


def test_all_errors_at_once(tmp_path: Path) -> None:
    path = write_whole(tmp_path)
    path.write_text(path.read_text().replace("alpha = 0.1", "alhpa = 0.1").replace('by = ["type"', 'by = ["kind"'))
    run, judge = tmp_path / "old/hybrid.run", tmp_path / "judge/new.csv"
    run.write_text(run.read_text().replace(" 1 0.", " 1 x0.", 1))
    judge.write_text(judge.read_text().replace(",0.", ",much", 1))
    (tmp_path / "new/queries.csv").write_text("text,type\nx,y\n")
    code, out, err = check(str(path))
    assert code == 1
    assert "cranfield.toml:32: unknown key `alhpa`" in out
    assert "old/hybrid.run:" in out
    assert "judge/new.csv:2: " in out
    assert "new/queries.csv" in out
    assert "4 errors" in err


def test_what_is_read_besides_judgments_and_runs(tmp_path: Path) -> None:
    """A saved baseline, the history, texts of documents, intents and costs."""
    path = write_whole(tmp_path)
    text = path.read_text().replace('baseline = "bm25"', 'baseline = "saved.json#x"')
    text = text.replace('title = "Two', 'texts = ["texts.jsonl"]\ntitle = "Two')
    text = text.replace('queries = "new/', 'intents = "intents.txt"\ncosts = "costs.txt"\nqueries = "new/')
    path.write_text(text)
    for name in ("saved.json", "history.jsonl", "texts.jsonl", "intents.txt", "costs.txt"):
        (tmp_path / name).write_text("what is this\n")
    code, out, _ = check(str(path))
    assert code == 1
    for name in ("saved.json", "history.jsonl:1", "texts.jsonl", "intents.txt:1", "costs.txt:1"):
        assert f"{tmp_path}/{name}: " in out, out
    assert (tmp_path / "history.jsonl").read_text() == "what is this\n"


def test_an_attribute_that_no_query_has(tmp_path: Path) -> None:
    path = write_whole(tmp_path)
    path.write_text(path.read_text().replace('by = ["type"', 'by = ["kind"'))
    code, out, _ = check(str(path))
    assert code == 1
    assert "cranfield.toml:27: no query has the attribute `kind`" in out


def test_no_runs(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("1 0 a 1\n")
    code, _, err = check(str(tmp_path / "qrels.txt"))
    assert code == 2
    assert "RUN" in err
