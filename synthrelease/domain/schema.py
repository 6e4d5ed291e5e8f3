"""The public shape of a table: columns, atomic bins, and the alternative binnings that a transformation may choose.

Nothing here is ever learned from data: every edge, category and label comes from the specification, so the layout of
any table, private or synthetic, is public (theory 10, statement of the guarantee: the schema is part of the domain).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from synthrelease.domain.dates import DateFormat
from synthrelease.domain.layout import Layout, MarksCounted
from synthrelease.linked import Linked


@dataclass(frozen=True, kw_only=True)
class Binning:
    """One way to bin a column: labels, the number that stands for each bin, and the bin of every atomic bin.

    Attributes
    ----------
    labels : one text per bin.
    numbers : one number per bin, or None where the bin has none (an unordered category).
    of_atom : (n_atoms,) the bin index of each atomic bin.
    lower, upper : edges of each bin [lower, upper) for numeric columns, the missing bin apart; empty for categories.
    missing : the index of the bin of missing values, always the last; None where the column has none. It holds the missing
        atom and nothing else, and its number is None.

    Raises
    ------
    ValueError : when the missing bin is not the last one, holds a value or has a number.
    """

    name: str
    labels: tuple[str, ...]
    numbers: tuple[float | None, ...]
    of_atom: tuple[int, ...]
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    missing: int | None = None

    def __post_init__(self) -> None:
        if self.missing is None:
            return
        alone = self.of_atom.count(self.missing) == 1 and self.of_atom[-1] == self.missing
        if self.missing != len(self.labels) - 1 or not alone or self.numbers[-1] is not None:
            raise ValueError(f"the binning {self.name!r} needs its missing bin last, without values in it and without a number")

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The bin of every label."""
        return {label: place for place, label in enumerate(self.labels)}

    @property
    def known_numbers(self) -> np.ndarray:
        """(n_bins,) the number that stands for each bin; NaN where there is none."""
        return np.array([np.nan if number is None else number for number in self.numbers], dtype=float)

    def with_missing(self, label: str) -> Binning:
        """The same bins and, after them, one of missing values, for one more atomic bin."""
        return replace(
            self,
            labels=(*self.labels, label),
            numbers=(*self.numbers, None),
            of_atom=(*self.of_atom, len(self.labels)),
            missing=len(self.labels),
        )

    @property
    def present(self) -> int:
        """Number of bins that hold values: all but the missing bin."""
        return len(self) - (self.missing is not None)

    def refines(self, coarser: Binning) -> bool:
        """Whether every bin lies inside one bin of `coarser`."""
        pairs = set(zip(self.of_atom, coarser.of_atom, strict=True))
        return len(pairs) == len({mine for mine, _ in pairs})

    def map_to(self, coarser: Binning) -> np.ndarray:
        """(n_bins,) index of the coarser bin that holds each bin. Raises ValueError unless self refines it."""
        if not self.refines(coarser):
            raise ValueError(f"the binning {self.name!r} does not refine {coarser.name!r}")
        into = np.zeros(len(self), dtype=np.int64)
        into[list(self.of_atom)] = coarser.of_atom
        return into


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of the released table and how it is read from the private file.

    Attributes
    ----------
    kind : "integer", "real" or "category".
    description, unit : the steward's words, for the documents of the release.
    source, part : the column of the file, and "year" or another of `dates.PARTS` where only that part of a date is used.
    minus : a column of the file with a date from which the days to that of `source` are counted; None where there is none.
    dates : how dates are written, where dates are read.
    bounds : public (lowest, highest) value of a numeric column; and `bounds_by`, who said so.
    edges : inner edges of the atomic bins of a numeric column, increasing; atom i is [edges[i-1], edges[i]).
    step : of the grid on which the own values of rows are counted, each as the number of its atom, which is within half a step
        of it; None where no criterion computes with them, and atoms are as wide as bins and rules allow.
    values : for categories, the text in the file -> atomic index.
    missing, outside : the public rule for missing values and for values outside the bounds or categories:
        "drop" the row, "clip" (numeric only), or stop with an "error"; missing values may have a "bin" of their own, and
        so may texts that no category lists.
    missing_label : how that bin is called in the release; empty where there is none.
    outside_label : the category of texts that are not listed; empty where they have none.
    characters : how many of the first characters of a text are its code; None for all of them.
    missing_values : texts of the file that mean a missing value in this column, beside those of the whole file.
    ordered : whether neighbouring bins are one step apart (needed by faithfulness).
    atoms : the atomic bins as a binning of their own.
    alternatives : name -> binning that a transformation may choose.
    counts : of a column that the file does not have, the columns whose marks it counts in a row, each with the atomic bins that
        are one; None for a column of the file.
    """

    name: str
    kind: str
    description: str
    unit: str
    source: str
    part: str | None
    bounds: tuple[float, float] | None
    edges: tuple[float, ...]
    values: Mapping[str, int]
    missing: str
    outside: str
    ordered: bool
    atoms: Binning
    alternatives: Mapping[str, Binning]
    missing_label: str = ""
    outside_label: str = ""
    characters: int | None = None
    missing_values: tuple[str, ...] = ()
    minus: str | None = None
    dates: DateFormat | None = None
    step: float | None = None
    bounds_by: str = ""
    counts: Mapping[str, frozenset[int]] | None = None

    @property
    def unlisted(self) -> int | None:
        """The atomic bin of the texts that no category lists; None where they have none."""
        return self.atoms.labels.index(self.outside_label) if self.outside_label else None

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns of the file that it is read from."""
        if self.counts is not None:
            return ()
        return (self.source,) if self.minus is None else (self.source, self.minus)


