"""Recompute the tables of the five source papers, compare them with the printed values, and list the errors found in the
papers.

`printed.toml` has the printed values, `tables` the tables that follow from formulas, and `experiments` the tables that need
experiments. `make sources` writes the page docs/sources.md. Only public and made-up data are used, and nothing is
spent.
"""
