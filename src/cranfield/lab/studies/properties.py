"""Numeric properties of measures: Moffat's seven, and three more, checked on all small rankings.

A property holds if no ranking checked violates it; otherwise the smallest counterexample is reported. The score of a
ranking at k is the score at cutoff k or, if the measure has no cutoff or the end of a list counts, the score of the
list of the first k documents. Comparisons with an undefined score are skipped.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Literal

from cranfield.errors import MeasureError, UsageError
from cranfield.evaluation.notes import SENTENCES, Note
from cranfield.lab.property_checks import (
    LONG,
    PROPERTIES,
    SEVEN,
    UNJUDGED,
    Counterexample,
    DocumentKind,
    PropertyChecks,
    PropertyVerdict,
    SmallRankings,
    all_rankings,
    check_size,
    default_documents,
    is_list,
    subtopic_kinds,
)
from cranfield.lab.study import Progress, Study, StudyResult
from cranfield.measures import CATALOGUE, Measure, parse
from cranfield.parallel import followed
from cranfield.ranking.views import Views
from cranfield.report.pages import BOLD, Page, styled, table, write
from cranfield.report.sheet import UNDEFINED, Cell, shown
from cranfield.settings import Count, Option

OPEN_TIES = ("expected", "best", "worst")  # the other rules break ties without looking at relevance


@dataclass(frozen=True)
class CheckedMeasure:
    """One measure with a verdict on every property, in the order of `PROPERTIES`, and the rankings checked.

    ``domain``: a description of the rankings; ``paired``: of those that are compared with each other (stable, neutral);
    ``longest``: the length of the longest ranking, of documents of the same kind, that is checked for boundedness.
    """

    measure: str
    domain: str
    paired: str
    longest: int
    verdicts: dict[str, PropertyVerdict]

    @property
    def holds(self) -> dict[str, bool | None]:
        """Whether each property holds."""
        return {name: verdict.holds for name, verdict in self.verdicts.items()}


Documents = Annotated[
    Count | None, "Length of the longest rankings.", Option(default="8, or less if there are too many rankings")
]
Grades = Annotated[Sequence[float] | None, "Grades of judged documents, instead of 0,1.", Option(metavar="G,G,...")]
SENTENCES.update(
    every_cutoff="{given}: checked as {measure}, for every k",
    lists="{measures}: k is the length of the list",
)


@dataclass(frozen=True)
class Properties(Study):
    """Check the numeric properties of measures on all small rankings.

    ``documents``: the length of the longest ranking; 8 unless that gives too many rankings. ``grades``: the grades of
    judged documents, instead of relevant or not. Every cutoff is checked; a cutoff that is given is ignored.

    >>> import cranfield as cf
    >>> precision = cf.lab.properties("P").checked[0]
    >>> precision.holds["convergent"], precision.holds["top-weighted"]
    (True, False)
    >>> precision.verdicts["top-weighted"].counterexample
    Counterexample(rankings=('01', '10'), k=(2, 2), scores=(0.5, 0.5), limit=None, judged='')
    """

    documents: Documents = None
    grades: Grades = None

    def run(
        self, measures: str | Measure | Sequence[str | Measure], *, progress: Progress | None = None
    ) -> PropertiesResult:
        """Check each measure."""
        given = [measures] if isinstance(measures, (str, Measure)) else list(measures)
        if not given:
            raise MeasureError("no measure given", hint="for example: AP, nDCG, bpref")
        if self.grades is not None and len(set(self.grades)) < 2:
            raise UsageError(f"expected at least two different grades, got {list(self.grades)}")
        if self.grades is not None and min(self.grades) < 0:
            raise UsageError(f"grades must be numbers of at least 0, got {list(self.grades)}")
        families = [(str(measure), family(measure)) for measure in given]
        by_label = {label(measure): measure for _, measure in families}
        checked = [self._check(name, measure) for name, measure in followed(by_label.items(), progress, len(by_label))]
        return PropertiesResult(self, tuple(checked), tuple(_notes(families)))

    def _check(self, name: str, measure: Measure) -> CheckedMeasure:
        kinds, ties = document_kinds(measure, self.grades), measure.views.ties in OPEN_TIES
        size = default_documents(len(kinds), ties=ties) if self.documents is None else self.documents
        check_size(len(kinds), size, ties=ties)
        checks = PropertyChecks(measure, _all_rankings(kinds, size, ties=ties))
        paired = describe_rankings((*filter(DocumentKind.is_judged, kinds), UNJUDGED), checks.pairs.documents)
        domain = describe_rankings(kinds, size, ties=ties)
        return CheckedMeasure(name, domain, paired, checks.longest, dict(checks.verdicts()))


@dataclass(frozen=True, repr=False)
class PropertiesResult(StudyResult):
    """The properties of several measures."""

    settings: Properties
    checked: tuple[CheckedMeasure, ...]
    notes: tuple[Note, ...] = ()

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the measures."""
        return tuple(measure.measure for measure in self.checked)

    def pages(self, digits: int = 4, columns: Sequence[str] = PROPERTIES, *, classes: bool = False) -> list[Page]:
        """The verdicts on all properties, one table per set of rankings, and the smallest counterexamples."""
        rows = [
            ((measure.measure, name), [text])
            for measure in self.checked
            for name, text in self._cases(measure, digits, columns)
        ]
        cases = [table(HEADING, ("measure", "property"), ("counterexample",), rows)] if rows else []
        return [*_property_tables(self, columns, classes=classes), *cases]

    def write(
        self,
        format: str = "table",
        *,
        digits: int = 4,
        width: int = 80,
        colour: bool = False,
        columns: Sequence[str] = PROPERTIES,
        classes: bool = False,
    ) -> str:
        """The properties in one of `FORMATS`, ending in a newline; ``width`` and ``colour`` affect tables only.

        ``columns``: the properties of tables, in order; json has all of them. ``classes``: one row for all measures
        with the same answers, in the order of the columns, N before Y.
        """
        parts = self.pages(digits, columns, classes=classes)
        if format != "table":
            return write(parts, self.to_dict(), format)
        tables = write([part for part in parts if part.title != HEADING], {}, width=width, colour=colour)
        lines = []
        for measure in self.checked:
            cases = [
                textwrap.fill(
                    text,
                    max(width, 60),
                    initial_indent=f"  {name:<14}",
                    subsequent_indent=" " * 16,
                    break_on_hyphens=False,
                )
                for name, text in self._cases(measure, digits, columns)
            ]
            lines += [measure.measure, *cases] if cases else []
        return "\n".join([tables, styled(HEADING, BOLD, colour=colour), *lines, ""]) if lines else tables

    @staticmethod
    def _cases(measure: CheckedMeasure, digits: int, columns: Sequence[str]) -> list[tuple[str, str]]:
        """Every property that a measure lacks, with its counterexample as a sentence."""
        cases = ((name, measure.verdicts[name].counterexample) for name in columns)
        return [(name, sentence(name, case, digits)) for name, case in cases if case is not None]


