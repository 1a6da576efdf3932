"""Statistics on scores: agreement between orders of systems, and the significance of differences.

Functions of arrays, (system, query) or one score per system. Nothing here reads files or accepts undefined scores.
"""
