"""Tables of three columns, and of two and one with a prior."""

EXAMPLES = ({"tables": "all 3-way"}, {"tables": "all 2-way + 2 all 1-way", "prior_weight": 0.001})

ENUMERATED = ("marginals",)
