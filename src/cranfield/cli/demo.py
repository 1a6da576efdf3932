"""``cranfield demo``: a tour of the bundled example, one subject at a time; all numbers are computed when it runs."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from dataclasses import replace as changed
from pathlib import Path
from typing import Annotated, Any

from cranfield import example
from cranfield.analysis.compare import compare
from cranfield.cli import options
from cranfield.cli.commands import OptionGroup, verb
from cranfield.cli.output import colour, emit, say, text_width
from cranfield.errors import InputError
from cranfield.evaluation.collection import Collection
from cranfield.evaluation.evaluator import evaluate
from cranfield.evaluation.plan import Undefined
from cranfield.evaluation.scores import Scores
from cranfield.io.register import atomic_write
from cranfield.report.compare import leaderboard
from cranfield.report.pages import BOLD, Page, styled, titled
from cranfield.report.sheet import Cell, Layout, Row, Sheet, below


class DemoVerb(OptionGroup):
    """Show scores, ties, unjudged documents and significance on a small example.

    With --into, the files of the example are copied to DIR instead, where you can run the commands of the tour.
    """

    into: Annotated[options.Folder | None, "Copy the files of the example into this folder."] = None
    force: Annotated[bool, "Replace files in DIR that have other content."] = False

    def run(self) -> None:
        if self.into is None:
            for stop in tour():
                emit(stop.text(width=text_width(), colour=colour()))
            say("To get the files: cranfield demo --into DIR")
            return
        folder = Path(self.into)
        if not self.force:
            check_folder(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name in example.NAMES:
            with atomic_write(folder / name) as temporary:
                shutil.copyfile(example.path(name), temporary)
        say(f"{len(example.NAMES)} files written to {self.into}")


command = verb(DemoVerb, "Show a tour of the bundled example.")


def check_folder(folder: Path) -> None:
    """Raise if a file of the example would replace another one."""
    existing = [name for name in example.NAMES if (folder / name).exists()]
    different = [name for name in existing if (folder / name).read_bytes() != example.path(name).read_bytes()]
    if different:
        raise InputError(
            [f"{folder / name}: the file exists and has other content" for name in different],
            hint="choose another folder, or replace the files with --force",
        )


@dataclass(frozen=True)
class Stop:
    """One stop of the tour: a text, the command, and its output."""

    title: str
    words: str
    command: str
    sheet: Sheet
    below: tuple[str, ...] = ()

    def text(self, *, width: int, colour: bool) -> str:
        """The stop as text, followed by a blank line."""
        words = textwrap.fill(self.words, min(width, 88))
        table = titled(Page("", self.sheet, self.below), width, colour=colour)
        return f"{styled(self.title, BOLD, colour=colour)}\n{words}\n\n$ {self.command}\n\n{table}\n"


def scored(measures: str, runs: Sequence[str] = example.RUNS, qrels: str = example.QRELS, **more: Any) -> Scores:
    """Scores of the runs of the example; ``more``: the documents of the collection, and what to show."""
    collection = Collection(str(example.path(qrels)), documents=more.pop("documents", None))
    return evaluate(collection, [str(example.path(name)) for name in runs], measures.split(), **more)


def board(title: str, words: str, measures: str, flags: str = "", *, qrels: str = example.QRELS, **more: Any) -> Stop:
    """The scores as `cranfield eval` shows them, sorted by the first measure."""
    scores = scored(measures, qrels=qrels, **more)
    command = f'cranfield eval {qrels} *.run -m "{measures}"{flags}'
    return Stop(title, words, command, Layout().sheet(scores._of_runs(scores._order())), below(scores))


def tour() -> Iterator[Stop]:
    """The stops in order; each is computed when it is reached."""
    yield board(
        "1. Scores",
        "Visitors to a lighthouse museum asked eight questions, and four systems answered them. Each mean covers the "
        "queries for which the measure is defined; the last column gives their number.",
        "AP nDCG@10 RR P@5",
    )
    yield board(
        "2. Ties",
        "dense rounds its scores to two digits, and llm scores only in whole numbers. Many documents therefore have "
        "equal scores, and their order is arbitrary. trec_eval orders them by document id. `expected` is the mean over "
        "all orders; `best` and `worst` are the extremes.",
        " ".join(f"nDCG@5[ties={rule}]" for rule in ("trec", "expected", "best", "worst")),
    )
    yield Stop(
        "3. A query without relevant documents",
        "No document is about q8, a diving course, so AP is undefined for it. The mean depends on whether the query is "
        "left out, counted as 0 or counted as 1. Only quiet returned no document for q8.",
        "cranfield eval qrels.txt *.run -m AP --undefined zero    # or skip, or one",
        policies(scored("AP NumRet")),
    )
    yield board(
        "4. Unjudged documents",
        "Judged@10 is the number of judged documents in the top ten, divided by 10 even if a list is shorter; notes "
        "give the share of unjudged documents among those retrieved. By default, unjudged documents count as not "
        "relevant. `condensed` removes them from the ranking. The residual of RBP is how much higher RBP would be if "
        "all unjudged documents were relevant.",
        "Judged@10 nDCG@10 nDCG@10[condensed] RBP",
        " --show residuals",
        show="residuals",
    )
    yield board(
        "5. Lists that end early",
        "quiet stops when it finds nothing more, and returns nothing for q8. Most measures do not reward this. With "
        '`terminal`, the end of a list counts as an answer: "no more relevant documents".',
        "RR RR[terminal] nDCG@5[terminal]",
    )
    yield Stop(
        "6. Significance",
        "The letters below a mean mark the runs that are significantly worse, by a paired randomisation test over "
        "queries with Holm correction. With only eight queries, only large differences are significant.",
        'cranfield compare qrels.txt bm25.run dense.run llm.run -m "AP nDCG@10"',
        leaderboard(compare(scored("AP nDCG@10", example.RUNS[:3])), 4),
    )
    yield board(
        "7. Diversity",
        "Judgments can name subtopics. These measures reward rankings that cover many subtopics early.",
        "alpha_nDCG@5 ERR_IA@5 StRecall@5",
        qrels=example.DIVERSITY,
    )
    yield board(
        "8. Document text",
        "These measures compare the words of the ranked documents with those of the relevant documents of each "
        "subtopic, so an unjudged document can earn gain as well. `cranfield explain` shows which words contribute.",
        "DELTARB@5 ABSRB@5",
        " --corpus documents.jsonl",
        qrels=example.DIVERSITY,
        documents=str(example.path(example.DOCUMENTS)),
    )


def policies(scores: Scores) -> Sheet:
    """The mean of AP for each treatment of undefined values, and how many documents were retrieved for q8."""
    layout, q8 = Layout(), scores.queries.index("q8")
    names: tuple[Undefined, ...] = ("skip", "zero", "one")
    rows = []
    for r, run in enumerate(scores.runs):
        means = [Cell(layout.number(changed(scores, undefined=name)._summary(r, 0))) for name in names]
        rows.append(Row((run,), (Cell(layout.number(scores.values[r, 1, q8], count=True)), *means)))
    return Sheet(("run",), ("retrieved for q8", *(f"AP, {name}" for name in names)), tuple(rows))
