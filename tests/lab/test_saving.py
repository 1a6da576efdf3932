"""Results that were kept: read again as they were, and never taken for whole when they are not."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from study_samples import call

import cranfield as cf
from cranfield import example
from cranfield.lab.studies.properties import PropertiesResult

QRELS = example.path(example.QRELS)
RUNS = [example.path(name) for name in example.RUNS]
MADE: dict[str, Any] = {
    "correlation": lambda: cf.lab.correlation(QRELS, RUNS, ["AP", "P@5"]),
    "reduction": lambda: cf.lab.reduction(QRELS, RUNS, ["AP", "P@5"], rates=[50], repeats=2, samples=20),
    "power": lambda: cf.lab.power(QRELS, RUNS, ["AP", "P@5"], samples=20, trials=5),
    "ties": lambda: cf.lab.ties(QRELS, RUNS, ["AP", "P@5"], samples=5),
    "properties": lambda: cf.lab.properties(["AP", "bpref", "nDCG@10[condensed]"], documents=3, grades=[0, 2, 1]),
}


@pytest.mark.parametrize("study", MADE)
def test_shown_again_as_it_was(study: str, tmp_path: Path) -> None:
    MADE[study]().save(tmp_path / "kept.json")
    again = call("study", "show", tmp_path / "kept.json", "--format", "json")
    kept = json.loads((tmp_path / "kept.json").read_text())
    assert kept["provenance"].pop("time")
    assert again.stdout == json.dumps(kept, ensure_ascii=False) + "\n"
    for format in ("table", "markdown", "latex", "csv"):
        assert call("study", "show", tmp_path / "kept.json", "--format", format).exit_code == 0


def test_properties_are_what_they_were(tmp_path: Path) -> None:
    found = MADE["properties"]()
    found.save(tmp_path / "kept.json")
    again = PropertiesResult.load(tmp_path / "kept.json")
    assert again.to_dict() == found.to_dict()
    assert again.checked[1].verdicts["stable"] == found.checked[1].verdicts["stable"]
    assert (again.settings.documents, again.settings.grades) == (3, (0.0, 2.0, 1.0))


def places(found: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in a saved result; of long lists the first and the last part."""
    if here:
        yield here
    inside = found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
    for key, part in inside:
        if isinstance(found, dict) or key in (0, len(found) - 1):
            yield from places(part, (*here, key))


@pytest.mark.parametrize("study", MADE)
def test_changed_by_hand(study: str, tmp_path: Path) -> None:
    """Whatever is cut out or replaced: it is shown, or there is an error that names the file."""
    whole = MADE[study]().to_dict()
    path = tmp_path / "changed.json"
    chance = random.Random(5)
    every = [(place, new) for place in places(whole) for new in (None, "x", -1, [], {}, 10**30, "cut")]
    for place, new in chance.sample(every, 60):
        changed = copy.deepcopy(whole)
        part = changed
        for key in place[:-1]:
            part = part[key]
        if new == "cut":
            del part[place[-1]]
        else:
            part[place[-1]] = new
        path.write_text(json.dumps(changed))
        result = call("study", "show", path)
        assert result.exit_code in (0, 1), (place, new)
        assert result.exit_code == 0 or "changed.json: " in result.stderr, (place, new)
        assert "nan" not in result.stdout, (place, new)


def test_another_study(tmp_path: Path) -> None:
    MADE["correlation"]().save(tmp_path / "kept.json")
    with pytest.raises(cf.InputError, match="another study: `correlation`"):
        PropertiesResult.load(tmp_path / "kept.json")


@pytest.mark.parametrize("study", ["correlation", "reduction", "power"])
def test_measures_that_read(study: str) -> None:
    """Every study of orders takes a corpus."""
    few = {
        "reduction": ("--rates", "50", "--repeats", "1", "--samples", "20"),
        "power": ("--samples", "20", "--trials", "2"),
    }
    args = (QRELS, *RUNS, "-m", "AP ABSRB(whole=True)@5", *few.get(study, ()))
    assert "needs a corpus, because it uses document text" in call("study", study, *args).stderr
    result = call("study", study, *args, "--corpus", example.path("documents.jsonl"), "--format", "json")
    assert result.exit_code == 0 and "ABSRB" in result.stdout
