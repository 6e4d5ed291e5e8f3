"""Publish noisy tables of the single columns of a private file. A release can be drafted from them if there is no public
file.
"""
