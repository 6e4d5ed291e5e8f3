"""Try a criterion or a generator of another package on small tables before it is used on a private file.

The values of a criterion are computed for every table of up to two records in small worlds. Replacing one record may not
change a value by more than the sensitivity that the class claims. A generator gets noisy tables and must return the
requested number of rows. Passing these tests does not prove the claim, because larger tables are not tried.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from synthrelease.criteria.base import Fitted
from synthrelease.criteria.outside import OutsideCriterion
from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import Plausibility
from synthrelease.errors import RejectedRound, Unexpected
from synthrelease.generators import Background
from synthrelease.generators.outside import OutsideGenerator
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.settings.options import PluginTable
from synthrelease.spec.plugins import load_plugin
from synthrelease.studio.audit.enumeration import neighbour_pairs
from synthrelease.studio.audit.sweep import CODINGS
from synthrelease.studio.audit.tiny import FROM_0, World, behind_a_door

COLUMNS = {"a": 1, "b": 2, "c": 3}
"""Columns of the made-up tables with their highest whole number. The lowest number is 0, or another number from `CODINGS`."""
RECORDS = (1, 2)
# Approximate number of synthetic tables with which each table is compared, spread evenly over all synthetic tables.
_CANDIDATES = 24
_SIZES = (1, 2, 300)  # Numbers of rows of the tables to which a generator is fitted


def check_package(table: PluginTable) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the name of each class of an installed package with its problems, or of the package if it cannot be loaded."""
    try:
        kinds = load_plugin(table)
    except Unexpected as error:
        yield table.package, (str(error),)
        return
    for name, kind in kinds:
        yield name, check_kind(kind, name)


def check_kind(kind: type[Any], name: str = "package:name") -> tuple[str, ...]:
    """Look for mistakes in a criterion or a generator of another package, such as a sensitivity that is too small.

    Parameters
    ----------
    kind : a subclass of `OutsideCriterion` or `OutsideGenerator`.

    Returns
    -------
    The problems, each as a text with the first tables that show the problem. Empty if no problem was found.
    """
    check = _criterion_problems if issubclass(kind, OutsideCriterion) else _generator_problems
    return tuple(check(kind, name))


def _criterion_problems(kind: type[OutsideCriterion], name: str) -> Iterator[str]:
    for settings in kind.examples():
        whole = {"name": "tried", "kind": name, "threshold": 1, "epsilon": 1, **settings}
        criterion = kind.model_validate(whole)
        for words, coding in {"": FROM_0, **CODINGS}.items():
            world = World(COLUMNS, coding=coding)
            if any(criterion.mistakes(world.setting(criterion), {})):
                continue
            problem = next(_moved_too_far(criterion, world), "")
            if problem:
                yield f"{dict(settings)}{f', numbers {words}' if words else ''}: {problem}"
                break


def _moved_too_far(criterion: OutsideCriterion, world: World) -> Iterator[str]:
    """Yield a text for each synthetic table with which a replaced record changes a value by more than the claimed
    sensitivity.

    Stop at a value that is not a finite number.
    """
    setting = world.setting(criterion)
    for n in RECORDS:
        tables = world.all_tables(n)
        first, second = neighbour_pairs(world.dense(tables))
        counts = [world.counts(table) for table in tables]
        for synthetic in tables[:: max(1, len(tables) // _CANDIDATES)]:
            query = criterion.query(n, world.candidate(synthetic), setting, Fitted())
            figures = np.array([query.figure(table) for table in counts])
            if len(missing := np.flatnonzero(~np.isfinite(figures))):
                private, released = world.in_words(tables[missing[0]]), world.in_words(synthetic)
                yield f"the value for {private} with the synthetic table {released} is not finite"
                return
            moves = np.abs(figures[first] - figures[second])
            worst = int(moves.argmax()) if len(moves) else 0
            if len(moves) and moves[worst] > query.sensitivity * (1 + 1e-9):
                yield (
                    f"with the synthetic table {world.in_words(synthetic)}, the value is {figures[first[worst]]:g} for "
                    f"{world.in_words(tables[first[worst]])} and {figures[second[worst]]:g} for "
                    f"{world.in_words(tables[second[worst]])}. One replaced record changes the value by {moves[worst]:g}, but "
                    f"the class claims at most {query.sensitivity:g}"
                )


def _generator_problems(kind: type[OutsideGenerator], name: str) -> Iterator[str]:
    for sizes in ((2, 3, 4), (2,), (1, 3)):
        layout = Layout(columns=tuple("abc"[: len(sizes)]), sizes=sizes)
        background = Background(plausibility=Plausibility(layout=layout, masks=()))
        for n in _SIZES:
            where = f"{n} rows, columns of {sizes} bins"
            try:
                generator = kind.model_validate({"family": name})
                charge = generator.charge(Fraction(1))
                private = behind_a_door(Counts(layout, 7 * np.arange(n) % layout.n_cells), [charge])
                model = generator.fit(private, charge, background)
                once, again = (model.sample(n, SeededEntropy(n).generator()) for _ in range(2))
            except RejectedRound:
                continue
            except Exception as error:  # any error of another package is reported, and the next size is tried
                yield f"{where}: {type(error).__name__}: {error}"
                continue
            if not once.same_as(again):
                yield f"{where}: two samples from the same random numbers differ, so the model also uses other random numbers"
            if not math.isfinite(generator.seconds(layout, n)):
                yield f"{where}: the generator's estimate of its running time is not a finite number"
