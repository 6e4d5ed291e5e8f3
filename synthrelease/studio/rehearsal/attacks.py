"""Attack releases of public data: guess membership, one value of a person, or a whole row. This proves no guarantee.

The guarantee of a release is proved for every attack, whatever an intruder knows. For each attack on public rows, the share
of correct guesses is compared with the largest share that the guarantee allows. An attack whose guesses are correct more
often contradicts the claim. An attack with fewer correct guesses proves nothing, because better attacks may exist.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.schema import Transformation
from synthrelease.enclave.door import PrivateCounts, random_pieces
from synthrelease.errors import RejectedRound
from synthrelease.generators.measured_noise import CountNoise, DiscreteLaplace
from synthrelease.generators.measurements import NoisyMarginal, NoisyMarginals
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.curves import least_wrong
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.releasing.attempt import generate, prepare
from synthrelease.releasing.selection import one_thread
from synthrelease.settings.tables import AttacksTable, MembershipTable, PersonTable
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.rehearsal.attempts import PublicTable, Trials, clopper_pearson
from synthrelease.studio.rehearsal.risk import risk_report, rows_with

SURE = 1e-3
"""The largest probability with which an attack may seem to contradict a true claim."""

HALVES = 3
"""Number of random halves of the file. The attacks on persons use releases of these halves."""

# Number of outputs drawn from the claimed noise, to estimate how often this noise allows an intruder to be right.
_IMAGINED = 100

_MOST_PAIRS = 300  # Largest number of pairs of columns that are compared in synthetic rows

_ENOUGH = 5  # Least number of synthetic rows with the known values of a person from which an intruder guesses a further value


@dataclass(frozen=True, kw_only=True)
class Twins:
    """Two public tables that differ in one row: the rarest row in the first, one of the most frequent in the second.

    Attributes
    ----------
    tables : the two tables, with the same number of rows over the same bins.
    rows : for each table, the (n_columns,) bins of the row that the other table lacks.
    """

    tables: tuple[Counts, Counts]
    rows: tuple[np.ndarray, np.ndarray]
    _counted: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = field(default_factory=dict, repr=False)

    def on(self, transformation: Transformation) -> Twins:
        maps = transformation.maps
        tables = [table.merge(transformation.layout, maps) for table in self.tables]
        rows = [np.array([into[bin_] for into, bin_ in zip(maps, row, strict=True)]) for row in self.rows]
        return Twins(tables=(tables[0], tables[1]), rows=(rows[0], rows[1]))

    def count(self, columns: tuple[int, ...], cell: tuple[int, ...], rare_bins: Sequence[tuple[int, int]]) -> int:
        """Count the rows of the first table in one cell of a table of some columns.

        Parameters
        ----------
        rare_bins : pairs (column, bin) that are counted separately. Rows in these bins are left out.
        """
        if (columns, cell) not in self._counted:  # every fit asks for the same cells
            table = self.tables[0]
            inside = [table.bins[column] == bin_ for column, bin_ in zip(columns, cell, strict=True)]
            outside = [table.bins[column] != bin_ for column, bin_ in rare_bins]
            self._counted[columns, cell] = int(table.counts[np.all([*inside, *outside], axis=0)].sum())
        return self._counted[columns, cell]

    @classmethod
    def of(cls, public: Counts) -> Twins:
        """Return a public table with at least two different rows, and the table with a frequent row in place of its rarest."""
        if len(public) < 2:
            raise ValueError("expected a table with at least two different rows")
        rarity = np.zeros(len(public))
        for column, size in enumerate(public.layout.sizes):
            held = np.bincount(public.digits(column), weights=public.counts, minlength=size)
            rarity += np.log(held[public.digits(column)])
        rare, common = int(np.argmin(rarity)), int(np.argmax(rarity))
        if rare == common:  # all rows are equally rare
            common = rare - 1
        moved = public.counts.copy()
        moved[rare] -= 1
        moved[common] += 1
        bins = [np.array([int(column[cell]) for column in public.bins]) for cell in (rare, common)]
        return cls(tables=(public, public.with_counts(moved)), rows=(bins[0], bins[1]))


@dataclass(frozen=True, kw_only=True)
class FitEvidence:
    """What one fit reveals to an intruder who guesses to which of two twin tables the generator was fitted.

    Attributes
    ----------
    twin : the twin that was used, 0 or 1.
    log_ratio : the log likelihood ratio of the noisy tables, first twin over second, under the claimed noise; NaN without
        tables.
    allowed : the probability that the sign of such a ratio is right under the claimed noise, from 0.5 to 1; NaN without
        tables.
    rows : for each set of columns, the number of synthetic rows that agree with the row of the first twin, minus the number
        for the second twin; empty without rows.
    """

    twin: int
    log_ratio: float
    allowed: float
    rows: Sequence[float]


def contradicts(attack: MembershipTable) -> bool:
    """Return whether an attack guesses right more often than the privacy guarantee allows, beyond chance.

    For a true guarantee, the result is True with probability at most `SURE`.
    """
    allowed = min(attack.allowed_by_epsilon, 1.0 if attack.allowed_by_noise is None else attack.allowed_by_noise)
    return clopper_pearson(attack.right, attack.guesses, 1 - 2 * SURE).low > allowed


def most_right(epsilon: Fraction | float, delta: Fraction | float = 0) -> float:
    """Return the largest probability of telling which of two equally likely files was used: 1 - (1 - delta) / (1 +
    e^epsilon).

    Source: Kairouz, Oh and Viswanath (2015), The Composition Theorem for Differential Privacy, Theorem 2.1.

    Examples
    --------
    >>> round(most_right(1.0), 3)
    0.731
    """
    return float(1 - least_wrong(Fraction(epsilon), Fraction(delta)))


def known_columns(counts: Counts, quasi_identifiers: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that the intruder knows of every person; if these were all, without the column with the most bins."""
    sizes = dict(zip(counts.layout.columns, counts.layout.sizes, strict=True))
    known = [name for name in sizes if name in quasi_identifiers]
    if len(known) == len(sizes):
        known.remove(max(sizes, key=sizes.__getitem__))
    return tuple(known)


