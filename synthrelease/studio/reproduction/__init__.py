"""The tables of the five sources, computed anew beside the printed values, and the errors found in the sources.

`printed.toml` has what the sources print, `tables` what follows from formulas, `experiments` what has to be run. `synthrelease
reproduce` writes the page docs/sources.md. Only public and made-up data are used; nothing is spent.
"""
