"""What a release says about earlier ones of the same register: what each cost, the sum for a person, and what has changed."""

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
    """The release.json of another release. Raises InputError."""
    try:
        return read_leniently(content)
    except Unexpected as error:
        problem = str(error)
    raise InputError(f"[series]: expected the file release.json of a release; {problem}.")


def earlier_part(content: bytes, document: ReleaseDocument) -> EarlierPart:
    """What is said of an earlier release, by its release.json alone.

    Parameters
    ----------
    document : this release.

    Raises
    ------
    InputError : when the content is no release.json.
    """
    old = read(content)
    person, said = old.guarantee.person, old.series
    return EarlierPart(
        title=old.card.title or old.title,
        version=old.card.version,
        published=old.card.published.isoformat(),
        digest=sha256(content),
        epsilon_exact=old.guarantee.epsilon_exact,
        delta_exact=old.guarantee.delta_exact,
        person_epsilon_exact=person.epsilon_exact,
        person_delta_exact=person.delta_exact,
        corrects=None if said is None or said.corrects is None else said.corrects.digest,
        changed=list(changes(old, document)),
        year=None if said is None or said.years is None else said.years.year,
        again=True if said is not None and said.years is not None and said.years.again else None,
        estimated=[] if said is None or said.years is None else list(_estimated(old, document)),
    )


def _estimated(old: ReleaseDocument, new: ReleaseDocument) -> Iterator[IntendedEstimatePart]:
    """What an earlier release states of questions about columns whose bins are the same ones in the new release.

    Nothing where it could have been published in several ways: its intervals have a part of the risk each, and no interval of a
    change follows from them.
    """
    if old.estimates is None or not old.measured_once:
        return
    before, after = ({one.name: (one.unit, one.bins) for one in each.columns} for each in (old, new))
    for one in old.estimates.intended:
        if one is None:
            continue
        every = before.keys() | after.keys()
        named = every & set(_WORD.findall(one.question)) or every  # columns of members have other names
        if all(name in before and before[name] == after.get(name) for name in named):
            yield one


def years_part(asked: YearOfSeries, earlier: Sequence[EarlierPart], document: ReleaseDocument) -> YearsPart:
    """The plan over years, with what a person paid so far at most."""
    promise = asked.horizon.promise
    paid = paid_so_far(asked, earlier, document)
    return YearsPart(
        **PlanOfYearsPart.of_plan(asked).model_dump(),
        again=asked.again,
        promised_epsilon_exact=str(promise.epsilon if promise else 0),
        promised_delta_exact=str(promise.delta if promise else 1),
        paid_epsilon_exact=str(paid.epsilon),
        paid_delta_exact=str(paid.delta),
    )


def paid_so_far(asked: YearOfSeries, earlier: Sequence[EarlierPart], document: ReleaseDocument) -> Loss:
    """What a person paid at most for the years up to this one.

    A year of which no release is named counts as planned: its release may have released nothing, and that was paid for as well.
    So does the first release of a year that has a second one. An erratum counts as the release that it corrects.
    """
    plan, own = asked.horizon, document.guarantee.guarantee()
    corrected = {one.digest: one.corrects for one in earlier if one.corrects is not None}
    spent = {
        _origin(one.digest, corrected): (
            one.year,
            bool(one.again),
            Loss(Fraction(one.epsilon_exact), Fraction(one.delta_exact)),
        )
        for one in earlier
    }
    named = [*spent.values(), (asked.year, asked.again, Loss(own.epsilon, own.delta))]
    paid = []
    for year in range(plan.first, asked.year + 1):
        releases = [(again, loss) for of, again, loss in named if of == year]
        losses = [loss for _, loss in releases]
        if all(again for again, _ in releases):
            losses.append(Loss(plan.most(year, again=False), plan.delta))
        paid.append(
            Loss(sum((loss.epsilon for loss in losses), Fraction(0)), sum((loss.delta for loss in losses), Fraction(0)))
        )
    return over_years(paid, plan.in_year, plan.in_all) or Loss(Fraction(0), Fraction(1))


def total(earlier: Sequence[EarlierPart], corrects: CorrectedPart | None, person: PersonPart) -> tuple[str | None, str | None]:
    """Epsilon and delta for a person who is in all releases, as exact fractions; None where one promises a person nothing.

    An erratum is another text of the release that it corrects: the two are one output of one mechanism, and count once.
    """
    own = "" if corrects is None else corrects.digest
    corrected = {one.digest: one.corrects for one in earlier if one.corrects is not None}
    spent: dict[str, tuple[str | None, str | None]] = {}
    for digest, costs in [
        *((one.digest, (one.person_epsilon_exact, one.person_delta_exact)) for one in earlier),
        (own, (person.epsilon_exact, person.delta_exact)),
    ]:
        spent.setdefault(_origin(digest, corrected), costs)
    sums = [Fraction(0), Fraction(0)]
    for costs in spent.values():
        for place, cost in enumerate(costs):
            if cost is None:
                return None, None
            sums[place] += Fraction(cost)
    return str(sums[0]), str(sums[1])


def _origin(digest: str, corrected: dict[str, str]) -> str:
    """The release that spent what this one says, through any number of errata."""
    seen = set()
    while digest in corrected and digest not in seen:
        seen.add(digest)
        digest = corrected[digest]
    return digest


def changes(old: ReleaseDocument, new: ReleaseDocument) -> Iterator[str]:
    """What is otherwise in bins and rules, one sentence each."""
    before, after = ({column.name: column for column in one.columns} for one in (old, new))
    yield from (f"The column {name} is new." for name in after if name not in before)
    yield from (f"The column {name} is no longer there." for name in before if name not in after)
    for name in after:
        if name in before:
            yield from _changed_column(before[name], after[name])
    rules = [{(rule.never, rule.applies_to) for rule in one.rules} for one in (old, new)]
    yield from (f"A rule is new: never {rule.never}." for rule in new.rules if (rule.never, rule.applies_to) not in rules[0])
    yield from (
        f"A rule is no longer there: never {rule.never}." for rule in old.rules if (rule.never, rule.applies_to) not in rules[1]
    )
    if old.minimum_count != new.minimum_count:
        yield f"Every row occurs at least {so_many(new.minimum_count, 'time')}; it was {old.minimum_count}."


def _changed_column(old: ColumnPart, new: ColumnPart) -> Iterator[str]:
    if [one.model_dump(exclude={"number"}) for one in old.bins] != [one.model_dump(exclude={"number"}) for one in new.bins]:
        gone = [label for label in old.labels if label not in new.labels]
        come = [label for label in new.labels if label not in old.labels]
        if gone or come:
            named = [f"{word} {', '.join(labels[:8])}{' and more' if len(labels) > 8 else ''}" for word, labels in
                     (("without", gone), ("new:", come)) if labels]  # fmt: skip
            yield f"{new.name} has {len(new.bins)} bins, and had {len(old.bins)}: {'; '.join(named)}."
        else:
            yield f"Bins of {new.name} with the same labels hold other values."
    elif old.bounds != new.bounds:
        yield f"The public bounds of {new.name} are others."
