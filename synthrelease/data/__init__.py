"""Public descriptions of tables for all other parts of the program. The descriptions are bins, rules, columns and schema,
counts of cells, and masks of plausible cells.
"""
