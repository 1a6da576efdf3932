"""The measures, one file per family; importing this enters them all into the catalogue."""

from cranfield.measures import average_precision, gain, precision, preference, reciprocal_rank, user_model
from cranfield.measures.catalogue import CATALOGUE, Definition, Measure
from cranfield.measures.grammar import parse

FAMILIES = (precision, average_precision, reciprocal_rank, gain, user_model, preference)

__all__ = ["CATALOGUE", "FAMILIES", "Definition", "Measure", "parse"]
