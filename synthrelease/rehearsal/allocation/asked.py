"""What the criteria of a specification ask, as tables and sums to measure: from the two files and a public table alone.

- Every column by itself, one of two bins as a sum, which moves by half as much; for a line the products of its columns, each
  as one sum; the rarest bins of a relative error, counted apart or, where they cannot be, as a sum where a column has one;
  the tables that a criterion looks at, where they are few.
- For criteria that look at all columns together, the sub-tables that a model of maximum entropy should be told
  (`dependence.telling_tables`).

What all criteria can do without is left out again: one table or product after another, the widest tables first, as long as fits
without noise keep a part of every criterion's slack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from synthrelease.criteria.base import Criterion
from synthrelease.criteria.marginals import RelativeMarginalError
from synthrelease.criteria.regressions import RegressionCoefficients
from synthrelease.data.counts import Counts
from synthrelease.data.schema import Binning
from synthrelease.generators.marginals import GaussianMarginals, Marginals, MarginalsGenerator
from synthrelease.generators.measured_noise import DiscreteLaplace, RoundedGaussian
from synthrelease.generators.measurements import bins_of, read_bins
from synthrelease.rehearsal.allocation.parts import Allocation, MeasuredPart
from synthrelease.rehearsal.dependence import Purse, telling_tables, weight_of
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.space import rare_bin_mistakes

PRIOR_WEIGHT = 10.0
_NEAR_TO_RAREST = 3.0
_MOST_RARE = 6
_APART = 0.01
"""Part of the rows in a bin that is counted apart, at most: what else is peculiar to them is lost."""
_TIED = 0.005
"""Correlation below which the product of two columns that are not the target is left to the model."""
_CLIPPED = 2.0
"""Standard deviations of a product that its sum is clipped to."""
_FEW_TABLES = 12
_KEPT = 0.25
"""Part of a criterion's slack without noise that is left when tables are left out."""

Rooms = Callable[[ReleaseSpec, str], np.ndarray]
"""(J,) of a specification the mean slack of every aspect of its criteria, without noise, less the margin; and what it is tried
for, in words."""


def with_parts(spec: ReleaseSpec, parts: Sequence[MeasuredPart]) -> ReleaseSpec:
    """The specification with one generator that measures these, in equal shares."""
    tables = " + ".join(part.text for part in parts if part.field == "tables")
    sums = " + ".join(part.text for part in parts if part.field == "sums") or None
    now = spec.space.generators[0].model_dump()
    settings = {"tables": tables, "prior_weight": PRIOR_WEIGHT, "draw": now.get("draw"), "rare_bins": now.get("rare_bins")}
    generator: MarginalsGenerator = (
        GaussianMarginals.model_validate(settings)
        if spec.space.generators[0].gaussian
        else Marginals.model_validate({**settings, "sums": sums})
    )
    return replace(spec, space=replace(spec.space, generators=(generator,), shortlist=None))


def with_columns(spec: ReleaseSpec) -> ReleaseSpec:
    """The specification with one generator that measures every column by itself, rows of all bins."""
    columns = spec.space.common.layout.columns
    return with_parts(
        _counting_apart(spec, ()),
        [MeasuredPart(field="tables", place=place, texts=(name,)) for place, name in enumerate(columns)],
    )


def asked_parts(spec: ReleaseSpec, public: Counts, rooms: Rooms, late: Callable[[], bool] = lambda: False) -> ReleaseSpec:
    """The specification with what its criteria need measured, in equal shares.

    Parameters
    ----------
    public : the public table on atomic cells.
    late : whether the time is used up: no further table is left out then.
    """
    common = spec.space.common
    table = public.merge(common.layout, common.maps)
    columns = common.layout.columns
    spec = _counting_apart(spec, _that_can_be_apart(spec, table))
    apart = {factor.text for factor in read_bins(spec.space.generators[0].model_dump()["rare_bins"])}
    tables = list(dict.fromkeys([(name,) for name in columns] + list(_tables_of_criteria(spec)) + _telling(spec, table)))
    sums: list[str] = []
    if not spec.space.generators[0].gaussian:
        of_two = [name for name, bins in zip(columns, common.layout.sizes, strict=True) if bins == 2]
        of_two = of_two if len(of_two) < len(columns) else []
        tables = [names for names in tables if names[0] not in of_two or len(names) > 1]
        rare = [text for text in _alone_in_their_columns(_rare_bins(spec, table)) if text not in apart]
        sums = list(dict.fromkeys([*rare, *(f"{name}[0 1]" for name in of_two), *_products(spec, table)]))
    parts = [MeasuredPart(field="tables", place=place, texts=(":".join(names),)) for place, names in enumerate(tables)]
    parts += [MeasuredPart(field="sums", place=place, texts=(text,)) for place, text in enumerate(sums)]
    sizes = dict(zip(columns, common.layout.sizes, strict=True))

    def width(part: MeasuredPart) -> int:
        return int(np.prod([sizes[name] for name in part.text.split(":")])) if part.field == "tables" else 0

    parts = list(_that_fit(spec, parts))
    wide = sorted((part for part in parts if ":" in part.text), key=width, reverse=True)
    least = _KEPT * np.maximum(rooms(with_parts(spec, parts), "what the criteria have with all tables"), 0.0)
    for place, part in enumerate(wide, 1):
        if late():
            break
        fewer = [other for other in parts if other is not part]
        asked = f"whether the criteria can do without table or product {place} of {len(wide)}"
        if (rooms(with_parts(spec, fewer), asked) >= least).all():
            parts = fewer
    return with_parts(spec, parts)


