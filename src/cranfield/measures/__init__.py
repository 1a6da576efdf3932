"""The measures, one module per family. Importing this package adds all of them to the catalogue."""

from cranfield.measures import (
    answering,
    average_precision,
    content,
    diversity,
    foraging,
    gain,
    ntcireval,
    precision,
    preference,
    preference_judgments,
    reciprocal_rank,
    sampled,
    trec,
    user_model,
)
from cranfield.measures.catalogue import CATALOGUE, Definition, Measure
from cranfield.measures.grammar import parse
from cranfield.measures.own import measure

# The order of the documentation.
FAMILIES = (
    precision,
    average_precision,
    reciprocal_rank,
    answering,
    gain,
    user_model,
    foraging,
    preference,
    preference_judgments,
    diversity,
    content,
    sampled,
    trec,
    ntcireval,
)
for _family in FAMILIES:
    for _symbol in [d.symbol for d in CATALOGUE.values() if d.function.__module__ == _family.__name__]:
        CATALOGUE[_symbol] = CATALOGUE.pop(_symbol)

__all__ = ["CATALOGUE", "FAMILIES", "Definition", "Measure", "measure", "parse"]
