"""`Collection`: what is true of a test collection, whatever is evaluated on it; weights and types of its intents."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property, partial, wraps
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import numpy as np

from cranfield import io
from cranfield.data import DailyRankings, Integers, Intents, Judgments, Labels, Navigational, Repeats, Run
from cranfield.errors import InputError, UsageError, reading_objects
from cranfield.evaluation.notes import Note, QueryNames
from cranfield.evaluation.plan import Depth, Function, Inference, Negative, Plan, Policy
from cranfield.evaluation.scores import check_rankings
from cranfield.io.columns import is_frame
from cranfield.io.faults import quotable
from cranfield.io.tables import with_queries
from cranfield.settings import Limits, Positive, check_all
from cranfield.wording import did_you_mean, few, one_of

if TYPE_CHECKING:
    from cranfield.evaluation.scores import Scores
    from cranfield.io.named_tables import Items
    from cranfield.io.side_tables import DocumentMap
    from cranfield.io.spans import Texts

AbsentDays = Literal["error", "empty", "tied"]
# What cannot be combined; the first of each row names the error.
EXCLUSIVE = (
    ("costs", ("nil", "prefs", "groups")),
    ("groups", ("nil", "intents", "documents")),
    ("predicted", ("groups", "judges", "nil", "costs")),
    ("complete", ("prefs", "groups", "predicted", "strata", "inclusion", "method")),
    ("spans", ("nil", "costs", "predicted")),
    ("items", ("groups", "spans")),
)
SAMPLE = ("strata", "inclusion", "method")
JUDGED = ("qrels", "prefs", "groups", "judges", "spans")  # judgments, of which a collection has one kind
ABOUT_JUDGMENTS = ("costs", "intents", "types", "predicted")
OF_JUDGES = "evaluate, compare, reports and experiments take several judges; elsewhere give those of one of them"


def check_options(given: Iterable[str], options: Sequence[str]) -> None:
    """Raise for an unknown option, with a hint: where it belongs, or the nearest one."""
    for name in given:
        if name in options:
            continue
        if name in PARTS:
            hint = f"it describes the collection: write Collection(qrels, {name}=...) in place of qrels"
        elif name in ("residuals", "bounds", "standard_errors"):
            hint = f"write show={name.replace('_', '-')!r}"
        elif name == "columns":
            hint = "name the columns of a table as you read it: cf.read_run(table, columns=...), cf.read_qrels(...)"
        else:
            hint = did_you_mean(name, options, f"the options are: {', '.join(options)}")
        raise UsageError(f"unknown option `{name}`", hint=hint)


def checked_keywords(function: Function) -> Function:
    """The function, with a hint for unknown keywords in place of Python's own error."""
    names = [p.name for p in signature(function).parameters.values() if p.kind != p.VAR_KEYWORD and p.name != "self"]

    @wraps(function)
    def checked(*args: Any, **options: Any) -> Any:
        check_options(options, names)
        with reading_objects():
            return function(*args, **options)

    return cast(Function, checked)


