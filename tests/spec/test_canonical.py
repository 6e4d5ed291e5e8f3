"""The canonical text of a specification: what is in it, what changes it, and that the plan follows from it alone."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from synthrelease.bundle.document import parameters
from synthrelease.bundle.preview import rewritten
from synthrelease.bundle.verify import verify_bundle
from synthrelease.bundle.write import write_bundle
from synthrelease.criteria import CRITERIA
from synthrelease.errors import OtherRelease, SpecError
from synthrelease.published.verify.stated import _same
from synthrelease.releasing.release import release
from synthrelease.settings.tables import AcceptanceFile, ReleaseFile
from synthrelease.spec.canonical import WORDS, canonical_tables
from synthrelease.spec.load import load_spec, read_specification
from synthrelease.spec.shortlist import narrowed, shortlist_text
from tests.conftest import CONFIGURATIONS as CONFIGS
from tests.examples import examples
from tests.helpers.tiny import MEASURED, write_config, write_data


def settings(value: Any) -> Any:
    """The names of all settings, without their values; of lists of tables each."""
    if isinstance(value, Mapping):
        return {name: settings(inner) for name, inner in value.items()}
    if isinstance(value, list) and any(isinstance(inner, Mapping) for inner in value):
        return [settings(inner) for inner in value]
    return None


@pytest.mark.slow
@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_the_plan_the_space_and_the_text_follow_from_the_text_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read back in an empty folder, where nothing could be opened that a configuration names."""
    spec = load_spec(path)
    again = read_specification(spec.text)
    assert again.text == spec.text
    assert again.digest == spec.digest
    assert again.plan == spec.plan
    assert [one.describe()["transformation"] for one in again.space] == [one.describe()["transformation"] for one in spec.space]
    assert sorted(json.dumps(again.described(one), sort_keys=True) for one in again.space) == sorted(
        json.dumps(spec.described(one), sort_keys=True) for one in spec.space
    )
    assert again.criteria == spec.criteria
    assert again.schema == spec.schema
    assert ".toml" not in spec.text.decode()
    assert ".csv" not in spec.text.decode()


def test_it_has_the_settings_that_were_written_and_no_others(tmp_path: Path) -> None:
    """So what a release does not use can be taken out of the program, and its digest stays."""
    path = write_config(tmp_path)
    written, acceptance = (tomllib.loads(name.read_text()) for name in (path, tmp_path / "acceptance.toml"))
    found = json.loads(load_spec(path).text)
    del written["acceptance"]
    assert found.pop("specification") == 1
    assert settings(found.pop("acceptance")) == settings(acceptance)
    assert settings(found) == settings(written)


def test_an_option_that_a_program_does_not_have_changes_nothing(tmp_path: Path) -> None:
    """The tables of a program without any of the options that this release leaves out, and of one that knows them all."""
    path = write_config(tmp_path)
    tables, acceptance = (tomllib.loads(name.read_text()) for name in (path, tmp_path / "acceptance.toml"))

    class Fewer(ReleaseFile):
        """The same file with fewer settings."""

    left_out = {name for name, field in ReleaseFile.model_fields.items() if not field.is_required()} - set(tables)
    assert left_out >= {"partition", "split", "population", "imputation", "calibration", "series"}
    for name in left_out - set(WORDS) - {"extends"}:  # these are never dumped
        del Fewer.model_fields[name]
    Fewer.model_rebuild(force=True)
    whole, fewer = (
        canonical_tables(model.model_validate(tables), AcceptanceFile.model_validate(acceptance), {})
        for model in (ReleaseFile, Fewer)
    )
    assert not {"partition", "split", "population", "imputation"} & set(Fewer.model_validate(tables).model_dump())
    assert json.dumps(fewer) == json.dumps(whole)


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ('title = "Coins"', '# a comment\ntitle   =   "Coins"', True),
        ("degree = 1\nepsilon_split = 0.5", "epsilon_split = 0.5\ndegree = 1", True),
        ("epsilon = 0.5", "epsilon = 0.50", True),
        ("threshold = 0.9\nepsilon = 0.5", "epsilon = 0.5\nthreshold = 0.9", True),
        ("stop_probability = 0.001\n", 'stop_probability = 0.001\n[card]\nlicence = "CC-BY-4.0"\n', True),
        ("stop_probability = 0.001\n", 'stop_probability = 0.001\n[bundle]\nformats = ["r"]\n', True),
        ("generation = 10", "generation = 9", False),
        ("epsilon = 0.5", "epsilon = 0.51", False),
        ("minimum_count = 2\n\n[budget]", "minimum_count = 3\n\n[budget]", False),
        ('categories = ["head", "tail"]', 'categories = ["tail", "head"]', False),
        ("never = \"face == 'tail' and year > 6\"", "never = \"face == 'tail' and year > 7\"", False),
        ('[columns.face]\nkind = "category"\ncategories = ["head", "tail"]\n', "", False),
    ],
)
def test_the_digest_is_of_what_decides_about_the_release(old: str, new: str, same: bool, tmp_path: Path) -> None:
    first, other = tmp_path / "first", tmp_path / "other"
    first.mkdir()
    other.mkdir()
    moved = {old: new} if new else {old: "", "[[rules]]": f"{old}\n[[rules]]"}  # the columns in another order
    digest = load_spec(write_config(first)).digest
    assert (load_spec(write_config(other, moved)).digest == digest) is same


