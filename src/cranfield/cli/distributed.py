"""``--engine spark``: the same evaluation where the data are, and only its summaries here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cranfield.errors import CranfieldError, InputError, UsageError

if TYPE_CHECKING:
    from cranfield.corpus import Corpus
    from cranfield.engines.spark import Scores


def accept(
    engine: str, *, master: str | None, scores: str | None = None, per_query: bool = False, interval: bool = False
) -> None:
    """An error where what was asked for is the other engine's."""
    if engine == "spark" and per_query:
        raise UsageError(
            "with --engine spark the scores of queries stay where the data are", hint="--scores DIR keeps them"
        )
    if engine == "spark" and interval:
        raise UsageError("--engine spark has no intervals", hint="write scores with --scores, and resample those")
    if engine == "local" and (master or scores):
        raise UsageError(f"{'--master' if master else '--scores'} is for --engine spark")


@contextmanager
def scored(
    qrels: str, runs: Sequence[str], measures: Sequence[Any], master: str | None, keep: str | None, how: dict[str, Any]
) -> Iterator[tuple[Scores, Mapping[str, str]]]:
    """Runs that Spark reads and scores, and what those are called that are a file each.

    ``keep`` is where Spark writes the scores of queries.
    """
    from cranfield.engines import spark
    from cranfield.engines.spark import files

    with _session(master) as made:
        frame, names = files.read_runs(made, runs)
        judged = files.read_qrels(made, qrels)
        how = {"columns": {"row": files.ROW}, "names": list(names.values()), **how}
        try:
            found = spark.evaluate(judged, frame, list(measures), **how)
        except InputError as error:
            raise files.explained(made, qrels, runs) or error from None
        if keep is not None:
            _keep(found, keep)
        yield found, names


def _keep(found: Scores, folder: str) -> None:
    from cranfield.engines.spark.session import FAILURES

    try:
        found.write.parquet(folder)
    except FAILURES as error:
        if "PATH_ALREADY_EXISTS" not in str(error):
            raise
        raise InputError(
            [f"{folder}: there is something already"], hint="--scores takes a folder that is new"
        ) from None


def counted(
    sources: Sequence[str], qrels: str | None, runs: Sequence[str], master: str | None, how: dict[str, Any]
) -> Corpus:
    """The corpus of a collection that Spark reads and counts."""
    from cranfield.corpus.corpus_file import Origin
    from cranfield.engines import spark
    from cranfield.engines.spark import files

    origins = [Origin.of(source) for source in sources]
    with _session(master) as made:
        texts = files.read_texts(made, sources)
        judged = None if qrels is None else files.read_qrels(made, qrels)
        frame = files.read_runs(made, runs)[0] if runs else None
        try:
            return spark.corpus(texts, qrels=judged, runs=frame, origins=origins, **how)
        except InputError as error:
            raise files.explained(made, qrels, runs) or error from None


@contextmanager
def _session(master: str | None) -> Iterator[Any]:
    """A session to work in; what Spark says when it gives up is told in a line."""
    from cranfield.engines.spark.session import FAILURES, reason, session

    made = session(master)
    try:
        yield made
    except FAILURES as error:
        raise CranfieldError(f"Spark gave up: {reason(error)}") from None
    finally:
        made.stop()
