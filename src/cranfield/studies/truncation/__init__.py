"""How do scores change when the end of a ranking counts as an answer?"""

from cranfield.studies.truncation.experiment import Truncation, c_at_1, transform, truncation

__all__ = ["Truncation", "c_at_1", "transform", "truncation"]