def attack_results(
    spec: ReleaseSpec, known: Sequence[str], fits: Sequence[FitEvidence], guesses: Sequence[Mapping[str, Sequence[int]]]
) -> AttacksTable:
    """Return the results of the attacks on one configuration, in the form of shortlist.toml, rehearsal.json and
    release.json.

    Parameters
    ----------
    known : columns that the intruder knows.
    fits : results of `fit_to_twins`, in order; at least four, because half of the fits decide how to guess from synthetic
        rows.
    guesses : results of `guess_persons`, one for each random half.
    """
    loss = spec.plan.total
    attacks = membership(fits, most_right(loss.epsilon, loss.delta))
    return AttacksTable(
        fits=len(fits),
        epsilon=float(loss.epsilon),
        delta=float(loss.delta),
        known=tuple(known),
        contradicts=any(map(contradicts, attacks)),
        membership=attacks,
        persons=_person_attacks(guesses),
    )


# Membership: which of two files was used? The best known tests are the likelihood ratio, if the intruder sees noisy tables with
# public noise, and otherwise the agreement of rows with the person's values (Homer and others 2008; Dwork, Smith, Steinke,
# Ullman and Vadhan 2015, Robust Traceability from Trace Amounts).


@one_thread
def fit_to_twins(trials: Trials, twins: Twins, index: int, number: int) -> list[FitEvidence]:
    """Fit one configuration to each of two tables that differ in one row. Return an empty list if a fit fails.

    Parameters
    ----------
    index : index of the configuration.
    number : the number of this pair of fits, which determines their noise.

    Privacy
    -------
    Costs nothing: everything is computed from public rows.
    """
    spec, seed = trials.spec, trials.seed
    imagined = SeededEntropy(seed, 4, index, number).generator()
    configuration, evidence = spec.space[index], []
    on = spec.space.common if spec.shared_measurements else configuration.transformation
    known, seen = twins.on(on), twins.on(configuration.transformation)
    for twin, twin_table in enumerate(twins.tables):
        entropy = SeededEntropy(seed, 3, index, 2 * number + twin)
        table = PrivateCounts(twin_table, Meter(())).with_plan(spec.plan.once).rehearsed(entropy)
        try:
            prepared = prepare(spec, table, trials.priors)
            # rows are drawn from shared tables alone, so an intruder who sees the tables learns nothing from the rows
            candidate = None if spec.shared_measurements else generate(spec, configuration, table, prepared)[1]
        except RejectedRound:
            return []  # both fits or neither, so that the twins stay equally likely
        measured = prepared.measured if candidate is None else candidate.measured
        ratio, allowed = (math.nan, math.nan) if measured is None else log_ratio(measured, known, imagined)
        rows = () if candidate is None else _agreement(candidate.counts, *seen.rows).tolist()
        evidence.append(FitEvidence(twin=twin, log_ratio=ratio, allowed=allowed, rows=rows))
    return evidence


