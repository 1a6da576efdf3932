"""Files of judgments: samples of a pool to be judged, a page to judge on, and new judgments added to old ones.

The strata of a sample are ranges of the best rank of a document over all runs. The page is one file that works without
a network, with the keyboard, and on a phone. New judgments come as TREC text, or as JSON that the page saves, with the
assessor and the time of each. Where grades of a document differ, nothing is merged unless the caller settles them.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import combinations
from statistics import median_low
from string import digits
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from cranfield.data import Floats, Integers, Judgments
from cranfield.errors import InputError, UsageError, max_faults
from cranfield.evaluation.predicted import mapping_of
from cranfield.evaluation.scores import Scores
from cranfield.io import read_qrels, write_qrels
from cranfield.io.columns import QRELS_COLUMNS, Columns, choose_columns, id_text
from cranfield.io.documents import read_texts
from cranfield.io.faults import quotable
from cranfield.io.formats.delimited import csv_lines, delimiter_of
from cranfield.io.formats.json import load_json
from cranfield.io.formats.trec import trec_lines
from cranfield.io.named_tables import read_query_texts, read_table
from cranfield.io.streams import compression_of_name, is_stream, open_stream, without_compression
from cranfield.io.write import check_ids, qrels_table, shorten, write_pieces
from cranfield.report.pages import Page, table
from cranfield.report.sheet import shown, signed
from cranfield.report.web_page import page_of_data
from cranfield.settings import checked
from cranfield.statistics.agreement import label_agreement
from cranfield.wording import plural

if TYPE_CHECKING:
    from cranfield.judging.proposals import Proposal

_GRADE_LINE = re.compile(r"([0-9])\s*[:=.)-]?\s+(\S.*)")
COLUMNS = ("query_id", "doc_id", "relevance", "assessor", "time", "source")


class NewJudgment(NamedTuple):
    """A judgment with who gave it, when, and from which file it comes; empty if unknown."""

    query: str
    document: str
    grade: float
    assessor: str = ""
    time: str = ""
    source: str = ""


Settle = Literal["error", "median", "lowest", "highest"]
# How different grades of a document become one; the median of two is the lower one.
SETTLED: dict[str, Callable[[list[float]], float]] = {"median": median_low, "lowest": min, "highest": max}


class AssessorAgreement(NamedTuple):
    """How far two assessors agree: on how many documents, the share with equal grades, and Cohen's κ.

    ``kappa`` has linear weights, and is NaN if all documents have one grade.
    """

    first: str
    second: str
    documents: int
    same: float
    kappa: float


@dataclass(frozen=True, eq=False)
class Merged:
    """All judgments together, with the sample that they may be; the new ones, and how many were there already.

    ``agreement``: of every two assessors who judged the same documents.
    """

    judgments: Judgments
    new: tuple[NewJudgment, ...]
    repeated: int
    known: Mapping[tuple[str, str], NewJudgment]
    agreement: tuple[AssessorAgreement, ...] = ()

    @property
    def grades(self) -> Mapping[str, Mapping[str, float]]:
        """The grades by query and document."""
        return mapping_of(self.judgments)

    def write(self, path: str) -> None:
        """Write all judgments in the format of the file name; CSV has assessor, time and source, too."""
        if _is_csv(path):
            write_pieces(path, iter([self.rows(path)]), compression_of_name(path))
        else:
            write_qrels(self.judgments, path)

    def rows(self, path: str = "merged.csv") -> bytes:
        """All judgments as CSV, with assessor, time and source; empty for those that have none."""
        table = qrels_table(self.judgments, path)
        check_ids(table)
        added = COLUMNS[3:]
        nothing = NewJudgment("", "", 0)
        names = [name for name in table.columns if name != "iteration"]
        rows = (
            (query, document, *rest, *self.known.get((query, document), nothing)[3:])
            for query, _, document, *rest in table.rows()
        )
        return csv_lines([(*names, *added), *rows], path)


Drawn = Mapping[tuple[str, str], tuple[Any, ...]]  # how each document of a sample was drawn


def read_new(source: Any, drawn: Drawn | None = None) -> list[NewJudgment]:
    """New judgments from a file: JSON of the judging page, a CSV with assessors, or any file of judgments.

    ``drawn``: how the documents of the old judgments were drawn; a new file that says otherwise is an error. In a
    sample, a document with a negative grade is not judged yet; elsewhere that is a grade like others.
    """
    if is_stream(source):
        stream = open_stream(source, "qrels")
        name = stream.source_name
        if stream.first_line.lstrip().startswith(b"{"):
            text = stream.read_text()
            try:
                saved = load_json(text)
            except ValueError:
                saved = None
            if isinstance(saved, Mapping) and isinstance(saved.get("judgments"), list):
                return _from_page(saved, name, drawn)
        content = stream.read()  # standard input is read once
        judgments = read_qrels(_named(content, name))
        origins = _origins(content, name)
    else:
        judgments, name, origins = read_qrels(source), "new judgments", {}
    _check_mergeable(judgments, name)
    _check_drawn(judgments, name, drawn or {})
    return [
        _with_origin(NewJudgment(query, document, grade, source=name), origins)
        for query, documents in mapping_of(judgments).items()
        for document, grade in documents.items()
        if grade >= 0 or not drawn
    ]


def _with_origin(entry: NewJudgment, origins: Mapping[tuple[str, str], tuple[str, str, str]]) -> NewJudgment:
    assessor, time, source = origins.get(entry[:2], ("", "", ""))
    return entry._replace(assessor=assessor, time=time, source=source or entry.source)


def _named(content: bytes, name: str) -> BytesIO:
    """The content of a file as a file object with its name."""
    file = BytesIO(content)
    file.name = name
    return file


def _check_mergeable(judgments: Judgments, name: str) -> None:
    if judgments.labels is not None:
        raise InputError([f"{name}: judgments by subtopic cannot be merged"], hint="merge them by hand, row by row")


def _drawn(judgments: Judgments) -> Drawn:
    """The stratum, the probability and the method of each document; nothing for judgments that are not a sample."""
    sample = judgments.sample
    if sample is None:
        return {}
    columns = (list(sample.strata), _listed(sample.probability), _listed(sample.method))
    named = [column for column in columns if column is not None]
    pairs = ((query, document) for query, documents in mapping_of(judgments).items() for document in documents)
    return dict(zip(pairs, zip(*named, strict=True), strict=True))


def _listed(values: Any) -> list[Any] | None:
    """The values of an array, None for NaN, which equals nothing."""
    return None if values is None else [None if value != value else value for value in values.tolist()]


def _check_drawn(judgments: Judgments, name: str, drawn: Drawn) -> None:
    """Raise if new judgments are a sample other than the old one: its strata and probabilities would be lost."""
    for pair, of in _drawn(judgments).items():
        if drawn.get(pair) != of:
            what = f"document `{quotable(pair[1])}` of query `{quotable(pair[0])}`"
            raise InputError(
                [f"{name}: {what} was not drawn in this way for the old judgments"],
                hint="merge a sample into the file that it was drawn for, or leave out its strata and probabilities",
            )


def _from_page(content: Mapping[str, Any], name: str, drawn: Drawn | None) -> list[NewJudgment]:
    assessor = str(content.get("assessor") or "")
    faults, judgments = [], []
    for number, entry in enumerate(content["judgments"], 1):
        is_entry = isinstance(entry, Mapping)
        ids = [id_text(entry.get(key)) for key in ("query", "document")] if is_entry else [None]
        grade = _finite(entry.get("grade")) if is_entry else None
        if not all(ids) or grade is None:
            faults.append(f"{name}: judgment {number} has no query, document or grade")
            continue
        query, document = map(str, ids)
        judgments.append(NewJudgment(query, document, grade, assessor, str(entry.get("time") or ""), name))
    if faults:
        raise InputError(faults[: max_faults()], total=len(faults))
    return [entry for entry in judgments if entry.grade >= 0 or not drawn]


def _finite(value: Any) -> float | None:
    """A finite number of JSON; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def _origins(content: bytes, name: str) -> dict[tuple[str, str], tuple[str, str, str]]:
    """Assessor, time and source of the judgments of a CSV or TSV file; nothing if it has no such columns."""
    table = read_table(_named(content, name), "qrels") if delimiter_of(name) else None
    if not isinstance(table, Columns) or not set(COLUMNS[3:]) & set(table.names):
        return {}
    chosen = choose_columns(table.names, QRELS_COLUMNS, None, name)
    origins: dict[tuple[str, str], tuple[str, str, str]] = {}
    for _, row in table.rows():
        assessor, time, source = (str(row.get(column) or "") for column in COLUMNS[3:])
        origins.setdefault((row[chosen["query"]], row[chosen["document"]]), (assessor, time, source))
    return origins