@lru_cache(maxsize=2)
def _all_rankings(kinds: tuple[DocumentKind, ...], documents: int, *, ties: bool) -> SmallRankings:
    return all_rankings(kinds, documents, ties=ties)


def family(given: str | Measure) -> Measure:
    """The measure of a name that may have no cutoff, as in ``P`` and ``P@k``.

    >>> family("P").cutoff, family("nDCG@k[condensed]").cutoff, family("nDCG@10").cutoff
    (None, None, 10)
    """
    if not isinstance(given, str):
        return parse(given)
    text = given.strip()
    head, bracket, views = text.partition("[")
    if head.endswith("@k"):
        return replace(parse(f"{head[:-2]}@1{bracket}{views}"), cutoff=None)
    try:
        measure = parse(text)
    except MeasureError:
        completed = _with_cutoff(f"{head}@1{bracket}{views}")
        if completed is None:
            raise
        return completed
    # An exact symbol is that measure, even if without a cutoff it is an alias of another one.
    return measure if text not in CATALOGUE or measure.symbol == text else replace(parse(f"{text}@1"), cutoff=None)


def _with_cutoff(text: str) -> Measure | None:
    """The measure if it requires a cutoff, else None."""
    try:
        measure = parse(text)
    except MeasureError:
        return None
    return replace(measure, cutoff=None) if measure.definition.cutoff == "required" else None


