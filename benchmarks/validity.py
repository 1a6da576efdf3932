"""Are tests valid? How often equal systems are called different at the level .05, by simulation.

.venv/bin/python benchmarks/validity.py --replications 2000 [--table clusters] [--save FILE] [--before FILE]

``--save`` keeps the rates; ``--before`` shows those of an earlier version beside them. To add a table is to add a
function with the decorator `table`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import cranfield as cf
from cranfield.analysis.significance import ComparisonSettings, p_values
from cranfield.statistics.design import Design, Sample
from cranfield.statistics.intervals import bca

PAIR = np.array([[0, 1]])
LEVEL = 0.05
SAMPLES = 999
DESIGNED = ("t", "randomisation", "bootstrap")  # the tests that know clusters

Rates = dict[str, float]
Rows = Iterator[tuple[str, Rates]]
TABLES: dict[str, Callable[[np.random.Generator, int], Rows]] = {}


def table(
    function: Callable[[np.random.Generator, int], Rows],
) -> Callable[[np.random.Generator, int], Rows]:
    """A table of this program: a function of a random generator and the number of replications, which yields rows."""
    TABLES[function.__name__.replace("_", "-")] = function
    return function


def p_value(sample: Sample, test: Any) -> float:
    """The p-value of two runs, as `compare` computes it."""
    settings = ComparisonSettings(test=test, samples=SAMPLES)
    return float(p_values(sample, PAIR, settings)[test][0])


def rates(replications: int, draw: Callable[[], Mapping[str, tuple[Sample, str]]]) -> Rates:
    """The share of replications in which each test of each sample calls equal systems different."""
    found = [{name: p_value(*case) < LEVEL for name, case in draw().items()} for _ in range(replications)]
    return {name: float(np.mean([one[name] for one in found])) for name in found[0]}


def uneven(rng: np.random.Generator, clusters: int) -> np.ndarray:
    """Sizes of clusters from 1 to 20, most of them small."""
    return np.minimum(rng.geometric(0.25, clusters), 20)


def in_clusters(rng: np.random.Generator, sizes: np.ndarray, correlation: float, *, skewed: bool = False) -> Sample:
    """Two equal systems whose differences correlate within clusters; skewed: many small wins, few large losses."""
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    parts = len(sizes), len(cluster)
    shared, own = (1 - rng.exponential(size=n) if skewed else rng.normal(size=n) for n in parts)
    difference = np.sqrt(correlation) * shared[cluster] + np.sqrt(1 - correlation) * own
    return Sample(np.stack([difference, np.zeros_like(difference)]), Design.of(parts[1], None, cluster.tolist()))


def tests_of_clusters(
    rng: np.random.Generator, number: int, correlation: float, *, differ: bool, skewed: bool
) -> dict[str, tuple[Sample, str]]:
    """The tests of clusters, and t without their design."""
    sizes = uneven(rng, number) if differ else np.full(number, 5)
    sample = in_clusters(rng, sizes, correlation, skewed=skewed)
    return {"t, no design": (Sample(sample.x), "t"), **{test: (sample, test) for test in DESIGNED}}


@table
def clusters(rng: np.random.Generator, replications: int) -> Rows:
    """Clusters of queries: even (5 queries each) and uneven (1 to 20), with an intraclass correlation."""
    cells = [(False, *cell) for cell in product((False, True), (5, 8, 12, 20, 50), (0, 0.2, 0.5))]
    cells += [(True, *cell) for cell in product((False, True), (5, 8, 12, 20, 50), (0.5,))]
    for skewed, differ, number, correlation in cells:
        what = f"{number} {'uneven' if differ else 'even'} clusters{', skewed' if skewed else ''}"
        draw = partial(tests_of_clusters, rng, number, correlation, differ=differ, skewed=skewed)
        yield f"{what}, correlation {correlation:g}", rates(replications, draw)


def with_seeds(
    rng: np.random.Generator, queries: int, repeats: tuple[int, int], spread: float, at: slice = slice(None)
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Two equal systems whose repeats deviate on these queries: means (system, query), and values (query, repeat)."""
    hard = rng.normal(0.5, 0.2, (queries, 1))
    tables = []
    for number in repeats:
        values = hard + rng.normal(0, 0.1, (queries, 1)) + rng.normal(0, 0.1, (queries, number))
        values[at] += rng.normal(0, spread, number)
        tables.append(values)
    return np.stack([values.mean(axis=1) for values in tables]), tables


