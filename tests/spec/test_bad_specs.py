"""What a steward is told about a mistake in a specification, word for word.

Each file of bad_specs/cases changes one or more lines of the small valid specification in bad_specs/base and gives the
whole message.
"""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest

from synthrelease.criteria import CRITERIA
from synthrelease.errors import SpecError
from synthrelease.spec.load import load_spec
from tests.helpers.tiny import write_config

FOLDER = Path(__file__).parent / "bad_specs"
CASES = sorted((FOLDER / "cases").glob("*.toml"))
KINDS = f"{', '.join(map(repr, CRITERIA))}"


@pytest.fixture
def specification(tmp_path: Path) -> Path:
    """A fresh copy of the valid specification."""
    return Path(shutil.copytree(FOLDER / "base", tmp_path / "specification"))


def message_for(folder: Path) -> str:
    """The message of loading the specification in a folder, without the folder."""
    with pytest.raises(SpecError) as caught:
        load_spec(folder / "release.toml")
    return str(caught.value).replace(f"{folder}/", "")


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} must stand once in {path.name}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_the_specification_without_a_mistake_loads(specification: Path) -> None:
    assert len(load_spec(specification / "release.toml").space) == 2 * 2 * 2


@pytest.mark.slow
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_mistake_is_told_in_these_words(path: Path, specification: Path) -> None:
    case = tomllib.loads(path.read_text(encoding="utf-8"))
    for edit in case["change"]:
        change(specification / edit["file"], edit["from"], edit["to"])
    message = message_for(specification)
    assert message == case["message"].strip().replace("{KINDS OF CRITERIA}", KINDS)
    assert ("\n" in message) == path.stem.endswith("at_once")  # one mistake gives one problem


def test_a_space_of_more_than_a_hundred_thousand_configurations_is_refused(specification: Path) -> None:
    thetas, counts = list(range(1, 601)), list(range(1, 1001))
    change(specification / "release.toml", "theta = [4, 8]", f"theta = {thetas}")
    change(specification / "release.toml", "minimum_count = [2, 3]", f"minimum_count = {counts}")
    expected = "release.toml: There are 1,200,000 configurations. At most 100,000 are possible. "
    expected += "Shorten lists of values or of alternatives."
    assert message_for(specification) == expected  # 2 alternatives x 600 x 1000


def test_too_many_combinations_in_one_table_are_refused_before_they_are_made(specification: Path) -> None:
    splits = [f"0.{i:03d}" for i in range(1, 102)]
    change(specification / "release.toml", "theta = [4, 8]", f"theta = {list(range(1, 1001))}")
    change(specification / "release.toml", "epsilon_split = 0.1", f"epsilon_split = [{', '.join(splits)}]")
    assert (
        message_for(specification)
        == "release.toml: generators[0]: There are more than 100,000 combinations of values. Shorten the lists."
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('description = "nothing"', "This setting is required"),
        ("criteria = []", "expected at least 1 value, found an empty list"),
    ],
)
def test_an_acceptance_file_needs_a_criterion(specification: Path, text: str, message: str) -> None:
    (specification / "acceptance.toml").write_text(text, encoding="utf-8")
    assert message_for(specification) == f"acceptance.toml: criteria: {message}."


def test_a_folder_is_no_acceptance_file(specification: Path) -> None:
    (specification / "acceptance.toml").unlink()
    (specification / "acceptance.toml").mkdir()
    assert message_for(specification) == "acceptance.toml: This is a folder, not a file."


def test_a_file_that_is_not_utf_8_is_refused(specification: Path) -> None:
    path = specification / "acceptance.toml"
    path.write_bytes(path.read_text(encoding="utf-8").replace("all tables", "Größe").encode("latin-1"))
    assert message_for(specification) == "acceptance.toml: The file is not UTF-8 text."


def test_a_specification_that_is_not_there_is_told_as_such(specification: Path) -> None:
    (specification / "release.toml").unlink()
    assert message_for(specification) == "release.toml: There is no such file."


def test_a_huge_file_is_refused_before_it_is_read(specification: Path) -> None:
    with (specification / "acceptance.toml").open("a", encoding="utf-8") as file:
        file.write("#" * 1_000_001)
    assert message_for(specification) == "acceptance.toml: The file has more than 1 MB."


def test_too_many_columns_are_refused_with_the_reason_and_what_to_do(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    more = "".join(f'[columns.c{place}]\nkind = "category"\ncategories = ["a"]\n\n' for place in range(1000))
    config.write_text(config.read_text().replace("[columns.face]", f"{more}[columns.face]"))
    expected = (
        r"columns: The configuration has 1,002 columns. At most 1,000 columns are possible, because .* `init --only A,B,...`"
    )
    with pytest.raises(SpecError, match=expected):
        load_spec(config)
