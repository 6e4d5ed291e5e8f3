"""Compose the charges of a release into its plan, and state the guarantee for records, persons, populations and years.

Neighbouring tables differ in one record that is replaced by another (bounded differential privacy); n is public.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from synthrelease.errors import BudgetError
from synthrelease.privacy.cap import Cap, within_cap
from synthrelease.privacy.charges import (
    ADDED,
    ONE_ROUND,
    REPLACING,
    STATED,
    Charge,
    Way,
    check_above_0,
    decimal_text,
    epsilon_at,
    in_parallel,
    in_sequence,
    mechanism,
    together,
    zero_concentrated,
)
from synthrelease.privacy.curves import RenyiCurve, exp_up, log_up, root_down, zcdp
from synthrelease.privacy.selection import SelectionRule, private_selection, tidy_up
from synthrelease.privacy.subsets import PIECES, PartitionRule, of_piece

# The guarantee of a release: epsilon and delta, neighbours, facts that are published exactly, and the guarantee for a person.

NEIGHBOURS = "replace one record"


UNIT = "one record"


def loss_text(total: Charge) -> str:
    return f"epsilon = {decimal_text(total.epsilon)}" + (f", delta = {float(total.delta):g}" if total.delta else "")


def check_delta(delta: Fraction, n: int, *, spent: bool = False) -> None:
    """Raise BudgetError for a delta above 1 / (10 n), with which whole records might be published, whatever the epsilon.

    An unknown public number n of rows is given as 1. With `spent`, the message says that the budget is reserved.
    """
    if not delta * n <= Fraction(1, 10):
        rows = f"the number of rows ({n:,})" if n > 1 else "the number of rows"
        raise BudgetError(
            f"Refused: delta = {float(delta):g} is too large. It should be far below 1 divided by {rows}, at most "
            f"{1 / (1000 * n):.0e}. Such a large delta would allow the publication of whole records. "
            + ("The whole planned budget counts as spent, and nothing was published." if spent else "No budget was spent.")
        )


def loss_of_groups(delta: Fraction) -> str:
    """Return a phrase for the privacy loss of a person with k records (group privacy)."""
    return "k times the epsilon" + (", with k e^((k - 1) epsilon) times the delta" if delta else "")


class Loss(NamedTuple):
    """A privacy loss, as the pair (epsilon, delta)."""

    epsilon: Fraction
    delta: Fraction


def loss_of_group(epsilon: Fraction, delta: Fraction, records: int) -> Loss | None:
    """Return the privacy loss if k = `records` records may all be replaced: (k epsilon, k e^((k - 1) epsilon) delta), rounded
    up.

    The result is None if this delta is at least 1, because it then guarantees nothing (theory 1.3, group privacy).
    """
    if not delta:
        return Loss(records * epsilon, Fraction(0))
    exponent = (records - 1) * epsilon
    if exponent > delta.denominator.bit_length():  # e^exponent is more than 1 / delta, and may be too large to compute
        return None
    grown = records * exp_up(exponent) * delta
    return Loss(records * epsilon, tidy_up(grown)) if grown < 1 else None


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """The guarantee of a release. With delta 0, it is pure differential privacy.

    Attributes
    ----------
    epsilon, delta : the privacy loss between neighbouring files.
    neighbours, unit : phrases that say which files are neighbours, and what the protected unit is.
    invariants : facts that are published exactly and are equal for all neighbours (theory 10, statement of the guarantee).
    unit_name : the steward's name for the unit that a record describes.
    records_per_person : largest number of records of one person in the file.
    why : the steward's reason for the number `records_per_person`.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    neighbours: str = NEIGHBOURS
    unit: str = UNIT
    invariants: tuple[str, ...] = ()
    unit_name: str = "record"
    records_per_person: int = 1
    why: str = ""

    @property
    def of_a_person(self) -> Loss | None:
        """Return the guarantee for a person with `records_per_person` records, or None."""
        return loss_of_group(self.epsilon, self.delta, self.records_per_person)


