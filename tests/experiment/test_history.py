"""The history of an experiment: whole lines, changes that are significant, and figures."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

import cranfield as cf
from cranfield.cli.main import cli
from cranfield.experiment import history
from cranfield.experiment.history import History
from cranfield.report.pages import write

FILE = """\
measures = ["RR", "P@1"]
[collections.c]
qrels = "qrels.txt"
[runs]
x = "x.run"
[history]
file = "history.jsonl"
"""


def write_run(folder: Path, firsts: int) -> None:
    """A run in which the relevant document is first for this many of ten queries, and third for the others."""
    lines = [f"q{q} Q0 {d} 1 {-r} x\n" for q in range(10) for r, d in enumerate("abc" if q < firsts else "bca")]
    (folder / "x.run").write_text("".join(lines))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "qrels.txt").write_text("".join(f"q{q} 0 a 1\n" for q in range(10)))
    (tmp_path / "cranfield.toml").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*words: str) -> str:
    result = CliRunner().invoke(cli, [*words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_changes_over_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for day, firsts in enumerate((2, 3, 9)):
        write_run(folder, firsts)
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(86400 * day))
        call("run")
    found = History.read("history.jsonl")
    assert [found.mean(e, "P@1", "x") for e in range(3)] == [0.2, 0.3, 0.9]
    assert found.change(0, "P@1", "x") is None
    changes = [found.change(e, "P@1", "x") for e in (1, 2)]
    assert [change.significant for change in changes if change] == [False, True]
    scores = cf.read_scores(
        {
            "new": {"m": {str(q): float(q < 9) for q in range(10)}},
            "old": {"m": {str(q): float(q < 3) for q in range(10)}},
        }
    )
    assert cf.compare(scores, test="t")["m"].pairs[0].significant
    out = call("history")
    assert "1970-01-03" in out
    assert "+0.6000 *" in out
    assert "+0.1000" in out
    found_again = json.loads(call("history", "--format", "json"))["entries"][2]["runs"]["x"]["P@1"]
    assert found_again["significant"] is True
    assert found_again["since_significant"] is True


def entries(rows: Sequence[Any], **about: Any) -> History:
    """The history of one run, from the values of its queries at each time."""
    lines = []
    for e, row in enumerate(rows):
        scores = cf.read_scores({"x": {"m": {f"q{i}": value for i, value in enumerate(row)}}})
        lines.append(history.entry(scores, **about) | {"commit": f"c{e}", "provenance": {"time": f"{e:03}"}})
    return History(tuple(lines))


def test_a_slow_drift_is_found_against_the_reference() -> None:
    """No step is significant, and the way from the first entry is."""
    rng = np.random.default_rng(0)
    base = rng.random(50)
    found = entries([base + 0.05 * rng.normal(0, 1, 50) - 0.004 * e for e in range(20)])
    changes = [found.change(e, "m", "x") for e in range(1, 20)]
    assert not any(change.significant for change in changes[1:] if change)
    last = changes[-1]
    assert last is not None
    assert (last.reference, last.since_significant) == (0, True)
    assert last.since == pytest.approx(found.mean(19, "m", "x") - found.mean(0, "m", "x"))
    assert "* since c0" in "".join(write(found.pages(), {}))


def test_a_trend_is_that_of_queries() -> None:
    """The slope of each query by least squares, and a t-test of them; only the last entry has it."""
    rng = np.random.default_rng(8)
    rows = rng.random(30) + rng.normal(-0.003, 0.08, (12, 30)).cumsum(axis=0)
    found = entries(rows)
    slopes = np.polyfit(np.arange(12), rows, 1)[0]
    series = history._Series(found, "m", "x")
    slope, p = series._trend(0)
    assert slope == pytest.approx(slopes.mean())
    assert p == pytest.approx(stats.ttest_1samp(slopes, 0).pvalue)
    changes = [found.change(e, "m", "x") for e in range(1, 12)]
    assert [change is None or change.trend is None for change in changes] == [*[True] * 10, False]
    assert history._Series(entries(rows[:4]), "m", "x")._trend(0) == (None, None)


def test_a_drift_with_noise_at_every_entry_is_found_by_its_trend() -> None:
    rng = np.random.default_rng(4)
    found = entries(rng.normal(0.5, 0.1, (40, 30)) - 0.001 * np.arange(40)[:, None])
    marked = [e for e in range(1, 40) if (change := found.change(e, "m", "x")) and change.marked]
    last = found.change(39, "m", "x")
    assert last is not None
    assert (marked, last.since_significant, last.trend_significant) == ([39], False, True)
    assert " * an entry since c0" in "".join(write(found.pages(), {}))


def test_the_trend_of_repeats_has_their_error() -> None:
    """Seeds that move every entry: queries alone would take the difference of two seeds for a trend."""
    rng = np.random.default_rng(3)
    base, seeds = rng.random(40), rng.normal(0, 0.05, (6, 1, 3))
    rows = (base[:, None] + seeds + rng.normal(0, 0.001, (6, 40, 3))).tolist()
    of_means = history._Series(entries(np.mean(rows, axis=2)), "m", "x")._trend(0)
    slope, p = history._Series(entries(rows), "m", "x")._trend(0)
    assert slope == pytest.approx(of_means[0])
    assert p is not None
    assert of_means[1] is not None
    assert of_means[1] < 0.001 < 0.1 < p
    other = history._Series(entries([*rows[:5], [row[:2] for row in rows[5]]]), "m", "x")
    assert other._trend(0) == (None, None)


def test_after_a_significant_gain_the_reference_is_the_better_entry() -> None:
    rng = np.random.default_rng(0)
    base = rng.random(50)
    rows = [base + 0.02 * rng.normal(0, 1, 50) + (0.2 if e >= 3 else 0) - 0.004 * max(e - 3, 0) for e in range(20)]
    found = entries(rows)
    references = [change.reference for e in range(1, 20) if (change := found.change(e, "m", "x"))]
    assert references == [0, 0, 0, *[3] * 16]
    last = found.change(19, "m", "x")
    assert last is not None
    assert last.since < 0
    assert last.since_significant


def test_entries_of_the_same_values_are_one() -> None:
    """Fifty commits that change nothing do not hide the one that does."""
    worse = [0.5 - 0.01 * (i % 3) for i in range(30)]
    few, many = entries([[0.5] * 30, worse]), entries([*[[0.5] * 30] * 50, worse])
    change = many.change(50, "m", "x")
    assert change is not None
    assert change.marked
    assert few.change(1, "m", "x") == change._replace(reference=0)
    assert many.change(30, "m", "x") == (0.0, False, 0, 0.0, False, None, None)


def test_many_commits_without_effect_have_few_marks() -> None:
    rng = np.random.default_rng(1)
    marked = 0
    for _ in range(60):
        found = entries(rng.normal(0.5, 0.1, (25, 30)))
        marked += any(change.marked for e in range(1, 25) if (change := found.change(e, "m", "x")))
    assert marked <= 8


def test_repeats_are_kept() -> None:
    """The same system with other seeds, which move the mean more than queries do."""
    rng = np.random.default_rng(2)
    base = rng.random(40)
    rows = [(base[:, None] + rng.normal(0, 0.05, 3) + rng.normal(0, 0.005, (40, 3))).tolist() for _ in range(6)]
    found = entries(rows)
    kept = found.entries[0]["runs"]["x"]["m"]["values"]["q0"]
    assert kept == rows[0][0]
    assert not any(change.marked for e in range(1, 6) if (change := found.change(e, "m", "x")))


def test_other_judgments_are_not_compared(folder: Path) -> None:
    write_run(folder, 2)
    call("run")
    (folder / "qrels.txt").write_text("".join(f"q{q} 0 c 1\n" for q in range(10)))
    call("run")
    change = History.read("history.jsonl").change(1, "RR", "x")
    assert change is not None
    assert change.significant is None


def test_two_branches_are_merged_by_concatenation(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(folder, 2)
    for day in (2, 1, 3):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(86400 * day))
        call("run")
    lines = (folder / "history.jsonl").read_text().splitlines()
    (folder / "history.jsonl").write_text("\n".join([*lines, lines[0]]))  # twice, and no end of the last line
    times = [one["provenance"]["time"][:10] for one in History.read("history.jsonl").entries]
    assert times == ["1970-01-02", "1970-01-03", "1970-01-04"]
    call("run")
    assert len(History.read("history.jsonl").entries) == 3
    (folder / "history.jsonl").write_text(f"<<<<<<< ours\n{lines[0]}\n=======\n{lines[1]}\n>>>>>>> theirs\n[]\n")
    with pytest.raises(cf.InputError, match="merge conflict") as error:
        History.read("history.jsonl")
    assert error.value.total == 4


def _append(path: str, number: int) -> None:
    history.append(path, {"number": number, "text": "x" * 200_000})


def test_twenty_processes_at_once(tmp_path: Path) -> None:
    path = str(tmp_path / "history.jsonl")
    start = multiprocessing.get_context("fork")
    processes = [start.Process(target=_append, args=(path, number)) for number in range(20)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    found = [json.loads(line) for line in Path(path).read_text().splitlines()]
    assert sorted(one["number"] for one in found) == list(range(20))
    assert {len(one["text"]) for one in found} == {200_000}


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "history.jsonl"
    history.append(str(path), {"a": 1})
    before, write = path.read_bytes(), history.os.write
    monkeypatch.setattr(history.os, "write", lambda descriptor, data: write(descriptor, data[:3]))
    with pytest.raises(OSError, match=r"[Nn]o space"):
        history.append(str(path), {"a": 2})
    assert path.read_bytes() == before


def git(folder: Path, *words: str) -> str:
    about = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    return subprocess.run(
        ["git", *about, *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def test_the_commit(folder: Path) -> None:
    assert history.commit_of(folder) is None
    git(folder, "init", "-q")
    assert history.commit_of(folder) is None
    git(folder, "commit", "--allow-empty", "-qm", "x")
    commit = git(folder, "rev-parse", "HEAD")
    (folder / "deep").mkdir()
    assert history.commit_of(folder) == history.commit_of(folder / "deep") == commit
    write_run(folder, 2)
    call("run")
    assert History.read("history.jsonl").entries[0]["commit"] == commit


def test_the_commit_of_packed_refs_other_trees_and_no_branch(folder: Path) -> None:
    git(folder, "init", "-q")
    git(folder, "commit", "--allow-empty", "-qm", "x")
    git(folder, "tag", "-am", "x", "v1")
    commit = git(folder, "rev-parse", "HEAD")
    git(folder, "worktree", "add", "-q", "-b", "other", "tree")
    git(folder, "pack-refs", "--all")
    assert history.commit_of(folder) == history.commit_of(folder / "tree") == commit
    git(folder / "tree", "commit", "--allow-empty", "-qm", "y")
    assert history.commit_of(folder / "tree") == git(folder / "tree", "rev-parse", "HEAD") != commit
    git(folder, "checkout", "-q", "--detach")
    assert history.commit_of(folder) == commit


@pytest.mark.parametrize(
    "words",
    [
        ["core.fsmonitor", "touch RAN; false"],
        ["core.hooksPath", "hooks"],
        ["core.pager", "touch RAN"],
        ["filter.x.clean", "touch RAN"],
        ["diff.external", "touch RAN"],
        ["alias.status", "!touch RAN"],
        ["alias.rev-parse", "!touch RAN"],
        ["core.sshCommand", "touch RAN"],
    ],
)
def test_nothing_of_a_checkout_runs(words: list[str], folder: Path) -> None:
    git(folder, "init", "-q")
    git(folder, "commit", "--allow-empty", "-qm", "x")
    (folder / ".gitattributes").write_text("* filter=x diff=x\n")
    hooks = folder / "hooks"
    hooks.mkdir()
    for hook in ("post-index-change", "fsmonitor-watchman", "post-checkout", "reference-transaction"):
        (hooks / hook).write_text("#!/bin/sh\ntouch RAN\n")
        (hooks / hook).chmod(0o755)
    git(folder, "config", *words)
    write_run(folder, 2)
    call("run")
    assert not list(folder.rglob("RAN"))


@pytest.mark.parametrize("name", ["HEAD", "refs/heads/main", "packed-refs", "commondir"])
@pytest.mark.parametrize("kind", ["pipe", "folder", "bytes", "loop", "outside", "large"])
def test_a_checkout_that_is_damaged(name: str, kind: str, folder: Path) -> None:
    file = folder / ".git" / name
    file.parent.mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    file.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    elif kind == "loop":
        file.symlink_to(file.name)
    else:
        content = {"bytes": bytes(range(256)), "outside": b"ref: refs/../../../etc/passwd\n", "large": b"a" * (1 << 23)}
        file.write_bytes(content[kind])
    assert history.commit_of(folder) is None


def test_figures(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    for firsts in (2, 9):
        write_run(folder, firsts)
        call("run")
    call("history", "--figures", "figures")
    assert len(list((folder / "figures").glob("history-*"))) == 6


def test_an_experiment_without_history(folder: Path) -> None:
    (folder / "cranfield.toml").write_text(FILE.split("[history]")[0])
    write_run(folder, 2)
    result = CliRunner().invoke(cli, ["history"])
    assert result.exit_code == 2
    assert "keeps no history" in result.stderr


def test_the_report_has_the_same_chart_and_the_digests(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of the entry that is appended by the same run; no folder of this machine is in the file."""
    pytest.importorskip("vl_convert")
    (folder / "cranfield.toml").write_text(FILE + "[report]\nfile = 'report.html'\n")
    for day, firsts in enumerate((2, 9)):
        write_run(folder, firsts)
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(86400 * day))
        call("run", str(folder / "cranfield.toml"))
    page = Path("report.html").read_text()
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    history = History.read("history.jsonl")
    assert data["history"] == json.loads(json.dumps(history.chart()))
    assert data["history"]["times"] == ["1970-01-01", "1970-01-02"]
    shown = [one for one in data["history"]["means"] if one["measure"] == "P@1"]
    means = [(one["at"], one["mean"], one.get("significant")) for one in shown]
    assert means == [(0, 0.2, None), (1, 0.9, True)]
    assert data["date"] == "1970-01-02"
    found, expected = data["provenance"], history.entries[1]["provenance"]
    assert found["experiment"] == "cranfield.toml"
    assert found["policy"] == expected["policy"]
    assert [one["digest"] for one in found["inputs"]] == [one["digest"] for one in expected["inputs"]]
    assert [one["name"] for one in found["inputs"]] == ["qrels.txt", "x.run"]
    assert str(folder) not in page


