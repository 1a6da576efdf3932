"""The table of what people hold: every row of the page gives numbers."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
ROWS = re.compile(r"^```\{rows\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_row_is_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sphinx")
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(sys, "path", [str(DOCS / "_ext"), *sys.path])
    import rows

    (content,) = ROWS.findall((DOCS / "inputs.md").read_text(encoding="utf-8"))
    table = rows.evaluate(content.split("\n"))
    assert len(table) >= 18
    assert table[0][2] == "{'RR': 0.75, 'nDCG@10': 0.6934}"
    assert len({value for _, _, value in table[3:18]} - {"{'RR': 0.5, 'nDCG@10': 0.6309}"}) == 1  # the graded one
