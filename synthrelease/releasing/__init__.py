"""A release as it runs: one attempt, the loops that select among rounds, worker processes, memory, the dry run on made-up
rows.
"""
