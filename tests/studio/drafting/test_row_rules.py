"""Rules between two columns of a row, which `init` proposes where they hold without exception and would not by chance."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthrelease.spec.load import load_spec
from tests.helpers.drafts import write_draft


def pay(n: int = 3000) -> dict[str, np.ndarray]:
    """Wage, capital and benefit, and their sum; years at school; a price in cents, and what was paid of it."""
    draw = np.random.default_rng(4)
    age = draw.integers(16, 80, n)
    wage = np.where(draw.random(n) < 0.6, draw.lognormal(9.5, 0.6, n), 0).astype(int)
    capital = np.where(draw.random(n) < 0.3, draw.lognormal(7, 1, n), 0).astype(int)
    benefit = np.where(wage == 0, draw.normal(9000, 2000, n).clip(0), 0).astype(int)
    price = draw.lognormal(3, 0.8, n).round(2)
    return {
        "age": age,
        "school": np.minimum(draw.integers(6, 22, n), age - 5),
        "wage": wage,
        "capital": capital,
        "benefit": benefit,
        "total": wage + capital + benefit,
        "paid": (price * draw.choice([0.1, 0.5, 1], n)).round(2).clip(max=price),
        "price": price,
        "sex": draw.choice(["f", "m"], n),
    }


def comparisons(folder: Path, table: Mapping[str, np.ndarray], decimal: str = ".") -> dict[str, Mapping[str, object]]:
    pd.DataFrame(table).to_csv(folder / "public.csv", index=False, sep=";" if decimal == "," else ",", decimal=decimal)
    path, _, draft = write_draft("pay", folder / "public.csv", folder, unit="row")
    names = set(table)
    found = tomllib.loads(path.read_text()).get("rules", [])
    rules = {
        rule["never"]: rule for rule in found if len(words := rule["never"].split()) == 3 and {words[0], words[2]} <= names
    }
    assert set(draft.comparing) == set(rules)  # the terminal asks about them
    return rules


@pytest.mark.slow
@pytest.mark.parametrize("decimal", [".", ","])
def test_what_no_row_breaks_and_chance_would_is_a_rule(tmp_path: Path, decimal: str) -> None:
    """Of rows drawn column by column each proposed rule is broken by one in a hundred or more, and of the file by none."""
    table = pay()
    found = comparisons(tmp_path, table, decimal)
    assert {"wage > total", "paid > price"} <= set(found)
    assert len(found) <= 5
    draw = np.random.default_rng(1)
    for never in found:
        first, _, second = never.split()
        assert not (table[first] > table[second]).any()
        assert (draw.permutation(table[first]) > draw.permutation(table[second])).mean() > 0.01, never
        assert found[never]["applies_to"] == ["synthetic"]
    spec = load_spec(tmp_path / "configs" / "pay.toml")
    (transformation,) = (each.transformation for each in list(spec.space)[:1])
    rules = spec.synthetic.merge(transformation)
    wage, total = (transformation.binning(name) for name in ("wage", "total"))
    cells = np.array([[place, other] for place in range(len(wage)) for other in range(len(total))]).T
    digits = [np.zeros(cells.shape[1], dtype=int) for _ in spec.schema.columns]
    digits[spec.schema.names.index("wage")], digits[spec.schema.names.index("total")] = cells
    above = [wage.lower[one] >= total.upper[other] for one, other in cells.T]
    assert (rules.forbidden(digits) >= np.array(above)).all()
    assert any(above)


@pytest.mark.slow
def test_one_row_that_breaks_it_is_enough(tmp_path: Path) -> None:
    """Also in the same bin, where no table of bins tells it."""
    table = pay()
    row = np.flatnonzero(table["wage"] > 0)[0]
    table["total"][row] = table["wage"][row] - 1
    assert "wage > total" not in comparisons(tmp_path, table)


@pytest.mark.slow
def test_of_columns_that_are_drawn_by_themselves_no_rule_speaks(tmp_path: Path) -> None:
    """Nor of a column that is always larger than another one: a rule that chance never breaks says nothing."""
    draw = np.random.default_rng(2)
    table = {name: draw.permutation(column) for name, column in pay().items()}
    assert comparisons(tmp_path, table | {"year": draw.integers(2001, 2020, 3000)}) == {}