def _alone_in_their_columns(rare: Iterable[str]) -> list[str]:
    """Those of columns of which no other bin is rare: noise for each of several costs as much as that of their whole table."""
    texts = list(rare)
    columns = [text.partition("[")[0] for text in texts]
    return [text for text, column in zip(texts, columns, strict=True) if columns.count(column) == 1]


def _counting_apart(spec: ReleaseSpec, rare: Sequence[str]) -> ReleaseSpec:
    """The specification with these rare bins, which cost nothing there."""
    generator = spec.space.generators[0].model_copy(update={"rare_bins": " + ".join(rare) or None})
    return replace(spec, space=replace(spec.space, generators=(generator,), shortlist=None))


def by_cells(spec: ReleaseSpec, allocation: Allocation) -> Allocation:
    """With the weights that drafts have (`dependence.weight_of`), and 1 for noise of sums: where weights are not searched."""
    layout = spec.space.common.layout

    def weight(part: MeasuredPart) -> Fraction:
        if part.field == "sums":
            return Fraction(1)
        return weight_of(tuple(layout.index(name) for name in part.text.split(":")), layout.sizes)

    return replace(allocation, weights=tuple(weight(part) for part in allocation.parts))


def _that_fit(spec: ReleaseSpec, parts: Sequence[MeasuredPart]) -> Iterator[MeasuredPart]:
    """Those that one model can hold together, the first ones first."""
    layout, tied = spec.space.common.layout, [mask.columns for mask in spec.synthetic.masks]
    kept: list[MeasuredPart] = []
    for part in parts:
        generator = with_parts(spec, [*kept, part]).space.generators[0]
        if not list(generator.mistakes(layout, tied)):
            kept.append(part)
            yield part


def _tables_of_criteria(spec: ReleaseSpec) -> Iterator[tuple[str, ...]]:
    """The tables of several columns that criteria look at, but for those that look at very many."""
    facts = spec.setting.facts(spec.space.common)
    for criterion in spec.criteria:
        if type(criterion).measured_sums is Criterion.measured_sums or isinstance(criterion, RegressionCoefficients):
            continue
        tables = list(dict.fromkeys(sums.columns for sums in criterion.measured_sums(facts) if len(sums.columns) > 1))
        if len(tables) <= _FEW_TABLES:
            yield from (tuple(sorted(names, key=spec.space.common.layout.index)) for names in tables)


def _telling(spec: ReleaseSpec, table: Counts) -> list[tuple[str, ...]]:
    kind = RoundedGaussian if spec.space.generators[0].gaussian else DiscreteLaplace
    purse = Purse(kind=kind, cost=spec.generation_budget)
    common = spec.space.common
    missing = {name for name, each in zip(common.layout.columns, common.binnings, strict=True) if each.missing is not None}
    told = telling_tables(table, spec.synthetic.merge(common), purse, missing=missing)
    return [tuple(common.layout.columns[column] for column in columns) for columns in told.tables]


def _rare_bins(spec: ReleaseSpec, table: Counts) -> Iterator[str]:
    """The bins of single columns that a relative error leaves the fewest rows of room."""
    thresholds = [each.threshold for each in spec.criteria if isinstance(each, RelativeMarginalError)]
    if not thresholds:
        return
    counts = {
        (column, bin_): int(rows)
        for column in range(len(table.layout.sizes))
        for bin_, rows in enumerate(table.marginal((column,)).ravel().tolist())
        if rows
    }
    rarest = min(counts.values())
    near = sorted((rows, place) for place, rows in counts.items() if rows <= _NEAR_TO_RAREST * rarest)
    for _, (column, bin_) in near[:_MOST_RARE]:
        scores = " ".join("1" if one == bin_ else "0" for one in range(table.layout.sizes[column]))
        yield f"{table.layout.columns[column]}[{scores}]"


