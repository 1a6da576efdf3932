"""Values of every measure, view and tie rule, through every door, and outputs of every verb are those committed.

A change that is meant is written with ``make fingerprint``; its difference shows what changed.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import answers
import doors
import outputs_of_verbs
import pytest
import table_of_values as values

from cranfield.measures import CATALOGUE

STORED_OUTPUTS = json.loads(outputs_of_verbs.OUTPUTS.read_text(encoding="utf-8"))

rounds_alike = pytest.mark.skipif(
    not values.same_arithmetic(),
    reason="functions such as log2 round otherwise on this machine than in the fingerprint",
)

NARROWER = values.without_widest_instructions()


@pytest.mark.skipif(
    not NARROWER, reason="the other tests compare the arithmetic of this machine, or it has no AVX-512 to leave out"
)
@pytest.mark.parametrize("part", ["spark"] if os.environ.get("CRANFIELD_TEST_SPARK") else ["doors", "not doors"])
def test_without_the_widest_instructions(part: str) -> None:
    """A process that leaves out AVX-512 has the arithmetic of the fingerprint."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", __file__, "-k", part]
    child = subprocess.run(command, env=NARROWER, capture_output=True, text=True)
    assert child.returncode == 0, child.stdout


def test_every_measure_of_the_catalogue_is_in_the_table() -> None:
    names = {name for title, part in values.stored().items() for name in part}
    missing = [
        s
        for s in doors.symbols()
        if CATALOGUE[s].gains != "attribute"  # the small collection has no attributes
        and not any(name == s or name.startswith((f"{s}@", f"{s}(", f"{s}[")) for name in names)
    ]
    assert not missing
    assert set(values.stored()) == set(values.EVERY)


@rounds_alike
@pytest.mark.parametrize("title", values.EVERY)
def test_values_are_those_of_the_table(title: str) -> None:
    assert list(values.lines(*values.EVERY[title])) == values.stored_lines(title)


@rounds_alike
def test_plain_values_are_the_same_numbers() -> None:
    assert values.plain_values().splitlines() == values.PLAIN_VALUES.read_text(encoding="utf-8").splitlines()


@rounds_alike
@pytest.mark.parametrize("door", [door for door in doors.DOORS if door != "file"])
def test_doors_have_the_values_of_files(door: str) -> None:
    """Where a door refuses a measure, or differs from files, is committed; everything else is equal to the last bit."""
    if door == "spark" and not os.environ.get("CRANFIELD_TEST_SPARK"):
        pytest.skip("Spark is left to `make test-spark`")
    if door in ("tensor_flat", "embeddings_torch"):
        pytest.importorskip("torch")
    stored = [line for line in values.OF_DOORS.read_text(encoding="utf-8").splitlines() if line.startswith(f"{door} ")]
    assert values.of_door(door) == stored


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("example")
    outputs_of_verbs.prepare(folder)
    return folder


def test_every_verb_is_stored() -> None:
    assert list(STORED_OUTPUTS) == outputs_of_verbs.every()


@rounds_alike
@pytest.mark.parametrize("words", outputs_of_verbs.every())
def test_outputs_of_verbs(words: str, example: Path) -> None:
    found: dict[str, Any] = json.loads(json.dumps(outputs_of_verbs.output(words, example)))
    assert found == STORED_OUTPUTS[words]


STORED_ANSWERS = json.loads(answers.ANSWERS.read_text(encoding="utf-8"))


def split(cells: Mapping[str, str]) -> tuple[dict[str, str], set[str]]:
    """The doors that refuse a concept with their reasons, and the digests of the other doors."""
    reasons = {door: cell for door, cell in cells.items() if re.fullmatch(r"refuses: \S.*", cell)}
    return reasons, {cell for door, cell in cells.items() if door not in reasons}


@pytest.mark.parametrize("concept", answers.CONCEPTS)
def test_every_door_has_the_same_answer(concept: str) -> None:
    """Where a door has none, it gives a reason."""
    cells = STORED_ANSWERS[concept]
    assert list(cells) == list(answers.DOORS)
    reasons, digests = split(cells)
    assert len(digests) == 1 and re.fullmatch("[0-9a-f]{10}", digests.pop())
    assert answers.REFERENCE not in reasons and len(cells) - len(reasons) >= 6


@pytest.mark.parametrize("concept", answers.CONCEPTS)
def test_answers_through_every_door(concept: str) -> None:
    """All doors agree to the last bit on every machine; where functions round as in the fingerprint, with it, too."""
    pytest.importorskip("vl_convert", reason="the report needs an extra")
    found = {door: answers.cell(answers.CONCEPTS[concept], door) for door in answers.DOORS}
    reasons, digests = split(found)
    assert reasons == split(STORED_ANSWERS[concept])[0]
    assert len(digests) == 1
    if values.same_arithmetic():
        assert found == STORED_ANSWERS[concept]
