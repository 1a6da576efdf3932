"""``cranfield study``, ``properties`` and ``simulate``: commands made from studies, and simulated collections."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import click

from cranfield.cli import options
from cranfield.cli.commands import Argument, LazyGroup, OptionField, command_of, fields_of, fields_of_function, verb
from cranfield.cli.compare import Testing
from cranfield.cli.output import colour, digests_for, emit, note, progress, save_figures, say, text_width, width
from cranfield.errors import UsageError
from cranfield.evaluation.collection import Collection, is_collection_file
from cranfield.evaluation.evaluator import read_runs
from cranfield.evaluation.notes import summarised
from cranfield.lab import simulation
from cranfield.lab.property_checks import PROPERTIES, SEVEN
from cranfield.lab.studies import properties as property_study
from cranfield.lab.studies import study_names
from cranfield.lab.study import (
    EXAMPLES,
    CollectionFiles,
    Study,
    StudyResult,
    function_of,
    result_class,
    run_on_collections,
    study_class,
)
from cranfield.lab.systems import studied, top_runs
from cranfield.measures import Measure
from cranfield.measures.aliases import SAKAI as SAKAI_NAMES
from cranfield.measures.aliases import in_notation
from cranfield.report.pages import FORMATS
from cranfield.settings import Choices, Count, ListOf, OneOf, Option, Type, declared, walk

# Settings that verbs have, too: the same option, or only the same group if the experiment describes its own.
SHARED = {
    name: field
    for record in (options.CollectionFacts, options.Standardising, options.Seed, options.UndefinedValues, Testing)
    for name, field in fields_of(record).items()
}
OWN_COMMAND = "properties"  # a verb of its own
FACTS = ("nil", "rel", "full_length")  # settings of studies that a collection file may have, too


def fields_of_experiment(function: Callable[..., Any]) -> dict[str, OptionField]:
    """The fields of an experiment; measures are texts here."""
    parameters, fields = declared(function), fields_of_function(function, SHARED)
    if "measures" in parameters:
        kind, names = parameters["measures"]
        default = (kind.find(Option) or Option()).default or " ".join(names)
        fields = {
            name: field._replace(verb_default=default) for name, field in fields_of(options.Measures).items()
        } | fields
    option = Option(metavar="MEASURE", callback=options.given_measures)
    for name, field in fields.items():
        if _takes_measures(field.type):
            hint = Annotated[list[str] | None, tuple, options.MeasureName(), *field.type.metadata, option]
            fields[name] = field._replace(type=walk(hint))
    return fields


def _takes_measures(kind: Type) -> bool:
    types = kind.types if isinstance(kind, OneOf) else (kind.item,) if isinstance(kind, ListOf) else ()
    return getattr(kind, "python", None) is Measure or any(map(_takes_measures, types))


def help_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The help of a command from the docstring of a function: its first sentence, and all of it."""
    text = inspect.getdoc(function) or ""
    summary = text.partition("\n")[0]
    # Examples keep their lines.
    text, *rest = EXAMPLES.split(text, maxsplit=1)
    examples = "".join(rest)
    return {"short_help": summary, "help": text + ("\n\n\b\n" + inspect.cleandoc(examples) if examples else "")}


class ChosenRuns(options.JudgmentsAndRuns):
    """The collections and runs of a study."""

    GROUP = ""

    top: Annotated[Count | None, "Use only the N best runs, by the measure of --top-by."] = None
    top_by: Annotated[
        options.MeasureText | None,
        "With --top: the measure by which runs are the best.",
        Option(metavar="MEASURE", rare=True, default="AP"),
    ] = None
    also: Annotated[
        tuple[str, ...],
        click.Path(file_okay=False),
        "Add a collection, such as another year of a track. DIR holds judgments (a file named like QRELS, "
        "qrels.diversity.txt or qrels.txt), a folder `runs` and, optionally, documents in docs.jsonl. May be repeated.",
        Option("--also-collection", rare=True),
    ] = ()


class ScoresOrRuns(options.Elsewhere, ChosenRuns):
    """The input of a study that needs scores only."""


