"""Designs of comparisons: which differences between runs are independent, and what a test resamples.

Queries belong to collections, whose means are averaged, and to clusters (the turns of a conversation, the questions of
a topic), which are drawn and flipped as a whole. A run may have repeats: the same system with other seeds. With one
collection, single queries and no repeats, the formulas are those of the paired t-test and the paired bootstrap.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple, get_args

import numpy as np

from cranfield.data import Booleans, Floats, Integers
from cranfield.errors import UsageError
from cranfield.statistics.resampling import TOLERANCE, draw_counts, random_generator, resampled_t
from cranfield.statistics.rounding import SAME, addable

Repeated = Literal["random", "fixed"]
REPEATED: tuple[Repeated, ...] = get_args(Repeated)
DRAWN = 1 << 20  # clusters drawn at a time
TAIL = 0.975  # the probability at which degrees of freedom are compared
LENDING = 3  # repeats whose variance stands for that of a run without any
TOGETHER = 64  # pairs that are resampled together


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
        """The two-sided p-values; 1 without any variance, which is no evidence."""
        from scipy.special import stdtr

        flat = self.variance == 0
        t = np.abs(self.estimate) / np.sqrt(np.where(flat, 1, self.variance))
        return np.where(flat, 1.0, 2 * stdtr(self.degrees, -t))

    def half_width(self, share: float | Floats) -> Floats:
        """How far the bound that is not exceeded with probability ``share`` is from the estimate."""
        from scipy.special import stdtrit

        flat = self.variance == 0
        return np.where(flat, 0, stdtrit(np.where(flat, 1, self.degrees), share) * np.sqrt(self.variance))

    def interval(self, level: float | Floats) -> Floats:
        """The two-sided interval by Student's t, (pair, 2); ``level``: of all intervals, or of each."""
        half = self.half_width(0.5 + level / 2)
        return np.stack([self.estimate - half, self.estimate + half], axis=1)


