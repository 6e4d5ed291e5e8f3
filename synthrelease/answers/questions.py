"""Read a question of `estimate` or `bound` about the columns of a release, after `data/questions.py` has split it into
words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from synthrelease.data.linked import NAME_OR_TEXT, Linked, in_slot, slot_name
from synthrelease.data.marginals import spread_out
from synthrelease.data.questions import QUANTILES, Kind, QuestionWords, split_question
from synthrelease.data.rules import (
    HOLDS,
    IS_MISSING,
    Comparison,
    Count,
    Domain,
    Gap,
    Rule,
    RuleError,
    Truth,
    columns_of,
    comparisons,
    edges,
    parse_rule,
    plain_rule,
    truth_of,
)
from synthrelease.data.schema import PublishedColumn
from synthrelease.errors import InputError, closest, cut, listing
from synthrelease.published.options import DesignPart

# Conditions on the released bins have the grammar of the plausibility rules. The grammar is applied to bins instead of values.
#
# Each comparison is either true for every value in a bin, true for some values only, or false for every value (Kleene's
# three-valued logic). A query must be decided in every bin, because a condition that cuts a bin cannot be answered from the
# release. A plausibility rule excludes a cell of the released table if the rule is true for every value in the cell. In a bin
# of missing values, every comparison is possibly true, and no comparison is surely true. So a row with a missing value is
# counted neither by a condition nor by its negation; only `is missing` counts it.

LONGEST = 20_000
"""Largest number of characters of a question."""
MOST_COMPARISONS = 1000
Columns = tuple[PublishedColumn, ...]
Reading = Callable[[Comparison, PublishedColumn], tuple[np.ndarray, np.ndarray]]
"""Two (n_present,) masks over the bins of values. The first mask marks bins in which a comparison is true for every value. The
second mask marks bins in which it is true for some value.
"""


class AskedOf(Protocol):
    """What an object must provide so that questions about it can be read. A `PublishedRelease` is an example."""

    @property
    def schema(self) -> tuple[PublishedColumn, ...]: ...

    @property
    def by_name(self) -> Mapping[str, PublishedColumn]: ...

    @property
    def linked(self) -> Linked | None: ...

    @property
    def design(self) -> DesignPart | None: ...


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A condition on a row, such as `age >= 18 and sex == 'f'`. Either all values in a bin meet it or none.

    Attributes
    ----------
    text : the condition as the user wrote it.
    rule : the condition in parsed form, or None if every row meets the condition.
    decided : after `narrowed`, the columns that still matter, and the mask of the combinations of their bins that meet the
        condition; otherwise None.
    """

    text: str
    rule: Rule | None
    decided: tuple[tuple[str, ...], np.ndarray] | None = field(default=None, compare=False, repr=False)

    @property
    def columns(self) -> set[str]:
        if self.decided is not None:
            return set(self.decided[0])
        return set() if self.rule is None else {part.column for part in comparisons(self.rule)}

    def mask(self, columns: Columns) -> np.ndarray:
        """Return a boolean array over the bins of these columns, which must include the condition's columns."""
        shape = [len(column.labels) for column in columns]
        if self.decided is not None:
            names, met = self.decided
            return spread_out(met, names, [column.name for column in columns], shape)
        return np.ones(shape, dtype=bool) if self.rule is None else _surely_true(self.rule, columns, _of_labels)

    def narrowed(self, release: AskedOf, never: Sequence[str], most_cells: int) -> Condition:
        """Return an equivalent condition without columns that have no effect, such as age in `age >= 0`.

        A noisy table without these columns can then answer the question. A column is left out if the other columns
        determine, for every possible cell, whether a row meets the condition. Impossible cells are treated like the first
        possible one, so every cell meets either a condition or its negation.

        Parameters
        ----------
        never : the rules that no row of the file breaks, which make cells impossible.
        most_cells : a condition on columns with more combinations of bins is returned unchanged.
        """
        columns = tuple(column for column in release.schema if column.name in self.columns)
        if not columns or math.prod(len(column.labels) for column in columns) > most_cells:
            return self
        possible, met = possible_cells(columns, release, never, most_cells), self.mask(columns)
        if not possible.any():
            return self
        yes, no = possible & met, possible & ~met
        for axis in reversed(range(len(columns))):
            fewer = yes.any(axis=axis), no.any(axis=axis)
            if not (fewer[0] & fewer[1]).any():
                yes, no, columns = *fewer, columns[:axis] + columns[axis + 1 :]
        first = yes.ravel()[(yes | no).argmax()]
        return replace(self, decided=(tuple(column.name for column in columns), np.where(yes | no, yes, first)))


