"""What all tests share."""

from hypothesis import settings

# A test that fails because the machine was busy says nothing about the code.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