def _paper(study: type[Study]) -> dict[str, OptionField]:
    """The option --paper, if the study repeats a published experiment."""
    if (preset := study.PAPER) is None:
        return {}
    text = (
        f"Use the measures of the paper and the {preset.top} runs with the highest {preset.by}, unless -m or "
        f"--top is given. -m takes the names of the paper, too: {', '.join(SAKAI_NAMES)}. The "
        f"measures are {' '.join(preset.measures)}"
    )
    return {"paper": OptionField(walk(Annotated[bool, text]), False)}


def study_command(name: str) -> click.Command:
    """The command of a study of runs."""
    study, settings = study_class(name), fields_of_experiment(function_of(name))
    inputs = fields_of(ScoresOrRuns if study.takes_scores() else ChosenRuns)
    inputs.pop("queries_file", None)  # no study uses attributes of queries
    if not result_class(name).takes_several():
        del inputs["also"]
    fields = inputs | _paper(study) | settings | fields_of(options.Results)
    names = [name for name in settings if name != "measures_file"]

    def run(**values: Any) -> None:
        StudyOfRuns(**values).run_study(study, names)

    return command_of(name, fields, run, **help_of(study))


class StudyOfRuns(ScoresOrRuns, options.Results):
    """The values of the command of a study; those of its own settings have the names of the parameters."""

    paper: bool = False

    def run_study(self, study: type[Study], settings: list[str]) -> None:
        """Run a study with these settings, and write its tables, figures and notes."""
        self._check(study.name())
        chosen = {name: getattr(self, name) for name in settings}
        top, by = self.top, self.top_by
        if self.paper and study.PAPER:
            top, by = top or study.PAPER.top, by or study.PAPER.by
            given = chosen["measures"] or study.PAPER.measures
            chosen["measures"] = [in_notation(measure, SAKAI_NAMES) for measure in given]
        if by is not None and top is None:
            raise click.UsageError("--top-by needs --top")
        if chosen.get("measures", ()) is None:
            del chosen["measures"]
        qrels = self._judgments(chosen)
        function = function_of(study.name())
        experiment = function if top is None else _with_top_runs(function, top, by or "AP")
        others = [CollectionFiles.of(folder, Path(self.qrels).name) for folder in self.also]
        opened = partial(read_runs, duplicates=self.duplicates)
        result: StudyResult
        with progress(study.__name__) as step, digests_for(self.format):
            if self.scores:
                result = function(self.outside_scores(), progress=step, **chosen)
            elif others:
                first = CollectionFiles(_collection_name(self.qrels), qrels, list(self.runs))
                collections = [replace(files, runs=opened(files.runs)) for files in (first, *others)]
                result = run_on_collections(study.name(), collections, experiment=experiment, progress=step, **chosen)
            else:
                runs, names, _ = options.named_runs(self.runs)
                result = experiment(qrels, opened(runs, names), progress=step, **chosen)
        data = result.to_dict()
        if self.format != "json":
            data["notes"] = summarised(result.notes)[0]
        self.deliver(result.pages(self.digits), data, result.save_figures)

    def _judgments(self, settings: dict[str, Any]) -> Any:
        """The judgments in QRELS, or its collection, with what options say in place of the file."""
        if not is_collection_file(self.qrels):
            return self.qrels
        source_of = click.get_current_context().get_parameter_source
        given = [
            name for name in FACTS if name in settings and source_of(name) is not click.core.ParameterSource.DEFAULT
        ]
        return Collection.read(self.qrels).changed(**{name: settings[name] for name in given})

    def _check(self, study: str) -> None:
        """Raise if there is nothing to study, or if options need rankings."""
        if self.scores:
            for name, given in {"--top": self.top, "--also-collection": self.also, "--paper": self.paper}.items():
                if given:
                    raise UsageError(f"{name} needs rankings, and scores have none", hint="give QRELS and RUN...")
        elif not self.qrels or not self.runs:
            raise UsageError(
                f"the study `{study}` needs judgments and runs, or --scores",
                hint=f"cranfield study {study} QRELS RUN..., or cranfield study {study} --scores FILE...",
            )
        elif self.lower:
            raise UsageError("--lower needs --scores")


