"""A release of a multi-year plan: what it says, what is checked of it, and what is refused before anything is spent."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from synthrelease.answers.estimates import trend
from synthrelease.bundle.preview import rewritten
from synthrelease.bundle.verify import verify_files
from synthrelease.bundle.write import _sealed, commitment, write_bundle
from synthrelease.cli import app
from synthrelease.errors import BudgetError, OtherRelease, SpecError
from synthrelease.privacy.ledger import load_ledger, open_ledger
from synthrelease.privacy.plan import Loss, PaidYear, YearOfSeries
from synthrelease.publish import check_before_spending, publish
from synthrelease.published.commitment import CommitmentPart
from synthrelease.published.document import read_strictly
from synthrelease.published.options import EarlierPart, YearsPart
from synthrelease.published.series import paid_so_far, years_part
from synthrelease.published.verify.checks import Report
from synthrelease.releasing.release import Release, release
from synthrelease.spec.load import load_spec, read_specification
from synthrelease.spec.requests import ReleaseRequest
from synthrelease.spec.series import promise_text
from tests.helpers.cards import rich_bundle
from tests.helpers.forgeries import of_version, written_anew
from tests.helpers.tiny import EPSILON, MEASURED, write_config, write_data
from tests.helpers.years import PLAN, TABLE, bundle_of, bundle_of_1_0_0, configured, forged, problems, spec_of_year

pytestmark = pytest.mark.slow


def years_of(folder: Path) -> YearsPart:
    part = read_strictly((folder / "release.json").read_bytes()).series
    assert part is not None
    assert part.years is not None
    return part.years


def test_a_release_says_what_is_promised_and_what_is_paid(two_years: tuple[Path, Path]) -> None:
    first, third = map(years_of, two_years)
    assert first.horizon == third.horizon == PLAN
    assert Fraction(first.promised_epsilon_exact) == 20 + 19 + 18  # two records in the dearest years, a second release in one
    assert Fraction(first.paid_epsilon_exact) == EPSILON
    assert Fraction(third.paid_epsilon_exact) == EPSILON + 18  # a year without a release counts as planned
    text = re.sub(r"\s+", " ", (two_years[1] / "README.html").read_text(encoding="utf-8"))
    assert "2023 is year 3 of 3 (2021 to 2023)" in text
    assert "person over all years is epsilon = 57, if a person has at most 1 record in a year and 2 in all years" in text
    assert "this is the last year of the plan" in text
    given = [(two_years[0], {path.name: path.read_bytes() for path in two_years[0].iterdir()})]
    report = verify_files({path.name: path.read_bytes() for path in two_years[1].iterdir()}, earlier=given)
    assert problems(report) == ""
    assert "epsilon 57 promised over 3 years" in next(check.found for check in report.checks if check.name == "series")


def test_paid_so_far_counts_a_failed_first_release_and_errata_once() -> None:
    document = read_strictly(rich_bundle()["release.json"])
    own = Fraction(document.guarantee.epsilon_exact)

    def part(digest: str, year: int, epsilon: str, corrects: str | None = None, again: bool = False) -> EarlierPart:
        costs = {"epsilon_exact": epsilon, "delta_exact": "0", "person_epsilon_exact": epsilon, "person_delta_exact": "0"}
        said = {"title": "Coins", "version": "1", "published": "2026-01-01", "changed": []}
        return EarlierPart(digest=digest, corrects=corrects, year=year, again=again or None, **costs, **said)  # type: ignore[arg-type]

    def paid(earlier: list[EarlierPart], year: int, again: bool = False) -> Fraction:
        every = replace(PLAN, in_all=3)
        return paid_so_far(YearOfSeries(horizon=every, year=year, again=again), earlier, document).epsilon

    assert paid([], 2021) == own
    assert paid([], 2021, again=True) == own + 18
    assert paid([part("a", 2021, "7"), part("b", 2021, "7", corrects="a")], 2022) == own + 7
    assert paid([part("b", 2021, "7", corrects="a")], 2022) == own + 7
    assert paid([part("a", 2021, "7", again=True)], 2022) == own + 7 + 18
    assert paid([], 2023) == own + 18 + 18


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("promised_epsilon_exact", "20"),
        ("paid_epsilon_exact", "1"),
        ("records_in_all", 1),
        ("fallbacks", 0),
        ("year", 2021),
        ("year", 2024),
        ("records_in_year", 2),
        ("epsilons_exact", ["18", "18", "1"]),
    ],
)
def test_what_does_not_follow_from_the_plan_is_found(two_years: tuple[Path, Path], field: str, value: object) -> None:
    def change(series: dict[str, Any]) -> None:
        series["years"][field] = value

    assert "release.json: series: years: " in problems(verify_files(forged(two_years[1], change)))


def test_a_release_without_the_plan_that_an_earlier_one_has_does_not_pass(two_years: tuple[Path, Path]) -> None:
    without = forged(two_years[1], lambda series: series.pop("years"))
    assert "series: the multi-year plan of an earlier release is missing" in problems(verify_files(without))


def test_mistakes_in_a_plan_are_said_when_the_file_is_read(tmp_path: Path, two_years: tuple[Path, Path]) -> None:
    def told(more: str, table: str = TABLE) -> str:
        with pytest.raises(SpecError) as error:
            load_spec(configured(tmp_path, more, table))
        return str(error.value)

    earlier = f'earlier = ["{two_years[0]}/release.json"]\n'
    assert "The year must be a year of the plan, 2021 to 2023. It is 2024" in told("year = 2024\n")
    assert "A multi-year plan also needs `year`" in told("")
    assert "series.years: expected a whole number" in told("", "[series]\nname = 'Coins'\nyears = 'many'\n")
    assert "The setting epsilon is only for a multi-year plan, so the table also needs `years`" in told(
        "", "[series]\nname = 'Coins'\nepsilon = 1\n"
    )
    assert "Set both fallbacks and fallback_epsilon, or neither" in told("year = 2021\n", TABLE.replace("fallbacks = 1\n", ""))
    assert "This release is of the same year, 2021. An earlier release must be of another year" in told(
        "year = 2021\n" + earlier
    )
    other = "This release is not in the series 'Coins', or has another multi-year plan"
    assert other in told("year = 2022\n" + earlier, TABLE.replace("records = 2", "records = 3"))
    (tmp_path / "plain.json").write_bytes(rich_bundle()["release.json"])
    assert other in told('year = 2022\nearlier = ["plain.json"]\n')
    year = load_spec(configured(tmp_path, "year = 2022\n" + earlier)).year
    named = PaidYear(year=2021, again=False, paid=Loss(Fraction(EPSILON), Fraction(0)))
    assert year == YearOfSeries(horizon=PLAN, year=2022, named=(named,))
    without = "[series]\nname = 'Coins'\n"
    assert "series.years: The release in series.earlier[0] has a multi-year plan. State the same plan here" in told(
        earlier, without
    )
    sample = '[population]\nsize = 1000\nsample = "simple random, without replacement"\nsource = "A census"\n'
    assert "population: [population] cannot be combined with [series], because the bound holds only for all releases" in told(
        f"year = 2021\n{sample}"
    )


def test_a_release_is_charged_to_the_year_of_its_plan(tmp_path: Path) -> None:
    """By the commands: the plan is noted once, each year is released once, and a year that cannot be paid is refused."""
    config, data, ledger = configured(tmp_path, "year = 2021\n"), write_data(tmp_path), tmp_path / "coins.ledger"
    request = ReleaseRequest(config=config, data=data, out=tmp_path / "2021", ledger=ledger)
    with pytest.raises(BudgetError, match="Name the ledger .--ledger FILE"):
        check_before_spending(load_spec(config), replace(request, ledger=None))
    open_ledger(ledger, "Coins", 57)
    with pytest.raises(BudgetError, match="years describes a multi-year plan, but .* contains no such plan"):
        check_before_spending(load_spec(config), request)
    run = CliRunner()
    noted = run.invoke(app, ["ledger", "years", str(ledger), "--config", str(config)])
    assert noted.exit_code == 0, noted.output
    assert "Remaining years: 2021" in " ".join(noted.output.split())
    published = publish(request)
    assert published is not None
    assert load_ledger(ledger).statement().entries[-1].notes.year == 2021
    with pytest.raises(BudgetError, match="already contains a release for 2021"):
        publish(replace(request, out=tmp_path / "again"))
    shown = re.sub(r"\s+", " ", run.invoke(app, ["ledger", "show", str(ledger)]).output)
    assert "Remaining years: 2022 (epsilon 18), 2023 (epsilon 20). Remaining second releases of a year: 1" in shown
    dear = configured(tmp_path, "year = 2022\n", TABLE.replace("[18, 18, 20]", "[18, 17, 20]"))
    with pytest.raises(SpecError, match="The release of 2022 costs epsilon = .*, more than the planned 17"):
        check_before_spending(load_spec(dear), replace(request, out=tmp_path / "2022"))


def given(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def compared_with(part: CommitmentPart, files: Mapping[str, bytes], place: Path) -> Report:
    (place / "c.json").write_bytes(part.dumped())
    return verify_files(files, commitment=place / "c.json")


def test_the_specification_of_a_plan_says_which_release_of_it_is_committed_to(tmp_path: Path, one_release: Release) -> None:
    """Read from a configuration: year, fallback and plan are digested; what a year names of others is not."""
    texts = []
    for more in ("year = 2021\n", "year = 2022\n", "year = 2021\nagain = true\n", 'year = 2021\nreason = ""\n'):
        spec = load_spec(configured(tmp_path, more))
        texts.append(spec.text)
        assert read_specification(spec.text).text == spec.text
        assert read_specification(spec.text).year == spec.year
    assert len(set(texts)) == 3
    assert texts[0] == texts[3]
    assert spec_of_year(load_spec(configured(tmp_path, "year = 2021\n")), 2021).text == texts[0]  # the helper writes it so, too
    assert b"series" not in one_release.spec.text
    assert b"series" not in load_spec(configured(tmp_path, "", "[series]\nname = 'Coins'\n")).text


def test_a_commitment_to_a_series_is_to_one_release_and_says_what_it_shows_of_others(
    tmp_path: Path, two_years: tuple[Path, Path], one_release: Release
) -> None:
    made = commitment(spec_of_year(one_release.spec, 2021))
    assert made.years is not None
    assert b'"years"' not in commitment(one_release.spec).dumped()
    first, third = (compared_with(made, given(folder), tmp_path) for folder in two_years)
    assert (problems(first), problems(third)) == ("", "")
    assert (first.vouched_for, third.vouched_for) == (True, False)
    assert "The specification of the release of 2021 equals the commitment." in first.closing
    assert "The commitment is for the release of 2021. This is the release of 2023" in third.closing
    assert "of this release were not compared" in third.closing
    assert "the commitment does not contain the specification of this release" in next(
        check.found for check in third.checks if check.name == "commitment"
    )
    digest = made.digest
    assert digest in first.closing.replace(" ", "")
    assert digest in third.closing.replace(" ", "")

    def told(part: CommitmentPart, folder: Path) -> str:
        return problems(compared_with(part, given(folder), tmp_path))

    other_program = made.model_copy(update={"program": "9.9"})
    assert "versions" in told(other_program, two_years[0])
    assert told(other_program, two_years[1]) == ""
    cheaper = made.model_copy(update={"years": made.years.model_copy(update={"records_in_all": 1})})
    assert "but release.json has another one" in told(cheaper, two_years[1])
    milder = made.model_copy(update={"criteria": [made.criteria[0].model_copy(update={"threshold": 0.1}), *made.criteria[1:]]})
    assert "criteria: names, kinds or thresholds differ" in told(milder, two_years[1])


def test_who_calls_a_release_the_second_one_of_its_year_does_not_pass_its_commitment(
    tmp_path: Path, two_years: tuple[Path, Path], one_release: Release
) -> None:
    """The way around: without a specification to be compared with, epsilon and rules could be any."""
    made, first = commitment(spec_of_year(one_release.spec, 2021)), given(two_years[0])

    def called_second(series: dict[str, Any]) -> None:
        document = read_strictly(first["release.json"])
        asked = YearOfSeries(horizon=PLAN, year=2021, again=True)
        series["years"] = years_part(asked, [], document).model_dump()

    in_release_json = forged(two_years[0], called_second)
    assert "the multi-year plan, or the year in this plan, differs" in problems(verify_files(in_release_json, plan=False))
    second = bundle_of(one_release, tmp_path / "second", 2021, again=True)  # the whole bundle written anew
    assert problems(verify_files(given(second))) == ""
    found = compared_with(made, given(second), tmp_path)
    assert "this is the second release of 2021, but the commitment is for the release of 2021" in problems(found)
    assert not found.passed
    own = compared_with(commitment(spec_of_year(one_release.spec, 2021, again=True)), given(second), tmp_path)
    assert problems(own) == ""
    assert "The specification of the second release of 2021 equals the commitment." in own.closing
    assert "this is the release of 2021, but the commitment is for the second release of 2021" in problems(
        compared_with(commitment(spec_of_year(one_release.spec, 2021, again=True)), first, tmp_path)
    )


def test_commitments_and_releases_of_version_1_0_0_verify_as_what_they_are(tmp_path: Path, one_release: Release) -> None:
    """That version digested neither year nor fallback: of a fallback it fixed the plan and the thresholds, and this is said."""
    release_1, second = (bundle_of_1_0_0(one_release, tmp_path / name, 2021, name == "second") for name in ("first", "second"))
    made = commitment(spec_of_year(one_release.spec, 2021))
    assert made.years is not None
    old = made.model_copy(
        update={
            "specification": one_release.spec.digest,
            "years": made.years.model_copy(update={"again": None}),
            "program": "1.0.0",
        }
    )
    assert b'"again"' not in old.dumped()
    reports = [compared_with(old, given(folder), tmp_path) for folder in (release_1, second)]
    assert [problems(report) for report in reports] == ["", ""]
    assert [report.vouched_for for report in reports] == [True, False]
    assert "Bins, rules and budgets of this release were not compared" in reports[1].closing
    assert all("The specification does not contain 'series' of release.json" in report.closing for report in reports)


def test_a_plan_that_the_specification_does_not_have_is_found(
    tmp_path: Path, two_years: tuple[Path, Path], one_release: Release
) -> None:
    """A plan put into release.json after the run, with its documents; and the specification's plan taken out of it."""
    with_plan, plain = given(two_years[0]), given(write_bundle(one_release, tmp_path / "plain"))
    series = json.loads(with_plan["release.json"])["series"]
    inserted = written_anew(plain, json.loads(plain["release.json"]) | {"series": series})
    taken = written_anew(with_plan, {k: v for k, v in json.loads(with_plan["release.json"]).items() if k != "series"})
    assert verify_files(plain).passed
    for files, told in ((inserted, "the specification does not"), (taken, "release.json does not")):
        for plan in (True, False):
            assert f"what was fixed before the run, but {told}" in problems(verify_files(files, plan=plan))
    assert "but the commitment has none" in problems(compared_with(commitment(one_release.spec), inserted, tmp_path))
    old = of_version(inserted, "1.0.0")  # which published no plan in its specification: told, and found by a commitment
    report = verify_files(old)
    assert problems(report) == ""
    assert "This part may have been written after the run" in report.closing
    committed = commitment(one_release.spec).model_copy(update={"program": "1.0.0"})
    assert "but the commitment has none" in problems(compared_with(committed, old, tmp_path))


