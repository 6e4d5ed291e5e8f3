"""A plan over three years of coins, and releases of it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from synthrelease.bundle.write import _sealed, write_bundle
from synthrelease.privacy.plan import Horizon, YearOfSeries
from synthrelease.published.verify.checks import Report
from synthrelease.releasing.release import Release
from synthrelease.settings.options import SeriesTable
from synthrelease.spec.options import Options
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.series import Series
from tests.helpers.forgeries import of_version
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


def spec_of_year(spec: ReleaseSpec, year: int, earlier: tuple[bytes, ...] = (), again: bool = False) -> ReleaseSpec:
    """As it is built from a configuration with this plan."""
    table = SeriesTable.model_validate(tomllib.loads(TABLE)["series"] | {"year": year} | ({"again": True} if again else {}))
    fixed = table.model_dump(mode="json", include=set(table.fixed), exclude_unset=True)
    tables = {name: value for name, value in spec.tables.items() if name != "acceptance"}
    series = Series(name="Coins", earlier=earlier, year=YearOfSeries(horizon=PLAN, year=year, again=again))
    tables |= {"series": fixed, "acceptance": spec.tables["acceptance"]}
    return replace(spec, tables=tables, options=Options(series=series))


def bundle_of(found: Release, folder: Path, year: int, earlier: tuple[bytes, ...] = (), again: bool = False) -> Path:
    return write_bundle(replace(found, spec=spec_of_year(found.spec, year, earlier, again)), folder)


def bundle_of_1_0_0(found: Release, folder: Path, year: int, again: bool = False) -> Path:
    """As version 1.0.0 wrote it: specification.json does not have the multi-year plan."""
    series = Series(name="Coins", year=YearOfSeries(horizon=PLAN, year=year, again=again))
    write_bundle(replace(found, spec=replace(found.spec, options=Options(series=series))), folder)
    for name, content in of_version({path.name: path.read_bytes() for path in folder.iterdir()}, "1.0.0").items():
        (folder / name).write_bytes(content)
    return folder


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
