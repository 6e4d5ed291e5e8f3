"""Documents about years that nobody meant: each ends with a sentence, and none with another exception or with no end."""

from __future__ import annotations

import copy
import json
import random
import string
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from synthrelease.bundle.verify import verify_files
from synthrelease.errors import SynthreleaseError
from synthrelease.privacy.ledger_file import Notes, notes_of
from synthrelease.privacy.plan import Horizon
from synthrelease.spec.load import load_spec
from tests.helpers.years import configured, forged, problems

pytestmark = pytest.mark.slow

LARGE = "9" * 199
VALUES: tuple[object, ...] = (
    None, True, -1, 0, 1, 2, 2022, 10**18, 10**400, 0.5, "", "0", "1", "-1", "1/0", "2/4", "1/3", "1e9", LARGE, f"{LARGE}/2",
    f"1/{LARGE}", "1" * 201, [], ["1"], ["1"] * 3, [LARGE] * 3, ["1"] * 101, {}, "2021", "\u0661", "a" * 64,
)  # fmt: skip

FREE = {("name",)}
"""What only other documents tell: the name of the series."""
WORDS = {("title",), ("version",), ("published",), ("changed",), ("digest",), ("corrects",)}
"""Of an earlier release what only its own release.json tells."""


def places(tables: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in the part about years and earlier releases."""
    items = tables.items() if isinstance(tables, dict) else enumerate(tables) if isinstance(tables, list) else ()
    for name, value in items:
        yield (*path, name)
        yield from places(value, (*path, name))


def put(path: tuple[Any, ...], value: object) -> Callable[[dict[str, Any]], None]:
    """The change that puts a value there."""

    def change(series: dict[str, Any]) -> None:
        inner: Any = series
        for name in path[:-1]:
            inner = inner[name]
        inner[path[-1]] = value

    return change


def test_no_value_in_the_part_about_years_passes_or_breaks_a_verification(two_years: tuple[Path, Path]) -> None:
    series, draw = json.loads((two_years[1] / "release.json").read_bytes())["series"], random.Random(34)
    every = list(places(series))
    assert ("years", "epsilons_exact", 2) in every
    for path in every:
        for value in draw.sample(VALUES, 4):
            other = copy.deepcopy(series)
            put(path, value)(other)
            if other == series or path in FREE or path[2:3] in WORDS:
                continue
            try:
                told = problems(verify_files(forged(two_years[1], put(path, value))))
            except SynthreleaseError as error:
                told = str(error)
            assert told, (path, value)


def test_no_earlier_release_that_nobody_wrote_breaks_a_plan(tmp_path: Path, two_years: tuple[Path, Path]) -> None:
    content, draw = (two_years[0] / "release.json").read_bytes(), random.Random(35)
    config = configured(tmp_path, 'year = 2022\nearlier = ["earlier.json"]\n')
    told = set()
    for path in places(json.loads(content)["series"]["years"], ("years",)):
        for value in draw.sample(VALUES, 2):
            (tmp_path / "earlier.json").write_bytes(forged(two_years[0], put(path, value))["release.json"])
            try:
                load_spec(config)
            except SynthreleaseError as error:
                told.add(str(error).partition("earlier[0]: ")[2][:80])
    for cut in (0, 1, len(content) // 2, len(content) - 3):
        (tmp_path / "earlier.json").write_bytes(content[:cut])
        with pytest.raises(SynthreleaseError):
            load_spec(config)
    assert any(text.startswith("This release is not in the series 'Coins', or has another multi-year plan") for text in told)
    assert any(text.startswith("This is not release.json of a release") for text in told)


def test_no_note_of_a_ledger_that_nobody_wrote_is_taken_for_one() -> None:
    """Texts near those that a ledger writes: what is read is written as the very text, and everything else is refused."""
    plan = Horizon(first=2019, epsilons=(Fraction(17, 20), Fraction(1, 2)), in_year=1, in_all=2)
    whole, draw = Notes(horizon=plan).text, random.Random(36)
    taken = 0
    for _ in range(4000):
        text = draw.choice([whole, "year 2019", "year 2020 again", "3", ""])
        for _ in range(draw.randrange(1, 4)):
            place = draw.randrange(len(text) + 1)
            text = (
                text[:place]
                + draw.choice([*string.digits, " ", ",", "/", "-", "\u0661", "\n", "9" * 90, ""])
                + text[place + draw.randrange(2) :]
            )
        try:
            notes = notes_of(text, [Notes(horizon=plan)] if text.startswith("year ") else [])
        except ValueError:
            continue
        taken += 1
        assert notes.text == text
        if notes.horizon is not None:
            assert notes.horizon.promise is None or notes.horizon.promise.epsilon >= max(notes.horizon.epsilons)
    assert taken > 20
