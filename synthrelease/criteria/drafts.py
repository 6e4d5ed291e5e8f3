"""Draft criteria of each kind for a public file: what `init` writes, or why it writes none.

A draft is made of facts about the public file alone. Its threshold and epsilon are first guesses, until the figures of noisy
fits are known (`studio.drafting.criteria`).
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
"""The noise scale of a figure is to be at most its threshold divided by this: then the figure also bounds other errors."""

MOST_EPSILON = Fraction(1, 4)
"""A figure that would need more is not drafted."""

MOST_UNIQUE = 0.2
"""Share of the rows that occur once up to which a draft asks for a minimum count of rows."""

_NOT_OUTCOMES = ("age", "agep", "edad", "alter", "sex", "gender", "sexo", "race", "year", "month", "date")
"""Parts of names of columns that people group by, rather than explain."""


@dataclass(frozen=True, kw_only=True)
class Partner:
    """Another column, beside the rows that have a value of both.

    Attributes
    ----------
    distance : how strongly the two are associated: the share of all rows that would have to change for them to be independent.
    smallest_group : rows in the smallest of the few groups of the other column that figures may be taken over; 0 where it has
        too many.
    """

    distance: float
    smallest_group: int


@dataclass(frozen=True, kw_only=True)
class FileColumn:
    """A drafted column of a public file, in its released bins.

    Attributes
    ----------
    of_date : whether it is made from a date.
    weight : whether it is a design weight.
    alternative : what the bins that it is released in are called.
    limits : inner limits of the drafted bins of a column of numbers; None for categories.
    mean_range : of a column of numbers: what values may be clipped to so that no mean moves by more than next to nothing.
    line_range : likewise for a line, in which a few extreme rows may count as less than they are.
    spread : the standard deviation of its values within `mean_range`.
    category_rows : how often each category occurs in the file, by its label; empty for numbers.
    missing_rows : rows without a value.
    partners : the other columns, those with the strongest association with it first.
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
        """Return the number of released bins."""
        return (len(self.limits) + 1 if self.limits is not None else len(self.category_rows)) + (self.missing_rows > 0)

    @property
    def rarest(self) -> str:
        """The category that occurs least."""
        return min(self.category_rows, key=lambda label: self.category_rows[label])

    @property
    def tied(self) -> float:
        """Return how strongly the column is associated with all other columns."""
        return sum(partner.distance for partner in self.partners.values())

    @property
    def explained(self) -> bool:
        """Return whether its name allows it to be a dependent variable: no age, sex, date or weight."""
        words = self.name.lower().replace("-", "_").split("_")
        return not (self.of_date or self.weight or any(word in _NOT_OUTCOMES for word in words))


@dataclass(frozen=True, kw_only=True)
class FileFacts:
    """The public facts from which criteria are drafted; the private file is taken to have about as many rows.

    Attributes
    ----------
    cell : the error of a cell of a small table that the draft allows at first, as a share of all rows.
    unique : share of the rows that occur once in the bins of the draft.
    strongest : pairs of columns that are associated beyond chance, those with the strongest associations first.
    members : the columns of a member, where rows are roots that may have several.
    """

    columns: tuple[FileColumn, ...]
    n_rows: int
    cell: float
    unique: float
    strongest: tuple[tuple[str, str], ...] = ()
    members: tuple[str, ...] = ()

    @property
    def outcomes(self) -> tuple[FileColumn, ...]:
        """Return columns of numbers that look like dependent variables, the most associated first."""
        numeric = [column for column in self.columns if column.explained and len(column.limits or ()) > 2]
        return tuple(sorted(numeric, key=lambda column: -column.tied))

    @property
    def conditions(self) -> tuple[FileColumn, ...]:
        """Return columns of two categories that look like dependent variables, the most associated first."""
        two = [column for column in self.columns if column.explained and len(column.category_rows) == 2]
        frequent = [column for column in two if min(column.category_rows.values()) >= max(100, 0.01 * self.n_rows)]
        return tuple(sorted(frequent, key=lambda column: -column.tied))

    def numeric_partners(self, column: FileColumn, most: int) -> tuple[FileColumn, ...]:
        """Return at most so many columns of numbers, the strongest partners first."""
        named = {partner.name: partner for partner in self.columns}
        fits = [named[name] for name in column.partners if named[name].limits is not None and not named[name].weight]
        return tuple(fits[:most])

    def grouping(self, column: FileColumn, least: float, most: int) -> tuple[FileColumn, ...]:
        """Return at most so many columns to group by, the strongest partners first; each group has `least` rows with values."""
        named = {fitting.name: fitting for fitting in self.columns}
        large = [name for name, partner in column.partners.items() if partner.smallest_group >= max(1, least)]
        fits = [named[name] for name in large if not named[name].weight]
        return tuple(fits[:most])


