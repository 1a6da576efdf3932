"""The catalogue as text: the list of measures, and the description of one."""

from __future__ import annotations

import inspect
import json
import math
import re
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any
from unicodedata import normalize

from cranfield import __version__
from cranfield.errors import CranfieldError, MeasureError, UsageError
from cranfield.evaluation.collection import Collection
from cranfield.evaluation.evaluator import evaluate
from cranfield.io.columns import MAX_NUMBER
from cranfield.measures import CATALOGUE, FAMILIES, parse
from cranfield.measures.aliases import names_elsewhere, symbol_of
from cranfield.measures.catalogue import LEAST, Definition, GainParameter, Measure, Parameter
from cranfield.report.pages import BOLD, styled
from cranfield.settings import Choice, Limits, expected
from cranfield.wording import plural

VIEW_PAPERS = {"condensed": "sakai2007", "terminal": "liu2016"}
SOURCE = Path(__file__).parent.parent / "references.bib"
# A value has braces in braces at most twice.
FIELD = re.compile(r"(\w+)\s*=\s*(?:\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}|\"?([^\",}]+))")
VENUES = ("journal", "booktitle", "publisher", "institution", "school", "howpublished")
MARKS = {'"': "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", "c": "\u0327", "v": "\u030c"}
ACCENT = re.compile(r"""\\(["'`^~]|[cv](?=\{))\{?(\w)\}?""")


@cache
def entries(source: Path) -> dict[str, str]:
    """Every entry of a BibTeX file as it is written there, by its key; ``VERSION`` is that of this package."""
    text = source.read_text(encoding="utf-8").replace("VERSION", __version__)
    texts = re.split(r"^(?=@)", text, flags=re.MULTILINE)[1:]
    return {re.split("[{,]", text, maxsplit=2)[1].strip(): text.strip() for text in texts}


def bibtex(keys: Iterable[str]) -> str:
    """The entries of these keys, each once, in this order; one text may hold several keys, separated by spaces."""
    unique = dict.fromkeys(key for text in keys for key in text.split())
    available = entries(SOURCE)
    missing = [key for key in unique if key not in available]
    if missing:
        raise CranfieldError(f"{SOURCE.name} has no entry for {', '.join(missing)}")
    return "\n\n".join(available[key] for key in unique) + "\n"


def fields(entry: str) -> dict[str, str]:
    """The fields of an entry, in lower case, without their outer braces.

    >>> fields("@article{x, title = {On {BM25}}, year = 1994}")
    {'title': 'On {BM25}', 'year': '1994'}
    """
    return {head.lower(): " ".join((braced or bare).split()) for head, braced, bare in FIELD.findall(entry)}


def reference(key: str) -> str:
    """An entry in one line: authors, title, venue, year."""
    entry = {name: readable(value) for name, value in fields(entries(SOURCE)[key]).items()}
    names = [" ".join(reversed(name.split(", ", 1))) for name in entry.get("author", "").split(" and ")]
    authors = ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")
    venue = next((entry[name] for name in VENUES if name in entry), "")
    year = entry.get("year", "")
    return ". ".join(filter(None, [authors, entry.get("title"), venue, "" if year in venue else year]))


def readable(text: str) -> str:
    r"""TeX as plain text.

    >>> readable(r'{TREC} by J{\"a}rvelin and Kek\"al\"ainen')
    'TREC by Järvelin and Kekäläinen'
    >>> readable(r'cwl\_eval')
    'cwl_eval'
    """
    accented = ACCENT.sub(lambda match: normalize("NFC", match[2] + MARKS[match[1]]), text)
    return accented.replace("{", "").replace("}", "").replace("\\&", "&").replace("\\_", "_").replace("--", "–")


