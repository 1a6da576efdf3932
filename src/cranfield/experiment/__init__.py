"""Experiments: one file that says what is evaluated, compared, checked and written; and their history."""