def tests_of_repeats(
    rng: np.random.Generator, queries: int, repeats: tuple[int, int], spread: float, **more: Any
) -> dict[str, tuple[Sample, str]]:
    """Random repeats by t and bootstrap, and fixed ones by t; ``more``: where they deviate, and the design."""
    design = more.pop("design", None)
    x, tables = with_seeds(rng, queries, repeats, spread, **more)
    random = Sample(x, design, {r: values for r, values in enumerate(tables) if values.shape[1] > 1})
    return {
        "random, t": (random, "t"),
        "random, bootstrap": (random, "bootstrap"),
        "fixed, t": (Sample(x, design), "t"),
    }


@table
def repeats(rng: np.random.Generator, replications: int) -> Rows:
    """Random repeats in one collection; the means of repeats of a run have this standard deviation."""
    cells = [(n, (r, r), spread) for n, spread, r in product((12, 50), (0, 0.02, 0.05), (2, 3, 5, 10))]
    for queries, numbers, spread in [*cells, (50, (3, 1), 0.05), (50, (5, 1), 0.05), (50, (3, 1), 0.0)]:
        rate = rates(replications, partial(tests_of_repeats, rng, queries, numbers, spread))
        yield f"{queries} queries, {numbers[0]} and {numbers[1]} repeats, deviation {spread:g}", rate
    design = Design.of(80, None, [q // 4 for q in range(80)])
    for spread in (0, 0.02):
        rate = rates(replications, partial(tests_of_repeats, rng, 80, (3, 3), spread, design=design))
        yield f"20 clusters of 4, 3 and 3 repeats, deviation {spread:g}", rate


@table
def repeats_in_collections(rng: np.random.Generator, replications: int) -> Rows:
    """Random repeats with several collections, whose means are averaged."""
    for sizes, which, spread in (
        ((20, 200), "small one only", 0.1),
        ((20, 200), "all alike", 0.05),
        ((100, 100), "first one only", 0.1),
        ((20, 200), "none", 0.0),
        ((10, 40, 200), "all alike", 0.05),
    ):
        of = [c for c, size in enumerate(sizes) for _ in range(size)]
        design, at = Design.of(len(of), of), slice(0, sizes[0] if "only" in which else None)
        for number in (3, 5):
            draw = partial(tests_of_repeats, rng, len(of), (number, number), spread, at=at, design=design)
            rate = rates(replications, draw)
            yield f"{' and '.join(map(str, sizes))} queries, {number} repeats, seeds matter in: {which}", rate


def tests_of_judges(rng: np.random.Generator, queries: int, number: int) -> dict[str, tuple[Sample, str]]:
    """The tests of queries with several judges, and t that takes the queries of each judge as other ones."""
    of_judge, topic = np.divmod(np.arange(queries * number), queries)
    difference = rng.normal(size=queries)[topic] + rng.normal(0, 0.2, len(topic))
    x = np.stack([difference, np.zeros_like(difference)])
    same = Sample(x, Design.of(len(topic), of_judge.tolist(), topic.tolist()))
    apart = Sample(x, Design.of(len(topic), of_judge.tolist()))
    return {"t, other queries": (apart, "t"), **{test: (same, test) for test in DESIGNED}}


@table
def judges(rng: np.random.Generator, replications: int) -> Rows:
    """The same queries judged by several people, as collections: taken as other queries, and as the same."""
    for queries, number in product((8, 12, 30), (2, 3)):
        rate = rates(replications, partial(tests_of_judges, rng, queries, number))
        yield f"{queries} queries, {number} judges", rate


@table
def bca_coverage(rng: np.random.Generator, replications: int) -> Rows:
    """How often the 95 % BCa interval of a mean difference has the true one: normal differences."""
    for queries in (5, 8, 12, 25, 50):
        held = []
        for _ in range(replications):
            x = np.stack([rng.normal(size=queries), np.zeros(queries)])
            ((low, high),) = bca(Sample(x), PAIR, resamples=SAMPLES).tolist()
            held.append(low <= 0 <= high)
        yield f"{queries} queries", {"coverage": float(np.mean(held))}


@table
def all_pairs(rng: np.random.Generator, replications: int) -> Rows:
    """Ten runs, all pairs: how often any two equal ones are called different."""
    number = 10
    of_first = np.repeat([0, 1], [8, 2])  # eight variants of one system, and two others
    for what, queries in product(
        ("10 equal runs", "8 near clones and 2 others", "9 equal runs and a bad one"), (12, 50)
    ):
        equal = number - 1 if "bad" in what else number
        found: list[Rates] = []
        for _ in range(replications):
            x = rng.normal(size=(number, queries))
            if "clones" in what:
                x = np.where(of_first[:, None] == 0, rng.normal(size=queries) + 0.1 * x, x)
            x[equal:] -= 3
            pairs = np.array([(a, b) for a in range(equal) for b in range(a)])
            means = x[:equal].mean(axis=1)
            ends = np.array([[means.argmax(), means.argmin()]])  # the largest difference of equal runs
            lowest = {"t, Holm": len(pairs) * p_values(Sample(x), pairs, ComparisonSettings(test="t"))["t"].min()}
            for name in ("tukey", "randomised-tukey"):
                settings = ComparisonSettings(test=name, samples=499)
                lowest[name] = p_values(Sample(x), ends, settings)[name][0]
            found.append({name: float(value < LEVEL) for name, value in lowest.items()})
        yield f"{what}, {queries} queries", {name: float(np.mean([one[name] for one in found])) for name in found[0]}


@table
def ranks(rng: np.random.Generator, replications: int) -> Rows:
    """How often the intervals of ranks of six systems, some of them equal, have all true ranks."""
    held = [_ranks_hold(rng) for _ in range(replications // 4)]
    yield "6 systems, 40 queries", {"all ranks right": float(np.mean(held))}


def _ranks_hold(rng: np.random.Generator, systems: int = 6, queries: int = 40) -> bool:
    truth = np.sort(rng.choice([0.0, 0.02, 0.05, 0.1, 0.2], systems))[::-1]
    x = truth[:, None] + rng.normal(0.4, 0.2, queries) + rng.normal(0, 0.1, (systems, queries))
    values = {f"s{s}": {"m": {str(q): float(v) for q, v in enumerate(row)}} for s, row in enumerate(x)}
    found = cf.compare(cf.read_scores(values), test="t").ranks["m"]
    # Equal systems share their ranks: an interval is right if it has all of them.
    return all(
        low <= 1 + np.count_nonzero(truth > truth[s]) and high >= np.count_nonzero(truth >= truth[s])
        for s, (low, high) in enumerate(found.values())
    )


def main() -> None:
    """Print the tables, and keep their rates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--table", action="append", choices=list(TABLES), help="by default all")
    parser.add_argument("--save", type=Path, help="write the rates to this file, as JSON")
    parser.add_argument("--before", type=Path, help="the rates of an earlier version")
    options = parser.parse_args()
    before = json.loads(options.before.read_text()) if options.before else {}
    found: dict[str, dict[str, Rates]] = {}
    print(f"cranfield {cf.__version__}; {options.replications} replications of each cell, level {LEVEL:g}, in %")
    for name in options.table or TABLES:
        print(f"\n{name}: {TABLES[name].__doc__}", flush=True)
        of_table = found.setdefault(name, {})
        for cell, rate in TABLES[name](np.random.default_rng(options.seed), options.replications):
            old = before.get(name, {}).get(cell, {})
            texts = [f"{of} {_change(old.get(of), value)}" for of, value in rate.items()]
            print(f"{cell}: {', '.join(texts)}", flush=True)
            of_table[cell] = rate
            if options.save:
                options.save.write_text(json.dumps(found, indent=1) + "\n")


def _change(old: float | None, new: float) -> str:
    return f"{100 * new:.1f}" if old is None else f"{100 * old:.1f} -> {100 * new:.1f}"


if __name__ == "__main__":
    main()
