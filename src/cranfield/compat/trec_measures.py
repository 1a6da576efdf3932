"""The measures of trec_eval: its arithmetic, names, parameters, order, and the measure of this package for each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, reduce
from typing import Literal

import numpy as np

from cranfield.data import Floats, Integers
from cranfield.errors import CranfieldError
from cranfield.evaluation.scores import SMALLEST
from cranfield.measures import Measure, parse, preference_judgments
from cranfield.measures.average_precision import EPSILON
from cranfield.measures.precision import interpolated
from cranfield.measures.ties.strategies import NO_CUTOFF
from cranfield.ranking.alignment import Alignment
from cranfield.ranking.batch import Batch
from cranfield.ranking.views import Views, condense_and_terminate, ordered
from cranfield.wording import plural

# Measures in the arithmetic of trec_eval: the same operations in the same order, so that no last digit differs.
#
# The catalogue has the same measures for ties and views of all kinds, and adds in another order. Here rankings have no
# ties, as in trec_eval, and every function goes down the ranking once. Padding has gain 0 and changes no sum.

# The values of a batch, from the measure and, for measures of numbers, the first of these.
Arithmetic = Callable[[Batch, Measure, float], Floats]


def exact_values(arithmetic: Arithmetic, alignment: Alignment, measure: Measure, number: float, queries: int) -> Floats:
    """The value of each judged query."""
    values = np.zeros(queries)
    # nDCG of the catalogue divides gains by the highest one, which makes no difference but for the last digit.
    gains = replace(measure.gains, kind="graded") if measure.gains.kind == "scaled" else measure.gains
    complete = measure.definition.uses_nonrelevant
    for rankings in alignment.rankings:
        batch = condense_and_terminate(ordered(rankings, gains, measure.views, all_documents=complete), measure.views)
        with np.errstate(divide="ignore", invalid="ignore"):
            values[rankings.query] = arithmetic(batch, measure, number)
    return values


def _total(x: Floats) -> Floats:
    """The sum of each row, added from left to right."""
    return np.add.accumulate(x, axis=1)[:, -1]


def _share(x: Floats, y: Floats | Integers) -> Floats:
    """X / y; 0 where y is 0."""
    return np.divide(x, y, out=np.zeros(len(x)), where=y != 0)


def average_precision(b: Batch, measure: Measure, _: float) -> Floats:
    """map, map_cut, gm_map."""
    counted = b.relevant
    if measure.cutoff is not None:
        counted = counted & (b.start < measure.cutoff)
    precision = np.cumsum(b.relevant, axis=1) / (b.start + 1)
    return _share(_total(np.where(counted, precision, 0)), b.R)


def binary_preference(b: Batch, _: Measure, __: float) -> Floats:
    """bpref, gm_bpref."""
    above = b.above(b.judged & ~b.relevant)
    R, N = b.R[:, None], b.N[:, None]
    preferred = np.where(above > 0, 1 - np.minimum(above, R) / np.minimum(N, R), 1)
    return _share(_total(np.where(b.relevant, preferred, 0)), b.R)


def inferred_average_precision(b: Batch, _: Measure, __: float) -> Floats:
    """InfAP."""
    relevant, nonrelevant = b.above(b.relevant), b.above(b.judged & ~b.relevant)
    pooled = b.above(b.grade < 0)
    above = b.start.astype(np.float64)
    share = (relevant + EPSILON) / (relevant + nonrelevant + 2 * EPSILON)
    below_first = 1 / (above + 1) + (above / (above + 1)) * ((relevant + nonrelevant + pooled) / above) * share
    return _share(_total(np.where(b.relevant, np.where(b.start == 0, 1, below_first), 0)), b.R)


def eleven_point_average(b: Batch, measure: Measure, _: float) -> Floats:
    """11pt_avg, from the highest recall to the lowest."""
    levels = interpolated(b, [i / 10 for i in range(11)], measure.chosen["rule"])
    return np.nan_to_num(sum(levels[-2::-1], levels[-1]) / len(levels))


def set_average_precision(b: Batch, _: Measure, __: float) -> Floats:
    """set_map."""
    retrieved = b.relevant.sum(axis=1).astype(np.float64)
    return _share(retrieved * retrieved, b.length * b.R)


def set_f(b: Batch, _: Measure, weight: float) -> Floats:
    """set_F; the weight of recall is the square of beta."""
    retrieved = b.relevant.sum(axis=1).astype(np.float64)
    precision, recall = _share(retrieved, b.length), _share(retrieved, b.R)
    return _share((weight + 1) * precision * recall, recall + weight * precision)


@lru_cache(maxsize=1)
def _logarithms(count: int) -> Floats:
    """The discount of each rank, by the logarithm of C."""
    return np.array([1.0, *(math.log2(rank + 1) for rank in range(1, count + 1))])


def _discounts(ranks: Integers) -> Floats:
    needed = int(ranks.max(initial=1))
    return _logarithms(1 << max(10, needed.bit_length()))[ranks]


def cumulated_gain(b: Batch, measure: Measure, _: float) -> Floats:
    """Dcg."""
    gain = b.gain if measure.cutoff is None else np.where(b.start < measure.cutoff, b.gain, 0)
    return _total(gain / _discounts(b.start + 1))


def ideal_cumulated_gain(b: Batch, measure: Measure, _: float) -> Floats:
    """ideal_dcg."""
    ideal = b.ideal if measure.cutoff is None else b.ideal[:, : int(measure.cutoff)]
    return _total(ideal / _discounts(np.arange(ideal.shape[1]) + 1))


def normalised_cumulated_gain(b: Batch, measure: Measure, _: float) -> Floats:
    """ndcg, ndcg_cut."""
    return _share(cumulated_gain(b, measure, 0), ideal_cumulated_gain(b, measure, 0))


def binary_gain(b: Batch, _: Measure, __: float) -> Floats:
    """BinG."""
    nonrelevant = b.start - b.above(b.relevant).astype(np.int64)
    return _share(_total(b.relevant / _discounts(nonrelevant + 1)), b.R)


def gain_by_cost(b: Batch, _: Measure, __: float) -> Floats:
    """G."""
    width = b.ideal.shape[1]
    cost = np.add.accumulate(np.maximum(b.ideal, 1), axis=1)
    at = np.minimum(b.start, width - 1)
    spent = np.take_along_axis(cost, at, axis=1) + (b.start - at)
    row, column = np.nonzero(b.gain)
    open_gain = 2 + spent[row, column] - np.add.accumulate(b.gain, axis=1)[row, column]
    earned = np.zeros_like(b.gain)
    earned[row, column] = b.gain[row, column] / np.array([math.log2(x) for x in open_gain.tolist()])
    return _share(_total(earned), _total(b.ideal))


def _running_gains(b: Batch) -> tuple[Floats, Floats]:
    """Dcg down to each judged document, and ideal_dcg down to each rank."""
    ideal = b.ideal / _discounts(np.arange(b.ideal.shape[1]) + 1)
    return np.add.accumulate(b.gain / _discounts(b.start + 1), axis=1), np.add.accumulate(ideal, axis=1)


def normalised_gain_at_relevant(b: Batch, _: Measure, __: float) -> Floats:
    """ndcg_rel."""
    gained, ideal = _running_gains(b)
    at = gained / np.take_along_axis(ideal, np.minimum(b.start, ideal.shape[1] - 1), axis=1)
    relevant = (b.ideal > 0).sum(axis=1)
    missed = relevant - b.relevant.sum(axis=1)
    total = _total(np.where(b.relevant, at, 0)) + missed * gained[:, -1] / ideal[:, -1]
    return np.where(total > 0, total / relevant, 0)


def normalised_gain_at_levels(b: Batch, _: Measure, __: float) -> Floats:
    """Rndcg: at the ranks where the ideal gain changes, and at the end of a ranking that goes on after the last."""
    gained, ideal = _running_gains(b)
    below = np.append(b.ideal[:, 1:], np.zeros((len(b.R), 1)), axis=1)
    row, column = np.nonzero((b.ideal > 0) & (b.ideal != below))
    inside = np.where(b.start[row] <= column[:, None], (b.gain / _discounts(b.start + 1))[row], 0)
    total = np.zeros(len(b.R))
    np.add.at(total, row, _total(inside) / ideal[row, column])
    longer = (b.R > 0) & (b.length > (b.ideal > 0).sum(axis=1) + 1)
    total += np.where(longer, gained[:, -1] / ideal[:, -1], 0)
    return _share(total, np.bincount(row, minlength=len(b.R)) + longer)


def preference_pairs(b: Batch, measure: Measure, _: float) -> Floats:
    """prefs_pair: pairs by the ranks of their documents, those with one document retrieved after those with both."""
    preferences, seen = preference_judgments.judged(b), preference_judgments.pairs(b)
    counted = seen.counted(measure.chosen["count"])
    row, entry, retrieved = seen.row[counted], seen.entry[counted], seen.retrieved[counted]
    ranks = []
    for document in (preferences.better[entry], preferences.worse[entry]):
        rank = preference_judgments.positions(b, row, document)
        ranks.append(np.where(rank < 0, NO_CUTOFF + document, rank))
    first, last = np.minimum(*ranks), np.maximum(*ranks)
    order = np.lexsort((last, first, -retrieved, row))
    pair = np.stack([row, first, last], axis=1)[order]
    new = np.append(True, (pair[1:] != pair[:-1]).any(axis=1))[: len(pair)]
    number = np.cumsum(new) - 1
    met = np.bincount(number, (ranks[0] < ranks[1])[order] & (retrieved[order] > 0))
    share = met / np.maximum(np.bincount(number), 1)
    owner = pair[new, 0]
    return _share(
        np.bincount(owner, share, len(b.length)).astype(np.float64), np.bincount(owner, minlength=len(b.length))
    )


def _powers(p: float, count: int) -> Floats:
    """1, p, p·p, ...: ``count`` numbers, each the one before times p."""
    return np.multiply.accumulate(np.concatenate([[1.0], np.full(max(count - 1, 0), p)]))


def rank_biased_precision(b: Batch, measure: Measure, _: float) -> Floats:
    """Rbp."""
    p = measure.chosen["p"]
    weight = _powers(p, int(b.start.max(initial=0)) + 1)
    best = np.maximum(b.ideal[:, :1], 1)
    return (1 - p) * _total(b.gain / best * weight[b.start])


def rank_biased_residual(b: Batch, measure: Measure, _: float) -> Floats:
    """rbp_resid; 0 where every document retrieved is judged."""
    p = measure.chosen["p"]
    longest = int(b.length.max(initial=0))
    weight = _powers(p, longest + 1)
    values = np.zeros(len(b.length))
    # One query at a time: a table of all ranks of all queries can be many times as large as the run.
    for query, (length, judged) in enumerate(zip(b.length.tolist(), b.judged, strict=True)):
        unjudged = np.ones(length, bool)
        unjudged[b.start[query, judged]] = False
        if unjudged.any():
            total = np.add.accumulate(weight[:length][unjudged])[-1]
            values[query] = weight[length] + (1 - p) * total
    return values


Generation = Literal[9, 10]
# The parameters of a measure: none; cutoffs or shares of R, one line each; numbers; or pairs such as 1=3.
Shape = Literal["none", "cuts", "shares", "numbers", "pairs", "text"]
# How a value is printed: four decimals, a whole number that is summed, a geometric mean, or not over queries at all.
Style = Literal["value", "count", "geometric", "text"]
# The judgments that a measure reads: grades, grades by group, or preferences.
Judged = Literal["grades", "groups", "preferences"]
FORMATS: dict[str, Judged] = {
    "qrels": "grades",
    "qrels_jg": "groups",
    "prefs": "preferences",
    "qrels_prefs": "preferences",
}

CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
RECALLS = tuple(i / 10 for i in range(11))
MULTIPLES = tuple(i / 5 for i in range(1, 11))


@dataclass(frozen=True)
class MeasureKind:
    """One measure of trec_eval: ``ours`` is a template for the name of our measure."""

    ours: str = ""
    shape: Shape = "none"
    defaults: tuple[float, ...] = ()
    style: Style = "value"
    since: Generation = 9
    relevant: bool = False  # 0 if no document reaches the level, whatever the gains
    silent: bool = False  # version 10 scores a query that is not in the run 0, whatever an empty ranking scores
    exact: Arithmetic | None = None  # trec_eval's arithmetic, where the last digit of our measure can differ
    judged: Judged = "grades"


# In the order in which trec_eval prints them.
KINDS: dict[str, MeasureKind] = {
    "runid": MeasureKind(style="text", shape="text"),
    "num_q": MeasureKind(style="text", shape="text"),
    "num_ret": MeasureKind("NumRet", style="count"),
    "num_rel": MeasureKind("NumRel(rel={level})", style="count"),
    "num_rel_ret": MeasureKind("NumRelRet(rel={level})", style="count"),
    "map": MeasureKind("AP(rel={level})", exact=average_precision),
    "gm_map": MeasureKind("GMAP(rel={level})", style="geometric", exact=average_precision),
    "Rprec": MeasureKind("Rprec(rel={level})"),
    "bpref": MeasureKind("bpref(rel={level})", exact=binary_preference),
    "recip_rank": MeasureKind("RR(rel={level})"),
    "iprec_at_recall": MeasureKind("IPrec(rule='{rule}', rel={level})@{x}", "shares", RECALLS),
    "P": MeasureKind("P(rel={level})@{x}", "cuts", CUTS),
    "relstring": MeasureKind(style="text", shape="numbers", defaults=(10,)),
    "recall": MeasureKind("R(rel={level})@{x}", "cuts", CUTS),
    "infAP": MeasureKind("infAP(rel={level})", exact=inferred_average_precision),
    "gm_bpref": MeasureKind("GMbpref(rel={level})", style="geometric", exact=binary_preference),
    "Rprec_mult": MeasureKind("RprecAt(times={x}, rel={level})", "shares", MULTIPLES),
    "utility": MeasureKind(
        "Utility(hit={0}, noise={1}, miss={2}, rest={3}, size={size}, rel={level})", "numbers", (1, -1, 0, 0),
        silent=True,
    ),
    "11pt_avg": MeasureKind(
        "IPrec(rule='{rule}', rel={level})@{x}", "numbers", RECALLS, exact=eleven_point_average,
    ),
    "binG": MeasureKind("binG(rel={level})", exact=binary_gain),
    "G": MeasureKind("G(gain={gain})", "pairs", exact=gain_by_cost),
    "dcg": MeasureKind("DCG(gain={gain})", "pairs", since=10, exact=cumulated_gain),
    "ideal_dcg": MeasureKind("IDCG(gain={gain})", "pairs", since=10, exact=ideal_cumulated_gain),
    "ndcg": MeasureKind("nDCG(gain={gain})", "pairs", exact=normalised_cumulated_gain),
    "ndcg_rel": MeasureKind("nDCG_rel(gain={gain})", "pairs", exact=normalised_gain_at_relevant),
    "Rndcg": MeasureKind("R_nDCG(gain={gain})", "pairs", relevant=True, exact=normalised_gain_at_levels),
    "ndcg_cut": MeasureKind("nDCG@{x}", "cuts", CUTS, exact=normalised_cumulated_gain),
    "map_cut": MeasureKind("AP(rel={level})@{x}", "cuts", CUTS, exact=average_precision),
    "relative_P": MeasureKind("RelP(rel={level})@{x}", "cuts", CUTS),
    "success": MeasureKind("Success(rel={level})@{x}", "cuts", (1, 5, 10)),
    "set_P": MeasureKind("SetP(rel={level})"),
    "set_relative_P": MeasureKind("SetRelP(rel={level})"),
    "set_recall": MeasureKind("SetR(rel={level})"),
    "set_map": MeasureKind("SetAP(rel={level})", exact=set_average_precision),
    "set_F": MeasureKind("SetF(beta={root}, rel={level})", "numbers", (1,), exact=set_f),
    "num_nonrel_judged_ret": MeasureKind("NumNonRelRet(rel={level})", style="count"),
    **{
        f"prefs_num_prefs_{part}": MeasureKind(ours, style="count", judged="preferences")
        for part, ours in (
            ("poss", "NumPrefs"), ("ful", "NumPrefsMet"), ("ful_ret", "NumPrefsMet(count='retrieved')"),
        )
    },
    **{
        f"prefs_{name}{part}": MeasureKind(
            f"{ours}count='{count}')", judged="preferences",
            exact=preference_pairs if name == "pair" else None,
        )
        for part, count in (("", "all"), ("_ret", "retrieved"), ("_imp", "implied"))
        for name, ours in (
            ("simp", "Prefs("), ("pair", "Prefs(by='pair', "), ("avgjg", "Prefs(by='group', "),
            ("avgjg_Rnonrel", "PrefsR("),
        )
        if (name, part) != ("avgjg_Rnonrel", "_imp")
    },
    "map_avgjg": MeasureKind("AP(rel={level})", exact=average_precision, judged="groups"),
    "P_avgjg": MeasureKind("P(rel={level})@{x}", "cuts", CUTS, judged="groups"),
    "Rprec_mult_avgjg": MeasureKind("RprecAt(times={x}, rel={level})", "shares", MULTIPLES, judged="groups"),
    "yaap": MeasureKind("yaAP(rel={level})"),
    "rbp": MeasureKind("RBPq(p={p}, gain={gain})", "pairs", since=10, exact=rank_biased_precision),
    "rbp_resid": MeasureKind("RBPres(p={p})", "pairs", since=10, silent=True, exact=rank_biased_residual),
    "unj": MeasureKind("Unjudged@{x}", "cuts", (5, 10, 20), since=10),
}  # fmt: skip

COUNTS = ("runid", "num_q", "num_ret", "num_rel", "num_rel_ret")
NICKNAMES: dict[str, tuple[str, ...]] = {
    "official": (*COUNTS, "map", "gm_map", "Rprec", "bpref", "recip_rank", "iprec_at_recall", "P"),
    "set": (*COUNTS, "utility", "set_P", "set_recall", "set_relative_P", "set_map", "set_F"),
}
# The same for judgments that are not grades.
NICKNAMES_OF_GROUPS: dict[str, tuple[str, ...]] = {
    "all_prefs": ("runid", "num_q", *(name for name, kind in KINDS.items() if kind.judged == "preferences")),
    "prefs": (
        *("runid", "num_q", "prefs_num_prefs_poss", "prefs_num_prefs_ful", "prefs_num_prefs_ful_ret"),
        *("prefs_simp", "prefs_pair", "prefs_avgjg"),
    ),
    "qrels_jg": ("runid", "num_q", "map_avgjg", "P_avgjg", "Rprec_mult_avgjg"),
}
# Measures that no nickname includes.
BY_NAME_ONLY = ("yaap", "dcg", "ideal_dcg")


def measures_of_version(generation: Generation) -> dict[str, MeasureKind]:
    """The measures that a version of trec_eval has, in its order."""
    return {name: kind for name, kind in KINDS.items() if kind.since <= generation}


def nickname(name: str, generation: Generation) -> Sequence[str]:
    """The measures that a nickname stands for; empty if it is not a nickname."""
    if name == "all_trec":
        measures = measures_of_version(generation).items()
        return [name for name, kind in measures if kind.judged == "grades" and name not in BY_NAME_ONLY]
    return NICKNAMES.get(name) or NICKNAMES_OF_GROUPS.get(name, ())


class ParameterError(CranfieldError):
    """Parameters that a measure of trec_eval does not accept."""

    exit_code = 2


class CoefficientError(ParameterError):
    """Too few or too many numbers, which trec_eval notices only when it computes."""

    exit_code = 4


@dataclass(frozen=True)
class MeasureOptions:
    """The options that all measures of one call share."""

    generation: Generation = 9
    level: int = 1
    size: int = 0
    views: Views = field(default_factory=Views)

    @property
    def rule(self) -> str:
        return "trec9" if self.generation == 9 else "trec10"

    def measure(self, text: str) -> Measure:
        """Our measure of this name, with the views of this call."""
        return replace(parse(text), views=self.views)


@dataclass(frozen=True)
class Line:
    """One line of output: the mean of our measures, usually of one."""

    name: str
    kind: MeasureKind
    measures: tuple[Measure, ...] = ()
    unless: Measure | None = None  # if this is 0, so is the line
    numbers: tuple[float, ...] = ()
    number: float = 0  # the parameter of a measure with one number
    levels: tuple[float, ...] = ()  # the levels of recall that its interpolated precision has

    @property
    def exact(self) -> Arithmetic | None:
        """trec_eval's arithmetic for the one measure of this line."""
        return self.kind.exact if len(self.measures) == 1 else None

    @property
    def plain(self) -> bool:
        """Whether its values are those of one measure, with 0 for undefined ones."""
        return len(self.measures) == 1 and self.unless is None and self.kind.style != "geometric"

    def values(self, values_of: Callable[[Measure], Floats]) -> Floats:
        """A value for each query; undefined values are 0, as in trec_eval."""
        # From the last to the first, as trec_eval adds the levels of 11pt_avg.
        value = reduce(np.add, (np.nan_to_num(values_of(m)) for m in self.measures[::-1])) / len(self.measures)
        return self.finished(value, values_of)

    def finished(self, value: Floats, values_of: Callable[[Measure], Floats]) -> Floats:
        """The values of the measure as trec_eval keeps them."""
        if self.unless is not None:
            value = np.where(values_of(self.unless) == 0, 0, value)
        # For a geometric mean trec_eval stores the logarithm for each query.
        if self.kind.style == "geometric":
            return np.array([math.log(max(x, SMALLEST)) for x in value.tolist()])
        return value