@dataclass(frozen=True, kw_only=True)
class Schema:
    """All columns, in the order in which they are released; with members, those of the wide record, and `linked`."""

    columns: tuple[Column, ...]
    linked: Linked | None = None

    def __getitem__(self, name: str) -> Column:
        return self.by_name[name]

    @cached_property
    def by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @cached_property
    def layout(self) -> Layout:
        """The layout of atomic cells."""
        return Layout(columns=self.names, sizes=tuple(len(column.atoms) for column in self.columns))

    @cached_property
    def counted(self) -> tuple[MarksCounted, ...]:
        """The columns that count marks in a row, on atomic bins."""
        places = {name: place for place, name in enumerate(self.names)}
        return tuple(
            MarksCounted(
                column=places[column.name],
                marks={
                    places[name]: np.isin(np.arange(len(self[name].atoms)), list(marks))
                    for name, marks in column.counts.items()
                },
                bins=np.searchsorted(np.array(column.edges), np.arange(len(column.counts) + 1), side="right"),
            )
            for column in self.columns
            if column.counts is not None
        )


@dataclass(frozen=True, kw_only=True)
class Transformation:
    """A choice of one binning per column: the public map from atomic cells to the cells of one attempt."""

    schema: Schema
    binnings: tuple[Binning, ...]

    @cached_property
    def layout(self) -> Layout:
        numbers = tuple(binning.numbers for binning in self.binnings)
        return Layout(columns=self.schema.names, sizes=tuple(len(binning) for binning in self.binnings), numbers=numbers)

    @cached_property
    def choice(self) -> dict[str, str]:
        return {name: binning.name for name, binning in zip(self.schema.names, self.binnings, strict=True)}

    def binning(self, column: str) -> Binning:
        return self.binnings[self.layout.index(column)]

    @cached_property
    def maps(self) -> tuple[np.ndarray, ...]:
        """Per column: (n_atoms,) the bin of every atomic bin."""
        return tuple(np.asarray(binning.of_atom, dtype=np.int64) for binning in self.binnings)

    @cached_property
    def ordered(self) -> tuple[int, ...]:
        """Per column: how many of its first bins are in order, one step apart; 0 where the column has no order."""
        return tuple(
            binning.present if column.ordered else 0 for column, binning in zip(self.schema.columns, self.binnings, strict=True)
        )

    def numbers(self, column: str) -> np.ndarray:
        """(n_bins,) the number that stands for each bin; NaN for missing values and where the specification gives none."""
        return self.binning(column).known_numbers
