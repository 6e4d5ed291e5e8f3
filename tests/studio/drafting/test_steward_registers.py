"""Shapes of survey and administrative files that drafts mistook, each with made-up values."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.marginals import with_pairs
from synthrelease.studio.drafting.coarser import Floor, _frequent
from synthrelease.studio.drafting.column_draft import CodeDraft, ColumnDraft, LeftOut
from synthrelease.studio.drafting.columns import with_one_weight
from synthrelease.studio.drafting.criteria import _about_gaps
from tests.studio.drafting.test_kinds import column, drafted

N = 2_000


def test_an_equivalised_size_is_a_number_although_it_tells_the_size(tmp_path: Path) -> None:
    """1, and 0.5 or 0.3 for each further adult or child: each number has one number of members, but larger is not more."""
    random = np.random.default_rng(1)
    adults = random.choice([1, 2, 3, 4, 5], N, p=[0.25, 0.45, 0.15, 0.1, 0.05])
    children = random.choice([0, 1, 2, 3, 4], N, p=[0.5, 0.2, 0.2, 0.06, 0.04])
    frame = pd.DataFrame({"members": adults + children, "eqss": np.round(1 + 0.5 * (adults - 1) + 0.3 * children, 1)})
    frame = frame.assign(income=np.round(random.lognormal(7, 0.5, N) * (1 + adults / 4)), region=random.choice(["n", "s"], N))
    found = column(drafted(frame, tmp_path), "eqss")
    assert (found.kind, found.doubt) == ("real", "")


def test_prices_of_a_list_are_numbers_and_codes_with_a_point_stay_codes(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    shares = np.exp(random.normal(0, 1.3, 25))
    article = random.choice(25, 3 * N, p=shares / shares.sum())
    prices = np.sort(random.choice(np.arange(950, 3600, 25), 25, replace=False)) / 100
    kinds, like = random.integers(0, 4, 25)[article], random.random(3 * N) < 0.7
    frame = pd.DataFrame(
        {
            "price": prices[article],
            "nace": np.array([f"{10 + n // 3}.{1 + n % 3}" for n in random.permutation(25)])[article],
            "kind": np.array(["a", "b", "c", "d"])[np.where(like, kinds, random.integers(0, 4, 3 * N))],
        }
    )
    found = drafted(frame, tmp_path)
    assert (column(found, "price").kind, column(found, "nace").kind) == ("real", "code")


def test_the_number_of_a_unit_is_left_out_and_its_weights_are_weights(tmp_path: Path) -> None:
    """As in a survey of enterprises and their employees, whose employees' weights are 1 or 10."""
    random = np.random.default_rng(3)
    unit = random.integers(0, 300, N)
    frame = pd.DataFrame(
        {
            "IDunit": random.permutation(90_000)[:300][unit] + 1,
            "weightsEmployers": np.round(1 + 5 * random.random(300), 6)[unit],
            "weightsEmployees": np.array([1, 1, 10, 4])[unit % 4],
            "weight_class": random.integers(1, 5, N),
        }
    )
    frame["weights"] = frame["weightsEmployers"] * frame["weightsEmployees"]
    found = drafted(frame, tmp_path)
    assert isinstance(found["IDunit"], LeftOut)
    kept, gone = with_one_weight([each for each in found.values() if isinstance(each, ColumnDraft)], [])
    assert {each.source: each.weight for each in kept} == {"weights": True, "weight_class": False}
    assert {each.source for each in gone} == {"weightsEmployers", "weightsEmployees"}


@pytest.mark.parametrize(
    ("weight", "others"),
    [("w", ("ward", "wave", "w_type")), ("weight", ("weight_loss", "weighttype", "weight_known", "weight_4"))],
)
def test_codes_whose_name_only_begins_like_a_weight_s_stay(weight: str, others: tuple[str, ...]) -> None:
    def of(name: str, *texts: str) -> ColumnDraft:
        codes = {text: CodeDraft(label=text, rows=9) for text in texts}
        return ColumnDraft(source=name, name=name, kind="code", codes=codes, remark="", weight=name == weight)

    texts = {"weight_known": ("1", "9"), "weight_4": ("1", "2", "3")}
    columns = [of(weight), *(of(name, *texts.get(name, ("1", "4", "10"))) for name in others)]
    assert with_one_weight(columns, []) == (columns, [])


