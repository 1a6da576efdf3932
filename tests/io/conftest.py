"""Files to read."""

from __future__ import annotations

from pathlib import Path

import pytest
from io_samples import QRELS, RUN


@pytest.fixture
def run_path(tmp_path: Path) -> Path:
    path = tmp_path / "bm25.run"
    path.write_text(RUN)
    return path


@pytest.fixture
def qrels_path(tmp_path: Path) -> Path:
    path = tmp_path / "robust.qrels"
    path.write_text(QRELS)
    return path
