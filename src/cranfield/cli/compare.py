"""``cranfield compare``: significance of the differences between runs; in a pipeline, a check for regressions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import click

from cranfield.analysis.compare import ComparisonTable
from cranfield.analysis.gates import LIMITS, REGRESSIONS, verdict
from cranfield.analysis.significance import ComparisonSettings
from cranfield.cli import gate, options
from cranfield.cli.commands import Option, OptionGroup, described, verb
from cranfield.cli.output import (
    colour,
    digests_for,
    emit,
    for_file,
    note,
    progress,
    save_figures,
    say_written,
    width,
    with_groups,
)
from cranfield.errors import UsageError
from cranfield.report.pages import FORMATS
from cranfield.settings import Choices

if TYPE_CHECKING:
    from cranfield.analysis.compare import Comparison
    from cranfield.evaluation.designs import Groups
    from cranfield.evaluation.evaluation import Evaluation
    from cranfield.evaluation.scores import Scores, ScoreTable

UNCORRECTED = "p-values do not account for this selection"
RULES = (*REGRESSIONS, *LIMITS)
SAVED = ".json"  # in the names of files of saved scores


class ComparedScores(NamedTuple):
    """The scores to compare, the label of each checked measure, the name of the run of each file, and notes.

    ``evaluation``: the rankings behind the scores, if there are any. ``saved``: the baseline, if it is saved scores.
    """

    scores: Scores
    label_of: Mapping[str, str]
    name_of: Mapping[str, str] = MappingProxyType({})
    notes: Sequence[str] = ()
    evaluation: Evaluation | None = None
    saved: Scores | None = None


def _top_runs(own: Scores, compared: Scores, top: int, baseline: str | None) -> Scores:
    """The best runs by the first measure, and the baseline, which counts as one of the runs unless it is saved."""
    best = {*own.best(top), baseline}
    return compared.only(runs=[run for run in compared.runs if run in best])


OF_DESIGN = "cluster", "collection", "repeats"


class Testing(OptionGroup):
    """How differences are tested."""

    GROUP = "Significance"
    FIELDS = described(ComparisonSettings, without=("level", "audit", *OF_DESIGN))


class DesignOptions(OptionGroup):
    """Which queries and repeats belong together."""

    GROUP = "Significance"
    FIELDS = described(ComparisonSettings, *OF_DESIGN)


class AgainstBaseline(Testing):
    """What runs are compared with."""

    GROUP = ""

    baseline: Annotated[
        str | None,
        "Compare every run with this one only: a file or run, saved scores (FILE.json or FILE.json#RUN), or `best`.",
        Option(metavar="RUN"),
    ] = None

    @property
    def regressions(self) -> list[str]:
        """The measures that are checked against the baseline."""
        return []

    def baseline_name(self, runs: Sequence[str], name_of: Mapping[str, str]) -> str | None:
        """The run that is the baseline: for checks the first run unless one is named."""
        if not self.baseline:
            return runs[0] if self.regressions else None
        return name_of.get(os.path.realpath(self.baseline), self.baseline)


class ScoresToCompare(
    AgainstBaseline, DesignOptions, gate.Baselines, options.Elsewhere, options.Evaluating, options.Averaging
):
    """Scores of runs, or from elsewhere, and how they are compared."""

    def source(self, measures: list[str] | None, checked: Sequence[str] = (), page: int = 0) -> ComparedScores:
        """The scores. ``checked``: measures to compute as well; ``page``: how many documents of rankings to keep."""
        from cranfield.analysis.compare import measures_of, saved_baseline
        from cranfield.evaluation.evaluator import read_runs

        if self.scores:
            own = self.outside_scores(measures)
            return ComparedScores(own, {name: own.measures[own._column_of(name)] for name in checked})
        saved = saved_baseline(self.baseline, self.runs)
        if saved is not None and measures is None and not checked:
            measures = measures_of(saved)
        chosen = self.choose(measures, checked, alone=True)
        evaluation = None
        if self.test_collection.judges is None:
            evaluation = self.read(chosen.plan, page=page)
            own, read = evaluation.scores, [scored.run for scored in evaluation.run_scores]
        else:
            own = self.score(chosen.plan)
            runs, names, _ = options.named_runs(self.runs)
            read = read_runs(runs, names=names, duplicates=self.duplicates)
        # The first run of a file, which may have several.
        name_of = {os.path.realpath(run.source_name): run.system or run.name for run in reversed(read)}
        return ComparedScores(own, chosen.label_of, name_of, chosen.notes, evaluation, saved)

    def with_baseline(
        self, scores: Scores, source: ComparedScores, **settings: Any
    ) -> tuple[Scores, ComparisonSettings]:
        """The scores with those of a saved baseline, and how they are compared."""
        from cranfield.analysis.compare import with_baseline

        baseline = self.baseline_name(scores.runs, source.name_of)
        given = {"seed": self.seed, "baseline": baseline, **self.values_of(Testing, DesignOptions), **settings}
        changed = self.allow_changed_judgments
        return with_baseline(scores, ComparisonSettings(**given), source.saved, changed_judgments=changed)


class ShownComparison(options.Measures, AgainstBaseline, gate.Regressions, gate.LimitOptions, options.Results):
    """What is checked, and how the result is shown."""

    GROUP = ""

    verbose: Annotated[
        bool,
        "Also show effect sizes, wins and losses; and which runs each run beats.",
        Option("-v --verbose"),
    ] = False
    table: Annotated[
        ComparisonTable | None,
        "Show only the means with significance marks, or all pairs.",
        Option(default="the answer; in latex, means", rare=True),
    ] = None
    format: Annotated[str, Choices(FORMATS), "Output format. json and csv have full precision and all pairs."] = "table"

    @property
    def checked(self) -> list[str]:
        """The measures of all checks."""
        return gate.measures_of(self, RULES)

    def check_options(self) -> None:
        """Raise if options do not work together."""
        if self.table is not None and self.verbose:
            raise UsageError("--table does not work with --verbose")
        if self.table == "means" and self.format in ("csv", "json"):
            raise UsageError(f"--table means does not work with --format {self.format}, which has all pairs")
        if self.junit and not self.checked:
            raise UsageError("--junit needs a check", hint="for example: --no-significant-loss nDCG@10")

    @property
    def regressions(self) -> list[str]:
        """The measures that are checked against the baseline."""
        return gate.measures_of(self, REGRESSIONS)

    def announce(self, notes: Iterable[str]) -> None:
        """Print notes before the work starts."""
        if self.format != "json":
            note(notes)

    def present(
        self,
        comparison: Comparison,
        label_of: Mapping[str, str],
        notes: Iterable[str],
        means: ScoreTable | None = None,
        compared: Scores | None = None,
        groups: Groups | None = None,
    ) -> None:
        """Write the comparison and notes, and exit with the code of the checks.

        ``means``: the scores of the runs that were given. ``compared``: with a saved baseline, or nested means.
        """
        from cranfield.report import compare as report
        from cranfield.report.gates import markdown
        from cranfield.report.pages import write
        from cranfield.report.per_query import losses

        gates = gate.gates_of(self, RULES, label_of)
        checked = verdict(gates, means, comparison, compared) if gates else None
        table = self.table or ("means" if self.format == "latex" and not self.verbose else None)
        layout: dict[str, Any] = {"width": width(), "colour": colour(self.output)}
        if self.format == "csv":
            text = report.csv(comparison)
        else:
            how: dict[str, Any] = {"table": table, "details": self.verbose}
            pages = [] if self.format == "json" else report.pages(comparison, self.digits, **how)
            result = comparison.to_dict() if self.format == "json" else {}  # which takes digests of the inputs
            text = write(pages, result, self.format, **layout)
            if self.format == "markdown" and checked is not None:
                pages = [] if compared is None else losses(compared, comparison, label_of[self.checked[0]], self.digits)
                text = "\n".join(filter(None, (f"{markdown(checked)}{text}", write(pages, {}, "markdown"))))
        if groups is not None:
            text = with_groups(text, groups, self.format, self.digits, **layout)
        emit(for_file(text, self.format, self.output), self.output)
        if self.format != "json":
            note([*notes, *report.notes(comparison, table=table, details=self.verbose)])
            if self.format == "table" and table is None and not self.verbose:
                say_written("use --verbose for effect sizes, wins and losses")
        save_figures(report.drawings(comparison), self.figures)
        command = click.get_current_context().command_path
        gate.conclude(checked, self.junit, command, gate.REMEDY if self.no_significant_loss else gate.MORE)


class CompareVerb(ShownComparison, ScoresToCompare, options.Standardising):
    """Test which differences between RUNs are significant, for every pair or against a baseline.

    A difference is the later run minus the earlier one, or a run minus the baseline. Checks need a baseline: the first
    run, unless another one is named. Exit codes of checks: 0 passed, 3 failed, 4 not decided.

    \b
    cranfield compare qrels.txt bm25.run dense.run -m "AP nDCG@10"
    cranfield compare qrels.txt *.run -m nDCG@10 --top 10 --baseline best
    cranfield compare qrels.txt main.run new.run --no-significant-loss AP=0.01
    cranfield compare --scores judge.csv --lower latency --by segment
    """

    top: Annotated[options.Count | None, "Compare only the N best runs; by the first measure, and the baseline."] = None
    audit: Annotated[
        bool,
        "Check whether ties or unjudged documents could reverse a difference.",
        Option("--audit/--no-audit", rare=True),
    ] = True

    def run(self) -> None:
        from cranfield.analysis.compare import compare_scores, resolution_of
        from cranfield.evaluation.designs import over_collections
        from cranfield.evaluation.notes import sentences, summarised

        self.check_inputs()
        self.check_options()
        with digests_for(self.format):
            source = self.source(self.measures, self.checked)
            own, notes = source.scores, list(source.notes)
            scores = self.averaged(own if self.standardise is None else own.standardised(self.standardise))
            compared, settings = self.with_baseline(scores, source, audit=self.audit)
            if self.top is not None and self.top < len(own.runs):
                best = f"those with the highest {scores.measures[0]}"
                notes.append(f"{self.top} of {len(own.runs)} runs are compared, {best}: {UNCORRECTED}")
                compared = _top_runs(scores, compared, self.top, settings.baseline)
                if len(compared.runs) < 2:
                    raise UsageError(
                        "compare needs at least two runs, and --top 1 leaves one",
                        hint="use --top 2 or more, or name another run as the baseline",
                    )
            self.announce(sentences(resolution_of(compared, settings)))
            with progress("Comparing runs") as step:
                comparison = compare_scores(compared, settings, source.evaluation, step)
            means = own if settings.collection is None else over_collections(own, settings.collection)
            groups = None
            if self.by is not None:
                groups = compared.by(self.by, comparison.reference, **settings.of_groups)
            notes += summarised(compared.notes)[0]
            self.present(comparison, source.label_of, notes, means, compared, groups)

    def check_options(self) -> None:
        super().check_options()
        checks = "checks" if self.checked else None
        saved = f"--baseline {self.baseline}" if self.baseline is not None and SAVED in self.baseline else None
        if self.standardise is not None and (checks or saved):
            raise UsageError(f"--standardise does not work with {checks or saved}")
        if self.top is not None and self.no_significant_loss:
            raise UsageError("--top does not work with --no-significant-loss")


command = verb(CompareVerb, "Test which differences between runs are significant.")
