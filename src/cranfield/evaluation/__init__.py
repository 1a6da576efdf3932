"""From runs and judgments to scores: the policy, the evaluator, one evaluation, its scores and notes."""
