"""Every module of `cranfield.lab.studies` is a complete study: experiment, tables, command, docs page."""

from __future__ import annotations

import json
import re
from inspect import signature
from pathlib import Path
from typing import Any, get_type_hints

import click
import pytest
from study_samples import call

import cranfield as cf
from cranfield import example
from cranfield.analysis.query_values import reproduction
from cranfield.analysis.significance import ComparisonSettings
from cranfield.cli.study import study_command
from cranfield.errors import InputError, UsageError
from cranfield.lab.studies import study_names
from cranfield.lab.studies.power import PowerResult
from cranfield.lab.study import StudyResult, function_of, result_class, study_class
from cranfield.settings import Option, Scalar, check, declared
from cranfield.statistics.resampling import discriminate, draw_queries, randomised_tukey, sign_patterns
from cranfield.statistics.sample_size import swap_rates

ROOT = Path(__file__).parents[2]
QRELS = example.path("qrels.txt")
RUNS = [example.path(name) for name in example.RUNS]


@pytest.mark.parametrize("name", study_names())
def test_a_study_is_complete(name: str) -> None:
    study = study_class(name)
    assert study.__doc__ and study.name() == name
    assert issubclass(result_class(name), StudyResult) and result_class(name).__name__ == f"{study.__name__}Result"


@pytest.mark.parametrize("name", study_names())
def test_a_study_has_a_command_a_page_and_tests(name: str) -> None:
    command = (name,) if name == "properties" else ("study", name)
    assert call(*command, "--help").exit_code == 0
    assert f"cranfield study {name}" in (page := (ROOT / "docs/studies" / f"{name}.md").read_text()) or (
        f"cranfield {name}" in page
    )
    assert (ROOT / "tests/lab/studies" / f"test_{name}.py").exists()


def test_help_lists_every_study() -> None:
    listed = re.findall(r"^  ([\w-]+) ", call("study", "--help").stdout.partition("Commands:")[2], re.MULTILINE)
    assert listed == [*(name for name in study_names() if name != "properties"), "tie-cost", "show"]


@pytest.mark.parametrize("name", study_names())
def test_help_of_the_function_has_every_parameter_and_the_result(name: str) -> None:
    function = function_of(name)
    _, parameters, rest = re.split(r"Parameters\n-+\n|\n\nReturns\n-+\n", function.__doc__ or "")
    assert re.findall(r"^(\w+)\n    \S", parameters, re.MULTILINE) == list(signature(function).parameters)
    assert rest.startswith(result_class(name).__name__)


def test_unknown_study() -> None:
    with pytest.raises(cf.CranfieldError, match="unknown study `dowsing`"):
        study_class("dowsing")


def test_a_study_without_figures() -> None:
    with pytest.raises(cf.CranfieldError, match="the study `properties` has no figures"):
        cf.lab.properties("P", documents=2).save_figures("figures")


@pytest.mark.parametrize("name", study_names())
def test_a_study_is_a_function_of_the_package_whatever_was_imported_before(name: str) -> None:
    assert getattr(cf.lab, name) is function_of(name) is getattr(cf.lab, name)
    assert name in dir(cf.lab)


@pytest.mark.parametrize("name", [name for name in study_names() if name != "properties"])
def test_every_described_setting_is_an_option_and_every_option_has_a_description(name: str) -> None:
    hints = get_type_hints(function_of(name), include_extras=True)
    metadata = {setting: getattr(hint, "__metadata__", ()) for setting, hint in hints.items()}
    described = {setting: said for setting, said in metadata.items() if any(isinstance(text, str) for text in said)}
    params = {param.name: param for param in study_command(name).params}
    for setting, said in described.items():
        param, names = params[setting], [one.names for one in said if isinstance(one, Option) and one.names]
        assert isinstance(param, click.Option) and param.help
        assert all(text in param.help for text in said if isinstance(text, str))
        assert setting == "measures" or param.opts == (names or [f"--{setting.replace('_', '-')}"])
    assert all(param.help for param in params.values() if isinstance(param, click.Option))


def test_options_that_were_left_out_are_the_defaults_of_the_experiment() -> None:
    direct = cf.lab.power(QRELS, RUNS, ["AP"], samples=20)
    called = call("study", "power", QRELS, *RUNS, "-m", "AP", "--samples", "20", "--format", "json")
    assert json.loads(called.stdout) == direct.to_dict()


def test_help_of_studies_is_grouped_and_without_ranges() -> None:
    shown = call("study", "power", "--help").stdout
    assert "Significance:" in shown and "Output:" in shown and "x>=" not in shown
    assert "  cranfield study power qrels.txt *.run --test randomised-tukey --samples 10000\n" in shown


def test_files_of_a_later_version(tmp_path: Path) -> None:
    file = tmp_path / "study.json"
    file.write_text(json.dumps({"kind": "study", "study": "power", "version": StudyResult._VERSION + 1}))
    with pytest.raises(InputError, match=f"version {StudyResult._VERSION + 1} of the file format"):
        PowerResult.load(file)


DRAWS = {"samples", "resamples", "repeats", "trials"}
DRAWING: list[Any] = [
    *map(study_class, study_names()),
    *(ComparisonSettings, reproduction, draw_queries, sign_patterns, discriminate, randomised_tukey, swap_rates),
]


@pytest.mark.parametrize("source", DRAWING, ids=lambda source: source.__name__)
def test_no_number_of_draws_is_without_a_limit(source: Any) -> None:
    for name, field in declared(source).items():
        if name in DRAWS and isinstance(field.type, Scalar):  # ComparisonSettings.repeats is a choice
            with pytest.raises(UsageError, match=f"{name} must be a whole number from [12] to 10,000,000"):
                check(field.type, name, 10**12)
