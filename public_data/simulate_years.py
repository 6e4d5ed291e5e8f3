"""Simulate a register of births over five years: a slow trend in mothers' age, and a rupture in 2020.

Every year is drawn by ``simulate_births.py`` from the facts of ``births_facts.toml``, changed as ``births_years.toml`` says.
No row is a person. The same facts, rows, seed and year give the same file, byte for byte. Nothing is downloaded, and nothing of
the ``synthrelease`` package is needed.

Usage: ``python public_data/simulate_years.py --rows 160000 --seed 7 --out folder``, which writes ``births-2019.csv.gz`` to
``births-2023.csv.gz``.
"""

import argparse
import copy
import runpy
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

HERE = Path(__file__).parent
BIRTHS = runpy.run_path(str(HERE / "simulate_births.py"))
PRETERM_COLUMNS = 9
"""Of the grouped weeks of gestation: under 29, and 29 to 36."""

Facts = dict[str, Any]


def read_facts() -> tuple[Facts, Facts]:
    """The facts of the first year, and how they change."""
    births, years = (HERE / name for name in ("births_facts.toml", "births_years.toml"))
    return tomllib.loads(births.read_text(encoding="utf-8")), tomllib.loads(years.read_text(encoding="utf-8"))


def facts_of(facts: Facts, changes: Facts, year: int) -> Facts:
    """The facts of a year: ages tilted until their mean has moved, preterm weeks multiplied."""
    found, place = copy.deepcopy(facts), year - changes["first"]
    age = np.asarray(facts["mother_age"]["per_100000"], dtype=float)
    ages = np.arange(len(age)) - np.average(np.arange(len(age)), weights=age)
    tilt = changes["age_hundredths"][place] / 100 / np.average(ages**2, weights=age)
    found["mother_age"]["per_100000"] = age * np.exp(tilt * ages)
    weeks = BIRTHS["shares"](facts["gestation_week"]["per_10000_by_age_and_parity"])
    factor = changes["preterm_per_1000"][place] / 1000
    preterm = weeks[..., :PRETERM_COLUMNS].sum(axis=-1, keepdims=True)
    weeks[..., PRETERM_COLUMNS:] *= (1 - factor * preterm) / (1 - preterm)
    weeks[..., :PRETERM_COLUMNS] *= factor
    found["gestation_week"]["per_10000_by_age_and_parity"] = weeks
    return found


def simulate(facts: Facts, changes: Facts, year: int, n_rows: int, seed: int) -> pd.DataFrame:
    """The births of a year; ``n_rows`` are those of the first one."""
    place = year - changes["first"]
    rows = n_rows * changes["births_per_1000"][place] // 1000
    births: pd.DataFrame = BIRTHS["simulate"](facts_of(facts, changes, year), rows, [seed, year])
    births["date_of_birth"] = births["date_of_birth"].str.replace("2019", str(year), n=1)
    return births


def main() -> None:
    """Read the arguments, simulate and write."""
    parser = argparse.ArgumentParser(description="Simulate births over five years from files of facts.")
    parser.add_argument("--rows", type=int, default=160_000, help="number of births of the first year")
    parser.add_argument("--seed", type=int, default=7, help="seed of the draws")
    parser.add_argument("--out", type=Path, required=True, help="folder to write into")
    arguments = parser.parse_args()
    facts, changes = read_facts()
    for place in range(len(changes["births_per_1000"])):
        year = changes["first"] + place
        births = simulate(facts, changes, year, arguments.rows, arguments.seed)
        BIRTHS["write_gzip_csv"](births, arguments.out / f"births-{year}.csv.gz")


if __name__ == "__main__":
    main()
