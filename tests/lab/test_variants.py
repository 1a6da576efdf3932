"""Systems made up over what one run found: the same documents, in orders that are as good as they are said to be."""

from __future__ import annotations

import numpy as np
import pytest

import cranfield as cf
from cranfield import example, io
from cranfield.lab.simulation import variants
from cranfield.statistics.correlation import tau

QRELS = io.read_qrels(example.path("qrels.diversity.txt"))
RUN = io.read_run(example.path("bm25.run"))


def test_documents_are_the_runs_own() -> None:
    made, _ = variants(RUN, QRELS, 4, seed=1)
    table = io.load(RUN)
    own: dict[str, set[str]] = {}
    for query, document in zip(table.query, table.document, strict=True):
        own.setdefault(query, set()).add(document)
    for one in made:
        found: dict[str, set[str]] = {}
        for query, document in zip(io.load(one).query, io.load(one).document, strict=True):
            found.setdefault(query, set()).add(document)
        assert found == {query: own[query] for query in found}
        assert set(found) <= set(QRELS.queries)


def test_the_same_seed_is_the_same_orders() -> None:
    first, second, other = (variants(RUN, QRELS, 3, seed=seed)[0] for seed in (1, 1, 2))
    assert [io.load(a).score.tolist() for a in first] == [io.load(b).score.tolist() for b in second]
    assert io.load(first[0]).score.tolist() != io.load(other[0]).score.tolist()


def test_better_ones_score_higher() -> None:
    lab = cf.simulate(queries=30, systems=1, documents=1500, depth=40, pool_depth=40, seed=1)
    made, systems = variants(lab.runs[0], lab.judgments, 12, seed=1)
    scores = cf.evaluate(lab.judgments, list(made), "alpha_nDCG@20")._means[:, 0]
    assert tau([one.quality for one in systems], scores) > 0.7


@pytest.mark.parametrize("number", [0, -1])
def test_wrong_number(number: int) -> None:
    with pytest.raises(cf.CranfieldError, match=f"number must be a whole number of at least 1, not {number}"):
        variants(RUN, QRELS, number)


def test_plain_judgments_and_runs_of_other_queries() -> None:
    made, _ = variants(RUN, io.read_qrels(example.path("qrels.txt")), 2)
    assert np.isfinite(io.load(made[0]).score).all()
    with pytest.raises(cf.CranfieldError, match="answers none of the judged queries"):
        variants(io.read_run({"x": {"a": 1.0}}), QRELS, 2)
