"""Options of the configuration, one folder each. A folder and its name in `PARTS` add an option; without both it is gone.

The docstring of a folder says what its table is for, with an example. Each of its files is about one floor of the house, always
under the same name, and holds one object that the floor asks for; a floor that the option does not touch has no file.

- `table.py`: `TABLE`, its table in the configuration (`settings.base.SpecTable`). An option that writes further files has none:
  it is a list in [bundle], and `CHOICES` of the folder has the names that may stand in it;
- `listed.py`: `LISTED`, its table where that may stand several times, `[[name]]` (`settings.base.SpecTable`). It is words
  alone, and release.json has all of them as they are;
- `published.py`: `PUBLISHED`, its part of release.json (`published.base.Part`);
- `building.py`: `BUILDING`, what the specification makes of the table (`spec.part.Building`);
- `checking.py`: `CHECKING`, what of such a list does not go with the rest (`spec.part.Checking`);
- `naming.py`: `NAMING`, the files that it asks for, by their names (`published.naming.FurtherNames`);
- `rehearsing.py`: `REHEARSING`, what a rehearsal says of an option that would pay (`studio.rehearsal.part.Rehearsing`);
- `verifying.py`: `VERIFYING`, what is checked of that (`published.verify.part.Verifying`).

A floor loads its own file of every folder, so a reader of a released folder loads no writer. No folder imports another: what
two options have to do with each other is said in neutral facts of their tables and parts (`SpecTable.several_releases`,
`Part.weights_column`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from synthrelease.resources import Kinds

PARTS = (
    "partition",
    "split",
    "members",
    "calibration",
    "series",
    "population",
    "imputation",
    "geography",
    "marks",
    "formats",
    "catalogues",
    "intended_queries",
)
"""In the order in which release.json has them."""


@cache
def each(floor: str) -> Mapping[str, Any]:
    """By the name of the option, what its folder holds for a floor, loaded when it is asked for: `each("table")` has every
    `TABLE`."""
    there = [name for name in PARTS if find_spec(f"{__name__}.{name}.{floor}")]
    return Kinds(__name__, {name: f"{name}.{floor}:{floor.upper()}" for name in there})


@cache
def choices() -> dict[str, tuple[str, ...]]:
    """Of each option that is a list in [bundle], the names that may stand in it."""
    folders = {name: import_module(f"{__name__}.{name}") for name in PARTS}
    return {name: folder.CHOICES for name, folder in folders.items() if hasattr(folder, "CHOICES")}


def words(name: str) -> str:
    """What the table or the list is for, with an example: the docstring of the folder."""
    return " ".join((import_module(f"{__name__}.{name}").__doc__ or "").split())
