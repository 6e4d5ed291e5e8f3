"""Three made-up registers that are hard to draft: classifications, keys, gaps, marks of other programs, columns said twice.

    python -m tests.benchmarks.messy_registers FOLDER [--rows 120000]

writes `discharges.csv` (hospital discharges in a file with semicolons, decimal commas and German dates: 10,000 diagnoses, 290
municipalities beside their counties, a record number, a 999 for no answer), `prescriptions.csv` (of patients that stand in
several rows: ATC codes, pharmacies, amounts) and `conditions.csv` (30 of 44 columns say whether a person has a rare condition:
0.1% to 3% have each, and who has one often has others of its kind). `python -m tests.benchmarks.registers` then makes a release
of each.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

_SEED = 20261122


def codes_of(letters: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Diagnoses: a letter, two digits of which few are frequent, and mostly one more digit after a point."""
    n = len(letters)
    blocks = np.char.add(letters.astype(str), np.char.zfill((random.zipf(1.5, n) % 90).astype(str), 2))
    detailed = np.char.add(np.char.add(blocks, "."), random.integers(0, 10, n).astype(str))
    return np.where(random.random(n) < 0.7, detailed, blocks)


def with_comma(numbers: np.ndarray) -> np.ndarray:
    return np.char.replace(numbers.astype(str), ".", ",")


def discharges(n: int, random: np.random.Generator) -> pd.DataFrame:
    age = np.clip(random.gamma(6, 9, n).astype(int), 0, 104)
    municipality = np.char.zfill((random.zipf(1.3, n) % 290 * 37 % 2580 + 180).astype(str), 4)
    admitted = pd.Timestamp("2019-01-01") + pd.to_timedelta(random.integers(0, 1826, n), unit="D")
    stay = np.clip(np.exp(random.normal(1 + age / 120, 0.9, n)).astype(int), 0, 365)
    diagnosis = codes_of(random.choice(list("ABCDEFGHIJKLMNOPQRSTZ"), n), random)
    working = (age >= 16) & (age <= 70)
    table = {
        "record": np.arange(1, n + 1) + 10**7,
        "sex": random.choice(["M", "F", "X"], n, p=[0.47, 0.525, 0.005]),
        "age": age,
        "municipality": municipality,
        "county": [code[:2] for code in municipality],
        "admitted": admitted.strftime("%d.%m.%Y"),
        "discharged": (admitted + pd.to_timedelta(stay, unit="D")).strftime("%d.%m.%Y"),
        "days": stay,
        "diagnosis": diagnosis,
        "second_diagnosis": np.where(random.random(n) < 0.55, "", np.roll(diagnosis, 17)),
        "urgency": np.where(random.random(n) < 0.3 + 0.004 * age, "acute", "planned"),
        "died": (random.random(n) < 1 / (1 + np.exp(8 - 0.06 * age))).astype(int),
        "bmi": np.where(random.random(n) < 0.22, "", with_comma(np.round(random.normal(26, 4.5, n), 1))),
        "systolic": np.where(random.random(n) < 0.1, 999, np.round(random.normal(115 + 0.35 * age, 15, n)).astype(int)),
        "cost": with_comma(np.round(np.exp(random.normal(8 + stay / 60, 0.7, n)), 2)),
        "civil": np.where(age < 18, "single", random.choice(["single", "married", "divorced", "widowed", "unknown"], n)),
        "occupation": np.where(working, np.char.zfill((random.zipf(1.4, n) % 430 + 1).astype(str), 4), ""),
        "hospital": random.choice([f"S{number:03d}" for number in range(64)], n),
        "year": admitted.year,
        "country": "XX",
    }
    return pd.DataFrame(table | {f"procedure_{k}": random.random(n) < 0.05 * (9 - k) for k in range(1, 9)})


