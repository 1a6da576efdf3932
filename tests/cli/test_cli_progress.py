"""A progress bar appears only to those who wait and look."""

from __future__ import annotations

import io
import sys

import pytest

from cranfield.cli import output as module
from cranfield.cli.output import progress


class Terminal(io.StringIO):
    """A stream that says it is one."""

    def isatty(self) -> bool:
        return True


def test_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress("scoring") as step:
        assert step is None


@pytest.mark.parametrize(("patience", "shown"), [(60.0, False), (0.0, True)])
def test_only_long_work_shows_a_bar(monkeypatch: pytest.MonkeyPatch, patience: float, shown: bool) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(module, "DELAY", patience)
    monkeypatch.setenv("TERM", "xterm")
    with progress("scoring") as step:
        assert step is not None
        for done in range(1, 4):
            step(done, 3)
    assert ("scoring" in terminal.getvalue()) is shown
