"""Rehearse releases on public data: which configurations are accepted, how often and at what cost. Never reads private data."""