def _is_csv(name: str) -> bool:
    return without_compression(name).lower().endswith(".csv")


@checked
def merge(qrels: Any, files: Sequence[Any], *, settle: Settle = "error") -> Merged:
    """The judgments with all new ones; raises, and merges nothing, if two grades of a document differ.

    Parameters
    ----------
    qrels
        The judgments so far. A negative grade (pooled, or drawn and not yet judged) is replaced by a new one that is
        not negative.
    files
        New judgments: JSON of the judging page, CSV with assessors, or any other form of judgments.
    settle
        Which grade a document gets in place of an error: the median, the lowest or the highest of its grades, old and
        new.

    Returns
    -------
    Merged
        All judgments, what is new, and how far assessors agree.

    Examples
    --------
    >>> merged = merge({"q": {"a": 1}}, [{"q": {"b": 0}}, {"q": {"a": 1}}])
    >>> merged.grades, len(merged.new), merged.repeated
    ({'q': {'a': 1.0, 'b': 0.0}}, 1, 1)
    >>> merge({"q": {"a": 1}}, [{"q": {"b": 0}}, {"q": {"b": 2}}], settle="highest").grades
    {'q': {'a': 1.0, 'b': 2.0}}
    """
    earlier: dict[tuple[str, str], NewJudgment] = {}
    if is_stream(qrels) and _is_csv(str(getattr(qrels, "name", qrels))):
        stream = open_stream(qrels, "qrels")
        content, name = stream.read(), stream.source_name
        earlier = {pair: NewJudgment(*pair, 0, *of) for pair, of in _origins(content, name).items() if any(of)}
        qrels = _named(content, name)
    judgments: Judgments = read_qrels(qrels)
    _check_mergeable(judgments, judgments.name)
    drawn = _drawn(judgments)
    grades = {query: dict(documents) for query, documents in mapping_of(judgments).items()}
    origin = {(q, d): judgments.name for q, documents in grades.items() for d in documents}
    new, repeated, faults = [], 0, []
    votes: dict[tuple[str, str], list[float]] = {}
    entries = [read_new(file, drawn) for file in files]
    for of_file in entries:
        for entry in of_file:
            pair = entry.query, entry.document
            old = grades.get(entry.query, {}).get(entry.document)
            if judgments.sample is not None and entry.document not in grades.get(entry.query, {}):
                what = f"document `{quotable(entry.document)}` of query `{quotable(entry.query)}`"
                faults.append(f"{entry.source}: {what} is not in the pool of the sample {judgments.name}")
            elif old is None or old < 0 <= entry.grade:
                votes[pair] = [entry.grade]
                grades.setdefault(entry.query, {})[entry.document] = entry.grade
                origin[pair], earlier[pair] = entry.source, entry
                new.append(entry)
            elif settle != "error":
                votes.setdefault(pair, [old]).append(entry.grade)
                repeated += old == entry.grade
                origins = {earlier[pair].assessor, entry.assessor} if pair in earlier else {entry.assessor}
                earlier[pair] = entry._replace(assessor=" and ".join(sorted(filter(None, origins))))
            elif old == entry.grade:
                repeated += 1
            else:
                what = f"document `{quotable(entry.document)}` of query `{quotable(entry.query)}`"
                given = f"the grade {shorten(entry.grade)}, but {shorten(old)} in {origin[pair]}"
                faults.append(f"{entry.source}: {what} has {given}")
    if faults:
        more = [f"and {plural(len(faults) - max_faults(), 'more conflict')}"] if len(faults) > max_faults() else []
        raise InputError(
            faults[: max_faults()] + more,
            hint="nothing was merged; settle these judgments in one of the files, or choose a grade with --settle",
        )
    for (query, document), graded in votes.items() if settle != "error" else ():
        grades[query][document] = SETTLED[settle](graded)
    if judgments.sample is None:
        judgments = read_qrels(grades, name=judgments.name)
    else:  # the same documents in the same order
        merged = [grade for documents in grades.values() for grade in documents.values()]
        judgments = replace(judgments, grade=np.array(merged, np.float64))
    return Merged(judgments, tuple(new), repeated, earlier, tuple(agreement(entries)))


