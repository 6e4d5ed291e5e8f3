"""Noise and choices have the stated law; each statistical test would fail at a wrong scale (checked below)."""

from __future__ import annotations

import math
import sys
from collections import Counter
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln, logsumexp

from synthrelease.privacy import grids as noise_grids
from synthrelease.privacy import noise as randomness
from synthrelease.privacy.grids import gaussian_scale, laplace_sd, laplace_tail, noise_grid
from synthrelease.privacy.hidden_numbers import coin, truncated_negative_binomial
from synthrelease.privacy.noise import choose, discrete_laplace, laplace_figure, rounded_gaussian
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.privacy.samplers import TruncatedNegativeBinomial
from synthrelease.studio.audit.enumeration import Recording
from tests.whole.drawn import noise as biased_sampler

pytestmark = pytest.mark.slow

DRAWS = 60_000
# A correct sampler fails a test at this level once in a million runs.
LEVEL = 1e-6


def laplace_p_value(noise: np.ndarray, scale: float) -> float:
    """Chi-square test of integers against Pr[z] = (1-a)/(1+a) a^|z|, a = exp(-1/scale), tails pooled at 5 scales."""
    a, edge = math.exp(-1 / scale), math.ceil(5 * scale)
    z = np.arange(-edge, edge + 1)
    probabilities = (1 - a) / (1 + a) * a ** np.abs(z)
    tail = (1 - probabilities.sum()) / 2
    observed = [np.sum(noise < -edge), *(np.sum(noise == value) for value in z), np.sum(noise > edge)]
    return float(stats.chisquare(observed, len(noise) * np.array([tail, *probabilities, tail])).pvalue)


def test_discrete_laplace_has_scale_sensitivity_over_epsilon() -> None:
    noise = discrete_laplace(np.full(DRAWS, 17), sensitivity=4, epsilon=Fraction(2)) - 17
    assert laplace_p_value(noise, 2.0) > LEVEL


@pytest.mark.parametrize(("size", "times"), [(1, 20_000), (2, 20_000), (199, 400)])
@pytest.mark.parametrize("scale", [2, 5, 40])
def test_short_vectors_have_the_law_of_long_ones(size: int, times: int, scale: int) -> None:
    """Each vector is drawn by a call of its own. Scales at which one library's sampler was biased (`biased_sampler`), and 2."""
    vectors = [discrete_laplace(np.zeros(size, dtype=int), sensitivity=scale, epsilon=Fraction(1)) for _ in range(times)]
    assert laplace_p_value(np.concatenate(vectors), scale) > LEVEL


@pytest.mark.parametrize("scale", [3, 5])
def test_a_biased_sampler_of_a_scale_above_two_is_seen_and_of_two_cannot_be(scale: int) -> None:
    generator = np.random.default_rng(1)
    assert laplace_p_value(biased_sampler.drawn(40_000, scale, generator), scale) < LEVEL
    assert laplace_p_value(biased_sampler.drawn(40_000, 2, generator), 2) > LEVEL


def test_noise_is_drawn_without_any_other_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """One number, one scale that no other test has: nothing is remembered of an import."""
    for library in ("opendp", "opendp.measurements", "diffprivlib"):
        monkeypatch.setitem(sys.modules, library, None)
    assert discrete_laplace(np.zeros(1, dtype=int), sensitivity=7919, epsilon=Fraction(1)).shape == (1,)


@pytest.mark.parametrize("size", [0, 1, 3])
def test_a_vector_keeps_its_length(size: int) -> None:
    assert discrete_laplace(np.zeros(size, dtype=int), sensitivity=1, epsilon=Fraction(1)).shape == (size,)


