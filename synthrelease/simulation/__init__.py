"""A public surrogate table drawn from published facts: margins, conditional tables and means, when no microdata exist.

`facts` reads the file, `bands` and `published` make its tables into arrays, `network` orders the columns along the tables
and fits each to its tables (`proportional`, `moments`), `drawing` draws the rows and `writing` writes them. Nothing here
sees private data and nothing here protects any: the draw has a seed.
"""

from synthrelease.simulation.drawing import simulate
from synthrelease.simulation.writing import check_table_path, write_table

__all__ = ["check_table_path", "simulate", "write_table"]
