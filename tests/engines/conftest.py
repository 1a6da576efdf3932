"""What needs Java is left to `make test-spark`."""

from __future__ import annotations

import os

collect_ignore = [] if os.environ.get("CRANFIELD_TEST_SPARK") else ["test_spark.py"]