def prescriptions(n: int, random: np.random.Generator) -> pd.DataFrame:
    persons = n // 5
    who = random.integers(0, persons, n)
    born, doses = random.integers(1925, 2015, persons), np.round(random.lognormal(3, 0.8, n), 1)
    price = np.round(doses * random.lognormal(0.5, 0.9, n), 2)
    groups, kinds = random.choice(list("ABCDGHJLMNPRSV"), n), random.choice(list("ABCDX"), n)
    numbers = [random.zipf(1.6, n) % 16 + 1, random.zipf(1.6, n) % 20 + 1]
    days = pd.Timestamp("2022-01-01") + pd.to_timedelta(random.integers(0, 365, n), unit="D")
    return pd.DataFrame(
        {
            "patient_id": random.integers(10**7, 10**8, persons)[who],
            "birth_year": born[who],
            "sex": random.choice([1, 2], persons)[who],
            "ATC": [f"{a}{b:02d}{c}A{d:02d}" for a, b, c, d in zip(groups, numbers[0], kinds, numbers[1], strict=True)],
            "dispensed": days.strftime("%Y%m%d"),
            "doses": doses,
            "price": price,
            "paid": np.where(random.random(n) < 0.3, 0, np.round(0.1 * price, 2)),
            "prescriber": random.integers(100_000, 104_000, n),
            "pharmacy_zip": [f"{code:05d}" for code in random.choice(random.integers(1000, 99_999, 900), n)],
            "region": random.choice(["North", "South", "East", "West"], n),
            "generic": random.choice(["Y", "N"], n, p=[0.7, 0.3]),
            "repeats": random.poisson(0.8, n),
            "insured": np.where(random.random(n) < 0.95, "public", random.choice(["private", "none", ""], n)),
            "age": 2022 - born[who],
        }
    )


def conditions(n: int, random: np.random.Generator) -> pd.DataFrame:
    age = np.clip(random.normal(48, 21, n).astype(int), 0, 99)
    frail, region = random.normal((age - 48) / 40, 1, n), random.choice(8, n, p=np.arange(8, 0, -1) / 36)
    kinds = random.normal(0.5 * frail[:, None], 1, (n, 6))
    education = np.clip(random.normal(2.5 - age / 60, 1.1, n).round().astype(int), 0, 4)
    income = np.exp(random.normal(7.3 + 0.2 * education - 0.1 * frail, 0.5)).round(-1).astype(int)
    working = (age >= 16) & (age < 67) & (random.normal(0.6 + 0.2 * education - 0.4 * frail) > 0)
    visits = random.poisson(np.exp(0.4 + 0.35 * frail))
    table = {
        "sex": random.choice(["F", "M"], n),
        "age": age,
        "region": region + 1,
        "urban": (random.random(n) < 0.3 + 0.08 * region).astype(int),
        "education": education,
        "income": income,
        "working": working.astype(int),
        "civil": np.where(age < 20, "single", random.choice(["single", "married", "divorced", "widowed"], n)),
        "household": np.clip(random.poisson(1.5 + (age < 20), n) + 1, 1, 8),
        "smoker": random.choice(["never", "once", "now"], n, p=[0.5, 0.3, 0.2]),
        "visits": visits,
        "nights": np.where(random.random(n) < 0.02 * visits, random.geometric(0.2, n), 0),
        "insured": random.choice(["public", "private", "both"], n, p=[0.8, 0.15, 0.05]),
        "year": random.integers(2018, 2023, n),
    }
    for number in range(30):
        share = 0.001 * 30 ** (random.random())
        score = 1.3 * kinds[:, number % 6] + random.normal(0, 1, n)
        table[f"condition_{number + 1:02d}"] = (score > np.quantile(score, 1 - share)).astype(int)
    return pd.DataFrame(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=120_000)
    chosen = parser.parse_args()
    random = np.random.default_rng(_SEED)
    chosen.folder.mkdir(parents=True, exist_ok=True)
    discharges(chosen.rows, random).to_csv(chosen.folder / "discharges.csv", sep=";", index=False)
    prescriptions(chosen.rows, random).to_csv(chosen.folder / "prescriptions.csv", index=False)
    conditions(chosen.rows, np.random.default_rng(_SEED + 1)).to_csv(chosen.folder / "conditions.csv", index=False)


if __name__ == "__main__":
    main()
