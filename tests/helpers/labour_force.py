"""A toy labour-force survey: public, simulated rows for the specification in tests/helpers/specs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd


def simulated(n: int, seed: int = 7) -> pd.DataFrame:
    """n rows as they would stand in the private file: codes of sectors and education, dates, some values missing."""
    random = np.random.default_rng(seed)
    age = random.integers(15, 78, n)  # some are older than the survey's limit
    education = np.where(age < 20, random.integers(0, 2, n), random.choice(3, n, p=[0.2, 0.5, 0.3]))
    hours = np.round(random.normal(37, 13, n), 1)  # some beyond the bounds
    log_wage = np.round(random.normal(2.3 + 0.3 * education + 0.005 * hours, 0.4), 3).clip(1.5, 4.5)
    year, month = random.integers(2021, 2024, n), random.integers(1, 13, n)
    return pd.DataFrame(
        {
            "interview_date": [f"{y}-{m:02d}-15" for y, m in zip(year, month, strict=True)],
            "region": random.choice(["north", "south", "east", ""], n, p=[0.4, 0.35, 0.24, 0.01]),
            "sector": random.choice(["A", "B", "C", "O", "P", "Q", "Z"], n, p=[0.1, 0.2, 0.2, 0.1, 0.2, 0.18, 0.02]),
            "education": education.astype(str),
            "age": age,
            "hours": hours,
            "log_wage": np.where(random.random(n) < 0.03, "-9", log_wage.astype(str)),
            "interviewer": random.integers(1, 40, n),  # not in the spec: must not be read
        }
    )


def write_survey(path: Path, n: int = 5000) -> Path:
    """The simulated survey as a CSV with semicolons."""
    simulated(n).to_csv(path, index=False, sep=";")
    return path
