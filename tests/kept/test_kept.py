"""What was released stays readable: kept documents of every format, read and checked byte for byte; later ones are refused."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from synthrelease.bundle.verify import verify_bundle
from synthrelease.errors import InputError, SpecError, Unexpected
from synthrelease.privacy.ledger import load_ledger
from synthrelease.privacy.ledger_file import Head, LedgerError, read_head
from synthrelease.published import load
from synthrelease.published.commitment import read_commitment
from synthrelease.published.document import read_leniently, read_strictly
from synthrelease.published.measurements import read_measurements
from synthrelease.spec.load import load_spec
from synthrelease.spec.shortlist import known_chances, narrowed

HERE = Path(__file__).parent
KEPT = {"format-1": (1, 280, "98b51229e9a85a50"), "provisional": (5, 298, "d07999e08c73bc62")}
"""Folders: the number in release.json, the released rows, and the beginning of the ledger's last hash."""
EPSILON = Fraction("3.3456721")

every_kept = pytest.mark.parametrize("name", KEPT)


@every_kept
def test_a_release_is_read_and_verified_byte_for_byte(name: str) -> None:
    number, rows, _ = KEPT[name]
    folder = HERE / name / "release"
    document = read_strictly(content := (folder / "release.json").read_bytes())
    assert document.dumped() == content
    assert (document.format, document.n_rows) == (number, rows)
    assert load(folder).n_rows == rows
    assert load(folder).guarantee.epsilon == EPSILON
    report = verify_bundle(folder, documents=False)  # the words of cards and sheets may change with the program
    assert report.passed, [problem for check in report.checks for problem in check.problems]
    assert {"plan", "measurements", "criterion values", "privacy charges"} <= {check.name for check in report.checks}
    assert ("There is no SIGN.md" in report.closing) is (
        number == 5
    )  # the last sentence names what such a version did not write


@every_kept
def test_measurements_are_read_byte_for_byte(name: str) -> None:
    content = (HERE / name / "release" / "measurements.json").read_bytes()
    assert read_measurements(content, unknown="forbid").dumped() == content
    assert load(HERE / name / "release").measurements is not None


@every_kept
def test_a_commitment_is_read_byte_for_byte_and_fits_its_release(name: str) -> None:
    path = HERE / name / "commitment.json"
    part, digest = read_commitment(path)
    assert part.dumped() == path.read_bytes()
    assert digest == part.digest
    assert verify_bundle(HERE / name / "release", commitment=path, documents=False).passed
    other = next(each for each in KEPT if each != name)
    assert not verify_bundle(HERE / name / "release", commitment=HERE / other / "commitment.json", documents=False).passed


@every_kept
def test_a_ledger_is_read_and_charged_on(name: str, tmp_path: Path) -> None:
    path = ledger_of(name, tmp_path)
    ledger = load_ledger(path, dataset="Coins", expect_head=KEPT[name][2])
    assert ledger.statement().epsilon == EPSILON
    assert ledger.statement().head == read_head(path)
    after = ledger.reserve(load_spec(HERE / name / "coins.toml").plan.total, "the same once more")
    assert after.epsilon == 2 * EPSILON
    assert load_ledger(path).statement() == after


@every_kept
def test_a_shortlist_narrows_its_configuration(name: str) -> None:
    path, spec = HERE / name / "shortlist.toml", load_spec(HERE / name / "coins.toml")
    assert len(narrowed(spec, path).space) == 1
    known = known_chances(spec, path)
    assert known is not None
    assert known.epsilon == EPSILON
    assert ("format = 1\n" in path.read_text()) is (name == "format-1")


def ledger_of(name: str, folder: Path) -> Path:
    """A copy, because SQLite may write beside a ledger that it reads."""
    for ending in ("", ".head"):
        shutil.copy(HERE / name / f"coins.ledger{ending}", folder / f"coins.ledger{ending}")
    return folder / "coins.ledger"


# --- Later formats


def of_release(folder: Path) -> None:
    read_leniently(edited(HERE / "format-1" / "release" / "release.json", "format"))


def of_measurements(folder: Path) -> None:
    read_measurements(edited(HERE / "format-1" / "release" / "measurements.json", "format"), unknown="ignore")


def of_commitment(folder: Path) -> None:
    (folder / "commitment.json").write_bytes(edited(HERE / "format-1" / "commitment.json", "commitment"))
    read_commitment(folder / "commitment.json")


def of_shortlist(folder: Path) -> None:
    text = (HERE / "format-1" / "shortlist.toml").read_text()
    (folder / "shortlist.toml").write_text(text.replace("format = 1\n", 'format = 2\nof_later = "anything"\n'))
    narrowed(load_spec(HERE / "format-1" / "coins.toml"), folder / "shortlist.toml")


def of_ledger(folder: Path) -> None:
    path = ledger_of("format-1", folder)
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 2")
    load_ledger(path)


def edited(path: Path, field: str) -> bytes:
    """The document with the next number, and with something of its format that nobody knows today."""
    return json.dumps({**json.loads(path.read_bytes()), field: 2, "of_later": "anything"}).encode()


@pytest.mark.parametrize("read", [of_release, of_measurements, of_commitment, of_shortlist, of_ledger])
def test_a_later_format_is_refused_with_its_number_and_the_program_that_reads_it(
    read: Callable[[Path], None], tmp_path: Path
) -> None:
    with pytest.raises((Unexpected, InputError, SpecError, LedgerError)) as caught:
        read(tmp_path)
    said = str(caught.value)
    assert "format" in said
    assert "found format 2" in said or "has format 2" in said
    assert "of_later" not in said  # the number is said, and nothing about what else is there
    wrote = (
        "synthrelease '1.0.0', which wrote it",
        "the version of synthrelease that wrote it",
        "use the version that wrote it",
    )
    assert any(words.lower() in said.lower() for words in wrote), said


def test_a_head_of_a_ledger_carries_the_number_of_its_format(tmp_path: Path) -> None:
    path = ledger_of("format-1", tmp_path)
    head = path.with_name("coins.ledger.head")
    assert head.read_text().startswith("synthrelease ledger head 1\n")
    assert isinstance(read_head(path), Head)
    head.write_text(head.read_text().replace("head 1", "head 2"))
    with pytest.raises(LedgerError, match="does not contain the number and the hash of the last charge"):
        read_head(path)
