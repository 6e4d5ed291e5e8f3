"""Whom and what the guarantee covers, in every document: files, rows left out, persons, a guess, reasons."""

from __future__ import annotations

import io
import json
import re
from contextlib import redirect_stdout
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from math import comb, exp
from pathlib import Path

import pytest

from synthrelease.bundle.card.numbers import public_epsilon, worst_factor
from synthrelease.bundle.card.page import markdown_bytes
from synthrelease.bundle.card.sections import (
    BELIEFS,
    data_protection,
    domain_text,
    left_out_text,
    person_text,
    right_guess,
    rows_left_out,
)
from synthrelease.bundle.document import release_document
from synthrelease.bundle.sheets import sign_files
from synthrelease.bundle.write import write_bundle
from synthrelease.cli.terminal import ROWS_IN_WORDS
from synthrelease.errors import SpecError
from synthrelease.privacy.charges import NOT_COVERED, NUMBER_OF_ROWS, SHORTFALL, RowsRule, invariants
from synthrelease.privacy.plan import RowsLeftOut, loss_of_group
from synthrelease.published.document import ReleaseDocument, read_strictly
from synthrelease.published.table import ReleasedTable
from synthrelease.published.verify.charges import charges as check_charges
from synthrelease.releasing.release import Release, release
from synthrelease.settings.tables import AttacksTable
from synthrelease.spec.load import load_spec
from synthrelease.spec.shortlist import narrowed, shortlist_text
from tests.helpers.tiny import EPSILON, write_config, write_data

WHY = "Two tosses of each."
BUDGET, CRITERION = "Agreed with the mint.", "A mean off by more is of no use."
TOTAL = EPSILON + Fraction(1, 2)  # the number of rows, and what CHANGES leaves as it is

