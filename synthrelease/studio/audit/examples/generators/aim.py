"""Few rounds of two columns, and of three."""

EXAMPLES = ({"rounds": 3}, {"rounds": 4, "degree": 3})
