"""Swap values between records by permutation swapping (Bailie, Gong & Meng 2023), for comparison on public data only.

Theory 10.1, permutation swapping.

Records that agree on the swap key form a stratum. In each stratum, every record is selected with a probability equal to the
swap rate, and the values of the swap variables are permuted among the selected records so that no record keeps its own. So
two tables are published exactly: the table of all columns except the swap variables, and the table of the key and the swap
variables.

The nominal epsilon holds *subject to these invariants*: it compares tables that agree on both exact tables. The closest
such tables differ in two records, so **twice the nominal epsilon** is compared with the epsilon of a release
(`pairwise_epsilon`). The nominal epsilon does not limit what the two exact tables reveal, and cannot be added to the
guarantees of the rest of this package, which are pure or zero-concentrated. So swapping is no generator in this program and
never reads private data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.errors import listing
from synthrelease.studio.baselines.base import Baseline, ComparedFile, DoesNotFit, MadeTables

# The nominal epsilon of swapping, its least value, and the rates that a budget allows (theory 10.1, permutation swapping).
#
# The nominal epsilon is for each record that differs: the log-probability of an output changes by at most this epsilon for
# each. Two tables with the same invariants differ in at least two records, because one changed value must be balanced by
# another. So the probabilities for the two closest tables differ by up to **twice the nominal epsilon** (`pairwise_epsilon`).
# Compare this number with the epsilon of a release, whose neighbours differ in one record.

CLOSEST = 2
"""Two different tables with the same exact statistics differ in at least this number of records."""


def nominal_epsilon(rate: Fraction | float, largest_stratum: int) -> float:
    """Return the nominal epsilon of swapping for each record that differs: the larger of ln o and ln(b + 1) - ln o.

    o = p / (1 - p) are the odds of the swap rate, and b is the size of the largest stratum (Bailie, Gong & Meng 2023).

    Parameters
    ----------
    rate : p in (0, 1).
    largest_stratum : b >= 1. This number depends on the data, but it may be used because the sizes of the strata are
        published exactly anyway.
    """
    if not (0 < rate < 1 and largest_stratum >= 1):
        raise ValueError("a nominal epsilon exists only for a swap rate between 0 and 1 and a stratum of at least one record")
    log_odds = math.log(rate / (1 - rate))
    return max(log_odds, math.log(largest_stratum + 1) - log_odds)


def pairwise_epsilon(rate: Fraction | float, largest_stratum: int) -> float:
    """Return the epsilon for the two closest tables with the same exactly published statistics: twice the nominal epsilon.

    Such tables differ in two records. The bound is attained for rates above 1/2 at which ln o is the larger term.
    """
    return CLOSEST * nominal_epsilon(rate, largest_stratum)


def least_epsilon(largest_stratum: int) -> float:
    """Return the smallest nominal epsilon of any swap rate: ln(b + 1) / 2 for a largest stratum of b records (`best_rate`)."""
    if largest_stratum < 1:
        raise ValueError("a nominal epsilon exists only for a stratum of at least one record")
    return math.log(largest_stratum + 1) / 2


def best_rate(largest_stratum: int) -> float:
    """Return the swap rate with the smallest nominal epsilon, for a largest stratum of b records.

    Its odds are sqrt(b + 1), so nearly every record is selected.
    """
    odds = math.exp(least_epsilon(largest_stratum))
    return odds / (1 + odds)


def rates_for(epsilon: float, largest_stratum: int) -> tuple[float, float]:
    """Return the two swap rates with this nominal epsilon, the lower rate first.

    Their odds are (b + 1) e^-epsilon and e^epsilon, for a largest stratum of b records.

    Raises
    ------
    ValueError : if epsilon is below the smallest possible epsilon or is not finite.
    """
    smallest = least_epsilon(largest_stratum)
    if not (smallest <= epsilon < math.inf):
        raise ValueError(
            f"the nominal epsilon must be at least {smallest:.4f}, the smallest for strata of up to {largest_stratum} records, "
            f"not {epsilon:g}"
        )
    return _rate(math.log(largest_stratum + 1) - epsilon), _rate(epsilon)


def _rate(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds))


@dataclass(frozen=True, kw_only=True)
class PermutationSwapping:
    """The settings of permutation swapping: the swap key, the swapped columns and the swap rate.

    Attributes
    ----------
    key : columns in which the records of a stratum agree.
    variables : the columns whose values are exchanged together (such as county and tract); none of them is in the key.
    rate : probability that a record is selected, in (0, 1).
    """

    key: tuple[int, ...]
    variables: tuple[int, ...]
    rate: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.rate < 1:
            raise ValueError("the swap rate must be above 0 and below 1")
        if not self.variables or len({*self.key, *self.variables}) != len(self.key) + len(self.variables):
            raise ValueError("swapping needs at least one variable. No variable may occur twice or be in the swap key")

    def largest_stratum(self, table: Counts) -> int:
        return int(table.project(self.key).counts.max()) if self.key else table.total

    def nominal_epsilon(self, table: Counts) -> float:
        """Return the nominal epsilon of swapping this table, for one differing record and the same exact statistics
        (invariants).
        """
        return nominal_epsilon(self.rate, self.largest_stratum(table))

    def pairwise_epsilon(self, table: Counts) -> float:
        """Return the epsilon between the closest tables with the same exact statistics, for comparison with a release."""
        return pairwise_epsilon(self.rate, self.largest_stratum(table))

    def keeps(self, columns: tuple[int, ...]) -> bool:
        """Return whether swapping leaves the table of these columns unchanged, so that it is published exactly.

        This holds if none of the columns is swapped, or if each of them is swapped or belongs to the swap key.
        """
        return not set(columns) & set(self.variables) or set(columns) <= {*self.key, *self.variables}

    def swap(self, table: Counts, generator: np.random.Generator) -> Counts:
        """Return the swapped table, of the same size (Bailie, Gong & Meng 2023, the algorithm "Permutation Swapping").

        Returns
        -------
        Counts over the same layout, with the same marginal of all columns except the variables, and the same marginal of
        key and variables.
        """
        rows = table.expand()
        if self.key:
            _, strata = np.unique(rows[:, list(self.key)], axis=0, return_inverse=True)
        else:
            strata = np.zeros(len(rows), dtype=np.int64)
        order = np.argsort(strata.ravel(), kind="stable")
        sizes = np.bincount(strata.ravel())
        source = np.arange(len(rows))
        for members in np.split(order, np.cumsum(sizes)[:-1]):
            selected = self._select(members, generator)
            if len(selected):
                source[selected] = selected[derangement(len(selected), generator)]
        columns = [rows[source if column in self.variables else slice(None), column] for column in range(rows.shape[1])]
        return Counts.of(table.layout, columns)

    def _select(self, members: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Select records of a stratum, each with probability `rate`; draw again if a single record is selected."""
        if len(members) < 2:
            return members[:0]
        while True:
            selected = members[generator.random(len(members)) < float(self.rate)]
            if len(selected) != 1:
                return selected


