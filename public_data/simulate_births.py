"""Simulate a public surrogate of US singleton births from a file of facts.

Every row is drawn from the tables of ``births_facts.toml``; no row is a person. The facts are public, so the draw is
seeded: the same facts, rows and seed give the same file, byte for byte. This script protects nothing and needs
nothing from the ``synthrelease`` package.

Counts are drawn by systematic sampling, so that each class gets its expected number of rows up to about one. The
surrogate thus follows the facts more closely than an independent sample of the same size would.

Usage: ``python public_data/simulate_births.py --facts public_data/births_facts.toml --rows 160000 --seed 2019
--out public_data/births_surrogate.csv.gz``
"""

import argparse
import gzip
import io
import tomllib
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

FIRST_WEEK, LAST_WEEK = 17, 47
LAST_PARITY = 19
TERM_WEEK = 37

Facts = dict[str, Any]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def shares(weights: ArrayLike) -> Floats:
    """Scale non-negative weights of shape ``(..., n)`` so that the last axis sums to one."""
    array: Floats = np.asarray(weights, dtype=float)
    scaled: Floats = array / array.sum(axis=-1, keepdims=True)
    return scaled


def row_of(starts: ArrayLike, values: Ints) -> Ints:
    """Return for each value the index of the last entry of the ascending ``starts`` that does not exceed it."""
    rows: Ints = np.searchsorted(np.asarray(starts), values, side="right") - 1
    return rows


def systematic_sample(probabilities: Floats, n_rows: int, rng: np.random.Generator) -> Ints:
    """Draw class indices whose counts differ from their expectations by less than one.

    Parameters
    ----------
    probabilities : array of shape (n_classes,)
        Class probabilities, summing to one.
    n_rows : int
        Number of draws.
    rng : Generator
        Source of the one random offset.

    Returns
    -------
    array of shape (n_rows,)
        Class indices in ascending order. A run of adjacent classes keeps its count as closely as a single class does.
    """
    points = (np.arange(n_rows) + rng.random()) / n_rows
    cumulated = np.cumsum(probabilities)
    return np.searchsorted(cumulated / cumulated[-1], points, side="right")


def stratified_scores(strata: Ints, rng: np.random.Generator) -> Floats:
    """Draw standard normal scores that are evenly spread, in random order, within each stratum of rows.

    Parameters
    ----------
    strata : array of shape (n_rows,)
        Stratum of each row.
    rng : Generator
        Source of the offset and the order in each stratum.

    Returns
    -------
    array of shape (n_rows,)
        Scores; each is standard normal, and those of a stratum follow the normal distribution almost exactly.
    """
    scores = np.empty(len(strata))
    quantile = NormalDist().inv_cdf
    for stratum in np.unique(strata):
        rows = np.flatnonzero(strata == stratum)
        # The open interval (0, 1): the offset may be 0, where the normal quantile is infinite.
        orders = (np.arange(len(rows)) + rng.uniform(0.01, 0.99)) / len(rows)
        scores[rng.permutation(rows)] = [quantile(order) for order in orders]
    return scores


def cell_probabilities(facts: Facts) -> Floats:
    """Compute the joint distribution of mother's age, parity and gestation week from the parsed facts.

    Returns
    -------
    array of shape (n_ages, LAST_PARITY, LAST_WEEK - FIRST_WEEK + 1)
        Probabilities, summing to one; parity starts at 1 and week at ``FIRST_WEEK``.
    """
    age = shares(facts["mother_age"]["per_100000"])
    ages = facts["mother_age"]["first_year"] + np.arange(len(age))

    table = np.asarray(facts["parity"]["per_10000_by_age"], dtype=float)
    band_start, by_band = table[:, 0], shares(table[:, 1:])
    tail = shares(facts["parity"]["per_100_of_13_or_more"])
    by_band = np.hstack([by_band[:, :-1], by_band[:, -1:] * tail])
    parity = by_band[row_of(band_start, ages)]

    week_facts = facts["gestation_week"]
    grouped = shares(week_facts["per_10000_by_age_and_parity"])
    early = shares(week_facts["per_1000_of_weeks_17_to_28"])
    late = shares(week_facts["per_1000_of_weeks_42_to_47"])
    weeks = np.concatenate([grouped[..., :1] * early, grouped[..., 1:-1], grouped[..., -1:] * late], axis=-1)
    age_band = row_of(facts["groups"]["mother_age"], ages)
    parity_band = row_of(facts["groups"]["parity"], np.arange(1, LAST_PARITY + 1))
    joint: Floats = age[:, None, None] * parity[:, :, None] * weeks[age_band][:, parity_band]
    return joint


