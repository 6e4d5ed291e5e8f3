"""What [design] may state of a sample: refused before a file is read where it names what is not there, or would be released."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthrelease.bundle.options import DesignPart
from synthrelease.errors import SpecError
from synthrelease.spec.load import load_spec
from synthrelease.studio.drafting.columns import drafted_columns
from synthrelease.studio.drafting.public_file import read_public_file
from synthrelease.studio.drafting.text import design_settings
from tests.helpers.command_line import called
from tests.helpers.tiny import MEASURED, write_config

SELECTION = "[selection]\nstop_probability = 0.001\n"
WEIGHT = {
    "rows = 400": 'rows = 400\none_row_per = "respondent"',
    'alternatives.pairs = ["1-2",': 'role = "weight"\nalternatives.pairs = ["1-2",',
}
SKEWED = 'categories = ["head", "tail", "3", "4", "5"]\nalternatives.two = { head = ["head", "3", "4", "5"], tail = ["tail"] }'
REFUSED = {
    "a weight that is none": ('weight = "year"', {}, "a column with role = \"weight\", found 'year'"),
    "a weight that is not named": ('strata = ["region"]', WEIGHT, "the column with role = \"weight\" ('year'), found nothing"),
    "clusters that are released": (
        'clusters = "face"',
        {},
        "'face' must not be released, because its values are places or persons. Remove the column 'face', which reads it",
    ),
    "groups that are none": ('clusters = "tract"\ngroups = "face"', {}, "'face' is not a column with role = 'cluster_group'"),
    "groups of other places": (
        'clusters = "tract"\ngroups = "face"',
        {'categories = ["head", "tail"]': 'role = "cluster_group"\ncategories = ["head", "tail"]'},
        "A column of random groups needs the same source as `clusters` in [design], and 5 to 100 categories",
    ),
    "groups that are numbers": (
        'groups = "year"',
        {'alternatives.pairs = ["1-2",': 'role = "cluster_group"\nalternatives.pairs = ["1-2",'},
        "columns.year.kind: expected 'category' for a column of random groups, found 'integer'",
    ),
    "groups of unequal probability": (
        'clusters = "tract"\ngroups = "face"',
        {'categories = ["head", "tail"]': 'role = "cluster_group"\nsource = "tract"\n' + SKEWED},
        "A column of random groups cannot have coarser bins, because a cluster must be in each",
    ),
    "an effect without a source": ("effect = 2", {}, "Set both effect and source, or neither"),
    "an effect below 1": ('effect = 0.9\nsource = "x"', {}, "expected a number from 1 to 1,000"),
    "an effect of no column": (
        'effect = { faces = 2 }\nsource = "x"',
        {},
        "'faces' is not a column ('face', 'year'). Did you mean 'face'?",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_design_that_cannot_be_is_refused(case: str, tmp_path: Path) -> None:
    lines, changes, expected = REFUSED[case]
    with pytest.raises(SpecError) as caught:
        load_spec(write_config(tmp_path, {SELECTION: f"{SELECTION}\n[design]\n{lines}\n", **changes}))
    assert expected in " ".join(str(caught.value).split())


def test_random_groups_need_a_design(tmp_path: Path) -> None:
    """Without one nothing says of which clusters they are."""
    grouped = {'categories = ["head", "tail"]': 'role = "cluster_group"\ncategories = ["head", "tail"]'}
    with pytest.raises(SpecError, match=r"A column of random groups also needs \[design\] with `clusters` and `groups`"):
        load_spec(write_config(tmp_path, grouped))


def test_a_design_effect_is_that_of_the_columns_that_are_estimated() -> None:
    part = DesignPart(weight=None, strata=[], clusters="tract", effect={"wage": 3, "sex": 1.5}, source="A report")
    assert part.effect_on(["wage", "sex"]) == 3
    assert part.effect_on(["sex"]) == 1.5
    assert part.effect_on(["sex", "age"]) is None
    assert part.effect_on([]) == 1


def test_plan_says_which_answers_can_be_weighted(tmp_path: Path) -> None:
    design = {"[budget]": '[design]\nweight = "year"\n\n[budget]'}
    write_config(tmp_path, {**MEASURED, **design, **WEIGHT})
    text = " ".join(called(tmp_path, "plan", "coins.toml").stdout.split())
    assert "Weighted answers exist for these columns: 'face'." in text
    assert "Design: intervals for a population assume that rows are drawn independently." in text
    clusters = {"[budget]": '[design]\nclusters = "tract"\n\n[budget]'}
    write_config(tmp_path, {**MEASURED, **clusters})
    text = " ".join(called(tmp_path, "plan", "coins.toml").stdout.split())
    assert "So no answer has an interval for a population." in text
    assert "Weighted answers" not in text


def test_a_weighted_question_needs_a_weight(tmp_path: Path) -> None:
    question = "[[intended_queries]]\nquery = \"share face == 'head' weighted\"\n\n[budget]"
    with pytest.raises(SpecError, match=r""""share face == 'head' weighted" is weighted, so \[design\] must name the weight"""):
        load_spec(write_config(tmp_path, {**MEASURED, "[budget]": question}))


def test_init_names_weight_strata_and_clusters(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    table = {
        "sex": random.choice(["f", "m"], 3000),
        "works": random.choice(["no", "yes"], 3000),
        "design_weight": np.round(random.uniform(20, 60, 3000), 1),
        "psu": random.integers(1, 200, 3000),
        "sampling_stratum": random.integers(1, 30, 3000),
    }
    pd.DataFrame(table).to_csv(tmp_path / "public.csv", index=False)
    file = read_public_file(tmp_path / "public.csv")
    columns, left_out, *_ = drafted_columns(file, {})
    assert design_settings(columns, left_out) == {"weight": "design_weight", "clusters": "psu", "strata": ["sampling_stratum"]}


@pytest.mark.slow
@pytest.mark.parametrize("columns", [["psu"], []], ids=["clusters", "a weight alone"])
def test_a_draft_with_a_design_is_planned(columns: list[str], tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    works, weights = random.choice(["no", "yes"], 3000), np.round(random.uniform(20, 60, 3000), 1)
    table = {"works": works, "sex": np.where(random.random(3000) < 0.8, works, "no"), "design_weight": weights}
    table |= {name: random.integers(1, 200, 3000) for name in columns}
    pd.DataFrame(table).to_csv(tmp_path / "public.csv", index=False)
    drafted = called(tmp_path, "init", "survey", "--from", "public.csv", "--unit", "row", "--important", "works")
    assert drafted.returncode == 0, drafted.stderr + drafted.stdout
    planned = " ".join(called(tmp_path, "plan", "configs/survey.toml").stdout.split())
    assert "Weighted answers exist for these columns: 'works'" in planned
    assert ("no answer has an interval for a population" in planned) == bool(columns)
