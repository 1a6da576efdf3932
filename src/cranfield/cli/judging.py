"""``cranfield judge``, ``judges``, ``sample`` and ``depth-for``: what to judge, how deep, and how good judges are."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from cranfield.cli import options
from cranfield.cli.commands import Argument, Option, OutputFile, verb
from cranfield.cli.output import colour, emit, note, note_remarks, replace, say, width
from cranfield.errors import UsageError
from cranfield.report.pages import FORMATS, table, write
from cranfield.settings import Choices
from cranfield.wording import plural

if TYPE_CHECKING:
    from cranfield.data import Run
    from cranfield.evaluation.collection import Collection
    from cranfield.judging.proposals import NextDocuments

QUERIES = 50  # of a collection whose size is not given


class JudgeVerb(options.OwnMeasures, options.JudgmentsAndRuns, options.QueryTexts, options.Pages):
    """List the unjudged documents whose judgments would decide most between RUNs, and which pairs are decided.

    --page writes a page on which to judge these documents, without a network. The page is blind: it shows neither runs
    nor ranks. If QRELS is a collection file (FILE.toml), its predicted judgments say how likely documents are relevant,
    and its queries are shown. --merge adds the judgments that were saved on the page, and shows how far assessors agree
    and how the leaderboard changes.

    \b
    cranfield judge qrels.txt *.run -m P@10 --top 50
    cranfield judge qrels.txt *.run --page judge.html --texts docs.jsonl
    cranfield judge qrels.txt *.run --merge ann.json --merge bob.json \\
      --settle median -o merged.csv
    """

    measure: Annotated[
        options.MeasureText,
        "The measure by which runs are compared: AP, nDCG, or one that is linear in the gains.",
        Option("-m --measure"),
    ] = "P@10"
    top: Annotated[options.Count, "Number of documents."] = 50
    strategy: Annotated[
        Literal["mtc", "depth", "mtf", "maxmean", "hedge", "drawn"],
        "Which documents come first: those that settle most pairs of runs (mtc), the best ranks (depth), "
        "move-to-front (mtf), a bandit (maxmean), weighted votes of runs (hedge), or the documents of `cranfield "
        "sample` that are to be judged (drawn).",
    ] = "mtc"
    confidence: Annotated[
        options.Share,
        "Stop judging a pair of runs once its sign is this certain; 1: once no judgment can reverse it.",
    ] = 0.95
    depth: Annotated[options.Count, "Last rank of each run that counts."] = 100
    ties: Annotated[Literal["trec", "trec9", "input", "rank"] | None, "How to order equal scores."] = None
    page: Annotated[str | None, OutputFile(dir_okay=False), "Write a page on which to judge them."] = None
    texts: Annotated[str | None, click.Path(), "With --page: the texts of documents."] = None
    grades: Annotated[
        str | None,
        "With --page: the grades.",
        Option(metavar="LIST", default="those of --guidelines, or 0 1 2 3"),
    ] = None
    guidelines: Annotated[
        options.File | None,
        "With --page: a text file for assessors; a line such as `2 Relevant: answers most of it` labels a grade.",
    ] = None
    blind: Annotated[
        bool,
        "With --page: hide which pair of runs each document can change, and predicted grades.",
        Option("--blind/--no-blind"),
    ] = True
    merged: Annotated[
        tuple[options.File, ...],
        "Add these new judgments to QRELS and write all of them to --output; may be repeated.",
        Option("--merge"),
    ] = ()
    settle: Annotated[
        Literal["error", "median", "lowest", "highest"],
        "With --merge: the grade to keep if judgments of a document differ; the median of two is the lower one.",
    ] = "error"
    format: Annotated[str, Choices(FORMATS), "Output format. json has all pairs."] = "table"

    def run(self) -> None:
        from cranfield.evaluation.collection import Collection
        from cranfield.evaluation.evaluator import read_runs

        runs = read_runs(list(self.runs), duplicates=self.duplicates)
        note_remarks(runs)
        collection = Collection.of(self.qrels)
        if self.merged:
            self._merge(collection, runs)
            return
        from cranfield.judging.proposals import next_documents

        of_page = {"--texts": self.texts, "--queries-file": self.queries_file, "--guidelines": self.guidelines}
        given = [option for option, value in of_page.items() if value]
        if self.page is None and given:
            raise UsageError(f"{given[0]} needs --page")
        settings = {name: getattr(self, name) for name in ("top", "strategy", "confidence", "depth", "ties")}
        proposals = next_documents(collection, runs, self.measure, **settings)
        pages = proposals.pages(self.digits)
        emit(write(pages, proposals.to_dict(), self.format, width=width(), colour=colour(self.output)), self.output)
        note(proposals.notes)
        if self.page is not None:
            self._write_page(collection, proposals, self.page)

    def _write_page(self, collection: Collection, proposals: NextDocuments, path: str) -> None:
        from cranfield.judging.judgment_files import judging_page

        html = judging_page(
            proposals.documents,
            name=self.qrels,
            texts=self.texts,
            queries=self.queries_file or collection.given.get("queries"),
            grades=None if self.grades is None else self.grades.split(),
            guidelines=self.guidelines,
            suggestions=collection.predicted,
            blind=self.blind,
        )
        replace(path, html.encode("utf-8", "surrogateescape"))
        say(f"{path}: {len(proposals.documents)} documents to judge")

    def _merge(self, collection: Collection, runs: list[Run]) -> None:
        """Merge judgments, write them, and show what changed."""
        from cranfield import evaluate
        from cranfield.codec import plain
        from cranfield.judging.judgment_files import agreement_page, changes, merge, merged_note

        if self.output is None:
            raise UsageError(
                "--merge needs --output: the file for all judgments", hint="for example: --merge new.json -o merged.csv"
            )
        result = merge(collection.qrels, self.merged, settle=self.settle)
        before = evaluate(collection, runs, self.measure)
        after = evaluate(collection.changed(qrels=result.judgments), runs, self.measure)
        result.write(self.output)
        pages, data = changes(before, after, self.digits)
        if result.agreement:
            pages.append(agreement_page(result.agreement, self.digits))
            data["agreement"] = plain([pair._asdict() for pair in result.agreement])
        emit(write(pages, data, self.format, width=width(), colour=colour(None)))
        note([merged_note(len(result.new), result.repeated, self.output)])


class JudgesVerb(options.Measures, options.ReadingRuns, options.UndefinedValues, options.Level, options.Results):
    """Compare PREDICTED judgments with the human judgments in QRELS, and the order of RUNs under both.

    Shows the confusion of grades, kappa with its interval, the correlation of both leaderboards, also among the best
    runs only, and the bias of the judge for each run. With --own it tests whether the judge favours a family of runs.
    Files of six columns, and tables with scores or ranks, are runs; all others are predictions.

    \b
    cranfield judges qrels.txt llm.qrels *.run
    cranfield judges qrels.txt gpt.qrels *.run --own "gpt*" --figures figs
    """

    DEFAULT = ("nDCG@10", "AP")

    qrels: Annotated[options.File, Argument()]
    files: Annotated[tuple[options.File, ...], Argument("PREDICTED... [RUN...]")]
    own: Annotated[
        tuple[str, ...],
        "A run built with the judge's model or tuned on its labels, or a pattern such as `gpt*`; may be repeated.",
        Option(metavar="NAME"),
    ] = ()

    def run(self) -> None:
        from cranfield.evaluation.collection import Collection
        from cranfield.evaluation.evaluator import read_runs
        from cranfield.io.named_tables import kind_of
        from cranfield.judging.judge_reports import judges
        from cranfield.report.canvas import save_all

        predicted = [file for file in self.files if kind_of(file) != "run"]
        runs = [file for file in self.files if file not in predicted]
        if not predicted:
            raise UsageError("no predicted judgments given: all files after QRELS are runs")
        measures = self.measures or list(self.DEFAULT)
        opened = read_runs(runs, duplicates=self.duplicates) if runs else None
        note_remarks(opened or ())
        collection = Collection.of(self.qrels)
        collection = collection if self.rel is None else collection.changed(rel=self.rel)
        reports = judges(collection, predicted, opened, measures, own=self.own, undefined=self.undefined)
        notes = [text for report in reports for text in report.notes]
        data = {"judges": [report.to_dict() for report in reports], "notes": notes}
        pages = [page for report in reports for page in report.pages(self.digits)]
        drawings = {name: draw for report in reports for name, draw in report.drawings().items()}
        self.deliver(pages, data, partial(save_all, drawings) if runs else None)


class SampleVerb(options.ReadingRuns, options.Seed, options.Output):
    """Draw a stratified sample of the documents of RUNs, and write the file to judge.

    The grade of a document that was not drawn is -1, that of a drawn document without a judgment is -2. Once all of
    these are judged, xinfAP, infnDCG, statAP and P@10[sampled] estimate scores from the file.

    \b
    cranfield sample *.run --strata "10:1 100:0.2" -o sample.qrels
    cranfield judge sample.qrels *.run --strategy drawn --page judge.html
    cranfield eval sample.qrels bm25.run -m "xinfAP P@10[sampled]"
    """

    runs: Annotated[tuple[options.File, ...], Argument("RUN...")]
    strata: Annotated[
        str,
        "Strata by the best rank of a document over all runs, as DEPTH:SHARE: the share of each to draw.",
        Option(metavar="TEXT"),
    ] = "5:1 20:0.5 100:0.1"
    qrels: Annotated[options.File | None, "Judgments so far; drawn documents keep their grade."] = None
    format: Annotated[
        Literal["trec", "csv"],
        "Five columns of TREC (query, 0, document, stratum, grade), or CSV with a column `probability`.",
    ] = "trec"

    def run(self) -> None:
        from cranfield.evaluation.collection import Collection
        from cranfield.evaluation.evaluator import read_runs
        from cranfield.evaluation.predicted import mapping_of
        from cranfield.judging import judgment_files
        from cranfield.ranking.alignment import ranked_lists

        strata = judgment_files.parse_strata(self.strata)
        grades = None if self.qrels is None else mapping_of(Collection.of(self.qrels).judgments)
        runs = read_runs(list(self.runs), duplicates=self.duplicates)
        note_remarks(runs)
        lists = ranked_lists(runs, None, None, strata[-1].depth)
        sample = judgment_files.draw_sample(lists, strata, grades, seed=self.seed)
        if not sample:
            raise UsageError("the runs have no documents")
        rows = judgment_files.sample_lines if self.format == "trec" else judgment_files.sample_rows
        emit(rows(sample, self.output or "standard output"), self.output)
        drawn = sum(d.drawn for d in sample)
        left = sum(d.grade == judgment_files.TO_JUDGE for d in sample)
        note([f"{drawn:,} of {len(sample):,} pooled documents drawn; {left:,} of them are to be judged (grade -2)"])


class DepthForVerb(options.ReadingRuns, options.Output):
    """Show how deep rankings must be judged so that the residual of each MEASURE is at most --max-residual.

    The number of judgments is at most depth x queries x runs. With --run, the distinct documents above this depth are
    counted; with --qrels, also how many of them are judged already.

    \b
    cranfield depth-for RBP "RBP(p=0.95)" InvSq --max-residual 0.01
    cranfield depth-for RBP --max-residual 0.01 --run bm25.run --qrels qrels.txt
    """

    measures: Annotated[tuple[options.MeasureText, ...], Argument("MEASURE...")]
    residuals: Annotated[
        tuple[options.Chance, ...],
        "Accepted residual: how much unjudged documents could add to the score. May be repeated.",
        Option("--max-residual"),
    ] = (0.1, 0.01, 0.001)
    queries: Annotated[options.Count | None, "Number of queries.", Option(default=f"{QUERIES}, or those of --run")] = (
        None
    )
    systems: Annotated[options.Count | None, "Number of runs to judge.", Option(default="1, or those of --run")] = None
    files: Annotated[
        tuple[options.File, ...],
        "Count the documents of this run that must be judged; may be repeated.",
        Option("--run", "RUN"),
    ] = ()
    qrels: Annotated[options.File | None, "With --run: existing judgments."] = None
    format: Annotated[str, Choices(FORMATS), "Output format."] = "table"

    def run(self) -> None:
        from cranfield.analysis.collection_statistics import depths_for, judged_of, pooled_documents

        files, queries, runs = self.files, self.queries or QUERIES, self.systems or 1
        if files and (self.queries or self.systems):
            raise UsageError("--run cannot be combined with --queries or --systems")
        if self.qrels and not files:
            raise UsageError("--qrels needs --run")

        def effort(depth: int | None) -> dict[str, Any]:
            """The judgments that a depth takes."""
            if depth is None or not files:
                return {"depth": depth, "judgments": None if depth is None else depth * queries * runs}
            pools = pooled_documents(list(files), depth, self.duplicates)
            pooled = sum(map(len, pools.values()))
            judged = judged_of(pools, self.qrels) if self.qrels else 0
            return {"depth": depth, "judgments": pooled - judged, "pooled": pooled, "judged": judged}

        by_measure = {
            measure: {f"{residual:g}": effort(depth) for residual, depth in depths.items()}
            for measure, depths in depths_for(options.measure_names(self.measures), self.residuals).items()
        }
        scope = plural(len(files), "run") if files else f"at most, {plural(queries, 'query')}, {plural(runs, 'run')}"
        settings = {"queries": None if files else queries, "runs": len(files) or runs}
        entries = {(measure, residual): e for measure, of in by_measure.items() for residual, e in of.items()}
        counted = any("pooled" in entry for entry in entries.values())
        names = ("depth", "pooled", "judged", "judgments") if counted else ("depth", "judgments")
        numbers = {key: [entry.get(name) for name in names] for key, entry in entries.items()}
        rows = [(key, ["–" if n is None else f"{n:,}" for n in of]) for key, of in numbers.items()]
        heads = [*names[:-1], "to judge"] if counted else names
        title = f"Depth of judging for a residual, and judgments ({scope})"
        pages = [table(title, ("measure", "residual"), heads, rows)]
        result = {"settings": settings, "measures": by_measure}
        emit(write(pages, result, self.format, width=width(), colour=colour(self.output)), self.output)


judge = verb(JudgeVerb, "Choose documents to judge next, judge them on a page, and merge judgments.")
judges = verb(JudgesVerb, "Check predicted judgments, such as those of an LLM, against human ones.")
sample = verb(SampleVerb, "Draw a stratified sample of documents to judge.")
depth_for = verb(DepthForVerb, "Show how deep rankings must be judged for a small residual.")
