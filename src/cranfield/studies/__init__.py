"""Experiments on evaluation itself: how a change of method affects scores and the order of systems.

Each study is a folder: ``experiment.py`` computes a frozen result that holds its settings, ``tables.py`` and
``figures.py`` present it, ``command.py`` is its command. `registry` finds the folders. A result can be saved as one
JSON file and shown again without computing anything.
"""
