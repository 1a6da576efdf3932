"""Are tests, gates and histories valid? How often they see a difference between equal systems, by simulation.

.venv/bin/python benchmarks/validity.py --replications 2000 --jobs 2 [--table clusters] [--output FILE]
.venv/bin/python benchmarks/validity.py --page

The first command keeps the rates in benchmarks/validity.json; the second writes docs/validity.md from them.

Everything is computed by what users call: `compare`, the gates of a comparison, a history, intervals from predictions.
Rates depend on ``--seed`` and ``--replications`` only, not on ``--jobs``. The compiled core is not needed: on a machine
that has Python, NumPy and SciPy, copy the packages rich, click, pygments, markdown_it and mdurl into a folder, and run

PYTHONPATH=src:FOLDER python3 benchmarks/validity.py --replications 2000 --jobs 16 --output FILE

To add a table is to add a function with the decorator `table`; its docstring is the text on the page.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

import cranfield as cf
from cranfield import native
from cranfield.analysis.gates import Gate, verdict
from cranfield.experiment.history import History
from cranfield.statistics.survey import ppi_mean

LEVEL = 0.05
SAMPLES = 999
CHUNK = 50  # replications that are simulated together, with a seed of their own
DESIGNED = ("t", "randomisation", "bootstrap")  # the tests that know clusters
SIZES = (5, 8, 12, 25, 50, 200)
COMMITS = 50
DRIFT = -0.002
RATES = Path(__file__).with_suffix(".json")
PAGE = Path(__file__).parents[1] / "docs" / "validity.md"

INTRODUCTION = """\
Are tests, gates and histories valid? Each cell simulates systems whose true differences are known, and counts how often
something happens, in %. A valid test at level .05 calls equal systems different in 5 % of the comparisons.
{doc}`designs` and {doc}`compare` say what the tests do. `python benchmarks/validity.py` computes the rates, and with
`--page` writes this page from them."""

Generator = np.random.Generator
Outcomes = dict[str, bool]  # what happened in a replication
Cells = Iterator[tuple[str, Callable[[], Outcomes]]]
TABLES: dict[str, Callable[[Generator], Cells]] = {}


def table(function: Callable[[Generator], Cells]) -> Callable[[Generator], Cells]:
    """A table of this program: a function of a random generator, which yields cells and how one is simulated once."""
    TABLES[function.__name__.replace("_", "-")] = function
    return function


def scores_of(values: Mapping[str, Any], **attributes: Sequence[Any]) -> cf.Scores:
    """Scores of runs, (query) or (query, repeat), and attributes of the queries."""
    tables = {run: {"m": {f"{q:04}": value for q, value in enumerate(of.tolist())}} for run, of in values.items()}
    rows = zip(*attributes.values(), strict=True)
    queries = {f"{q:04}": dict(zip(attributes, map(str, row), strict=True)) for q, row in enumerate(rows)}
    return cf.read_scores(tables, queries=queries or None)


def rejected(scores: cf.Scores, tests: Sequence[Any] = ("t",), **design: Any) -> Outcomes:
    """Which tests call the two runs different."""
    compared = cf.compare(scores, test=tests[0], tests=tests, samples=SAMPLES, audit=False, **design)["m"]
    return {test: bool(compared.tests[test][0] < LEVEL) for test in tests}


def in_clusters(rng: Generator, number: int, correlation: float, *, even: bool, skewed: bool) -> Outcomes:
    """Two equal systems whose differences correlate within clusters; skewed: many small wins, few large losses."""
    sizes = np.full(number, 5) if even else np.minimum(rng.geometric(0.25, number), 20)
    cluster = np.repeat(np.arange(number), sizes)
    shared, own = (1 - rng.exponential(size=n) if skewed else rng.normal(size=n) for n in (number, len(cluster)))
    difference = np.sqrt(correlation) * shared[cluster] + np.sqrt(1 - correlation) * own
    scores = scores_of({"a": difference, "b": np.zeros_like(difference)}, cluster=cluster)
    return {"t, no design": rejected(scores)["t"], **rejected(scores, DESIGNED, cluster="cluster")}


@table
def clusters(rng: Generator) -> Cells:
    """Clusters of queries: even (5 queries each) and uneven (1 to 20), with an intraclass correlation."""
    cells = [(False, *cell) for cell in product((True, False), (5, 8, 12, 20, 50), (0, 0.2, 0.5))]
    cells += [(True, *cell) for cell in product((True, False), (5, 8, 12, 20, 50), (0.5,))]
    for skewed, even, number, correlation in cells:
        what = f"{number} {'even' if even else 'uneven'} clusters{', skewed' if skewed else ''}"
        draw = partial(in_clusters, rng, number, correlation, even=even, skewed=skewed)
        yield f"{what}, correlation {correlation:g}", draw


def with_repeats(
    rng: Generator, repeats: Sequence[int], spread: float, seeded: Any, **attributes: Sequence[Any]
) -> Outcomes:
    """Two equal systems with repeats, whose seeds deviate alike on queries with the same label in ``seeded``.

    A label below 0: seeds do not matter there.
    """
    seeded = np.asarray(seeded)
    queries = len(seeded)
    hard, values = rng.normal(0.5, 0.2, (queries, 1)), {}
    for run, number in zip("ab", repeats, strict=True):
        own = hard + rng.normal(0, 0.1, (queries, 1)) + rng.normal(0, 0.1, (queries, number))
        seeds = rng.normal(0, spread, (seeded.max() + 2, number))
        seeds[-1] = 0
        scored = own + seeds[seeded]
        values[run] = scored if number > 1 else scored[:, 0]
    scores, design = scores_of(values, **attributes), {name: name for name in attributes}
    random = rejected(scores, ("t", "bootstrap"), **design)
    return {
        **{f"random, {test}": different for test, different in random.items()},
        "fixed, t": rejected(scores, repeats="fixed", **design)["t"],
    }


@table
def repeats(rng: Generator) -> Cells:
    """Random repeats in one collection; the means of repeats of a run have this standard deviation."""
    cells = [(n, (r, r), spread) for n, spread, r in product((12, 50), (0, 0.02, 0.05), (2, 3, 5, 10))]
    cells += [(50, (2, 1), 0.05), (50, (3, 1), 0.05), (50, (5, 1), 0.05), (50, (3, 1), 0.0)]
    for queries, numbers, spread in cells:
        draw = partial(with_repeats, rng, numbers, spread, [0] * queries)
        yield f"{queries} queries, {numbers[0]} and {numbers[1]} repeats, deviation {spread:g}", draw
    cluster = [q // 4 for q in range(80)]
    for number, spread, seeded, what in (
        (3, 0, [0] * 80, "deviation 0"),
        (3, 0.02, [0] * 80, "deviation 0.02"),
        (3, 0.05, cluster, "deviation 0.05, another in each cluster"),
        (5, 0.05, cluster, "deviation 0.05, another in each cluster"),
    ):
        draw = partial(with_repeats, rng, (number, number), spread, seeded, cluster=cluster)
        yield f"20 clusters of 4, {number} and {number} repeats, {what}", draw


@table
def repeats_in_collections(rng: Generator) -> Cells:
    """Random repeats with several collections, whose means are averaged."""
    for sizes, seeds, spread in (
        ((20, 200), "in the small one only", 0.1),
        ((20, 200), "alike in all", 0.05),
        ((20, 200), "nowhere", 0.0),
        ((100, 100), "in the first one only", 0.1),
        ((10, 40, 200), "alike in all", 0.05),
        ((10, 40, 200), "by collection", 0.05),
        ((10, 40, 200), "nowhere", 0.0),
    ):
        collection = np.repeat(np.arange(len(sizes)), sizes)
        seeded = collection if "by" in seeds else np.where(collection > 0, -1 if "only" in seeds else 0, 0)
        for number in (3, 5):
            draw = partial(with_repeats, rng, (number, number), spread, seeded, collection=collection)
            yield f"{', '.join(map(str, sizes))} queries, {number} repeats, seeds matter {seeds}", draw


def by_judges(rng: Generator, queries: int, number: int) -> Outcomes:
    """The tests of queries with several judges, and t that takes the queries of each judge as other ones."""
    judge, topic = np.divmod(np.arange(queries * number), queries)
    difference = rng.normal(size=queries)[topic] + rng.normal(0, 0.2, len(topic))
    scores = scores_of({"a": difference, "b": np.zeros_like(difference)}, judge=judge, topic=topic)
    apart = rejected(scores, collection="judge")["t"]
    return {"t, other queries": apart, **rejected(scores, DESIGNED, collection="judge", cluster="topic")}


@table
def judges(rng: Generator) -> Cells:
    """The same queries judged by several people, as collections: taken as other queries, and as the same."""
    for queries, number in product((8, 12, 30), (2, 3)):
        yield f"{queries} queries, {number} judges", partial(by_judges, rng, queries, number)


@table
def bca_coverage(rng: Generator) -> Cells:
    """How often the 95 % BCa interval of a mean difference has the true one: normal differences."""

    def draw(queries: int) -> Outcomes:
        scores = scores_of({"a": rng.normal(size=queries), "b": np.zeros(queries)})
        pair = cf.compare(scores, test="t", audit=False)["m"].pairs[0]
        return {"coverage": pair.bca_low <= 0 <= pair.bca_high}

    for queries in (5, 8, 12, 25, 50):
        yield f"{queries} queries", partial(draw, queries)


@table
def all_pairs(rng: Generator) -> Cells:
    """All pairs of ten runs: how often any two equal ones are called different."""
    number = 10
    clone = np.repeat([True, False], [8, 2])[:, None]  # eight variants of one system, and two others

    def draw(what: str, queries: int) -> Outcomes:
        x = rng.normal(size=(number, queries))
        if "clones" in what:
            x = np.where(clone, rng.normal(size=queries) + 0.1 * x, x)
        equal = number - ("bad" in what)
        x[equal:] -= 3
        scores = scores_of({f"r{r}": row for r, row in enumerate(x)})
        compared = cf.compare(scores, test="t", tests=("tukey", "randomised-tukey"), samples=499, audit=False)["m"]
        null = (compared.places < equal).all(axis=1)
        different = {"t, Holm": compared.significant}
        different |= {name: compared.tests[name] < LEVEL for name in ("tukey", "randomised-tukey")}
        return {name: bool(pairs[null].any()) for name, pairs in different.items()}

    for what in ("10 equal runs", "8 near clones and 2 others", "9 equal runs and a bad one"):
        for queries in (12, 50):
            yield f"{what}, {queries} queries", partial(draw, what, queries)


@table
def ranks(rng: Generator) -> Cells:
    """How often the intervals of ranks of six systems, some of them equal, have all true ranks."""

    def draw(systems: int = 6, queries: int = 40) -> Outcomes:
        truth = np.sort(rng.choice([0.0, 0.02, 0.05, 0.1, 0.2], systems))[::-1]
        x = truth[:, None] + rng.normal(0.4, 0.2, queries) + rng.normal(0, 0.1, (systems, queries))
        intervals = cf.compare(scores_of({f"s{s}": row for s, row in enumerate(x)}), test="t", audit=False).ranks["m"]
        # Equal systems share their ranks: an interval is right if it has all of them.
        held = (
            low <= 1 + np.count_nonzero(truth > truth[s]) and high >= np.count_nonzero(truth >= truth[s])
            for s, (low, high) in enumerate(intervals.values())
        )
        return {"all ranks right": all(held)}

    yield "6 systems, 40 queries", draw


def passes(scores: cf.Scores, margin: float) -> Outcomes:
    """Whether the gate `not_worse_by` passes, and whether Student's t alone would."""
    comparison = cf.compare(scores, test="t", baseline="old", audit=False)
    ((measure,), pair) = comparison.measures, comparison.pairs[0]
    bound = pair.difference - stats.t.ppf(1 - LEVEL, pair.degrees) * sum(pair.variance) ** 0.5
    gate = verdict({measure: Gate(not_worse_by=margin)}, scores, comparison).outcome
    return {"t alone": bound > -margin, "gate": gate == "passed"}


