"""Designs of comparisons: which differences between runs are independent, and what a test resamples.

Queries belong to collections, whose means are averaged, and to clusters (the turns of a conversation, the questions of
a topic), which are drawn and flipped as a whole. A run may have repeats: the same system with other seeds. With one
collection, single queries and no repeats, the formulas are those of the paired t-test and the paired bootstrap.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple, get_args

import numpy as np

from cranfield import native
from cranfield.data import Booleans, Floats, Integers
from cranfield.errors import UsageError
from cranfield.record import record
from cranfield.statistics.portable import addable
from cranfield.statistics.resampling import draw_counts, random_generator
from cranfield.statistics.rounding import SAME

Repeated = Literal["random", "fixed"]
REPEATED: tuple[Repeated, ...] = get_args(Repeated)
DRAWN = 1 << 20  # clusters drawn at a time


class Error(NamedTuple):
    """The mean difference of each pair and its variance, from queries and from repeats, with degrees of freedom."""

    estimate: Floats
    from_queries: Floats
    from_repeats: Floats
    degrees: Floats

    @property
    def variance(self) -> Floats:
        """The variance from both sources."""
        return self.from_queries + self.from_repeats

    def t_test(self) -> Floats:
        """The two-sided p-values; without any variance, p is 1 for a difference of 0, and 0 for others."""
        from scipy.special import stdtr

        flat = self.variance == 0
        t = np.abs(self.estimate) / np.sqrt(np.where(flat, 1, self.variance))
        return np.where(flat, np.where(np.abs(self.estimate) <= SAME, 1.0, 0.0), 2 * stdtr(self.degrees, -t))

    def half_width(self, share: float | Floats) -> Floats:
        """How far the bound that is not exceeded with probability ``share`` is from the estimate."""
        from scipy.special import stdtrit

        flat = self.variance == 0
        return np.where(flat, 0, stdtrit(np.where(flat, 1, self.degrees), share) * np.sqrt(self.variance))

    def interval(self, level: float | Floats) -> Floats:
        """The two-sided interval by Student's t, (pair, 2); ``level``: of all intervals, or of each."""
        half = self.half_width(0.5 + level / 2)
        return np.stack([self.estimate - half, self.estimate + half], axis=1)


@record(eq=False)
class Design:
    """The collection and the cluster of each query, numbered from 0; a cluster is part of one collection."""

    collection: Integers
    cluster: Integers

    @classmethod
    def of(
        cls, queries: int, collection: Sequence[Hashable] | None = None, cluster: Sequence[Hashable] | None = None
    ) -> Design:
        """The design with these labels of queries; without clusters, each query is one."""
        collections = [0] * queries if collection is None else list(collection)
        clusters = list(range(queries)) if cluster is None else list(cluster)
        numbers = {label: number for number, label in enumerate(dict.fromkeys(collections))}
        of_query = np.array([numbers[label] for label in collections], np.int64)
        pairs = list(zip(of_query.tolist(), clusters, strict=True))
        # Clusters are numbered by collection, so that those of a collection stand together.
        labels = {label: number for number, label in enumerate(sorted(dict.fromkeys(pairs), key=lambda pair: pair[0]))}
        return cls(of_query, np.array([labels[pair] for pair in pairs], np.int64))

    @property
    def collections(self) -> int:
        """The number of collections."""
        return int(self.collection.max()) + 1

    @property
    def clusters(self) -> int:
        """The number of clusters, which is how many signs a randomisation test can flip."""
        return int(self.cluster.max()) + 1

    @cached_property
    def weight(self) -> Floats:
        """The weight of each query in the mean of the collections' means."""
        return 1 / (self.collections * np.bincount(self.collection)[self.collection])

    @cached_property
    def _order(self) -> tuple[Integers, Integers]:
        order = self.cluster.argsort(kind="stable")
        return order, self.cluster[order].searchsorted(np.arange(self.clusters))

    @cached_property
    def parts(self) -> list[slice]:
        """The clusters of each collection."""
        order, begin = self._order
        ends = self.collection[order[begin]].searchsorted(np.arange(self.collections + 1))
        return [slice(low, high) for low, high in pairwise(ends.tolist())]

    @cached_property
    def size(self) -> Floats:
        """The number of queries of each cluster."""
        return np.bincount(self.cluster).astype(np.float64)

    def totals(self, x: Floats) -> Floats:
        """The sums over the queries of each cluster, along the last axis."""
        order, begin = self._order
        return np.asarray(np.add.reduceat(x[..., order], begin, axis=-1))

    def estimate(self, x: Floats) -> Floats:
        """The mean of the collections' means, along the last axis."""
        return np.asarray(
            np.mean([x[..., self.collection == c].mean(axis=-1) for c in range(self.collections)], axis=0)
        )

    def deviations(self, x: Floats) -> Floats:
        """How much each cluster moves the estimate of each row, (row, cluster): sums of deviations, weighted."""
        means = np.stack([x[:, self.collection == c].mean(axis=1) for c in range(self.collections)])
        return self.totals((x - means[self.collection].T) * self.weight)

    def check(self, names: Sequence[str] = ()) -> None:
        """Raise if the error cannot be estimated, because a collection has a single cluster."""
        for c, part in enumerate(self.parts):
            if part.stop - part.start < 2:
                of = f"collection `{names[c]}`" if len(names) > 1 else "the design"
                alone = self.size[part.start] == 1
                raise UsageError(
                    f"{of} has a single {'query' if alone else 'cluster of queries'}; "
                    "an error can be estimated from two or more",
                    hint="leave the collection out, or make it part of another one"
                    if alone
                    else "choose an attribute with more values as the cluster",
                )