def log_ratio(measured: NoisyMarginals, twins: Twins, generator: np.random.Generator) -> tuple[float, float]:
    """Return the log likelihood ratio of noisy tables, first twin over second, and how often its sign is right.

    The second number is the probability that the sign of such a ratio tells the right twin if the noise is as claimed.

    Parameters
    ----------
    twins : the twins over the bins of the measurements.
    generator : draws outputs from the claimed noise.

    Notes
    -----
    Sums, agreements of pairs, and rows in bins that are counted separately are not used. An intruder who also used these
    would be right at least as often.
    """
    rare_bins = [(rare.of.column, rare.of.bin) for rare in measured.rare_bins]
    in_tables = [not any(row[column] == bin_ for column, bin_ in rare_bins) for row in twins.rows]
    seen = 0.0
    imagined = np.zeros((2, _IMAGINED))
    for marginal in measured.tables:
        cells = [tuple(int(row[column]) for column in marginal.columns) for row in twins.rows]
        if cells[0] == cells[1] and all(in_tables):
            continue
        for cell, moved, inside in zip(cells, (-1, 1), in_tables, strict=True):
            if not inside:
                continue
            exact = twins.count(marginal.columns, cell, rare_bins)
            noise = float(marginal.values[cell] - exact)  # for the first twin; for the second, less by `moved`
            seen += _log_law(marginal.noise, noise) - _log_law(marginal.noise, noise - moved)
            draws = _draw(marginal, generator)
            imagined[0] += _log_law(marginal.noise, draws[0]) - _log_law(marginal.noise, draws[0] - moved)
            imagined[1] += _log_law(marginal.noise, draws[1] + moved) - _log_law(marginal.noise, draws[1])
    right = (np.mean(imagined[0] > 0) + np.mean(imagined[1] < 0) + np.mean(imagined == 0)) / 2
    return float(seen), float(right)


def _draw(marginal: NoisyMarginal, generator: np.random.Generator) -> np.ndarray:
    scale, shape = marginal.noise.scale, (2, _IMAGINED)
    if isinstance(marginal.noise, DiscreteLaplace):  # the difference of two geometric numbers
        stop = -math.expm1(-1 / scale)
        return generator.geometric(stop, shape) - generator.geometric(stop, shape)
    return np.rint(generator.normal(0.0, scale, shape))


def _log_law(noise: CountNoise, at: float | np.ndarray) -> np.ndarray:
    from scipy.special import log_ndtr

    if isinstance(noise, DiscreteLaplace):
        return -np.abs(at) / noise.scale
    low, high = -np.abs(at) - 0.5, -np.abs(at) + 0.5  # in the left tail, because differences keep their digits there
    upper, lower = log_ndtr(high / noise.scale), log_ndtr(low / noise.scale)
    return np.asarray(upper + np.log1p(-np.exp(lower - upper)))