@cache
def counted_passes(measure: str, margin: float, queries: int, won: int, lost: int) -> Outcomes:
    """The same for rankings of which so many are better and worse; by P@2, half of what is found is lost."""
    good, bad = (["a", "b"], ["a", "x"]) if measure == "P@2" else (["a", "x"], ["x", "a"])
    qrels = {str(q): {"a": 1, "b": 1} if measure == "P@2" else {"a": 1} for q in range(queries)}
    old = {q: bad if int(q) < won else good for q in qrels}
    new = {q: good if int(q) < won else bad if int(q) < won + lost else old[q] for q in qrels}
    return passes(cf.evaluate(qrels, {"old": old, "new": new}, measure), margin)


@table
def not_worse(rng: Generator) -> Cells:
    """How often the gate passes although the true loss is the margin; with n queries."""
    shares: dict[str, tuple[str, float, float, float]] = {
        "RR, 10 % of first ranks fall to 2, margin .05": ("RR", 0.05, 0, 0.1),
        "P@1, 5 % of queries lose, margin .05": ("P@1", 0.05, 0, 0.05),
        "P@1, 10 % win and 15 % lose, margin .05": ("P@1", 0.05, 0.1, 0.15),
        "4 % of queries lose .5, margin .02": ("P@2", 0.02, 0, 0.04),
    }

    def normal(n: int) -> Outcomes:
        return passes(scores_of({"old": np.zeros(n), "new": rng.normal(-0.02, 0.1, n)}), 0.02)

    def discrete(n: int, measure: str, margin: float, wins: float, losses: float) -> Outcomes:
        won, lost, _ = rng.multinomial(n, [wins, losses, 1 - wins - losses]).tolist()
        return counted_passes(measure, margin, n, won, lost)

    for n in SIZES:
        yield f"normal differences, margin .02, n = {n}", partial(normal, n)
    for (what, shape), n in product(shares.items(), SIZES):
        yield f"{what}, n = {n}", partial(discrete, n, *shape)


