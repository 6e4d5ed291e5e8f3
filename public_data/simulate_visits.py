"""Simulate the patients of hospitals that do not exist, and their stays within a year, from a file of assumptions.

Every row is drawn from the shares and effects of ``visits_facts.toml``; no row is a person, and no figure comes from a file
of persons. The draw is seeded: the same facts, patients, seed and year give the same files, byte for byte. This script protects
nothing and needs nothing from the ``synthrelease`` package. Random classes are drawn as ``simulate_labour.py`` draws them.

There are two files with a key. Stays of one patient have a history: a diagnosis comes back, nobody is admitted before the
discharge of the stay before, and nobody after a death. Some patients are entered twice, and some stays belong to nobody, as
in registers.

Usage: ``python public_data/simulate_visits.py --patients 20000 --seed 2024 --out FOLDER``
"""

import argparse
import runpy
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

FACTS = Path(__file__).with_name("visits_facts.toml")
HOME, OTHER_CARE, DIED = "1", "2", "3"
PLANNED, EMERGENCY = "1", "2"
UNKNOWN = "9"
MOST_STAYS = 15
WOMAN = 1
CANCER = 1
"""Its place among the chapters."""

LABOUR = runpy.run_path(str(Path(__file__).with_name("simulate_labour.py")))
shares, pick, chance = LABOUR["shares"], LABOUR["pick"], LABOUR["chance"]