def test_a_card_adds_no_plan_and_takes_none_away(tmp_path: Path, one_release: Release) -> None:
    """Of a release of today, and of version 1.0.0, whose specification has none."""
    spec, plan = one_release.spec, spec_of_year(one_release.spec, 2021)
    plain, planned = (
        given(write_bundle(one_release, tmp_path / "plain")),
        given(bundle_of(one_release, tmp_path / "plan", 2021)),
    )
    old = given(bundle_of_1_0_0(one_release, tmp_path / "old", 2021))
    cases = ((plain, plan), (planned, spec), (of_version(plain, "1.0.0"), plan), (old, spec), (old, spec_of_year(spec, 2022)))
    for files, asked in cases:
        with pytest.raises(OtherRelease):
            rewritten(files, asked)
    for files in (planned, old):
        anew = dict(_sealed(rewritten(files, plan), None))
        assert problems(verify_files(anew)) == ""


def test_what_nobody_checks_names_the_plan_only_where_the_specification_has_none(two_years: tuple[Path, Path]) -> None:
    files = given(two_years[0])
    for found, told in ((files, "[series] (except its plan)"), (of_version(files, "1.0.0"), "[series], ")):
        (words,) = [sentence for sentence in verify_files(found).beyond if "the publisher's texts" in sentence]
        assert told in words


