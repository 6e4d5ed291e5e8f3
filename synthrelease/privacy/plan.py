"""Compose the charges of a release to its plan, and say what the plan guarantees: neighbours, persons, populations, years.

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

# The guarantee of a release: epsilon and delta, neighbours, what is published exactly, and what a person is promised.

NEIGHBOURS = "replace one record"


UNIT = "one record"


def loss_text(total: Charge) -> str:
    """Return a loss as a text: epsilon, with delta where there is one."""
    return f"epsilon = {decimal_text(total.epsilon)}" + (f", delta = {float(total.delta):g}" if total.delta else "")


def check_delta(delta: Fraction, n: int, *, spent: bool = False) -> None:
    """Raise BudgetError for a delta at which a tenth of a record could be published unchanged, whatever epsilon is.

    Parameters
    ----------
    n : the public number of rows; 1 where it is not known yet, which refuses what no number of rows would allow.
    spent : whether the budget was reserved, so that the message says so.
    """
    if not delta * n <= Fraction(1, 10):
        rows = f"the {n} rows" if n > 1 else "the number of rows"
        raise BudgetError(
            f"Refused: expected a delta far below one over {rows}, {1 / (1000 * n):.0e} or less; found {float(delta):g}. "
            "With so large a delta, publishing whole records would keep the promise. "
            + ("The whole planned budget counts as spent: nothing was published." if spent else "Nothing was spent.")
        )


def loss_of_groups(delta: Fraction) -> str:
    """Return the guarantee for somebody in k records (k steps of group privacy), in words."""
    return "k times the epsilon" + (", with k e^((k - 1) epsilon) times the delta" if delta else "")


class Loss(NamedTuple):
    """An (epsilon, delta)."""

    epsilon: Fraction
    delta: Fraction


def loss_of_group(epsilon: Fraction, delta: Fraction, records: int) -> Loss | None:
    """Return (k epsilon, k e^((k - 1) epsilon) delta) for k records that may all be replaced: k steps of group privacy.

    Rounded up; None where that delta is 1 or more, which promises nothing (theory 1.3, group privacy).
    """
    if not delta:
        return Loss(records * epsilon, Fraction(0))
    exponent = (records - 1) * epsilon
    if exponent > delta.denominator.bit_length():  # e^exponent is more than 1 / delta, and may be too large to be computed
        return None
    grown = records * exp_up(exponent) * delta
    return Loss(records * epsilon, tidy_up(grown)) if grown < 1 else None


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """The guarantee of the release. delta = 0 is pure differential privacy.

    Attributes
    ----------
    invariants : the facts that are published exactly and are the same for all neighbours (theory 10, statement of the
        guarantee).
    unit_name : what a record is, in the steward's words.
    records_per_person, why : in how many records of the file one person can stand at most, and where that is known from.
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
        """Return the guarantee for a person in `records_per_person` records; None where there is none."""
        return loss_of_group(self.epsilon, self.delta, self.records_per_person)


# From a library that counts in adding or removing one record to neighbours that replace one (theory 1.3, group privacy).
#
# Replacing a record is removing one and adding another: two steps, both through the table without the record. So a guarantee
# for one step gives, for replacing (group privacy for two):
#
#     epsilon             ->  2 epsilon
#     rho                 ->  4 rho                                       (Bun & Steinke 2016, Proposition 1.9)
#     (epsilon, delta)    ->  (2 epsilon, (1 + e^epsilon) delta)
#
# A library is therefore run at half the epsilon, or a quarter of the rho, that a release states.


