"""Which measures order systems in the same way?"""

from cranfield.studies.correlation.experiment import Correlation, correlation

__all__ = ["Correlation", "correlation"]
