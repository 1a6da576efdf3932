"""The worked cases for other programs, and the check of a program against them."""

from __future__ import annotations

import gzip
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

import golden_cases
from cranfield import conformance
from cranfield.errors import CranfieldError, UsageError
from cranfield.measures import CATALOGUE
from waiting import until

# A program that knows reciprocal rank alone, written without this package.
PROGRAM = """
import json, sys
for case in map(json.loads, sys.stdin):
    assert not {"expected", "source", "tolerance"} & case.keys()
    if case["measure"] == "RR":
        ranking = sorted(case["run"], key=lambda d: (case["run"][d], d), reverse=True)
        ranks = [r for r, d in enumerate(ranking, 1) if case["qrels"].get(d, 0) > 0]
        print(json.dumps({"id": case["id"], "value": VALUE}))
    else:
        print(json.dumps({"id": case["id"], "skip": True}))
"""


def case(id: str, grade: int, expected: float | None) -> dict[str, Any]:
    """Two documents; the second is relevant if the grade says so."""
    worked = {"id": id, "name": "RR", "run": {"a": 2.0, "b": 1.0}, "qrels": {"a": 0, "b": grade}}
    return conformance._published({**worked, "expected": expected, "tol": 1e-9, "source": "by hand"})


CASES = [case("half", 1, 0.5), case("none", 0, None)]


def program(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "program.py"
    path.write_text(text)
    return [sys.executable, str(path)]


def test_the_file_fits_its_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(conformance.SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    found = json.loads(json.dumps(conformance.document(), allow_nan=False))
    jsonschema.Draft202012Validator(schema).validate(found)
    assert schema["properties"]["version"]["const"] == conformance.VERSION


def test_every_case_is_published_once_with_its_source() -> None:
    published = conformance.cases()
    assert [case["id"] for case in published] == [case["id"] for case in golden_cases.CASES]
    assert len({case["id"] for case in published}) == len(published)
    assert all(case["source"].strip() for case in published)


def test_a_case_has_what_a_program_needs_without_parsing_names() -> None:
    found = next(case for case in conformance.cases() if "[ties=expected]" in case["measure"] and case["cutoff"])
    assert found["views"] == {"ties": "expected"}
    assert found["measure"].startswith(found["symbol"])
    assert f"@{found['cutoff']}" in found["measure"]


def test_the_package_ships_the_cases_of_the_tests() -> None:
    """After a change of a case: ``python tests/golden``."""
    families = json.loads(gzip.decompress(golden_cases.packed()))
    assert json.loads(gzip.decompress(conformance.CASES.read_bytes())) == families
    for family, cases in families.items():
        assert {CATALOGUE[golden_cases.symbol(case)].family for case in cases} == {family}


def test_a_name_of_another_tool_is_said_once() -> None:
    for symbol, entry in conformance.document()["measures"].items():
        assert len(set(entry["names_elsewhere"])) == len(entry["names_elsewhere"]), symbol


def test_cases_of_some_measures() -> None:
    assert {case["symbol"] for case in conformance.cases(["RBP", "AP"])} == {"RBP", "AP"}
    assert {case["measure"] for case in conformance.cases(["nDCG@3"])} == {"nDCG@3"}
    with pytest.raises(UsageError, match="no case of nDCG@77"):
        conformance.cases(["nDCG@77"])


def test_a_right_program_has_no_difference(tmp_path: Path) -> None:
    right = PROGRAM.replace("VALUE", "1 / ranks[0] if ranks else None")
    found = conformance.check(program(tmp_path, right), [*CASES, *conformance.cases(["P"])])
    assert found.answers == {"half": 0.5, "none": None}
    assert found.differences == []


@pytest.mark.parametrize(
    ("value", "different"),
    [
        ("1 / ranks[0] if ranks else 0", [("none", 0.0)]),
        ("1 / ranks[0] if ranks else float('nan')", []),
        ("0.5 + 1e-12 if ranks else None", []),
        ("0.5 + 1e-6 if ranks else None", [("half", 0.500001)]),
        ("None", [("half", None)]),
    ],
)
def test_differences_are_those_beyond_the_tolerance(tmp_path: Path, value: str, different: list[Any]) -> None:
    found = conformance.check(program(tmp_path, PROGRAM.replace("VALUE", value)), CASES)
    assert [(one.case["id"], one.value) for one in found.differences] == different
    assert [one["id"] for one in found.to_dict()["differences"]] == [id for id, _ in different]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("print('hello')", "line 1 of the output of .*: expected an id and a value, found `hello`"),
        ('print(\'{"id": "half", "value": true}\')', "line 1 of .*: expected an id and a value"),
        ("print('{\"id\": \"half\", \"value\": ' + '9' * 400 + '}')", "line 1 of .*: expected an id and a value"),
        ("print('[' * 100000)", "line 1 of .*: expected an id and a value"),
        ('print(\'{"id": "x", "value": 1}\')', "line 1 of .*: there is no case `x`"),
        ('print(\'{"id": [], "value": 1}\')', "line 1 of .*: there is no case"),
        ('print(\'{"id": "half", "value": 1}\\n\' * 2)', "line 2 of .*: a second answer to `half`"),
        ("import sys; sys.exit('out of \\x1b[1m luck')", "failed with exit code 1: `out of [^\x1b]*luck`"),
        ("pass", "answered none of 2 cases"),
        ("import sys; sys.stdout.buffer.write(b'\\xff')", "is not UTF-8"),
        ("while True: print('y')", "line 1 of .*: expected an id and a value, found `y"),
        ("while True: print('y', end='')", "line 1 of .*: expected an id and a value, found `yyy"),
        ("import sys; sys.stdin.close(); sys.exit(3)", "failed with exit code 3"),
    ],
)
def test_what_is_wrong_with_a_program_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CranfieldError, match=message):
        conformance.check(program(tmp_path, text), CASES)