# The meaning of shared parameters; each measure describes its own.
MEANING = {
    "rel": "the lowest grade that counts as relevant",
    "gain": "how grades are mapped to gains",
    "max": "the top grade, by which gains are scaled (by default the highest grade in the judgments)",
    "min": "the grade whose gain is scaled to 0",
    "norm": "divide by the number of relevant documents R, or by the minimum of R and k (min)",
    "stop": "where readers stop: in proportion to gain (gu), or by rank (rb)",
    "utility": "the value of the documents read: precision (P), the blended ratio (BR), or p^rank (IE)",
    "weights": "the share of readers with each grade as threshold: rising with the grade, or even",
    "discount": "log2 discounts ranks from 2 on, jk from `base` on",
    "base": "the base of the logarithm",
    "p": "the probability of going on to the next document",
    "a": "a parameter of the beta distribution of p, whose mean is a/(a+b)",
    "b": "the other parameter of that distribution",
    "n": "the number of relevant documents that the reader looks for",
    "beta": "the weight of recall, or of cumulated gain",
    "gamma": "the weight of subtopic recall, from 0 to 1; in NCU, the probability of going on after a hit",
    "alpha": "the probability that a relevant document satisfies the need for its subtopic",
    "T": "the number of relevant documents that the user expects to need",
    "k": "the cutoff",
    "graded": "use gains from 0 to 1 instead of binary relevance",
    "R": "the relevant documents in the denominator: all judged ones, or those in the ranking",
    "ideal": "the ideal ranking to compare with: as published (paper, greedy), or one that no ranking can exceed "
    "(bounded, exact)",
    "horizon": "the last rank that counts",
    "mu": "the smoothing parameter of language models",
    "smoothing": "Dirichlet smoothing, or equations 5 and 6 of the paper as printed",
    "theta": "the probability of going on to the next document",
    "whole": "treat each query as one subtopic",
    "by": "what has equal weight: preferences (all), groups of them, or pairs of documents",
    "count": "which pairs count: all, those with at least one document retrieved (implied), or those with both "
    "retrieved (retrieved)",
    "fixed": "count preferences only, unlike trec_eval",
    "rule": "how the number of relevant documents for a recall level is rounded",
    "cost": "the cost of a document that has none in `costs=`",
    "A": "the gain per unit of cost that the user expects",
    "b1": "at a gain of exactly T, the probability of going on is b1/(1+b1)",
    "b2": "at a gain of exactly A per unit of cost, the probability of going on is 1/(1+b2)",
    "R1": "how sharply the reader stops at T",
    "R2": "how sharply the reader stops below A",
    "points": "the number of recall levels",
    "times": "the rank as a multiple of R",
    "normalize": "divide by the overlap of the ideal ranking with itself",
}
# Parameters that mean something else in some measures.
OWN_MEANING = {
    "SetF": {"beta": "the weight of recall"},
    "NRBP": {"beta": "the probability of going on to the next document"},
    "nNRBP": {"beta": "the probability of going on to the next document"},
    "SET": {"beta": "the exponent: i documents are worth i^beta"},
    "ERR_IA": {"norm": "as in ndeval, or as in the paper: the mean of ERR over subtopics"},
    "NCU": {
        "gamma": "the share of readers who go on after each relevant document",
        "norm": "with a cutoff, divide by the weights of stopping (stop), or by the minimum of R and k (min)",
        "p": "the base of the utility IE, p^rank",
    },
    "iRBU": {"p": "the share of utility that is left after each document read"},
    "niRBU": {"p": "the share of utility that is left after each document read"},
    "BPM": {"T": "the total gain at which the user stops"},
    "BPMD": {"T": "the total gain at which the user stops, at the beginning"},
    "IFT_C1": {"T": "the total gain that the user wants"},
    "IFT": {"T": "the total gain that the user wants"},
}
CUTOFFS = {"none": "{0}", "optional": "{0}, {0}@k", "required": "{0}@k", "recall": "{0}@recall"}

