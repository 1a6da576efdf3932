"""Which measures order systems alike?"""

from cranfield.studies.correlation.experiment import Correlation, correlation

__all__ = ["Correlation", "correlation"]
