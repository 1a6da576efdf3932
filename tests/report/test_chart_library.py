"""The chart library in the cache folder goes into reports: only what this user's own package made is used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cranfield.report.html import kept

MADE = "draw()\n" * 1000 + "é"
PLANTED = "alert('planted')"


class Maker:
    """The package that makes the script."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        return MADE


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "cranfield" / "vega.js"


def test_kept(file: Path) -> None:
    make = Maker()
    assert [kept("vega.js", "1.0", make) for _ in range(3)] == [MADE] * 3
    assert make.calls == 1
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(file.parent.iterdir()) == [file]


def test_another_version_of_the_package_makes_its_own(file: Path) -> None:
    make = Maker()
    kept("vega.js", "1.0", make)
    kept("vega.js", "1.1", make)
    assert make.calls == 2
    assert file.exists()


def test_what_was_kept_before_is_found_whatever_the_umask(file: Path) -> None:
    make = Maker()
    before = os.umask(0)
    try:
        kept("vega.js", "1.0", make)
        kept("vega.js", "1.0", make)
    finally:
        os.umask(before)
    assert make.calls == 1
    assert file.stat().st_mode & 0o077 == 0


def planted(file: Path) -> None:
    file.write_text(PLANTED)


def truncated(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:3000])


def truncated_in_a_character(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def changed(file: Path) -> None:
    file.write_text(file.read_text().replace("draw()", PLANTED, 1))


def changed_below_its_seal(file: Path) -> None:
    file.write_text(file.read_text().split("\n")[0] + "\n" + PLANTED)


def world_writable(file: Path) -> None:
    file.chmod(0o666)


def group_writable(file: Path) -> None:
    file.chmod(0o660)


def linked(file: Path) -> None:
    other = file.with_name("other.js")
    file.rename(other)
    file.symlink_to(other)


def dangling(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.with_name("elsewhere.js"))


def pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


@pytest.mark.skipif(os.name != "posix", reason="modes, links and pipes of POSIX")
@pytest.mark.parametrize(
    "spoil",
    [
        planted,
        truncated,
        truncated_in_a_character,
        emptied,
        changed,
        changed_below_its_seal,
        world_writable,
        group_writable,
        linked,
        dangling,
        pipe,
    ],
)
def test_anything_else_is_replaced(file: Path, spoil: object) -> None:
    make = Maker()
    kept("vega.js", "1.0", make)
    spoil(file)  # type: ignore[operator]
    assert kept("vega.js", "1.0", make) == MADE
    assert make.calls == 2
    assert file.is_file()
    assert not file.is_symlink()
    assert not file.with_name("elsewhere.js").exists()
    assert kept("vega.js", "1.0", make) == MADE
    assert make.calls == 2


def test_without_a_writable_cache_the_library_is_made_each_time(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = Maker()
    file.mkdir(parents=True)
    assert kept("vega.js", "1.0", make) == MADE
    assert list(file.parent.iterdir()) == [file]
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    assert kept("vega.js", "1.0", make) == MADE
    assert make.calls == 2


def test_a_cache_folder_that_is_not_absolute_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    assert kept("vega.js", "1.0", Maker()) == MADE
    assert not (tmp_path / "here").exists()
    assert (tmp_path / "home" / ".cache" / "cranfield" / "vega.js").is_file()
