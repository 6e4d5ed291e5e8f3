"""What is promised to a person over all years of a register, before the first one is released.

A person has at most so many records in the file of one year, and at most so many in those of all years together. Replacing them
changes a year's release by as many steps as the person has records there, so the losses of the dearest years add up, each as
often as there may be records (theory 11.13, a promise over years).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from synthrelease.accounting.guarantee import Loss, loss_of_group

MOST_YEARS = 100


def over_years(paid: Sequence[Loss], in_year: int, in_all: int) -> Loss | None:
    """What a person pays at most, where a record of each year pays so much; None where that promises nothing.

    Epsilon: a sum of k_t times the year's, k_t at most `in_year`, together at most `in_all`; it is largest where the dearest
    years have as many records as they can. Delta: that of k records grows with the year's epsilon and more than in proportion
    to k; it is counted at the largest epsilon of all, for as many records as possible in as few years as possible.

    Parameters
    ----------
    paid : of each year, the epsilon and delta for one record of all its releases together.
    in_year, in_all : the most records of a person in the file of a year, and in those of all years; at least 1.
    """
    whole, rest = divmod(min(in_all, in_year * len(paid)), in_year)
    records = [in_year] * whole + [rest] * (rest > 0)
    epsilons, deltas = (sorted(amounts, reverse=True) for amounts in zip(*paid, strict=True)) if paid else ([], [])
    epsilon = sum((each * amount for each, amount in zip(records, epsilons, strict=False)), Fraction(0))
    groups = [loss_of_group(epsilons[0], amount, each) for each, amount in zip(records, deltas, strict=False)]
    delta = sum((group.delta for group in groups if group is not None), Fraction(0))
    return None if None in groups or delta >= 1 else Loss(epsilon, delta)


@dataclass(frozen=True, kw_only=True)
class Horizon:
    """The plan of a series: as many releases as years, and as many second ones as may replace a year without a release.

    Attributes
    ----------
    first : the first year.
    epsilons : by year, the most that its release costs a record.
    delta : the same of delta, in every year.
    in_year, in_all : the most records of a person in the file of a year, and in those of all years.
    fallbacks : how many years may have a second release, because the first one released nothing.
    fallback_epsilon : the most that such a one costs a record.
    """

    first: int
    epsilons: tuple[Fraction, ...]
    in_year: int
    in_all: int
    delta: Fraction = Fraction(0)
    fallbacks: int = 0
    fallback_epsilon: Fraction = Fraction(0)

    @property
    def years(self) -> range:
        """All of them."""
        return range(self.first, self.first + len(self.epsilons))

    def most(self, year: int, again: bool) -> Fraction:
        """The most epsilon of a year's release, or of the one that replaces it."""
        return self.fallback_epsilon if again else self.epsilons[year - self.first]

    @property
    def promise(self) -> Loss | None:
        """What a person pays at most over all years; None where nothing is promised.

        Second releases count in the dearest years, where most records can be.
        """
        dearest = sorted(self.epsilons, reverse=True)
        paid = [
            Loss(epsilon + self.fallback_epsilon, 2 * self.delta) if place < self.fallbacks else Loss(epsilon, self.delta)
            for place, epsilon in enumerate(dearest)
        ]
        return over_years(paid, self.in_year, self.in_all)


@dataclass(frozen=True, kw_only=True)
class PaidYear:
    """An earlier release of a plan that a release names: of which year, and what it cost a record."""

    year: int
    again: bool
    paid: Loss


@dataclass(frozen=True, kw_only=True)
class YearOfSeries:
    """Which year of which plan a release is, whether it replaces one that released nothing, and which earlier ones it names."""

    horizon: Horizon
    year: int
    again: bool = False
    named: tuple[PaidYear, ...] = ()