def commits(rng: Generator, queries: int, share: float, drift: float, *, add_up: bool) -> list[np.ndarray]:
    """The values of the queries at each commit, which changes a share of them: to other values, or by adding to them.

    The first and the last differ by four standard errors, if there is a drift.
    """
    spread = 0.0171 * np.sqrt(queries)
    step = spread * np.sqrt(2 / ((COMMITS - 1) * share))
    values, rows = rng.normal(0.5, spread, queries), []
    for e in range(COMMITS):
        rows.append(values + drift * e)
        other = values + rng.normal(0, step, queries) if add_up else rng.normal(0.5, spread, queries)
        values = np.where(rng.random(queries) < share, other, values)
    return rows


def marks(rng: Generator, queries: int, share: float, drift: float, *, add_up: bool) -> Outcomes:
    """Whether a history has any mark: if each change is tested alone, and in the table that users see."""
    rows = commits(rng, queries, share, drift, add_up=add_up)

    changes = np.concatenate([np.diff(rows, axis=0), [rows[-1] - rows[0]]])
    error = changes.std(axis=1, ddof=1) / np.sqrt(queries)
    critical = stats.t.ppf(1 - LEVEL / 2, queries - 1)
    *steps, last = (error > 1e-9) & (np.abs(changes.mean(axis=1)) > critical * error)
    lines: list[dict[str, Any]] = []
    for e, row in enumerate(rows):
        about = {"mean": float(row.mean()), "values": {f"q{i}": value for i, value in enumerate(row.tolist())}}
        lines.append({"runs": {"x": {"m": about}}, "commit": str(e), "provenance": {"time": f"{e:03}"}})
    shown = (entry["runs"]["x"]["m"] for entry in History(tuple(lines)).to_dict()["entries"])
    return {
        "each change alone": any(steps),
        "last against first": bool(last),
        "history": any(change.get("marked") for change in shown),
    }


