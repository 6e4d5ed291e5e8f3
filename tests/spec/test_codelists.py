"""Columns of codes: codelists in the configuration and in CSV files, their levels, and what is wrong with a codelist."""

from __future__ import annotations

import json
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest

from synthrelease.data.schema import Binning, Column
from synthrelease.errors import SpecError
from synthrelease.spec.columns import read_codelist
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from tests.helpers.tiny import ACCEPTANCE, PIPELINE

PLACES = "code,label,state,country\n01,Aach,Baden,D\n02,Bern,Bern canton,CH\n03,Calw,Baden,D\n04,Dorn,Tyrol,CH\n"
CONFIG = """
title = "Places"
acceptance = "acceptance.toml"

[columns.place]
kind = "code"
codes = "lists/places.csv"

[columns.sex]
kind = "code"
codes = { "1" = "Male", "2" = "Female", "9" = "Other" }
"""


def written(folder: Path, places: str | bytes = PLACES, *, columns: str = "", config: str = CONFIG) -> Path:
    (folder / "lists").mkdir(exist_ok=True)
    (folder / "lists/places.csv").write_bytes(places if isinstance(places, bytes) else places.encode())
    (folder / "acceptance.toml").write_text(ACCEPTANCE)
    (folder / "release.toml").write_text(config + columns + PIPELINE)
    return folder / "release.toml"


def loaded(folder: Path, places: str | bytes = PLACES, *, columns: str = "", config: str = CONFIG) -> ReleaseSpec:
    return load_spec(written(folder, places, columns=columns, config=config))


def mistake(folder: Path, places: str | bytes = PLACES, *, columns: str = "", config: str = CONFIG) -> str:
    """The message, without the folder."""
    with pytest.raises(SpecError) as caught:
        loaded(folder, places, columns=columns, config=config)
    return str(caught.value).replace(f"{folder}/", "")


def groups_of(binning: Binning, column: Column) -> dict[str, set[str]]:
    """{label of a bin: labels of the codes in it}."""
    found: dict[str, set[str]] = {label: set() for label in binning.labels}
    for label, index in zip(column.atoms.labels, binning.of_atom, strict=True):
        found[binning.labels[index]].add(label)
    return found


def test_codes_become_categories_with_the_labels_of_the_codelist(tmp_path: Path) -> None:
    place, sex = loaded(tmp_path).schema.columns
    assert (place.kind, place.ordered, place.atoms.labels) == ("category", False, ("Aach", "Bern", "Calw", "Dorn"))
    assert place.values == {"01": 0, "02": 1, "03": 2, "04": 3}
    assert place.atoms.numbers == (None,) * 4
    assert list(sex.alternatives) == ["codes"]
    assert sex.alternatives["codes"].labels == sex.atoms.labels == ("Male", "Female", "Other")


def test_levels_are_alternatives_beside_each_code_and_nest(tmp_path: Path) -> None:
    place = loaded(tmp_path).schema["place"]
    assert list(place.alternatives) == ["codes", "state", "country"]
    assert groups_of(place.alternatives["state"], place) == {
        "Baden": {"Aach", "Calw"},
        "Bern canton": {"Bern"},
        "Tyrol": {"Dorn"},
    }
    codes, state, country = place.alternatives.values()
    assert codes.refines(state)
    assert state.refines(country)
    assert not country.refines(state)


def test_listed_alternatives_name_codes_and_stand_in_the_place_of_each_code(tmp_path: Path) -> None:
    listed = 'alternatives.some = { Aach = ["01"], "another place" = ["02", "03", "04"] }\n'
    config = CONFIG.replace('codes = "lists/places.csv"\n', 'codes = "lists/places.csv"\n' + listed)
    place = loaded(tmp_path, config=config).schema["place"]
    assert list(place.alternatives) == ["some", "state", "country"]
    assert groups_of(place.alternatives["some"], place) == {"Aach": {"Aach"}, "another place": {"Bern", "Calw", "Dorn"}}


@pytest.mark.parametrize(
    "places",
    [
        b"\xef\xbb\xbf" + PLACES.encode(),
        PLACES.replace("\n", "\r\n"),
        PLACES.replace(",", " , ").replace("\n", "\n\n"),
        PLACES.replace("Bern canton", '"Bern canton"'),
    ],
    ids=["byte-order mark", "Windows lines", "spaces and blank lines", "quotes"],
)
def test_the_same_codelist_in_other_dress_is_the_same_specification(tmp_path: Path, places: str | bytes) -> None:
    digest = loaded(tmp_path).digest
    assert loaded(tmp_path, places).digest == digest


