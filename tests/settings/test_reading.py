"""One configuration that builds on another: what it takes over, and where its mistakes are said to be."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from synthrelease.errors import SpecError
from synthrelease.settings.reading import read_configuration, read_toml
from synthrelease.spec.load import load_spec
from tests.conftest import CONFIGURATIONS, ROOT

BASE = Path(__file__).parents[1] / "spec" / "bad_specs" / "base"


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
    assert found == f"{folder.as_posix()}/mine/wider.toml: budget.generation: This setting is required."


def with_card(folder: Path, text: str) -> None:
    path = folder / "base" / "release.toml"
    kept = path.read_text(encoding="utf-8").partition("[card]")[0]
    path.write_text(f"{kept}\n[card]\n{text}", encoding="utf-8")


def test_texts_of_the_card_are_inherited_one_by_one_but_for_those_of_one_release(folder: Path) -> None:
    with_card(
        folder,
        'organisation = "The office"\npurpose = "Teaching"\njustification = "Agreed with the ministry"\ntuning = "None"\n'
        'version = "3.1"\nurl = "https://example.org/a"\npublished = 2026-01-31\n',
    )
    silent = load_spec(extended(folder, "")).card
    assert (silent.organisation, silent.purpose) == ("The office", "Teaching")
    assert (silent.justification, silent.tuning, silent.version, silent.url) == ("", "", "1.0", "")
    assert str(silent.published) != "2026-01-31"
    own = load_spec(extended(folder, '[card]\npurpose = "Research"\njustification = "Rehearsed"\n')).card
    assert (own.organisation, own.purpose, own.justification, own.tuning) == ("The office", "Research", "Rehearsed", "")


def test_a_mistake_in_an_inherited_text_of_the_card_is_said_to_be_in_that_file(folder: Path) -> None:
    with_card(folder, 'contact = "nobody"\n')
    for own, file in (("", "base/release.toml"), ('[card]\npurpose = "x"\n', "base/release.toml"),
                      ('[card]\ncontact = "none"\n', "mine/wider.toml")):  # fmt: skip
        assert f"{file}: card.contact" in message(extended(folder, own))


@pytest.mark.slow
def test_no_shipped_configuration_says_of_itself_what_is_true_of_another() -> None:
    """The births that extend others have their own budgets: nobody agreed upon those with a ministry."""
    pytest.importorskip("snsynth", reason="needs the extra smartnoise")
    for path in CONFIGURATIONS:
        card, extends = load_spec(path).card, "extends" in read_toml(path)
        assert not extends or "Ministry" not in f"{card.justification} {card.tuning}", path.name


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
    assert "last.toml: extends: 'wider.toml' itself extends another configuration, which is not allowed" in message(last)


def test_a_base_that_is_not_there_is_named(folder: Path) -> None:
    path = folder / "mine" / "lost.toml"
    path.write_text('extends = "absent.toml"\n', encoding="utf-8")
    assert "absent.toml: There is no such file" in message(path)


def test_the_full_space_of_births_has_the_size_of_the_reference_release() -> None:
    """4 splits x (12 thetas + 3 degrees) x 3 x 2 x 2 binnings x 2 projections."""
    full, narrowed = (load_spec(ROOT / "configs" / name) for name in ("births-full.toml", "births.toml"))
    assert len(full.space) == 4 * (12 + 3) * (3 * 2 * 2) * 2 == 1440
    described = [configuration.describe() for configuration in full.space]
    assert all(configuration.describe() in described for configuration in narrowed.space)


# --- Files that somebody else named


@pytest.mark.skipif(os.name == "nt", reason="pipes and devices of POSIX")
@pytest.mark.parametrize(
    "name", ["pipe.toml", "folder.toml", "loop.toml", "link.toml", "people.csv", "absent.toml", "x" * 300 + ".toml"]
)
def test_only_regular_files_of_the_right_name_are_opened(folder: Path, name: str) -> None:
    """Neither a pipe, at which the program would wait for ever, nor the file behind a link of a harmless name."""
    os.mkfifo(folder / "pipe.toml")
    (folder / "folder.toml").mkdir()
    (folder / "loop.toml").symlink_to("loop.toml")
    (folder / "people.csv").write_text("SECRET-7461 = 1\n", encoding="utf-8")
    (folder / "link.toml").symlink_to("people.csv")
    with pytest.raises(
        SpecError, match=r": (There is no such|This is a|The name of the file must end|Cannot read the) "
    ) as caught:
        read_toml(folder / name)
    assert "SECRET" not in str(caught.value)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a device without an end")
def test_a_device_without_an_end_is_not_read(folder: Path) -> None:
    (folder / "endless.toml").symlink_to("/dev/zero")
    with pytest.raises(SpecError, match=r"The name of the file must end in \.toml"):
        read_toml(folder / "endless.toml")


def test_a_link_to_a_file_of_the_right_name_is_followed(folder: Path) -> None:
    (folder / "link.toml").symlink_to(folder / "base" / "release.toml")
    assert read_toml(folder / "link.toml")["title"] == "A small valid release"


def test_dotted_keys_of_any_depth_are_refused_at_once(folder: Path) -> None:
    """The parser itself would need quadratic time and memory."""
    path = folder / "deep.toml"
    for key in ("a." * 200_000 + "a", '"a" . ' * 100_000 + "a", "['x'." + "'a'." * 100_000 + "a]\nb"):
        path.write_text(f"{key} = 1\n", encoding="utf-8")
        with pytest.raises(SpecError, match=r"The file nests tables or lists more than 30 levels deep"):
            read_toml(path)
    path.write_text(f"{'a.' * 25}a = 1\nb = 'www.{'x.' * 20}org'\n{'c' * 100_000} = 1\n", encoding="utf-8")
    assert len(read_toml(path)) == 3


def test_very_many_mistakes_are_cut_short(folder: Path) -> None:
    found = message(extended(folder, "".join(f"unknown{number} = 1\n" for number in range(30_000)))).splitlines()
    assert len(found) == 31
    assert found[-1] == "There are more mistakes. Correct those above to see the others."


def test_names_that_are_very_long_are_cut_and_not_compared(folder: Path) -> None:
    """Comparing two texts of a hundred thousand letters, to guess which one was meant, would take hours."""
    long = "abcdefgh" * 10_000
    found = message(extended(folder, f'[transformations]\nage = ["{long}"]\n{long} = []\n'))
    assert len(found) < 2000


def _extending(folder: Path, text: str) -> Path:
    (folder / "base.toml").write_text(
        'title = "base"\nlist = [1]\n[columns.age]\nkind = "integer"\nbounds = [0, 99]\nalternatives.all = ["0..99"]\n'
        '[columns.sex]\nkind = "category"\n[budget]\ngeneration = 1\n',
        encoding="utf-8",
    )
    (folder / "child.toml").write_text(f'extends = "base.toml"\n{text}', encoding="utf-8")
    return folder / "child.toml"


def test_a_single_setting_of_an_inherited_table_is_overridden_and_the_rest_stays(tmp_path: Path) -> None:
    path = _extending(tmp_path, "[override.columns.age]\nbounds = [12, 60]\nalternatives.all = ['12..60']\n")
    found = read_configuration(path)
    assert found.tables["columns"] == {
        "age": {"kind": "integer", "bounds": [12, 60], "alternatives": {"all": ["12..60"]}},
        "sex": {"kind": "category"},
    }
    assert "override" not in found.tables
    assert found.file_of("columns.age.bounds") == found.file_of("columns.age.bounds[1]") == path
    assert found.file_of("columns.age.kind") == found.file_of("columns.age.boundsless") == tmp_path / "base.toml"


@pytest.mark.parametrize(
    "text",
    [
        "[override.columns.nobody]\nbounds = [1, 2]\n",
        "[override]\ntitle = 'other'\n",
        "[override.budget]\ngeneration = 2\n[budget]\ngeneration = 3\n",
        "[override.list]\nx = 1\n",
        "override = 3\n",
        "[override.other]\nx = 1\n",
    ],
)
def test_what_cannot_be_overridden_is_refused_with_its_place(tmp_path: Path, text: str) -> None:
    with pytest.raises(SpecError, match="override"):
        read_configuration(_extending(tmp_path, text))


def test_nothing_is_overridden_without_a_file_that_is_extended(tmp_path: Path) -> None:
    (tmp_path / "alone.toml").write_text("[override.columns.age]\nbounds = [1, 2]\n", encoding="utf-8")
    with pytest.raises(SpecError, match="extends"):
        read_configuration(tmp_path / "alone.toml")
