"""Noisy tables of single columns, published where there is no public file."""
