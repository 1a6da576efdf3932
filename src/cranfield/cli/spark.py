"""``cranfield spark``: scores, comparisons and corpora, computed by Apache Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any

import click

from cranfield.cli import options
from cranfield.cli.commands import Argument, LazyGroup, Option, OptionGroup, verb
from cranfield.cli.compare import ShownComparison, Testing
from cranfield.cli.eval import ShownScores
from cranfield.cli.files import WordCounts
from cranfield.cli.output import note
from cranfield.errors import CranfieldError, InputError

if TYPE_CHECKING:
    from cranfield.corpus import Corpus as WordStatistics
    from cranfield.evaluation.plan import Plan
    from cranfield.spark import ScoreFrame


class Cluster(OptionGroup):
    """Where to compute."""

    GROUP = "Spark"

    master: Annotated[
        str | None, "Spark master.", Option(metavar="URL", default="that of the session or of spark-submit")
    ] = None

    @contextmanager
    def session(self) -> Iterator[Any]:
        """A Spark session; its failures become errors of one line."""
        from cranfield.spark.frames import FAILURES, reason, session

        try:
            spark_session = session(self.master)
            try:
                yield spark_session
            finally:
                spark_session.stop()
        except FAILURES as error:
            raise CranfieldError(f"Spark failed: {reason(error)}") from None


class ScoringOnSpark(options.ScoringOptions, Cluster):
    """Judgments and runs that Spark reads."""

    runs: Annotated[tuple[options.File, ...], Argument("RUN...", options.check_files)]
    write_scores: Annotated[str | None, "Write per-query scores to this folder, as Parquet."] = None

    @contextmanager
    def scored(self, plan: Plan) -> Iterator[tuple[ScoreFrame, Mapping[str, str]]]:
        """The scores of the runs, and the names of the runs by file."""
        from cranfield import spark
        from cranfield.io.streams import short_name
        from cranfield.spark import frames
        from cranfield.spark.frames import FAILURES
        from cranfield.spark.scores import check_collection

        collection = self.test_collection
        check_collection(collection)
        repeated = [(path, count) for path, count in Counter(self.runs).items() if count > 1]
        note(f"{short_name(path)}: the file is given {count} times; it counts once" for path, count in repeated)
        with self.session() as session:
            frame, names = frames.read_runs(session, self.runs)
            on_spark = collection.changed(qrels=frames.read_qrels(session, collection.qrels))
            how: dict[str, Any] = {"measures": plan.columns, "columns": {"row": frames.ROW}}
            try:
                scores = spark.evaluate(on_spark, frame, names=list(names.values()), **how, **self.policy_options)
            except InputError as error:
                raise frames.explained(collection.qrels, self.runs) or error from None
            if self.write_scores is not None:
                try:
                    scores.frame.write.parquet(self.write_scores)
                except FAILURES as error:
                    if "PATH_ALREADY_EXISTS" not in str(error):
                        raise
                    raise InputError(
                        [f"{self.write_scores}: the folder already exists"], hint="--write-scores needs a new folder"
                    ) from None
            yield scores, names


class EvalOnSpark(ShownScores, ScoringOnSpark):
    """Score RUNs against the judgments in QRELS on Apache Spark.

    Files are paths that every worker can open: TREC text, JSON Lines, CSV or Parquet; a folder is one file. QRELS may
    also be a collection file (FILE.toml).

    \b
    cranfield spark eval lake/qrels.parquet lake/runs.parquet -m nDCG@10
    cranfield spark eval lake/qrels.parquet lake/runs.parquet --master yarn \\
      --write-scores lake/scores
    """

    def run(self) -> None:
        self.check_limits()
        chosen = self.choose(self.measures, self.limited, self.show, read=False)
        with self.scored(chosen.plan) as (frame, _):
            pass
        self.present(frame, chosen)


class CompareOnSpark(ShownComparison, ScoringOnSpark):
    """Test which differences between RUNs are significant, on Apache Spark.

    \b
    cranfield spark compare lake/qrels.parquet lake/bm25.parquet \\
      lake/dense.parquet -m nDCG@10
    """

    def run(self) -> None:
        from cranfield.analysis.significance import ComparisonSettings
        from cranfield.evaluation.notes import sentences

        self.check_options()
        settings = ComparisonSettings(seed=self.seed, audit=False, **self.values_of(Testing))
        chosen = self.choose(self.measures, self.checked, alone=True, read=False)
        with self.scored(chosen.plan) as (frame, name_of):
            settings = replace(settings, baseline=self.baseline_name(frame.runs, name_of))
            comparison = frame.compare(**asdict(settings))
        self.announce(sentences(comparison.resolution_notes))
        self.present(comparison, chosen.label_of, [*chosen.notes, *sentences(frame.evaluation_notes)], frame)


class CorpusOnSpark(WordCounts, Cluster):
    """Count the words of a collection on Apache Spark: `cranfield corpus`, for collections in a data lake.

    SOURCE is a file or folder of Parquet, JSON Lines, TSV or CSV.

    \b
    cranfield spark corpus lake/docs.parquet --qrels lake/qrels.parquet \\
      --master yarn -o corpus.parquet
    """

    def build(self, **how: Any) -> WordStatistics:
        from cranfield import spark
        from cranfield.corpus.corpus_file import Origin
        from cranfield.spark import frames

        origins = [Origin.of(source) for source in self.sources]
        with self.session() as session:
            texts = frames.read_texts(session, self.sources)
            judgments = None if self.qrels is None else frames.read_qrels(session, self.qrels)
            frame = frames.read_runs(session, self.runs)[0] if self.runs else None
            try:
                return spark.corpus(texts, qrels=judgments, runs=frame, origins=origins, **how)
            except InputError as error:
                raise frames.explained(self.qrels, self.runs) or error from None


class SparkVerbs(LazyGroup):
    """The verbs of Spark by name."""

    NAMES = ("eval", "compare", "corpus")
    KIND = "command of `cranfield spark`"

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        verbs = {
            "eval": (EvalOnSpark, "Score runs against judgments."),
            "compare": (CompareOnSpark, "Test which differences between runs are significant."),
            "corpus": (CorpusOnSpark, "Count words, for measures that use document text."),
        }
        return verb(*verbs[cmd_name], name=cmd_name) if cmd_name in verbs else None


@click.group(cls=SparkVerbs, short_help="Evaluate, compare and count words on Apache Spark.")
def command() -> None:
    """Evaluate runs, compare them and count words where the data are stored, on Apache Spark.

    The results are those of `cranfield eval`, `compare` and `corpus`.
    """
