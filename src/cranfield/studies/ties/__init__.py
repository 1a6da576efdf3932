"""How much do tied scores affect measures and the order of systems?"""

from cranfield.studies.ties.experiment import Ties, ties

__all__ = ["Ties", "ties"]
