"""Measures of preference judgments: how many of the judges' preferences between two documents a ranking meets.

A preference is met if the better document is retrieved, and the worse one is ranked below it or not retrieved.
Documents without any preference do not count. The parameter ``count`` says which pairs count: ``all`` of them, those
with at least one document retrieved (``implied``), or those with both (``retrieved``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from cranfield.data import Booleans, Floats, Integers, PreferenceJudgments
from cranfield.measures.catalogue import measure
from cranfield.measures.ties.strategies import NO_CUTOFF, Estimate, OverDistinctOrders, Scoring, Search
from cranfield.ranking.batch import Batch, ragged, ratio
from cranfield.ranking.views import condense

pair_measure = partial(measure, cite="carterette2008", gains="none", uses_nonrelevant=True, preferences=True)
number_of_pairs = partial(pair_measure, bounds=(0, math.inf), aggregate="sum")

Count = Literal["all", "implied", "retrieved"]


class Pairs(NamedTuple):
    """The preferences of some rankings: for each preference, its ranking and its row in the judgments.

    ``met``: 1 or 0; ½ for a pair inside a tie. ``retrieved``: how many of the two documents are retrieved.
    """

    row: Integers
    entry: Integers
    met: Floats
    retrieved: Integers

    def counted(self, count: Count) -> Booleans:
        """Which of them count."""
        return self.retrieved >= {"all": 0, "implied": 1, "retrieved": 2}[count]


def judged(b: Batch) -> PreferenceJudgments:
    """The preferences of the judgments."""
    assert b.judged_pairs is not None  # the measure says that it needs them
    return b.judged_pairs


def pairs(b: Batch) -> Pairs:
    """The preferences of every ranking, whether they count or not."""
    preferences = judged(b)
    count = np.where(b.query >= 0, np.diff(preferences.begin)[b.query], 0)
    row, offset = ragged(count)
    entry = preferences.begin[b.query[row]] + offset
    better, worse = (positions(b, row, of[entry]) for of in (preferences.better, preferences.worse))
    both = (better >= 0) & (worse >= 0)
    met = np.where(both, (better < worse) + (better == worse) / 2, better >= 0)
    return Pairs(row, entry, met, (better >= 0).astype(np.int64) + (worse >= 0))


def positions(b: Batch, row: Integers, document: Integers) -> Integers:
    """The number of documents above each document's tie in its ranking; -1 if it is not retrieved."""
    cell_row, column = np.nonzero(b.judged)
    step = int(max(b.document.max(initial=0), document.max(initial=0))) + 1
    key = cell_row * step + b.document[cell_row, column]
    order = np.argsort(key)
    wanted = row * step + document
    at = order[np.minimum(np.searchsorted(key, wanted, sorter=order), len(key) - 1)] if len(key) else None
    if at is None:
        return np.full(len(document), -1)
    return np.where(key[at] == wanted, b.start[cell_row[at], column[at]], -1)


@pair_measure(
    "Prefs",
    formula="Prefs = preferences met / preferences  (by='group': mean of this over groups; by='pair': mean over pairs "
    "of the share of their groups whose preference is met)",
)
def preferences_met(b: Batch, *, by: Literal["all", "group", "pair"] = "all", count: Count = "all") -> Floats:
    """The share of the judges' preferences between two documents that the ranking meets.

    ``by='group'``: all groups of preferences have the same weight, and a group without counted pairs adds 0.
    ``by='pair'``: all pairs of documents have the same weight, however many groups have a preference between them.
    Undefined if no pair counts. With ``by='group'``: undefined if there is no preference or, unless ``count='all'``, if
    no document with a preference is retrieved.

    >>> prefs = {"q": [["judge", "1", "a", 2], ["judge", "1", "b", 1], ["judge", "1", "c", 0]]}
    >>> scores = cf.evaluate(cf.Collection(prefs=prefs), {"q": {"b": 3.0, "a": 2.0}}, "Prefs")
    >>> round(scores.to_dict()["runs"]["run"]["Prefs"]["mean"], 6)
    0.666667
    """
    preferences, seen = judged(b), pairs(b)
    counted = seen.counted(count)
    row, entry, met = seen.row[counted], seen.entry[counted], seen.met[counted]
    if by != "group":
        weight = preferences.share[entry] if by == "pair" else np.ones(len(entry))
        return ratio(_sums(b, row, weight * met), _sums(b, row, weight))
    groups = np.where(b.query >= 0, np.diff(preferences.groups)[b.query], 0)
    first = np.cumsum(groups) - groups
    number = first[row] + preferences.group[entry] - preferences.groups[b.query[row]]
    possible = np.bincount(number, minlength=groups.sum())
    share = np.bincount(number, met, groups.sum()) / np.maximum(possible, 1)
    owner, _ = ragged(groups)
    # A group without counted pairs adds 0, even if it is the only one; but an empty ranking says nothing on order.
    defined = (_sums(b, seen.row, np.ones(len(seen.row))) > 0) & ((count == "all") | b.judged.any(axis=1))
    return np.where(defined, ratio(_sums(b, owner, share), groups.astype(np.float64)), np.nan)


