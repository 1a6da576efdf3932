"""Evaluation where the data are: shards of whole queries in, the library's own functions on each, rows out.

Nothing below knows that engines exist. Scores of different queries are independent, to the last bit, so that an engine
has two duties: to bring the rows of a query together, and to add up what comes out.
"""