def replacing_one(by_library: Charge) -> Charge:
    """Return the cost of a mechanism when one record is replaced, from the library's cost for adding or removing one.

    Parameters
    ----------
    by_library : pure, approximate or zero-concentrated.

    Returns
    -------
    A charge of the same name, with the library's own statement as its part.

    Raises
    ------
    BudgetError : for the curve of a selection, for which this is not known.
    """
    name = by_library.name
    part = replace(by_library, name=f"{name}, for adding or removing a record")
    if by_library.renyi is not None:
        rho = by_library.renyi.rho
        if by_library.renyi != zcdp(rho):
            raise BudgetError(f"The charge {name!r} is not zero-concentrated: no guarantee for two steps is known.")
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
    """Return the budget to request from a library so that the guarantee under replacing one record is the stated budget.

    Parameters
    ----------
    guarantee : of the library: "pure", "approximate" or "zCDP".
    budget : epsilon, or rho for "zCDP", under replacing one record; delta likewise, rounded down for the library.

    Returns
    -------
    The library's own charge, for adding or removing one record; `replacing_one` of it costs no more than the budget and delta.
    """
    if guarantee == "zCDP":
        return zero_concentrated(name, budget / 4, because)
    half = budget / 2
    share = delta / (1 + exp_up(half)) * (1 - Fraction(1, 10**4))  # room for the rounding up of `replacing_one`
    return mechanism(name, half, because, share)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The whole charge tree of a release, computed from the specification alone.

    Attributes
    ----------
    once : charges before the loop (for example the private regression).
    per_round : charges of one round of the selection.
    after : charges after a round was accepted (figures of the accepted candidate); outside the selection, so not multiplied.
    total : the tree.
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
        """Compose the charges: once + selection of rounds + after, stated at `delta`. With a partition: do this for each piece
        and take the largest. With a cap: one round, beside the scout before it, within the cap.

        Theory 1.1, sequential composition; theory 2, selection; theory 4.3, figures afterwards; theory 11.10, release from two
        pieces.

        Parameters
        ----------
        sharing : names of charges after a round that pay for one noise; beside a curve they are one mechanism.

        Raises
        ------
        BudgetError : when two charges share a name, or there is no guarantee.
        """
        names = [charge.name for charge in once + per_round + after]
        if len(set(names)) != len(names):
            raise BudgetError("Two planned charges have the same name; names of criteria must differ.")
        if all(charge.pure for charge in once + per_round):
            sharing = ()  # a sum of epsilons, whoever shares
        if cap is not None:
            check_one_round(rule, delta, cap, partition)
            total = within_cap("scout and release", cap, *once, in_sequence(ONE_ROUND, *per_round), *_figures(after, sharing))
            return cls(once=once, per_round=per_round, after=after, total=total)
        if partition is None:
            total = in_sequence("release", *once, *_rounds_and_after(per_round, after, rule, delta, sharing))
        else:
            # what a record of one piece pays: the other piece is the same for both neighbours, and costs it nothing
            pieces = []
            for piece in PIECES:
                first, one_round, figures = (of_piece(charges, piece) for charges in (once, per_round, after))
                paid = in_sequence(f"piece: {piece}", *first, *_rounds_and_after(one_round, figures, rule, delta, sharing))
                pieces.append(stated_at(paid, delta))  # the largest epsilon is less than that of a curve above both
            total = in_sequence("release", *of_piece(once, None), in_parallel("pieces", *pieces))
        return cls(once=once, per_round=per_round, after=after, total=stated_at(total, delta))

    def check_limit(self, limit: Fraction | None, advice: str = "") -> None:
        """Raise BudgetError (exit code 4), with the advice, when the plan costs more than the limit."""
        if limit is not None and self.total.epsilon > limit:
            raise BudgetError(
                f"Refused: the plan costs epsilon = {decimal_text(self.total.epsilon)}, which is more than the limit "
                f"of {decimal_text(limit)} in [budget]. {advice}Nothing was read and nothing was spent."
            )


def _rounds_and_after(
    per_round: tuple[Charge, ...],
    figures: tuple[Charge, ...],
    rule: SelectionRule | None,
    delta: Fraction,
    sharing: Collection[str],
) -> tuple[Charge, ...]:
    """Return the cost of the rounds, and of the figures after them; figures that share one noise cost as one mechanism."""
    # rounds without charges are post-processing of what was paid for before them
    rounds = (private_selection("selection", in_sequence(ONE_ROUND, *per_round), rule, delta),) if per_round else ()
    return (*rounds, *_figures(figures, sharing))