@table
def histories(rng: Generator) -> Cells:
    """Fifty commits: how often a history has any mark, without an effect and with a drift of -0.002 a commit."""
    for add_up, queries, share, drift in product((False, True), (30, 100), (0.1, 0.3, 1.0), (0.0, DRIFT)):
        what = "adds to" if add_up else "replaces"
        name = f"each commit {what} {share:.0%} of {queries} values, {f'drift {drift:g}' if drift else 'no effect'}"
        yield name, partial(marks, rng, queries, share, drift, add_up=add_up)


def covers(rng: Generator, what: str, human: int, others: int) -> Outcomes:
    """Whether 95 % intervals of a mean from human and predicted scores have it: of all queries, and of these."""
    number = human + others
    if what.startswith("P@1"):
        truth = float(what.split()[-1])
        y = (rng.random(number) < truth).astype(float)
        f = np.where(rng.random(number) < 0.85, y, 1 - y)
    elif what == "RR":
        ranks = rng.geometric(0.5, (2, number))
        y, truth = 1 / ranks[0], float(np.log(2))
        f = np.where(rng.random(number) < 0.85, y, 1 / ranks[1])
    else:
        y = rng.normal(0.5, 0.2, number)
        truth, f = 0.5, y + rng.normal(0, 0.1, number)
    covered = {}
    for method, mean in (("loo", truth), ("fixed", y.mean())):
        estimate = ppi_mean(y[:human], f[:human], f[human:], method=method)
        covered[method] = bool(estimate.low - 1e-9 <= mean <= estimate.high + 1e-9)
    return covered


@table
def predictions(rng: Generator) -> Cells:
    """How often intervals from human and predicted scores have the mean; the judge agrees on 85 % of the queries."""
    for what, (human, others) in product(
        ("continuous", "P@1 of 0.5", "P@1 of 0.8", "RR"), ((5, 45), (10, 40), (15, 28), (30, 100))
    ):
        yield f"{what}, {human} human queries and {others} others", partial(covers, rng, what, human, others)