VARIANTS = ("", "[ties=expected]", "[ties=best]", "[ties=worst]", "[condensed]", "[terminal]")
# A small ranking with a tie, an unjudged document, and a relevant document that was not retrieved.
RANKING: tuple[Any, ...] = (1, None, (2, 0), 0, 1)
MISSED = (2,)
STORY = "a ranking with grades 1, unjudged, 2 and 0 tied, 0, 1; another document with grade 2 is not retrieved"
# The same for measures that need more than grades: the story, the parts of the collection, and the run.
TIED = {"q": {"a": 3.0, "b": 2.0, "c": 2.0, "d": 1.0}}
DIVERSE = (
    "a document on subtopic 1, then one on 1 and 2 tied with an unjudged one, then one on 3",
    {"qrels": {"q": {"a": {"1": 1}, "b": {"1": 1, "2": 1}, "d": {"3": 1}}}},
    TIED,
)
PREFERRING = (
    "the ranking a, then b and c tied, then d; one judge prefers b to a and both to d, another prefers b to c",
    {
        "prefs": {
            "q": [["1", "1", "b", 2], ["1", "1", "a", 1], ["1", "1", "d", 0], ["2", "1", "b", 1], ["2", "1", "c", 0]]
        }
    },
    TIED,
)
SPANNING = (
    "characters 100 to 140 of document a are relevant; the ranking: 0 to 110 of a, then 100 to 130 of a tied with 0 to "
    "40 of b, then 130 to 200 of a",
    {"spans": {"q": [("a", 100, 140)]}},
    {"q": [("a", 0, 110, 3.0), ("a", 100, 130, 2.0), ("b", 0, 40, 2.0), ("a", 130, 200, 1.0)]},
)
TEXTS = {"a": "lamp oil lamp", "b": "oil lamp wick", "c": "sea gull", "d": "wick trimmed at dusk", "e": "dusk sea"}
READING = (
    "`lamp oil lamp` is relevant to subtopic 1, `wick trimmed at dusk` to subtopic 2. The ranking: `oil lamp wick` "
    "(unjudged), `sea gull` (unjudged) tied with `wick trimmed at dusk`, `lamp oil lamp`. The collection also has "
    "`dusk sea`.",
    {"qrels": {"q": {"a": {"1": 1}, "d": {"2": 1}}}, "documents": TEXTS},
    {"q": {"b": 3.0, "c": 2.0, "d": 2.0, "a": 1.0}},
)

UNANSWERABLE = (
    "an unjudged document for a query without relevant documents",
    {"qrels": {"q": {"a": 0}}},
    {"q": {"x": 1}},
)
PRICED = (
    "documents with the prices 4, then 8 tied with 30",
    {"items": {"a": {"price": 4}, "b": {"price": 8}, "c": {"price": 30}}},
    {"q": {"a": 3.0, "b": 2.0, "c": 2.0}},
)
OWN_EXAMPLES = {"FalseAnswer": UNANSWERABLE, "DocMean": PRICED}
OWN_FORMS = {"DocMean": "DocMean(of='price')@2"}


def find(name: str) -> tuple[Definition, Measure | None]:
    """The measure of this name, in any tool, and the parsed measure; a symbol without its cutoff is enough."""
    try:
        measure = parse(name)
    except CranfieldError:
        symbol = name if name in CATALOGUE else symbol_of(name)
        if symbol is None:
            raise
        return CATALOGUE[symbol], None
    # An exact symbol is that measure, even if it is also an alias of another one.
    if name in CATALOGUE and measure.symbol != name:
        return CATALOGUE[name], None
    return measure.definition, measure


def papers(name: str) -> str:
    """The keys of what to cite for a measure with its views, a significance test, a correction, or Cranfield itself.

    >>> papers("holm"), papers("RBP[terminal]")
    ('holm1979', 'moffat2008 liu2016')
    """
    from cranfield.analysis.significance import CORRECTION_PAPERS, SIGNIFICANCE_TESTS  # they load SciPy

    tests: dict[str, str] = {test: record.cite for test, record in SIGNIFICANCE_TESTS.items()}
    others = {"cranfield": "cranfield", **tests, **CORRECTION_PAPERS}
    if name in others:
        return others[name]
    try:
        definition, measure = find(name)
    except MeasureError as error:
        others_named = f"tests and corrections are {', '.join(name for name in others if name != 'cranfield')}"
        raise MeasureError(
            error.message, hint=f"{error.hint}; {others_named}" if error.hint else others_named
        ) from None
    views = [] if measure is None else [paper for view, paper in VIEW_PAPERS.items() if getattr(measure.views, view)]
    return " ".join([definition.cite, *views])