def draw_weights(births: pd.DataFrame, month: Ints, facts: Facts, rng: np.random.Generator) -> Ints:
    """Draw birth weights, in whole grams, of shape ``(n_rows,)``, given all other columns and the month, 1 to 12."""
    weight, groups = facts["birth_weight"], facts["groups"]
    week = births["gestation_week"].to_numpy()
    age_band = row_of(groups["mother_age"], births["mother_age"].to_numpy())
    parity_band = row_of(groups["parity"], births["parity"].to_numpy())

    scores = stratified_scores(week, rng)
    spread = np.asarray(weight["spread_by_age"])[age_band] * np.asarray(weight["spread_by_parity"])[parity_band]
    scores = np.where(week >= TERM_WEEK, scores * spread, scores)

    curves = np.asarray(weight["grams_by_week"], dtype=float)
    curve_of_row = row_of(curves[:, 0], week)
    grams = np.empty(len(births))
    for index, curve in enumerate(curves[:, 1:]):
        rows = curve_of_row == index
        grams[rows] = np.interp(scores[rows], weight["scores"], curve)

    by_sex = np.column_stack([weight["boys"], weight["girls"]])
    grams *= by_sex[row_of(weight["sex_from_week"], week), births["is_female"].to_numpy().astype(int)]
    stage = row_of(weight["from_week"], week)
    by_group = np.asarray(weight["by_age_and_parity"])[np.maximum(stage, 0), age_band, parity_band]
    grams *= np.where(stage >= 0, by_group, 1.0)
    grams *= np.asarray(weight["by_month"])[month - 1]

    unit = rng.choice(weight["rounding_grams"], size=len(births), p=shares(weight["rounding_per_100"]))
    rounded: Ints = np.rint(np.rint(grams / unit) * unit).astype(np.int64)
    return rounded


def simulate(facts: Facts, n_rows: int, seed: int) -> pd.DataFrame:
    """Draw a table of ``n_rows >= 1`` births from the parsed facts.

    Returns
    -------
    DataFrame of n_rows rows
        Columns mother_age, parity, gestation_week, is_female, birth_weight, date_of_birth (the 15th of the month).
    """
    if n_rows < 1:
        raise ValueError(f"--rows: expected at least 1, found {n_rows}")
    rng = np.random.default_rng(seed)
    joint = cell_probabilities(facts)
    cells = systematic_sample(joint.ravel(), n_rows, rng)
    age, parity, week = np.unravel_index(rng.permutation(cells), joint.shape)
    age, parity, week = age + facts["mother_age"]["first_year"], parity + 1, week + FIRST_WEEK
    births = pd.DataFrame({"mother_age": age, "parity": parity, "gestation_week": week})
    girls = np.asarray(facts["sex"]["girls_per_1000"]) / 1000
    births["is_female"] = rng.random(n_rows) < girls[row_of(facts["sex"]["from_week"], week)]
    month = 1 + rng.permutation(systematic_sample(shares(facts["month"]["per_10000"]), n_rows, rng))
    births["birth_weight"] = draw_weights(births, month, facts, rng)
    births["date_of_birth"] = [f"2019-{m:02d}-15" for m in month]
    return births


def write_gzip_csv(births: pd.DataFrame, path: Path) -> None:
    """Write the table as gzip-compressed CSV; the header holds no name or time, so equal tables give equal bytes."""
    buffer = io.StringIO()
    births.to_csv(buffer, index=False, lineterminator="\n")
    path.write_bytes(gzip.compress(buffer.getvalue().encode("ascii"), compresslevel=9, mtime=0))


def main() -> None:
    """Read the arguments, simulate and write."""
    parser = argparse.ArgumentParser(description="Simulate US singleton births from a file of facts.")
    parser.add_argument("--facts", type=Path, required=True, help="TOML file of facts")
    parser.add_argument("--rows", type=int, default=160_000, help="number of births")
    parser.add_argument("--seed", type=int, default=2019, help="seed of the draw")
    parser.add_argument("--out", type=Path, required=True, help="gzip-compressed CSV file to write")
    arguments = parser.parse_args()
    facts = tomllib.loads(arguments.facts.read_text(encoding="utf-8"))
    write_gzip_csv(simulate(facts, arguments.rows, arguments.seed), arguments.out)


if __name__ == "__main__":
    main()