def derangement(n: int, generator: np.random.Generator) -> np.ndarray:
    """Return a uniform permutation of 0..n-1 without a fixed point, for n >= 2, by about e draws on average."""
    if n < 2:
        raise ValueError("a single record cannot be permuted without a fixed point")
    while True:
        permutation = generator.permutation(n)
        if np.all(permutation != np.arange(n)):
            return permutation


# A report about swapping a public table, for stakeholders: first twice the nominal epsilon, then the exact statistics.


def swap_report(original: Counts, swapped: Counts, swapping: PermutationSwapping, largest: int = 2) -> tuple[str, ...]:
    """Return sentences on the cost of swapping a public table, the exactly published tables, and the largest error.

    The first sentence states twice the nominal epsilon, because this value compares the closest tables with the same
    invariants (theory 10.1, permutation swapping).

    Parameters
    ----------
    largest : largest number of columns of the tables whose errors are compared. The error is the share of records that
        would have to change cells, (1/2n) sum |r - s| (total variation).
    """
    names, everything = original.layout.columns, range(len(original.layout.columns))
    held = [column for column in everything if column not in swapping.variables]
    exact = [listing(names[column] for column in columns) for columns in (held, sorted((*swapping.key, *swapping.variables)))]
    errors = {
        listing(names[column] for column in columns): _wrong_share(original.project(columns), swapped.project(columns))
        for size in range(1, largest + 1)
        for columns in combinations(everything, size)
        if not swapping.keeps(columns)
    }
    worst = max(errors, key=errors.__getitem__, default="")
    pairwise = swapping.pairwise_epsilon(original)
    return (
        f"not comparable with the guarantee of a release: epsilon {pairwise:.2f} between the closest tables that agree on all "
        f"that is published exactly (2 x the nominal {swapping.nominal_epsilon(original):.2f} for each record; largest stratum "
        f"{swapping.largest_stratum(original):,}, itself published)",
        *(f"published exactly: the table of {columns}" for columns in exact),
        *((f"largest error of another table: {worst}, {errors[worst]:.2%} of the records",) if worst else ()),
    )


