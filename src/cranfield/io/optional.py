"""Packages that are imported only where they are used, and may not be there."""

from __future__ import annotations

import importlib
from typing import Any

from cranfield.errors import MissingDependency


def optional(module: str, what: str, extra: str) -> Any:
    """The module, or an error that says what needs it and how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise MissingDependency(what, extra) from error


def available(module: str) -> Any:
    """The module, or None where it is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        return None