def of_family(family: str | None) -> list[Definition]:
    """The measures of a family (a prefix of its name is enough), or all measures."""
    families = [module.__name__.rpartition(".")[2] for module in FAMILIES]
    prefix = "" if family is None else family.lower().replace(" ", "_").replace("-", "_")
    definitions = [d for name in families if name.startswith(prefix) for d in CATALOGUE.values() if d.family == name]
    if not definitions:
        raise UsageError(f"unknown family `{family}`", hint=f"use one of {', '.join(families)}")
    return definitions


def search(definitions: Iterable[Definition], text: str) -> list[Definition]:
    """The measures with all these words in their names, in those of other tools, or in their descriptions.

    >>> [d.symbol for d in search(CATALOGUE.values(), "reciprocal rank")][:1]
    ['RR']
    >>> [d.symbol for d in search(CATALOGUE.values(), "ndcg_cut")]
    ['nDCG']
    """
    words = text.casefold().split()

    def described(d: Definition) -> str:
        names = (d.symbol, d.function.__name__.replace("_", " "), d.family.replace("_", " "))
        parts = (*names, d.summary, d.formula, d.cite, *d.parameters, *names_elsewhere(d.symbol))
        return " ".join(parts).casefold()

    matches = [d for d in definitions if all(word in described(d) for word in words)]
    if not matches:
        raise UsageError(f"no measure matches `{text}`", hint="use fewer words, or `cranfield measures` for all")
    return matches


def as_json(definitions: Iterable[Definition]) -> str:
    """The properties of each measure as JSON."""
    names = ("family", "title", "summary", "usage", "formula")
    entries = [
        {
            "measure": d.symbol,
            **{name: getattr(d, name) for name in names},
            "bounds": [limit if math.isfinite(limit) else None for limit in d.bounds],
            "parameters": {
                p.name: {"default": None if p.default is ... else p.default, "allowed": allowed(p)}
                for p in d.parameters.values()
            },
            "aggregate": d.aggregate,
            "residual": d.residual is not None,
            "cite": d.cite.split(),
        }
        for d in definitions
    ]
    return json.dumps(entries, indent=2, ensure_ascii=False) + "\n"


def listing(definitions: Iterable[Definition], *, width: int, colour: bool) -> str:
    """Measures by family, one sentence each."""
    rows = [(d.family, CUTOFFS[d.cutoff].format(d.symbol), d.summary) for d in definitions]
    column = max(len(name) for _, name, _ in rows) + 2
    lines = []
    for family, grouped in groupby(rows, key=lambda row: row[0]):
        members = list(grouped)
        title = styled(family.replace("_", " "), BOLD, colour=colour)
        lines.append(f"{title} ({plural(len(members), 'measure')})")
        for _, name, summary in members:
            lines += _hanging(f"  {name:<{column}}", summary, width)
        lines.append("")
    families = len({family for family, _, _ in rows})
    if families > 1:
        lines += [f"{plural(len(rows), 'measure')} in {families} families", ""]
    return "\n".join(lines)


def allowed(p: Parameter) -> str:
    """The allowed values of a parameter, as text."""
    if isinstance(p.type, Choice):
        more = " or a map {grade: gain}" if isinstance(p, GainParameter) else ""
        return "one of " + ", ".join(map(repr, p.type.names)) + more
    limits = p.type.find(Limits) or Limits()
    if limits == Limits(-MAX_NUMBER, MAX_NUMBER):
        limits = Limits()
    elif limits.low in (LEAST, 1 / MAX_NUMBER):  # the end of what can be computed
        limits = Limits(0, math.inf if limits.high == MAX_NUMBER else limits.high, ends="(]")
    return expected(replace(p.type, metadata=(limits,)))


def explanation(name: str, *, width: int, colour: bool) -> str:
    """The description of a measure, or of a significance test."""
    try:
        return description(*find(name), width=width, colour=colour)
    except MeasureError:
        from cranfield.analysis.significance import SIGNIFICANCE_TESTS, TESTS  # they load SciPy

        test_name = next((test for test in TESTS if test == name), None)
        if test_name is None:
            raise
    test = SIGNIFICANCE_TESTS[test_name]
    lines = [f"{styled(test_name, BOLD, colour=colour)}  {test.title}", "", *textwrap.wrap(test.about, width), ""]
    facts = [("estimate", test.quantity), *(("not for", f"{what}: {why}") for what, why in test.undefined.items())]
    for head, text in [*facts, *(("source", reference(key)) for key in test.cite.split())]:
        lines += _hanging(f"{head:<14}", text, width)
    return "\n".join(lines) + "\n"


