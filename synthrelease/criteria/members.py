"""Apply criteria to members (such as persons), or pairs of members, instead of roots (such as households).

A wide record contains a root and all its members in one row; the column age_2, for example, contains the age of the second
member. Each wide record is converted to several rows, one for each member or pair, which the criterion treats like the rows
of a table. One replaced root moves the criterion value by at most the sensitivity for one row times the largest number of
rows of a root (theory 3.22, rows of members). The value is divided by the candidate's number of rows of members, because
the private number is not public.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import Any, TypeVar

from synthrelease.criteria.base import Criterion, Fitted, Setting
from synthrelease.criteria.columns import unnumbered
from synthrelease.criteria.explanation import Explanation
from synthrelease.criteria.facts import LostPair, Offender, PublicCounts, PublicFacts, Query
from synthrelease.data.counts import Counts
from synthrelease.data.linked import Linked
from synthrelease.data.member_counts import RowsOnBins, on_bins
from synthrelease.data.members import MemberRows, Of, parts_of
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Transformation
from synthrelease.data.synthetic_table import SyntheticTable
from synthrelease.settings.base import Mistake, unknown

_ROWS: Mapping[Of, tuple[str, str]] = {
    "members": ("members", "In this criterion every member of a root is a row."),
    "others": (
        "members",
        'In this criterion every member of a root except the first is a row; "first" names the first member.',
    ),
    "pairs": (
        "pairs of members",
        ('In this criterion a row is an ordered pair of members of a root; "other" names the second member.'),
    ),
}


class OfMembers(Criterion):
    """The base class of criteria that can compare members instead of roots.

    Attributes
    ----------
    of : with [members], which rows the criterion compares. By default, a root with all its members is one row. With
        "members", each member is one row. With "others", each member except the first of a root is one row; the columns of
        the first member are called first.NAME. With "pairs", each ordered pair of members of a root is one row; the columns
        of the second member are called other.NAME. `column` may also be a difference, "first.age - age". Example: `of =
        "members"`.
    """

    of: Of | None = None

    @property
    def read(self) -> tuple[str, ...]:
        """Return the columns that the criterion value depends on."""
        raise NotImplementedError

    @property
    def not_by_name(self) -> str:
        """Return the name of the setting that selects columns without naming them, "" if there is none."""
        return ""

    def rows_of(self, linked: Linked | None, wide: Iterable[str]) -> MemberRows:
        """Describe the rows of members that the criterion compares. Raises LookupError without [members] or without `of`."""
        if linked is None or self.of is None:
            raise LookupError("this criterion has no rows of members")
        return MemberRows(linked=linked, of=self.of, wide=tuple(wide), names=tuple(dict.fromkeys(self.read)))

    def rows_on(self, transformation: Transformation) -> RowsOnBins:
        schema = transformation.schema
        return RowsOnBins(rows=self.rows_of(schema.linked, schema.names), wide=transformation, own=self.own_values_of)


@dataclass(frozen=True, kw_only=True, eq=False)
class StackedRows:
    """The rows of members of a candidate, with those attributes of a `SyntheticTable` that criteria use."""

    transformation: Transformation
    counts: Counts

    @classmethod
    def of(cls, rows: RowsOnBins, table: Counts) -> StackedRows:
        return cls(transformation=rows.transformation, counts=rows.on_bins(table))

    @property
    def n(self) -> int:
        return self.counts.total


Kind = TypeVar("Kind", bound=type[OfMembers])


def reads_members(kind: Kind) -> Kind:
    """Decorate the class of a criterion, so that it compares members if `of` is set.

    The sensitivity must also hold when a row is added or removed, because neighbours can have different numbers of rows of
    members.
    """
    for name, of_members in (("query", _query), ("mistakes", _mistakes)):
        setattr(kind, name, _either(getattr(kind, name), of_members))
    return kind


def _either(plain: Callable[..., Any], of_members: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(plain)
    def either(self: OfMembers, *given: Any) -> Any:
        return plain(self, *given) if self.of is None else of_members(self, partial(plain, self), *given)

    return either


def _query(
    criterion: OfMembers, plain: Callable[..., Query], n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted
) -> Query:
    """Return the query of a criterion that compares members instead of roots.

    Privacy
    -------
    The sensitivity is k times the sensitivity for one row, where k is the largest number of rows of a root. The sensitivity
    for one row also holds when a row is added or removed. A replaced root removes at most k rows and adds at most k rows.
    Together these are at most k replacements, additions and removals (theory 3.22, rows of members). The number of rows
    from the candidate is public.
    """
    from synthrelease.criteria.members_mechanism import figure_of_members

    rows = criterion.rows_on(candidate.transformation)
    table = StackedRows.of(rows, candidate.counts)
    query = plain(max(1, table.n), table, _setting(criterion, setting), fitted)
    figure = partial(figure_of_members, rows=rows, figure=query.figure, figure_range=criterion.figure_range)
    return Query(sensitivity=rows.rows.most * query.sensitivity, figure=figure, void=query.void or not table.n)


def _setting(criterion: OfMembers, setting: Setting) -> Setting:
    transformations = tuple(criterion.rows_on(transformation).transformation for transformation in setting.transformations)
    schema, rows = transformations[0].schema, criterion.rows_of(setting.schema.linked, setting.schema.names)
    return Setting(
        schema=schema,
        groups=_groups(rows, setting.groups),
        raw=Plausibility(layout=schema.layout, masks=()),
        transformations=transformations,
        criteria=setting.criteria,
        joint_test=setting.joint_test,
    )


Groups = TypeVar("Groups")


def _groups(rows: MemberRows, groups: Mapping[str, Groups]) -> dict[str, Groups]:
    columns_of = {name: rows.columns(name, rows.seats[0]) for name in rows.names}
    return {name: groups[columns[0]] for name, columns in columns_of.items() if len(columns) == 1 and columns[0] in groups}


def _facts(criterion: OfMembers, facts: PublicFacts) -> PublicFacts:
    rows = criterion.rows_of(facts.linked, facts.by_name)
    numbers = {column.name: column.numbers for column in facts.columns}
    counts = None if facts.counts is None else on_bins(rows, facts.counts, numbers)
    return PublicFacts(
        n=facts.n if counts is None else max(1, counts.total),
        columns=rows.published(facts.columns),
        groups=_groups(rows, facts.groups),
        criteria=facts.criteria,
        counts=counts,
    )


def _mistakes(
    criterion: OfMembers, plain: Callable[..., Iterable[Mistake]], setting: Setting, earlier: Mapping[str, Criterion]
) -> Iterable[Mistake]:
    schema = setting.schema
    linked, of = schema.linked, repr(criterion.of)
    alone = criterion.of != "members" and linked is not None and linked.most < 2
    by_name = criterion.not_by_name
    answered = "Measurements cannot answer a criterion about members. Delete answered_by and set an epsilon"
    checks = (
        (linked is None, Mistake("of", f"of = {of} requires a configuration with [members]")),
        (alone, Mistake("of", f"of = {of} is not possible, because a root has at most one member. Set of = 'members'")),
        (by_name, Mistake(by_name, "If `of` is set, each table must be named by its columns in `tables`")),
        (criterion.answered_by, Mistake("answered_by", answered)),
    )
    if first := [mistake for wrong, mistake in checks if wrong][:1]:
        yield from first
        return
    rows = criterion.rows_of(linked, schema.names)
    field = "column" if "column" in type(criterion).model_fields else "tables"
    if names := rows.unknown():
        yield from unknown(field, "a column of the rows in this criterion", names, rows.known)
        return
    yield from [*_wrong_differences(criterion, rows, setting)] or plain(_setting(criterion, setting), earlier)


def _wrong_differences(criterion: OfMembers, rows: MemberRows, setting: Setting) -> Iterable[Mistake]:
    """Yield the mistakes in differences such as "first.age - age": both columns need representative values, and `values`
    must not be "own".
    """
    for name in rows.names:
        columns = rows.columns(name, rows.seats[0])
        if len(columns) == 2:
            yield from (mistake for column in columns for mistake in unnumbered(setting, "column", column))
            if name in criterion.own_values_of:
                problem = "A difference of two columns is computed from the representative values of bins"
                yield Mistake("values", f"{problem}. Set values = 'bins'")


def _named_by(criterion: OfMembers, first: str, second: str) -> Iterable[tuple[str, str]]:
    """Return the pairs of names under which two columns of a wide record, such as age_1 and age_2, occur in one row of
    members, such as (age, other.age). Only pairs that the criterion reads are returned.
    """
    names = {column for name in criterion.read for column in parts_of(name)}
    plain, slot = plain_and_place(first)
    beside, slot_beside = plain_and_place(second)
    if criterion.of == "members" or slot == slot_beside:
        pairs = [(plain, beside)] if slot == slot_beside else []
    elif criterion.of == "others":
        pairs = [(plain, f"first.{beside}")] if slot_beside == 1 else []
    else:
        pairs = [(plain, f"other.{beside}")]
    pairs += [(plain, second), (first, second)]
    return [pair for pair in pairs if set(pair) <= names]


def plain_and_place(name: str) -> tuple[str, int]:
    """Return ("age", 2) for the members' column "age_2"; for a column of roots, its name and 0."""
    plain, _, slot = name.rpartition("_")
    return (plain, int(slot)) if plain and slot.isdecimal() else (name, 0)


