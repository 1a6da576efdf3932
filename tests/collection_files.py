"""Collection files for tests of the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write_collection(folder: Path, **parts: Any) -> str:
    """A collection file in a folder; the path of it. Values are paths, texts, numbers, or True and False."""
    path = folder / "collection.toml"
    values = {name: str(value) if isinstance(value, Path) else value for name, value in parts.items()}
    path.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items()))
    return str(path)
