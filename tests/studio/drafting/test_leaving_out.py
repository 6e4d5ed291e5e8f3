"""A column goes with all that names it; what needs a decision is said, and then nothing is written."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import pytest

from synthrelease.criteria import CRITERIA
from synthrelease.criteria.functional import PriorGuess
from synthrelease.errors import InputError, OutputError, SpecError
from synthrelease.settings.base import naming_columns
from synthrelease.spec.load import load_spec
from synthrelease.studio.drafting.edits import _References, leave_out
from tests.cli.test_cli import run, words
from tests.conftest import ROOT
from tests.helpers.drafts import write_draft

TABLES = 'tables = """\nage:ward:days + 2 ward:sex:days +\nward:sex + age:days + age:sex\n"""'
CONFIGURATION = '''\
title = "Visits"           # of one clinic
acceptance = "../acceptance/visits.toml"

[columns.age]              # in full years
kind = "integer"
bounds = [0, 99]
alternatives.coarse = ["<18", "18-64", ">64"]

[columns.sex]
kind = "category"
categories = ["F", "M"]

[columns.ward]             # where
kind = "code"
codes = "codes/wards.csv"

[columns.days]
kind = "integer"
bounds = [1, 60]
alternatives.coarse = ["<4", "4-10", ">10"]

# --- Rules ----------------------------------------

[[rules]]
never = "age < 18 and ward == 'Memory'"
why = "Nobody's age is below 60 there"

# children of the wards
[[rules]]
never = "sex == 'M' and ward == 'Births'"

[[rules]]
never = "days > 10 and sex == 'M' and age > 64"

[transformations]
age = ["coarse"]           # or fine
days = ["coarse"]

[[generators]]
family = "marginals"
tables = """
age:ward:days + 2 ward:sex:days +
ward:sex + age:days + age:sex
"""
only_measured = "ward"
sums = "age(0..99 - 40):days(1..60) + 2 days[0 0 1]"

[[projections]]
kind = "minimum_count"
minimum_count = 1

[budget]
generation = 4
limit = 20

[selection]
stop_probability = 0.01    # about 100 rounds

[[intended_queries]]
query = "ward == 'Births'"

[[intended_queries]]
query = "age > 64"
mean = "days"

[card]
columns.ward = "Ward of the clinic"
columns.age = "Age"
'''

ACCEPTANCE = """\
# What it is for
[groups]
age = ["<18", ">=18"]

# the cells
[[criteria]]
name = "tables"
kind = "absolute_marginal_error"
tables = ["age:ward", "sex:ward", "all 1-way"]
threshold = 0.2
epsilon = 0.1

# the stay
[[criteria]]
name = "mean stay"
kind = "conditional_mean"
column = "days"
by = ["ward", "sex"]
range = [1, 60]
size_margin = 0.01
threshold = 3
epsilon = 0.1

[[criteria]]
name = "mean stay by sex"
kind = "conditional_mean"
column = "days"
by = ["sex"]
range = [1, 60]
size_margin = 0.01
threshold = 4
epsilon = 0.1

[[criteria]]
name = "share of births"
kind = "difference_in_proportions"
column = "ward"
bins = ["Births"]
by = ["sex"]
threshold = 0.3
epsilon = 0.1

[[criteria]]
name = "line"
kind = "regression_coefficients"
target = "days"
features = ["age"]
representation = { days = "coarse", age = "coarse" }
threshold = 5
epsilon = 0.4

[[criteria]]
name = "prediction"
kind = "regression_prediction"
coefficients = "line"
range = [1, 60]
threshold = 5
epsilon = 0.1

[[criteria]]
name = "faithfulness"
kind = "faithfulness"
exact = ["sex"]
within_one_bin = ["age"]
ignored = ["ward", "days"]
threshold = 0.5
epsilon = 0.1
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    for folder in ("configs", "acceptance", "configs/codes"):
        (tmp_path / folder).mkdir()
    (tmp_path / "configs" / "visits.toml").write_text(CONFIGURATION)
    (tmp_path / "acceptance" / "visits.toml").write_text(ACCEPTANCE)
    (tmp_path / "configs" / "codes" / "wards.csv").write_text("code,label\n1,Births\n2,Memory\n3,Surgery\n")
    return tmp_path / "configs" / "visits.toml"


def texts(config: Path) -> tuple[str, str]:
    return config.read_text(), (config.parent.parent / "acceptance" / config.name).read_text()


