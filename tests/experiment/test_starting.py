"""`cranfield run --init` and `--schema`."""

from __future__ import annotations

import json
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


def test_folders_are_collections_and_numbers_are_repeats(tmp_path: Path) -> None:
    path = write_whole(tmp_path)
    path.unlink()
    assert run("run", "--init", str(path))[0] == 0
    found = tomllib.loads(path.read_text())
    assert set(found["collections"]) == {"old", "new"}
    assert found["collections"]["new"] == {"qrels": "new/qrels.txt.gz", "queries": "new/queries.csv"}
    assert found["runs"] == {
        "bm25": "{collection}/bm25.run",
        "dense": "{collection}/dense-*.run",
        "hybrid": "{collection}/hybrid.run",
        "llm": "{collection}/llm.run",
    }
    assert cf.Experiment.read(path).run().scores.repeats["dense"].shape[2] == 3


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
