"""The codec of results: what is written is what is read, and data of another type are refused."""

from __future__ import annotations

import copy
import json
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import pytest

import cranfield as cf
from cranfield.codec import Saved, plain, text, typed
from cranfield.data import Booleans, Floats, Integers
from cranfield.errors import CranfieldError, InputError
from cranfield.report.pages import Page
from cranfield.saved import load


class Point(NamedTuple):
    """A record inside another one."""

    x: float
    label: str = "none"


@dataclass(frozen=True, eq=False)
class Everything(Saved):
    """A field of every type."""

    _KIND: ClassVar[str] = "everything"
    _VERSION: ClassVar[int] = 2
    _WHAT: ClassVar[str] = "a saved thing"
    _HINT: ClassVar[str] = "make one"
    DERIVED: ClassVar[tuple[str, ...]] = ("largest",)

    count: int
    share: float
    sure: bool
    name: str | None
    method: Literal["a", "b"]
    pair: tuple[int, float]
    names: tuple[str, ...]
    by_name: dict[str, float]
    points: tuple[Point, ...]
    values: Floats
    counts: Integers
    held: Booleans
    extra: tuple[str, ...] = ()
    sizes: dict[int, int] = field(default_factory=lambda: {2: 5, 3: 1})

    @property
    def largest(self) -> int:
        return max(self.sizes)

    def pages(self, digits: int = 4) -> list[Page]:
        return []

    notes = ()


def thing(**changes: Any) -> Everything:
    values: dict[str, Any] = {
        "count": 3,
        "share": 0.1,
        "sure": True,
        "name": None,
        "method": "b",
        "pair": (1, math.nan),
        "names": ("x", "y"),
        "by_name": {"x": math.nan},
        "points": (Point(1.5), Point(2.5, "two")),
        "values": np.array([[0.1, math.nan], [0.3, 1 / 3]]),
        "counts": np.array([1, 2]),
        "held": np.array([True, False]),
    }
    return Everything(**values | changes)


def test_every_type_survives(tmp_path: Any) -> None:
    written = thing(extra=("more",))
    written.save(tmp_path / "file")
    read = Everything.load(tmp_path / "file")
    assert plain(vars(read)) == plain(vars(written))
    for name in ("values", "counts", "held"):
        a, b = getattr(read, name), getattr(written, name)
        assert a.dtype == b.dtype
        assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    assert read.points == written.points
    assert math.isnan(read.pair[1])


def test_the_layout_follows_the_fields() -> None:
    data = thing().to_dict()
    assert list(data)[:4] == ["kind", "version", "count", "share"]
    assert list(data)[-2:] == ["sizes", "largest"]
    assert (data["sizes"], data["largest"]) == ({"2": 5, "3": 1}, 3)
    assert data["points"] == [{"x": 1.5, "label": "none"}, {"x": 2.5, "label": "two"}]
    assert data["values"] == [[0.1, None], [0.3, 1 / 3]]


def test_infinity_is_null_or_text() -> None:
    assert plain([math.inf, -math.inf]) == [None, None]
    assert plain(np.array([math.inf, -math.inf, math.nan]), infinite=True) == ["inf", "-inf", None]
    assert typed(Floats, ["inf", "-inf", 1]).tolist() == [math.inf, -math.inf, 1.0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("count", 1.5),
        ("count", True),
        ("share", "much"),
        ("share", True),
        ("sure", 1),
        ("name", 3),
        ("method", "c"),
        ("pair", [1]),
        ("pair", [1, 2, 3]),
        ("names", "xy"),
        ("names", [1]),
        ("by_name", []),
        ("points", [{"label": "no x"}]),
        ("points", [[1.5, "list"]]),
        ("values", [[1, 2], [3]]),
        ("values", [["many"]]),
    ],
)
def test_other_types_are_refused_with_the_name_of_the_file(name: str, value: Any, tmp_path: Any) -> None:
    (tmp_path / "file").write_text(json.dumps(thing().to_dict() | {name: value}))
    with pytest.raises(InputError, match="not a complete saved thing") as raised:
        Everything.load(tmp_path / "file")
    assert raised.value.message.startswith(str(tmp_path / "file"))


