"""How far do few judgments go: strategies, pairs of runs, and predicted judgments?"""

from cranfield.studies.judging.experiment import Judging, judging

__all__ = ["Judging", "judging"]
