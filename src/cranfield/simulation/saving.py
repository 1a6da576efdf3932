"""A simulation as files, the way real collections come."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from cranfield.errors import InputError
from cranfield.io import write_qrels, write_run
from cranfield.simulation import Simulation

TRUTH = "truth.json"
FILES = ("qrels.txt", "qrels.diversity.txt", "qrels.complete.txt", "docs.jsonl", "queries.jsonl", TRUTH)
RUN = re.compile(r"s\d+\.run")


def save(
    made: Simulation,
    folder: str | os.PathLike[str],
    *,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Write the collection into a new folder, which appears whole or not at all; ``force`` replaces another simulation.

    ``qrels.txt``, ``qrels.diversity.txt`` and ``qrels.complete.txt``; ``docs.jsonl`` and ``queries.jsonl``;
    ``runs/*.run``; ``truth.json``.
    """
    target = Path(folder)
    with _fresh(target, force) as draft:
        write_qrels(replace(made.judgments, labels=None), draft / "qrels.txt")
        write_qrels(made.judgments, draft / "qrels.diversity.txt")
        write_qrels(made.complete, draft / "qrels.complete.txt")
        texts = zip(made.language.world.documents, made.language.texts(), strict=True)
        _lines(draft / "docs.jsonl", texts)
        _lines(draft / "queries.jsonl", iter(made.queries.items()))
        (draft / "runs").mkdir()
        for i, run in enumerate(made.runs):
            write_run(run, draft / "runs" / f"{run.name}.run")
            if progress is not None:
                progress(i + 1, len(made.runs))
        (draft / TRUTH).write_text(json.dumps(made.truth, indent=1) + "\n", encoding="ascii")
    return target


def check(folder: str | os.PathLike[str], *, force: bool = False) -> None:
    """Complains where a collection cannot be written, before one is made."""
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise InputError([f"{target}: this is a file; a simulation is a folder"])
    if target.is_dir() and target.samefile(Path.cwd()):
        raise InputError([f"{target}: this is where you are"], hint="choose another folder, which will be made")
    if not target.exists() or not any(target.iterdir()):
        return
    if not force:
        raise InputError([f"{target}: the folder is not empty"], hint="choose another one, or --force to replace it")
    other = _other(target)
    if other is not None or not (target / TRUTH).is_file():
        raise InputError(
            [f"{target}: the folder holds other things than a simulation{f', such as `{other}`' if other else ''}"],
            hint="--force replaces simulations alone; empty the folder, or choose another one",
        )


def _other(target: Path) -> str | None:
    """Something in a folder that no simulation has written there."""
    runs = target / "runs"
    inside = sorted(path for path in target.iterdir() if path.name not in FILES and path != runs)
    inside += sorted(path for path in runs.iterdir() if not RUN.fullmatch(path.name)) if runs.is_dir() else []
    return str(inside[0].relative_to(target)) if inside else None


@contextmanager
def _fresh(target: Path, force: bool) -> Iterator[Path]:
    """A folder beside the target that takes its place once everything is in it."""
    check(target, force=force)
    target = target.resolve()  # a link to a folder stays one
    mark = secrets.token_hex(4)
    draft, old = (target.with_name(f".{target.name}.{mark}.{what}") for what in ("part", "old"))
    try:
        try:
            draft.mkdir(parents=True)
        except OSError as error:
            raise InputError([f"{target}: cannot be written: {(error.strerror or str(error)).lower()}"]) from error
        yield draft
        if target.exists():
            target.rename(old)
        draft.rename(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        if old.exists() and not target.exists():
            old.rename(target)
        shutil.rmtree(old, ignore_errors=True)


def _lines(path: Path, pairs: Iterator[tuple[str, str]]) -> None:
    with path.open("w", encoding="ascii") as file:
        file.writelines(json.dumps({"id": name, "text": text}) + "\n" for name, text in pairs)
