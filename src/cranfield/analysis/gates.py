"""Gates: does a run pass? Limits in; passed, failed or undecided out, with the numbers and the queries that lost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_args

import numpy as np

from cranfield.errors import UsageError
from cranfield.evaluation.scores import COLLECTION, Scores, ScoreTable
from cranfield.measures import Measure
from cranfield.settings import RARE, Limits, Positive
from cranfield.statistics.rounding import SAME
from cranfield.wording import did_you_mean, few, one_of

if TYPE_CHECKING:
    from cranfield.analysis.compare import Comparison
    from cranfield.analysis.significance import MeasureComparison, PairComparison

Outcome = Literal["passed", "failed", "undecided"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
NO_LOSS = ("no_loss",)  # the rule of queries


@dataclass(frozen=True)
class Gate:
    """What must hold of a measure. A rule is a field that `LIMITS` or `REGRESSIONS` names."""

    at_least: Annotated[float | None, "The mean of no run may be below this value."] = None
    at_most: Annotated[float | None, "The mean of no run may be above this value.", RARE] = None
    not_worse_by: Annotated[
        Positive | None, "Each run must be shown not to be worse than the baseline by this or more.", RARE
    ] = None
    no_significant_loss: Annotated[bool, "No run may be significantly worse than the baseline."] = False
    margin: Annotated[float, Limits(0), "With no_significant_loss: ignore differences up to this size."] = 0.0
    may_drop: Annotated[
        float | None,
        Limits(0),
        "No mean may be worse than the baseline's by more; significant or not.",
    ] = None
    runs: Annotated[str | tuple[str, ...], "The runs that are checked; by default all."] = ()
    where: Annotated[Mapping[str, str], 'Only queries with these attributes count, such as { type = "how" }.'] = field(
        default_factory=dict
    )
    collection: Annotated[str | None, "Only queries of this collection count."] = None
    queries: Annotated[
        str | tuple[str, ...], "Only these queries count; without another rule, none of them may lose."
    ] = ()

    @property
    def limits(self) -> dict[str, float]:
        """The limits of the mean."""
        return {rule: getattr(self, rule) for rule in LIMITS if getattr(self, rule) is not None}

    @property
    def comparing(self) -> tuple[str, ...]:
        """The rules that need a baseline."""
        given = {rule: getattr(self, rule) for rule in REGRESSIONS}
        rules = tuple(rule for rule, value in given.items() if value is not None and value is not False)
        return rules or (NO_LOSS if self.queries and not self.limits else ())

    @property
    def conditions(self) -> dict[str, str]:
        """The attributes of the queries that count."""
        return {**self.where, **({} if self.collection is None else {COLLECTION: self.collection})}

    @property
    def scope(self) -> str:
        """The queries that count, in words; empty for all."""
        parts = [f"{name} {value}" for name, value in self.conditions.items()]
        names = _listed(self.queries)
        return ", ".join([*parts, *([f"queries {few(names)}"] if names else [])])


@dataclass(frozen=True)
class Check:
    """One rule for one run and measure, with what decided it.

    ``limit``: the number of the rule. ``mean``: of the run. ``pair``: the run against the baseline, with ``low`` and
    ``high``, the one-sided bounds of the difference, or ``p``, the corrected one-sided p-value of a loss, where they
    decide; None for a limit on the mean. ``lost``: the queries on which the run is worse than the baseline, the largest
    loss first. ``lets_through``: it passed, because a loss beyond the limit is not significant. ``scope``: the queries
    that count, in words. ``comparison``: the one with the pair, and ``compared``: its scores.
    """

    run: str
    measure: str
    rule: str
    limit: float
    outcome: Outcome
    mean: float
    pair: PairComparison | None = None
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    lost: tuple[str, ...] = ()
    lets_through: bool = False
    scope: str = ""
    comparison: Comparison | None = field(default=None, repr=False, compare=False)
    compared: Scores | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Verdict:
    """All checks, and the comparison behind them."""

    checks: tuple[Check, ...] = ()
    comparison: Comparison | None = field(default=None, repr=False)

    def of(self, outcome: Outcome) -> list[Check]:
        """The checks with this outcome."""
        return [check for check in self.checks if check.outcome == outcome]

    @property
    def let_through(self) -> list[Check]:
        """The checks that passed in spite of a loss."""
        return [check for check in self.checks if check.lets_through]

    @property
    def outcome(self) -> Outcome:
        """A failure decides; else what is undecided."""
        return "failed" if self.of("failed") else "undecided" if self.of("undecided") else "passed"


def verdict(
    gates: Mapping[str, Gate | Sequence[Gate]],
    means: ScoreTable | None,
    comparison: Comparison | None = None,
    compared: Scores | None = None,
) -> Verdict:
    """Check the gates of measures, given by their labels; a gate that checks nothing is an error.

    ``means``: the scores of runs whose means have limits. ``comparison``: of these with a baseline, and ``compared``
    its scores, by which queries that lost are named.
    """
    checks: list[Check] = []
    for label, given in gates.items():
        for gate in [given] if isinstance(given, Gate) else given:
            checks += _checks(label, gate, means, comparison, compared)
    return Verdict(tuple(checks), comparison)


def _checks(
    label: str, gate: Gate, means: ScoreTable | None, comparison: Comparison | None, compared: Scores | None
) -> list[Check]:
    """The checks of one gate."""
    if not gate.limits and not gate.comparing:
        raise UsageError(f"the gate of {label} checks nothing", hint=f"give {RULES}")
    if comparison is None and gate.comparing:
        raise UsageError("there is only one run, and nothing to compare it with")
    if (table := means or compared) is not None:
        check_gate(table.columns[table.measures.index(label)].measure, gate)
    if gate.scope:
        means, comparison, compared = _selected(label, gate, means, comparison, compared)
    checks: list[Check] = []
    if means is not None:
        checks += [check for rule, limit in gate.limits.items() for check in _limits(means, label, rule, limit)]
    if comparison is not None and gate.comparing:
        of_measure = comparison[label]
        checks += _against_baseline(gate, comparison, of_measure, compared)
    wanted = _listed(gate.runs)
    kept = [replace(check, scope=gate.scope) for check in checks if not wanted or check.run in wanted]
    checked = {check.rule for check in kept}
    if idle := [rule for rule in (*gate.limits, *gate.comparing) if rule not in checked]:
        why = f"{', '.join(wanted)} is the baseline" if idle[0] in gate.comparing else "there is no such run"
        raise UsageError(f"{idle[0]} of {label} checks nothing: {why}", hint="name other runs, or remove the rule")
    return kept


def _selected(
    label: str, gate: Gate, means: ScoreTable | None, comparison: Comparison | None, compared: Scores | None
) -> tuple[Scores | None, Comparison | None, Scores | None]:
    """The scores, and their comparison, of the queries that count for a gate."""
    tables = [table if isinstance(table, Scores) else None for table in (means, compared)]
    of_means, of_compared = (
        None if table is None else table.only(measures=[label], queries=query_names(gate, table)) for table in tables
    )
    if comparison is not None and of_compared is not None and gate.comparing and gate.comparing != NO_LOSS:
        from cranfield.analysis.compare import compare_scores

        settings = replace(comparison.settings, baseline=comparison.reference, together=1, audit=False)
        comparison = compare_scores(of_compared, settings)
    return of_means, comparison, of_compared


def query_names(gate: Gate, scores: Scores) -> list[str]:
    """The queries that count; raises if there are none."""
    asked = _listed(gate.queries)
    if missing := [name for name in asked if name not in scores.queries]:
        raise UsageError(f"`{missing[0]}` is not one of the queries", hint=f"these are {few(scores.queries, 10)}")
    names = list(asked or scores.queries)
    for attribute, value in gate.conditions.items():
        about = [scores.attributes.get(name, {}) for name in scores.queries]
        values = {of_query[attribute] for of_query in about if attribute in of_query}
        if value not in values:
            also = did_you_mean(value, values, f"its values are {few(sorted(map(str, values)), 10)}") if values else ""
            raise UsageError(
                f"no query has {attribute} = `{value}`", hint=also or f"no query has the attribute `{attribute}`"
            )
        names = [name for name in names if scores.attributes.get(name, {}).get(attribute) == value]
    if not names:
        raise UsageError("no query is selected by where, collection and queries together")
    return names


def _listed(names: str | tuple[str, ...]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else names


def check_gate(measure: Measure, gate: Gate) -> None:
    """Raise if a gate does not suit a measure, or has a margin that nothing needs."""
    if gate.margin and not gate.no_significant_loss and (gate.limits or gate.comparing):
        raise UsageError("margin needs no_significant_loss = true", hint="may_drop needs no significance")
    for rule, limit in gate.limits.items():
        check_limit(measure, rule, limit)
    if gate.comparing and measure.definition.neutral:
        raise UsageError(
            f"neither higher nor lower values of {measure} are better, so that no run is worse",
            hint="use at_least and at_most",
        )


def check_limit(measure: Measure, rule: str, limit: float) -> None:
    """Raise if a limit is on the wrong side, or beyond the bounds, so that a check would never or always pass."""
    lowest, highest = measure.definition.bounds
    lower = measure.definition.lower_is_better
    if (rule == "at_most") != lower and not measure.definition.neutral:
        better, right = ("lower", "at_most") if lower else ("higher", "at_least")
        raise UsageError(
            f"{better} values of {measure} are better, and {rule} limits the wrong side", hint=f"use {right}"
        )
    if measure.views.sampled or lowest <= limit <= highest:  # estimates may exceed the bounds
        return
    values = f"at least {lowest:g}" if math.isinf(highest) else f"between {lowest:g} and {highest:g}"
    raise UsageError(
        f"the limit {limit:g} is outside the bounds of {measure}, whose values are {values}",
        hint="no run could pass" if (limit > highest) == (rule == "at_least") else "every run would pass",
    )


def _limits(means: ScoreTable, label: str, rule: str, limit: float) -> Iterator[Check]:
    """The mean of each run against a lower or an upper limit."""
    m, sign = means.measures.index(label), 1 if LIMITS[rule] == "below" else -1
    for r, run in enumerate(means.runs):
        mean = float(means._means[r, m])
        beyond = sign * mean < sign * limit - SAME
        yield Check(
            run, label, rule, limit, "undecided" if math.isnan(mean) else "failed" if beyond else "passed", mean
        )


def _one_sided(comparison: Comparison) -> dict[str, list[float]]:
    """The p-value of each pair that the run is worse, corrected in its family.

    The distributions of the tests are symmetric: one side has half of the two-sided p-value.
    """
    from cranfield.analysis.significance import correct, lowest_p

    alone = replace(comparison.settings, together=1)
    halves = []
    for tested in comparison.by_measure:
        worse = tested.direction * tested.sign < 0
        half = np.maximum(tested.p / 2, lowest_p(alone, tested.units, sides=1))
        halves.append(np.where(worse, half, 1 - half))
    corrected = correct(halves, comparison.settings)
    return {tested.measure: of.p.tolist() for tested, of in zip(comparison.by_measure, corrected, strict=True)}


def _bounds(pair: PairComparison, of_measure: MeasureComparison, alpha: float) -> tuple[float, float]:
    """The bounds that the gain exceeds, and stays below, each with confidence 1 - alpha; infinite without spread."""
    from scipy.special import stdtrit

    from cranfield.statistics.intervals import lowest_difference

    variance = sum(pair.variance)
    if variance <= SAME**2:
        return -math.inf, math.inf
    gain = pair.difference * of_measure.sign
    worst = lowest_difference(
        gain,
        variance,
        pair.degrees,
        pair.skewness * of_measure.sign,
        units=of_measure.units,
        differ=pair.raised + pair.lowered,
        lost=pair.lowered if of_measure.sign > 0 else pair.raised,
        largest=of_measure.largest,
        alpha=alpha,
    )
    return float(worst), gain + float(stdtrit(pair.degrees, 1 - alpha)) * math.sqrt(variance)


class Tested(NamedTuple):
    """A run against the baseline. ``gain``: positive where the run is better; ``p``: one-sided, that it is worse."""

    gate: Gate
    pair: PairComparison
    gain: float
    p: float
    of_measure: MeasureComparison
    comparison: Comparison
    compared: Scores | None


def _not_worse_by(tested: Tested) -> dict[str, Any]:
    margin, upwards = tested.gate.not_worse_by or 0.0, tested.of_measure.sign > 0
    worst, best = _bounds(tested.pair, tested.of_measure, tested.comparison.settings.alpha)
    shown: Outcome = "passed" if worst > -margin else "failed" if best < -margin else "undecided"
    low, high = (worst, best) if upwards else (-best, -worst)
    return {"limit": margin, "outcome": shown, "low": low, "high": high}


def _no_significant_loss(tested: Tested) -> dict[str, Any]:
    from cranfield.analysis.significance import SIGNIFICANCE_TESTS, lowest_p

    pair, margin, settings = tested.pair, tested.gate.margin, tested.comparison.settings
    # By the direction of the test: few large wins may outweigh many losses in the mean.
    beyond = pair.estimate * tested.of_measure.sign < -margin - SAME
    worse = tested.p < settings.alpha and (beyond or not margin)
    signs = SIGNIFICANCE_TESTS[settings.chosen].signs  # other tests need a spread
    undecided = math.isnan(pair.difference) or lowest_p(settings, tested.of_measure.units, sides=1) >= settings.alpha
    undecided |= not pair.decides and not signs
    outcome: Outcome = "undecided" if undecided else "failed" if worse else "passed"
    through = outcome == "passed" and beyond
    return {"limit": margin, "outcome": outcome, "p": tested.p, "lets_through": through}


def _may_drop(tested: Tested) -> dict[str, Any]:
    limit = tested.gate.may_drop or 0.0
    unknown, dropped = math.isnan(tested.gain), tested.gain < -limit - SAME
    return {"limit": limit, "outcome": "undecided" if unknown else "failed" if dropped else "passed"}


def _no_loss(tested: Tested) -> dict[str, Any]:
    assert tested.compared is not None
    of_pair = tested.compared.only(runs=[tested.pair.run, tested.pair.other])
    lost = lost_queries(of_pair, tested.of_measure.measure, tested.pair.run, tested.pair.other)
    _, with_values = of_pair._matched(of_pair.measures.index(tested.of_measure.measure))
    all_values = len(with_values) == len(of_pair.queries)
    return {"limit": 0.0, "outcome": "failed" if lost else "passed" if all_values else "undecided", "lost": lost}


LIMITS = {"at_least": "below", "at_most": "above"}  # rules for the mean of a run: where a mean fails
# Rules against the baseline: what decides each.
REGRESSIONS = {"not_worse_by": _not_worse_by, "no_significant_loss": _no_significant_loss, "may_drop": _may_drop}
RULES = one_of([*LIMITS, *REGRESSIONS, "queries"])


def _against_baseline(
    gate: Gate, comparison: Comparison, of_measure: MeasureComparison, compared: Scores | None
) -> Iterator[Check]:
    """Each run against the baseline."""
    p_worse = _one_sided(comparison)[of_measure.measure]
    for pair, p in zip(of_measure.pairs, p_worse, strict=True):
        tested = Tested(gate, pair, pair.difference * of_measure.sign, p, of_measure, comparison, compared)
        about: dict[str, Any] = {"mean": pair.mean, "pair": pair, "comparison": comparison, "compared": compared}
        about["lost"] = () if compared is None else lost_queries(compared, of_measure.measure, pair.run, pair.other)
        for rule in gate.comparing:
            decided = REGRESSIONS.get(rule, _no_loss)(tested)
            yield Check(pair.run, of_measure.measure, rule, **about | decided)


def lost_queries(scores: Scores, measure: str, run: str, other: str) -> tuple[str, ...]:
    """The queries on which a run is worse than another, the largest loss first."""
    values, queries = scores._matched(m := scores.measures.index(measure))
    first, second = (values[scores.runs.index(name)] for name in (run, other))
    gain = (first - second) * (-1 if scores.columns[m].lower_is_better else 1)
    order = np.argsort(gain, kind="stable")
    return tuple(scores.queries[queries[q]] for q in order.tolist() if gain[q] < -SAME)
