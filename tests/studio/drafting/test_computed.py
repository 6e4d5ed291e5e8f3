"""Columns that are a sum, a product or a ratio of others, against every set of columns by the definition."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from synthrelease.scouting.codebook import CodebookEntry
from synthrelease.studio.drafting.column_draft import Answers
from synthrelease.studio.drafting.computed import computed_columns
from synthrelease.studio.drafting.public_file import PublicRows

N = 400


def asked(columns: dict[str, np.ndarray], decimals: dict[str, int] | None = None) -> dict[str, str]:
    """The formula of each column that is asked about. NaN is a missing answer."""
    answers, texts, codes = dict[str, Answers](), dict[str, list[str]](), dict[str, np.ndarray]()
    for name, values in columns.items():
        written = [f"{value:.{(decimals or {}).get(name, 0)}f}" for value in values.tolist()]
        texts[name] = sorted({*written} - {"nan"})
        codes[name] = np.array([texts[name].index(text) if text != "nan" else -1 for text in written])
        answers[name] = Answers.of(name, {text: written.count(text) for text in texts[name]}, 0, CodebookEntry())
    questions = computed_columns(answers, PublicRows(texts=texts, codes=codes))
    formulas = {name: why.partition("this column ")[2].partition(" (up to")[0] for name, why in questions.items()}
    return {name: formula.removeprefix("equals ") for name, formula in formulas.items()}


def amounts(seed: int, *names: str) -> dict[str, np.ndarray]:
    source = np.random.default_rng(seed)
    return {name: source.integers(0, 5000, N) * (source.random(N) < 0.8).astype(float) for name in names}


@pytest.mark.parametrize("seed", range(12))
def test_sums_are_those_that_hold_in_99_of_100_rows(seed: int) -> None:
    """Against all sets of two and three columns. Totals of random columns, each wrong in 0 to 3% of the rows."""
    source = np.random.default_rng(seed)
    columns = amounts(seed, *"abcdef")
    for total in "xyz":
        terms = source.choice([*"abcdef"], source.integers(2, 4), replace=False)
        columns[total] = sum(columns[term] for term in terms) + 7 * (source.random(N) < source.choice([0, 0.003, 0.03]))
    columns["b"][source.random(N) < 0.2] = np.nan
    columns = {name: columns[name] for name in source.permutation([*columns])}
    expected = dict[str, set[str]]()
    for size in (2, 3):
        for total in columns:
            for terms in combinations([name for name in columns if name != total], size):
                off = sum(columns[term] for term in terms) - columns[total]
                if (off[~np.isnan(off)] == 0).mean() >= 0.99:
                    expected.setdefault(total, {*terms})
    assert {total: {*formula.split(" + ")} for total, formula in asked(columns).items()} == expected


def test_ratios_and_products_are_found_whatever_their_unit_and_decimals() -> None:
    source = np.random.default_rng(3)
    kilograms, metres = source.normal(75, 12, N).round(1), source.normal(1.7, 0.1, N).round(2)
    persons, cases = source.integers(2_000, 90_000, N).astype(float), source.integers(20, 900, N).astype(float)
    price, pieces = source.integers(100, 900, N) / 100, source.integers(1, 60, N).astype(float)
    columns = {"kg": kilograms, "m": metres, "bmi": kilograms / metres**2, "persons": persons, "cases": cases}
    columns |= {"rate": cases / persons * 100_000, "price": price, "pieces": pieces, "paid": price * pieces}
    decimals = {"kg": 1, "m": 2, "bmi": 1, "rate": 1, "price": 2, "paid": 2}
    assert asked(columns, decimals) == {
        "bmi": "is proportional to kg / m^2",
        "rate": "is proportional to cases / persons",
        "paid": "is proportional to price * pieces",
    }
    columns["rate"] *= source.uniform(0.95, 1.05, N)
    columns["bmi"] *= source.uniform(0.99, 1.01, N)
    assert set(asked(columns, decimals)) == {"paid"}


def test_a_difference_is_named_by_its_sum_and_cents_may_be_rounded() -> None:
    source = np.random.default_rng(4)
    gross, tax = source.uniform(1000, 9000, N), source.uniform(10, 900, N)
    assert asked({"gross": gross, "tax": tax, "net": gross - tax}, {"gross": 1, "tax": 1, "net": 1}) == {"gross": "tax + net"}


@pytest.mark.parametrize("seed", range(4))
def test_other_columns_are_not_asked_about(seed: int) -> None:
    """Thirty independent columns, small counts among them, and columns that are zero in most rows."""
    source = np.random.default_rng(seed)
    columns = {f"count{i}": source.poisson(9, N).astype(float) for i in range(12)}
    columns |= {f"amount{i}": source.integers(1, 900, N) * (source.random(N) < 0.1 * i).astype(float) for i in range(1, 10)}
    columns |= {f"score{i}": source.normal(50, 9, N) for i in range(9)}
    assert asked(columns, {f"score{i}": i % 3 for i in range(9)}) == {}


def test_a_term_that_is_nearly_always_zero_makes_no_sum() -> None:
    columns = amounts(5, "wage", "other")
    columns["gift"] = np.where(np.arange(N) % 40 == 0, np.arange(N), 0).astype(float)
    assert asked(columns | {"total": columns["wage"] + columns["gift"]}) == {}
