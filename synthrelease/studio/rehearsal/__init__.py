"""Rehearsals on public data: which configurations pass, how often and at what cost. Never reads private data."""
