"""A release in its series: the sum for a person, what has changed, errata; and what was committed to before the run."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from synthrelease.bundle.preview import rewritten
from synthrelease.bundle.verify import verify_bundle, verify_files
from synthrelease.bundle.write import _sealed, commitment, write_bundle
from synthrelease.errors import InputError, OtherRelease, SpecError
from synthrelease.privacy.ledger import open_ledger
from synthrelease.publish import check_before_spending
from synthrelease.published.base import sha256
from synthrelease.published.charges import PersonPart
from synthrelease.published.commitment import read_commitment
from synthrelease.published.document import ReleaseDocument, read_strictly
from synthrelease.published.options import CorrectedPart, EarlierPart
from synthrelease.published.series import changes, total
from synthrelease.releasing.release import Release, release
from synthrelease.spec.load import load_spec
from synthrelease.spec.options import Options
from synthrelease.spec.requests import ReleaseRequest
from synthrelease.spec.series import Series
from tests.helpers.cards import rich_bundle, rich_release, write_files
from tests.helpers.tiny import EPSILON, write_config, write_data

pytestmark = pytest.mark.slow


@cache
def earlier_json() -> bytes:
    return rich_bundle()["release.json"]


def document() -> ReleaseDocument:
    return read_strictly(earlier_json())


@cache
def coins() -> Release:
    """A release with other bins than the earlier one, and other rules."""
    changes = {'"1-2", "3-4", "5-6", "7-8"': '"1-4", "5-6", "7-8"', "year > 6": "year > 7"}
    with tempfile.TemporaryDirectory() as name:
        found = release(load_spec(write_config(Path(name), changes)), write_data(Path(name)))
    if found is None:
        raise RuntimeError("no round was accepted")
    return found


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A release, and the earlier one that it names."""
    base = tmp_path_factory.mktemp("series")
    earlier = write_files(rich_bundle(), base / "earlier")
    found = coins()
    series = Series(name="Coins, yearly", earlier=(earlier_json(),))
    return write_bundle(replace(found, spec=replace(found.spec, options=Options(series=series))), base / "later"), earlier


def problems(report: Any) -> str:
    return "\n".join(problem for check in report.checks for problem in check.problems)


def part(digest: str, epsilon: str | None, corrects: str | None = None) -> EarlierPart:
    return EarlierPart(
        title="Coins",
        version="1",
        published="2026-01-01",
        digest=digest,
        epsilon_exact="1",
        delta_exact="0",
        person_epsilon_exact=epsilon,
        person_delta_exact=None if epsilon is None else "1/1000000000",
        corrects=corrects,
        changed=[],
    )


PERSON = PersonPart(unit="coin", records=1, why="", epsilon_exact="1/3", delta_exact="0")


@pytest.mark.parametrize(
    ("earlier", "corrects", "expected"),
    [
        ([], None, ("1/3", "0")),
        ([part("a", "1/2"), part("b", "2")], None, ("17/6", "1/500000000")),
        ([part("a", "1/2"), part("b", "1/2", "a")], None, ("5/6", "1/1000000000")),  # b is an erratum of a
        ([part("a", "1/2"), part("b", "1/2", "a"), part("c", "1/2", "b")], None, ("5/6", "1/1000000000")),
        ([part("b", "1/2", "a"), part("c", "1/2", "a")], None, ("5/6", "1/1000000000")),  # of a release that is not named
        ([part("a", "1/2")], "a", ("1/2", "1/1000000000")),  # this one is an erratum of a
        ([part("a", "1/2")], "b", ("5/6", "1/1000000000")),
        ([part("a", None), part("b", "2")], None, (None, None)),
    ],
)
def test_the_sum_counts_every_release_once_whatever_errata_it_has(
    earlier: list[EarlierPart], corrects: str | None, expected: tuple[str | None, str | None]
) -> None:
    own = None if corrects is None else CorrectedPart(digest=corrects, version="1", reason="A typing error.")
    assert total(earlier, own, PERSON) == expected
    assert total(earlier[::-1], own, PERSON) == expected


