"""Judgments of one collection for systems on another.

Hui, Berberich and Mele, "Dealing with Incomplete Judgments in Cascade Measures" (ICTIR 2017), Tables 1 and 2. Each part
of a collection in turn is the source, where documents are judged, and the target, where systems search.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from cranfield import io
from cranfield.corpus import Corpus, needed_documents
from cranfield.data import Booleans, Floats, Integers, Judgments, Run
from cranfield.errors import InputError, UsageError
from cranfield.evaluation.evaluator import read_runs
from cranfield.evaluation.notes import SENTENCES, Note
from cranfield.evaluation.plan import last_rank_read
from cranfield.io.side_tables import read_run_groups
from cranfield.lab.studies.sampling import (
    CandidateMeasures,
    DivergenceClaim,
    candidate_styles,
    claim_tables,
    count_divergences,
    legend_name,
    without_negative_grades,
)
from cranfield.lab.study import (
    HIGH,
    Coefficient,
    Measures,
    Progress,
    Relevant,
    Study,
    StudyResult,
    Threshold,
    Variants,
    averaged,
)
from cranfield.lab.systems import (
    MIN_QUERIES,
    add_variants,
    agreements,
    defined_for_all,
    mean_scores,
    score_systems,
    studied,
    system_notes,
)
from cranfield.parallel import followed
from cranfield.report.canvas import GREY, Drawings, one_scale, panels
from cranfield.report.pages import Page, table
from cranfield.report.sheet import Cell, shown
from cranfield.settings import Chance, Option, Whole
from cranfield.statistics.rounding import SAME
from cranfield.wording import few, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


ALL = "all"
OTHER = "other"  # documents that the list does not contain


@dataclass(frozen=True)
class CollectionSplit:
    """A rule that assigns documents to parts, and its description."""

    part_of: Callable[[str], str]
    description: str

    @classmethod
    def of(cls, parts: Any = None, pattern: str | None = None, share: float = 0.5, seed: int = 0) -> CollectionSplit:
        """The requested rule; by default documents are assigned to A and B at random.

        ``parts``: ``{document: part}``, or a file of such lines. ``pattern``: a regular expression; documents whose
        ids match are in B, all others in A. ``share``: the proportion of documents in A, if assigned at random.
        """
        if parts is not None and pattern is not None:
            raise UsageError("parts and pattern cannot be combined", hint="give one of them")
        if parts is not None:
            part_of = read_run_groups(parts, "document", "part")
            if ALL in part_of.values():
                raise UsageError(f"`{ALL}` cannot be the name of a part: it stands for the complete collection")
            return cls(lambda document: part_of.get(document, OTHER), "from a list")
        if pattern is not None:
            try:
                expression = re.compile(pattern)
            except re.error as error:
                raise UsageError(f"invalid regular expression `{pattern}`: {error}") from error
            return cls(lambda document: "B" if expression.search(document) else "A", f"B matches `{pattern}`")
        return cls(lambda document: "A" if _hash_fraction(document, seed) < share else "B", f"at random, seed {seed}")

    def members(self, documents: Iterable[str]) -> dict[str, Booleans]:
        """For each part, in order of their names, which of the documents belong to it."""
        part = np.array([self.part_of(document) for document in documents], object)
        return {name: part == name for name in sorted(set(part.tolist()))}


def _hash_fraction(document: str, seed: int) -> float:
    """A number in [0, 1) that depends on the document id and the seed only."""
    key = f"{seed}\0".encode() + document.encode("utf-8", "surrogateescape")
    return int.from_bytes(blake2b(key, digest_size=7).digest(), "big") / 2**56


MIN_RUNS = 2  # the fewest runs that have an order
DEFAULT = ("alpha_nDCG@20", "ERR_IA@20", "NRBP@20", "ABSNB@20", "ABSRB@20", "DELTANB@20", "DELTARB@20")
SENTENCES.update(
    not_searched=(
        "left out where {target} is the target, because {they} did not search it: {few} ({runs} of {total}{order})"
    ),
)


@dataclass(frozen=True)
class Reuse(Study):
    """Judgments of one collection for systems on another.

    The experiment of Hui et al., "Dealing with Incomplete Judgments in Cascade Measures" (ICTIR 2017), Tables 1 and 2.
    The collection is split into parts, and at least two runs are restricted to one part, the target. The reference is
    the order by a measure under the target's own judgments; it is compared with orders under the judgments of another
    part. Word statistics come from the complete corpus. A run without any document of a part is not evaluated on that
    part. ::

        cranfield study reuse qrels.txt *.run --corpus corpus.parquet --seed 1
        cranfield study reuse qrels.txt *.run --corpus corpus.parquet --pattern '^clueweb09-en(00(0.|1[01])|wp0[0-3])-'
    """

    pattern: Annotated[
        str | None, "Documents whose ids match are in part B, all others in A.", Option(metavar="REGEX")
    ] = None
    share: Annotated[
        Chance, "Without --parts and --pattern: the share of documents that are assigned to part A at random."
    ] = 0.5
    rel: Relevant = 1.0
    coefficient: Coefficient = "tau-a"
    threshold: Threshold = HIGH
    variants: Variants = 0
    seed: Whole = 0

    def run(
        self,
        qrels: Any,
        runs: Any,
        measures: Measures = DEFAULT,
        *,
        corpus: Any = None,
        parts: Annotated[
            Any, "Parts of the collection: lines `document part`; in Python also {document: part}."
        ] = None,
        searched: Annotated[
            Mapping[str, str] | None,
            "The part that a run searched, or `all`; RUN may be a pattern such as *-catb. May be repeated.",
            Option(metavar="RUN=PART", default="the parts of its documents"),
        ] = None,
        progress: Progress | None = None,
    ) -> ReuseResult:
        """Compare orders of systems under the judgments of each part with those under the target's own."""
        candidates = CandidateMeasures.of(measures, self.rel)
        rule = CollectionSplit.of(parts, self.pattern, self.share, self.seed)
        collection = studied(qrels, corpus)
        judgments = without_negative_grades(collection.judgments)
        all_runs, variant_notes = add_variants(runs, judgments, self.variants, self.seed)
        loaded = [replace(run, source=io.load(run)) for run in read_runs(all_runs)]
        parts = rule.members(judgments.documents)
        if len(parts) < 2:
            raise InputError(
                [f"{judgments.name}: all judged documents are in the part `{next(iter(parts), '')}`"],
                hint="this study needs judgments in at least two parts; split the collection in another way",
            )
        parts[ALL] = np.ones(len(judgments.grade), bool)
        names = tuple(parts)
        targets = _targets(loaded, rule, names, searched or {})
        opened = _open_corpus(
            collection.documents, judgments, [run for restricted in targets for run in restricted], candidates
        )
        shape = len(candidates.references), len(candidates.names), len(names), len(names)
        agreement, notes = np.full(shape, np.nan), list(variant_notes)
        claims: tuple[DivergenceClaim, ...] = ()
        for t, (target, restricted) in enumerate(followed(zip(names, targets, strict=True), progress, len(names))):
            if target != ALL and len(restricted) < MIN_RUNS:
                continue
            part = collection.changed(qrels=judgments, documents=opened)
            scores, relabeller = score_systems(part, restricted, candidates.columns, seed=self.seed)
            if target == ALL:
                notes += system_notes(scores)
                claims = tuple(count_divergences(relabeller))
            by_source = [relabeller.values(keep) for keep in parts.values()]
            for s, values in enumerate(by_source):
                agreement[..., s, t] = self._agreement(candidates, by_source[t], values)
        relevant = judgments.grade >= self.rel
        counts = [[int(relevant[keep].sum()), int((~relevant[keep]).sum())] for keep in parts.values()]
        run_names = tuple(run.name for run in loaded)
        searching = tuple(tuple(run.name for run in restricted) for restricted in targets)
        return ReuseResult(
            settings=self,
            rule=rule.description,
            runs=run_names,
            queries=len(judgments.queries),
            collections=names,
            references=candidates.references,
            candidates=candidates.names,
            agreement=agreement,
            judged=np.array(counts, np.int64),
            searching=searching,
            claims=claims,
            notes=(*notes, *_excluded_notes(run_names, names, searching)),
        )

    def _agreement(self, candidates: CandidateMeasures, target: Floats, source: Floats) -> Floats:
        """The agreement of candidates under the judgments of a source with references under the target's own.

        ``target``, ``source``: the values of all runs of the target under either judgments.
        """
        target_means, target_orders = _ordering_means(target)
        means, orders = _ordering_means(source)
        references = candidates.reference_scores(target_means)[:, None]
        x, y = np.broadcast_arrays(references, candidates.candidate_scores(means))
        both = candidates.candidate_scores(orders) & candidates.reference_scores(target_orders)[:, None]
        return agreements(self.coefficient, x, y, both)