def label(measure: Measure) -> str:
    """The name of a measure with a variable cutoff.

    >>> label(family("P")), label(family("nDCG@10[condensed]")), label(family("AP[terminal]")), label(family("bpref"))
    ('P@k', 'nDCG@k[condensed]', 'AP[terminal]', 'bpref')
    """
    if measure.definition.cutoff == "recall":
        return str(measure)
    open_ended = replace(measure, cutoff=None)
    return str(open_ended) if is_list(measure) else f"{replace(open_ended, views=Views())}@k{measure.views}"


def document_kinds(measure: Measure, grades: Sequence[float] | None) -> tuple[DocumentKind, ...]:
    """The kinds of documents in the rankings for a measure, by increasing relevance, unjudged last."""
    if measure.definition.content:
        raise MeasureError(
            f"{measure.symbol} reads document text, and the documents of this study have none",
            hint="check measures that use judgments only",
        )
    if measure.definition.preferences or measure.definition.spans:
        what = "preferences" if measure.definition.preferences else "passages"
        raise MeasureError(
            f"{measure.symbol} needs {what}, and the documents of this study have grades",
            hint="check measures that use judgments only",
        )
    chosen = measure.chosen
    relevant = float(max(1, chosen.get("rel") or 0, chosen.get("max") or 0, (chosen.get("min") or 0) + 1))
    if measure.definition.subtopics:
        if grades is not None:
            raise UsageError(f"{measure.symbol} uses subtopics and cannot be combined with grades")
        kinds = subtopic_kinds(relevant)
    elif grades is None:
        kinds = [DocumentKind("0", 0.0), DocumentKind("1", relevant)]
    else:
        kinds = [DocumentKind(f"{grade:g}", float(grade)) for grade in sorted(set(grades))]
    # Unjudged documents matter to some measures only.
    return (*kinds, UNJUDGED) if measure.views.condensed or measure.definition.uses_nonrelevant else tuple(kinds)


def describe_rankings(kinds: Sequence[DocumentKind], documents: int, *, ties: bool = False) -> str:
    """A description of the rankings checked."""
    judged = [kind for kind in kinds if kind.is_judged()]
    marks = [kind.mark for kind in judged]
    if any(kind.subtopics for kind in kinds):
        states = [f"relevant to {', '.join(marks[1:])}", "to nothing"]
    elif marks == ["0", "1"]:
        states = ["relevant", "not relevant"]
    else:
        states = [f"of grade {', '.join(marks[:-1])}", marks[-1]]
    states += ["unjudged"] if len(judged) < len(kinds) else []
    documents_are = f"{', '.join(states[:-1])} or {states[-1]}"
    tied = ", without ties and with each pair of neighbours tied" if ties else ""
    number = "1 document" if documents == 1 else f"1 to {documents} documents"
    return f"all rankings of {number}, each {documents_are}{tied}; every k"


def _notes(families: Sequence[tuple[str, Measure]]) -> Iterator[Note]:
    for given, measure in families:
        if measure.cutoff is not None and measure.definition.cutoff != "recall":
            yield Note("every_cutoff", measure=label(measure), values={"given": given})
    lists = dict.fromkeys(label(measure) for _, measure in families if is_list(measure))
    if lists:
        yield Note("lists", values={"measures": ", ".join(lists)})


