"""Post-stratified weights: the running example, potential weights by brute force, sensitivities over all neighbours."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from tests.helpers.running_example import SAMPLES, STRATA, of_counts
from tests.helpers.weighted_counts import choose, weighted_count
from tests.reproduction.cauchy_noise import CauchyNoise
from tests.reproduction.imputation import Answer
from tests.reproduction.test_cauchy_noise import exact_loss
from tests.reproduction.weighting import PostStrata, Respondents, choice_law, score_sensitivity, selection_epsilon

NAMES = list(STRATA)
ALL = list(STRATA.values())


# The running example (Merrill 2021, Figures 7.1 to 7.6)


@pytest.mark.parametrize(("sample", "printed"), [("A", [1000, 143, 1000, 143, 100]), ("B", [1000, 1000, 1000, 118, 100])])
def test_the_largest_weights_of_the_example(sample: str, printed: list[int]) -> None:
    found = [strata.largest_weight(SAMPLES[sample]) for strata in ALL]
    assert [round(weight) for weight in found] == printed
    for strata, weight in zip(ALL, found, strict=True):
        assert strata.smooth_bound(SAMPLES[sample], 1 / 6) == pytest.approx(weight)  # in all ten cases
        assert strata.score(SAMPLES[sample]) == pytest.approx(len(strata.totals) / weight)
    deviations = [CauchyNoise.printed_with_gamma(1, 4).deviation * round(weight) for weight in found]
    assert [round(deviation) for deviation in deviations] == [6 * weight for weight in printed]


def test_the_weights_of_the_example() -> None:
    def rounded(sample: str, name: str) -> list[int]:
        found = STRATA[name].weights(SAMPLES[sample])
        return [math.floor(found[SAMPLES[sample].bins == each][0] + 0.5) for each in range(5)]

    assert rounded("A", "separate") == [77, 1000, 83, 83, 83]
    assert rounded("B", "separate") == [63, 1000, 63, 63, 1000]
    assert (rounded("A", "minors")[:2], rounded("A", "adults")[2:], rounded("A", "all")) == ([143] * 2, [83] * 3, [100] * 5)
    assert (rounded("B", "minors")[:2], rounded("B", "adults")[2:], rounded("B", "all")) == ([118] * 2, [91] * 3, [100] * 5)


def laws(epsilon: float, sample: str) -> tuple[np.ndarray, np.ndarray]:
    """The law of the choice as printed, from weights that were rounded first, and with the weights as they are.

    The source states 2 alpha Delta, so alpha = epsilon / (2 Delta), which is what replacing a record needs.
    """
    alpha = epsilon / selection_epsilon(1, score_sensitivity(ALL), "replace one")
    weights = [strata.largest_weight(SAMPLES[sample]) for strata in ALL]
    sizes = [len(strata.totals) for strata in ALL]
    printed = choice_law([size / round(weight) for size, weight in zip(sizes, weights, strict=True)], alpha)
    return printed, choice_law([strata.score(SAMPLES[sample]) for strata in ALL], alpha)


def test_the_choice_of_the_example() -> None:
    """The probabilities are proportional to exp(100 score), not to the score as one sentence of the source has it."""
    assert score_sensitivity(ALL) == pytest.approx(5e-5)
    assert selection_epsilon(100, 5e-5, "replace one") == pytest.approx(0.01)
    assert selection_epsilon(100, 5e-5, "add or remove") == pytest.approx(0.005)
    shown = {sample: [f"{p:.3f}" for p in laws(0.01, sample)[0]] for sample in SAMPLES}
    assert shown == {"A": ["0.063", "0.627", "0.052", "0.155", "0.104"], "B": ["0.130", "0.118", "0.107", "0.430", "0.215"]}
    assert [f"{p:.4f}" for p in laws(0.01, "A")[1]] == ["0.0629", "0.6273", "0.0515", "0.1547", "0.1037"]
    assert [NAMES[int(laws(0.1, sample)[0].argmax())] for sample in SAMPLES] == ["minors", "minors-adults"]
    assert laws(0.1, "A")[0].max() > 0.999
    assert f"{laws(0.1, 'B')[0].max():.5f}" == "0.99903"


def test_the_expected_deviation_of_the_example_with_its_correction() -> None:
    """1423 for sample A, where the source prints 1000; 2563 for B as printed. Without rounding 1419 and 2558."""
    found = {}
    for sample in SAMPLES:
        weights = [strata.largest_weight(SAMPLES[sample]) for strata in ALL]
        for kind, law, used in zip(("rounded", "as they are"), laws(0.01, sample), (np.round(weights), weights), strict=True):
            law = np.round(law, 3) if kind == "rounded" else law
            found[sample, kind] = round(float((law * 6 * np.asarray(used)).sum()))
    assert found == {("A", "rounded"): 1423, ("A", "as they are"): 1419, ("B", "rounded"): 2563, ("B", "as they are"): 2558}


@pytest.mark.parametrize("steps", [0, 1, 50, 99, 100, 5000])
def test_the_potential_weights_of_the_example(steps: int) -> None:
    expected = 100_000 / (100 - steps) if steps < 100 else 100_000
    assert STRATA["separate"].largest_weight(SAMPLES["A"], steps) == pytest.approx(expected)


# All small files: a stratum's records by their base weights 1, 2 and 5

BASES = (1.0, 2.0, 5.0)
TWO = PostStrata(into=np.array([0, 1]), totals=np.array([60.0, 100.0]), smallest_base=1, largest_base=5)
File = tuple[tuple[int, ...], tuple[int, ...]]
"""For each of two strata how many records have each base weight."""


def files(most: int) -> Iterator[File]:
    inside = [each for each in product(range(most + 1), repeat=3) if sum(each) <= most]
    yield from product(inside, repeat=2)


def records(file: File) -> Respondents:
    found = [
        (stratum, base) for stratum in (0, 1) for base, many in zip(BASES, file[stratum], strict=True) for _ in range(many)
    ]
    return Respondents(bins=np.array([s for s, _ in found], dtype=int), base_weights=np.array([b for _, b in found]))


def steps_away(file: File) -> Iterator[tuple[int, int, int, File]]:
    """(stratum, place of the base weight, +1 or -1, the file) for every record that may be added or removed."""
    for stratum, place, step in product((0, 1), range(3), (1, -1)):
        counts = list(file[stratum])
        counts[place] += step
        if counts[place] >= 0:
            yield stratum, place, step, (tuple(counts), file[1]) if stratum == 0 else (file[0], tuple(counts))


def weight_slowly(file: File) -> float:
    """W_0 by its definition: of a record that is there, of one that could be added, and the total of an empty stratum."""
    worst = 0.0
    for counts, total in zip(file, TWO.totals, strict=True):
        base = sum(many * weight for many, weight in zip(counts, BASES, strict=True))
        for weight, many in zip(BASES, counts, strict=True):
            worst = max(worst, weight * total / (base + weight), weight * total / base if many else 0.0)
        worst = max(worst, total if not sum(counts) else 0.0)
    return worst


def test_potential_weights_are_those_of_all_files_so_many_records_away() -> None:
    cases, kept = 0, {file: weight_slowly(file) for file in files(4)}
    for file in files(2):
        reached = {file}
        for steps in range(3):
            expected = max(kept[other] for other in reached)
            assert TWO.largest_weight(records(file), steps) == pytest.approx(expected), (file, steps)
            reached |= {other for each in reached for *_, other in steps_away(each)}
            cases += 1
    assert cases == 300


def share(file: File, support: File) -> float:
    """The weighted count of the records of `support`, a part of the file."""
    return sum(
        total * np.dot(part, BASES) / np.dot(counts, BASES)
        for counts, part, total in zip(file, support, TWO.totals, strict=True)
        if sum(counts)
    )


def parts(file: File) -> Iterator[File]:
    yield from product(*(product(*(range(many + 1) for many in counts)) for counts in file))  # type: ignore[misc]


def fits(support: File, file: File) -> bool:
    return all(
        0 <= part <= many for one, other in zip(support, file, strict=True) for part, many in zip(one, other, strict=True)
    )


def moved(file: File, stratum: int, place: int, step: int) -> File:
    counts = [list(each) for each in file]
    counts[stratum][place] += step
    return tuple(counts[0]), tuple(counts[1])


@pytest.mark.slow
def test_a_weighted_count_moves_by_at_most_the_largest_weight_and_twice_when_a_record_is_replaced() -> None:
    """All files, all records that go or come, and all rules of who counts."""
    single, double = 0.0, 0.0
    for file in files(2):
        bound = TWO.largest_weight(records(file))
        for stratum, place, step, other in steps_away(file):
            for support in parts(file):
                for counted in (0, 1):  # whether the record that comes or goes is one of those who count
                    left = moved(support, stratum, place, step * counted)
                    if not fits(left, other):
                        continue
                    single = max(single, abs(share(file, support) - share(other, left)) / bound)
                    for to, at, up, final in steps_away(other) if step == -1 else ():
                        for also in (0, 1) if up == 1 else ():
                            change = abs(share(file, support) - share(final, moved(left, to, at, also)))
                            double = max(double, change / bound)
    assert single == pytest.approx(1)
    assert 1.9 < double <= 2


@pytest.mark.parametrize("beta", [0.1, 1 / 6, 0.5, 1.0])
def test_the_bound_is_smooth_for_both_kinds_of_neighbours(beta: float) -> None:
    bounds = {file: TWO.smooth_bound(records(file), beta) for file in files(3)}
    for file, bound in bounds.items():
        assert bound >= TWO.largest_weight(records(file))
        for _, _, step, other in steps_away(file):
            if other in bounds:
                assert bounds[other] <= math.exp(beta) * bound * (1 + 1e-12)
            if step == -1:
                for _, _, up, final in steps_away(other):
                    if up == 1 and final in bounds:
                        assert bounds[final] <= math.exp(beta) * bound * (1 + 1e-12)


def test_no_score_moves_by_more_than_its_sensitivity_and_none_falls_when_a_record_comes() -> None:
    one = PostStrata(into=np.array([0, 0]), totals=np.array([160.0]), smallest_base=1, largest_base=5)
    candidates = [TWO, one]
    sensitivity, alpha = score_sensitivity(candidates), 3.0
    assert sensitivity == pytest.approx(2 * 5 / 60)
    scores = {file: [each.score(records(file)) for each in candidates] for file in files(3)}
    single, double = 0.0, 0.0
    for file in files(2):
        here = np.array(scores[file])
        for _, _, step, other in steps_away(file):
            there = np.array(scores[other])
            assert np.all(step * (there - here) >= -1e-12)  # monotone
            assert np.abs(there - here).max() <= sensitivity * (1 + 1e-12)
            loss = np.abs(np.log(choice_law(here, alpha) / choice_law(there, alpha))).max()
            single = max(single, float(loss))
            if step == -1:
                for _, _, up, final in steps_away(other):
                    if up == 1:
                        replaced = np.array(scores[final])
                        assert np.abs(replaced - here).max() <= sensitivity * (1 + 1e-12)
                        loss = np.abs(np.log(choice_law(here, alpha) / choice_law(replaced, alpha))).max()
                        double = max(double, float(loss))
    assert single <= selection_epsilon(alpha, sensitivity, "add or remove")
    assert double <= selection_epsilon(alpha, sensitivity, "replace one")


def test_replacing_can_cost_more_than_a_choice_costs_when_adding() -> None:
    """Of two sets of strata one is worse and the other better for it: so the price of adding is not enough."""
    both = [
        PostStrata(into=np.array([0, 1, 2, 2]), totals=np.array([10.0, 1000.0, 1000.0])),
        PostStrata(into=np.array([0, 0, 1, 2]), totals=np.array([1000.0, 10.0, 1000.0])),
    ]
    before, after = (of_counts(counts) for counts in ([1, 1000, 9, 1000], [2, 1000, 8, 1000]))
    alpha, sensitivity = 5.0, score_sensitivity(both)
    laws = [choice_law([each.score(file) for each in both], alpha) for file in (before, after)]
    loss = np.abs(np.log(laws[0] / laws[1])).max()
    assert selection_epsilon(alpha, sensitivity, "add or remove") < loss <= selection_epsilon(alpha, sensitivity, "replace one")


@pytest.mark.parametrize("neighbours", ["add or remove", "replace one"])
def test_a_choice_costs_its_epsilon(neighbours: str) -> None:
    class Law:
        def choice(self, n: int, p: np.ndarray) -> int:
            self.law = p
            return n - 1

    generator = Law()
    assert choose(ALL, SAMPLES["A"], 0.01, neighbours, generator) == 4  # type: ignore[arg-type]
    alpha = {"add or remove": 200, "replace one": 100}[neighbours]
    assert np.allclose(generator.law, choice_law([each.score(SAMPLES["A"]) for each in ALL], alpha))


class Draw:
    """Stands for a generator whose noise is known."""

    def __init__(self, size: float):
        self.size = size

    def standard_gamma(self, shape: float, size: int) -> np.ndarray:
        return np.full(size, self.size if shape < 0.5 else 1.0)

    def choice(self, signs: tuple[float, float], size: int) -> np.ndarray:
        return np.ones(size)


@pytest.mark.parametrize(("neighbours", "factor"), [("add or remove", 1), ("replace one", 2)])
def test_a_weighted_count_gets_noise_of_the_smooth_bound(neighbours: str, factor: int) -> None:
    sample, strata = SAMPLES["B"], STRATA["minors-adults"]
    chosen = sample.bins < 2
    exact, noisy = (weighted_count(strata, sample, chosen, 1, neighbours, Draw(size)) for size in (0.0, 16.0))  # type: ignore[arg-type]
    assert exact.value == pytest.approx(200_000)
    assert noisy.value - exact.value == pytest.approx(factor * 6 * strata.smooth_bound(sample, 1 / 6) * 2)
    assert {field.name for field in dataclasses.fields(exact)} == {"value", "epsilon", "neighbours"}
    assert isinstance(exact, Answer)


def test_exact_losses_of_a_weighted_count_stay_below_epsilon() -> None:
    """Figures and bounds as far apart as neighbours can have them."""
    noise = CauchyNoise.printed_with_gamma(1.0, 4.0)
    bounds = {file: TWO.smooth_bound(records(file), noise.beta) for file in files(2)}
    kinds = {
        (round(min(TWO.largest_weight(records(file)), TWO.largest_weight(records(other))), 9), bounds[file], bounds[other])
        for file in bounds
        for *_, other in steps_away(file)
        if other in bounds
    }
    assert max(exact_loss(m * noise.alpha / s, t / s, noise.gamma) for m, s, t in sorted(kinds)[::25]) <= 1


def test_impossible_strata_and_questions_are_refused() -> None:
    with pytest.raises(ValueError, match="gamma must be at least 2"):
        weighted_count(STRATA["all"], SAMPLES["A"], SAMPLES["A"].bins < 2, 1, "add or remove", Draw(0.0), gamma=1.9)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a total above 0"):
        PostStrata(into=np.array([0, 1]), totals=np.array([10.0, 0.0]))
    with pytest.raises(ValueError, match="a total above 0"):
        PostStrata(into=np.array([0, 0]), totals=np.array([10.0, 5.0]))
    with pytest.raises(ValueError, match="bounds of the base weights"):
        PostStrata(into=np.array([0]), totals=np.array([10.0]), smallest_base=0)
    with pytest.raises(ValueError, match="outside the public bounds"):
        STRATA["all"].largest_weight(Respondents(bins=np.array([0]), base_weights=np.array([2.0])))
    with pytest.raises(ValueError, match="beta must be above 0"):
        STRATA["all"].smooth_bound(SAMPLES["A"], 0)
