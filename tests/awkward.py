"""Runs and judgments with all that is awkward, at random, for tools that are held against each other."""

from __future__ import annotations

import random


def random_input(rng: random.Random, queries: int = 12) -> tuple[dict, dict]:
    """A run and judgments with ties, negative grades, missing queries, and scores that differ only in 64 bits."""
    documents = [f"d{i}" for i in range(rng.choice([3, 8, 30, 60]))]
    levels = rng.choice([[0, 1], [-1, 0, 1, 2, 3], [0, 0, 0, 1, 2], [0], [-2, 0, 1], [1, 2]])
    names = [f"q{i}" for i in range(queries)]
    qrels = {q: {d: rng.choice(levels) for d in documents if rng.random() < 0.6} for q in names}
    for judged in qrels.values():
        # A query with negative grades alone makes trec_eval 9 read memory of the query before, and crash.
        if max(judged.values(), default=-1) < 0:
            judged[documents[0]] = 0
    scores = rng.choice([[1.0, 2.0], [i / 7 for i in range(50)], [0.3, 0.30000001, 0.2, -1e-9, 0.0, 1e30]])
    run = {
        q: {d: rng.choice(scores) for d in rng.sample(documents, rng.randint(1, len(documents)))}
        for q in rng.sample([*names, "nobody_judged_this"], rng.choice([queries // 3, 3 * queries // 4, queries]))
    }
    if not set(run) & set(names):
        run["q0"] = {documents[0]: 1.0}
    return run, qrels
