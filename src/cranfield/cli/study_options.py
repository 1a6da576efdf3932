"""Options that several studies share, and the function that runs a study from the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from cranfield.cli import options, results
from cranfield.cli.output import colour, emit, note, width
from cranfield.cli.progress import progress
from cranfield.measures.aliases import SAKAI, in_notation
from cranfield.report.pages import Page, write
from cranfield.studies.candidates import HIGH
from cranfield.studies.coefficients import COEFFICIENTS
from cranfield.studies.registry import Study
from cranfield.studies.saving import StudyResult
from cranfield.studies.several import CollectionFiles, SeveralCollections, run_on_collections


class Also(click.Option):
    """The option --also, which only the help of studies of several collections shows."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Nothing if the study takes one collection; the option is then an error that says so."""
        takes_several = Study(ctx.info_name or "").takes_several
        return super().get_help_record(ctx) if takes_several else None


# For every study of runs.
inputs = options.several(
    options.inputs,
    click.option(
        "--top", type=click.IntRange(min=1), metavar="N", help="Use only the N runs with the highest mean of --by."
    ),
    click.option(
        "--by",
        type=options.MeasureName(),
        metavar="MEASURE",
        help="With --top: the measure that orders runs.  [default: AP]",
    ),
    click.option(
        "--also",
        cls=Also,
        multiple=True,
        type=click.Path(file_okay=False),
        metavar="DIR",
        help="Add a collection, such as another year of a track. DIR holds judgments (a file named like QRELS, "
        "qrels.diversity.txt or qrels.txt), a folder `runs` and, optionally, documents in docs.jsonl. May be repeated.",
    ),
)


def paper(measures: tuple[str, ...], top: int, by: str) -> options.Decorator:
    """The option --paper: the measures and the runs of a published experiment instead of the defaults."""

    def use_preset(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
        ctx.meta[PRESET] = (measures, top, by) if value else None

    return click.option(
        "--paper",
        is_flag=True,
        expose_value=False,
        callback=use_preset,
        help=f"Use the measures of the paper and the {top} runs with the highest {by}, unless -m or --top is given. "
        f"-m takes the names of the paper, too: {', '.join(SAKAI)}. The measures are {' '.join(measures)}",
    )


PRESET = "cranfield.study.preset"

coefficient = click.option(
    "--coefficient",
    type=click.Choice(tuple(COEFFICIENTS)),
    default="tau-a",
    show_default=True,
    help="Correlation coefficient for comparing two orders of runs.",
)

threshold = click.option(
    "--threshold",
    type=options.CHANCE,
    metavar="X",
    default=HIGH,
    show_default=True,
    help="Agreement that counts as high.",
)

samples = click.option(
    "--samples",
    type=click.IntRange(min=1),
    metavar="N",
    default=1000,
    show_default=True,
    help="Number of resamples per test.",
)

repeats = click.option(
    "--repeats",
    type=click.IntRange(min=1),
    metavar="N",
    default=30,
    show_default=True,
    help="Number of random subsets of each size.",
)

relevant = click.option(
    "--rel",
    type=click.FloatRange(0, min_open=True),
    metavar="GRADE",
    default=1.0,
    show_default=True,
    help="Lowest relevant grade.",
)

variants = click.option(
    "--variants",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="With a single RUN: add N simulated runs that rerank its documents.",
)


def integers(ctx: click.Context, param: click.Parameter, value: str | None) -> list[int] | None:
    """Parse an option of comma-separated whole numbers."""
    try:
        return None if value is None else [int(part) for part in value.split(",")]
    except ValueError:
        raise click.BadParameter(
            f"expected whole numbers separated by commas, such as 50,20,10; got {value!r}", ctx, param
        ) from None


def run_study(
    name: str,
    activity: str,
    *,
    qrels: str,
    runs: tuple[str, ...],
    measures: list[str] | None,
    figures: str | None,
    digits: int,
    format: str,
    output: str | None,
    extra_tables: Callable[[Any, int], list[Page]] | None = None,
    also: tuple[str, ...] = (),
    top: int | None = None,
    by: str | None = None,
    **settings: Any,
) -> None:
    """Run a study and write its tables, figures and notes.

    ``activity`` labels the progress bar; ``settings`` are the other arguments of the experiment; ``extra_tables``
    makes tables that follow the usual ones; ``also`` are folders of other collections.
    ``top``: use only so many runs, those with the highest mean of the measure ``by``.
    """
    study = Study(name)
    check_figures(study, figures)
    preset = click.get_current_context().meta.get(PRESET)
    if preset is not None:
        measures, top, by = measures or list(preset[0]), top or preset[1], by or preset[2]
        measures = [in_notation(measure, SAKAI) for measure in measures]
    if by is not None and top is None:
        raise click.UsageError("--by needs --top")
    if measures is not None:
        settings["measures"] = measures
    experiment = study.experiment if top is None else _with_top_runs(study.experiment, top, by or "AP")
    others = [CollectionFiles.of(folder, Path(qrels).name) for folder in also]
    result: StudyResult
    with progress(activity) as step:
        if others:
            first = CollectionFiles(_collection_name(qrels), qrels, list(runs))
            result = run_on_collections(name, [first, *others], experiment=experiment, progress=step, **settings)
        else:
            result = experiment(qrels, runs, progress=step, **settings)
    if extra_tables is None:
        text = study.write(result, format, digits=digits, width=width(), colour=colour(output))
    else:
        results = list(result.results.values()) if isinstance(result, SeveralCollections) else [result]
        pages = [*study.tables(result, digits), *(page for part in results for page in extra_tables(part, digits))]
        text = write(pages, result.to_dict(), format, width=width(), colour=colour(output))
    deliver_result(study, result, text, figures=figures, format=format, output=output)


def _with_top_runs(experiment: Callable[..., Any], top: int, by: str) -> Callable[..., Any]:
    """The experiment on the best runs of its collection only."""

    def run(qrels: Any, runs: Any, **settings: Any) -> Any:
        from cranfield import io
        from cranfield.studies.systems import top_runs

        judgments = io.read_qrels(qrels)
        chosen, notes = top_runs(judgments, runs, top, by, corpus=settings.get("corpus"), nil=settings.get("nil"))
        result = experiment(judgments, chosen, **settings)
        return replace(result, notes=(*notes, *result.notes))

    return run


def _collection_name(qrels: str) -> str:
    """The folder of the judgments; their own name if they are in the current folder."""
    path = Path(qrels)
    return path.parent.resolve().name if path.parent.name not in ("", ".", "..") else path.name.partition(".")[0]


def check_figures(study: Study, figures: str | None) -> None:
    """Raise before any work is done if figures are requested and cannot be drawn."""
    if figures is not None:
        study.require_figures()
        results.drawable(figures)


def deliver_result(
    study: Study, result: StudyResult, text: str, *, figures: str | None, format: str, output: str | None
) -> None:
    """Write a result, given as text, with its figures and notes."""
    emit(text, output)
    results.save_figures(lambda folder: study.save_figures(result, folder), figures)
    if format != "json":
        note(result.notes)
