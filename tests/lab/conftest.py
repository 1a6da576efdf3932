"""Makes `study_samples` importable for the tests of every study, and a track that several of them study."""

from __future__ import annotations

import pytest

import cranfield as cf
from cranfield.lab.simulation import Simulation


@pytest.fixture(scope="session")
def simulated() -> Simulation:
    """Sixteen systems of known quality, twenty queries, and a pool of the first 15 documents of each list."""
    return cf.simulate(queries=20, systems=16, documents=1500, depth=60, pool_depth=15, seed=1)
