"""The order that texts say, and coarser bins of ordered and of nested categories.

Reported in the issues of these repositories on GitHub.

| reported in | shape | what a draft does |
|---|---|---|
| cogstat/cogstat#126 | ordinal data as words | an order |
| quallmer/quallmer#165 | low, medium and high ranked by the alphabet | the order of the words |
| OpenUpSA/censusreporter#63 | classes of income in dollars | the order of the amounts |
| rubyforgood/awbw#710 | ranges of ages beside words | the order of the ages |
| gkaramanis/tidytuesday#6 | age groups out of order | the order of the ages |
"""

from __future__ import annotations

import random
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthrelease.enclave.ingest import read_public
from synthrelease.spec.load import load_spec
from synthrelease.studio.drafting.categories import in_their_order, with_levels_joined, with_neighbours_joined
from synthrelease.studio.drafting.column_draft import CodeDraft, ColumnDraft, LeftOut
from tests.helpers.drafts import write_draft
from tests.studio.drafting.test_kinds import column, drafted

IN_ORDER = (
    ["<20", "[20-30)", "[30-40)", "[40-50)", ">50"],
    ["0-35", "35-55", "55<="],  # a course of the Open University
    ["none", "under 10", "10-19", "20 ≤"],
    ["(0.0, 20.0]", "(20.0, 30.0]", "(30.0, 100.0]"],
    ["under 5", "5 to 9", "10 to 14", "15 to 64", "65 and over"],
    ["unter 10 Jahre", "10 bis unter 15 Jahre", "15 bis unter 20 Jahre", "20 Jahre und mehr"],
    ["18 à 24 ans", "25 à 34 ans", "plus de 35 ans"],
    ["Less than $10,000", "$10,000 to $14,999", "$15,000 to $199,999", "$200,000 or more"],
    ["none", "1 child", "2 children", "3 or more children"],
    ["0", "1-4", "5-9", "10+"],
    ["<5%", "5-10%", ">10%"],
    ["0", "1", "2", "3", "4+"],
    ["<5", "5", "6", "7"],
    ["Age 0-4", "Age 5-9", "Age 85+"],
    ["strongly disagree", "disagree", "neither agree nor disagree", "agree", "strongly agree"],
    ["very dissatisfied", "dissatisfied", "satisfied", "very satisfied"],
    ["1. low", "2. medium", "3. high"],
    ["Very poor", "poor", "fair", "good", "very good", "excellent"],
    ["Poor", "Not good", "Fair", "Good", "Excellent"],
    ["Very unhappy", "Not too happy", "Somewhat happy", "Very happy"],
    ["Too Little", "About Right", "Too Much"],
    ["Never attended school", "Elementary school", "Junior high school", "Senior high school", "Junior college", "University"],
    ["schlecht", "mittelmäßig", "gut", "sehr gut"],
    ["Not at all", "Several days", "More than half the days", "Nearly every day"],
    ["never", "rarely", "sometimes", "often", "always"],
    ["none", "mild", "moderate", "severe", "fatal"],
    ["Stage I", "Stage II", "Stage III", "Stage IV"],
    ["E10_49", "E50_249", "E250_499", "E500_999", "E1000"],  # sizes of enterprises, as Eurostat writes them
    ["Y_LT15", "Y15-24", "Y25-64", "Y_GE65"],
    ["(-1,0]", "(0,5]", "(5,9]", "(9,14]", "(14,Inf]"],
    ["None", "One", "Two", "Three", "Four or more"],
    ["never", "once", "twice", "three times or more"],
    ["eins", "zwei", "drei und mehr"],
    ["One", "Two", "Three"],
    ["Once", "Twice", "Three times"],
    ["ISCED 0 and 1", "ISCED 2", "ISCED 3 and 4", "ISCED 5A", "ISCED 5B"],
    ["Jan", "Feb", "Mar", "Dec"],
    ["Montag", "Dienstag", "Mittwoch", "Sonntag"],
    ["XS", "S", "M", "L", "XL"],
    ["niedrig", "mittel", "hoch"],
)