def agreement(files: Sequence[Sequence[NewJudgment]]) -> Iterator[AssessorAgreement]:
    """How far every two assessors agree on the documents that both judged; without a name, a file is an assessor.

    >>> ann = [NewJudgment("q", name, grade, "ann") for name, grade in (("a", 0), ("b", 1), ("c", 2))]
    >>> bob = [NewJudgment("q", name, grade, "bob") for name, grade in (("a", 0), ("b", 1), ("c", 1))]
    >>> [(one.documents, round(one.same, 4), round(one.kappa, 4)) for one in agreement([ann, bob])]
    [(3, 0.6667, 0.5714)]
    """
    judged: dict[str, dict[tuple[str, str], float]] = {}
    for number, entries in enumerate(files, 1):
        for entry in entries:
            who = entry.assessor or entry.source or f"file {number}"
            judged.setdefault(who, {})[entry.query, entry.document] = entry.grade
    for (first, own), (second, others) in combinations(judged.items(), 2):
        if both := [pair for pair in own if pair in others]:
            of = label_agreement([own[pair] for pair in both], [others[pair] for pair in both])
            yield AssessorAgreement(first, second, len(both), of.agreement, of.linear)


def agreement_page(agreements: Sequence[AssessorAgreement], digits: int = 4) -> Page:
    """The agreement of assessors as a table."""
    rows = [((a.first, a.second), [f"{a.documents:,}", f"{a.same:.0%}", shown(a.kappa, digits)]) for a in agreements]
    return table("Agreement of assessors", ("assessor", "other"), ("documents", "same grade", "linear κ"), rows)


