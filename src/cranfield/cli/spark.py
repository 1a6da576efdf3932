"""``--engine spark``: evaluate where the data are; only summaries come back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cranfield.errors import CranfieldError, InputError, UsageError
from cranfield.io.ids import Duplicates

if TYPE_CHECKING:
    from cranfield.corpus import Corpus
    from cranfield.evaluation.collection import Collection
    from cranfield.spark import ScoreFrame


def check_options(
    engine: str,
    *,
    master: str | None,
    write_scores: str | None = None,
    settings: Mapping[str, Any] | None = None,
    per_query: bool = False,
    interval: bool = False,
    duplicates: Duplicates = "error",
) -> None:
    """Raise if an option does not work with the chosen engine."""
    if engine == "spark" and per_query:
        raise UsageError("--per-query does not work with --engine spark", hint="use --write-scores DIR to write them")
    if engine == "spark" and interval:
        raise UsageError(
            "--interval does not work with --engine spark",
            hint="use --write-scores DIR to write per-query scores, and compute intervals from these",
        )
    if engine == "spark" and duplicates != "error":
        raise UsageError("--duplicates does not work with --engine spark")
    for name in ("costs", "predicted"):
        if engine == "spark" and settings is not None and settings[name] is not None:
            raise UsageError(f"--{name} does not work with --engine spark")
    if engine == "local" and (master or write_scores):
        raise UsageError(f"{'--master' if master else '--write-scores'} needs --engine spark")


@contextmanager
def evaluate(
    collection: Collection,
    runs: Sequence[str],
    measures: Sequence[Any],
    master: str | None,
    folder: str | None,
    settings: dict[str, Any],
) -> Iterator[tuple[ScoreFrame, Mapping[str, str]]]:
    """The scores of runs that Spark reads, and the names of the runs by file.

    ``folder`` is where Spark writes per-query scores.
    """
    from cranfield import spark
    from cranfield.spark import frames

    with _session(master) as session:
        frame, names = frames.read_runs(session, runs)
        on_spark = collection.changed(qrels=frames.read_qrels(session, collection.qrels))
        settings = {"columns": {"row": frames.ROW}, "names": list(names.values()), **settings}
        try:
            scores = spark.evaluate(on_spark, frame, list(measures), **settings)
        except InputError as error:
            raise frames.explained(session, collection.qrels, runs) or error from None
        if folder is not None:
            _write_scores(scores, folder)
        yield scores, names


def _write_scores(scores: ScoreFrame, folder: str) -> None:
    from cranfield.spark.session import FAILURES

    try:
        scores.frame.write.parquet(folder)
    except FAILURES as error:
        if "PATH_ALREADY_EXISTS" not in str(error):
            raise
        raise InputError([f"{folder}: the folder already exists"], hint="--write-scores needs a new folder") from None


def build_corpus(
    sources: Sequence[str], qrels: str | None, runs: Sequence[str], master: str | None, settings: dict[str, Any]
) -> Corpus:
    """The corpus of a collection that Spark reads and counts."""
    from cranfield import spark
    from cranfield.corpus.corpus_file import Origin
    from cranfield.spark import frames

    origins = [Origin.of(source) for source in sources]
    with _session(master) as session:
        texts = frames.read_texts(session, sources)
        judgments = None if qrels is None else frames.read_qrels(session, qrels)
        frame = frames.read_runs(session, runs)[0] if runs else None
        try:
            return spark.corpus(texts, qrels=judgments, runs=frame, origins=origins, **settings)
        except InputError as error:
            raise frames.explained(session, qrels, runs) or error from None


@contextmanager
def _session(master: str | None) -> Iterator[Any]:
    """A Spark session; its failures become errors of one line."""
    from cranfield.spark.session import FAILURES, reason, session

    spark_session = session(master)
    try:
        yield spark_session
    except FAILURES as error:
        raise CranfieldError(f"Spark failed: {reason(error)}") from None
    finally:
        spark_session.stop()
