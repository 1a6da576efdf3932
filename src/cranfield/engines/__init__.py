"""Distributed evaluation: shards of complete queries in, the library's own functions on each shard, rows out.

The rest of the library does not know about engines. Scores of different queries are independent, so an engine has two
duties: bring the rows of a query together, and add up the results.
"""
