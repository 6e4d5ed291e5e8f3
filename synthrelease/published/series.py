"""Compute what a release states about earlier releases of the same register: costs, total cost for a person, and changes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from synthrelease.errors import InputError, Unexpected, so_many
from synthrelease.privacy.plan import Loss, YearOfSeries, over_years
from synthrelease.published.base import sha256
from synthrelease.published.charges import PersonPart
from synthrelease.published.columns import ColumnPart
from synthrelease.published.document import ReleaseDocument, read_leniently
from synthrelease.published.measurements import IntendedEstimatePart
from synthrelease.published.options import CorrectedPart, EarlierPart, PlanOfYearsPart, YearsPart

_WORD = re.compile(r"\w+")


def read(content: bytes) -> ReleaseDocument:
    """Parse the release.json of another release.

    Raises
    ------
    InputError : if the file cannot be read.
    """
    try:
        return read_leniently(content)
    except Unexpected as error:
        problem = str(error)
    raise InputError(f"[series]: release.json of the earlier release cannot be read: {problem}.")


def earlier_part(content: bytes, document: ReleaseDocument) -> EarlierPart:
    """Describe an earlier release of the same register, from the two files release.json alone.

    Parameters
    ----------
    document : this release.

    Raises
    ------
    InputError : if the content is no release.json.
    """
    old = read(content)
    person, series = old.guarantee.person, old.series
    return EarlierPart(
        title=old.card.title or old.title,
        version=old.card.version,
        published=old.card.published.isoformat(),
        digest=sha256(content),
        epsilon_exact=old.guarantee.epsilon_exact,
        delta_exact=old.guarantee.delta_exact,
        person_epsilon_exact=person.epsilon_exact,
        person_delta_exact=person.delta_exact,
        corrects=None if series is None or series.corrects is None else series.corrects.digest,
        changed=list(changes(old, document)),
        year=None if series is None or series.years is None else series.years.year,
        again=True if series is not None and series.years is not None and series.years.again else None,
        estimated=[] if series is None or series.years is None else list(_estimated(old, document)),
    )


def _estimated(old: ReleaseDocument, new: ReleaseDocument) -> Iterator[IntendedEstimatePart]:
    """Yield the estimates of an earlier release whose columns still have the same bins.

    Nothing is yielded if that release could have been published in several ways: its intervals then use only a share of the
    risk.
    """
    if old.estimates is None or not old.measured_once:
        return
    old_bins, new_bins = ({part.name: (part.unit, part.bins) for part in document.columns} for document in (old, new))
    for part in old.estimates.intended:
        if part is None:
            continue
        every = old_bins.keys() | new_bins.keys()
        mentioned = every & set(_WORD.findall(part.question)) or every  # columns of members have other names
        if all(name in old_bins and old_bins[name] == new_bins.get(name) for name in mentioned):
            yield part


def years_part(year: YearOfSeries, earlier: Sequence[EarlierPart], document: ReleaseDocument) -> YearsPart:
    promise = year.horizon.promise
    paid = paid_so_far(year, earlier, document)
    return YearsPart(
        **PlanOfYearsPart.of_plan(year).model_dump(),
        again=year.again,
        promised_epsilon_exact=str(promise.epsilon if promise else 0),
        promised_delta_exact=str(promise.delta if promise else 1),
        paid_epsilon_exact=str(paid.epsilon),
        paid_delta_exact=str(paid.delta),
    )


def paid_so_far(run: YearOfSeries, earlier: Sequence[EarlierPart], document: ReleaseDocument) -> Loss:
    """Return the largest privacy loss that a person can have had from all runs of a multi-year plan up to this year.

    For a year without a named release, the planned budget is counted, because a run that releases no table also spends its
    budget. The budget of a first run is also counted if its year has a second run. An erratum counts as the release that it
    corrects.
    """
    plan, guarantee = run.horizon, document.guarantee.guarantee()
    corrected = {release.digest: release.corrects for release in earlier if release.corrects is not None}
    spent = {
        _origin(release.digest, corrected): (
            release.year,
            bool(release.again),
            Loss(Fraction(release.epsilon_exact), Fraction(release.delta_exact)),
        )
        for release in earlier
    }
    releases_named = [*spent.values(), (run.year, run.again, Loss(guarantee.epsilon, guarantee.delta))]
    paid = []
    for year in range(plan.first, run.year + 1):
        releases = [(again, loss) for year_of, again, loss in releases_named if year_of == year]
        losses = [loss for _, loss in releases]
        if all(again for again, _ in releases):
            losses.append(Loss(plan.most(year, again=False), plan.delta))
        paid.append(
            Loss(sum((loss.epsilon for loss in losses), Fraction(0)), sum((loss.delta for loss in losses), Fraction(0)))
        )
    return over_years(paid, plan.in_year, plan.in_all) or Loss(Fraction(0), Fraction(1))


def total(earlier: Sequence[EarlierPart], corrects: CorrectedPart | None, person: PersonPart) -> tuple[str | None, str | None]:
    """Add up epsilon and delta, as exact fractions, of all releases for a person with records in all of them.

    Both are None if one release promises nothing to a person. An erratum changes only descriptions in the release that it
    corrects: the two are one output of one mechanism, and count once.
    """
    replaced = "" if corrects is None else corrects.digest
    corrected = {release.digest: release.corrects for release in earlier if release.corrects is not None}
    spent: dict[str, tuple[str | None, str | None]] = {}
    for digest, costs in [
        *((release.digest, (release.person_epsilon_exact, release.person_delta_exact)) for release in earlier),
        (replaced, (person.epsilon_exact, person.delta_exact)),
    ]:
        spent.setdefault(_origin(digest, corrected), costs)
    sums = [Fraction(0), Fraction(0)]
    for costs in spent.values():
        for index, cost in enumerate(costs):
            if cost is None:
                return None, None
            sums[index] += Fraction(cost)
    return str(sums[0]), str(sums[1])


def _origin(digest: str, corrected: dict[str, str]) -> str:
    """Return the digest of the release that spent the budget, which the given release corrects directly or through other
    errata.
    """
    seen = set()
    while digest in corrected and digest not in seen:
        seen.add(digest)
        digest = corrected[digest]
    return digest


def changes(old: ReleaseDocument, new: ReleaseDocument) -> Iterator[str]:
    old_columns, new_columns = ({column.name: column for column in document.columns} for document in (old, new))
    yield from (f"The column {name} is new." for name in new_columns if name not in old_columns)
    yield from (f"The column {name} was removed." for name in old_columns if name not in new_columns)
    for name in new_columns:
        if name in old_columns:
            yield from _changed_column(old_columns[name], new_columns[name])
    old_rules, new_rules = ([(rule.never, rule.applies_to) for rule in document.rules] for document in (old, new))
    yield from (f"A rule is new: never {rule[0]}." for rule in new_rules if rule not in old_rules)
    yield from (f"A rule was removed: never {rule[0]}." for rule in old_rules if rule not in new_rules)
    if old.minimum_count != new.minimum_count:
        yield f"Every row occurs at least {so_many(new.minimum_count, 'time')}; before, the minimum was {old.minimum_count}."


def _changed_column(old: ColumnPart, new: ColumnPart) -> Iterator[str]:
    if [bin_.model_dump(exclude={"number"}) for bin_ in old.bins] != [bin_.model_dump(exclude={"number"}) for bin_ in new.bins]:
        gone = [label for label in old.labels if label not in new.labels]
        come = [label for label in new.labels if label not in old.labels]
        if gone or come:
            listed = [f"{word} {', '.join(labels[:8])}{' and more' if len(labels) > 8 else ''}" for word, labels in
                     (("removed:", gone), ("new:", come)) if labels]  # fmt: skip
            yield f"{new.name} now has {so_many(len(new.bins), 'bin')}; before, it had {len(old.bins)} ({'; '.join(listed)})."
        else:
            yield f"Bins of {new.name} have the same labels, but contain other values."
    elif old.bounds != new.bounds:
        yield f"The public bounds of {new.name} changed."
