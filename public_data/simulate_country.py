"""Simulate the people of a country that does not exist, with its regions and municipalities, from a file of assumptions.

Every row is drawn from the shares and effects of ``country_facts.toml``; no row is a person, and no figure comes from a file of
persons. The draw is seeded: the same facts, numbers, seed and year give the same files, byte for byte. This script protects
nothing and needs nothing from the ``synthrelease`` package.

Municipalities have sizes with a heavy tail: of 10,000 with 55 million people half have fewer than 1,600, and the largest is a
city of half a million or more. How young, educated and out of work people are depends on the size of their municipality and on
what is its own. Which municipalities there are, in which regions, is a public codelist that does not depend on the seed.

Usage: ``python public_data/simulate_country.py --people 300000 --municipalities 300 --regions 20 --seed 2024 --out FOLDER``
"""

import argparse
import csv
import runpy
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

FACTS = Path(__file__).with_name("country_facts.toml")
ADULT = 2
"""The first age group of the facts with education and employment."""

LABOUR = runpy.run_path(str(Path(__file__).with_name("simulate_labour.py")))
shares, pick, chance = LABOUR["shares"], LABOUR["pick"], LABOUR["chance"]

Facts = dict[str, Any]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Areas:
    """The municipalities, in the order of their codes.

    Attributes
    ----------
    size : share of the people of each.
    urban, own : what makes people differ between municipalities: by their size, and for no reason that is told.
    region : of each, as a number.
    """

    def __init__(self, facts: Facts, municipalities: int, regions: int):
        if not 1 <= regions <= municipalities:
            raise ValueError(f"--regions: expected from 1 to {municipalities}, as many as municipalities, found {regions}")
        law, random = facts["areas"], np.random.default_rng(facts["areas"]["seed"])
        self.names = [f"{place + 1:05d}" for place in range(municipalities)]
        weight = shares(np.exp(law["larger_regions"] * random.standard_normal(regions)))
        spare = random.choice(regions, size=municipalities - regions, p=weight)
        self.region: Ints = np.sort(np.concatenate([np.arange(regions), spare]))
        z = random.standard_normal(municipalities)
        self.size = shares(np.exp(law["spread"] * z))
        self.urban = law["urban"] * z
        self.own = law["own"] * random.standard_normal(municipalities)

    def codelist(self) -> list[tuple[str, str, str]]:
        """Code, label and region of each municipality."""
        told = zip(self.names, self.region, strict=True)
        return [(code, f"Municipality {code}", f"Region {region + 1:02d}") for code, region in told]


def simulate(
    facts: Facts, n_people: int, seed: int, municipalities: int, regions: int, year: int | None = None
) -> pd.DataFrame:
    """Draw ``n_people >= 1`` persons: municipality, sex, age, abroad, education, employment; in no order."""
    if n_people < 1:
        raise ValueError(f"--people: expected at least 1, found {n_people}")
    areas = Areas(facts, municipalities, regions)
    random = np.random.default_rng([seed, facts["year"] if year is None else year])
    home = np.repeat(np.arange(municipalities), random.multinomial(n_people, areas.size))
    home = home[random.permutation(n_people)]
    people, urban = facts["people"], areas.urban
    woman = random.random(n_people) * 1000 < people["women_per_1000"]
    by_age = shares(np.asarray(people["per_1000_by_age"]) * np.exp(np.outer(urban, people["younger"])))
    band = pick(by_age[home], random.random(n_people))
    first = np.asarray(people["from_age"])
    years = np.diff([*first, people["oldest"] + 1])
    age = first[band] + (random.random(n_people) * years[band]).astype(np.int64)
    law = facts["abroad"]
    logit = law["all"] + law["urban"] * urban[home] + np.asarray(law["by_age"])[band] + areas.own[home]
    abroad = random.random(n_people) < chance(logit)
    adult = np.maximum(band - ADULT, 0)
    law = facts["education"]
    weights = np.asarray(law["by_age"], dtype=float)[adult] * np.exp(np.outer(urban[home], law["urban"]))
    level = pick(shares(weights), random.random(n_people))
    law, kinds = facts["employment"], facts["employment"]["kinds"]
    weights = np.array([law[name] for name in facts["education"]["levels"]], dtype=float)[level, adult]
    weights[:, kinds.index("unemployed")] *= np.exp(law["unemployment"] * areas.own[home])
    weights[:, kinds.index("at home")] *= np.exp(law["women_at_home"] * woman)
    kind = pick(shares(weights), random.random(n_people))
    child = band < ADULT
    return pd.DataFrame(
        {
            "municipality": np.array(areas.names)[home],
            "sex": woman + 1,
            "age": age,
            "born": np.where(abroad, "abroad", "here"),
            "education": np.where(child, "none", np.array(facts["education"]["levels"])[level]),
            "employment": np.where(child, "child", np.array(kinds)[kind]),
        }
    )


def read_facts(path: Path = FACTS) -> Facts:
    """Read a file of facts."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def write(people: pd.DataFrame, path: Path) -> Path:
    """Write the people as CSV."""
    people.to_csv(path, index=False, lineterminator="\n")
    return path


def write_codelist(facts: Facts, municipalities: int, regions: int, path: Path) -> Path:
    """Write the codelist of the municipalities."""
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(("code", "label", "region"))
        lines.writerows(Areas(facts, municipalities, regions).codelist())
    return path


def main() -> None:
    """Read the arguments, simulate and write."""
    parser = argparse.ArgumentParser(description="Simulate the people of a country from a file of assumptions.")
    parser.add_argument("--facts", type=Path, default=FACTS, help="TOML file of facts")
    parser.add_argument("--people", type=int, default=300_000, help="number of people")
    parser.add_argument("--municipalities", type=int, default=300, help="number of municipalities")
    parser.add_argument("--regions", type=int, default=20, help="number of regions")
    parser.add_argument("--seed", type=int, default=2024, help="seed of the draw")
    parser.add_argument("--year", type=int, help="of the register; left out, that of the facts")
    parser.add_argument("--out", type=Path, required=True, help="folder for people.csv and municipalities.csv")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    facts = read_facts(given.facts)
    people = simulate(facts, given.people, given.seed, given.municipalities, given.regions, given.year)
    write(people, given.out / "people.csv")
    write_codelist(facts, given.municipalities, given.regions, given.out / "municipalities.csv")


if __name__ == "__main__":
    main()
