"""Fewer queries than there are, and queries of three columns."""

EXAMPLES = ({"queries": 30, "iterations": 20}, {"queries": 59, "iterations": 30, "marginal": 3})
