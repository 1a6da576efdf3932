"""Orders in which to judge the documents of several runs for one query.

- `depth`: by the best rank of a document over all runs: depth-k pooling.
- `mtf`: move-to-front. Stay with a run while its documents are relevant; after one that is not, lower its priority.
- `maxmean`: a bandit. Always judge the next document of the run with the highest mean of relevant documents.
- `hedge`: judge the document with the highest total over runs, weighted by how well each run has done so far.

All orders are deterministic: ties are broken by the order in which runs are given, then by document id (bytewise).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Literal, get_args

import numpy as np

from cranfield.errors import check_choice

Strategy = Literal["depth", "mtf", "maxmean", "hedge"]
STRATEGIES = get_args(Strategy)
Credit = Literal["selected", "all"]
Oracle = Callable[[str], bool]  # whether a document is relevant
DECIMALS = 12  # totals that are equal to so many decimals are tied


def judging_order(
    runs: Sequence[Sequence[str]],
    relevant: Oracle | Collection[str],
    strategy: Strategy = "maxmean",
    *,
    judged: Collection[str] = frozenset(),
    depth: int | None = None,
    rate: float = 1.0,
    credit: Credit = "selected",
    beta: float = 0.1,
    seed: int | None = None,
) -> Iterator[str]:
    """The documents of one query in the order in which a strategy judges them.

    ``runs``: lists of document ids, best first. ``relevant``: the relevant documents, or a function that is asked for
    each document right after it was returned. ``judged``: documents that are skipped and change nothing.
    ``depth``: the last rank of each run to judge. ``rate``: what remains of earlier judgments in `maxmean`, after each
    further one; 1 forgets nothing, 0 remembers the last judgment only. ``credit``: which runs a judgment counts for in
    `maxmean`: the one that was selected, or all that retrieve the document. ``beta``: the rate of `hedge`. ``seed``:
    shuffle the runs first.

    >>> runs = [["a", "b", "c", "d"], ["c", "a", "e"], ["f", "c", "b"]]
    >>> list(judging_order(runs, {"b", "c"}, "mtf"))
    ['a', 'c', 'e', 'f', 'b', 'd']
    """
    check_choice("strategy", strategy, STRATEGIES)
    oracle: Oracle = relevant if callable(relevant) else set(relevant).__contains__
    lists = [list(run) if depth is None else list(run)[:depth] for run in runs]
    if seed is not None:
        lists = [lists[i] for i in np.random.default_rng(seed).permutation(len(lists))]
    if strategy == "depth":
        return _by_depth(lists, set(judged))
    if strategy == "mtf":
        return _move_to_front(lists, oracle, set(judged))
    if strategy == "maxmean":
        return _max_mean(lists, oracle, set(judged), rate, credit)
    return _hedge(lists, oracle, set(judged), beta)


def _by_depth(runs: list[list[str]], judged: set[str]) -> Iterator[str]:
    for rank in range(max(map(len, runs), default=0)):
        for run in runs:
            if rank < len(run) and run[rank] not in judged:
                judged.add(run[rank])
                yield run[rank]


class _Cursors:
    """The next unjudged document of each run."""

    def __init__(self, runs: list[list[str]], judged: set[str]) -> None:
        self.runs, self.judged, self.at = runs, judged, [0] * len(runs)

    def next_of(self, run: int) -> str | None:
        """The next unjudged document of a run, or None if all are judged."""
        documents, at = self.runs[run], self.at[run]
        while at < len(documents) and documents[at] in self.judged:
            at += 1
        self.at[run] = at
        return documents[at] if at < len(documents) else None


def _move_to_front(runs: list[list[str]], relevant: Oracle, judged: set[str]) -> Iterator[str]:
    cursors = _Cursors(runs, judged)
    priority = dict.fromkeys(range(len(runs)), 0)
    while priority:
        run = max(priority, key=lambda r: (priority[r], -r))
        document = cursors.next_of(run)
        while document is not None:
            judged.add(document)
            yield document
            if not relevant(document):
                priority[run] -= 1
                break
            document = cursors.next_of(run)
        if document is None:
            del priority[run]


def _max_mean(runs: list[list[str]], relevant: Oracle, judged: set[str], rate: float, credit: Credit) -> Iterator[str]:
    cursors = _Cursors(runs, judged)
    retrieving = [set(run) for run in runs] if credit == "all" else []
    found, seen = [0.0] * len(runs), [0.0] * len(runs)
    left = list(range(len(runs)))
    while left:
        run = max(left, key=lambda r: ((1 + found[r]) / (2 + seen[r]), -r))
        document = cursors.next_of(run)
        if document is None:
            left.remove(run)
            continue
        judged.add(document)
        yield document
        is_relevant = relevant(document)
        credited = [r for r, ids in enumerate(retrieving) if document in ids] if credit == "all" else [run]
        for r in credited:
            found[r], seen[r] = rate * found[r] + is_relevant, rate * seen[r] + 1


def _hedge(runs: list[list[str]], relevant: Oracle, judged: set[str], beta: float) -> Iterator[str]:
    documents = sorted({document for run in runs for document in run}, key=_bytes)
    column = {document: i for i, document in enumerate(documents)}
    longest, total = max(map(len, runs), default=0), len(documents)
    below = np.log(longest / np.arange(longest + 1, total + 1)).mean() if total > longest else 0.0
    value = np.full((len(runs), total), below)
    for r, run in enumerate(runs):
        value[r, [column[document] for document in run]] = np.log(longest / np.arange(1, len(run) + 1))
    loss = np.zeros(len(runs))
    left = np.array([document not in judged for document in documents], bool)
    while left.any():
        weights = beta ** (loss - loss.min())
        totals = (weights / weights.sum()) @ value
        best = int(np.argmax(np.where(left, np.round(totals, DECIMALS), -np.inf)))
        left[best] = False
        yield documents[best]
        loss += (-0.5 if relevant(documents[best]) else 0.5) * value[:, best]


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")