def possible_cells(columns: Columns, release: AskedOf, never: Sequence[str], most_cells: int) -> np.ndarray:
    """Return a boolean array over the bins of some columns: True for a cell in which the plausibility rules allow rows.

    Rules count if they name one of these columns or are linked with them by columns of other rules: two rules about sex and
    age may together exclude every row of one sex. Rules that would lead to more than `most_cells` combinations are ignored.
    """
    columns_by_rule = {text: columns_of(rule) for text in never if (rule := _read(text, release.schema)) is not None}
    linked, previous = {column.name for column in columns}, set[str]()
    while linked != previous:
        previous = set(linked)
        for names in columns_by_rule.values():
            if linked & names and _cells(release, linked | names) <= most_cells:
                linked |= names
    wide = (*columns, *(column for column in release.schema if column.name in linked and column not in columns))
    possible = np.ones([len(column.labels) for column in wide], dtype=bool)
    for text, names in columns_by_rule.items():
        named = tuple(column for column in wide if column.name in names)
        if names <= linked and (empty := excluded(text, named)) is not None:
            possible &= ~spread_out(empty, [column.name for column in named], [column.name for column in wide], possible.shape)
    return np.asarray(possible.any(axis=tuple(range(len(columns), len(wide)))))


def _cells(release: AskedOf, names: set[str]) -> int:
    return math.prod(len(column.labels) for column in release.schema if column.name in names)


def parse_condition(text: str, release: AskedOf) -> Condition:
    """Parse a condition on the columns of a release, such as "age >= 18", with categories as labels of the released table.

    Raises
    ------
    InputError : if the condition cannot be read, or if it divides a bin; the message lists the bins.
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
            raise InputError(
                f"{cut(text, 200)!r}: the condition has {len(parts):,} comparisons. At most {MOST_COMPARISONS:,} are allowed. "
                "Ask several shorter questions."
            )
        for part in parts:
            _refuse_cut(part, release.by_name[part.column], cut(text, 200))
        return Condition(text=text, rule=rule)
    raise InputError(problem)


def _of_all_members(text: str, release: AskedOf) -> str:
    """Return a hint for a condition that names a column of members without the number of the member, or ""."""
    linked, words = release.linked, {match[0] for match in NAME_OR_TEXT.finditer(text)}
    if linked is None or not (members := sorted(words & (set(linked.names) - set(release.by_name)))):
        return ""
    first, last = (slot_name(members[0], slot) for slot in (1, linked.most))
    return (
        f" {members[0]!r} is a column of members: {first!r} is its value for the first member, {last!r} for the last. "
        '`estimate` gives shares, means and medians over all members; `bound` accepts "share ..." and "mean ...".'
    )


def both_of(*conditions: str) -> str:
    """Join non-empty conditions into one that is met if and only if all are met."""
    texts = [text for text in conditions if text]
    return texts[0] if len(texts) == 1 else " and ".join(f"({text})" for text in texts)


def in_one_line(text: str) -> str:
    """Return a question with single spaces between the words.

    Raises
    ------
    InputError : if the string is too long for a question.
    """
    if len(text) > LONGEST:
        raise InputError(f"{cut(text, 60)!r} has {len(text):,} characters. A question may have at most {LONGEST:,}.")
    return " ".join(text.split())


def over_cells(columns: Columns, name: str, values: np.ndarray) -> np.ndarray:
    """Return, for each cell of a table, the entry of `values` for the cell's bin in one column."""
    return spread_out(values, [name], [column.name for column in columns], [len(column.labels) for column in columns]).ravel()