Asked = Literal["", "single columns", "shares of single columns", "pairs"]


@dataclass(frozen=True, kw_only=True)
class CriterionDraft:
    """One criterion: its TOML keys in order, and a remark. Threshold and epsilon are first guesses, until figures are known.

    Attributes
    ----------
    seen : the figure on the public file: between its halves, in fits, and if columns were independent.
    about : the size of what its figure is an error of, such as a share or a standard deviation; None where the figure says it.
    in_place_of : the name of the criterion that this one stands for where that one could only have a far wider limit, because
        bins are too wide for it; empty where it stands for none.
    asks : "single columns", or "shares of single columns" where its figure is one, which independent columns have right;
        "pairs" where it is about associations at large: a draft needs one of these that independent columns fail.
    """

    settings: Mapping[str, object]
    remark: str
    seen: str = ""
    about: float | None = None
    in_place_of: str = ""
    asks: Asked = ""

    def ignoring(self, names: Sequence[str]) -> CriterionDraft:
        """Return a criterion that compares the rows of every column, without these columns in the comparison."""
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
        """Return the draft of a criterion, with the settings of its kind in the order in which they are written."""
        written = {"name": name[:80], "kind": kind, **settings, "epsilon": epsilon}
        return cls(settings=written, remark=remark, about=about, asks=asks)


def budget(least: float) -> Fraction:
    """Return an epsilon of at least this much, in thousandths; in hundredths from a tenth on."""
    step = 100 if least >= 0.1 else 1000
    return Fraction(max(1, math.ceil(least * step * (1 - 1e-9))), step)


Drafts = Iterable[CriterionDraft | str]
"""Criteria of one kind for a public file, each with first guesses; a text for what was left out, and why."""

_MANY = 20
"""Columns beyond which a draft compares tables of two columns alone: those of three take seconds in every round."""
_MOST_BY = 6
"""Groupings of a share of rows."""
_BINS_OF_NEIGHBOURS = 12
"""Bins of a column from which on a bin and its two neighbours are at most a quarter of them."""
_ROWS_FOR_A_CELL = 4
"""Rows of a file for each cell of the columns that faithfulness compares: then most rows have a similar one."""


def _share(part: float) -> float:
    """Round the first guess of a threshold to two digits."""
    return float(f"{part:.2g}")


def _names(columns: Iterable[FileColumn]) -> list[str]:
    return [column.name for column in columns]


def absolute_marginal_error(file: FileFacts) -> Drafts:
    """Draft a limit on each cell of small tables, and one on each bin of single columns."""
    largest = LARGEST_WHEN_WIDE if len(file.columns) <= _MANY else 2
    kind, epsilon = "absolute_marginal_error", budget(NOISE_SHARE / (file.n_rows * file.cell))
    remark = f"no cell of a table of up to {largest} columns may have an error above this share of all rows"
    settings: dict[str, object] = {"largest": min(largest, len(file.columns)), "threshold": file.cell}
    yield CriterionDraft.of("absolute error of marginals", kind, remark, settings, epsilon=epsilon)
    remark = "no bin of one column may have an error above this share of all rows (independent columns pass)"
    about, name = statistics.median(1 / max(1, column.n_bins) for column in file.columns), "absolute error of single columns"
    single = CriterionDraft.of(name, kind, remark, {**settings, "largest": 1}, epsilon=epsilon, about=about)
    yield replace(single, asks="shares of single columns")


def relative_marginal_error(file: FileFacts) -> Drafts:
    """Draft a limit on the ratios of bins. At a clip of 1.25 the sensitivity is about 1.6 over the rows of the rarest bin."""
    shares = [times / file.n_rows for column in file.columns for times in column.category_rows.values()]
    shares += [column.missing_rows / file.n_rows for column in file.columns if column.missing_rows]
    step = 1.25**2 / max(1.0, file.n_rows * min([0.01, *shares]))
    epsilon = budget(step / 0.1)
    if epsilon > MOST_EPSILON:
        yield "relative_marginal_error: with so few rows in the rarest bins its noise would need a large budget"
        return
    name, kind = "relative error of single columns", "relative_marginal_error"
    remark = "no bin of one column may differ by more than this factor (independent columns pass)"
    yield CriterionDraft.of(name, kind, remark, {"threshold": 1.2, "clip": 1.25}, epsilon=epsilon, asks="single columns")


