"""Write a simulation to files in the usual formats of test collections."""

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
from cranfield.lab.simulation import Simulation

TRUTH = "truth.json"
FILES = ("qrels.txt", "qrels.diversity.txt", "qrels.complete.txt", "docs.jsonl", "queries.jsonl", TRUTH)
RUN = re.compile(r"s\d+\.run")


def save(
    simulation: Simulation,
    folder: str | os.PathLike[str],
    *,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Write the collection into a new folder; the folder appears when all files are written.

    ``force`` replaces a folder that holds another simulation. Files:

    ``qrels.txt``, ``qrels.diversity.txt`` and ``qrels.complete.txt``; ``docs.jsonl`` and ``queries.jsonl``;
    ``runs/*.run``; ``truth.json``.
    """
    target = Path(folder)
    with _new_folder(target, force=force) as draft:
        write_qrels(replace(simulation.judgments, labels=None), draft / "qrels.txt")
        write_qrels(simulation.judgments, draft / "qrels.diversity.txt")
        write_qrels(simulation.complete, draft / "qrels.complete.txt")
        texts = zip(simulation.text_model.collection.documents, simulation.text_model.texts(), strict=True)
        _lines(draft / "docs.jsonl", texts)
        _lines(draft / "queries.jsonl", iter(simulation.queries.items()))
        (draft / "runs").mkdir()
        for i, run in enumerate(simulation.runs):
            write_run(run, draft / "runs" / f"{run.name}.run")
            if progress is not None:
                progress(i + 1, len(simulation.runs))
        (draft / TRUTH).write_text(json.dumps(simulation.truth, indent=1) + "\n", encoding="ascii")
    return target


def check(folder: str | os.PathLike[str], *, force: bool = False) -> None:
    """Raise if the collection cannot be written to the folder."""
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise InputError([f"{target}: is a file; a simulation needs a folder"])
    if target.is_dir() and target.samefile(Path.cwd()):
        raise InputError([f"{target}: is the current folder"], hint="choose another folder, which will be created")
    if not target.exists() or not any(target.iterdir()):
        return
    if not force:
        raise InputError(
            [f"{target}: the folder is not empty"], hint="choose another folder, or replace it with --force"
        )
    other = _foreign_file(target)
    if other is not None or not (target / TRUTH).is_file():
        example = f", such as `{other}`" if other else ""
        raise InputError(
            [f"{target}: the folder holds files that are not part of a simulation{example}"],
            hint="--force replaces simulations only; empty the folder, or choose another one",
        )


def _foreign_file(target: Path) -> str | None:
    """A file in the folder that is not part of a simulation, if there is one."""
    runs = target / "runs"
    foreign = sorted(path for path in target.iterdir() if path.name not in FILES and path != runs)
    foreign += sorted(path for path in runs.iterdir() if not RUN.fullmatch(path.name)) if runs.is_dir() else []
    return str(foreign[0].relative_to(target)) if foreign else None


@contextmanager
def _new_folder(target: Path, *, force: bool) -> Iterator[Path]:
    """A temporary folder that replaces the target when all files are written."""
    check(target, force=force)
    target = target.resolve()  # keep symbolic links
    suffix = secrets.token_hex(4)
    draft, old = (target.with_name(f".{target.name}.{suffix}.{kind}") for kind in ("part", "old"))
    try:
        try:
            draft.mkdir(parents=True)
        except OSError as error:
            raise InputError([f"{target}: cannot be created: {(error.strerror or str(error)).lower()}"]) from error
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
