"""What is said of scores: notes, typed records with the sentences in which reports show them, and the policy line."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cranfield.ranking.tie_rules import DEFAULT, TIE_RULES
from cranfield.wording import few, plural, printable

if TYPE_CHECKING:
    from cranfield.evaluation.plan import Column
    from cranfield.evaluation.scores import ScoreTable

Kind = str  # a key of `SENTENCES`
# Notes about the input, not about scores.
ABOUT_INPUTS: tuple[Kind, ...] = (
    "reading",
    "standardised",
    "corpus_unused",
    "costs_unused",
    "unweighted_queries",
    "unjudged_weights",
    "unjudged_subtopics",
    "unweighted_subtopics",
)
FEW_RUNS = 5  # notes of one kind on more runs can be summarised
SMALL = 0.00005  # smaller changes of a mean are not visible in four decimals


@dataclass(frozen=True)
class QueryNames:
    """The number of queries of a note, and the names of the first few."""

    count: int = 0
    first: Sequence[str] = ()

    @classmethod
    def of(cls, names: Sequence[str]) -> QueryNames:
        return cls(len(names), names)

    def __str__(self) -> str:
        shown = ", ".join(self.first[:5]) + (", ..." if self.count > 5 else "")
        return f"{plural(self.count, 'query')} ({shown})"


@dataclass(frozen=True, repr=False)
class Note:
    """One fact about scores: its kind, its run and measure, if any, and its numbers."""

    kind: Kind
    run: str | None = None
    measure: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @classmethod
    def saved(cls, text: str) -> Note:
        """A note of a saved result, of which there is only the sentence."""
        return cls("saved", values={"text": text})

    def __str__(self) -> str:
        return printable("; ".join(_written([self])))

    def __repr__(self) -> str:
        return f"<Note: {self}>"


def sentences(notes: Iterable[Note]) -> list[str]:
    """The notes as sentences, in order; notes of the same kind on the same run share a sentence if possible."""
    groups: dict[tuple[Kind, str | None], list[Note]] = {}
    for note in dict.fromkeys(notes):
        groups.setdefault((note.kind, note.run), []).append(note)
    return [printable(sentence) for group in groups.values() for sentence in _written(group)]


def summarised(notes: Iterable[Note]) -> tuple[list[str], bool]:
    """The notes as sentences, with one sentence for each kind that many runs have; and whether there is any such.

    >>> unjudged = [Note("unjudged_documents", f"run{i}", values={"depth": 10, "share": i / 100}) for i in range(1, 29)]
    >>> summarised(unjudged)
    (['28 runs: unjudged: 1% to 28% of the top 10'], True)
    """
    kinds: dict[Kind, list[Note]] = {}
    notes = list(dict.fromkeys(notes))
    for note in notes:
        kinds.setdefault(note.kind, []).append(note)
    runs = {kind: len({note.run for note in group if note.run is not None}) for kind, group in kinds.items()}
    many = [kind for kind in kinds if runs[kind] > FEW_RUNS and kind in SUMMARIES]
    texts = sentences(note for note in notes if note.kind not in many)
    return [*texts, *(f"{runs[kind]} runs{SUMMARIES[kind](kinds[kind])}" for kind in many)], bool(many)


def input_notes(notes: Iterable[Note]) -> list[str]:
    """The sentences about judgments, weights and corpus, for output that shows no means."""
    return sentences(note for note in notes if note.kind in ABOUT_INPUTS)


def _written(group: Sequence[Note]) -> list[str]:
    """The sentences of notes of one kind on one run."""
    sentence = SENTENCES[group[0].kind]
    if callable(sentence):
        return sentence(group)
    return [sentence.format(run=note.run, measure=note.measure, **note.values) for note in group]


def _each(sentence: Callable[[Note], str]) -> Callable[[Sequence[Note]], list[str]]:
    return lambda group: [sentence(note) for note in group]


def _measures(group: Iterable[Note]) -> str:
    return ", ".join(dict.fromkeys(str(note.measure) for note in group))


def _grouped(group: Sequence[Note], key: Callable[[Note], Any]) -> dict[Any, list[Note]]:
    groups: dict[Any, list[Note]] = {}
    for note in group:
        groups.setdefault(key(note), []).append(note)
    return groups


ABOVE_ONE = {
    "max": "the highest gain is {gain:g}, so scores may exceed 1",
    "terminal": "gains between 0 and 1 beside a terminal document can score above 1; ideal='bounded' avoids this",
}
CREDIT = "; unanswered, and credited with the share of correct answers"
STANDARDISED = {
    "z": "z-scores",
    "normal": "the normal distribution function of z-scores",
    "empirical": "the empirical distribution function",
}
TREATMENT = {"judged": "scored as empty", "both": "left out", "run": "left out"}  # of queries without a ranking


def _undefined(group: Sequence[Note]) -> list[str]:
    groups = _grouped(group, lambda note: (str(note.values["queries"]), note.values["credit"]))
    return [
        f"{_measures(notes)} {'is' if len(notes) == 1 else 'are'} undefined for {queries}{CREDIT if credit else ''}"
        for (queries, credit), notes in groups.items()
    ]


def scores_against_ranks(queries: int) -> str:
    """What to say of a run whose scores contradict its ranks."""
    where = "in its query" if queries == 1 else f"in all {queries:,} queries"
    return (
        f"documents with higher scores have lower ranks {where}; high scores come first here. "
        "If low scores are better, negate them, or use ties=rank"
    )


def percent(share: float) -> str:
    """A share in whole percent; only an exact 0 or 1 is 0% or 100%."""
    if 0 < share < 0.005:
        return "less than 1%"
    return "over 99%" if 0.995 <= share < 1 else f"{share:.0%}"


def _unjudged_documents(group: Sequence[Note]) -> str:
    """The share of unjudged documents at each depth, or from the lowest to the highest share of several runs.

    Depths with the same shares are named together, those near the top first.
    """
    depths_of: dict[str, list[str]] = {}
    by_depth = _grouped(group, lambda note: note.values["depth"])
    for depth in sorted(by_depth, key=lambda depth: math.inf if depth is None else depth):
        shares = [note.values["share"] for note in by_depth[depth]]
        shares += [0.0] * (len(shares) < len({note.run for note in group}))  # of a run without a note on this depth
        share = " to ".join(dict.fromkeys((percent(min(shares)), percent(max(shares)))))
        name = "of all retrieved documents" if depth is None else f"of the top {depth}"
        depths_of.setdefault(share, []).append(name)
    return ": unjudged: " + ", ".join(f"{share} {' and '.join(names)}" for share, names in depths_of.items())


def _tie_range(group: Sequence[Note]) -> list[str]:
    ranges = (
        f"{note.measure} ({'at least from ' if 'at_least' in note.values else ''}"
        f"{note.values['low']:.4f} to {note.values['high']:.4f})"
        for note in group
    )
    return [f"{group[0].run}: the order of ties could change {', '.join(ranges)}"]


def _all(number: int, noun: str, which: str = "") -> str:
    words = ("the only", noun, which, "is") if number == 1 else ("all", plural(number, noun), which, "are")
    return " ".join(filter(None, words))


def _relevant_not_in_corpus(note: Note) -> str:
    absent, relevant, name = note.values["absent"], note.values["relevant"], note.values["judgments"]
    if not absent:
        return f"{name}: {_all(relevant, 'relevant document')} in the corpus"
    return f"{name}: {absent:,} of {relevant:,} relevant documents are not in the corpus and are ignored"


def _above_one(group: Sequence[Note]) -> list[str]:
    """Scores that may exceed 1, by the reason: gains above 1, or gains below 1 beside a terminal document."""
    reasons = _grouped(group, lambda note: ABOVE_ONE[note.values["reason"]].format(gain=note.values["gain"]))
    return [f"{_measures(notes)}: {reason}" for reason, notes in reasons.items()]


def _read_not_in_corpus(group: Sequence[Note]) -> list[str]:
    texts = []
    for (absent, read), notes in _grouped(group, lambda note: (note.values["absent"], note.values["read"])).items():
        which = f"that {_measures(notes)} {'uses' if len(notes) == 1 else 'use'}"
        text = f"{_all(read, 'document', which)} in the corpus"
        if absent:
            text = f"{absent:,} of {read:,} documents {which} are not in the corpus and add nothing to the score"
        texts.append(f"{group[0].run}: {text}")
    return texts


def _subtopics(sentence: str) -> Callable[[Sequence[Note]], list[str]]:
    def written(note: Note) -> str:
        subtopics = note.values["subtopics"]
        number = plural(len(subtopics), "subtopic")
        return sentence.format(name=note.values["name"], number=number, few=few(subtopics))

    return _each(written)


def _compared(note: Note) -> str:
    measures, left_out = note.values["measures"], note.values["left_out"]
    missing = f"; {left_out} left out because some run has no value there" if left_out.count else ""
    return f"{', '.join(measures)}{': ' if measures else ''}compared on {note.values['queries']}{missing}"


def _none_significant(note: Note) -> str:
    values = note.values
    which = f"{few(values['measures'])}: " if values["measures"] else ""
    first, *others = dict.fromkeys(f"{p:.2g}" for p in values["lowest_p"])
    lowest = f"{first} to {others[-1]}, depending on the measure" if others else first
    gate = "" if values["gate"] is None else f", or {values['gate']:.2g} for a gate, which tests one side"
    return (
        f"{which}no difference can be significant: the lowest possible corrected p-value of the {values['test']} test "
        f"is {lowest}{gate}; use more {values['more']}{' or fewer pairs' if values['fewer_pairs'] else ''}"
    )


# The sentence of each note, with its run, measure and values; or the sentences of notes on one run.
SENTENCES: dict[Kind, str | Callable[[Sequence[Note]], list[str]]] = {
    "standardised": _each(
        lambda note: (
            f"scores are standardised over {plural(note.values['runs'], 'run')} for each query: "
            f"{STANDARDISED[note.values['method']]}"
        )
    ),
    "reading": "{run}: {remark}",
    "undefined": _undefined,
    "undefined_groups": _each(
        lambda note: (
            f"{note.run}: {note.measure} is undefined in {plural(note.values['groups'], 'group')} of "
            f"{note.values['queries']}; counted as 0"
        )
    ),
    "subtopic_grades": lambda group: [
        f"{group[0].values['judgments']} has judgments by subtopic; {_measures(group)}"
        f" {'uses' if len(group) == 1 else 'use'} the highest grade of each document"
    ],
    "unanswerable_queries": _each(
        lambda note: (
            f"{note.values['queries']} {'has' if note.values['queries'].count == 1 else 'have'} no relevant document"
        )
    ),
    "above_one": _above_one,
    "below_level": lambda group: [
        f"{plural(group[0].values['documents'], 'document')} with a grade above 0 and below "
        f"{group[0].values['level']:g}: not relevant for {_measures(group)}"
    ],
    "divides_by_cutoff": lambda group: [
        f"{_measures(group)} {'divides' if len(group) == 1 else 'divide'} by the cutoff, even if a list is shorter; "
        "the shares of unjudged documents in notes are of the documents retrieved"
    ],
    "corpus_unused": "the corpus was not read: none of the measures uses document text",
    "costs_unused": "the costs were not used: none of the measures uses them",
    "unweighted_queries": "{name} has no weights for {queries}; subtopics get equal weights",
    "unjudged_weights": "{name} has weights for {queries} without judgments; not used",
    "unjudged_subtopics": _subtopics("{name} has weights for {number} without judgments ({few}); not used"),
    "unweighted_subtopics": _subtopics("{name} gives no weight to {number} with relevant documents ({few}); left out"),
    "scores_against_ranks": _each(lambda note: f"{note.run}: {scores_against_ranks(note.values['queries'])}"),
    "disjoint": "{run}: {ids}",
    "unanswered_queries": _each(
        lambda note: f"{note.run} has no ranking for {note.values['queries']}; {TREATMENT[note.values['counted']]}"
    ),
    "unjudged_queries": "{run} has {queries} without judgments; left out",
    "repeated_nil": "{run}: `{nil}` appears more than once for {queries}; only the first one counts",
    "unjudged_documents": lambda group: [f"{group[0].run}{_unjudged_documents(group)}"],
    "tie_range": _tie_range,
    "tie_small": lambda group: [
        f"{group[0].run}: the order of ties could change {_measures(group)} by less than 0.0001"
    ],
    "tie_unknown": lambda group: [
        f"{group[0].run}: the order of ties could change {_measures(group)}; "
        "ties=expected gives the mean over all orders"
    ],
    "sampled_orders": _each(
        lambda note: (
            f"{note.run}: {note.measure} has too many tie orders for {plural(note.values['queries'], 'query')}; "
            f"a sample was used (standard error of the mean {note.values['error']:.2g})"
        )
    ),
    "not_bounds": "{measure}: lowest and highest cover only the judgments that were tried; they are not bounds",
    "relevant_not_in_corpus": _each(_relevant_not_in_corpus),
    "subtopics_without_model": (
        "{judgments}: {without:,} of {subtopics:,} subtopics have no language model and are left out"
    ),
    "read_not_in_corpus": _read_not_in_corpus,
    "compared": _each(_compared),
    "resamples_raised": _each(
        lambda note: (
            f"{note.values['resamples']:,} resamples: with {note.values['default']:,}, no difference could be "
            f"significant after correction for {plural(note.values['pairs'], 'pair')}"
        )
    ),
    "none_significant": _each(_none_significant),
    "saved": "{text}",
}


def _query_counts(group: Sequence[Note]) -> str:
    counts = [note.values["queries"].count for note in group]
    low, high = min(counts), max(counts)
    return plural(low, "query") if low == high else f"{low:,} to {plural(high, 'query')}"


def _tie_widths(group: Sequence[Note]) -> str:
    widths = []
    for measure, notes in _grouped(group, lambda note: note.measure).items():
        width = max(note.values["high"] - note.values["low"] for note in notes)
        at_least = "at least " if any("at_least" in note.values for note in notes) else ""
        widths.append(f"{measure} (by {at_least}up to {width:.4f})")
    return ", ".join(widths)


# What follows the number of runs, for kinds of notes that many runs may have.
SUMMARIES: dict[Kind, Callable[[Sequence[Note]], str]] = {
    "disjoint": lambda group: ": none of the retrieved documents is judged for any query",
    "unanswered_queries": lambda group: (
        f" have no ranking for {_query_counts(group)}; {TREATMENT[group[0].values['counted']]}"
    ),
    "unjudged_queries": lambda group: f" have {_query_counts(group)} without judgments; left out",
    "repeated_nil": lambda group: (
        f": `{group[0].values['nil']}` appears more than once for {_query_counts(group)}; only the first one counts"
    ),
    "unjudged_documents": _unjudged_documents,
    "tie_range": lambda group: f": the order of ties could change {_tie_widths(group)}",
    "tie_small": lambda group: f": the order of ties could change {_measures(group)} by less than 0.0001",
    "tie_unknown": lambda group: (
        f": the order of ties could change {_measures(group)}; ties=expected gives the mean over all orders"
    ),
    "sampled_orders": lambda group: (
        f": too many tie orders for some queries of {_measures(group)}; samples were used (standard error of "
        f"the mean up to {max(note.values['error'] for note in group):.2g})"
    ),
    "read_not_in_corpus": lambda group: (
        f": up to {max(note.values['absent'] / max(note.values['read'], 1) for note in group):.0%} of the documents "
        f"used by {_measures(group)} are not in the corpus and add nothing to the score"
    ),
    "undefined_groups": lambda group: f": undefined values of {_measures(group)} in some groups; counted as 0",
}


# The policy line: what every table of scores says below it.

UNDEFINED = {
    "skip": "undefined values skipped",
    "zero": "undefined values count as 0",
    "one": "undefined values count as 1",
}
COUNTED = {"judged": "{}", "both": "the {} that each run answers", "run": "all {} of each run"}


def policy_line(scores: ScoreTable, *, denominator: bool = True) -> str:
    r"""How ties, relevance, undefined values and queries were treated; empty if scores do not say.

    Views of the whole evaluation are said here and in no label. A part that applies to no column is left out.
    ``denominator``: also say over how many queries means are.

    >>> import cranfield as cf
    >>> scores = cf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["AP", "nDCG@10[ties=best]"], depth=100)
    >>> print(policy_line(scores).replace("; ", ";\n"))
    Ties broken by document id (trec);
    rankings cut at 100 documents;
    relevant: grade 1 or higher;
    undefined values skipped;
    means over 1 query.
    """
    policy = scores._policy
    if not policy:
        return ""
    parts = [*_views(scores.columns, policy), *_level(scores.columns, policy)]
    if policy.get("undefined") in UNDEFINED:
        parts.append(UNDEFINED[policy["undefined"]])
    if denominator:
        parts.append(_denominator(scores, policy))
    line = "; ".join(parts)
    return f"{line[0].upper()}{line[1:]}." if line else ""


def _views(columns: Sequence[Column], policy: Mapping[str, Any]) -> Iterator[str]:
    views = [column.measure.views for column in columns if not column.is_outside]
    given = policy.get("ties")
    ties = given or DEFAULT
    if any(view.ties is None or view.ties == given for view in views):
        yield f"{TIE_RULES[ties].words} ({ties})"
    if any(view.depth and view.depth == policy.get("depth") for view in views):
        yield f"rankings cut at {plural(policy['depth'], 'document')}"
    if policy.get("condensed"):
        yield "unjudged documents removed (condensed)"
    if policy.get("terminal"):
        full = policy.get("full_length")
        yield f"a terminal document added{f' to lists shorter than {full}' if full else ''} (terminal)"


def _level(columns: Sequence[Column], policy: Mapping[str, Any]) -> Iterator[str]:
    """The grade from which a document is relevant, for measures that do not name it."""
    level = policy.get("rel", 1.0)
    if any(column.measure.level == level for column in columns):
        yield f"relevant: grade {level:g} or higher"


def _denominator(scores: ScoreTable, policy: Mapping[str, Any]) -> str:
    what = "sums" if all(column.aggregate == "sum" for column in scores.columns) else "means"
    collections = len(getattr(scores, "_collections", ()))
    if collections > 1:
        return f"{what} over the means of {collections} collections"
    sizes = scores._sizes.ravel().tolist() or [0]
    low, high = min(sizes), max(sizes)
    number = plural(high, "query") if low == high else f"{low:,} to {plural(high, 'query')}"
    return f"{what} over {COUNTED[policy.get('queries', 'judged')].format(number)}"
