"""Options of the configuration, one folder each. A folder and its name in `PARTS` add an option; without both it is gone.

The docstring of a folder says what its table is for, with an example. Each of its files is about one floor of the house, always
under the same name, and holds one object that the floor asks for; a floor that the option does not touch has no file.

- `table.py`: `TABLE`, its table in the configuration (`toml.fields.SpecTable`);
- `published.py`: `PUBLISHED`, its part of release.json (`published.parts.Part`);
- `building.py`: `BUILDING`, what the specification makes of the table (`specification.part.Building`);
- `writing.py`: `WRITING`, what a release and its card say (`bundle.part.Writing`);
- `rehearsing.py`: `REHEARSING`, what a rehearsal says of an option that would pay (`rehearsal.part.Rehearsing`);
- `verifying.py`: `VERIFYING`, what is checked of that (`verification.part.Verifying`).

A floor loads its own file of every folder, so a reader of a released folder loads no writer. No folder imports another: what
two options have to do with each other is said in neutral facts of their tables and parts (`SpecTable.several_releases`,
`Part.weights_column`).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

PARTS = ("partition", "split", "members", "calibration", "series", "population", "imputation", "geography")
"""In the order in which release.json has them."""


@cache
def each(floor: str) -> dict[str, Any]:
    """By the name of the option, what its folder holds for a floor: `each("table")` gives every `TABLE`."""
    places = {name: f"{__name__}.{name}.{floor}" for name in PARTS}
    return {name: getattr(import_module(place), floor.upper()) for name, place in places.items() if find_spec(place)}


def words(name: str) -> str:
    """What the table is for, with an example: the docstring of the folder."""
    return " ".join((import_module(f"{__name__}.{name}").__doc__ or "").split())
