"""What weights and complete copies do to the labour release: estimates from a released folder beside those of the survey.

    synthrelease demo --release labour --out DIR
    python tests/benchmarks/labour.py DIR

Prints Markdown: estimates of the confidential survey by its design weights, and from the released rows without weights, with
the classes of the design weight, and with the calibrated weight; then the share of high wages among employees in the survey as
it was simulated (before anybody refused to tell), among those who told, in the released table, and in its complete copies.
"""

from __future__ import annotations

import argparse
import runpy
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from synthrelease.cli.releasing import DEMO_ROWS, DEMO_SEED, YEARS_LATER
from synthrelease.spec.load import load_spec

ROOT = Path(__file__).resolve().parents[2]
EMPLOYEES = ("Permanent", "Fixed-term", "Apprenticeship")
HIGH = ("2500-2999", "3000-3999", "4000-4999", ">=5000")

Estimate = Callable[[pd.DataFrame, pd.Series], float]


def share(condition: Callable[[pd.DataFrame], pd.Series], among: Callable[[pd.DataFrame], pd.Series] | None = None) -> Estimate:
    def estimated(table: pd.DataFrame, weight: pd.Series) -> float:
        rows = np.ones(len(table), dtype=bool) if among is None else among(table)
        return float(weight[rows & condition(table)].sum() / weight[rows].sum())

    return estimated


def plain(survey: pd.DataFrame) -> pd.DataFrame:
    """The columns of the survey that the estimates need, in words of the release."""
    age = survey["age"].astype(int)
    return pd.DataFrame(
        {
            "status": survey["labour_status"].map({"1": "Employed", "2": "Unemployed", "3": "Outside"}),
            "woman": survey["sex"] == "2",
            "old": age >= 65,
            "young": age < 25,
            "islands": survey["municipality"].str[:2] == "06",
        }
    )


def released_plain(rows: pd.DataFrame) -> pd.DataFrame:
    islands = {"Tern Island", "Skerry", "Great Holm", "Sandrey", "Farroe"}
    return pd.DataFrame(
        {
            "status": rows["labour_status"].replace({"Outside the labour force": "Outside"}),
            "woman": rows["sex"] == "Female",
            "old": rows["age"].isin(["65-69", "70-74", "75-79", "80-84", ">=85"]),
            "young": rows["age"].isin(["15-17", "18-19", "20-24"]),
            "islands": rows["municipality"].isin(islands),
        }
    )


def classes() -> dict[str, float]:
    """The number of each class of the design weight."""
    weight = load_spec(ROOT / "configs" / "labour.toml").schema["design_weight"].alternatives["classes"]
    return dict(zip(weight.labels, weight.known_numbers.tolist(), strict=True))


def employed(table: pd.DataFrame) -> pd.Series:
    return table["status"] == "Employed"


def active(table: pd.DataFrame) -> pd.Series:
    return table["status"] != "Outside"


ESTIMATES: Mapping[str, Estimate] = {
    "employed": share(employed),
    "employed, women": share(employed, lambda table: table["woman"]),
    "unemployed among the labour force": share(lambda table: table["status"] == "Unemployed", active),
    "the same below 25 years": share(
        lambda table: table["status"] == "Unemployed", lambda table: table["young"] & active(table)
    ),
    "65 years or older": share(lambda table: table["old"]),
    "on the Islands": share(lambda table: table["islands"]),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="what the demonstration wrote")
    folder = parser.parse_args().folder
    survey = pd.read_csv(folder / "survey.csv.gz", dtype=str, keep_default_na=False)
    rows = pd.read_csv(folder / "release" / "data.csv", dtype=str, keep_default_na=False)
    truth, ours = plain(survey), released_plain(rows)
    weights = (pd.Series(1.0, index=rows.index), rows["design_weight"].map(classes()), rows["weight"].astype(float))
    print("| estimate | survey, design weights | survey, no weights | released, no weights | released, classes | calibrated |")
    print("|---|---|---|---|---|---|")
    for name, estimate in ESTIMATES.items():
        found = [estimate(truth, survey["design_weight"].astype(float)), estimate(truth, pd.Series(1.0, index=survey.index))]
        found += [estimate(ours, weight) for weight in weights]
        print(f"| {name} | " + " | ".join(f"{100 * value:.2f}%" for value in found) + " |")
    print("\n| employees with 2,500 euros or more a month | |\n|---|---|")
    for name, value in high_wages(survey, rows, folder / "release" / "imputed.csv").items():
        print(f"| {name} | {100 * value:.2f}% |")


def high_wages(survey: pd.DataFrame, rows: pd.DataFrame, copies: Path) -> dict[str, float]:
    """Shares among employees."""
    script = runpy.run_path(str(ROOT / "public_data" / "simulate_labour.py"))
    facts = script["read_facts"]()
    whole = script["simulate"](facts | {"gaps": {}}, DEMO_ROWS, DEMO_SEED, facts["year"] + YEARS_LATER)
    before = whole["wage"][whole["wage"] != ""].astype(int)
    told = survey["wage"][~survey["wage"].isin(["", "99997", "99998"])].astype(int)
    ours = rows["wage"][rows["contract"].isin(EMPLOYEES) & (rows["wage"] != "not asked or not stated")]
    filled = pd.read_csv(copies, dtype=str, keep_default_na=False, usecols=[".imp", "contract", "wage"])
    filled = filled[filled["contract"].isin(EMPLOYEES)]
    return {
        "survey as simulated, before gaps": float((before >= 2500).mean()),
        "survey, those who told": float((told >= 2500).mean()),
        "released rows with a wage": float(ours.isin(HIGH).mean()),
        "complete copies, mean": float(filled["wage"].isin(HIGH).mean()),
    }


if __name__ == "__main__":
    main()
