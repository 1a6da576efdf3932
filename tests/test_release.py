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
    assert "checkout" not in made.partition("## One minute")[0].partition("In a checkout, two commands")[0]
    assert "In a checkout, two commands" in made
    assert "pip install 'cranfield[report,plot]'" in made


@pytest.mark.skipif(not SCRIPT.exists(), reason="only in a checkout")
def test_the_pages_of_a_release_install_from_the_index() -> None:
    made = runpy.run_path(str(SCRIPT))
    paths = [*made["PAGES"], ROOT / "src" / "cranfield" / "errors.py"]
    texts = [
        made["page"](path.read_text(encoding="utf-8"), "https://github.com/NAME/cranfield", "1.0") for path in paths
    ]
    assert "- uses: NAME/cranfield@v1.0\n" in "".join(texts)
    for words in ("pip install .", "pip install '.", "first release", "OWNER/", ", in a checkout:"):
        assert [path.name for path, text in zip(paths, texts, strict=True) if words in text] == []


@pytest.mark.skipif(not SCRIPT.exists(), reason="only in a checkout")
def test_the_metadata_of_a_release_has_addresses() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    made = tomllib.loads(runpy.run_path(str(SCRIPT))["project"](text, "https://github.com/NAME/cranfield", "1.0"))
    assert made["project"].pop("urls")["Changelog"] == "https://github.com/NAME/cranfield/blob/v1.0/CHANGELOG.md"
    assert made == tomllib.loads(text)


def test_the_version_stands_in_one_place() -> None:
    files = (
        "pyproject.toml",
        "CITATION.cff",
        "src/cranfield/__init__.py",
        "src/cranfield/references.bib",
        "docs/conf.py",
    )
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in files}
    assert [name for name, text in texts.items() if cf.__version__ in text] == ["src/cranfield/__init__.py"]
    project = tomllib.loads(texts["pyproject.toml"])
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["scikit-build"]["metadata"]["version"]["input"] == "src/cranfield/__init__.py"


def test_actions_are_pinned() -> None:
    """A tag of an action may move; a commit cannot."""
    texts = [
        path.read_text(encoding="utf-8") for path in (ROOT / "action.yml", *(ROOT / ".github/workflows").glob("*.yml"))
    ]
    used = [name for text in texts for name in re.findall(r"uses: (.+)", text) if not name.startswith("./")]
    assert len(used) > 10
    assert [name for name in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", name)] == []
    assert len({tuple(name.split("@")) for name in used}) == len({name.split("@")[0] for name in used})


def test_development_tools_are_no_extras() -> None:
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups, extras = data["dependency-groups"], data["project"]["optional-dependencies"]
    assert not groups.keys() & extras.keys()
    wanted = set(re.findall(r"\$\(VENV\)/with-(\w+)", (ROOT / "Makefile").read_text(encoding="utf-8")))
    assert wanted <= groups.keys() | {"spark"}


def test_the_minima_are_those_of_the_project() -> None:
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    made = runpy.run_path(str(ROOT / ".ci" / "minima.py"))["minima"](
        (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    )
    assert {line.replace("==", ">=") for line in made} >= set(data["project"]["dependencies"])
    assert all(re.fullmatch(r"[\w-]+==[\d.]+", line) for line in made)


def test_licences_go_with_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["license-files"] == ["LICENSE", "licenses/*.txt"]


@pytest.mark.parametrize("name", ["nanobind", "robin_map"])
def test_what_is_linked_in_has_its_licence(name: str) -> None:
    assert "Copyright (c)" in (ROOT / "licenses" / f"{name}.txt").read_text(encoding="utf-8")
