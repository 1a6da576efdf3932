"""``--engine spark``: evaluate where the data are; only summaries come back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cranfield.errors import CranfieldError, InputError

if TYPE_CHECKING:
    from cranfield.corpus import Corpus
    from cranfield.evaluation.collection import Collection
    from cranfield.spark import ScoreFrame


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
    from cranfield.spark.frames import FAILURES

    with _session(master) as session:
        frame, names = frames.read_runs(session, runs)
        on_spark = collection.changed(qrels=frames.read_qrels(session, collection.qrels))
        settings = {"columns": {"row": frames.ROW}, "names": list(names.values()), **settings}
        try:
            scores = spark.evaluate(on_spark, frame, list(measures), **settings)
        except InputError as error:
            raise frames.explained(session, collection.qrels, runs) or error from None
        if folder is not None:
            try:
                scores.frame.write.parquet(folder)
            except FAILURES as error:
                if "PATH_ALREADY_EXISTS" not in str(error):
                    raise
                raise InputError(
                    [f"{folder}: the folder already exists"], hint="--write-scores needs a new folder"
                ) from None
        yield scores, names


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
    from cranfield.spark.frames import FAILURES, reason, session

    spark_session = session(master)
    try:
        yield spark_session
    except FAILURES as error:
        raise CranfieldError(f"Spark failed: {reason(error)}") from None
    finally:
        spark_session.stop()
