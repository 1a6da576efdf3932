"""How often gates and histories are wrong, by simulation.

    python benchmarks/simulate_gates.py --replications 2000

Two tables, in percent. Not worse: how often the gate passes although the true loss is the margin; 5 % are allowed.
"before" is the bound of Student's t alone. History: how often fifty commits have any mark, without an effect and with
a drift of -0.002 a commit; "before" is each change tested alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import stdtrit

from cranfield.data import Floats
from cranfield.experiment.history import History
from cranfield.statistics.not_worse import lowest_difference
from cranfield.statistics.resampling import t_test

SIZES = (5, 8, 12, 25, 50, 200)
COMMITS = 50
DRIFT = -0.002
Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]


def lost(share: float, loss: float) -> Draw:
    """A share of the queries loses so much; the others are equal."""
    return lambda rng, shape: -loss * (rng.random(shape) < share)


def won_and_lost(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Of P@1, 10 % of the queries win and 15 % lose."""
    drawn = rng.random(shape)
    return 1.0 * (drawn < 0.1) - 1.0 * (drawn > 0.85)


ROWS: dict[str, tuple[float, Draw]] = {
    "normal, .02": (0.02, lambda rng, shape: rng.normal(-0.02, 0.1, shape)),
    "RR, some first ranks fall to 2, .05": (0.05, lost(0.1, 0.5)),
    "P@1, 5 % of queries lose, .05": (0.05, lost(0.05, 1.0)),
    "P@1, 10 % win, 15 % lose, .05": (0.05, won_and_lost),
    "4 % of queries lose .5, .02": (0.02, lost(0.04, 0.5)),
}


def passes(differences: Floats, margin: float) -> tuple[float, float]:
    """The share of replications (rows) that pass, by Student's t alone and by the gate."""
    n = differences.shape[1]
    mean, variance = differences.mean(axis=1), differences.var(axis=1, ddof=1)
    third = ((differences - mean[:, None]) ** 3).sum(axis=1) / n**3
    error = np.sqrt(variance / n)
    t = mean - stdtrit(n - 1, 0.95) * error
    low = lowest_difference(
        mean,
        variance / n,
        n - 1,
        np.divide(third, error**3, out=np.zeros(len(mean)), where=error > 0),
        units=n,
        differ=(differences != 0).sum(axis=1),
        lost=(differences < 0).sum(axis=1),
        largest=1.0,
    )
    return float((t > -margin).mean()), float((low > -margin).mean())


def commits(rng: np.random.Generator, queries: int, share: float, drift: float) -> Iterator[Floats]:
    """The values of the queries at each commit, which changes a share of them; the last differs by 50 drifts."""
    spread = 0.0171 * np.sqrt(queries)  # so that the first and the last differ by four standard errors
    values = rng.normal(0.5, spread, queries)
    for e in range(COMMITS):
        yield values + drift * e
        values = np.where(rng.random(queries) < share, rng.normal(0.5, spread, queries), values)


def marks(rows: list[Floats]) -> tuple[bool, bool]:
    """Whether a history has any mark: if each change is tested alone, and by `History`."""
    alone = [step.any() and t_test(step[None])[0] < 0.05 for step in np.diff(rows, axis=0)]
    entries = []
    for e, row in enumerate(rows):
        about = {"mean": float(row.mean()), "values": {f"q{i}": value for i, value in enumerate(row.tolist())}}
        entries.append({"runs": {"x": {"m": about}}, "commit": str(e), "provenance": {"time": f"{e:03}"}})
    found = History(tuple(entries))
    changes = (found.change(e, "m", "x") for e in range(1, COMMITS))
    return any(alone), any(change.marked for change in changes if change)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--replications", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    print("not worse, loss at the margin: before -> after, % that pass")
    print(f"{'measure, margin':38}" + "".join(f"{f'n={n}':>14}" for n in SIZES))
    for name, (margin, draw) in ROWS.items():
        found = [passes(draw(rng, (given.replications, n)), margin) for n in SIZES]
        print(f"{name:38}" + "".join(f"{100 * a:6.1f} -> {100 * b:4.1f}" for a, b in found))
    print("\n50 commits: before -> after, % of histories with a mark")
    for queries, share in ((30, 0.1), (30, 0.3), (30, 1.0), (100, 0.1), (100, 0.3), (100, 1.0)):
        for drift in (0.0, DRIFT):
            every = [marks(list(commits(rng, queries, share, drift))) for _ in range(given.replications)]
            before, after = (100 * np.mean(every, axis=0)).tolist()
            what = f"{queries} queries, {share:.0%} change, drift {drift:g}"
            print(f"{what:44}{before:6.1f} -> {after:5.1f}")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
