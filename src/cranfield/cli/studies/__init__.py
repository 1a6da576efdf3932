"""``cranfield study NAME``: one file for each study, each with a `command`."""
