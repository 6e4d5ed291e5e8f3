"""The private half of a scout: noisy tables of single columns, texts above a threshold, and one figure of dependence.

In: counts of all rows on the finest bins, and counts of texts, private. Out: noisy whole numbers.
Private: each function has the guarantee of its charge, mu-Gaussian with mu^2 = 2 rho, or epsilon-DP; texts of one row apart
(theory 9.20, texts that no list names). Neighbours replace one record, which moves two counts of a table by 1; the number of
rows is public.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.enclave.door import uniform_subset
from synthrelease.privacy.charges import Charge
from synthrelease.privacy.noise import SYSTEM, SystemEntropy, discrete_laplace, rounded_gaussian

MOST_ROWS = 50_000
"""Rows of which the dependence is computed; of a larger file they are drawn at random."""


def with_noise(
    values: np.ndarray, charge: Charge, *, parts: int = 1, squared: int, moved: int, entropy: SystemEntropy
) -> np.ndarray:
    """Return whole numbers with the noise of one of equal parts of a charge.

    Parameters
    ----------
    squared, moved : the largest squared l2 distance and the largest l1 distance between the numbers of two neighbours.

    Privacy
    -------
    Gaussian of a share of rho (theory 9.13, rounded Gaussian noise), or discrete Laplace of a share of epsilon: parts of one
    charge that are spent one after another add up to it (theory 9.16, a Gaussian budget that answers share out; theory 1.1,
    sequential composition).
    """
    if charge.gaussian:
        return rounded_gaussian(values, squared_sensitivity=squared, rho=charge.curve().rho / parts, entropy=entropy)
    return discrete_laplace(values, sensitivity=moved, epsilon=charge.epsilon / parts, entropy=entropy)


def noisy_tables(
    counts: Counts, groups: Mapping[int, np.ndarray], charge: Charge, entropy: SystemEntropy = SYSTEM
) -> dict[int, np.ndarray]:
    """Return a noisy table of each of these columns.

    Parameters
    ----------
    groups : of a column, (n_atoms,) into which cell of its table each of its finest bins falls.
    charge : of all tables together.

    Privacy
    -------
    As `charge` says: a replaced record moves two cells of a table by 1, or none, so that both the squared l2 distance and the
    l1 distance of each table are at most 2, and each has an equal share.
    """
    return {
        column: with_noise(
            np.bincount(into, weights=counts.marginal([column]), minlength=int(into.max()) + 1).astype(np.int64),
            charge,
            parts=len(groups),
            squared=2,
            moved=2,
            entropy=entropy,
        )
        for column, into in groups.items()
    }


def frequent_texts(
    columns: Mapping[str, Counter[str]], threshold: int, charge: Charge, entropy: SystemEntropy = SYSTEM
) -> dict[str, dict[str, int]]:
    """Return the texts of each column whose noisy count reaches the threshold, the largest first; gaps, "", in any case.

    Parameters
    ----------
    threshold : from `privacy.cap.text_threshold` for the rho of one column.
    charge : of all columns together, a Gaussian one.

    Privacy
    -------
    Gaussian as `charge` says, but for texts of one row: of texts that both neighbours have two counts of a column move by 1 at
    most, a squared distance of 2 (theory 9.20, texts that no list names). Gaps have a count in any case. Nothing depends on
    the order in which texts were met: they are sorted before the noise, and by noisy count behind it.
    """
    published = dict[str, dict[str, int]]()
    for name, counted in columns.items():
        texts = sorted({"", *counted})
        exact = np.array([counted[text] for text in texts], dtype=np.int64)
        noisy = with_noise(exact, charge, parts=len(columns), squared=2, moved=2, entropy=entropy).tolist()
        shown = {text: count for text, count in zip(texts, noisy, strict=True) if count >= threshold or not text}
        published[name] = dict(sorted(shown.items(), key=lambda item: (-item[1], item[0])))
    return published


def dependence(
    counts: Counts, groups: Sequence[np.ndarray], charge: Charge, entropy: SystemEntropy = SYSTEM
) -> tuple[int, int]:
    """Return the noisy dependence in steps, and how many steps are 1: the mean over pairs of columns of the total variation
    distance between their table and the product of its margins.

    Parameters
    ----------
    groups : of each column, (n_atoms,) the bins on which it is computed.

    Privacy
    -------
    As `charge` says. Of m rows a pair's distance is the sum of |m c_ab - c_a c_b| over 2 m^2. A replaced record moves the
    table by at most 1/m in total variation and each margin by 1/m, so the product by 2/m: 3/m in all, for every pair, and the
    mean by no more. In steps of 1 / (2 m^2 P), P pairs, the sum is a whole number of sensitivity 6 m P, exact. Rows of a larger
    file are a uniform subset, in which a replaced record is one (theory 1.7, resizing).
    """
    table = uniform_subset(counts, MOST_ROWS, entropy) if counts.total > MOST_ROWS else counts
    rows, weights = table.total, table.counts
    bins = [into[table.digits(column)] for column, into in enumerate(groups)]
    sizes = [int(into.max()) + 1 for into in groups]
    pairs, total = list(combinations(range(len(groups)), 2)), 0
    margins = [
        np.bincount(column, weights=weights, minlength=size).astype(np.int64) for column, size in zip(bins, sizes, strict=True)
    ]
    for left, right in pairs:
        codes = bins[left] * sizes[right] + bins[right]
        joint = np.bincount(codes, weights=weights, minlength=sizes[left] * sizes[right]).astype(np.int64)
        product = np.outer(margins[left], margins[right]).ravel()
        total += int(np.abs(rows * joint - product).sum())
    steps = 2 * rows**2 * len(pairs)
    moved = 6 * rows * len(pairs)
    noisy = with_noise(np.array([total]), charge, squared=moved**2, moved=moved, entropy=entropy)
    return int(noisy[0]), steps