@pytest.mark.parametrize(
    "change", [("Aach", "Aachen"), ("04", "05"), ("Tyrol", "Vienna"), ("country", "nation"), ("04,Dorn,Tyrol,CH\n", "")]
)
def test_a_changed_codelist_is_a_changed_specification(tmp_path: Path, change: tuple[str, str]) -> None:
    digest = loaded(tmp_path).digest
    assert loaded(tmp_path, PLACES.replace(*change)).digest != digest


def test_a_codelist_of_an_extended_configuration_is_found_beside_it(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "years").mkdir()
    (tmp_path / "years/release.toml").write_text('extends = "../release.toml"\ntitle = "Places of another year"\n')
    (tmp_path / "years/acceptance.toml").write_text(ACCEPTANCE)
    assert load_spec(tmp_path / "years/release.toml").schema["place"].atoms.labels[0] == "Aach"


def test_rules_compare_with_labels(tmp_path: Path) -> None:
    rule = "\n[[rules]]\nnever = \"place in ['Aach', 'Bern'] and sex != 'Male'\"\n"
    spec = loaded(tmp_path, columns=rule)
    forbidden = spec.raw.masks[0].forbidden
    assert [tuple(place) for place in zip(*forbidden.nonzero(), strict=True)] == [(0, 1), (0, 2), (1, 1), (1, 2)]
    assert "'1' is not a category of 'sex'. Its categories are 'Male', 'Female', 'Other'" in mistake(
        tmp_path, columns=rule.replace("'Male'", "'1'")
    )


BY_LEVEL = {
    "place.country == 'D'": "place in ['Aach', 'Calw']",
    "place.country != 'D' and sex == 'Male'": "not place in ['Aach', 'Calw'] and sex == 'Male'",
    "sex == 'Male' and not place . state in ['Baden', \"Tyrol\"]": "sex == 'Male' and not place in ['Aach', 'Calw', 'Dorn']",
}


@pytest.mark.parametrize(("by_level", "written"), BY_LEVEL.items())
def test_a_rule_may_name_a_level_and_is_written_out_by_labels(tmp_path: Path, by_level: str, written: str) -> None:
    found, expected = (
        loaded(tmp_path, columns=f"missing = 'bin'\n[[rules]]\nnever = {json.dumps(text)}\n") for text in (by_level, written)
    )
    assert [rule.never for rule in found.rules] == [written]
    assert found.digest == expected.digest
    np.testing.assert_array_equal(found.raw.masks[0].forbidden, expected.raw.masks[0].forbidden)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("place.county == 'D'", "'county' is not a level of 'place', which has 'codes', 'state', 'country'. Did you mean"),
        ("place.country == 'F'", "'F' is not a group of 'place.country': 'D', 'CH'"),
        ("place.country > 'D'", "Compare 'place.country' only by ==, != or in, with groups in quotes. The rule has \"> 'D'\""),
        ("place.country in []", "Compare 'place.country' only by ==, != or in, with groups in quotes. The rule has 'in []'"),
        ("plaice.country == 'D'", "'plaice' is not a column ('place', 'sex'). Did you mean 'place'?"),
        ("sex == 'Male' and 'place.country' == 'D'", "expected a column name, found the text 'place.country'"),
    ],
)
def test_mistakes_about_levels_in_rules_say_what_there_is(tmp_path: Path, rule: str, message: str) -> None:
    found = mistake(tmp_path, columns=f"\n[[rules]]\nnever = {json.dumps(rule)}\n")
    assert f"rules[0].never: {message}" in found


def test_labels_with_quotes_are_written_out_in_the_other_kind(tmp_path: Path) -> None:
    rule = "\n[[rules]]\nnever = \"place.country == 'CH'\"\n"
    spec = loaded(tmp_path, PLACES.replace("Bern", "L'Isle"), columns=rule)
    assert spec.rules[0].never == "place in [\"L'Isle\", 'Dorn']"
    both = PLACES.replace(",Bern,", ',"L\'""Isle",')
    assert """A label in a rule must not contain both kinds of quotes: L'"Isle""" in mistake(tmp_path, both, columns=rule)


def test_rules_that_leave_nothing_but_missing_values_are_refused(tmp_path: Path) -> None:
    rule = "\n[[rules]]\nnever = \"sex in ['Male', 'Female', 'Other']\"\n"
    message = "release.toml: rules: The rules exclude every possible row of the private file. Delete or change rules."
    assert mistake(tmp_path, columns='missing = "bin"\n' + rule).splitlines()[0] == message