def changes(before: Scores, after: Scores, digits: int = 4) -> tuple[list[Page], dict[str, Any]]:
    """The leaderboard before and after a merge: scores and places."""
    measure = after.measures[0]
    old, new = before._means[:, 0], after._means[:, 0]
    places = places_of(old), places_of(new)
    rows, plain = [], []
    for r in np.argsort(-new, kind="stable").tolist():
        moved = int(places[0][r] - places[1][r])
        texts = [shown(float(old[r]), digits), shown(float(new[r]), digits), signed(float(new[r] - old[r]), digits)]
        texts += [f"{places[0][r]}", f"{places[1][r]}" + (f" ({moved:+d})" if moved else "")]
        rows.append((after.runs[r], texts))
        plain.append({"run": after.runs[r], "before": float(old[r]), "after": float(new[r]), "moved": moved})
    columns = ("before", "after", "change", "place\nbefore", "place\nafter")
    page = table(f"{measure} before and after the new judgments", ("run",), columns, rows)
    return [page], {"measure": measure, "runs": plain}


def places_of(scores: Floats) -> Integers:
    """The place of each run, 1 for the highest score; of equal scores the first is ahead."""
    return np.argsort(np.argsort(-scores, kind="stable"), kind="stable") + 1


def merged_note(new: int, repeated: int, output: str) -> str:
    """How many judgments were merged, and where they are."""
    again = f"; already there: {plural(repeated, 'judgment')}" if repeated else ""
    return f"{plural(new, 'new judgment')} merged into {output}{again}"


NOT_DRAWN = -1  # the grade of a pooled document that was not drawn
TO_JUDGE = -2  # the grade of a drawn document that has no judgment yet
LEAST = 2  # with fewer drawn documents, a stratum has no variance


class Stratum(NamedTuple):
    """The documents whose best rank is at most ``depth`` and below that of the stratum before, and the share drawn."""

    depth: int
    rate: float


@dataclass(frozen=True)
class SampledDocument:
    """One document of a pool: its stratum, whether it was drawn, how likely that was, and its grade (or -1, -2)."""

    query: str
    document: str
    stratum: str
    drawn: bool
    probability: float
    grade: float