def test_a_column_goes_with_all_that_names_it_and_nothing_else_changes(config: Path) -> None:
    found = leave_out(config, ["ward"])
    configuration, acceptance = (tomllib.loads(text) for text in texts(config))
    assert list(configuration["columns"]) == ["age", "sex", "days"]
    assert [rule["never"] for rule in configuration["rules"]] == ["days > 10 and sex == 'M' and age > 64"]
    (generator,) = configuration["generators"]
    assert generator["tables"].strip() == "2 sex:days + age:days + age:sex"  # sex alone is part of the others
    assert "only_measured" not in generator
    assert generator["sums"] == "age(0..99 - 40):days(1..60) + 2 days[0 0 1]"
    assert [query["query"] for query in configuration["intended_queries"]] == ["age > 64"]
    assert configuration["card"]["columns"] == {"age": "Age"}
    named = {criterion["name"]: criterion for criterion in acceptance["criteria"]}
    assert list(named) == ["tables", "mean stay", "line", "prediction", "faithfulness"]
    assert named["tables"]["tables"] == ["all 1-way"]  # a pair without one of its columns is none
    assert named["mean stay"]["by"] == ["sex"]
    assert named["faithfulness"]["ignored"] == ["days"]
    lines = {line for text in texts(config) for line in text.splitlines()}
    assert lines - {*CONFIGURATION.splitlines(), *ACCEPTANCE.splitlines()} == {
        "2 sex:days + age:days + age:sex",
        'tables = ["all 1-way"]',
        'ignored = ["days"]',
    }
    comments = {line for text in (CONFIGURATION, ACCEPTANCE) for line in text.splitlines() if "#" in line}
    assert comments - lines == {"[columns.ward]             # where", "# children of the wards"}
    assert "the criterion 'share of births', which is about ward" in found.taken
    assert "the criterion 'mean stay by sex', which would equal 'mean stay'" in found.taken
    assert "no column of this configuration uses the codelist codes/wards.csv any more" in found.to_look_at
    assert (config.parent / "codes" / "wards.csv").is_file()
    assert found.after == load_spec(config).plan.total
    assert found.after.epsilon < found.before.epsilon


def test_what_builds_on_a_criterion_goes_with_it_and_a_line_without_features_too(config: Path) -> None:
    found = leave_out(config, ["age"])
    _, acceptance = (tomllib.loads(text) for text in texts(config))
    names = [criterion["name"] for criterion in acceptance["criteria"]]
    assert names == ["tables", "mean stay", "mean stay by sex", "share of births", "faithfulness"]
    assert acceptance["groups"] == {}
    assert "the criterion 'line', which would have no column to compare" in found.taken
    assert "the criterion 'prediction', which depends on 'line'" in found.taken


def test_several_columns_at_once_and_what_is_left_to_the_steward(config: Path) -> None:
    found = leave_out(config, ["sex", "ward"])
    _, acceptance = (tomllib.loads(text) for text in texts(config))
    assert [c["by"] for c in acceptance["criteria"] if c["kind"] == "conditional_mean"] == [[]]
    assert "'mean stay' no longer has groups and is about all rows together" in found.to_look_at
    assert load_spec(config).schema.names == ("age", "days")


def test_a_dry_run_says_it_and_writes_nothing(config: Path) -> None:
    before = texts(config)
    tried = leave_out(config, ["ward"], dry_run=True)
    assert texts(config) == before
    assert leave_out(config, ["ward"]).taken == tried.taken


