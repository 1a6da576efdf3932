"""What all tests share."""

import gc
import inspect
import os
from functools import partialmethod
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from hypothesis import settings

from cranfield import native

# A test that fails because the machine was busy says nothing about the code.
# A change is judged by its own faults in CI; elsewhere each run tries other examples.
settings.register_profile("patient", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("patient")

# What the package keeps between calls stays out of the home of whoever runs the tests.
os.environ["XDG_CACHE_HOME"] = str(Path(__file__).parents[1] / ".pytest_cache" / "home")

# Tables are as wide as on a small screen, whether or not there is one.
os.environ.setdefault("COLUMNS", "80")

# Before click 8.2, `stdout` of a result has the errors, too, unless a runner is told otherwise.
if "mix_stderr" in inspect.signature(CliRunner.__init__).parameters:
    runner: Any = CliRunner
    runner.__init__ = partialmethod(CliRunner.__init__, mix_stderr=False)


def pytest_collection_finish() -> None:
    """What was collected stays to the end: the garbage collector need not look through thousands of tests again."""
    gc.collect()
    gc.freeze()


if not native.NATIVE:
    # The plain reader was not chosen but is all there is: what is said of it would stand in every message.
    os.environ["CRANFIELD_PLAIN"] = "1"
