"""Reading a facts file, with every mistake in it told by its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from synthrelease.errors import Problem, SpecError, Unexpected, closest, listing
from synthrelease.settings.mistakes import validated
from synthrelease.settings.reading import read_toml, shown
from synthrelease.simulation.bands import Units
from synthrelease.simulation.facts import MAX_COLUMNS, FactColumn, FactsFile, ShareTable
from synthrelease.simulation.published import PublishedFigures, TableMistake, published_means, published_shares


@dataclass(frozen=True, kw_only=True)
class CheckedFacts:
    """A facts file that was read and checked, except for cycles and for tables that contradict each other.

    Attributes
    ----------
    shares, means : the tables of each column, by the column's name; a column is in one of the two.
    """

    file: str
    tolerance: float
    columns: Mapping[str, FactColumn]
    units: Mapping[str, Units]
    shares: Mapping[str, tuple[PublishedFigures, ...]]
    means: Mapping[str, PublishedFigures]

    def tables(self, column: str) -> tuple[PublishedFigures, ...]:
        """All tables that a column is drawn from."""
        return self.shares.get(column) or (self.means[column],)


def load_facts(path: Path) -> CheckedFacts:
    """Read and check a facts file.

    Raises
    ------
    SpecError : with every mistake found so far; mistakes in rows are looked for when the rest is right.
    """
    name = str(path)
    model = validated(FactsFile, read_toml(path), name)
    if isinstance(model, list):
        raise SpecError(model)
    units: dict[str, Units] = {}
    problems = [*_wrong_names(model, name)] or [*_undrawn(model, name)]  # a table of a misspelt column draws none
    for column, table in model.columns.items():
        try:
            units[column] = table.units()
        except Unexpected as error:
            problems.append(TableMistake.of("bounds", error, found=shown(table.bounds)).problem(name, f"columns.{column}"))
    if problems:
        raise SpecError(problems)
    published: list[PublishedFigures] = []
    for path_in_file, fact in model.facts():
        try:
            if isinstance(fact, ShareTable):
                published.append(published_shares(path_in_file, fact, units))
            else:
                published.append(published_means(path_in_file, fact, units))
        except TableMistake as mistake:
            problems.append(mistake.problem(name, path_in_file))
    if problems:
        raise SpecError(problems)
    tables = {column: tuple(table for table in published if table.of == column) for column in model.columns}
    return CheckedFacts(
        file=name,
        tolerance=model.tolerance,
        columns=model.columns,
        units=units,
        shares={column: found for column, found in tables.items() if found[0].bands},
        means={column: found[0] for column, found in tables.items() if not found[0].bands},
    )


def _wrong_names(model: FactsFile, file: str) -> Iterator[Problem]:
    """Columns and sources that do not exist, and columns given themselves or twice."""
    for path, fact in model.facts():
        used = [(f"{path}.of", fact.of), *((f"{path}.given[{i}]", name) for i, name in enumerate(fact.given))]
        for place, name in used:
            if name not in model.columns:
                expected = f"one of the columns {listing(model.columns, MAX_COLUMNS)}"
                meant = closest(name, model.columns)
                yield Problem(file=file, path=place, expected=expected, found=repr(name), suggestion=meant)
        if len(set(fact.given)) < len(fact.given) or fact.of in fact.given:
            expected = f"different columns, none of them {fact.of!r}"
            yield Problem(file=file, path=f"{path}.given", expected=expected, found=shown(fact.given))
        if fact.source is not None and fact.source not in model.sources:
            expected, meant = f"one of the sources {listing(model.sources)}", closest(fact.source, model.sources)
            yield Problem(file=file, path=f"{path}.source", expected=expected, found=repr(fact.source), suggestion=meant)


def _undrawn(model: FactsFile, file: str) -> Iterator[Problem]:
    """Columns that no table says how to draw, or that both kinds of table do."""
    for name, column in model.columns.items():
        tables = [path for path, fact in model.facts() if fact.of == name]
        means = [path for path in tables if path.startswith("means.")]
        if not tables:
            expected = f"a table or means of {name!r} (a table of one band that holds all values draws them evenly)"
            yield Problem(file=file, path=f"columns.{name}", expected=expected, found="none")
        elif means and len(tables) > 1:
            expected = f"either tables of {name!r} or one table of means"
            yield Problem(file=file, path=f"columns.{name}", expected=expected, found=listing(tables))
        elif means and column.kind not in ("integer", "real"):
            expected = "a column of kind 'integer' or 'real'"
            found = f"{name!r} of kind {column.kind!r}"
            yield Problem(file=file, path=f"{means[0]}.of", expected=expected, found=found)
