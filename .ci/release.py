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
OF_CHECKOUT = ", in a checkout:\n"
UNTIL_THEN = "   # before the first release: pip install and a path to its checkout"
PAGES = (*sorted((ROOT / "docs").rglob("*.md")), ROOT / "docs" / "papers.toml", ROOT / "docs" / "_ext" / "papers.py")


def readme(text: str, address: str, version: str) -> str:
    """The README as an index shows it: links and pictures that work there."""
    raw = address.replace("https://github.com/", "https://raw.githubusercontent.com/")
    text = re.sub(r"!\[([^]]*)\]\((?!https?:)([^)]+)\)", rf"![\1]({raw}/v{version}/\2)", text)
    text = re.sub(r"(?<!!)\[([^]]*)\]\((?!https?:|#)([^)]+)\)", rf"[\1]({address}/blob/v{version}/\2)", text)
    text = text.replace(CHECKOUT, "Install it:").replace("Two commands set", "In a checkout, two commands set")
    return page(text, address, version)


def page(text: str, address: str, version: str) -> str:
    """The same text with an installation from the index, and the action of this version."""
    text = text.replace("pip install '.[", "pip install 'cranfield[")
    text = text.replace("pip install .\n", "pip install cranfield\n").replace(OF_CHECKOUT, ":\n")
    owner = address.removesuffix("/cranfield").rpartition("/")[2]
    return text.replace(UNTIL_THEN, "").replace("OWNER/cranfield@main", f"{owner}/cranfield@v{version}")


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
    changes = [(ROOT / "README.md", readme), (ROOT / "pyproject.toml", project)]
    changes += [(path, page) for path in (*PAGES, ROOT / "src/cranfield/errors.py")]
    for path, change in changes:
        path.write_text(change(path.read_text(encoding="utf-8"), address.rstrip("/"), found[1]), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