def test_a_missing_field_is_refused_and_an_unknown_one_ignored(tmp_path: Any) -> None:
    data = thing().to_dict()
    (tmp_path / "file").write_text(json.dumps(data | {"unknown": 1}))
    assert Everything.load(tmp_path / "file").count == 3
    (tmp_path / "file").write_text(json.dumps({key: value for key, value in data.items() if key != "count"}))
    with pytest.raises(InputError, match="'count'"):
        Everything.load(tmp_path / "file")


def test_older_versions_are_read_and_later_ones_refused(tmp_path: Any) -> None:
    (tmp_path / "file").write_text(json.dumps(thing().to_dict() | {"version": 1}))
    assert Everything.load(tmp_path / "file").count == 3
    (tmp_path / "file").write_text(json.dumps(thing().to_dict() | {"version": 3}))
    with pytest.raises(InputError, match="version 3 of the file format; this version of cranfield reads up to 2"):
        Everything.load(tmp_path / "file")


def test_one_loader_reads_every_kind_of_result(tmp_path: Any) -> None:
    runs = {"x": {q: ["a"] for q in "123"}, "y": {q: ["b", "a"] for q in "123"}}
    scores = cf.evaluate({q: {"a": 1} for q in "123"}, runs, "RR")
    scores.save(tmp_path / "scores.json")
    cf.compare(scores).save(tmp_path / "comparison.json")
    cf.lab.properties("P", documents=2).save(tmp_path / "study.json")
    assert isinstance(cf.load(tmp_path / "scores.json"), cf.Scores)
    assert isinstance(cf.load(tmp_path / "comparison.json"), cf.Comparison)
    assert cf.load(tmp_path / "study.json").measures == ("P@k",)
    (tmp_path / "other.json").write_text('{"kind": "weather", "version": 1}')
    with pytest.raises(InputError, match="not saved scores, groups, a comparison or a study"):
        load(tmp_path / "other.json")


def test_text_has_no_control_characters_and_names_of_any_bytes_survive() -> None:
    assert text({"a\x1b": "é\u202e"}) == '{"a\\u001b": "é\\u202e"}\n'


QRELS = {f"q{i}": {"a": 1, "b": i % 3, "c": 0} for i in range(6)}
MADE: dict[str, Callable[[], Saved]] = {
    "scores": lambda: cf.evaluate(QRELS, RUNS, ["RR", "ERR@2"]),
    "groups": lambda: cf.evaluate(cf.Collection(QRELS, queries=QUERIES), RUNS, "RR").by("type"),
    "comparison": lambda: cf.compare(cf.evaluate(QRELS, RUNS, ["RR", "AP"])),
    "a study": lambda: cf.lab.stopping(QRELS, RUNS, ["RR"], repeats=2),
}
RUNS = {"x": {q: ["a", "b", "c"] for q in QRELS}, "y": {q: ["b", "a", "c"] for q in QRELS}}
QUERIES = {q: {"type": "ab"[i % 2]} for i, q in enumerate(QRELS)}
OTHERS = (None, True, -1, 0, 10**30, 1e400, -1e308, "", "inf", "\ud800", "\x1b[2J", [], [[]], [1], {}, {"a": 1}, "cut")


def fields(found: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something is in plain data; of lists the first and the last item."""
    if here:
        yield here
    inside = found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
    for key, item in inside:
        if isinstance(found, dict) or key in (0, len(found) - 1):
            yield from fields(item, (*here, key))


@pytest.mark.parametrize("kind", MADE)
def test_a_field_that_was_changed(kind: str, tmp_path: Path) -> None:
    """The file is refused with its name, or the result can be shown, and saved again."""
    path = tmp_path / "changed.json"
    MADE[kind]().save(path)
    whole, refused = json.loads(path.read_text()), 0
    every = [(place, new) for place in fields(whole) for new in OTHERS]
    of_provenance = [one for one in every if one[0][0] == "provenance"]
    for place, new in [*random.Random(3).sample(every, 300), *random.Random(3).sample(of_provenance, 100)]:
        changed = copy.deepcopy(whole)
        part = changed
        for key in place[:-1]:
            part = part[key]
        if new == "cut":
            del part[place[-1]]
        else:
            part[place[-1]] = new
        path.write_text(json.dumps(changed))
        try:
            result = cf.load(path)
        except CranfieldError as error:
            assert "changed.json" in str(error), (place, new)
            refused += 1
            continue
        str(result), result._repr_html_()
        result.save(path)
        assert cf.load(path).to_dict() == result.to_dict(), (place, new)
    assert 40 < refused < 400
