"""``cranfield report``: an HTML report in one file."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cranfield.cli import gate, options
from cranfield.cli.commands import Option, OutputFile, groups_of, verb
from cranfield.cli.compare import DesignOptions, Testing
from cranfield.cli.output import emit, note, progress, save_figures, say_written
from cranfield.codec import now
from cranfield.errors import CranfieldError, UsageError
from cranfield.evaluation.collection import is_collection_file
from cranfield.io.register import REPORT_MARK, is_foreign
from cranfield.io.streams import digesting
from cranfield.parallel import in_background
from cranfield.settings import Limits
from cranfield.wording import shortened

if TYPE_CHECKING:
    from cranfield.analysis.compare import Comparison
    from cranfield.analysis.significance import ComparisonSettings
    from cranfield.evaluation.evaluation import Evaluation
    from cranfield.evaluation.run_scores import Progress
    from cranfield.evaluation.scores import Scores

REPORT = "report.html"
TESTING = (*groups_of(Testing), *groups_of(DesignOptions))
QUERY_FILE = re.compile(r"queries\.(jsonl?|csv|tsv|parquet)(\.(gz|zst|bz2|xz))?")
FAR = ("..", "..")  # the beginning of the path of a file that is more than one folder up


class ReportVerb(
    options.Measures,
    options.Quiet,
    options.Drawing,
    Testing,
    DesignOptions,
    options.Elsewhere,
    options.Evaluating,
    options.Averaging,
    gate.Baselines,
):
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
    baseline: Annotated[
        str | None,
        "The run to compare with: a file or run, saved scores (FILE.json or FILE.json#RUN), or `best`.",
        Option(metavar="RUN"),
    ] = None
    top_documents: Annotated[int, Limits(1, 1000), "How many top documents of each ranking to include."] = 20
    texts: Annotated[
        tuple[options.File, ...],
        "Include document text from this collection (any input of `cranfield corpus`); may be repeated.",
        Option(metavar="SOURCE"),
    ] = ()

    def run(self) -> None:
        from cranfield.analysis.compare import (
            BEST,
            check_baseline,
            comparable,
            measures_of,
            saved_baseline,
            with_baseline,
        )
        from cranfield.analysis.significance import ComparisonSettings
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
        evaluation: Evaluation | None = None
        names: dict[str, str] = {}
        notes: list[str] = []
        saved = saved_baseline(self.baseline, self.runs)
        if self.scores:
            scores = self.averaged(self.outside_scores(self.measures))
        else:
            with digesting():
                chosen = self.choose(self.measures or (None if saved is None else measures_of(saved)))
                notes = chosen.notes
                if self.test_collection.judges is None:
                    evaluation = self.read(chosen.plan, page=self.top_documents)
                    scores = self.averaged(evaluation.scores)
                    names = {run.run.source_name: run.run.system or run.run.name for run in evaluation.run_scores}
                else:
                    scores = self.averaged(self.score(chosen.plan))
        baseline = None if self.baseline is None else names.get(self.baseline, self.baseline)
        settings = ComparisonSettings(seed=self.seed, baseline=baseline, **self.values_of(Testing, DesignOptions))
        changed = self.allow_changed_judgments
        scores, settings = with_baseline(scores, settings, saved, changed_judgments=changed)
        if settings.baseline not in (None, BEST):
            check_baseline(scores.runs, settings.baseline)
        comparison = None
        columns = comparable(scores)
        if len(scores.runs) > 1 and columns:
            with progress("Comparing runs") as step:
                comparison = _compared(scores.only(measures=columns), settings, evaluation, step)
        against = baseline if saved is None else self.baseline
        if self.scores:
            files, lines = self.score_files, self.commands_of_scores(scores, against)
        else:
            own = () if evaluation is None else evaluation.runs  # a saved baseline is not among them
            shown = [scores.runs[r] for r in opened(scores, settings.baseline)]
            opening = [own.index(run) for run in shown if run in own]
            files, lines = self.inputs, self.commands(evaluation, scores, against, opening)
        folder = Path(output).absolute().parent
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
        data["files"] = beside(files, folder)
        text = html(data, self.title)
        emit(text, output)
        say_written(f"{output} written ({len(text) / 1e6:.1f} MB)")
        if self.figures is not None:
            from cranfield.report.scores import drawings

            ranked = None if data["curves"] is None else evaluation
            save_figures(drawings(scores, ranked, self.seed), self.figures)

    @property
    def score_files(self) -> list[str]:
        """The files of scores, all of which may follow one option."""
        return [*self.scores, *([self.qrels] if self.qrels else []), *self.runs]

    def commands_of_scores(self, scores: Scores, baseline: str | None) -> list[list[str]]:
        """The commands that reproduce the numbers of a report on scores."""
        files = ["--scores", *self.score_files, *self.typed("lower")]
        measuring = ["-m", " ".join(self.measures)] if self.measures else []
        about = self.typed("queries_file")
        lines = [] if self.average else [["queries", *files, *about, "-m", scores.measures[0]]]
        if len(scores.runs) > 1:
            comparing = [*files, *measuring, *about, *self.averaging, *self.typed(*TESTING, "seed")]
            comparing += [] if baseline is None else ["--baseline", baseline]
            lines += [["compare", *comparing, "--table", "pairs"], *self.grouping(comparing, baseline, scores)]
            if len(scores.measures) > 1 and not self.average:
                lines += [["study", "correlation", *files, *measuring, "--coefficient", "tau-b"]]
        return lines

    def grouping(self, words: Sequence[str], baseline: str | None, scores: Scores) -> list[list[str]]:
        """The command for the section on groups, if there is one."""
        against = [] if baseline else ["--baseline", scores.runs[0]]
        return [["compare", *words, *self.typed("by"), *against]] if self.by else []

    @property
    def averaging(self) -> list[str]:
        """The option of nested means, if it was given."""
        return ["--average", ",".join(self.average)] if self.average else []

    @property
    def inputs(self) -> list[str]:
        """Judgments and runs, as they were given."""
        return [self.qrels, *map(_word, self.runs)]

    def commands(
        self, evaluation: Evaluation | None, scores: Scores, baseline: str | None, shown: Sequence[int]
    ) -> list[list[str]]:
        """The commands that reproduce the numbers of a report, part by part; ``shown``: the runs that it opens on."""
        from cranfield.report.html import POINTS

        files, columns = self.inputs, scores.columns if evaluation is None else evaluation.columns
        ranked = evaluation is not None and not scores.repeats and not self.average
        paths = list(dict.fromkeys(options.named_runs(self.runs)[2]))
        facts = (*groups_of(options.CollectionFacts), "queries", "undefined", "seed")
        others = [fact for fact in facts if fact not in ("corpus", "queries_file")]
        own, views = self.typed("measures_file"), ("ties", "depth", "condensed")
        labels = " ".join(column.label for column in columns)
        measuring = ["-m", labels, *own, *self.typed(*views, "terminal", *facts)]
        lines = [
            ["eval", *files, *measuring, *self.averaging, "--interval", "bca"],
            ["eval", *files, *measuring, *self.averaging, "--per-query"],
        ]
        if len(scores.runs) > 1:
            comparing = [*files, *measuring, *self.averaging, *self.typed(*TESTING)]
            comparing += [] if baseline is None else ["--baseline", baseline]
            lines += [["compare", *comparing, "--table", "pairs"], *self.grouping(comparing, baseline, scores)]
        if len(self.runs) > 1 and ranked:
            old_and_new = [_word(paths[r]) for r in reversed(shown)]
            lines += [["queries", self.qrels, *old_and_new, "-m", columns[0].label, *measuring[2:]]]
            if not self.typed(*others) and not is_collection_file(self.qrels):  # which studies do not take
                correlating = ["--coefficient", "tau-b", *self.typed("corpus")]
                measures = " ".join(str(column.measure) for column in columns)  # which name the views
                lines += [["study", "correlation", *files, "-m", measures, *own, *correlating]]
        if ranked:
            lines += [["eval", *files, "-m", " ".join(POINTS), *self.typed(*views, *others)]]
            lines += [["audit", *files, *measuring, "--interval", "bca", "--verbose"]]
        return [[*line, *self.typed("duplicates")] for line in lines]


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