def excluded(rule_text: str, columns: Columns) -> np.ndarray | None:
    """Return a mask of the cells that a plausibility rule (what must never occur) excludes, because it is true for every
    value there.

    The result is None if the rule names columns that are not in the table, compares two columns, or counts conditions.
    """
    rule = _read(rule_text, columns)
    return None if rule is None else _surely_true(rule, columns, _of_values)


def _read(rule_text: str, columns: Columns) -> Rule | None:
    """Parse a plausibility rule, or return None if it names other columns, compares two columns, or counts conditions."""
    domains = {column.name: Domain(kind=column.kind, missing=column.missing is not None) for column in columns}
    return plain_rule(rule_text, domains)


def _surely_true(rule: Rule, columns: Columns, read: Reading) -> np.ndarray:
    """Return a boolean array over combinations of bins: True where a rule is true for every value."""
    names, shape = [column.name for column in columns], [len(column.labels) for column in columns]

    def leaf(part: Comparison | Gap | Count) -> Truth:
        if not isinstance(part, Comparison):
            raise TypeError("a question has neither a count nor a comparison of columns")
        true, false = _with_missing(part, columns[names.index(part.column)], read)
        return spread_out(true, [part.column], names, shape), spread_out(false, [part.column], names, shape)

    return truth_of(rule, leaf)[0]


def _with_missing(part: Comparison, column: PublishedColumn, read: Reading) -> Truth:
    """Return masks of the bins in which a comparison is surely true and surely false. Missing values are in neither, unless
    it asks for them.
    """
    absent = np.arange(len(column.labels)) == column.missing
    if part.operator == IS_MISSING:
        return absent, ~absent
    true, false = np.zeros_like(absent), np.zeros_like(absent)
    surely, possibly = read(part, column)
    true[~absent], false[~absent] = surely, ~possibly
    return true, false


def _of_labels(part: Comparison, column: PublishedColumn) -> tuple[np.ndarray, np.ndarray]:
    """Return masks of the bins where a comparison in a query is true for all and for some values. Categories are labels of
    bins.
    """
    if not isinstance(part.value, str):
        return _numeric(part, column)
    met = np.array([(label == part.value) == (part.operator == "==") for label in column.labels[: column.present]])
    return met, met


def _of_values(part: Comparison, column: PublishedColumn) -> tuple[np.ndarray, np.ndarray]:
    """Return masks of the bins where a comparison in a rule is true for all and for some values. Categories are categories
    in bins.
    """
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
    limits = edges(part, part.column, (-math.inf, math.inf), whole_numbers=column.kind == "integer")
    return np.array([any(low < edge < high for edge in limits) for low, high in zip(column.lower, column.upper, strict=True)])


def _holds(part: Comparison, column: PublishedColumn, index: int) -> bool:
    """Evaluate a numeric comparison for the lowest value of a bin or, without a lower limit, the highest."""
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
    advice = " Use a limit between two bins, such as " + " or ".join(f"{edge:.15g}" for edge in near) + "." if near else ""
    raise InputError(
        f"{text!r}: '{part.column} {part.operator} {part.value:.15g}' divides the bin {listing(cuts)} of {column.name!r}. The "
        f"released table does not distinguish the values in a bin. The bins are {listing(column.labels, 40)}.{advice}"
    )


# The range of the values in a bin, for means and medians of exact values.


def numbers_of(column: PublishedColumn) -> np.ndarray:
    """Return the (n_present,) representative values of the bins of values, with 0 where there is none."""
    return np.array([float(number or 0.0) for number in column.numbers[: column.present]])


def tells_values(column: PublishedColumn) -> bool:
    """Return whether every bin of a column contains a single value, its representative value."""
    return all(np.array_equal(limit, numbers_of(column)) for limit in column.value_limits)


