"""Run a release after its budget was reserved: check the private table, run rounds until an attempt is accepted, and return the
result.
"""
