"""A line that is fitted once, and one that is fitted in every round."""

_LINE = {"target": "c", "features": ["a", "b"], "representation": {"a": "single", "b": "single", "c": "single"}}
EXAMPLES = ([{"fit": "once", **_LINE}], [{"fit": "every_round", **_LINE}])
SWEEPS = ()
"""Its moments are enumerated with the models (`model_sensitivity`)."""

ENUMERATED = ("functional mechanism",)
