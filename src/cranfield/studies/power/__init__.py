"""How many pairs of systems does a measure distinguish, and how many queries does that take?"""

from cranfield.studies.power.experiment import Power, power

__all__ = ["Power", "power"]
