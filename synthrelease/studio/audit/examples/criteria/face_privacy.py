"""Rows that are too rare, in all columns and in pairs."""

EXAMPLES = (
    [{"minimum_count": 2, "threshold": 0, "epsilon": 0}],
    [{"minimum_count": 2, "columns": 2, "threshold": 0, "epsilon": 0}],
)
SWEEPS = ()
"""It looks at released rows alone."""