def _agreement(rows: Counts, row: np.ndarray, other_row: np.ndarray) -> np.ndarray:
    """Return how many more synthetic rows agree with the first than with the second row, for each set of columns.

    The (n_sets,) sets are the columns, and pairs of columns, in which the two given rows differ.
    """
    same = [(rows.bins[column] == row[column], rows.bins[column] == other_row[column]) for column in range(len(row))]
    columns = [column for column in range(len(row)) if row[column] != other_row[column]]
    differences = [float(rows.counts @ same[column][0] - rows.counts @ same[column][1]) for column in columns]
    for a, b in list(combinations(columns, 2))[:_MOST_PAIRS]:
        agreeing = [float(rows.counts @ (same[a][which] & same[b][which])) for which in (0, 1)]
        differences.append(agreeing[0] - agreeing[1])
    return np.array(differences)


def membership(evidence: Sequence[FitEvidence], by_epsilon: float) -> tuple[MembershipTable, ...]:
    """Return how often an intruder tells which of two tables was used, from noisy tables, if any, and from synthetic rows.

    Parameters
    ----------
    by_epsilon : largest share of right guesses that the guarantee allows (theory 1.4, two worlds).
    """

    def judged(seen: str, right: int, guesses: int, by_noise: float | None = None) -> MembershipTable:
        share = clopper_pearson(right, guesses)
        interval, allowed = {"low": share.low, "high": share.high}, {"allowed_by_epsilon": by_epsilon}
        return MembershipTable(seen=seen, guesses=guesses, right=right, **interval, **allowed, allowed_by_noise=by_noise)

    attacks = []
    fits = [fit for fit in evidence if not math.isnan(fit.log_ratio)]
    if fits:
        # with a ratio of 1, the first and the second twin are guessed in turn
        right = [(fit.log_ratio > 0) == (fit.twin == 0) if fit.log_ratio else position % 2 for position, fit in enumerate(fits)]
        by_noise = float(np.mean([fit.allowed for fit in fits]))
        attacks.append(judged("the noisy tables", int(sum(right)), len(fits), by_noise))
    half = len(evidence) // 2
    if half >= 2 and len(evidence[0].rows):
        guess = _discriminant(evidence[:half])
        right = [guess(np.array(fit.rows)) == fit.twin for fit in evidence[half:]]
        attacks.append(judged("the rows", int(sum(right)), len(evidence) - half))
    return tuple(attacks)


def _discriminant(evidence: Sequence[FitEvidence]) -> Callable[[np.ndarray], int]:
    """Learn to tell from synthetic rows to which twin table a generator was fitted. Return a function that guesses 0 or 1.

    Sets of columns whose entry in `rows` differs clearly between the twins get more weight.
    """
    groups = [np.array([fit.rows for fit in evidence if fit.twin == twin]) for twin in (0, 1)]
    if not all(len(group) for group in groups):
        return lambda rows: 0
    means = [group.mean(axis=0) for group in groups]
    variance = np.concatenate([group - mean for group, mean in zip(groups, means, strict=True)]).var(axis=0)
    weights = (means[0] - means[1]) / (variance + 1)
    middle = (means[0] + means[1]) / 2
    return lambda rows: int((rows - middle) @ weights < 0)


# A value of a person, and a whole row: the release is made from one random half of the file. An intruder who knows some columns
# of everybody guesses the rest in both halves.


