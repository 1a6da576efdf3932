"""``cranfield run``: run the experiment described in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import click

from cranfield.cli import gate, options
from cranfield.cli.commands import Argument, Option, verb
from cranfield.cli.output import colour, emit, note, replace, run_notes, say_written, width
from cranfield.codec import with_origin
from cranfield.errors import InputError, UsageError
from cranfield.io.register import active
from cranfield.report import compare as report
from cranfield.report import groups as by_group
from cranfield.report import write as write_scores
from cranfield.report.pages import Page, write
from cranfield.wording import plural

PYPROJECT = "pyproject.toml"


def _default_file(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str:
    """The file that was given, else the one of this folder."""
    from cranfield.experiment.experiment import FILE

    return value or (FILE if Path(FILE).exists() or not _in_pyproject() else PYPROJECT)


def _in_pyproject() -> bool:
    path = Path(PYPROJECT)
    return path.is_file() and "[tool.cranfield" in path.read_text(encoding="utf-8", errors="replace")


class RunVerb(gate.Baselines, options.Pages):
    """Run the experiment in FILE: evaluate, compare, check gates, and write the report, scores and history.

    FILE is cranfield.toml, or the table [tool.cranfield] of pyproject.toml, unless another one is given. Paths in it
    are relative to it. With --quiet, only failed checks are printed. Exit codes: 0 all gates passed, 3 one failed, 4
    one is not decided, 1 or 2 for errors.

    \b
    cranfield run
    cranfield run --init
    cranfield run --schema > cranfield.schema.json
    """

    file: Annotated[options.File, Argument("[FILE]", _default_file)] = ""
    into: Annotated[
        options.Folder | None, "Folder for the files that the experiment writes.", Option(default="that of FILE")
    ] = None
    allow_code: Annotated[bool, "Allow the Python files of the experiment (measures_files) to run."] = False

    verbose: Annotated[
        bool, "Also show means, all pairs of runs, and the notes on each run.", Option("-v --verbose")
    ] = False
    summary: Annotated[
        options.OutputPath | None,
        "Write a summary as Markdown: gates, leaderboard, the queries that lost most, and a link to the report.",
    ] = None
    report_link: Annotated[
        str | None, "With --summary: the address of the report.", Option(metavar="URL", default="the file", rare=True)
    ] = None
    init: Annotated[bool, "Write FILE from the judgments and runs in its folder, with comments."] = False
    schema: Annotated[bool, "Print the JSON Schema of experiments, by which editors complete them."] = False

    def run(self) -> None:
        from cranfield.experiment.experiment import Experiment
        from cranfield.report.gates import markdown

        if self.init or self.schema:
            return self._start()
        if not Path(self.file).exists():
            raise InputError(
                [f"{self.file}: there is no such file"], hint="`cranfield run --init` writes one from qrels and runs"
            )
        experiment = Experiment.read(self.file, self.into)
        active().declare(experiment.output(*path) for path in experiment.outputs if path[0] != "history")
        if history_file := experiment.output("history", "file"):
            active().extend(history_file)
        outcome = experiment.run(allow_code=self.allow_code, allow_changed_judgments=self.allow_changed_judgments)
        comparison, layout = outcome.comparison, dict[str, Any](width=width(), colour=colour(self.output))
        pages: list[Page] = [] if comparison is None else report.pages(comparison, self.digits, details=self.verbose)
        pages += [page for groups in outcome.groups.values() for page in by_group.pages(groups, self.digits)]
        result = outcome.to_dict() if self.format == "json" else {}
        if self.output not in (None, "-"):
            result |= {name: with_origin(result[name]) for name in ("scores", "comparison") if result.get(name)}
        text = write(pages, result, self.format, **layout)
        if comparison is None and self.format != "json":
            text = write_scores(outcome.scores, self.format, digits=self.digits, **layout) + text
        if self.format == "markdown" and outcome.verdict.checks:
            text = f"{markdown(outcome.verdict)}{text}"
        if not self.quiet or self.output is not None or self.format != "table":
            emit(text, self.output)
        if self.format != "json":
            note(run_notes(outcome.compared.notes, verbose=self.verbose))
            note([] if comparison is None else report.notes(comparison, details=self.verbose))
            note(line for groups in outcome.groups.values() for line in by_group.notes(groups))
        if self.summary is not None:
            from cranfield.experiment.running import summary

            text = summary(experiment, outcome, Path(self.summary).parent, self.report_link)
            replace(self.summary, text.encode("utf-8", "surrogateescape"))
        for path in experiment.outputs:
            say_written(f"{experiment.output(*path)} written")
        gate.conclude(outcome.verdict, None, "cranfield run", gate.MORE)

    def _start(self) -> None:
        from cranfield.experiment.experiment import Experiment
        from cranfield.experiment.starting import first_experiment, schema

        if self.schema:
            return emit(json.dumps(schema(), indent=2) + "\n", self.output)
        if Path(self.file).exists():
            raise UsageError(f"{self.file}: the file exists", hint="give the name of another one: --init FILE")
        draft = first_experiment(Path(self.file).parent)
        replace(self.file, draft.text().encode())
        Experiment.read(self.file)
        note(f"left out: {text}" for text in draft.left_out)
        counts = f"{plural(len(draft.collections), 'collection')} and {plural(len(draft.runs), 'run')}"
        guess = f"the baseline {draft.baseline} is a guess"
        say_written(f"{self.file} written with {counts}; {guess}; `cranfield run` runs it")
        return None


run = verb(RunVerb, "Run a whole experiment: one file, one command.")


class HistoryVerb(options.Results):
    """Show the history of an experiment: its means over time, and which changes are significant.

    FILE is a history, or an experiment that has one; by default that of cranfield.toml. A mean is tested against that
    of the entry before and of a reference: the first entry, or the last significant gain. Entries are tested over the
    queries of both, if these have the same judgments, and p-values are corrected over all entries and runs.

    \b
    cranfield history
    cranfield history history.jsonl --figures figures
    """

    file: Annotated[options.File, Argument("[FILE]", _default_file)] = ""

    def run(self) -> None:
        from cranfield.experiment import history
        from cranfield.experiment.experiment import Experiment

        path = self.file
        if path.endswith(".toml"):
            experiment = Experiment.read(path)
            path = experiment.output("history", "file") or ""
            if not path:
                raise UsageError(f"{self.file} keeps no history", hint='add [history] with file = "history.jsonl"')
        entries = history.History.read(path)
        result = entries.to_dict() if self.format == "json" else {}
        self.deliver(entries.pages(self.digits), result, entries.drawings())


history = verb(HistoryVerb, "Show the history of an experiment.")
