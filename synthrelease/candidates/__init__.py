"""From a configuration to a candidate: the space that is drawn from, generators, projections, one attempt up to the synthetic
table.
"""