QUERY = '[[intended_queries]]\nquery = "ward'
CALIBRATION = """[calibration]
source = "Register"

[[calibration.margins]]
columns = ["ward"]
totals = { Births = 5, Memory = 3, Surgery = 2 }

"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (TABLES, 'tables = "ward"', "no table left"),
        (QUERY, CALIBRATION + QUERY, "calibration.margins[0].columns[0] names the column"),
    ],
)
def test_what_needs_a_decision_is_said_and_nothing_is_written(config: Path, old: str, new: str, said: str) -> None:
    assert old in CONFIGURATION
    config.write_text(CONFIGURATION.replace(old, new))
    before = texts(config)
    with pytest.raises(InputError) as caught:
        leave_out(config, ["ward"])
    assert said in str(caught.value)
    assert "Nothing was written" in str(caught.value)
    assert texts(config) == before


def test_a_file_that_could_not_be_loaded_afterwards_is_not_written(config: Path) -> None:
    seen = '[columns.seen]\nkind = "category"\ncategories = ["yes", "no"]\nmissing = "bin"\n'
    config.write_text(f"{CONFIGURATION}\n[imputation]\ncopies = 3\n\n{seen}")
    acceptance = config.parent.parent / "acceptance" / "visits.toml"
    acceptance.write_text(ACCEPTANCE.replace('ignored = ["ward", "days"]', 'ignored = ["ward", "days", "seen"]'))
    before = texts(config)
    with pytest.raises(SpecError, match='No column has missing = "bin"') as caught:
        leave_out(config, ["seen"])
    assert "Nothing was written" in str(caught.value)
    assert texts(config) == before


def test_a_pair_that_is_not_promised_goes_with_either_of_its_columns() -> None:
    acceptance = {"criteria": [], "not_promised": {"pairs": ["age:ward", "age:days", " ward : sex"]}}
    found = _References(["ward"], {"columns": {"ward": {}, "age": {}, "days": {}, "sex": {}}}, acceptance)
    found.look()
    assert [edit.path for edit in found.of_acceptance] == [("not_promised", "pairs", 0), ("not_promised", "pairs", 2)]


def test_an_unknown_column_is_told_with_the_nearest(config: Path) -> None:
    with pytest.raises(InputError, match="Did you mean 'ward'"):
        leave_out(config, ["wards"])


def test_files_that_others_share_are_not_changed_under_their_hands(config: Path) -> None:
    other = config.with_name("other.toml")
    other.write_text('extends = "visits.toml"\ntitle = "Other"\n')
    with pytest.raises(InputError, match=r"other\.toml extends this configuration"):
        leave_out(config, ["ward"])
    with pytest.raises(InputError, match=r"columns\.ward is in .*visits\.toml, which this configuration extends"):
        leave_out(other, ["ward"])
    other.write_text(CONFIGURATION)
    with pytest.raises(InputError, match="has the same acceptance file"):
        leave_out(config, ["ward"])
    other.unlink()
    leave_out(config, ["ward"])


def test_the_files_keep_their_line_ends_and_their_mark(config: Path) -> None:
    config.write_bytes(b"\xef\xbb\xbf" + CONFIGURATION.replace("\n", "\r\n").encode())
    leave_out(config, ["ward"])
    content = config.read_bytes()
    assert content.startswith(b"\xef\xbb\xbf")
    assert content.count(b"\n") == content.count(b"\r\n") > 40


def test_no_file_is_left_when_the_disk_is_full(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import synthrelease.studio.drafting.toml_edit as room

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device", "acceptance")

    before = texts(config)
    monkeypatch.setattr(room.os, "fsync", full)
    with pytest.raises(OutputError, match="Nothing was changed"):
        leave_out(config, ["ward"])
    assert texts(config) == before
    assert list(config.parent.parent.rglob("*.new")) == []


def test_every_setting_of_a_criterion_that_names_columns_says_so() -> None:
    """A new kind of criterion whose columns have another setting would keep a column that is gone."""
    others = {
        "name",
        "kind",
        "reason",
        "bins",
        "positive",
        "quantiles",
        "range",
        "values",
        "fit",
        "weights",
        "loss",
        "coefficients",
    }
    texts = {
        (kind, name)
        for kind in CRITERIA
        for name, field in CRITERIA[kind].model_fields.items()
        if "str" in str(field.annotation) and name not in naming_columns(CRITERIA[kind])
    }
    assert {(kind, name) for kind, name in texts if name not in others} == set()
    assert naming_columns(PriorGuess) == dict.fromkeys(["coefficients", "centres", "spreads"], "keys")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["births", "labour"])
def test_every_column_of_the_shipped_releases_can_go_or_is_refused_whole(name: str, tmp_path: Path) -> None:
    for column in load_spec(ROOT / "configs" / f"{name}.toml").schema.names:
        folder = tmp_path / column
        for part in ("configs", "acceptance"):
            (folder / part).mkdir(parents=True)
            shutil.copy(ROOT / part / f"{name}.toml", folder / part)
        shutil.copytree(ROOT / "configs" / "codes", folder / "configs" / "codes")
        config = folder / "configs" / f"{name}.toml"
        before = texts(config)
        try:
            leave_out(config, [column])
        except (InputError, SpecError):
            assert texts(config) == before
        else:
            assert column not in load_spec(config).schema.names


@pytest.mark.slow
def test_the_command_says_what_it_took_out(config: Path) -> None:
    tried = run("leave-out", config, "ward", "--dry-run")
    assert tried.returncode == 0
    assert "The command would remove:" in tried.stdout
    done = run("leave-out", config, "ward")
    assert "the criterion 'share of births', which is about ward" in words(done.stdout)
    assert "Rehearse again" in words(done.stdout)
    again = run("leave-out", config, "ward")
    assert again.returncode == 2
    assert "the release has no column" in words(again.stderr)


@pytest.mark.slow
def test_a_draft_has_a_line_for_each_column_and_rule_and_every_column_can_go(tmp_path: Path) -> None:
    """No child is married and every adult may be; the rule goes with each of its columns, and the other lines stay."""
    lines = ["age,married,pay,ward"]
    for at in range(3000):
        age, ward = at * 7 % 80, "abc"[(at * 7 % 80 // 9 + at // 1000) % 3]
        lines.append(f"{age},{'yes' if age > 17 and at % 3 else 'no'},{1000 + 13 * (at % 97) + 40 * age},{ward}")
    (tmp_path / "public.csv").write_text("\n".join(lines) + "\n")
    config, acceptance, _ = write_draft("people", tmp_path / "public.csv", tmp_path, unit="row")
    before = config.read_text(encoding="utf-8").split("\n")
    assert len([line for line in before if re.match(r"(age|married|pay|ward) = \{ kind = ", line)]) == 4
    rules, kept = [line for line in before if "never = " in line], texts(config)
    assert any("age" in rule and "married" in rule for rule in rules)
    for column in ("age", "married", "pay", "ward"):
        for path, text in zip((config, acceptance), kept, strict=True):
            path.write_text(text)
        leave_out(config, [column])
        after = config.read_text(encoding="utf-8").split("\n")
        gone = [line for line in before if line not in after and not line.startswith(("tables", "by cells"))]
        assert all(column in line for line in gone if "{ " in line), gone
        assert [line for line in after if "never = " in line] == [rule for rule in rules if column not in rule]
        assert column not in load_spec(config).schema.names