class Collection:
    """Judgments and everything else that describes a test collection.

    Parameters
    ----------
    qrels
        A path, ``{query: {document: grade}}``, ``{query: {document, ...}}``, a DataFrame, or `Judgments`. The next four
        parameters are judgments of other kinds, and take its place.
    prefs
        Preferences between documents, for measures such as `Prefs`: ``{query: [[group, subgroup, document, level],
        ...]}``, or a file with lines of these five columns.
    groups
        Judgments of several assessors, ``{query: {group: {document: grade}}}``, or a file with lines ``query group
        document grade``; a measure with ``[groups]`` is the mean over the groups of a query.
    judges
        Judgments of the same queries by several people or models, ``{judge: qrels}``; the score of a query is the mean
        over them.
    spans, cover
        Passages of documents, ``{query: [(document, start, end), ...]}`` with a grade as the fourth value or without,
        or a table with the columns query, document, start, end and grade; quotes from ``documents`` may stand for
        offsets. Runs are then of chunks, in the same forms, with scores. The passages are the subtopics of a query, and
        a chunk that covers one is relevant: at least the share ``cover`` of the passage lies inside it.
    queries
        What is known of queries: ``{query: text}``, ``{query: {attribute: value}}``, or a table with a column for the
        query (CSV, TSV, JSON Lines, Parquet, a frame), or TREC topics. Texts are shown beside the ids of queries; by
        attributes, scores are grouped, averaged and compared.
    documents
        The documents, for measures of document text: a `Corpus`, a corpus file, a collection of documents or
        ``{document: text}``.
    items
        Attributes of documents, for `DocMean` and `exposure`: ``{document: {attribute: value}}``, or a table with a
        column for the document; these are then all documents that could be shown. Items need no judgments.
    intents, types
        Weights of subtopics, ``{query: {subtopic: weight}}`` or a table; by default, all subtopics with a relevant
        document have equal weights. Types of intents, ``{query: {subtopic: "inf" or "nav"}}`` or a table; the default
        is informational. A table of intents may have them in a fourth column.
    costs
        The cost of reading a document, for measures such as `TBG`: ``{query: {document: cost}}`` or a table. A document
        without a cost has the parameter ``cost`` of the measure. These tables are files with names of columns (CSV,
        TSV, JSON Lines, Parquet), frames, records, or lines of text without names, such as ``query document cost``.
    strata, inclusion, method
        How the judged documents were drawn from a pool, for measures such as `xinfAP` and `statAP`: the stratum of each
        document, the probability that it was drawn, and statAP's code of the method, each as ``{query: {document:
        value}}``. Five-column files have them already.
    predicted
        Judgments that a judge such as an LLM predicts for these and for other queries. Scores then have ``predicted``:
        means by humans, by predictions, and by both together, with intervals.
    inference
        Whether these intervals are for new queries of this kind (``loo``), or for this query set only (``fixed``).
    rel
        The lowest grade that counts as relevant, for every binary measure that does not name its own.
    nil
        A document id that stands for "no answer". It is relevant, with full gain, if no document is relevant; in
        terminal measures it ends the ranking.
    full_length
        The length limit of the systems; a ranking of this length gets no terminal document.
    negative
        The meaning of negative grades.
    map_documents
        The source document of each retrieved chunk: ``{chunk: document}``, a function of the id, a table with the
        columns ``chunk`` and ``document``, or a file with lines of the two. The best chunk of a document counts. With
        ``spans``, it names the documents that chunks are of.
    allow_disjoint
        Whether runs without any judged document are scored even if their ids look different.
    complete
        Whether the judgments are complete: a document without a judgment is not relevant, and a query of ``queries``
        without judgments has no relevant document.
    absent_days
        What happens if a run of lists of lists, as of Change Detection, does not mention a day of ``queries``: an
        error, an empty list, or all known questions tied.
    name
        The name in messages.

    Examples
    --------
    >>> import cranfield as cf
    >>> collection = cf.Collection({"q": {"a": 1}}, nil="NIL")
    >>> float(cf.evaluate(collection, {"q": ["a", "NIL"]}, "RR[terminal]"))
    1.0
    """

    @checked_keywords
    def __init__(
        self,
        qrels: Annotated[Any, "Judgments: grades of documents."] = None,
        *,
        prefs: Annotated[Any, "Judgments: preferences between documents."] = None,
        groups: Annotated[Any, "Judgments: grades by groups of assessors."] = None,
        judges: Mapping[str, Any] | None = None,
        spans: Annotated[Any, "Judgments: passages, in columns query, document, start, end."] = None,
        cover: Annotated[
            float, Limits(0, 1, "(]"), "With spans: the share of a passage that a chunk must cover."
        ] = 0.5,
        queries: Annotated[Any, "Texts and attributes of queries: a table, or TREC topics."] = None,
        documents: Annotated[Any, "Document text: a collection, or a file written by `cranfield corpus`."] = None,
        items: Annotated[Any, "Attributes of documents: a table with a column for the document."] = None,
        intents: Annotated[Any, "Weights of subtopics, in lines `query subtopic weight [inf|nav]`."] = None,
        types: Mapping[str, Mapping[str, str]] | None = None,
        costs: Annotated[Any, "Costs of documents, in lines `query document cost`."] = None,
        strata: Any = None,
        inclusion: Any = None,
        method: Any = None,
        predicted: Annotated[Any, "Predicted judgments, such as those of an LLM, for these and other queries."] = None,
        inference: Annotated[
            Inference, "With predicted: intervals for new queries of this kind (loo), or for this query set (fixed)."
        ] = "loo",
        rel: Annotated[Positive, "Lowest relevant grade, for binary measures that do not name their own."] = 1.0,
        nil: Annotated[str | None, 'Document id that stands for "no answer".'] = None,
        full_length: Annotated[
            Depth | None,
            "Length limit of the systems: the end of a list of N documents does not count as an answer.",
        ] = None,
        negative: Annotated[Negative, "Treat negative grades as unjudged or as not relevant."] = "unjudged",
        map_documents: Annotated[Any, "Source documents of retrieved chunks, in lines `chunk document`."] = None,
        allow_disjoint: Annotated[
            bool, "Score runs without any judged document even if their ids look different from those judged."
        ] = False,
        complete: Annotated[
            bool,
            "The judgments are complete: documents without a judgment are not relevant, and queries without judgments "
            "have no relevant document.",
        ] = False,
        absent_days: Annotated[
            AbsentDays,
            "For runs of Change Detection: what to do if a run does not mention a day of queries: report an error, or "
            "take it as an empty list or as all known questions tied.",
        ] = "error",
        name: str | None = None,
    ) -> None:
        given = {
            key: value for key, value in locals().items() if key != "self" and value is not None and value is not False
        }
        check_rankings(qrels, "an evaluation")
        check_all(Collection, given)
        _check_combinations(given)
        self.given: Mapping[str, Any] = given
        self.qrels, self.prefs, self.groups, self.documents = qrels, prefs, groups, documents
        self.spans, self.cover, self.judges = spans, cover, judges
        self.intents, self.types, self.inference, self.name = intents, types, inference, name
        self.rel, self.nil, self.full_length = rel, nil, full_length
        self.negative, self.complete = negative, complete
        self._sample = {key: given.get(key) for key in SAMPLE} if given.keys() & set(SAMPLE) else None
        self._costs, self._predicted, self._queries, self._items = costs, predicted, queries, items
        self.map_documents, self.allow_disjoint, self.absent_days = map_documents, allow_disjoint, absent_days

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Collection:
        """The collection of a TOML file, whose keys are the keywords of `Collection`.

        Paths in it are relative to it. An error lists all faults of the file, each with its line.

        >>> import cranfield as cf
        >>> cf.Collection.read("collection.toml")  # doctest: +SKIP
        """
        from cranfield.evaluation.collection_file import read_collection

        return read_collection(path)

    @classmethod
    def of(cls, qrels: Any) -> Collection:
        """A collection, or that of a ``.toml`` file; of judgments alone nothing else is known."""
        if isinstance(qrels, Collection):
            return qrels
        return cls.read(qrels) if isinstance(qrels, (str, os.PathLike)) and is_collection_file(qrels) else cls(qrels)

    def changed(self, **parts: Any) -> Collection:
        """The collection with other parts."""
        return Collection(**{**self.given, **parts})

    @property
    def has_judgments(self) -> bool:
        """Whether judgments of some kind are given."""
        return not self.given.keys().isdisjoint(JUDGED)

    @property
    def chosen(self) -> list[str]:
        """The parts that are given, and not as they are by default."""
        simple = {name: value for name, value in self.given.items() if isinstance(value, (str, float))}
        return [name for name in self.given if name not in simple or simple[name] != DEFAULTS[name]]

    @property
    def of_each_judge(self) -> list[Collection]:
        """The collection with the judgments of each judge; itself, if there are not several."""
        of_judge = (self.judges or {}).values()
        return [self.changed(judges=None, qrels=qrels) for qrels in of_judge] or [self]

    @property
    def files(self) -> list[str]:
        """The files that it is read from."""
        from cranfield.evaluation.provenance import FILES

        parts = [*(self.given.get(name) for name in (*JUDGED, *FILES)), *(self.judges or {}).values()]
        return [os.fsdecode(part) for part in parts if isinstance(part, (str, os.PathLike))]

    def __repr__(self) -> str:
        return f"Collection: {self.judgments!r}"

    def policy(self, **options: Any) -> Policy:
        """The policy of an evaluation on this collection, with the options of `evaluate`."""
        own = {name: getattr(self, name) for name in ("rel", "negative", "nil", "full_length", "complete")}
        check_options(options, [name for name in POLICY if name not in own])
        return Policy(**options | ({} if self.is_judged else {"queries": "run"}), **own)

    @property
    def is_judged(self) -> bool:
        """Whether there are judgments; items alone have none."""
        return "items" not in self.given or bool(self.given.keys() & set(JUDGED))

    @cached_property
    def layers(self) -> list[Judgments]:
        """The judgments of the first group of each query, the second one, ...; without groups, a single layer."""
        if self.judges is not None:
            raise UsageError("a collection with several judges has no single set of judgments", hint=OF_JUDGES)
        if self.spans is not None:
            from cranfield.io.spans import read_spans
            from cranfield.ranking.spans import PassageJudgments

            return [PassageJudgments.of(*read_spans(self.spans, name=self.name, texts=self.texts), self.cover)]
        if not self.is_judged:
            return [Judgments.none("no judgments")]
        if self.prefs is None and self.groups is None:
            return [io.read_qrels(self.qrels, name=self.name)]
        from cranfield.io.side_tables import read_groups, read_preferences

        return read_groups(self.groups) if self.prefs is None else [read_preferences(self.prefs)]

    @property
    def read_chunks(self) -> Callable[..., Run] | None:
        """The reader of runs of chunks, where passages are judged; None where documents are."""
        if self.spans is None:
            return None
        from cranfield.io.spans import read_chunks

        return partial(read_chunks, texts=self.texts)

    @property
    def corpus(self) -> Any:
        """The documents, for measures of their text; None where they are only there to find passages in."""
        return self.documents if self.spans is None else None

    @cached_property
    def texts(self) -> Texts | None:
        """The texts of documents, in which judged passages and chunks must be; None if they are not known."""
        from cranfield.io.spans import Texts
        from cranfield.io.streams import is_stream

        if self.documents is None or isinstance(self.documents, Mapping) or is_stream(self.documents):
            return None if self.documents is None else Texts(self.documents)
        raise UsageError(f"judged passages need the texts of documents, not {type(self.documents).__name__}")

    @cached_property
    def _judged(self) -> tuple[Judgments, list[Note]]:
        judgments = self.layers[0]
        notes: list[Note] = []
        if self.complete:
            judgments = with_queries(judgments, self.queries)
        if not len(judgments.queries) and self.is_judged:
            raise InputError([f"{judgments.name}: no judgments"])
        if self._sample is not None:
            from cranfield.io.tables import with_sample

            judgments = with_sample(judgments, **self._sample)
        if self.intents is not None:
            judgments, notes = with_intents(judgments, self.intents)
        if self.types is not None:
            judgments = with_types(judgments, self.types)
        return judgments, notes

    @property
    def judgments(self) -> Judgments:
        """The judgments, with weights and types of their subtopics, and how they were drawn."""
        return self._judged[0]

    @property
    def notes(self) -> list[Note]:
        """Notes on weights of subtopics that are missing or not used."""
        return self._judged[1]

    @cached_property
    def costs(self) -> Mapping[str, Mapping[str, float]] | None:
        """The cost of each document; None if no costs are given."""
        if self._costs is None:
            return None
        from cranfield.io.side_tables import read_costs

        costs = read_costs(self._costs)
        queries = list(self.judgments.queries)
        if costs and not costs.keys() & set(queries):
            message = f"costs: none of the queries is judged (first query: `{quotable(next(iter(costs)))}`)"
            raise InputError([message], hint=f"the judgments cover queries such as `{queries[0]}`")
        return costs

    @cached_property
    def _document_of(self) -> DocumentMap:
        from cranfield.io.side_tables import read_document_map

        return read_document_map(self.map_documents)

    @cached_property
    def items(self) -> Items | None:
        """The documents with their attributes; None if there is no table of them."""
        if self._items is None:
            return None
        from cranfield.io.named_tables import read_items

        return read_items(self._items)

    def prepared(self, run: Run) -> Run:
        """The run with source documents in place of chunks, and with all days of lists of lists."""
        if isinstance(run.source, DailyRankings) and self.queries:
            from cranfield.evaluation.days import fill_days

            run = fill_days(run, self.queries, self.judgments, self.absent_days)
        if self.map_documents is None:
            return run
        from cranfield.evaluation.overlap import map_documents

        return map_documents(run, self._document_of)

    @cached_property
    def queries(self) -> Mapping[str, Mapping[str, str]]:
        """The attributes of each query; empty if no table of queries is given."""
        if self._queries is None:
            return {}
        from cranfield.io.named_tables import read_queries

        return read_queries(self._queries)

    def describe(self, scores: Scores, plan: Plan, runs: Iterable[Run]) -> Scores:
        """The scores of runs, with the attributes of queries, and what they were computed from."""
        from cranfield.evaluation.provenance import Provenance

        scores = scores._with_attributes(self.queries) if self.queries else scores
        return replace(scores, provenance=Provenance.of_runs(plan.columns, plan.policy, self, runs))

    @cached_property
    def predicted(self) -> Judgments | None:
        """The predicted judgments; None if there are none."""
        return None if self._predicted is None else io.read_qrels(self._predicted)