def _wrong_share(original: Counts, swapped: Counts) -> float:
    """Return the share of records in a wrong cell after swapping: sum |r - s| / 2n over the counts r, s of cells."""
    union = original + swapped
    at = [(table.counts, table.find(union.bins)) for table in (original, swapped)]
    counts = [np.where(position >= 0, of_table[position], 0) for of_table, position in at]
    return float(np.abs(counts[0] - counts[1]).sum()) / (2 * original.total)


# Swapping as a method to compare with: the swapped columns, the groups, and the notes beside the guarantee.

LOOSE = 0.5
"""Largest Cramer's V of a swap variable and a chosen key. Values that the key determines would not be swapped."""


class Swapping(Baseline):
    """The method of swapping, for comparison: values of some columns are exchanged between records that agree in others."""

    def tables(self, file: ComparedFile) -> list[MadeTables]:
        if len(file.names) < 2:
            raise DoesNotFit("swapping needs at least two columns")
        variables, key = self._columns(file)
        method = PermutationSwapping(key=key, variables=variables, rate=file.swap_rate)
        nominal, pairwise = method.nominal_epsilon(file.table), method.pairwise_epsilon(file.table)
        copies = [method.swap(file.table, file.generator(0, copy)) for copy in range(file.copies)]
        name, notes = f"swapping at {float(file.swap_rate):.3g}", self._notes(file, method, copies[0])
        guarantee = f"nominal: epsilon {nominal:.2f} for each record that differs, {pairwise:.2f} between the closest tables"
        return [MadeTables(name=name, guarantee=guarantee, epsilon=pairwise, copies=copies, notes=notes)]

    def _columns(self, file: ComparedFile) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the columns to swap, and the swap key (the columns in which swapped records agree).

        By default, one identifying column is swapped, and the key is the column with the strongest association of at most
        0.5 (Cramer's V): values that the key determines would not be swapped.
        """
        sizes, names = file.table.layout.sizes, file.names
        variables = tuple(map(names.index, file.swap))
        if not variables:
            ranked = sorted(file.known, key=lambda c: (file.numbers(c) is not None, -sizes[c], c))
            variables = (next((c for c in ranked if file.swap_key is None or names[c] not in file.swap_key), ranked[0]),)
        if file.swap_key is not None:
            return variables, tuple(map(names.index, file.swap_key))
        free = [c for c in range(len(sizes)) if c not in variables and 1 < sizes[c] <= 20]
        return variables, file.by_strength(variables[0], [c for c in free if file.strength(variables[0], c) <= LOOSE])[:1]

    def _notes(self, file: ComparedFile, method: PermutationSwapping, swapped: Counts) -> tuple[str, ...]:
        largest_stratum = method.largest_stratum(file.table)
        names = listing([file.names[c] for c in method.variables])
        within = (
            f"among records with the same {listing([file.names[c] for c in method.key])}" if method.key else "among all records"
        )
        smallest = CLOSEST * least_epsilon(largest_stratum)
        if file.epsilon < smallest:
            rates = f"no swap rate has the release's epsilon: the least is {smallest:.2f}, at {best_rate(largest_stratum):.4%}"
        else:
            low, high = rates_for(file.epsilon / CLOSEST, largest_stratum)
            rates = f"the rates {low:.4%} and {high:.4%} have the release's epsilon"
        stratum = f"largest stratum {largest_stratum:,}, itself published"
        return (f"values of {names} are swapped {within}", *swap_report(file.table, swapped, method)[1:], stratum, rates)
