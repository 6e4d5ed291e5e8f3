"""A tiny release of households with their persons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

CONFIG = """\
title = "Households"
acceptance = "acceptance.toml"
[unit]
name = "household"
[columns.rent]
kind = "integer"
bounds = [0, 3]
alternatives.each = ["0..3"]
[columns.town]
kind = "category"
categories = ["here", "there"]
[members]
key = "hh"
most = 2
order = ["no"]
size = "persons"
[members.columns.age]
kind = "integer"
bounds = [0, 3]
outside = "drop"
alternatives.each = ["0..3"]
[members.columns.work]
kind = "category"
categories = ["yes", "no"]
missing = "bin"
[[members.rules]]
never = "age == 0 and work == 'yes'"
[[generators]]
family = "gaussian_marginals"
tables = "rent:town + rent:persons + persons:age_1 + age_1:work_1 + age_1:age_2 + age_2:work_2"
[[projections]]
kind = "minimum_count"
minimum_count = 1
[budget]
generation = 1
delta = 1e-9
[selection]
measurements = "shared"
publish_measurements = true
mode = "hidden_number"
rounds = { 1 = 1 }
"""
ACCEPTANCE = """\
[[criteria]]
name = "columns"
kind = "absolute_marginal_error"
largest = 1
threshold = 0.5
epsilon = 1
"""

Root = tuple[str, str, str]
"""Key, rent and town as the file has them."""
Member = tuple[str, str, str, str]
"""Key, number, age and work."""


def write_households(folder: Path, changes: Mapping[str, str] | None = None) -> Path:
    """Both files; `changes` replaces lines, each of which must be there."""
    config = CONFIG
    for old, new in (changes or {}).items():
        if config.count(old) != 1:
            raise ValueError(f"no line {old!r}")
        config = config.replace(old, new)
    (folder / "households.toml").write_text(config, encoding="utf-8")
    (folder / "acceptance.toml").write_text(ACCEPTANCE, encoding="utf-8")
    return folder / "households.toml"


def write_rows(path: Path, header: str, rows: Sequence[Sequence[str]]) -> Path:
    path.write_text("\n".join([header, *map(",".join, rows)]) + "\n", encoding="utf-8")
    return path


def write_tables(folder: Path, roots: Sequence[Root], members: Sequence[Member]) -> tuple[Path, Path]:
    """The two private files."""
    return (
        write_rows(folder / "roots.csv", "hh,rent,town", roots),
        write_rows(folder / "members.csv", "hh,no,age,work", members),
    )


def some_households(n: int = 300, seed: int = 1) -> tuple[list[Root], list[Member]]:
    """Households whose persons resemble each other, of one to three persons, in no order."""
    random = Random(seed)
    roots, members = list[Root](), list[Member]()
    for key in range(n):
        town, rent, age = random.choice(("here", "there")), random.randrange(4), random.randrange(4)
        roots.append((str(key), str(rent), town))
        for number in range(random.choice((1, 1, 2, 2, 3))):
            own = age if random.random() < 0.7 else random.randrange(4)
            work = "" if random.random() < 0.1 else "yes" if own and random.random() < 0.6 else "no"
            members.append((str(key), str(number + 1), str(own), work))
    random.shuffle(roots)
    random.shuffle(members)
    return roots, members
