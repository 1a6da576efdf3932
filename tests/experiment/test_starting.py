"""`cranfield run --init` and `--schema`."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner
from experiment_samples import WHOLE, write_whole

import cranfield as cf
from cranfield.cli.main import cli
from cranfield.evaluation.collection import PARTS


def run(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli, [*words], catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


def test_the_first_experiment_of_the_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("demo", "--into", str(tmp_path / "home"))[0] == 0
    monkeypatch.chdir(tmp_path / "home")
    assert run("run", "--init")[0] == 0
    found = tomllib.loads(Path("cranfield.toml").read_text())
    assert set(found["runs"]) == {"bm25", "dense", "llm", "quiet"}
    assert found["collections"]["home"] == {"qrels": "qrels.txt", "queries": "queries.jsonl"}
    code, _, err = run("run", "--init")
    assert code == 2
    assert "exists" in err
    assert run("run")[0] == 0


def test_folders_are_collections_and_numbers_may_be_repeats(tmp_path: Path) -> None:
    path = write_whole(tmp_path)
    path.unlink()
    code, _, err = run("run", "--init", str(path))
    assert code == 0
    assert "2 collections and 6 runs; the baseline bm25 is a guess" in err
    text = path.read_text()
    found = tomllib.loads(text)
    assert set(found["collections"]) == {"old", "new"}
    assert found["collections"]["new"] == {"qrels": "new/qrels.txt.gz", "queries": "new/queries.csv"}
    names = ["bm25", "dense-1", "dense-2", "dense-3", "hybrid", "llm"]
    assert found["runs"] == {name: f"{{collection}}/{name}.run" for name in names}
    files = ", ".join(f'"{{collection}}/dense-{i}.run"' for i in (1, 2, 3))
    assert f"# dense = [{files}]  # instead, if these are repeats of a system" in text
    assert not cf.Experiment.read(path).run().scores.repeats
    proposed = text.replace("# dense =", "dense =").split("\n")
    path.write_text("\n".join(line for line in proposed if not line.startswith("dense-")))
    assert cf.Experiment.read(path).run().scores.repeats["dense"].shape[2] == 3


def lines(name: str, order: str, queries: int = 3) -> str:
    return "".join(f"q{i} Q0 {d} {r} {9 - r} {name}\n" for i in range(queries) for r, d in enumerate(order, 1))


def folder_of(tmp_path: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path / "cranfield.toml"


QRELS = "".join(f"q{i} 0 a 1\nq{i} 0 b 0\n" for i in range(3))
FOLDERS: dict[str, tuple[dict[str, str], list[str], str]] = {
    "other systems with numbers": (
        {f"{name}.run": lines(name, "abc") for name in ("dense-1", "dense-2", "dense-large", "srchvrs_ps_run1")},
        ["dense-1", "dense-2", "dense-large", "srchvrs_ps_run1"],
        "dense-1",
    ),
    "a baseline by its name": (
        {"a.run": lines("a", "ab"), "my-Baseline.run": lines("b", "ba")},
        ["a", "my-Baseline"],
        "my-Baseline",
    ),
    "runs as JSON": ({"a.json": '{"q0": {"a": 2, "b": 1}, "q1": ["b", "a"], "q2": {"b": 1}}'}, ["a"], "a"),
    "a run that is broken": ({"a.run": lines("a", "ab"), "b.run": lines("b", "ab") + "q0 Q0\n"}, ["a"], "a"),
    "a run of another collection": ({"a.run": lines("a", "ab"), "b.run": "x Q0 a 1 1 b\n"}, ["a"], "a"),
    "names with braces and brackets": (
        {"a{1}.run": lines("a", "ab"), "b[1].run": lines("b", "ab"), "c*.run": lines("c", "ab")},
        ["b[1]", "c*"],
        "b[1]",
    ),
    "names with quotes and spaces": ({'a "b" #c.run': lines("a", "ab")}, ['a "b" #c'], 'a "b" #c'),
    "other files": (
        {"a.run": lines("a", "ab"), "scores.json": '{"kind": "scores"}', "report.html": "<html>", "x.toml": "a = 1\n"},
        ["a"],
        "a",
    ),
    "one query": (
        {"qrels.txt": "q0 0 a 1\n", "a.run": lines("a", "ab", 1), "b.run": lines("b", "ba", 1)},
        [],
        "",
    ),
    "a table of queries that is broken": ({"a.run": lines("a", "ab"), "queries.csv": "nothing\n1\n"}, [], ""),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_what_is_written_runs(name: str, tmp_path: Path) -> None:
    files, runs, baseline = FOLDERS[name]
    path = folder_of(tmp_path, {"qrels.txt": QRELS, **files})
    code, _, err = run("run", "--init", str(path))
    if not runs:
        assert code == 1 and not path.exists()
        return
    assert code == 0, err
    found = tomllib.loads(path.read_text())
    assert list(found["runs"]) == runs
    assert found["baseline"] == baseline
    assert f"the baseline {baseline} is a guess" in err
    left = len(files) - len(runs) - (name == "other files") * 3
    assert err.count("note: left out: ") == max(left, 0)
    code, _, err = run("run", str(path))
    assert code == 0, err


@pytest.mark.skipif(sys.platform != "linux", reason="names that are not UTF-8")
def test_names_that_are_not_text(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"x\xff\x7f")
    path = folder_of(
        folder, {"qrels.txt": QRELS, "a.run": lines("a", "ab"), os.fsdecode(b"r\xff.run"): lines("r", "ab")}
    )
    result = CliRunner().invoke(cli, ["run", "--init", str(path)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "a name that cannot stand in an experiment" in result.stderr
    found = tomllib.loads(path.read_text())
    assert list(found["collections"]) == ["collection"]
    assert list(found["runs"]) == ["a"]
    assert CliRunner().invoke(cli, ["run", str(path)], catch_exceptions=False).exit_code == 0


def test_measures_fit_the_judgments(tmp_path: Path) -> None:
    diverse = "".join(f"q{i} {t} a 1\nq{i} {t} b {t - 1}\n" for i in range(3) for t in (1, 2))
    path = folder_of(tmp_path / "diverse", {"qrels.txt": diverse, "a.run": lines("a", "ab")})
    assert run("run", "--init", str(path))[0] == 0
    assert "alpha_nDCG@20" in tomllib.loads(path.read_text())["measures"]
    spans = "".join(f'{{"query": "q{i}", "document": "d", "quote": "lamp"}}\n' for i in range(3))
    chunks = json.dumps({f"q{i}": [{"document": "d", "start": 0, "end": 8}] for i in range(3)})
    files = {"spans.jsonl": spans, "docs.jsonl": '{"id": "d", "text": "the lamp"}\n', "a.json": chunks}
    path = folder_of(tmp_path / "spans", files)
    assert run("run", "--init", str(path))[0] == 0
    found = tomllib.loads(path.read_text())
    assert found["measures"][0] == "SpanR@10"
    assert found["collections"]["spans"] == {"spans": "spans.jsonl", "documents": "docs.jsonl"}
    assert run("run", str(path))[0] == 0


def test_a_run_that_a_collection_lacks(tmp_path: Path) -> None:
    files = {f"{c}/qrels.txt": QRELS for c in "xy"} | {"x/a.run": lines("a", "ab"), "x/b.run": lines("b", "ba")}
    path = folder_of(tmp_path, files | {"y/a.run": lines("a", "ba")})
    assert run("run", "--init", str(path))[0] == 0
    assert tomllib.loads(path.read_text())["policy"] == {"missing": "skip"}
    assert run("run", str(path))[0] == 0


def test_a_run_with_other_file_names_in_each_collection(tmp_path: Path) -> None:
    files = {f"{c}/qrels.txt": QRELS for c in "xy"} | {"x/a.run": lines("a", "ab"), "y/a.txt": lines("a", "ba")}
    path = folder_of(tmp_path, files)
    assert run("run", "--init", str(path))[0] == 0
    assert tomllib.loads(path.read_text())["runs"] == {"a": ["{collection}/a.run", "{collection}/a.txt"]}
    code, _, err = run("run", str(path))
    assert code == 0, err


def test_links_to_files_elsewhere(tmp_path: Path) -> None:
    folder_of(tmp_path, {"far/a.run": lines("a", "ab"), "far/b.run": lines("b", "ba"), "home/qrels.txt": QRELS})
    try:
        (tmp_path / "home/runs").symlink_to(tmp_path / "far")
    except OSError:
        pytest.skip("no links here")
    path = tmp_path / "home/cranfield.toml"
    assert run("run", "--init", str(path))[0] == 0
    assert tomllib.loads(path.read_text())["runs"]["a"] == (path.parent / "runs/a.run").as_posix()
    code, _, err = run("run", str(path))
    assert code == 0, err


def test_the_comments_are_right_when_they_are_uncommented(tmp_path: Path) -> None:
    path = write_whole(tmp_path)
    path.unlink()
    run("run", "--init", str(path))
    lines = path.read_text().split("\n")
    start = lines.index("# [design]")
    told = [
        line.removeprefix("# ") for line in lines[start:] if not line.startswith(("# [history", '# file = "history'))
    ]
    path.write_text("\n".join([*lines[:start], *told]))
    cf.Experiment.read(path)


def test_an_empty_folder(tmp_path: Path) -> None:
    code, _, err = run("run", "--init", str(tmp_path / "x.toml"))
    assert code == 1
    assert "no judgments" in err


def test_the_schema_accepts_the_whole_experiment_and_knows_all_keys() -> None:
    code, out, _ = run("run", "--schema")
    assert code == 0
    schema = json.loads(out)
    inside = schema["properties"]["collections"]["additionalProperties"]["properties"]
    assert set(inside) == set(PARTS) - {"name", "types", "strata", "inclusion", "method"}
    assert schema["properties"]["policy"]["properties"]["ties"]["enum"][0] == "trec"
    one, several = schema["properties"]["gates"]["additionalProperties"]["anyOf"]
    assert one["properties"]["not_worse_by"]["exclusiveMinimum"] == 0
    assert several["items"]["properties"] == one["properties"]
    described = {name: key["properties"] for name, key in schema["properties"].items() if "properties" in key}
    for section in (schema["properties"], inside, *described.values()):
        for name, key in section.items():
            assert key.get("description"), name
    assert described["policy"]["queries"]["description"] != inside["queries"]["description"]
    assert described["policy"]["queries"]["enum"] == ["judged", "both", "run"]
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(tomllib.loads(WHOLE), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"measure": ["AP"]}, schema)
