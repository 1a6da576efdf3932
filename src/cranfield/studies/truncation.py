"""What changes when the end of a list counts: the experiment of Liu et al., *Quit While Ahead*, SIGIR 2016.

Every measure X is taken twice. Plain, as TREC question answering did: NIL is an item of the list, right if and only if
nothing is relevant. And in its terminal form X', after the rules of the paper's Table 2 (see `transform`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from cranfield.batch import Booleans
from cranfield.data import Floats, Integers
from cranfield.errors import UsageError
from cranfield.evaluation.columns import AlignmentKey, make_plan
from cranfield.evaluation.evaluator import Evaluator
from cranfield.evaluation.notes import sentences
from cranfield.evaluation.policy import Policy
from cranfield.evaluation.run_scores import RunScores
from cranfield.evaluation.scores import number
from cranfield.measures import Measure, parse
from cranfield.ranking.tie_rules import TIE_RULES, TIES, TieRule, Ties, tie_rule
from cranfield.statistics.correlation import SAME, Agreement, kendall, swaps
from cranfield.studies import saving

# Tie rules that leave no doubt about where in a list NIL stands.
DEFINITE = tuple(name for name, rule in TIE_RULES.items() if rule.fixes_order)


class Transformed(NamedTuple):
    """A list of answers as the terminal measures see it."""

    answers: tuple[str, ...]
    terminal: bool


def transform(answers: Sequence[str], nil: str | None = "NIL", full_length: int | None = 5) -> Transformed:
    """What a list says when its end counts: the answers before NIL, and whether the system chose to stop there.

    Table 2 of the paper: NIL ends a list; so does the end of one that could have been longer; a list of full length
    was not ended by the system, and gets no terminal document.

    >>> transform(["a", "NIL", "b"])
    Transformed(answers=('a',), terminal=True)
    >>> transform(["a", "b", "c", "d", "e"])
    Transformed(answers=('a', 'b', 'c', 'd', 'e'), terminal=False)
    """
    given = tuple(answers)
    if full_length is not None and len(given) > full_length:
        raise UsageError(f"a list of {len(given)} answers is longer than a full list of {full_length}")
    if nil is not None and nil in given:
        return Transformed(given[: given.index(nil)], terminal=True)
    return Transformed(given, terminal=full_length is None or len(given) < full_length)


def c_at_1(n: int, correct: int, unanswered: int) -> float:
    """The share of questions answered right, silence credited with the same share (Peñas and Rodrigo, 2011).

    c@1 = correct/n + (correct/n)(unanswered/n)

    >>> round(c_at_1(10, correct=4, unanswered=3), 6)
    0.52
    """
    if n < 1 or correct < 0 or unanswered < 0 or correct + unanswered > n:
        raise UsageError(f"c@1 of {n} questions cannot have {correct} right and {unanswered} unanswered")
    return correct / n + correct / n * unanswered / n


@dataclass(frozen=True, eq=False)
class Truncation(saving.Study):
    """Plain and terminal scores of systems, side by side, and how long their lists are.

    ``plain``, ``terminal`` (run, measure, query): X and X'; undefined values count 0 in means.
    ``before``, ``after`` (run, query): list lengths, with NIL as an item, and without it and all that follows it.
    ``correct`` (run, query): the first answer is relevant.
    """

    STUDY = "truncation"

    runs: tuple[str, ...]
    measures: tuple[str, ...]
    forms: tuple[str, ...]
    queries: tuple[str, ...]
    plain: Floats
    terminal: Floats
    before: Integers
    after: Integers
    correct: Booleans
    nil: str | None
    full_length: int | None
    ties: Ties
    notes: tuple[str, ...] = ()

    @property
    def means(self) -> Floats:
        """Means over queries of X and of X': (2, run, measure)."""
        return np.nan_to_num(np.stack([self.plain, self.terminal])).mean(axis=-1)

    @property
    def longest(self) -> int:
        """What a list counts as short against: the full length, or else the longest list of any run."""
        return self.full_length or int(self.before.max(initial=0))

    @property
    def short(self) -> Floats:
        """The share of lists shorter than `longest`, before and after the transformation: (2, run)."""
        return (np.stack([self.before, self.after]) < self.longest).mean(axis=-1)

    @property
    def histogram(self) -> dict[int, tuple[int, int]]:
        """How many lists of each length there are, before and after."""
        ends = [
            np.bincount(x.ravel(), minlength=1 + int(self.before.max(initial=0))) for x in (self.before, self.after)
        ]
        counted = enumerate(zip(ends[0].tolist(), ends[1].tolist(), strict=True))
        return {length: counts for length, counts in counted if any(counts)}

    def agreement(self, measure: int) -> Agreement:
        """How far X and X' agree on the order of the systems."""
        x, y = self.means[:, :, measure]
        return kendall(x, y)

    def inverted(self, measure: int) -> list[tuple[str, str]]:
        """Pairs that X and X' order differently: first the system with the higher X, then that with the higher X'."""
        x, y = self.means[:, :, measure]
        return swaps(x, y, self.runs)

    def c_at_1(self, run: int) -> float:
        """c@1 of a run: a list without answers leaves its question unanswered, whether or not there is an answer."""
        empty = self.after[run] == 0
        return c_at_1(len(self.queries), int((self.correct[run] & ~empty).sum()), int(empty.sum()))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data: what `save` writes and ``--format json`` prints."""
        x, y = self.means
        lengths = self.histogram
        return {
            "study": self.STUDY,
            "settings": {"nil": self.nil, "full_length": self.full_length, "ties": self.ties},
            "measures": {measure: self._measure(m) for m, measure in enumerate(self.measures)},
            "lengths": {when: {str(n): c[i] for n, c in lengths.items()} for i, when in enumerate(("before", "after"))},
            "runs": {
                run: {
                    "short_before": float(self.short[0, r]),
                    "short_after": float(self.short[1, r]),
                    "c_at_1": self.c_at_1(r),
                    "means": {
                        measure: {"plain": float(x[r, m]), "terminal": float(y[r, m])}
                        for m, measure in enumerate(self.measures)
                    },
                    "queries": {
                        query: {
                            "before": int(self.before[r, q]),
                            "after": int(self.after[r, q]),
                            "correct": bool(self.correct[r, q]),
                            "plain": saving.listed(self.plain[r, :, q]),
                            "terminal": saving.listed(self.terminal[r, :, q]),
                        }
                        for q, query in enumerate(self.queries)
                    },
                }
                for r, run in enumerate(self.runs)
            },
            "notes": list(self.notes),
        }

    def _measure(self, m: int) -> dict[str, Any]:
        found = self.agreement(m)
        return {
            "terminal": self.forms[m],
            "tau_b": number(found.tau_b),
            "tau_a": found.tau_a,
            "concordant": found.concordant,
            "discordant": found.discordant,
            "tied_plain": found.tied_x,
            "tied_terminal": found.tied_y,
            "inverted": [list(pair) for pair in self.inverted(m)],
        }

    @classmethod
    def of_dict(cls, found: dict[str, Any]) -> Truncation:
        """What `to_dict` returned, as a result again."""
        runs, measures, settings = found["runs"], found["measures"], found["settings"]
        queries = tuple(next(iter(runs.values()))["queries"])
        cells = [[one["queries"][query] for query in queries] for one in runs.values()]

        def scores(kind: str) -> Floats:
            rows = [np.array([saving.array(cell[kind]) for cell in row]).T for row in cells]
            return np.array(rows).reshape(len(runs), len(measures), len(queries))

        def facts(name: str) -> Any:
            return np.array([[cell[name] for cell in row] for row in cells])

        return cls(
            tuple(runs),
            tuple(measures),
            tuple(one["terminal"] for one in measures.values()),
            queries,
            scores("plain"),
            scores("terminal"),
            facts("before"),
            facts("after"),
            facts("correct"),
            settings["nil"],
            settings["full_length"],
            settings["ties"],
            tuple(found["notes"]),
        )


def truncation(
    qrels: Any,
    runs: Sequence[Any],
    measures: Sequence[str | Measure] = (),
    *,
    nil: str | None = None,
    full_length: int | None = None,
    ties: Ties = "trec",
    progress: Callable[[int, int], None] | None = None,
) -> Truncation:
    """What becomes of scores, and of the order of systems, when the end of a list counts.

    ``nil`` is the document id that means "no answer"; ``full_length`` the length at which systems were made to stop.
    ``measures`` are the plain ones; without any, those of the paper (see `default`).
    """
    if ties not in DEFINITE:
        known = ", ".join(DEFINITE)
        what = "leaves open where in a list NIL stands" if ties in TIES else "is no tie rule"
        raise UsageError(f"ties={ties} {what}", hint=f"one of {known}")
    if len(runs) < 2:
        kendall(np.zeros(len(runs)), np.zeros(len(runs)))  # an order needs two: said before anything is read
    pairs = list(dict.fromkeys(_pair(parse(one)) for one in measures or default(full_length)))
    policy = Policy(None if ties == "trec" else ties, undefined="zero", nil=nil, full_length=full_length)
    plan = make_plan([*(x for x, _ in pairs), *(y for _, y in pairs), "P@1"], policy)
    evaluation = Evaluator.of(qrels, plan).evaluation(list(runs), progress=progress)
    scores = evaluation.scores
    lengths = np.array([_lengths(run, tie_rule(ties)) for run in evaluation.run_scores])
    n = len(pairs)
    above = [
        f"{pairs[m][1]} exceeds 1 ({count} of the lists), as published for graded gains; ideal='bounded' keeps it below"
        for m, count in enumerate((scores.values[:, n : 2 * n] > 1 + SAME).sum(axis=(0, 2)))
        if count
    ]
    return Truncation(
        scores.runs,
        tuple(str(x) for x, _ in pairs),
        tuple(str(y) for _, y in pairs),
        scores.queries,
        scores.values[:, :n],
        scores.values[:, n : 2 * n],
        lengths[:, 0],
        lengths[:, 1],
        scores.values[:, -1] > 0,
        nil,
        full_length,
        ties,
        (*sentences(scores.notes), *above),
    )


def default(full_length: int | None) -> tuple[str, ...]:
    """The measures of the paper: nDCG down to where all lists must end."""
    return ("RR", "nDCG" if full_length is None else f"nDCG@{full_length}", "RBP(p=0.5)", "AP")


def _pair(measure: Measure) -> tuple[Measure, Measure]:
    """A measure without and with the terminal document."""
    views = replace(measure.views, terminal=False, full=None)
    return replace(measure, views=views), replace(measure, views=replace(views, terminal=True))


def _lengths(run: RunScores, rule: TieRule) -> Integers:
    """List lengths with NIL as an item, and of the answers before it: (2, query)."""
    alignment = run.alignments[AlignmentKey(False, rule.key)]
    before = np.maximum(run.length, 0)
    after, rows = before.copy(), alignment.rows
    nil_rows = alignment.aligner.judged.nil
    if nil_rows is not None:
        nil = np.flatnonzero(nil_rows[rows["document"]])
        after[rows["query"][nil]] = rows["start"][nil] + rows[rule.page_position][nil]
    return np.stack([before, after])