@pytest.mark.parametrize("size", [1, 199, 20_000])
def test_gaussian_noise_of_long_and_short_vectors_has_one_law(size: int) -> None:
    vectors = [
        rounded_gaussian(np.zeros(size, dtype=int), squared_sensitivity=2, rho=Fraction(1, 9)) for _ in range(20_000 // size)
    ]
    noise = np.concatenate(vectors)
    assert gaussian_p_value(noise, 3.0) > LEVEL
    assert gaussian_p_value(noise, 0.9 * 3.0) < LEVEL


@pytest.mark.parametrize("wrong", [1.9, 2.1])
def test_the_test_above_detects_a_scale_that_is_off_by_five_percent(wrong: float) -> None:
    noise = discrete_laplace(np.zeros(DRAWS, dtype=int), sensitivity=4, epsilon=Fraction(2))
    assert laplace_p_value(noise, wrong) < LEVEL


def test_a_figure_lies_on_its_public_grid() -> None:
    """Theory 9, noise: the low bits of a released figure carry nothing, because every output is a multiple of a public step."""
    sensitivity, step = 0.037, 2.0 ** (math.floor(math.log2(0.037)) - 12)
    for value in (0.1, 0.1 + 1e-9, 1 / 3, math.pi):
        released = laplace_figure(value, sensitivity=sensitivity, epsilon=Fraction(1)).value
        assert (released / step).is_integer()


def test_grid_sensitivity_covers_neighbours_that_round_apart() -> None:
    """Two values at distance `sensitivity` never round to points further apart than the integer sensitivity.

    Also when both were computed with an error, of below half a grid step in all.
    """
    seen, generator = Recording(), np.random.default_rng(1)
    for _ in range(300):
        sensitivity, value = generator.uniform(1e-6, 3), generator.uniform(-5, 5)
        step = 2.0 ** (math.floor(math.log2(sensitivity)) - 12)
        for neighbour in (value, value + sensitivity + 0.49 * step):
            laplace_figure(neighbour, sensitivity=sensitivity, epsilon=Fraction(1), entropy=seen)
        ((low,), (high,)), claimed = seen.values[-2:], seen.scales[-2]  # at epsilon 1 the scale is the sensitivity
        assert high - low <= claimed
        assert claimed * step < 1.001 * sensitivity


def test_the_scale_is_never_below_the_exact_number() -> None:
    """Numbers that no double holds: the float is on the safe side, and next to the exact number."""
    for numerator in range(1, 200):
        exact = Fraction(numerator, 7 * 11 * 13)
        up = noise_grids.rounded_up(exact)
        assert Fraction(math.nextafter(up, 0)) < exact <= Fraction(up)


def test_noise_of_a_figure_has_the_reported_deviation() -> None:
    figures = [laplace_figure(1.0, sensitivity=0.5, epsilon=Fraction(1, 2)) for _ in range(4000)]
    reported = figures[0].noise_sd
    assert reported == pytest.approx(math.sqrt(2) * 0.5 / 0.5, rel=1e-3)
    # sd of the sample deviation of Laplace noise is about 1.12 / sqrt(n): 8% is more than 4 of them
    assert np.std([figure.value for figure in figures]) == pytest.approx(reported, rel=0.08)


def test_deviation_formula_against_a_sum() -> None:
    z = np.arange(-400, 401)
    weights = np.exp(-np.abs(z) / 7.0)
    assert laplace_sd(Fraction(7)) == pytest.approx(math.sqrt((weights * z**2).sum() / weights.sum()))


def tail(steps: int, sensitivity: float, epsilon: Fraction) -> Decimal:
    """Exact Pr[noise of a figure >= so many grid steps], steps >= 1: a^steps / (1 + a) with a = exp(-1/scale)."""
    step = Fraction(2) ** (math.floor(math.log2(sensitivity)) - 12)
    scale = (math.ceil(Fraction(sensitivity) / step + Fraction(1, 2)) + 1) / epsilon
    with localcontext() as context:
        context.prec = 50
        a = (-Decimal(scale.denominator) / scale.numerator).exp()
        return a**steps / (1 + a)


@pytest.mark.parametrize("sensitivity", [1.0, 0.037, 5.0, 1e-6])
@pytest.mark.parametrize("epsilon", [Fraction(3, 20), Fraction(1), Fraction(7, 2)])
@pytest.mark.parametrize("probability", [Fraction(1, 100), Fraction(1, 10**9), Fraction(49, 100), Fraction(1, 3)])
def test_the_tail_of_a_figure_is_exact_and_one_step_wide(sensitivity: float, epsilon: Fraction, probability: Fraction) -> None:
    """One step, for the rounding of the figure, beyond the least multiple that the noise reaches at most so often."""
    step = 2.0 ** (math.floor(math.log2(sensitivity)) - 12)
    steps = laplace_tail(sensitivity=sensitivity, epsilon=epsilon, probability=probability) / step
    assert steps.is_integer()
    claimed = Decimal(probability.numerator) / probability.denominator
    assert tail(int(steps) - 1, sensitivity, epsilon) <= claimed
    assert int(steps) == 2 or tail(int(steps) - 2, sensitivity, epsilon) > claimed


def test_noise_lies_above_the_tail_as_often_as_it_says() -> None:
    """20,000 draws of the noise of a figure; the binomial test fails at a tail that is off by a fifth of the scale."""
    reach = laplace_tail(sensitivity=0.5, epsilon=Fraction(1), probability=Fraction(1, 10))
    step, steps = noise_grid(0.5)
    figures = step * discrete_laplace(np.zeros(20_000, dtype=int), sensitivity=steps, epsilon=Fraction(1))
    assert stats.binomtest(int((figures >= reach).sum()), 20_000, 0.1).pvalue > LEVEL
    assert stats.binomtest(int((figures >= reach - 0.1).sum()), 20_000, 0.1).pvalue < LEVEL


@pytest.mark.parametrize("bad", [Fraction(0), Fraction(1, 2), Fraction(-1, 10), Fraction(1)])
def test_a_tail_needs_a_probability_below_one_half(bad: Fraction) -> None:
    with pytest.raises(ValueError, match="tail probability"):
        laplace_tail(sensitivity=1.0, epsilon=Fraction(1), probability=bad)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_figures_must_be_finite(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        laplace_figure(bad, sensitivity=1.0, epsilon=Fraction(1))
    with pytest.raises(ValueError, match="finite"):
        laplace_figure(1.0, sensitivity=bad, epsilon=Fraction(1))


def permute_and_flip(scores: list[int], scale: float) -> np.ndarray:
    """Exact law by summing over all orders: each candidate in turn is taken with probability exp(scale (s - max))."""
    from itertools import permutations

    law = np.zeros(len(scores))
    orders = list(permutations(range(len(scores))))
    for order in orders:
        left = 1.0
        for index in order:
            take = math.exp(scale * (scores[index] - max(scores)))
            law[index] += left * take / len(orders)
            left *= 1 - take
    return law


def test_private_choices_follow_their_law() -> None:
    scores, epsilon, sensitivity, draws = [0, 3, 5], Fraction(1), 4, 6000
    scale = float(epsilon) / (2 * sensitivity)
    softmax = np.exp(scale * np.array(scores))
    expected = {"permute_and_flip": permute_and_flip(scores, scale), "exponential": softmax / softmax.sum()}
    for mechanism, law in expected.items():
        found = Counter(choose(scores, sensitivity=sensitivity, epsilon=epsilon, mechanism=mechanism) for _ in range(draws))
        observed = [found[i] for i in range(3)]
        assert stats.chisquare(observed, draws * law).pvalue > LEVEL
        doubled = permute_and_flip(scores, 2 * scale)  # the law without the factor 2 of the sensitivity
        assert stats.chisquare(observed, draws * doubled).pvalue < LEVEL


def figure_p_value(figures: np.ndarray, scale: float) -> float:
    """Test of the mean size of Laplace noise, which has mean `scale` and deviation `scale`."""
    deviations = math.sqrt(len(figures)) * (np.abs(figures).mean() / scale - 1)
    return float(2 * stats.norm.sf(abs(deviations)))


def test_the_noise_of_figures_has_its_scale_to_within_a_tenth() -> None:
    figures = np.array([laplace_figure(0.0, sensitivity=0.5, epsilon=Fraction(1, 4)).value for _ in range(8_000)])
    assert figure_p_value(figures, 2.0) > LEVEL
    for wrong in (2.0 * 0.9, 2.0 * 1.1):
        assert figure_p_value(figures, wrong) < LEVEL


def test_coin_is_exact_at_its_ends_and_fair_between() -> None:
    assert not any(coin(Fraction(0)) for _ in range(50))
    assert all(coin(Fraction(1)) for _ in range(50))
    heads = sum(coin(Fraction(1, 4)) for _ in range(30_000))
    assert stats.binomtest(heads, 30_000, 0.25).pvalue > LEVEL
    for wrong in (0.25 * 0.9, 0.25 * 1.1):
        assert stats.binomtest(heads, 30_000, wrong).pvalue < LEVEL


def test_two_generators_differ() -> None:
    assert randomness.SYSTEM.generator().integers(2**62) != randomness.SYSTEM.generator().integers(2**62)


def test_seeded_noise_for_public_data_is_repeatable_and_has_the_same_law() -> None:
    """20,000 draws at scale 2: the mean absolute value 2 exp(-1/2) / (1 - exp(-1)) is known to 0.7%, the test allows 5%."""
    first, second = (
        discrete_laplace(np.zeros(20_000, dtype=int), sensitivity=2, epsilon=Fraction(1), entropy=SeededEntropy(3, 5))
        for _ in range(2)
    )
    assert first.tolist() == second.tolist()
    assert np.abs(first).mean() == pytest.approx(2 * math.exp(-0.5) / (1 - math.exp(-1)), rel=0.05)
    other = discrete_laplace(np.zeros(20_000, dtype=int), sensitivity=2, epsilon=Fraction(1), entropy=SeededEntropy(3, 6))
    assert first.tolist() != other.tolist()
    choices = [
        [
            choose([0, 1, 2], sensitivity=1, epsilon=Fraction(1), mechanism="permute_and_flip", entropy=entropy)
            for _ in range(30)
        ]
        for entropy in (SeededEntropy(7), SeededEntropy(7))
    ]
    assert choices[0] == choices[1]
    assert len(set(choices[0])) > 1


def gaussian_p_value(noise: np.ndarray, scale: float) -> float:
    """Chi-square test of integers against a normal law of this deviation, rounded; tails pooled within 3 deviations,
    since a cell in which few are expected has no such law."""
    edge = max(1, math.floor(3 * scale - 0.5))
    values = np.arange(-edge, edge + 1)
    inside, tail = np.diff(stats.norm.cdf(np.append(values - 0.5, edge + 0.5) / scale)), stats.norm.sf((edge + 0.5) / scale)
    observed = [np.sum(noise < -edge), *(np.sum(noise == value) for value in values), np.sum(noise > edge)]
    return float(stats.chisquare(observed, len(noise) * np.array([tail, *inside, tail])).pvalue)


@pytest.mark.parametrize("entropy", [randomness.SYSTEM, SeededEntropy(1)], ids=["system", "seeded"])
@pytest.mark.parametrize(("squared", "rho", "scale"), [(2, "1/9", 3.0), (4, "8", 0.5)])
def test_rounded_gaussian_has_variance_sensitivity_over_two_rho(
    entropy: randomness.SystemEntropy, squared: int, rho: str, scale: float
) -> None:
    noise = rounded_gaussian(np.full(DRAWS, 17), squared_sensitivity=squared, rho=Fraction(rho), entropy=entropy) - 17
    assert gaussian_p_value(noise, scale) > LEVEL
    assert gaussian_p_value(noise, 0.95 * scale) < LEVEL
    assert gaussian_p_value(noise, 1.05 * scale) < LEVEL


def test_opendp_accounts_the_gaussian_scale_as_we_do() -> None:
    """OpenDP's own map from an l2 distance to rho, at the scale that is used."""
    pytest.importorskip("opendp", reason="needs the extra audit")
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    for squared, rho in ((2, Fraction(1, 3)), (7, Fraction(1, 1000)), (1, Fraction(20))):
        scale = gaussian_scale(Fraction(squared) / (2 * rho))
        assert Fraction(scale) ** 2 >= squared / (2 * rho) > Fraction(math.nextafter(scale, 0)) ** 2 * Fraction(999_999, 10**6)
        theirs = make_gaussian(vector_domain(atom_domain(T="i64")), l2_distance(T="f64"), scale)
        assert theirs.map(math.sqrt(squared)) == pytest.approx(float(rho), rel=1e-9)


@pytest.mark.parametrize("deviation", [0.6, 1.0, 3.0])
def test_rounded_noise_is_gaussian_at_its_rho_and_discrete_noise_is_not(deviation: float) -> None:
    """The delta of two shifted laws, by summation, beside the exact one of continuous noise, at many epsilons.

    Rounded noise is never above it; discrete Gaussian noise of the same deviation is, so the curve is no claim for that.
    """
    z, mu = np.arange(-60, 61), 1 / deviation
    rounded = [np.diff(stats.norm.cdf((np.append(z, 61) - 0.5 - shift) / deviation)) for shift in (0, 1)]
    weights = [np.exp(-((z - shift) ** 2) / (2 * deviation**2)) for shift in (0, 1)]
    above = False
    for epsilon in np.linspace(0, 4 * mu, 40):
        bound = stats.norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu)
        assert np.maximum(rounded[1] - np.exp(epsilon) * rounded[0], 0).sum() <= bound + 1e-13
        discrete = [law / law.sum() for law in weights]
        above |= np.maximum(discrete[1] - np.exp(epsilon) * discrete[0], 0).sum() > 1.01 * bound
    assert above


def test_rounded_gaussian_noise_is_zero_concentrated_at_its_rho() -> None:
    """The Renyi divergence of two shifted laws, by summation, against rho times the order."""
    z, rho = np.arange(-400, 401), Fraction(1, 8)
    for shift in (1, 2, 3):
        scale = gaussian_scale(Fraction(shift**2) / (2 * rho))
        ends = [(z - 0.5 - centre) / scale for centre in (0, shift)]
        laws = [np.where(e > 0, stats.norm.logsf(e), stats.norm.logcdf(e + 1 / scale)) for e in ends]
        rest = [np.where(e > 0, stats.norm.logsf(e + 1 / scale), stats.norm.logcdf(e)) for e in ends]
        laws = [whole + np.log1p(-np.exp(part - whole)) for whole, part in zip(laws, rest, strict=True)]
        for order in (1.5, 2, 8, 20):
            found = logsumexp(order * laws[0] + (1 - order) * laws[1]) / (order - 1)
            assert found <= float(rho) * order * (1 + 1e-12)
            assert found >= float(rho) * order * 0.9  # a smaller scale would break the claim


@pytest.mark.parametrize("wrong", [{"squared_sensitivity": 0}, {"rho": Fraction(0)}, {"rho": Fraction(1, 10**40)}])
def test_impossible_gaussian_noise_is_refused(wrong: dict[str, Fraction]) -> None:
    with pytest.raises(ValueError, match="Gaussian|too large"):
        rounded_gaussian(np.zeros(3, dtype=int), **{"squared_sensitivity": 1, "rho": Fraction(1), **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("gamma", ["1/2", "1/40"])
@pytest.mark.parametrize("shape", ["-1/2", "0", "1/3", "1", "5", pytest.param("300")])
def test_the_hidden_number_of_rounds_is_truncated_negative_binomial(
    shape: str, gamma: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inverted at evenly spaced numbers: the share of each K is its mass, up to two of them."""
    points, eta, stop = 40 if shape == "300" else 150, Fraction(shape), Fraction(gamma)
    found = np.zeros(0, dtype=int)
    for i in range(points):
        read = iter([(2 * i + 1) * 2**256 // (2 * points), 1])  # the second, where the first is a bound itself
        monkeypatch.setattr(randomness.secrets, "randbelow", lambda below, read=read: next(read))
        found = np.append(found, truncated_negative_binomial(eta, stop))
    found = np.bincount(found)
    k = np.arange(1, len(found))
    if eta > 0:
        law = stats.nbinom(float(eta), float(stop))
        mass = law.pmf(k) / -np.expm1(law.logpmf(0))
    elif eta == 0:
        mass = stats.logser(float(1 - stop)).pmf(k)
    else:  # Definition 1, with the product as a ratio of gamma functions
        product = np.exp(gammaln(k + float(eta)) - gammaln(k + 1)) / math.gamma(1 + float(eta))
        mass = (1 - float(stop)) ** k * product * float(eta) / (float(stop) ** -float(eta) - 1)
    assert np.abs(found[1:] / points - mass).max() <= 2 / points
    assert found[0] == 0


def test_a_hidden_number_that_the_bits_do_not_decide_takes_more_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pr[K > k] = 2^-k for the geometric law at 1/2: 256 bits that are all 1 leave every number above 256 possible."""
    read = iter([2**256 - 1, 2**255 + 5])
    monkeypatch.setattr(randomness.secrets, "randbelow", lambda below: next(read))
    assert truncated_negative_binomial(Fraction(1), Fraction(1, 2)) == 258  # 257 ones, then a zero
    assert next(read, None) is None


def test_a_hidden_number_next_to_a_bound_is_decided_by_what_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The logarithmic law at 1/2 has Pr[K = 1] = 1 / (2 ln 2), which no number of bits is equal to."""
    digits = 400
    with localcontext(Context(prec=digits)):
        first = int(Decimal(2) ** 512 / (2 * Decimal(2).ln()))
    for last, expected in ((first - 1, 1), (first + 1, 2)):
        read = iter([last >> 256, last & (2**256 - 1)])
        monkeypatch.setattr(randomness.secrets, "randbelow", lambda below, read=read: next(read))
        assert truncated_negative_binomial(Fraction(0), Fraction(1, 2)) == expected
        assert next(read, None) is None


@pytest.mark.parametrize("gamma", ["1/2", "3/1000", "999999/1000000"])
@pytest.mark.parametrize("shape", ["-99/100", "-1/2", "0", "1/1000000", "2", "41/2"])
def test_bounds_of_the_hidden_number_hold_and_are_close(shape: str, gamma: str) -> None:
    """Against the law in 300 digits."""
    eta, stop = Fraction(shape), Fraction(gamma)
    with localcontext(Context(prec=300)):
        e, g = (Decimal(each.numerator) / Decimal(each.denominator) for each in (eta, stop))
        mass = (1 - g) * (e / ((-e * g.ln()).exp() - 1) if eta else -1 / g.ln())
        total = mass
        for k, bound in enumerate(islice(TruncatedNegativeBinomial(shape=eta, stop_probability=stop).below(256), 60), 1):
            assert bound.low <= total * 2**256 * (1 + Decimal("1e-280"))
            assert bound.high >= total * 2**256 * (1 - Decimal("1e-280"))
            assert bound.high - bound.low <= 2
            mass *= (1 - g) * (k + e) / (k + 1)
            total += mass