def _with_top_runs(experiment: Callable[..., Any], top: int, by: str) -> Callable[..., Any]:
    """The experiment on the best runs of its collection only."""

    def run(qrels: Any, runs: Any, **settings: Any) -> Any:
        collection = studied(qrels)
        chosen, notes = top_runs(collection, runs, top, by, corpus=settings.get("corpus"), nil=settings.get("nil"))
        result = experiment(collection, chosen, **settings)
        return replace(result, notes=(*notes, *result.notes))._with_provenance(result.provenance)

    return run


def _collection_name(qrels: str) -> str:
    """The folder of the judgments; their own name if they are in the current folder."""
    path = Path(qrels)
    return path.parent.resolve().name if path.parent.name not in ("", ".", "..") else path.name.partition(".")[0]


def tie_cost_command() -> click.Command:
    """The command that measures the cost of the expectation over ties."""
    from cranfield.lab.tie_cost import cost_tables, feature_scores, tie_costs

    collection, measured = fields_of_experiment(feature_scores), fields_of_experiment(tie_costs)

    def run(save: str | None, **values: Any) -> None:
        data = feature_scores(**{name: values[name] for name in collection})
        if save is not None:
            data.save(save)
        chosen = {name: values[name] for name in measured if name != "measures_file" and values[name] is not None}
        with progress("Measuring") as step:
            costs = tie_costs(data, **chosen, progress=step)
        options.Results(**values).deliver(cost_tables(costs), asdict(costs))

    folder = Annotated[options.Folder | None, "Write the collection as qrels.txt and feature.run."]
    fields = measured | collection | {"save": OptionField(walk(folder), None)}
    fields |= fields_of(options.Pages, "quiet", "output", "format")
    return command_of("tie-cost", fields, run, **help_of(tie_costs))


class Studies(LazyGroup):
    """The studies, then `tie-cost` and `show`."""

    NAMES = (*(name for name in study_names() if name != OWN_COMMAND), "tie-cost", "show")
    KIND = "study"

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.NAMES:
            return None
        others = {"show": lambda: show, "tie-cost": tie_cost_command}
        return others[cmd_name]() if cmd_name in others else study_command(cmd_name)


