"""What needs Java is left to `make test-spark`; there, one session with worker processes of its own serves all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

collect_ignore_glob = [] if os.environ.get("CRANFIELD_TEST_SPARK") else ["*spark*.py"]

# Hardly anything here runs for long enough to be worth compiling well, or for collectors with threads of their own.
BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Two workers with a core and an executor process each."""
    from cranfield.spark.frames import session

    made = session(
        "local-cluster[2,1,1024]",
        **{
            "spark.driver.memory": "1g",
            "spark.driver.extraJavaOptions": BRIEF,
            "spark.executor.extraJavaOptions": BRIEF,
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "4",
            "spark.default.parallelism": "2",
            # Executors are killed: what they had is asked for again at once, and a busy machine may take its time.
            "spark.shuffle.io.retryWait": "200ms",
            "spark.task.maxFailures": "20",
            "spark.stage.maxConsecutiveAttempts": "20",
            "spark.network.timeout": "3600s",
        },
    )
    yield made
    made.stop()
