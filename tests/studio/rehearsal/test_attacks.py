"""Attacks on public twins: what the claimed noise allows is not exceeded, and a release that breaks its claim is found."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.enclave.ingest import read_public
from synthrelease.generators.measured_noise import CountNoise, DiscreteLaplace, RoundedGaussian
from synthrelease.generators.measurements import NoisyBin, NoisyMarginal, NoisyMarginals, RareBin
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.settings.tables import AttacksTable
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.requests import RehearsalRequest
from synthrelease.studio.rehearsal import attacks, attempts
from synthrelease.studio.rehearsal import rehearse as course
from synthrelease.studio.rehearsal.attacks import (
    Twins,
    attack_results,
    contradicts,
    fit_to_twins,
    guess_persons,
    log_ratio,
    most_right,
)
from synthrelease.studio.rehearsal.attempts import Trials
from synthrelease.studio.rehearsal.rehearse import Rehearsal, rehearse
from tests.helpers.tiny import MEASURED, write_config, write_data

CLAIM_OF_4 = {"generation = 10": "generation = 4"}


def measured_spec(folder: Path) -> tuple[ReleaseSpec, Counts]:
    spec = load_spec(write_config(folder, {**MEASURED, **CLAIM_OF_4}))
    return spec, read_public(write_data(folder), spec.schema, spec.input, spec.raw, spec.unit)


def probability(noise: CountNoise, z: int) -> float:
    """Of this noise, by its definition."""
    if isinstance(noise, DiscreteLaplace):
        stay = math.exp(-1 / noise.scale)
        return (1 - stay) / (1 + stay) * stay ** abs(z)
    return float(norm.cdf((z + 0.5) / noise.scale) - norm.cdf((z - 0.5) / noise.scale))


def small_twins() -> Twins:
    """Rows (0, 0) x 6, (1, 1) x 3, (1, 2) once: the last is the rare one, and (0, 0) the frequent one in its place."""
    layout = Layout(columns=("a", "b"), sizes=(2, 3))
    bins = [np.array([0, 1, 1]), np.array([0, 1, 2])]
    return Twins.of(Counts.of(layout, bins, np.array([6, 3, 1])))


@pytest.mark.parametrize(("kind", "cost"), [(DiscreteLaplace, Fraction(1, 2)), (RoundedGaussian, Fraction(1, 3))])
@pytest.mark.parametrize("rare", [False, True])
def test_the_ratio_is_that_of_all_probabilities(kind: type[CountNoise], cost: Fraction, rare: bool) -> None:
    """Against the law of every cell of every table, under one twin and under the other."""
    twins, generator = small_twins(), np.random.default_rng(5)
    apart = [(0, 0)] if rare else []  # the frequent row is then in no table
    likelihood, tables = [0.0, 0.0], []
    for columns in ((0,), (1,), (0, 1)):
        exact = []
        for table in twins.tables:
            kept = table.keep(np.all([table.bins[c] != b for c, b in apart], axis=0)) if apart else table
            exact.append(kept.marginal(columns))
        values = exact[0] + generator.integers(-3, 4, exact[0].shape)
        tables.append(NoisyMarginal(columns=columns, values=values, cost=cost, cells=np.ones(values.shape), kind=kind))
        for twin in (0, 1):
            noise = (values - exact[twin]).ravel()
            likelihood[twin] += sum(math.log(probability(tables[-1].noise, int(z))) for z in noise)
    bins = tuple(NoisyBin(of=RareBin(column=c, bin=b), value=6) for c, b in apart)
    measured = NoisyMarginals(layout=twins.tables[0].layout, n=10, tables=tuple(tables), rare_bins=bins)
    ratio, _ = log_ratio(measured, twins, generator)
    assert ratio == pytest.approx(likelihood[0] - likelihood[1], abs=1e-9)


@pytest.mark.parametrize(("kind", "cost"), [(DiscreteLaplace, Fraction(2)), (RoundedGaussian, Fraction(1))])
def test_what_the_noise_allows_is_the_best_guess_of_its_law(kind: type[CountNoise], cost: Fraction) -> None:
    """Against the sum over all outputs of the larger probability: nobody can be right more often."""
    twins = small_twins()
    values = twins.tables[0].marginal((1,))
    table = NoisyMarginal(columns=(1,), values=values, cost=cost, cells=np.ones(3), kind=kind)
    measured = NoisyMarginals(layout=twins.tables[0].layout, n=10, tables=(table,))
    reach = range(-30, 31)
    law = {z: probability(table.noise, z) for z in range(min(reach) - 1, max(reach) + 2)}
    best = 0.0
    for u in reach:  # noise of the cell that loses the row, and of the one that gets the other, under the first twin
        for v in reach:
            best += max(law[u] * law[v], law[u + 1] * law[v - 1]) / 2
    allowed = np.mean([log_ratio(measured, twins, np.random.default_rng(seed))[1] for seed in range(100)])
    assert allowed == pytest.approx(best, abs=4 * math.sqrt(0.25 / (100 * 200)))


def test_the_bound_of_epsilon_is_reached_by_randomised_response() -> None:
    """A coin that tells the truth with e^epsilon / (1 + e^epsilon) is epsilon-DP, and its guess is right as often."""
    for epsilon in (0.1, 1.0, 4.0):
        assert most_right(epsilon) == pytest.approx(math.exp(epsilon) / (1 + math.exp(epsilon)))
    assert most_right(0.0, 0.25) == pytest.approx(0.625)  # one in four tells all, the others nothing
    assert most_right(10_000.0) == 1.0


class HalfTheNoise(SeededEntropy):
    """Noise of half the scale that was asked for."""

    def add_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        return super().add_laplace(values, scale / 2)

    def add_cube(self, values: np.ndarray, rate: Fraction) -> np.ndarray:
        return super().add_cube(values, rate * 2)


def attack(spec: ReleaseSpec, public: Counts, seed: int, fits: int, halves: int) -> AttacksTable:
    """All attacks on the first configuration by an intruder who knows one column."""
    twins, trials = Twins.of(public), Trials(spec=spec, counts=public, seed=seed)
    seen = [fit for pair in range(fits // 2) for fit in fit_to_twins(trials, twins, 0, pair)]
    return attack_results(spec, ("face",), seen, [guess_persons(trials, 0, ("face",), half) for half in range(halves)])


def tried(folder: Path, seed: int, fits: int) -> AttacksTable:
    spec, public = measured_spec(folder)
    return attack(spec, public, seed, fits, 1)


@pytest.mark.slow
def test_half_the_noise_is_found_and_honest_noise_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = tried(tmp_path, 1, 400)
    assert not honest.contradicts
    assert honest.membership[0].allowed_by_noise is not None
    assert honest.membership[0].allowed_by_noise < honest.membership[0].allowed_by_epsilon
    monkeypatch.setattr(attacks, "SeededEntropy", HalfTheNoise)
    planted = tried(tmp_path, 1, 400)
    assert planted.contradicts
    assert planted.membership[0].seen == "the noisy tables"


def test_rows_that_are_the_file_give_the_row_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A generator that hands out its table: the twin is told from rows alone, and every person of one half is found."""
    spec = load_spec(write_config(tmp_path))
    public = read_public(write_data(tmp_path), spec.schema, spec.input, spec.raw, spec.unit)

    def copied(spec, configuration, table, prepared):  # type: ignore[no-untyped-def]
        merged, candidate = made(spec, configuration, table, prepared)
        rows = merged._Door__counts.merge(configuration.transformation.layout, configuration.transformation.maps)
        return merged, type(candidate)(configuration=configuration, counts=rows)

    made = attacks.generate
    monkeypatch.setattr(attacks, "generate", copied)
    monkeypatch.setattr(attempts, "generate", copied)
    monkeypatch.setattr(attacks, "most_right", lambda epsilon, delta: most_right(0.5))
    got = attack(spec, public, 1, 60, 2)
    rows = next(one for one in got.membership if one.seen == "the rows")
    assert rows.right == rows.guesses == 30
    assert contradicts(rows)
    assert got.contradicts
    value, row = got.persons
    assert value.inside >= value.outside
    assert row.inside >= row.outside
    _, inside, _, outside, _ = guess_persons(Trials(spec=spec, counts=public, seed=1), 0, ("face",), 0)["year"]
    assert inside + outside == 400


