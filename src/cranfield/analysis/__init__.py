"""Analyses of an evaluation or its scores: audits, comparisons, per-query differences, explanations."""
