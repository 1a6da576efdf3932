"""The values of one run for measures with ``[groups]``: the mean over the groups of a query's judgments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from cranfield.data import Floats, Integers, Judgments
from cranfield.errors import InputError
from cranfield.evaluation.notes import Note, QueryNames
from cranfield.evaluation.plan import Column
from cranfield.evaluation.run_scores import ColumnValues, RunScores


class GroupScores(RunScores):
    """A run aligned with each layer of judgments: the first group of every query, the second one, and so on.

    ``layers``: for each layer, its queries as indices into those of the first layer, which has all queries; and the
    values of the run. What is not a value of a measure is that of the first layer.
    """

    def __init__(self, layers: Sequence[tuple[Integers, RunScores]]) -> None:
        first = layers[0][1]
        super().__init__(first.run, first.alignments, first.tops, first.seed)
        self._layers = layers

    def __getitem__(self, column: Column) -> ColumnValues:
        """The mean over groups; a group in which the measure is undefined adds 0."""
        plain = without_groups(column)
        found = [scores[plain] for _, scores in self._layers]
        error = self._mean([values.error**2 for values in found], power=2)
        hold = self._mean([values.hold.astype(np.float64) for values in found]) == 1
        return ColumnValues(self._mean([values.value for values in found]), np.sqrt(error), hold)

    def tie_limits(self, column: Column) -> tuple[Floats, Floats]:
        """The means over groups, each with ties in its own worst and best order."""
        limits = [scores.tie_limits(without_groups(column)) for _, scores in self._layers]
        worst, best = (self._mean(list(values)) for values in zip(*limits, strict=True))
        return worst, best

    def _mean(self, of_layers: Sequence[Floats], power: int = 1) -> Floats:
        """The mean over the groups of each query, by the number of groups to a power; undefined values add 0."""
        total = of_layers[0].copy()
        judged = len(self.length)
        total[:judged] = np.nan_to_num(total[:judged])
        count = np.ones(len(total))
        for (queries, _), values in zip(self._layers[1:], of_layers[1:], strict=True):
            total[queries] += np.nan_to_num(values[: len(queries)])
            count[queries] += 1
        return total / count**power

    def undefined_groups(self, column: Column) -> Integers:
        """The number of groups of each judged query in which the measure is undefined."""
        plain, count = without_groups(column), np.zeros(len(self.length), np.int64)
        for queries, scores in self._layers:
            count[queries] += np.isnan(scores[plain].value[: len(queries)])
        return count

    def release(self) -> None:
        """Free large arrays that can be rebuilt from the alignments."""
        for _, scores in self._layers:
            scores.release()


def group_notes(scores: GroupScores, columns: Sequence[Column]) -> Iterator[Note]:
    """Notes on groups in which a measure is undefined."""
    names = scores.alignment.aligner.judgments.queries
    for column in columns:
        undefined = scores.undefined_groups(column)
        if column.part == "value" and undefined.any():
            queries = QueryNames.of([names[q] for q in np.flatnonzero(undefined).tolist()])
            values = {"groups": int(undefined.sum()), "queries": queries}
            yield Note("undefined_groups", scores.run.name, column.label, values)


def without_groups(column: Column) -> Column:
    """The column without ``[groups]``, to be scored for each group."""
    return replace(column, measure=replace(column.measure, views=replace(column.measure.views, groups=False)))


def layer_rows(layers: Sequence[Judgments]) -> list[Integers]:
    """The queries of each layer, as indices into the queries of the first layer."""
    if len(layers) == 1:
        return [np.arange(len(layers[0].queries))]
    number = {query: row for row, query in enumerate(layers[0].queries)}
    return [np.array([number[query] for query in layer.queries], np.int64) for layer in layers]


def check_columns(columns: Sequence[Column], name: str) -> None:
    """Raise if a measure has no ``[groups]``: all judgments belong to groups."""
    plain = [column.measure for column in columns if not column.measure.views.groups]
    if plain:
        grouped = replace(plain[0], views=replace(plain[0].views, groups=True))
        raise InputError(
            [f"{name}: {measure} needs judgments without groups" for measure in plain],
            hint=f"for the mean over the groups of a query, write {grouped}",
        )