HANGS = "import threading; threading.Event().wait()"


def writers(pipe: int) -> bool:
    """Whether a process has the other end of this empty pipe."""
    try:
        return os.read(pipe, 1) != b""
    except BlockingIOError:
        return True


@pytest.mark.skipif(not hasattr(os, "setsid"), reason="there are no sessions here")
def test_the_time_holds_for_children_that_cannot_be_stopped(tmp_path: Path) -> None:
    """The child of another session keeps the output open until this test ends it."""
    text = f"""
import pathlib, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "{HANGS}"], start_new_session=True)
pathlib.Path({str(tmp_path / "child")!r}).write_text(str(child.pid))
"""
    with pytest.raises(CranfieldError, match=r"did not end within 1 second$"):
        conformance.check(program(tmp_path, text), CASES, seconds=1)
    if (tmp_path / "child").exists():  # on a busy machine it was perhaps not begun
        os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_what_a_program_leaves_behind_is_stopped_with_it(tmp_path: Path) -> None:
    """The program ends at once; a child keeps its output open, and a pipe, which is closed when the child is ended."""
    os.mkfifo(tmp_path / "pipe")
    pipe = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    child = f"pipe = open({str(tmp_path / 'pipe')!r}, 'w'); {HANGS}"
    text = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {child!r}])"
    with pytest.raises(CranfieldError, match=r"did not end within 1 second$"):
        conformance.check(program(tmp_path, text), CASES, seconds=1)
    until(lambda: not writers(pipe), "the child has ended")
    os.close(pipe)


def test_a_program_that_writes_errors_without_end_is_stopped(tmp_path: Path) -> None:
    with pytest.raises(CranfieldError, match=r"did not end within 1 second$"):
        conformance.check(program(tmp_path, "import sys\nwhile True: sys.stderr.write('x' * 65536)"), CASES, seconds=1)


@pytest.mark.parametrize(
    "text",
    [
        HANGS,
        "while True: print()",
        f"import os, sys; sys.stdout.close(); os.close(1); {HANGS}",
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', '{HANGS}'])",  # a child holds the output open
    ],
    ids=["hangs", "blank lines", "closed output", "child"],
)
def test_a_program_that_does_not_end_is_stopped(tmp_path: Path, text: str) -> None:
    with pytest.raises(CranfieldError, match=r"did not end within 1 second$"):
        conformance.check(program(tmp_path, text), CASES, seconds=1)


def test_a_program_that_crashes_is_named_with_its_signal(tmp_path: Path) -> None:
    with pytest.raises(CranfieldError, match="was ended by signal 6"):
        conformance.check(program(tmp_path, "import os; os.abort()"), CASES)


def test_a_program_is_stopped_where_there_are_no_groups_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows."""
    monkeypatch.delattr("os.killpg")
    with pytest.raises(CranfieldError, match=r"did not end within 1 second$"):
        conformance.check(program(tmp_path, HANGS), CASES, seconds=1)


def test_a_program_that_does_not_exist() -> None:
    with pytest.raises(UsageError, match="`no-such-program` cannot be run: no such file or directory"):
        conformance.check(["no-such-program"], CASES)
