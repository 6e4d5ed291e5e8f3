"""The mutations that follow from rules, each with the tests that belong to its file: of its kinds, and of its mirrored name."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from synthrelease.criteria import CRITERIA
from synthrelease.generators import GENERATORS
from synthrelease.generators.projections import PROJECTIONS
from tests.mutations.places import PACKAGE
from tests.mutations.rules import ROOMS, Derived, derived, room_of, stem_of

ROOT = Path(__file__).resolve().parents[2]
ENUMERATED = {
    "criteria": (
        "tests/criteria/test_sensitivity.py",
        "tests/criteria/test_public_facts.py",
        "tests/criteria/test_measured_bounds.py",
    ),
    "generators": ("tests/studio/audit/test_sensitivity.py",),
}
"""All neighbours of small tables, of each room."""


@cache
def _modules() -> Mapping[str, str]:
    """The module of every kind."""
    return {name: model.__module__ for kinds in (CRITERIA, GENERATORS, PROJECTIONS) for name, model in kinds.items()}


@cache
def _imports(module: str) -> frozenset[str]:
    """The modules of the same room that a module imports at its top, and what these import."""
    path = ROOT / f"{module.replace('.', '/')}.py"
    path = path if path.exists() else ROOT / module.replace(".", "/") / "__init__.py"
    rooms = [room for room in ROOMS if module.startswith(f"{PACKAGE}.{room.replace('/', '.')}.")]
    if not path.exists() or not rooms:
        return frozenset()
    found = {node.module for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom)}
    near = {name for name in found if name and name.startswith(f"{PACKAGE}.{rooms[0].replace('/', '.')}.")}
    return frozenset(near | {each for name in near - {module} for each in _imports(name)})


def kinds_of(path: str) -> list[str]:
    """The kinds that are in a file, or whose modules import it."""
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    here = [name for name, where in _modules().items() if where == module]
    return here or [name for name, where in _modules().items() if module in _imports(where)]


@cache
def tests_of(path: str) -> tuple[str, ...]:
    """The mirrored test file, those that import the module or name its kinds, enumerations and contracts of these kinds."""
    room, stem, kinds = room_of(path), stem_of(path), kinds_of(path)
    texts = _texts(room.rpartition("/")[0] if room.endswith(".py") else room)
    named = re.compile(rf"\b{stem} import|import .*\b{stem}\b" + "".join(f'|"{kind}"' for kind in kinds if len(kinds) < 5))
    few = 0 < len(kinds) < 5
    words = f"-k '{' or '.join(kinds)}' " if few else ""
    own = [test for test in texts if test.endswith(f"/test_{stem}.py")]
    every = [f"{words}{test}" for test in ENUMERATED.get(room, ()) if test not in own]
    every[1:1] = [f"{words}tests/test_contracts.py"] if few else []
    near = [test for test, text in texts.items() if test not in (*own, *ENUMERATED.get(room, ())) and named.search(text)]
    return (*own, *every, *near)


@cache
def _texts(room: str) -> Mapping[str, str]:
    """The test files of a room, and what stands in them."""
    paths = sorted((ROOT / "tests" / room).glob("test_*.py"))
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


_METER = "the tables refuse a charge beyond what is left (Budgeted._take): the last look gets less, and no privacy is lost"
_ROUNDING = (
    "it decides where all gaps are large and hardly differ: there the least and the largest are the same to the rounding"
)
EQUIVALENT: Mapping[str, str] = {
    "learn: earlier spending is not subtracted": _METER,
    "learn: earlier spending is not subtracted (2)": _METER,
    "learn: earlier spending is not subtracted (3)": _METER,
    "learn: earlier spending is not subtracted (4)": _METER,
    "RegressionPrediction.query: minimum and maximum are swapped": _ROUNDING,
    "RegressionPrediction.query: minimum and maximum are swapped (2)": _ROUNDING,
    "RegressionPrediction.query: minimum and maximum are swapped (3)": _ROUNDING,
    "Game.step: values are not clipped": "weights of a critic that sees noisy gradients alone",
    "probability: values are not clipped": "the exponential overflows to infinity, which gives the same 0 with a warning",
}
"""What a rule makes that breaks nothing that a figure claims, and why."""

CORE = (
    "AbsoluteMarginalError.query: the sensitivity is halved",
    "MeanMarginalError.query: the sensitivity is halved",
    "noisy_least_slack: the sensitivity is halved",
    "_measure: the sensitivity is halved",
    "PrivateTables._noisy: the sensitivity is halved",
    "noisy_votes: the sensitivity is halved",
    "resize.counted: the noise is drawn with twice its budget",
)
"""Those that the default suite tries."""


@cache
def ruled() -> tuple[Derived, ...]:
    """All that the rules make; no import makes them, because they read the rooms."""
    return derived(ROOT, tests_of)


def of_rules() -> tuple[Derived, ...]:
    """Those that are mistakes."""
    return tuple(mutation for mutation in ruled() if mutation.name not in EQUIVALENT)