CHANGES = {
    "rows = 400": 'missing = "error"\noutside = "error"',
    "generation = 10": f'generation = 10\nrows = 0.5\nreason = "{BUDGET}"',
    "limit = 25": f'limit = 25\n[unit]\nname = "toss"\nrecords_per_person = 2\nwhy = "{WHY}"',
    "threshold = 0.9\nepsilon = 0.5": f'threshold = 0.9\nepsilon = 0.5\nreason = "{CRITERION}"',
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Release:
    folder = tmp_path_factory.mktemp("guarantee")
    while True:  # the stop coin ends one in a thousand
        if result := release(load_spec(write_config(folder, CHANGES)), write_data(folder)):
            return result


@pytest.fixture(scope="module")
def document(made: Release) -> ReleaseDocument:
    return release_document(made, {})


def changed(document: ReleaseDocument, **parts: dict[str, object]) -> ReleaseDocument:
    """The document with other values in some of its parts."""
    update = {name: getattr(document, name).model_copy(update=values) for name, values in parts.items()}
    return document.model_copy(update=update)


def in_words(text: str) -> str:
    return " ".join(text.split())


# --- What every document shows ----------------------------------------------------------------------------------------------


def test_the_unit_and_the_reasons_stand_in_every_document(made: Release, tmp_path: Path) -> None:
    folder = write_bundle(made, tmp_path / "release")
    for name in ("release.json", "README.md", "README.html", "deployment.yaml"):
        text = in_words((folder / name).read_text(encoding="utf-8").replace("\\", ""))
        for said in (WHY.rstrip("."), BUDGET.rstrip("."), CRITERION.rstrip(".")):
            assert said in text, (name, said)
    told = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    assert told["guarantee"]["person"] == {
        "unit": "toss", "records": 2, "why": WHY, "epsilon_exact": str(2 * TOTAL), "delta_exact": "0"}  # fmt: skip
    assert told["domain"]["rows"] == "counted"
    assert (told["domain"]["file_rows"], told["domain"]["margin"]) == (
        401,
        RowsRule(way="counted", epsilon=Fraction(1, 2)).margin,
    )
    assert told["guarantee"]["invariants"][0] == "the number of rows of the file, N = 401"
    for name in ("README.md", "README.html"):
        assert "at most 99.99999" in in_words((folder / name).read_text(encoding="utf-8"))


def test_the_public_part_says_what_protects_a_person_with_several_records(made: Release, tmp_path: Path) -> None:
    """Whoever reads no further must not take the epsilon of one record for a person's."""
    folder = write_bundle(made, tmp_path / "release")
    for name, start, end in (("README.md", "## For everyone", "## For data users"), ("README.html", "<main", 'id="files"')):
        public = in_words((folder / name).read_text(encoding="utf-8").replace("\\", "").partition(start)[2].partition(end)[0])
        factor, right = worst_factor(2 * TOTAL), right_guess(release_document(made, {}), whole_person=True)
        assert "Privacy loss of a person with 2 records, at most" in public, name
        assert f"by a larger epsilon, at most {public_epsilon(str(2 * TOTAL))}: the factor is {factor}, the guess" in public
        assert f"with a probability of at most {right}, and delta is at most 0." in public


def test_the_plan_shows_the_unit_and_the_reasons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    from synthrelease.cli import terminal

    shown = io.StringIO()
    monkeypatch.setattr(terminal, "screen", Console(file=shown, width=400))
    with redirect_stdout(shown):
        terminal.print_plan(load_spec(write_config(tmp_path, CHANGES)))
    said = in_words(shown.getvalue())
    for text in (
        WHY,
        BUDGET,
        CRITERION,
        "differ in one replaced toss",
        "at most 2 records",
        f"with epsilon = {float(2 * TOTAL)}",
        "minus 12",
    ):
        assert text in said


@pytest.mark.parametrize("way", ["whole", "counted", "stated", "exact"])
def test_who_is_not_covered_is_said_just_where_the_number_is_exact(document: ReleaseDocument, way: str) -> None:
    other = changed(document, domain={"way": way, "file_rows": None if way == "exact" else 401})
    texts = [domain_text(other), *invariants(way, 401, document.n_rows)[-1:], ROWS_IN_WORDS[way]]
    assert [NOT_COVERED in text for text in texts] == [way == "exact"] * 3


# --- The texts --------------------------------------------------------------------------------------------------------------


def test_the_domain_names_the_file_and_never_how_many_rows_were_kept(document: ReleaseDocument) -> None:
    counted = domain_text(document)
    assert counted.startswith("All files of 401 rows with the columns and bounds above, with any values in the rows.")
    assert f"used {document.n_rows} of the rows that follow the rules (below), drawn at random" in counted
    assert "noisy count of the rows that follow the rules, minus 12. With probability at most 0.001, fewer rows" in counted
    assert "400" not in counted or document.n_rows == 400  # 400 are kept
    assert "stated this number beforehand" in domain_text(changed(document, domain={"way": "stated"}))
    assert domain_text(changed(document, domain={"way": "whole"})).endswith("No row was left out.")
    exact = domain_text(changed(document, domain={"way": "exact", "file_rows": None}))
    assert exact.startswith(f"Files in which exactly {document.n_rows} rows are complete, in range and plausible")


@pytest.mark.parametrize("epsilon", ["0.5", "0.03"])
@pytest.mark.parametrize("kept", [0, 2, 700, 930, 1000])
def test_how_many_were_left_out_is_told_with_the_probability_that_is_said(kept: int, epsilon: str) -> None:
    """Over all noise: Pr[z] = (1 - a) / (1 + a) a^|z|, and the number that a release works with as `resize` has it."""
    margin, a, n_file, wrong = RowsRule(way="counted", epsilon=Fraction(epsilon)).margin, exp(-float(epsilon)), 1000, 0.0
    for noise in range(-5000, 5001):
        n = min(max(kept + noise - margin, 1), n_file)
        told = RowsLeftOut.of_count(n_file=n_file, n=n, margin=margin)
        wrong += (1 - a) / (1 + a) * a ** abs(noise) * (not told.least <= n_file - kept <= told.most)
    assert wrong <= 2 * SHORTFALL
    assert kept != 700 or wrong > SHORTFALL / 2  # no wider than it must be


@pytest.mark.parametrize(("file_rows", "said"), [(401, False), (800, True)])
def test_the_card_says_at_once_where_many_records_were_not_used(document: ReleaseDocument, file_rows: int, said: bool) -> None:
    other = changed(document, domain={"file_rows": file_rows})
    left_out = rows_left_out(other)
    assert left_out is not None
    assert left_out.many == said
    assert (
        f"According to the noisy count, rules and missing or unexpected values excluded {left_out.share} of the rows."
        in domain_text(other)
    )


def test_every_policy_names_its_columns(document: ReleaseDocument) -> None:
    policies = [("drop", "drop"), ("error", "clip")]
    columns = [
        column.model_copy(update={"missing": missing, "outside": outside})
        for column, (missing, outside) in zip(document.columns, policies, strict=True)
    ]
    said = left_out_text(document.model_copy(update={"columns": columns}))
    assert said == (
        "Rows with no value, or no number or date, in one of these columns were left out: face. A file with a missing value in "
        "one of these columns would have been refused. So the original file has no such value, and the guarantee does not "
        "cover this fact: year. In these columns, values outside the bounds counted as the nearest bound: year. Rows with a "
        "value outside the bounds or categories of these columns were left out: face. Rows that meet one of these conditions "
        "were left out: face == 'tail' and year > 6."
    )
    derived = columns[0].model_copy(update={"source": ""})  # of no column of the file
    assert (
        "face"
        not in left_out_text(document.model_copy(update={"columns": [derived, columns[1]]})).partition("Rows that meet")[0]
    )
    assert "So the original file has no such value, and the guarantee does not cover this fact: face; year." in left_out_text(
        document
    )


@pytest.mark.parametrize(
    ("person", "says"),
    [
        ({"records": 1, "unit": "record"}, "One record. Neighbouring files: replace one record. A person with k records is"),
        ({"records": 3, "epsilon_exact": "129/2", "why": ""}, "at most 3 records and is protected with epsilon = 64.5."),
        ({"records": 2, "epsilon_exact": "43", "delta_exact": "1/1000"}, "is protected with epsilon = 43, delta = 0.001."),
        ({"records": 2, "epsilon_exact": None, "delta_exact": None}, "has no protection: delta would be 1 or more."),
    ],
)
def test_a_person_is_told_what_protects_them(document: ReleaseDocument, person: dict[str, object], says: str) -> None:
    part = document.guarantee.person.model_copy(update=person)
    assert says in person_text(changed(document, guarantee={"person": part}))


def test_the_loss_of_a_group_is_that_of_steps_from_file_to_file() -> None:
    """One step after the other: epsilon adds up; delta d_k = d_(k-1) e^epsilon + delta is at most what is stated."""
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(3)):
        for delta in (Fraction(0), Fraction(1, 10**9)):
            steps = 0.0
            for records in range(1, 8):
                steps = steps * exp(epsilon) + float(delta)
                found = loss_of_group(epsilon, delta, records)
                assert found is not None
                assert found.epsilon == records * epsilon
                assert float(found.delta) >= steps * (1 - 1e-12)
                assert float(found.delta) <= records * exp((records - 1) * epsilon) * float(delta) * (1 + 1e-6)
    assert loss_of_group(Fraction(10), Fraction(1, 10**9), 4) is None


