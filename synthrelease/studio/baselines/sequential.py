"""Classical sequential synthesis without noise: each column drawn given the earlier ones, from tables or by regressions.

What packages for synthetic data do by default. *Saturated tables*: a value is drawn from the smoothed counts of the finest
group of records that agree on earlier columns and is large enough (`back_off`), like a leaf of a tree. *Norm and logit*: linear
regression of a column with numbers, logistic regression of one with two values, both with coefficients drawn from their
posterior; other columns from tables.
Neither has a guarantee: what a model was fitted to shows through. For public data alone; a release refuses it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy import sparse
from scipy.linalg import qr
from scipy.special import expit

from synthrelease.data.counts import Counts
from synthrelease.data.linked import Linked
from synthrelease.data.plausibility import Plausibility
from synthrelease.errors import listing
from synthrelease.studio.baselines.base import (
    LEAST_ROWS,
    MOST_PREDICTORS,
    NO_GUARANTEE,
    PRIOR,
    Baseline,
    ComparedFile,
    ConditionalTable,
    DoesNotFit,
    MadeTables,
    least_rows,
)
from synthrelease.studio.rehearsal.logit import fit_logit

_TRIES = 100
_RANK_TOLERANCE = 1e-9

Draw = Callable[[Sequence[np.ndarray], int, np.random.Generator], np.ndarray]
"""(n_rows,) bins of a column, from the (n_rows,) bins of all earlier columns, and their number."""


def saturated(
    table: Counts,
    predictors: Mapping[int, Sequence[int]],
    plausibility: Plausibility,
    generator: np.random.Generator,
    prior: float = PRIOR,
) -> Counts:
    """Draw as many rows as the public table has, from saturated tables.

    Parameters
    ----------
    predictors : for each column, earlier ones in the order in which they are to make groups.
    plausibility : rules; rows that break one are drawn again, and left out where that does not help after many tries.
    prior : of each bin; 0 draws the value of a random record of the group.
    """
    rows, sizes = _rows(table), table.layout.sizes
    draws = [_by_table(rows[column], sizes[column], rows, sizes, predictors[column], prior) for column in range(len(rows))]
    return _drawn(table, draws, plausibility, generator)


def norm_and_logit(
    table: Counts,
    predictors: Mapping[int, Sequence[int]],
    numbers: Sequence[np.ndarray | None],
    plausibility: Plausibility,
    generator: np.random.Generator,
) -> tuple[Counts, tuple[int, ...]]:
    """Draw as many rows, by regressions where a column has numbers or two values; and the columns that no regression was
    fitted to.

    Parameters
    ----------
    numbers : for each column the (n_bins,) numbers of its bins, NaN for missing values, or None where values have none.
    """
    rows, sizes, draws, by_table = _rows(table), table.layout.sizes, list[Draw](), list[int]()
    for column in range(len(rows)):
        earlier = tuple(predictors[column][:MOST_PREDICTORS])
        design = _Design.of([rows[z] for z in earlier], [sizes[z] for z in earlier], [numbers[z] for z in earlier])
        draw = _by_regression(rows[column], numbers[column], earlier, sizes, design, rows, generator) if earlier else None
        if draw is None:
            draw = _by_table(rows[column], sizes[column], rows, sizes, earlier)
            by_table.append(column)
        draws.append(draw)
    return _drawn(table, draws, plausibility, generator), tuple(by_table)


def _rows(table: Counts) -> list[np.ndarray]:
    return [table.rows(column) for column in range(len(table.layout.sizes))]


def _drawn(table: Counts, draws: Sequence[Draw], plausibility: Plausibility, generator: np.random.Generator) -> Counts:
    """Rows column by column; those that break a rule are drawn anew as whole rows."""
    copy = Counts.empty(table.layout)
    for _ in range(_TRIES):
        missing = table.total - copy.total
        if not missing:
            break
        rows: list[np.ndarray] = []
        for draw in draws:
            rows.append(draw(rows, missing, generator))
        copy = copy + plausibility.filter(Counts.of(table.layout, rows))
    return copy


def _by_table(
    bins: np.ndarray,
    size: int,
    rows: Sequence[np.ndarray],
    sizes: Sequence[int],
    earlier: Sequence[int],
    prior: float = PRIOR,
) -> Draw:
    earlier, smallest = tuple(earlier[:MOST_PREDICTORS]), least_rows(size, prior)
    shares = ConditionalTable.of(bins, size, [rows[z] for z in earlier], [sizes[z] for z in earlier], least=smallest)

    def draw(columns: Sequence[np.ndarray], n_rows: int, generator: np.random.Generator) -> np.ndarray:
        return shares.draw(shares.groups([columns[z] for z in earlier], n_rows), generator, prior)

    return draw


class _Design:
    """The design matrix of a regression on some columns: numbers in standard units, and an indicator for each other bin.

    Bins of fewer than 20 rows count as the reference, the most frequent bin.
    """

    def __init__(self, values: Sequence[np.ndarray]):
        self.values = values

    @classmethod
    def of(cls, rows: Sequence[np.ndarray], sizes: Sequence[int], numbers: Sequence[np.ndarray | None]) -> _Design:
        values = []
        for bins, size, values_of_bins in zip(rows, sizes, numbers, strict=True):
            counts = np.bincount(bins, minlength=size)
            if values_of_bins is None:
                design_columns = [np.arange(size) == b for b in np.flatnonzero(counts >= LEAST_ROWS) if b != counts.argmax()]
            else:
                present = np.isfinite(values_of_bins)
                value = np.where(present, values_of_bins, 0.0)
                mean = (counts * value)[present].sum() / max(1, counts[present].sum())
                spread = np.sqrt((counts * (value - mean) ** 2)[present].sum() / max(1, counts[present].sum()))
                design_columns = [np.where(present, value - mean, 0.0) / spread] if spread > 1e-12 * max(1.0, abs(mean)) else []
                if LEAST_ROWS <= counts[~present].sum() < counts.sum():
                    design_columns.append(~present)
            values.append(np.column_stack(design_columns).astype(float) if design_columns else np.zeros((size, 0)))
        return cls(values)

    def matrix(self, rows: Sequence[np.ndarray], n_rows: int) -> sparse.csr_matrix:
        """Return (n_rows, k), an intercept first."""
        return sparse.hstack(
            [np.ones((n_rows, 1)), *(sparse.csr_matrix(value)[bins] for value, bins in zip(self.values, rows, strict=True))],
            format="csr",
        )


def _by_regression(
    bins: np.ndarray,
    numbers: np.ndarray | None,
    earlier: Sequence[int],
    sizes: Sequence[int],
    design: _Design,
    rows: Sequence[np.ndarray],
    generator: np.random.Generator,
) -> Draw | None:
    """Return how to draw a column; None where none is fitted: more than two values without numbers, or too few rows."""
    occurring = np.unique(bins)
    if len(occurring) == 1 or (len(occurring) > 2 and numbers is None):
        return None
    matrix = design.matrix([rows[z] for z in earlier], len(bins))
    if len(occurring) == 2 or numbers is None:
        return _logit(matrix, bins, occurring, earlier, design, generator, augmented=True)
    gap = np.flatnonzero(~np.isfinite(numbers))
    present = ~np.isin(bins, gap)
    line = _norm(matrix[np.flatnonzero(present)], bins[present], numbers, earlier, design, generator)
    if line is None or present.all():
        return line
    flag = present.astype(np.int64)
    whether = _logit(matrix, flag, np.array([0, 1]), earlier, design, generator)
    if whether is None:  # a question that was not asked: whether there is a value follows from other columns
        whether = _by_table(flag, 2, rows, sizes, earlier)
    return _with_gaps(whether, line, int(gap[0]))


def _with_gaps(whether: Draw, line: Draw, gap: int) -> Draw:
    def draw(columns: Sequence[np.ndarray], n_rows: int, generator: np.random.Generator) -> np.ndarray:
        return np.where(whether(columns, n_rows, generator) == 1, line(columns, n_rows, generator), gap)

    return draw


def _independent(matrix: sparse.csr_matrix) -> np.ndarray:
    """Numbers of columns that are no linear functions of each other, as many as there are; increasing."""
    gram = (matrix.T @ matrix).toarray()
    scale = np.sqrt(np.diag(gram))
    some = np.flatnonzero(scale > 0)
    standard = gram[np.ix_(some, some)] / np.outer(scale[some], scale[some])
    _, triangle, order = qr(standard, mode="economic", pivoting=True)
    return np.sort(some[order[np.abs(np.diag(triangle)) > _RANK_TOLERANCE]])


def _logit(
    matrix: sparse.csr_matrix,
    bins: np.ndarray,
    values: np.ndarray,
    earlier: Sequence[int],
    design: _Design,
    generator: np.random.Generator,
    augmented: bool = False,
) -> Draw | None:
    used = _independent(matrix)
    matrix, second = matrix[:, used], (bins == values[1]).astype(float)
    fit = fit_logit(matrix, np.ones(len(bins)), second)
    if fit is None and augmented:
        fit = fit_logit(*_augmented(matrix, second))
    if fit is None:
        return None
    coefficients = fit.estimates + np.linalg.cholesky(fit.covariance) @ generator.standard_normal(len(fit.estimates))

    def draw(columns: Sequence[np.ndarray], n_rows: int, generator: np.random.Generator) -> np.ndarray:
        second = generator.random(n_rows) < expit(design.matrix([columns[z] for z in earlier], n_rows)[:, used] @ coefficients)
        return values[second.astype(np.int64)]

    return draw


def _augmented(matrix: sparse.csr_matrix, second: np.ndarray) -> tuple[sparse.csr_matrix, np.ndarray, np.ndarray]:
    """Design, rows and positives with made-up rows, so that no line separates the outcomes any more.

    For each of p columns beside the intercept a row half a standard deviation above the means and one below, within the range
    of the column, each with both outcomes; all of them weigh p + 1 rows. So the packages mice and synthpop do it, after White,
    Daniel & Royston 2010.
    """
    n = matrix.shape[0]
    means = np.asarray(matrix.mean(axis=0)).ravel()
    spreads = np.sqrt(np.maximum(np.asarray(matrix.multiply(matrix).mean(axis=0)).ravel() - means**2, 0.0))
    lowest, highest = (np.asarray(edge.todense()).ravel() for edge in (matrix.min(axis=0), matrix.max(axis=0)))
    steps = np.diag(0.5 * spreads)[highest > lowest]
    extra = np.clip(np.vstack([means + steps, means - steps]), lowest, highest)
    weights = np.full(len(extra), (len(steps) + 1) / max(1, len(extra)))
    design = sparse.vstack([matrix, sparse.csr_matrix(extra)], format="csr")
    return design, np.concatenate([np.ones(n), weights]), np.concatenate([second, weights / 2])


def _norm(
    matrix: sparse.csr_matrix,
    bins: np.ndarray,
    numbers: np.ndarray,
    earlier: Sequence[int],
    design: _Design,
    generator: np.random.Generator,
) -> Draw | None:
    """Bayesian linear regression under a flat prior; what it draws counts as the bin with the nearest number."""
    used = _independent(matrix)
    matrix = matrix[:, used]
    n, k = matrix.shape
    if n <= k:
        return None
    gram = (matrix.T @ matrix).toarray()
    response = numbers[bins]
    inverse = np.linalg.inv(gram)
    estimates = inverse @ (matrix.T @ response)
    residual = response - matrix @ estimates
    variance = float(residual @ residual) / generator.chisquare(n - k)
    coefficients = estimates + np.sqrt(variance) * (np.linalg.cholesky(inverse) @ generator.standard_normal(k))
    finite = np.flatnonzero(np.isfinite(numbers))
    order = finite[np.argsort(numbers[finite], kind="stable")]
    middles = (numbers[order][1:] + numbers[order][:-1]) / 2

    def draw(columns: Sequence[np.ndarray], n_rows: int, generator: np.random.Generator) -> np.ndarray:
        line = design.matrix([columns[z] for z in earlier], n_rows)[:, used] @ coefficients
        return order[np.searchsorted(middles, line + np.sqrt(variance) * generator.standard_normal(n_rows))]

    return draw


class Sequential(Baseline):
    """Saturated tables with a prior, the same without, and regressions: three tables."""

    sentence = "draw columns in turn, from tables or regressions without noise"

    def tables(self, file: ComparedFile) -> list[MadeTables]:
        columns = range(len(file.names))
        predictors = {column: file.by_strength(column, range(column)) for column in columns}
        smoothed, plain = (
            [saturated(file.table, predictors, file.plausibility, file.generator(key, k), prior) for k in range(file.copies)]
            for key, prior in ((1, PRIOR), (6, 0.0))
        )
        numbers = [file.numbers(column) for column in columns]
        lines = [
            norm_and_logit(file.table, predictors, numbers, file.plausibility, file.generator(2, k)) for k in range(file.copies)
        ]
        regressed, rest = [copy for copy, _ in lines], tuple(file.names[column] for column in lines[0][1])
        leaf = "each value is that of a random record, as in a leaf of a tree"
        return [
            _made("sequential tables", smoothed, file, (), simple=True),
            _made("sequential tables, no prior", plain, file, (leaf,), simple=True),
            _made(
                "sequential, norm and logit",
                regressed,
                file,
                (f"no regression was fitted to {listing(rest)}, drawn from tables",) if rest else (),
                simple=False,
            ),
        ]


def _made(name: str, copies: Sequence[Counts], file: ComparedFile, notes: tuple[str, ...], *, simple: bool) -> MadeTables:
    """The copies, with a note where rows are lacking that no draw made plausible."""
    fewest = min(copy.total for copy in copies)
    if fewest < file.table.total:
        share = 1 - fewest / file.table.total
        notes = (*notes, f"{share:.2%} of the rows are lacking: the model gives too little mass to plausible ones")
    return MadeTables(name=name, guarantee=NO_GUARANTEE, copies=copies, rule="simple" if simple else "partial", notes=notes)


# Two tables with a key, synthesized as offices do it, one table and then the other: what this loses is who belongs together.
#
# *Shuffled*: the roots and the members of the file, each exactly as they are, and members put into any root. *Given their
# root*: columns of roots are drawn in turn from tables, and then each member by itself given its root and how many members that
# has, as hierarchical synthesizers do that know of a member its root and no other member. Both without noise and without a
# guarantee.


class MembersApart(Baseline):
    """Members shuffled between roots, and members that are drawn given their root alone."""

    sentence = "draw one table and then the other, as if no member knew of another"

    def tables(self, file: ComparedFile) -> list[MadeTables]:
        if (linked := file.linked) is None:
            raise DoesNotFit("the records of the file have no members")
        mixed = [shuffled(file.table, linked, file.generator(9, copy)) for copy in range(file.copies)]
        predictors = {
            column: file.by_strength(column, known_before(linked, file.names, column)) for column in range(len(file.names))
        }
        copies = [
            saturated(file.table, predictors, file.plausibility, file.generator(10, k), PRIOR) for k in range(file.copies)
        ]
        exact = "roots and members are those of the file"
        return [
            MadeTables(name="members shuffled", guarantee=NO_GUARANTEE, copies=mixed, notes=(exact,)),
            MadeTables(name="members given their root", guarantee=NO_GUARANTEE, copies=copies, rule="simple"),
        ]


def known_before(linked: Linked, names: tuple[str, ...], column: int) -> list[int]:
    """The earlier columns that a column is drawn from: of a root those of roots, of a member also its own, of no other one."""
    slot = linked.place_of(names[column])
    return [earlier for earlier in range(column) if linked.place_of(names[earlier]) in (None, slot)]


def shuffled(table: Counts, linked: Linked, generator: np.random.Generator) -> Counts:
    """The same roots with as many members as they have, and the same members, in any roots."""
    names = table.layout.columns
    columns = [table.rows(column) for column in range(len(names))]
    n_members = linked.numbers(columns[names.index(linked.size)])
    slots = [[names.index(name) for name in slot] for slot in linked.slots]
    filled = [np.flatnonzero(n_members > position) for position in range(len(slots))]
    order = generator.permutation(sum(map(len, filled)))
    for same in zip(*slots, strict=True):  # one column of members, in every slot
        everybody = np.concatenate([columns[slot_column][roots] for slot_column, roots in zip(same, filled, strict=True)])[
            order
        ]
        parts = np.split(everybody, np.cumsum([len(roots) for roots in filled])[:-1])
        for slot_column, roots, part in zip(same, filled, parts, strict=True):
            columns[slot_column] = columns[slot_column].copy()
            columns[slot_column][roots] = part
    return Counts.of(table.layout, columns)
