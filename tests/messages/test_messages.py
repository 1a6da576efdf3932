"""The sentences that users meet are those of the snapshot, and errors have one form."""

from __future__ import annotations

from pathlib import Path

import pytest
from snapshot_of_messages import ERRORS, SNAPSHOT, call, messages, verbs, write_inputs


def test_the_snapshot_is_up_to_date() -> None:
    """After a change of wording: ``python tests/messages``, and read the difference."""
    assert messages() == SNAPSHOT.read_text(encoding="utf-8")


@pytest.mark.parametrize("line", ERRORS)
def test_an_error_goes_to_standard_error_with_its_exit_code(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_inputs(tmp_path)
    result = call(line)
    assert result.exit_code in ((1, 2, 4, 7) if line.startswith("trec_eval") else (1, 2))
    assert result.stderr.startswith("error: ")
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("verb", [verb for verb in verbs() if not verb.startswith("study")])
def test_no_line_of_help_is_wider_than_a_terminal(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = call(f"{verb} --help")
    assert result.exit_code == 0
    assert [line for line in result.stdout.splitlines() if len(line) > 80] == []
