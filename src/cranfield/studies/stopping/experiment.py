"""What cutting rankings improves: at the best depths, and at a score threshold learned from other queries.

Four results for each run and measure, from an upper limit to what is achievable: every list cut at its own best depth;
all lists at one depth; all lists at one score threshold; and a threshold chosen on one half of the queries and tested
on the other half. The last two also for thresholds on other properties of the scores; see `rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from cranfield import io
from cranfield.data import Booleans, Floats, Integers
from cranfield.errors import MeasureError, UsageError, check_count
from cranfield.evaluation.columns import make_columns
from cranfield.evaluation.evaluator import read_runs
from cranfield.evaluation.run_scores import check_query_overlap
from cranfield.measures import Measure
from cranfield.ranking.alignment import Aligner
from cranfield.ranking.tie_rules import TIE_RULES
from cranfield.statistics.rounding import SAME
from cranfield.studies import saving
from cranfield.studies.stopping.cutoffs import DocumentsByScore, RankedLists
from cranfield.studies.stopping.rules import RULES, ScoredLists

# As published, nDCG with a terminal document can exceed 1 with graded gains, which a search for the best cut exploits.
DEFAULT = ("AP[terminal]", "nDCG(ideal='bounded')[terminal]")
# Tie rules that order every list by score, in one way.
DEFINITE = tuple(name for name, rule in TIE_RULES.items() if rule.key == "score" and not rule.leaves_ties)
POINTS = 200  # thresholds of a curve that are kept; all are evaluated


@dataclass(frozen=True, eq=False)
class Curve:
    """Mean scores by depth or threshold: ``low`` and ``high`` are 95% confidence intervals over queries (Student's t).

    ``at``: the depths or thresholds; ``kept``: the mean number of documents that a list keeps.
    """

    at: Floats
    mean: Floats
    low: Floats
    high: Floats
    kept: Floats


@dataclass(frozen=True, eq=False)
class Splits:
    """For each random split: the learned threshold, and the scores on the other half with it and without a cut."""

    threshold: Floats
    score: Floats
    uncut: Floats

    @property
    def gain(self) -> Floats:
        """The improvement by the threshold on each test half."""
        return self.score - self.uncut

    @staticmethod
    def percentiles(values: Floats) -> tuple[float, float, float]:
        """The 5th, 50th and 95th percentile over splits, without interpolation."""
        low, middle, high = np.quantile(values, [0.05, 0.5, 0.95], method="inverted_cdf")
        return float(low), float(middle), float(high)


@dataclass(frozen=True, eq=False)
class RuleResult:
    """The best threshold of one of `RULES` on all queries, its score there, and thresholds chosen on half of them."""

    rule: str
    threshold: float
    score: float
    splits: Splits

    def to_dict(self) -> dict[str, Any]:
        """Plain data; a threshold can be the text "inf" or "-inf"."""
        return {
            "rule": self.rule,
            "threshold": saving.to_json(np.array([self.threshold]))[0],
            "score": self.score,
            "splits": {name: saving.to_json(values) for name, values in asdict(self.splits).items()},
            "held_out": float(self.splits.score.mean()),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RuleResult:
        """The result that `to_dict` returned."""
        splits = Splits(**{name: saving.from_json(values) for name, values in data["splits"].items()})
        return cls(RULES[data["rule"]].name, float(data["threshold"]), float(data["score"]), splits)


@dataclass(frozen=True, eq=False)
class CutResult:
    """The best cuts of one run by one measure; all scores are means over queries.

    ``oracle``: each list at its best depth, whose mean is ``oracle_depth``; ``depth`` and ``depth_score``: all lists at
    one depth; ``threshold`` and ``threshold_score``: documents that score at least the threshold, chosen on all
    queries; ``splits``: chosen on half of them. ``rules``: the same for the other stopping rules.
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
    rules: tuple[RuleResult, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data; a threshold can be the text "inf" (nothing is kept) or "-inf" (nothing is cut)."""
        data = asdict(self)
        data["rules"] = [rule.to_dict() for rule in self.rules]
        for name in ("by_depth", "by_threshold", "splits"):
            data[name] = {key: saving.to_json(values) for key, values in data[name].items()}
        data["threshold"] = saving.to_json(np.array([self.threshold]))[0]
        data["held_out"] = {
            "score": float(self.splits.score.mean()),
            "uncut": float(self.splits.uncut.mean()),
            "gain": dict(zip(("p5", "p50", "p95"), self.splits.percentiles(self.splits.gain), strict=True)),
            "threshold": dict(
                zip(
                    ("p5", "p50", "p95"),
                    saving.to_json(np.array(self.splits.percentiles(self.splits.threshold))),
                    strict=True,
                )
            ),
        }
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> CutResult:
        """The result that `to_dict` returned."""
        fields = {name: value for name, value in data.items() if name != "held_out"}
        for name, kind in (("by_depth", Curve), ("by_threshold", Curve), ("splits", Splits)):
            fields[name] = kind(**{key: saving.from_json(values) for key, values in data[name].items()})
        fields["threshold"] = float(data["threshold"])
        fields["rules"] = tuple(RuleResult.from_dict(entry) for entry in data.get("rules", ()))
        return cls(**fields)


@dataclass(frozen=True, eq=False, repr=False)
class Stopping(saving.StudyResult):
    """The best cuts of each run by each measure."""

    STUDY = "stopping"

    results: tuple[CutResult, ...]
    repeats: int
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of the runs."""
        return tuple(dict.fromkeys(result.run for result in self.results))

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the measures."""
        return tuple(dict.fromkeys(result.measure for result in self.results))

    def to_dict(self) -> dict[str, Any]:
        """The complete result as plain data: what `save` writes and ``--format json`` prints."""
        return {
            **self.header(),
            "settings": {"repeats": self.repeats, "seed": self.seed},
            "outcomes": [result.to_dict() for result in self.results],
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Stopping:
        """The result that `to_dict` returned."""
        results = tuple(CutResult.from_dict(entry) for entry in data["outcomes"])
        return cls(results, data["settings"]["repeats"], data["settings"]["seed"], tuple(data["notes"]))


def stopping(
    qrels: Any,
    runs: Any,
    measures: str | Measure | Sequence[str | Measure] = DEFAULT,
    *,
    repeats: int = 100,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Stopping:
    """How much cutting the rankings of runs improves their scores, and at which score to cut them.

    ``repeats``: the number of random splits of the queries into two halves, the same for all runs. Queries where a
    measure is undefined are omitted; a judged query that a run does not answer has an empty list.
    """
    repeats, seed = check_count("repeats", repeats), check_count("seed", seed, 0)
    unique_measures = list(dict.fromkeys(_check_measure(column.measure) for column in make_columns(measures)))
    all_runs, judgments = read_runs(runs), io.read_qrels(qrels)
    aligner = Aligner(judgments)
    relevant = np.add.reduceat(np.append(judgments.grade > 0, False), judgments.begin[:-1])
    relevant = np.where(np.diff(judgments.begin) > 0, relevant, 0).astype(np.int64)
    results: list[CutResult] = []
    notes: dict[str, None] = {}
    for i, run in enumerate(all_runs):
        lists = RankedLists.of(run, aligner)
        check_query_overlap(run, lists.alignment)
        scored = ScoredLists(lists)
        for measure in unique_measures:
            table = lists.scores_by_depth(measure)
            defined = np.any(~np.isnan(table), axis=1)
            if not defined.all():
                notes[f"{measure} is undefined for {(~defined).sum()} of {len(defined)} queries: omitted"] = None
            cut = _best_cuts(run.name, measure, lists, table, defined, repeats, seed)
            results.append(replace(cut, rules=tuple(_best_rules(scored, table, defined, relevant, repeats, seed))))
        if "ratio" not in {rule.rule for rule in results[-1].rules}:
            notes[f"{run.name}: no thresholds relative to the top score, because some scores are not positive"] = None
        if progress is not None:
            progress(i + 1, len(all_runs))
    return Stopping(tuple(results), repeats, seed, tuple(notes))


def _check_measure(measure: Measure) -> Measure:
    if measure.definition.aggregate != "mean":
        raise MeasureError(f"{measure.symbol} is not a mean over queries; this study needs one that is")
    if measure.views.ties not in (None, *DEFINITE):
        raise MeasureError(
            f"{measure}: this study needs a tie rule that orders every list by score in one way",
            hint=f"use ties={', '.join(DEFINITE)}",
        )
    return measure


def _best_cuts(
    run: str, measure: Measure, lists: RankedLists, table: Floats, defined: Booleans, repeats: int, seed: int
) -> CutResult:
    n = int(defined.sum())
    if n < 2:
        raise UsageError(
            f"{measure} is defined for {n} of the judged queries; this study splits them into two halves",
            hint="give judgments for at least two queries for which the measure is defined",
        )
    # A cut that makes a measure undefined counts 0.
    values = np.where(defined[:, None], np.nan_to_num(table), 0)
    best = values.max(axis=1, keepdims=True)
    depths = (values >= best - SAME).argmax(axis=1)
    # One sum for all, so that rounding cannot put the oracle below another depth.
    *by_depth, oracle = np.column_stack([values, best])[defined].mean(axis=0).tolist()
    depth = next(i for i, mean in enumerate(by_depth) if mean >= max(by_depth) - SAME)
    documents = lists.by_score
    threshold, kept = documents.best_threshold(documents.steps(values), defined)
    return CutResult(
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
        float(documents.totals(values)[kept] / n),
        _curve_by_depth(values[defined], lists.length[defined]),
        _curve_by_threshold(documents, values, defined, kept),
        _test_on_splits(documents, values, defined, repeats, seed),
    )


def _best_rules(
    scored: ScoredLists, table: Floats, defined: Booleans, relevant: Integers, repeats: int, seed: int
) -> Iterator[RuleResult]:
    """The results of the rules besides the absolute one, as far as they can be applied to these scores."""
    values = np.where(defined[:, None], np.nan_to_num(table), 0)
    for rule in list(RULES.values())[1:]:
        documents = scored.documents(rule, relevant, defined)
        if documents is None:
            continue
        key, kept = documents.best_threshold(documents.steps(values), defined)
        learn = partial(scored.documents, rule, relevant) if rule.learned else None
        splits = _test_on_splits(documents, values, defined, repeats, seed, learn)
        thresholds = np.array([rule.threshold(float(x)) for x in splits.threshold])
        score = float(documents.totals(values)[kept] / defined.sum())
        yield RuleResult(rule.name, rule.threshold(key), score, replace(splits, threshold=thresholds))


def _test_on_splits(
    documents: DocumentsByScore,
    values: Floats,
    defined: Booleans,
    repeats: int,
    seed: int,
    learn: Callable[[Booleans], DocumentsByScore | None] | None = None,
) -> Splits:
    """Choose the threshold on one half of the queries and test it on the other, for every split.

    ``learn`` gives the documents by keys that are learned from the training queries, if they are.
    """
    steps, queries = documents.steps(values), np.flatnonzero(defined)
    # The splits depend on the number of queries and the seed only, so that all runs and measures share them.
    order = np.random.default_rng(seed).permuted(np.tile(queries, (repeats, 1)), axis=1)
    splits = []
    for permutation in order:
        test = np.zeros(len(values))
        test[permutation[len(permutation) // 2 :]] = 1
        training = defined & (test == 0)
        if learn is not None:
            documents = learn(training) or documents
            steps = documents.steps(values)
        threshold, kept = documents.best_threshold(steps, training)
        inside = slice(None, documents.last[kept - 1] + 1 if kept else 0)
        uncut = values[:, -1] @ test
        if kept < len(documents.last):
            score = values[:, 0] @ test + steps[inside] @ test[documents.query[inside]]
        else:
            score = uncut
        splits.append((threshold, score / test.sum(), uncut / test.sum()))
    return Splits(*np.array(splits).T)


def _curve_by_depth(values: Floats, length: Integers) -> Curve:
    depths = np.arange(values.shape[1])
    kept = np.minimum(depths, length[:, None]).mean(axis=0)
    return _curve(depths, values.sum(axis=0), (values**2).sum(axis=0), kept, len(values))


def _curve_by_threshold(documents: DocumentsByScore, values: Floats, defined: Booleans, best: int) -> Curve:
    thresholds = len(documents.last)
    # Half of the points evenly spaced, half on a logarithmic scale, because single documents matter in short lists.
    end = max(thresholds, 1)
    points = np.append(np.geomspace(1, end, POINTS // 2), np.linspace(1, end, POINTS // 2))
    selected = np.unique(np.append(points.astype(np.int64), max(best, 1)))
    selected = selected[selected <= thresholds]
    kept = np.append(0, np.cumsum(defined[documents.query])[documents.last])
    count = int(defined.sum())
    squares = documents.totals(values**2)
    at = documents.score[documents.last[selected - 1]]
    return _curve(at, documents.totals(values)[selected], squares[selected], kept[selected] / count, count)


def _curve(at: Any, total: Floats, squares: Floats, kept: Floats, n: int) -> Curve:
    from scipy import stats

    mean = total / n
    deviation = np.sqrt(np.maximum(squares - total * mean, 0) / (n - 1))
    half = stats.t.ppf(0.975, n - 1) * deviation / np.sqrt(n)
    return Curve(np.asarray(at, np.float64), mean, mean - half, mean + half, kept)
