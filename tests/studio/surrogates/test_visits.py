"""The simulated hospital register: what its assumptions promise, and what cannot be in it."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.conftest import ROOT

SCRIPT = runpy.run_path(str(ROOT / "public_data" / "simulate_visits.py"))
FACTS = SCRIPT["read_facts"]()
N = 6000


@pytest.fixture(scope="module")
def tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    patients, stays = SCRIPT["simulate"](FACTS, N, seed=3)
    return patients, stays.sort_values(["patient", "admitted"], ignore_index=True)


def test_the_same_seed_and_year_give_the_same_files_and_others_do_not(tmp_path: Path) -> None:
    files = []
    for seed, year in ((3, 2024), (3, 2024), (4, 2024), (3, 2025)):
        paths = SCRIPT["write"](SCRIPT["simulate"](FACTS, 200, seed, year), tmp_path)
        files.append([path.read_bytes() for path in paths])
    assert files[0] == files[1]
    assert all(other != first for other in files[2:] for first in files[:1])
    with pytest.raises(ValueError, match="expected at least 1, found 0"):
        SCRIPT["simulate"](FACTS, 0, 3)


def test_stays_of_a_patient_follow_each_other_and_nothing_follows_a_death(tables: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    _, stays = tables
    same = stays["patient"].to_numpy()[1:] == stays["patient"].to_numpy()[:-1]
    assert same.sum() > 1000
    assert (stays["admitted"] <= stays["discharged"]).all()
    assert (stays["discharged"].to_numpy()[:-1][same] < stays["admitted"].to_numpy()[1:][same]).all()
    assert not (stays["outcome"].to_numpy()[:-1][same] == "3").any()
    assert 50 < (stays["outcome"] == "3").sum() < 600


def test_births_are_those_of_women_of_some_ages(tables: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    patients, stays = tables
    births = stays[stays["diagnosis"] == "O"].merge(patients, on="patient")
    assert len(births) > 100
    assert set(births["sex"]) == {2}
    assert births["age"].between(18, 44).all()


def test_a_diagnosis_comes_back_as_often_as_the_facts_say_and_in_others_stays_by_chance(
    tables: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    _, stays = tables
    same = stays["patient"].to_numpy()[1:] == stays["patient"].to_numpy()[:-1]
    alike = stays["diagnosis"].to_numpy()[1:] == stays["diagnosis"].to_numpy()[:-1]
    kept = FACTS["stays"]["same_diagnosis"]
    assert kept < alike[same].mean() < kept + 0.3 * (1 - kept)
    assert alike[~same].mean() < 0.25


def test_some_patients_are_entered_twice_and_some_stays_belong_to_nobody(tables: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    patients, stays = tables
    twice = int(patients["patient"].duplicated().sum())
    lost = set(stays["patient"]) - set(patients["patient"])
    assert 0 < twice < 20
    assert 0 < len(lost) < 30
    assert len(set(stays["patient"]) | set(patients["patient"])) == N
    assert np.isin(patients["patient"], stays["patient"]).all()  # whoever is in the register was there
