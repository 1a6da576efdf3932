"""``cranfield study``: a command for each study, made from the signature and the docstring of its experiment."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click

from cranfield import io
from cranfield.cli import options, results
from cranfield.cli.commands import LazyGroup, Verb, VerbOption, groups_of
from cranfield.cli.compare import Testing
from cranfield.cli.output import colour, emit, note, width
from cranfield.cli.progress import progress
from cranfield.errors import InputError
from cranfield.evaluation.evaluator import read_runs
from cranfield.io.ids import Duplicates
from cranfield.lab import saving
from cranfield.lab.registry import CollectionFiles, SeveralCollections, Study, run_on_collections
from cranfield.lab.saving import StudyResult
from cranfield.lab.settings import Measures, Option, Preset
from cranfield.lab.studies import study_names
from cranfield.lab.systems import top_runs
from cranfield.measures.aliases import SAKAI as SAKAI_NAMES
from cranfield.measures.aliases import in_notation
from cranfield.report.pages import write

# Parameters that verbs share.
SHARED = {
    "corpus": options.corpus,
    "full_length": options.full_length,
    "nil": options.nil,
    "seed": options.seed,
    "standardise": options.standardise,
    "undefined": options.undefined,
}
OWN_COMMAND = "properties"  # a verb of its own, `cli.properties`


def _numbers(ctx: click.Context, param: click.Parameter, value: str | None) -> list[int] | None:
    """Parse an option of comma-separated whole numbers."""
    try:
        return None if value is None else [int(part) for part in value.split(",")]
    except ValueError:
        raise click.BadParameter(
            f"expected whole numbers separated by commas, such as 50,20,10; got {value!r}", ctx, param
        ) from None


def _pairs(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> dict[str, str]:
    """Parse options of the form RUN=PART."""
    for text in value:
        if not all(text.rpartition("=")[::2]):
            raise click.BadParameter(f"expected {param.metavar}, such as bm25=B; got {text!r}", ctx, param)
    return {run: part for run, _, part in (text.rpartition("=") for text in value)}


def _parser(kind: Any, option: Option) -> dict[str, Any]:
    """How click reads a value of this type, and what help calls it."""
    number = click.FloatRange(0, 1 if option.unit else None, min_open=True, max_open=option.unit)
    whole = click.IntRange(min=option.least)
    if option.choices or get_origin(kind) is Literal:
        return {"type": click.Choice(option.choices or get_args(kind))}
    if kind == Measures:
        return {
            "type": options.MeasureName(),
            "multiple": True,
            "callback": options.given_measures,
            "metavar": "MEASURE",
        }
    readers: dict[Any, dict[str, Any]] = {
        int: {"type": whole, "metavar": "N"},
        float: {"type": number, "metavar": "P" if option.unit else "X"},
        str: {},
        Any: {"type": options.FILE, "metavar": "FILE"},
        tuple[int, int]: {"type": (whole, whole)},
        Sequence[int]: {"callback": _numbers, "metavar": "N,..."},
        Sequence[float]: {"type": number, "multiple": True, "metavar": "X"},
        Mapping[str, str]: {"multiple": True, "callback": _pairs},
    }
    return readers[kind]


def _option(parameter: inspect.Parameter, hint: Any) -> options.Decorator | None:
    """The option of a parameter; None if it has none."""
    name, default = parameter.name, parameter.default
    meaning = next((one for one in getattr(hint, "__metadata__", ()) if isinstance(one, Option)), None)
    if name == "measures":
        return options.measuring(meaning.default if meaning else " ".join(default))
    if name in SHARED:
        return SHARED[name]
    if meaning is None:
        return None
    kind = get_args(hint)[0]
    if NoneType in get_args(kind):
        kinds = [one for one in get_args(kind) if one is not NoneType]
        kind = kinds[0] if len(kinds) == 1 else Measures
    settings = _parser(kind, meaning)
    if meaning.metavar:
        settings["metavar"] = meaning.metavar
    if kind == Sequence[int] and default is not None:
        default = ",".join(map(str, default))
    text = meaning.help + (f"  [default: {meaning.default}]" if meaning.default else "")
    if default is not None:
        settings |= {"default": default, "show_default": True}
    settings |= {"cls": VerbOption, "group": groups_of(Testing).get(name, "")}
    return click.option(f"--{meaning.flag or name.replace('_', '-')}", name, help=text, **settings)


def options_of(function: Callable[..., Any]) -> options.Decorator:
    """The options of the parameters of a function that have an `Option`, or that verbs share."""
    hints = get_type_hints(function, include_extras=True)
    made = (_option(parameter, hints[name]) for name, parameter in inspect.signature(function).parameters.items())
    return options.several(*filter(None, made))


def help_of(function: Callable[..., Any]) -> dict[str, str]:
    """The help of a command from the docstring of a function: its first sentence, and all of it."""
    text = inspect.getdoc(function) or ""
    summary = text.partition("\n")[0]
    # Examples follow `::`, and keep their lines.
    text, _, examples = text.partition(" ::\n\n")
    return {"short_help": summary, "help": text + ("\n\n\b\n" + inspect.cleandoc(examples) if examples else "")}


def _paper(preset: Preset) -> options.Decorator:
    """The option --paper: the measures and the runs of a published experiment instead of the defaults."""
    return click.option(
        "--paper",
        is_flag=True,
        help=f"Use the measures of the paper and the {preset.top} runs with the highest {preset.by}, unless -m or "
        f"--top is given. -m takes the names of the paper, too: {', '.join(SAKAI_NAMES)}. The "
        f"measures are {' '.join(preset.measures)}",
    )


def study_command(study: Study) -> click.Command:
    """The command of a study of runs."""
    module, experiment = study.module, study.experiment

    def command(**arguments: Any) -> None:
        run_study(study, **arguments)

    decorated = options.several(
        options.inputs,
        click.option(
            "--top",
            "best",
            type=click.IntRange(min=1),
            metavar="N",
            help="Use only the N runs with the highest mean of --by.",
        ),
        click.option(
            "--by",
            "best_by",
            type=options.MeasureName(),
            metavar="MEASURE",
            help="With --top: the measure that orders runs.  [default: AP]",
        ),
        click.option(
            "--also",
            multiple=True,
            hidden=not study.takes_several,  # then it is an error that says so
            type=click.Path(file_okay=False),
            metavar="DIR",
            help="Add a collection, such as another year of a track. DIR holds judgments (a file named like QRELS, "
            "qrels.diversity.txt or qrels.txt), a folder `runs` and, optionally, documents in docs.jsonl. May be "
            "repeated.",
        ),
        *([_paper(module.PAPER)] if hasattr(module, "PAPER") else []),
        options_of(experiment),
        *(
            click.option(f"--{name}", is_flag=True, help=text)
            for name, (text, _) in getattr(module, "ON_REQUEST", {}).items()
        ),
        results.writing,
    )(command)
    return click.command(study.name, cls=Verb, **help_of(experiment))(decorated)


def run_study(
    study: Study,
    *,
    qrels: str,
    runs: tuple[str, ...],
    duplicates: Duplicates,
    best: int | None,
    best_by: str | None,
    also: tuple[str, ...],
    figures: str | None,
    digits: int,
    format: str,
    output: str | None,
    paper: bool = False,
    **settings: Any,
) -> None:
    """Run a study and write its tables, figures and notes; ``settings`` are the other arguments of the experiment.

    ``best``: use only so many runs, those with the highest mean of the measure ``best_by``. ``also``: folders of other
    collections.
    """
    _check_figures(study, figures)
    on_request = getattr(study.module, "ON_REQUEST", {})
    requested = [table for name, (_, table) in on_request.items() if settings.pop(name)]
    if paper:
        preset = study.module.PAPER
        best, best_by = best or preset.top, best_by or preset.by
        given = settings["measures"] or preset.measures
        settings["measures"] = [in_notation(measure, SAKAI_NAMES) for measure in given]
    if best_by is not None and best is None:
        raise click.UsageError("--by needs --top")
    if settings.get("measures", ()) is None:
        del settings["measures"]
    experiment = study.experiment if best is None else _with_top_runs(study.experiment, best, best_by or "AP")
    others = [CollectionFiles.of(folder, Path(qrels).name) for folder in also]
    opened = partial(read_runs, duplicates=duplicates)
    result: StudyResult
    with progress(study.name.capitalize()) as step:
        if others:
            first = CollectionFiles(_collection_name(qrels), qrels, list(runs))
            collections = [replace(files, runs=opened(files.runs)) for files in (first, *others)]
            result = run_on_collections(study.name, collections, experiment=experiment, progress=step, **settings)
        else:
            result = experiment(qrels, opened(list(runs)), progress=step, **settings)
    if requested:
        parts = list(result.results.values()) if isinstance(result, SeveralCollections) else [result]
        pages = [
            *study.tables(result, digits),
            *(page for make in requested for x in parts for page in make(x, digits)),
        ]
        text = write(pages, result.to_dict(), format, width=width(), colour=colour(output))
    else:
        text = study.write(result, format, digits=digits, width=width(), colour=colour(output))
    _deliver(study, result, text, figures=figures, format=format, output=output)


def _with_top_runs(experiment: Callable[..., Any], top: int, by: str) -> Callable[..., Any]:
    """The experiment on the best runs of its collection only."""

    def run(qrels: Any, runs: Any, **settings: Any) -> Any:
        judgments = io.read_qrels(qrels)
        chosen, notes = top_runs(judgments, runs, top, by, corpus=settings.get("corpus"), nil=settings.get("nil"))
        result = experiment(judgments, chosen, **settings)
        return replace(result, notes=(*notes, *result.notes))

    return run


def _collection_name(qrels: str) -> str:
    """The folder of the judgments; their own name if they are in the current folder."""
    path = Path(qrels)
    return path.parent.resolve().name if path.parent.name not in ("", ".", "..") else path.name.partition(".")[0]


def _check_figures(study: Study, figures: str | None) -> None:
    """Raise before any work is done if figures are requested and cannot be drawn."""
    if figures is not None:
        study.require_figures()
        results.drawable(figures)


def _deliver(
    study: Study, result: StudyResult, text: str, *, figures: str | None, format: str, output: str | None
) -> None:
    """Write a result, given as text, with its figures and notes."""
    emit(text, output)
    results.save_figures(lambda folder: study.save_figures(result, folder), figures)
    if format != "json":
        note(result.notes)


def tie_cost_command() -> click.Command:
    """The command that measures the cost of the expectation over ties."""
    from cranfield.lab.tie_cost import cost_tables, feature_scores, tie_costs

    def command(save: str | None, format: str, output: str | None, **settings: Any) -> None:
        data = feature_scores(*(settings.pop(name) for name in inspect.signature(feature_scores).parameters))
        if save is not None:
            data.save(save)
        chosen = {name: value for name, value in settings.items() if value is not None}
        with progress("Measuring") as step:
            costs = tie_costs(data, **chosen, progress=step)
        results.deliver(cost_tables(costs), asdict(costs), None, format=format, output=output, figures=None)

    help = "Write the collection as qrels.txt and feature.run."
    decorated = options.several(
        options_of(tie_costs),
        options_of(feature_scores),
        click.option("--save", type=click.Path(file_okay=False), metavar="DIR", help=help),
        results.formats,
        options.output,
    )(command)
    return click.command("tie-cost", cls=Verb, **help_of(tie_costs))(decorated)


class Studies(LazyGroup):
    """The studies, then `tie-cost` and `show`."""

    NAMES = (*(name for name in study_names() if name != OWN_COMMAND), "tie-cost", "show")
    PACKAGE = "cranfield.lab.studies"
    KIND = "study"

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.NAMES:
            return None
        others = {"show": lambda: show, "tie-cost": tie_cost_command}
        return others[cmd_name]() if cmd_name in others else study_command(Study(cmd_name))


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


@click.command(cls=Verb, short_help="Print and draw a saved study.")
@click.argument("file", type=click.Path())
@results.writing
def show(file: str, figures: str | None, digits: int, format: str, output: str | None) -> None:
    """Print and draw the study in FILE, which was written with --format json. Nothing is computed again.

    \b
    cranfield study stopping qrels.txt *.run --format json -o stopping.json
    cranfield study show stopping.json --format latex --figures figures
    """
    name = saving.load(file)["study"]
    if name not in study_names():
        raise InputError([f"{file}: this version of cranfield has no study `{name}`"])
    study = Study(name)
    _check_figures(study, figures)
    result = study.load(file)
    with saving.checked_file(name, file):
        text = study.write(result, format, digits=digits, width=width(), colour=colour(output))
    _deliver(study, result, text, figures=figures, format=format, output=output)
