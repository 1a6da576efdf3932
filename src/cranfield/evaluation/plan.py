"""What to compute: the settings of an evaluation (`Policy`), and the columns of its scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import Parameter, signature
from itertools import chain, count
from typing import Annotated, Any, Literal, NamedTuple, TypedDict, TypeVar, get_args

from cranfield.data import Judgments
from cranfield.errors import MeasureError, UsageError
from cranfield.io.runs import WHOLE_RANKING
from cranfield.measures import Measure
from cranfield.measures.catalogue import OUTSIDE, Better
from cranfield.measures.catalogue import Aggregate as Aggregate
from cranfield.measures.grammar import parse_all
from cranfield.measures.user_model import HORIZON
from cranfield.ranking.batch import Key
from cranfield.ranking.tie_rules import Ties
from cranfield.ranking.views import Views
from cranfield.settings import RARE, Limits, Option, Positive, Whole, check, check_fields, checked, walk

Queries = Literal["judged", "both", "run"]
Undefined = Literal["skip", "zero", "one", "error"]
Negative = Literal["unjudged", "nonrel"]
Inference = Literal["loo", "fixed"]  # from predictions: for queries like these, or for exactly these

QUERIES: tuple[str, ...] = get_args(Queries)
UNDEFINED: tuple[str, ...] = get_args(Undefined)
NEGATIVE: tuple[str, ...] = get_args(Negative)
Function = TypeVar("Function", bound=Callable[..., Any])
Depth = Annotated[int, Limits(1, 999_999_999)]


@dataclass(frozen=True)
class Policy:
    """The checked settings of an evaluation; those that are described are options and keys of experiments, too."""

    ties: Annotated[Ties | None, "Order of documents with equal scores.", Option(default="trec")] = None
    depth: Annotated[Depth | None, "Use only the first N documents."] = None
    condensed: Annotated[bool, "Remove unjudged documents from rankings (condensed lists).", RARE] = False
    terminal: Annotated[bool, 'Score the end of each list as an answer: "no more relevant documents".', RARE] = False
    queries: Annotated[
        Queries,
        "Queries to average over. judged: every judged query, a missing ranking is empty; both: judged queries that "
        "the run answers; run: every query of the run.",
    ] = "judged"
    undefined: Annotated[
        Undefined, "How to count undefined values, such as AP of a query without relevant documents."
    ] = "skip"
    negative: Negative = "unjudged"
    nil: str | None = None
    full_length: Depth | None = None
    complete: bool = False
    rel: Positive = 1.0
    seed: Annotated[Whole, "Random seed.", RARE] = 0

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def views(self) -> Views:
        """The views of every measure that does not name its own."""
        return Views(self.ties, self.depth, self.condensed, self.full_length, self.terminal)


class PolicyOptions(TypedDict, total=False):
    """The settings of `Policy` that `evaluate` takes, for type checkers."""

    ties: Ties | None
    depth: Depth | None
    condensed: bool
    terminal: bool
    queries: Queries
    undefined: Undefined
    seed: Whole


def takes_policy(function: Function) -> Function:
    """The function, whose signature has `PolicyOptions` in place of ``**options``, before its other keywords."""
    *own, _ = signature(function).parameters.values()
    at = [parameter.kind for parameter in own].index(Parameter.KEYWORD_ONLY)
    own[at:at] = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=getattr(Policy, name), annotation=hint.__forward_arg__)
        for name, hint in PolicyOptions.__annotations__.items()
    ]
    function.__signature__ = signature(function).replace(parameters=own)  # type: ignore[attr-defined]
    return function


# The whole ranking (AP, bpref), the first page, the first relevant document, and recall.
DEFAULT_MEASURES = ("AP", "nDCG@10", "RR", "P@10", "R@1000", "bpref")
# For judgments by subtopic: what TREC and NTCIR report, and subtopic recall.
DIVERSITY_MEASURES = ("ERR_IA@20", "alpha_nDCG@20", "NRBP", "AP_IA", "Dsharp_nDCG@20", "StRecall@20")
# For terminal lists, which not every measure supports.
TERMINAL_MEASURES = ("AP", "nDCG@10", "RR", "RBP")


def default_measures(
    judgments: Judgments | None, *, terminal: bool = False, otherwise: Sequence[str] = DEFAULT_MEASURES
) -> Sequence[str]:
    """The measures if none are given: those that fit the judgments, if these are known."""
    from cranfield.ranking.subtopics import diverse

    if terminal:
        return TERMINAL_MEASURES
    if judgments is None:
        return otherwise
    return judgments.measures or (DIVERSITY_MEASURES if diverse(judgments) else otherwise)


Part = Literal["value", "residual", "lowest", "highest", "standardised", "standard error"]
Keys = Literal["labels", "plain"]
Shown = Literal["residuals", "bounds", "standard-errors"]
NO_POLICY = Policy()
AT_TOP_GRADE = " (unjudged at the top grade)"  # what lowest and highest are where they are not proven bounds


class AlignmentKey(NamedTuple):
    """Which alignment of a run a measure needs: with text, costs, the judgments of all queries, or all documents.

    ``key``: what ranks documents.
    """

    content: bool
    key: Key
    costs: bool = False
    collection: bool = False
    documents: bool = False

    @property
    def plain(self) -> bool:
        """Whether only the judged documents of the query are needed."""
        return not (self.content or self.costs or self.collection or self.documents)


@dataclass(frozen=True)
class Column:
    """One column of the scores: a measure, its residual, its lowest or highest value, or its standardised value."""

    measure: Measure
    part: Part = "value"
    label: str = ""
    alignment: AlignmentKey = None  # type: ignore[assignment]  # the measure's own, unless given

    def __post_init__(self) -> None:
        if not self.label:
            suffix = "" if self.part == "value" else f" {self.part}"
            object.__setattr__(self, "label", f"{self.measure}{suffix}")
        if self.alignment is None:
            definition, key = self.measure.definition, self.measure.views.rule.key
            own = AlignmentKey(
                definition.content, key, collection=definition.collection, documents=definition.documents
            )
            object.__setattr__(self, "alignment", own)

    @cached_property
    def identity(self) -> tuple[Measure, Part, AlignmentKey]:
        """What the values depend on: everything except the label."""
        return self.measure, self.part, self.alignment

    @cached_property
    def _variants(self) -> dict[Any, Column]:
        """The columns that `varied` made, which every run asks for again."""
        return {}

    @property
    def aggregate(self) -> Aggregate:
        """How the values of queries are aggregated."""
        if self.part == "standard error":
            return "error"
        return "mean" if self.part in ("residual", "standardised") else self.measure.definition.aggregate

    @property
    def better(self) -> Better:
        """Whether higher or lower values are better."""
        return "lower" if self.lower_is_better else "higher"

    @property
    def lower_is_better(self) -> bool:
        """Whether a lower value is better, as of a latency."""
        return self.measure.definition.lower_is_better

    @property
    def is_outside(self) -> bool:
        """Whether another program computed the measure."""
        return self.measure.definition.family == OUTSIDE

    @property
    def rank_cutoff(self) -> int | None:
        """The last rank that affects the measure; None without a cutoff at a rank."""
        return None if self.alignment.costs else self.measure.rank_cutoff  # with costs, a cutoff is a cost

    @property
    def depends_on_above(self) -> bool:
        """Whether the gain of a document depends on those above it, so that the best order of a tie is unknown."""
        definition = self.measure.definition
        return definition.by_document or definition.spans or self.alignment.costs or self.measure.views.sampled

    @property
    def last_cost(self) -> int:
        """The last rank at which the cost of a document may change a measure that reads costs."""
        horizon: int | None = self.measure.chosen.get("horizon")
        return horizon or max(self.measure.arguments["k"], HORIZON)

    def with_costs(self) -> Column:
        """The column of the alignment with costs, if the measure reads them."""
        return replace(self, alignment=self.alignment._replace(costs=self.measure.definition.costs))

    def varied(self, **views: Any) -> Column:
        """The same measure and alignment with other views."""
        key = tuple(views.items())
        if key not in self._variants:
            measure = replace(self.measure, views=replace(self.measure.views, **views))
            self._variants[key] = Column(measure, alignment=self.alignment)
        return self._variants[key]

    def tied(self, ties: Ties) -> Column:
        """The same measure and tie groups with another tie rule."""
        return self.varied(ties=ties)


def last_rank_read(measure: Measure) -> int:
    """The last rank at which the measure reads unjudged documents; 0 if it reads none."""
    definition = measure.definition
    if not (definition.content or definition.collection or definition.documents):
        return 0
    if measure.views.condensed:
        # Documents judged for other queries stay in a condensed list, so that its ranks may be far down.
        return 0 if definition.content else WHOLE_RANKING
    cutoff = None if definition.is_own else measure.cutoff  # a user's function gets all ranks
    ends = [int(end) for end in (cutoff, measure.views.depth) if end is not None]
    return min(ends, default=WHOLE_RANKING)


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """What to compute: the columns and the policy."""

    columns: tuple[Column, ...]
    policy: Policy

    def __post_init__(self) -> None:
        if self.policy.nil is not None and self.content_columns:
            measure = self.content_columns[0].measure
            raise UsageError(
                f"nil cannot be combined with {measure}, which needs document text", hint="omit one of the two"
            )

    @property
    def content_columns(self) -> list[Column]:
        """The columns of measures that use document text."""
        return [column for column in self.columns if column.measure.definition.content]


def make_plan(measures: Any, policy: Policy, show: Shown | Sequence[Shown] = ()) -> Plan:
    """A plan for these measures and this policy; see `evaluate` for what to show."""
    return Plan(tuple(make_columns(measures, policy, show)), policy)


def absent_columns(asked: Sequence[Column], columns: Sequence[Column]) -> list[Column]:
    """The columns that are asked for and whose measures are not among the others, each once, under its first name."""
    present = {column.measure for column in columns}
    first = {column.measure: column for column in reversed(asked)}
    return [first[measure] for measure in dict.fromkeys(c.measure for c in asked) if measure not in present]


def make_columns(measures: Any, policy: Policy = NO_POLICY, show: Shown | Sequence[Shown] = ()) -> list[Column]:
    """A column for each different measure, with the views and the lowest relevant grade of the policy.

    Its label is the measure as it was asked for: what holds for the whole evaluation is in no label. Elements that are
    columns already stay unchanged.
    """
    columns: dict[str, Column] = {}
    seen: set[tuple[str, Measure]] = set()
    shown = (show,) if isinstance(show, str) else tuple(show)
    check(walk(Sequence[Shown]), "show", shown)

    def add(measure: Measure, label: str, part: Part) -> None:
        columns[label] = Column(measure, part, label)

    every = _listed(measures)
    own_level = ("rel",) if policy.rel != NO_POLICY.rel else ()  # a measure that names its level keeps it
    parsed = iter(parse_all((given for given in every if not isinstance(given, Column)), own_level))
    for given in every:
        if isinstance(given, Column):
            columns[given.label] = given
            continue
        measure = next(parsed)
        label = given.strip() if isinstance(given, str) else str(measure)
        views = measure.views.over(policy.views)
        measure = replace(measure.at_level(policy.rel), views=views if views.terminal else replace(views, full=None))
        named = label.partition("[")[0].strip(), measure  # aliases are kept, views that are those of all are not
        if label in columns or named in seen:
            continue
        seen.add(named)
        add(measure, label, "value")
        if "residuals" in shown and measure.definition.residual is not None and not views.terminal:
            add(measure, f"{label} residual", "residual")
        if "bounds" in shown:
            # Of graded measures, unjudged documents of a grade between 0 and the top may give scores beyond these.
            definition = measure.definition
            proven = definition.rewards_promotion and (definition.retrieved_only or measure.binary_gains)
            tried = "" if proven else AT_TOP_GRADE
            add(measure, f"{label} lowest{tried}", "lowest")
            add(measure, f"{label} highest{tried}", "highest")
        if "standard-errors" in shown and (measure.definition.sampled or views.sampled):
            add(measure, f"{label} standard error", "standard error")
    return list(columns.values())


@checked
def keys_of(labels: Iterable[str], keys: Keys = "plain") -> list[str]:
    """The keys of measures: their labels, or plain names, which every tracker takes: letters, digits and underscores.

    >>> keys_of(["nDCG@10", "RBP(p=0.8)", "RR[ties=best]", "P@1", "p_1"])
    ['ndcg_10', 'rbp_p_0_8', 'rr_ties_best', 'p_1', 'p_1_2']
    """
    if keys == "labels":
        return list(labels)
    taken: list[str] = []
    for label in labels:
        words = "".join(sign if sign.isascii() and sign.isalnum() else " " for sign in label.lower()).split()
        name = "_".join(words) or "measure"
        names = chain([name], (f"{name}_{n}" for n in count(2)))
        taken.append(next(name for name in names if name not in taken))
    return taken


def _listed(measures: Any) -> list[Any]:
    if isinstance(measures, Mapping):
        raise MeasureError(
            "measures must be a name or a list of names, not a dict",
            hint="a cutoff is part of the name, as in ['AP', 'nDCG@10']",
        )
    single = (
        isinstance(measures, (str, Measure, Column)) or hasattr(measures, "NAME") or not isinstance(measures, Iterable)
    )
    listed = [measures] if single else list(measures)
    if not listed:
        raise MeasureError("no measures given", hint="for example: AP, nDCG@10, RR")
    return listed
