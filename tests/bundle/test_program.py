"""Where readers get the program: the address and the checksum that the publisher states, in every document, or none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from synthrelease.bundle.verify import verify_bundle
from synthrelease.bundle.write import written
from synthrelease.published.document import read_strictly
from synthrelease.published.verify.alone import verify_alone
from synthrelease.published.verify.checks import read_files
from synthrelease.settings.card import CardTable, ProgramTable
from tests.conftest import ROOT
from tests.helpers.tiny import write_measured_release

ADDRESS, SHA256 = "https://example.org/synthrelease-1.0.0_final.tar.gz", "0123456789abcdef" * 4
STATED = f"""[card]
he.title = "מטבעות"
program.address = "{ADDRESS}"
program.sha256 = "{SHA256.upper()}"

[budget]"""
DOCUMENTS = ("SIGN.md", "QUESTIONS.md", "README.md", "README.html", "README.he.html")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("stated")
    return write_measured_release(work, work / "bundle", {"[budget]": STATED})


def test_every_document_names_the_address_and_the_checksum_and_the_folder_is_verified(folder: Path) -> None:
    for name in DOCUMENTS:
        text = (folder / name).read_text(encoding="utf-8").replace("\\", "")  # Markdown escapes what has a meaning in it
        assert ADDRESS in text, name
        assert SHA256 in text, name
    report = verify_bundle(folder)
    assert report.passed, [problem for check in report.checks for problem in check.problems]


def test_where_the_publisher_states_none_no_document_names_one(folder: Path) -> None:
    files = read_files(folder)
    read = verify_alone(files).read
    assert read is not None
    document, _, table = read
    unstated = document.model_copy(update={"card": document.card.model_copy(update={"program": None})})
    assert b'"program"' not in unstated.dumped()
    assert read_strictly(unstated.dumped()).card.program is None
    documents = written(unstated, table, {name: files.size(name) for name in document.files})
    for name in DOCUMENTS:
        text = documents[name].decode()
        assert SHA256 not in text, name
        assert "synthrelease-1" not in text, name
        assert "pip install" not in text, name
    assert "The publisher does not say where to get the program" in documents["SIGN.md"].decode()


def test_nothing_asks_to_install_the_program_from_an_index() -> None:
    """Nobody owns its name there: whoever registers it would be installed."""
    asks = re.compile(r"(?:pip3?|uv|pipx|conda) (?:\w+ )*install\b[^\n`,]{0,80}synthrelease\b(?!-)")
    known = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *(ROOT / "docs").rglob("*.md")]
    known += [path for path in (ROOT / "synthrelease").rglob("*") if path.suffix in (".py", ".md", ".html", ".toml")]
    known += [path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__)]
    assert len(known) > 500
    assert [str(path) for path in known if asks.search(path.read_text(encoding="utf-8"))] == []


def test_a_card_without_the_program_is_written_as_before() -> None:
    assert "program" not in CardTable().model_dump(mode="json")


@pytest.mark.parametrize("address", ["http://example.org/a.tar.gz", "ftp://example.org/a", "https://", "example.org"])
def test_the_address_of_the_program_starts_with_https(address: str) -> None:
    """Readers install what stands there; the message says what the rule is."""
    digest = "0" * 64
    with pytest.raises(ValidationError, match="an address that starts with https://"):
        ProgramTable(address=address, sha256=digest)
    assert ProgramTable(address="https://example.org/a.tar.gz", sha256=digest).address == "https://example.org/a.tar.gz"
