"""Print the oldest version of every package that the package and the extras of its tests promise to work with."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def minima(text: str) -> list[str]:
    """The lower limits as exact versions, for ``pip install --constraint``."""
    data = tomllib.loads(text)
    project, group = data["project"], " ".join(data["dependency-groups"]["minima"])
    extras = re.search(r"cranfield\[(.+?)\]", group)
    assert extras is not None
    wanted = [*project["dependencies"]]
    for name in extras[1].split(","):
        wanted += project["optional-dependencies"][name]
    return [requirement.replace(">=", "==") for requirement in wanted]


if __name__ == "__main__":
    sys.stdout.write("\n".join(minima(PROJECT.read_text(encoding="utf-8"))) + "\n")