@pytest.mark.parametrize("label", ["Household cross-sectional weight", "Longitudinal base weight", "Personal weight"])
def test_a_label_says_that_a_column_is_a_weight(label: str, tmp_path: Path) -> None:
    random = np.random.default_rng(6)
    frame = pd.DataFrame({"db090": random.uniform(300, 900, 60)[np.arange(N) % 60], "pay": random.integers(1, 99, N)})
    book = {"db090": {"description": label}, "pay": "Weight of the body in kg"}
    found = drafted(frame, tmp_path, book)
    assert (column(found, "db090").weight, column(found, "pay").weight) == (True, False)


def test_not_known_in_a_word_is_a_missing_answer(tmp_path: Path) -> None:
    answers = np.random.default_rng(4).choice(["n", "nk", "y"], N, p=[0.6, 0.1, 0.3])
    found = column(drafted(pd.DataFrame({"stroke": answers, "other": answers[::-1]}), tmp_path), "stroke")
    assert found.missing_values == ("nk",)


@pytest.mark.parametrize(("same", "children"), [(True, 0.2), (False, 0.2), (True, 0.002)])
def test_columns_that_are_missing_in_the_same_rows_have_one_rule_each(same: bool, children: float) -> None:
    """As all questions for persons of 16 and more: other rules are about one of these columns alone."""
    random = np.random.default_rng(5)
    child = random.random(N) < children
    names, sizes = ("size", "land", "status", "ill"), (4, 5, 3, 4)
    asked = [~child, *[~child if same else random.random(N) < 0.8] * 2]
    size = np.where(child, random.integers(1, 4, N), random.integers(0, 4, N))
    answers = [np.where(rows, random.integers(0, n - 1, N), n - 1) for rows, n in zip(asked, sizes[1:], strict=True)]
    table = Counts.of(Layout(columns=names, sizes=sizes), [size, *answers])
    labels = [tuple(map(str, range(n))) for n in sizes]
    gaps = [None, *(n - 1 for n in sizes[1:])]
    binnings = [
        SimpleNamespace(lower=(), labels=texts, missing=gap, present=len(texts) - (gap is not None))
        for texts, gap in zip(labels, gaps, strict=True)
    ]
    columns = [SimpleNamespace(name=n, atoms=SimpleNamespace(labels=texts)) for n, texts in zip(names, labels, strict=True)]
    schema: Any = SimpleNamespace(names=names, columns=columns)
    rules = {rule.never: rule.expected for rule in _about_gaps(schema, binnings, with_pairs(table), ())}  # type: ignore[arg-type]
    never = "(status is missing and {0} is not missing) or (status is not missing and {0} is missing)"
    joined = {never.format("land"), never.format("ill")}
    if children < 0.2:
        assert not rules  # it would remove few rows
        return
    assert (joined <= rules.keys()) == same  # the column with the fewest bins leads
    if same:
        assert rules.keys() - joined == {"size == '0' and status is missing"}
        assert rules[never.format("ill")] == pytest.approx(2 * child.sum() * (1 - child.mean()))


def test_wider_bins_ask_once_about_all_rare_codes() -> None:
    rows = {"1": 600, "2": 300, "3": 60, "4": 30, "5": 10}
    codes = {text: CodeDraft(label=f"job {text}", rows=n) for text, n in rows.items()}
    first = ColumnDraft(source="job", name="job", kind="code", codes=codes, remark="")
    for share in (0.05, 0.2, 0.5):
        first = _frequent(first, np.array([*rows.values()]), Floor(share=share, most=0, least=""))
    assert first.doubt.count("rare codes with a label") == 1
    assert "'job 2', 'job 3', 'job 4', 'job 5'" in first.doubt
