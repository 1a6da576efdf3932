"""Answering: whether a system should have answered, whether it did, and credit for silence.

A list is *silent* if it is empty or begins with NIL. A query is *unanswerable* if it is judged and has no relevant
document, or if NIL is judged relevant.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from cranfield.data import Booleans, Floats
from cranfield.measures.catalogue import measure
from cranfield.measures.ties.strategies import ClosedForm, Estimate, Scoring
from cranfield.measures.weights import count
from cranfield.ranking.batch import Batch, summed


class FirstOrLast(ClosedForm):
    """The kernel itself is the expectation; it depends on the first document, and on whether that is NIL.

    The limits over orders are those with NIL as the first and as the last document of its tie.
    """

    nil_matters = True

    def limit(self, scoring: Scoring, batch: Batch, seed: int) -> Estimate:
        if scoring.views.depth is not None and scoring.views.condensed:  # other orders leave other documents
            return super().limit(scoring, batch, seed)
        return self.limit_in_order(scoring, scoring.completed(batch), seed)

    def limit_in_order(self, scoring: Scoring, batch: Batch, seed: int) -> Estimate:
        del seed  # nothing is sampled
        arrange, limit = scoring.views.rule.arrange, scoring.views.rule.limit
        assert arrange is not None and limit is not None  # else there is no limit to compute
        with_nil = batch.within(batch.nil).astype(np.int64)
        scores = []
        for nil, others in ((0, 1), (batch.size - 1, 0)):
            start = batch.start + np.where(batch.nil, nil, others * with_nil)
            moved = batch.changed(start=start, size=np.where(batch.nil, 1, batch.size - with_nil)).sorted()
            scores.append(scoring.kernel(arrange(moved), **scoring.arguments))
        value = limit.reduce(np.nan_to_num(scores))
        return Estimate(np.where(np.isnan(scores).all(axis=0), np.nan, value))


of_silence = partial(
    measure,
    cite="liu2016",
    ties=FirstOrLast(),
    terminal="it asks whether a list is empty, and a terminal document would fill it",
    rewards_promotion=False,
)


def silence(b: Batch) -> Floats:
    """Whether each list is empty or begins with NIL; with ties, the probability of that."""
    return np.where(b.length == 0, 1, summed(b.nil * b.mean_over(count, 1)))


def answerable(b: Batch) -> Booleans:
    """The queries with a relevant document, unless NIL is the right answer."""
    return (b.R > 0) & ~(b.nil_grade > 0)


def unanswerable(b: Batch) -> Booleans:
    """The judged queries without a relevant document."""
    return (b.query >= 0) & ~answerable(b)


@of_silence("Answered", formula="Answered = 1 - silent", gains="none", retrieved_only=True, neutral=True)
def answer_rate(b: Batch) -> Floats:
    """1 if the list has an answer, 0 if it is empty or begins with NIL; the mean is the answer rate.

    It is neither better to answer more queries nor to answer fewer.

    >>> cf.parse("Answered")([0, 1]), cf.parse("Answered")([])
    (1.0, 0.0)
    """
    return 1 - silence(b)


@of_silence("FalseAnswer", formula="FalseAnswer = 1 - silent, if R = 0", lower_is_better=True)
def false_answer_rate(b: Batch) -> Floats:
    """1 if a query without a relevant document is answered, 0 if it is not. Lower is better.

    Undefined if a document is relevant. The mean is the false-answer rate.

    >>> cf.parse("FalseAnswer")([0, None]), cf.parse("FalseAnswer")([], missed=[0]), cf.parse("FalseAnswer")([1])
    (1.0, 0.0, nan)
    """
    return np.where(unanswerable(b), 1 - silence(b), np.nan)


@of_silence("MissedAnswer", formula="MissedAnswer = silent, if R > 0", lower_is_better=True)
def missed_answer_rate(b: Batch) -> Floats:
    """1 if a query with a relevant document is not answered, 0 if it is. Lower is better.

    Undefined if no document is relevant. An answer counts, whether or not it is right. The mean is the missed-answer
    rate.

    >>> cf.parse("MissedAnswer")([0], missed=[1]), cf.parse("MissedAnswer")([], missed=[1])
    (0.0, 1.0)
    """
    return np.where(answerable(b), silence(b), np.nan)


@of_silence("AnswerAccuracy", formula="AnswerAccuracy = 1 - silent if R > 0, else silent")
def answer_accuracy(b: Batch) -> Floats:
    """1 if a query is answered just when it has a relevant document, else 0.

    The mean is the accuracy of the decision to answer, whether or not answers are right.

    >>> cf.parse("AnswerAccuracy")([0], missed=[1]), cf.parse("AnswerAccuracy")([0])
    (1.0, 0.0)
    """
    right = np.where(answerable(b), 1 - silence(b), silence(b))
    return np.where(answerable(b) | unanswerable(b), right, np.nan)


@measure(
    "c_at_1",
    cite="penas2011",
    formula="c@1 = correct/n + (correct/n)(unanswered/n)",
    aggregate="credit",
    terminal="it gives credit to empty lists already",
    ties=FirstOrLast(),
    retrieved_only=True,
)
def credit_for_unanswered_questions(b: Batch) -> Floats:
    """The share of questions answered correctly, with the same share of credit for unanswered ones.

    A question is answered correctly if the first document is relevant. It is unanswered, and its own value undefined,
    if the list is empty or begins with NIL, whether or not an answer exists. Over n questions, every unanswered one
    counts as much as the share of all questions that are answered correctly.

    >>> qrels = {"1": {"a": 1}, "2": {"a": 1}, "3": {"a": 1}, "4": {"a": 1}}
    >>> run = {"1": {"a": 1.0}, "2": {"a": 1.0}, "3": {"b": 1.0}}
    >>> float(cf.evaluate(qrels, run, "c@1")), 2 / 4 + 2 / 4 * 1 / 4
    (0.625, 0.625)
    """
    silent = silence(b) == 1
    correct = summed(np.where(b.nil, 0, b.gain) * b.mean_over(count, 1))
    return np.where(silent, np.nan, correct)
