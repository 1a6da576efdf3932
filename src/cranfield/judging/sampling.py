"""Stratified samples of a pool, to be judged: strata are ranges of the best rank of a document over all runs."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cranfield.errors import UsageError

NOT_DRAWN = -1  # the grade of a pooled document that was not drawn
TO_JUDGE = -2  # the grade of a drawn document that has no judgment yet
LEAST = 2  # with fewer drawn documents, a stratum has no variance


class Stratum(NamedTuple):
    """The documents whose best rank is at most ``depth`` and below that of the stratum before, and the share drawn."""

    depth: int
    rate: float


@dataclass(frozen=True)
class SampledDocument:
    """One document of a pool: its stratum, whether it was drawn, how likely that was, and its grade (or -1, -2)."""

    query: str
    document: str
    stratum: str
    drawn: bool
    probability: float
    grade: float


def parse_strata(text: str) -> tuple[Stratum, ...]:
    """Strata written as ``DEPTH:SHARE``, separated by spaces.

    >>> parse_strata("10:1 100:0.2")
    (Stratum(depth=10, rate=1.0), Stratum(depth=100, rate=0.2))
    """
    strata = []
    for part in text.split():
        depth, _, rate = part.partition(":")
        try:
            strata.append(Stratum(int(depth), float(rate)))
        except ValueError:
            raise UsageError(f"a stratum must be DEPTH:SHARE, such as 10:1, not `{part}`") from None
    depths = [stratum.depth for stratum in strata]
    if not strata or depths != sorted(set(depths)) or depths[0] < 1:
        raise UsageError("strata must have ascending depths of at least 1", hint="for example: 10:1 100:0.2")
    if not all(0 < stratum.rate <= 1 for stratum in strata):
        raise UsageError(
            "the share of a stratum must be above 0 and at most 1: a document that cannot be drawn has no estimate"
        )
    return tuple(strata)


def draw_sample(
    rankings: Sequence[Mapping[str, Sequence[str]]],
    strata: Sequence[Stratum],
    judged: Mapping[str, Mapping[str, float]] | None = None,
    *,
    seed: int = 0,
) -> list[SampledDocument]:
    """A simple random sample of each stratum of each query's pool.

    ``rankings``: for each run, the documents of each query in order. ``judged``: grades that are known already, which a
    drawn document keeps. At least two documents of a stratum are drawn, so that its variance can be estimated.

    >>> sample = draw_sample([{"q": ["a", "b", "c"]}], [Stratum(1, 1.0), Stratum(3, 1.0)], {"q": {"b": 1}})
    >>> [(d.document, d.stratum, d.grade) for d in sample]
    [('a', '1', -2), ('b', '2', 1), ('c', '2', -2)]
    """
    queries = sorted({query for run in rankings for query in run})
    sample = []
    for query in queries:
        pools = _pools((run.get(query, ()) for run in rankings), strata)
        rng = np.random.default_rng([seed, zlib.crc32(query.encode("utf-8", "surrogateescape"))])
        known = (judged or {}).get(query, {})
        for number, (documents, stratum) in enumerate(zip(pools, strata, strict=True), 1):
            size = len(documents)
            drawn = min(size, max(round(stratum.rate * size), LEAST))
            chosen = set(rng.permutation(size)[:drawn].tolist())
            for i, document in enumerate(documents):
                grade = known.get(document, TO_JUDGE)
                grade = grade if grade >= 0 else TO_JUDGE
                sample.append(
                    SampledDocument(
                        query, document, str(number), i in chosen, drawn / size, grade if i in chosen else NOT_DRAWN
                    )
                )
    return sample


def _pools(runs: Iterable[Sequence[str]], strata: Sequence[Stratum]) -> list[list[str]]:
    """The documents of each stratum, by best rank, then by id."""
    best: dict[str, int] = {}
    for run in runs:
        for rank, document in enumerate(run[: strata[-1].depth], 1):
            if rank < best.get(document, rank + 1):
                best[document] = rank
    pools: list[list[str]] = [[] for _ in strata]
    depths = [stratum.depth for stratum in strata]
    for document in sorted(best, key=lambda d: (best[d], d.encode("utf-8", "surrogateescape"))):
        pools[int(np.searchsorted(depths, best[document]))].append(document)
    return pools


def lines(sample: Sequence[SampledDocument]) -> str:
    """The sample as TREC's five columns: query, 0, document, stratum, grade."""
    return "".join(f"{d.query} 0 {d.document} {d.stratum} {d.grade:g}\n" for d in sample)


def rows(sample: Sequence[SampledDocument]) -> str:
    """The sample as CSV, with the probability of each document to be drawn."""
    import csv
    from io import StringIO

    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["query_id", "doc_id", "relevance", "stratum", "probability"])
    writer.writerows((d.query, d.document, f"{d.grade:g}", d.stratum, repr(d.probability)) for d in sample)
    return out.getvalue()