# Short headings; the first seven are those of the paper.
SHORT = {
    "monotone": "monoton.",
    "convergent": "converg.",
    "top-weighted": "top-wgt.",
    "localized": "localiz.",
    "realizable": "realizb.",
    "truncatable": "truncat.",
}
MARKS = {True: "Y", False: "N", None: UNDEFINED}
HEADING = "Smallest counterexamples; a bar marks the cutoff"

# Table 2 of Moffat: each metric by its name there and here, the seven answers, and the footnotes.
PRINTED: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    ("DCG", "DCG", "NYYYYYN", {}),
    ("SP", "SP", "NYYYYYN", {}),
    ("RPrec", "RPrec", "YNNNNNY", {}),
    ("SN-DCG", "SN_DCG", "YNNYYNY", {"complete": "d"}),
    ("SN-AP", "SN_AP", "YNNYYNY", {"complete": "d"}),
    ("Prec", "P", "YNYNYYN", {"realizable": "e"}),
    ("NDCG", "nDCG", "YNYYNNY", {}),
    ("SDCG", "SDCG", "YNYYYYN", {"realizable": "e"}),
    ("HIT", "HIT", "YYNNYYY", {"convergent": "b", "top-weighted": "b"}),
    ("RR", "RR", "YYNNYYY", {"convergent": "b", "top-weighted": "b", "localized": "c", "complete": "c"}),
    ("Recall", "R", "YYYNNNN", {"realizable": "f"}),
    ("AP", "AP", "YYYYNNN", {"realizable": "f"}),
    ("RBP", "RBP", "YYYYYYN", {"monotone": "a", "convergent": "a", "localized": "a"}),
)
RAISED = dict(zip("abcdef", "ᵃᵇᶜᵈᵉᶠ", strict=True))
NOTES = {
    "a": "RBP is an interval, the score is its lower end; deeper judgments only narrow it",
    "b": "the score never decreases, but need not increase",
    "c": "0 if none of the first k documents is relevant",
    "d": "undefined if none of the first k documents is relevant, even if others are",
    "e": "the maximum is reached only if k ≤ R",
    "f": "the maximum is reached only if k ≥ R",
}


def check_columns(columns: Sequence[str], allowed: Sequence[str] = PROPERTIES) -> None:
    """Raise if a column is not a property, or appears twice."""
    for name in columns:
        if name not in allowed:
            raise UsageError(f"unknown property `{name}`", hint=f"one of {', '.join(allowed)}")
    if len(set(columns)) < len(columns):
        raise UsageError("a property appears twice among the columns")


Answers = tuple[bool | None, ...]


def in_classes(measures: Sequence[tuple[str, Answers]]) -> list[tuple[list[str], Answers]]:
    """Measures with the same answers together; the classes in the order of their answers: –, N, Y.

    >>> in_classes([("RBP", (True, True)), ("DCG", (False, True)), ("SP", (False, True))])
    [(['DCG', 'SP'], (False, True)), (['RBP'], (True, True))]
    """
    classes: dict[Answers, list[str]] = {}
    for measure, answers in measures:
        classes.setdefault(answers, []).append(measure)
    order = {None: 0, False: 1, True: 2}
    ranked = sorted(classes.items(), key=lambda item: [order[answer] for answer in item[0]])
    return [(names, answers) for answers, names in ranked]


def _property_tables(result: PropertiesResult, columns: Sequence[str], *, classes: bool) -> Iterator[Page]:
    """One table per set of rankings."""

    def rankings_of(measure: CheckedMeasure) -> tuple[str, str, int]:
        return measure.domain, measure.paired, measure.longest

    for rankings in dict.fromkeys(map(rankings_of, result.checked)):
        domain, paired, longest = rankings
        scope = f"bounded: also on {longest:,} documents of one kind; " if longest == LONG else ""
        scope += f"stable, neutral: on pairs of {paired.removeprefix('all ')}"
        measures = [measure for measure in result.checked if rankings_of(measure) == rankings]
        answers = [(measure.measure, tuple(measure.holds[name] for name in columns)) for measure in measures]
        rows = in_classes(answers) if classes else [([name], verdicts) for name, verdicts in answers]
        cells = [(", ".join(names), [_cell(holds=holds) for holds in verdicts]) for names, verdicts in rows]
        page = table(
            f"Properties on {domain} ({scope})", ("measures" if classes else "measure",), columns, cells, "property"
        )
        yield replace(page, sheet=replace(page.sheet, folded=tuple(SHORT.get(name, name) for name in columns)))


