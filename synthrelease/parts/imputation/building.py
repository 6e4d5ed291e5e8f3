"""[imputation] against the schema, and how large its file can be."""

from __future__ import annotations

from synthrelease.errors import closest, listing
from synthrelease.settings.mistakes import Problems
from synthrelease.settings.options import ImputationTable
from synthrelease.spec.part import Building, Surroundings

DIGITS = 24
"""Bytes of the number of a copy, of a row, and of the signs between, at most."""


class ImputationBuilding(Building[ImputationTable, ImputationTable]):
    def build(self, table: ImputationTable, around: Surroundings, problems: Problems) -> ImputationTable:
        """There are gaps to fill, and the columns that rows should agree in are columns."""
        schema = around.schema
        if schema.linked is not None:
            expected = "no such table where records have members: a copy would be one table of roots with all their members"
            problems.add("imputation", expected, "one")
        if all(column.missing != "bin" for column in schema.columns):
            expected = 'a column in which missing values are a bin (missing = "bin"): elsewhere there are no gaps to fill'
            problems.add("imputation", expected, "none")
        for column in schema.columns:
            if gaps := [name for name in column.counts or () if schema[name].missing == "bin"]:
                expected = (
                    f"no gaps in columns that {column.name!r} counts: it stays as it is, with no mark for a gap, "
                    "so that no copy could fill in a mark"
                )
                problems.add("imputation", expected, f'{listing(gaps)} with missing = "bin"')
        for name in table.match or ():
            if name not in schema.by_name:
                expected = f"columns ({listing(schema.names)})"
                problems.add("imputation.match", expected, repr(name), closest(name, schema.names))
        if len(set(table.match or ())) != len(table.match or ()):
            problems.add("imputation.match", "each column once", listing(table.match or ()))
        return table

    def bytes_of_a_row(self, value: ImputationTable, longest: int, files: int) -> int:
        """In each copy."""
        return value.copies * (longest + DIGITS)


BUILDING = ImputationBuilding()