def test_groups_may_name_a_level_or_list_labels(tmp_path: Path) -> None:
    path = written(tmp_path, columns='missing = "bin"\n')
    for groups in ('place = "country"\nsex = "codes"', 'place = { D = ["Aach", "Calw"], CH = ["Bern", "Dorn"] }'):
        (tmp_path / "acceptance.toml").write_text(f"[groups]\n{groups}\n{ACCEPTANCE}")
        spec = load_spec(path)
        found = spec.setting.groups["place"]
        assert (found.name, groups_of(found, spec.schema["place"])) == (
            "groups",
            {"D": {"Aach", "Calw"}, "CH": {"Bern", "Dorn"}},
        )
        if "sex" in spec.setting.groups:
            assert spec.setting.groups["sex"].labels == ("Male", "Female", "Other", "missing")
    for groups, message in (
        ('place = "states"', "'states' is not an alternative of the column: 'codes', 'state', 'country'. Name one of them"),
        ('place = { D = ["01"] }', "'01' is not one of the categories: 'Aach', 'Bern', 'Calw', 'Dorn'."),
    ):
        (tmp_path / "acceptance.toml").write_text(f"[groups]\n{groups}\n{ACCEPTANCE}")
        with pytest.raises(SpecError) as caught:
            load_spec(path)
        assert str(caught.value).startswith(f"{tmp_path}/acceptance.toml: groups.place: ")
        assert message in str(caught.value)


CASES = tomllib.loads((Path(__file__).parent / "bad_codelists.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES["codelist"], ids=lambda case: case["mistake"])
def test_a_mistake_in_a_codelist_is_told_with_its_line(tmp_path: Path, case: dict[str, str]) -> None:
    assert mistake(tmp_path, case["file"]) == f"lists/places.csv: {case['message']}"


def test_levels_nest_in_whatever_order_they_stand(tmp_path: Path) -> None:
    turned = "\n".join(",".join([*line.split(",")[:2], *line.split(",")[:1:-1]]) for line in PLACES.splitlines()) + "\n"
    assert turned.startswith("code,label,country,state\n")
    assert list(loaded(tmp_path, turned).schema["place"].alternatives) == ["codes", "country", "state"]


@pytest.mark.parametrize(
    ("codes", "found"),
    [
        ("lists/place.csv", "There is no such file"),
        ("lists", "The name of the file must end in .csv"),
        ("release.toml", "The name of the file must end in .csv"),
    ],
)
def test_a_codelist_that_is_not_there_is_told_at_the_column(tmp_path: Path, codes: str, found: str) -> None:
    config = CONFIG.replace("lists/places.csv", codes)
    assert mistake(tmp_path, config=config) == f"release.toml: columns.place.codes: {codes!r}: {found}."


def test_a_codelist_in_another_encoding_is_refused(tmp_path: Path) -> None:
    message = "release.toml: columns.place.codes: 'lists/places.csv': The file is not UTF-8 text."
    assert mistake(tmp_path, PLACES.replace("Aach", "Zürich").encode("latin-1")) == message


def test_a_listed_alternative_cannot_have_the_name_of_a_level(tmp_path: Path) -> None:
    listed = 'codes = "lists/places.csv"\nalternatives.state = { one = ["01"], other = ["02", "03", "04"] }\n'
    found = mistake(tmp_path, config=CONFIG.replace('codes = "lists/places.csv"\n', listed))
    place = "release.toml: columns.place.alternatives.state"
    assert found == f"{place}: The codelist already has a level 'state'. Use another name."


SEX = 'codes = { "1" = "Male", "2" = "Female", "9" = "Other" }\n'


@pytest.mark.parametrize("case", CASES["column"], ids=lambda case: case["lines"])
def test_a_mistake_in_a_column_of_codes_is_told_at_its_place(tmp_path: Path, case: dict[str, str]) -> None:
    assert mistake(tmp_path, config=CONFIG.replace(SEX, case["lines"])) == f"release.toml: columns.sex.{case['message']}"


def test_a_codelist_without_a_column_of_codes_is_refused(tmp_path: Path) -> None:
    found = mistake(tmp_path, config=CONFIG.replace('kind = "code"\ncodes = {', 'kind = "category"\ncodes = {'))
    assert found == "release.toml: columns.sex.codes: Delete `codes`: a column of categories cannot have it."


def test_twelve_thousand_codes_are_quick(tmp_path: Path) -> None:
    lines = [f"A{i:05d},Disease {i},block {i // 50},chapter {i // 600}" for i in range(12_000)]
    places = "\n".join(["code,label,block,chapter", *lines])
    started = time.process_time()
    place = loaded(tmp_path, places).schema["place"]
    assert time.process_time() - started < 5  # 0.4 s; anything quadratic in the codes takes minutes
    assert [len(binning) for binning in place.alternatives.values()] == [12_000, 240, 20]


def test_a_codelist_of_very_many_codes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "many.csv"
    path.write_text("code,label\n" + "".join(f"{i},label {i}\n" for i in range(20_001)))
    with pytest.raises(SpecError, match=r"A codelist may have at most 20,000 codes"):
        read_codelist(path)
