"""``cranfield queries``, ``explain``, ``audit`` and ``exposure``: what is behind scores, and what runs show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from cranfield.analysis.per_query import Order
from cranfield.cli import options
from cranfield.cli.commands import Argument, Option, OutputFile, verb
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
    width,
)
from cranfield.report.pages import write
from cranfield.settings import Whole
from cranfield.wording import plural

if TYPE_CHECKING:
    from cranfield.analysis.explain import Explanation

MOST_LOST = 3  # queries whose first pages are shown


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
        from cranfield.errors import UsageError
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
        from cranfield.errors import UsageError
        from cranfield.io.named_tables import TEXT
        from cranfield.io.spans import read_chunks
        from cranfield.report.explanation import drawings, pages

        if self.texts is not None and self.page is None:
            raise UsageError("--texts needs --page")
        collection = self.collection_of(self.qrels)
        passages = collection.spans is not None
        measure = self.measure or ("nDCG@10" if collection.documents is None or passages else "DELTARB@20")
        chosen = self.values_of(options.Ordering)
        run = (read_chunks if passages else read_run)(self.ranking, duplicates=self.duplicates)
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
        from cranfield.cli.report import query_texts_beside
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


queries = verb(QueriesVerb, "Show per-query scores and where runs differ.")
explain = verb(ExplainVerb, "Explain a score, rank by rank.")
audit = verb(AuditVerb, "Show how ties, unjudged documents and short lists affect scores.")
exposure = verb(ExposureVerb, "Show coverage, concentration and shares of what is shown.")
