"""A drawn surrogate: how near it is to its facts, on labour-force tables, and how it is written."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthrelease.errors import OutputError, SpecError
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.studio.rehearsal import surrogates as writing
from synthrelease.studio.rehearsal.surrogates import simulate, systematic_orders, write_table
from tests.conftest import ROOT

FACTS = Path(__file__).parent / "data" / "labour_force.toml"
N = 20_011  # a prime: no expected count is whole by chance


@pytest.fixture(scope="module")
def survey() -> pd.DataFrame:
    drawn = pd.DataFrame(simulate(FACTS, N))
    drawn["band"] = pd.cut(drawn["age"], [14, 24, 54, 74], labels=["15-24", "25-54", "55-74"]).astype(str)
    return drawn


def from_text(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "facts.toml"
    path.write_text(f'title = "t"\nsources = {{ book = "b" }}\n{text}', encoding="utf-8")
    return path


@given(sizes=st.lists(st.integers(0, 30), min_size=1, max_size=6), seed=st.integers(0, 10**6), end=st.floats(0, 1))
def test_every_share_of_a_group_gets_its_rows_rounded_down_or_up(sizes: list[int], seed: int, end: float) -> None:
    """Orders (k + u) / m: how many lie below p is the number of k < p m - u, which is within one of p m."""
    generator = SeededEntropy(seed).generator()
    group = generator.permutation(np.repeat(np.arange(len(sizes)), sizes))
    orders = systematic_orders(group, generator)
    assert len(orders) == sum(sizes)
    for number, size in enumerate(sizes):
        mine = orders[group == number]
        assert ((mine >= 0) & (mine < 1)).all()
        assert abs((mine < end).sum() - end * size) <= 1


def test_a_one_way_table_is_met_to_within_one_row(survey: pd.DataFrame) -> None:
    """A column without givens is one systematic sample of all rows, and a band is one interval of its orders."""
    for band, share in {"15-24": 0.15, "25-54": 0.55, "55-74": 0.30}.items():
        assert abs((survey["band"] == band).sum() - share * N) < 1


def test_a_table_alone_is_met_to_within_one_row_in_each_of_its_rows(survey: pd.DataFrame) -> None:
    """The rows of one given band are one systematic sample."""
    percent = {"15-24": [40, 50, 10], "25-54": [15, 45, 40], "55-74": [30, 45, 25]}
    for band, shares in percent.items():
        mine = survey[survey["band"] == band]["education"]
        for name, share in zip(["low", "middle", "high"], shares, strict=True):
            assert abs((mine == name).sum() - share / 100 * len(mine)) < 1


def test_two_tables_of_one_column_are_both_met_within_the_rounding_of_their_groups(survey: pd.DataFrame) -> None:
    """Status is sampled in 9 groups, age band x education, each within one row of its share.

    A row of the table by age has 3 of the groups, so 3 rows from sampling them; and each group's size is itself within one
    row of its share of the age band, which moves the expected count by less than 3 rows more: below 6. A row of the table by
    education also has 3 groups, whose sizes are within 1 + 1 rows of their share of all rows (age band, then education), so
    3 + 6 rows, and its own size is off by up to 6 as well: below 15.
    """
    names = ["employed", "unemployed", "inactive"]
    by_age = {"15-24": [40, 8, 52], "25-54": [82, 5, 13], "55-74": [35, 2, 63]}
    by_education = {
        "low": [97.65, 13.95, 120.9], "middle": [283.65, 21.045, 152.805], "high": [234.7, 10.505, 64.795],
    }  # fmt: skip
    for column, table, bound in [("band", by_age, 6), ("education", by_education, 15)]:
        for label, figures in table.items():
            mine = survey[survey[column] == label]["status"]
            for name, figure in zip(names, figures, strict=True):
                assert abs((mine == name).sum() - figure / sum(figures) * len(mine)) < bound


def test_conditional_means_are_met_within_the_range_over_the_number_of_rows(survey: pd.DataFrame) -> None:
    """Evenly spaced orders put one point into each of m slices of equal probability, up to the offset: their mean differs from
    the mean of a rising quantile function by less than its range / m. Rounding to 0.1 adds at most 0.05."""
    for statuses, mean, deviation in [(["employed"], 37.2, 10.5), (["unemployed", "inactive"], 1.5, 3.0)]:
        hours = survey[survey["status"].isin(statuses)]["hours"]
        assert abs(hours.mean() - mean) <= 98 / len(hours) + 0.05
        assert hours.std() == pytest.approx(deviation, rel=0.02)


def test_real_numbers_keep_to_their_bands_and_decimals(survey: pd.DataFrame) -> None:
    income = survey["income"]
    assert ((income >= 0) & (income < 9000)).all()
    assert (income == income.round(2)).all()
    mine = income[(survey["education"] == "low") & (survey["status"] == "employed")]
    for low, high, share in [(0, 1500, 0.5), (1500, 3000, 0.4), (3000, 9000, 0.1)]:
        assert abs(((mine >= low) & (mine < high)).sum() - share * len(mine)) < 1


def test_a_column_can_be_given_one_that_was_drawn_from_means(survey: pd.DataFrame) -> None:
    for low, high, share in [(0, 20, 0.1), (20, 40, 0.4), (40, 98, 0.7)]:
        mine = survey[(survey["hours"] >= low) & (survey["hours"] < high)]
        assert abs((mine["tired"] == "yes").sum() - share * len(mine)) < 1


def test_months_of_a_quarter_come_out_even(survey: pd.DataFrame) -> None:
    """A quarter is met within one row, and its months are one systematic sample of it."""
    months = survey["interview"].value_counts()
    assert set(months.index) == {f"2023-{month:02d}-01" for month in range(1, 13)}
    for quarter, share in enumerate([0.24, 0.26, 0.23, 0.27]):
        counts = [months[f"2023-{3 * quarter + month:02d}-01"] for month in (1, 2, 3)]
        assert abs(sum(counts) - share * N) < 1
        assert max(counts) - min(counts) <= 1


def test_columns_stand_as_in_the_file_though_some_are_drawn_later(survey: pd.DataFrame) -> None:
    assert list(survey)[:-1] == ["interview", "status", "age", "education", "hours", "income", "tired"]


def test_columns_of_one_group_are_independent(survey: pd.DataFrame) -> None:
    """Age within a band has no table with status: their correlation is that of random order, 1 / sqrt(m) in size."""
    mine = survey[survey["band"] == "25-54"]
    correlation = np.corrcoef(mine["age"], mine["status"] == "employed")[0, 1]
    assert abs(correlation) < 4 / np.sqrt(len(mine))


THREE = '[columns.{0}]\nkind = "category"\ncategories = ["a", "b", "c"]\n'


def test_two_tables_that_almost_agree_are_met_halfway(tmp_path: Path) -> None:
    tables = (
        '[tables.one]\nof = "x"\nrows = [["a", 50], ["b + c", 50]]\n[tables.two]\nof = "x"\nrows = [["a", 51], ["b + c", 49]]'
    )
    drawn = pd.DataFrame(simulate(from_text(tmp_path, THREE.format("x") + tables), 1000))
    assert abs((drawn["x"] == "a").sum() - 505) < 1


def test_a_band_that_never_occurs_needs_no_fit(tmp_path: Path) -> None:
    text = THREE.format("g") + THREE.format("x") + '[tables.g]\nof = "g"\nrows = [["a", 1], ["b", 2], ["c", 0]]\n'
    text += (
        '[tables.x]\nof = "x"\ngiven = "g"\nacross = ["a", "b", "c"]\nrows = [["a", 1, 0, 0], ["b", 0, 1, 0], ["c", 0, 0, 1]]'
    )
    drawn = pd.DataFrame(simulate(from_text(tmp_path, text), 300))
    assert drawn.value_counts(["g", "x"]).to_dict() == {("b", "b"): 200, ("a", "a"): 100}


def test_a_single_row_can_be_drawn() -> None:
    assert {len(values) for values in simulate(FACTS, 1).values()} == {1}


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path: Path, suffix: str) -> None:
    one, same, other = (
        write_table(simulate(FACTS, 500, seed), tmp_path / f"{name}{suffix}").read_bytes()
        for name, seed in [("one", 1), ("same", 1), ("other", 2)]
    )
    assert one == same
    assert one != other


def test_all_formats_hold_the_same_table(tmp_path: Path) -> None:
    drawn = simulate(FACTS, 200)
    plain, packed = (write_table(drawn, tmp_path / f"t{suffix}") for suffix in (".csv", ".csv.gz"))
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    assert packed.read_bytes()[3:8] == bytes(5)  # the header has neither a name nor a time
    pd.testing.assert_frame_equal(pd.read_csv(plain), pd.DataFrame(drawn))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.csv", "t.csv.gz"]  # nothing temporary stays


def test_another_file_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("keep me", encoding="utf-8")
    with pytest.raises(OutputError) as caught:
        write_table({"x": np.array([1])}, path)
    assert str(caught.value) == f"{path} exists already. Nothing was overwritten. Choose another name."
    assert path.read_text(encoding="utf-8") == "keep me"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("table.xlsx", "the name of the file must end in .csv or .csv.gz."),
        ("absent/table.csv", "the folder {parent} does not exist. Create it, or choose another folder."),
    ],
)
def test_a_path_that_cannot_be_written_is_told(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(OutputError) as caught:
        write_table({"x": np.array([1])}, tmp_path / name)
    assert str(caught.value) == f"{tmp_path / name}: {message.format(parent=tmp_path / 'absent')}"


def test_a_failing_disk_is_told_and_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing, "_write_csv", full)
    with pytest.raises(OutputError, match=r"Cannot write the table .*\(No space left on device\)"):
        write_table({"x": np.array([1])}, tmp_path / "table.csv")
    assert list(tmp_path.iterdir()) == []


def test_the_simple_facts_of_births_give_their_own_means_and_margins() -> None:
    """One-way, conditional and mean figures as on the labour force; weeks by parity, one of two reconciled tables, come out
    within 8 per thousand: 3 for the disagreement of rounded tables, the rest for 9 sampled groups among 3000 births."""
    births = pd.DataFrame(simulate(ROOT / "public_data" / "births_simple_facts.toml", 20_000))
    assert births["date_of_birth"].str.fullmatch(r"2019-(0[1-9]|1[0-2])-15").all()
    assert abs(births["mother_age"].between(30, 34).sum() - 0.28747 * 20_000) < 1
    first = births[births["mother_age"].between(25, 29)]
    assert abs((first["parity"] == 1).sum() - 383 / 1001 * len(first)) < 1  # the row adds up to 1001
    girls_at_39 = births[(births["gestation_week"] == 39) & (births["is_female"] == "True")]["birth_weight"]
    assert abs(girls_at_39.mean() - 3337) <= (7750 - 240) / len(girls_at_39) + 0.5
    for parity, week_39 in {1: 277, 2: 350, 3: 341}.items():
        mine = births[births["parity"] == parity]["gestation_week"]
        assert (mine == 39).mean() * 1000 == pytest.approx(week_39, abs=8)


GAPS = """title = "Jobs"
[sources]
x = "invented"
[columns.status]
kind = "category"
categories = ["works", "does not"]
[columns.age]
kind = "integer"
bounds = [15, 80]
[columns.hours]
kind = "integer"
bounds = [1, 60]
gaps = 0.2
skipped = "status == 'does not' or age > 70"
[tables.status]
of = "status"
across = ["works", "does not"]
rows = [[0.6, 0.4]]
[tables.age]
of = "age"
across = ["15-80"]
rows = [[1]]
[tables.hours]
of = "hours"
across = ["1-60"]
rows = [[1]]
"""


def test_answers_go_missing_and_nobody_is_asked_under_a_condition(tmp_path: Path) -> None:
    (tmp_path / "facts.toml").write_text(GAPS)
    table = simulate(tmp_path / "facts.toml", 5000, seed=3)
    missing = np.array([value is None for value in table["hours"]])
    skipped = (table["status"] == "does not") | (table["age"] > 70)
    assert missing[skipped].all()
    assert missing[~skipped].mean() == pytest.approx(0.2, abs=0.03)
    (tmp_path / "whole.toml").write_text(GAPS.replace("gaps = 0.2\n", "").replace("skipped", "description"))
    whole = simulate(tmp_path / "whole.toml", 5000, seed=3)
    assert (table["hours"][~missing] == whole["hours"][~missing]).all()  # what is answered is the same
    assert (table["age"] == whole["age"]).all()
    lines = write_table(table, tmp_path / "jobs.csv").read_text().splitlines()
    assert sum(line.endswith(",") for line in lines) == missing.sum()


def test_a_skip_names_other_columns(tmp_path: Path) -> None:
    (tmp_path / "facts.toml").write_text(GAPS.replace("age > 70", "hours > 3"))
    with pytest.raises(SpecError, match="columns.hours.skipped"):
        simulate(tmp_path / "facts.toml", 10)
