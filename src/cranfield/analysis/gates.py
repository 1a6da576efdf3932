"""Gates: does a run pass? Limits in; passed, failed or undecided out, with the numbers and the queries that lost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

import numpy as np

from cranfield.analysis.compare import Comparison
from cranfield.analysis.significance import MeasureComparison, PairComparison
from cranfield.errors import UsageError
from cranfield.evaluation.scores import Scores, ScoreTable
from cranfield.measures import Measure
from cranfield.settings import Limits, Positive
from cranfield.statistics.rounding import SAME

Outcome = Literal["passed", "failed", "undecided"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
Rule = Literal["at_least", "no_significant_loss", "may_drop", "not_worse_by"]


@dataclass(frozen=True)
class Gate:
    """What must hold of a measure."""

    at_least: Annotated[float | None, "The mean of a run is not below this value."] = None
    not_worse_by: Annotated[Positive | None, "A run is shown not to be worse than the baseline by this or more."] = None
    no_significant_loss: Annotated[bool, "No run is significantly worse than the baseline."] = False
    margin: Annotated[float, Limits(0), "With no_significant_loss: ignore differences up to this size."] = 0.0
    may_drop: Annotated[
        float | None,
        Limits(0),
        "The mean of a run is at most this much worse than that of the baseline, significant or not.",
    ] = None
    runs: Annotated[str | tuple[str, ...], "The runs that are checked; by default all."] = ()

    @property
    def compares(self) -> bool:
        """Whether a baseline is needed."""
        return self.not_worse_by is not None or self.no_significant_loss or self.may_drop is not None


@dataclass(frozen=True)
class Check:
    """One rule for one run and measure, with what decided it.

    ``limit``: the number of the rule. ``mean``: of the run. ``pair``: the run against the baseline, with ``low`` and
    ``high``, the one-sided bounds of the difference, where they decide; None for a limit on the mean. ``lost``: the
    queries on which the run is worse than the baseline, the largest loss first.
    """

    run: str
    measure: str
    rule: Rule
    limit: float
    outcome: Outcome
    mean: float
    pair: PairComparison | None = None
    low: float = math.nan
    high: float = math.nan
    lost: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """All checks, and the comparison behind them."""

    checks: tuple[Check, ...] = ()
    comparison: Comparison | None = field(default=None, repr=False)

    def of(self, outcome: Outcome) -> list[Check]:
        """The checks with this outcome."""
        return [check for check in self.checks if check.outcome == outcome]

    @property
    def outcome(self) -> Outcome:
        """A failure decides; else what is undecided."""
        return "failed" if self.of("failed") else "undecided" if self.of("undecided") else "passed"


def verdict(
    gates: Mapping[str, Gate],
    means: ScoreTable | None,
    comparison: Comparison | None = None,
    compared: Scores | None = None,
) -> Verdict:
    """Check the gates of measures, given by their labels.

    ``means``: the scores of runs whose means have limits. ``comparison``: of these with a baseline, and ``compared``
    its scores, by which queries that lost are named.
    """
    if comparison is None and any(gate.compares for gate in gates.values()):
        raise UsageError("there is only one run, and nothing to compare it with")
    checks: list[Check] = []
    for label, gate in gates.items():
        found: list[Check] = []
        if gate.at_least is not None and means is not None:
            found += _limits(means, label, gate.at_least)
        if comparison is not None and gate.compares:
            found += _against_baseline(gate, comparison, comparison[label], compared)
        wanted = (gate.runs,) if isinstance(gate.runs, str) else gate.runs
        checks += [check for check in found if not wanted or check.run in wanted]
    return Verdict(tuple(checks), comparison)


def check_limit(measure: Measure, limit: float) -> None:
    """Raise if a limit is beyond the bounds of a measure, so that a check would never or always pass."""
    lowest, highest = measure.definition.bounds
    if measure.views.sampled or lowest <= limit <= highest:  # estimates may exceed the bounds
        return
    values = f"at least {lowest:g}" if math.isinf(highest) else f"between {lowest:g} and {highest:g}"
    raise UsageError(
        f"the limit {limit:g} is outside the bounds of {measure}, whose values are {values}",
        hint="no run could pass" if limit > highest else "every run would pass",
    )


def _limits(means: ScoreTable, label: str, limit: float) -> Iterator[Check]:
    """The mean of each run against a lower limit."""
    m = means.measures.index(label)
    check_limit(means.columns[m].measure, limit)
    for r, run in enumerate(means.runs):
        mean = float(means._means[r, m])
        outcome: Outcome = "undecided" if math.isnan(mean) else "failed" if mean < limit - SAME else "passed"
        yield Check(run, label, "at_least", limit, outcome, mean)


def _against_baseline(
    gate: Gate, comparison: Comparison, one: MeasureComparison, compared: Scores | None
) -> Iterator[Check]:
    """Each run against the baseline."""
    alpha = comparison.settings.alpha
    for pair in one.pairs:
        gain = pair.difference * one.sign
        lost = () if compared is None else lost_queries(compared, one.measure, pair.run, pair.other)
        rules: list[tuple[Rule, float, Outcome, float, float]] = []
        if gate.not_worse_by is not None:
            low, high = pair.one_sided(alpha)
            worst, best = (low, high) if one.sign > 0 else (-high, -low)
            margin = gate.not_worse_by
            shown: Outcome = "passed" if worst > -margin else "failed" if best < -margin else "undecided"
            rules.append(("not_worse_by", margin, shown, low, high))
        unknown = math.isnan(pair.difference)
        if gate.no_significant_loss:
            # By the direction of the test: few large wins may outweigh many losses in the mean.
            worse = pair.significant and pair.direction * one.sign < 0
            worse &= not gate.margin or pair.estimate * one.sign < -gate.margin - SAME
            undecided = unknown or one.lowest_p >= alpha or not pair.decides
            found: Outcome = "undecided" if undecided else "failed" if worse else "passed"
            rules.append(("no_significant_loss", gate.margin, found, math.nan, math.nan))
        if gate.may_drop is not None:
            dropped: Outcome = "undecided" if unknown else "failed" if gain < -gate.may_drop - SAME else "passed"
            rules.append(("may_drop", gate.may_drop, dropped, math.nan, math.nan))
        for rule, limit, outcome, low, high in rules:
            yield Check(pair.run, one.measure, rule, limit, outcome, pair.mean, pair, low, high, lost)


def lost_queries(scores: Scores, measure: str, run: str, other: str) -> tuple[str, ...]:
    """The queries on which a run is worse than another, the largest loss first."""
    values, queries = scores._matched(m := scores.measures.index(measure))
    first, second = (values[scores.runs.index(name)] for name in (run, other))
    gain = (first - second) * (-1 if scores.columns[m].lower_is_better else 1)
    order = np.argsort(gain, kind="stable")
    return tuple(scores.queries[queries[q]] for q in order.tolist() if gain[q] < -SAME)
