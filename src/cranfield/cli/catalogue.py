"""``cranfield measures``, ``show``, ``cite``, ``conformance`` and ``demo``: what there is, worked cases, and a tour."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import textwrap
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import click

from cranfield import example
from cranfield.cli import options
from cranfield.cli.commands import Argument, Option, OptionGroup, verb
from cranfield.cli.output import colour, emit, say, say_written, text_width, width
from cranfield.errors import InputError, UsageError
from cranfield.io.register import atomic_write
from cranfield.report.pages import BOLD, styled
from cranfield.wording import plural

DIFFERENT = 3  # as for other checks


class MeasuresVerb(OptionGroup):
    """List all measures by family, with one sentence each, or those with WORDs in their names or descriptions.

    \b
    cranfield measures --family gain
    cranfield measures user model
    """

    family: Annotated[str | None, "List only this family, such as `precision` or `gain`.", Option(metavar="NAME")] = (
        None
    )
    words: Annotated[tuple[str, ...], Argument("[WORD]...")] = ()
    format: Annotated[Literal["table", "json"], "Output format. json has all details."] = "table"

    def run(self) -> None:
        from cranfield.report import catalogue

        definitions = catalogue.of_family(self.family)
        if self.words:
            definitions = catalogue.search(definitions, " ".join(self.words))
        if self.format == "json":
            emit(catalogue.as_json(definitions))
        else:
            emit(catalogue.listing(definitions, width=text_width(), colour=colour()))


class ShowVerb(options.OwnMeasures):
    """Explain MEASURE, or a significance test: formula, parameters, bounds, ties, source and an example.

    \b
    cranfield show nDCG
    cranfield show "RBP(p=0.8)"
    cranfield show tukey
    """

    measure: Annotated[options.MeasureText, Argument()]

    def run(self) -> None:
        from cranfield.report import catalogue

        emit(catalogue.explanation(self.measure, width=text_width(), colour=colour()))


class CiteVerb(options.Output):
    """Print BibTeX entries for measures, significance tests and corrections, and for Cranfield itself.

    \b
    cranfield cite nDCG@10 "RBP(p=0.8)" >> paper.bib
    cranfield cite randomisation holm cranfield
    """

    names: Annotated[tuple[options.MeasureText, ...], Argument("NAME...")]

    def run(self) -> None:
        from cranfield.report import catalogue

        emit(catalogue.bibtex(map(catalogue.papers, options.measure_names(self.names))), self.output)


class ConformanceVerb(options.Output):
    """Write worked cases of all measures as JSON, or check PROGRAM against them.

    Each case has a run, judgments, a measure, its value and the source of the value. A program to be checked reads one
    case per line from its input and writes lines such as {"id": "A1-00", "value": 0.5}. The exit code is 3 if a value
    differs.

    \b
    cranfield conformance -o cases.json
    cranfield conformance -m "AP nDCG" check -- python my_measures.py
    """

    action: Annotated[tuple[str, ...], Argument("[check -- PROGRAM...]")] = ()
    measures: Annotated[
        tuple[options.MeasureText, ...],
        "Only the cases of these measures.",
        Option("-m --measure", metavar="MEASURE", callback=options.given_measures),
    ] = ()
    schema: Annotated[bool, "Write the JSON schema of the cases instead."] = False
    format: Annotated[Literal["table", "json", "csv", "markdown", "latex"], "Output format of a check."] = "table"

    def run(self) -> None:
        from cranfield import codec, conformance
        from cranfield.report.pages import write

        if self.schema:
            emit(conformance.SCHEMA.read_text(encoding="utf-8"), self.output)
        elif not self.action:
            document = conformance.document(self.measures or None)
            emit(codec.text(document), self.output)
            if self.output is not None:
                cases, measures = (plural(len(document[key]), key[:-1]) for key in ("cases", "measures"))
                say_written(f"{self.output} written ({cases} of {measures})")
        elif self.action[0] != "check" or len(self.action) == 1:
            raise UsageError("expected `check -- PROGRAM`", hint="without it, the cases are written")
        else:
            findings = conformance.check(self.action[1:], conformance.cases(self.measures or None))
            text = write(findings.pages(), findings.to_dict(), self.format, width=width(), colour=colour(self.output))
            emit(text, self.output)
            if findings.differences:
                click.get_current_context().exit(DIFFERENT)


class Stop(NamedTuple):
    """One subject of the tour: a title, what there is to see, and the command that shows it."""

    title: str
    words: str
    command: str


TOUR = (
    Stop(
        "Scores",
        "Visitors to a lighthouse museum asked eight questions, and four systems answered them. Each mean covers the "
        "queries for which the measure is defined; the last column gives their number.",
        'eval qrels.txt *.run -m "AP nDCG@10 RR P@5"',
    ),
    Stop(
        "Ties",
        "dense rounds its scores to two digits, and llm scores only in whole numbers. Many documents therefore have "
        "equal scores, and their order is arbitrary. trec_eval orders them by document id. `expected` is the mean over "
        "all orders; `best` and `worst` are the extremes.",
        'eval qrels.txt *.run -m "nDCG@5[ties=trec] nDCG@5[ties=expected] nDCG@5[ties=best] nDCG@5[ties=worst]"',
    ),
    Stop(
        "A query without relevant documents",
        "No document is about q8, a diving course, so AP is undefined for it. The mean depends on whether the query is "
        "left out, as above, or counts as 0 or 1. Only quiet returned no document for q8.",
        "eval qrels.txt *.run -m AP --undefined zero    # or skip, or one",
    ),
    Stop(
        "Unjudged documents",
        "Judged@10 is the number of judged documents in the top ten, divided by 10 even if a list is shorter; notes "
        "give the share of unjudged documents among those retrieved. By default, unjudged documents count as not "
        "relevant. `condensed` removes them from the ranking. The residual of RBP is how much higher RBP would be if "
        "all unjudged documents were relevant.",
        'eval qrels.txt *.run -m "Judged@10 nDCG@10 nDCG@10[condensed] RBP" --show residuals',
    ),
    Stop(
        "Lists that end early",
        "quiet stops when it finds nothing more, and returns nothing for q8. Most measures do not reward this. With "
        '`terminal`, the end of a list counts as an answer: "no more relevant documents".',
        'eval qrels.txt *.run -m "RR RR[terminal] nDCG@5[terminal]"',
    ),
    Stop(
        "Significance",
        "Runs are compared by a paired randomisation test over queries with Holm correction. With only eight queries, "
        "only large differences are significant.",
        'compare qrels.txt bm25.run dense.run llm.run -m "AP nDCG@10"',
    ),
    Stop(
        "Diversity",
        "Judgments can name subtopics. These measures reward rankings that cover many subtopics early.",
        'eval qrels.diversity.txt *.run -m "alpha_nDCG@5 ERR_IA@5 StRecall@5"',
    ),
    Stop(
        "Document text",
        "These measures compare the words of the ranked documents with those of the relevant documents of each "
        "subtopic, so an unjudged document can earn gain as well. `cranfield explain` shows which words contribute.",
        'eval qrels.diversity.txt *.run -m "DELTARB@5 ABSRB@5" --corpus documents.jsonl',
    ),
)


class DemoVerb(OptionGroup):
    """Show scores, ties, unjudged documents and significance on a small example.

    With --into, the files of the example are copied to DIR instead, where you can run the commands of the tour.
    """

    into: Annotated[options.Folder | None, "Copy the files of the example into this folder."] = None
    force: Annotated[bool, "Replace files in DIR that have other content."] = False

    def run(self) -> None:
        if self.into is None:
            self._show_tour()
            return
        folder = Path(self.into)
        if not self.force:
            self._check_folder(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name in example.NAMES:
            with atomic_write(folder / name) as temporary:
                shutil.copyfile(example.path(name), temporary)
        say(f"{len(example.NAMES)} files written to {self.into}")

    def _show_tour(self) -> None:
        """Run the commands of the tour in the folder of the example, without their notes."""
        program = click.get_current_context().find_root().command
        with contextlib.chdir(example.path(example.QRELS).parent):
            for number, stop in enumerate(TOUR, 1):
                title = styled(f"{number}. {stop.title}", BOLD, colour=colour())
                words = textwrap.fill(stop.words, min(text_width(), 88))
                emit(f"{title}\n{words}\n\n$ cranfield {stop.command}\n\n")
                words_of_command = shlex.split(stop.command.replace("*.run", " ".join(example.RUNS)), comments=True)
                program.main([*words_of_command, "--quiet"], prog_name="cranfield", standalone_mode=False)
                emit("\n")
        say("To get the files, and the notes of the commands: cranfield demo --into DIR")

    def _check_folder(self, folder: Path) -> None:
        """Raise if a file of the example would replace another one."""
        existing = [name for name in example.NAMES if (folder / name).exists()]
        different = [name for name in existing if (folder / name).read_bytes() != example.path(name).read_bytes()]
        if different:
            raise InputError(
                [f"{folder / name}: the file exists and has other content" for name in different],
                hint="choose another folder, or replace the files with --force",
            )


measures = verb(MeasuresVerb, "List all measures.")
show = verb(ShowVerb, "Explain a measure, with an example.")
cite = verb(CiteVerb, "Print BibTeX entries.")
conformance = verb(ConformanceVerb, "Write worked cases, or check another program.")
demo = verb(DemoVerb, "Show a tour of the bundled example.")