def test_a_person_is_guessed_from_the_rows_that_agree() -> None:
    """Six rows a=0 with b=1, six a=1 with b=0 or 2: whoever knows a guesses b, whoever knows nothing the most frequent."""
    layout = Layout(columns=("a", "b"), sizes=(2, 3))
    rows = Counts.of(layout, [np.array([0, 1, 1]), np.array([1, 0, 2])], np.array([6, 5, 1]))
    asked = Counts.of(layout, [np.array([0, 1, 1]), np.array([1, 0, 1])], np.array([3, 2, 4]))
    right, most_frequent = attacks._guessed(rows, asked, [0], 1)
    assert (right, most_frequent) == (3 + 2, 3 + 4)


def rehearsed(folder: Path, out: str, minutes: float | None = None, progress: Any = None) -> Rehearsal:
    request = RehearsalRequest(
        config=write_config(folder, {"generation = 10": "generation = 1"}),
        data=str(write_data(folder)),
        out=folder / out,
        keep=1,
        width=0.6,
        copies=2,
        seed=4,
        attacks=16,
        minutes=minutes,
    )
    return rehearse(load_spec(request.config), request, **({"progress": progress} if progress else {}))


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["utility and risk", "attacks"])
def test_the_minutes_hold_for_attacks_too_and_what_was_done_is_kept(
    phase: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that jumps past the minutes once two tasks of a phase are done: no more are begun, the rehearsal says that it is
    not complete, and the same command does the others, to the same end as one that nobody stopped."""
    late, seen = [False], list[tuple[str, int, int]]()
    monkeypatch.setattr(course, "time", SimpleNamespace(monotonic=lambda: 1e9 * late[0]))

    def progress(name: str, done: int, total: int) -> None:
        seen.append((name, done, total))
        late[0] |= name.startswith(phase) and done >= min(2, total)

    stopped = rehearsed(tmp_path, "stopped", 10, progress)
    assert not stopped.complete
    last = [(done, total) for name, done, total in seen if name.startswith("attacks: fitting twins")]
    assert last == ([] if phase != "attacks" else [(0, 8), (1, 8), (2, 8)])
    late[0] = False
    seen.clear()
    whole = rehearsed(tmp_path, "whole")
    again = rehearsed(tmp_path, "stopped", None, progress)
    assert [total for name, done, total in seen if name.startswith("attacks: fitting twins") and not done] == [
        8 if phase != "attacks" else 6
    ]
    assert again.complete
    assert again.copies == whole.copies
    assert again.attacks == whole.attacks
    assert whole.attacks is not None
    assert whole.attacks.fits == 16