Facts = dict[str, Any]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Register:
    """Patients, and then their stays one after the other, each given the one before.

    Attributes
    ----------
    n : number of patients.
    sex, age, band, region : (n,) of each patient; `band` is the age group of the facts.
    """

    def __init__(self, facts: Facts, n_patients: int, seed: int, year: int):
        if n_patients < 1:
            raise ValueError(f"--patients: expected at least 1, found {n_patients}")
        self.facts, self.n, self.year = facts, n_patients, year
        self.random = np.random.default_rng([seed, year])
        people, first = facts["patients"], np.asarray(facts["patients"]["from_age"])
        self.sex: Ints = (self.random.random(self.n) * 1000 < people["women_per_1000"]).astype(np.int64)
        groups = shares([people["per_1000_men"], people["per_1000_women"]])
        self.band = pick(groups[self.sex], self.random.random(self.n))
        years = np.diff([*first, people["oldest"] + 1])
        self.age: Ints = first[self.band] + (self.random.random(self.n) * years[self.band]).astype(np.int64)
        place = pick(shares(people["per_1000_by_region"]), self.random.random(self.n))
        unknown = self.random.random(self.n) * 1000 < people["unknown_region_per_1000"]
        self.region = np.where(unknown, UNKNOWN, np.array(people["regions"])[place])
        self.keys = 100_000 + self.random.permutation(self.n)

    def stays(self) -> pd.DataFrame:
        """The stays of all patients, those of the first place of each first."""
        law = self.facts["stays"]
        diagnosis = self._diagnosis(np.arange(self.n))
        rate = np.log(np.take(law["more_by_age"], self.band)) + law["more_for_cancer"] * (diagnosis == CANCER)
        rate += law["spread"] * self.random.standard_normal(self.n) - law["spread"] ** 2 / 2
        number = 1 + np.minimum(self.random.poisson(np.exp(rate)), MOST_STAYS - 1)
        there, day, found = np.arange(self.n), (self.random.random(self.n) ** 1.3 * 365).astype(np.int64), []
        for place in range(MOST_STAYS):
            stay = self._stay(there, diagnosis[there], day[there])
            found.append(stay)
            gone = stay["days"].to_numpy()
            pause = self.random.exponential(law["days_between"], len(there)).astype(np.int64) + 1
            day[there] += gone + pause
            goes_on = (number[there] > place + 1) & (stay["outcome"].to_numpy() != DIED) & (day[there] < 365)
            there = there[goes_on]
            other = self.random.random(len(there)) >= law["same_diagnosis"]
            diagnosis[there[other]] = self._diagnosis(there[other])
        return pd.concat(found, ignore_index=True)

    def _diagnosis(self, who: Ints) -> Ints:
        tables = np.array([self.facts["diagnosis"]["per_1000_men"], self.facts["diagnosis"]["per_1000_women"]], dtype=float)
        return pick(shares(tables[self.sex[who], self.band[who]]), self.random.random(len(who)))

    def _stay(self, who: Ints, diagnosis: Ints, day: Ints) -> pd.DataFrame:
        """One stay of each of these patients."""
        facts, law, n = self.facts["diagnosis"], self.facts["outcome"], len(who)
        age = self.age[who]
        emergency = self.random.random(n) * 1000 < np.take(facts["emergency_per_1000"], diagnosis)
        log = np.log(np.take(facts["days_median"], diagnosis)) + facts["days_per_ten_years"] * np.maximum(age - 40, 0) / 10
        log += facts["days_spread"] * self.random.standard_normal(n)
        days = np.clip(np.floor(np.exp(log)), 0, facts["longest"]).astype(np.int64)
        died = np.take(law["died"], diagnosis) + law["died_per_ten_years"] * (age - 60) / 10 + 0.5 * emergency
        care = np.take(law["other_care"], diagnosis) + law["other_care_per_ten_years"] * (age - 65) / 10
        care += law["other_care_per_log_day"] * np.log1p(days)
        at = self.random.random((2, n))
        outcome = np.where(at[0] < chance(died), DIED, np.where(at[1] < chance(care), OTHER_CARE, HOME))
        told = self.random.random(n) * 1000 >= self.facts["stays"]["unknown_admission_per_1000"]
        first = np.datetime64(f"{self.year}-01-01")
        admitted = first + day.astype("timedelta64[D]")
        return pd.DataFrame(
            {
                "patient": self.keys[who],
                "admitted": np.datetime_as_string(admitted),
                "discharged": np.datetime_as_string(admitted + days.astype("timedelta64[D]")),
                "diagnosis": np.array(self.facts["chapters"])[diagnosis],
                "admission": np.where(told, np.where(emergency, EMERGENCY, PLANNED), ""),
                "outcome": outcome,
                "days": days,
            }
        )

    def tables(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Both files as they are delivered, in no order."""
        stays = self.stays().drop(columns="days")
        patients = pd.DataFrame({"patient": self.keys, "sex": self.sex + 1, "age": self.age, "region": self.region})
        at = self.random.random(self.n) * 1000
        faults = self.facts["faults"]
        twice, lost = at < faults["twice_per_1000"], at >= 1000 - faults["lost_per_1000"]
        patients = pd.concat([patients[~lost], patients[twice]], ignore_index=True)
        return tuple(  # type: ignore[return-value]
            table.iloc[self.random.permutation(len(table))].reset_index(drop=True) for table in (patients, stays)
        )


def simulate(facts: Facts, n_patients: int, seed: int, year: int | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw ``n_patients >= 1`` patients, each with a stay or more that began in one year.

    Returns
    -------
    Two DataFrames
        Patients (patient, sex, age, region) and stays (patient, admitted, discharged, diagnosis, admission, outcome).
    """
    return Register(facts, n_patients, seed, facts["year"] if year is None else year).tables()


def read_facts(path: Path = FACTS) -> Facts:
    """Read a file of facts."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def write(tables: tuple[pd.DataFrame, pd.DataFrame], folder: Path) -> tuple[Path, Path]:
    """Write patients.csv and stays.csv into a folder that is there."""
    paths = folder / "patients.csv", folder / "stays.csv"
    for table, path in zip(tables, paths, strict=True):
        table.to_csv(path, index=False, lineterminator="\n")
    return paths


def main() -> None:
    """Read the arguments, simulate and write."""
    parser = argparse.ArgumentParser(description="Simulate patients with their stays from a file of assumptions.")
    parser.add_argument("--facts", type=Path, default=FACTS, help="TOML file of facts")
    parser.add_argument("--patients", type=int, default=20_000, help="number of patients")
    parser.add_argument("--seed", type=int, default=2024, help="seed of the draw")
    parser.add_argument("--year", type=int, help="of the stays; left out, that of the facts")
    parser.add_argument("--out", type=Path, required=True, help="folder for patients.csv and stays.csv")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    write(simulate(read_facts(arguments.facts), arguments.patients, arguments.seed, arguments.year), arguments.out)


if __name__ == "__main__":
    main()
