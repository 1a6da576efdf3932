"""The columns of scores: which measure, which part of it, and what it is called."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

from cranfield.errors import MeasureError, UsageError
from cranfield.evaluation.policy import Policy
from cranfield.measures import Measure, parse
from cranfield.ranking.batch import Key
from cranfield.ranking.tie_rules import Ties
from cranfield.ranking.views import Views

Part = Literal["value", "residual", "lowest", "highest"]
Aggregate = Literal["mean", "geometric", "sum"]
NO_VIEWS = Views()


class AlignmentKey(NamedTuple):
    """Which alignment of a run a measure reads: with the documents' texts or costs, and what ranks documents."""

    content: bool
    key: Key
    costs: bool = False


@dataclass(frozen=True)
class Column:
    """One column of the scores: a measure, or what unjudged documents leave open of it."""

    measure: Measure
    part: Part = "value"
    label: str = ""
    alignment: AlignmentKey = None  # type: ignore[assignment]  # the measure's own, unless given

    def __post_init__(self) -> None:
        if not self.label:
            suffix = "" if self.part == "value" else f" {self.part}"
            object.__setattr__(self, "label", f"{self.measure}{suffix}")
        if self.alignment is None:
            own = AlignmentKey(self.measure.definition.content, self.measure.views.rule.key)
            object.__setattr__(self, "alignment", own)

    @cached_property
    def identity(self) -> tuple[Measure, Part, AlignmentKey]:
        """What its values depend on: everything but the label."""
        return self.measure, self.part, self.alignment

    @property
    def aggregate(self) -> Aggregate:
        """How the values of queries become one number."""
        return "mean" if self.part == "residual" else self.measure.definition.aggregate

    @property
    def rank_cutoff(self) -> int | None:
        """The last rank that the measure looks at; None if there is none."""
        return self.measure.rank_cutoff

    @property
    def new_counts(self) -> bool:
        """Whether a document's gain depends on the documents above it, so that no rule knows a tie's best order."""
        definition = self.measure.definition
        return definition.content or definition.subtopics or definition.preferences or self.alignment.costs

    def with_costs(self) -> Column:
        """The column of the alignment with costs, if the measure reads them."""
        return replace(self, alignment=self.alignment._replace(costs=self.measure.definition.costs))

    def varied(self, **views: Any) -> Column:
        """The same measure of the same alignment under other views."""
        return Column(replace(self.measure, views=replace(self.measure.views, **views)), alignment=self.alignment)

    def tied(self, ties: Ties) -> Column:
        """The same measure of the same tie groups under another tie rule."""
        return self.varied(ties=ties)


@dataclass(frozen=True)
class Plan:
    """What to compute: the columns, and the policy that they follow."""

    columns: tuple[Column, ...]
    policy: Policy

    def __post_init__(self) -> None:
        if self.policy.nil is not None and self.content_columns:
            measure = self.content_columns[0].measure
            raise UsageError(f"{measure} reads documents, and nil is none", hint="leave one of the two out")

    @property
    def content_columns(self) -> list[Column]:
        """The columns of measures that read documents."""
        return [column for column in self.columns if column.measure.definition.content]


def make_plan(measures: Any, policy: Policy, *, residuals: bool = False, bounds: bool = False) -> Plan:
    """The measures as columns, with a policy."""
    return Plan(tuple(make_columns(measures, policy.views, residuals=residuals, bounds=bounds)), policy)


def make_columns(
    measures: Any, defaults: Views = NO_VIEWS, *, residuals: bool = False, bounds: bool = False
) -> list[Column]:
    """The measures, each once, with the views that apply, labelled as the user wrote them; columns stay as they are."""
    columns: dict[str, Column] = {}

    def add(measure: Measure, label: str, part: Part) -> None:
        columns[label] = Column(measure, part, label)

    for written in _listed(measures):
        if isinstance(written, Column):
            columns[written.label] = written
            continue
        measure = parse(written)
        views = measure.views.over(defaults)
        if not views.terminal:
            views = replace(views, full=None)
        measure, own = replace(measure, views=views), measure
        label = str(measure)
        if isinstance(written, str):
            label = written.strip() if measure == own else f"{written.partition('[')[0].strip()}{views}"
        if label in columns:
            continue
        add(measure, label, "value")
        if residuals and measure.definition.residual is not None and not views.terminal:
            add(measure, f"{label} residual", "residual")
        if bounds:
            add(measure, f"{label} lowest", "lowest")
            add(measure, f"{label} highest", "highest")
    return list(columns.values())


def _listed(measures: Any) -> list[Any]:
    if measures is None:
        measures = ()
    single = (
        isinstance(measures, (str, Measure, Column)) or hasattr(measures, "NAME") or not isinstance(measures, Iterable)
    )
    listed = [measures] if single else list(measures)
    if not listed:
        raise MeasureError("no measure was asked for", hint="for example: AP, nDCG@10, RR")
    return listed
