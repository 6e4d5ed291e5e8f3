"""Conditions on the released bins: the grammar of the plausibility rules, read over bins instead of values.

Each comparison is surely true in a bin, possibly true in it, or neither (Kleene's three-valued logic). A query must be
decided in every bin: a condition that cuts a bin cannot be answered from the release. A plausibility rule excludes a cell of
the released table when it is surely true there. In a bin of missing values every comparison is possibly true, and none surely:
neither a condition nor its negation counts a row whose value is missing; `is missing` does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from synthrelease.data.axes import spread_out
from synthrelease.data.linked import NAME_OR_TEXT, Linked, slot_name
from synthrelease.data.rules import (
    HOLDS,
    IS_MISSING,
    All,
    Any,
    Comparison,
    Domain,
    Not,
    Rule,
    RuleError,
    columns_of,
    comparisons,
    edges,
    parse_rule,
)
from synthrelease.data.schema import PublishedColumn
from synthrelease.errors import InputError, cut, listing

LONGEST = 20_000
"""Characters of a question."""
MOST_COMPARISONS = 1000
Columns = tuple[PublishedColumn, ...]
Reading = Callable[[Comparison, PublishedColumn], tuple[np.ndarray, np.ndarray]]
"""(n_present,) bins of values in which a comparison is surely true, and in which it is possibly true."""


class AskedOf(Protocol):
    """What a question is read over; a `PublishedRelease` is one."""

    @property
    def schema(self) -> tuple[PublishedColumn, ...]: ...

    @property
    def by_name(self) -> Mapping[str, PublishedColumn]: ...

    @property
    def linked(self) -> Linked | None: ...


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A condition that every bin wholly meets or wholly fails; `rule` is None for the one that every row meets.

    Attributes
    ----------
    decided : where it was narrowed, the columns that decide, and over their bins whether it is met.
    """

    text: str
    rule: Rule | None
    decided: tuple[tuple[str, ...], np.ndarray] | None = field(default=None, compare=False, repr=False)

    @property
    def columns(self) -> set[str]:
        """Those that decide whether it is met."""
        if self.decided is not None:
            return set(self.decided[0])
        return set() if self.rule is None else {part.column for part in comparisons(self.rule)}

    def mask(self, columns: Columns) -> np.ndarray:
        """Boolean array over the bins of these columns, which include those of the condition: where it is met."""
        shape = [len(column.labels) for column in columns]
        if self.decided is not None:
            names, met = self.decided
            return spread_out(met, names, [column.name for column in columns], shape)
        return np.ones(shape, dtype=bool) if self.rule is None else _evaluate(self.rule, columns, _of_labels)[0]

    def narrowed(self, release: AskedOf, never: Sequence[str], most_cells: int) -> Condition:
        """The same condition without the columns that decide nothing, as `age >= 0` does where nobody is younger.

        A noisy table without these columns answers it as well, and the same number has one answer whether or not it is asked.
        Each column is left out in turn where the others still tell of every cell that rows can be in whether it is met. A
        cell that no row can be in is as the first one that rows can be in: a condition and its negation share all cells.

        Parameters
        ----------
        never : the rules that no original row breaks. The cells that they leave empty decide nothing.
        most_cells : a condition with more combinations of bins stays as it is.
        """
        columns = tuple(column for column in release.schema if column.name in self.columns)
        if not columns or math.prod(len(column.labels) for column in columns) > most_cells:
            return self
        possible, met = _possible(columns, release, never, most_cells), self.mask(columns)
        if not possible.any():
            return self
        yes, no = possible & met, possible & ~met
        for axis in reversed(range(len(columns))):
            fewer = yes.any(axis=axis), no.any(axis=axis)
            if not (fewer[0] & fewer[1]).any():
                yes, no, columns = *fewer, columns[:axis] + columns[axis + 1 :]
        first = yes.ravel()[(yes | no).argmax()]
        return replace(self, decided=(tuple(column.name for column in columns), np.where(yes | no, yes, first)))


