"""Data-augmented imputation: exact laws by enumeration, masks, rules, and what its noisy copy tells."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import integrate, stats

from synthrelease.data.counts import Counts
from synthrelease.data.plausibility import Mask as Forbidden
from synthrelease.data.plausibility import Plausibility
from synthrelease.studio.baselines.base import PRIOR, MatrixMask, OrderedMask
from synthrelease.studio.baselines.data_augmented import DataAugmented
from tests.helpers.small import layout_of

TABLE = Counts.of(layout_of(2, 2), [np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])], np.array([27, 13, 8, 24]))
"""x by z; each z has at least 20 records."""

KEEP_80 = MatrixMask(np.array([[0.8, 0.3], [0.2, 0.7]]))


def exact_law(pi: np.ndarray, z: int, true: int) -> float:
    """Pr(X~ = 1 | X = true, z), over W and the Beta posterior of the share of 1 among the records with this z."""
    no, yes = TABLE.marginal([0, 1])[:, z]
    posterior = stats.beta(yes + PRIOR, no + PRIOR)
    total = 0.0
    for v in range(2):

        def drawn(share: float, v: int = v) -> float:
            weights = ((1 - share) * pi[v, 0], share * pi[v, 1])
            return weights[1] / sum(weights) * posterior.pdf(share)

        total += pi[v, true] * integrate.quad(drawn, 0, 1)[0]
    return total


def drawn_shares(mask: MatrixMask, runs: int, seed: int = 5) -> np.ndarray:
    """(2, 2) share of X~ = 1 by true x and z."""
    method = DataAugmented(table=TABLE, predictors={0: (1,)}, masks=[{0: mask}])
    random, totals = np.random.default_rng(seed), np.zeros((2, 2))
    truth = TABLE.expand()
    for _ in range(runs):
        masked = method.masked(random)
        copy = method.rows(masked, random)[0]
        for x, z in product(range(2), range(2)):
            rows = (truth[:, 0] == x) & (truth[:, 1] == z)
            totals[x, z] += copy[rows].mean()
    return totals / runs


def test_the_law_of_a_drawn_value_is_the_exact_one() -> None:
    runs, found = 400, drawn_shares(KEEP_80, 400)
    for x, z in product(range(2), range(2)):
        rows = int(TABLE.marginal([0, 1])[x, z])
        error = math.sqrt(0.25 / (rows * runs)) + 0.25 / math.sqrt(runs) / 3  # of the rows, and of theta, which they share
        assert found[x, z] == pytest.approx(exact_law(KEEP_80.pi, z, x), abs=4 * error)
    permuted = exact_law(KEEP_80.pi, 1, 0)  # a known fault, Z permuted: the law would be that of the other records
    assert abs(found[0, 0] - permuted) > 0.2


def test_an_exact_mask_gives_the_original_back_and_one_that_tells_nothing_rubins_imputation() -> None:
    random = np.random.default_rng(1)
    exact = DataAugmented(table=TABLE, predictors={0: (1,)}, masks=[{0: MatrixMask(np.eye(2))}])
    assert exact.copy(exact.masked(random), random).same_as(TABLE)
    constant = np.full((2, 2), 0.5)
    by_z = [(yes + PRIOR) / (no + yes + 2 * PRIOR) for no, yes in TABLE.marginal([0, 1]).T]
    for x, z in product(range(2), range(2)):
        assert exact_law(constant, z, x) == pytest.approx(by_z[z])  # the true value does not count
    found = drawn_shares(MatrixMask(constant), 200)
    assert np.abs(found - np.array([by_z, by_z])).max() < 0.05


def test_columns_that_are_drawn_together_keep_what_ties_them() -> None:
    """x1 = x2 always, z says nothing: with masks of 0.7 the copies have to agree, too."""
    random = np.random.default_rng(2)
    x = random.integers(0, 2, 2000)
    table = Counts.of(layout_of(2, 2, 2), [x, x, random.integers(0, 2, 2000)])
    mask = MatrixMask.keeping(2, 0.7)
    method = DataAugmented(table=table, predictors={0: (1, 2), 1: (0, 2)}, masks=[{0: mask, 1: mask}])
    copy = method.copy(method.masked(random), random).marginal([0, 1])
    assert np.trace(copy) > 0.95 * copy.sum()
    assert copy[1, 1] == pytest.approx((x == 1).sum(), abs=4 * math.sqrt(2000))


def test_rules_are_kept_and_groups_of_risk_have_their_own_mask() -> None:
    random = np.random.default_rng(3)
    bins = [random.integers(0, 3, 900), random.integers(0, 3, 900)]
    kept = bins[0] + bins[1] < 4
    table = Counts.of(layout_of(3, 3), [column[kept] for column in bins])
    forbidden = np.zeros((3, 3), dtype=bool)
    forbidden[2, 2] = True
    rules = Plausibility(layout=table.layout, masks=(Forbidden(columns=(0, 1), forbidden=forbidden),))
    risk = (table.bins[0] == 2).astype(np.int64)
    masks = [{0: MatrixMask.keeping(3, 1.0)}, {0: MatrixMask.keeping(3, 1 / 3)}]
    method = DataAugmented(table=table, predictors={0: (1,)}, masks=masks, risk=risk, plausibility=rules)
    copy = method.rows(method.masked(random), random)
    assert not (forbidden[copy[0], copy[1]]).any()
    truth = table.expand()
    safe = truth[:, 0] != 2
    assert (copy[0][safe] == truth[safe, 0]).all()
    assert (copy[0][~safe] != 2).mean() > 0.3


# --- masks ---


def test_the_local_epsilon_is_the_worst_ratio_over_masked_and_drawn_values() -> None:
    """By enumeration over W and X~: what X~ tells of X, for any model, is at most what W tells."""
    pi = np.array([[0.6, 0.1, 0.2], [0.3, 0.8, 0.3], [0.1, 0.1, 0.5]])
    bound = MatrixMask(pi).local_epsilon()
    assert bound == pytest.approx(math.log(6))
    random = np.random.default_rng(0)
    worst = 0.0
    for _ in range(200):
        share = random.dirichlet([0.5, 0.5, 0.5])
        weights = share * pi  # (v, x~)
        drawn = pi.T @ (weights / weights.sum(axis=1, keepdims=True))  # (x, x~)
        worst = max(worst, float(np.abs(np.log(drawn[:, None] / drawn[None])).max()))
    assert 0.5 * bound < worst <= bound + 1e-12
    pairs = np.einsum("ax,bx->abx", pi, pi).reshape(9, 3)  # two fresh masks
    assert np.log(pairs.max(axis=1) / pairs.min(axis=1)).max() == pytest.approx(MatrixMask(pi).local_epsilon(2))


@pytest.mark.parametrize("pi", [np.array([[0.8, 0.2], [0.3, 0.7]]), np.array([[1.2, 0.0], [-0.2, 1.0]]), np.ones((1, 2))])
def test_a_matrix_whose_columns_are_no_laws_is_refused(pi: np.ndarray) -> None:
    with pytest.raises(ValueError, match="the probabilities in each column|must be square"):
        MatrixMask(pi)


def test_what_an_ordered_mask_tells_is_what_bayes_says() -> None:
    """W is cut into small pieces; the likelihood of each bin against how often it is drawn. The last bin is a gap."""
    mask, random = OrderedMask(present=3, missing=True, sd=0.7, kept=0.8), np.random.default_rng(8)
    bins = np.repeat(np.arange(4), 50_000)
    copy = mask.draw(bins, random)
    told = np.isnan(copy)
    assert [told[bins == b].mean() for b in range(4)] == pytest.approx([0.2, 0.2, 0.2, 0.8], abs=0.01)
    for low in (-1.0, 0.2, 1.1, 2.2):
        inside = (copy >= low) & (copy < low + 0.1)
        seen = np.bincount(bins[inside], minlength=4) / inside.sum()
        said = mask.likelihood(np.array([low + 0.05]))[0]
        assert said / said.sum() == pytest.approx(seen, abs=0.05)
    gap = mask.likelihood(np.array([math.nan]))[0]
    assert gap / gap.sum() == pytest.approx([1 / 7, 1 / 7, 1 / 7, 4 / 7])
