"""SIGN.md says what the folder says: its claim, what `plan` prints, the noise; `verify` notices edits; older ones have none."""

from __future__ import annotations

import json
import math
import re
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from synthrelease.bundle.card.sections import right_guess_text
from synthrelease.bundle.preview import rewritten
from synthrelease.bundle.sheets import NAME, claim, laplace_sd_text, sign_files
from synthrelease.bundle.verify import verify_bundle
from synthrelease.published.document import BEFORE, FORMAT, ReleaseDocument, read_strictly
from synthrelease.spec.load import load_spec
from synthrelease.studio.audit.audit import RECORDS_OF_A_RELEASE
from tests.helpers.cards import rich_bundle, write_files
from tests.helpers.command_line import said_by

KEPT = Path(__file__).parent.parent / "kept"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(rich_bundle(), tmp_path_factory.mktemp("sign") / "bundle")


@pytest.fixture(scope="module")
def document(folder: Path) -> ReleaseDocument:
    return read_strictly((folder / "release.json").read_bytes())


def test_verify_notices_an_edit_of_the_sheet_and_its_absence(folder: Path, tmp_path: Path) -> None:
    problems = [problem for check in verify_bundle(folder).checks for problem in check.problems]
    assert problems == []
    epsilon = claim(read_strictly((folder / "release.json").read_bytes())).partition("epsilon = ")[2].partition(")")[0]
    changes = {"documents": lambda path: path.write_text(path.read_text().replace(epsilon, "1", 1)), "complete": Path.unlink}
    for check, change in changes.items():
        edited = shutil.copytree(folder, tmp_path / "edited", dirs_exist_ok=True)
        change(edited / NAME)
        failed = {one.name: one.problems for one in verify_bundle(edited).checks if one.problems}
        assert any(problem.startswith(NAME) for problem in failed[check])


