"""Define the criterion mean of roots: the largest error of the mean, over roots such as households, of a number computed
from each root's members.

Every root has one number in a given range, whatever its size, so the sensitivity is as small as for a single row (theory
3.23, means over roots). The criteria of `criteria.members` give large roots more weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from synthrelease.criteria.base import Criterion, Fitted, Setting
from synthrelease.criteria.columns import condition, condition_mistakes, grouping_mistakes, unknown_columns, unnumbered
from synthrelease.criteria.explanation import Explanation
from synthrelease.criteria.facts import LostPair, Offender, PublicCounts, PublicFacts, Query, figure, grouped, in_words, words
from synthrelease.criteria.groupings import groupings, present, smallest_group
from synthrelease.criteria.groups import check_range, middle
from synthrelease.criteria.members import plain_and_place
from synthrelease.data.schema import Schema, Transformation
from synthrelease.data.synthetic_table import SyntheticTable
from synthrelease.errors import Unexpected
from synthrelease.settings.base import AboutColumn, AmongColumns, Mistake

if TYPE_CHECKING:
    from synthrelease.criteria.mean_of_roots_mechanism import NumbersOfRoots, ReleasedRoots


class MeanOfRoots(Criterion):
    """The largest error of a mean over roots, such as households. Each root has a number h, such as the number of its
    children. The value is max over groups g of |sum_g (h - p_g)| / m_g. The sum is over the n_g original roots of group g
    that have a number; the candidate has m_g such roots, with mean p_g. The value equals the error of the mean if the size
    of the group is right.

    Privacy
    -------
    The sensitivity is (b - a) / min m_g, for numbers clipped to [a, b]. Both p_g and m_g come from the candidate, so they
    are public. A root may be replaced by another root with all its members. Each of the two adds (h - p_g)/m_g to its
    group, where h and p_g are in [a, b], or 0. These values are in an interval of length (b - a)/m_g that contains 0
    (theory 3.23, means over roots). The maximum keeps the sensitivity (theory 3.0, maxima). Nothing is divided by a private
    size.

    Rounding: h is computed elementwise from the cell of the root alone and clipped, so the rounded value is also in [a, b].
    The statistic uses its difference from the middle, which is at most (b - a)/2. The errors of the products with counts,
    of their correctly rounded sum, and of the mean times n_g are at most 3 n 2^-54 (b - a) together; the errors of the
    difference and the quotient are at most 2 n 2^-53 (b - a). In all, the error is less than 4 n 2^-53 of the sensitivity,
    which is below a quarter of a grid step up to 2^40 roots (`laplace_figure`).

    Attributes
    ----------
    column : the column from which the number is computed, of members or of roots. In a column of roots, each root counts as
        one member. Example: `column = "age"`.
    number : the number h of a root. "agreement" is the share of pairs of members in the same bin, or in the same group of
        [groups]; roots with fewer than two members with a value do not count. "sum" is the sum over the members, 0 for a
        root without members; every root counts. "mean" is the mean over the members with a value; roots without such a
        member do not count. Example: `number = "agreement"`.
    bins : the labels of bins of the column, or of groups if [groups] has the column. A member in one of them has the value
        1, any other member 0. With number = "sum" and range = [0, 1], h is 1 if the root has a member in one of these bins,
        and otherwise 0. Example: `bins = ["<15"]`, `number = "sum"`, `range = [0, 1]`.
    range : the lowest and the highest number, to which the sum or mean of a root is clipped. The noise grows with its
        width. For shares ("agreement", or "mean" with `bins`) the default is [0, 1]. Example: `range = [0, 3]`, `number =
        "sum"`.
    by : the columns of roots to group by, each separately. The groups are the column's bins of [groups] or, without these,
        its own bins. Example: `by = ["town"]`.
    overall : if true, the mean of all roots is also compared. Example: `overall = false`, `by = ["town"]`.
    values : "own" uses the exact private values, on the grid of the column (`step`). "bins" uses the representative values
        of the released bins. Example: `values = "bins"`.

    Examples
    --------
    >>> judged = MeanOfRoots(
    ...     kind="mean_of_roots", name="children", threshold=0.05, epsilon="0.01", column="age", number="sum",
    ...     bins=["<15"], range=[0, 3]
    ... )
    >>> judged.limits
    (0.0, 3.0)
    """

    no_measured_bound = "The value of a root depends on all its members at once, but noisy tables have few columns."
    kind: Literal["mean_of_roots"]
    column: AboutColumn
    number: Literal["agreement", "sum", "mean"]
    bins: tuple[str, ...] = ()
    range: tuple[float, float] | None = None
    by: AmongColumns = ()
    overall: bool = True
    values: Literal["own", "bins"] = "own"

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query:
        from synthrelease.criteria.mean_of_roots_mechanism import furthest_mean_of_roots

        numbers, groups = self._numbers(candidate, setting)
        smallest = min(int(group.roots.min()) for group in groups)
        return Query(
            sensitivity=(self.limits[1] - self.limits[0]) / max(1, smallest),
            figure=partial(furthest_mean_of_roots, numbers=numbers, groups=groups),
            void=smallest == 0,  # a group without rows has no mean
        )

    @property
    def limits(self) -> tuple[float, float]:
        return self.range or (0.0, 1.0)

    @property
    def own_values_of(self) -> tuple[str, ...]:
        return (self.column,) if self.values == "own" and self.number != "agreement" and not self.bins else ()

    def contradictions(self) -> Iterator[str | Unexpected]:
        if self.number == "agreement" and (self.bins or self.range):
            yield "Delete bins and range, because agreement is a share of pairs of members"
        if self.range is None and self.number != "agreement" and not (self.bins and self.number == "mean"):
            yield "Set `range` to the lowest and the highest number of a root. Other numbers are clipped"
        check_range(self.limits)
        if not self.by and not self.overall:
            yield "Name at least one column in `by`, or set overall = true"

    def mistakes(self, setting: Setting, earlier: Mapping[str, Criterion]) -> Iterable[Mistake]:
        schema = setting.schema
        columns = _columns(self.column, schema)
        unknown = [*unknown_columns(schema, "column", columns[:1])]
        wrong = [*unknown, *grouping_mistakes(setting, "by", self.by)]
        if unknown:
            return wrong
        if self.number == "agreement" and len(columns) < 2:
            problem = f"agreement compares two members of a root, but {self.column!r} exists at most once for each root"
            wrong.append(Mistake("column", problem))
        if self.number == "agreement":
            return [*wrong, *grouping_mistakes(setting, "column", columns[:1])]
        if self.bins:
            return [*wrong, *condition_mistakes(setting, "bins", columns[0], self.bins)]
        return [*wrong, *unnumbered(setting, "column", columns[0])]

    def _numbers(self, candidate: SyntheticTable, setting: Setting) -> tuple[NumbersOfRoots, list[ReleasedRoots]]:
        from synthrelease.criteria.mean_of_roots_mechanism import NumbersOfRoots

        transformation = candidate.transformation
        columns = _columns(self.column, setting.schema)
        numbers = NumbersOfRoots(
            transformation=transformation,
            columns=columns,
            number=self.number,
            scores=tuple(self._scores(name, transformation, setting) for name in columns),
            own=bool(self.own_values_of),
            range=self.limits,
            centre=middle(*self.limits),
        )
        ways = groupings(self.by, self.overall, transformation, setting)
        return numbers, [numbers.of_released(candidate.counts, grouping) for grouping in ways]

    def _scores(self, name: str, transformation: Transformation, setting: Setting) -> np.ndarray:
        """Return the number that stands for a member in each bin of a column (n_bins,), NaN for missing values."""
        binning, groups = transformation.binning(name), setting.groups.get(name)
        if self.bins:
            scores = condition(binning, groups, self.bins).astype(float)
        elif self.number == "agreement":
            scores = binning.map_to(groups or binning).astype(float)
        else:
            scores = binning.known_numbers
        return np.where(present(binning), scores, np.nan)


class MeanOfRootsExplained(Explanation[MeanOfRoots]):
    """Explain a limit on the largest error of a mean over roots, such as households."""

    no_bounds: ClassVar[str] = "The value of a root depends on all its members at once, but bounds use tables of few columns."

    def figure_unit(self, facts: PublicFacts) -> str:
        if self.about.number == "agreement":
            return "share of pairs of members"
        if self.about.bins:
            return "members of a root" if self.about.number == "sum" else "share of the members of a root"
        return facts.unit(_columns(self.about.column, facts)[0])

    def sentence(self, facts: PublicFacts) -> str:
        (low, high), over = self.about.limits, grouped(self.about.by, self.about.overall, facts)
        own = _columns(self.about.column, facts)[:1] if self.about.own_values_of else ()
        clipped = f", counted as {in_words(low)} to {in_words(high)}{facts.grid_of(own)}" if self.about.range else ""
        return (
            f"The largest difference between the released and the original mean over roots of {self._number}{clipped}, {over}. "
            "Each root counts once. Errors are multiplied by the original and divided by the released size of the group."
        )

    @property
    def _number(self) -> str:
        name, number = words(self.about.column), self.about.number
        if number == "agreement":
            return f"the share of pairs of members of a root with the same {name}, among roots where two members have a value"
        roots = "" if number == "sum" else ", among roots with a member who has a value"
        if self.about.bins:
            share = "number" if number == "sum" else "share"
            return f"the {share} of members of a root with {name} {in_words(self.about.bins)}{roots}"
        return f"the {number} of {name} over the members of a root{roots}"

    def public_sensitivity(self, facts: PublicFacts) -> float:
        table, (low, high) = facts.table, self.about.limits
        valued = np.zeros(len(table.counts), dtype=np.int64)
        for name in _columns(self.about.column, facts):
            valued += table.digits(table.layout.index(name)) < facts.by_name[name].present
        counting = valued >= {"agreement": 2, "sum": 0, "mean": 1}[self.about.number]
        return (high - low) / max(1, smallest_group(self.about.by, self.about.overall, counting, facts))

    def guards(self, pair: LostPair) -> bool:
        """Return whether the pair is the compared column and a grouping column or, with number = "agreement", the compared
        column of two members.
        """
        (plain, first), (beside, second) = map(plain_and_place, sorted(pair.columns))
        if self.about.number == "agreement" and plain == beside == self.about.column and first != second:
            return True
        names = {plain, beside, *pair.columns}
        return self.about.column in names and any(name in names - {self.about.column} for name in self.about.by)

    def least_sensitivity(self, n: int, setting: Setting | None = None) -> float:
        """Return the sensitivity for the group of all roots. Smaller groups have a larger sensitivity."""
        return (self.about.limits[1] - self.about.limits[0]) / n

    def offender(self, public: PublicCounts, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Offender | None:
        numbers, groups = self.about._numbers(candidate, setting)
        offenders = []
        for group in groups:
            roots, sums = numbers.of_original(public.counts, group.grouping)
            errors, original_means = group.errors(roots, sums), sums / np.maximum(roots, 1)
            worst = int(errors.argmax())
            released, original = (figure(float(means[worst]) + numbers.centre) for means in (group.means, original_means))
            part = f"{self.about.number} of {words(self.about.column)}, {group.grouping.where(worst)}"
            offenders.append((float(errors[worst]), Offender(where=part, released=released, original=original)))
        return max(offenders, key=lambda error_and_words: error_and_words[0])[1]


def _columns(column: str, known: Schema | PublicFacts) -> tuple[str, ...]:
    """Return the columns of a record with the values of a column: age_1, age_2, ... for the members' `age`, itself for a
    column of roots."""
    return known.linked.slots_of(column, known.by_name) if known.linked else (column,)
