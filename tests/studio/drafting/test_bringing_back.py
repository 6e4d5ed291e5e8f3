"""A column of the public file that is left out comes into both files, and goes out of them again."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from synthrelease.errors import InputError
from synthrelease.spec.load import load_spec
from synthrelease.studio.drafting.edits import bring_back, leave_out
from synthrelease.studio.drafting.public_file import PublicFile, read_public_file
from synthrelease.studio.drafting.toml_edit import changed
from tests.helpers.tiny import MEASURED, write_config

FAITHFUL = """
[[criteria]]
name = "faithful"
kind = "faithfulness"
exact = ["face"]
ignored = ["year"]
threshold = 0.5
epsilon = 0.1
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path, {**MEASURED, 'tables = "face:year"': 'tables = "2 face + 4 year + face:year"'})


@pytest.fixture
def public(tmp_path: Path) -> PublicFile:
    path = tmp_path / "public.csv"
    rows = [f"{('head', 'tail')[n % 2]},{n % 8 + 1},{n % 7 + 1},{('a', 'b', 'c')[n % 3]}" for n in range(240)]
    path.write_text("face,year,Head size,mint\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return read_public_file(path)


@pytest.mark.parametrize(("source", "kind", "name"), [("Head size", "number", "Head_size"), ("mint", "name", "mint")])
def test_it_is_released_measured_and_named_where_it_has_to_be(config: Path, public: PublicFile, source, kind, name) -> None:
    acceptance = config.with_name("acceptance.toml")
    acceptance.write_text(acceptance.read_text(encoding="utf-8") + FAITHFUL, encoding="utf-8")
    before, tables = config.read_bytes(), tomllib.loads(config.read_text(encoding="utf-8"))
    criteria = tomllib.loads(acceptance.read_text(encoding="utf-8"))
    own, ignoring = bring_back(load_spec(config), tables, criteria, public, source, kind)
    config.write_bytes(changed(config, before, own))
    acceptance.write_bytes(changed(acceptance, acceptance.read_bytes(), ignoring))
    spec = load_spec(config)
    column = spec.schema[name]
    assert (column.source, column.bounds is None) == (source, kind == "name")
    assert spec.criteria[-1].ignored == ("year", name)
    measured = spec.space.generators[0].measured_tables(spec.space.common.layout, 1)
    place = spec.schema.names.index(name)
    assert (place,) in measured
    leave_out(config, [name])
    assert load_spec(config).schema.names == ("face", "year")


def test_what_is_released_or_says_whose_row_it_is_or_is_no_number_is_refused(config: Path, public: PublicFile) -> None:
    spec, tables = load_spec(config), tomllib.loads(config.read_text(encoding="utf-8"))
    for source, kind, why in (
        ("face", "name", "that the release leaves out"),
        ("nobody", "name", "that the release leaves out"),
        ("mint", "number", "cannot be read"),
    ):
        with pytest.raises(InputError, match=why):
            bring_back(spec, tables, {"criteria": []}, public, source, kind)
    text = config.read_text(encoding="utf-8") + '\n[unit]\nkey = "mint"\nrecords_per_person = 1\n'
    config.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="identifies the person to whom a row belongs"):
        bring_back(load_spec(config), tables, {"criteria": []}, public, "mint", "name")