def _sums(b: Batch, row: Integers, values: Floats) -> Floats:
    return np.bincount(row, values, len(b.length)).astype(np.float64)


@number_of_pairs("NumPrefs", formula="NumPrefs = preferences of the judgments")
def number_of_preferences(b: Batch) -> Floats:
    """The number of preferences between two documents in the judgments, summed over queries.

    >>> prefs = {"q": [["judge", "1", "a", 2], ["judge", "1", "b", 1], ["judge", "1", "c", 0]]}
    >>> run = {"q": {"b": 3.0, "a": 2.0}}
    >>> cf.evaluate(cf.Collection(prefs=prefs), run, "NumPrefs").to_dict()["runs"]["run"]["NumPrefs"]["mean"]
    3.0
    """
    row = pairs(b).row
    return _sums(b, row, np.ones(len(row)))


@number_of_pairs("NumPrefsMet", formula="NumPrefsMet = preferences that the ranking meets")
def number_of_preferences_met(b: Batch, *, count: Count = "all") -> Floats:
    """The number of the judges' preferences that the ranking meets, summed over queries.

    >>> prefs = {"q": [["judge", "1", "a", 2], ["judge", "1", "b", 1], ["judge", "1", "c", 0]]}
    >>> run = {"q": {"b": 3.0, "a": 2.0}}
    >>> cf.evaluate(cf.Collection(prefs=prefs), run, "NumPrefsMet").to_dict()["runs"]["run"]["NumPrefsMet"]["mean"]
    2.0
    """
    seen = pairs(b)
    counted = seen.counted(count)
    return _sums(b, seen.row[counted], seen.met[counted])


class Group(NamedTuple):
    """The documents of one group in one ranking: those of a level above 0, and those of level 0 in rank order.

    ``kept`` of a rank order says which documents of level 0 count.
    """

    number: int
    relevant: Integers
    others: Integers
    relevant_found: int
    others_found: int
    single: bool


def groups_of(b: Batch, row: int) -> Iterator[Group]:
    """The groups of a ranking; documents that are not retrieved come last, by id."""
    preferences, query = judged(b), int(b.query[row])
    start = dict(zip(b.document[row, b.judged[row]].tolist(), b.start[row, b.judged[row]].tolist(), strict=True))
    for number in range(preferences.groups[query], preferences.groups[query + 1]) if query >= 0 else ():
        members = slice(preferences.member_begin[number], preferences.member_begin[number + 1])
        member, relevant = preferences.member[members], preferences.relevant[members]
        others = sorted(member[~relevant].tolist(), key=lambda document: start.get(document, NO_CUTOFF))
        yield Group(
            number,
            member[relevant],
            np.array(others, np.int64),
            sum(document in start for document in member[relevant].tolist()),
            sum(document in start for document in others),
            bool(preferences.single[number]),
        )


def sizes(group: Group, count: Literal["all", "retrieved"]) -> tuple[int, int]:
    """How many documents of a level above 0, and of level 0, count."""
    if count == "retrieved":
        return group.relevant_found, group.others_found
    return len(group.relevant), len(group.others)


