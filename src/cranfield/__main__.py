"""``python -m cranfield`` is the command ``cranfield``."""

from cranfield.cli.main import main

main()
