"""Describe tables, for all other parts of the program: bins, rules, columns, schemas, counts of cells, and masks of plausible
cells.
"""