def _figures(figures: tuple[Charge, ...], sharing: Collection[str]) -> tuple[Charge, ...]:
    """Return the cost of the accepted dataset's figures; figures that share one noise cost as one mechanism."""
    if together_paid := [charge for charge in figures if charge.name in sharing]:
        figures = (
            together("figures that share one noise", *together_paid),
            *(charge for charge in figures if charge.name not in sharing),
        )
    return (in_sequence("figures of the accepted dataset", *figures),) if figures else ()


def check_one_round(rule: SelectionRule | None, delta: Fraction, cap: Cap, partition: PartitionRule | None) -> None:
    """Raise BudgetError where a release after a scout is not one round on all rows, at the delta of the cap."""
    if rule is None or rule.rounds is None or rule.rounds.exact_mean != 1 or partition is not None or delta != cap.delta:
        raise BudgetError(
            f"Refused: after a scout a release has one round on all rows at the delta of the cap, {float(cap.delta):g}: "
            '[selection] mode = "hidden_number" with rounds = { 1 = 1 }, no [partition], and [budget] delta as in [scout]. '
            "Nothing was spent."
        )


def pure_epsilon(charge: Charge) -> Fraction:
    """Return the epsilon that a pure mechanism may spend of a charge.

    Where the charge is zero-concentrated with rho: the largest epsilon, rounded down, of epsilon^2 / 2 <= rho (Bun & Steinke
    2016, Proposition 1.4).

    Raises
    ------
    BudgetError : for a curve that is not zero-concentrated, or so little that nothing is left of it.
    """
    epsilon = charge.epsilon if charge.renyi is None else root_down(2 * charge.renyi.rho)
    if epsilon <= 0 or (charge.renyi is not None and charge.renyi != RenyiCurve(rho=charge.renyi.rho)):
        raise BudgetError(f"The charge {charge.name!r} leaves nothing for a mechanism of pure differential privacy.")
    return epsilon