class ByHalves(OverDistinctOrders):
    """The mean over all orders, unless every group has at least as many relevant documents as others.

    There all pairs count, and a pair inside a tie is met in half of the orders.
    """

    def expectation(self, scoring: Scoring, batch: Batch, seed: int) -> Estimate:
        from cranfield.measures.ties.expectation import score_apart
        from cranfield.measures.ties.over_orders import over_distinct_orders

        if not batch.has_ties:
            return scoring.estimate(batch)
        count = scoring.arguments["count"]
        closed = np.array(
            [all(relevant >= others for relevant, others in (sizes(group, count) for group in groups_of(batch, row)))
             for row in range(len(batch.length))]
        )  # fmt: skip
        # Documents without a preference only take up ranks.
        return score_apart(
            batch,
            closed,
            scoring.estimate,
            lambda others: over_distinct_orders(scoring.estimate, condense(others), Search(seed), k=NO_CUTOFF),
        )


@pair_measure(
    "PrefsR",
    formula="PrefsR = mean over groups of preferences met / preferences, with as many documents of level 0 as of "
    "higher levels",
    ties=ByHalves(),
    rewards_promotion=False,
)
def preferences_met_in_equal_numbers(
    b: Batch, *, count: Literal["all", "retrieved"] = "all", fixed: bool = False
) -> Floats:
    """The share of preferences met, counting in each group as many documents of level 0 as of higher levels.

    As in trec_eval, a group with more documents of level 0 than of higher levels also counts pairs of documents of
    level 0, so that a perfect ranking can score less than 1; and a group without counted pairs makes the score of the
    query 0. A group with fewer documents of level 0 than of higher levels counts pairs for the difference, even if
    it has no preference. ``fixed=True`` counts the preferences only.

    >>> prefs = {"q": [["judge", "1", "a", 1], ["judge", "1", "b", 0], ["judge", "1", "c", 0]]}
    >>> measures = ["PrefsR", "PrefsR(fixed=True)"]
    >>> run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    >>> scores = cf.evaluate(cf.Collection(prefs=prefs), run, measures)
    >>> [round(mean, 6) for mean in scores.means["run"].values()]
    [0.333333, 1.0]
    """
    preferences, seen = judged(b), pairs(b)
    counted = seen.counted(count)
    values = np.full(len(b.length), np.nan)
    bounds = np.searchsorted(seen.row, np.arange(len(b.length) + 1))
    for row in range(len(b.length)):
        mine = slice(bounds[row], bounds[row + 1])
        entry, met, counts = seen.entry[mine], seen.met[mine], counted[mine]
        shares = []
        for group in groups_of(b, row):
            inside = counts & (preferences.group[entry] == group.number)
            shares.append(
                _share_of_group(group, met[inside], preferences.worse[entry[inside]], count=count, fixed=fixed)
            )
        # Without preferences, the pairs that stand for missing documents of level 0 may still count.
        if counts.any() or (not fixed and any(share is not None for share in shares)):
            values[row] = 0.0 if None in shares else sum(share or 0.0 for share in shares) / len(shares)
    return values


def _share_of_group(
    group: Group, met: Floats, worse: Integers, *, count: Literal["all", "retrieved"], fixed: bool
) -> float | None:
    """The share of one group, from the pairs that count; None for 0/0."""
    relevant, others = sizes(group, count)
    if relevant >= others:
        # Level-0 documents that are missing count as if every relevant document retrieved were above them.
        total = group.relevant_found if fixed and count == "retrieved" else len(group.relevant)
        fulfilled = float(met.sum()) + group.relevant_found * (relevant - others)
        possible = len(met) + total * (relevant - others)
    else:
        wanted = len(group.relevant) if count == "retrieved" and not group.single and not fixed else relevant
        kept = np.isin(worse, np.concatenate([group.relevant, group.others[:wanted]]))
        fulfilled, possible = float(met[kept].sum()), int(kept.sum())
        if group.single and not fixed:
            fulfilled += sum(min(j, group.others_found) for j in range(relevant))
            possible += others * relevant
    return fulfilled / possible if possible else None
