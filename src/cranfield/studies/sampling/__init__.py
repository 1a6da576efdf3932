"""How many judgments does a reliable order of systems need?"""

from cranfield.studies.sampling.experiment import Sampling, sampling

__all__ = ["Sampling", "sampling"]
