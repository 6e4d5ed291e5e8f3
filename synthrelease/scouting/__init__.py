"""Publish noisy tables of the single columns of a private file, where there is no public file to draft a release from."""
