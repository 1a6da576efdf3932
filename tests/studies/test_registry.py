"""Every folder of `cranfield.studies` is a complete study: experiment, tables, command, docs page."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from study_samples import call

import cranfield as cf
from cranfield import example
from cranfield.errors import InputError
from cranfield.studies.power import Power, power
from cranfield.studies.reduction import Reduction, reduction
from cranfield.studies.registry import Study, study_names
from cranfield.studies.saving import VERSION, StudyResult

ROOT = Path(__file__).parents[2]
QRELS = example.path("qrels.txt")
RUNS = [example.path(name) for name in example.RUNS]


@pytest.mark.parametrize("name", study_names())
def test_a_study_is_complete(name: str) -> None:
    study = Study(name)
    assert study.experiment.__doc__ and study.experiment.__name__ == name
    assert issubclass(study.result_class, StudyResult) and name == study.result_class.STUDY
    assert study.command.short_help and study.command.help
    assert study.has_figures == (name != "properties")


@pytest.mark.parametrize("name", study_names())
def test_a_study_has_a_command_a_page_and_tests(name: str) -> None:
    assert call("study", name, "--help").exit_code == 0
    assert f"cranfield study {name}" in (page := (ROOT / "docs/studies" / f"{name}.md").read_text()) or (
        f"cranfield {name}" in page
    )
    assert list((ROOT / "tests/studies" / name).glob("test_*.py"))


def test_help_lists_every_study() -> None:
    listed = re.findall(r"^  ([\w-]+) ", call("study", "--help").stdout.partition("Commands:")[2], re.MULTILINE)
    assert listed == [*study_names(), "table1", "tie-cost", "show"]


def test_unknown_study() -> None:
    with pytest.raises(cf.CranfieldError, match="unknown study `dowsing`"):
        Study("dowsing")


def test_a_study_without_figures() -> None:
    with pytest.raises(cf.CranfieldError, match="the study `properties` has no figures"):
        Study("properties").save_figures(cf.properties("P", documents=2), "figures")


def test_experiments_load_neither_reports_nor_the_command_line() -> None:
    modules = ", ".join(f"cranfield.studies.{name}.experiment" for name in study_names())
    code = (
        f"import sys, {modules}; print([m for m in sys.modules if m.startswith(('cranfield.report', 'cranfield.cli'))])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def as_version_1(result: StudyResult) -> dict[str, Any]:
    """A result as earlier versions saved it."""
    data = result.to_dict()
    del data["version"]
    data["settings"]["b"] = data["settings"].pop("samples")
    return data


def test_files_of_version_1_load(tmp_path: Path) -> None:
    file = tmp_path / "study.json"
    tested = power(QRELS, RUNS, ["AP"], test="randomised-tukey", samples=20, trials=2)
    old = as_version_1(tested)
    old["settings"]["test"] = "tukey"
    old["measures"]["AP"]["topics_needed"] = old["measures"]["AP"].pop("queries_needed")
    file.write_text(json.dumps(old))
    assert Power.load(file).to_dict() == tested.to_dict()
    reduced = reduction(QRELS, RUNS, ["AP"], rates=[50], repeats=1, samples=20)
    file.write_text(json.dumps(as_version_1(reduced)))
    assert Reduction.load(file).to_dict() == reduced.to_dict()


def test_files_of_a_later_version(tmp_path: Path) -> None:
    file = tmp_path / "study.json"
    file.write_text(json.dumps({"study": "power", "version": VERSION + 1}))
    with pytest.raises(InputError, match=f"version {VERSION + 1} of the file format"):
        Power.load(file)