@dataclass(frozen=True)
class ExplainedOfMembers(Explanation[OfMembers]):
    """Explain a criterion that compares members, by applying the explanation of its kind to the rows of members.

    Such a value gives no bound on other quantities (`known_error`), because it adds up several tables of the wide record,
    and none on the effect of the random subset (`drawn_error`), because roots are sampled.
    """

    plain: Explanation[Any]

    def sentence(self, facts: PublicFacts) -> str:
        return f"{self.plain.sentence(_facts(self.about, facts))} {self._rows[1]}"

    def figure_unit(self, facts: PublicFacts) -> str:
        return self.plain.figure_unit(_facts(self.about, facts)).replace("rows", self._rows[0])

    @property
    def _rows(self) -> tuple[str, str]:
        return _ROWS[self.about.of or "members"]

    def public_sensitivity(self, facts: PublicFacts) -> float | None:
        known = self.plain.public_sensitivity(_facts(self.about, facts))
        return None if known is None else self.about.rows_of(facts.linked, facts.by_name).most * known

    def least_sensitivity(self, n: int, setting: Setting | None = None) -> float | None:
        return self.plain.least_sensitivity(n, setting)

    def guards(self, pair: LostPair) -> bool:
        """Return whether the criterion would notice that the association of two columns, such as age_1 and sex_1, is lost
        for every member.

        Then the error of the rows of members, as a share, is at least the error of the roots.
        """
        first, second = sorted(pair.columns)
        named = map(frozenset, (*_named_by(self.about, first, second), *_named_by(self.about, second, first)))
        gaps = [frozenset(parts_of(name)) for name in self.about.read]
        return any(columns in gaps or self.plain.guards(replace(pair, columns=columns)) for columns in named)

    def offender(self, public: PublicCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Offender | None:
        rows = self.about.rows_on(candidate.transformation)
        table = StackedRows.of(rows, candidate.counts)
        seen = replace(public, counts=rows.with_own_values(public.counts))
        return self.plain.offender(seen, table, _setting(self.about, setting), fitted)
