"""``cranfield queries``, ``explain`` and ``audit``: scores by query, what one is made of, and how far to trust them."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

import click

from cranfield.analysis.audit import DEFAULT_MEASURES
from cranfield.analysis.per_query import Order
from cranfield.cli import options, results
from cranfield.cli.commands import Argument, Option, verb
from cranfield.cli.output import colour, emit, note, progress, run_notes, width


class Queries(options.OwnMeasures, options.Elsewhere, options.Evaluating, results.Results):
    """Show the scores of RUNs query by query: the largest differences, the hardest queries, or the most disagreement.

    With two runs and --query, show which documents the second run gained, lost and moved.

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
            evaluation, _ = self.read([self.measure or "nDCG@10"], page=0 if query is None else page)
            scores = evaluation.scores
        texts = scores.texts
        if query is not None:
            ranks = per_query.documents(evaluation, query, page, self.ties)
            result: Any = {"query": query, "runs": list(scores.runs), "documents": [rank._asdict() for rank in ranks]}
            pages = [report.documents(ranks, (scores.runs[0], scores.runs[1]), query, page, texts.get(query, ""))]
            draw = None
        else:
            by_query = per_query.queries(scores, 0, self.order)
            result = by_query.to_dict()
            pages = [report.queries(by_query, self.digits, most=self.top, bars=self.format == "table", texts=texts)]
            draw = partial(report.figures, by_query)
            notes = [*input_notes(scores.notes), *report.notes(by_query)]
            if notes:
                result["notes"] = notes
        if texts:
            result["texts"] = texts
        self.deliver(pages, result, draw)


class Explain(
    options.OwnMeasures,
    options.ReadingRuns,
    options.Ordering,
    options.DocumentText,
    results.Results,
):
    """Explain how each document of RUN, judged or not, contributes to the score of one query.

    Shows what each document adds to the score, the subtopic whose coverage it changes most, and the words that
    cause this.

    \b
    cranfield explain qrels.txt bm25.run --corpus corpus.parquet --query q1
    cranfield explain qrels.txt bm25.run -m ABSRB@10 --corpus corpus.parquet \\
      --query q1 --figures figures
    """

    qrels: Annotated[options.File, Argument()]
    ranking: Annotated[options.File, Argument("RUN")]
    measure: Annotated[options.MeasureText, "ABSNB, ABSRB, DELTANB or DELTARB.", Option("-m --measure")] = "DELTARB@20"
    query: Annotated[
        options.Id | None, "The query to explain; may be left out if there is only one.", Option(metavar="ID")
    ] = None
    words: Annotated[int, click.IntRange(min=0), "How many words of each document to show."] = 3
    queries_file: options.QueriesFile = None

    def run(self) -> None:
        from cranfield import Collection, explain, read_run
        from cranfield.io.named_tables import read_query_texts
        from cranfield.report.explanation import figures as draw
        from cranfield.report.explanation import pages

        collection = Collection(self.qrels, documents=self.corpus)
        chosen = self.values_of(options.Ordering)
        explanation = explain(
            collection, read_run(self.ranking, duplicates=self.duplicates), self.measure, query=self.query, **chosen
        )
        known = {} if self.queries_file is None else read_query_texts(self.queries_file, [explanation.query])
        text = known.get(explanation.query, "")
        self.deliver(
            pages(explanation, self.digits, self.words, text),
            explanation.to_dict() | ({"text": text} if text else {}),
            partial(draw, explanation),
        )


class Audit(options.Measures, options.Evaluating, options.Predictions, results.Results, options.Verbose):
    """Show how ties, unjudged documents, short lists and the choice of queries affect scores.

    Prints the pairs of runs that could swap, and why; then a table for each RUN. Of more than five runs, it shows those
    that matter; -v shows all.

    \b
    cranfield audit qrels.txt bm25.run dense.run -m "AP nDCG@10"
    cranfield audit qrels.txt *.run --figures figures
    """

    DEFAULT = DEFAULT_MEASURES

    interval: Annotated[
        Literal["t", "bca"], "95% confidence intervals of the means: Student's t or bootstrap (bca)."
    ] = "t"
    all_pairs: Annotated[bool, "Name every pair of runs that could swap, not only a few."] = False
    format: Annotated[Literal["table", "markdown", "json"], "Output format. json has full precision and all pairs."] = (
        "table"
    )

    def run(self) -> None:
        from cranfield.analysis.audit import audit_evaluation
        from cranfield.report import audit as report
        from cranfield.report import predicted as prediction

        evaluation, notes = self.read(self.measures)
        with progress("Auditing runs") as step:
            audit = audit_evaluation(evaluation, interval=self.interval, progress=step)
        predicted = self.predicted_means(evaluation)
        text = report.write(
            audit,
            self.format,
            all_pairs=self.all_pairs,
            all_runs=self.verbose,
            digits=self.digits,
            width=width(),
            colour=colour(self.output),
            predicted=predicted,
        )
        emit(text, self.output)
        results.save_figures(partial(report.figures, audit), self.figures)
        if self.format != "json":
            note([*notes, *run_notes(audit.notes, verbose=self.verbose), *prediction.notes(predicted)])


queries = verb(Queries, "Show per-query scores and where runs differ.")
explain = verb(Explain, "Explain a score that uses document text.")
audit = verb(Audit, "Show how ties, unjudged documents and short lists affect scores.")