def parse_strata(text: str) -> tuple[Stratum, ...]:
    """Strata written as ``DEPTH:SHARE``, separated by spaces.

    >>> parse_strata("10:1 100:0.2")
    (Stratum(depth=10, rate=1.0), Stratum(depth=100, rate=0.2))
    """
    strata = []
    for part in text.split():
        depth, _, rate = part.partition(":")
        try:
            strata.append(Stratum(int(depth), float(rate)))
        except ValueError:
            raise UsageError(f"a stratum must be DEPTH:SHARE, such as 10:1, not `{part}`") from None
    depths = [stratum.depth for stratum in strata]
    if not strata or depths != sorted(set(depths)) or depths[0] < 1:
        raise UsageError("strata must have ascending depths of at least 1", hint="for example: 10:1 100:0.2")
    if not all(0 < stratum.rate <= 1 for stratum in strata):
        raise UsageError(
            "the share of a stratum must be above 0 and at most 1: a document that cannot be drawn has no estimate"
        )
    return tuple(strata)


def draw_sample(
    rankings: Sequence[Mapping[str, Sequence[str]]],
    strata: Sequence[Stratum],
    judged: Mapping[str, Mapping[str, float]] | None = None,
    *,
    seed: int = 0,
) -> list[SampledDocument]:
    """A simple random sample of each stratum of each query's pool.

    At least two documents of a stratum are drawn, so that its variance can be estimated.

    Parameters
    ----------
    rankings
        For each run, the documents of each query in order.
    strata
        The ranks and the sampling rate of each stratum.
    judged
        Grades that are known already, which a drawn document keeps.
    seed
        The random seed.

    Returns
    -------
    list of SampledDocument
        The drawn documents with their strata; a grade of -2 is not known yet.

    Examples
    --------
    >>> sample = draw_sample([{"q": ["a", "b", "c"]}], [Stratum(1, 1.0), Stratum(3, 1.0)], {"q": {"b": 1}})
    >>> [(d.document, d.stratum, d.grade) for d in sample]
    [('a', '1', -2), ('b', '2', 1), ('c', '2', -2)]
    """
    queries = sorted({query for run in rankings for query in run})
    sample = []
    for query in queries:
        pools = _pools((run.get(query, ()) for run in rankings), strata)
        rng = np.random.default_rng([seed, zlib.crc32(query.encode("utf-8", "surrogateescape"))])
        grades = (judged or {}).get(query, {})
        for number, (documents, stratum) in enumerate(zip(pools, strata, strict=True), 1):
            size = len(documents)
            drawn = min(size, max(round(stratum.rate * size), LEAST))
            chosen = set(rng.permutation(size)[:drawn].tolist())
            for i, document in enumerate(documents):
                grade = grades.get(document, TO_JUDGE)
                grade = NOT_DRAWN if i not in chosen else grade if grade >= 0 else TO_JUDGE
                sample.append(SampledDocument(query, document, str(number), i in chosen, drawn / size, grade))
    return sample


def _pools(runs: Iterable[Sequence[str]], strata: Sequence[Stratum]) -> list[list[str]]:
    """The documents of each stratum, by best rank, then by id."""
    best: dict[str, int] = {}
    for run in runs:
        for rank, document in enumerate(run[: strata[-1].depth], 1):
            if rank < best.get(document, rank + 1):
                best[document] = rank
    pools: list[list[str]] = [[] for _ in strata]
    depths = [stratum.depth for stratum in strata]
    for document in sorted(best, key=lambda d: (best[d], d.encode("utf-8", "surrogateescape"))):
        pools[int(np.searchsorted(depths, best[document]))].append(document)
    return pools


def sample_lines(sample: Sequence[SampledDocument], path: str = "sample") -> bytes:
    """The sample as TREC's five columns: query, 0, document, stratum, grade."""
    rows = [(d.query, "0", d.document, d.stratum, shorten(d.grade)) for d in sample]
    return trec_lines(rows, path, "qrels")


def sample_rows(sample: Sequence[SampledDocument], path: str = "sample.csv") -> bytes:
    """The sample as CSV, with the probability of each document to be drawn."""
    rows = [(d.query, d.document, shorten(d.grade), d.stratum, d.probability) for d in sample]
    return csv_lines([("query_id", "doc_id", "relevance", "stratum", "probability"), *rows], path)


class Guidelines(NamedTuple):
    """What assessors are told: the meaning of each grade, and everything else as text.

    A grade has a label, and perhaps a longer description.
    """

    grades: dict[str, tuple[str, str]]
    text: str


