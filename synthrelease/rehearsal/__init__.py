"""Rehearsal on public data: which configurations pass, how often, at what cost. Never reads private data."""
