"""The simulated labour force survey: what its assumptions promise, and what cannot be in it."""

from __future__ import annotations

import csv
import gzip
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.conftest import ROOT

SCRIPT = runpy.run_path(str(ROOT / "public_data" / "simulate_labour.py"))
FACTS = SCRIPT["read_facts"]()
N = 40_000
LEAST = {"4": 18, "5": 20, "6": 21, "7": 22, "8": 25}
"""The least age of each education."""


@pytest.fixture(scope="module")
def survey() -> pd.DataFrame:
    return SCRIPT["simulate"](FACTS, N, seed=3)


@pytest.fixture(scope="module")
def age(survey: pd.DataFrame) -> pd.Series:
    return survey["age"].astype(int)


def near(count: float, expected: float, variance: float | None = None) -> bool:
    """Within four and a half standard deviations: one in 150,000 by chance, and the seed is fixed."""
    return abs(count - expected) <= 4.5 * np.sqrt(variance or expected) + 1


def given(survey: pd.DataFrame, name: str) -> pd.Series:
    return survey[name] != ""


@pytest.mark.slow
def test_the_same_seed_and_year_give_the_same_rows_and_others_do_not(survey: pd.DataFrame) -> None:
    again, other, later = (SCRIPT["simulate"](FACTS, 500, seed, year) for seed, year in ((3, 2024), (4, 2024), (3, 2025)))
    assert SCRIPT["simulate"](FACTS, 500, 3).equals(again)
    assert not other.equals(again)
    assert not later.equals(again)
    assert set(later["interview_date"].str[:4]) == {"2025"}
    with pytest.raises(ValueError, match="expected at least 1, found 0"):
        SCRIPT["simulate"](FACTS, 0, 3)


@pytest.mark.slow
def test_the_surrogate_of_the_repository_is_what_the_script_makes(tmp_path: Path) -> None:
    SCRIPT["write_gzip_csv"](SCRIPT["simulate"](FACTS, 80_000, 2024), tmp_path / "again.csv.gz")
    kept = ROOT / "public_data" / "labour_surrogate.csv.gz"
    assert gzip.decompress(kept.read_bytes()) == gzip.decompress((tmp_path / "again.csv.gz").read_bytes())
    assert kept.stat().st_size < 1_500_000


def test_design_weights_give_back_the_population(survey: pd.DataFrame, age: pd.Series) -> None:
    """Of the country, of every state though they are sampled unequally, and of the old, who answer more often."""
    weight = survey["design_weight"].astype(float)
    state = survey["municipality"].str[:2]
    for number, each in enumerate(FACTS["states"], start=1):
        mine = weight.where(state == f"{number:02d}", 0)
        assert near(mine.sum(), each["population"] * 1000, (mine**2).sum())
    shares, n_women = FACTS["age"], FACTS["age"]["women_per_1000"]
    old_women = sum(shares["per_1000_women"][10:]) / sum(shares["per_1000_women"]) * n_women / 1000
    mine = weight.where((age >= 65) & (survey["sex"] == "2"), 0)
    population = 1000 * sum(each["population"] for each in FACTS["states"])
    assert near(mine.sum(), old_women * population, (mine**2).sum())
    unweighted = ((age >= 65) & (survey["sex"] == "2")).mean()
    assert unweighted > 1.08 * old_women  # without weights the old are too many


def test_municipalities_and_codes_are_those_of_the_codelists(survey: pd.DataFrame) -> None:
    listed: dict[str, list[dict[str, str]]] = {}
    for name in ("municipality", "occupation", "industry"):
        with (ROOT / "configs" / "codes" / f"labour_{name}.csv").open(encoding="utf-8", newline="") as file:
            listed[name] = list(csv.DictReader(file))
    places = {(row["code"], row["state"]) for row in listed["municipality"]}
    assert places == {(code, each["name"]) for each in FACTS["states"] for code in each["municipalities"]}
    assert {row["code"] for row in listed["occupation"]} == {code for codes in FACTS["occupation"]["codes"] for code in codes}
    assert [row["code"] for row in listed["industry"]] == FACTS["industry"]["codes"]
    assert set(survey["municipality"]) == {code for code, _ in places}
    assert set(survey["occupation"]) <= {row["code"] for row in listed["occupation"]} | {"", "98", "99"}
    assert set(survey["industry"]) <= set(FACTS["industry"]["codes"]) | {"", "99"}