@pytest.mark.parametrize("epsilon", ["1/100", "1", "3", "48/5", "21", "60"])
@pytest.mark.parametrize("delta", ["0", "1/1000000000"])
def test_a_right_guess_is_as_likely_as_the_best_test_between_two_files_allows(
    document: ReleaseDocument, epsilon: str, delta: str
) -> None:
    """Randomised response with that delta attains it: right with (e^eps + delta) / (1 + e^eps). Rounded up."""
    told = {"epsilon_exact": epsilon, "delta_exact": delta}
    said = right_guess(changed(document, guarantee=told))
    person = document.guarantee.person.model_copy(update=told)
    assert right_guess(changed(document, guarantee={"person": person}), whole_person=True) == said
    with localcontext() as context:
        context.prec = 60
        odds = (Decimal(Fraction(epsilon).numerator) / Fraction(epsilon).denominator).exp()
        right = 100 * (odds + Decimal(Fraction(delta).numerator) / Fraction(delta).denominator) / (1 + odds)
        shown = Decimal(said.removesuffix("%"))
        assert shown >= right
        assert shown - right <= Decimal(10) ** shown.as_tuple().exponent  # type: ignore[operator]


# --- What verify notices ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "values", "says"),
    [
        ("domain", {"margin": 13}, "The right values are the margin 12"),
        ("domain", {"shortfall": "1/100"}, "the shortfall 1/1000"),
        ("domain", {"file_rows": 402}, ". They should be ["),
        ("domain", {"file_rows": None}, "file_rows must be null if rows is 'exact', and a number otherwise"),
        ("domain", {"file_rows": 1}, "rows, but the file has 1"),
        ("domain", {"way": "whole"}, "rows, but the file has"),
        ("domain", {"way": "stated"}, "this charge must exist if, and only if, the number of rows was counted"),
        ("guarantee", {"invariants": []}, ". They should be ["),
        ("person", {"records": 3}, "for a person with 3 records, but release.json states"),
        ("person", {"epsilon_exact": "43/2"}, "for a person with 2 records, but release.json states"),
        ("person", {"epsilon_exact": None, "delta_exact": None}, "for a person with 2 records, but release.json states"),
    ],
)  # fmt: skip
def test_a_domain_that_does_not_follow_from_the_charges_is_found(
    document: ReleaseDocument, part: str, values: dict[str, object], says: str
) -> None:
    assert check_charges(document).problems == ()
    if part == "person":
        part, values = "guarantee", {"person": document.guarantee.person.model_copy(update=values)}
    assert any(says in problem for problem in check_charges(changed(document, **{part: values})).problems)