@dataclass(frozen=True, eq=False)
class Design:
    """The collection and the cluster of each query, numbered from 0.

    A cluster may have queries of several collections, such as the judgments of a topic by several people.
    """

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
        home: dict[Hashable, int] = {}
        for label, number in zip(clusters, of_query.tolist(), strict=True):
            home.setdefault(label, number)
        # Clusters are numbered by collection, so that those of a collection stand together.
        labels = {label: number for number, label in enumerate(sorted(home, key=lambda label: home[label]))}
        return cls(of_query, np.array([labels[label] for label in clusters], np.int64))

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
    def spans(self) -> bool:
        """Whether a cluster has queries of several collections."""
        return len(np.unique(self.cluster * self.collections + self.collection)) > self.clusters

    @cached_property
    def parts(self) -> list[slice]:
        """The clusters that are drawn together: those of each collection; all, if some span collections."""
        if self.spans:
            return [slice(0, self.clusters)]
        order, begin = self._order
        ends = self.collection[order[begin]].searchsorted(np.arange(self.collections + 1))
        return [slice(low, high) for low, high in pairwise(ends.tolist())]

    @cached_property
    def size(self) -> Floats:
        """The number of queries of each cluster."""
        return np.bincount(self.cluster).astype(np.float64)

    def shares(self, part: slice) -> Floats:
        """The share of each cluster in the queries of its collection; of those that span collections, the same."""
        size = np.ones(self.clusters) if self.spans else self.size[part]
        return size / size.sum()

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
                of = f"collection `{names[c]}`" if len(names) > 1 and not self.spans else "the design"
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

        With b the variance of the estimates of the r repeats and e that part of it which is there without any effect of
        repeats, the variance between repeats is max(0, b - e). Over n queries, e is the residual mean square divided by
        n; over C collections, the sum of these divided by C². The other two are means over collections.
        """
        if self.design is None or self.design.collections == 1:
            return {run: _sources(values) for run, values in self.repeats.items()}
        variances, design = {}, self.design
        for run, values in self.repeats.items():
            tables = [values[design.collection == c] for c in range(design.collections)]
            parts = [_sources(table) for table in tables]
            residuals = sum(rest / len(table) for table, (_, _, rest) in zip(tables, parts, strict=True))
            between = float(design.estimate(values.T).var(ddof=1)) - residuals / design.collections**2
            queries, _, rest = np.mean(parts, axis=0).tolist()
            variances[run] = queries, max(0.0, between), rest
        return variances

    def _of_repeats(self, pairs: Integers) -> tuple[Floats, Floats]:
        """The variance of the difference of each pair from repeats, and its square over the degrees of freedom."""
        between, number = np.zeros(len(self.x)), np.ones(len(self.x))
        for run, (_, variance, _) in self.sources().items():
            between[run], number[run] = variance, self.repeats[run].shape[1]
        first, second = pairs.T
        seeds, freedoms = between / number, np.maximum(number - 1, 1)
        of_two, squares = seeds[first] + seeds[second], (seeds**2 / freedoms)[first] + (seeds**2 / freedoms)[second]
        # The variance v of the mean of r repeats, and r v of a single one, are the same estimate.
        times = np.where(self.borrowed(pairs), number[pairs].max(axis=1) + 1, 1)
        return of_two * times, squares * times**2

    def borrowed(self, pairs: Integers) -> Booleans:
        """The pairs of which one run has no repeats: how much they would differ is taken from those of the other.

        Two repeats are too few to say it: their variance has one degree of freedom.
        """
        number = np.array([self.repeats[r].shape[1] if r in self.repeats else 1 for r in range(len(self.x))])[pairs]
        return (number.min(axis=1) == 1) & (number.max(axis=1) >= LENDING)

    def error(self, pairs: Integers) -> Error:
        """The error of the mean difference of each pair.

        The error of clusters of different size is that of Bell and McCaffrey (2002), with their degrees of freedom.
        """
        design, first, second = self._design, pairs[:, 0], pairs[:, 1]
        contribution = design.deviations(self.x)
        parts, degrees = [], []
        for part in design.parts:
            clusters, (scale, freedom) = part.stop - part.start, _scale(design.shares(part))
            moved = contribution[:, part]
            squares = np.concatenate(
                [((moved[a] - moved[b]) ** 2 * scale).sum(axis=1) for a, b in _blocks(pairs, clusters)]
            )
            factor = clusters / (clusters - 1) if np.ndim(scale) == 0 else 1.0
            parts.append(np.where(squares <= clusters * SAME**2, 0, factor * squares))
            degrees.append(freedom)
        from_queries = np.sum(parts, axis=0)
        spread = np.sum([part**2 / freedom for part, freedom in zip(parts, degrees, strict=True)], axis=0)
        from_repeats, of_repeats = self._of_repeats(pairs)
        total, both = (from_queries + from_repeats) ** 2, spread + of_repeats
        freedom = np.divide(total, both, out=np.full(len(pairs), sum(degrees)), where=both > 0)
        if (borrowed := self.borrowed(pairs) & (from_repeats > 0)).any():
            parts_of = ((from_queries, spread), (from_repeats, of_repeats))
            freedom[borrowed] = _cochran([(v[borrowed], squares[borrowed]) for v, squares in parts_of])
        means = self.means
        return Error(means[first] - means[second], from_queries, from_repeats, freedom)

    def resampled_means(self, resamples: int, seed: int) -> Iterator[Floats]:
        """Means of the runs over drawn clusters and repeats, (run, resample), some resamples at a time.

        In each collection as many clusters are drawn as there are, with replacement; likewise repeats of each run.
        """
        design, rng = self._design, random_generator(seed)
        rows = [self.repeats[r].T if r in self.repeats else x[None] for r, x in enumerate(self.x)]
        totals, begin = design.totals(np.concatenate(rows)), np.cumsum([0, *map(len, rows)])
        means_of, moved = design.estimate(np.concatenate(rows)), design.deviations(np.concatenate(rows))
        for start in range(0, resamples, step := max(1, DRAWN // design.clusters)):
            number = min(step, resamples - start)
            means = np.zeros((len(totals), number))
            for part in design.parts:
                clusters = part.stop - part.start
                counts = draw_counts(rng.integers(0, clusters, (number, clusters)))
                if design.spans:  # a resample may have no query of a collection, so that its mean is approximated
                    means += means_of[:, None] + addable(moved, clusters) @ counts
                else:
                    sums = addable(totals[:, part], clusters) @ counts
                    means += sums / (design.size[part] @ counts) / design.collections
            drawn = np.empty((len(self.x), number))
            for r in range(len(self.x)):
                own = means[begin[r] : begin[r + 1]]
                if len(own) > 1:
                    own = own * draw_counts(rng.integers(0, len(own), (number, len(own)))) / len(own)
                drawn[r] = own.sum(axis=0)
            yield drawn

    def squared_t(self, pairs: Integers, resamples: int, seed: int) -> Iterator[Floats]:
        """The squared t of each pair in resamples, (pair, resample), some resamples at a time.

        Clusters are drawn, in each collection as many as there are. t is how far the estimate of a resample is from the
        observed one, divided by its standard error; 0/0 is 0 and x/0 is infinite. Two or three repeats are too few to
        be drawn: their error is drawn from a normal distribution, and t has as few degrees of freedom as they give it.
        """
        if self.is_plain:
            yield from resampled_t(self.x, pairs, samples=resamples, seed=seed)
            return
        design, rng, (first, second) = self._design, random_generator(seed), pairs.T
        moved = design.deviations(self.x)
        difference = moved[first] - moved[second]
        error, of_queries = self.error(pairs), self._replace(repeats={}).error(pairs)
        share = np.divide(of_queries.variance, error.variance, out=np.ones(len(pairs)), where=error.variance > 0)
        # What the degrees of freedom lack beyond those of the queries.
        rest = np.maximum(1 / error.degrees - share**2 / of_queries.degrees, 0)
        for start in range(0, resamples, step := max(1, DRAWN // max(design.clusters, len(pairs)))):
            drawn = min(step, resamples - start)
            off, variance = np.zeros((2, len(pairs), drawn))
            for part in design.parts:
                clusters, share = part.stop - part.start, design.shares(part)
                counts = draw_counts(rng.integers(0, clusters, (drawn, clusters)))
                z, total = difference[:, part], np.einsum("c,cd->d", share, counts)
                if np.ptp(share) == 0:
                    weight = counts * (clusters / (clusters - 1))
                else:  # a cluster that was not drawn has no share
                    weight = counts / (1 - np.where(counts > 0, share[:, None] / total, 0))
                # `einsum` adds in an order of its own, which is the same on every machine.
                mean = np.einsum("pc,cd->pd", z, counts) / total
                squares, cross = (np.einsum("pc,cd->pd", x, weight) for x in (z**2, z * share))
                spread = squares - 2 * mean * cross + mean**2 * np.einsum("c,cd->d", share**2, weight)
                off += mean
                variance += np.where(spread <= TOLERANCE * squares, 0, spread) / total**2
            if self.repeats:
                off += rng.normal(size=off.shape) * np.sqrt(error.from_repeats)[:, None]
                variance += error.from_repeats[:, None]
            t = np.divide(off**2, variance, out=np.zeros_like(off), where=variance > 0)
            t[(variance <= 0) & (np.abs(off) > SAME)] = np.inf
            for p in np.flatnonzero((error.from_repeats > 0) & (rest > 0)).tolist():
                t[p] /= rng.chisquare(1 / rest[p], drawn) * rest[p]
            yield t

    def bootstrap(self, pairs: Integers, resamples: int, seed: int) -> Floats:
        """The p-values of pairs: the share of resamples whose |t| is at least the observed one.

        The data themselves count as a resample; without any variance, p is 1.
        """
        error = self.error(pairs)
        flat = error.variance == 0
        limit = error.estimate**2 / np.where(flat, 1, error.variance) * (1 - TOLERANCE)
        count = np.ones(len(pairs), np.int64)
        for i in range(0, len(pairs), TOGETHER):
            part = slice(i, i + TOGETHER)
            for t in self.squared_t(pairs[part], resamples, seed):
                count[part] += np.count_nonzero(t >= limit[part, None], axis=1)
        return np.where(flat, 1.0, count / (resamples + 1))


def _cochran(parts: Sequence[tuple[Floats, Floats]]) -> Floats:
    """The degrees of freedom of a sum of variances, with their squares over their own, of which one is very uncertain.

    Satterthwaite's would be too many where it is small by chance. By Cochran (1964), the quantile of t is the mean of
    those of the parts, weighted by their variances.
    """
    from scipy.special import stdtridf, stdtrit

    total = np.sum([variance for variance, _ in parts], axis=0)
    quantile = np.zeros_like(total)
    for variance, squares in parts:
        at = variance > 0
        quantile[at] += variance[at] / total[at] * stdtrit(variance[at] ** 2 / squares[at], TAIL)
    degrees: Floats = stdtridf(TAIL, quantile)
    return degrees


def _scale(share: Floats) -> tuple[float | Floats, float]:
    """By what the squares of clusters with these shares of the queries are multiplied, and the degrees of freedom.

    Those of Bell and McCaffrey; of equal clusters, 1 and one less than their number.
    """
    if np.ptp(share) == 0:
        return 1.0, len(share) - 1.0
    scale = 1 / (1 - share)
    off_diagonal = share**2 * scale
    return scale, float(1 / ((share**2).sum() + off_diagonal.sum() ** 2 - (off_diagonal**2).sum()))


def _sources(values: Floats) -> tuple[float, float, float]:
    """The variance of values (query, repeat) between queries, between repeats, and the rest."""
    queries, repeats = values.shape
    if queries == 1:
        return 0.0, float(values.var(ddof=1)), 0.0
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