def _that_can_be_apart(spec: ReleaseSpec, table: Counts) -> list[str]:
    """Of the rarest bin and others of its column those in which next to no row is, if they can be counted apart at all."""
    texts = list(_rare_bins(spec, table))
    if not texts or spec.publish_measurements or not spec.shared_measurements:
        return []
    one_column = [text for text in texts if text.partition("[")[0] == texts[0].partition("[")[0]]
    bins = bins_of(" + ".join(one_column), table.layout)
    few = [
        text
        for text, each in zip(one_column, bins, strict=True)
        if table.marginal((each.column,))[each.bin] <= _APART * table.total
    ]
    tried = _counting_apart(spec, few)
    mistakes = rare_bin_mistakes(tried.space.generators[0], tried.space, spec.schema, spec.synthetic, shared=True)
    lines = [each.target for each in spec.criteria if isinstance(each, RegressionCoefficients) and each.measured_line]
    return [] if any(mistakes) or texts[0].partition("[")[0] in lines else few


def _products(spec: ReleaseSpec, table: Counts) -> Iterator[str]:
    """For every line the products of the target and each feature, and of features that hang together."""
    for criterion in spec.criteria:
        if not isinstance(criterion, RegressionCoefficients):
            continue
        axes = {name: _Axis.of(spec, table, name, own=name in criterion.own_values_of) for name in criterion.columns}
        for first, second in combinations(criterion.columns, 2):
            one, other = axes[first], axes[second]
            if one is None or other is None:
                continue
            pair = tuple(sorted(map(table.layout.index, (first, second))))
            rows = table.marginal(pair)
            scores = (
                np.multiply.outer(one.scores, other.scores)
                if table.layout.index(first) == pair[0]
                else (np.multiply.outer(other.scores, one.scores))
            )
            n = rows.sum()
            deviation = float(np.sqrt((rows * scores**2).sum() / n))
            spreads = one.deviation * other.deviation
            if second != criterion.target and spreads and abs((rows * scores).sum() / n) / spreads < _TIED:
                continue
            limit = _number(_CLIPPED * deviation, digits=2)
            clipped = np.abs(scores).max() > 1.25 * _CLIPPED * deviation
            yield f"{one.text}:{other.text}" + (f" within -{limit}..{limit}" if clipped else "")


class _Axis:
    """The centred numbers of a column's bins, and how they are written."""

    def __init__(self, text: str, scores: np.ndarray, rows: np.ndarray):
        self.text, self.scores = text, scores
        self.deviation = float(np.sqrt((rows * scores**2).sum() / rows.sum()))

    @classmethod
    def of(cls, spec: ReleaseSpec, table: Counts, name: str, *, own: bool) -> _Axis | None:
        column = table.layout.index(name)
        binning: Binning = spec.space.common.binnings[column]
        numbers = np.array([np.nan if number is None else float(number) for number in binning.numbers])
        rows = table.marginal((column,)).ravel().astype(float)
        known = np.isfinite(numbers) & (rows > 0)
        if known.sum() < 2:
            return None
        mean = float((rows[known] * numbers[known]).sum() / rows[known].sum())
        if own:
            low, high = _middle(numbers[known], rows[known])
            centre = float(_number(mean))
            scores = np.clip(np.where(np.isfinite(numbers), numbers, centre), low, high) - centre
            return cls(f"{name}({_number(low)}..{_number(high)} - {_number(centre)})", scores, rows)
        scores = np.array([float(_number(each - mean)) if np.isfinite(each) else 0.0 for each in numbers])
        return cls(f"{name}[{' '.join(map(_number, scores.tolist()))}]", scores, rows)


def _middle(numbers: np.ndarray, rows: np.ndarray) -> tuple[float, float]:
    """Between which all but one row in a hundred lie."""
    order = np.argsort(numbers)
    share = np.cumsum(rows[order]) / rows.sum()
    return float(numbers[order][np.searchsorted(share, 0.005)]), float(numbers[order][np.searchsorted(share, 0.995)])


def _number(value: float, digits: int = 3) -> str:
    """In plain digits."""
    return np.format_float_positional(value + 0.0, digits, unique=False, fractional=False, trim="-")
