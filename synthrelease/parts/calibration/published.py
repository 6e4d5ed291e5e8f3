"""The weights of a released table in release.json: the published totals, the limits, and what came of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from synthrelease.data.weights import Calibration, Margin
from synthrelease.privacy.charges import Way
from synthrelease.published.base import Fact, Number, Part, WeightColumn, number
from synthrelease.published.columns import ColumnPart

if TYPE_CHECKING:
    from synthrelease.data.weights import Weights

Positive = Annotated[Number, Field(gt=0)]
NotNegative = Annotated[Number, Field(ge=0)]


class MarginGroupPart(Part):
    """A group of a column of a margin: its label, and the released bins that it is made up of."""

    label: str
    bins: Annotated[list[str], Field(min_length=1)]


class MarginPart(Part):
    """Published totals over all combinations of the groups of some columns.

    Attributes
    ----------
    groups : per column, in the order of `columns`, in the order in which they are neighbours.
    totals : one for each combination, that of the last column changing fastest.
    """

    columns: Annotated[list[str], Field(min_length=1)]
    groups: list[Annotated[list[MarginGroupPart], Field(min_length=1)]]
    totals: Annotated[list[NotNegative], Field(min_length=1)]


class JoinedPart(Part):
    """Neighbouring groups that were taken together: in which margin (counted from 0), of which column."""

    margin: int
    column: str
    groups: Annotated[list[str], Field(min_length=2)]


class WeightsPart(Part):
    """What raking came to.

    Attributes
    ----------
    design_effect : 1 + cv^2 of the weights.
    cycles : how often all margins were gone through.
    deviation : the largest difference between a weighted count and its total, as a share of it.
    """

    smallest: NotNegative
    largest: Positive
    design_effect: Positive
    cycles: Annotated[int, Field(ge=1)]
    deviation: NotNegative
    joined: list[JoinedPart]


class CalibrationPart(Part):
    """What the released rows are weighted to.

    Attributes
    ----------
    source : which published figures the totals are.
    start : the column whose numbers the weights start from; null where all start equal.
    floor, cap : the least and the largest weight, in mean weights.
    weights : null where the margins could not be met: the table then has no column of weights, and `failed` says why.
    """

    follows: ClassVar[str] = "card"

    source: str
    start: str | None
    floor: NotNegative
    cap: Positive
    tolerance: Positive
    collapse: list[str]
    fewest_rows: Annotated[int, Field(ge=1)]
    margins: Annotated[list[MarginPart], Field(min_length=1)]
    weights: WeightsPart | None
    failed: str

    def exact_facts(self, way: Way) -> tuple[Fact, ...]:
        """The totals, which others had published."""
        return (("published_figures", "calibration.margins"),)

    @property
    def beyond(self) -> str:
        """Where the totals come from."""
        return f"that the totals of the weights were published, as is stated: {self.source}"

    @property
    def weights_column(self) -> WeightColumn | None:
        """Where the totals were met."""
        if self.weights is None:
            return None
        return WeightColumn(smallest=self.weights.smallest, largest=self.weights.largest, source=self.source)

    @classmethod
    def of(cls, calibration: Calibration, columns: Sequence[ColumnPart], outcome: Weights | str) -> CalibrationPart:
        """A calibration on the released bins, with its weights or the reason why there are none."""
        labels = {column.name: column.labels for column in columns}
        return cls(
            source=calibration.source,
            start=calibration.start,
            floor=number(calibration.floor),
            cap=number(calibration.cap),
            tolerance=number(calibration.tolerance),
            collapse=list(calibration.collapse),
            fewest_rows=calibration.fewest_rows,
            margins=[_margin_part(margin, labels) for margin in calibration.margins],
            weights=None if isinstance(outcome, str) else _weights_part(outcome),
            failed=outcome if isinstance(outcome, str) else "",
        )

    def calibration(self, columns: Sequence[ColumnPart]) -> Calibration:
        """The calibration as it is stated. Raises LookupError or ValueError for groups that do not fit the columns."""
        labels = {column.name: column.labels for column in columns}
        return Calibration(
            source=self.source,
            margins=tuple(_margin(part, labels) for part in self.margins),
            start=self.start,
            floor=float(self.floor),
            cap=float(self.cap),
            tolerance=float(self.tolerance),
            collapse=tuple(self.collapse),
            fewest_rows=self.fewest_rows,
        )


def _margin_part(margin: Margin, labels: dict[str, tuple[str, ...]]) -> MarginPart:
    return MarginPart(
        columns=list(margin.columns),
        groups=[
            [
                MarginGroupPart(label=label, bins=[one for one, of in zip(labels[column], into, strict=True) if of == group])
                for group, label in enumerate(names)
            ]
            for column, names, into in zip(margin.columns, margin.labels, margin.into, strict=True)
        ],
        totals=[number(total) for total in margin.totals],
    )


def _margin(part: MarginPart, labels: dict[str, tuple[str, ...]]) -> Margin:
    into = []
    for column, groups in zip(part.columns, part.groups, strict=True):
        of_bin = [(label, place) for place, group in enumerate(groups) for label in group.bins]
        if sorted(label for label, _ in of_bin) != sorted(labels[column]):
            raise ValueError("each released bin in one group")
        into.append(tuple(dict(of_bin)[label] for label in labels[column]))
    margin = Margin(
        columns=tuple(part.columns),
        labels=tuple(tuple(group.label for group in groups) for groups in part.groups),
        into=tuple(into),
        totals=tuple(float(total) for total in part.totals),
    )
    if margin.table.shape != margin.shape or not margin.total > 0:
        raise ValueError("a total for each combination of groups, one of them above 0")
    return margin


def _weights_part(weights: Weights) -> WeightsPart:
    return WeightsPart(
        smallest=number(weights.smallest),
        largest=number(weights.largest),
        design_effect=number(weights.design_effect),
        cycles=weights.cycles,
        deviation=number(weights.deviation),
        joined=[
            JoinedPart(margin=joined.margin, column=joined.column, groups=list(joined.labels)) for joined in weights.joined
        ],
    )


PUBLISHED = CalibrationPart
