"""``cranfield check``, ``convert`` and ``corpus``: all errors in input files, other formats, and words of documents."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import click
import numpy as np

from cranfield import io
from cranfield.cli import options
from cranfield.cli.commands import Argument, Option, OptionGroup, verb
from cranfield.cli.output import colour, emit, note, note_remarks, progress, say, width
from cranfield.corpus.corpus import DEPTH
from cranfield.corpus.models import Split
from cranfield.data import Run
from cranfield.errors import CranfieldError, InputError, UsageError, listing_faults, optional
from cranfield.evaluation.collection import JUDGED, Collection, is_collection_file
from cranfield.evaluation.days import check_days
from cranfield.evaluation.evaluator import check_argument_order
from cranfield.evaluation.notes import percent, scores_against_ranks
from cranfield.evaluation.overlap import RISING, check_identity, check_query_overlap, find_disjoint
from cranfield.evaluation.run_notes import judged_documents
from cranfield.io.columns import Duplicates
from cranfield.io.named_tables import kind_of
from cranfield.io.toml_file import TomlFile
from cranfield.ranking.alignment import Aligner, Alignment
from cranfield.report.pages import FORMATS, write
from cranfield.settings import Choices
from cranfield.wording import plural, printable

if TYPE_CHECKING:
    from cranfield.corpus import Corpus

SHOWN = 5  # queries that a warning names
TOP = 10  # depth for the share of unjudged documents
MANY = 5  # runs with warnings of one kind, of which all are listed
LARGEST = 3  # runs that are listed of more


class CheckVerb(options.JudgmentsAndRuns, options.CollectionFacts, options.Output):
    """Report all errors in QRELS and RUNs, with file and line, and warnings.

    Warnings are about queries that only one file has, tied scores, scores that contradict ranks, unjudged documents,
    and queries without relevant documents. If there are errors, the exit code is 1. --stats prints how many documents
    per query are judged and relevant, and the lengths, ties and unjudged documents of each run. For an experiment or a
    collection (FILE.toml), all that it reads is checked.

    \b
    cranfield check qrels.txt bm25.run dense.run
    cranfield check qrels.txt bm25.run --stats
    cranfield check cranfield.toml
    """

    runs: Annotated[tuple[options.File, ...], Argument("[RUN]...", options.check_files)] = ()
    top: Annotated[options.Count | None, "List only the first N errors of each file."] = None
    stats: Annotated[bool, "Print statistics of judgments and runs; warnings go to standard error."] = False
    format: Annotated[str, Choices(FORMATS), "Output format. For --stats."] = "table"

    def run(self) -> None:
        is_toml = is_collection_file(self.qrels)
        if not self.runs and not is_toml:
            raise UsageError("check needs judgments and runs, or an experiment", hint="cranfield check QRELS RUN...")
        with listing_faults(self.top):
            if is_toml and not self.runs and not _has_judgments(self.qrels):
                reports = check_experiment(self.qrels)
            else:
                reports = self._check_collection()
        text = "".join(f"{line}\n" for line in lines_of(reports))
        if self.stats:
            click.echo(text.encode("utf-8", "surrogateescape"), err=True, nl=False)
        else:
            emit(text, self.output)
        errors = sum(report.error.total for report in reports if report.error)
        warnings = sum(len(report.warnings) for report in reports)
        say(f"{plural(len(reports), 'file')}: {plural(errors, 'error')}, {plural(warnings, 'warning')}")
        if errors:
            click.get_current_context().exit(1)
        if self.stats:
            from cranfield.analysis.collection_statistics import collection_statistics
            from cranfield.evaluation.evaluator import read_runs
            from cranfield.report.collection import pages

            runs = read_runs(list(self.runs), duplicates=self.duplicates)
            statistics = collection_statistics(self.collection_of(self.qrels), runs)
            text = write(
                pages(statistics), statistics.to_dict(), self.format, width=width(), colour=colour(self.output)
            )
            emit(text, self.output)

    def _check_collection(self) -> list[FileReport]:
        try:
            collection = self.collection_of(self.qrels)
        except InputError as error:
            return [FileReport(self.qrels, error)]
        if self.stats and collection.spans is not None:
            raise UsageError("--stats counts documents, and cannot be used with judged passages")
        reports = Reports([FileReport(self.qrels)] if is_collection_file(self.qrels) else [])
        reports.add_collection(collection, self.runs, self.duplicates)
        return reports


def _has_judgments(path: str) -> bool:
    """Whether a TOML file is a collection, and not an experiment."""
    with suppress(InputError):
        return not TomlFile(path).content.keys().isdisjoint(JUDGED)
    return False


class RunWarning(NamedTuple):
    """A warning that many runs may have. ``share``: of what, as ``of_many`` says of several with their shares."""

    text: str
    share: float
    of_many: str

    def __str__(self) -> str:
        return self.text


class FileReport(NamedTuple):
    """The errors and warnings of one file."""

    path: str
    error: InputError | None = None
    warnings: Sequence[str | RunWarning] = ()

    def lines(self, folded: Container[str] = ()) -> Iterator[str]:
        """Errors as they are; warnings and hints after the name of the file. ``folded``: warnings to leave out."""
        if self.error:
            yield from self.error.message.splitlines()
        remarks = [f"hint: {self.error.hint}"] if self.error and self.error.hint else []
        shown = [w for w in self.warnings if not isinstance(w, RunWarning) or w.of_many not in folded]
        for remark in (*remarks, *(f"warning: {warning}" for warning in shown)):
            yield printable(f"{self.path}: {remark}")


def lines_of(reports: Sequence[FileReport]) -> Iterator[str]:
    """The errors and warnings of all files; of warnings that many runs have, those that stand out, and a count."""
    shares: dict[str, list[float]] = {}
    for report in reports:
        for warning in report.warnings:
            if isinstance(warning, RunWarning):
                shares.setdefault(warning.of_many, []).append(warning.share)
    most = {kind: sorted(of_runs)[-LARGEST - 1] for kind, of_runs in shares.items() if len(of_runs) > MANY}
    for report in reports:
        folded = {
            w.of_many for w in report.warnings if isinstance(w, RunWarning) and w.share <= most.get(w.of_many, -1)
        }
        yield from report.lines(folded)
    for kind, limit in most.items():
        rest = [share for share in shares[kind] if share <= limit]
        ends = list(dict.fromkeys(percent(end) for end in (min(rest), max(rest))))
        more = "more " if len(rest) < len(shares[kind]) else ""
        yield f"{len(rest)} {more}runs: warning: {' to '.join(ends)} of {kind}"


class Reports(list[FileReport]):
    """Reports on files: errors in one do not hide those of the next."""

    def add(self, name: str, read: Callable[[], object]) -> bool:
        """Add a report on a file that is read here; whether it is right."""
        try:
            read()
        except CranfieldError as error:
            all_faults = error if isinstance(error, InputError) else InputError([error.message], hint=error.hint)
            self[:] = [report for report in self if report != FileReport(name)]
            self.append(FileReport(name, all_faults))
            return False
        if not any(report.path == name for report in self):
            self.append(FileReport(name))
        return True

    def add_collection(self, collection: Collection, runs: Sequence[str], duplicates: Duplicates) -> bool:
        """Add reports on runs and on everything that a collection is read from; whether its queries are right."""
        given = collection.given
        tables = not given.get("queries") or self.add(str(given["queries"]), partial(getattr, collection, "queries"))
        if not tables:
            collection = collection.changed(queries=None)
        by_judge = collection.of_each_judge
        for judged in by_judge:
            if judged.has_judgments:
                self += check_files(judged, runs, duplicates)
        wrong = {report.path for report in self if report.error}
        if collection.intents and collection.qrels not in wrong and by_judge == [collection]:
            self.add(str(collection.intents), partial(getattr, collection, "judgments"))
        for part in ("costs", "predicted"):
            if given.get(part):
                self.add(str(given[part]), partial(getattr, collection, part))
        return tables


def check_experiment(path: str) -> list[FileReport]:
    """A report on the file of an experiment, and on every file that it reads."""
    from cranfield.analysis.compare import saved_baseline
    from cranfield.evaluation.elsewhere import read_scores
    from cranfield.experiment.experiment import Experiment
    from cranfield.experiment.history import History
    from cranfield.experiment.running import Running
    from cranfield.io.documents import read_texts

    try:
        experiment = Experiment.open(path)
    except InputError as error:
        return [FileReport(path, error)]
    reports = Reports()
    reports.add(path, experiment.file.raise_faults)
    inputs, tables = experiment.inputs, True
    duplicates: Duplicates = (experiment.policy or {}).get("duplicates") or "error"
    for name, collection in inputs.collections.items():
        runs = [file for of_run in inputs.runs.values() for file in of_run.get(name, ()) if file]
        tables = reports.add_collection(collection, runs, duplicates) and tables
    for file in dict.fromkeys(file for of in inputs.scores.values() for files in of.values() for file in files if file):
        reports.add(file, partial(read_scores, file))
    for file in filter(None, inputs.texts):
        reports.add(file, partial(read_texts, [file], {""}))
    baseline, history = inputs.baseline or "", experiment.output("history", "file")
    if baseline not in inputs.runs and not experiment.file.is_faulty(("baseline",)):
        reports.add(baseline.partition("#")[0] or path, partial(saved_baseline, baseline, inputs.runs))
    if history is not None and Path(history).is_file() and not experiment.file.is_faulty(("history",)):
        reports.add(history, partial(History.before, history))
    if tables and not experiment.file.is_faulty(("design",)):
        reports.add(path, Running(experiment).check_attributes)
    return reports


def check_files(collection: Collection, runs: Sequence[str], duplicates: Duplicates = "error") -> list[FileReport]:
    """A report on every file: errors in one do not hide those of the next."""
    aligner = None
    qrels = str(collection.qrels or collection.prefs or collection.groups or collection.spans)
    try:
        judgments = collection.judgments if collection.complete else collection.layers[0]
        aligner = Aligner(judgments, complete=collection.complete)
        reports = [FileReport(qrels, warnings=[*judgment_warnings(aligner, collection.rel)])]
    except InputError as error:
        reports = [FileReport(qrels, error)]
    opened: list[Run] = []
    for path in runs:
        reports += _check_run_file(path, aligner, opened, collection, duplicates)
    if aligner is not None and not any(report.error for report in reports):
        check_argument_order(aligner.judgments, opened)
    return reports


def _check_run_file(
    path: str, aligner: Aligner | None, opened: list[Run], collection: Collection, duplicates: Duplicates
) -> Iterator[FileReport]:
    """A report on a file, or on each of its runs, which are added to ``opened``."""
    try:
        chunks = collection.read_chunks
        runs = [chunks(path, duplicates=duplicates)] if chunks else io.read_runs(path, duplicates=duplicates)
    except InputError as error:
        yield FileReport(path, error)
        return
    opened += runs
    for run in runs:
        name = path if len(runs) == 1 else run.source_name
        try:
            if aligner is None:
                yield FileReport(name, io.check_run(run))
                continue
            warnings: list[str | RunWarning] = [*run.remarks, *check_days(run, collection.queries, aligner.judgments)]
            run = collection.prepared(run)
            judged = aligner.judgments
            check_identity(judged, run)
            warnings += [RISING] if run.rising else []
            if (of_run := judged.of_runs([run])) is not judged:
                aligner = Aligner(of_run, complete=collection.complete)
            alignment = aligner.align(run, by_id=False)
            check_query_overlap(run, alignment)
            warnings += run_warnings(alignment)
            if disjoint := find_disjoint(run, alignment, collection.documents):
                if disjoint.reason and not collection.allow_disjoint:
                    raise disjoint.error(run)
                warnings.insert(0, str(disjoint))
            yield FileReport(name, warnings=warnings)
        except InputError as error:
            yield FileReport(name, error)


def judgment_warnings(aligner: Aligner, rel: float) -> Iterator[str]:
    """Warnings about judgments that are well formed."""
    judgments, complete = aligner.judgments, aligner.judged.complete
    begin, grade = judgments.begin, judgments.grade
    without = [q for q, (a, b) in enumerate(pairwise(begin)) if not (grade[a:b] >= rel).any()]
    if without and not complete:
        total, names = plural(len(judgments.queries), "query"), first_of([judgments.queries[q] for q in without])
        yield f"{len(without):,} of {total} without relevant documents (grade {rel:g} or higher): {names}"
    if negative := int((grade < 0).sum()):
        treated = "not relevant" if complete else "unjudged"
        yield f"{plural(negative, 'judgment')} with a negative grade, treated as {treated}"
    if judgments.repeated:
        yield f"{plural(judgments.repeated, 'judgment')} given more than once"


def run_warnings(alignment: Alignment) -> Iterator[str | RunWarning]:
    """Warnings about a run and its judgments."""
    queries, length = alignment.aligner.judgments.queries, alignment.length
    missing = np.flatnonzero(length < 0).tolist()
    if missing:
        text = f"{len(missing):,} of {len(length):,} judged queries are not in the run"
        names = first_of([queries[q] for q in missing])
        yield RunWarning(f"{text}: {names}", len(missing) / len(length), "the judged queries are not in the run")
    if other := list(alignment.other):
        text = f"{plural(len(other), 'query')} without judgments: {first_of(other)}"
        yield RunWarning(text, len(other) / (len(other) + len(length) - len(missing)), "the queries have no judgments")
    if queries_against := alignment.ranks_contradict:
        yield scores_against_ranks(queries_against)
    query, _, _, size, *_ = alignment.positions
    tied = size > 1
    if tied.any():
        affected = plural(len(np.unique(query[tied])), "query")
        text = f"{int(tied.sum()):,} of {len(tied):,} judged documents have tied scores, in {affected}"
        yield RunWarning(text, float(tied.mean()), "the judged documents have tied scores")
    share = judged_documents(alignment, [TOP])[0].unjudged
    if share > 0:
        of_many = f"the top {TOP} documents are unjudged"
        yield RunWarning(f"{percent(share)} of {of_many}", share, of_many)


def first_of(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


class ConvertVerb(options.ReadingRuns):
    """Convert IN, a run or judgments in any format, to OUT.

    The name of OUT selects the format: .json, .jsonl, .csv, .tsv or .parquet, and TREC text for any other name. A
    further .gz, .bz2, .xz or .zst compresses it.

    \b
    cranfield convert bm25.run bm25.parquet
    cranfield convert qrels.csv.gz qrels.txt --kind qrels
    cranfield convert rag.run -o cut.run --min-score 0.65
    """

    source: Annotated[options.File, Argument("IN")]
    target: Annotated[options.OutputPath | None, Argument("OUT")] = None
    output: Annotated[options.OutputPath | None, "The same as OUT.", Option("-o --output")] = None
    min_score: Annotated[
        float | None,
        "Keep only the documents of a run that score at least this; documents with equal scores stay together, and "
        "lists can become empty.",
    ] = None
    kind: Annotated[Literal["run", "qrels"] | None, "What IN holds.", Option(default="detected from its content")] = (
        None
    )

    def run(self) -> None:
        target = self.target or self.output
        if target is None or (self.target and self.output):
            raise UsageError("convert needs one file to write", hint="cranfield convert IN OUT")
        kind = self.kind or ("run" if self.min_score is not None else detect_kind(self.source, self.duplicates))
        if kind == "run":
            converted = io.read_run(self.source, duplicates=self.duplicates)
            note_remarks([converted])
            io.write_run(converted if self.min_score is None else cut(converted, self.min_score), target)
        elif self.min_score is not None:
            raise UsageError("--min-score is for runs")
        else:
            io.write_qrels(io.read_qrels(self.source), target)


def cut(run: Run, threshold: float) -> Run:
    """The run without documents that score less; a note counts the lists that this leaves empty."""
    table = io.load(run)
    kept = table.take(np.flatnonzero(table.score >= threshold))
    if not len(kept.score):
        highest = float(table.score.max())
        raise InputError([f"{run.name}: no document scores {threshold:g} or more; the highest score is {highest:g}"])
    if emptied := len(set(table.query)) - len(set(kept.query)):
        note([f"{plural(emptied, 'query')} without a document: not in the new run, which counts as no answer"])
    return replace(run, source=kept)


def detect_kind(source: str, duplicates: Duplicates = "error") -> str:
    """Whether a file holds a run or judgments; an error if it could be both."""
    hint = "use --kind run or --kind qrels"
    if source == "-":
        raise UsageError("cannot detect whether standard input holds a run or judgments", hint=hint)
    if (kind := kind_of(source)) is not None:
        return kind
    run, qrels = io.check_run(source, duplicates=duplicates), io.check_qrels(source)
    if run is not None and qrels is not None:
        # Neither: report whichever has fewer errors.
        raise min(run, qrels, key=lambda error: error.total)
    if run is None and qrels is None:
        raise UsageError(f"{source}: this could be a run or judgments", hint=hint)
    return "run" if run is None else "qrels"


class WordCounts(OptionGroup):
    """What is counted in which documents, and which counts are kept."""

    sources: Annotated[tuple[options.File, ...], Argument("SOURCE...")]
    qrels: Annotated[options.File | None, "Keep the words of the documents that these judgments name."] = None
    runs: Annotated[
        tuple[options.File, ...], "Keep the words of the top documents of this run; may be repeated.", Option("--run")
    ] = ()
    depth: Annotated[options.Count, "How many documents per query to keep from each run."] = DEPTH
    stemmer: Annotated[str, "Stemmer: none, porter, english, german, ...", Option(metavar="NAME")] = "none"
    stop: Annotated[
        str, "Stop words to leave out: none, english, or a file with one word per line.", Option(metavar="LIST")
    ] = "none"
    keep_case: Annotated[bool, "Distinguish upper and lower case, as in `US` and `us`."] = False
    split: Annotated[
        Split, "What a word is: a sequence of letters and digits (word), or anything between spaces (space)."
    ] = "word"
    id: Annotated[
        str | None, "Field with the document id.", Option(metavar="FIELD", default="detected from the names")
    ] = None
    text: Annotated[
        tuple[str, ...], "Field with text; may be repeated.", Option(metavar="FIELD", default="detected")
    ] = ()
    output: Annotated[options.OutputPath | None, "Write the corpus to this Parquet file.", Option("-o --output")] = None
    format: Annotated[str, Choices(FORMATS), "Output format."] = "table"

    def build(self, **how: Any) -> Corpus:
        """The corpus; ``how``: the depth of runs, how words are counted, and the fields of documents."""
        raise NotImplementedError

    def run(self) -> None:
        from cranfield.corpus.models import Settings as WordSettings
        from cranfield.corpus.models import stop_words
        from cranfield.report import collection as report
        from cranfield.report import pages

        if self.output is not None:
            optional("pyarrow", "writing a corpus", "arrow")  # fail before the work, not after it
        words = WordSettings(self.split, not self.keep_case, stop_words(self.stop), self.stemmer)
        corpus = self.build(depth=self.depth, settings=words, id=self.id, text=self.text)
        if self.output is not None:
            corpus.save(self.output)
        emit(pages.write([report.page(corpus)], report.summary(corpus), self.format, width=width(), colour=colour()))
        if self.format != "json":
            note(report.corpus_notes(corpus))


class CorpusVerb(WordCounts):
    """Count the words of a collection, and keep the word counts of judged and retrieved documents.

    SOURCE is a file (JSON Lines, tab-separated, TREC <DOC> or Parquet, compressed or not), a folder of such files or
    of text files, `-`, or irds:DATASET. Several sources form one collection.

    \b
    cranfield corpus documents.jsonl.gz --qrels qrels.txt --run bm25.run \\
      -o corpus.parquet
    cranfield corpus ambient --qrels ambient --stemmer porter --stop english
    """

    def build(self, **how: Any) -> Corpus:
        from cranfield.corpus.corpus import build

        judgments = None if self.qrels is None else Collection.of(self.qrels).judgments
        with progress("Counting words", in_bytes=True) as step:
            return build(*self.sources, qrels=judgments, runs=self.runs, progress=step, **how)


check = verb(CheckVerb, "Report all errors in the input files.")
convert = verb(ConvertVerb, "Convert runs and judgments between formats.")
corpus = verb(CorpusVerb, "Count words, for measures that use document text.")
