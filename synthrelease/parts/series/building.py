"""The earlier releases that [series] names, as they lie on the disk: public files, read before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from synthrelease.errors import Unexpected
from synthrelease.privacy.charges import decimal_text
from synthrelease.privacy.plan import Loss, PaidYear, YearOfSeries
from synthrelease.settings.mistakes import Problems
from synthrelease.settings.options import SeriesTable
from synthrelease.settings.reading import beside, regular_file
from synthrelease.spec.part import Building, Surroundings

MAX_BYTES = 100_000_000


@dataclass(frozen=True, kw_only=True)
class Series:
    """A series with the content of each file release.json; `corrected` is that of the release which an erratum replaces."""

    name: str
    earlier: tuple[bytes, ...] = ()
    corrected: bytes | None = None
    reason: str = ""
    year: YearOfSeries | None = None


class SeriesBuilding(Building[SeriesTable, Series]):
    def build(self, table: SeriesTable, around: Surroundings, problems: Problems) -> Series:
        """With the contents of the files that it names."""
        places = {f"series.earlier[{place}]": named for place, named in enumerate(table.earlier)}

        def content(named: str, place: str) -> bytes | None:
            try:
                readable, what = "the file release.json of a release", "a file"
                return regular_file(beside(around.file, named), ".json", MAX_BYTES, readable=readable, named=what)
            except Unexpected as error:
                problems.add(place, error.expected, error.found or "another")
                return None

        found = {place: content(named, place) for place, named in places.items()}
        there = {place: each for place, each in found.items() if each is not None}
        earlier = tuple(there.values())
        if len(set(earlier)) != len(earlier):
            problems.add("series.earlier", "each release once", "one that is named twice")
        corrected = None if table.corrects is None else content(table.corrects, "series.corrects")
        year = None if table.years is None else _planned(table, around, problems)
        named = [_named(place, each, table.name, year, problems) for place, each in there.items()]
        if year is not None:
            year = replace(year, named=tuple(one for one in named if one is not None))
        return Series(name=table.name, earlier=earlier, corrected=corrected, reason=table.reason, year=year)

    def year(self, value: Series) -> YearOfSeries | None:
        """Of its plan."""
        return value.year

    def plan_text(self, value: Series, total: Loss, rows: int) -> str:
        """What is promised over all years, and what a refused public table may cost."""
        return "" if value.year is None else promise_text(value.year)

    def earlier(self, value: Series) -> tuple[bytes, ...]:
        """All that it names."""
        return value.earlier

    def check_new(self, value: Series, total: Loss, problems: Problems) -> None:
        """An erratum is no new release, and a release of a plan costs no more than planned."""
        year = value.year
        if year is not None:
            most = Loss(year.horizon.most(year.year, year.again), year.horizon.delta)
            for name, planned, cost in zip(Loss._fields, most, total, strict=True):
                if not cost <= planned:
                    expected = f"a release of {year.year} that costs {name} = {_shown(planned)} at most, as planned"
                    problems.add(f"series.{name}", expected, _shown(cost))
        if value.corrected is not None:
            expected = "none: an erratum spends nothing, and `synthrelease card --bundle` writes it"
            problems.add("series.corrects", expected, "one")


def _planned(table: SeriesTable, around: Surroundings, problems: Problems) -> YearOfSeries:
    """The plan with the records of a person, which [unit] and `records` say."""
    if around.release.split is not None:
        problems.add("series.years", "no plan over years of a register that is split into pieces", "[split]")
    horizon = table.horizon(around.release.unit.records)
    if horizon.promise is None:
        problems.add("series.delta", "a delta that adds up to less than 1 for a person", _shown(table.delta))
    return YearOfSeries(horizon=horizon, year=table.year or 0, again=table.again)


def _named(where: str, content: bytes, name: str, year: YearOfSeries | None, problems: Problems) -> PaidYear | None:
    """Of an earlier release its year and what it cost; a problem where it is not of the same plan, or of this year."""
    from synthrelease.published.document import read_leniently  # here, because most plans are of one release

    try:
        document = read_leniently(content)
    except Unexpected as error:
        if year is not None:  # otherwise said when the release is written beforehand
            problems.add(where, "the file release.json of a release", str(error))
        return None
    said = document.series
    plan = None if said is None else said.years
    if year is None:
        if plan is not None:
            problems.add("series.years", f"the plan over years that {where} has", "none")
        return None
    if plan is None or said.name != name or plan.horizon != year.horizon:
        problems.add(where, f"a release of the series {name!r} with the same plan over years", "another")
        return None
    if plan.year == year.year:
        problems.add(where, f"a release of another year than {year.year}", "one of this year")
    own = document.guarantee
    return PaidYear(year=plan.year, again=plan.again, paid=Loss(Fraction(own.epsilon_exact), Fraction(own.delta_exact)))


def promise_text(year: YearOfSeries) -> str:
    """What is promised to a person over all years, in words."""
    plan = year.horizon
    promise, years = plan.promise or Loss(Fraction(0), Fraction(0)), plan.years
    persons = (
        "each record is in one year and of somebody else"
        if plan.in_all == 1
        else f"a person has at most {plan.in_year} records in a year and {plan.in_all} in all years"
    )
    delta = f", delta = {_shown(promise.delta)}" if promise.delta else ""
    second = (
        f" That has room for {plan.fallbacks} second release{'s' if plan.fallbacks > 1 else ''} at epsilon = "
        f"{_shown(plan.fallback_epsilon)}, in years whose first one released nothing."
        if plan.fallbacks
        else " A year whose release ends with nothing has no second one."
    )
    return (
        f"Years: {year.year} is year {year.year - plan.first + 1} of {len(years)} ({years[0]} to {years[-1]}"
        f"{', a second release' if year.again else ''}). Over all of them a person is promised epsilon = "
        f"{_shown(promise.epsilon)}{delta}, where {persons}.{second}"
    )


def _shown(value: Fraction) -> str:
    return decimal_text(value)


BUILDING = SeriesBuilding()
