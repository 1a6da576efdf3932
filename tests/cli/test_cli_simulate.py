"""``cranfield simulate``."""

from __future__ import annotations

import inspect
from pathlib import Path

import click
from cli_samples import Call

import cranfield as cf
from cranfield.cli.study import simulate

SMALL = ("--queries", 4, "--systems", 3, "--documents", 200, "--relevant", 6, "--depth", 20)


def test_a_collection_is_written_and_scored(call: Call, tmp_path: Path) -> None:
    lab = tmp_path / "lab"
    result = call("simulate", lab, *SMALL, "--ties", 0.5, "--seed", 3)
    assert result.exit_code == 0
    assert result.stdout == ""
    assert result.stderr.startswith(f"{lab}: 4 queries, 200 documents, 3 systems, ")
    made = cf.simulate(queries=4, systems=3, documents=200, relevant=6, depth=20, ties=0.5, seed=3)
    runs = [lab / "runs" / f"s{i}.run" for i in (1, 2, 3)]
    scored = call("eval", lab / "qrels.txt", *runs, "-m", "AP", "--format", "csv")
    means = cf.evaluate(made.judgments, made.runs, "AP")._means[:, 0].tolist()
    assert scored.exit_code == 0
    assert all(repr(mean) in scored.stdout for mean in means)


def test_a_folder_with_files_is_not_replaced(call: Call, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    result = call("simulate", tmp_path, *SMALL)
    assert result.exit_code == 1
    assert result.stderr == (
        f"error: {tmp_path}: the folder is not empty\n\nhint: choose another folder, or replace it with --force\n"
    )
    assert call("simulate", tmp_path, *SMALL, "--force").exit_code == 1
    assert call("simulate", tmp_path / "new", "--ties", "2").exit_code == 2
    assert call("simulate", tmp_path / "new", "--documents", "20").exit_code == 2
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_defaults_are_the_library_s() -> None:
    theirs = {name: p.default for name, p in inspect.signature(cf.simulate).parameters.items() if name != "progress"}
    ours = {p.name: p.default for p in simulate.params if isinstance(p, click.Option) and p.name != "force"}
    assert ours == theirs
