"""One level of areas: with tables of two columns, and with a division by what is wanted."""

EXAMPLES = (
    {"areas": "a", "tables": "all 2-way"},
    {"areas": "a", "tables": "2 all 2-way + all 1-way", "wanted": "0.01 > 0.1"},
)

ENUMERATED = ("marginals",)
