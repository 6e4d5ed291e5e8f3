"""The table of largest entropy, or nearest to a public one, that matches noisy marginals. All of it is post-processing.

Over all tables p on the plausible cells it minimises

    weight * KL(p || prior) + sum over measured cells of (n p(cell) - y)^2 / (2 variance),

the prior being uniform where none is given. The solution is prior * exp(sum of one parameter per measured cell), so it lives
on a junction tree of the measured tables and of the plausibility rules; cells that a rule excludes are exact zeros. In the
parameters the problem is convex and smooth (its Fenchel dual). Proportional fitting brings it near the solution in a number of
sweeps that does not grow with n (`proportional_fitting`); what is left to the stated precision is done by L-BFGS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synthrelease.candidates.generators.bayesian_network import BayesianNetwork, Family, margin_of
from synthrelease.candidates.generators.consistent_tables import Target
from synthrelease.candidates.generators.junction_tree import JunctionTree, spread
from synthrelease.candidates.generators.proportional_fitting import ProportionalFit, tolerances_of
from synthrelease.candidates.generators.tilts import Tilt
from synthrelease.data.counts import Counts
from synthrelease.data.layout import Columns
from synthrelease.data.marginals import lattice
from synthrelease.data.plausibility import Plausibility
from synthrelease.errors import RejectedRound
from synthrelease.measurements.noisy_tables import NoisyMarginal, NoisyMarginals

_UNIFORM_SHARE = 0.001
"""Mass of the prior that is spread over all plausible cells, so that the data can fill what the public table lacks."""

_PRECISION = 0.2
"""The fit ends when every measured cell is within this share of its noise deviation of where it should be."""

_FINEST = 0.05
"""Or within this part of a record: rows are whole, and a double can tell no less where the noise is next to nothing. A cell
that has less than that and should have still less gets no row, and is where it should be, too."""

_SWEEPS = 150
"""Of proportional fitting, at most: some 0.1 s for cliques of 10,000 cells."""

_MOST_STEPS = 20_000

_STARTS = 5
"""The search is begun again where it stopped: its line search gives up when what it remembers of the curvature misleads it."""


def maximum_entropy(
    measured: NoisyMarginals,
    structure: Sequence[Columns],
    plausibility: Plausibility,
    prior: Counts | None,
    weight: float,
    *,
    exact: bool = False,
    evenly: bool = False,
) -> BayesianNetwork:
    """Fit the model and turn it into conditional tables to sample from.

    Parameters
    ----------
    structure : column sets that the model keeps together, among them those of all measured tables.
    prior : a public table over the same layout; it enters through its marginals on the cliques of the junction tree.
    weight : how many records the prior is worth, > 0.
    exact : whether the tables are those of **public** rows without noise, which agree as they are.
    evenly : how rows are drawn from it (`BayesianNetwork`).

    Raises
    ------
    RejectedRound : when no table is plausible, or the optimiser does not converge.
    """
    sets = [*structure, *(mask.columns for mask in plausibility.masks)]  # every rule lies inside one clique
    tree = JunctionTree.of(measured.layout.sizes, sets)
    base = base_potentials(tree, plausibility, prior)
    fit = ProportionalFit(tree, base, [target_of(table) for table in measured.tables], measured.n, weight, sums=measured.sums)
    near = fit.solve(tolerances_of(fit.targets, _PRECISION, _FINEST), _SWEEPS, agreed=exact)
    shares = fit.shares if near else _Dual(tree, base, measured, weight).solved(fit.original_parameters(), fit.sum_parameters())
    families = tuple(families_of(tree, shares))
    return BayesianNetwork(layout=measured.layout, families=families, plausibility=plausibility, evenly=evenly)


def target_of(table: NoisyMarginal) -> Target:
    """A measured table as what a fit should come to."""
    return Target(columns=table.columns, values=table.values.astype(float), variance=table.variance())


def base_potentials(tree: JunctionTree, plausibility: Plausibility, prior: Counts | None) -> list[np.ndarray]:
    """The prior as clique potentials: uniform over plausible cells, or that of the public table, slightly smoothed."""
    uniform = [np.where(plausibility.structural_zeros(clique), -np.inf, 0.0) for clique in tree.cliques]
    total, beliefs = tree.calibrate(uniform)
    if not np.isfinite(total):
        raise RejectedRound("the rules leave no plausible cell")
    if prior is None:
        return uniform
    public = lattice(prior)
    potentials = []
    for index, clique in enumerate(tree.cliques):
        counts = np.where(np.isfinite(uniform[index]), public.get(clique), 0)
        shares = (1 - _UNIFORM_SHARE) * counts / max(1, counts.sum()) + _UNIFORM_SHARE * np.exp(beliefs[index])
        given = margin_of(shares, clique, tree.separator(index))
        with np.errstate(divide="ignore", invalid="ignore"):
            table = np.log(shares) - np.log(spread(given, tree.separator(index), clique))
        potentials.append(np.where(shares > 0, table, -np.inf))
    return potentials


@dataclass(frozen=True, kw_only=True)
class _Block:
    """The parameters of one measured table: where they act, and which of its cells are possible."""

    columns: Columns
    home: int
    shape: tuple[int, ...]
    possible: np.ndarray
    place: slice


class _Dual:
    """The dual of the fit: smooth and convex in one parameter per measured cell that is possible.

    f(lambda) = log Z(lambda) - lambda.y/n + 1/2 sum r lambda^2 with r = weight * variance / n^2; its gradient is
    p - y/n + r lambda. Parameters are scaled by about one over the root of the curvature.
    """

    def __init__(self, tree: JunctionTree, base: list[np.ndarray], measured: NoisyMarginals, weight: float):
        self.tree, self.base = tree, base
        _, beliefs = tree.calibrate(base)
        blocks, targets, ridges, start = [], [], [], 0
        for table in measured.tables:
            home = tree.home(table.columns)
            possible = (margin_of(np.exp(beliefs[home]), tree.cliques[home], table.columns) > 0).ravel()
            place = slice(start, start + int(possible.sum()))
            start = place.stop
            blocks.append(_Block(columns=table.columns, home=home, shape=table.values.shape, possible=possible, place=place))
            targets.append(table.values.ravel()[possible] / measured.n)
            ridges.append(table.variance().ravel()[possible] * (weight / measured.n**2))
        self.tilts = [Tilt(one, measured.n, weight) for one in measured.sums]
        targets.append(np.array([tilt.aim / measured.n for tilt in self.tilts]))
        ridges.append(np.array([tilt.ridge / measured.n for tilt in self.tilts]))
        self.start_of_tilts = start
        self.blocks, self.target, self.ridge = blocks, np.concatenate(targets), np.concatenate(ridges)
        deviation = np.sqrt(self.ridge / weight)
        self.tolerance = np.maximum(_PRECISION * deviation, _FINEST / measured.n)
        self.shares = self.latest = np.full(len(self.target), np.inf)
        self.empty = np.append(np.full(start, _FINEST / measured.n), np.full(len(self.tilts), -1.0))
        self.scale = 1 / np.sqrt(np.maximum(self.target, deviation) + self.ridge)

    def potentials(self, parameters: np.ndarray) -> list[np.ndarray]:
        tables = list(self.base)
        for block in self.blocks:
            full = np.zeros(len(block.possible))
            full[block.possible] = parameters[block.place]
            tables[block.home] = tables[block.home] + spread(
                full.reshape(block.shape), block.columns, self.tree.cliques[block.home]
            )
        for tilt, parameter in zip(self.tilts, parameters[self.start_of_tilts :].tolist(), strict=True):
            home = self.tree.home(tilt.columns)
            tables[home] = tables[home] + spread(parameter * tilt.scores, tilt.columns, self.tree.cliques[home])
        return tables

    def __call__(self, scaled: np.ndarray) -> tuple[float, np.ndarray]:
        parameters = self.scale * scaled
        total, beliefs = self.tree.calibrate(self.potentials(parameters))
        shares = [np.exp(belief) for belief in beliefs]
        model = np.concatenate(
            [
                margin_of(shares[block.home], self.tree.cliques[block.home], block.columns).ravel()[block.possible]
                for block in self.blocks
            ]
            + [[self._of_tilt(tilt, shares)] for tilt in self.tilts]
        )
        value = total - parameters @ self.target + 0.5 * (self.ridge * parameters) @ parameters
        self.shares = model
        self.latest = self.scale * (model - self.target + self.ridge * parameters)
        return float(value), self.latest

    def _of_tilt(self, tilt: Tilt, shares: Sequence[np.ndarray]) -> float:
        home = self.tree.home(tilt.columns)
        return float((margin_of(shares[home], self.tree.cliques[home], tilt.columns) * tilt.scores).sum())

    def solved(self, start: Sequence[np.ndarray], tilts: np.ndarray) -> list[np.ndarray]:
        """Shares of every clique's cells at the optimum, searched from one table of parameters for every measured one, and one
        parameter for every measured sum."""
        from scipy.optimize import minimize

        def stop(_: np.ndarray) -> None:
            if self.converged(self.latest):  # at the point of this iteration, the last to be evaluated
                raise StopIteration

        options = {"maxiter": _MOST_STEPS, "maxfun": 2 * _MOST_STEPS, "maxcor": 30, "gtol": 0.0, "ftol": 0.0}
        begun = [table.ravel()[block.possible] for table, block in zip(start, self.blocks, strict=True)]
        at = np.concatenate([*begun, tilts]) / self.scale
        for _ in range(_STARTS):
            if self.converged(self(at)[1]):
                _, beliefs = self.tree.calibrate(self.potentials(self.scale * at))
                return [np.exp(belief) for belief in beliefs]
            at = minimize(self, at, jac=True, method="L-BFGS-B", options=options, callback=stop).x
        raise RejectedRound("the fit of the marginals did not converge")

    def converged(self, scaled_gradient: np.ndarray) -> bool:
        """Whether every measured cell is within its tolerance of where it should be, or empty; not a number is not."""
        gradient = scaled_gradient / self.scale
        empty = (self.shares <= self.empty) & (gradient > 0)
        return bool(((np.abs(gradient) <= self.tolerance) | empty).all())


def families_of(tree: JunctionTree, shares: Sequence[np.ndarray]) -> list[Family]:
    """Pr[column | columns before it in its clique], clique by clique: the same law, in an order to sample from."""
    families = []
    for index, clique in enumerate(tree.cliques):
        known = list(tree.separator(index))
        for column in clique:
            if column in known:
                continue
            joint = margin_of(shares[index], clique, (*known, column))
            sums = joint.sum(axis=-1, keepdims=True)
            uniform = np.full_like(joint, 1 / joint.shape[-1])  # for parents that do not occur
            conditional = np.divide(joint, sums, out=uniform, where=sums > 0)
            families.append(Family(column=column, parents=tuple(known), conditional=conditional))
            known.append(column)
    return families
