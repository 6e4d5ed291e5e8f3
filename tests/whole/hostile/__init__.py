"""Hostile files, generated from a seed, given to the command line: each must end with a clear error, soon, in little memory.

Run by hand (a few minutes): `python -m tests.whole.hostile` makes 10,000 cases and prints a table. `--seed`, `--cases` and
`--only` choose others. tests/whole/test_hostile.py runs some hundred of them in the default suite.

`toml_texts`, `csv_files`, `parquet_files`, `other_formats` and `ledgers` make the files, `cases` says which command gets them,
`watch` runs them in a process of limited memory and judges what came of it.
"""