def test_what_the_sheet_expects_of_plan_is_what_plan_prints(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, said = said_by(monkeypatch, capsys, "plan", str(folder / "specification.json"))
    printed = re.sub(r"[│├└─]+", "", said)
    [block] = re.findall(r"of the plan:\n\n```\n(.*?)\n```", (folder / NAME).read_text(), re.DOTALL)
    charges = json.dumps(json.loads((folder / "release.json").read_bytes())["charges"])
    assert len(block.split("\n")) == charges.count('"because"')  # every node of the tree
    at = 0
    for line in block.split("\n"):
        at = " ".join(printed.split()).find(" ".join(line.split()), at)
        assert at >= 0, line


def test_the_claim_has_the_exact_loss_or_more_and_the_neighbours_of_the_release(document: ReleaseDocument) -> None:
    said = claim(document)
    [epsilon] = re.findall(r"epsilon = ([\d.]+)\)", said)
    assert 0 <= Fraction(epsilon) - Fraction(document.guarantee.epsilon_exact) < Fraction(1, 10**9)
    assert f"e^{epsilon} times" in said
    assert "pure differential privacy" in said
    assert len(re.findall(r"\.(?: |$)", said)) == 4  # the files, the bound, and what it covers and does not
    for fact in document.guarantee.invariants:
        assert fact in said


def test_the_claim_of_a_release_with_a_delta_a_key_or_an_exact_number(document: ReleaseDocument) -> None:
    guarantee, person = document.guarantee, document.guarantee.person

    def said(about: dict[str, object], domain: dict[str, object] | None = None) -> str:
        changed = guarantee.model_copy(update=about)
        return claim(
            document.model_copy(update={"guarantee": changed, "domain": document.domain.model_copy(update=domain or {})})
        )

    assert "plus delta = 0.000001 (approximate" in said({"delta_exact": "1/1000000"})
    of_all = person.model_copy(update={"epsilon_exact": "9", "delta_exact": "0"})
    assert "300 persons that differ in the rows of one person" in said({"person": of_all}, {"persons": 300})
    assert "epsilon = 9)" in said({"person": of_all}, {"persons": 300})  # that of all rows, not of one
    nothing = person.model_copy(update={"epsilon_exact": None, "delta_exact": None})
    assert "Nothing is claimed" in said({"person": nothing}, {"persons": 300})
    assert "which the rules keep in both files" in said({}, {"file_rows": None, "way": "exact"})


def test_a_right_guess_is_about_the_files_of_the_claim(document: ReleaseDocument) -> None:
    """It said 50% and a little of whole persons, where that was of one row of theirs."""
    person = document.guarantee.person.model_copy(update={"epsilon_exact": "9", "delta_exact": "0", "records": 3})
    guarantee = document.guarantee.model_copy(update={"epsilon_exact": "3", "delta_exact": "0", "person": person})
    domain = document.domain.model_copy(update={"persons": 300})
    of_persons = document.model_copy(update={"guarantee": guarantee, "domain": domain})
    [sheet] = sign_files(of_persons).values()
    assert b"The guess is right with probability at most 99.988%." in sheet  # e^9 / (1 + e^9)
    text = right_guess_text(of_persons)
    assert (
        "If the files differ in one row only, as for this epsilon, the probability is at most 95.3%." in text
    )  # e^3 / (1 + e^3)
    rows = document.model_copy(update={"guarantee": guarantee})
    assert b"The guess is right with probability at most 95.3%." in sign_files(rows)[NAME]
    assert right_guess_text(rows).endswith("is right with probability at most 95.3%.")
    nothing = person.model_copy(update={"epsilon_exact": None, "delta_exact": None})
    promised = of_persons.model_copy(update={"guarantee": guarantee.model_copy(update={"person": nothing})})
    assert b"The guess is right with probability at most 100%." in sign_files(promised)[NAME]


def test_the_noise_that_a_reviewer_computes_is_the_stated_one(document: ReleaseDocument) -> None:
    own = [one for one in document.criteria if one.sensitivity is not None and one.noise_sd is not None and not one.one_noise]
    assert own
    for one in own:
        assert one.noise_sd is not None
        assert math.isclose(float(laplace_sd_text(one)), float(one.noise_sd), rel_tol=0.01)


def test_every_kind_that_costs_something_is_named_beside_the_command_that_enumerates_it(document: ReleaseDocument) -> None:
    [sheet] = sign_files(document).values()
    assert "synthrelease audit --release . --part sensitivity" in sheet.decode()
    [named] = re.findall(r"The kinds of criteria are: (.*?)\. Check 5", sheet.decode())
    assert set(named.split(", ")) == {one.kind for one in document.criteria if Fraction(one.epsilon_exact) > 0}


def test_the_sheet_says_how_large_the_tables_are_that_an_audit_of_a_release_enumerates(document: ReleaseDocument) -> None:
    [sheet] = sign_files(document).values()
    assert f"neighbouring tables of up to {RECORDS_OF_A_RELEASE} records." in sheet.decode()


def test_a_release_from_before_has_no_sheet_until_its_documents_are_written_anew(tmp_path: Path) -> None:
    old = KEPT / "provisional"
    assert sign_files(read_strictly((old / "release" / "release.json").read_bytes())) == {}
    files = {path.name: path.read_bytes() for path in (old / "release").iterdir()}
    assert NAME not in files
    found = rewritten(files, load_spec(old / "coins.toml"))
    assert json.loads(found["release.json"])["format"] == FORMAT
    assert found[NAME].startswith(b"# To sign: Coins")


def test_nobody_drops_the_sheet_by_the_old_number(folder: Path, tmp_path: Path) -> None:
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != NAME}
    text = files["release.json"].decode().replace(f'"format": {FORMAT}', f'"format": {BEFORE}', 1)
    files["release.json"] = re.sub(r'"written_by": ".*?"', '"written_by": "1.0.0"', text).encode()
    failed = {check.name: check.problems for check in verify_bundle(write_files(files, tmp_path / "old")).checks}
    assert failed["release.json"] == (
        f"release.json: format: {BEFORE} should be 1, because no published version writes format {BEFORE}",
    )
