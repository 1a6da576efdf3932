"""Packs the worked cases that the package ships: ``python tests/golden``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from cranfield.conformance import CASES
from golden_cases import packed

CASES.write_bytes(packed())
print(CASES)
