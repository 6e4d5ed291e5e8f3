"""Publish a noisy table of counts for each column of a private file. The draft of a release can be based on these tables if
there is no public file.
"""
