"""A plan over three years of coins, and releases of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from synthrelease.accounting.years import Horizon, YearOfSeries
from synthrelease.bundle import write_bundle
from synthrelease.bundle.folder import _sealed
from synthrelease.parts.series.building import Series
from synthrelease.releasing.release import Release
from synthrelease.verification.checks import Report
from tests.helpers.tiny import NOT_PROMISED, write_config

PLAN = Horizon(
    first=2021,
    epsilons=(Fraction(18), Fraction(18), Fraction(20)),
    in_year=1,
    in_all=2,
    fallbacks=1,
    fallback_epsilon=Fraction(19),
)
TABLE = """[series]
name = "Coins"
years = 3
first = 2021
epsilon = [18, 18, 20]
records = 2
fallbacks = 1
fallback_epsilon = 19
"""
LAST = "stop_probability = 0.001\n"


def configured(folder: Path, more: str, table: str = TABLE) -> Path:
    return write_config(folder, {LAST: f"{LAST}\n{table}{more}", **NOT_PROMISED})


def bundle_of(found: Release, folder: Path, year: int, earlier: tuple[bytes, ...] = (), again: bool = False) -> Path:
    series = Series(name="Coins", earlier=earlier, year=YearOfSeries(horizon=PLAN, year=year, again=again))
    return write_bundle(replace(found, spec=replace(found.spec, parts={"series": series})), folder)


def forged(folder: Path, change: Callable[[dict[str, Any]], object]) -> dict[str, bytes]:
    """The files of a release whose part about its series was changed, with the checksums that belong to them."""
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "SHA256SUMS"}
    tables = json.loads(files["release.json"])
    change(tables["series"])
    files["release.json"] = (json.dumps(tables, indent=2, ensure_ascii=False) + "\n").encode()
    return dict(_sealed(files, None))


def problems(report: Report) -> str:
    """What a verification found, a line each."""
    return "\n".join(problem for check in report.checks for problem in check.problems)