class Sample(NamedTuple):
    """What a test sees of one measure: values (run, query), the design, and values of repeated runs.

    ``design``: None for single queries of one collection. ``repeats``: (query, repeat) of each repeated run, by its
    index, where repeats are random.
    """

    x: Floats
    design: Design | None = None
    repeats: Mapping[int, Floats] = {}

    @property
    def is_plain(self) -> bool:
        """Whether queries are independent and runs have no random repeats."""
        return self.design is None and not self.repeats

    @property
    def units(self) -> int:
        """The number of independent queries or clusters."""
        return self.x.shape[1] if self.design is None else self.design.clusters

    @property
    def _design(self) -> Design:
        return self.design or Design.of(self.x.shape[1])

    @property
    def means(self) -> Floats:
        """The mean of each run over queries, or over collections."""
        return self.x.mean(axis=1) if self.design is None else self.design.estimate(self.x)

    @property
    def units_table(self) -> Floats:
        """Values (run, unit) whose mean is that of the run: what a test of signs flips."""
        if self.design is None:
            return self.x
        return self.design.totals(self.x * self.design.weight) * self.design.clusters

    def sources(self) -> dict[int, tuple[float, float, float]]:
        """The variance of a score of each repeated run between queries, between repeats, and the rest.

        With b the variance of the means of the r repeats over n queries and e the residual mean square, the variance
        between repeats is max(0, b - e/n).
        """
        return {run: _sources(values) for run, values in self.repeats.items()}

    def error(self, pairs: Integers) -> Error:
        """The error of the mean difference of each pair."""
        design, first, second = self._design, pairs[:, 0], pairs[:, 1]
        contribution = design.deviations(self.x)
        parts, degrees = [], []
        for part in design.parts:
            clusters = part.stop - part.start
            moved = contribution[:, part]
            squares = np.concatenate([((moved[a] - moved[b]) ** 2).sum(axis=1) for a, b in _blocks(pairs, clusters)])
            parts.append(np.where(squares <= clusters * SAME**2, 0, clusters / (clusters - 1) * squares))
            degrees.append(clusters - 1.0)
        from_queries = np.sum(parts, axis=0)
        spread = np.sum([part**2 / freedom for part, freedom in zip(parts, degrees, strict=True)], axis=0)
        seeds, freedoms = np.zeros(len(self.x)), np.ones(len(self.x))
        for run, (_, between, _) in self.sources().items():
            repeats = self.repeats[run].shape[1]
            seeds[run], freedoms[run] = between / repeats, repeats - 1
        from_repeats = seeds[first] + seeds[second]
        spread += (seeds**2 / freedoms)[first] + (seeds**2 / freedoms)[second]
        total = (from_queries + from_repeats) ** 2
        freedom = np.divide(total, spread, out=np.full(len(pairs), sum(degrees)), where=spread > 0)
        means = self.means
        return Error(means[first] - means[second], from_queries, from_repeats, freedom)

    def resampled_means(self, resamples: int, seed: int) -> Iterator[Floats]:
        """Means of the runs over drawn clusters and repeats, (run, resample), some resamples at a time.

        In each collection as many clusters are drawn as there are, with replacement; likewise repeats of each run.
        """
        design, rng = self._design, random_generator(seed)
        rows = [self.repeats[r].T if r in self.repeats else x[None] for r, x in enumerate(self.x)]
        totals, begin = design.totals(np.concatenate(rows)), np.cumsum([0, *map(len, rows)])
        for start in range(0, resamples, step := max(1, DRAWN // design.clusters)):
            number = min(step, resamples - start)
            means = np.zeros((len(totals), number))
            for part in design.parts:
                clusters = part.stop - part.start
                counts = draw_counts(rng.integers(0, clusters, (number, clusters)))
                sums = addable(totals[:, part], clusters) @ counts
                means += sums / (design.size[part] @ counts) / design.collections
            drawn = np.empty((len(self.x), number))
            for r in range(len(self.x)):
                own = means[begin[r] : begin[r + 1]]
                if len(own) > 1:
                    own = own * draw_counts(rng.integers(0, len(own), (number, len(own)))) / len(own)
                drawn[r] = own.sum(axis=0)
            yield drawn

    def bootstrap(self, pairs: Integers, resamples: int, seed: int) -> Floats:
        """The p-values of pairs: the share of resamples whose estimate is off by at least the observed difference.

        The data themselves count as a resample.
        """
        first, second = (np.ascontiguousarray(side, np.int64) for side in pairs.T)
        means = self.means
        limit = np.abs(means[first] - means[second]) - SAME
        count = np.ones(len(pairs), np.int64)
        for drawn in self.resampled_means(resamples, seed):
            count += native.differences_at_least(np.ascontiguousarray(drawn - means[:, None]), first, second, limit)
        p: Floats = count / (resamples + 1)
        return p


def _sources(values: Floats) -> tuple[float, float, float]:
    """The variance of values (query, repeat) between queries, between repeats, and the rest."""
    queries, repeats = values.shape
    of_query, of_repeat = values.mean(axis=1), values.mean(axis=0)
    residual = values - of_query[:, None] - of_repeat + values.mean()
    rest = float((residual**2).sum()) / ((queries - 1) * (repeats - 1))
    between_queries = max(0.0, float(of_query.var(ddof=1)) - rest / repeats)
    return between_queries, max(0.0, float(of_repeat.var(ddof=1)) - rest / queries), rest


def _blocks(pairs: Integers, width: int) -> Iterator[tuple[Integers, Integers]]:
    """The pairs, so many at a time that a table of this width stays small."""
    for i in range(0, len(pairs), step := max(1, DRAWN // width)):
        yield pairs[i : i + step, 0], pairs[i : i + step, 1]


class GroupEffect(NamedTuple):
    """Whether a difference depends on the group: the one-way analysis of variance of differences by group."""

    F: float
    between: int  # degrees of freedom
    within: int
    p: float


def group_effect(
    difference: Floats, group: Integers, cluster: Integers | None = None, *, samples: int = 9_999, seed: int = 0
) -> GroupEffect:
    """The analysis of variance of differences by group; with clusters, p is by permutation.

    Labels of groups are permuted over clusters, or inside of them if a cluster has queries of several groups.
    """
    from scipy.special import fdtrc

    groups = int(group.max()) + 1
    between, within = groups - 1, len(difference) - groups
    if between < 1 or within < 1:
        return GroupEffect(np.nan, between, within, np.nan)

    def statistic(labels: Integers) -> float:
        sizes = np.bincount(labels, minlength=groups)
        means = np.bincount(labels, difference, groups) / sizes
        among = float((sizes * (means - difference.mean()) ** 2).sum()) / between
        rest = float(((difference - means[labels]) ** 2).sum()) / within
        if rest <= SAME**2:
            return np.inf if among > SAME**2 else 0.0
        return among / rest

    observed = statistic(group)
    if cluster is None or len(np.unique(cluster)) == len(cluster):
        return GroupEffect(observed, between, within, float(fdtrc(between, within, observed)) if observed else 1.0)
    rng = random_generator(seed)
    permuted = _permutations(group, np.unique(cluster, return_inverse=True)[1], rng)
    count = sum(statistic(next(permuted)) >= observed * (1 - SAME) for _ in range(samples))
    return GroupEffect(observed, between, within, (count + 1) / (samples + 1))


def _permutations(group: Integers, cluster: Integers, rng: np.random.Generator) -> Iterator[Integers]:
    number = int(cluster.max()) + 1
    of_cluster = np.zeros(number, np.int64)
    of_cluster[cluster] = group
    constant: Booleans = of_cluster[cluster] == group
    order = cluster.argsort(kind="stable")
    while True:
        labels = np.empty_like(group)
        if constant.all():
            labels = rng.permutation(of_cluster)[cluster]
        else:
            # Sorted by cluster, then at random: the labels of a cluster stay inside it.
            shuffled = np.lexsort((rng.random(len(group)), cluster))
            labels[order] = group[shuffled]
        yield labels