def test_a_release_says_what_earlier_ones_cost_and_what_has_changed(folders: tuple[Path, Path]) -> None:
    later, earlier = folders
    found = read_strictly((later / "release.json").read_bytes()).series
    assert found is not None
    assert found.earlier[0].digest == sha256(earlier_json())
    assert Fraction(str(found.total_epsilon_exact)) == EPSILON + Fraction(140, 3)
    assert found.earlier[0].changed == [
        "year now has 3 bins; before, it had 4 (removed: 1-2, 3-4; new: 1-4).",
        "A rule is new: never face == 'tail' and year > 7.",
        "A rule was removed: never face == 'tail' and year > 6.",
    ]
    for name in ("README.html", "README.md"):
        text = (later / name).read_text(encoding="utf-8")
        assert "64.0472578667" in text
        assert "Releases of the same register" in text
    report = verify_bundle(later, earlier=[earlier])
    assert problems(report) == ""
    assert "1 of 1 other release" in next(check.found for check in report.checks if check.name == "series")


def test_nothing_changed_is_no_change_and_columns_come_and_go() -> None:
    assert list(changes(document(), document())) == []
    fewer = document().model_copy(update={"columns": document().columns[:1]})
    assert list(changes(document(), fewer)) == ["The column year was removed."]
    assert list(changes(fewer, document())) == ["The column year is new."]


@pytest.mark.parametrize(
    ("name", "value"),
    [("epsilon_exact", "1"), ("person_epsilon_exact", "1"), ("version", "9"), ("changed", []), ("digest", "0" * 64)],
)
def test_what_is_said_of_an_earlier_release_is_checked_against_it(folders: tuple[Path, Path], name: str, value: Any) -> None:
    later, earlier = folders
    files = {path.name: path.read_bytes() for path in later.iterdir() if path.name != "SHA256SUMS"}
    tables = json.loads(files["release.json"])
    tables["series"]["earlier"][0][name] = value
    if name == "person_epsilon_exact":
        tables["series"]["total_epsilon_exact"] = "22"
    files["release.json"] = (json.dumps(tables, indent=2, ensure_ascii=False) + "\n").encode()
    given = [(earlier, {path.name: path.read_bytes() for path in earlier.iterdir()})]
    found = problems(verify_files(_sealed(files, None), earlier=given))
    assert "names no release with the checksum" in found if name == "digest" else f"series: {name} of" in found


def test_a_sum_that_does_not_follow_is_found_without_the_earlier_releases(folders: tuple[Path, Path]) -> None:
    files = {path.name: path.read_bytes() for path in folders[0].iterdir() if path.name != "SHA256SUMS"}
    tables = json.loads(files["release.json"])
    tables["series"]["total_epsilon_exact"] = "21"
    files["release.json"] = (json.dumps(tables, indent=2, ensure_ascii=False) + "\n").encode()
    assert f"must be {EPSILON + Fraction(140, 3)} and 0, which follow" in problems(verify_files(_sealed(files, None)))


def test_an_erratum_replaces_a_release_and_spends_nothing(tmp_path: Path) -> None:
    spec = rich_release().spec
    series = Series(name="Coins, yearly", corrected=earlier_json(), reason="The unit was wrong.")
    card = spec.card.model_copy(update={"version": "2.2"})
    files = _sealed(rewritten(rich_bundle(), replace(spec, card=card, options=Options(series=series))), None)
    found = read_strictly(files["release.json"]).series
    assert found is not None
    assert (found.total_epsilon_exact, found.total_delta_exact) == ("140/3", "0")
    assert files["data.csv"] == rich_bundle()["data.csv"]
    assert b"This release is an erratum. It replaces version 2.1" in files["README.html"]
    earlier = write_files(rich_bundle(), tmp_path / "earlier")
    given = [(earlier, dict(rich_bundle()))]
    assert problems(verify_files(files, earlier=given)) == ""
    other = dict(rich_bundle()) | {"data.csv": rich_bundle()["data.csv"].replace(b"head,1-2\n", b"", 1)}
    assert "an erratum must not change rows" in problems(verify_files(files, earlier=[(earlier, other)]))
    again = rewritten(files, replace(spec, card=card, options=Options(series=series)))  # as for another format
    assert again["release.json"] == files["release.json"]
    with pytest.raises(OtherRelease, match="Give it a new version"):
        rewritten(rich_bundle(), replace(spec, options=Options(series=series)))
    with pytest.raises(OtherRelease, match="must name the release that is rewritten"):
        rewritten(
            rich_bundle(), replace(spec, card=card, options=Options(series=replace(series, corrected=earlier_json() + b" ")))
        )


