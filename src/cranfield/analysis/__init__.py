"""What scores mean: audits, comparisons, per-query differences, explanations. Each takes an evaluation or its scores."""
