"""Judging: which documents to judge next, samples to draw, a page to judge on, and merging new judgments."""
