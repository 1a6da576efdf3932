"""How short should a list be? What cutting lists would buy: at the best depths, and at a score that was learned.

Four answers for each run and measure, from the unreachable to the practical: every list at its own best depth; all
lists at one depth; all lists at one score; and that score chosen on one half of the queries and tried on the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cranfield import io
from cranfield.alignment import Aligner
from cranfield.arguments import whole
from cranfield.batch import Booleans
from cranfield.data import Floats, Integers
from cranfield.errors import MeasureError, UsageError
from cranfield.evaluation.columns import make_columns
from cranfield.evaluation.evaluator import read_runs
from cranfield.evaluation.run_scores import check_query_overlap
from cranfield.measures import Measure
from cranfield.ranking.tie_rules import TIE_RULES
from cranfield.statistics.correlation import SAME
from cranfield.studies import saving
from cranfield.studies.cutting import Lists, Walk

# As published, nDCG with a terminal document can exceed 1 where gains are graded; a search for the best cut finds that.
DEFAULT = ("AP[terminal]", "nDCG(ideal='bounded')[terminal]")
# Tie rules by which a list has one order, and that of its scores.
DEFINITE = tuple(name for name, rule in TIE_RULES.items() if rule.key == "score" and not rule.leaves_ties)
POINTS = 200  # thresholds kept of a curve; all are tried


@dataclass(frozen=True, eq=False)
class Curve:
    """Mean scores along a scale of cuts: ``low`` and ``high`` are 95 % intervals over queries (Student's t).

    ``at``: the depths or thresholds; ``kept``: how many documents a list holds there, in the mean.
    """

    at: Floats
    mean: Floats
    low: Floats
    high: Floats
    kept: Floats


@dataclass(frozen=True, eq=False)
class Splits:
    """What happened on each random split: the threshold learned, and what it and no cut scored on the other half."""

    threshold: Floats
    score: Floats
    uncut: Floats

    @property
    def gain(self) -> Floats:
        """What the threshold bought on each half that it was not chosen on."""
        return self.score - self.uncut

    @staticmethod
    def spread(values: Floats) -> tuple[float, float, float]:
        """The 5th, 50th and 95th percentile over splits; each is a value that occurred."""
        low, middle, high = np.quantile(values, [0.05, 0.5, 0.95], method="inverted_cdf")
        return float(low), float(middle), float(high)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What cutting would buy one run by one measure; all scores are means over queries.

    ``oracle``: each list at its best depth, ``oracle_depth`` in the mean; ``depth`` and ``depth_score``: all lists
    at one; ``threshold`` and ``threshold_score``: documents kept that score at least this, chosen on all queries;
    ``splits``: chosen on half of them.
    """

    run: str
    measure: str
    queries: int
    length: float
    uncut: float
    oracle: float
    oracle_depth: float
    depth: int
    depth_score: float
    threshold: float
    threshold_score: float
    by_depth: Curve
    by_threshold: Curve
    splits: Splits

    def to_dict(self) -> dict[str, Any]:
        """Plain data; thresholds may be the texts "inf" (nothing is kept) and "-inf" (nothing is cut)."""
        found = asdict(self)
        for name in ("by_depth", "by_threshold", "splits"):
            found[name] = {key: saving.listed(values) for key, values in found[name].items()}
        found["threshold"] = saving.listed(np.array([self.threshold]))[0]
        found["held_out"] = {
            "score": float(self.splits.score.mean()),
            "uncut": float(self.splits.uncut.mean()),
            "gain": dict(zip(("p5", "p50", "p95"), self.splits.spread(self.splits.gain), strict=True)),
            "threshold": dict(
                zip(
                    ("p5", "p50", "p95"),
                    saving.listed(np.array(self.splits.spread(self.splits.threshold))),
                    strict=True,
                )
            ),
        }
        return found

    @classmethod
    def of_dict(cls, found: dict[str, Any]) -> Outcome:
        """What `to_dict` returned, as a result again."""
        left = {name: value for name, value in found.items() if name != "held_out"}
        for name, kind in (("by_depth", Curve), ("by_threshold", Curve), ("splits", Splits)):
            left[name] = kind(**{key: saving.array(values) for key, values in found[name].items()})
        left["threshold"] = float(found["threshold"])
        return cls(**left)


@dataclass(frozen=True, eq=False)
class Stopping(saving.Study):
    """What cutting would buy each run by each measure."""

    STUDY = "stopping"

    outcomes: tuple[Outcome, ...]
    repeats: int
    seed: int
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data: what `save` writes and ``--format json`` prints."""
        return {
            "study": self.STUDY,
            "settings": {"repeats": self.repeats, "seed": self.seed},
            "outcomes": [one.to_dict() for one in self.outcomes],
            "notes": list(self.notes),
        }

    @classmethod
    def of_dict(cls, found: dict[str, Any]) -> Stopping:
        """What `to_dict` returned, as a result again."""
        outcomes = tuple(Outcome.of_dict(one) for one in found["outcomes"])
        return cls(outcomes, found["settings"]["repeats"], found["settings"]["seed"], tuple(found["notes"]))


def stopping(
    qrels: Any,
    runs: Any,
    measures: str | Measure | Sequence[str | Measure] = DEFAULT,
    *,
    repeats: int = 100,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Stopping:
    """What cutting the lists of runs would buy, and at which score to cut them.

    ``repeats`` random splits of the queries into two halves, the same for all runs, begin at ``seed``. Queries
    where a measure is undefined are left out; a judged query without an answer has an empty list.
    """
    repeats, seed = whole("repeats", repeats), whole("seed", seed, 0)
    wanted = list(dict.fromkeys(_checked(column.measure) for column in make_columns(measures)))
    given, judgments = read_runs(runs), io.read_qrels(qrels)
    aligner = Aligner(judgments)
    outcomes: list[Outcome] = []
    notes: dict[str, None] = {}
    for i, one in enumerate(given):
        lists = Lists.of(one, aligner)
        check_query_overlap(one, lists.alignment)
        for measure in wanted:
            table = lists.by_depth(measure)
            defined = np.any(~np.isnan(table), axis=1)
            if not defined.all():
                notes[f"{measure} is undefined for {(~defined).sum()} of {len(defined)} queries: left out"] = None
            outcomes.append(_outcome(one.name, measure, lists, table, defined, repeats, seed))
        if progress is not None:
            progress(i + 1, len(given))
    return Stopping(tuple(outcomes), repeats, seed, tuple(notes))


def _checked(measure: Measure) -> Measure:
    if measure.definition.aggregate != "mean":
        raise MeasureError(f"{measure.symbol} is no mean over queries, and has no best cut")
    if measure.views.ties not in (None, *DEFINITE):
        known = ", ".join(DEFINITE)
        raise MeasureError(
            f"{measure}: a list can be cut only in one order, that of its scores", hint=f"use ties={known}"
        )
    return measure


def _outcome(
    run: str, measure: Measure, lists: Lists, table: Floats, defined: Booleans, repeats: int, seed: int
) -> Outcome:
    n = int(defined.sum())
    if n < 2:
        raise UsageError(
            f"{measure}: queries are split into two halves, and there {'is only one' if n else 'is none'}",
            hint="it takes at least two judged queries for which the measure is defined",
        )
    # A cut that leaves a measure undefined has left nothing to find: it counts 0 beside the other cuts.
    values = np.where(defined[:, None], np.nan_to_num(table), 0)
    best = values.max(axis=1, keepdims=True)
    depths = (values >= best - SAME).argmax(axis=1)
    # In one sum, so that rounding cannot put the best depths below any one of them.
    *by_depth, oracle = np.column_stack([values, best])[defined].mean(axis=0).tolist()
    depth = next(i for i, mean in enumerate(by_depth) if mean >= max(by_depth) - SAME)
    walk, steps = lists.walk, lists.walk.steps(values)
    threshold, kept = walk.choose(steps, defined)
    return Outcome(
        run,
        str(measure),
        n,
        float(lists.length[defined].mean()),
        by_depth[-1],
        oracle,
        float(depths[defined].mean()),
        depth,
        max(by_depth),
        threshold,
        float(walk.totals(values)[kept] / n),
        _by_depth(values[defined], lists.length[defined]),
        _by_threshold(walk, values, defined, kept),
        _splits(walk, values, defined, repeats, seed),
    )


def _splits(walk: Walk, values: Floats, defined: Booleans, repeats: int, seed: int) -> Splits:
    """The threshold chosen on one half of the queries, tried on the other, again and again."""
    steps, queries = walk.steps(values), np.flatnonzero(defined)
    # Drawn by number of queries and seed alone: every run and measure meets the same halves.
    order = np.random.default_rng(seed).permuted(np.tile(queries, (repeats, 1)), axis=1)
    found = []
    for half in order:
        tried = np.zeros(len(values))
        tried[half[len(half) // 2 :]] = 1
        threshold, kept = walk.choose(steps, defined & (tried == 0))
        inside = slice(None, walk.last[kept - 1] + 1 if kept else 0)
        uncut = values[:, -1] @ tried
        score = values[:, 0] @ tried + steps[inside] @ tried[walk.query[inside]] if kept < len(walk.last) else uncut
        found.append((threshold, score / tried.sum(), uncut / tried.sum()))
    return Splits(*np.array(found).T)


def _by_depth(values: Floats, length: Integers) -> Curve:
    depths = np.arange(values.shape[1])
    kept = np.minimum(depths, length[:, None]).mean(axis=0)
    return _curve(depths, values.sum(axis=0), (values**2).sum(axis=0), kept, len(values))


def _by_threshold(walk: Walk, values: Floats, defined: Booleans, chosen: int) -> Curve:
    blocks = len(walk.last)
    # Half of the points evenly, half crowded where lists are short and every document tells.
    spots = np.append(np.geomspace(1, max(blocks, 1), POINTS // 2), np.linspace(1, max(blocks, 1), POINTS // 2))
    some = np.unique(np.append(spots.astype(np.int64), max(chosen, 1)))
    some = some[some <= blocks]
    kept = np.append(0, np.cumsum(defined[walk.query])[walk.last])
    count = int(defined.sum())
    squares = walk.totals(values**2)
    return _curve(walk.score[walk.last[some - 1]], walk.totals(values)[some], squares[some], kept[some] / count, count)


def _curve(at: Any, total: Floats, squares: Floats, kept: Floats, n: int) -> Curve:
    from scipy import stats

    mean = total / n
    deviation = np.sqrt(np.maximum(squares - total * mean, 0) / (n - 1))
    half = stats.t.ppf(0.975, n - 1) * deviation / np.sqrt(n)
    return Curve(np.asarray(at, np.float64), mean, mean - half, mean + half, kept)
