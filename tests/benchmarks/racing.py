"""How many attempts the race saves, and what that costs in quality: the race against the full grid, in simulated worlds.

    python -m tests.benchmarks.racing --config configs/births-full.toml --results DIR/attempts.sqlite [--worlds 20]

The worlds are made from the results of a real rehearsal: each configuration has the mean log figures that were measured, and
figures scatter around them with the pooled deviation. The full grid makes `--grid` attempts of each configuration and takes the
best ten; the race takes its ten. Quality is the mean true acceptance probability of the ten.
"""

from __future__ import annotations

import argparse
import math
from contextlib import closing
from pathlib import Path

import numpy as np

from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.rehearsal.attempts import PILOT_ATTEMPTS, AttemptResult, Race, RaceGoal, pooled_scatter
from synthrelease.studio.rehearsal.rehearse import RehearsalStore


class World:
    """Configurations with known figures: mean logs (n_configurations, n_criteria) and one deviation per criterion."""

    def __init__(self, spec: ReleaseSpec, means: np.ndarray, scatter: np.ndarray, noise_sd: np.ndarray, seed: int):
        self.spec, self.means, self.scatter, self.noise_sd = spec, means, scatter, noise_sd
        self.random = np.random.default_rng(seed)
        self.thresholds = np.array([criterion.threshold for criterion in spec.criteria])
        self.truth = np.array([self.acceptance(self.draw(c, 2000)).mean() for c in range(len(means))])

    def draw(self, c: int, n: int) -> np.ndarray:
        """(n, n_criteria) exact figures of n attempts."""
        return np.exp(self.means[c] + self.scatter * self.random.standard_normal((n, len(self.scatter))))

    def acceptance(self, figures: np.ndarray) -> np.ndarray:
        """(n,) chance of each attempt over the Laplace noise of its figures."""
        slack = self.thresholds - figures
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            scaled = np.where(self.noise_sd > 0, slack * math.sqrt(2) / self.noise_sd, np.where(slack >= 0, np.inf, -np.inf))
        return np.where(scaled >= 0, 1 - np.exp(-np.abs(scaled)) / 2, np.exp(-np.abs(scaled)) / 2).prod(axis=1)

    def attempt(self, c: int, number: int) -> AttemptResult:
        figures = self.draw(c, 1)
        chance = float(self.acceptance(figures)[0])
        accepted = bool(self.random.random() < chance)
        return AttemptResult(
            configuration=c,
            number=number,
            generation=self.spec.budget.generation,
            accepted=accepted,
            chance=chance,
            seconds=0.0,
            figures=tuple(float(figure) for figure in figures[0]),
            sensitivities=(None,) * len(self.thresholds),
            passed=(accepted,) * len(self.thresholds),
        )


def race(world: World, goal: RaceGoal) -> tuple[int, float]:
    """(attempts, mean true acceptance of the shortlist)."""
    results: list[dict[int, AttemptResult]] = [{} for _ in world.truth]
    state = Race.of(results, world.thresholds.tolist(), goal)
    while state.missing:
        for c, number in state.missing:
            results[c][number] = world.attempt(c, number)
        state = Race.of(results, world.thresholds.tolist(), goal)
    return sum(map(len, results)), float(world.truth[list(state.shortlist())].mean())


def full_grid(world: World, attempts: int, keep: int) -> tuple[int, float]:
    """(attempts, mean true acceptance of the best by their share of accepted attempts)."""
    passed = world.random.binomial(attempts, world.truth)
    best = np.argsort(-passed, kind="stable")[:keep]
    return attempts * len(world.truth), float(world.truth[best].mean())


def measured(spec: ReleaseSpec, path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean logs, pooled deviations and noise deviations from the results of a rehearsal."""
    import sqlite3

    with closing(sqlite3.connect(path)) as connection:
        found = list(RehearsalStore(connection, {}).results(spec.budget.generation))
    groups: dict[int, list[AttemptResult]] = {}
    for result in found:
        groups.setdefault(result.configuration, []).append(result)
    scatter = pooled_scatter([attempts[:PILOT_ATTEMPTS] for attempts in groups.values() if len(attempts) >= PILOT_ATTEMPTS])
    rows, sensitivities = [], []
    for c in sorted(groups):
        figures = np.array([[np.nan if value is None else value for value in result.figures] for result in groups[c]])
        positive = figures > 0
        with np.errstate(divide="ignore", invalid="ignore"):  # a figure that is always 0 has the logarithm -inf
            rows.append(np.where(positive, np.log(figures), 0.0).sum(axis=0) / positive.sum(axis=0))
        sensitivities += [[np.nan if value is None else value for value in result.sensitivities] for result in groups[c]]
    epsilons = np.array([float(criterion.epsilon) or np.nan for criterion in spec.criteria])
    known = np.array(sensitivities, dtype=float)
    medians = [np.median(column[~np.isnan(column)]) if (~np.isnan(column)).any() else 0.0 for column in known.T]
    noise = math.sqrt(2) * np.array(medians) / epsilons
    return np.where(np.isnan(rows), -np.inf, rows), np.nan_to_num(scatter), np.nan_to_num(noise)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--worlds", type=int, default=20)
    parser.add_argument("--grid", type=int, default=48)
    options = parser.parse_args()
    spec, goal = load_spec(options.config), RaceGoal()
    means, scatter, noise = measured(spec, options.results)
    lines = []
    for seed in range(options.worlds):
        world = World(spec, means, scatter, noise, seed)
        lines.append(
            [*race(world, goal), *full_grid(world, options.grid, goal.keep), np.sort(world.truth)[-goal.keep :].mean()]
        )
    raced, race_quality, grid, grid_quality, best = np.mean(lines, axis=0)
    print(f"{len(means)} configurations, {options.worlds} worlds, {goal.keep} on the shortlist")
    print(f"full grid, {options.grid} attempts each: {grid:.0f} attempts, mean true acceptance {grid_quality:.3f}")
    print(f"race: {raced:.0f} attempts ({grid / raced:.1f} times fewer), mean true acceptance {race_quality:.3f}")
    print(f"the best {goal.keep} there are: {best:.3f}")


if __name__ == "__main__":
    main()