def mean_marginal_error(file: FileFacts) -> Drafts:
    """Draft a limit on the typical table of two columns, a limit on the most associated tables, and the same for members."""
    kind, remark = "mean_marginal_error", "the share of rows in a wrong cell, on average over all tables of two columns"
    settings: dict[str, object] = {"tables": ["all 2-way"], "threshold": 0.05}
    yield CriterionDraft.of("typical error of pairs", kind, remark, settings, asks="pairs")
    n = len(file.strongest)
    if 0 < n < math.comb(len(file.columns), 2):
        settings = {"tables": [":".join(pair) for pair in file.strongest], "threshold": 0.1}
        over = f", on average over the tables of the {n} most associated pairs of columns"
        over = over if n > 1 else " of the table of the two columns that are associated"
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
    """Draft the means of the two columns of numbers with the strongest associations, by up to three of these."""
    remark = "no mean of a group, nor the overall mean, may have an error above this; values beyond `range` count as its ends"
    for column in file.outcomes[:2]:
        low, high = column.mean_range
        by = _names(file.grouping(column, 3 * file.cell * file.n_rows, 3))
        settings = {"column": column.name, "by": by, "range": [low, high], "size_margin": file.cell}
        settings["threshold"] = _share((high - low) * 0.05)
        yield CriterionDraft.of(f"mean {column.name}", "conditional_mean", remark, settings, about=column.spread)


def conditional_median(file: FileFacts) -> Drafts:
    """Draft the median of the column of numbers that is associated most with others.

    Of few bins it must lie in the released one itself: with its neighbours that would be most of the range.
    """
    for column in file.outcomes[:1]:
        within = 1 if column.n_bins >= _BINS_OF_NEIGHBOURS else 0
        by = _names(file.grouping(column, 0.05 * file.n_rows, 3))
        settings = {"column": column.name, "by": by, "within": within, "threshold": file.cell}
        remark = f"whether each original median lies in the bin of the released one{' or next to it' if within else ''}"
        yield CriterionDraft.of(f"median {column.name}", "conditional_median", remark, settings)


def difference_in_proportions(file: FileFacts) -> Drafts:
    """Draft the shares of the rarer of two categories, for the three columns with the strongest associations."""
    least, kind = max(300, 0.01 * file.n_rows), "difference_in_proportions"
    groups = [(column, _names(file.grouping(column, least, _MOST_BY))) for column in file.conditions[:3]]
    if not any(by for _, by in groups):
        yield f"{kind}: no column of two frequent values has groups that are large enough"
    remark = "no group's share of rows with this value, nor the overall share, may have an error above this"
    for column, by in groups:
        if by:
            settings = {"column": column.name, "bins": [column.rarest], "by": by, "threshold": 0.05}
            about = column.category_rows[column.rarest] / max(1, sum(column.category_rows.values()))
            yield CriterionDraft.of(f"share of {column.name}", kind, remark, settings, about=about)


def mean_of_roots(file: FileFacts) -> Drafts:
    """Draft how far members of a root are alike in the column in which the first two are most, and the mean of a number."""
    by_name, kind = {column.name: column for column in file.columns}, "mean_of_roots"
    beside = dict[str, float]()  # how much the first two members of a root are associated in a column
    for name in file.members:
        first, second = (slot_name(name, slot) for slot in (1, 2))
        partner = by_name[first].partners.get(second) if first in by_name else None
        beside[name] = partner.distance if partner else 0.0
    if not any(beside.values()):
        return
    alike = max(beside, key=beside.__getitem__)
    remark = "the share of pairs of members of a root in the same bin: its mean over roots may have an error of at most this"
    settings: dict[str, object] = {"column": alike, "number": "agreement", "threshold": 0.05}
    yield CriterionDraft.of(f"members alike in {alike}", kind, remark, settings)
    limits = {name: by_name[slot_name(name, 1)].limits or () for name in file.members}
    remark = "no mean over roots of the mean of their members, within `range`, may have an error above this"
    for name, edges in [(name, edges) for name, edges in limits.items() if len(edges) > 2][:1]:
        settings = {"column": name, "number": "mean", "range": [edges[0], edges[-1]], "values": "bins"}
        settings["threshold"] = _share((edges[-1] - edges[0]) * 0.05)
        yield CriterionDraft.of(f"mean {name} of roots", kind, remark, settings)


def regression_one_step(file: FileFacts) -> Drafts:
    """Draft the line of the column of numbers that is associated most with others, on up to three of these that are numbers.

    It is that of the file; or, where bins of the features are too wide for that, the file's on their bins.
    """
    remark = (
        "the sum of the errors of the regression coefficients, per standard deviation of each feature; values beyond `ranges` "
        "count as their ends"
    )
    for column in file.outcomes[:1]:
        features, (low, high) = file.numeric_partners(column, 3), column.line_range
        ranges = {ranged.name: list(ranged.line_range) for ranged in [*features, column]}
        limits = {"ranges": ranges, "range": [low, high], "threshold": _share((high - low) * 0.1)}
        yield from _regression(column, features, ("line of", "line on the bins for"), "own target", limits, remark)


