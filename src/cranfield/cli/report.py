"""``cranfield report``: an HTML report in one file."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cranfield.cli import options
from cranfield.cli.commands import Option, OptionGroup, OutputFile, groups_of, verb
from cranfield.cli.compare import CompareVerb, ScoresToCompare
from cranfield.cli.output import emit, note, progress, save_figures, say_written
from cranfield.codec import now
from cranfield.errors import CranfieldError, UsageError
from cranfield.io.register import REPORT_MARK, is_foreign
from cranfield.io.streams import digesting
from cranfield.parallel import in_background
from cranfield.settings import Limits
from cranfield.wording import shortened

if TYPE_CHECKING:
    from cranfield.analysis.compare import Comparison
    from cranfield.analysis.significance import ComparisonSettings
    from cranfield.evaluation.evaluation import Evaluation
    from cranfield.evaluation.reader import Progress
    from cranfield.evaluation.scores import Scores

REPORT = "report.html"
# Options that are in every command anyhow, or say where the report goes and what is in it.
OWN = ("qrels", "runs", "scores", "measures", "baseline", "output", "quiet", "figures", "top_documents")
QUERY_FILE = re.compile(r"queries\.(jsonl?|csv|tsv|parquet)(\.(gz|zst|bz2|xz))?")
FAR = ("..", "..")  # the beginning of the path of a file that is more than one folder up


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
                group_by=self.grouping_attributes,
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
        from cranfield.cli.analysis import AuditVerb, QueriesVerb
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


command = verb(ReportVerb, "Write an HTML report.")


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
