"""Make the texts of a release: addresses in the README and the metadata, and an installation from the package index.

    python .ci/release.py https://github.com/NAME/cranfield

The tag is the version of the package. The files are changed in place, in a checkout that is thrown away.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHECKOUT = "Until the first release, install from a checkout:"


def readme(text: str, address: str, version: str) -> str:
    """The README as an index shows it: links and pictures that work there."""
    raw = address.replace("https://github.com/", "https://raw.githubusercontent.com/")
    text = re.sub(r"!\[([^]]*)\]\((?!https?:)([^)]+)\)", rf"![\1]({raw}/v{version}/\2)", text)
    text = re.sub(r"(?<!!)\[([^]]*)\]\((?!https?:|#)([^)]+)\)", rf"[\1]({address}/blob/v{version}/\2)", text)
    text = text.replace(CHECKOUT, "Install it:").replace("Two commands set", "In a checkout, two commands set")
    return installed(text)


def installed(text: str) -> str:
    """The same text with an installation from the index."""
    return text.replace("pip install '.[", "pip install 'cranfield[").replace(
        "pip install .\n", "pip install cranfield\n"
    )


def project(text: str, address: str, version: str) -> str:
    """The metadata with the addresses that an index shows beside the README."""
    pages = {"Source": "", "Issues": "/issues"}
    pages |= {"Documentation": f"/tree/v{version}/docs", "Changelog": f"/blob/v{version}/CHANGELOG.md"}
    urls = "".join(f'{name} = "{address}{page}"\n' for name, page in pages.items())
    return text.replace(
        "[project.optional-dependencies]\n", f"[project.urls]\n{urls}\n[project.optional-dependencies]\n"
    )


def main(address: str) -> None:
    """Change the README, the metadata, the pages and the hints."""
    found = re.search(r'__version__ = "(.+)"', (ROOT / "src/cranfield/__init__.py").read_text(encoding="utf-8"))
    assert found is not None
    for name, change in (("README.md", readme), ("pyproject.toml", project)):
        path = ROOT / name
        path.write_text(change(path.read_text(encoding="utf-8"), address.rstrip("/"), found[1]), encoding="utf-8")
    for path in (*sorted((ROOT / "docs").rglob("*.md")), ROOT / "src/cranfield/errors.py"):
        path.write_text(installed(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
