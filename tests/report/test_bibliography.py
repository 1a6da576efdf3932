"""BibTeX is read well enough to be printed again."""

from __future__ import annotations

from pathlib import Path

import pytest

from cranfield.errors import CranfieldError
from cranfield.report import catalogue

TEXT = """% a comment
@article{first2001,
  author = {Ada Lovelace and Babbage, Charles and C and D},
  title = {On {Engines}: {A} note},
  journal = "Notes",
  year = 1843
}
@inproceedings{second2002, title = {Braces {in {braces}}}, year = {2002}}
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "x.bib"
    path.write_text(TEXT)
    monkeypatch.setattr(catalogue, "SOURCE", path)
    return path


def test_entries_are_whole(source: Path) -> None:
    found = catalogue.entries(source)
    assert list(found) == ["first2001", "second2002"]
    assert found["second2002"] == "@inproceedings{second2002, title = {Braces {in {braces}}}, year = {2002}}"
    assert found["first2001"].endswith("year = 1843\n}")


def test_each_once_in_the_order_asked_for(source: Path) -> None:
    text = catalogue.bibtex(["second2002 first2001", "second2002"])
    assert text.index("second2002") < text.index("first2001")
    assert text.count("@") == 2


def test_a_missing_entry_is_named(source: Path) -> None:
    with pytest.raises(CranfieldError, match="no entry for third2003"):
        catalogue.bibtex(["first2001", "third2003"])


def test_a_reference_in_one_line(source: Path) -> None:
    shown = "Ada Lovelace, Charles Babbage, C and others. On Engines: A note. Notes. 1843"
    assert catalogue.reference("first2001") == shown
