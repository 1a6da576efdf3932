"""Ties: how the expectation of a measure over the orders of tied documents is taken."""
