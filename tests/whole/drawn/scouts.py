"""Cases of scouts: all noisy answers of one look at single columns, beside the guarantee of the look as a whole; and a scout
without a delta with its release, beside their cap.

Two columns have codes and one has texts, frequent enough to be published. The answers are those that `scouting.scout.measured`
asks for, with its charges. A text of one row is outside of the claim (theory 9.20, values without a public list): with the
stated threshold it is published too rarely to be drawn, and without one it is a known fault.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.privacy.cap import text_threshold
from synthrelease.privacy.charges import Charge, gaussian
from synthrelease.releasing.release import release
from synthrelease.scouting.columns import ScoutedColumn
from synthrelease.scouting.scout import Scouting, cap_of, measured
from synthrelease.scouting.scout_mechanism import dependence, frequent_texts, noisy_tables
from synthrelease.settings.columns import InputTable
from synthrelease.settings.tables import UnitTable
from synthrelease.sources.source import Source
from synthrelease.spec.load import load_spec
from tests.whole.drawn import pipelines
from tests.whole.drawn.cases import Case

DRAWS = 10_000
_MU = Fraction(1, 2)
_TOWNS = ("North", "South", "Hamlet")
_LAYOUT = Layout(columns=("sex", "works"), sizes=(2, 2))
_COLUMNS = (
    ScoutedColumn(name="sex", kind="listed", codes={"1": "", "2": ""}),
    ScoutedColumn(name="works", kind="listed", codes={"1": "", "2": ""}),
    ScoutedColumn(name="town", kind="texts"),
)
Row = tuple[int, int, int]
"""The bins of sex and works, and the town."""
_OTHERS: tuple[Row, ...] = ((0, 0, 0), (1, 1, 1)) * 20
_LEFT, _RIGHT = ((0, 0, 0), *_OTHERS), ((1, 1, 1), *_OTHERS)
_FEATURES = (*(f"{name} {code}" for name in ("sex", "works") for code in (1, 2)), "dependence", *_TOWNS, "what a record moves")


def scout_cases() -> Iterator[Case]:
    """A record of another sex, occupation and town; a record that turns, in a scout without a delta and in its release."""
    yield _case("all columns of a record", (_LEFT, _RIGHT))
    yield _pure_case("a scout without a delta and its release", _PURE)


def faulty_scout_cases() -> Iterator[Case]:
    """Known faults: each column with the whole budget; and a text of one row, where no threshold hides it."""
    yield _case("each column with the whole budget", (_LEFT, _RIGHT), shared=False, faulty=True)
    tenfold = replace(_PURE, cap=replace(_PURE.cap, epsilon=10 * _PURE.cap.epsilon))
    yield _pure_case("a scout without a delta of ten times its epsilon", tenfold, faulty=True)
    alone = ((1, 1, 2), *_OTHERS)
    yield _case("a text of one row without a threshold", (alone, _RIGHT), threshold=-(10**6), faulty=True)


def _case(
    name: str,
    sides: tuple[Sequence[Row], Sequence[Row]],
    *,
    shared: bool = True,
    threshold: int | None = None,
    faulty: bool = False,
) -> Case:
    cap = cap_of(_COLUMNS, Fraction(6), Fraction(1, 10**9), rho=_MU**2 / 2)
    scouting = Scouting(title="", columns=_COLUMNS, policy=InputTable(), unit=UnitTable(), cap=cap, rows=len(_LEFT))
    charges = scouting.looks()
    least = text_threshold(scouting.cost_per_table)[0] if threshold is None else threshold
    if not shared:
        charges = dict.fromkeys(charges, gaussian("scout", cap.rho, "noisy counts"))
    looks = ((0, 1),) if shared else ((0,), (1,))
    return Case(
        family="scout",
        name=name,
        claim=float(_MU),
        draw=partial(_answers, charges, looks, least),
        sides=sides,
        features=_FEATURES,
        draws=DRAWS,
        faulty=faulty,
        gaussian=True,
    )


def _answers(
    charges: dict[str, Charge], looks: Sequence[Sequence[int]], threshold: int, rows: Sequence[Row], draws: int
) -> np.ndarray:
    """Return (draws, 9) counts of both codes of each column, the dependence in rows, counts of towns, -1 where unpublished, and
    the sum of all counts that the record of the left side raises, less those that the one of the right side does.
    """
    counts = Counts.of(_LAYOUT, list(np.array(rows)[:, :2].T))
    towns, groups = Counter(_TOWNS[row[2]] for row in rows), {0: np.arange(2), 1: np.arange(2)}
    outputs = []
    for _ in range(draws):
        texts = frequent_texts({"town": towns}, threshold, charges["texts"])["town"]
        tables = dict[int, np.ndarray]()
        for look in looks:
            tables |= noisy_tables(counts, {column: groups[column] for column in look}, charges["first look"])
        steps, one = dependence(counts, list(groups.values()), charges["dependence"])
        of_towns = [texts.get(town, -1) for town in _TOWNS]
        moved = sum(int(pair[0] - pair[1]) for pair in (tables[0], tables[1], of_towns))
        outputs.append([*tables[0], *tables[1], steps / one * len(rows), *of_towns, moved])
    return np.array(outputs, dtype=float)


_LISTED = tuple(
    ScoutedColumn(name=name, kind="listed", codes=dict.fromkeys(codes, "")) for name, codes in {"a": "01", "b": "012"}.items()
)
_PURE = Scouting(
    title="",
    columns=_LISTED,
    policy=InputTable(),
    unit=UnitTable(),
    cap=cap_of(_LISTED, Fraction(3, 2), Fraction(0), tests=Fraction(3, 4)),
    rows=6,
)
_RELEASE = pipelines.Pipeline(
    name="after a scout without a delta",
    criteria=(("marginals", pipelines.MARGINALS.replace("threshold = 0.4", "threshold = 2")),),
    neighbours=pipelines._TURNED,
    generation="0.25",
    stop_probability="",
    selection=(
        'mode = "hidden_number"',
        "rounds = { 1 = 1 }",
        pipelines.JOINT,
        f'[scout]\nepsilon = 1.5\ndelta = 0\nrho = 0\nrare = 0\ntests = 0.75\ndocument = "{"ab" * 32}"',
    ),
)


def _pure_case(name: str, scouting: Scouting, *, faulty: bool = False) -> Case:
    """Whole scouts with their releases: epsilons without a delta add up (theory 1.1, sequential composition)."""
    counts = [f"{column.name} {code or 'no value'}" for column in _LISTED for code in (*column.codes, "", "other")]
    outcomes = ("released", "configuration", "number of rows", *(f"rows in cell {cell}" for cell in range(6)), "score")
    return Case(
        family="scout",
        name=name,
        claim=float(_PURE.cap.epsilon),
        draw=partial(_scouted_and_released, scouting),
        sides=("left", "right"),
        features=(*counts, "dependence", *outcomes),
        draws=pipelines.FAULTY_DRAWS if faulty else pipelines.DRAWS,
        faulty=faulty,
    )


def _scouted_and_released(scouting: Scouting, side: str, draws: int) -> np.ndarray:
    """Return (draws, 20) everything that a scout and its release publish, as numbers."""
    with TemporaryDirectory() as folder:
        configuration, data = _RELEASE.written(Path(folder), side)
        spec, outputs = load_spec(configuration), []
        for _ in range(draws):
            document = measured(scouting, Source.of(data))
            counts = [count for part in document.columns for count in (*part.counts.values(), part.other)]
            outputs.append([*counts, document.dependence.steps, *pipelines._published(spec, release(spec, data))])
    return np.array(outputs, dtype=float)
