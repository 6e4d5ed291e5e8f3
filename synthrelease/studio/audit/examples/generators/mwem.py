"""Queries of tables, and of one column more."""

EXAMPLES = (
    {"queries": 30, "iterations": 30, "inner_updates": 60},
    {"queries": 60, "iterations": 60, "inner_updates": 900, "marginal": 1},
)
