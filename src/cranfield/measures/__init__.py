"""The measures, one module per family. Importing this package adds all of them to the catalogue."""

from importlib import import_module

from cranfield.measures.catalogue import CATALOGUE, Definition, Measure
from cranfield.measures.grammar import parse
from cranfield.measures.own import measure

# The order of the documentation.
_NAMES = """
precision average_precision reciprocal_rank answering items gain user_model foraging preference preference_judgments
diversity spans content sampled trec ntcireval
"""
FAMILIES = tuple(import_module(f"{__name__}.{name}") for name in _NAMES.split())
_MODULES = [family.__name__ for family in FAMILIES]
for _symbol in sorted(CATALOGUE, key=lambda symbol: _MODULES.index(CATALOGUE[symbol].function.__module__)):
    CATALOGUE[_symbol] = CATALOGUE.pop(_symbol)

__all__ = ["CATALOGUE", "FAMILIES", "Definition", "Measure", "measure", "parse"]


def __dir__() -> list[str]:
    return __all__
