"""Single columns, and pairs."""

EXAMPLES = ({"columns": 1, "minimum_count": 4}, {"columns": 2, "minimum_count": 3})
