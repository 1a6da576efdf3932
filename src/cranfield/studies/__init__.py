"""Experiments about evaluation itself: what a change of method does to scores and to the order of systems.

A study takes runs and judgments and returns a frozen result that holds the settings that made it, can be saved as
one JSON file, and is drawn from that file again without computing anything twice.
"""
