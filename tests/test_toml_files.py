"""One configuration that builds on another: what it takes over, and where its mistakes are said to be."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from synthrelease.errors import SpecError
from synthrelease.spec import load_spec
from tests.conftest import ROOT

BASE = Path(__file__).parent / "bad_specs" / "base"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A valid specification in a folder, and beside it a folder for configurations that extend it."""
    shutil.copytree(BASE, tmp_path / "base")
    (tmp_path / "mine").mkdir()
    return tmp_path


def extended(folder: Path, text: str) -> Path:
    path = folder / "mine" / "wider.toml"
    path.write_text(f'extends = "../base/release.toml"\n{text}', encoding="utf-8")
    return path


def message(path: Path) -> str:
    with pytest.raises(SpecError) as caught:
        load_spec(path)
    return str(caught.value).replace("\\", "/")


def test_what_is_not_written_is_taken_over_whole(folder: Path) -> None:
    base = load_spec(folder / "base" / "release.toml")
    wider = load_spec(extended(folder, '[[projections]]\nkind = "minimum_count"\nminimum_count = [2, 3, 4, 5]\n'))
    assert [projection.minimum_count for projection in wider.space.projections] == [2, 3, 4, 5]
    assert wider.space.generators == base.space.generators
    assert (wider.title, wider.schema, wider.plan) == (base.title, base.schema, base.plan)


def test_a_table_replaces_the_inherited_one_and_is_not_mixed_with_it(folder: Path) -> None:
    found = message(extended(folder, "[budget]\nlimit = 20\n"))
    assert found == f"{folder.as_posix()}/mine/wider.toml: budget.generation: expected a value: it is required; found nothing."


def test_a_mistake_in_an_inherited_table_is_said_to_be_in_that_file(folder: Path) -> None:
    path = folder / "base" / "release.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("epsilon_split = 0.1", "epsilon_split = 2"), encoding="utf-8")
    assert message(extended(folder, "")).startswith(
        f"{(folder / 'mine').as_posix()}/../base/release.toml: generators[0].epsilon_split"
    )


def test_a_chain_of_three_is_refused(folder: Path) -> None:
    middle = extended(folder, "")
    last = folder / "mine" / "last.toml"
    last.write_text(f'extends = "{middle.name}"\n', encoding="utf-8")
    assert "last.toml: extends: expected a configuration that does not itself extend another" in message(last)


def test_a_base_that_is_not_there_is_named(folder: Path) -> None:
    path = folder / "mine" / "lost.toml"
    path.write_text('extends = "absent.toml"\n', encoding="utf-8")
    assert "absent.toml: (top level): expected a readable TOML file; found no such file" in message(path)


def test_the_full_space_of_births_has_the_size_of_the_reference_release() -> None:
    """4 splits x (12 thetas + 3 degrees) x 3 x 2 x 2 binnings x 2 projections."""
    full, narrowed = (load_spec(ROOT / "configs" / name) for name in ("births-full.toml", "births.toml"))
    assert len(full.space) == 4 * (12 + 3) * (3 * 2 * 2) * 2 == 1440
    described = [configuration.describe() for configuration in full.space]
    assert all(configuration.describe() in described for configuration in narrowed.space)
