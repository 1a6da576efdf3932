"""Can judgments of one collection rank systems on another?"""

from cranfield.studies.reuse.experiment import Reuse, reuse

__all__ = ["Reuse", "reuse"]