@pytest.mark.parametrize("texts", IN_ORDER, ids=lambda texts: texts[1])
def test_the_words_say_the_order_whatever_the_order_of_the_file(texts: list[str]) -> None:
    for seed in range(5):
        assert in_their_order(random.Random(seed).sample(texts, len(texts))) == texts


@pytest.mark.parametrize(
    "texts",
    [
        ["red", "green", "blue"],
        ["north", "low", "high"],
        ["11", "12", "21", "31-33", "44-45"],  # industries
        ["2019-01", "2019-02", "2020-05"],
        ["A-12", "A-13", "B-1"],
        ["1-10", "5-20", "15-30"],  # ranges that overlap
        ["18<", "18-30", "30-40"],  # the first is 18 and more as it is written, and under 18 by its neighbours
        ["under 20", "5-14", "20+"],
        ["one", "north", "south"],
        ["DE11", "DE12", "DE13"],
        ["under 6 months", "6 to 11 months", "1-4 years"],  # two units
        ["1. France", "2. Spain", "3. Italy"],
        ["low", "high"],  # of two no order is needed
        ["agree", "satisfied", "likely"],
    ],
    ids=lambda texts: texts[0],
)
def test_words_that_say_no_order_have_none(texts: list[str]) -> None:
    assert in_their_order(texts) is None


def ordered(rows: dict[str, int], **more: object) -> ColumnDraft:
    codes = {text: CodeDraft(label=text, rows=times) for text, times in rows.items()}
    return ColumnDraft(name="x", source="x", kind="category", remark="", codes=codes, **more)  # type: ignore[arg-type]


def test_neighbours_join_and_never_the_rare_ones_with_each_other() -> None:
    """The youngest and the oldest are rare: each joins its neighbour. Every group is a run of the order, and large enough."""
    rows = {"0-4": 10, "5-14": 400, "15-24": 20, "25-44": 700, "45-64": 600, "65-84": 30, "85+": 5}
    column = with_neighbours_joined(ordered(rows, ordered=True), 0.05)
    texts = list(rows)
    assert [text for group in column.groups.values() for text in group] == texts
    assert all(sum(rows[text] for text in group) >= 0.05 * sum(rows.values()) for group in column.groups.values())
    assert list(column.groups) == ["0-4 or 5-14", "15-24 or 25-44", "45-64 to 85+"]
    assert column.n_bins == 3


def test_rare_categories_join_within_their_larger_one() -> None:
    rows = {"wheat": 500, "rye": 9, "oats": 8, "steel": 400, "tin": 7, "salt": 6, "gas": 2}
    home = {"wheat": "farm", "rye": "farm", "oats": "farm", "steel": "metal", "tin": "metal", "salt": "mine", "gas": "mine"}
    found = with_levels_joined(ordered(rows, within=home), 0.05)
    assert found.groups == {
        "wheat": ("wheat",), "other: farm": ("rye", "oats"), "steel": ("steel",), "tin": ("tin",), "mine": ("salt", "gas"),
    }  # fmt: skip


