"""``cranfield properties``: the command of the study of that name, as a verb of its own."""

from cranfield.studies.properties.command import command

__all__ = ["command"]
