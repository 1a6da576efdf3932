"""Groups of options that verbs share, each declared once, and how inputs become an evaluation."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import click

from cranfield.cli.commands import Argument, OptionGroup, OutputFile, OutputFolder, described, groups_of, verb_name
from cranfield.cli.output import QUIET, colour, emit, for_file, note, progress, save_figures, width
from cranfield.data import Repeats
from cranfield.errors import InputError, UsageError
from cranfield.evaluation.plan import DEFAULT_MEASURES, DIVERSITY_MEASURES, Policy, Shown, Undefined, default_measures
from cranfield.io.columns import DuplicateRule
from cranfield.ranking.tie_rules import Ties
from cranfield.report import FORMATS
from cranfield.report.pages import FORMATS as PAGE_FORMATS
from cranfield.report.pages import Page, write
from cranfield.settings import RARE, Choices, Limits, Option, Positive
from cranfield.settings import Chance as Chance
from cranfield.settings import Count as Count
from cranfield.settings import Share as Share
from cranfield.statistics.standardisation import Standardisation

if TYPE_CHECKING:
    from pathlib import Path

    from click.shell_completion import CompletionItem

    from cranfield.evaluation.collection import Collection
    from cranfield.evaluation.evaluation import Evaluation
    from cranfield.evaluation.plan import Column, Plan
    from cranfield.evaluation.scores import Scores
    from cranfield.report.canvas import Drawings


def split_measures(text: str) -> Iterator[str]:
    """The measures in a text, separated by spaces outside brackets.

    >>> list(split_measures("AP nDCG(gain='exp', rel=2)@10 RR[ties=best, condensed]"))
    ['AP', "nDCG(gain='exp', rel=2)@10", 'RR[ties=best, condensed]']
    """
    depth, begin = 0, 0
    for i, character in enumerate(text + " "):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(character, 0)
        if character.isspace() and depth <= 0:
            if text[begin:i].strip():
                yield text[begin:i].strip()
            begin = i + 1
    # The parser reports a bracket that is never closed.
    if text[begin:].strip():
        yield text[begin:].strip()


def measure_names(texts: Iterable[str]) -> list[str]:
    """The measures in several texts."""
    return [name for text in texts for name in split_measures(text)]


def given_measures(_ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]) -> list[str] | None:
    """The measures of an option that may be repeated, None unless given."""
    # An empty -m is usually an unset variable: it must not silently select the defaults.
    return measure_names(value) if value else None


DIVERSITY_DEFAULT = "{name} has judgments by subtopic, so diversity measures are shown; use -m to choose others"


class MeasureName(click.types.StringParamType):
    """A measure as text, completed from the catalogue; the library parses it."""

    name = "measure"

    def shell_complete(self, _ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        from cranfield.measures import CATALOGUE

        return [CompletionItem(d.symbol, help=d.summary) for d in CATALOGUE.values() if d.symbol.startswith(incomplete)]


class IdText(click.types.StringParamType):
    """An id, which is UTF-8 in files whatever the encoding of the terminal is."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return os.fsencode(super().convert(value, param, ctx)).decode("utf-8", "surrogateescape")


File = Annotated[str, click.Path(allow_dash=True)]
Id = Annotated[str, IdText()]
Folder = Annotated[str, OutputFolder(file_okay=False)]
OutputPath = Annotated[str, OutputFile()]
MeasureText = Annotated[str, MeasureName()]


class RunPath(str):
    """The path of a run that was given a name, as in ``BM25=runs/bm25.run``."""

    __slots__ = ("run_name",)
    run_name: str

    @classmethod
    def of(cls, word: str) -> list[str]:
        """The paths of a word of the command line: a file, or ``NAME=FILE``, or ``NAME=PATTERN`` for repeats."""
        name, _, path = word.partition("=")
        if not name or not path or os.path.lexists(word):
            return [word]
        import glob

        existing = [path] if os.path.lexists(path) else sorted(glob.glob(path))  # noqa: PTH207 - the path may be absolute
        runs = [cls(file) for file in existing or [path]]
        for run in runs:
            run.run_name = name
        return list(runs)


def named_runs(paths: Sequence[str]) -> tuple[list[Any], list[str | None], list[str]]:
    """The runs, their names (None for that of the file), and the paths in the same order.

    Several files with one name are repeats of a run.
    """
    groups: dict[Any, list[str]] = {}
    for number, path in enumerate(paths):
        groups.setdefault(getattr(path, "run_name", number), []).append(path)
    runs = [group[0] if len(group) == 1 else Repeats(group) for group in groups.values()]
    return (
        runs,
        [key if isinstance(key, str) else None for key in groups],
        [p for group in groups.values() for p in group],
    )