def test_a_damaged_history_stops_the_report(folder: Path) -> None:
    pytest.importorskip("vl_convert")
    (folder / "cranfield.toml").write_text(FILE + "[report]\nfile = 'report.html'\n")
    write_run(folder, 2)
    (folder / "history.jsonl").write_text("{}\n")
    with pytest.raises(cf.InputError, match=r"history.jsonl:1: not an entry"):
        cf.Experiment.read(folder / "cranfield.toml").run()
    assert not (folder / "report.html").exists()
    assert (folder / "history.jsonl").read_text() == "{}\n"


def test_another_policy_is_not_comparable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for day, policy in enumerate(("", "[policy]\nqueries = 'both'\n", "[policy]\nqueries = 'both'\nseed = 2\n")):
        write_run(folder, 2 + 3 * day)
        (folder / "cranfield.toml").write_text(FILE + policy)
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(86400 * day))
        call("run")
    found = History.read("history.jsonl")
    changes = [found.change(e, "P@1", "x") for e in (1, 2)]
    assert [change.significant for change in changes if change] == [None, False]


@pytest.mark.parametrize("number", [None, float("nan"), float("inf"), -1e308])
def test_a_number_that_json_does_not_have(number: float | None, folder: Path) -> None:
    """Null is an undefined mean; NaN and infinity are written by other programs."""
    for firsts in (2, 9):
        write_run(folder, firsts)
        call("run")
    first, last = Path("history.jsonl").read_text().splitlines()
    data = json.loads(first)
    data["runs"]["x"]["P@1"] |= {"mean": number, "values": None}
    data["provenance"]["experiment"] = number if number is None or not math.isfinite(number) else "x"
    Path("history.jsonl").write_text(f"{json.dumps(data)}\n{last}\n")
    result = CliRunner().invoke(cli, ["history", "--format", "json"])
    if number is None:
        entries = json.loads(result.stdout)["entries"]
        assert entries[1]["runs"]["x"]["P@1"]["change"] is None
    else:
        assert result.exit_code == 1
        assert "history.jsonl:1: not an entry" in result.stderr
