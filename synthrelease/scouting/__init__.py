"""Publish noisy tables of counts, each of a single column of a private file. The draft of a release can be based on these
tables if there is no public file.
"""