# These functions convert guarantees of libraries, whose neighbours add or remove one record, to neighbours that replace a
# record.
#
# Replacing a record means removing it and adding another: two steps. So a guarantee for one step gives, by group privacy for
# two steps (theory 1.3, group privacy):
#
#     epsilon             ->  2 epsilon
#     rho                 ->  4 rho                                       (Bun & Steinke 2016, Proposition 1.9)
#     (epsilon, delta)    ->  (2 epsilon, (1 + e^epsilon) delta)
#
# A library is therefore run at half the epsilon, or a quarter of the rho, that a release states.


def replacing_one(by_library: Charge) -> Charge:
    """Convert a library's charge for adding or removing one record into the charge for replacing one record: one removal and
    one addition.

    The library's charge (pure, approximate or zero-concentrated) is the part of the result.

    Raises
    ------
    BudgetError : for the curve of a selection, for which no conversion is known.
    """
    name = by_library.name
    part = replace(by_library, name=f"{name}, for adding or removing a record")
    if by_library.renyi is not None:
        rho = by_library.renyi.rho
        if by_library.renyi != zcdp(rho):
            raise BudgetError(f"The charge {name!r} is not zero-concentrated. No guarantee is known for replacing a record.")
        whole = zero_concentrated(name, 4 * rho, "4 times the rho for adding or removing a record")
        return Charge(name=name, epsilon=whole.epsilon, renyi=whole.renyi, because=whole.because, rule=REPLACING, parts=(part,))
    return Charge(
        name=name,
        epsilon=2 * by_library.epsilon,
        delta=tidy_up((1 + exp_up(by_library.epsilon)) * by_library.delta),
        because="replacing a record is removing one and adding one: twice the epsilon for adding or removing",
        rule=REPLACING,
        parts=(part,),
    )


