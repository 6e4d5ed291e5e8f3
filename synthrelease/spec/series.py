"""Read the earlier releases that [series] names, compare them with the multi-year plan, and state the guarantee for all
years.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from synthrelease.errors import Unexpected, so_many
from synthrelease.privacy.charges import decimal_text
from synthrelease.privacy.plan import Loss, PaidYear, YearOfSeries
from synthrelease.settings.mistakes import Problems
from synthrelease.settings.options import SeriesTable
from synthrelease.settings.reading import beside, regular_file
from synthrelease.settings.tables import ReleaseFile

MAX_BYTES = 100_000_000


@dataclass(frozen=True, kw_only=True)
class Series:
    """A series of releases of the same register.

    Attributes
    ----------
    earlier : the content of release.json of each earlier release.
    corrected : the content of release.json of the release that this erratum corrects, or None.
    reason : the mistake that the erratum corrects.
    year : the year of the release in its multi-year plan, or None.
    """

    name: str
    earlier: tuple[bytes, ...] = ()
    corrected: bytes | None = None
    reason: str = ""
    year: YearOfSeries | None = None


def build_series(table: SeriesTable, file: Path, release: ReleaseFile, problems: Problems) -> Series:
    paths = {f"series.earlier[{path}]": name for path, name in enumerate(table.earlier)}

    def content(name: str, path: str) -> bytes | None:
        try:
            return regular_file(beside(file, name), ".json", MAX_BYTES)
        except Unexpected as error:
            problems.add_error(path, error)
            return None

    contents = {path: content(name, path) for path, name in paths.items()}
    releases = {path: text for path, text in contents.items() if text is not None}
    earlier = tuple(releases.values())
    if len(set(earlier)) != len(earlier):
        problems.add("series.earlier", "The same release is named twice")
    corrected = None if table.corrects is None else content(table.corrects, "series.corrects")
    year = None if table.years is None else _planned(table, release, problems)
    name = [_named(path, text, table.name, year, problems) for path, text in releases.items()]
    if year is not None:
        year = replace(year, named=tuple(paid for paid in name if paid is not None))
    return Series(name=table.name, earlier=earlier, corrected=corrected, reason=table.reason, year=year)


def check_new(series: Series, total: Loss, problems: Problems) -> None:
    year = series.year
    if year is not None:
        most = Loss(year.horizon.most(year.year, year.again), year.horizon.delta)
        for name, planned, cost in zip(Loss._fields, most, total, strict=True):
            if not cost <= planned:
                fault = f"The release of {year.year} costs {name} = {decimal_text(cost)}, more than the planned"
                problems.add(f"series.{name}", f"{fault} {decimal_text(planned)}")
    if series.corrected is not None:
        fault = "A release with `corrects` is an erratum, which spends nothing"
        problems.add("series.corrects", f"{fault}. Write it with `synthrelease card --bundle`")


def _planned(table: SeriesTable, release: ReleaseFile, problems: Problems) -> YearOfSeries:
    if release.split is not None:
        problems.add("series.years", "A multi-year plan cannot be combined with [split]")
    horizon = table.horizon(release.unit.records)
    if horizon.promise is None:
        fault = f"With delta = {decimal_text(table.delta)} in each year, the deltas of a person add up to 1 or more"
        problems.add("series.delta", f"{fault}. Their sum must be below 1")
    return YearOfSeries(horizon=horizon, year=table.year or 0, again=table.again)


def _named(path: str, content: bytes, name: str, year: YearOfSeries | None, problems: Problems) -> PaidYear | None:
    """Return the year and the cost of an earlier release of a series, or None without a multi-year plan.

    Adds a problem, and returns None, if the release contradicts the plan.
    """
    from synthrelease.published.document import read_leniently  # imported here: most releases have no multi-year plan

    try:
        document = read_leniently(content)
    except Unexpected as error:
        if year is not None:  # without a plan, the mistake is reported before the charge, when the documents are tried
            problems.add(path, f"This is not release.json of a release: {error}")
        return None
    series = document.series
    plan = None if series is None else series.years
    if year is None:
        if plan is not None:
            problems.add("series.years", f"The release in {path} has a multi-year plan. State the same plan here")
        return None
    if series is None or plan is None or series.name != name or plan.horizon != year.horizon:
        problems.add(path, f"This release is not in the series {name!r}, or has another multi-year plan")
        return None
    if plan.year == year.year:
        problems.add(path, f"This release is of the same year, {year.year}. An earlier release must be of another year")
    paid = Loss(Fraction(document.guarantee.epsilon_exact), Fraction(document.guarantee.delta_exact))
    return PaidYear(year=plan.year, again=plan.again, paid=paid)


def promise_text(year: YearOfSeries) -> str:
    plan = year.horizon
    promise, years = plan.promise or Loss(Fraction(0), Fraction(0)), plan.years
    persons = "each record is in one year and is a different person"
    if plan.in_all != 1:
        persons = f"a person has at most {so_many(plan.in_year, 'record')} in a year and {plan.in_all} in all years"
    delta = f", delta = {decimal_text(promise.delta)}" if promise.delta else ""
    second = " If a release finds no table, its year has no second release."
    if plan.fallbacks:
        second = f" This includes {plan.fallbacks} second release{'s' if plan.fallbacks > 1 else ''} at epsilon = "
        second += f"{decimal_text(plan.fallback_epsilon)}, in years whose first release found no table."
    return (
        f"Years: {year.year} is year {year.year - plan.first + 1} of {len(years)} ({years[0]} to "
        f"{years[-1]}{', a second release' if year.again else ''}). The guarantee for a person over all years is epsilon = "
        f"{decimal_text(promise.epsilon)}{delta}, if {persons}.{second}"
    )
