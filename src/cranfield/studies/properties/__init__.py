"""Which numeric properties does a measure have?"""

from cranfield.studies.properties.experiment import PROPERTIES, Properties, properties

__all__ = ["PROPERTIES", "Properties", "properties"]