@dataclass(frozen=True, eq=False, repr=False)
class ReuseResult(StudyResult):
    """The agreement of orders of systems from judgments of another collection with those from its own judgments.

    ``rule``: how the collection was split. ``agreement`` (reference, candidate, source, target): with the reference
    measure under the target's judgments. Candidates use the source's judgments: the same measure on raw and on
    condensed lists, and every measure that reads document text. NaN where a candidate orders no system. ``judged``
    (collection, 2): relevant and other documents. ``searching``: the runs that are evaluated where each collection is
    the target. ``claims``: how often the results of a run are as close to a subtopic as the collection is, for all
    judgments.
    """

    settings: Reuse
    rule: str
    runs: tuple[str, ...]
    queries: int
    collections: tuple[str, ...]
    references: tuple[str, ...]
    candidates: tuple[str, ...]
    agreement: Floats
    judged: Integers
    searching: tuple[tuple[str, ...], ...]
    claims: tuple[DivergenceClaim, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def included(self) -> Booleans:
        """Whether a run is evaluated where a collection is the target, (collection, run)."""
        return np.array([[run in searching for run in self.runs] for searching in self.searching])

    def pages(self, digits: int = 4) -> list[Page]:
        """The judged documents of each part; then for each reference measure the agreement by source and target."""
        return [
            _judged_table(self),
            *(_agreement_table(self, r, digits) for r in range(len(self.references))),
            *claim_tables(self.claims),
        ]

    @classmethod
    def mean_pages(cls, results: Sequence[ReuseResult], digits: int = 4) -> list[Page]:
        """The agreement by source and target, averaged over collections."""
        mean = averaged(results, ("collections", "references", "candidates"), ("agreement",))
        scope = f"mean over {len(results)} collections"
        return [_agreement_table(mean, r, digits, scope) for r in range(len(mean.references))]

    def drawings(self) -> Drawings:
        """The one figure of the study."""
        return {"reuse": partial(draw, self)}


def _targets(
    runs: Sequence[Run], rule: CollectionSplit, names: Sequence[str], searched: Mapping[str, str]
) -> list[list[Run]]:
    """The runs that are evaluated on each part, restricted to its documents."""
    retrieved_in = [rule.members(io.load(run).document) for run in runs]
    searched_part = _searched_parts([run.name for run in runs], searched, names)
    return [
        [
            run if name == ALL else _restrict(run, members.get(name))
            for run, members, part in zip(runs, retrieved_in, searched_part, strict=True)
            if _is_searched(name, part, members)
        ]
        for name in names
    ]


def _searched_parts(runs: Sequence[str], searched: Mapping[str, str], names: Sequence[str]) -> list[str | None]:
    """The part that each run searched, as given; None if it is not given."""
    for pattern, part in searched.items():
        if part not in names:
            raise UsageError(f"searched: there is no part `{part}`", hint=f"one of {', '.join(names)}")
        if not any(fnmatchcase(run, pattern) for run in runs):
            raise UsageError(f"searched: there is no run `{pattern}`", hint=f"the runs are {few(runs)}")
    return [next((part for pattern, part in searched.items() if fnmatchcase(run, pattern)), None) for run in runs]


def _is_searched(target: str, searched: str | None, members: Mapping[str, Booleans]) -> bool:
    """Whether a run is evaluated on a target: on the part that it searched, or where it retrieved any document."""
    if target == ALL or searched == ALL:
        return True
    return target in members if searched is None else target == searched


def _excluded_notes(runs: Sequence[str], names: Sequence[str], searching: Sequence[Sequence[str]]) -> Iterator[Note]:
    """Notes on the runs that are not evaluated on a part."""
    for name, included in zip(names, searching, strict=True):
        missing = [run for run in runs if run not in included]
        if missing:
            order = "" if len(included) >= MIN_RUNS else ", too few for an order"
            values = {
                "target": name,
                "they": "it" if len(missing) == 1 else "they",
                "few": few(missing),
                "runs": plural(len(missing), "run"),
                "total": len(runs),
                "order": order,
            }
            yield Note("not_searched", values=values)


def _open_corpus(corpus: Any, judgments: Judgments, runs: Sequence[Run], candidates: CandidateMeasures) -> Any:
    """The corpus, opened once with all documents that the measures read in any of these runs."""
    if corpus is None or not candidates.content:
        return corpus
    depth = max(last_rank_read(column.measure) for column in candidates.columns)
    return Corpus.open(corpus, wanted=needed_documents(judgments, runs, depth))


def _restrict(run: Run, inside: Booleans | None) -> Run:
    """The run with the documents of one part only; None means that it has none of them."""
    table = io.load(run)
    rows = np.zeros(0, np.int64) if inside is None else np.flatnonzero(inside)
    rank = None if table.rank is None else table.rank[rows]
    restricted = replace(
        table, query=table.query.take(rows), document=table.document.take(rows), score=table.score[rows], rank=rank
    )
    return replace(run, source=restricted)


def _ordering_means(values: Floats) -> tuple[Floats, Booleans]:
    """The score of each run by every measure, (measure, run), and whether the measure distinguishes any runs."""
    usable = defined_for_all(values)
    means = mean_scores(values, usable)
    enough = usable.sum(axis=1) >= MIN_QUERIES
    return means, enough & (np.ptp(np.where(enough[:, None], means, 0), axis=1) > SAME)


def _agreement_table(result: ReuseResult, reference: int, digits: int, scope: str = "") -> Page:
    threshold = result.settings.threshold
    title = (
        f"{result.symbol} with the order by {result.references[reference]} under the target's own judgments:"
        f" {scope or f'{len(result.runs)} runs, {result.queries} queries'};"
        " source of the judgments → target of the search"
        f" (bold: above {threshold:g}; –: no order)"
    )
    heads = [f"{source}→{target}" for source in result.collections for target in result.collections]
    rows = [
        (candidate, [Cell(shown(value, digits), best=value > threshold) for value in values.ravel().tolist()])
        for candidate, values in zip(result.candidates, result.agreement[reference], strict=True)
    ]
    return table(title, ("measure",), heads, rows, "source → target")


def _judged_table(result: ReuseResult) -> Page:
    rows = [
        (name, [str(int(count)) for count in (*counts, counts.sum(), len(runs))])
        for name, counts, runs in zip(result.collections, result.judged, result.searching, strict=True)
    ]
    title = f"Judged documents and runs of each part; split {result.rule}"
    return table(title, ("collection",), ("relevant", "other", "judged", "runs"), rows)


def draw(result: ReuseResult) -> Figure:
    """All reference measures below each other, on one scale."""
    figure, axes = panels(len(result.references), 1, 1.6)
    figure.set_figheight(figure.get_figheight() + 0.5)
    for r, axis in enumerate(axes):
        draw_agreement(result, r, axis)
    one_scale(figure, axes, 1.04, 3)
    return figure


def draw_agreement(result: ReuseResult, reference: int, axis: Axes) -> Axes:
    """The candidates of one reference, side by side in each column."""
    collections = range(len(result.collections))
    columns = [(source, target) for source in collections for target in collections]
    styles = candidate_styles(result.candidates)
    offset = np.linspace(-0.3, 0.3, len(styles))
    for c, (candidate, style) in enumerate(styles.items()):
        values = [result.agreement[reference, c, source, target] for source, target in columns]
        marker = {"color": style["color"], "marker": style["marker"]}
        x = np.arange(len(columns)) + offset[c]
        axis.plot(x, values, linestyle="none", markersize=3, label=legend_name(candidate), **marker)
    axis.axhline(result.settings.threshold, color=GREY, linewidth=0.6, linestyle=":")
    names = [f"{result.collections[source]}→{result.collections[target]}" for source, target in columns]
    axis.set_xticks(range(len(columns)), names)
    axis.set_title(result.references[reference])
    axis.set_ylabel(result.symbol)
    return axis