def test_a_question_is_asked_of_whom_it_concerns_and_of_nobody_else(survey: pd.DataFrame, age: pd.Series) -> None:
    employed = survey["labour_status"] == "1"
    for name in ("occupation", "industry", "hours", "contract", "job_started", "commute"):
        assert (given(survey, name) == employed).all()
    assert (given(survey, "wage") == (employed & survey["contract"].isin(["1", "2", "3"]))).all()
    assert (given(survey, "job_search") == (~employed & (age <= 74))).all()
    assert (given(survey, "search_weeks") == (survey["job_search"] == "1")).all()
    assert (survey["job_search"][survey["labour_status"] == "2"] == "1").all()


def test_what_cannot_be_is_not_there(survey: pd.DataFrame, age: pd.Series) -> None:
    assert age.between(15, 89).all()
    for education, least in LEAST.items():
        assert (age[survey["education"] == education] >= least).all()
    assert not (age < 18)[survey["marital_status"].isin(["2", "3", "4"])].any()
    assert (age[survey["labour_status"] == "2"] <= 74).all()
    assert (age[survey["contract"] == "3"] < 30).all()
    assert (age[survey["relationship"] == "4"] >= 30).all()
    alone = survey["household_size"] == "1"
    assert set(survey["relationship"][alone]) <= {"1", "9"}
    assert not (survey["marital_status"][alone] == "2").any()
    assert (age[survey["occupation"].isin(["11", "12", "13", "14"])] >= 20).all()


def test_nobody_began_a_job_before_15_or_after_the_interview(survey: pd.DataFrame, age: pd.Series) -> None:
    told = given(survey, "job_started") & (survey["job_started"] != "9999-99-99")
    days = pd.to_datetime(survey["interview_date"][told]) - pd.to_datetime(survey["job_started"][told])
    years = days.dt.days / 365.25
    assert (years >= 0).all()
    assert (years <= age[told] - 15 + 0.9).all()


@pytest.mark.parametrize("name", [name for name in FACTS["gaps"] if name != "wage_refused_per_log"])
def test_as_many_answers_are_missing_as_the_facts_say(survey: pd.DataFrame, name: str) -> None:
    asked = survey[name][given(survey, name)]
    for code, per_1000 in FACTS["gaps"][name].items():
        if (name, code) != ("wage", "99997"):  # depends on the wage
            assert near((asked == code).sum(), len(asked) * per_1000 / 1000)


def test_high_wages_are_refused_more_often_and_wages_rise_with_education(survey: pd.DataFrame) -> None:
    asked = survey[given(survey, "wage")]
    refused = (asked["wage"] == "99997").groupby(asked["education"]).mean()
    assert refused["7"] > 1.3 * refused["2"]
    told = asked[~asked["wage"].isin(["99997", "99998"])]
    median = told["wage"].astype(int).groupby(told["education"]).median()
    assert median["2"] < median["3"] < median["6"] < median["7"]
    assert told["wage"].nunique() > 1000


@pytest.mark.slow
def test_the_next_year_is_another_survey_of_the_same_kind() -> None:
    """More unemployed, and higher wages, by about what the facts say."""
    before, after = (SCRIPT["simulate"](FACTS, N, 5, year) for year in (2024, 2025))
    wages: list[Any] = [frame["wage"][~frame["wage"].isin(["", "99997", "99998"])].astype(int) for frame in (before, after)]
    growth = np.log(wages[1]).mean() - np.log(wages[0]).mean()
    assert growth == pytest.approx(FACTS["per_year"]["wage"], abs=0.02)
    assert (after["labour_status"] == "2").mean() > (before["labour_status"] == "2").mean()