def is_collection_file(path: str | os.PathLike[str]) -> bool:
    """Whether a path is that of a collection in TOML, and not of judgments."""
    return os.fsdecode(path).endswith(".toml")


def is_several(qrels: Any, run: Any) -> bool:
    """Whether these are several collections by name, and not the judgments of one.

    Of dicts, the runs say so: ``{collection: {query: {document: grade}}}`` alone could be judgments of subtopics.
    """
    if not isinstance(qrels, Mapping) or not qrels:
        return False
    kinds = Collection, Judgments, os.PathLike
    if all(
        isinstance(source, kinds) or (isinstance(source, str) and os.path.exists(source)) for source in qrels.values()
    ):
        return True
    runs = run.values() if isinstance(run, Mapping) else ()
    firsts = [of.runs[0] if isinstance(of, Repeats) and of.runs else of for of in runs]
    if not firsts or not all(isinstance(of, Mapping) and not of.keys().isdisjoint(qrels.keys()) for of in firsts):
        return False
    return all(isinstance(source, kinds) or _by_query(source) for of in (qrels, *firsts) for source in of.values())


def _by_query(source: Any) -> bool:
    """Whether this is a run or judgments: a path, a frame, repeats, or a dict with a dict or list for each query."""
    if not isinstance(source, Mapping):
        return isinstance(source, (str, os.PathLike, Run, Repeats)) or is_frame(source)
    return all(isinstance(of, (Mapping, list, tuple, set, frozenset)) for of in source.values())


