"""Where private data are: reading files to counts, the door that `spend` opens, the rows that a release works with, and what
keeps them in.
"""