def test_mistakes_in_a_series_are_said_before_anything_is_spent(tmp_path: Path) -> None:
    (tmp_path / "release.json").write_bytes(earlier_json())
    (tmp_path / "other.json").write_bytes(b"{}")

    def spec(lines: str) -> Any:
        return load_spec(write_config(tmp_path, {"stop_probability = 0.001\n": f"stop_probability = 0.001\n[series]\n{lines}"}))

    with pytest.raises(SpecError, match=r"series.earlier\[0\]: There is no such file"):
        spec('name = "Coins"\nearlier = ["nowhere.json"]\n')
    with pytest.raises(SpecError, match="series.earlier: The same release is named twice"):
        spec('name = "Coins"\nearlier = ["release.json", "release.json"]\n')
    with pytest.raises(SpecError, match="Set both corrects and reason, or neither"):
        spec('name = "Coins"\ncorrects = "release.json"\n')
    request = ReleaseRequest(config=tmp_path / "coins.toml", data=write_data(tmp_path), out=tmp_path / "out")
    with pytest.raises(InputError, match=r"\[series\]: release.json of the earlier release cannot be read"):
        check_before_spending(spec('name = "Coins"\nearlier = ["other.json"]\n'), request)
    with pytest.raises(SpecError, match="series.corrects: A release with `corrects` is an erratum, which spends nothing"):
        check_before_spending(spec('name = "Coins"\ncorrects = "release.json"\nreason = "A typing error."\n'), request)


# --- Commitments


def test_a_commitment_holds_for_the_release_that_it_was_made_for_and_no_other(tmp_path: Path) -> None:
    ledger = tmp_path / "coins.ledger"
    open_ledger(ledger, "Coins", 100)
    spec = rich_release().spec
    made = commitment(spec, ledger)
    (tmp_path / "commitment.json").write_bytes(made.dumped())
    read, digest = read_commitment(tmp_path / "commitment.json")
    assert (read, digest) == (made, made.digest)
    assert made.ledger is not None
    assert (made.ledger.dataset, made.ledger.number) == ("Coins", 0)
    report = verify_files(rich_bundle(), commitment=tmp_path / "commitment.json")
    assert problems(report) == ""
    found = next(check.found for check in report.checks if check.name == "commitment")
    assert digest in found.replace(" ", "")
    for field, value in {
        "specification": "0" * 64,
        "program": "9.9",
        "charges": commitment(coins().spec).charges,
        "criteria": made.criteria[1:],
        "selection": made.selection.model_copy(update={"configurations": 10**6}),
    }.items():
        (tmp_path / "other.json").write_bytes(made.model_copy(update={field: value}).dumped())
        wrong = problems(verify_files(rich_bundle(), commitment=tmp_path / "other.json"))
        assert wrong.startswith(f"release.json and the commitment other.json: {'versions' if field == 'program' else field}: ")


def test_a_threshold_that_was_fitted_afterwards_is_found(tmp_path: Path) -> None:
    made = commitment(rich_release().spec)
    first = made.criteria[0].model_copy(update={"threshold": 0.1})
    (tmp_path / "c.json").write_bytes(made.model_copy(update={"criteria": [first, *made.criteria[1:]]}).dumped())
    found = problems(verify_files(rich_bundle(), commitment=tmp_path / "c.json"))
    assert found == "release.json and the commitment c.json: criteria: names, kinds, thresholds or epsilons differ"
    (tmp_path / "c.json").write_bytes(b"{}")
    with pytest.raises(InputError, match="this file is not a commitment .format: field required"):
        verify_files(rich_bundle(), commitment=tmp_path / "c.json")
