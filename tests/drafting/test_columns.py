"""What becomes of a column: codes stay codes, numbers numbers, weights are recognised, and identifiers are left out."""

from __future__ import annotations

import re

import numpy as np
import pytest

from synthrelease.drafting.codebook import Entry
from synthrelease.drafting.columns import Answers, ColumnDraft, LeftOut, draft_column

RANDOM = np.random.default_rng(7)


def texts_of(values: np.ndarray) -> dict[str, int]:
    different, times = np.unique(values.astype(str), return_counts=True)
    return dict(zip(different.tolist(), times.tolist(), strict=True))


Values = np.ndarray | dict[str, int]


def drafted(source: str, values: Values, entry: Entry | None = None, empty: int = 0) -> ColumnDraft | LeftOut:
    texts = values if isinstance(values, dict) else texts_of(values)
    return draft_column(Answers.of(source, texts, empty, entry or Entry()), ())


def column(source: str, values: Values, entry: Entry | None = None, empty: int = 0) -> ColumnDraft:
    found = drafted(source, values, entry, empty)
    assert isinstance(found, ColumnDraft), found
    return found


@pytest.mark.parametrize(
    ("source", "values", "kind"),
    [
        ("age", RANDOM.integers(0, 95, 9000), "integer"),
        ("children", RANDOM.poisson(1.2, 9000), "integer"),
        ("marital", RANDOM.choice([1, 2, 3, 4, 5, 6], 9000, p=[0.5, 0.06, 0.03, 0.1, 0.01, 0.3]), "code"),
        ("sex", RANDOM.choice([1, 2], 9000), "code"),
        ("state", np.char.zfill(RANDOM.integers(1, 33, 9000).astype(str), 2), "code"),
        ("area", RANDOM.choice([56000, 41000, 10003, 70121, 99], 9000), "code"),  # codes of places, far apart
        ("icd", RANDOM.choice([101, 250, 401, 414, 427, 428, 486, 518, 584, 599, 715, 780, 786, 789, 820, 850],
                              9000), "code"),
        ("temperature", np.round(RANDOM.normal(37, 0.8, 9000), 1), "real"),
        ("income", np.round(RANDOM.lognormal(10, 1, 9000)), "integer"),
        ("sector", RANDOM.choice(["public", "private", "own"], 9000), "category"),
    ],
)  # fmt: skip
def test_codes_stay_codes_and_numbers_numbers(source: str, values: np.ndarray, kind: str) -> None:
    if values.dtype.kind == "f" and (values == np.round(values)).all():
        values = values.astype(int)
    assert column(source, values).kind == kind


def test_no_two_codes_are_ever_merged_into_a_range() -> None:
    found = column("marital", RANDOM.choice([1, 2, 3, 5], 5000, p=[0.9, 0.09, 0.005, 0.005]))
    assert found.bins is None
    assert {text: draft.label for text, draft in found.codes.items()} == {"1": "1", "2": "2", "3": "3", "5": "5"}
    assert "below 1% of its rows: 3, 5" in found.remark


def test_the_codebook_decides_and_gives_labels() -> None:
    entry = Entry(description="Wing", labels={"1": "North", "2": "North", "3": "=SUM(A1)", "8": "East"})
    found = column("wing", texts_of(RANDOM.integers(1, 4, 3000)), entry)
    assert found.kind == "code"
    labels = {text: draft.label for text, draft in found.codes.items()}
    assert labels["1"] == "North (1)"  # two codes do not become one
    assert labels["2"] == "North (2)"
    assert labels["3"].startswith("code")  # no spreadsheet computes it
    assert labels["8"] == "East"  # although no public row has it
    assert (found.codes["8"].rows, found.description) == (0, "Wing")
    number = column("grade", texts_of(RANDOM.choice([10, 20, 30], 3000)), Entry(number=True))
    assert number.kind == "integer"


@pytest.mark.parametrize("name", ["PWGTP", "fnlwgt", "weight", "design_weight", "WT", "FAC_EXP", "Gewicht", "wgt2"])
def test_design_weights_are_recognised_by_name(name: str) -> None:
    assert column(name, RANDOM.integers(20, 4000, 5000)).weight


@pytest.mark.parametrize("name", ["birth_weight", "BIRTHWEIGHT", "body weight", "weighting_class_kg", "age", "height"])
def test_weights_of_bodies_are_none(name: str) -> None:
    assert not column(name, RANDOM.integers(20, 4000, 5000)).weight


def test_a_column_that_is_only_called_weight_is_told_by_its_numbers() -> None:
    assert not column("weight", np.round(RANDOM.normal(76, 14, 5000), 1)).weight
    assert column("weight", np.round(RANDOM.lognormal(4.3, 0.8, 5000), 1)).weight


@pytest.mark.parametrize(
    ("source", "values", "because"),
    [
        ("id", np.arange(5000), "may identify persons"),
        ("PERSON_ID", np.arange(5000), "may identify persons"),
        ("remark", np.array([f"text {i}" for i in range(5000)]), "may identify persons"),
        ("empty", {"?": 5000}, "no values"),
        ("country", {"IL": 5000}, "one value only"),
        ("flag", {"1": 4999, "?": 1}, "nearly all rows have one value"),
        ("large", RANDOM.integers(10**15, 10**16, 20_000), "too large|identify"),
    ],
)
def test_what_is_left_out_and_why(source: str, values: np.ndarray, because: str) -> None:
    found = drafted(source, values)
    assert isinstance(found, LeftOut)
    assert re.search(because, found.because), found.because


def test_of_many_codes_the_rare_ones_stand_together() -> None:
    rows = {f"{100 + code}": 1000 if code < 30 else 1 for code in range(300)}
    found = column("municipality", {f"0{code}": times for code, times in rows.items()})
    assert len(found.codes) == 300  # all are in the codelist
    assert set(found.common) == {f"0{100 + code}" for code in range(30)}
    assert found.n_bins == 31
    assert found.alternative == "common"


def test_missing_values_are_a_bin_where_they_are_more_than_a_few() -> None:
    few, many = (column("age", texts_of(RANDOM.integers(0, 80, 9000)), empty=rows) for rows in (20, 21))
    assert not few.keeps_missing
    assert many.keeps_missing
    entry = Entry(labels={"1": "yes", "2": "no", "97": "Not applicable"}, missing=frozenset(["97"]))
    found = column("pregnant", {"1": 60, "2": 900, "97": 4000}, entry)
    assert (found.missing_values, found.missing_label, found.missing_rows) == (("97",), "Not applicable", 4000)