def logistic_regression(file: FileFacts) -> Drafts:
    """Draft the odds of the two categories with the strongest associations, on up to three columns of numbers."""
    if not any(file.numeric_partners(column, 3) for column in file.conditions[:1]):
        yield "logistic_regression: no column of two frequent values has columns of numbers beside it"
    remark = (
        "no log odds ratio per standard deviation of a feature may have an error above this; values beyond `ranges` count as "
        "their ends"
    )
    for column in file.conditions[:1]:
        features = file.numeric_partners(column, 3)
        limits = {"ranges": {feature.name: list(feature.line_range) for feature in features}, "threshold": 0.2}
        yield from _regression(column, features, ("odds of", "odds on the bins for"), "bins", limits, remark)


def _regression(
    target: FileColumn,
    features: Sequence[FileColumn],
    names: tuple[str, str],
    on_bins: str,
    limits: Mapping[str, object],
    remark: str,
) -> Iterable[CriterionDraft]:
    """Draft a regression by the own values of the features, and one by their bins that may stand in its place."""
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
    yield CriterionDraft.of(own, kind, remark, {**columns, **limits})
    yield replace(CriterionDraft.of(binned, kind, remark, {**columns, "values": on_bins, **limits}), in_place_of=own[:80])


def faithfulness(file: FileFacts) -> Drafts:
    """Draft similar rows in the columns most associated: in as many as a file of this size has such rows for."""
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
    why = "; in all columns at once hardly any row has one" if ignored else ""
    remark = f"the share of rows without a similar original row of their own{why}"
    yield CriterionDraft.of("faithfulness", "faithfulness", remark, settings)


def face_privacy(file: FileFacts) -> Drafts:
    """Draft that each row occurs twice, where not too many rows of the public file occur once."""
    if file.unique > MOST_UNIQUE:
        yield (
            f"face privacy: {file.unique:.0%} of the public rows occur once in these columns, and a table in which each occurs "
            "twice would be made of repetitions. Fewer columns or coarser bins would allow it"
        )
        return
    settings = {"name": "face privacy", "kind": "face_privacy", "minimum_count": 2}
    yield CriterionDraft(settings=settings, remark="no row of the release may look unique; costs nothing")


DRAFTS: Mapping[str, Callable[[FileFacts], Drafts] | str] = {
    "absolute_marginal_error": absolute_marginal_error,
    "relative_marginal_error": relative_marginal_error,
    "mean_marginal_error": mean_marginal_error,
    "quantile_marginal_error": "The mean is drafted; which share of the tables matters is a decision about the table at hand.",
    "weighted_marginal_error": "Which column holds design weights is for the steward to say.",
    "conditional_mean": conditional_mean,
    "conditional_median": conditional_median,
    "difference_in_proportions": difference_in_proportions,
    "kolmogorov_distance": "`init` drafts a median, which readers know; its bound for whole distributions is a choice.",
    "mean_of_roots": mean_of_roots,
    "regression_coefficients": "Which line the data are for is known to their users, and not from a file.",
    "regression_one_step": regression_one_step,
    "regression_prediction": "It needs the private line of another criterion, which is not drafted either.",
    "logistic_regression": logistic_regression,
    "faithfulness": faithfulness,
    "face_privacy": face_privacy,
}
"""What `init` drafts of each kind, in the order of its file; or why it drafts none."""

ASKED_FOR: Mapping[str, str] = {
    "absolute_marginal_error": "Every cell of a table of columns: the largest error of a share of the rows",
    "mean_marginal_error": "A table of columns as a whole: the share of the rows in a wrong cell",
    "conditional_mean": "The mean of a column of numbers, also in groups: its largest error",
    "conditional_median": (
        "The median of a column of numbers, also in groups: whether it lies in the bin of the released one or next to it"
    ),
    "difference_in_proportions": "How often a value occurs, also in groups: the largest error of a share of a group",
    "kolmogorov_distance": "How a column is distributed, also in groups: the largest error of a cumulated share",
}
"""What somebody asks for in words who names columns and a threshold alone; kinds that need more are not here."""


def drafts_of(file: FileFacts) -> list[CriterionDraft | str]:
    """Return the criteria of all kinds for a public file, and a text for each that was left out."""
    return [draft for drafts in DRAFTS.values() if not isinstance(drafts, str) for draft in drafts(file)]