def test_a_number_that_needs_no_count_may_not_be_counted(document: ReleaseDocument) -> None:
    without = document.model_copy(update={"rules": []})
    assert any("the rules exclude no row" in problem for problem in check_charges(without).problems)


def test_a_number_that_needs_a_count_may_not_go_without(document: ReleaseDocument) -> None:
    free = [part for part in document.charges.parts if part.name != NUMBER_OF_ROWS]
    without = changed(document, charges={"parts": free}, domain={"way": "whole", "margin": None, "shortfall": None})
    assert any("the rules can exclude rows" in problem for problem in check_charges(without).problems)


def test_the_guarantee_of_a_release_has_its_unit(made: Release) -> None:
    assert made.guarantee.of_a_person == (2 * TOTAL, 0)
    assert replace(made.guarantee, records_per_person=5).of_a_person == (5 * TOTAL, 0)
    assert comb(2, 1) * made.guarantee.epsilon == 2 * TOTAL


# --- In the terms of data protection ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["1/100", "7/10", "3", "48/5"])
def test_a_belief_rises_to_what_randomised_response_makes_of_it(document: ReleaseDocument, epsilon: str) -> None:
    """An answer that is e^eps times as likely for one of two records as for the other moves a belief by Bayes' rule, and none
    that keeps the guarantee moves it further. The card rounds up, by less than a tenth of a percent."""
    person = document.guarantee.person.model_copy(update={"epsilon_exact": epsilon, "delta_exact": "0"})
    heading, text = data_protection(changed(document, guarantee={"person": person}))[0]
    risen = [float(number) for number in re.findall(r"to at most ([\d.]+)%", text)]
    likely = exp(Fraction(epsilon)) / (1 + exp(Fraction(epsilon)))
    for before, said in zip(BELIEFS, risen, strict=True):
        after = 100 * before * likely / (before * likely + (1 - before) * (1 - likely))
        assert after <= said <= after + 0.1 + 1e-9
    assert heading == "Singling out"


