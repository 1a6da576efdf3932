"""The values of one run for measures with ``[groups]``: the mean over the groups of a query's judgments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cranfield.data import Integers, Judgments, Run, Strings
from cranfield.errors import InputError
from cranfield.evaluation.columns import Column
from cranfield.evaluation.run_scores import ColumnValues, RunScores
from cranfield.ranking.alignment import Alignment


class GroupScores:
    """A run aligned with each layer of judgments: the first group of every query, the second one, and so on.

    ``layers``: for each layer, its queries as indices into those of the first layer, which has all queries; and the
    values of the run.
    """

    def __init__(self, layers: Sequence[tuple[Integers, RunScores]]) -> None:
        self._layers = layers

    @property
    def _first(self) -> RunScores:
        return self._layers[0][1]

    @property
    def run(self) -> Run:
        """The run."""
        return self._first.run

    @property
    def alignment(self) -> Alignment:
        """The alignment with the first layer, which has every query."""
        return self._first.alignment

    @property
    def length(self) -> Integers:
        """The number of documents retrieved for each judged query; -1 if the run does not answer it."""
        return self._first.length

    @property
    def unjudged_queries(self) -> Strings:
        """The queries of the run without judgments."""
        return self._first.unjudged_queries

    def __getitem__(self, column: Column) -> ColumnValues:
        """The mean over groups; a group in which the measure is undefined adds 0."""
        plain = without_groups(column)
        value, error = self._first[plain].value.copy(), self._first[plain].error ** 2
        judged = len(self.length)
        value[:judged] = np.nan_to_num(value[:judged])
        count = np.ones(len(value))
        for queries, scores in self._layers[1:]:
            found = scores[plain]
            value[queries] += np.nan_to_num(found.value[: len(queries)])
            error[queries] += found.error[: len(queries)] ** 2
            count[queries] += 1
        return ColumnValues(value / count, np.sqrt(error) / count, np.ones(len(value), bool))

    def undefined_groups(self, column: Column) -> Integers:
        """The number of groups of each judged query in which the measure is undefined."""
        plain, count = without_groups(column), np.zeros(len(self.length), np.int64)
        for queries, scores in self._layers:
            count[queries] += np.isnan(scores[plain].value[: len(queries)])
        return count


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