def test_what_is_inherited_and_what_is_written_out_have_one_digest(tmp_path: Path) -> None:
    path = write_config(tmp_path)
    short = tmp_path / "short.toml"
    short.write_text('extends = "coins.toml"\n')
    assert load_spec(short).text == load_spec(path).text


PRIOR = MEASURED | {
    'family = "privbayes"\nflavour = "degree"\ndegree = 1\nepsilon_split = 0.5':
        'family = "marginals"\ntables = "face:year"\nprior = "public/table.csv"',
}  # fmt: skip


def test_a_public_table_is_named_by_its_content_and_a_release_that_starts_from_it_is_verified(tmp_path: Path) -> None:
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "table.csv").write_text("face,year\n" + "head,1\ntail,2\n" * 50)
    path, data = write_config(tmp_path, PRIOR), write_data(tmp_path)
    spec = load_spec(path)
    found = release(spec, data)
    if found is None:
        raise ValueError("nothing was released")
    bundle = write_bundle(found, tmp_path / "bundle")
    report = verify_bundle(bundle)
    assert [one.problems for one in report.checks if one.problems] == []
    for name in ("specification.json", "release.json"):
        assert "table.csv" not in (bundle / name).read_text()
        assert f"sha256:{spec.priors['public/table.csv'].digest}" in (bundle / name).read_text()
    (tmp_path / "public" / "table.csv").write_text("face,year\n" + "head,1\ntail,3\n" * 50)
    assert load_spec(path).digest != spec.digest


DRAWN = {"degree = 1\n": "degree = [1, 2]\n", "minimum_count = 2\n\n[budget]": "minimum_count = [2, 3]\n\n[budget]"}


def test_the_shortlist_is_part_of_it_and_a_release_from_one_is_verified_and_written_anew(tmp_path: Path) -> None:
    path, data = write_config(tmp_path, DRAWN), write_data(tmp_path)
    whole = load_spec(path)
    (tmp_path / "shortlist.toml").write_text(shortlist_text("Coins", [whole.space[2].describe(), whole.space[1].describe()]))
    spec = narrowed(whole, tmp_path / "shortlist.toml")
    assert spec.digest != whole.digest
    assert [one.describe() for one in read_specification(spec.text).space] == [one.describe() for one in spec.space]
    found = release(spec, data)
    if found is None:
        raise ValueError("nothing was released")
    bundle = write_bundle(found, tmp_path / "bundle")
    assert verify_bundle(bundle).passed
    files = {each.name: each.read_bytes() for each in bundle.iterdir()}
    kept = rewritten(files, whole)
    assert kept["specification.json"] == files["specification.json"]
    assert json.loads(kept["release.json"])["specification"] == spec.digest
    with pytest.raises(OtherRelease):
        rewritten(files, replace(whole, tables={**whole.tables, "title": "Others"}))
    outside = json.loads(files["release.json"])
    outside["configuration"]["projection"]["minimum_count"] = 2
    outside["configuration"]["generator"]["degree"] = 1
    from tests.helpers.forgeries import looked_at

    report = looked_at(files, outside)
    if report is None:
        pytest.fail("it is the configuration that was drawn")
    assert "configuration: specification.json does not have this configuration" in str(report.checks)


@pytest.mark.parametrize("name", [*WORDS, "extends"])
def test_a_published_text_names_no_other_file(name: str, tmp_path: Path) -> None:
    tables = json.loads(load_spec(write_config(tmp_path)).text) | {name: {}}
    with pytest.raises(SpecError, match=f"{name}: A published specification cannot have this setting"):
        read_specification(json.dumps(tables).encode())


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b'{"specification": 2}', b"[" * 100_000])
def test_what_is_no_specification_is_told(content: bytes) -> None:
    with pytest.raises(SpecError, match=r"This is not the text of a specification in format 1"):
        read_specification(content)


def test_a_codelist_that_is_only_named_is_refused(tmp_path: Path) -> None:
    tables = json.loads(load_spec(write_config(tmp_path)).text)
    tables["columns"]["face"] = {"kind": "code", "codes": "/etc/passwd"}
    with pytest.raises(SpecError, match=r"columns\.face\.codes: A published specification cannot have this setting"):
        read_specification(json.dumps(tables).encode())


@pytest.mark.parametrize("kind", CRITERIA)
def test_what_is_published_of_a_criterion_says_the_same_as_the_file(kind: str) -> None:
    """`stated` compares both without asking the class: whatever a class makes of a setting must still mean the same."""
    for tables in examples("criteria", kind):
        stated = {"name": "x", "kind": kind, "threshold": 1, "epsilon": "1/2", **tables[-1]}
        found = parameters(CRITERIA[kind].model_validate(stated))
        wrong = [name for name in tables[-1] if name in found and not _same(stated[name], found[name])]
        assert wrong == []
        assert {*tables[-1]} - {*found} <= {"threshold", "epsilon"}
