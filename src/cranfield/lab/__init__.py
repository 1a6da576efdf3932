"""Experiments on evaluation itself, and simulated collections.

The studies are functions here, by their names: ``cranfield.lab.power(qrels, runs)``. Each is one module of
`cranfield.lab.studies`, which is loaded when it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cranfield.lab.studies import study_names

if TYPE_CHECKING:
    from cranfield.lab.simulation import Simulation as Simulation
    from cranfield.lab.simulation import simulate as simulate
    from cranfield.lab.study import run_on_collections as run_on_collections

# The names beside the studies, by module.
MODULES = {"run_on_collections": "study", "Simulation": "simulation", "simulate": "simulation"}


def __getattr__(name: str) -> Any:
    if name in study_names():
        return import_module("cranfield.lab.study").function_of(name)
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"cranfield.lab.{MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*study_names(), *MODULES})