def check_files(
    _ctx: click.Context, _param: click.Parameter, value: str | tuple[str, ...] | None
) -> str | tuple[str, ...]:
    """The files of an argument; an error if a missing one is a measure: the shell makes files of -m AP nDCG@10."""
    if value is None:  # an argument that may be left out
        return ""
    if not isinstance(value, str):
        value = tuple(path for word in value for path in RunPath.of(word))
    for path in (value,) if isinstance(value, str) else value:
        if os.path.lexists(path):
            continue
        from cranfield.measures.grammar import is_measure

        if is_measure(path):
            hint = f'`{path}` is a measure; write several measures in quotes, as in -m "AP {path}", or repeat -m'
            raise InputError([f"{path}: there is no such file"], hint=hint)
    return value


def _read_columns(ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    """Read runs with these columns until the command ends."""
    if value is not None:
        from cranfield.io.formats.delimited import headerless_columns

        ctx.with_resource(headerless_columns(value))
    return value


class ReadingRuns(OptionGroup):
    """For every command that reads runs."""

    GROUP = "Rankings and queries"

    columns: Annotated[
        str | None,
        "Columns of runs in tables without column names, in their order: query,document,rank or query,document,score.",
        Option(metavar="NAMES", rare=True, callback=_read_columns),
    ] = None

    duplicates: Annotated[DuplicateRule, RARE] = "error"


class JudgmentsAndRuns(ReadingRuns):
    """Judgments and runs."""

    qrels: Annotated[File, Argument(callback=check_files)]
    runs: Annotated[tuple[File, ...], Argument("RUN...", check_files)]


def _load_measures(ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Add the measures of each file to the catalogue until the command ends."""
    if value:
        from cranfield.measures.own import load_measures

        for path in value:
            ctx.with_resource(load_measures(path))
    return value


class OwnMeasures(OptionGroup):
    """The user's own measures."""

    measures_file: Annotated[
        tuple[str, ...],
        click.Path(dir_okay=False),
        "Python file with your own measures, which can then be named like any other; may be repeated. Its code is run: "
        "use only files that you trust.",
        # Eager: measures are parsed later.
        Option(metavar="FILE.py", rare=True, callback=_load_measures, eager=True),
    ] = ()


class Measures(OwnMeasures):
    """Measures, None unless given; help says that the verb uses ``DEFAULT`` then."""

    DEFAULT: ClassVar[tuple[str, ...]] = DEFAULT_MEASURES

    measures: Annotated[
        list[str] | None,
        tuple,
        MeasureName(),
        "One or more measures, separated by spaces; may be repeated.",
        Option("-m --measure", default="{default}", callback=given_measures),
    ] = None


class Ordering(OptionGroup):
    """Which documents of a ranking count, and in which order."""

    GROUP = "Rankings and queries"
    FIELDS = described(Policy, "ties", "depth", "condensed")

    ties: Ties | None


class UndefinedValues(OptionGroup):
    """What to do with undefined values."""

    GROUP = "Rankings and queries"
    FIELDS = described(Policy, "undefined")

    undefined: Undefined


class Seed(OptionGroup):
    """The seed of random steps."""

    FIELDS = described(Policy, "seed")

    seed: int


class RankingOptions(Ordering, UndefinedValues):
    """All options of an evaluation but the seed."""

    FIELDS = described(Policy, without=(*groups_of(Ordering), *groups_of(UndefinedValues), *groups_of(Seed)))


# The parameter of `Collection` for each kind of judgments.
KINDS = {"grades": "qrels", "preferences": "prefs", "groups": "groups", "spans": "spans"}


class QueryTexts(OptionGroup):
    """What is known of queries."""

    GROUP = "Rankings and queries"

    queries_file: Annotated[
        File | None,
        "Texts of queries, which are shown, and their attributes, such as type or topic: CSV, TSV, JSON Lines or "
        "Parquet with a column for the query, lines with an id, a tab and a text, or TREC topics.",
        RARE,
    ] = None


class DocumentText(OptionGroup):
    """The text of documents."""

    GROUP = "Rankings and queries"

    corpus: Annotated[
        str | None,
        click.Path(),
        "Document text, for measures that need it: a collection, or a file written by `cranfield corpus`.",
        RARE,
    ] = None


class Level(OptionGroup):
    """From which grade on documents are relevant."""

    GROUP = "Rankings and queries"

    rel: Annotated[
        Positive | None,
        "Lowest relevant grade, for binary measures.",
        Option(metavar="GRADE", default="1"),
    ] = None


class CollectionFacts(DocumentText, QueryTexts, Level):
    """What is true of the test collection. A collection file, in place of QRELS, can say more."""

    judgments: Annotated[
        Literal["grades", "preferences", "groups", "spans"],
        "What QRELS holds: grades, preferences between documents, grades by groups of assessors, or passages (spans) "
        "in columns query, document, start, end; runs then list chunks, in the same columns.",
        RARE,
    ] = "grades"
    nil: Annotated[Id | None, 'Document id that stands for "no answer".', Option(metavar="ID", rare=True)] = None

    def collection_of(self, qrels: str) -> Collection:
        """The collection of a file, or that of judgments, with what the options say of it."""
        from cranfield.evaluation.collection import Collection, is_collection_file

        if is_collection_file(qrels):
            if self.judgments != "grades":
                raise UsageError(
                    f"--judgments does not work with {qrels}, which says what its judgments are",
                    hint=f"write {KINDS[self.judgments]} = FILE there",
                )
            collection = Collection.read(qrels)
        else:
            judged: dict[str, Any] = {KINDS[self.judgments]: qrels}
            collection = Collection(**judged)
        given = {"documents": self.corpus, "queries": self.queries_file, "nil": self.nil, "rel": self.rel}
        given = {name: value for name, value in given.items() if value is not None}
        return collection.changed(**given) if given else collection


class Standardising(OptionGroup):
    """Standardised scores."""

    standardise: Annotated[
        Standardisation | None,
        "Standardise scores for each query over the runs: z-scores, or a normal or empirical distribution function.",
        RARE,
    ] = None


def _be_quiet(ctx: click.Context, _param: click.Parameter, value: bool) -> bool:
    if value:
        ctx.meta[QUIET] = True
    return value


class Quiet(OptionGroup):
    """No notes."""

    GROUP = "Output"

    quiet: Annotated[
        bool,
        "Print no notes and no progress.",
        Option(rare=True, callback=_be_quiet, eager=True),
    ] = False


class Output(Quiet):
    """Where results go."""

    output: Annotated[OutputPath | None, "Write to this file instead of standard output.", Option("-o --output")] = None


class Digits(OptionGroup):
    """How many decimals tables have."""

    GROUP = "Output"

    digits: Annotated[int, Limits(0, 17), "Number of decimals in tables."] = 4


class Verbose(OptionGroup):
    """All notes."""

    GROUP = "Output"

    verbose: Annotated[
        bool, "Print the notes on each run, however many runs there are.", Option("-v --verbose", rare=True)
    ] = False


class Writing(Digits, Output):
    """Tables in one of several formats; a verb has the formats of its own."""

    format: Annotated[
        str, Choices(FORMATS), "Output format. json and csv have full precision; trec prints as trec_eval does."
    ] = "table"


def _drawable(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    """Raise before the computation starts if figures are requested and matplotlib is missing."""
    if value is not None:
        from cranfield.report import canvas

        canvas.require()
    return value


class Drawing(OptionGroup):
    """Figures."""

    GROUP = "Output"

    figures: Annotated[
        Folder | None,
        "Draw figures into this folder (PDF, SVG and PNG).",
        Option(callback=_drawable, rare=True),
    ] = None


class Pages(Writing):
    """Tables as pages."""

    format: Annotated[str, Choices(PAGE_FORMATS), "Output format. json holds the complete result."] = "table"


class Results(Pages, Drawing):
    """Tables and figures."""

    def deliver(
        self,
        pages: Sequence[Page],
        result: dict[str, Any],
        figures: Drawings | Callable[[str], list[Path]] | None = None,
    ) -> None:
        """Write tables to standard output or a file, figures into their folder, notes to standard error."""
        text = write(pages, result, self.format, width=width(), colour=colour(self.output))
        emit(for_file(text, self.format, self.output), self.output)
        save_figures(figures, self.figures)
        if self.format != "json":
            note(result.get("notes", ()))


class Averaging(OptionGroup):
    """Means by attributes of queries."""

    GROUP = "Rankings and queries"

    average: Annotated[
        Sequence[str] | None,
        "Average over the queries with the same values of these attributes first, such as topic,question.",
        Option(metavar="ATTRIBUTE,...", rare=True),
    ] = None
    by: Annotated[
        Sequence[str] | None,
        "Also show means by query attributes, such as segment,country; and differences from the baseline.",
        Option(metavar="NAME,..."),
    ] = None

    def averaged(self, scores: Scores) -> Scores:
        """The scores, or nested means of them."""
        return scores.averaged(*self.average) if self.average else scores


class Elsewhere(QueryTexts):
    """Scores from elsewhere, in place of judgments and runs."""

    GROUP = ""

    scores: Annotated[
        tuple[File, ...],
        "Per-query scores in place of QRELS and RUN: tables, output of trec_eval -q or ir_measures, "
        "or saved scores. More files may follow.",
        Option(metavar="FILE..."),
    ] = ()
    lower: Annotated[
        tuple[str, ...], "With --scores: a measure whose lower values are better; may be repeated.", RARE
    ] = ()
    qrels: Annotated[File, Argument("[QRELS]", callback=check_files)] = ""
    runs: Annotated[tuple[File, ...], Argument("[RUN]...", check_files)] = ()

    def outside_scores(self, measures: Sequence[str] | None = None) -> Scores:
        """The scores of all files, of some measures if they are given."""
        from cranfield.evaluation.elsewhere import read_scores

        scores = read_scores(
            [*self.scores, *([self.qrels] if self.qrels else []), *self.runs],
            queries=self.queries_file,
            lower=self.lower,
        )
        return scores if measures is None else scores.only(measures=measures)

    def check_inputs(self) -> None:
        """Raise if there is nothing to read."""
        if not self.scores and (not self.qrels or not self.runs):
            verb = verb_name(type(self))
            raise UsageError(
                f"{verb} needs judgments and runs, or --scores",
                hint=f"cranfield {verb} QRELS RUN..., or cranfield {verb} --scores FILE...",
            )
        if self.lower and not self.scores:
            raise UsageError("--lower needs --scores")
        of_scores = {"qrels", "queries_file", "seed"}
        about_rankings = {*groups_of(ScoringOptions), "duplicates", "standardise", "audit"} - of_scores
        if self.scores and (unused := self.typed(*about_rankings)):
            raise UsageError(f"{unused[0]} needs rankings, and --scores has none")


class Chosen(NamedTuple):
    """What to compute, the label of each checked measure by the name that the user gave, and notes."""

    plan: Plan
    label_of: dict[str, str]
    notes: list[str]


class ScoringOptions(RankingOptions, CollectionFacts, Seed):
    """Judgments, and everything that decides how runs are scored."""

    qrels: Annotated[File, Argument(callback=check_files)]

    @cached_property
    def test_collection(self) -> Collection:
        """The collection that QRELS and the options describe."""
        return self.collection_of(self.qrels)

    @property
    def policy_options(self) -> dict[str, Any]:
        """The options of the evaluation."""
        return self.values_of(RankingOptions, Seed)

    @property
    def policy(self) -> Policy:
        """How runs are scored."""
        return self.test_collection.policy(**self.policy_options)

    def choose(
        self,
        measures: list[str] | None,
        checked: Sequence[str] = (),
        show: Sequence[Shown] = (),
        *,
        alone: bool = False,
        read: bool = True,
    ) -> Chosen:
        """What to compute for these measures, or for the default ones.

        ``checked``: measures to compute as well, or ``alone`` if no others are given; one that is asked for anyhow,
        perhaps by another name, is not repeated. ``read``: judgments may be read, so that the default fits them.
        """
        from cranfield.evaluation.plan import Plan, absent_columns, make_columns

        policy = self.policy
        columns: list[Column] = []
        notes: list[str] = []
        if measures is None and not (checked and alone):
            judgments = self.test_collection.of_each_judge[0].judgments if read else None
            measures = list(default_measures(judgments, terminal=policy.terminal, otherwise=self.DEFAULT))
            if judgments is not None and tuple(measures) == DIVERSITY_MEASURES:
                notes = [DIVERSITY_DEFAULT.format(name=judgments.name)]
        if measures is not None:
            columns = make_columns(measures, policy, show)
        asked = [column for name in checked for column in make_columns([name], policy)]
        columns += absent_columns(asked, columns)
        label_of = {column.measure: column.label for column in reversed(columns) if column.part == "value"}
        labels = {name: label_of[column.measure] for name, column in zip(checked, asked, strict=True)}
        return Chosen(Plan(tuple(columns), policy), labels, notes)


class Evaluating(JudgmentsAndRuns, ScoringOptions):
    """Judgments, runs, and everything that decides how they are evaluated."""

    def read(self, plan: Plan, *, page: int = 0) -> Evaluation:
        """The evaluation of the runs, each read once."""
        from cranfield.evaluation.evaluator import Evaluator

        runs, names, _ = named_runs(self.runs)
        evaluator = Evaluator.of(self.test_collection, plan)
        with progress("Reading runs") as step:
            return evaluator.evaluation(runs, names=names, page=page, duplicates=self.duplicates, progress=step)

    def score(self, plan: Plan) -> Scores:
        """The scores of the runs; with several judges, the means over them."""
        from cranfield.evaluation.evaluator import Evaluator

        runs, names, _ = named_runs(self.runs)
        how: dict[str, Any] = {"names": names, "duplicates": self.duplicates}
        with progress("Scoring runs") as step:

            def of_judge(judged: Collection) -> Scores:
                return Evaluator.of(judged, plan)(runs, **how, progress=step)

            if self.test_collection.judges is None:
                return of_judge(self.test_collection)
            from cranfield.evaluation.designs import evaluate_judges

            return evaluate_judges(self.test_collection, of_judge)
