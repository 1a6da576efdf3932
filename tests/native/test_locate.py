"""`locate`: the same from the native core and in plain Python, and the same as a join."""

from __future__ import annotations

import random

import numpy as np
import pytest

from cranfield.data import Strings
from cranfield.native import plain

_core = pytest.importorskip("cranfield.native._core")

KEYS = ["score", "score32", "rank"]


def pair(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    strings = Strings.of(texts)
    return strings.offsets, strings.data


@pytest.mark.parametrize("seed", range(20))
def test_native_plain_and_join_agree(seed: int) -> None:
    rng = random.Random(seed)
    names = [f"q{i}" for i in range(5)]
    judged = {q: rng.sample([f"d{i}" for i in range(60)], rng.randrange(30)) for q in names}
    retrieved = {q: rng.sample([f"d{i}" for i in range(60)], rng.choice([0, 1, 7, 60])) for q in names}
    begin = np.cumsum([0, *(len(judged[q]) for q in names)])
    row_of = {(q, d): int(begin[i]) + j for i, q in enumerate(names) for j, d in enumerate(judged[q])}
    rows = [(q, d) for q in names for d in retrieved[q]]
    scores = np.array([rng.choice([0.0, 1.0, 1 + 1e-12, rng.random()]) for _ in rows])
    ranks = rng.choice([None, np.array([float(rng.randrange(9)) for _ in rows])])
    hit = [i for i, pair_ in enumerate(rows) if pair_ in row_of]
    arguments = (
        pair([d for _, d in rows]),
        np.cumsum([0, *(len(retrieved[q]) for q in names)]),
        np.array(hit, np.int64),
        np.array([row_of[rows[i]] for i in hit], np.int64),
        scores,
        ranks,
        KEYS,
        True,
    )
    documents = pair([d for q in names for d in judged[q]])
    table = pair([q for q, _ in rows]), pair([d for _, d in rows]), scores, ranks
    joins = [
        m.join_table(*table, m.Index(pair(names), begin, documents), KEYS, True, 0)["hits"] for m in (_core, plain)
    ]
    for found in (_core.locate(*arguments), plain.locate(*arguments), joins[1]):
        for ours, expected in zip(found, joins[0], strict=True):
            assert ours.keys() == expected.keys()
            assert all(ours[name].tolist() == expected[name].tolist() for name in expected)


@pytest.mark.parametrize(
    ("begin", "row"), [([0, 3], [0]), ([0, 2], [1, 0]), ([0, 1, 0], [0]), ([0, 1], [1]), ([0, 2], [-1])]
)
def test_columns_that_do_not_fit(begin: list[int], row: list[int]) -> None:
    columns = pair(["a", "b"]), np.array(begin), np.array(row), np.zeros(len(row), np.int64), np.ones(2), None
    with pytest.raises((IndexError, ValueError)):
        _core.locate(*columns, ["score"], False)