def stated_at(total: Charge, delta: Fraction) -> Charge:
    """Return the total of a plan as (epsilon, delta): a curve is converted at this delta; the delta of any other total must not
    exceed it.

    Where it is less, pure parts add their epsilons, and Gaussian parts are converted exactly (theory 9.17, pure parts beside a
    curve).

    Raises
    ------
    BudgetError : when the plan needs a delta and there is none, or a larger one.
    """
    if total.renyi is None:
        if total.delta > delta:
            raise BudgetError(
                f"Refused: the plan costs delta = {float(total.delta):.6g}, which is more than {float(delta):g}, the delta in "
                "[budget]. Nothing was read and nothing was spent."
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
    """Return a curve as (epsilon, delta), with every part treated as a curve: the rule for releases from before pure parts were
    added separately.

    Raises
    ------
    BudgetError : without a delta.
    """
    check_above_0(delta)
    because = f"all curves added, then stated at delta = {float(delta):g} (Canonne, Kamath & Steinke 2020, Proposition 12)"
    epsilon = total.curve().epsilon(delta)
    return Charge(name=total.name, epsilon=epsilon, delta=delta, because=because, rule=STATED, parts=total.parts)


# How many records of the private file a release was not made from: what the published noisy count of the others tells.

MANY_LEFT_OUT = 0.05
"""From this share of excluded records on, readers must learn at once that the release is about the other records."""


@dataclass(frozen=True, kw_only=True)
class RowsLeftOut:
    """The noisy estimate of the number of excluded records: those that the public rules exclude, and a few more.

    Post-processing of a published count: it costs nothing. Each end is wrong with probability `rows.SHORTFALL` at most, because
    noise is above the margin, or below its negative, so seldom.

    Attributes
    ----------
    least, most : how many were left out.
    of : how many there are.

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
        """Estimate from the number of rows that a release worked with: the noisy count less the margin, and at least 1."""
        return cls(least=max(0, n_file - n - 2 * margin), most=n_file - n if n > 1 else n_file, of=n_file)

    @classmethod
    def told(
        cls, *, way: Way, n_file: int | None, n: int, margin: int | None, one_each: bool, secret_piece: bool
    ) -> RowsLeftOut | None:
        """Return the estimate; None where there is no noisy count, where a secret excluded records, or where persons may have
        several records each, whose number nobody knows.

        Parameters
        ----------
        way, margin : as in `RowsRule`.
        one_each : whether a person, where a key tells persons, has one record at most.
        """
        if way != "counted" or n_file is None or not one_each or secret_piece:
            return None
        return cls.of_count(n_file=n_file, n=n, margin=margin or 0)

    @property
    def ends(self) -> tuple[str, str]:
        """Both in whole percent, rounded away from each other."""
        return f"{100 * self.least // self.of}%", f"{-(-100 * self.most // self.of)}%"

    @property
    def share(self) -> str:
        low, high = self.ends
        return f"at most {high}" if low == "0%" else f"{low} to {high}"

    @property
    def many(self) -> bool:
        """Return whether so many records were excluded that no reader may overlook it."""
        return self.least >= MANY_LEFT_OUT * self.of


# What a member of a population is promised by a release from a simple random sample of it.
#
# Theory 11.3, amplification by a subset. It is a sentence for documents, and nothing else: no charge, no plan and no ledger is
# ever less because of it.

_PRECISE = 1000
"""Above this epsilon nothing is computed: it stands as it is, which is never too little."""


def of_the_population(loss: Loss, sampled: int, population: int) -> Loss:
    """Return (ln(1 + beta (e^epsilon - 1)), beta delta), beta = sampled / population, rounded up; never more than the loss
    itself.

    Parameters
    ----------
    loss : of the whole release, for replacing one record of the file. Never that of one of its parts.
    sampled, population : records of the file, and those that it was drawn from: a simple random sample without replacement, of
        fixed size, each record at most once.

    Raises
    ------
    ValueError : for a sample of no records, or of more than there are.
    """
    if not 0 < sampled <= population:
        raise ValueError("a simple random sample has at least one record and at most those of the population")
    share = Fraction(sampled, population)
    if loss.epsilon > _PRECISE:
        return Loss(loss.epsilon, tidy_up(share * loss.delta))
    epsilon = log_up(1 + share * (exp_up(loss.epsilon) - 1))
    return Loss(min(loss.epsilon, epsilon), min(loss.delta, tidy_up(share * loss.delta)))


# What is promised to a person over all years of a register, before the first one is released.
#
# A person has at most so many records in the file of one year, and at most so many in those of all years together. Replacing
# them changes a year's release by as many steps as the person has records there, so the losses of the dearest years add up,
# each as often as there may be records (theory 11.13, a promise over years).

MOST_YEARS = 100


def over_years(paid: Sequence[Loss], in_year: int, in_all: int) -> Loss | None:
    """Return the most that a person pays, where a record of each year pays this much; None where that promises nothing.

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
    epsilon = sum((k * amount for k, amount in zip(records, epsilons, strict=False)), Fraction(0))
    groups = [loss_of_group(epsilons[0], amount, k) for k, amount in zip(records, deltas, strict=False)]
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
        """Return all years."""
        return range(self.first, self.first + len(self.epsilons))

    def most(self, year: int, again: bool) -> Fraction:
        """Return the largest epsilon of a year's release, or of the one that replaces it."""
        return self.fallback_epsilon if again else self.epsilons[year - self.first]

    @property
    def promise(self) -> Loss | None:
        """Return the most that a person pays over all years; None where nothing is promised.

        Second releases count in the dearest years, where most records can be.
        """
        dearest = sorted(self.epsilons, reverse=True)
        paid = [
            Loss(epsilon + self.fallback_epsilon, 2 * self.delta) if rank < self.fallbacks else Loss(epsilon, self.delta)
            for rank, epsilon in enumerate(dearest)
        ]
        return over_years(paid, self.in_year, self.in_all)


@dataclass(frozen=True, kw_only=True)
class PaidYear:
    """An earlier release of a plan that a release names: its year, and its cost to a record."""

    year: int
    again: bool
    paid: Loss


@dataclass(frozen=True, kw_only=True)
class YearOfSeries:
    """The year of a release and its plan, whether it replaces one that released nothing, and the earlier releases it names."""

    horizon: Horizon
    year: int
    again: bool = False
    named: tuple[PaidYear, ...] = ()