def _possible(columns: Columns, release: AskedOf, never: Sequence[str], most_cells: int) -> np.ndarray:
    """Boolean array over the bins of some columns: the cells that rows can be in, by all rules that are linked with them.

    A rule is linked when it names a column of these, or of another linked rule: two rules about sex and age may together leave
    no row of one sex. Rules that would make more than `most_cells` combinations are not looked at.
    """
    domains = {column.name: Domain(kind=column.kind, missing=column.missing is not None) for column in release.schema}
    named = {text: columns_of(rule) for text in never if (rule := _read(text, domains)) is not None}
    linked, before = {column.name for column in columns}, set[str]()
    while linked != before:
        before = set(linked)
        for names in named.values():
            if linked & names and _cells(release, linked | names) <= most_cells:
                linked |= names
    wide = (*columns, *(column for column in release.schema if column.name in linked and column not in columns))
    possible = np.ones([len(column.labels) for column in wide], dtype=bool)
    for text, names in named.items():
        own = tuple(column for column in wide if column.name in names)
        if names <= linked and (empty := excluded(text, own)) is not None:
            possible &= ~spread_out(empty, [column.name for column in own], [column.name for column in wide], possible.shape)
    return np.asarray(possible.any(axis=tuple(range(len(columns), len(wide)))))


def _cells(release: AskedOf, names: set[str]) -> int:
    return math.prod(len(column.labels) for column in release.schema if column.name in names)


def parse_condition(text: str, release: AskedOf) -> Condition:
    """Read a condition over the released bins; categories are the labels of the released table.

    Raises
    ------
    InputError : when it cannot be read, or cuts a bin; with the bins that there are.
    """
    text = in_one_line(text)
    if not text:
        return Condition(text=text, rule=None)
    domains = {
        column.name: Domain(
            kind=column.kind,
            categories=column.labels[: column.present] if column.kind == "category" else (),
            missing=column.missing is not None,
        )
        for column in release.schema
    }
    try:
        rule = parse_rule(text, domains)
    except RuleError as error:
        problem = f"{cut(text, 200)!r}: {error}." + (f" Did you mean {error.suggestion!r}?" if error.suggestion else "")
        problem += _of_all_members(text, release)
    else:
        parts = list(comparisons(rule))
        if len(parts) > MOST_COMPARISONS:
            raise InputError(f"{cut(text, 200)!r}: expected at most {MOST_COMPARISONS} comparisons, found {len(parts)}.")
        for part in parts:
            _refuse_cut(part, release.by_name[part.column], cut(text, 200))
        return Condition(text=text, rule=rule)
    raise InputError(problem)


def _of_all_members(text: str, release: AskedOf) -> str:
    """What to say of a condition that names a column of all members, which is one column for each of them."""
    linked, words = release.linked, {match[0] for match in NAME_OR_TEXT.finditer(text)}
    if linked is None or not (named := sorted(words & (set(linked.names) - set(release.by_name)))):
        return ""
    first, last = (slot_name(named[0], place) for place in (1, linked.most))
    return (
        f" {named[0]!r} is a column of members: {first!r} is the first one's, and so on to {last!r}. Shares, means and medians "
        'over all members are what `estimate` tells; `bound` takes "share ..." and "mean ...".'
    )


def in_one_line(text: str) -> str:
    """What was asked, with single blanks. Raises InputError for what is too long to be a question."""
    if len(text) > LONGEST:
        raise InputError(f"{cut(text, 60)!r}: expected a condition of at most {LONGEST} characters, found {len(text)}.")
    return " ".join(text.split())


def over_cells(columns: Columns, name: str, values: np.ndarray) -> np.ndarray:
    """(n_cells,) for each cell of the table of some columns, the value that belongs to its bin of one of them."""
    return spread_out(values, [name], [column.name for column in columns], [len(column.labels) for column in columns]).ravel()


def excluded(rule_text: str, columns: Columns) -> np.ndarray | None:
    """Cells over these columns in which a plausibility rule is true for every value; None when it names other columns."""
    rule = _read(rule_text, {column.name: Domain(kind=column.kind, missing=column.missing is not None) for column in columns})
    return None if rule is None else _evaluate(rule, columns, _of_values)[0]


def _read(rule_text: str, domains: Mapping[str, Domain]) -> Rule | None:
    """A plausibility rule; None when it names other columns, compares columns or counts."""
    try:
        return parse_rule(rule_text, domains)
    except RuleError:
        return None


