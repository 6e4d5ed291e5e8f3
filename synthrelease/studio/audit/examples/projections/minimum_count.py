"""Every way to keep rows, for small and larger counts."""

EXAMPLES = (
    {"minimum_count": 1},
    {"minimum_count": 2},
    {"minimum_count": 5},
    {"minimum_count": 3, "keep": "spread"},
    {"minimum_count": 4, "keep": "nested"},
)
