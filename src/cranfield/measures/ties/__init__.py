"""Ties: the expectation of a measure over the orders of tied documents; `strategies` has what measures declare."""