def _cell(*, holds: bool | None, mark: str = "") -> Cell:
    tone: Literal["", "good", "bad"] = "" if holds is None else "good" if holds else "bad"
    return Cell(f"{MARKS[holds]}{RAISED.get(mark, '')}", tone=tone)


def sentence(name: str, case: Counterexample, digits: int = 4) -> str:
    """A counterexample as a sentence.

    >>> sentence("monotone", Counterexample(("1|0", "10"), (1, 2), (1.0, 0.5)))
    '“1|0” scores 1.0000 at k = 1 but 0.5000 at k = 2'
    """
    first, other = (f"“{case.rankings[i]}”" for i in (0, -1))
    k, *_ = case.k
    scores = [shown(score, digits) for score in case.scores]
    limit = "" if case.limit is None else shown(case.limit, digits)
    if name == "bounded":
        return f"{first} scores {scores[0]} at k = {k}, outside the bound {limit}"
    if name == "monotone":
        return f"{first} scores {scores[0]} at k = {k} but {scores[1]} at k = {case.k[1]}"
    if name == "complete":
        return f"{first} has no score at k = {k}"
    if name == "realizable":
        return f"with as many relevant documents as {first}, the best score at k = {k} is {scores[0]}, not {limit}"
    if name == "localized":
        return f"{first} scores {scores[0]} at k = {k} but {other} scores {scores[1]}"
    if name == "truncatable":
        at = "" if case.k[0] != case.k[1] else f" at k = {k}"
        return f"the list that ends at {first} scores {scores[0]}{at}, but {scores[1]} if it goes on to {other}"
    if name in ("stable", "neutral"):
        after = f"{scores[2]} and {scores[3]} after x is judged {case.judged}"
        return f"{first} and {other} score {scores[0]} and {scores[1]} at k = {k}, but {after}"
    relation = "the same" if scores[0] == scores[1] else f"only {scores[1]}"
    return f"{first} scores {scores[0]} at k = {k}, and {other} {relation}"


def table2(
    documents: int | None = None,
    format: str = "table",
    *,
    columns: Sequence[str] = SEVEN,
    classes: bool = False,
    width: int = 80,
    colour: bool = False,
) -> str:
    """Table 2 of *Seven Numeric PropertiesResult of Effectiveness Metrics*, computed, with its footnotes.

    With other ``columns``, the metrics are in the order of their answers, as in the paper: N before Y.
    """
    result = Properties(documents).run([f"{ours}@k" for _, ours, *_ in PRINTED])
    holds = {theirs: measure.holds for (theirs, *_), measure in zip(PRINTED, result.checked, strict=True)}
    marks = {theirs: footnotes for theirs, _, _, footnotes in PRINTED}
    answers = [(theirs, tuple(holds[theirs][name] for name in columns)) for theirs, *_ in PRINTED]
    groups = [names for names, _ in in_classes(answers)]
    if not classes:
        groups = [[name] for names in groups for name in names]
    rows = [
        (
            (", ".join(f"{name}@k" for name in names),),
            [_cell(holds=holds[names[0]][name], mark=_footnotes(name, [marks[n] for n in names])) for name in columns],
        )
        for names in groups
    ]
    matches = {
        theirs: {name: MARKS[holds[theirs][name]] == answer for name, answer in zip(SEVEN, printed, strict=True)}
        for theirs, _, printed, _ in PRINTED
    }
    same = sum(matches[theirs][name] for theirs, *_ in PRINTED for name in columns)
    domain = f"{result.checked[0].domain}, and {LONG:,} documents of one kind"
    title = f"Metrics and their properties (Moffat, AIRS 2013, Table 2), on {domain}"
    data = {
        "title": title,
        "columns": list(columns),
        "classes": [[f"{name}@k" for name in names] for names, _ in in_classes(answers)],
        "metrics": {
            f"{theirs}@k": {
                "measure": f"{ours}@k",
                "properties": {name: holds[theirs][name] for name in columns},
                "as_printed": {name: matches[theirs][name] for name in columns},
                "footnotes": {name: letter for name, letter in footnotes.items() if name in columns},
            }
            for theirs, ours, _, footnotes in PRINTED
        },
        "match": same,
        "answers": len(PRINTED) * len(columns),
        "footnotes": NOTES,
    }
    page = table(title, ("Metrics" if classes else "Metric",), [SHORT.get(name, name) for name in columns], rows)
    text = write([page], data, format, width=width, colour=colour)
    if format == "json":
        return text
    notes = [f"{same} of {len(PRINTED) * len(columns)} answers match the paper"]
    notes += [f"{letter}: {note}" for letter, note in NOTES.items()]
    if format == "latex":
        for plain, raised in RAISED.items():
            text = text.replace(raised, f"$^{plain}$")
    prefix = {"latex": "% ", "csv": "# ", "markdown": "- "}.get(format, "")
    return f"{text}\n" + "".join(f"{prefix}{line}\n" for line in notes)