def test_with_a_delta_only_the_guess_between_equally_likely_files_is_said(document: ReleaseDocument) -> None:
    """A delta may reveal a record for sure, however seldom: then no belief below a half has a bound."""
    person = document.guarantee.person.model_copy(update={"epsilon_exact": "1", "delta_exact": "1/1000000000"})
    with_delta = changed(document, guarantee={"person": person})
    texts = dict(data_protection(with_delta))
    assert f"at most {right_guess(with_delta, whole_person=True)} of the guesses are right" in texts["Singling out"]
    assert "rises" not in texts["Singling out"]


def test_where_nothing_is_promised_to_a_person_it_is_said_of_a_record(document: ReleaseDocument) -> None:
    nothing = document.guarantee.person.model_copy(update={"epsilon_exact": None, "delta_exact": None})
    texts = dict(data_protection(changed(document, guarantee={"person": nothing})))
    assert "one record were used" in texts["Singling out"]
    assert not any("person" in text for text in texts.values())


TRIED = {
    "fits": 100,
    "epsilon": 4.0,
    "known": ("face",),
    "contradicts": False,
    "membership": [
        {
            "seen": "the noisy tables",
            "guesses": 100,
            "right": 61,
            "low": 0.507,
            "high": 0.706,
            "allowed_by_epsilon": 0.982,
            "allowed_by_noise": 0.641,
        }
    ],
    "persons": [
        {"guessed": "year", "inside": 0.31, "outside": 0.3, "difference": (-0.01, 0.03), "baseline": 0.25},
        {"guessed": "day", "inside": 0.41, "outside": 0.3, "difference": (0.09, 0.13), "baseline": 0.25},
        {"guessed": "", "inside": 0.02, "outside": 0.02, "difference": (-0.01, 0.01)},
    ],
}


def test_what_attacks_got_stands_beside_what_epsilon_allows_in_card_and_sheet(made: Release, tmp_path: Path) -> None:
    """The shortlist of a rehearsal carries it to the release; release.json gives it back as it was found."""
    spec, tried = made.spec, AttacksTable.model_validate(TRIED)
    (tmp_path / "tried.toml").write_text(shortlist_text("Coins", [spec.space[0].describe()], attacks=tried))
    narrow = narrowed(spec, tmp_path / "tried.toml")
    document = release_document(replace(made, spec=narrow), {})
    assert read_strictly(document.dumped()).attacks == tried
    text = dict(data_protection(document))["Tried, not proved"]
    assert "right in 61 of 100 cases" in text
    assert "65%" in text
    assert "98.2%" in text
    assert "epsilon 4" in text
    assert "day" in text  # of the columns that were guessed, the one that the rows gave away most
    assert "year" not in text
    for page in (sign_files(document)["SIGN.md"].decode(), markdown_bytes(document, ReleasedTable.of(made.candidate)).decode()):
        assert "right in 61 of 100 cases" in page


def test_without_attacks_card_and_sheet_say_so(document: ReleaseDocument) -> None:
    assert "attacks" not in json.loads(document.dumped())
    assert dict(data_protection(document))["Tried, not proved"] == "This release states no results of attacks."


def test_a_shortlist_whose_attacks_contradict_the_claim_is_refused(made: Release, tmp_path: Path) -> None:
    tried = AttacksTable.model_validate({**TRIED, "contradicts": True})
    (tmp_path / "tried.toml").write_text(shortlist_text("Coins", [made.spec.space[0].describe()], attacks=tried))
    with pytest.raises(SpecError, match="An attack was right more often than the claimed epsilon allows"):
        narrowed(made.spec, tmp_path / "tried.toml")


@pytest.mark.parametrize("exact", ["0", "1/1000", "7/10", "33489051/5000000", "1099/1000", "10001/1000", "123456"])
def test_the_public_reads_an_epsilon_that_is_never_too_small(exact: str) -> None:
    value, said = Fraction(exact), Fraction(public_epsilon(exact).replace(",", ""))
    assert value <= said <= value * Fraction(101, 100)
