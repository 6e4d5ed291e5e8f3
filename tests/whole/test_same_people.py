"""A register of the same people in several years, as docs/years.md says: a person is the root, and each year a member."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import synthrelease
from synthrelease.cli import app

STATES = ("work", "seeking", "neither")
MOVES = np.array([[0.90, 0.04, 0.06], [0.45, 0.35, 0.20], [0.08, 0.05, 0.87]])
"""From the state in the row to that in the column, in a year."""
PERSONS = 4_000


def write_panel(path: Path, seed: int) -> dict[int, list[str]]:
    """Three years of every person, of which some are missing; what states each had, in the order of the years."""
    random = np.random.default_rng(seed)
    lives: dict[int, list[str]] = {}
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["person", "sex", "year", "state"])
        for person in range(PERSONS):
            sex, state = "FM"[random.integers(2)], random.choice(3, p=[0.65, 0.07, 0.28])
            for year in (2021, 2022, 2023):
                if random.random() < 0.97:
                    table.writerow([person, sex, year, STATES[state]])
                    lives.setdefault(person, []).append(STATES[state])
                state = random.choice(3, p=MOVES[state])
    return lives


@pytest.mark.slow
def test_flows_between_years_are_answered_from_one_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From an untouched draft, but for the order and who is protected: the flows are those of the file."""
    monkeypatch.chdir(tmp_path)
    write_panel(Path("public.csv"), 1)
    lives = write_panel(Path("panel.csv"), 2)

    def run(*command: str) -> int:
        return CliRunner().invoke(app, command).exit_code

    assert run("init", "panel", "--from", "public.csv", "--key", "person") == 0
    config = Path("configs/panel.toml")
    draft = config.read_text(encoding="utf-8")
    assert draft.count("order = []") == draft.count('records_per_person = "not answered"') == 1
    answered = draft.replace("order = []", 'order = ["year"]').replace(
        'records_per_person = "not answered"', "records_per_person = 1"
    )
    config.write_text(answered, encoding="utf-8")
    assert run("plan", str(config)) == 0
    codes = (
        run("release", str(config), "--data", "panel.csv", "--out", f"release-{time}", "--unrehearsed") for time in range(4)
    )
    time = next(time for time, code in enumerate(codes) if code == 0)  # one in twenty finds no table
    folder = Path(f"release-{time}")
    assert run("verify", str(folder)) == 0

    moved = Counter((life[0], life[1]) for life in lives.values() if len(life) > 1)
    told = synthrelease.estimate(folder, "share state_2 == 'work' by state_1")
    found = {term.group: term for term in told.terms}
    assert set(found) == set(STATES)
    estimates = []
    for state in ("work", "neither"):  # few seek work, so that the noise hides where they go
        share = moved[state, "work"] / sum(moved[state, other] for other in STATES)
        estimate, error = found[state].estimate, found[state].standard_error
        assert estimate is not None
        assert error is not None
        assert error < 0.06
        assert abs(estimate - share) < 6 * error
        estimates.append(estimate)
    assert estimates[0] > estimates[1] + 0.4  # years of a life belong together: drawn apart, both would be the same
