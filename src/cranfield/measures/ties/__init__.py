"""Ties: how the expectation of a measure over the orders of tied documents is taken.

- `strategies`: what a measure declares, and where to begin reading.
- `over_cuts`, `over_orders`: which rankings the ties of a query leave possible, and how likely each is.
- `expectation`: the mean of a measure over possible rankings.
- `positions`: means over the positions of tied documents, for the closed forms of measures, too.
- `estimate`: what comes out, and up to how many possibilities it is exact.
"""
