"""`load`: any saved result, whatever its kind."""

from __future__ import annotations

import os
from typing import Any

from cranfield.codec import PathLike, Saved, content
from cranfield.errors import InputError

WHAT = "saved scores, groups, a comparison or a study"
HINT = "save them with `result.save(FILE)` or `--format json -o FILE`"


def load(path: PathLike) -> Any:
    """Read saved scores, groups, a comparison or a study.

    All numbers are the same to the last digit; notes become plain sentences.

    Parameters
    ----------
    path
        A file that ``save`` of the result, or ``--format json -o FILE``, wrote.

    Returns
    -------
    Scores, Groups, Comparison or a result of a study

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.load("scores.json").means  # doctest: +SKIP
    {'run': {'RR': 0.5}}
    """
    data = content(path, WHAT, HINT)
    saved: type[Saved]
    match data.get("kind"):
        case "scores":
            from cranfield.evaluation.scores import Scores

            saved = Scores
        case "groups":
            from cranfield.evaluation.designs import Groups

            saved = Groups
        case "comparison":
            from cranfield.analysis.compare import Comparison

            saved = Comparison
        case "study":
            from cranfield.lab.study import StudyResult

            saved = StudyResult
        case _:
            raise InputError([f"{os.fspath(path)}: not {WHAT}"], hint=HINT)
    return saved._from_file_data(data, path)
