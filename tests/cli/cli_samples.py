"""What the tests of the command line share."""

from __future__ import annotations

from collections.abc import Callable

from click.testing import Result

from cranfield import example

Call = Callable[..., Result]
QRELS = str(example.path(example.QRELS))
RUNS = [str(example.path(name)) for name in example.RUNS]
BM25, DENSE, LLM, QUIET = RUNS
