"""Seconds of comparisons with and without a design; printed as JSON. Arguments: rounds, and ``quick`` or ``full``."""

from __future__ import annotations

import json
import sys

import numpy as np
import rounds

import cranfield as cf


def scores(values: np.ndarray, topics: int | None = None) -> cf.Scores:
    """Scores of (run, query) or (run, query, repeat), whose queries belong to topics."""
    table = {f"r{r}": {"m": {f"q{q}": one.tolist() for q, one in enumerate(row)}} for r, row in enumerate(values)}
    about = None if topics is None else {f"q{q}": {"topic": str(q % topics)} for q in range(values.shape[1])}
    return cf.read_scores(table, queries=about)


def main() -> None:
    """Print the seconds of each comparison."""
    number, quick = int(sys.argv[1]), sys.argv[2] == "quick"
    rng = np.random.default_rng(0)
    runs, queries, systems, many = (20, 50, 4, 200) if quick else (126, 50, 20, 7000)
    clustered, repeated = scores(rng.random((runs, queries)), queries // 3), scores(rng.random((systems, many, 5)))
    means = scores(np.array([repeated.values[r, 0] for r in range(systems)]))
    found = {
        f"{runs} runs x {queries} queries": rounds.alternate(
            {"without": lambda: cf.compare(clustered), "clusters": lambda: cf.compare(clustered, cluster="topic")},
            number,
        ),
        f"{systems} runs x {many} queries x 5 repeats": rounds.alternate(
            {"without": lambda: cf.compare(means, test="t"), "repeats": lambda: cf.compare(repeated, test="t")}, number
        ),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