def lines(name: str, parameters: str, options: MeasureOptions) -> Iterator[Line]:
    """The lines that a measure of trec_eval prints; ``parameters`` is the text after its dot."""
    kind = KINDS[name]
    if kind.shape in ("none", "text") or not (parameters or kind.defaults):
        # As in trec_eval, parameters of a measure without parameters are ignored.
        yield _line(name, kind, options)
    elif kind.shape == "cuts":
        for x in _distinct(name, _numbers(name, parameters, _whole) if parameters else kind.defaults):
            if x < 1:
                raise ParameterError(f"{name}: a cutoff must be at least 1, not {x:g}")
            yield _line(f"{name}_{x:.0f}", kind, options, x=int(x))
    elif kind.shape == "shares":
        for x in _distinct(name, _numbers(name, parameters, float) if parameters else kind.defaults):
            yield _line(f"{name}_{x:3.2f}", kind, options, x=x)
    elif kind.shape == "pairs":
        yield _line(f"{name}_{parameters}", kind, options, **_pairs(name, parameters))
    else:
        numbers = _numbers(name, parameters, float) if parameters else kind.defaults
        yield _line_of_numbers(f"{name}_{parameters}" if parameters else name, name, tuple(numbers), options)


def _line(
    label: str, kind: MeasureKind, options: MeasureOptions, *, x: float = 0, p: float = 0.9, **gains: float
) -> Line:
    """The line of a measure with a cutoff ``x``, or with gains by grade; grades that are left out keep their gain."""
    if not kind.ours:
        return Line(label, kind)
    gain = repr({float(grade): gain for grade, gain in gains.items()} if gains else "linear")
    text = kind.ours.format(x=x, p=p, level=options.level, rule=options.rule, gain=gain)
    unless = options.measure(f"NumRel(rel={options.level})") if kind.relevant else None
    levels = (x,) if kind.ours.startswith("IPrec") else ()
    return Line(label, kind, (options.measure(text),), unless, levels=levels)


