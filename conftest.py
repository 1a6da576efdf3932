"""The names that examples in docstrings use without importing them, as in the manual."""

from typing import Any

import pytest

import cranfield


@pytest.fixture(autouse=True, scope="session")
def cf_in_examples(doctest_namespace: dict[str, Any]) -> None:
    """``cf`` is the package."""
    doctest_namespace["cf"] = cranfield