def _check_combinations(given: Mapping[str, Any]) -> None:
    """Raise if parts of a collection exclude each other."""
    if len(given.keys() & set(JUDGED)) > 1:
        raise UsageError(
            f"{one_of(JUDGED, 'and')} exclude each other",
            hint="give one of them by its name, as in Collection(prefs=...)",
        )
    if "judges" in given and (not isinstance(given["judges"], Mapping) or len(given["judges"]) < 2):
        raise UsageError("judges are {name: qrels}, at least two", hint="give the judgments of one judge as qrels")
    if "qrels" not in given and given.keys() & set(SAMPLE):
        raise UsageError("strata, inclusion and method need qrels")
    if given.keys().isdisjoint(JUDGED) and (lone := [name for name in ABOUT_JUDGMENTS if name in given]):
        raise UsageError(f"{one_of(lone, 'and')} without judgments", hint=f"give {one_of(JUDGED)}, too")
    for name, others in EXCLUSIVE:
        if name in given and given.keys() & set(others):
            raise UsageError(f"{name} cannot be combined with {one_of(others)}")


POLICY = tuple(field.name for field in fields(Policy))
DEFAULTS = {name: part.default for name, part in signature(Collection).parameters.items()}
PARTS = tuple(DEFAULTS)


def split_options(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options that describe the collection, and those of the evaluation."""
    parts = {name: value for name, value in options.items() if name in PARTS and name != "queries"}
    return parts, {name: value for name, value in options.items() if name not in parts}


# Weights and types of intents, for judgments by subtopic.
#
# The weight of a subtopic is proportional to the share of readers who want it. Weights need not sum to 1: measures
# divide by the sum over the subtopics with a relevant document; D-Q and DIN-Q, whose gains have a scale, by the sum
# over all. Readers with an informational intent (``inf``, the default) can use every relevant document; readers with a
# navigational intent (``nav``) need a single document.


def with_intents(judgments: Judgments, source: Any) -> tuple[Judgments, list[Note]]:
    """The judgments with weights for their subtopics, and notes on queries and subtopics without weights."""
    from cranfield.io.side_tables import read_weights

    name, weights = read_weights(source)
    labels, queries, subtopics, codes = _subtopics(judgments, "weights")
    judged_pairs, relevant_pairs = (
        set(map(tuple, np.unique(rows, axis=0).tolist())) for rows in (codes, codes[labels.grade > 0])
    )

    judged = [weight for weight in weights if weight.query in queries]
    pairs = [(queries[w.query], subtopics.get(w.subtopic, -1)) for w in judged]
    weight_of = {pair: w for pair, w in zip(pairs, judged, strict=True) if pair in judged_pairs}
    unjudged = [w for pair, w in zip(pairs, judged, strict=True) if pair not in judged_pairs]
    faults = []
    if unjudged and not weight_of:  # the subtopics of another collection, or other names of them
        faults = [
            f"{w.location}: no document is judged for subtopic `{quotable(w.subtopic)}` of query `{quotable(w.query)}`"
            for w in unjudged
        ]
    weighted_queries = {query for query, _ in pairs}
    all_zero = weighted_queries - {queries[w.query] for w in judged if w.value > 0}
    firsts = {queries[w.query]: w.location for w in reversed(judged)}
    faults += [f"{firsts[q]}: all weights of query `{judgments.queries[q]}` are 0" for q in sorted(all_zero)]
    if faults:
        example = next(iter(sorted(weighted_queries)), 0)
        names = [labels.names[s] for q, s in sorted(judged_pairs) if q == example]
        raise InputError(faults, hint=f"query `{judgments.queries[example]}` has subtopics {few(names)}")
    if weights and not judged:
        raise InputError(
            [f"{name}: none of its queries is judged (for example `{quotable(weights[0].query)}`)"],
            hint=f"the judgments cover queries such as `{judgments.queries[0]}`; "
            "check that both belong to the same collection",
        )
    # Subtopics without judgments keep their share of the readers, though no document is relevant for them.
    weighted = [*weight_of.items(), *(((queries[w.query], -1), w) for w in unjudged)]
    rows = np.array([pair for pair, _ in weighted], np.int64).reshape(-1, 2)
    intents = Intents(rows[:, 0], rows[:, 1], np.array([w.value for _, w in weighted], np.float64))

    def notes() -> Iterator[Note]:
        unweighted = [judgments.queries[q] for q in range(len(judgments.queries)) if q not in weighted_queries]
        if unweighted:
            names = QueryNames(len(unweighted), tuple(unweighted[:5]))
            yield Note("unweighted_queries", values={"name": name, "queries": names})
        other = list(dict.fromkeys(w.query for w in weights if w.query not in queries))
        if other:
            yield Note("unjudged_weights", values={"name": name, "queries": QueryNames(len(other), tuple(other[:5]))})
        if unjudged:
            unused = tuple(f"{w.subtopic} of {w.query}" for w in unjudged)
            yield Note("unjudged_subtopics", values={"name": name, "subtopics": unused})
        positive = {pair for pair, w in weight_of.items() if w.value > 0}
        missing = [pair for pair in sorted(relevant_pairs) if pair[0] in weighted_queries and pair not in positive]
        if missing:
            subtopics = tuple(f"{labels.names[s]} of {judgments.queries[q]}" for q, s in missing)
            yield Note("unweighted_subtopics", values={"name": name, "subtopics": subtopics})

    navigational = [pair for pair, w in weight_of.items() if w.type == "nav"]
    return replace(judgments, intents=intents, navigational=_navigational(navigational)), list(notes())


def _subtopics(judgments: Judgments, what: str) -> tuple[Labels, dict[str, int], dict[str, int], Integers]:
    """The labels, the numbers of queries and of subtopics by name, and both numbers of each label."""
    labels = judgments.labels
    if labels is None:
        raise InputError(
            [f"{judgments.name}: {what} of intents need judgments by subtopic"],
            hint="the subtopic is the second column of a qrels file, or column `subtopic` of a table",
        )
    of_query = np.searchsorted(judgments.begin, labels.document, side="right") - 1
    queries, subtopics = ({name: i for i, name in enumerate(names)} for names in (judgments.queries, labels.names))
    return labels, queries, subtopics, np.stack([of_query, labels.subtopic], axis=1)


def with_types(judgments: Judgments, source: Any) -> Judgments:
    """The judgments with types of intents from ``{query: {subtopic: "inf" or "nav"}}``; other types stay unchanged."""
    from cranfield.io.side_tables import read_types

    types = read_types(source)
    _, queries, subtopics, codes = _subtopics(judgments, "types")
    judged_pairs = set(map(tuple, codes.tolist()))
    of_judged = {(queries[q], subtopics.get(s, -1)): (q, s, kind) for (q, s), kind in types.items() if q in queries}
    given = {pair: kind for pair, (_, _, kind) in of_judged.items() if pair in judged_pairs}
    if types and not of_judged:
        raise InputError([f"types: none of its queries is judged (for example `{quotable(next(iter(types))[0])}`)"])
    if of_judged and not given:
        raise InputError(
            [
                f"types: no document is judged for subtopic `{quotable(s)}` of query `{quotable(q)}`"
                for q, s, _ in of_judged.values()
            ]
        )
    before = judgments.navigational
    old = set() if before is None else set(zip(before.query.tolist(), before.subtopic.tolist(), strict=True))
    new = {pair for pair, kind in given.items() if kind == "nav"}
    return replace(judgments, navigational=_navigational(sorted((old - given.keys()) | new)))


def _navigational(pairs: Sequence[tuple[int, int]]) -> Navigational | None:
    rows = np.array(pairs, np.int64).reshape(-1, 2)
    return Navigational(rows[:, 0], rows[:, 1]) if len(rows) else None