def _line_of_numbers(label: str, name: str, numbers: tuple[float, ...], options: MeasureOptions) -> Line:
    kind = KINDS[name]
    if name == "relstring":
        return Line(label, kind, numbers=numbers)
    if name == "11pt_avg":
        texts = [kind.ours.format(x=x, level=options.level, rule=options.rule) for x in numbers]
        if numbers == RECALLS:
            texts = [f"IPrecAvg(rule='{options.rule}', rel={options.level})"]
        return Line(label, kind, tuple(options.measure(text) for text in texts), levels=numbers)
    if len(numbers) != len(kind.defaults):
        expected = plural(len(kind.defaults), "number")
        raise CoefficientError(
            f"{name} needs {expected}, not {len(numbers)}", hint=f"for example {name}.{_joined(kind.defaults)}"
        )
    if name == "set_F" and numbers[0] == 0:  # F with no weight on recall is precision
        return Line(label, kind, (options.measure(f"SetP(rel={options.level})"),))
    if name == "set_F" and numbers[0] < 0:
        raise ParameterError(f"set_F: the weight of recall must not be negative, but is {numbers[0]:g}")
    root = math.sqrt(max(numbers[0], 0))  # trec_eval's parameter is the square of beta
    measure = options.measure(kind.ours.format(*numbers, root=root, level=options.level, size=options.size))
    return Line(label, kind, (measure,), number=numbers[0])


