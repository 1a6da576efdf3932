"""One study on several collections: what each of them gives alone, and the mean."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from study_samples import call

import cranfield as cf
from cranfield.errors import UsageError
from cranfield.lab.simulation import save
from cranfield.lab.studies import study_names
from cranfield.lab.study import (
    CollectionFiles,
    SeveralCollections,
    StudyResult,
    check_alike,
    mean_of,
    result_class,
    run_on_collections,
)
from cranfield.statistics.sample_size import queries_needed

FEW = {
    "reuse": ("-m", "ERR_IA@5 DELTARB@5"),
    "sampling": ("-m", "ERR_IA@5 DELTARB@5", "--rates", "10,100", "--repeats", 2),
    "correlation": ("-m", "ERR_IA@5 alpha_nDCG@5 DELTARB@5"),
    "power": ("-m", "ERR_IA@5 alpha_nDCG@5 DELTARB@5", "--samples", 50, "--trials", 5),
    "reduction": ("-m", "ERR_IA@5 alpha_nDCG@5", "--rates", "50,10", "--repeats", 2, "--samples", 20),
    "truncation": ("-m", "RR AP bpref", "--full-length", 20),
}


@pytest.fixture(scope="module")
def years(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("years")
    for seed in (1, 2):
        save(
            cf.simulate(queries=5, systems=4, documents=300, relevant=8, words=100, depth=20, seed=seed),
            folder / f"year{seed}",
        )
    return [folder / "year1", folder / "year2"]


def arguments(study: str, year: Path) -> tuple[object, ...]:
    documents = () if study == "truncation" else ("--corpus", year / "docs.jsonl")
    return year / "qrels.diversity.txt", *sorted((year / "runs").iterdir()), *documents


@pytest.mark.parametrize("study", FEW)
def test_each_collection_as_alone_and_their_mean(study: str, years: list[Path], tmp_path: Path) -> None:
    alone = [
        json.loads(call("study", study, *arguments(study, year), *FEW[study], "--format", "json").stdout)
        for year in years
    ]
    args = (*arguments(study, years[0]), "--also-collection", years[1], *FEW[study])
    both = call("study", study, *args, "--format", "json", "-o", tmp_path / "study.json")
    assert both.exit_code == 0
    assert json.loads((tmp_path / "study.json").read_text())["by_collection"] == dict(
        zip(("year1", "year2"), alone, strict=True)
    )
    table = call("study", study, *args)
    shown = call("study", "show", tmp_path / "study.json", "--figures", tmp_path / "figures")
    assert shown.stdout == table.stdout and "nan" not in table.stdout
    assert "year2: " in table.stdout and "ean over 2 collections" in " ".join(table.stdout.split())
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"year1", "year2"}


def test_studies_of_several_collections_are_those_with_tables_of_a_mean() -> None:
    assert {name for name in study_names() if result_class(name).takes_several()} == set(FEW)


@pytest.mark.parametrize("study", [name for name in study_names() if name not in (*FEW, "properties")])
def test_other_studies_say_that_they_take_one_collection(study: str, years: list[Path]) -> None:
    runs = sorted((years[0] / "runs").iterdir())
    result = call("study", study, years[0] / "qrels.txt", *runs, "--also-collection", years[1])
    assert result.exit_code == 2
    assert "hint: --also-collection is an option of `cranfield study" in result.stderr
    with pytest.raises(UsageError, match=f"the study `{study}` takes one collection"):
        cf.lab.run_on_collections(study, years)
    assert "--also-collection" not in call("study", study, "--help-all").stdout


@pytest.mark.parametrize("study", FEW)
def test_help_shows_the_option(study: str) -> None:
    assert "--also-collection DIR" in call("study", study, "--help-all").stdout


def both_years(study: str, years: list[Path]) -> tuple[list[dict[str, Any]], list[dict[str, list[str]]]]:
    """The complete results of both years, and the tables of their mean: cells by the first name of the row."""
    args = (*arguments(study, years[0]), "--also-collection", years[1], *FEW[study], "--digits", 12)
    alone = json.loads(call("study", study, *args, "--format", "json").stdout)["by_collection"]
    text = call("study", study, *args, "--format", "csv").stdout
    pages = [page.splitlines() for page in text.split("\n\n") if "ean over 2 collections" in page.splitlines()[0]]
    return list(alone.values()), [{row[0]: row[1:] for row in csv.reader(lines[1:])} for lines in pages]


def test_mean_of_correlation(years: list[Path]) -> None:
    alone, (table,) = both_years("correlation", years)
    x, y = (data["matrix"][data["measures"].index("ERR_IA@5")][data["measures"].index("DELTARB@5")] for data in alone)
    assert float(table["ERR_IA@5"][2]) == pytest.approx((x + y) / 2)


def by_measure(parts: list[dict[str, Any]], measure: str) -> dict[str, Any]:
    return next(part for part in parts if part["measure"] == measure)


def test_mean_of_power(years: list[Path]) -> None:
    alone, (power, swaps, queries) = both_years("power", years)
    means = {}
    for measure, (share, required, _) in [(name, cells) for name, cells in power.items() if name != "measure"]:
        x, y = (by_measure(data["sensitivities"], measure) | by_measure(data["summaries"], measure) for data in alone)
        means[measure] = (x["power"] + y["power"]) / 2
        assert share == f"{means[measure]:.1%}"
        assert float(required) == pytest.approx((x["difference_required"] + y["difference_required"]) / 2, rel=0.06)
        swapped = [sum(data["swaps"]["swapped"][-1]) / sum(data["swaps"]["compared"][-1]) for data in (x, y)]
        assert swaps[measure][0] == f"{np.mean(swapped):.1%}"
        variance = (x["variance"] + y["variance"]) / 2
        assert float(queries[measure][0]) == pytest.approx(variance**0.5)
        needed = [queries_needed(variance, difference) for difference in (0.02, 0.05, 0.1, 0.2)]
        assert queries[measure][1:] == [f"{number:,}" for number in needed]
    assert list(means.values()) == sorted(means.values(), reverse=True)


@pytest.mark.parametrize(("place", "quantity"), [(0, "mean"), (1, "agreement"), (2, "power")])
def test_mean_of_reduction(place: int, quantity: str, years: list[Path]) -> None:
    alone, pages = both_years("reduction", years)
    assert len(pages) == 3
    x, y = (np.array(data[quantity][data["measures"].index("ERR_IA@5")], float) for data in alone)
    full, *others = pages[place]["ERR_IA@5"]
    kept, deviations = others[::2], others[1::2]
    assert [float(value) for value in (full, *kept)] == pytest.approx(((x + y) / 2).mean(axis=1))
    assert [float(text.removeprefix("±")) for text in deviations] == pytest.approx(
        ((x + y) / 2)[1:].std(axis=1, ddof=1)
    )
    judged = [np.array(data["judged"]) for data in alone]
    assert pages[place]["measure"][0] == f"100% {(judged[0] + judged[1])[0].mean():.0f}"


def test_mean_of_truncation(years: list[Path]) -> None:
    alone, (table,) = both_years("truncation", years)
    assert list(table) == ["plain", "RR", "AP"]  # bpref has no terminal form
    for measure in ("RR", "AP"):
        x, y = (data["agreements"][data["measures"].index(measure)] for data in alone)
        assert [float(text) for text in table[measure][1:3]] == pytest.approx(
            [(x["tau_b"] + y["tau_b"]) / 2, (x["tau_a"] + y["tau_a"]) / 2]
        )
        assert table[measure][3:] == [str(x[n] + y[n]) for n in ("discordant", "tied_plain", "tied_terminal")] + ["12"]


@pytest.mark.parametrize("study", FEW)
@pytest.mark.parametrize("format", ["markdown", "latex"])
def test_documents_have_each_collection_and_the_mean(study: str, format: str, years: list[Path]) -> None:
    args = (*arguments(study, years[0]), "--also-collection", years[1], *FEW[study], "--format", format)
    shown = call("study", study, *args).stdout
    assert "year1: " in shown and "year2: " in shown and "ean over 2 collections" in shown


SMALL: dict[str, dict[str, Any]] = {
    "correlation": {"measures": ["AP", "RR"]},
    "power": {"measures": ["AP", "RR"], "samples": 20, "trials": 2},
    "reduction": {"measures": ["AP"], "queries": [3], "repeats": 2, "samples": 20},
    "truncation": {"measures": ["AP"]},
}


@pytest.mark.parametrize("study", SMALL)
def test_from_python_saved_and_loaded(study: str, years: list[Path], tmp_path: Path) -> None:
    found = run_on_collections(study, years, **SMALL[study])
    assert isinstance(found, SeveralCollections) and list(found.by_collection) == ["year1", "year2"]
    alone: StudyResult = getattr(cf.lab, study)(
        str(years[1] / "qrels.diversity.txt"), sorted((years[1] / "runs").iterdir()), **SMALL[study]
    )
    alone = alone._with_provenance(found.by_collection["year2"].provenance)  # the folder also has documents
    assert found.by_collection["year2"].to_dict() == alone.to_dict()
    found.save(tmp_path / "study.json")
    loaded = cf.load(tmp_path / "study.json")
    assert loaded.write("table") == found.write("table")
    assert "ean over 2 collections" in " ".join(loaded.write("table").split())


def test_from_python_one_collection_only(years: list[Path]) -> None:
    with pytest.raises(cf.CranfieldError, match="the study `stopping` takes one collection"):
        run_on_collections("stopping", years)


def test_reduction_to_fewer_of_different_numbers_of_queries(years: list[Path], tmp_path: Path) -> None:
    save(cf.simulate(queries=7, systems=4, documents=300, relevant=8, words=100, depth=20, seed=3), tmp_path / "year3")
    found = run_on_collections("reduction", [years[0], tmp_path / "year3"], **SMALL["reduction"])
    heads = [page.sheet.columns[0].split()[0] for page in found.pages()]
    assert heads == ["5"] * 3 + ["7"] * 3 + ["all"] * 3


def test_values_that_are_undefined_in_one_collection() -> None:
    assert mean_of([np.array([1.0, np.nan]), np.array([0.0, 0.5])]).tolist() == [0.5, 0.5]


def test_folders_without_judgments_or_runs(years: list[Path], tmp_path: Path) -> None:
    with pytest.raises(cf.CranfieldError, match="there is no such folder"):
        CollectionFiles.of(tmp_path / "nothing")
    with pytest.raises(cf.CranfieldError, match="no judgments"):
        CollectionFiles.of(tmp_path)
    (tmp_path / "qrels.txt.gz").write_bytes((years[0] / "qrels.txt").read_bytes())
    with pytest.raises(cf.CranfieldError, match="no runs"):
        CollectionFiles.of(tmp_path)
    assert CollectionFiles.of(years[0]).qrels.endswith("qrels.diversity.txt")
    assert CollectionFiles.of(years[0], "qrels.txt").qrels.endswith("qrels.txt")


def test_collections_with_other_parts_have_no_mean() -> None:
    results = [SimpleNamespace(collections=("A", "B")), SimpleNamespace(collections=("even", "odd"))]
    with pytest.raises(cf.CranfieldError, match="the results differ in their collections, so that they have no mean"):
        check_alike(results, "collections")