def read_guidelines(source: Any) -> Guidelines:
    r"""Guidelines from a text file; a line such as ``2 Relevant: answers most of the question`` describes a grade.

    >>> from io import StringIO
    >>> read_guidelines(StringIO("0 Off topic\n1: Relevant: says when\nRead the whole document.\n"))
    Guidelines(grades={'0': ('Off topic', ''), '1': ('Relevant', 'says when')}, text='Read the whole document.')
    """
    grades, lines = {}, []
    for line in open_stream(source, "guidelines").read_text().splitlines():
        match = _GRADE_LINE.fullmatch(line.strip())
        if match is None:
            lines.append(line)
            continue
        if match[1] in grades:
            raise InputError([f"guidelines: grade {match[1]} is described twice"])
        label, _, meaning = match[2].partition(": ")
        grades[match[1]] = label.strip(), meaning.strip()
    return Guidelines(dict(sorted(grades.items())), "\n".join(lines).strip())


def judging_page(
    proposals: Sequence[Proposal],
    *,
    name: str = "",
    texts: Any = None,
    queries: Any = None,
    grades: Sequence[str] | None = None,
    guidelines: Any = None,
    suggestions: Any = None,
    blind: bool = True,
) -> str:
    """The HTML of a page on which these documents are judged.

    Parameters
    ----------
    proposals
        The documents to judge; see `next_documents`.
    name
        The name of the collection.
    texts, queries
        A collection with the texts of documents, or ``{document: text}``; and the texts of queries.
    grades
        What may be given, each a single digit; by default those of the guidelines, or 0 to 3.
    guidelines
        A text file that explains the grades.
    suggestions
        Predicted judgments, which the page marks unless it is blind.
    blind
        Whether the page shows neither runs nor predictions. Otherwise it says which pair of runs a document can change.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> import cranfield as cf
    >>> qrels, runs = {"q": {"a": 1}}, {"A": {"q": ["a", "b"]}, "B": {"q": ["b", "c"]}}
    >>> proposals = cf.judging.next_documents(qrels, runs, "P@2").documents
    >>> page = judging_page(proposals, texts={"c": "A text."}, grades=["0", "1"])
    >>> "A text." in page
    True
    """
    guide = Guidelines({}, "") if guidelines is None else read_guidelines(guidelines)
    grades = (list(guide.grades) or ["0", "1", "2", "3"]) if grades is None else grades
    if not grades or any(grade not in tuple(digits) for grade in grades):
        raise UsageError(f"the grades of the page must be single digits, not `{' '.join(grades)}`")
    if not proposals:
        raise UsageError(
            "there is no document to judge", hint="ask for a higher confidence, or for another strategy, such as depth"
        )
    documents_of_page = {proposal.document for proposal in proposals}
    text_of = texts if isinstance(texts, Mapping) else {} if texts is None else read_texts([texts], documents_of_page)
    asked = dict.fromkeys(proposal.query for proposal in proposals)
    query_text_of = {} if queries is None else read_query_texts(queries, asked)
    suggested = {} if suggestions is None or blind else mapping_of(read_qrels(suggestions))
    documents = [
        {
            "query": proposal.query,
            "document": proposal.document,
            "topic": query_text_of.get(proposal.query),
            "text": text_of.get(proposal.document),
            "reason": "" if blind else _reason(proposal),
            "suggestion": _suggestion(suggested.get(proposal.query, {}).get(proposal.document), grades),
        }
        for proposal in proposals
    ]
    pairs = "\n".join(f"{proposal.query} {proposal.document}" for proposal in proposals)
    page_id = f"{zlib.crc32(pairs.encode('utf-8', 'surrogateescape')):08x}"
    labels = [(grade, *guide.grades.get(grade, ("", ""))) for grade in grades]
    labelled = [{"grade": grade, "label": label, "meaning": meaning} for grade, label, meaning in labels]
    data = {"id": page_id, "name": name, "grades": labelled, "guidelines": guide.text, "documents": documents}
    return page_of_data("cranfield.judging", "page.html", data)


def _reason(proposal: Proposal) -> str:
    if math.isnan(proposal.change):
        return ""
    return f"It can change {proposal.run} – {proposal.other} by {proposal.change:.4f}"


def _suggestion(grade: float | None, grades: Sequence[str]) -> str | None:
    text = None if grade is None else f"{grade:g}"
    return text if text in grades else None
