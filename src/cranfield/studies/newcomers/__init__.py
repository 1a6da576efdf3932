"""Are the judgments fair to a run that did not contribute to the pool?"""

from cranfield.studies.newcomers.experiment import Newcomers, newcomers

__all__ = ["Newcomers", "newcomers"]
