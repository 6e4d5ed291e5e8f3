"""Rehearsal on public data: which configurations pass, how often, at what cost. Never reads private data.

The allocation of a release's budget to measured tables, sums and the joint test, chosen by rehearsal on public data.
"""
