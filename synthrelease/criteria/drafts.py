"""Draft acceptance criteria of each kind from a public file alone, for the acceptance file that `init` writes.

Drafted thresholds and epsilons are first guesses. `studio.drafting.criteria` replaces them after noisy fits.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from typing import Literal

from synthrelease.criteria.columns import LARGEST_WHEN_WIDE
from synthrelease.data.linked import slot_name

NOISE_SHARE = 6
"""The drafted noise scale of a criterion value is at most the threshold divided by this number, so that error bounds are
useful."""

MOST_EPSILON = Fraction(1, 4)
"""Largest epsilon of a drafted criterion. A criterion that needs a larger epsilon is not drafted."""

MOST_UNIQUE = 0.2
"""Largest share of unique rows in the public file for which a minimum count of rows is drafted."""

# Words in names of columns that usually define groups and are rarely dependent variables.
_NOT_OUTCOMES = ("age", "agep", "edad", "alter", "sex", "gender", "sexo", "race", "year", "month", "date")


@dataclass(frozen=True, kw_only=True)
class Partner:
    """The association of a column with another column.

    Attributes
    ----------
    distance : the share of all rows that would have to change to make the two columns independent.
    smallest_group : the rows in the smallest group of the other column, with values in both columns; 0 for too many groups.
    """

    distance: float
    smallest_group: int


@dataclass(frozen=True, kw_only=True)
class FileColumn:
    """A column of a public file, with its rows counted in the released bins.

    Attributes
    ----------
    limits : the inner limits of the drafted bins, or None for a column of categories.
    mean_range : for numbers, a range to which values can be clipped with hardly any effect on means.
    line_range : a narrower range for regressions, to which a few extreme values are clipped.
    spread : the standard deviation of the values within `mean_range`.
    category_rows : the rows of each category, by label; empty for numbers.
    partners : the other columns, strongest association first.
    """

    name: str
    of_date: bool
    weight: bool
    alternative: str
    limits: tuple[float, ...] | None
    category_rows: Mapping[str, int]
    missing_rows: int
    partners: Mapping[str, Partner]
    mean_range: tuple[float, float]
    line_range: tuple[float, float]
    spread: float = 1.0

    @property
    def n_bins(self) -> int:
        return (len(self.limits) + 1 if self.limits is not None else len(self.category_rows)) + (self.missing_rows > 0)

    @property
    def rarest(self) -> str:
        return min(self.category_rows, key=lambda label: self.category_rows[label])

    @property
    def tied(self) -> float:
        return sum(partner.distance for partner in self.partners.values())

    @property
    def explained(self) -> bool:
        """Return whether the column can be a dependent variable: not a date, a weight, or a column such as age or sex."""
        words = self.name.lower().replace("-", "_").split("_")
        return not (self.of_date or self.weight or any(word in _NOT_OUTCOMES for word in words))


@dataclass(frozen=True, kw_only=True)
class FileFacts:
    """The facts about a public file from which criteria are drafted. The private file is assumed to be about as large.

    Attributes
    ----------
    cell : the drafted threshold for the error of a cell of a small table, as a share of the rows.
    unique : the share of rows that are unique in the drafted bins.
    strongest : the pairs of columns with an association beyond chance, strongest first.
    """

    columns: tuple[FileColumn, ...]
    n_rows: int
    cell: float
    unique: float
    strongest: tuple[tuple[str, str], ...] = ()
    members: tuple[str, ...] = ()

    @property
    def outcomes(self) -> tuple[FileColumn, ...]:
        """Return the numeric columns that can be dependent variables, the most associated first."""
        numeric = [column for column in self.columns if column.explained and len(column.limits or ()) > 2]
        return tuple(sorted(numeric, key=lambda column: -column.tied))

    @property
    def conditions(self) -> tuple[FileColumn, ...]:
        two = [column for column in self.columns if column.explained and len(column.category_rows) == 2]
        frequent = [column for column in two if min(column.category_rows.values()) >= max(100, 0.01 * self.n_rows)]
        return tuple(sorted(frequent, key=lambda column: -column.tied))

    def numeric_partners(self, column: FileColumn, most: int) -> tuple[FileColumn, ...]:
        named = {partner.name: partner for partner in self.columns}
        fits = [named[name] for name in column.partners if named[name].limits is not None and not named[name].weight]
        return tuple(fits[:most])

    def grouping(self, column: FileColumn, least: float, most: int) -> tuple[FileColumn, ...]:
        """Return at most `most` columns to group by, strongest association first. Each of their groups has at least `least`
        rows with values.
        """
        named = {fitting.name: fitting for fitting in self.columns}
        large = [name for name, partner in column.partners.items() if partner.smallest_group >= max(1, least)]
        fits = [named[name] for name in large if not named[name].weight]
        return tuple(fits[:most])


Asked = Literal["", "single columns", "shares of single columns", "pairs"]


@dataclass(frozen=True, kw_only=True)
class CriterionDraft:
    """The draft of one criterion: its settings in the order of the acceptance file, and a remark for the user.

    Attributes
    ----------
    seen : three criterion values on the public file: of its halves, of tables fitted with noise, and of independent
        columns.
    about : the size of the quantity whose error is measured, such as a share, or None for a relative error.
    in_place_of : the name of the criterion that this draft replaces if the bins are too wide, or "".
    asks : "single columns" or "shares of single columns" if a table of independent columns can meet the criterion; "pairs"
        if it concerns all associations.
    """

    settings: Mapping[str, object]
    remark: str
    seen: str = ""
    about: float | None = None
    in_place_of: str = ""
    asks: Asked = ""

    def ignoring(self, names: Sequence[str]) -> CriterionDraft:
        """Return the draft of a faithfulness criterion with further ignored columns. Other drafts are unchanged."""
        if "exact" not in self.settings:
            return self
        ignored = self.settings.get("ignored")
        return replace(self, settings={**self.settings, "ignored": [*(ignored if isinstance(ignored, list) else ()), *names]})

    @classmethod
    def of(
        cls,
        name: str,
        kind: str,
        remark: str,
        settings: Mapping[str, object],
        *,
        epsilon: Fraction = Fraction(1, 100),
        about: float | None = None,
        asks: Asked = "",
    ) -> CriterionDraft:
        written = {"name": name[:80], "kind": kind, **settings, "epsilon": epsilon}
        return cls(settings=written, remark=remark, about=about, asks=asks)


def budget(least: float) -> Fraction:
    """Round a drafted epsilon up to a multiple of 0.001, or of 0.01 from 0.1 on."""
    step = 100 if least >= 0.1 else 1000
    return Fraction(max(1, math.ceil(least * step * (1 - 1e-9))), step)


Drafts = Iterable[CriterionDraft | str]
"""The drafts of one kind for a public file. If a criterion gets no draft, a text states why."""

# Largest number of columns for which a draft compares tables of three columns. With more columns, tables of three columns
# take seconds in every round.
_MANY = 20
_MOST_BY = 6  # Largest number of columns by which a drafted share of rows is grouped
# Smallest number of bins for which the median may lie in a neighbouring bin. Three of so many bins are at most a quarter of all
# bins.
_BINS_OF_NEIGHBOURS = 12
# Smallest number of rows of the file for each cell of the table over the columns in faithfulness. With so many rows, most rows
# have a similar row.
_ROWS_FOR_A_CELL = 4


def _share(part: float) -> float:
    return float(f"{part:.2g}")


def _names(columns: Iterable[FileColumn]) -> list[str]:
    return [column.name for column in columns]


def absolute_marginal_error(file: FileFacts) -> Drafts:
    """Draft criteria for the largest error of a cell in small tables, and of a bin of a single column."""
    largest = LARGEST_WHEN_WIDE if len(file.columns) <= _MANY else 2
    kind, epsilon = "absolute_marginal_error", budget(NOISE_SHARE / (file.n_rows * file.cell))
    remark = f"no cell of a table of up to {largest} columns may have a larger error than this share of all rows"
    settings: dict[str, object] = {"largest": min(largest, len(file.columns)), "threshold": file.cell}
    yield CriterionDraft.of("absolute error of marginals", kind, remark, settings, epsilon=epsilon)
    remark = "no bin of one column may have a larger error than this share of all rows (independent columns pass)"
    about, name = statistics.median(1 / max(1, column.n_bins) for column in file.columns), "absolute error of single columns"
    single = CriterionDraft.of(name, kind, remark, {**settings, "largest": 1}, epsilon=epsilon, about=about)
    yield replace(single, asks="shares of single columns")


def relative_marginal_error(file: FileFacts) -> Drafts:
    """Draft a criterion for the largest ratio between the private and the released count of a bin.

    Ratios are clipped at 1.25, so the sensitivity is about 1.6 / (rows in the rarest bin). If the epsilon would be too
    large, yield the reason instead.
    """
    shares = [times / file.n_rows for column in file.columns for times in column.category_rows.values()]
    shares += [column.missing_rows / file.n_rows for column in file.columns if column.missing_rows]
    step = 1.25**2 / max(1.0, file.n_rows * min([0.01, *shares]))
    epsilon = budget(step / 0.1)
    if epsilon > MOST_EPSILON:
        yield (
            "relative_marginal_error: with so few rows in the rarest bins, the noise of this criterion would need a large "
            "budget"
        )
        return
    name, kind = "relative error of single columns", "relative_marginal_error"
    remark = "no bin of one column may differ by more than this factor (independent columns pass)"
    yield CriterionDraft.of(name, kind, remark, {"threshold": 1.2, "clip": 1.25}, epsilon=epsilon, asks="single columns")


def mean_marginal_error(file: FileFacts) -> Drafts:
    """Draft criteria for the mean error of tables of two columns: of all pairs, of the most associated pairs and, if rows
    contain members, of tables of members.
    """
    kind, remark = "mean_marginal_error", "the share of rows in a wrong cell, on average over all tables of two columns"
    settings: dict[str, object] = {"tables": ["all 2-way"], "threshold": 0.05}
    yield CriterionDraft.of("typical error of pairs", kind, remark, settings, asks="pairs")
    n = len(file.strongest)
    if 0 < n < math.comb(len(file.columns), 2):
        settings = {"tables": [":".join(pair) for pair in file.strongest], "threshold": 0.1}
        over = f", on average over the tables of the {n} most associated pairs of columns"
        over = over if n > 1 else " of the table of the only two associated columns"
        remark = f"the share of rows in a wrong cell{over}"
        yield CriterionDraft.of("typical error of the strongest pairs", kind, remark, settings, asks="pairs")
    if not file.members:
        return
    slots = tuple(f"{name}_" for name in file.members)
    roots = [column.name for column in file.columns if not column.name.startswith(slots)]
    alone = [*combinations(file.members, 2), *product(roots, file.members)]
    together = [(name, f"other.{name}") for name in file.members]
    for of, name, pairs, share in (
        ("members", "members in pairs of columns", alone, "members in a wrong cell"),
        ("pairs", "members who belong together", together, "pairs of members of one root that are in a wrong cell"),
    ):
        settings = {"of": of, "tables": [":".join(pair) for pair in pairs], "threshold": 0.1}
        yield CriterionDraft.of(name, kind, f"the share of {share}, on average over their tables", settings)


def conditional_mean(file: FileFacts) -> Drafts:
    """Draft a criterion for the mean of each of the two most associated numeric columns, within the groups of up to three
    columns.
    """
    remark = (
        "no group mean may have a larger error than this, nor may the overall mean; values beyond `range` count as the "
        "nearer end of `range`"
    )
    for column in file.outcomes[:2]:
        low, high = column.mean_range
        by = _names(file.grouping(column, 3 * file.cell * file.n_rows, 3))
        settings = {"column": column.name, "by": by, "range": [low, high], "size_margin": file.cell}
        settings["threshold"] = _share((high - low) * 0.05)
        yield CriterionDraft.of(f"mean {column.name}", "conditional_mean", remark, settings, about=column.spread)


def conditional_median(file: FileFacts) -> Drafts:
    """Draft a criterion for the median of the most associated numeric column. With many bins, the original median may lie
    in a neighbouring bin.
    """
    for column in file.outcomes[:1]:
        within = 1 if column.n_bins >= _BINS_OF_NEIGHBOURS else 0
        by = _names(file.grouping(column, 0.05 * file.n_rows, 3))
        settings = {"column": column.name, "by": by, "within": within, "threshold": file.cell}
        remark = f"whether each original median lies in the bin of the released median{' or next to it' if within else ''}"
        yield CriterionDraft.of(f"median {column.name}", "conditional_median", remark, settings)


def difference_in_proportions(file: FileFacts) -> Drafts:
    """Draft criteria for the share of the rarer category of the three most associated columns with two categories."""
    least, kind = max(300, 0.01 * file.n_rows), "difference_in_proportions"
    groups = [(column, _names(file.grouping(column, least, _MOST_BY))) for column in file.conditions[:3]]
    if not any(by for _, by in groups):
        yield (f"{kind}: no column with two frequent categories has a column to group by with large enough groups")
    remark = "no group's share of rows with this value may have a larger error than this, nor may the overall share"
    for column, by in groups:
        if by:
            settings = {"column": column.name, "bins": [column.rarest], "by": by, "threshold": 0.05}
            about = column.category_rows[column.rarest] / max(1, sum(column.category_rows.values()))
            yield CriterionDraft.of(f"share of {column.name}", kind, remark, settings, about=about)


def mean_of_roots(file: FileFacts) -> Drafts:
    """Draft criteria for up to two means over roots: how often the members of a root agree in the column with the strongest
    association between the first two members, and the mean of a numeric column.
    """
    by_name, kind = {column.name: column for column in file.columns}, "mean_of_roots"
    beside = dict[str, float]()  # the association between the first two members of a root in each column
    for name in file.members:
        first, second = (slot_name(name, slot) for slot in (1, 2))
        partner = by_name[first].partners.get(second) if first in by_name else None
        beside[name] = partner.distance if partner else 0.0
    if not any(beside.values()):
        return
    alike = max(beside, key=beside.__getitem__)
    remark = "the mean over roots may have at most this error; the number of a root is the share of pairs of members who agree"
    settings: dict[str, object] = {"column": alike, "number": "agreement", "threshold": 0.05}
    yield CriterionDraft.of(f"members alike in {alike}", kind, remark, settings)
    limits = {name: by_name[slot_name(name, 1)].limits or () for name in file.members}
    remark = "the mean over roots may have at most this error; the number of a root is the mean of its members within `range`"
    for name, edges in [(name, edges) for name, edges in limits.items() if len(edges) > 2][:1]:
        settings = {"column": name, "number": "mean", "range": [edges[0], edges[-1]], "values": "bins"}
        settings["threshold"] = _share((edges[-1] - edges[0]) * 0.05)
        yield CriterionDraft.of(f"mean {name} of roots", kind, remark, settings)


def regression_one_step(file: FileFacts) -> Drafts:
    """Draft a criterion for the linear regression of the most associated numeric column on up to three numeric columns.

    A second draft, on the bins of the features, replaces the first if bins are wide.
    """
    remark = (
        "the sum of the errors of the regression coefficients, per standard deviation of each feature; values beyond "
        "`ranges` count as the nearer end of their range"
    )
    for column in file.outcomes[:1]:
        features, (low, high) = file.numeric_partners(column, 3), column.line_range
        ranges = {ranged.name: list(ranged.line_range) for ranged in [*features, column]}
        limits = {"ranges": ranges, "range": [low, high], "threshold": _share((high - low) * 0.1)}
        yield from _regression(column, features, ("line of", "line on the bins for"), "own target", limits, remark)


def logistic_regression(file: FileFacts) -> Drafts:
    """Draft a criterion for the logistic regression of the most associated column with two categories on up to three
    numeric columns.
    """
    if not any(file.numeric_partners(column, 3) for column in file.conditions[:1]):
        yield "logistic_regression: no column with two frequent values is associated with columns of numbers"
    remark = (
        "no log odds ratio per standard deviation of a feature may have a larger error than this; values beyond `ranges` "
        "count as the nearer end of their range"
    )
    for column in file.conditions[:1]:
        features = file.numeric_partners(column, 3)
        limits = {"ranges": {feature.name: list(feature.line_range) for feature in features}, "threshold": 0.2}
        yield from _regression(column, features, ("odds of", "odds on the bins for"), "bins", limits, remark)


def _regression(
    target: FileColumn, features: Sequence[FileColumn], names: tuple[str, str], bins: str, limits: dict[str, object], note: str
) -> Iterable[CriterionDraft]:
    """Draft two criteria for the same regression: on the exact values of the features, and on their bins."""
    if not features:
        return
    kind = "regression_one_step" if target.limits is not None else "logistic_regression"
    columns = {
        "target": target.name,
        **({} if target.limits is not None else {"positive": [target.rarest]}),
        "features": _names(features),
        "representation": {column.name: column.alternative for column in [target, *features]},
    }
    own, binned = (f"{name} {target.name}" for name in names)
    yield CriterionDraft.of(own, kind, note, {**columns, **limits})
    yield replace(CriterionDraft.of(binned, kind, note, {**columns, "values": bins, **limits}), in_place_of=own[:80])


def faithfulness(file: FileFacts) -> Drafts:
    """Draft a criterion for the share of released rows without a similar row. Larger files compare more of the most
    associated columns.
    """
    compared, cells = list[FileColumn](), 1
    for column in sorted(file.columns, key=lambda column: -column.tied):
        near = 2 if column.limits is not None else 1
        if not column.weight and cells * column.n_bins <= file.n_rows * near / _ROWS_FOR_A_CELL:
            compared.append(column)
            cells *= column.n_bins
    ignored = _names(column for column in file.columns if column not in compared)
    settings = {
        "exact": _names(column for column in compared if column.limits is None),
        "within_one_bin": _names(column for column in compared if column.limits is not None),
        **({"ignored": ignored} if ignored else {}),
        "threshold": 0.2,
    }
    why = "; hardly any row has a row that is similar in all columns" if ignored else ""
    remark = f"the share of rows that have no similar original row{why}"
    yield CriterionDraft.of("faithfulness", "faithfulness", remark, settings)


def face_privacy(file: FileFacts) -> Drafts:
    """Draft the criterion that each released row occurs at least twice, unless many rows of the public file are unique."""
    if file.unique > MOST_UNIQUE:
        yield (
            f"face privacy: {file.unique:.0%} of the public rows occur once in these columns. A table in which each row "
            "occurs twice would consist of repetitions. This criterion would become possible with fewer columns or coarser "
            "bins"
        )
        return
    settings = {"name": "face privacy", "kind": "face_privacy", "minimum_count": 2}
    yield CriterionDraft(settings=settings, remark="every released row occurs at least twice; this criterion costs nothing")


DRAFTS: Mapping[str, Callable[[FileFacts], Drafts] | str] = {
    "absolute_marginal_error": absolute_marginal_error,
    "relative_marginal_error": relative_marginal_error,
    "mean_marginal_error": mean_marginal_error,
    "quantile_marginal_error": "`init` drafts the mean; for a quantile, the steward decides which share of the tables matters.",
    "weighted_marginal_error": "The steward must say which column contains design weights.",
    "conditional_mean": conditional_mean,
    "conditional_median": conditional_median,
    "difference_in_proportions": difference_in_proportions,
    "kolmogorov_distance": "`init` drafts a median, which readers know; a steward decides on limits for whole distributions.",
    "mean_of_roots": mean_of_roots,
    "regression_coefficients": "Only users of the data know which regression they need. The file does not show this.",
    "regression_one_step": regression_one_step,
    "regression_prediction": "This kind needs the private line of another criterion, and that criterion is not drafted.",
    "logistic_regression": logistic_regression,
    "faithfulness": faithfulness,
    "face_privacy": face_privacy,
}
"""For each kind, the function that drafts it, or the reason why `init` does not draft it. The order is the order of the drafted
file.
"""

ASKED_FOR: Mapping[str, str] = {
    "absolute_marginal_error": "The largest error of the share of rows in a cell of a table",
    "mean_marginal_error": "The share of the rows in a wrong cell of a table",
    "conditional_mean": "The largest error of the mean of a column of numbers, over all rows or in groups",
    "conditional_median": (
        "Whether the original median of a column of numbers lies in or next to the bin of the released median, also in groups"
    ),
    "difference_in_proportions": "The largest error of the share of rows with a value, over all rows or in groups",
    "kolmogorov_distance": "The largest error of a cumulative share of a column, over all rows or in groups",
}
"""For each kind that a steward can add with only columns and a threshold, a description of the kind."""


def drafts_of(file: FileFacts) -> list[CriterionDraft | str]:
    return [draft for drafts in DRAFTS.values() if not isinstance(drafts, str) for draft in drafts(file)]
