"""The private half of the `marginals` families: measure tables, sums, rare bins and agreements with noise.

Private: the counts of the table, and the exact values in its atomic cells. Out: `NoisyMarginal` and `NoisySum`, public.

Guarantee: eps-DP, where eps is the sum of all eps_j and eps_i; neighbours replace one record. The choice of tables and sums
is public. Replacing a record moves one row between two cells of a table, so a table has l1 sensitivity 2. A sum of public
integer scores changes by at most the highest minus the lowest score, which is its stated `sensitivity` (theory 12.12,
scored sums). Each of the sums that share one noise changes by at most its sensitivity, and together they cost eps_i (theory
9.18, one noise for many numbers). Costs add up by sequential composition.

With Gaussian noise only tables are measured. Each has squared l2 sensitivity 2 and costs rho_j. Together they satisfy
mu-Gaussian differential privacy, where mu^2 / 2 is the sum of all rho_j (theory 9.13, rounded Gaussian noise).

Rare bins that are counted separately have no additional cost: each of their rows is in one count and in no table, and adds
the middle score to every sum. So a record that leaves or enters such a bin changes tables and sums by half as much, and
changes one count by 1, which uses half of the budget (theory 12.14, bins counted apart).

Agreements of pairs of two-bin columns, and counts of these columns, together cost their part of the budget. If a replaced
record changes in m of d columns, m counts change. An agreement changes only if exactly one column of the pair changes
(theory 12.17, agreements of pairs).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.marginals import Lattice, lattice
from synthrelease.data.member_counts import BinnedCounts, cached_if_binned
from synthrelease.data.schema import STEPS
from synthrelease.generators.adaptive_mechanism import Gaussian, Laplace, PrivateTables
from synthrelease.generators.agreements import AgreeingPairs, NoisyAgreements
from synthrelease.generators.measured_noise import TABLE_CHANGE, CountNoise
from synthrelease.generators.measurements import SHARE, NoisyBin, NoisyMarginal, NoisySum, RareBin
from synthrelease.generators.own_totals import own_total
from synthrelease.privacy.noise import SystemEntropy, discrete_laplace, one_noise

_BY_LAW: dict[type[CountNoise], type[PrivateTables]] = {steps.law: steps for steps in (Laplace, Gaussian)}
_MIDDLE = STEPS // 2  # The middle score: its distance from every score is at most half of a sum's sensitivity


def measured(
    counts: Counts,
    tables: list[tuple[tuple[int, ...], Fraction]],
    kind: type[CountNoise],
    sums: Sequence[NoisySum],
    bins: Sequence[RareBin],
    budget: Fraction,
    agreeing: tuple[AgreeingPairs, Fraction],
    entropy: SystemEntropy,
) -> tuple[tuple[NoisyMarginal, ...], tuple[NoisySum, ...], tuple[NoisyBin, ...], NoisyAgreements | None]:
    """Measure with noise every table and every sum at its own epsilon or rho, the rare bins, and the agreements of pairs.

    Parameters
    ----------
    tables : the columns and the cost of each table.
    sums : the sums to measure, without values.
    budget : the total cost of all tables, sums and agreements.
    agreeing : the pairs that are measured as agreements, and their cost.
    """
    rest = without(counts, bins)
    of_tables = measure_tables(rest, tables, kind, entropy)
    of_sums = measure_sums(rest, sums, entropy, apart=counts.total - rest.total)
    noisy = count_apart(counts, bins, kind, budget, entropy)
    about = sum(rare_bin.value for rare_bin in noisy)
    moved = tuple(replace(noisy_sum, value=noisy_sum.value - about * _MIDDLE) for noisy_sum in of_sums)
    return of_tables, moved, noisy, measure_agreements(rest, *agreeing, kind, entropy)


def count_apart(
    counts: Counts, bins: Sequence[RareBin], kind: type[CountNoise], budget: Fraction, entropy: SystemEntropy
) -> tuple[NoisyBin, ...]:
    """Return the noisy number of rows of each rare bin, at half of `budget`. A row in several rare bins counts only in the
    first. So replacing a record changes at most two of the counts, each by 1.
    """
    if not bins:
        return ()
    are_in = np.array([counts.bins[rare_bin.column] == rare_bin.bin for rare_bin in bins])  # (n_bins, n_cells)
    exact = (are_in & (np.cumsum(are_in, axis=0) == 1)) @ counts.counts
    noisy = _BY_LAW[kind].noisy(exact, sensitivity=1, part=budget * SHARE, entropy=entropy)
    noisy_bins, left = [], counts.total
    for rare_bin, value in zip(bins, noisy.tolist(), strict=True):
        noisy_bins.append(NoisyBin(of=rare_bin, value=min(max(value, 0), left)))
        left -= noisy_bins[-1].value
    return tuple(noisy_bins)


def measure_tables(
    counts: Counts, tables: list[tuple[tuple[int, ...], Fraction]], kind: type[CountNoise], entropy: SystemEntropy
) -> tuple[NoisyMarginal, ...]:
    """Measure every table j with noise, at its own cost eps_j or rho_j."""
    marginals, measured = cached_if_binned(counts, "marginals", partial(lattice, counts)), []
    for columns, cost in tables:
        exact = marginals.get(columns)
        noisy = _BY_LAW[kind].noisy(exact.ravel(), sensitivity=TABLE_CHANGE, part=cost, entropy=entropy)
        cells = np.ones(exact.shape, dtype=np.int64)
        measured.append(NoisyMarginal(columns=columns, values=noisy.reshape(exact.shape), cost=cost, cells=cells, kind=kind))
    return tuple(measured)


def measure_agreements(
    counts: Counts, agreeing: AgreeingPairs, part: Fraction, kind: type[CountNoise], entropy: SystemEntropy
) -> NoisyAgreements | None:
    """Measure, with noise, the number of rows in the second bin of each column, and in the same bin of both columns of each
    pair.

    Privacy
    -------
    The measurements are eps-DP or sqrt(2 rho)-Gaussian, where eps or rho is the part of the budget; neighbours replace one
    record. A record that changes in m columns changes m counts, each by 1. The record also changes the agreement of a pair
    by 1 if exactly one column of the pair changes. The noise is independent, so the total loss is the sum of the single
    losses. In units of part / `price`, the loss of each changed count is `ratio`, and the loss of each changed agreement is
    1. The sum is at most `price`.
    """
    if not agreeing.pairs:
        return None
    marginals = lattice(counts)
    seconds = np.array([int(marginals.get((column,))[1]) for column in agreeing.columns])
    alike = np.array([int(np.trace(marginals.get(pair))) for pair in agreeing.pairs])
    of_count, of_agreement = agreeing.costs(part, kind)
    return NoisyAgreements(
        columns=agreeing.columns,
        counts=_BY_LAW[kind].noisy(seconds, sensitivity=1, part=of_count, entropy=entropy),
        pairs=agreeing.pairs,
        agreements=_BY_LAW[kind].noisy(alike, sensitivity=1, part=of_agreement, entropy=entropy),
        laws=agreeing.laws(part, kind),
    )


def measure_sums(counts: Counts, asked: Sequence[NoisySum], entropy: SystemEntropy, *, apart: int = 0) -> tuple[NoisySum, ...]:
    """Measure every sum with noise. The successive sums of a group share one noise vector.

    Parameters
    ----------
    apart : the rows in rare bins; each adds the middle score to every sum.
    """
    marginals = lattice(counts)
    exact = np.array([_total(scored, counts, marginals) + apart * _MIDDLE for scored in asked], dtype=np.int64)
    measured: list[NoisySum] = []
    while len(measured) < len(asked):
        group = asked[len(measured) : len(measured) + asked[len(measured)].together]
        noise = discrete_laplace if len(group) == 1 else one_noise
        noisy = noise(
            exact[len(measured) : len(measured) + len(group)],
            sensitivity=max(scored.sensitivity for scored in group),
            epsilon=group[0].epsilon,
            entropy=entropy,
        )
        measured += [replace(scored, value=value) for scored, value in zip(group, noisy.tolist(), strict=True)]
    return tuple(measured)


def without(counts: Counts, bins: Sequence[RareBin]) -> Counts:
    """Return the rows in none of these rare bins, with the finer (atomic) bins of `counts` if any."""
    if not bins:
        return counts
    if not isinstance(counts, BinnedCounts):
        return counts.keep(np.all([counts.bins[rare_bin.column] != rare_bin.bin for rare_bin in bins], axis=0))
    maps, atoms = counts.transformation.maps, counts.atoms
    left = np.all([maps[rare_bin.column][atoms.bins[rare_bin.column]] != rare_bin.bin for rare_bin in bins], axis=0)
    return BinnedCounts.of_atoms(atoms.keep(left), counts.transformation)


def _total(scored: NoisySum, counts: Counts, marginals: Lattice) -> int:
    """Return the exact sum: of scores of bins from the table of its columns, of exact values from the atomic bins."""
    if scored.own is None:
        return int((marginals.get(scored.columns) * scored.scores).sum())
    if isinstance(counts, BinnedCounts):
        return own_total(counts.atoms, scored.columns, scored.own.own_steps(counts.transformation), scored.own.ends)
    raise ValueError("The sum needs the exact values of rows, but only their bins are known")
