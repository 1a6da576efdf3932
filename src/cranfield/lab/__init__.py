"""Experiments on evaluation itself, and simulated collections.

The studies are functions here, by their names: ``cranfield.lab.power(qrels, runs)``. Each is one module of
`cranfield.lab.studies`, which is loaded when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cranfield.lab.studies import study_names

if TYPE_CHECKING:
    from cranfield.lab.registry import run_on_collections as run_on_collections
    from cranfield.lab.simulation import Simulation as Simulation
    from cranfield.lab.simulation import simulate as simulate
    from cranfield.lab.studies.correlation import correlation as correlation
    from cranfield.lab.studies.judging import judging as judging
    from cranfield.lab.studies.newcomers import newcomers as newcomers
    from cranfield.lab.studies.power import power as power
    from cranfield.lab.studies.properties import properties as properties
    from cranfield.lab.studies.reduction import reduction as reduction
    from cranfield.lab.studies.reuse import reuse as reuse
    from cranfield.lab.studies.sampling import sampling as sampling
    from cranfield.lab.studies.stopping import StoppingResult
    from cranfield.lab.studies.ties import ties as ties
    from cranfield.lab.studies.truncation import truncation as truncation

    stopping: Callable[..., StoppingResult]

# The names beside the studies, by module.
MODULES = {
    "lab.registry": ("run_on_collections",),
    "lab.simulation": ("Simulation", "simulate"),
}


def __getattr__(name: str) -> Any:
    module = f"lab.studies.{name}" if name in study_names() else None
    module = next((module for module, names in MODULES.items() if name in names), module)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "stopping":
        return import_module("cranfield.lab.study").function_of(name)
    return getattr(import_module(f"cranfield.{module}"), name)


def __dir__() -> list[str]:
    return sorted({*study_names(), *(name for names in MODULES.values() for name in names)})