@one_thread
def guess_persons(trials: Trials, index: int, known: Sequence[str], number: int) -> dict[str, list[int]]:
    """Release one random half of the public file, and count how many values and rows of both halves an intruder guesses
    right.

    Returns
    -------
    For each hidden column, and for whole rows under "": the right guesses and the rows in the half that was used, then the
    same for the other half. A column also has the right guesses in the other half if the most frequent value is always
    guessed. Empty if the half gave no candidate.

    Privacy
    -------
    Costs nothing: everything is computed from public rows.
    """
    names, total = trials.spec.schema.names, trials.counts.total
    entropy = SeededEntropy(trials.seed, 5, index, number)
    inside, outside = random_pieces(trials.counts, (total // 2, total - total // 2), entropy)
    try:
        candidate = replace(trials, counts=inside).candidate(index, entropy)
    except RejectedRound:
        return {}
    on = candidate.transformation
    halves = [half.merge(on.layout, on.maps) for half in (inside, outside)]
    columns = [names.index(name) for name in known]
    guesses: dict[str, list[int]] = {}
    for target, name in enumerate(names):
        if name in known:
            continue
        (right, _), (right_outside, by_frequency) = (_guessed(candidate.counts, half, columns, target) for half in halves)
        guesses[name] = [right, halves[0].total, right_outside, halves[1].total, by_frequency]
    guesses[""] = []
    for half in halves:
        public = PublicTable(counts=half, transformation=on, public_because="it was given for attacks")
        share = risk_report(public, [candidate.counts], quasi_identifiers=known)["true_match_rate"]
        guesses[""] += [round(share * half.total), half.total]
    return guesses


def _person_attacks(guesses: Sequence[Mapping[str, Sequence[int]]]) -> tuple[PersonTable, ...]:
    """Return how often values were guessed right for each column, in the halves that were released and in the unused
    halves.

    The difference shows what the used rows themselves reveal. Its 95% interval is normal and unpooled.
    """
    guessed = [of_half for of_half in guesses if of_half]
    persons = []
    for name in guessed[0] if guessed else ():
        sums = np.sum([of_half[name] for of_half in guessed], axis=0).tolist()
        right, rows, right_outside, rows_outside, *by_frequency = sums
        inside, outside = right / rows, right_outside / rows_outside
        error = 1.96 * math.sqrt(inside * (1 - inside) / rows + outside * (1 - outside) / rows_outside)
        persons.append(
            PersonTable(
                guessed=name,
                inside=inside,
                outside=outside,
                difference=(inside - outside - error, inside - outside + error),
                baseline=by_frequency[0] / rows_outside if by_frequency else None,
            )
        )
    return tuple(persons)


def _guessed(rows: Counts, half: Counts, known: Sequence[int], target: int) -> tuple[int, int]:
    """Return how many values of a column an intruder guesses right, and how many by always guessing the most frequent
    value.

    The guess is the most frequent value among the synthetic rows that agree in all known columns. If fewer than `_ENOUGH`
    agree, the intruder ignores the known column with the least information about the value, and so on.
    """
    alone = rows.marginal((target,))
    known = sorted(known, key=lambda column: -_information(rows.marginal((column, target)) / rows.total))
    by_target = [rows.keep(rows.bins[target] == value) for value in range(rows.layout.sizes[target])]
    guesses = np.full(len(half), -1)
    for most in range(len(known), 0, -1):
        if not len(open_rows := np.flatnonzero(guesses < 0)):
            break
        bins = [half.bins[column][open_rows] for column in known[:most]]
        by_value = np.stack([rows_with(with_value.project(known[:most]), bins) for with_value in by_target])
        seen = by_value.sum(axis=0) >= _ENOUGH
        guesses[open_rows[seen]] = by_value[:, seen].argmax(axis=0)
    guesses[guesses < 0] = alone.argmax()
    truth = half.digits(target)
    return int(half.counts @ (guesses == truth)), int(half.counts @ (truth == alone.argmax()))


def _information(shares: np.ndarray) -> float:
    if_independent = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0, keepdims=True)
    seen = shares > 0
    return float((shares[seen] * np.log(shares[seen] / if_independent[seen])).sum())
