"""Progress of calls that take long, in a terminal or a notebook."""

import sys
import time
from io import StringIO
from typing import Any

import pytest

import cranfield as cf
from cranfield import parallel


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


RUNS: dict[str, Any] = {f"run{i}": {"q": ["a", "b"]} for i in range(4)}


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Standard error as a terminal; a fixture would be too early, because pytest replaces it, too."""
    monkeypatch.setattr(sys, "stderr", found := Terminal())
    return found


def test_a_long_call_shows_how_many_runs_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    monkeypatch.setattr(parallel, "DELAY", 0.0)
    expected = cf.evaluate({"q": {"b": 1}}, RUNS, "RR", progress=False)
    assert terminal.getvalue() == ""
    assert cf.evaluate({"q": {"b": 1}}, RUNS, "RR").means == expected.means
    lines = terminal.getvalue().split("\r")
    assert [line.split()[2] for line in lines if "/" in line] == ["1/4", "2/4", "3/4"]
    assert lines[-2].strip() == "" and lines[-1] == ""  # it is gone at the end


def test_a_short_call_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    cf.evaluate({"q": {"b": 1}}, RUNS, "RR")
    assert terminal.getvalue() == ""


def test_nothing_is_shown_where_nobody_sees_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "DELAY", 0.0)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    monkeypatch.setattr(sys, "stderr", found := StringIO())
    cf.evaluate({"q": {"b": 1}}, RUNS, "RR")
    assert found.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", None)
    cf.evaluate({"q": {"b": 1}}, RUNS, "RR")


def test_the_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    bar = parallel.ProgressLine.of("runs")
    assert bar is not None
    bar(1, 3)
    now[0] = 2.5
    bar(2, 3)
    bar(3, 3)
    assert "2/3" in terminal.getvalue() and "1/3" not in terminal.getvalue()
