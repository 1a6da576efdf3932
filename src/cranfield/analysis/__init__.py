"""What scores mean: audits, comparisons, per-query differences, explanations; each of an evaluation or its scores."""
