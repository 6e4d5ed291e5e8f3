"""Publish noisy tables of counts of single columns of a private file, from which a release can be drafted without a public
file.
"""
