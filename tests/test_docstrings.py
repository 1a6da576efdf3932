"""What people call has a docstring that tools can read: parameters, what is returned, and an example."""

from __future__ import annotations

import inspect
from importlib import import_module
from types import ModuleType

import pytest


def public(name: str) -> ModuleType:
    if name == "cranfield.tensors":
        pytest.importorskip("torch")
        pytest.importorskip("torchmetrics")
    if name == "cranfield.spark":
        pytest.importorskip("pyspark")
    return import_module(name)


def sections(thing: object) -> list[str]:
    """What a docstring lacks."""
    text = inspect.getdoc(thing) or ""
    needed = ["Examples"]
    if inspect.isfunction(thing):
        needed += ["Parameters"] if inspect.signature(thing).parameters else []
        needed += ["Returns"] if inspect.signature(thing).return_annotation not in (None, "None") else []
    return [title for title in needed if f"{title}\n{'-' * len(title)}\n" not in text]


MODULES = ["", ".stats", ".tensors", ".spark", ".lab", ".judging"]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_of_what_people_call_are_complete(name: str) -> None:
    module = public(f"cranfield{name}")
    # Modules of their own are rows of this test; some need packages that may not be installed.
    names = [each for each in dir(module) if not each.startswith("_") and f".{each}" not in MODULES]
    things = {each: getattr(module, each) for each in names}
    lacking = {
        name: missing
        for name, thing in things.items()
        if callable(thing) and not (inspect.isclass(thing) and issubclass(thing, Exception))
        if (missing := sections(thing))
    }
    assert not lacking


@pytest.mark.parametrize("name", [*MODULES, ".testing", ".measures"])
def test_dir_shows_public_names_alone(name: str) -> None:
    module = public(f"cranfield{name}")
    names = dir(module)
    private = {each for each in names if each.startswith("_")} - {"__version__"}
    assert not private
