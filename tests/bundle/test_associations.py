"""associations.csv, `carries` and the card say of one release the same, and `verify` makes the list again."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from synthrelease.bundle.card import sentences
from synthrelease.bundle.card.page import page_bytes
from synthrelease.bundle.card.sections import rows
from synthrelease.bundle.verify import verify_bundle
from synthrelease.bundle.verify_documents import documents
from synthrelease.bundle.write import write_bundle
from synthrelease.errors import InputError
from synthrelease.privacy.charges import GENERATION, mechanism
from synthrelease.published import load
from synthrelease.published.associations import of_document
from synthrelease.published.document import ReleaseDocument, read_strictly
from synthrelease.published.names import ASSOCIATIONS as NAME
from synthrelease.published.names import not_yet_written
from synthrelease.published.table import read_csv
from synthrelease.published.verify.checks import read_files
from synthrelease.releasing.release import release
from synthrelease.settings.card import LANGUAGES
from synthrelease.settings.questions import QuestionTable
from synthrelease.spec.associations import planned_associations
from synthrelease.spec.load import load_spec
from tests.bundle.verify.test_verify import resealed
from tests.helpers.tiny import MEASURED, write_config

TABLES = {old: new.replace("face:year", "face:year:worn + year:mint + weight") for old, new in MEASURED.items()}
COLUMNS = """[columns.mint]
kind = "category"
categories = ["A", "B"]

[columns.worn]
kind = "category"
categories = ["no", "yes"]

[columns.weight]
kind = "integer"
bounds = [1, 4]
alternatives.halves = ["1-2", "3-4"]
numbers = { "1-2" = 1.5, "3-4" = 3.5 }

[[rules]]
never = "face == 'head' and weight > 3"

"""
LISTED = """first,second,third,carried,how,through,noise,mean_cell,repeats,apart
face,mint,,in part,through other columns,year,,,,
face,worn,,yes,measured together,,1.4,100,0.98,
face,weight,,in part,plausibility rules,,,,,
face,year,,yes,measured together,,0.96,50,0.98,
mint,worn,,in part,through other columns,year,,,,
mint,weight,,in part,through other columns,face,,,,
mint,year,,yes,measured together,,0.6,50,0.99,
worn,weight,,in part,through other columns,face,,,,
worn,year,,yes,measured together,,0.96,50,0.98,
weight,year,,in part,through other columns,face,,,,
face,worn,year,yes,measured together,,0.6,25,0.98,
"""
"""Made by hand: worn, face and year stand in one table, mint in one with year, and a rule ties weight to face.

Each of three tables has noise of scale 2 / (10 / 3) = 0.6 a cell, of variance 0.72. A cell of face and worn is a sum of
the four of year, and moved by sqrt(2 / pi * 4 * 0.72) = 1.4 rows; the prior of 300 rows leaves 1 / (1 + 300 * 4 * 0.72
* 4 / 400^2) = 0.98."""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_config(tmp_path_factory.mktemp("coins"), {"[columns.year]": f"{COLUMNS}[columns.year]", **TABLES})


@pytest.fixture(scope="module")
def folder(config: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = config.parent / "coins.csv"
    lines = [
        f"{'head' if row % 2 else 'tail'},{'AB'[row % 3 == 0]},{'yes' if row % 5 < 2 else 'no'},{1 + row % 2},{1 + row % 6}"
        for row in range(400)
    ]
    data.write_text("\n".join(["face,mint,worn,weight,year", *lines, ""]))
    found = release(load_spec(config), data)
    assert found is not None
    return write_bundle(found, tmp_path_factory.mktemp("bundle") / "release")


def document_of(folder: Path) -> ReleaseDocument:
    return read_strictly((folder / "release.json").read_bytes())


def test_the_list_is_the_one_made_by_hand_and_the_loaded_release_and_the_plan_say_the_same(folder: Path, config: Path) -> None:
    lines = [line.split(",") for line in (folder / NAME).read_text().splitlines()]
    assert "".join(",".join(line[:-2]) + "\n" for line in lines) == LISTED
    assert lines[0][-2:] == ["strength", "noise_strength"]  # by noisy tables: another release has others
    assert {line[5] == "" and line[2] == "" and line[6] != "" for line in lines[1:] if line[-1]} == {True}
    assert NAME in (folder / "SHA256SUMS").read_text()
    assert NAME in (folder / "README.md").read_text()
    loaded, (planned,) = load(folder), planned_associations(load_spec(config))
    for line in csv.DictReader(io.StringIO(LISTED)):
        names = [line[place] for place in ("first", "second", "third") if line[place]]
        for found in (loaded.carries(*names), loaded.carries(*reversed(names)), planned.of(*names)):
            assert (found.carried, found.how, ";".join(found.through)) == (line["carried"], line["how"], line["through"])
            assert bool(found) == (line["carried"] == "yes")


MINTS = """[columns.mint]
kind = "category"
categories = ["A", "B", "C"]

