"""Whole scouts of random codebooks, each of two neighbouring files, with the same noisy answers (`worlds`).

Each text of a column without a list stands in two rows that stay, so that both files have the same texts: a text of one row
is in the delta, and has an enumeration of its own (`tests/privacy/test_cap.py`).
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from synthrelease.enclave.door import Door
from synthrelease.enclave.unlisted import PrivateTexts
from synthrelease.privacy.charges import Charge
from synthrelease.scouting import scout as scouting
from synthrelease.scouting import scout_mechanism
from synthrelease.scouting.columns import ScoutedColumn
from synthrelease.scouting.scout import Scouting, cap_of, measured
from synthrelease.settings.columns import InputTable
from synthrelease.settings.tables import UnitTable
from synthrelease.sources.source import Source
from tests.whole.fuzz.files import FORMATS, write_rows
from tests.whole.fuzz.pairs import Leak
from tests.whole.fuzz.watching import _gaussian, _laplace, _spending, _subset
from tests.whole.fuzz.worlds import World

NUMBERS = ["", "0", "1", "2", "7", "12.5", "-3", "49", "1e3", "1e30", "much", "NA", "99"]
TEXTS = ["North", "south ", "12.0", ""]
CODES = ["1", "2", "x", "", "99"]
Records = list[tuple[str, ...]]


def asked(random: Random) -> Scouting:
    """Return a random scout: pure ones ask what they may."""
    pure = random.random() < 0.3
    columns = list[ScoutedColumn]()
    for place in range(random.randint(2, 4)):
        kinds: list[Any] = ["number", "listed"]
        if not pure and all(column.kind != "texts" for column in columns):
            kinds.append("texts")
        kind = random.choice(kinds)
        low, high = random.choice([(0, 60), (-5, 2000), (1900, 2030)])
        bounded = kind == "number" and (pure or random.random() < 0.5)
        columns.append(
            ScoutedColumn(
                name=f"c{place}",
                kind=kind,
                codes={"1": "one", "2": "two"} if kind == "listed" else {},
                missing=("99",) if random.random() < 0.5 else (),
                low=Fraction(low) if bounded else None,
                high=Fraction(high) if bounded else None,
                whole=kind == "number" and random.random() < 0.5,
                limits=(Fraction(7),) if kind == "number" and random.random() < 0.3 else (),
            )
        )
    epsilon, delta = (Fraction(40), Fraction(0)) if pure else (Fraction(6), Fraction(1, 10**8))
    cap = cap_of(columns, epsilon, delta, None if pure else Fraction(1, 5), Fraction(1))
    rows = random.randint(12, 120)
    return Scouting(title="fuzz", columns=tuple(columns), policy=InputTable(), unit=UnitTable(), cap=cap, rows=rows)


def record(random: Random, scout: Scouting) -> tuple[str, ...]:
    """Return a random row."""
    values = {"number": NUMBERS, "texts": TEXTS, "listed": CODES}
    return tuple(random.choice(values[column.kind]) for column in scout.columns)


def files(random: Random, scout: Scouting, neighbours: int) -> Iterator[Records]:
    """Yield the rows of a file and of neighbours of it, which have another one in the place of the first row."""
    texts = [column for column in scout.columns if column.kind == "texts"]
    fixed = [record(random, scout) for _ in range(scout.rows - 1)]
    for column in texts:
        place = scout.columns.index(column)
        for number, text in enumerate(2 * TEXTS):
            fixed[number] = (*fixed[number][:place], text, *fixed[number][place + 1 :])
    for _ in range(neighbours + 1):
        yield [record(random, scout), *fixed]


def run(seed: int, folder: Path, formats: tuple[str, ...] = FORMATS, neighbours: int = 3) -> list[World]:
    """Scout a file and its neighbours. Raises Leak where more differs than the noisy answers, or more is told than is paid."""
    random = Random(seed)
    scout, kind = asked(random), random.choice(formats)
    names, one, worlds = [column.name for column in scout.columns], World(seed), list[World]()
    for number, records in enumerate(files(random, scout, neighbours)):
        world = World(seed, one) if number else one
        (place := folder / f"{seed}-{number}").mkdir()
        path = write_rows(names, records, place, kind, Random(seed))
        with watched(world, records):
            world.saw("scout", measured(scout, Source.of(path), world).model_dump())
        if number:
            world.check_ended()
            worlds.append(world)
    return worlds


@contextmanager
def watched(world: World, records: Records) -> Iterator[None]:
    """While it lasts, the mechanisms of a scout run in the world; the dependence is that of 10 rows of more."""
    with ExitStack() as stack:
        for place, name, code in (
            (scout_mechanism, "uniform_subset", partial(_subset, world, scout_mechanism.uniform_subset)),
            (scout_mechanism, "rounded_gaussian", partial(_gaussian, scout_mechanism.rounded_gaussian)),
            (scout_mechanism, "discrete_laplace", partial(_laplace, scout_mechanism.discrete_laplace)),
            (Door, "spend", _spending(world, Door.spend)),
            (PrivateTexts, "spend", _spending_texts(world, records)),
        ):
            stack.enter_context(patch.object(place, name, code))
        stack.enter_context(patch.object(scout_mechanism, "MOST_ROWS", 10))
        yield


def _spending_texts(world: World, records: Records) -> Callable[..., Any]:
    spend = PrivateTexts.spend

    def watched_spend(self: PrivateTexts, charge: Charge, mechanism: Callable[..., Any]) -> Any:
        return spend(self, charge, lambda columns: world.spending(charge, records, lambda: mechanism(columns)))  # type: ignore[arg-type]

    return watched_spend


# Known faults: the comparison must find each.


def one_cell_moves() -> Any:
    """A replaced row leaves one cell and comes to another one: noise for one of them."""
    true = scout_mechanism.with_noise

    def less(*given: Any, squared: int, moved: int, **more: Any) -> Any:
        return true(*given, squared=(squared + 1) // 2, moved=(moved + 1) // 2, **more)

    return patch.object(scout_mechanism, "with_noise", less)


def every_table_has_all() -> Any:
    """Tables do not share what is paid."""
    true = scout_mechanism.with_noise
    return patch.object(scout_mechanism, "with_noise", lambda *given, parts=1, **more: true(*given, **more))


def cells_by_exact_counts() -> Any:
    """The second look has a cell for each step with rows."""
    true = scouting.ScoutedColumn.second_look
    counted = scouting.ingest

    def ingested(*given: Any, **more: Any) -> Any:
        rows = counted(*given, **more)
        distinct = len(rows._Door__counts.counts)
        scouting.ScoutedColumn.second_look = lambda self, *looked: true(self, *looked)[: 1 + distinct % 5]  # type: ignore[method-assign]
        return rows

    @contextmanager
    def planted() -> Iterator[None]:
        try:
            with patch.object(scouting, "ingest", ingested):
                yield
        finally:
            scouting.ScoutedColumn.second_look = true  # type: ignore[method-assign]

    return planted()


def most_texts() -> Any:
    """No more than three different texts are counted, the most frequent ones."""
    true = scouting.count_texts

    def limited(*given: Any, **more: Any) -> PrivateTexts:
        found = true(*given, **more)
        for counted in found._PrivateTexts__columns.values():  # type: ignore[attr-defined]
            for text, _ in counted.most_common()[3:]:
                del counted[text]
        return found

    return patch.object(scouting, "count_texts", limited)


def kinds_by_the_first_row() -> Any:
    """A column whose first text is a number is read as numbers: a text that is none becomes a gap."""
    true = scouting.ingest

    def guessed(data: Source, schema: Any, *given: Any, **more: Any) -> Any:
        first = next(iter(csv.DictReader(data.path.open()))) if data.path.suffix == ".csv" else {}
        columns = tuple(
            replace(column, missing_values=(*column.missing_values, "much")) if first.get(column.name, "").isdigit() else column
            for column in schema.columns
        )
        return true(data, replace(schema, columns=columns), *given, **more)

    return patch.object(scouting, "ingest", guessed)


FAULTS = (one_cell_moves, every_table_has_all, cells_by_exact_counts, most_texts, kinds_by_the_first_row)


def hunt(fault: Callable[[], Any], most: int, folder: Path) -> str:
    """Compare scouts until the fault is found, of at most so many codebooks; what was found."""
    with fault():
        for seed in range(most):
            try:
                run(seed, folder)
            except Leak as leak:
                return str(leak)
    return ""
