"""Check the columns that a criterion names, and choose the marginal tables that it compares."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import numpy as np
from pydantic import Field, field_validator

from synthrelease.criteria.base import Criterion, Setting
from synthrelease.criteria.explanation import Explanation
from synthrelease.criteria.facts import LostPair, PublicFacts, in_words, words
from synthrelease.data.counts import DENSE_LIMIT
from synthrelease.data.layout import Layout
from synthrelease.data.schema import Binning, Schema
from synthrelease.errors import Unexpected, closest, listing
from synthrelease.settings.base import TERMS, Mistake, unknown

if TYPE_CHECKING:
    from synthrelease.criteria.measured import Limits
    from synthrelease.generators.measurements import FormulaTerm


NO_NUMBERS = (
    "Some bins of {!r} have no number in the alternative {!r}. Use a column of numbers, or a column of categories with the "
    "setting `numbers` and an alternative that does not group the categories"
)
"""The message if a bin of a column has no representative value, such as a group of categories."""


def unknown_columns(schema: Schema, field: str, names: Iterable[str]) -> Iterable[Mistake]:
    return unknown(field, "a column", names, schema.names)


def unnumbered(setting: Setting, field: str, column: str) -> Iterable[Mistake]:
    """Yield a mistake if, in some alternative binning of the column, a bin has no representative value."""
    for transformation in setting.transformations:
        binning = transformation.binning(column)
        if any(number is None for number in binning.numbers[: binning.present]):
            yield Mistake(field, NO_NUMBERS.format(column, binning.name))
            return


def not_inside(setting: Setting, field: str, column: str, coarser: Binning) -> Iterable[Mistake]:
    """Yield a mistake for every alternative binning of the column in which a bin overlaps two bins of `coarser`."""
    checked_names: set[str] = set()
    for transformation in setting.transformations:
        binning = transformation.binning(column)
        if binning.name not in checked_names and not binning.refines(coarser):
            problem = f"The alternative {binning.name!r} of {column!r} has a bin that overlaps two of the coarser bins"
            yield Mistake(field, f"{problem} {listing(coarser.labels)}. Each bin must lie within one of them")
        checked_names.add(binning.name)


def grouping_mistakes(setting: Setting, field: str, names: Iterable[str]) -> Iterable[Mistake]:
    """Yield the mistakes in grouping columns: unknown names, and alternative binnings in which a bin overlaps two groups."""
    unknown = [*unknown_columns(setting.schema, field, names)]
    yield from unknown
    for name in () if unknown else names:
        if name in setting.groups:
            yield from not_inside(setting, field, name, setting.groups[name])


def condition(binning: Binning, coarser: Binning | None, labels: Collection[str]) -> np.ndarray:
    """Return an (n_bins,) mask of the bins with these labels or, with `coarser`, of the bins inside the coarser bins with
    these labels.
    """
    if coarser is None:
        return np.isin(binning.labels, list(labels))
    return np.isin(coarser.labels, list(labels))[binning.map_to(coarser)]


def condition_mistakes(setting: Setting, field: str, column: str, labels: Collection[str]) -> Iterable[Mistake]:
    """Yield the mistakes in a condition, which must not name unknown bins, all bins, or the bin of missing values."""
    coarser, checked_names = setting.groups.get(column), set[str]()
    if coarser is not None:
        yield from not_inside(setting, field, column, coarser)
    for transformation in setting.transformations:
        binning = coarser or transformation.binning(column)
        if binning.name in checked_names:
            continue
        checked_names.add(binning.name)
        labels_of_values = binning.labels[: binning.present]
        where = "[groups]" if coarser else f"the alternative {binning.name!r}"
        if unknown_labels := [label for label in labels if label not in labels_of_values]:
            problem = f"{unknown_labels[0]!r} is not a bin of {column!r} with values in {where}"
            text = f"{problem}. The bins with values are {listing(labels_of_values)}"
            yield Mistake(field, text, suggestion=closest(unknown_labels[0], labels_of_values))
            return
        if set(labels_of_values) <= set(labels):
            yield Mistake(field, f"All bins of {column!r} in {where} are named. Name only some of them")
            return


def representation_mistakes(
    setting: Setting, columns: Iterable[str], representation: Mapping[str, str], numbered: Collection[str]
) -> Iterable[Mistake]:
    """Yield the mistakes in `representation`. The columns in `numbered` need a representative value in every bin."""
    schema, columns = setting.schema, tuple(columns)
    for name in columns:
        alternatives = schema[name].alternatives
        chosen = representation.get(name, "")
        if chosen not in alternatives:
            problem = f"{chosen!r} is not an alternative of {name!r}" if chosen else f"No alternative of {name!r} is chosen"
            text = f"{problem}. The alternatives are {listing(alternatives)}"
            yield Mistake(f"representation.{name}", text, suggestion=closest(chosen, alternatives))
            continue
        if name in numbered and any(number is None for number in alternatives[chosen].numbers[: alternatives[chosen].present]):
            yield Mistake("features", NO_NUMBERS.format(name, chosen))
        yield from not_inside(setting, f"representation.{name}", name, alternatives[chosen])
    cells = math.prod(len(schema[name].alternatives.get(representation.get(name, ""), ())) for name in columns)
    if cells > DENSE_LIMIT:
        problem = f"The alternatives have {cells:,} combinations of bins. The limit is {DENSE_LIMIT:,}"
        yield Mistake("representation", f"{problem}. Choose coarser alternatives")
    yield from unknown_columns(schema, "representation", representation)


# The marginal tables that a criterion compares, and their number.
#
# There are about d^k / k! tables of at most k of d columns, and 2^d tables in all. So the default is all tables for up to
# `WIDE` columns, and tables of at most three columns for more. The table of all columns is a single table and costs as much as
# any other table. So "all columns" names only this table, and not the tables of fewer columns.

MAX_TABLES = 100_000
"""Largest number of compared tables, such as all tables of a file with sixteen columns. More tables would take hours."""

WIDE, LARGEST_WHEN_WIDE = 8, 3
"""Up to `WIDE` columns, all tables are compared by default. With more columns, only tables of at most `LARGEST_WHEN_WIDE`
columns are compared."""

ALL_COLUMNS = "all columns"


OF_BINS = 'Set values = "bins". Noisy tables contain numbers of rows in bins, and no exact values'
"""The message if noisy tables shall answer a criterion that compares exact values."""


def usual_largest(n_columns: int) -> int:
    """Return the default of the setting `largest` for this number of columns. At most `MAX_TABLES` tables are then compared."""
    if n_columns <= WIDE:
        return n_columns
    return next(size for size in range(LARGEST_WHEN_WIDE, 0, -1) if _tables_up_to(size, n_columns) <= MAX_TABLES)


def _tables_up_to(largest: int, n_columns: int) -> int:
    return sum(math.comb(n_columns, size) for size in range(1, largest + 1))


class MarginalCriterion(Criterion):
    """The base class of all criteria that compare marginal tables.

    Attributes
    ----------
    largest : all tables of at most this number of columns are compared. The default depends on the number of columns of the
        release: all tables for at most eight columns, tables of at most three columns for at most 84, of at most two for at
        most 446, and otherwise single columns. With `tables`, there is no default. Example: `largest = 3`.
    tables : further tables to compare, written as formulas, in which ":" joins the columns of a table. "age:(sex + region)"
        names two tables, "all 2-way" every table of two columns, "all 2-way with age" those that contain age, and "all
        columns" the table of all columns, which compares whole rows. Example: `tables = ["diabetes:hospital",
        "age:sex:region"]`.
    """

    largest: int | None = Field(default=None, ge=1)
    tables: Annotated[tuple[str, ...], TERMS] = Field(default=(), max_length=10_000)

    @field_validator("tables", mode="before")
    @classmethod
    def _unfolded(cls, tables: Any) -> Any:
        if not tables or not (isinstance(tables, list | tuple) and all(isinstance(text, str) for text in tables)):
            return tables
        from synthrelease.generators.measurements import unfolded  # here and below, because few criteria name tables

        return [term.strip() for text in tables for term in (unfolded(text).split("+") if "(" in text else [text])]

    @field_validator("tables")
    @classmethod
    def _terms(cls, tables: tuple[str, ...]) -> tuple[str, ...]:
        for text in tables:
            from synthrelease.generators.measurements import FormulaTerm

            if text.strip() != ALL_COLUMNS and FormulaTerm.of(text).weight != 1:
                raise Unexpected(f"{text!r} has a weight. Name tables without weights, such as 'age:region' or 'all 2-way'")
        return tables

    @cached_property
    def _named(self) -> tuple[FormulaTerm | None, ...]:
        """The parsed setting `tables`. None stands for the table of all columns."""
        if not self.tables:
            return ()
        from synthrelease.generators.measurements import FormulaTerm

        return tuple(None if text.strip() == ALL_COLUMNS else FormulaTerm.of(text) for text in self.tables)

    @property
    def read(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for term in self._named if term for name in term.columns))

    @property
    def not_by_name(self) -> str:
        """Return the name of the setting that selects tables without naming their columns, "" if there is none."""
        unnamed = not self.tables or any(term is None or term.ways for term in self._named)
        return "largest" if self.largest is not None else "tables" if unnamed else ""

    def up_to(self, n_columns: int) -> int:
        """Return the largest k for which all tables of k columns are compared, or 0 if only named tables are compared."""
        if self.largest is None:
            return 0 if self.tables else usual_largest(n_columns)
        return min(self.largest, n_columns)

    def named(self, layout: Layout) -> tuple[tuple[int, ...], ...]:
        """Return the named tables of more than `up_to` columns, each once, as increasing column indices."""
        width = len(layout.sizes)
        everything = tuple(range(width))
        sets = [columns for term in self._named for columns in ([everything] if term is None else term.sets(layout))]
        return tuple(dict.fromkeys(columns for columns in sets if len(columns) > self.up_to(width)))

    def compared_in(self, layout: Layout) -> dict[str, Any]:
        return {"largest": self.up_to(len(layout.sizes)), "named": self.named(layout)}

    def named_columns(self, bins: Mapping[str, int]) -> tuple[tuple[str, ...], ...]:
        layout = Layout(columns=tuple(bins), sizes=tuple(bins.values()))
        return tuple(tuple(layout.columns[column] for column in columns) for columns in self.named(layout))

    def compares_table(self, columns: Collection[str], n_columns: int) -> bool:
        terms = (term for term in self._named if term is not None)
        sizes = ((term.ways or len(term.columns), {*term.columns}) for term in terms)
        named = any(ways == len(columns) and names <= {*columns} for ways, names in sizes)
        return named or len(columns) <= self.up_to(n_columns)

    def n_tables(self, layout: Layout) -> int:
        width = len(layout.sizes)
        return _tables_up_to(self.up_to(width), width) + len(self.named(layout))

    def mistakes(self, setting: Setting, earlier: Mapping[str, Criterion]) -> Iterable[Mistake]:
        layout = setting.schema.layout
        if unknown := [*unknown_columns(setting.schema, "tables", self.read)]:
            return unknown
        every = [term for term in self._named if term and term.ways and not term.columns]
        many = [(math.comb(len(layout.sizes), term.ways), f"all {term.ways}-way") for term in every]
        if any(number > MAX_TABLES for number, _ in many):
            number, text = max(many)
            return [Mistake("tables", f"{text!r} means {number:,} tables. At most {MAX_TABLES:,} tables can be compared")]
        n_tables = self.n_tables(layout)
        problem = f"The criterion compares {n_tables:,} tables. The limit is {MAX_TABLES:,}. Compare tables of fewer columns"
        return [Mistake("largest" if self.largest else "tables", problem)] if n_tables > MAX_TABLES else []

    def compared(self, facts: PublicFacts) -> list[tuple[str, ...]]:
        names = tuple(column.name for column in facts.columns)
        layout = Layout(columns=names, sizes=tuple(len(column.labels) for column in facts.columns))
        small = [sets for size in range(1, self.up_to(len(names)) + 1) for sets in combinations(range(len(names)), size)]
        return [tuple(names[index] for index in indices) for indices in (*small, *self.named(layout))]

    def _with(self, limits: Sequence[Limits], facts: PublicFacts) -> Iterable[tuple[tuple[str, ...], Limits]]:
        return zip(self.compared(facts), limits, strict=True)

    def tables_in_words(self, n_columns: int) -> str:
        """Return the compared tables in words: "any columns", "at most 3 columns", "single columns", "age by sex"."""
        largest = self.up_to(n_columns)
        few = "single columns" if largest == 1 else f"at most {largest} columns"
        parts = [] if not largest else ["any columns"] if largest == n_columns else [few]
        for term in self._named if largest < n_columns else ():
            if term is None:
                parts.append("all columns at once")
            elif term.ways:
                parts.append(f"{term.ways} columns" + "".join(f" with {words(name)}" for name in term.columns))
            else:
                parts.append(" by ".join(words(name) for name in term.columns))
        return in_words(parts) if len(parts) < 3 else f"{in_words(parts[:-1])} and {parts[-1]}"


Tables = TypeVar("Tables", bound=MarginalCriterion)


class MarginalCriterionExplained(Explanation[Tables]):
    """Explain an error of marginal tables."""

    @property
    def asks_single_columns(self) -> bool:
        named = all(term is not None and max(term.ways, len(term.columns)) == 1 for term in self.about._named)
        return named and (self.about.largest == 1 or (self.about.largest is None and bool(self.about.tables)))

    def guards(self, pair: LostPair) -> bool:
        return self.about.compares_table(pair.columns, pair.n_columns) and pair.largest_cell > self.about.threshold


def furthest(limits: Limits, released: np.ndarray) -> np.ndarray:
    return np.maximum(limits.high - released, released - limits.low)
