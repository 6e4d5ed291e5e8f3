"""A rehearsal of a survey: sampling, missing answers and noise of each question, against formulas by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthrelease.errors import InputError
from synthrelease.spec.load import load_spec
from synthrelease.studio.rehearsal.expected_noise import REPLICATES, survey_errors
from synthrelease.studio.rehearsal.measured_tables import measured_tables
from tests.helpers.command_line import called

CONFIG = """title = "Survey"
acceptance = "acceptance.toml"
[input]
one_row_per = "respondent"
missing = "bin"
[columns.works]
kind = "category"
categories = { yes = ["1"], no = ["0"] }
[columns.w]
kind = "integer"
role = "weight"
bounds = [1, 3]
missing = "error"
alternatives.each = ["1..3"]
[design]
weight = "w"
strata = ["region"]
clusters = "tract"
[[intended_queries]]
query = "share works == 'yes' where works is not missing weighted"
why = "reported"
[[intended_queries]]
query = "median w"
why = "reported"
[[generators]]
family = "marginals"
tables = "works:w"
[[projections]]
kind = "minimum_count"
minimum_count = 1
[budget]
generation = 1
limit = 3
[selection]
measurements = "shared"
publish_measurements = true
stop_probability = 0.02
"""
ACCEPTANCE = """description = "a test"
[[criteria]]
name = "all"
kind = "absolute_marginal_error"
tables = ["all 1-way"]
threshold = 0.2
epsilon = 0.1
"""


def write_survey(folder: Path) -> pd.DataFrame:
    """40 tracts in each of 3 regions, of unequal sizes; who weighs more answers less often."""
    random = np.random.default_rng(4)
    sizes = random.integers(10, 90, 120)
    tract = np.repeat(np.arange(120), sizes)
    region = tract // 40
    share = random.beta(4, 6, 120)[tract]
    works = np.where(random.random(len(tract)) < share, "1", "0")
    answered = random.random(len(tract)) < 0.95 - 0.15 * region
    table = pd.DataFrame({"works": np.where(answered, works, ""), "w": region + 1, "region": region, "tract": tract})
    table.to_csv(folder / "public.csv", index=False)
    (folder / "survey.toml").write_text(CONFIG)
    (folder / "acceptance.toml").write_text(ACCEPTANCE)
    return table


def linearised(table: pd.DataFrame) -> tuple[float, float]:
    """The weighted share among answers, and its error from clusters in strata (Woodruff 1971)."""
    answers = table[table.works != ""]
    y, w = (answers.works == "1").to_numpy(float), answers.w.to_numpy(float)
    share = (w * y).sum() / w.sum()
    sums = pd.Series(w * (y - share)).groupby([answers.region.to_numpy(), answers.tract.to_numpy()]).sum()
    variance = sum(len(part) / (len(part) - 1) * ((part - part.mean()) ** 2).sum() for _, part in sums.groupby(level=0))
    return float(share), float(np.sqrt(variance) / w.sum())


def test_sampling_missing_answers_and_noise_stand_side_by_side(tmp_path: Path) -> None:
    table = write_survey(tmp_path)
    spec = load_spec(tmp_path / "survey.toml")
    share, median = survey_errors(spec, tmp_path / "public.csv", seed=1)
    answer, error = linearised(table)
    assert share.answer == pytest.approx(answer)
    assert share.sampling == pytest.approx(error, rel=4 / np.sqrt(2 * REPLICATES))
    assert 0 < share.missing < share.sampling  # of a fifth of the answers
    [measured] = measured_tables(spec)
    w = table.w[table.works != ""].to_numpy(float)
    squares = sum((weight * (met - answer)) ** 2 for weight in (1, 2, 3) for met in (1, 0))
    assert share.noise == pytest.approx(np.sqrt(measured.noise.variance * squares) / w.sum())
    assert "only for shares and means" in median.why


def test_the_command_shows_them_and_makes_no_attempt(tmp_path: Path) -> None:
    write_survey(tmp_path)
    done = called(tmp_path, "rehearse", "survey.toml", "--data", "public.csv", "--out", "out", "--design", "--seed", 1)
    assert done.returncode == 0, done.stderr
    assert "missing answers" in " ".join(done.stdout.split())
    assert not (tmp_path / "out").exists()
    (tmp_path / "survey.toml").write_text(CONFIG[: CONFIG.index("[[intended")] + CONFIG[CONFIG.index("[[generators") :])
    with pytest.raises(InputError, match="with \\[design\\] and \\[\\[intended_queries\\]\\]"):
        survey_errors(load_spec(tmp_path / "survey.toml"), tmp_path / "public.csv")