def description(d: Definition, measure: Measure | None, *, width: int, colour: bool) -> str:
    """The description of one measure."""
    doc = (inspect.getdoc(d.function) or "").split(">>>")[0].split("\n\n")[1:]
    lines = [f"{styled(d.symbol, BOLD, colour=colour)}  {d.title}", ""]
    for paragraph in [d.summary, *doc]:
        if paragraph.strip():
            lines += [*textwrap.wrap(" ".join(paragraph.split()).replace("``", "`"), width), ""]
    sampled = ", or over a sample if there are too many" if d.ties.samples else ""
    facts = [
        ("syntax", d.usage),
        ("formula", d.formula),
        *_parameters(d),
        ("bounds", _bounds(d)),
        ("ties", f"ties=expected is {d.ties.summary}{sampled}"),
        (
            "residual",
            "available: --show residuals shows the effect of unjudged documents" if d.residual else "not available",
        ),
        (
            "terminal",
            f"not available: {d.terminal}"
            if d.terminal
            else "available: --terminal counts the end of a list as an answer",
        ),
        ("aggregation", d.aggregate),
        *(("source", reference(key)) for key in d.cite.split()),
    ]
    for name, text in ((name, text) for name, text in facts if text):
        lines += _hanging(f"{name:<14}", text, width)
    lines += ["", *_example(d, measure, width, colour=colour)]
    return "\n".join(lines) + "\n"


def parameter_meaning(d: Definition, name: str) -> str:
    """The meaning of a parameter, or "" if only the docstring of the measure describes it."""
    return OWN_MEANING.get(d.symbol, {}).get(name) or MEANING.get(name, "")


def _parameters(d: Definition) -> Iterator[tuple[str, str]]:
    heading = "parameters"
    for p in d.parameters.values():
        meaning = parameter_meaning(d, p.name)
        value = f"{p.default:g}" if isinstance(p.default, float) else repr(p.default)
        default = "" if p.default in (None, ...) else f"; default {value}"
        yield heading, f"{p.name}{': ' if meaning else ''}{meaning}; {allowed(p)}{default}"
        heading = ""


def _bounds(d: Definition) -> str:
    low, high = d.bounds
    if low == -math.inf:
        return "none"
    return f"{low:g} to {high:g}" if math.isfinite(high) else f"{low:g} or more"


def _example(d: Definition, measure: Measure | None, width: int, *, colour: bool) -> Iterator[str]:
    form = OWN_FORMS.get(d.symbol, f"{d.symbol}@{0.5 if d.cutoff == 'recall' else 3}")
    base = str(measure) if measure else form
    needed = {"content": READING, "preferences": PREFERRING, "subtopics": DIVERSE, "spans": SPANNING}
    example: Any = next((story for name, story in needed.items() if getattr(d, name)), OWN_EXAMPLES.get(d.symbol))
    scored = {}
    for name in [base] if base.endswith("]") else [base + variant for variant in VARIANTS]:
        with suppress(CranfieldError):  # the measure does not apply to the example
            if example is None:
                scored[name] = parse(name)(RANKING, MISSED)
            else:
                scored[name] = float(evaluate(Collection(**example[1]), example[2], name))
    scored = {name: value for name, value in scored.items() if not math.isnan(value)}
    if not scored:
        return
    yield styled("example", BOLD, colour=colour)
    story = STORY if example is None else example[0]
    yield from textwrap.wrap(story, width, initial_indent="  ", subsequent_indent="  ")
    column = max(map(len, scored)) + 2
    yield from (f"  {name:<{column}}{value:.4f}" for name, value in scored.items())


def _hanging(head: str, text: str, width: int) -> list[str]:
    # Keep a minimum width for the text, however narrow the screen.
    room = max(width, len(head) + 30)
    return textwrap.wrap(text, room, initial_indent=head, subsequent_indent=" " * len(head)) or [head.rstrip()]
