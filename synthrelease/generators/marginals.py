"""Measure a fixed set of marginals with noise, and generate rows from the maximum-entropy distribution that fits them.

The model has the largest entropy of all distributions that match the marginals, or is nearest to a public table
(`maximum_entropy`; after McKenna, Sheldon & Miklau 2019, Private-PGM).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator

from synthrelease.data.counts import DENSE_LIMIT, Counts
from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import STEPS
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import RejectedRound, Unexpected
from synthrelease.generators.agreements import ROOM, AgreeingPairs
from synthrelease.generators.associations import TableNoise, Ties
from synthrelease.generators.base import Background, Generator, Guaranteed, MeasuringGenerator, Model
from synthrelease.generators.bayesian_network import BayesianNetwork
from synthrelease.generators.counters import Counters
from synthrelease.generators.junction_tree import JunctionTree, largest_clique
from synthrelease.generators.maximum_entropy import maximum_entropy
from synthrelease.generators.measured_noise import CountNoise, RoundedGaussian
from synthrelease.generators.measurements import (
    Formula,
    FormulaTerm,
    NoisyBin,
    NoisyMarginals,
    NoisySum,
    RareBin,
    bins_of,
    mistakes_of,
    read_bins,
    read_terms,
    unknown_columns,
)
from synthrelease.generators.scored_sums import ScoredSum, SumGroup, read_sums
from synthrelease.privacy.charges import GENERATION, Charge, zero_concentrated
from synthrelease.privacy.charges import mechanism as pure_charge
from synthrelease.settings.base import Mistake, ReleasedPrior

# Rows of rare bins are counted separately. The rows of rare bins are added to rows of the model of all other rows. All of this
# is post-processing.
#
# For a row in a rare bin, only the bin is known. The other columns of the row are copied from a drawn row in the nearest bin if
# the bins of the column are ordered, otherwise from any drawn row.

_DONORS = 1_000  # Smallest number of drawn rows from which rows of rare bins may be copied


@dataclass(frozen=True, kw_only=True)
class WithRareBins:
    """A model of the rows in measured tables, with the noisy numbers of rows in rare bins.

    Attributes
    ----------
    n : the number of rows that `rest` describes.
    ordered : for each column, the number of leading bins that are ordered; () if no column is ordered.
    """

    rest: Model
    n: int
    bins: tuple[NoisyBin, ...]
    plausibility: Plausibility
    ordered: tuple[int, ...]

    def sample(self, n: int, generator: np.random.Generator) -> Counts:
        """Draw n rows. The share of each rare bin follows its noisy count.

        Raises
        ------
        RejectedRound : if a rare bin needs rows, but the rules allow no drawn row in this bin.
        """
        whole = self.n + sum(rare.value for rare in self.bins)
        numbers = [(rare.value * n + int(generator.integers(whole))) // whole for rare in self.bins]
        left = max(n - sum(numbers), 0)
        sample = self.rest.sample(max(left, min(n, _DONORS)), generator)
        rows = sample if sample.total == left else self.rest.sample(left, generator) if left else Counts.empty(sample.layout)
        for rare_bin, number in zip(self.bins, numbers, strict=True):
            rows = rows + self._like_neighbours(sample, rare_bin.of, min(number, n - rows.total), generator)
        return rows if rows.total == n else rows + self.rest.sample(n - rows.total, generator)

    def _like_neighbours(self, sample: Counts, bin_: RareBin, number: int, generator: np.random.Generator) -> Counts:
        """Return `number` rows in a rare bin. Their other columns are copied from drawn rows in the nearest bins."""
        moved = list(sample.bins)
        moved[bin_.column] = np.full(len(sample), bin_.bin, dtype=moved[bin_.column].dtype)
        possible = ~self.plausibility.forbidden(moved)
        for near in self._nearest(sample.digits(bin_.column), bin_):
            weights = np.where(near & possible, sample.counts, 0)
            if weights.any():
                return Counts.of(sample.layout, moved, generator.multinomial(number, weights / weights.sum()))
        if number:
            raise RejectedRound("no drawn row may be in a rare bin")
        return Counts.empty(sample.layout)

    def _nearest(self, bins: np.ndarray, bin_: RareBin) -> Iterator[np.ndarray]:
        """Yield (n_cells,) masks of the rows at distance 1, 2, ... from an ordered bin, and finally a mask of all rows."""
        ordered = self.ordered[bin_.column] if self.ordered else 0
        if bin_.bin < ordered:
            for steps in range(1, ordered):
                yield (np.abs(bins - bin_.bin) == steps) & (bins < ordered)
        yield np.ones(len(bins), dtype=bool)


_COUNTED = 2**16  # Largest number of cells of cliques with running counts, unless the tables themselves have larger cliques


class MarginalsGenerator(MeasuringGenerator):
    """The base class of generators that measure a fixed set of tables with noise, and fit a model to them.

    Attributes
    ----------
    tables : the tables to measure, written as a formula. "age:region + week:weight + 2 region" names three tables, "all
        2-way" every table of two columns, "all 2-way with sex" those that contain sex. "age:(region + sex)" is short for
        age:region + age:sex. A number in front of a table is its weight (default 1); the tables share the budget in
        proportion to their weights. If the formula begins with "by cells:", each weight is multiplied by the square root of
        the table's number of cells; for a single column, this number is first multiplied by (D - 1) / 2, where D is the
        number of columns. A table of weight 0 is not measured; the model takes the association of its columns from the
        prior. Example: `tables = "by cells: all 2-way with region + age:(sex + income) + all 1-way"`.
    only_measured : further tables that are measured but not used by the model, for criteria with answered_by =
        "measurements" and for readers. Example: `only_measured = "birth_sex:birth_weight + 0.5 birth_month"`.
    prior : a public file with the columns of the private file, as a path relative to the configuration. The model is the
        distribution nearest to this file that matches the measurements. A wrong prior costs accuracy, never privacy. `prior
        = { release = "../births-2023" }` names the folder of an earlier release of the same series. Example: `prior =
        "../public.csv"`.
    prior_weight : how many records the prior counts for. Without `prior`, the prior is the uniform distribution. Example:
        `prior_weight = [100, 1000]`.
    draw : "evenly" draws rows so that each bin occurs as often as the model expects, up to rounding. This costs no epsilon,
        and helps with many columns or rare bins. By default, expected counts are rounded for few columns, and rows are
        drawn at random for many. Example: `draw = "evenly"`.
    """

    counts: ClassVar[bool] = True
    no_draft: ClassVar[str] = "The tables to measure depend on the columns, so the steward must choose them."
    tables: Formula
    only_measured: str | None = Field(default=None, min_length=1, max_length=100_000)
    prior: str | ReleasedPrior | None = None
    prior_weight: float = Field(default=300.0, gt=0, le=1e12)
    draw: Literal["evenly"] | None = None

    @field_validator("only_measured")
    @classmethod
    def _weighted_terms(cls, text: str | None) -> str | None:
        if text is not None and not all(term.weight for term in read_terms(text)):
            raise Unexpected(f"A table in {text!r} has weight 0. Here, all weights must be above 0")
        return text

    def contradictions(self) -> Iterator[str | Unexpected]:
        if self.prior is None and not all(term.weight for term in self.terms):
            yield "Name a prior, or delete the tables of weight 0. The association of their columns comes from the prior"

    @cached_property
    def terms(self) -> tuple[FormulaTerm, ...]:
        return read_terms(self.tables)

    @cached_property
    def other_terms(self) -> tuple[FormulaTerm, ...]:
        return () if self.only_measured is None else read_terms(self.only_measured)

    @property
    def sum_groups(self) -> tuple[SumGroup, ...]:
        return ()

    @property
    def scored_sums(self) -> tuple[ScoredSum, ...]:
        return tuple(scored for group in self.sum_groups for scored in group.sums)

    def counted_apart(self, layout: Layout) -> tuple[RareBin, ...]:
        """Return the rare bins whose rows are in no measured table or sum, () by default."""
        return ()

    def agreeing(self, layout: Layout) -> AgreeingPairs:
        """Return the pairs of two-bin columns that are measured as agreements (the number of rows in which both have the
        same bin) instead of tables, by default none.
        """
        return AgreeingPairs(pairs=())

    def structure(self, layout: Layout) -> list[tuple[int, ...]]:
        """Return the sets of columns that the model must connect: of each table and each sum, in order.

        If all agreeing pairs would make a clique too large, these pairs are excluded.
        """
        tables = [columns for term in self.terms for columns in term.sets(layout)]
        every = list(dict.fromkeys([*tables, *(scored.columns(layout) for scored in self.scored_sums)]))
        set_of_pairs = set(self.agreeing(layout).pairs)
        if set_of_pairs and largest_clique(layout.sizes, every, DENSE_LIMIT) > DENSE_LIMIT:
            return [columns for columns in every if columns not in set_of_pairs]
        return every

    def shares(self, layout: Layout) -> dict[tuple[int, ...], Fraction]:
        """Return each table's share of the budget, by its columns in increasing order; 0 for a table that is not measured.

        The shares of tables and sums add up to 1.
        """
        weights: dict[tuple[int, ...], Fraction] = {}
        for term in (*self.terms, *self.other_terms):
            for columns, weight in term.weighted(layout):
                weights[columns] = weights.get(columns, Fraction(0)) + weight
        total = sum(weights.values(), Fraction(0)) + self._weight_of_sums
        return {columns: weight / total for columns, weight in weights.items()}

    def sum_shares(self, layout: Layout) -> list[Fraction]:
        left = 1 - sum(self.shares(layout).values(), Fraction(0))
        return [left * group.weight / self._weight_of_sums for group in self.sum_groups]

    @property
    def _weight_of_sums(self) -> Fraction:
        return sum((group.weight for group in self.sum_groups), Fraction(0))

    @property
    def prior_file(self) -> str | None:
        return self.prior.name if isinstance(self.prior, ReleasedPrior) else self.prior

    def unknown(self, layout: Layout) -> list[Mistake]:
        others = [replace(mistake, field="only_measured") for mistake in unknown_columns(self.other_terms, layout)]
        of_sums = [mistake for scored in self.scored_sums for mistake in scored.mistakes(layout)]
        return [*unknown_columns(self.terms, layout), *others, *of_sums]

    def mistakes(self, layout: Layout, tied: Iterable[tuple[int, ...]]) -> Iterable[Mistake]:
        unknown = self.unknown(layout)
        yield from unknown
        if unknown:
            return
        tree = JunctionTree.of(layout.sizes, [*self.structure(layout), *tied])
        cells = tree.largest
        if cells > DENSE_LIMIT:
            clique = max(tree.cliques, key=lambda columns: layout.subset(columns).n_cells)
            yield Mistake(
                field="tables",
                text=f"The tables and the rules together connect {cells:,} cells. The limit is {DENSE_LIMIT:,}. Name fewer or "
                f"smaller tables. The connected columns with the most bins are {layout.largest(clique)}",
            )

    def ties(self, layout: Layout) -> Ties:
        shares, structure = self.shares(layout), dict.fromkeys(self.structure(layout))
        return Ties(
            measured=tuple(columns for columns in structure if shares.get(columns)),
            sums=tuple(scored.columns(layout) for scored in self.scored_sums),
            chosen=tuple(pair for pair in self.agreeing(layout).pairs if pair not in structure),
            public=() if self.prior is None else tuple(structure),
        )

    def count_noise(self, layout: Layout, charge: Charge) -> Mapping[tuple[int, ...], TableNoise]:
        agreeing, noises = self.agreeing(layout), dict(super().count_noise(layout, charge))
        if agreeing.pairs:
            of_bin, of_cell = agreeing.of_cells(self.agreeing_part(layout, self.part(charge)), self.noise)
            noises |= {(column,): TableNoise(law=of_bin) for column in agreeing.columns}
            noises |= {pair: TableNoise(law=of_cell) for pair in agreeing.pairs}
        return {columns: replace(noise, prior=self.prior_weight) for columns, noise in noises.items()}

    def same_measurements(self, other: Generator) -> bool:
        return type(other) is type(self) and isinstance(other, MarginalsGenerator) and other._measured() == self._measured()

    def _measured(self) -> tuple[object, ...]:
        """Return what a fit measures; with equal results, generators can share measurements."""
        return {term for term in self.terms if term.weight}, set(self.other_terms), self.sum_groups

    def _measured_of(self, private: PrivateCounts, charge: Charge) -> NoisyMarginals:
        from synthrelease.generators.marginals_mechanism import measured

        part, layout = self.part(charge), private.layout
        tables, sums_ = list(self.measured_tables(layout, part).items()), self.measured_sums(layout, part)
        bins, entropy, agreeing = self.counted_apart(layout), private.entropy, self.agreeing(layout)
        measure = partial(
            measured,
            tables=tables,
            kind=self.noise,
            sums=sums_,
            bins=bins,
            budget=part,
            agreeing=(agreeing, self.agreeing_part(layout, part)),
            entropy=entropy,
        )
        noisy, sums, apart, agreements = private.spend(charge, measure)
        left = max(1, private.n - sum(rare_bin.value for rare_bin in apart))
        return NoisyMarginals(layout=layout, n=left, tables=noisy, sums=sums, rare_bins=apart, agreements=agreements)

    def model(self, measured: NoisyMarginals, background: Background) -> Model:
        if not measured.rare_bins:
            return self._of_all(measured, background)
        rules = background.plausibility
        zeros = tuple(rare_bin.of.forbidden(measured.layout) for rare_bin in measured.rare_bins)
        rest = self._of_all(measured, replace(background, plausibility=replace(rules, masks=(*rules.masks, *zeros))))
        bins, ordered = measured.rare_bins, background.ordered
        return WithRareBins(rest=rest, n=measured.n, bins=bins, plausibility=rules, ordered=ordered)

    def _of_all(self, measured: NoisyMarginals, background: Background) -> Model:
        """Fit a model to the measured tables, sums and agreements. Rows in rare bins are not part of it."""
        structure = self.structure(measured.layout)
        tables = tuple(table for table in measured.tables if table.columns in set(structure))
        measured = replace(measured, tables=tables)
        if measured.agreements and not set(measured.agreements.pairs) <= set(structure):
            ruled = [mask.columns for mask in background.plausibility.masks]
            structure += measured.agreements.strongest(measured.layout.sizes, [*structure, *ruled], measured.n)
        rules, prior, evenly = background.plausibility, background.prior, self.draw is not None
        tied = [*structure, *(mask.columns for mask in rules.masks)]
        counters = Counters.of(rules, max(_COUNTED, JunctionTree.of(rules.layout.sizes, tied).largest), structure)
        shown = rules.layout if counters.steps else None
        if counters.steps:  # running counts are additional columns after the columns of the rows
            rules = Plausibility(layout=counters.wide, masks=(*rules.masks, *counters.masks))
            prior = None if prior is None else counters.added(prior)
            measured = replace(measured, layout=rules.layout)
        network = maximum_entropy(measured, structure, rules, prior, self.prior_weight, evenly=evenly)
        return replace(network, shown=shown)

    def measured_tables(self, layout: Layout, part: Fraction) -> dict[tuple[int, ...], Fraction]:
        agreeing, shares = self.agreeing(layout), self.shares(layout)
        return {columns: share * part for columns, share in shares.items() if share and not agreeing.holds(columns)}

    def agreeing_part(self, layout: Layout, part: Fraction) -> Fraction:
        """Return the part of the budget for agreements: what the tables of these columns and pairs would get."""
        agreeing = self.agreeing(layout)
        return part * sum((share for columns, share in self.shares(layout).items() if agreeing.holds(columns)), Fraction(0))

    def fixed_questions(self, layout: Layout) -> Iterable[tuple[int, ...]]:
        return [*super().fixed_questions(layout), *self.agreeing(layout).pairs]

    def measured_sums(self, layout: Layout, part: Fraction) -> tuple[NoisySum, ...]:
        return tuple(
            NoisySum(
                text=scored.text,
                columns=scored.columns(layout),
                scores=scored.scores(layout),
                value=0,
                epsilon=share * part,
                sensitivity=STEPS if scored.own_values_of else int(np.ptp(scored.scores(layout))),
                exact=not scored.own_values_of,
                own=scored if scored.own_values_of else None,
                together=len(group.sums),
            )
            for group, share in zip(self.sum_groups, self.sum_shares(layout), strict=True)
            for scored in group.sums
        )

    def effort(self, layout: Layout) -> float:
        return float(JunctionTree.of(layout.sizes, self.structure(layout)).largest)

    def seconds(self, layout: Layout, rows: int) -> float:
        tree = JunctionTree.of(layout.sizes, self.structure(layout))
        cells = sum(layout.subset(clique).n_cells for clique in tree.cliques) + self._room(layout)
        if not self.agreeing(layout).pairs:
            return 6e-7 * cells + 8e-3 * len(tree.cliques)
        steps = min(max(rows / 350, 100), 10_000) if self.measured_tables(layout, Fraction(1)) else 10.0
        return (5e-7 * cells + 4e-5 * len(tree.cliques)) * steps

    def _room(self, layout: Layout) -> int:
        agreeing = self.agreeing(layout)
        return 0 if set(agreeing.pairs) <= set(self.structure(layout)) else ROOM * len(agreeing.columns)

    def peak_cells(self, layout: Layout) -> int:
        measured = sum(layout.subset(columns).n_cells for columns in self.shares(layout))
        of_agreements = 13 * max(int(self.effort(layout)), self._room(layout)) if self.agreeing(layout).pairs else 0
        return max(BayesianNetwork.peak_cells(layout), 80 * measured, of_agreements)


class RareBinsGenerator(MarginalsGenerator):
    """The base class of generators with fixed tables that can also count rare bins separately, or measure in how many rows
    two columns agree.

    Attributes
    ----------
    rare_bins : bins whose rows are counted separately, at no further cost; the count of a rare bin gets half of the whole
        budget. Rows in rare bins are in no measured table or sum. Their other columns are copied from rows in neighbouring
        bins, so associations of the rare bin are lost. For each bin of the measured column, write 1 if the bin is rare and
        0 if not. A row in several rare bins counts only in the first, so name the rarest bin first. With this setting, the
        release cannot publish its measurements. Example: `rare_bins = "parity[0 0 0 1] + age[1 0 0]"`.
    pairs : "agreements" measures all pairs of columns with two bins together: the numbers of rows in which the two columns
        have the same bin, and of rows in the second bin of each column. These counts get the budget of the tables of the
        pairs, but have less noise: with 20 columns about 0.7 times as much, or 0.4 times with Laplace noise. With up to 22
        columns, the model uses all pairs that `tables` names; with more, the strongest. With this setting, the release
        cannot publish its measurements. Example: `pairs = "agreements"`.
    """

    rare_bins: str | None = Field(default=None, min_length=1, max_length=100_000)
    pairs: Literal["agreements"] | None = None

    @field_validator("rare_bins")
    @classmethod
    def _read_bins(cls, text: str | None) -> str | None:
        read_bins(text)
        return text

    def contradictions(self) -> Iterator[str | Unexpected]:
        yield from super().contradictions()
        if self.pairs is not None and self.rare_bins is not None:
            yield "Set either pairs or rare_bins, but not both. Pairs count all rows, but rows of rare bins are in no table"

    @property
    def leaves_out(self) -> str:
        return "pairs" if self.pairs else "" if self.rare_bins is None else "rare_bins"

    def agreeing(self, layout: Layout) -> AgreeingPairs:
        named = (columns for term in self.terms if term.weight for columns in term.sets(layout)) if self.pairs else ()
        pairs = {columns for columns in named if [layout.sizes[column] for column in columns] == [2, 2]}
        return AgreeingPairs(pairs=tuple(sorted(pairs)))

    def counted_apart(self, layout: Layout) -> tuple[RareBin, ...]:
        return bins_of(self.rare_bins, layout)

    def bins_apart(self, layout: Layout) -> frozenset[int]:
        return frozenset(rare_bin.column for rare_bin in self.counted_apart(layout))

    def stated(self, layout: Layout) -> list[tuple[int, ...]]:
        return self.structure(layout)

    def unknown(self, layout: Layout) -> list[Mistake]:
        return [*super().unknown(layout), *mistakes_of(self.rare_bins, layout)]

    def _measured(self) -> tuple[object, ...]:
        return (*super()._measured(), read_bins(self.rare_bins), self.pairs)


class Marginals(RareBinsGenerator):
    """Measures a fixed set of tables with Laplace noise. The model is the distribution of largest entropy that matches
    these tables.

    Attributes
    ----------
    sums : sums of scores to measure. The bins of a row determine its public score; the total score of all rows is measured,
        and the model matches it. "parity[0 0 0 1]" counts the rows in the last of four bins. In "age[-20..20]:weight[-2 0
        3]", the score of a row is the product of the scores of two columns; the scores of age are evenly spaced from -20 to
        20. A column needs one score for each measured bin; a coarser bin gets the mean score. In "age(15..90 -
        40):income(0..9000)", the score is the product of exact age and income, clipped to these limits, with 40 subtracted
        from age. So means and regression lines of the released table are close to those of the file. `within -60..60` after
        a sum clips the score of each row: a narrow range needs less noise. A number in front of a sum is its weight, as in
        `tables`. The sensitivity of a sum is its highest score minus its lowest score. Sums in braces share one noise
        vector. With m sums in braces, each has sqrt((m + 1)(m + 2) / 6) times the noise of a single sum of this weight.
        Example: `sums = "2 parity[0 0 0 1] + 2.6 {sex[0 1] + age[-20..20]:weight[-2 0 3]}"`.

    Examples
    --------
    >>> Marginals(tables="all 3-way").guarantee
    'pure'
    """

    words: ClassVar[str] = (
        "Maximum entropy on measured marginals (after McKenna, Sheldon and Miklau, ICML 2019): a fixed set of small tables is "
        "measured with noise. The rows follow the matching table with the largest entropy, or nearest to a public table."
    )
    family: Literal["marginals"] = "marginals"
    sums: str | None = Field(default=None, min_length=1, max_length=100_000)
    guarantee: ClassVar[Guaranteed] = "pure"

    @field_validator("sums")
    @classmethod
    def _different_sums(cls, text: str | None) -> str | None:
        names = [scored.text for group in read_sums(text) for scored in group.sums] if text is not None else []
        if len(set(names)) < len(names):
            raise Unexpected(f"The sum {max(names, key=names.count)!r} is named twice. Name each sum once")
        return text

    @cached_property
    def sum_groups(self) -> tuple[SumGroup, ...]:
        return () if self.sums is None else read_sums(self.sums)

    def charge(self, epsilon: Fraction) -> Charge:
        return pure_charge(GENERATION, epsilon, "discrete Laplace noise on a fixed set of marginals")

    def measure(self, private: PrivateCounts, charge: Charge) -> NoisyMarginals:
        """Measure every table and every sum with discrete Laplace noise.

        Privacy
        -------
        The measurements are eps-DP with eps = pure_epsilon(charge); neighbours replace one record. The choice of tables is
        public. Replacing one record moves one row between two cells of each table, so the l1 sensitivity of a table is 2,
        and discrete Laplace noise of scale 2 / eps_j makes table j eps_j-DP. A sum of public integer scores changes by at
        most the highest minus the lowest score, so discrete Laplace noise with this difference / eps_i as its scale makes
        it eps_i-DP (theory 12.12, scored sums). If the sums of a group share one noise vector, and each has at most this
        sensitivity, all of them together are eps_i-DP (theory 9.18, one noise for many numbers). The eps_j and eps_i add up
        to eps (sequential composition). Rare bins that are counted separately add no cost (theory 12.14, bins counted
        apart). Agreements of pairs together cost as much as their tables would (theory 12.17, agreements of pairs).
        """
        return self._measured_of(private, charge)


class GaussianTables(MarginalsGenerator):
    """The base class of generators with Gaussian noise."""

    guarantee: ClassVar[Guaranteed] = "zCDP"
    gaussian: ClassVar[bool] = True
    noise: ClassVar[type[CountNoise]] = RoundedGaussian

    def charge(self, epsilon: Fraction) -> Charge:
        return zero_concentrated(GENERATION, epsilon, "rounded Gaussian noise on a fixed set of marginals")

    def measure(self, private: PrivateCounts, charge: Charge) -> NoisyMarginals:
        """Measure every table with rounded Gaussian noise.

        Privacy
        -------
        The measurements are rho-zero-concentrated, and sqrt(2 rho)-Gaussian if the charge states this; neighbours replace
        one record. The choice of tables is public. Replacing one record moves one row between two cells of each table, so
        the squared l2 sensitivity of a table is 2. Rounded Gaussian noise of variance 2 / (2 rho_j) makes table j sqrt(2
        rho_j)-Gaussian (theory 9.13, rounded Gaussian noise). The rho_j add up to rho. Rare bins that are counted
        separately add no cost (theory 12.14, bins counted apart). Agreements of pairs together cost as much as their tables
        would (theory 12.17, agreements of pairs).
        """
        return self._measured_of(private, charge)


class GaussianMarginals(GaussianTables, RareBinsGenerator):
    """Measures a fixed set of tables with Gaussian noise. With many tables, each has far less noise than with Laplace
    noise. The guarantee has a delta.

    Examples
    --------
    >>> GaussianMarginals(tables="all 2-way").guarantee
    'zCDP'
    """

    words: ClassVar[str] = (
        "Maximum entropy on measured marginals (after McKenna, Sheldon and Miklau, ICML 2019): a fixed set of small tables is "
        "measured with Gaussian noise. The rows follow the matching table with the largest entropy, or nearest to a "
        "public table."
    )
    family: Literal["gaussian_marginals"] = "gaussian_marginals"
