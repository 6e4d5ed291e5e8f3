"""Public descriptions of tables for all other components: bins, rules, columns and schema; counts of cells; masks of plausible
cells.
"""
