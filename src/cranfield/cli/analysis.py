"""``cranfield queries``, ``explain``, ``audit``, ``exposure`` and ``report``: what is behind scores, what runs show."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cranfield.analysis.per_query import Order
from cranfield.cli import options
from cranfield.cli.commands import Argument, Option, OptionGroup, OutputFile, groups_of, verb
from cranfield.cli.compare import CompareVerb, ScoresToCompare
from cranfield.cli.output import (
    colour,
    emit,
    for_file,
    note,
    note_remarks,
    progress,
    replace,
    run_notes,
    save_figures,
    say,
    say_written,
    width,
)
from cranfield.codec import now
from cranfield.errors import CranfieldError, UsageError
from cranfield.io.register import REPORT_MARK, is_foreign
from cranfield.io.streams import digesting
from cranfield.parallel import in_background
from cranfield.report.pages import write
from cranfield.settings import Limits, Whole
from cranfield.wording import plural, shortened

if TYPE_CHECKING:
    from cranfield.analysis.compare import Comparison
    from cranfield.analysis.explain import Explanation
    from cranfield.analysis.significance import ComparisonSettings
    from cranfield.evaluation.evaluation import Evaluation
    from cranfield.evaluation.run_scores import Progress
    from cranfield.evaluation.scores import Scores

MOST_LOST = 3  # queries whose first pages are shown
REPORT = "report.html"
# Options that are in every command anyhow, or say where the report goes and what is in it.
OWN = ("qrels", "runs", "scores", "measures", "baseline", "output", "quiet", "figures", "top_documents")
QUERY_FILE = re.compile(r"queries\.(jsonl?|csv|tsv|parquet)(\.(gz|zst|bz2|xz))?")
FAR = ("..", "..")  # the beginning of the path of a file that is more than one folder up


class QueriesVerb(options.OwnMeasures, options.Elsewhere, options.Evaluating, options.Results):
    """Show the scores of RUNs query by query: the largest differences, the hardest queries, or the most disagreement.

    For two runs, the difference is the second minus the first, and the queries on which the second lost most are shown
    with the first documents of both, side by side; --query shows those of another query.

    \b
    cranfield queries qrels.txt bm25.run dense.run -m nDCG@10 --top 10
    cranfield queries qrels.txt *.run --order disagreement
    cranfield queries qrels.txt bm25.run dense.run --query q3 --top-documents 20
    cranfield queries --scores judge.csv -m faithfulness
    """

    measure: Annotated[
        options.MeasureText | None,
        "The measure to show.",
        Option("-m --measure", default="nDCG@10; the first one of --scores"),
    ] = None
    order: Annotated[
        Order | None, "How to sort queries.", Option(default="difference for two runs, otherwise hardest")
    ] = None
    top: Annotated[options.Count | None, "Show only the first N queries."] = None
    query: Annotated[
        options.Id | None, "Compare the top documents of two runs for this query.", Option(metavar="ID")
    ] = None
    top_documents: Annotated[options.Count, "With --query: how many top documents to compare."] = 10

    def run(self) -> None:
        from cranfield.analysis import per_query
        from cranfield.evaluation.notes import input_notes
        from cranfield.report import per_query as report

        self.check_inputs()
        query, page = self.query, self.top_documents
        if query is not None and self.scores:
            raise UsageError("--query shows documents, and scores from elsewhere have no rankings")
        if query is not None and len(self.runs) != 2:
            raise UsageError(f"--query compares two runs, not {len(self.runs)}")
        if query is not None and self.figures is not None:
            raise UsageError("--query and --figures cannot be combined")
        if self.scores:
            scores = self.outside_scores(None if self.measure is None else [self.measure])
        else:
            plan = self.choose([self.measure or "nDCG@10"]).plan
            evaluation = self.read(plan, page=page if len(self.runs) == 2 else 0)
            scores = evaluation.scores
        texts = scores._texts
        if query is not None:
            ranks = per_query.documents(evaluation, query, page, self.ties)
            result: Any = {"query": query, "runs": list(scores.runs), "documents": [rank._asdict() for rank in ranks]}
            pages = [report.first_pages(ranks, (scores.runs[0], scores.runs[1]), query, page, texts.get(query, ""))]
            draw = None
        else:
            by_query = per_query.queries(scores, 0, self.order)
            result = by_query.to_dict()
            bars = not texts and self.format == "table"
            pages = [report.queries(by_query, self.digits, most=self.top, bars=bars, texts=texts)]
            draw = report.drawings(by_query)
            if len(scores.runs) == 2 and not self.scores and not scores.repeats:
                result["lost"] = {}
                for name in by_query.lost(MOST_LOST):
                    ranks = per_query.documents(evaluation, name, page, self.ties)
                    pages.append(report.lost_page(by_query, name, ranks, page, self.digits, texts))
                    result["lost"][name] = [rank._asdict() for rank in ranks]
            notes = [*input_notes(scores.notes), *report.notes(by_query)]
            if notes:
                result["notes"] = notes
        if texts:
            result["texts"] = texts
        self.deliver(pages, result, draw)


class ExplainVerb(
    options.OwnMeasures,
    options.ReadingRuns,
    options.Ordering,
    options.CollectionFacts,
    options.Results,
):
    """Explain the score of one query: what each document of RUN adds to it, rank by rank.

    Shows grade, gain and weight of each document, what it adds to the score, and the ideal ranking beside it. For a
    measure of document text it shows the subtopic whose coverage a document changes most, and the words that cause
    this.

    \b
    cranfield explain qrels.txt bm25.run -m nDCG@10 --query q1
    cranfield explain qrels.txt bm25.run -m "AP[ties=expected]" --query q1
    cranfield explain qrels.txt bm25.run -m nDCG@10 --query q1 \\
      --page lesson.html --texts documents.jsonl
    cranfield explain qrels.txt bm25.run -m ABSRB@10 --corpus corpus.parquet \\
      --query q1 --figures figures
    """

    qrels: Annotated[options.File, Argument()]
    ranking: Annotated[options.File, Argument("RUN")]
    measure: Annotated[
        options.MeasureText | None,
        "The measure to explain.",
        Option("-m --measure", default="nDCG@10; with --corpus, DELTARB@20"),
    ] = None
    query: Annotated[
        options.Id | None, "The query to explain; may be left out if there is only one.", Option(metavar="ID")
    ] = None
    top: Annotated[options.Count, "How many ranks to show; the others are added up."] = 20
    words: Annotated[Whole, "How many words of each document to show."] = 3
    page: Annotated[
        str | None,
        OutputFile(dir_okay=False),
        "Write a page for a class: move documents, change grades, break ties, and see the score change.",
    ] = None
    texts: Annotated[options.File | None, "With --page: the texts of documents."] = None

    def run(self) -> None:
        from cranfield import explain, read_run
        from cranfield.io.named_tables import TEXT
        from cranfield.report.explanation import drawings, pages

        if self.texts is not None and self.page is None:
            raise UsageError("--texts needs --page")
        collection = self.collection_of(self.qrels)
        measure = self.measure or ("nDCG@10" if collection.corpus is None else "DELTARB@20")
        chosen = self.values_of(options.Ordering)
        run = (collection.read_chunks or read_run)(self.ranking, duplicates=self.duplicates)
        note_remarks([run])
        explanation = explain(collection, run, measure, query=self.query, **chosen)
        text = collection.queries.get(explanation.query, {}).get(TEXT, "")
        self.deliver(
            pages(explanation, self.digits, self.words, text, self.top),
            explanation.to_dict() | ({"text": text} if text else {}),
            drawings(explanation),
        )
        if self.page is not None:
            self._write_page(explanation, text, self.page)

    def _write_page(self, explanation: Explanation, text: str, path: str) -> None:
        from cranfield.analysis.explain import END
        from cranfield.io.documents import read_texts
        from cranfield.report.explanation import lesson

        if not text:
            beside, notes = query_texts_beside(self.qrels, [explanation.query])
            text = beside.get(explanation.query, "")
            note(notes if text else [])
        documents = {step.document for step in explanation.steps} | {name for _, name in explanation.removed}
        texts = read_texts([self.texts], documents) if self.texts is not None else {}
        replace(path, lesson(explanation, text, texts).encode("utf-8", "surrogateescape"))
        say(f"{path}: {plural(len(documents - {END}), 'document')}")


class AuditVerb(options.Measures, options.Evaluating, options.Results, options.Verbose):
    """Show how ties, unjudged documents, short lists and the choice of queries affect scores.

    Prints the bottom line first, with what to do about it; then the pairs of runs that could swap, and why; then a
    table for each RUN. Of many pairs and runs, it shows those that matter; -v shows all.

    \b
    cranfield audit qrels.txt bm25.run dense.run -m "AP nDCG@10"
    cranfield audit qrels.txt *.run --figures figures
    """

    interval: Annotated[
        Literal["t", "bca"], "95% confidence intervals of the means: Student's t or bootstrap (bca)."
    ] = "t"

    def run(self) -> None:
        from cranfield.analysis.audit import audit_evaluation
        from cranfield.report import audit as report
        from cranfield.report.scores import predicted_notes

        chosen = self.choose(self.measures)
        evaluation = self.read(chosen.plan)
        with progress("Auditing runs") as step:
            audit = audit_evaluation(evaluation, interval=self.interval, plausible=True, progress=step)
        predicted = evaluation.scores.predicted
        text = report.write(
            audit,
            self.format,
            all_pairs=self.verbose,
            all_runs=self.verbose,
            digits=self.digits,
            width=width(),
            colour=colour(self.output),
            predicted=predicted,
            inputs={"": self.qrels, **dict(zip(audit.runs, self.runs, strict=False))},
        )
        emit(text, self.output)
        save_figures(report.drawings(audit), self.figures)
        if self.format != "json":
            note([*chosen.notes, *run_notes(audit.notes, verbose=self.verbose), *predicted_notes(predicted)])


class ExposureVerb(options.ReadingRuns, options.Pages):
    """Show what RUNs show: how much of the catalogue, how evenly, and which groups of documents.

    No judgments are needed. A document is shown if it is among the first N; in a tie, with its probability over all
    orders. Without --items, the catalogue is all documents that any RUN shows. The means of attributes, such as price
    or popularity, are the measure DocMean of `cranfield eval` and `compare`.

    \b
    cranfield exposure popular.run neural.run -k 20
    cranfield exposure popular.run neural.run --items items.csv --by genre
    """

    runs: Annotated[tuple[options.File, ...], Argument("RUN...", options.check_files)]
    k: Annotated[options.Count, "How many documents of each list are shown.", Option("-k --top")] = 10
    items: Annotated[
        options.File | None,
        "Attributes of documents: a table (CSV, TSV, JSON Lines or Parquet) with a column for the document, and all "
        "documents that could be shown.",
    ] = None
    by: Annotated[
        str | None, "Show the share of each group of documents with this attribute.", Option(metavar="ATTRIBUTE")
    ] = None
    baseline: Annotated[
        str | None, "The run from which differences of shares are taken.", Option(metavar="RUN", default="the first")
    ] = None

    def run(self) -> None:
        from cranfield.analysis.exposure import exposure
        from cranfield.report.exposure import notes, pages

        runs, names, _ = options.named_runs(self.runs)
        shown = exposure(
            runs, self.k, self.items, self.by, baseline=self.baseline, names=names, duplicates=self.duplicates
        )
        result = {**shown.to_dict(), "notes": notes(shown)}
        text = write(pages(shown, self.digits), result, self.format, width=width(), colour=colour(self.output))
        emit(for_file(text, self.format, self.output), self.output)
        if self.format != "json":
            note(result["notes"])


class ReportVerb(options.Measures, options.Quiet, options.Drawing, ScoresToCompare):
    """Write an HTML report on RUNs: scores, significance, per-query differences, rankings, curves and an audit.

    The report is one file that needs no network, so it can be sent and archived. It ends with the commands that
    reproduce its numbers. If QRELS has judgments by subtopic, the default is a set of diversity measures. A report on
    scores from elsewhere, on nested means or on repeats has no rankings, curves and audit. With --baseline, every run
    is tested against it, and the report opens on it and the best run; without it, all pairs are tested.

    \b
    cranfield report qrels.txt *.run -o report.html --title "Museum search" \\
      --baseline bm25.run
    cranfield report qrels.txt bm25.run dense.run -m "nDCG@10 RR" \\
      --texts documents.jsonl
    cranfield report --scores judge.csv --lower latency \\
      --queries-file queries.csv --by segment
    """

    DEFAULT = ("AP", "nDCG@10", "RR", "P@10")  # quick to audit: bounds over the whole ranking take long

    output: Annotated[
        str | None, OutputFile(dir_okay=False), "Write the report to this file.", Option("-o --output", default=REPORT)
    ] = None
    title: Annotated[str, "Title of the report.", Option(metavar="TEXT")] = "Evaluation"
    top_documents: Annotated[int, Limits(1, 1000), "How many top documents of each ranking to include."] = 20
    texts: Annotated[
        tuple[options.File, ...],
        "Include document text from this collection (any input of `cranfield corpus`); may be repeated.",
        Option(metavar="SOURCE"),
    ] = ()

    def run(self) -> None:
        from cranfield.analysis.compare import BEST, check_baseline, comparable
        from cranfield.report.html import contents, html, opened, require

        require()
        self.check_inputs()
        if self.scores and self.texts:
            raise UsageError("--texts needs rankings, and --scores has none")
        other_kinds = set() if self.scores else self.test_collection.given.keys() & {"prefs", "groups"}
        if other_kinds:
            raise UsageError(
                f"a report needs judgments by grade or of passages, not {other_kinds.pop()}",
                hint="eval, compare, audit and queries take them",
            )
        output = self.output or REPORT
        if self.output is None and is_foreign(output, REPORT_MARK):
            raise UsageError(
                f"{output}: the file exists and is not a Cranfield report",
                hint="give another name, or this one, with -o FILE",
            )
        with digesting():
            source = self.source(self.measures, page=self.top_documents)
            scores = self.averaged(source.scores)
        evaluation, notes = source.evaluation, list(source.notes)
        scores, settings = self.with_baseline(scores, source)
        if settings.baseline not in (None, BEST):
            check_baseline(scores.runs, settings.baseline)
        comparison = None
        columns = comparable(scores)
        if len(scores.runs) > 1 and columns:
            with progress("Comparing runs") as step:
                comparison = _compared(scores.only(measures=columns), settings, evaluation, step)
        folder = Path(output).absolute().parent
        own = () if evaluation is None else evaluation.runs  # a saved baseline is not among them
        opening = [run for run in (scores.runs[r] for r in opened(scores, settings.baseline)) if run in own]
        against = settings.baseline if source.saved is None else self.baseline
        lines = self.commands(scores, evaluation, against, [own.index(run) for run in reversed(opening)])
        commands = [f"cranfield {beside(line, folder)}" for line in lines]
        # Documents in which passages are judged are there to be shown.
        documents = None if self.scores or self.test_collection.spans is None else self.test_collection.documents
        texts = self.texts or ([] if documents is None else [documents])
        with progress("Building the report") as step:
            data = contents(
                scores,
                settings,
                comparison,
                evaluation,
                texts=texts,
                group_by=self.by,
                date=now()[:10],
                commands=commands,
                progress=step,
            )
        if self.texts and not data["texts"]:
            note([f"{', '.join(self.texts)}: no text for any of the shown documents"])
        if not data["queryTexts"] and evaluation is not None:
            data["queryTexts"], notes_on_texts = query_texts_beside(self.qrels, scores.queries)
            notes += notes_on_texts
        data["notes"] = [*notes, *data["notes"]]
        data["files"] = beside(self.inputs, folder)
        text = html(data, self.title)
        emit(text, output)
        say_written(f"{output} written ({len(text) / 1e6:.1f} MB)")
        if self.figures is not None:
            from cranfield.report.scores import drawings

            ranked = None if data["curves"] is None else evaluation
            save_figures(drawings(scores, ranked, self.seed), self.figures)

    @property
    def inputs(self) -> list[str]:
        """Judgments and runs, or files of scores, as they were given."""
        return [*self.scores, *([self.qrels] if self.qrels else []), *map(_word, self.runs)]

    def commands(
        self, scores: Scores, evaluation: Evaluation | None, baseline: str | None, opening: Sequence[int]
    ) -> list[list[str]]:
        """The commands that show the numbers of the report, each with the options that it shares with this one.

        ``opening``: the runs that the report opens on, by number, the old one first.
        """
        from cranfield.cli.eval import EvalVerb

        measures = list(scores.measures) if evaluation is None else [column.label for column in evaluation.columns]
        files = ["--scores", *self.inputs] if self.scores else self.inputs
        asked = (self.measures or []) if self.scores else measures
        ranked = evaluation is not None and not scores.repeats and not self.average

        def line(verb: str, record: type[OptionGroup], files: list[str], asked: list[str], *more: str) -> list[str]:
            shared = [name for name in groups_of(record) if name in groups_of(ReportVerb) and name not in OWN]
            measuring = ["-m", " ".join(asked)] if asked else []
            return [verb, *files, *measuring, *self.typed(*shared), *more]

        lines = [] if self.scores else [line("eval", EvalVerb, files, asked, "--interval", "bca")]
        if len(scores.runs) > 1:
            against = [] if baseline is None else ["--baseline", baseline]
            lines += [line("compare", CompareVerb, files, asked, *against, "--table", "pairs")]
        if self.scores and not self.average:
            lines += [line("queries", QueriesVerb, files, measures[:1])]
        if ranked and len(self.runs) > 1:
            paths = list(dict.fromkeys(options.named_runs(self.runs)[2]))
            two = [self.qrels, *(_word(paths[r]) for r in opening)]
            lines += [line("queries", QueriesVerb, two, measures[:1])]
        if ranked:
            lines += [line("audit", AuditVerb, files, asked, "--interval", "bca", "--verbose")]
        return lines


queries = verb(QueriesVerb, "Show per-query scores and where runs differ.")
explain = verb(ExplainVerb, "Explain a score, rank by rank.")
audit = verb(AuditVerb, "Show how ties, unjudged documents and short lists affect scores.")
exposure = verb(ExposureVerb, "Show coverage, concentration and shares of what is shown.")
report = verb(ReportVerb, "Write an HTML report.")


def query_texts_beside(qrels: str, queries: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The texts of queries from the only file ``queries.*`` beside the judgments, and a note that says so."""
    from cranfield.io.named_tables import read_query_texts

    files = [
        file for file in Path(qrels).parent.glob("queries.*") if file.is_file() and QUERY_FILE.fullmatch(file.name)
    ]
    if len(files) != 1:
        return {}, []
    try:
        texts = read_query_texts(str(files[0]), queries)
    except CranfieldError as error:
        return {}, [f"{files[0]}: not used for the texts of queries: {str(error).splitlines()[0]}"]
    shown = {name: shortened(text) for name, text in texts.items() if text}
    return shown, [f"the texts of queries are those of {files[0].name}"] if shown else []


