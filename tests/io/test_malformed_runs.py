"""Generated runs with many kinds of faults: each is counted and placed, as an independent count has it."""

from __future__ import annotations

import gzip
import json
import math
import random
import re
from pathlib import Path

import pytest

from cranfield import io
from cranfield.errors import listing_faults

BLANKS = [" ", "\t", "  ", " \t", "\x0b", "\x0c"]
SCORES = ["1", "2.5", "-3e2", "inf", ".5", "5.", "1e400"]
BAD_SCORES = ["", "x", "1,5", "1_0", "0x10", "--1", "1e", "nan", "NaN", "-nan"]


def malformed(rng: random.Random) -> list[str]:
    """The lines of a run; about one in eight is wrong in some way."""
    lines = []
    for _ in range(rng.randint(50, 400)):
        query, document = f"q{rng.randrange(6)}", f"d{rng.randrange(300)}"
        columns = [query, "Q0", document, str(rng.randrange(100)), rng.choice(SCORES), "tag"]
        kind = rng.random()
        if kind < 0.03:
            del columns[rng.randrange(6)]
        elif kind < 0.05:
            columns.insert(rng.randrange(7), "more")
        elif kind < 0.09:
            columns[4] = rng.choice(BAD_SCORES)
        line = rng.choice(BLANKS).join(columns) if rng.random() < 0.3 else " ".join(columns)
        if kind > 0.97:
            line = rng.choice(["", " \t", "# comment", "  #x y z"])
        lines.append(line + rng.choice(["", "", "", "\r", " "]))
    return lines


def count(lines: list[str]) -> list[tuple[int, str]]:
    """The line and the kind of every fault, found in the simplest way."""
    faults, seen = [], set()
    for number, line in enumerate(lines, 1):
        columns = re.findall(r"[^ \t\r\x0b\x0c]+", line)
        if not columns or columns[0][0] == "#":
            continue
        if len(columns) != 6:
            faults.append((number, "columns"))
            continue
        try:
            score = float(columns[4]) if "_" not in columns[4] else None
        except ValueError:
            score = None
        if score is None:
            faults.append((number, "not a number"))
        elif math.isnan(score):
            faults.append((number, "NaN"))
        elif (columns[0], columns[2]) in seen:
            faults.append((number, "twice"))
        else:
            seen.add((columns[0], columns[2]))
    return faults


def listed(path: str) -> list[tuple[int, str]]:
    with listing_faults(None):
        error = io.check_run(path)
    if error is None:
        return []
    assert error.total == len(error.faults)
    kinds = ("columns", "not a number", "NaN", "twice")
    places = [re.match(r".*?:(\d+): (.*)", fault) for fault in error.faults]
    return [(int(m[1]), next(kind for kind in kinds if kind in m[2])) for m in places if m]


@pytest.mark.parametrize("seed", range(40))
def test_every_fault_is_counted_and_placed(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = random.Random(seed)
    lines = malformed(rng)
    expected = count(lines)
    text = "\n".join(lines).encode()
    Path("bad.run").write_bytes(text)
    Path("bad.run.gz").write_bytes(gzip.compress(text))
    assert len(expected) > 3
    assert listed("bad.run") == listed("bad.run.gz") == expected
    monkeypatch.setenv("CRANFIELD_BLOCK", str(rng.choice([1, 50, 1000])))
    assert listed("bad.run") == expected
    whole = gzip.compress(text)
    Path("cut.run.gz").write_bytes(whole[: rng.randrange(len(whole) // 2, len(whole))])
    error = io.check_run("cut.run.gz")
    assert error is not None
    assert "cut.run.gz: the gzip data end too early" in str(error)


@pytest.mark.parametrize("seed", range(10))
def test_the_same_in_json_lines(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = random.Random(seed)
    rows, expected, seen = [], [], set()
    for number in range(1, 200):
        query, document = f"q{rng.randrange(4)}", f"d{rng.randrange(120)}"
        row = {"qid": query, "docid": document, "score": rng.random()}
        kind = rng.random()
        if kind < 0.05:
            row["score"] = rng.choice(["1", None, [], {}])
        elif kind < 0.08:
            row["docid"] = rng.choice(["", None, [1]])
        line = json.dumps(row)
        if 0.08 <= kind < 0.1:
            line = line[:-1]
        if kind < 0.1 or (query, document) in seen:
            expected.append(number)
        else:
            seen.add((query, document))
        rows.append(line)
    Path("bad.jsonl").write_text(json.dumps({"qid": "q9", "docid": "d", "score": 1}) + "\n" + "\n".join(rows))
    with listing_faults(None):
        error = io.check_run("bad.jsonl")
    assert error is not None
    assert [int(fault.split(":")[1]) for fault in error.faults] == [number + 1 for number in expected]