def library_charge(name: str, guarantee: str, budget: Fraction, because: str, delta: Fraction = Fraction(0)) -> Charge:
    """Return the largest charge for adding or removing one record such that replacing one record costs at most `budget` and
    `delta`.

    Parameters
    ----------
    guarantee : the library's privacy definition: "pure", "approximate" or "zCDP".
    budget : the epsilon, or the rho for "zCDP", for replacing one record.
    delta : the delta for replacing one record; the library's delta is rounded down.
    """
    if guarantee == "zCDP":
        return zero_concentrated(name, budget / 4, because)
    half = budget / 2
    share = delta / (1 + exp_up(half)) * (1 - Fraction(1, 10**4))  # compensates for the rounding up in `replacing_one`
    return mechanism(name, half, because, share)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The charge tree of a release, computed from the specification alone.

    Attributes
    ----------
    once : charges before the rounds.
    per_round : charges of one round of the selection.
    after : charges for statistics of the accepted candidate, outside the selection, which does not multiply them.
    total : the charge of the whole release.
    """

    once: tuple[Charge, ...]
    per_round: tuple[Charge, ...]
    after: tuple[Charge, ...] = ()
    total: Charge

    @classmethod
    def of(
        cls,
        *,
        once: tuple[Charge, ...],
        per_round: tuple[Charge, ...],
        after: tuple[Charge, ...] = (),
        rule: SelectionRule | None = None,
        delta: Fraction = Fraction(0),
        partition: PartitionRule | None = None,
        sharing: Collection[str] = (),
        cap: Cap | None = None,
    ) -> Plan:
        """Build the plan of a release from the charges before the rounds, in each round and after the rounds, and state its
        total at `delta`.

        With a partition, the charges of each piece are composed, and the largest total counts. With a cap, the charges of one
        round and of the earlier scout are composed within the cap.

        Theory 1.1, sequential composition; theory 2, selection; theory 4.3, figures afterwards; theory 11.10, release from two
        pieces.

        Parameters
        ----------
        partition : how rows are divided at random between generator and criteria, or None.
        sharing : names of charges after the rounds that pay for one common noise vector, and count as one mechanism if the plan
            has a curve.
        cap : the cap on scout and release, or None.

        Raises
        ------
        BudgetError : if two charges have the same name, or if the composition has no guarantee.
        """
        names = [charge.name for charge in once + per_round + after]
        if len(set(names)) != len(names):
            raise BudgetError("Two planned charges have the same name. Give the criteria different names.")
        if all(charge.pure for charge in once + per_round):
            sharing = ()  # a sum of epsilons, for any sharing
        if cap is not None:
            check_one_round(rule, delta, cap, partition)
            total = within_cap("scout and release", cap, *once, in_sequence(ONE_ROUND, *per_round), *_figures(after, sharing))
            return cls(once=once, per_round=per_round, after=after, total=total)
        if partition is None:
            total = in_sequence("release", *once, *_rounds_and_after(per_round, after, rule, delta, sharing))
        else:
            # the cost for a record in one piece: the other piece is equal for both neighbours, so it costs this record nothing
            pieces = []
            for piece in PIECES:
                first, one_round, figures = (of_piece(charges, piece) for charges in (once, per_round, after))
                paid = in_sequence(f"piece: {piece}", *first, *_rounds_and_after(one_round, figures, rule, delta, sharing))
                pieces.append(stated_at(paid, delta))  # the largest epsilon is less than the epsilon of a curve above both
            total = in_sequence("release", *of_piece(once, None), in_parallel("pieces", *pieces))
        return cls(once=once, per_round=per_round, after=after, total=stated_at(total, delta))

    def check_limit(self, limit: Fraction | None, advice: str = "") -> None:
        """Raise BudgetError (exit code 4) if the plan costs more than `limit`. `advice`, a sentence with a space at its end or
        "", goes into the message."""
        if limit is not None and self.total.epsilon > limit:
            raise BudgetError(
                f"Refused: the plan costs epsilon = {decimal_text(self.total.epsilon)}, which is more than the limit "
                f"of {decimal_text(limit)} in [budget]. {advice}No data were read and no budget was spent."
            )


def _rounds_and_after(
    per_round: tuple[Charge, ...],
    figures: tuple[Charge, ...],
    rule: SelectionRule | None,
    delta: Fraction,
    sharing: Collection[str],
) -> tuple[Charge, ...]:
    """Return the charge of the search over all its rounds and the charge of the statistics measured after it, each unless it
    has no parts."""
    # rounds without charges are post-processing of measurements before the rounds
    rounds = (private_selection("selection", in_sequence(ONE_ROUND, *per_round), rule, delta),) if per_round else ()
    return (*rounds, *_figures(figures, sharing))


def _figures(figures: tuple[Charge, ...], sharing: Collection[str]) -> tuple[Charge, ...]:
    """Return the charge of all statistics of the accepted candidate, or nothing. Those that share one noise vector (`sharing`)
    count as one mechanism."""
    if together_paid := [charge for charge in figures if charge.name in sharing]:
        figures = (
            together("figures that share one noise", *together_paid),
            *(charge for charge in figures if charge.name not in sharing),
        )
    return (in_sequence("figures of the accepted dataset", *figures),) if figures else ()


def check_one_round(rule: SelectionRule | None, delta: Fraction, cap: Cap, partition: PartitionRule | None) -> None:
    """Raise BudgetError unless a release after a scout has one round on all rows, at the delta of the cap."""
    if rule is None or rule.rounds is None or rule.rounds.exact_mean != 1 or partition is not None or delta != cap.delta:
        raise BudgetError(
            f"Refused: a release after a scout must have exactly one round, use all rows and have the delta of the cap "
            f'({float(cap.delta):g}). Set [selection] mode = "hidden_number" and rounds = {{ 1 = 1 }}, delete [partition], and '
            "copy delta from [scout]. No budget was spent."
        )


def pure_epsilon(charge: Charge) -> Fraction:
    """Return the largest epsilon of a pure mechanism that may run at the cost of this charge.

    For a rho-zero-concentrated charge this is the largest epsilon, rounded down, with epsilon^2 / 2 <= rho (Bun & Steinke 2016,
    Proposition 1.4).

    Raises
    ------
    BudgetError : if the curve is not zero-concentrated, or if this epsilon is 0.
    """
    epsilon = charge.epsilon if charge.renyi is None else root_down(2 * charge.renyi.rho)
    if epsilon <= 0 or (charge.renyi is not None and charge.renyi != RenyiCurve(rho=charge.renyi.rho)):
        raise BudgetError(f"The charge {charge.name!r} cannot pay for a mechanism that satisfies pure differential privacy.")
    return epsilon


def stated_at(total: Charge, delta: Fraction) -> Charge:
    """Return the total of a plan as a pair (epsilon, delta). A Renyi curve is converted at this delta; any other total must
    have at most this delta.

    If the epsilon is then smaller, pure parts are added directly, and Gaussian parts converted exactly (theory 9.17, pure parts
    beside a curve).

    Raises
    ------
    BudgetError : if the plan needs a larger delta.
    """
    if total.renyi is None:
        if total.delta > delta:
            raise BudgetError(
                f"Refused: the plan costs delta = {float(total.delta):.6g}, but [budget] delta is only {float(delta):g}. No "
                "data were read and no budget was spent."
            )
        return total
    curves = stated_as_curves(total, delta)
    if (epsilon := epsilon_at(total, delta)) >= curves.epsilon:
        return curves
    because = (
        f"curves stated at delta = {float(delta):g}, and pure parts added, whichever way is least "
        "(theory 9.17, pure parts beside a curve)"
    )
    return Charge(name=total.name, epsilon=epsilon, delta=delta, because=because, rule=ADDED, parts=total.parts)


def stated_as_curves(total: Charge, delta: Fraction) -> Charge:
    """Convert the total of a plan to (epsilon, delta) as earlier versions did: all parts, even pure ones, are added as Renyi
    curves."""
    check_above_0(delta)
    because = f"all curves added, then stated at delta = {float(delta):g} (Canonne, Kamath & Steinke 2020, Proposition 12)"
    epsilon = total.curve().epsilon(delta)
    return Charge(name=total.name, epsilon=epsilon, delta=delta, because=because, rule=STATED, parts=total.parts)


# `RowsLeftOut` estimates how many records of the private file a release does not use, from the published noisy count of rows.

MANY_LEFT_OUT = 0.05
"""If at least this share of the records is excluded, documents must say prominently that the release describes only the other
records.
"""


@dataclass(frozen=True, kw_only=True)
class RowsLeftOut:
    """Limits for the number of records that a release does not use: those that the public rules exclude, and a few left out
    because of the margin of the noisy number of rows.

    The estimate is post-processing of a published count and costs nothing. Each limit is wrong with probability at most
    `charges.SHORTFALL`, because the noise exceeds the margin, or lies below the negative margin, with at most this probability.

    Attributes
    ----------
    least, most : the lower and upper limits.
    of : the number of records in the file.

    Examples
    --------
    >>> RowsLeftOut.of_count(n_file=2588, n=1780, margin=52).share
    '27% to 32%'
    >>> RowsLeftOut.of_count(n_file=2588, n=2520, margin=52).share
    'at most 3%'
    """

    least: int
    most: int
    of: int

    @classmethod
    def of_count(cls, *, n_file: int, n: int, margin: int) -> RowsLeftOut:
        """Return limits for the number of unused records, given the number n of used rows: the noisy count minus the margin,
        but at least 1."""
        return cls(least=max(0, n_file - n - 2 * margin), most=n_file - n if n > 1 else n_file, of=n_file)

    @classmethod
    def told(
        cls, *, way: Way, n_file: int | None, n: int, margin: int | None, one_each: bool, secret_piece: bool
    ) -> RowsLeftOut | None:
        """Return limits for the number of unused records, or None without a noisy count, with a secret piece, or if persons may
        have several records (their number is then not public).

        Parameters
        ----------
        n_file, n : number of records of the file (None if not public), and of rows that the release used.
        """
        if way != "counted" or n_file is None or not one_each or secret_piece:
            return None
        return cls.of_count(n_file=n_file, n=n, margin=margin or 0)

    @property
    def ends(self) -> tuple[str, str]:
        """Return both limits as shares of all records in whole percent, rounded down and up."""
        return f"{100 * self.least // self.of}%", f"{-(-100 * self.most // self.of)}%"

    @property
    def share(self) -> str:
        low, high = self.ends
        return f"at most {high}" if low == "0%" else f"{low} to {high}"

    @property
    def many(self) -> bool:
        """Return whether so many records were not used (`MANY_LEFT_OUT`) that documents must say so prominently."""
        return self.least >= MANY_LEFT_OUT * self.of


# `of_the_population` states the guarantee for a member of a population from which the file is a simple random sample.
#
# Theory 11.3, amplification by a subset. The result is used for documents only: it never reduces a charge, a plan or a ledger.

# Above this epsilon the amplification is not computed. Then epsilon is stated unchanged, which is a valid upper bound.
_PRECISE = 1000


def of_the_population(loss: Loss, sampled: int, population: int) -> Loss:
    """Return the privacy loss of a member of the population from which the file was sampled: (ln(1 + beta (e^epsilon - 1)),
    beta delta), with beta = sampled / population, rounded up and at most `loss`.

    Parameters
    ----------
    loss : the loss of the whole release for replacing one record of the file.
    sampled, population : number of records of the file and of the population. The file must be a simple random sample of fixed
        size without replacement.

    Raises
    ------
    ValueError : if the sample has no records, or more records than the population.
    """
    if not 0 < sampled <= population:
        raise ValueError("a simple random sample has at least one record, and at most as many as the population")
    share = Fraction(sampled, population)
    if loss.epsilon > _PRECISE:
        return Loss(loss.epsilon, tidy_up(share * loss.delta))
    epsilon = log_up(1 + share * (exp_up(loss.epsilon) - 1))
    return Loss(min(loss.epsilon, epsilon), min(loss.delta, tidy_up(share * loss.delta)))


# A multi-year plan is made before the first year is released. Such a plan gives each person a guarantee for all years of a
# register.
#
# The number of records of a person is limited in the file of one year, and in the files of all years together. Replacing these
# records changes a year's release by as many steps as the person has records in that year. So the losses of the most expensive
# years add up, each multiplied by the largest possible number of records (theory 11.13, a promise over years).

MOST_YEARS = 100


def over_years(paid: Sequence[Loss], in_year: int, in_all: int) -> Loss | None:
    """Return the largest privacy loss of a person over all years, or None if there is no guarantee (theory 11.13, a promise
    over years).

    Parameters
    ----------
    paid : for each year, the epsilon and delta for one record, over all releases of the year.
    in_year, in_all : largest number of records of a person in the file of one year, and of all years; at least 1.
    """
    whole, rest = divmod(min(in_all, in_year * len(paid)), in_year)
    records = [in_year] * whole + [rest] * (rest > 0)
    epsilons, deltas = (sorted(amounts, reverse=True) for amounts in zip(*paid, strict=True)) if paid else ([], [])
    epsilon = sum((k * amount for k, amount in zip(records, epsilons, strict=False)), Fraction(0))
    groups = [loss_of_group(epsilons[0], amount, k) for k, amount in zip(records, deltas, strict=False)]
    delta = sum((group.delta for group in groups if group is not None), Fraction(0))
    return None if None in groups or delta >= 1 else Loss(epsilon, delta)


@dataclass(frozen=True, kw_only=True)
class Horizon:
    """The fixed plan of a series of yearly releases. In some years, a second release may follow one that published no table.

    Attributes
    ----------
    epsilons : for each year, the largest epsilon of its release for one record.
    delta : the largest delta of a release for one record, in every year.
    in_year, in_all : largest number of records of a person in the file of one year, and of all years.
    fallbacks : the number of years that may have a second release.
    fallback_epsilon : the largest epsilon of a second release for one record.
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
        return range(self.first, self.first + len(self.epsilons))

    def most(self, year: int, again: bool) -> Fraction:
        """Return the largest epsilon of a year's release or, if `again`, of its second one."""
        return self.fallback_epsilon if again else self.epsilons[year - self.first]

    @property
    def promise(self) -> Loss | None:
        """Return the largest privacy loss of a person over all years, or None if there is no guarantee. Second releases are
        counted in the most expensive years."""
        dearest = sorted(self.epsilons, reverse=True)
        paid = [
            Loss(epsilon + self.fallback_epsilon, 2 * self.delta) if rank < self.fallbacks else Loss(epsilon, self.delta)
            for rank, epsilon in enumerate(dearest)
        ]
        return over_years(paid, self.in_year, self.in_all)


@dataclass(frozen=True, kw_only=True)
class PaidYear:
    """An earlier release of a multi-year plan: its year, whether it was the second of that year, and its privacy loss for one
    record."""

    year: int
    again: bool
    paid: Loss


@dataclass(frozen=True, kw_only=True)
class YearOfSeries:
    """The place of a release in a multi-year plan: its year, whether it is the second of that year, and the earlier
    releases."""

    horizon: Horizon
    year: int
    again: bool = False
    named: tuple[PaidYear, ...] = ()