@click.group(cls=Studies, short_help="Run published experiments on your own runs.", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Study how a change of method affects scores and the order of systems.

    Save the result of a study with --format json -o FILE; `cranfield study show FILE` prints and draws it again.

    \b
    cranfield study truncation qrels.txt *.run --nil NIL --full-length 5 --figures figures
    cranfield study ties qrels.txt *.run -m "AP nDCG@10" --top 20
    cranfield study stopping qrels.txt bm25.run -m "nDCG(ideal='bounded')[terminal]"
    cranfield study reduction qrels.txt *.run -m "AP AP[condensed] bpref" --figures figures
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


class ShowStudyVerb(options.Results):
    """Print and draw the study in FILE, which was written with --format json. Nothing is computed again.

    \b
    cranfield study stopping qrels.txt *.run --format json -o stopping.json
    cranfield study show stopping.json --format latex --figures figures
    """

    file: Annotated[str, click.Path(), Argument()]

    def run(self) -> None:
        """Print and draw it."""
        result = StudyResult.load(self.file)
        text = result.write(self.format, digits=self.digits, width=width(), colour=colour(self.output))
        emit(text, self.output)
        save_figures(result.save_figures, self.figures)
        if self.format != "json":
            note(result.to_dict()["notes"])


show = verb(ShowStudyVerb, "Print and draw a saved study.", name="show")


class PropertiesVerb(options.Writing):
    """Check numeric properties of MEASUREs (Moffat, AIRS 2013) on all small rankings.

    Y: the property holds for all of them; N: it does not, and the smallest counterexample is shown. All cutoffs are
    checked.

    \b
    cranfield properties AP nDCG "RBP(p=0.8)" bpref "nDCG[condensed]"
    cranfield properties --file my_measures.py
    cranfield properties --table 2
    cranfield properties --table 2 --properties complete,localized --classes
    """

    measures: Annotated[tuple[options.MeasureText, ...], Argument("MEASURE...")] = ()
    file: Annotated[
        str | None,
        click.Path(dir_okay=False),
        "Python file with your own measures, whose code is run; without MEASURE, all of them are checked.",
        Option("--measures-file --file", metavar="FILE.py"),
    ] = None
    table: Annotated[
        Literal["1", "2"] | None, "Show a table of the paper instead: 1, the variants of DCG, or 2, which is computed."
    ] = None
    columns: Annotated[
        Sequence[str] | None,
        "Properties to show, in this order. They also determine the order of rows in Table 2 and with --classes.",
        Option("--properties", metavar="P,P,..."),
    ] = None
    classes: Annotated[bool, "Show measures with the same properties in one row."] = False
    documents: property_study.Documents = None
    grades: property_study.Grades = None
    format: Annotated[str, Choices(FORMATS), "Output format. json has full precision."] = "table"

    def run(self) -> None:
        """Print the table."""
        if self.table is not None:
            self._print_table()
            return
        from cranfield.measures.own import load_measures

        property_study.check_columns(self.columns or ())
        extra: AbstractContextManager[list[str]] = load_measures(self.file) if self.file else nullcontext([])
        with extra as own, progress("Checking measures") as step:
            measures = options.measure_names(self.measures) or own
            result = function_of("properties")(measures, documents=self.documents, grades=self.grades, progress=step)
        assert isinstance(result, property_study.PropertiesResult)
        text = result.write(
            self.format,
            digits=self.digits,
            width=text_width(),
            colour=colour(self.output),
            columns=self.columns or PROPERTIES,
            classes=self.classes,
        )
        emit(text, self.output)
        if self.format != "json":
            note(map(str, result.notes))

    def _print_table(self) -> None:
        """Print a table of the paper."""
        if self.measures or self.file or self.grades:
            raise UsageError("--table cannot be combined with measures, --file or --grades")
        if self.table == "1" and (self.columns or self.classes or self.documents):
            raise UsageError("--table 1 cannot be combined with --properties, --classes or --documents")
        style: dict[str, Any] = {"width": width(), "colour": colour(self.output)}
        if self.table == "1":
            text = property_study.table1(self.format, **style)
        else:
            property_study.check_columns(self.columns or (), SEVEN)
            chosen = self.columns or SEVEN
            text = property_study.table2(self.documents, self.format, columns=chosen, classes=self.classes, **style)
        emit(text, self.output)


properties = verb(PropertiesVerb, "Check numeric properties of measures.")


SIMULATE = """Simulate a test collection: queries with subtopics, documents with texts, systems of known quality.

Writes qrels.txt, qrels.diversity.txt, docs.jsonl, queries.jsonl and runs/*.run into DIR. In addition,
qrels.complete.txt holds judgments of all documents that systems can retrieve, and truth.json the quality of each
system. The same settings give the same files on every machine.

\b
cranfield simulate lab --systems 10 --ties 0.3
cranfield eval lab/qrels.txt lab/runs/*.run
"""


def _simulate(folder: str, force: bool, **settings: Any) -> None:
    simulation.check(folder, force=force)
    with progress("Simulating queries") as step:
        simulated = simulation.simulate(**settings, progress=step)
    with progress("Writing runs") as step:
        simulation.save(simulated, folder, force=force, progress=step)
    judged, relevant = len(simulated.judgments.grade), int((simulated.judgments.grade > 0).sum())
    counts = ", ".join(f"{settings[name]:,} {name}" for name in ("queries", "documents", "systems"))
    say(f"{folder}: {counts}, {judged:,} judgments ({relevant:,} relevant)")


simulate = command_of(
    "simulate",
    {
        "folder": OptionField(walk(Annotated[options.Folder, Argument("DIR")])),
        **fields_of_function(simulation.simulate, fields_of(options.Seed)),
        "force": OptionField(walk(Annotated[bool, "Replace an existing simulation in DIR."]), False),
    },
    _simulate,
    help=SIMULATE,
    short_help="Simulate a test collection with known ground truth.",
)
