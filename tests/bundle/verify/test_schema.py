"""Columns and rules again from release.json: the same bins and masks as those that the specification made."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from synthrelease.bundle.verify_plan import differences
from synthrelease.published.columns import BinPart, ColumnPart, RulePart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.verify.alone import SchemaProblem, edge_text, rebuild
from synthrelease.settings.columns import ColumnTable, InputTable
from synthrelease.spec.columns import build_column
from synthrelease.spec.load import load_spec
from tests.conftest import ROOT
from tests.helpers.cards import rich_bundle


@cache
def rich() -> ReleaseDocument:
    return ReleaseDocument.model_validate_json(rich_bundle()["release.json"])


def with_columns(columns: list[ColumnPart], rules: list[str]) -> ReleaseDocument:
    parts = [RulePart(never=rule, applies_to=("synthetic",), why="") for rule in rules]
    return rich().model_copy(update={"columns": columns, "rules": parts, "groups": {}})


@pytest.mark.parametrize("path", ["configs/births.toml", "configs/births-full.toml", "tests/helpers/specs/labour_force.toml"])
def test_rules_forbid_the_same_released_cells_as_in_the_release(path: Path) -> None:
    """For every configuration of bins, over every cell of the released table or 20,000 drawn ones."""
    spec = load_spec(ROOT / path)
    for transformation in spec.space.transformations:
        columns = [
            ColumnPart.of(column, binning) for column, binning in zip(spec.schema.columns, transformation.binnings, strict=True)
        ]
        rules = [rule.never for rule in spec.rules if "synthetic" in rule.applies_to]
        found = rebuild(with_columns(columns, rules))
        generator = np.random.default_rng(1)
        digits = [generator.integers(0, size, 20_000) for size in transformation.layout.sizes]
        expected = spec.synthetic.merge(transformation).forbidden(digits)
        assert found.transformation.layout == transformation.layout
        np.testing.assert_array_equal(found.plausibility.forbidden(digits), expected)
        assert expected.any() == bool(rules)


@pytest.mark.parametrize(
    ("kind", "bounds", "bins"),
    [
        ("integer", (-9, 9), ["<-5", "-5--3", "-2..2", "3-8", ">8"]),
        ("integer", (-9, 9), ["<=-1", ">=0"]),
        ("integer", (0, 100), ["0-99 by 10", ">99"]),
        ("real", (-1, 1), ["<-0.5", "-0.5 to 0.25", "0.25 to 0.5", ">=0.5"]),
        ("real", (0, 1), ["0 to 0.00001", "0.00001 to 1"]),
    ],
)
def test_every_way_to_write_bins_reads_back(kind: str, bounds: tuple[float, float], bins: list[str]) -> None:
    table = ColumnTable.model_validate({"kind": kind, "bounds": bounds, "alternatives": {"chosen": bins}})
    column = build_column("x", table, InputTable(), [], None)
    binning = column.alternatives["chosen"]
    found = rebuild(with_columns([ColumnPart.of(column, binning)], [])).transformation.binnings[0]
    assert (found.lower, found.upper) == (binning.lower, binning.upper)


PAIR = BinPart(label="1-2", lower=1, below=3, number=1.5)
WRONG = {
    "edges that leave a gap": {"bins": [PAIR, BinPart(label="4-8", lower=4, below=9, number=6)]},
    "a label of other edges": {"bins": [PAIR, BinPart(label="4-8", lower=3, below=9, number=6)]},
    "a number that is not in the bin": {"bins": [BinPart(label="1-8", lower=1, below=9, number=8.5)]},
    "a number beyond the bounds": {"bins": [BinPart(label=">=1", lower=1, number=12)], "bounds": [1, 9]},
    "a label twice": {"bins": [BinPart(label="1-8", lower=1, below=9, number=4.5)] * 2},
    "a label of several bins": {"bins": [BinPart(label="1..8", lower=1, below=9, number=4.5)]},
    "categories of a number": {"bins": [BinPart(label="1-8", categories=["1-8"])]},
    "no bins": {"bins": []},
    "bounds beyond the bins": {"bounds": [1, 99]},
    "no bounds": {"bounds": None},
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_column_that_cannot_be_is_told(name: str) -> None:
    year = rich().columns[1]
    with pytest.raises(SchemaProblem, match=r"^schema: column 'year': "):
        rebuild(with_columns([year.model_copy(update=WRONG[name])], []))
    rebuild(with_columns([year], []))


def test_a_stated_number_fits_where_the_bin_can_hold_it() -> None:
    year = rich().columns[1]
    bins = [PAIR.model_copy(update={"number": 1.2}), BinPart(label=">2", lower=3, number=7.5)]
    rebuild(with_columns([year.model_copy(update={"bins": bins, "bounds": [1, 9]})], []))


def test_an_edge_is_written_without_an_exponent() -> None:
    assert edge_text(BinPart(label="", lower=0, below=0.00001), whole=False) == "0 to 0.00001"


@pytest.mark.parametrize(
    ("place", "inside", "shown"),
    [
        ("guarantee", ("person", "unit"), "guarantee.person.unit"),
        ("charges", ("parts", 1, "rule"), "charges.parts[1].rule"),
        ("criterion 'pairs': parameters", ("by", 0), "criterion 'pairs': parameters.by[0]"),
        ("criterion 'pairs': kind", (), "criterion 'pairs': kind"),
    ],
)
def test_the_places_of_a_plan_that_differs_are_told_apart(place: str, inside: tuple[str | int, ...], shown: str) -> None:
    """They ran together once: "guaranteeperson.unit"."""

    def nested(value: str) -> object:
        found: object = value
        for step in reversed(inside):
            found = {step: found} if isinstance(step, str) else [*(["same"] * step), found]
        return found

    assert list(differences(place, nested("a"), nested("b"))) == [f"{shown}: release.json has 'b', the specification gives 'a'"]
