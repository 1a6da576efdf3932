"""What a release changes and needs: links that work elsewhere, one version, licences of what is linked in."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import pytest

import cranfield as cf

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / ".ci" / "release.py"


@pytest.mark.skipif(not SCRIPT.exists(), reason="only in a checkout")
def test_the_readme_of_an_index_has_no_relative_links() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    made = runpy.run_path(str(SCRIPT))["readme"](text, "https://github.com/NAME/cranfield", "1.0")
    targets = re.findall(r"\]\(([^)]+)\)", made)
    assert len(targets) > 10
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []
    assert "https://raw.githubusercontent.com/NAME/cranfield/v1.0/docs/_static/terminal.svg" in targets
    assert "checkout" not in made.partition("## One minute")[0].partition("Two commands")[0]
    assert "pip install 'cranfield[report,plot]'" in made


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project.get("version", cf.__version__) == cf.__version__
    assert "licenses/*.txt" in project["license-files"]


@pytest.mark.parametrize("name", ["nanobind", "robin_map"])
def test_what_is_linked_in_has_its_licence(name: str) -> None:
    assert "Copyright (c)" in (ROOT / "licenses" / f"{name}.txt").read_text(encoding="utf-8")
