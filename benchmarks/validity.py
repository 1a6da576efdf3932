"""Are designs valid? The share of false positives, and how often intervals of ranks hold, over simulated comparisons.

.venv/bin/python benchmarks/validity.py --comparisons 2000
"""

from __future__ import annotations

import argparse

import numpy as np

import cranfield as cf
from cranfield.statistics.design import Design, Sample
from cranfield.statistics.resampling import randomisation_p_values

PAIR = np.array([[0, 1]])
LEVEL = 0.05


def p_values(sample: Sample) -> dict[str, float]:
    """The p-values of two runs by the tests that know the design."""
    found = {"t": float(sample.error(PAIR).t_test()[0])}
    if not sample.repeats:
        table = sample.units_table
        found["randomisation"] = float(randomisation_p_values(table, samples=999)[0])
    return found


def share(samples: list[Sample]) -> str:
    """The share of comparisons of equal systems that are significant, by test."""
    tests = [p_values(sample) for sample in samples]
    return ", ".join(f"{name} {np.mean([p[name] < LEVEL for p in tests]):.1%}" for name in tests[0])


def clusters(rng: np.random.Generator, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values of two equal systems whose differences correlate by .5 within clusters."""
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    shared, own = rng.normal(size=(2, len(sizes))), rng.normal(size=(2, len(cluster)))
    return np.sqrt(0.5) * (shared[:, cluster] + own), cluster


def with_seeds(rng: np.random.Generator, repeats: int, spread: float) -> np.ndarray:
    """Values (system, query, repeat) of two equal systems of which each repeat has its own mean."""
    queries = rng.normal(0.5, 0.2, (1, 50, 1)) + rng.normal(0, 0.1, (2, 50, 1))
    return queries + rng.normal(0, 0.1, (2, 50, repeats)) + rng.normal(0, spread, (2, 1, repeats))


def ranks_hold(rng: np.random.Generator, systems: int = 6, queries: int = 40) -> bool:
    """Whether all true ranks lie in the intervals of one comparison."""
    truth = np.sort(rng.choice([0.0, 0.02, 0.05, 0.1, 0.2], systems))[::-1]
    x = truth[:, None] + rng.normal(0.4, 0.2, queries) + rng.normal(0, 0.1, (systems, queries))
    values = {f"s{s}": {"m": {str(q): float(v) for q, v in enumerate(row)}} for s, row in enumerate(x)}
    ranks = cf.compare(cf.read_scores(values), test="t").ranks["m"]
    # Equal systems share their ranks: an interval is right if it has all of them.
    return all(
        low <= 1 + np.count_nonzero(truth > truth[s]) and high >= np.count_nonzero(truth >= truth[s])
        for s, (low, high) in enumerate(ranks.values())
    )


def main() -> None:
    """Print one line for each design."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comparisons", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    print(f"cranfield {cf.__version__}; {options.comparisons} comparisons of equal systems, level {LEVEL:g}")
    for what, sizes in (("12 clusters of 4 queries", np.full(12, 4)), ("15 clusters of 1 to 8", np.arange(15) % 8 + 1)):
        drawn = [clusters(rng, sizes) for _ in range(options.comparisons)]
        plain = share([Sample(x) for x, _ in drawn])
        designed = share([Sample(x, Design.of(len(of), None, of.tolist())) for x, of in drawn])
        print(f"{what}, correlation .5: without the design {plain}; with it {designed}")
    for spread in (0.02, 0.05, 0.0):
        for repeats in (2, 3, 5, 10):
            tables = [with_seeds(rng, repeats, spread) for _ in range(options.comparisons)]
            fixed = share([Sample(x.mean(axis=2)) for x in tables])
            random = share([Sample(x.mean(axis=2), None, {0: x[0], 1: x[1]}) for x in tables])
            print(f"{repeats} repeats whose means deviate by {spread:g}: fixed {fixed}; random {random}")
    held = np.mean([ranks_hold(rng) for _ in range(options.comparisons // 4)])
    print(f"true ranks of all 6 systems in their intervals: {held:.1%} of {options.comparisons // 4} comparisons")


if __name__ == "__main__":
    main()
