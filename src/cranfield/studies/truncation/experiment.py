"""The effect of counting the end of a list as an answer: the experiment of Liu et al., *Quit While Ahead*, SIGIR 2016.

Every measure X is computed twice. Plain, as in TREC question answering: NIL is an item of the list, and is correct if
and only if nothing is relevant. And in its terminal form X', by the rules of the paper's Table 2 (see `transform`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from cranfield import io, results
from cranfield.analysis.audit import NilDetection, nil_detection
from cranfield.data import Booleans, Floats, Integers, Judgments
from cranfield.errors import UsageError
from cranfield.evaluation.columns import AlignmentKey, make_plan
from cranfield.evaluation.evaluator import Evaluator
from cranfield.evaluation.notes import sentences
from cranfield.evaluation.policy import Policy
from cranfield.evaluation.run_scores import RunScores
from cranfield.evaluation.scores import number
from cranfield.measures import Measure, parse
from cranfield.measures.aliases import LIU, in_notation
from cranfield.ranking.tie_rules import TIE_RULES, TIES, TieRule, Ties, tie_rule
from cranfield.statistics.correlation import Agreement, kendall, swaps
from cranfield.statistics.rounding import SAME
from cranfield.studies import saving
from cranfield.wording import plural

# Tie rules that fix the position of NIL in every list.
DEFINITE = tuple(name for name, rule in TIE_RULES.items() if rule.fixes_order)


class Transformed(NamedTuple):
    """A list of answers as terminal measures see it."""

    answers: tuple[str, ...]
    terminal: bool


def transform(answers: Sequence[str], nil: str | None = "NIL", full_length: int | None = 5) -> Transformed:
    """The answers of a list before NIL, and whether the system ended the list there.

    Table 2 of the paper: the system ends a list by NIL, or by returning fewer answers than the full length; a list of
    full length has no terminal document.

    >>> transform(["a", "NIL", "b"])
    Transformed(answers=('a',), terminal=True)
    >>> transform(["a", "b", "c", "d", "e"])
    Transformed(answers=('a', 'b', 'c', 'd', 'e'), terminal=False)
    """
    given = tuple(answers)
    if full_length is not None and len(given) > full_length:
        raise UsageError(f"a list has {len(given)} answers, more than the full length of {full_length}")
    if nil is not None and nil in given:
        return Transformed(given[: given.index(nil)], terminal=True)
    return Transformed(given, terminal=full_length is None or len(given) < full_length)


def c_at_1(n: int, correct: int, unanswered: int) -> float:
    """The share of questions answered correctly, with the same credit for unanswered ones (Peñas and Rodrigo, 2011).

    c@1 = correct/n + (correct/n)(unanswered/n)

    >>> round(c_at_1(10, correct=4, unanswered=3), 6)
    0.52
    """
    if n < 1 or correct < 0 or unanswered < 0 or correct + unanswered > n:
        raise UsageError(f"c@1: {correct} correct and {unanswered} unanswered do not fit {n} questions")
    return correct / n + correct / n * unanswered / n


@dataclass(frozen=True, eq=False, repr=False)
class Truncation(saving.StudyResult):
    """Plain and terminal scores of systems, and the lengths of their lists.

    ``plain``, ``terminal`` (run, measure, query): X and X'; undefined values count 0 in means. ``terminal_measures``:
    the names of X', empty for a measure without a terminal form, whose ``terminal`` values are NaN. ``before``,
    ``after`` (run, query): list lengths with NIL as an item, and up to NIL. ``correct`` (run, query): the first answer
    is relevant. ``no_answer`` (query,): no document is relevant; None in files of earlier versions.
    """

    STUDY = "truncation"

    runs: tuple[str, ...]
    measures: tuple[str, ...]
    terminal_measures: tuple[str, ...]
    queries: tuple[str, ...]
    plain: Floats
    terminal: Floats
    before: Integers
    after: Integers
    correct: Booleans
    nil: str | None
    full_length: int | None
    ties: Ties
    no_answer: Booleans | None = None
    notes: tuple[str, ...] = ()

    @property
    def paired(self) -> list[int]:
        """The measures with a terminal form."""
        return [m for m, name in enumerate(self.terminal_measures) if name]

    def nil_detection(self, run: int) -> NilDetection | None:
        """How well a run recognises queries without a relevant document, by an empty list or by NIL in first place."""
        return None if self.no_answer is None else nil_detection(self.no_answer, self.after[run] == 0)

    @property
    def means(self) -> Floats:
        """Means over queries of X and of X': (2, run, measure)."""
        return np.nan_to_num(np.stack([self.plain, self.terminal])).mean(axis=-1)

    @property
    def longest(self) -> int:
        """The length below which a list is short: the full length, or else the length of the longest list."""
        return self.full_length or int(self.before.max(initial=0))

    @property
    def short(self) -> Floats:
        """The share of lists shorter than `longest`, before and after the transformation: (2, run)."""
        return (np.stack([self.before, self.after]) < self.longest).mean(axis=-1)

    @property
    def histogram(self) -> dict[int, tuple[int, int]]:
        """The number of lists of each length, before and after the transformation."""
        lengths = [
            np.bincount(x.ravel(), minlength=1 + int(self.before.max(initial=0))) for x in (self.before, self.after)
        ]
        counted = enumerate(zip(lengths[0].tolist(), lengths[1].tolist(), strict=True))
        return {length: counts for length, counts in counted if any(counts)}

    def agreement(self, measure: int) -> Agreement:
        """The agreement of X and X' on the order of the systems."""
        x, y = self.means[:, :, measure]
        return kendall(x, y)

    def inverted(self, measure: int) -> list[tuple[str, str]]:
        """Pairs that X and X' order differently: the system with the higher X, then the one with the higher X'."""
        x, y = self.means[:, :, measure]
        return swaps(x, y, self.runs)

    def c_at_1(self, run: int) -> float:
        """c@1 of a run: an empty list leaves its question unanswered, whether or not an answer exists."""
        empty = self.after[run] == 0
        return c_at_1(len(self.queries), int((self.correct[run] & ~empty).sum()), int(empty.sum()))

    def to_dict(self) -> dict[str, Any]:
        """The complete result as plain data: what `save` writes and ``--format json`` prints."""
        x, y = self.means
        lengths, paired = self.histogram, self.paired
        return {
            **self.header(),
            "settings": {"nil": self.nil, "full_length": self.full_length, "ties": self.ties},
            "measures": {measure: self._measure_dict(m) for m, measure in enumerate(self.measures)},
            "no_answer": None
            if self.no_answer is None
            else [query for query, missing in zip(self.queries, self.no_answer, strict=True) if missing],
            "lengths": {when: {str(n): c[i] for n, c in lengths.items()} for i, when in enumerate(("before", "after"))},
            "runs": {
                run: {
                    "short_before": float(self.short[0, r]),
                    "short_after": float(self.short[1, r]),
                    "c_at_1": self.c_at_1(r),
                    "nil_detection": results.plain(self.nil_detection(r)),
                    "means": {
                        measure: {"plain": float(x[r, m]), "terminal": float(y[r, m]) if m in paired else None}
                        for m, measure in enumerate(self.measures)
                    },
                    "queries": {
                        query: {
                            "before": int(self.before[r, q]),
                            "after": int(self.after[r, q]),
                            "correct": bool(self.correct[r, q]),
                            "plain": saving.to_json(self.plain[r, :, q]),
                            "terminal": saving.to_json(self.terminal[r, :, q]),
                        }
                        for q, query in enumerate(self.queries)
                    },
                }
                for r, run in enumerate(self.runs)
            },
            "notes": list(self.notes),
        }

    def _measure_dict(self, m: int) -> dict[str, Any]:
        if m not in self.paired:
            return {"terminal": None}
        agreement = self.agreement(m)
        return {
            "terminal": self.terminal_measures[m],
            "tau_b": number(agreement.tau_b),
            "tau_a": agreement.tau_a,
            "concordant": agreement.concordant,
            "discordant": agreement.discordant,
            "tied_plain": agreement.tied_x,
            "tied_terminal": agreement.tied_y,
            "inverted": [list(pair) for pair in self.inverted(m)],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Truncation:
        """The result that `to_dict` returned."""
        runs, measures, settings = data["runs"], data["measures"], data["settings"]
        queries = tuple(next(iter(runs.values()))["queries"])
        cells = [[run["queries"][query] for query in queries] for run in runs.values()]

        def scores(kind: str) -> Floats:
            rows = [np.array([saving.from_json(cell[kind]) for cell in row]).T for row in cells]
            return np.array(rows).reshape(len(runs), len(measures), len(queries))

        def facts(name: str) -> Any:
            return np.array([[cell[name] for cell in row] for row in cells])

        return cls(
            tuple(runs),
            tuple(measures),
            tuple(measure["terminal"] or "" for measure in measures.values()),
            queries,
            scores("plain"),
            scores("terminal"),
            facts("before"),
            facts("after"),
            facts("correct"),
            settings["nil"],
            settings["full_length"],
            settings["ties"],
            None if (missing := data.get("no_answer")) is None else np.array([q in missing for q in queries], bool),
            tuple(data["notes"]),
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
    """How scores and the order of systems change if the end of a list counts as an answer.

    ``nil`` is the document id that stands for "no answer"; ``full_length`` the maximum length of a list. ``measures``
    are given in their plain form, or with a prime as in the paper (RR'); by default those of the paper (see
    `default_measures`). A measure without a terminal form is shown in its plain form only.
    """
    if ties not in DEFINITE:
        reason = "does not fix the position of NIL in a list" if ties in TIES else "is not a tie rule"
        raise UsageError(f"ties={ties} {reason}", hint=f"one of {', '.join(DEFINITE)}")
    if len(runs) < 2:
        raise UsageError(f"this study needs at least two runs, got {len(runs)}", hint="give the runs of two systems")
    pairs = list(dict.fromkeys(_pair(_parsed(measure)) for measure in measures or default_measures(full_length)))
    paired = [m for m, (_, terminal) in enumerate(pairs) if terminal is not None]
    policy = Policy(None if ties == "trec" else ties, undefined="zero", nil=nil, full_length=full_length)
    judgments = io.read_qrels(qrels)
    plan = make_plan([*(x for x, _ in pairs), *(y for _, y in pairs if y is not None), "P@1"], policy)
    evaluation = Evaluator.of(judgments, plan).evaluation(list(runs), progress=progress)
    scores = evaluation.scores
    lengths = np.array([_lengths(run, tie_rule(ties)) for run in evaluation.run_scores])
    plain = scores.values[:, : len(pairs)]
    terminal = np.full_like(plain, np.nan)
    terminal[:, paired] = scores.values[:, len(pairs) : len(pairs) + len(paired)]
    # P@1 is the last column, unless it is one of the measures.
    first_answer = next((m for m, (x, _) in enumerate(pairs) if x == parse("P@1")), -1)
    return Truncation(
        scores.runs,
        tuple(str(x) for x, _ in pairs),
        tuple("" if y is None else str(y) for _, y in pairs),
        scores.queries,
        plain,
        terminal,
        lengths[:, 0],
        lengths[:, 1],
        scores.values[:, first_answer] > 0,
        nil,
        full_length,
        ties,
        _without_relevant(judgments),
        (*sentences(scores.notes), *_terminal_notes(pairs, terminal)),
    )


def _without_relevant(judgments: Judgments) -> Booleans:
    """The queries without a relevant document."""
    query = np.repeat(np.arange(len(judgments.queries)), np.diff(judgments.begin))
    return np.bincount(query[judgments.grade > 0], minlength=len(judgments.queries)) == 0


def _terminal_notes(pairs: Sequence[tuple[Measure, Measure | None]], terminal: Floats) -> Iterator[str]:
    """Notes on measures without a terminal form, and on those that exceed 1."""
    for m, (plain, with_terminal) in enumerate(pairs):
        above_one = int((terminal[:, m] > 1 + SAME).sum())
        if with_terminal is None:
            yield f"{plain} has no terminal form, and is shown in its plain form only: {plain.definition.terminal}"
        elif above_one:
            yield (
                f"{with_terminal} exceeds 1 for {plural(above_one, 'list')}: gains between 0 and 1 can do that; "
                "ideal='bounded' avoids it"
            )


def default_measures(full_length: int | None) -> tuple[str, ...]:
    """The measures of the paper, with nDCG cut at the full length."""
    return ("RR", "nDCG" if full_length is None else f"nDCG@{full_length}", "RBP(p=0.5)", "AP")


def _parsed(measure: str | Measure) -> Measure:
    return parse(in_notation(measure, LIU) if isinstance(measure, str) else measure)


def _pair(measure: Measure) -> tuple[Measure, Measure | None]:
    """A measure without and with a terminal document; None if it has no terminal form."""
    views = replace(measure.views, terminal=False, full=None)
    plain = replace(measure, views=views)
    return plain, None if measure.definition.terminal else replace(measure, views=replace(views, terminal=True))


def _lengths(run: RunScores, rule: TieRule) -> Integers:
    """List lengths with NIL as an item, and the numbers of answers before NIL: (2, query)."""
    alignment = run.alignments[AlignmentKey(False, rule.key)]
    before = np.maximum(run.length, 0)
    after, rows = before.copy(), alignment.rows
    nil_rows = alignment.aligner.judged.nil
    if nil_rows is not None:
        nil = np.flatnonzero(nil_rows[rows["document"]])
        after[rows["query"][nil]] = rows["start"][nil] + rows[rule.page_position][nil]
    return np.stack([before, after])
