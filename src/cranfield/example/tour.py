"""A walk through the example, one trouble at a time; all numbers are computed on the way."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cranfield import example
from cranfield.analysis.compare import compare
from cranfield.evaluation.evaluator import evaluate
from cranfield.evaluation.policy import Undefined
from cranfield.evaluation.scores import Scores
from cranfield.report.compare import leaderboard
from cranfield.report.sheet import Cell, Layout, Row, Sheet
from cranfield.report.table import BOLD, PLAIN, render


@dataclass(frozen=True)
class Stop:
    """One station of the walk: what to see, the command that shows it, the numbers."""

    title: str
    words: str
    command: str
    sheet: Sheet

    def text(self, *, width: int, colour: bool) -> str:
        """The station as it is printed, with a blank line after it."""
        title = f"{BOLD}{self.title}{PLAIN}" if colour else self.title
        words = textwrap.fill(self.words, min(width, 88))
        return f"{title}\n{words}\n\n$ {self.command}\n\n{render(self.sheet, width=width, colour=colour)}\n"


def scored(
    measures: list[str], *, names: Sequence[str] = example.RUNS, qrels: str = example.QRELS, **how: Any
) -> Scores:
    """Scores of the runs of the example."""
    return evaluate(str(example.path(qrels)), [str(example.path(name)) for name in names], measures, **how)


def tour() -> Iterator[Stop]:
    """The stations in order; each is computed only when it is reached."""
    yield Stop(
        "1. Scores",
        "Visitors put eight questions to a lighthouse museum, and four systems answer. Means are over the queries "
        "where a measure is defined; the last column says how many these are.",
        'cranfield eval qrels.txt *.run -m "AP nDCG@10 RR P@5"',
        Layout().sheet(scored(["AP", "nDCG@10", "RR", "P@5"])),
    )
    tied = [f"nDCG@5[ties={rule}]" for rule in ("trec", "expected", "best", "worst")]
    yield Stop(
        "2. Ties",
        "dense keeps its scores to two digits, and llm gives only marks from 0 to 4, so that many documents share "
        "a score. Their order is then chance. trec_eval settles it by document id; `expected` is the mean over all "
        "orders; `best` and `worst` are how far luck could go.",
        f'cranfield eval qrels.txt *.run -m "{" ".join(tied)}"',
        Layout().sheet(scored(tied)),
    )
    yield Stop(
        "3. A query that nothing answers",
        "No document is about q8, a diving course. AP is undefined there: not 0, for nobody could have done better. "
        "Left out, counted 0 or counted 1, it moves each mean. Only quiet knew better than to answer.",
        "cranfield eval qrels.txt *.run -m AP --undefined zero    # or skip, or one",
        policies(scored(["AP", "NumRet"])),
    )
    yield Stop(
        "4. Documents that nobody judged",
        "Judged@10 is the share of the first ten places with a judged document. A plain measure takes the others as "
        "not relevant; `condensed` leaves them out; the residual of RBP is how much higher it would be if all of them "
        "were relevant.",
        'cranfield eval qrels.txt *.run -m "Judged@10 nDCG@10 nDCG@10[condensed] RBP" --residual',
        Layout().sheet(scored(["Judged@10", "nDCG@10", "nDCG@10[condensed]", "RBP"], residuals=True)),
    )

    silent = ["RR", "RR[terminal]", "nDCG@5[terminal]"]
    yield Stop(
        "5. Lists that end",
        "quiet stops when it has nothing more to say, and says nothing at all of q8. A plain measure never rewards "
        "that. With `terminal` the end of a list is an answer: that no more is relevant.",
        f'cranfield eval qrels.txt *.run -m "{" ".join(silent)}"',
        Layout().sheet(scored(silent)),
    )
    yield Stop(
        "6. Is one really better?",
        "The letters below a mean name the runs that it beats: a paired randomisation test over the queries, corrected "
        "for the number of pairs (Holm). Eight queries are few.",
        'cranfield compare qrels.txt bm25.run dense.run llm.run -m "AP nDCG@10"',
        leaderboard(compare(scored(["AP", "nDCG@10"], names=example.RUNS[:3])), 4),
    )
    several = ["alpha_nDCG@5", "ERR_IA@5", "StRecall@5"]
    yield Stop(
        "7. Questions with several meanings",
        "Judgments may say what a document is about. These measures reward a list that covers many subtopics early.",
        f'cranfield eval qrels.diversity.txt *.run -m "{" ".join(several)}"',
        Layout().sheet(scored(several, qrels=example.DIVERSITY)),
    )
    reading = ["DELTARB@5", "ABSRB@5"]
    yield Stop(
        "8. Judging by reading",
        "These compare the words of a list with those of the relevant documents, subtopic by subtopic, so that a "
        "document that nobody judged earns what it is worth. `cranfield explain` says which words did it.",
        f'cranfield eval qrels.diversity.txt *.run -m "{" ".join(reading)}" --corpus documents.jsonl',
        Layout().sheet(scored(reading, qrels=example.DIVERSITY, corpus=str(example.path(example.DOCUMENTS)))),
    )


def policies(scores: Scores) -> Sheet:
    """The mean of AP under each treatment of undefined values, beside what was retrieved for the barren query."""
    layout, barren = Layout(), scores.queries.index("q8")
    names: tuple[Undefined, ...] = ("skip", "zero", "one")
    rows = []
    for r, run in enumerate(scores.runs):
        means = [Cell(layout.number(replace(scores, undefined=name).summary(r, 0))) for name in names]
        rows.append(Row((run,), (Cell(layout.number(scores.values[r, 1, barren], count=True)), *means)))
    return Sheet(("run",), ("retrieved for q8", *(f"AP, {name}" for name in names)), tuple(rows))