def _joined(numbers: Iterable[float]) -> str:
    return ",".join(f"{number:g}" for number in numbers)


def _whole(text: str) -> float:
    return float(math.trunc(float(text)))


def _numbers(name: str, parameters: str, read: Callable[[str], float]) -> list[float]:
    numbers = []
    for part in parameters.split(","):
        try:
            numbers.append(read(part))
        except (ValueError, OverflowError):
            raise ParameterError(f"`{name}.{parameters}`: `{part}` is not a number") from None
    return numbers


def _distinct(name: str, numbers: Sequence[float]) -> list[float]:
    if len(set(numbers)) < len(numbers):
        raise ParameterError(f"`{name}.{_joined(numbers)}`: a cutoff is given twice")
    return sorted(numbers)


def _pairs(name: str, parameters: str) -> dict[str, float]:
    pairs: dict[str, float] = {}
    for part in parameters.split(","):
        level, _, number = part.partition("=")
        level = level.strip()
        try:
            value: float | None = float(number)
        except ValueError:
            value = None
        if value is None or not (level.isdecimal() or (level == "p" and name.startswith("rbp"))):
            hint = f"for example {name}.{'p=0.8' if name.startswith('rbp') else '1=3,2=9'}"
            raise ParameterError(f"{name}: `{part}` is not a pair grade=gain", hint=hint)
        pairs[level] = value
    return pairs
