"""The recipes for data that are too large: each gives the scores of one evaluation of everything."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest

import cranfield as cf

PAGE = Path(__file__).parents[1] / "docs" / "cookbook" / "large_data.md"
FIRST, *RECIPES = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
NAMES = [re.search(r"^import (\w+)", recipe, re.MULTILINE)[1] for recipe in RECIPES]  # type: ignore[index]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_pieces_are_as_good_as_the_whole(name: str) -> None:
    polars = pytest.importorskip("polars")
    pytest.importorskip(name)
    rng = random.Random(0)
    qrels = {f"q{q}": {f"d{d}": rng.randrange(3) for d in range(8)} for q in range(50)}
    rows = [(f"q{q}", f"d{d}", float(rng.randrange(9)), q % 4) for q in range(50) for d in range(rng.randrange(1, 12))]
    run = polars.DataFrame(rows, schema=["query_id", "doc_id", "score", "part"], orient="row")
    names: dict[str, Any] = {"qrels": qrels, "run": run}
    exec(compile(FIRST + RECIPES[NAMES.index(name)], "recipe", "exec"), names)
    means = cf.evaluate(qrels, {"run": run.drop("part")}, names["measures"]).means["run"]
    found = names["scores"]
    assert {measure: found[measure]["run"] for measure in means} == pytest.approx(means, abs=1e-12)
