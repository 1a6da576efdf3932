"""How do scores and orders of systems change as judgments or queries are removed?"""

from cranfield.studies.reduction.experiment import Reduction, reduction

__all__ = ["Reduction", "reduction"]
