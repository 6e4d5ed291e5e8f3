"""[calibration] as a specification: margins over atomic bins, totals from files, and how mistakes in these are told."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from synthrelease.errors import SpecError
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from tests.conftest import ROOT

BASE = ROOT / "tests" / "spec" / "bad_specs" / "base"
HEAD = '[calibration]\nsource = "A yearbook"\n'


def load(folder: Path, calibration: str, **changes: str) -> ReleaseSpec:
    """The small valid specification with a calibration; `changes` replaces its lines by their key."""
    copied = folder / "specification"
    shutil.copytree(BASE, copied, dirs_exist_ok=True)
    text = (copied / "release.toml").read_text(encoding="utf-8")
    for old, new in changes.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    (copied / "release.toml").write_text(f"{text}\n{HEAD}{calibration}", encoding="utf-8")
    return load_spec(copied / "release.toml")


def margin(columns: str, totals: str) -> str:
    return f"\n[[calibration.margins]]\ncolumns = {columns}\ntotals = {totals}\n"


def test_groups_are_bins_of_an_alternative_or_coarser_ones_and_fit_every_alternative(tmp_path: Path) -> None:
    spec = load(
        tmp_path,
        margin('["age"]', '{ "15-54" = 70, "55-74" = 30 }')
        + margin('["sex", "age"]', '{ female = { "<30" = 10, ">=30" = 40 }, male = { "<30" = 20, ">=30" = 30 } }'),
    )
    calibration = spec.options.calibration
    assert calibration is not None
    ages, both = calibration.margins
    years = range(15, 75)  # the own values of ages are atoms, because a mean is taken of them
    assert ages.into == (tuple(int(age >= 55) for age in years),)
    assert both.into == ((1, 0), tuple(int(age >= 30) for age in years))  # categories in the order in which their totals stand
    assert both.table.tolist() == [[10, 40], [20, 30]]
    for transformation in spec.space.transformations:
        released = calibration.on(transformation).margins[0]
        labels = transformation.binning("age").labels
        assert released.into == (tuple(int(label == "55-74") for label in labels),)


MISSING = {"bounds = [15, 74]": 'bounds = [15, 74]\nmissing = "bin"\nmissing_label = "unknown"'}


def test_missing_values_of_a_number_are_a_group_with_a_total_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(
        SpecError, match=r"margins\[0\]\.totals: There is no total for the missing values of 'age' \('unknown'\)\. Write 0 if"
    ):
        load(tmp_path / "without", margin('["age"]', '{ "15-54" = 70, "55-74" = 30 }'), **MISSING)
    calibration = load(
        tmp_path / "with", margin('["age"]', '{ unknown = 5, "15-54" = 70, "55-74" = 30 }'), **MISSING
    ).options.calibration
    assert calibration is not None
    (ages,) = calibration.margins
    assert [ages.labels[0][group] for group in ages.into[0]] == ["15-54"] * 40 + ["55-74"] * 20 + ["unknown"]


def test_totals_from_a_file_are_those_that_could_stand_in_the_table(tmp_path: Path) -> None:
    (tmp_path / "totals.csv").write_text(
        "\ufeffage,total,sex,education\n"
        + "".join(
            f"{age},{10 * i + 3 * j + k},{sex},{education}\n"
            for i, age in enumerate(("15-29", "30-54", "55-74"))
            for j, sex in enumerate(("male", "female"))
            for k, education in enumerate(("none", "school"), start=1)
        )
        + "".join(f"{age},0.5,{sex},college\n" for age in ("15-29", "30-54", "55-74") for sex in ("male", "female")),
        encoding="utf-8",
    )
    spec = load(tmp_path, margin('["age", "sex", "education"]', '"../totals.csv"'))
    calibration = spec.options.calibration
    assert calibration is not None
    (found,) = calibration.margins
    assert found.shape == (3, 2, 3)
    assert found.table[2, 1].tolist() == [24, 25, 0.5]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("sex,number\nmale,1\n", "totals.csv: The columns must be 'sex', 'total'. They are 'sex', 'number'"),
        ("sex,total\nmale,40\nfemale,\n", "totals.csv: line 3: A line must have 2 values, and a total of at least 0"),
        ("sex,total\nmale,40\nfemale,-1\n", "totals.csv: line 3: A line must have 2 values, and a total of at least 0"),
        ("sex,total\nmale,40\nfemale,nan\n", "totals.csv: line 3: A line must have 2 values, and a total of at least 0"),
        ("sex,total\nmale,40\nfemale,1,2\n", "totals.csv: line 3: A line must have 2 values, and"),
        ("sex,total\nmale,40\nmale,60\n", "totals.csv: line 3: The group male occurs again"),
        ("sex,total\n", "totals.csv: The file contains no totals"),
        ("sex,total\nmale,0\nfemale,0\n", "All totals are 0. At least one total must be above 0"),
        ('sex,total\n"male,40\n', "totals.csv: line 2: The file is not valid CSV. Use commas, and close all quotes"),
    ],
)
def test_mistakes_in_a_file_of_totals_are_told(content: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "totals.csv").write_text(content, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        load(tmp_path, margin('["sex"]', '"../totals.csv"'))
    assert says in str(caught.value)
    assert "calibration.margins[0].totals" in str(caught.value)


def test_a_file_of_totals_has_the_name_of_one(tmp_path: Path) -> None:
    """As for TOML files and codelists: a specification may come from somebody else, and messages show a header."""
    (tmp_path / "secret.txt").write_text("sex,total\nmale,40\nfemale,60\n", encoding="utf-8")
    (tmp_path / "totals.csv").symlink_to(tmp_path / "secret.txt")
    for name in ("secret.txt", "totals.csv"):
        with pytest.raises(SpecError, match=r"The name of the file must end in \.csv"):
            load(tmp_path, margin('["sex"]', f'"../{name}"'))


@pytest.mark.parametrize(
    ("calibration", "says"),
    [
        (
            margin('["age", "sex", "education"]', "{ a = 1 }"),
            "With three columns or more, `totals` must name a CSV file. The entry 'a' has another form",
        ),
        (
            margin('["sex"]', "{ male = { x = 1 }, female = { x = 2 } }"),
            "With one column, each group needs a number. The entry 'male' has another form",
        ),
        (
            margin('["sex", "age"]', "{ male = 1, female = 2 }"),
            "With two columns, each group of the first needs a table. The entry 'male' has another form",
        ),
        (margin('["sex", "sex"]', "{ male = 1, female = 2 }"), "A column is named twice: 'sex', 'sex'"),
        (margin('["sex"]', "{ male = 1, female = 2 }") * 2, "An earlier margin has the same columns: 'sex'"),
        (margin('["sex"]', "{ male = true, female = 2 }"), "The total for 'male' must be a finite number of at least 0"),
        (
            margin('["age"]', '{ "15..74" = 3 }'),
            "Each total must be for one bin, and the bins must cover 'age' from 15 to 74: '15..74'",
        ),
    ],
)
def test_totals_of_another_shape_are_told(calibration: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        load(tmp_path, calibration)
    assert says in str(caught.value)


def test_a_total_where_rules_over_more_columns_allow_nothing_is_found(tmp_path: Path) -> None:
    """Two rules that share a column are one mask; what they exclude of a margin shows only when the other columns are gone."""
    first = 'never = "age < 30 and education == \'college\'"\napplies_to = ["synthetic"]'
    second = "[[rules]]\nnever = \"age < 30 and sex == 'male'\""
    rules = f"{first}\n\n{second}"
    with pytest.raises(
        SpecError,
        match=r"The total for sex male, age 15-29 is 2\. It must be 0, because \[\[rules\]\] allow no such released row",
    ):
        load(
            tmp_path,
            margin('["sex", "age"]', '{ male = { "15-29" = 2, "30-74" = 1 }, female = { "15-29" = 2, "30-74" = 1 } }'),
            **{"never = \"age < 20 and education == 'college'\"": rules},
        )


def test_a_column_that_has_the_name_of_the_weights_is_told(tmp_path: Path) -> None:
    copied = Path(shutil.copytree(BASE, tmp_path / "specification"))
    for path in copied.iterdir():
        path.write_text(path.read_text(encoding="utf-8").replace("income", "weight"), encoding="utf-8")
    config = copied / "release.toml"
    totals = margin('["sex"]', "{ male = 1, female = 2 }")
    config.write_text(f"{config.read_text(encoding='utf-8')}\n{HEAD}{totals}", encoding="utf-8")
    with pytest.raises(
        SpecError, match=r"columns\.weight: Use another name for the column, because \[calibration\] adds a column 'weight'"
    ):
        load_spec(config)


def test_weights_may_start_from_a_column_of_design_weights(tmp_path: Path) -> None:
    spec = load(
        tmp_path,
        'start = "income"\n' + margin('["sex"]', "{ male = 1, female = 2 }"),
        **{
            'missing = "drop"': 'missing = "drop"\none_row_per = "respondent"',
            "bounds = [0, 1000]": 'bounds = [0, 1000]\nrole = "weight"',
        },
    )
    calibration = spec.options.calibration
    assert calibration is not None
    assert calibration.start == "income"
    assert spec.schema["income"].alternatives["hundreds"].numbers == (100, 150, 200)
