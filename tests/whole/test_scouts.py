"""Whole scouts of neighbouring files: noisy answers alone differ, each row adds its own counts, known faults are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest

from synthrelease.privacy.public_entropy import NoNoise
from synthrelease.scouting import scout as scouting
from synthrelease.scouting.columns import ScoutedColumn
from synthrelease.scouting.document import ScoutDocument
from synthrelease.scouting.scout import Scouting, cap_of, check_memory, measured
from synthrelease.settings.columns import InputTable
from synthrelease.settings.tables import UnitTable
from synthrelease.sources.source import Source
from tests.whole.fuzz.files import write_rows
from tests.whole.fuzz.scouts import FAULTS, Records, hunt, run, watched
from tests.whole.fuzz.worlds import World

pytestmark = pytest.mark.slow

COLUMNS = (
    ScoutedColumn(name="age", kind="number", whole=True, low=Fraction(0), high=Fraction(60), missing=("99",)),
    ScoutedColumn(name="sex", kind="listed", codes={"1": "", "2": ""}),
)
TOWN = ScoutedColumn(name="town", kind="texts", missing=("-",))


def asked(columns: tuple[ScoutedColumn, ...], rows: int, delta: Fraction = Fraction(1, 10**9)) -> Scouting:
    cap = cap_of(columns, Fraction(2), delta)
    return Scouting(title="tiny", columns=columns, policy=InputTable(), unit=UnitTable(), cap=cap, rows=rows)


def test_neighbouring_files_differ_in_noisy_answers_alone(tmp_path: Path) -> None:
    """And no look tells more than is charged for it, while some tell all of it: the neighbours are those that matter."""
    told: dict[str, float] = {}
    for seed in range(20):
        for world in run(seed, tmp_path):
            for each in world.told:
                pure = each.charge.renyi is None
                paid = each.charge.epsilon if pure else each.charge.renyi.rho  # type: ignore[union-attr]
                share = (each.loss.epsilon if pure else each.loss.rho) / float(paid)
                told[f"{each.charge.name} {pure}"] = max(told.get(f"{each.charge.name} {pure}", 0.0), share)
    assert all(told[f"{name} {pure}"] == pytest.approx(1) for name in ("first look", "second look") for pure in (True, False))
    assert told["texts False"] == pytest.approx(1)
    assert max(told.values()) <= 1 + 1e-9


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_known_faults_are_found(fault: Callable[[], Any], tmp_path: Path) -> None:
    assert hunt(fault, 100, tmp_path)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**9)])
def test_on_all_tiny_files_a_replaced_row_costs_what_the_scout_costs(tmp_path: Path, delta: Fraction) -> None:
    """Over a small dictionary: all files of two rows, with each of their neighbours."""
    rows = list(product(["0", "60", "x"], ["1", "", "7"]))
    scout, most, number = asked(COLUMNS, 2, delta), 0.0, 0
    for one in combinations_with_replacement(rows, 2):
        first = World(number)
        _watched(scout, [*one], first, tmp_path / f"{number}.csv")
        for row in rows:
            number += 1
            other = World(first.seed, first)
            _watched(scout, [row, one[1]], other, tmp_path / f"{number}.csv")
            other.check_ended()
            most = max(most, sum(each.loss.rho if delta else each.loss.epsilon for each in other.told))
    assert most <= float(scout.cap.cost) * (1 + 1e-9)
    assert most >= float(scout.tables) * (1 - 1e-9)


def _watched(scout: Scouting, records: Records, world: World, path: Path) -> None:
    path.write_text("\n".join(["age,sex", *map(",".join, records)]) + "\n")
    with watched(world, records):
        world.saw("scout", measured(scout, Source.of(path), world).model_dump())


# Theory 1.8, reading row by row: what a row adds to the counts is a function of that row alone, whoever reads it.

RECORDS: Records = [
    ("12", "1", "North"),
    ("12.0", " 2 ", "12.0"),
    ("999", "x", "-"),
    ("", "", ""),
    ("much", "NA", "=1+1"),
    ("60", "2", "North "),
    ("99", "1", "Süd"),
]


def counted(document: ScoutDocument) -> Counter[tuple[str, str]]:
    found = Counter[tuple[str, str]]()
    for part in document.columns:
        found.update({(part.name, f"cell {place}"): count for place, count in enumerate(part.first) if count})
        found.update({(part.name, f"text {text}"): count for text, count in part.counts.items() if count})
    return found


@pytest.mark.parametrize("kind", ["csv", "folder", "sqlite", "parquet", "stata"])
def test_each_row_adds_its_own_counts_whatever_the_others_are(kind: str, tmp_path: Path) -> None:
    def exact(records: Records, number: int) -> Counter[tuple[str, str]]:
        (place := tmp_path / str(number)).mkdir()
        path = _written(records, place, kind)
        with patch.object(scouting, "text_threshold", lambda rho: (1, Fraction(0))):
            return counted(measured(asked((*COLUMNS, TOWN), len(records)), Source.of(path), NoNoise()))

    together = exact(RECORDS, 0)
    alone = sum((exact([record], number) for number, record in enumerate(RECORDS, 1)), Counter[tuple[str, str]]())
    assert together == alone
    assert exact(RECORDS[::-1], 100) == together
    assert together["town", "text North"] == 2
    assert together["town", "text "] == 2


def _written(records: Records, place: Path, kind: str) -> Path:
    names = ["age", "sex", "town"]
    if kind in ("csv", "folder", "sqlite"):
        return write_rows(names, records, place, kind, Random(1))
    import pandas as pd

    table = pd.DataFrame(records, columns=names)
    path = place / ("private.parquet" if kind == "parquet" else "private.dta")
    if kind == "parquet":
        table.to_parquet(path)
    else:
        pytest.importorskip("pyreadstat").write_dta(table, str(path))
    return path


def test_no_number_of_different_texts_pushes_one_out(tmp_path: Path) -> None:
    """A limit would: every text is counted, also the last of very many, and a text more moves its own count alone."""
    texts = [f"text {number}" for number in range(30_000)]

    def found(rows: list[str]) -> dict[str, int]:
        path = tmp_path / "texts.csv"
        path.write_text("\n".join(["town,sex", *(f"{row},1" for row in rows)]) + "\n")
        counts: dict[str, int] = {}

        def kept(columns: dict[str, Counter[str]], **given: Any) -> dict[str, dict[str, int]]:
            counts.update(columns["town"])
            return {"town": {"": 0}}

        with patch("synthrelease.scouting.scout_mechanism.frequent_texts", kept):
            measured(asked((TOWN, COLUMNS[1]), len(rows)), Source.of(path), NoNoise())
        return counts

    before, after = found(texts), found(["another", *texts[1:]])
    assert len(before) == len(after) == 30_000
    assert {text for text in {**before, **after} if before.get(text) != after.get(text)} == {"text 0", "another"}


@pytest.mark.parametrize(
    ("megabytes", "key", "fits"),
    [(500, None, False), (10_000, None, True), (None, None, True), (1_000, None, True), (1_000, "person", False)],
)
def test_memory_is_checked_for_the_stated_rows_before_the_charge(
    megabytes: int | None, key: str | None, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the texts are: no file is at hand. With a key, the texts of up to two rows of each person are in memory."""
    monkeypatch.setattr(scouting, "machine_megabytes", lambda: megabytes)
    unit = UnitTable(key=key, first_by="random") if key else UnitTable()
    scout = replace(asked((TOWN, COLUMNS[1]), 1_000_000), unit=unit)
    if fits:
        check_memory(scout)
    else:
        with pytest.raises(scouting.BudgetError, match="may need"):
            check_memory(scout)
