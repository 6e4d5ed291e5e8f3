"""The specification of a release: what it costs, what is drawn from, and that drawing reaches all of it."""

from __future__ import annotations

import shutil
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from synthrelease.errors import BudgetError
from synthrelease.generators.space import Configuration
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from tests.conftest import CONFIGURATIONS as CONFIGS
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def births() -> ReleaseSpec:
    return load_spec(ROOT / "configs" / "births.toml")


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A folder with the two files of births, to be edited."""
    for folder in ("configs", "acceptance"):
        (tmp_path / folder).mkdir()
        shutil.copy(ROOT / folder / "births.toml", tmp_path / folder / "births.toml")
    return tmp_path


def edited(folder: Path, file: str, old: str, new: str) -> ReleaseSpec:
    path = folder / file / "births.toml"
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    return load_spec(folder / "configs" / "births.toml")


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_configuration_loads_and_costs_at_most_its_limit(path: Path) -> None:
    if path.stem == "births-all-generators":
        pytest.importorskip("snsynth", reason="needs the extra smartnoise")
    spec = load_spec(path)
    spec.plan.check_limit(spec.budget.limit)
    assert spec.budget.limit is not None
    assert 0 < spec.plan.total.epsilon <= spec.budget.limit
    assert len(spec.space) > 0


def test_the_plan_of_births_costs_what_the_hand_computes(births: ReleaseSpec) -> None:
    one_round = Fraction("4") + sum(map(Fraction, ("0.01", "0.30", "0.01", "0.17", "0.02", "0.04", "0.01")))
    assert one_round == Fraction("4.56")
    total = Fraction("0.05") + Fraction("0.43") + births.selection_rule.rounds.price(one_round)
    assert births.plan.total.epsilon == total == Fraction("6.6978102")
    assert births.plan.total.delta == 0


def test_a_regression_in_every_round_is_paid_for_in_the_selection(copied: Path) -> None:
    spec = edited(copied, "acceptance", 'fit = "once" ', 'fit = "every_round" ')
    assert spec.plan.total.epsilon == Fraction("0.05") + spec.selection_rule.rounds.price(Fraction("4.99"))
    assert [charge.name for charge in spec.plan.once] == ["number of rows"]


def test_a_plan_above_the_limit_is_refused_and_one_at_the_limit_is_not(copied: Path) -> None:
    exactly = edited(copied, "configs", "limit = 6.7", "limit = 6.6978102")
    exactly.plan.check_limit(exactly.budget.limit)
    below = edited(copied, "configs", "limit = 6.6978102", "limit = 6.6978101999")
    with pytest.raises(BudgetError, match=r"epsilon = 6\.6978102, which is more than the limit of 6\.6978101999"):
        below.plan.check_limit(below.budget.limit)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "unit"), [("births", "epsilon"), ("visits", "rho")])
def test_a_plan_above_the_limit_says_the_largest_generation_budget_that_fits(name: str, unit: str) -> None:
    spec = load_spec(next(path for path in CONFIGS if path.stem == name))
    limit = spec.plan.total.epsilon * Fraction(4, 5)
    with pytest.raises(BudgetError, match=rf"With generation = [0-9.]+ \({unit}\), the plan would meet the limit") as refused:
        spec.with_budget(limit=limit).check_limit()
    fitting = Fraction(str(refused.value).partition("generation = ")[2].split()[0])
    spec.with_budget(limit=limit, generation=fitting).check_limit()
    with pytest.raises(BudgetError):
        spec.with_budget(limit=limit, generation=fitting * Fraction(102, 100)).check_limit()
    with pytest.raises(BudgetError, match="so no generation budget fits"):
        spec.with_budget(limit=Fraction(1, 1000)).check_limit()


def test_numbers_with_a_point_are_exact(copied: Path) -> None:
    spec = edited(copied, "configs", "generation = 4\n", "generation = 0.1\n")
    assert spec.budget.generation == Fraction(1, 10)
    assert edited(copied, "configs", "generation = 0.1\n", 'generation = "1/3"\n').budget.generation == Fraction(1, 3)
    assert spec.selection_rule.stop_probability == Fraction(1, 1000)


def test_the_space_of_births_is_the_product_of_what_is_listed(births: ReleaseSpec) -> None:
    assert len(births.space) == 2 * 4 * 2  # bins of the mother's age, theta, minimum count
    assert len(births.space.transformations) == 2
    assert len({str(configuration.describe()) for configuration in births.space}) == 16


def test_a_column_without_a_line_under_transformations_uses_all_its_alternatives(copied: Path) -> None:
    spec = edited(copied, "configs", 'parity = ["five"]\n', "")
    assert spec.space.binnings["parity"] == ("five", "single")
    assert len(spec.space) == 2 * 2 * 4 * 2


def test_places_outside_the_space_hold_no_configuration(births: ReleaseSpec) -> None:
    for index in (-1, len(births.space)):
        with pytest.raises(IndexError):
            births.space[index]


def test_draws_cover_the_space_evenly(births: ReleaseSpec) -> None:
    def name(configuration: Configuration) -> str:
        return str(configuration.describe())

    per_configuration = 200
    drawn = Counter(name(births.space.draw()) for _ in range(len(births.space) * per_configuration))
    assert set(drawn) == {name(configuration) for configuration in births.space}
    # chi squared with 15 degrees of freedom exceeds 80 with probability below 1e-9
    assert sum((count - per_configuration) ** 2 / per_configuration for count in drawn.values()) < 80


@pytest.mark.parametrize(
    ("unusual", "in_private_rows", "in_released_rows"),
    [
        ({}, True, True),
        ({"birth_weight": 499}, False, True),
        ({"gestation_week": 45}, False, True),
        ({"mother_age": 20, "parity": 4}, True, True),
        ({"mother_age": 19, "parity": 4}, False, False),
        ({"gestation_week": 28, "birth_weight": 3000}, False, False),
    ],
)
def test_a_rule_applies_to_the_rows_it_names(
    births: ReleaseSpec, unusual: dict[str, int], in_private_rows: bool, in_released_rows: bool
) -> None:
    usual = {"birth_month": 6, "mother_age": 30, "parity": 1, "gestation_week": 40, "birth_sex": 0, "birth_weight": 3200}
    row = usual | unusual
    atoms = [np.array([sum(edge <= row[column.name] for edge in column.edges)]) for column in births.schema.columns]
    assert births.raw.forbidden(atoms).tolist() == [not in_private_rows]
    assert births.synthetic.forbidden(atoms).tolist() == [not in_released_rows]


def test_the_setting_knows_groups_and_criteria_by_name(births: ReleaseSpec) -> None:
    assert births.setting.groups["mother_age"].labels == ("<=24", "25-29", "30-34", ">=35")
    assert set(births.setting.criteria) == {criterion.name for criterion in births.criteria}
    assert len(births.criteria) == 10
