"""How long should a ranking be, and at which score should it be cut?"""

from cranfield.studies.stopping.experiment import Stopping, stopping

__all__ = ["Stopping", "stopping"]
