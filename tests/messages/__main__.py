"""Writes the snapshot anew: ``python -m tests.messages``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from snapshot_of_messages import SNAPSHOT, messages

SNAPSHOT.write_text(messages(), encoding="utf-8")
print(SNAPSHOT)
