"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from cranfield.io.register import atomic_write


def test_a_file_appears_when_all_is_written(tmp_path: Path) -> None:
    place = tmp_path / "a.txt"
    place.write_text("old")
    with atomic_write(place) as beside:
        beside.write_text("new")
        assert place.read_text() == "old"
    assert place.read_text() == "new"
    assert list(tmp_path.iterdir()) == [place]


@pytest.mark.parametrize("wrong", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failure_leaves_the_old_file_unchanged(tmp_path: Path, wrong: type[BaseException]) -> None:
    place = tmp_path / "a.txt"
    place.write_text("old")
    with pytest.raises(wrong), atomic_write(place) as beside:
        beside.write_text("half")
        raise wrong
    assert place.read_text() == "old"
    assert list(tmp_path.iterdir()) == [place]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    link.symlink_to(real)
    with atomic_write(link) as beside:
        beside.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_a_pipe_is_written_to_as_it_is(tmp_path: Path) -> None:
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    with atomic_write(pipe) as place:
        place.write_text("new")
    reader.join()
    assert got == ["new"]


def test_errors_name_the_place_that_was_asked_for(tmp_path: Path) -> None:
    place = tmp_path / "missing" / "a.txt"
    with pytest.raises(OSError, match="No such file") as error, atomic_write(place) as beside:
        beside.write_text("new")
    assert error.value.filename == str(place)
