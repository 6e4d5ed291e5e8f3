"""Formulas that name tables: "age:region + 2 all 2-way"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Annotated

from pydantic import AfterValidator, Field

from synthrelease.data.layout import Layout
from synthrelease.errors import Unexpected, closest, listing
from synthrelease.settings.base import Mistake

_NAME = r"(?:(?:first|other)\.)?\w+"
_TERM = re.compile(
    rf"(?:(?P<weight>[0-9]+(?:\.[0-9]+)?)\s+)?(?:all\s+(?P<ways>[1-9])-way|(?P<columns>{_NAME}(?:\s*:\s*{_NAME})*))"
)


@dataclass(frozen=True, kw_only=True)
class FormulaTerm:
    """One term of a formula: the table of some columns, or all tables of `ways` columns; and its weight."""

    columns: tuple[str, ...] = ()
    ways: int = 0
    weight: Fraction

    @classmethod
    def of(cls, text: str) -> FormulaTerm:
        """Read "age:region", "2 region" or "all 2-way". Raises Unexpected for anything else."""
        match = _TERM.fullmatch(text.strip())
        columns = tuple(name.strip() for name in match["columns"].split(":")) if match and match["columns"] else ()
        if match is None or len(set(columns)) != len(columns):
            expected = "terms such as 'age:region', '2 region' or 'all 2-way', joined by +, of different columns"
            raise Unexpected(expected, repr(text.strip()))
        weight = Fraction(1 if match["weight"] is None else match["weight"])
        return cls(columns=columns, ways=int(match["ways"] or 0), weight=weight)

    def sets(self, layout: Layout) -> Iterable[tuple[int, ...]]:
        """Increasing column indices of each of its tables; no more columns than there are."""
        if self.columns:
            return [tuple(sorted(layout.index(name) for name in self.columns))]
        return combinations(range(len(layout.sizes)), min(self.ways, len(layout.sizes)))


def read_terms(formula: str) -> tuple[FormulaTerm, ...]:
    """All terms of a formula, which are joined by +. Raises Unexpected."""
    return tuple(FormulaTerm.of(term) for term in formula.split("+"))


def _measures(formula: str) -> str:
    if not any(term.weight for term in read_terms(formula)):
        raise Unexpected("a table with a weight above 0", repr(formula))
    return formula


Formula = Annotated[str, Field(min_length=1, max_length=10_000), AfterValidator(_measures)]
"""The tables that a generator measures, at least one of them with a weight above 0."""


def unknown_columns(terms: Sequence[FormulaTerm], layout: Layout) -> Iterable[Mistake]:
    """What is wrong with the columns that a formula names."""
    named = [name for term in terms for name in term.columns]
    for name in dict.fromkeys(named):
        if name not in layout.columns:
            guess = closest(name, layout.columns)
            yield Mistake(field="tables", expected=f"columns ({listing(layout.columns)})", found=repr(name), suggestion=guess)
