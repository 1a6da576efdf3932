"""``cranfield corpus`` and ``simulate``: the words of a collection, counted once, and simulated collections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cranfield.cli import options
from cranfield.cli.commands import Argument, Field, Option, Settings, command_of, fields_of, fields_of_function, verb
from cranfield.cli.output import colour, emit, note, progress, say, width
from cranfield.corpus.corpus import DEPTH
from cranfield.corpus.models import Split
from cranfield.lab.simulation import simulate as run_simulation
from cranfield.report.pages import FORMATS
from cranfield.settings import Choices, walk

if TYPE_CHECKING:
    from cranfield.corpus import Corpus


class WordCounts(Settings):
    """What is counted in which documents, and which counts are kept."""

    sources: Annotated[tuple[options.File, ...], Argument("SOURCE...")]
    qrels: Annotated[options.File | None, "Keep the words of the documents that these judgments name."] = None
    runs: Annotated[
        tuple[options.File, ...], "Keep the words of the top documents of this run; may be repeated.", Option("--run")
    ] = ()
    depth: Annotated[options.Count, "How many documents per query to keep from each run."] = DEPTH
    stemmer: Annotated[str, "Stemmer: none, porter, english, german, ...", Option(metavar="NAME")] = "none"
    stop: Annotated[
        str, "Stop words to leave out: none, english, or a file with one word per line.", Option(metavar="LIST")
    ] = "none"
    keep_case: Annotated[bool, "Distinguish upper and lower case, as in `US` and `us`."] = False
    split: Annotated[
        Split, "What a word is: a sequence of letters and digits (word), or anything between spaces (space)."
    ] = "word"
    id: Annotated[
        str | None, "Field with the document id.", Option(metavar="FIELD", default="detected from the names")
    ] = None
    text: Annotated[
        tuple[str, ...], "Field with text; may be repeated.", Option(metavar="FIELD", default="detected")
    ] = ()
    output: Annotated[options.OutputPath | None, "Write the corpus to this Parquet file.", Option("-o --output")] = None
    format: Annotated[str, Choices(FORMATS), "Output format."] = "table"

    def build(self, **how: Any) -> Corpus:
        """The corpus; ``how``: the depth of runs, how words are counted, and the fields of documents."""
        raise NotImplementedError

    def run(self) -> None:
        from cranfield.corpus.models import Settings as WordSettings
        from cranfield.corpus.models import stop_words
        from cranfield.errors import optional
        from cranfield.report import collection as report
        from cranfield.report import pages

        if self.output is not None:
            optional("pyarrow", "writing a corpus", "arrow")  # fail before the work, not after it
        words = WordSettings(self.split, not self.keep_case, stop_words(self.stop), self.stemmer)
        corpus = self.build(depth=self.depth, settings=words, id=self.id, text=self.text)
        if self.output is not None:
            corpus.save(self.output)
        emit(pages.write([report.page(corpus)], report.summary(corpus), self.format, width=width(), colour=colour()))
        if self.format != "json":
            note(report.corpus_notes(corpus))


class CountWords(WordCounts):
    """Count the words of a collection, and keep the word counts of judged and retrieved documents.

    SOURCE is a file (JSON Lines, tab-separated, TREC <DOC> or Parquet, compressed or not), a folder of such files or
    of text files, `-`, or irds:DATASET. Several sources form one collection.

    \b
    cranfield corpus documents.jsonl.gz --qrels qrels.txt --run bm25.run \\
      -o corpus.parquet
    cranfield corpus ambient --qrels ambient --stemmer porter --stop english
    """

    def build(self, **how: Any) -> Corpus:
        from cranfield.corpus.corpus import build
        from cranfield.evaluation.collection import Collection

        judgments = None if self.qrels is None else Collection.of(self.qrels).judgments
        with progress("Counting words", in_bytes=True) as step:
            return build(*self.sources, qrels=judgments, runs=self.runs, progress=step, **how)


SIMULATE = """Simulate a test collection: queries with subtopics, documents with texts, systems of known quality.

Writes qrels.txt, qrels.diversity.txt, docs.jsonl, queries.jsonl and runs/*.run into DIR. In addition,
qrels.complete.txt holds judgments of all documents that systems can retrieve, and truth.json the quality of each
system. The same settings give the same files on every machine.

\b
cranfield simulate lab --systems 10 --ties 0.3
cranfield eval lab/qrels.txt lab/runs/*.run
"""


def _simulate(folder: str, force: bool, **settings: Any) -> None:
    from cranfield.lab.simulation import check, save

    check(folder, force=force)
    with progress("Simulating queries") as step:
        simulation = run_simulation(**settings, progress=step)
    with progress("Writing runs") as step:
        save(simulation, folder, force=force, progress=step)
    judged, relevant = len(simulation.judgments.grade), int((simulation.judgments.grade > 0).sum())
    counts = ", ".join(f"{settings[name]:,} {name}" for name in ("queries", "documents", "systems"))
    say(f"{folder}: {counts}, {judged:,} judgments ({relevant:,} relevant)")


corpus = verb(CountWords, "Count words, for measures that use document text.")
simulate = command_of(
    "simulate",
    {
        "folder": Field(walk(Annotated[options.Folder, Argument("DIR")])),
        **fields_of_function(run_simulation, fields_of(options.Seed)),
        "force": Field(walk(Annotated[bool, "Replace an existing simulation in DIR."]), False),
    },
    _simulate,
    help=SIMULATE,
    short_help="Simulate a test collection with known ground truth.",
)