def test_the_promise_in_words() -> None:
    text = promise_text(YearOfSeries(horizon=replace(PLAN, in_all=1, fallbacks=0, fallback_epsilon=Fraction(0)), year=2022))
    assert text.startswith(
        "Years: 2022 is year 2 of 3 (2021 to 2023). The guarantee for a person over all years is epsilon = 20, "
    )
    assert "each record is in one year and is a different person" in text
    assert PLAN.promise == Loss(Fraction(57), Fraction(0))


ASKED = """[[intended_queries]]
query = "share face == 'head'"
why = "Heads"

[[intended_queries]]
query = "mean year"
why = "Age"

"""


def test_a_card_says_what_changed_since_the_year_before_and_what_is_within_noise(tmp_path: Path) -> None:
    """By what both releases state: as the command does by their noisy tables."""
    made = []
    for year in (2021, 2022, 2023):
        (tmp_path / str(year)).mkdir()
        changes = {**MEASURED, "[budget]": ASKED + "[budget]"}
        spec = load_spec(write_config(tmp_path / str(year), changes))
        data = write_data(tmp_path / str(year))
        data.write_text(data.read_text() + "head,2\n" * 25 * (year - 2020))  # far from each other: small noise may be the same
        found = release(spec, data)
        assert found is not None
        earlier = tuple((folder / "release.json").read_bytes() for folder in made)
        made.append(bundle_of(found, tmp_path / f"release-{year}", year, earlier))
    part = read_strictly((made[2] / "release.json").read_bytes()).series
    assert part is not None
    assert [[one.question for one in each.estimated] for each in part.earlier] == [["share face == 'head'", "mean year"]] * 2
    text = re.sub(r"\s+", " ", html.unescape((made[2] / "README.html").read_text(encoding="utf-8")))
    for question, unit, scale in (("share face == 'head'", " percentage points", 100), ("mean year", "", 1)):
        number = r"([+-][0-9.]+)"
        told = rf"{re.escape(question)}: {number}{unit} since 2022 \(95% interval {number} to {number}([^.]*)\."
        [(moved, low, high, rest)] = re.findall(told, text)
        found_by_command = trend(made[1:], question).contrasts[0]
        ends = (found_by_command.low, found_by_command.high)
        if found_by_command.binned_low is not None:
            ends = (found_by_command.binned_low, found_by_command.binned_high)
            assert "for representative values" in rest
        expected = [scale * (number or 0) for number in (found_by_command.estimate, *ends)]
        rounding = 0.51 * 10 ** -len(moved.partition(".")[2])
        assert [float(moved), float(low), float(high)] == pytest.approx(expected, abs=rounding)
        assert ("there may be no change" in rest) == trend(made[1:], question).within_noise(found_by_command)
    given = [(folder, {path.name: path.read_bytes() for path in folder.iterdir()}) for folder in made[:2]]
    assert problems(verify_files({path.name: path.read_bytes() for path in made[2].iterdir()}, earlier=given)) == ""
