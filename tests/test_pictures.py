"""The pictures of the README show what the package prints and computes now."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS / "_ext"))
import pictures  # noqa: E402

README = (DOCS.parent / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_pictures_are_current(name: str) -> None:
    """If this fails, run `make pictures` and look at the difference."""
    assert (pictures.FOLDER / name).read_text(encoding="utf-8") == pictures.PICTURES[name]()


def test_the_terminal_shows_what_commands_print() -> None:
    shown = pictures.text_of((pictures.FOLDER / "terminal.svg").read_text(encoding="utf-8"))
    assert shown == [line for line, _ in pictures.session() if line.strip()]
    assert [line.removeprefix("$ ") for line in shown if line.startswith("$ ")] == list(pictures.SESSION)


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_pictures_can_be_shown_everywhere(name: str) -> None:
    """GitHub shows SVG without scripts and without anything from elsewhere."""
    path = pictures.FOLDER / name
    root = ElementTree.parse(path).getroot()
    assert path.stat().st_size < 150_000
    assert {element.tag.rpartition("}")[2] for element in root.iter()}.isdisjoint({"script", "image", "foreignObject"})
    assert root[0].tag.endswith("title")
    assert f"docs/_static/{name}" in README
