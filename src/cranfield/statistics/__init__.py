"""How systems compare: agreement between orders of systems, and what differences between their scores can be trusted.

Functions of arrays: systems by topics, or one score for each system. Nothing here knows of files, and nothing takes
an undefined score.
"""