def test_levels_are_found_whichever_is_named_first(tmp_path: Path) -> None:
    chance = np.random.default_rng(3)
    industry = chance.choice(12, 1500)
    sector = np.array(["farm", "works", "trade"])[industry // 4]
    named = np.array(list("abcdefghijkl"))[industry]
    frame = pd.DataFrame({"industry": named, "sector": sector, "x": chance.integers(0, 90, 1500)})
    found = drafted(frame, tmp_path)
    assert column(found, "industry").within == {"abcdefghijkl"[k]: ["farm", "works", "trade"][k // 4] for k in range(12)}
    assert not column(found, "sector").within
    for row in (0, 1499):  # one row says otherwise
        other = frame.copy()
        other.loc[row, "sector"] = "trade" if frame.loc[row, "sector"] != "trade" else "farm"
        assert not column(drafted(other, tmp_path), "industry").within


def test_a_scale_that_a_codebook_names_has_the_order_of_its_labels(tmp_path: Path) -> None:
    chance = np.random.default_rng(4)
    frame = pd.DataFrame({"trust": chance.choice([1, 2, 3, 4, 5], 900), "x": chance.integers(0, 90, 900)})
    labels = {"1": "agree", "2": "disagree", "3": "strongly agree", "4": "neutral", "5": "strongly disagree"}
    found = column(drafted(frame, tmp_path, {"trust": {"values": labels}}), "trust")
    assert found.ordered
    assert [code.label for code in found.codes.values()] == [
        "strongly disagree",
        "disagree",
        "neutral",
        "agree",
        "strongly agree",
    ]


@pytest.mark.slow
def test_a_draft_of_grouped_neighbours_is_read_as_it_says(tmp_path: Path) -> None:
    """Sixty bands of ages are too many to stand by themselves: every row is in the group that names its band."""
    chance = np.random.default_rng(5)
    bands = [f"{low} to {low + 1}" for low in range(0, 120, 2)]
    ages = np.minimum(chance.gamma(6, 7, 1500), 119).astype(int)
    frame = pd.DataFrame({"age": [bands[age // 2] for age in ages.tolist()], "sex": chance.choice(["f", "m"], 1500)})
    frame["ill"] = np.where(chance.random(1500) < ages / 120, "yes", "no")
    frame.to_csv(tmp_path / "public.csv", index=False)
    configuration, _, draft = write_draft("ages", tmp_path / "public.csv", tmp_path, unit="row")
    drafted_age = next(one for one in draft.columns if one.name == "age")
    spec = load_spec(configuration)
    table = read_public(tmp_path / "public.csv", spec.schema, spec.input, spec.raw)
    transformation = spec.space[0].transformation
    place = table.layout.columns.index("age")
    found = table.merge(transformation.layout, transformation.maps).marginal((place,))
    expected = {label: int(frame["age"].isin(group).sum()) for label, group in drafted_age.groups.items()}
    assert len(expected) > 2
    assert dict(zip(transformation.binnings[place].labels, found.tolist(), strict=True)) == expected
    assert spec.schema["age"].ordered


def test_ages_with_an_open_class_are_drafted_in_groups_of_years(tmp_path: Path) -> None:
    """Such a column was left out, or had its 39 most frequent ages and all others in one bin."""
    random = np.random.default_rng(8)
    ages = random.integers(0, 100, 6_000)
    frame = pd.DataFrame({"age": np.where(ages >= 90, "90+", ages.astype(str)), "sex": random.choice(["F", "M"], 6_000)})
    found = column(drafted(frame, tmp_path), "age")
    groups = {f"{low} to {low + 4}": tuple(map(str, range(low, low + 5))) for low in range(0, 90, 5)} | {"90+": ("90+",)}
    assert found.ordered
    assert found.groups == groups
    between = np.where(ages < 3, "<3", np.where(ages >= 62, "62+", ages.astype(str)))
    labels = list(column(drafted(frame.assign(age=between), tmp_path), "age").groups)
    assert (labels[:2], labels[-2:]) == (["<3", "3 to 4"], ["60 to 61", "62+"])


def test_measurements_with_an_open_class_are_drafted_in_groups_of_neighbours(tmp_path: Path) -> None:
    """One place decides what an open class is (`in_their_order`). Of more than 150 texts, the spelling is refused instead."""
    random = np.random.default_rng(8)
    rates, sex = 1 + random.integers(0, 100, 6_000) / 2, random.choice(["F", "M"], 6_000)
    below = np.where(rates < 3, "below 3", np.where(rates >= 50, "50 or more", rates.astype(str)))
    found = column(drafted(pd.DataFrame({"rate": below, "sex": sex}), tmp_path), "rate")
    assert found.ordered
    assert 10 < len(found.groups) <= 40
    assert list(chain.from_iterable(found.groups.values())) == ["below 3", *map(str, np.arange(3, 50, 0.5)), "50 or more"]
    finer = np.where(rates < 3, "<3", (rates + random.integers(0, 5, 6_000) / 10).astype(str))
    assert isinstance(drafted(pd.DataFrame({"rate": finer, "sex": sex}), tmp_path)["rate"], LeftOut)