[columns.made]
kind = "integer"
bounds = [1, 6]
alternatives.halves = ["1-3", "4-6"]
alternatives.thirds = ["1-2", "3-4", "5-6"]

[columns.age]
kind = "category"
categories = ["old", "new"]

[[rules]]
never = "mint == 'A' and face == 'tail'"

[[rules]]
never = "not mint == 'A' and face == 'head'"

[[rules]]
never = "made < 4 and age == 'new'"

[[rules]]
never = "made >= 4 and not age == 'new'"

"""
SYNTHETIC = MINTS.replace("face == 'head'", 'face == \'head\'"\napplies_to = ["synthetic"]\nwhy = "it looks odd')


@pytest.mark.parametrize(
    ("columns", "drawn", "carried"),
    [
        (MINTS, ["halves"], {"face": "yes", "age": "yes"}),
        (SYNTHETIC, ["halves"], {"face": "in part", "age": "yes"}),
        (MINTS, ["thirds"], {"face": "yes", "age": "in part"}),
        (MINTS, ["halves", "thirds"], {"face": "yes", "age": "in part"}),
    ],
)
def test_the_plan_and_the_release_call_the_same_columns_functions_of_others(
    columns: str, drawn: list[str], carried: dict[str, str], tmp_path: Path
) -> None:
    """By rules for rows of the file and released ones, on all bins that may be released.

    See (d) of theory 12.15, associations that rows carry.
    """
    named = {old: new.replace("face:year", "mint:year + made:year + face + age") for old, new in MEASURED.items()}
    bins = f"[transformations]\nmade = {drawn}\n\n".replace("'", '"')
    config = write_config(tmp_path, {"[columns.year]": f"{columns}{bins}[columns.year]", **named})
    spec = load_spec(config)
    faces, ages = ("head", "tail", "tail"), ("old", "old", "old", "new", "new", "new")
    rows = [f"{faces[at % 3]},{'ABC'[at % 3]},{1 + at % 6},{ages[at % 6]},{1 + at % 5}" for at in range(400)]
    data = tmp_path / "coins.csv"
    data.write_text("\n".join(["face,mint,made,age,year", *rows, ""]))
    found = release(spec, data)
    assert found is not None
    loaded, (planned,) = load(write_bundle(found, tmp_path / "release")), planned_associations(spec)
    planned = replace(planned, rows=400)
    for name, said in carried.items():
        assert planned.of(name, "year").carried == said
        if drawn != ["halves", "thirds"]:
            assert replace(loaded.carries(name, "year"), strength=None, noise_strength=None) == replace(
                planned.of(name, "year"), noise_strength=None
            )


@pytest.mark.parametrize("names", [("face",), ("face", "face"), ("face", "yeer"), ("face", "mint", "year", "worn"), ()])
def test_other_than_two_or_three_columns_are_a_mistake(folder: Path, names: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="carries needs two or three different columns|no column is named"):
        load(folder).carries(*names)


def test_charges_of_a_generator_that_cannot_be_are_a_mistake(folder: Path) -> None:
    forged = replace(load(folder), charges=mechanism(GENERATION, Fraction(0), ""))
    with pytest.raises(InputError, match="synthrelease verify"):
        forged.carries("face", "year")


def test_an_edited_list_is_found(folder: Path) -> None:
    assert verify_bundle(folder).passed
    files = dict(read_files(folder))
    edited = files | {NAME: files[NAME].replace(b"face,mint,,in part", b"face,mint,,yes")}
    found = documents_of(folder, edited)
    assert any(problem.startswith(f"{NAME}: line 2 has") for problem in found)


@pytest.mark.parametrize(
    ("version", "refused"), [("1.0.0", False), ("0.9.3", False), ("1.1.0.dev0", True), ("1.0.1", True), ("?", True)]
)
def test_a_release_of_a_version_before_needs_no_list_and_a_later_one_does(folder: Path, version: str, refused: bool) -> None:
    document = document_of(folder).model_copy(update={"written_by": version})
    files = {name: content for name, content in read_files(folder).items() if name != NAME}
    assert (NAME not in not_yet_written(document)) is refused
    assert not any(problem.startswith(NAME) for problem in documents_of(folder, files, version))  # the check of files names it


def documents_of(folder: Path, files: dict[str, bytes], version: str = "1.0.0") -> tuple[str, ...]:
    """The problems of the documents, when somebody has made the checksums anew."""
    from synthrelease.published.base import Files

    document = document_of(folder).model_copy(update={"written_by": version})
    table = read_csv(files["data.csv"], document.shape)
    return documents(document, table, Files(resealed(files))).problems


def test_questions_about_what_the_rows_do_not_carry_say_so(folder: Path) -> None:
    document = document_of(folder)
    asked = [
        QuestionTable(mean="weight", query="mint == 'A'"),
        QuestionTable(query="worn == 'yes'", given="face == 'head' and mint == 'A'"),
        QuestionTable(query="share worn == 'yes': face == 'head' against == 'tail'"),
    ]
    asking = document.model_copy(update={"intended_queries": asked, "estimates": None})
    found = [because for _, _, _, because, _ in rows(asking, of_document(asking))]
    assert ["the rows do not preserve" in because for because in found] == [True, True, False]
    assert found[0].endswith("; the rows do not preserve the association of mint × weight")
    assert found[1].endswith("; the rows do not preserve the association of face × mint, mint × worn")
    assert "preserve the association of 4 of 10 pairs of columns" in (folder / "QUESTIONS.md").read_text()


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_card_begins_with_what_the_rows_carry_and_names_what_they_do_not(folder: Path, language: str) -> None:
    document, words = document_of(folder), sentences(language)
    table = read_csv((folder / "data.csv").read_bytes(), document.shape)

    stated = document.configuration["generator"]

    def page(generator: dict[str, object]) -> str:
        settings = document.configuration | {"generator": generator}
        others = {"configuration": settings} | ({} if generator == stated else {"estimates": None})  # of other noisy tables
        text = page_bytes(document.model_copy(update=others), table, language).decode()
        return text.partition("<nav")[0]  # what comes before the contents

    some = page(stated)
    assert words["carried_minimum"] in some
    assert words["carried_some"].format(carried="4", pairs="10") in some
    assert words["carried_limits"] in some
    assert words["carried_list"] in some
    assert some.count("<li>year × ") == 1
    assert "<li>weight × " not in some.partition('id="carried"')[2]  # it is in no pair
    assert "<li>face × worn</li>" in some
    assert words["carried_triples"].format(carried_triples="1", triples="10") in some
    few = page(stated | {"tables": "face:year:worn + year:mint + face:mint:weight"})
    assert words["carried_others"] in few
    assert "<li>worn × (mint; weight)</li>" in few
    assert "<li>weight × year</li>" in few
    every = page(stated | {"tables": "all 3-way"})
    assert words["carried_all"] in every
    assert "<li>" not in every.partition('id="carried"')[2]
    loud = page(stated | {"prior_weight": 300_000})
    assert words["carried_zero"] in loud
    assert words["carried_noise"].partition("{noisy_names}")[0].format(noisy_pairs="4") in loud
    assert words["carried_noise"].partition("{")[0] not in some
    apart = page(stated | {"rare_bins": "mint[0 1]"})
    assert f"{words['carried_apart']} mint." in apart
    assert words["carried_apart"] not in some
    private = page({"family": "privbayes", "flavour": "degree", "degree": 1, "epsilon_split": "1/2"})
    assert words["carried_unknown"] in private
    assert NAME not in private
    half = page({"family": "adaptive", "tables": "face:year + mint:worn"})
    assert words["carried_unknown_some"].format(unknown_pairs="2") in half
    assert 'id="carried"' not in page({"family": "magic"})  # a document that somebody changed
