"""The private half of a scout: it measures single columns, frequent texts and one measure of dependence with noise.

In: private counts of all rows on the finest bins, and private counts of strings. Out: noisy whole numbers. Private: each
function has the guarantee of its charge, mu-Gaussian with mu^2 = 2 rho, or epsilon-DP, except for texts that only one row has
(theory 9.20, values without a public list). Neighbours differ in one replaced record, which moves two counts of a table by 1
each; this is the sensitivity. The number of rows is public.
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
"""The dependence is computed from at most this number of rows, drawn at random from a larger file."""


def with_noise(
    values: np.ndarray, charge: Charge, *, parts: int = 1, squared: int, moved: int, entropy: SystemEntropy
) -> np.ndarray:
    """Add noise to whole numbers. The noise spends one of `parts` equal parts of a charge (a privacy cost).

    Parameters
    ----------
    parts : number of equal parts into which the charge is divided.
    squared, moved : the largest squared l2 distance and the largest l1 distance between the numbers of two neighbours.

    Privacy
    -------
    Rounded Gaussian noise for a part of rho (theory 9.13, rounded Gaussian noise), or discrete Laplace noise for a part of
    epsilon. Parts that are spent one after another add up to the charge (theory 9.16, a Gaussian budget that answers share out;
    theory 1.1, sequential composition).
    """
    if charge.gaussian:
        return rounded_gaussian(values, squared_sensitivity=squared, rho=charge.curve().rho / parts, entropy=entropy)
    return discrete_laplace(values, sensitivity=moved, epsilon=charge.epsilon / parts, entropy=entropy)


def noisy_tables(
    counts: Counts, groups: Mapping[int, np.ndarray], charge: Charge, entropy: SystemEntropy = SYSTEM
) -> dict[int, np.ndarray]:
    """Return a noisy table of counts for each column in `groups`.

    Parameters
    ----------
    groups : for each column, by its index, an (n_finest_bins,) array with the cell of the table for each finest bin.
    charge : privacy cost of all tables together.

    Privacy
    -------
    The guarantee of `charge`. A replaced record changes two cells of a table by 1, or no cell. So the squared l2 distance and
    the l1 distance of each table are at most 2. Each table costs an equal share of the charge.
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
    """Return, for each column, the strings with noisy counts of at least the threshold, in descending order of the count.

    The count of the empty string "", for missing values, is always returned.

    Parameters
    ----------
    threshold : smallest published count, from `privacy.cap.text_threshold` for the rho of one column.
    charge : the Gaussian privacy cost of all columns together.

    Privacy
    -------
    The Gaussian guarantee of `charge`, except for texts that only one row has. Among texts that both neighbours have, at most
    two counts of a column change by 1, which is a squared distance of at most 2 (theory 9.20, values without a public list).
    The order in which strings occur in the file has no influence. Strings are sorted before noise is added, and by noisy
    count afterwards.
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
    """Measure with noise how dependent the columns are: the mean total variation distance of pairs from independence.

    Return it as a whole number of small steps, and the number of steps that equal a distance of 1.

    Parameters
    ----------
    groups : for each column, the (n_finest_bins,) wider bins, on which the joint tables are computed.

    Privacy
    -------
    The guarantee of `charge`. With m rows, the distance of a pair is the sum of |m c_ab - c_a c_b| over 2 m^2. A replaced
    record moves the joint table by at most 1/m in total variation, and each margin by at most 1/m. So the product of the
    margins moves by at most 2/m, and the distance of each pair, and their mean, by at most 3/m. In steps of 1 / (2 m^2 P),
    with P pairs, the sum is a whole number with sensitivity exactly 6 m P. If the file is larger, a uniform subset of rows is
    drawn, in which at most one record is replaced (theory 1.7, resizing).
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
