"""How much do tied scores affect measures and the order of systems?

McSherry and Najork, "Computing Information Retrieval Performance Measures Efficiently in the Presence of Tied Scores"
(ECIR 2008): the authors saw that different orders of tied documents change scores enough to change the order of
systems, and proposed the mean over all orders, in closed form. This study counts the ties of runs, and compares the
closed form with tie rules, with random orders, and with scores that are rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from cranfield import io
from cranfield.data import Booleans, Floats, Run
from cranfield.errors import MeasureError, check_count, check_numbers
from cranfield.evaluation.collection import Collection
from cranfield.evaluation.columns import Column, Plan, make_plan
from cranfield.evaluation.evaluation import Evaluation
from cranfield.evaluation.evaluator import Evaluator, read_runs
from cranfield.evaluation.policy import Policy
from cranfield.evaluation.run_scores import RunScores
from cranfield.measures import Measure
from cranfield.ranking.tie_rules import Ties as TieRuleName
from cranfield.statistics.correlation import swapped_pairs
from cranfield.statistics.rounding import SAME
from cranfield.studies import saving
from cranfield.studies.systems import defined_for_all, mean_scores, unanswered_notes, undefined_notes
from cranfield.studies.ties.random_orders import score_random_orders
from cranfield.studies.ties.tie_groups import Rounding, TieCounts, count_ties

# The six measures of the paper, with its denominators (relevant documents of the result list) and gains (2^grade - 1).
DEFAULT = (
    "P@10",
    "R(R='retrieved')@10",
    "F1(R='retrieved')@10",
    "AP(R='retrieved')",
    "RR",
    "nDCG(gain='exp')",
)
RULES: tuple[TieRuleName, ...] = ("trec", "input", "expected", "best", "worst")
TREC, EXPECTED, BEST, WORST = (RULES.index(rule) for rule in ("trec", "expected", "best", "worst"))
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
ROUND_DIGITS = (6, 4, 3, 2)
ROUND_BITS = (24, 11, 8)
NEVER = 0.001  # pairs that random orders swap less often are not listed


@dataclass(frozen=True)
class TiesSettings:
    """The number of random orders of each run, the seed, and the roundings of scores."""

    samples: int
    seed: int
    round_digits: tuple[int, ...]
    round_bits: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class RoundedScores:
    """The effect of rounding the scores of all runs.

    ``tied``: the share of retrieved documents that are tied. ``scores`` (rule, measure, run): as in `Ties`.
    """

    rounding: str
    tied: float
    scores: Floats


@dataclass(frozen=True, eq=False, repr=False)
class Ties(saving.StudyResult):
    """The tied documents of runs, and their effect on scores and on the order of runs.

    ``counts``: for each run. ``scores`` (rule, measure, run): mean scores by the rules of `RULES`; NaN if a rule is not
    defined for a measure. ``error`` (measure, run): the standard error of the expected score, 0 if it is exact.
    ``sample_mean``, ``sample_deviation`` (measure, run) and ``quantiles`` (quantile, measure, run): mean scores over
    random orders of tied documents. ``swap_chance`` (measure, pair): the probability that random orders of both runs
    reverse their order by expected scores; pairs are first with second, first with third, and so on.
    """

    STUDY = "ties"

    settings: TiesSettings
    runs: tuple[str, ...]
    measures: tuple[str, ...]
    queries: int
    counts: tuple[TieCounts, ...]
    scores: Floats
    error: Floats
    sample_mean: Floats
    sample_deviation: Floats
    quantiles: Floats
    swap_chance: Floats
    rounded: tuple[RoundedScores, ...]
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> TieCounts:
        """The ties of all runs together."""
        return TieCounts.total(list(self.counts))

    @property
    def sample_error(self) -> Floats:
        """The standard error of the mean over random orders, (measure, run)."""
        return self.sample_deviation / np.sqrt(self.settings.samples)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of runs, in the order of ``swap_chance``."""
        return list(zip(*(i.tolist() for i in np.triu_indices(len(self.runs), 1)), strict=True))

    def swappable(self, measure: int, least: float = NEVER) -> list[tuple[str, str, float]]:
        """Pairs that random orders swap with at least this probability: the run that is ahead, the other, the chance.

        The run with the higher expected score is ahead. The most likely swaps come first.
        """
        expected = self.scores[EXPECTED, measure]
        chosen = []
        for (i, j), chance in zip(self.pairs, self.swap_chance[measure].tolist(), strict=True):
            if chance >= least:
                ahead, other = (i, j) if expected[i] >= expected[j] else (j, i)
                chosen.append((self.runs[ahead], self.runs[other], chance))
        return sorted(chosen, key=lambda pair: -pair[2])

    def rounding_swaps(self, rounded: RoundedScores, rule: int, measure: int) -> int:
        """The number of pairs of runs that a rule orders differently once scores are rounded."""
        return len(swapped_pairs(self.scores[rule, measure], rounded.scores[rule, measure]))

    @staticmethod
    def reversible(scores: Floats, measure: int) -> int:
        """The number of pairs of runs that some orders of tied documents reverse; ``scores`` as in this class."""
        expected, best, worst = scores[[EXPECTED, BEST, WORST], measure]
        ahead = expected[:, None] > expected + SAME
        return int((ahead & (worst[:, None] < best - SAME)).sum())

    def to_dict(self) -> dict[str, Any]:
        """The complete result as plain data: what `save` writes and ``--format json`` prints."""
        return {
            **self.header(),
            "settings": asdict(self.settings),
            "queries": self.queries,
            "runs": {run: _count_dict(counts) for run, counts in zip(self.runs, self.counts, strict=True)},
            "all": _count_dict(self.total),
            "measures": {
                measure: {
                    **{rule: saving.to_json(self.scores[i, m]) for i, rule in enumerate(RULES)},
                    "error": saving.to_json(self.error[m]),
                    "sample_mean": saving.to_json(self.sample_mean[m]),
                    "sample_deviation": saving.to_json(self.sample_deviation[m]),
                    "quantiles": {f"{q:g}": saving.to_json(self.quantiles[i, m]) for i, q in enumerate(QUANTILES)},
                    "swap_chance": saving.to_json(self.swap_chance[m]),
                    "swappable": [list(pair) for pair in self.swappable(m)],
                }
                for m, measure in enumerate(self.measures)
            },
            "rounded": [
                {
                    "rounding": entry.rounding,
                    "tied": entry.tied,
                    "measures": {
                        measure: {rule: saving.to_json(entry.scores[i, m]) for i, rule in enumerate(RULES)}
                        for m, measure in enumerate(self.measures)
                    },
                }
                for entry in self.rounded
            ],
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Ties:
        """The result that `to_dict` returned."""
        measures, runs = data["measures"], data["runs"]
        names, count = saving.nonempty_keys(measures), len(saving.nonempty_keys(runs))

        def table(name: str, size: int = count) -> Floats:
            return np.array([saving.from_json(entry[name], size) for entry in measures.values()])

        def by_rule(entries: dict[str, Any]) -> Floats:
            return np.array([[saving.from_json(entries[m][rule], count) for m in names] for rule in RULES])

        settings = dict(data["settings"])
        settings |= {name: tuple(settings[name]) for name in ("round_digits", "round_bits")}
        quantiles = [
            [saving.from_json(entry["quantiles"][f"{q:g}"], count) for entry in measures.values()] for q in QUANTILES
        ]
        return cls(
            TiesSettings(**settings),
            tuple(runs),
            names,
            data["queries"],
            tuple(_counts_from_dict(entry) for entry in runs.values()),
            by_rule(measures),
            table("error"),
            table("sample_mean"),
            table("sample_deviation"),
            np.array(quantiles),
            table("swap_chance", count * (count - 1) // 2),
            tuple(
                RoundedScores(entry["rounding"], float(entry["tied"]), by_rule(entry["measures"]))
                for entry in data["rounded"]
            ),
            tuple(data["notes"]),
        )


def _count_dict(counts: TieCounts) -> dict[str, Any]:
    return {**asdict(counts), "sizes": {str(size): number for size, number in counts.sizes.items()}}


def _counts_from_dict(data: dict[str, Any]) -> TieCounts:
    numbers = {name: int(value) for name, value in data.items() if name != "sizes"}
    return TieCounts(**numbers, sizes={int(size): int(number) for size, number in data["sizes"].items()})


def ties(
    qrels: Any,
    runs: Any,
    measures: str | Measure | Sequence[str | Measure] = DEFAULT,
    *,
    samples: int = 200,
    round_digits: Sequence[int] = ROUND_DIGITS,
    round_bits: Sequence[int] = ROUND_BITS,
    corpus: Any = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Ties:
    """The tied documents of runs, and how their order affects scores and the order of runs.

    Every measure is computed by several tie rules, and over ``samples`` random orders of the tied documents of each
    run. ``round_digits`` and ``round_bits``: numbers of significant digits, and of bits of the significand, to which
    scores are rounded. A score is the mean over the queries where the measure is defined for all runs. Measures that
    read document text need a ``corpus``.
    """
    samples, seed = check_count("samples", samples, 2), check_count("seed", seed, 0)
    digits = check_numbers("round_digits", round_digits, 1, 17)[::-1] if round_digits else ()
    bits = check_numbers("round_bits", round_bits, 1, 53)[::-1] if round_bits else ()
    settings = TiesSettings(samples, seed, digits, bits)
    plan = make_plan(measures, Policy(seed=seed))
    for column in plan.columns:
        _check_column(column)
    loaded = [replace(run, source=io.load(run)) for run in read_runs(runs)]
    judgments = io.read_qrels(qrels)
    roundings = [Rounding("digits", n) for n in digits] + [Rounding("bits", n) for n in bits]
    steps = len(loaded) + len(roundings)

    def step(done: int) -> None:
        if progress is not None:
            progress(done, steps)

    evaluator = Evaluator.of(Collection(judgments, documents=corpus), plan)
    evaluation = evaluator.evaluation(loaded)
    labels, queries = tuple(column.label for column in plan.columns), evaluation.queries
    by_rule = [_values(evaluation, rule) for rule in RULES]
    defined = defined_for_all(by_rule[EXPECTED])
    scores = _means(by_rule, defined)
    errors = np.array(
        [[run[column.tied("expected")].error for column in plan.columns] for run in evaluation.run_scores]
    )
    counted = defined.sum(axis=1)[:, None]
    error = np.sqrt((np.where(defined, errors[..., : len(queries)], 0) ** 2).sum(axis=-1)).T / np.maximum(counted, 1)
    drawn = np.empty((len(loaded), len(labels), samples))
    for r, run in enumerate(evaluation.run_scores):
        drawn[r] = _sampled_means(run, plan, by_rule[EXPECTED][r], defined, samples, np.random.SeedSequence([seed, r]))
        step(r + 1)
    counts = tuple(
        count_ties(run, judgments, scored.alignment) for run, scored in zip(loaded, evaluation.run_scores, strict=True)
    )
    rounded = []
    for i, rounding in enumerate(roundings):
        rounded.append(_round(rounding, loaded, evaluator, defined))
        step(len(loaded) + i + 1)
    answered = np.array([run.length >= 0 for run in evaluation.run_scores])
    notes = (
        *unanswered_notes(evaluation.runs, answered, queries),
        *undefined_notes(labels, defined, queries),
        *_estimate_notes(labels, error),
    )
    return Ties(
        settings,
        evaluation.runs,
        labels,
        len(queries),
        counts,
        scores,
        error,
        drawn.mean(axis=-1).T,
        drawn.std(axis=-1, ddof=1).T,
        np.quantile(drawn, QUANTILES, axis=-1).transpose(0, 2, 1),
        np.array([swap_chances(drawn[:, m], scores[EXPECTED, m]) for m in range(len(labels))]),
        tuple(rounded),
        notes,
    )


def _check_column(column: Column) -> None:
    if column.aggregate != "mean":
        raise MeasureError(f"{column.label} is not a mean over queries; this study needs one that is")
    if column.measure.views.ties is not None:
        plain = replace(column.measure, views=replace(column.measure.views, ties=None))
        raise MeasureError(f"{column.label}: this study applies the tie rules itself", hint=f"use {plain}")


def _values(evaluation: Evaluation, rule: TieRuleName) -> Floats:
    """The values by a tie rule, (run, measure, query); NaN where the rule or the measure is undefined."""
    names, judged = evaluation.columns, len(evaluation.queries)
    values = np.full((len(evaluation.runs), len(names), judged), np.nan)
    for m, column in enumerate(names):
        try:
            tied = column.tied(rule)
        except MeasureError:
            continue  # the best and the worst order are unknown, for example for measures that read document text
        values[:, m] = np.array(evaluation.for_each_run(lambda run, tied=tied: run[tied].value[:judged]))  # type: ignore[misc]
    return values


def _means(by_rule: Sequence[Floats], defined: Booleans) -> Floats:
    """Mean scores (rule, measure, run). An order for which a measure is undefined counts 0, as in the expectation."""
    means = []
    for values in by_rule:
        unsupported = np.isnan(values).all(axis=(0, 2))
        scores = mean_scores(np.nan_to_num(values), defined)
        scores[unsupported] = np.nan
        means.append(scores)
    return np.array(means)


def _sampled_means(
    run: RunScores, plan: Plan, expected: Floats, defined: Booleans, samples: int, seed: np.random.SeedSequence
) -> Floats:
    """The mean scores of random orders, (measure, sample); all measures are computed from the same orders."""
    totals = np.repeat(np.where(defined, np.nan_to_num(expected), 0).sum(axis=1)[:, None], samples, axis=1)
    for key in dict.fromkeys(column.alignment for column in plan.columns):
        chosen = [m for m, column in enumerate(plan.columns) if column.alignment == key]
        measures = [plan.columns[m].measure for m in chosen]
        rng = np.random.default_rng(seed)
        for rankings in run.alignments[key].rankings:
            for chunk, tied, values in score_random_orders(measures, rankings, samples, rng):
                query = rankings.query[tied]
                change = np.nan_to_num(values) - np.nan_to_num(expected[chosen][:, None, query])
                totals[chosen, chunk] += np.einsum("msq,mq->ms", change, defined[chosen][:, query].astype(np.float64))
    return totals / np.maximum(defined.sum(axis=1)[:, None], 1)


def swap_chances(samples: Floats, expected: Floats) -> Floats:
    """For each pair of runs, the probability that random orders reverse their order by expected scores.

    ``samples`` (run, sample): mean scores over independent random orders; every order of one run is compared with
    every order of the other. If the expected scores are equal, it is the probability of the less likely order.

    >>> swap_chances(np.array([[0.4, 0.4, 0.4, 0.4], [0.1, 0.3, 0.5, 0.5]]), np.array([0.4, 0.35])).tolist()
    [0.5]
    """
    ordered, count = np.sort(samples, axis=1), samples.shape[1]
    chances = []
    for i, j in zip(*np.triu_indices(len(samples), 1), strict=True):
        below = np.searchsorted(ordered[j], ordered[i] - SAME, side="left").sum() / count**2
        above = (count - np.searchsorted(ordered[j], ordered[i] + SAME, side="right")).sum() / count**2
        difference = expected[i] - expected[j]
        chances.append(min(below, above) if abs(difference) <= SAME else above if difference > 0 else below)
    return np.array(chances, np.float64)


def _round(rounding: Rounding, runs: Sequence[Run], evaluator: Evaluator, defined: Booleans) -> RoundedScores:
    rounded = [rounding.of_run(run) for run in runs]
    evaluation = evaluator.evaluation(rounded)
    scores = _means([_values(evaluation, rule) for rule in RULES], defined)
    counts = [
        count_ties(run, evaluator.judgments, scored.alignment)
        for run, scored in zip(rounded, evaluation.run_scores, strict=True)
    ]
    total = TieCounts.total(counts)
    return RoundedScores(rounding.label, total.tied / max(total.retrieved, 1), scores)


def _estimate_notes(labels: Sequence[str], error: Floats) -> Iterator[str]:
    for label, row in zip(labels, error, strict=True):
        if row.any():
            yield (
                f"{label}: the expected score of {(row > 0).sum()} of {len(row)} runs is itself estimated from sampled"
                f" orders, with a standard error of up to {row.max():.2g}"
            )