def _compared(
    scores: Scores, settings: ComparisonSettings, evaluation: Evaluation | None, step: Progress | None
) -> Comparison:
    """The comparison; the audit that the report shows is computed beside the tests, and has what doubts need."""
    from cranfield.analysis.audit import audit_evaluation
    from cranfield.analysis.compare import compare_scores, with_doubts
    from cranfield.report.html import has_rankings

    if evaluation is None or not has_rankings(scores, evaluation):
        return compare_scores(scores, settings, evaluation, step)
    pending = in_background(partial(compare_scores, scores, settings))
    audit_evaluation(evaluation, plausible=True, progress=step)
    return with_doubts(pending, scores, evaluation)


def beside(words: Sequence[str], folder: Path) -> str:
    """Words of a command for a reader of a report in this folder: files relative to it, or by name if they are far.

    A report is sent to others, whom the folders of the sender do not concern.
    """
    return shlex.join([_near(word, folder) for word in words])


def _near(word: str, folder: Path) -> str:
    name, sign, path = ("", "", word) if _exists(word) else word.rpartition("=")
    if not path or not _exists(path):
        return word
    near = Path(os.path.relpath(path, folder))
    return f"{name}{sign}{near.name if near.parts[:2] == FAR else near}"


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # too long for a name of a file
        return False


def _word(path: str) -> str:
    """The path of a run as it was given: with its name, if it has one."""
    return f"{path.run_name}={path}" if isinstance(path, options.RunPath) else path
