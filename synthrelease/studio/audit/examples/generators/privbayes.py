"""Both ways to choose a network."""

EXAMPLES = (
    {"flavour": "theta", "theta": 0.5, "epsilon_split": "0.3"},
    {"flavour": "degree", "degree": 2, "epsilon_split": "0.1", "selector": "exponential"},
)

ENUMERATED = ("PrivBayes",)