Task = tuple[str, str, int, int, int]  # table, cell, seed, number of the chunk, replications


def simulate(task: Task) -> Counter[str]:
    """How often each thing happens in a chunk of replications of a cell."""
    name, wanted, seed, chunk, replications = task
    rng = np.random.default_rng([seed, zlib.crc32(f"{name} {wanted}".encode()), chunk])
    draw = dict(TABLES[name](rng))[wanted]
    counts: Counter[str] = Counter()
    for _ in range(replications):
        counts.update({outcome: int(happened) for outcome, happened in draw().items()})
    return counts


def tasks_of(name: str, text: str, seed: int, replications: int) -> list[Task]:
    """The chunks of every cell of a table whose name has the text."""
    cells = [cell for cell, _ in TABLES[name](np.random.default_rng(0)) if text in cell]
    starts = range(0, replications, CHUNK)
    return [
        (name, cell, seed, chunk, min(CHUNK, replications - start))
        for cell in cells
        for chunk, start in enumerate(starts)
    ]


def rates_of(tasks: Sequence[Task], counts: Iterable[Counter[str]], replications: int) -> dict[str, dict[str, float]]:
    """The share of replications in which each thing happens, by cell; printed when the last chunk of a cell is done."""
    totals: dict[str, Counter[str]] = {}
    for number, (task, counted) in enumerate(zip(tasks, counts, strict=True), 1):
        cell = task[1]
        totals.setdefault(cell, Counter()).update(counted)
        if number == len(tasks) or tasks[number][1] != cell:
            texts = [f"{outcome} {100 * count / replications:.1f}" for outcome, count in totals[cell].items()]
            print(f"{cell}: {', '.join(texts)}", flush=True)
    return {cell: {name: count / replications for name, count in of.items()} for cell, of in totals.items()}


def page(rates: Mapping[str, Any]) -> str:
    """The page of the documentation that shows the rates."""
    lines = ["# Simulations", "", INTRODUCTION]
    for name, function in TABLES.items():
        if name not in rates:
            continue
        of_table = rates[name]
        outcomes = list(next(iter(of_table["cells"].values())))
        error = 100 * (LEVEL * (1 - LEVEL) / of_table["replications"]) ** 0.5
        lines += [
            "",
            f"## {name.replace('-', ' ').capitalize()}",
            "",
            str(function.__doc__).replace("\n    ", "\n"),
            "",
        ]
        lines += [
            f"{of_table['replications']:,} replications of each cell; the standard error of 5 % is {error:.1f} %.",
            "",
        ]
        lines += [f"|  | {' | '.join(outcomes)} |", "|---" * (len(outcomes) + 1) + "|"]
        for cell, of_cell in of_table["cells"].items():
            lines.append(f"| {cell} | {' | '.join(f'{100 * of_cell[outcome]:.1f}' for outcome in outcomes)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print and keep the rates, or write the page from them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--table", action="append", choices=list(TABLES), help="by default all")
    parser.add_argument("--cell", default="", help="only cells whose name has this text")
    parser.add_argument("--output", type=Path, default=RATES, help="the file of rates; other tables in it are kept")
    parser.add_argument("--page", action="store_true", help="only write docs/validity.md from the file of rates")
    options = parser.parse_args()
    rates = json.loads(options.output.read_text()) if options.output.exists() else {}
    if options.page:
        PAGE.write_text(page(rates))
        return
    core = "compiled core" if native.NATIVE else "no compiled core: plain Python"
    print(f"cranfield {cf.__version__} ({core}), Python {platform.python_version()}, NumPy {np.__version__}; ", end="")
    print(f"{options.replications} replications of each cell, level {LEVEL:g}, in %", flush=True)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # for the other processes: each has a core
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        for name in options.table or TABLES:
            started = time.perf_counter()
            print(f"\n{name}: {TABLES[name].__doc__}", flush=True)
            tasks = tasks_of(name, options.cell, options.seed, options.replications)
            counts = pool.imap(simulate, tasks) if options.jobs > 1 else map(simulate, tasks)
            cells = rates_of(tasks, counts, options.replications)
            print(f"({time.perf_counter() - started:.0f} s)", flush=True)
            rates[name] = {"replications": options.replications, "seed": options.seed, "cells": cells}
            options.output.write_text(json.dumps(rates, indent=1) + "\n")


if __name__ == "__main__":
    main()