def _evaluate(rule: Rule, columns: Columns, read: Reading) -> tuple[np.ndarray, np.ndarray]:
    """Boolean arrays over the bins of `columns`: (surely true, possibly true)."""
    if isinstance(rule, Not):
        surely, possibly = _evaluate(rule.part, columns, read)
        return ~possibly, ~surely
    if isinstance(rule, All | Any):
        combine = np.logical_and if isinstance(rule, All) else np.logical_or
        surely, possibly = _evaluate(rule.parts[0], columns, read)
        for part in rule.parts[1:]:  # one at a time, so that memory does not grow with their number
            more = _evaluate(part, columns, read)
            surely, possibly = combine(surely, more[0]), combine(possibly, more[1])
        return surely, possibly
    if not isinstance(rule, Comparison):
        raise TypeError("a question neither counts nor compares columns")
    axis = [column.name for column in columns].index(rule.column)
    view = [len(column.labels) if i == axis else 1 for i, column in enumerate(columns)]
    shape = [len(column.labels) for column in columns]
    surely, possibly = _with_missing(rule, columns[axis], read)
    return np.broadcast_to(surely.reshape(view), shape), np.broadcast_to(possibly.reshape(view), shape)


def _with_missing(part: Comparison, column: PublishedColumn, read: Reading) -> tuple[np.ndarray, np.ndarray]:
    """A comparison in every bin of its column: read in those of values, unknown in that of missing ones."""
    absent = np.arange(len(column.labels)) == column.missing
    if part.operator == IS_MISSING:
        return absent, absent
    surely, possibly = absent.copy(), absent.copy()
    surely[~absent], possibly[~absent] = read(part, column)
    return surely & ~absent, possibly


def _of_labels(part: Comparison, column: PublishedColumn) -> tuple[np.ndarray, np.ndarray]:
    """A comparison of a query: with the labels of the released table."""
    if not isinstance(part.value, str):
        return _numeric(part, column)
    met = np.array([(label == part.value) == (part.operator == "==") for label in column.labels[: column.present]])
    return met, met


def _of_values(part: Comparison, column: PublishedColumn) -> tuple[np.ndarray, np.ndarray]:
    """A comparison of a plausibility rule: with the values that a released bin stands for."""
    if not isinstance(part.value, str):
        return _numeric(part, column)
    held = column.categories[: column.present] or ((),) * column.present
    met = [[(category == part.value) == (part.operator == "==") for category in bin_] for bin_ in held]
    return np.array([bool(bin_) and all(bin_) for bin_ in met]), np.array([not bin_ or any(bin_) for bin_ in met])


def _numeric(part: Comparison, column: PublishedColumn) -> tuple[np.ndarray, np.ndarray]:
    cuts = _cuts(part, column)
    met = np.array([_holds(part, column, index) for index in range(column.present)])
    return met & ~cuts, met | cuts


def _cuts(part: Comparison, column: PublishedColumn) -> np.ndarray:
    """(n_present,) whether a numeric comparison is true for some values of the bin and false for others."""
    where = edges(part, part.column, (-math.inf, math.inf), whole_numbers=column.kind == "integer")
    return np.array([any(low < edge < high for edge in where) for low, high in zip(column.lower, column.upper, strict=True)])


def _holds(part: Comparison, column: PublishedColumn, index: int) -> bool:
    """Whether a numeric comparison is true for one value of the bin."""
    low, high = column.lower[index], column.upper[index]
    value = low if math.isfinite(low) else high - 1 if column.kind == "integer" else math.nextafter(high, -math.inf)
    return HOLDS[part.operator](value, float(part.value))


def _refuse_cut(part: Comparison, column: PublishedColumn, text: str) -> None:
    if isinstance(part.value, str):
        return
    cuts = [label for label, is_cut in zip(column.labels, _cuts(part, column), strict=False) if is_cut]
    if not cuts:
        return
    near = sorted(sorted(column.lower[1:], key=lambda edge: abs(edge - float(part.value)))[:2])
    advice = " Limits between bins near it: " + " and ".join(f"{edge:.15g}" for edge in near) + "." if near else ""
    raise InputError(
        f"{text!r}: expected limits between the released bins of {column.name!r}, found '{part.column} {part.operator} "
        f"{part.value:.15g}', which cuts {listing(cuts)}: the released table does not tell the values in it apart. "
        f"The bins are {listing(column.labels, 40)}.{advice}"
    )
