"""Ten made-up registers of ten shapes on which no part of `init` was tried while it was written.

    python -m tests.benchmarks.unused_registers FOLDER [--rows 30000]

writes ten CSV files and `list.toml`, which `python -m tests.benchmarks.registers FOLDER/list.toml --short` drafts, releases
and compares, one half of the rows against the other. The seeds are fixed, and nothing is taken from a network.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

_SEED = 20261127
AGREEMENT = ("strongly disagree", "disagree", "neither", "agree", "strongly agree")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
Table = dict[str, Any]


def levels(score: np.ndarray, labels: tuple[str, ...] | range) -> np.ndarray:
    """Cut a score into as many levels of about the same size."""
    edges = np.quantile(score, np.arange(1, len(labels)) / len(labels))
    return np.array(labels)[np.searchsorted(edges, score)]


def persons(n: int, random: np.random.Generator) -> tuple[Table, np.ndarray]:
    """Sex, age and education of persons, and a hidden status that ties what else is known of them."""
    age = np.clip(random.gamma(5, 9, n).astype(int), 16, 95)
    status = random.normal(0, 1, n) - 0.01 * (age - 45)
    schooling = levels(status + random.normal(0, 0.7, n), ("primary", "secondary", "vocational", "tertiary"))
    return {"sex": random.choice(["female", "male"], n), "age": age, "education": schooling}, status


def panel(n: int, random: np.random.Generator) -> Table:
    """Four yearly waves of each person, without a column that is a date."""
    n_persons = n // 4
    of, wave = np.repeat(np.arange(n_persons), 4), np.tile(np.arange(1, 5), n_persons)
    table, status = persons(n_persons, random)
    income = np.exp(7 + 0.5 * status[of] + 0.05 * wave + random.normal(0, 0.3, len(of)))
    return {
        "pid": of + 100_000,
        "wave": wave,
        **{name: column[of] for name, column in table.items()},
        "income": income.round(-1).astype(int),
        "health": levels(status[of] + random.normal(0, 1, len(of)), range(1, 6)),
        "employed": np.where(status[of] + random.normal(0.5, 1, len(of)) > 0, "yes", "no"),
        "moved": random.choice(["no", "yes"], len(of), p=[0.9, 0.1]),
    }


def clinic(n: int, random: np.random.Generator) -> Table:
    """Visits with dates: one to nine of each patient, a birth date that stays."""
    visits = np.minimum(random.geometric(0.4, n), 9)
    of = np.repeat(np.arange(n), visits)[:n]
    born = pd.Timestamp("1930-01-01") + pd.to_timedelta(random.integers(0, 80 * 365, n)[of], unit="D")
    seen = pd.Timestamp("2018-01-01") + pd.to_timedelta(random.integers(0, 5 * 365, n), unit="D")
    years = np.asarray((seen - born).days) / 365.25
    pressure = random.normal(100 + 0.5 * years, 12)
    return {
        "patient": of + 500_000,
        "born": born.strftime("%Y-%m-%d"),
        "seen": seen.strftime("%Y-%m-%d"),
        "sex": random.choice(["F", "M"], n)[of],
        "systolic": pressure.round().astype(int),
        "treated": np.where(pressure + random.normal(0, 8, n) > 135, "yes", "no"),
        "diagnosis": levels(years + random.normal(0, 20, n), ("A09", "J45", "E11", "I10", "I50", "G30")),
        "smoker": levels(random.normal(0, 1, n)[of] - 0.01 * years, ("never", "former", "current")),
    }


def battery(n: int, random: np.random.Generator) -> Table:
    """Thirty numbered answers of 1 to 7 in three blocks, with codes for no answer."""
    table, status = persons(n, random)
    for block, letter in enumerate("abc"):
        hidden = status * (0.8 - 0.3 * block) + random.normal(0, 0.8, n)
        for number in range(1, 11):
            answer = levels(hidden + random.normal(0, 0.9, n), range(1, 8))
            table[f"{letter}{number:02d}"] = np.where(random.random(n) < 0.02, random.choice([-8, -9], n), answer)
    return table


def trial(n: int, random: np.random.Generator) -> Table:
    """A small file: about 2,000 patients in each half."""
    n = min(n, 4000)
    table, status = persons(n, random)
    arm = random.choice(["placebo", "low", "high"], n)
    before = random.normal(60 - 4 * status, 10)
    after = before - 5 * (arm == "high") - 2 * (arm == "low") + random.normal(0, 6, n)
    return table | {
        "arm": arm,
        "score_before": before.round(1),
        "score_after": after.round(1),
        "adverse": np.where(random.random(n) < 0.05 + 0.1 * (arm == "high"), "yes", "no"),
        "site": random.choice([f"S{number:02d}" for number in range(12)], n),
    }


def satisfaction(n: int, random: np.random.Generator) -> Table:
    """Ordered scales in words, age groups, months and weekdays."""
    table, status = persons(n, random)
    age = table.pop("age")
    groups = ("under 20", "20-29", "30-39", "40-49", "50-59", "60-69", "70+")
    month = random.integers(0, 12, n)
    table["age_group"] = np.array(groups)[np.clip(age // 10 - 1, 0, 6)]
    table["month"], table["day"] = np.array(MONTHS)[month], random.choice(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], n)
    for name, share in {"service": 0.9, "price": 0.5, "again": 0.8, "trust": 0.7}.items():
        noise = random.normal(0, 1, n)
        table[name] = levels(share * status + 0.4 * np.sin(month / 2) + noise, AGREEMENT)
    return table


def stays(n: int, random: np.random.Generator) -> Table:
    """Days of admission and discharge as dd/mm/yyyy; who is still there has 31/12/9999."""
    table, status = persons(n, random)
    admitted = pd.Timestamp("2021-01-01") + pd.to_timedelta(random.integers(0, 730, n), unit="D")
    days = np.clip(np.exp(random.normal(1.2 + 0.015 * table["age"], 0.8)), 0, 300).astype(int)
    discharged = (admitted + pd.to_timedelta(days, unit="D")).strftime("%d/%m/%Y")
    return table | {
        "admitted": admitted.strftime("%d/%m/%Y"),
        "discharged": np.where(random.random(n) < 0.03, "31/12/9999", discharged),
        "ward": levels(days + random.normal(0, 4, n), ("day", "surgery", "medicine", "geriatrics")),
        "urgent": np.where(status + random.normal(0, 1, n) < 0, 1, 0),
        "died": (random.random(n) < 1 / (1 + np.exp(7 - 0.06 * table["age"]))).astype(int),
    }


def pay(n: int, random: np.random.Generator) -> Table:
    """Skewed amounts: wage, capital and benefits, of which the total is the sum."""
    table, status = persons(n, random)
    working = status + random.normal(0.6, 1, n) > 0
    wage = np.where(working, np.exp(random.normal(10 + 0.4 * status, 0.6)), 0).round().astype(int)
    capital = np.where(random.random(n) < 0.3, random.lognormal(7, 1.8, n), 0).round().astype(int)
    benefit = np.where(working, 0, random.normal(9000, 2500, n).clip(0)).round().astype(int)
    return table | {
        "hours": np.where(working, levels(status + random.normal(0, 1, n), range(10, 51, 5)), 0),
        "wage": wage,
        "capital": capital,
        "benefit": benefit,
        "total": wage + capital + benefit,
    }


def codes(n: int, random: np.random.Generator) -> Table:
    """Classifications: industries within sectors, regions within countries, diagnoses of many codes."""
    table, status = persons(n, random)
    country, part = random.integers(0, 5, n), random.zipf(1.5, n) % 8
    sector = levels(status + 0.3 * country + random.normal(0, 0.8, n), tuple("ABCDEF"))
    chapter = levels(table["age"] + random.normal(0, 20, n), tuple("AJEIC"))
    return table | {
        "region": [f"{'DFINS'[place]}{number}" for place, number in zip(country, part, strict=True)],
        "sector": sector,
        "industry": [f"{letter}{number:02d}" for letter, number in zip(sector, random.zipf(1.4, n) % 12, strict=True)],
        "diagnosis": [f"{a}{b:02d}" for a, b in zip(chapter, random.zipf(1.3, n) % 60, strict=True)],
        "occupation": [f"{code:04d}" for code in random.zipf(1.4, n) % 200 + 1],
    }


def sample(n: int, random: np.random.Generator) -> Table:
    """A survey with design weights, strata and clusters."""
    table, status = persons(n, random)
    stratum, cluster = random.integers(1, 9, n), random.integers(1, 400, n)
    weight = (0.4 + stratum / 8) * random.lognormal(0, 0.25, n)
    return {
        "stratum": stratum,
        "psu": cluster + 1000 * stratum,
        "weight": (weight / weight.mean()).round(4),
        **table,
        "income": np.exp(random.normal(8 + 0.4 * status, 0.5)).round(2),
        "urban": np.where(random.random(n) < 0.3 + stratum / 16, "urban", "rural"),
        "voted": np.where(status + random.normal(0.3, 1, n) > 0, "yes", "no"),
    }


def households(n: int, random: np.random.Generator) -> Table:
    """Persons of households in one file: what is known of the household stands in each of its rows."""
    sizes = random.choice([1, 2, 3, 4, 5], n, p=[0.35, 0.32, 0.15, 0.13, 0.05])
    of = np.repeat(np.arange(n), sizes)[:n]
    number = np.arange(n) - np.searchsorted(of, of) + 1
    wealth = random.normal(0, 1, n)[of]
    age = np.where(number <= 2, random.normal(48, 15, n), random.normal(10, 5, n)).clip(0, 95).astype(int)
    return {
        "household": of + 1,
        "person": number,
        "size": sizes[of],
        "tenure": levels(wealth + random.normal(0, 0.4, n)[of], ("rents", "mortgage", "owns")),
        "cars": np.clip((wealth + random.normal(1, 0.5, n)[of]).round(), 0, 3).astype(int),
        "age": age,
        "sex": random.choice([1, 2], n),
        "working": np.where((age > 17) & (age < 67) & (random.random(n) < 0.7), 1, 0),
    }


REGISTERS: Mapping[str, tuple[Callable[[int, np.random.Generator], Table], str, str]] = {
    "panel": (panel, "Simulated panel: four waves of each person, no date", "pid"),
    "clinic": (clinic, "Simulated visits: dates, one to nine rows of a patient", "patient"),
    "battery": (battery, "Simulated survey: 30 answers of 1 to 7 in blocks", "row"),
    "trial": (trial, "Simulated trial: 2,000 patients in each half", "row"),
    "satisfaction": (satisfaction, "Simulated satisfaction: scales in words, months, weekdays", "row"),
    "stays": (stays, "Simulated stays: two dates, 31/12/9999", "row"),
    "pay": (pay, "Simulated pay: skewed amounts and their sum", "row"),
    "codes": (codes, "Simulated classifications: levels inside levels", "row"),
    "sample": (sample, "Simulated sample: weights, strata, clusters", "row"),
    "households": (households, "Simulated persons of households in one file", "household"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=30_000)
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    entries = []
    for place, (name, (make, title, unit)) in enumerate(REGISTERS.items()):
        table = pd.DataFrame(make(chosen.rows, np.random.default_rng(_SEED + place)))
        table.to_csv(chosen.folder / f"{name}.csv", index=False)
        entries.append(f'[{name}]\nfile = "{name}.csv"\ntitle = {json.dumps(title)}\nunit = "{unit}"\n')
    (chosen.folder / "list.toml").write_text("\n".join(entries), encoding="utf-8")


if __name__ == "__main__":
    main()