def _footnotes(name: str, marks: Sequence[dict[str, str]]) -> str:
    """The footnote of a column, if all measures of a class have the same one."""
    letters = {footnotes.get(name, "") for footnotes in marks}
    return letters.pop() if len(letters) == 1 else ""


# Table 1 of Moffat: each variant of DCG, and what its denominator is the highest score of.
VARIANTS_OF_DCG = (
    ("DCG@k", "DCG", "(no division)"),
    ("SDCG@k", "SDCG", "any system, any query, depth k"),
    ("NDCG@k", "nDCG", "any system, this query, depth k"),
    ("SN-DCG@k", "SN_DCG", "this system, this query, first k reordered"),
)
# The rankings of the paper's examples, at k = 5; other documents, R of them relevant, are not retrieved.
EXAMPLES = ("11000", "10100", "10101")
RELEVANT = 4


def table1(format: str = "table", *, digits: int = 2, width: int = 80, colour: bool = False) -> str:
    """Table 1 of the paper: the variants of DCG, their denominators, and the scores of the paper's examples."""
    k = len(EXAMPLES[0])
    data: dict[str, dict[str, Any]] = {}
    for theirs, ours, meaning in VARIANTS_OF_DCG:
        data[theirs] = {"measure": f"{ours}@{k}", "maximum_over": meaning, "examples": {}}
        for ranking in EXAMPLES:
            grades, missed = [int(mark) for mark in ranking], [1] * (RELEVANT - ranking.count("1"))
            score, dcg = (parse(f"{symbol}@{k}")(grades, missed) for symbol in (ours, "DCG"))
            data[theirs]["examples"][ranking] = {"dcg": dcg, "denominator": dcg / score, "score": score}

    def cell(example: dict[str, float]) -> str:
        dcg, denominator, score = (shown(example[name], digits) for name in ("dcg", "denominator", "score"))
        return f"{dcg} / {denominator} = {score}"

    title = "Variants of DCG (Moffat, AIRS 2013, Table 1): DCG@k is divided by the highest score that is possible for"
    denominators = [(name, [entry["maximum_over"]]) for name, entry in data.items()]
    examples = [(name, [cell(example) for example in entry["examples"].values()]) for name, entry in data.items()]
    page_list = [
        table(title, ("Method",), ("denominator",), denominators),
        table(f"Rankings of the paper at k = {k}, with R = {RELEVANT}", ("Method",), EXAMPLES, examples),
    ]
    result = {"title": title, "k": k, "R": RELEVANT, "methods": data}
    return write(page_list, result, format, width=width, colour=colour)
