"""Ties: the expectation of a measure over the orders of tied documents.

- `strategies`: what a measure declares; start reading here.
- `over_cuts`, `over_orders`: the possible rankings of a query with ties, and their probabilities.
- `expectation`: the mean of a measure over possible rankings.
- `positions`: means over the positions of tied documents; closed forms of measures use them, too.
- `estimate`: the result, and the limits up to which it is exact.
"""
