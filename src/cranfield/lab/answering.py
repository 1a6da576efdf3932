"""Risk and coverage: how often a system answers that keeps silent below a threshold, and how often it is wrong to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.data import Booleans, Floats, Integers
from cranfield.report.canvas import BLUE, GREY, ORANGE, SKY, Drawings, alone, legend_below
from cranfield.report.pages import Page, table
from cranfield.report.sheet import Cell, shown
from cranfield.statistics.rounding import SAME
from cranfield.wording import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROWS = 11  # thresholds of a table, evenly spaced by answer rate
FEWEST = 2  # queries of each kind, one for each half


@dataclass(frozen=True, eq=False)
class Answers:
    """Rates at one or more thresholds, each an array.

    ``threshold``; ``answered``: the share of all queries; ``false_answers``: the share of unanswerable queries that are
    answered; ``missed_answers``: the share of answerable queries that are not.
    """

    threshold: Floats
    answered: Floats
    false_answers: Floats
    missed_answers: Floats

    def row(self, at: int) -> list[float]:
        """The rates at one threshold."""
        return [float(rate[at]) for rate in (self.answered, self.false_answers, self.missed_answers)]


@dataclass(frozen=True, eq=False)
class AnswerCurve:
    """What one run answers by the threshold of a rule, and a threshold for a limited rate of false answers.

    ``by_threshold``: from the threshold that answers least to the one that answers most. ``means``: of each measure
    over the answered queries, whose lists are cut at the threshold. ``chosen``: the most generous threshold within the
    limit on all queries, one entry. ``held_out``: the same on one half of the queries, and rates on the other half, for
    each split.
    """

    run: str
    rule: str
    queries: int
    unanswerable: int
    by_threshold: Answers
    means: dict[str, Floats]
    chosen: Answers
    held_out: Answers


@dataclass(frozen=True)
class Decision:
    """The decision to answer: the key of the first document of each list, -inf for an empty list.

    A threshold answers the queries whose key is at least the threshold.
    """

    key: Floats
    unanswerable: Booleans

    def at(self, threshold: Floats, inside: Booleans) -> Answers:
        """The rates of the queries inside, at each threshold."""
        least = np.maximum(threshold, np.finfo(np.float64).min)  # an empty list is no answer, whatever the threshold

        def rate(queries: Booleans) -> Floats:
            ascending = np.sort(self.key[queries & inside])
            return 1 - np.searchsorted(ascending, least) / max(len(ascending), 1)

        answerable = ~self.unanswerable
        rates = rate(np.ones(len(self.key), bool)), rate(self.unanswerable), 1 - rate(answerable)
        return Answers(threshold, *rates)

    def thresholds(self, inside: Booleans) -> Floats:
        """All thresholds that differ for the queries inside, highest first."""
        key = self.key[inside]
        return np.unique(key[np.isfinite(key)])[::-1]

    def choose(self, limit: float, inside: Booleans) -> float:
        """The lowest threshold with at most this rate of false answers; infinite: no answers, -infinite: no cut."""
        thresholds = self.thresholds(inside)
        within = int((self.at(thresholds, inside).false_answers <= limit + SAME).sum())
        if within == len(thresholds):
            return -np.inf
        return float(thresholds[within - 1]) if within else np.inf


def halves(unanswerable: Booleans, repeats: int, seed: int) -> Iterator[Booleans]:
    """Random training halves of the queries, each with half of the unanswerable ones."""
    rng = np.random.default_rng(seed)
    kinds = [np.flatnonzero(kind) for kind in (unanswerable, ~unanswerable)]
    for _ in range(repeats):
        training = np.zeros(len(unanswerable), bool)
        for queries in kinds:
            training[rng.permutation(queries)[: (len(queries) + 1) // 2]] = True
        yield training


def answer_curve(
    run: str,
    rule: str,
    unanswerable: Booleans,
    keys: Callable[[Booleans], Floats],
    mean: Mapping[str, Callable[[Floats, Floats], Floats]],
    limit: float,
    training: Sequence[Booleans],
    as_threshold: Callable[[Any], Any],
) -> AnswerCurve:
    """The curve of one run and rule.

    ``keys``: those of the queries, learned from the queries given; ``mean``: of each measure over answered queries, by
    threshold; ``as_threshold``: the threshold of the rule for a key.
    """
    every = np.ones(len(unanswerable), bool)
    decision = Decision(keys(every), unanswerable)
    thresholds = decision.thresholds(every)
    splits = []
    for half in training:
        learned = Decision(keys(half), unanswerable)
        splits.append(learned.at(np.array([learned.choose(limit, half)]), ~half))
    held_out = Answers(*(np.concatenate([getattr(x, name) for x in splits]) for name in Answers.__annotations__))
    chosen = decision.at(np.array([decision.choose(limit, every)]), every)
    parts = decision.at(thresholds, every), chosen, held_out
    by_threshold, chosen, held_out = (replace(part, threshold=as_threshold(part.threshold)) for part in parts)
    means = {measure: of(thresholds, decision.key) for measure, of in mean.items()}
    return AnswerCurve(run, rule, len(every), int(unanswerable.sum()), by_threshold, means, chosen, held_out)


Threshold = Callable[[str, float], str]  # the threshold of a rule as text


def pages(curves: Sequence[AnswerCurve], limit: float, splits: str, text: Threshold, digits: int) -> Iterator[Page]:
    """What each run answers by threshold, and the thresholds for a limited rate of false answers."""
    heads = ("answered", "false\nanswers", "missed\nanswers")
    for curve in curves:
        at, rates = curve.by_threshold.threshold, curve.by_threshold
        chosen = np.unique(np.searchsorted(rates.answered, np.linspace(rates.answered[0], rates.answered[-1], ROWS)))
        rows: list[Any] = []
        for i in chosen.tolist():
            means = [shown(float(mean[i]), digits) for mean in curve.means.values()]
            rows.append((text(curve.rule, float(at[i])), [*(shown(x, digits) for x in rates.row(i)), *means]))
        title = f"{curve.run}: answers by threshold of {curve.rule}; {curve.unanswerable} of {curve.queries} queries"
        title += " are unanswerable; measures over answered queries"
        yield table(title, ("threshold",), (*heads, *(m.replace("[", "\n[", 1) for m in curve.means)), rows)
    entries = [((curve.run, curve.rule), _cells(curve, text, digits)) for curve in curves]
    title = (
        f"At most {percent(limit)} false answers: on all queries, and chosen on half of them and tested on the other"
    )
    halves = ("threshold", *heads, "threshold\n(half)", *(f"{head}\n(other half)" for head in heads))
    yield table(f"{title} ({splits})", ("run", "rule"), halves, entries)


def _cells(curve: AnswerCurve, text: Threshold, digits: int) -> list[Cell | str]:
    found, tested = curve.chosen, curve.held_out
    low, median, high = np.quantile(tested.threshold, [0.05, 0.5, 0.95], method="inverted_cdf").tolist()
    aside = f"[{text(curve.rule, low)}, {text(curve.rule, high)}]"
    cells: list[Cell | str] = [text(curve.rule, float(found.threshold[0])), *(shown(x, digits) for x in found.row(0))]
    cells.append(Cell(text(curve.rule, median), aside=aside))
    for rates in (tested.answered, tested.false_answers, tested.missed_answers):
        low, high = np.quantile(rates, [0.05, 0.95], method="inverted_cdf").tolist()
        cells.append(Cell(shown(float(rates.mean()), digits), aside=f"[{shown(low, digits)}, {shown(high, digits)}]"))
    return cells


def drawings(curves: Sequence[AnswerCurve]) -> Drawings:
    """A figure for each curve: rates, and means over answered queries, by answer rate."""
    names = {curve: f"answers-{curve.run}-{curve.rule}".replace(" ", "-") for curve in curves}
    return {name: partial(alone, partial(draw, curve), 3.2) for curve, name in names.items()}


def draw(curve: AnswerCurve, axis: Axes) -> Axes:
    """False and missed answers, and the mean over answered queries, by the share of queries that are answered."""
    rates = curve.by_threshold
    axis.plot(rates.answered, rates.false_answers, color=ORANGE, label="false answers", drawstyle="steps-post")
    axis.plot(rates.answered, rates.missed_answers, color=GREY, label="missed answers", drawstyle="steps-post")
    for colour, (measure, mean) in zip((BLUE, SKY), curve.means.items(), strict=False):
        axis.plot(rates.answered, mean, color=colour, label=f"{measure}, answered")
    axis.axvline(float(curve.chosen.answered[0]), color=ORANGE, linewidth=0.8, linestyle="--", label="chosen threshold")
    axis.set_xlabel("share of queries answered")
    axis.set_ylabel("rate or mean")
    axis.set_title(f"{curve.run}: threshold of {curve.rule}", fontsize=8)
    axis.set_ylim(-0.03, 1.03)
    figure = axis.get_figure(root=True)
    assert figure is not None
    legend_below(figure, axis, 1)
    return axis


def first_keys(query: Integers, depth: Integers, key: Floats, queries: int) -> Floats:
    """The key of the first document of each query; -inf without one."""
    keys = np.full(queries, -np.inf)
    keys[query[depth == 1]] = key[depth == 1]
    return keys
