"""Public descriptions of tables for all other parts of the program: bins, rules, columns and schema; counts of cells; masks of
plausible cells.
"""