def check_numbers(release: AskedOf, name: str) -> None:
    """Raise an InputError unless a column exists and all its bins of values have representative values."""
    if name not in release.by_name:
        raise _unknown(name, release, "a column of the release")
    column = release.by_name[name]
    if any(number is None for number in column.numbers[: column.present]):
        raise InputError(f"The column {cut(name, 60)!r} has a bin without a number, so it has no mean and no slope.")


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question that a release can answer, such as "mean income by sex where age >= 30".

    Attributes
    ----------
    kind : "share", "mean", "median", "quantile" or "slope".
    text : the question as the user wrote it, with single spaces.
    column : the column of a mean or quantile, or the target of a regression, or "" for a share.
    met : for a share, the condition whose share is requested; otherwise the condition that every row meets.
    where : the condition that counted rows meet.
    by : the column whose bins define the groups, or "" for all rows together.
    on : the columns of a regression.
    groups : the two groups of a comparison, the exposed group first; empty otherwise.
    quantile : the share of rows that do not exceed the requested quantile.
    weight : the column with the design weight of each row, or "" if every row counts once.
    slots : for a question about members, the same question about the first members, the second members, and so on, whose
        results are added up; the other fields then name columns of a member. Empty for a question about rows.
    """

    kind: Kind
    text: str
    column: str
    met: Condition
    where: Condition
    by: str = ""
    on: tuple[str, ...] = ()
    groups: tuple[Condition, ...] = ()
    quantile: float = 0.5
    weight: str = ""
    slots: tuple[Question, ...] = ()

    @property
    def parts(self) -> tuple[Question, ...]:
        """The questions whose results are added up: `slots` for a question about members, otherwise the question itself."""
        return self.slots or (self,)

    @property
    def columns(self) -> set[str]:
        columns = {name for name in (self.column, self.by, self.weight, *self.on) if name}
        return columns.union(*(condition.columns for condition in (self.met, self.where, *self.groups)))


def parse_question(text: str, release: AskedOf) -> Question:
    """Parse a question about a release, such as "mean income by sex where age >= 30".

    A question that names a column of members is about members at every position.

    Raises
    ------
    InputError : if the question cannot be read, names something that is not in the release, or has a condition that divides
        a bin.
    """
    words, linked = split_question(in_one_line(text)), release.linked
    names = set() if linked is None else set(linked.names) - set(release.by_name)
    if linked is None or not names & _named(words):
        return _of_rows(words, release)
    slots = tuple(_of_rows(_in_slot(words, names, slot), release) for slot in range(1, linked.most + 1))
    first = slots[0]
    return replace(
        first,
        text=words.text,
        column="" if words.kind == "share" else words.head,
        met=replace(first.met, text=words.head if words.kind == "share" else ""),
        where=replace(first.where, text=words.where),
        by=words.by,
        on=_columns(words.on),
        groups=tuple(replace(group, text=said_) for group, said_ in zip(first.groups, words.groups, strict=True)),
        slots=slots,
    )


def _named(words: QuestionWords) -> set[str]:
    return {*words.columns, *(match[0].partition(".")[0] for text in words.conditions for match in NAME_OR_TEXT.finditer(text))}


def _in_slot(words: QuestionWords, names: set[str], slot: int) -> QuestionWords:
    """Rewrite a question about members for one position: for the second members, `age` becomes `age_2`."""

    def renamed(text: str) -> str:
        return in_slot(text, names, slot)

    texts: dict[str, Any] = {name: renamed(getattr(words, name)) for name in ("text", "head", "where", "by", "on")}
    return replace(words, **texts, groups=tuple(map(renamed, words.groups)))


def _columns(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",")) if text else ()


def _of_rows(words: QuestionWords, release: AskedOf) -> Question:
    kind, text, head, by = words.kind, words.text, words.head, words.by
    rows = parse_condition(words.where, release)
    if by and by not in release.by_name:
        raise _unknown(by, release, "a column of the release")
    groups = tuple(parse_condition(group, release) for group in words.groups)
    weight = _weight(text, release) if words.weighted else ""
    if kind == "share":
        met = parse_condition(head, release)
        return Question(kind=kind, text=text, column="", met=met, where=rows, by=by, groups=groups, weight=weight)
    on = _columns(words.on)
    if kind == "ratio" or not all(name.isidentifier() for name in on):
        raise InputError(
            f"{cut(text, 200)!r}: this question cannot be answered from the published noisy tables, and the release contains "
            "no direct measurement for it. The publisher can add the question under [[models]] in the next release "
            "(docs/estimates.md)."
        )
    if kind == "slope" and (not on or len({head, *on}) <= len(on)):
        raise InputError(
            f"{cut(text, 200)!r}: a regression needs one or more columns after 'on'. They must differ from each other and from "
            f"{head!r}."
        )
    if kind in QUANTILES:
        _check_order(release, head)
    else:
        for name in (head, *on):
            check_numbers(release, name)
    met = parse_condition("", release)
    asked = Question(kind=kind, text=text, column=head, met=met, where=rows, by=by, on=on, groups=groups, weight=weight)
    return replace(asked, quantile=words.quantile)


def _weight(text: str, release: AskedOf) -> str:
    """Return the column with the design weights, each class of which must have limits."""
    if release.design is None or release.design.weight is None:
        raise InputError(
            f"{cut(text, 200)!r}: this release states no column with design weights ([design] weight), so there are no "
            "weighted answers. Omit 'weighted'."
        )
    if not np.isfinite(release.by_name[release.design.weight].value_limits).all():
        problem = f"{release.design.weight!r} has an open class without bounds, in which a weight can have any size"
        raise InputError(f"{cut(text, 200)!r}: there are no weighted answers, because {problem}.")
    return release.design.weight


def _check_order(release: AskedOf, name: str) -> None:
    if name not in release.by_name:
        raise _unknown(name, release, "a column of the release")
    if not release.by_name[name].ordered:
        raise InputError(f"The bins of the column {name!r} have no order, so it has no median and no quantile.")


def _unknown(name: str, release: AskedOf, expected: str) -> InputError:
    hint = closest(name, release.by_name)
    return InputError(
        f"{cut(name, 60)!r} is not {expected} ({listing(release.by_name, 40)})." + (f" Did you mean {hint!r}?" if hint else "")
    )


def about(release: AskedOf, question: Question, rows: str) -> str:
    if release.linked is None:
        return rows
    if not question.slots:
        of_members = {name for slot in release.linked.slots for name in slot}
        members = question.met.columns & of_members
        if not members or question.where.columns & of_members:
            return rows
        return f"{rows}. A row is a root. The share of {min(members)} is a share of all roots, with and without that member"
    first = f" (the first {len(question.slots)} of each root)" if release.linked.more == "first" else ""
    return f"the members{first} of {rows}. A row is a root with its members"


# Does a question have the same meaning in two releases?


def other_meaning(question: Question, release: AskedOf, other_release: AskedOf) -> str | None:
    """Return the reason why a question would mean something else in another release, such as other bins, or None.

    Means of representative values, medians, and groups by bins need the same bins. If a condition contains a number, the
    limits of the bins must agree; if it contains a category, the content of the bins must agree.

    Parameters
    ----------
    question : the question as read for the first release. The other release has the same columns.
    """
    first = question.parts[0]
    for name in sorted(set().union(*(part.columns for part in question.parts))):
        before, other_column = release.by_name[name], other_release.by_name[name]
        if before.unit != other_column.unit:
            return f"the unit of {name} is {before.unit!r} in the first and {other_column.unit!r} in the second"
        held = [dict(zip(column.labels, column.categories, strict=False)) for column in (before, other_column)]
        bins = [(each_.labels, each_.numbers, each_.lower, each_.upper, each_.categories) for each_ in (before, other_column)]
        by_bins = name in (first.column, first.by)
        if (by_bins and bins[0] != bins[1]) or any(held[0][label] != held[1][label] for label in held[0].keys() & held[1]):
            return f"the bins of {name} differ"
    return None
