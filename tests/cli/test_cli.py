"""The command line as a steward meets it: by exit code and what is printed.

One of each kind is run in a process of its own: what is loaded, a release, one on two processes; failures and a stop by hand in
forked ones.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from synthrelease.cli.outcome import excluded_words, shown_epsilon
from synthrelease.privacy.plan import RowsLeftOut
from tests.benchmarks.wide_register import chain, write_register
from tests.conftest import ROOT
from tests.helpers.command_line import called
from tests.helpers.forked import run_apart
from tests.helpers.tiny import MEASURED, SPENT, write_config, write_data

SECRET = "SECRET-7461"
EXTRAS = {"torch", "jax", "snsynth", "mbi"}
HEAVY = {"pandas", "scipy", "opendp", "sklearn", "diffprivlib", "matplotlib", "networkx", "pyarrow", "joblib", "jinja2", "yaml"}


def run(*arguments: object, before: str = "", alone: bool = False) -> subprocess.CompletedProcess[str]:
    """Run the command line: in this process, in a forked one, in which `before` is code that breaks something, or `alone` in
    one that imports everything anew."""
    if not (before or alone):
        return called(ROOT, *arguments)
    start = f"{before}\nfrom synthrelease.cli import main\nmain()"
    if not alone:
        result = run_apart(start, *arguments, folder=ROOT)
    else:
        whole = [sys.executable, "-c", start, *map(str, arguments)]
        result = subprocess.run(whole, capture_output=True, text=True, cwd=ROOT, timeout=300, check=False)
    assert "Traceback" not in result.stdout + result.stderr
    return result


def words(text: str) -> str:
    """Printed text without the line breaks of the terminal's width."""
    return " ".join(text.split())


def released(
    folder: Path, *options: object, changes: dict[str, str] | None = None, before: str = "", alone: bool = False
) -> subprocess.CompletedProcess[str]:
    """A release of the tiny data into folder/out."""
    config, data = write_config(folder, changes), write_data(folder)
    words = ("release", config, "--data", data, "--out", folder / "out", "--unrehearsed", *options)
    return run(*words, before=before, alone=alone)


def reporting(among: set[str]) -> str:
    """Code that makes a run print in the end which of these modules it has imported."""
    return f"import atexit, sys\natexit.register(lambda: print('loaded', *({among!r} & set(sys.modules))))"


def reported(result: subprocess.CompletedProcess[str]) -> set[str]:
    """Which modules a successful run has imported."""
    assert result.returncode == 0
    return set(result.stdout.splitlines()[-1].split()[1:])


def loaded(*arguments: object, among: set[str]) -> set[str]:
    """Which of these modules a successful run imports."""
    return reported(run(*arguments, before=reporting(among), alone=True))


def left_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


INPUTS = {"coins.toml", "acceptance.toml", "coins.csv"}
LEDGER = {"out.ledger", "out.ledger.head"}


@pytest.mark.slow
def test_schema_prints_or_writes_a_schema_and_nothing_heavy_is_loaded(tmp_path: Path) -> None:
    printed = json.loads(run("schema").stdout)
    assert "columns" in printed["properties"]
    result = run("schema", "--acceptance", "--out", tmp_path / "acceptance.json")
    assert result.returncode == 0
    assert "criteria" in json.loads((tmp_path / "acceptance.json").read_text(encoding="utf-8"))["properties"]
    assert loaded("schema", "--out", tmp_path / "configuration.json", among=EXTRAS) == set()


@pytest.mark.slow
def test_schema_writes_over_no_file_of_another_kind_and_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("mine")
    result = run("schema", "--out", tmp_path / "mine.toml")
    assert (result.returncode, "must end in .json" in words(result.stderr)) == (2, True)
    assert left_in(tmp_path) == {"mine.toml"}
    assert run("schema", "--out", tmp_path / "missing" / "a.json").returncode == 2


@pytest.mark.slow
def test_plan_prints_the_charges_of_the_births_release_as_json() -> None:
    result = run("plan", "configs/births.toml", "--json")
    document = json.loads(result.stdout)
    assert result.returncode == 0
    assert document["total"] == {"epsilon": 6.6978102, "delta": 0.0}
    assert [part["epsilon"] for part in document["charges"]["parts"]] == [0.05, 0.43, 6.2178102]
    assert document["configurations"] == 16
    assert 200 < document["memory_mb"] < 600


@pytest.mark.slow
def test_plan_says_as_json_how_far_off_each_question_is_and_whether_it_may_be_refused(tmp_path: Path) -> None:
    questions = '[[intended_queries]]\nquery = "face == \'head\'"\nwhy = "a test"\n\n'
    named = '[[models]]\nquestion = "mean year"\n\n'
    changes = {**MEASURED, "limit = 25": "limit = 60\nmodels = 20", "[budget]": f"{questions}{named}[budget]"}
    document = json.loads(run("plan", write_config(tmp_path, changes), "--json").stdout)
    [asked], [model] = document["questions"], document["models"]
    assert (asked["question"], asked["table"], asked["may_be_refused"]) == (
        "number of rows with face == 'head'", ["face", "year"], False,
    )  # fmt: skip
    assert 0 < asked["half_width_rows"] < 20
    assert (model["question"], model["may_be_refused"]) == ("mean year", False)
    assert 0 < model["half_widths"][0][1] < 0.1


@pytest.mark.slow
def test_plan_prints_a_tree_that_names_every_criterion() -> None:
    printed = run("plan", "configs/births.toml").stdout
    assert "epsilon = 6.6978102" in printed
    for name in ("mean parity", "faithfulness", "regression coefficients"):
        assert name in printed


@pytest.mark.slow
def test_plan_loads_no_heavy_library() -> None:
    among = HEAVY | EXTRAS | {"synthrelease.published.document"}
    for options in ((), ("--json",)):
        assert loaded("plan", "configs/births.toml", *options, among=among) == set()


@pytest.mark.slow
def test_plan_of_a_model_of_sixty_columns_loads_no_heavy_library(tmp_path: Path) -> None:
    """Its tables make a junction tree, which is looked at when the configuration is read."""
    config = write_register(tmp_path, 60, 10, 10, chain(60))
    assert loaded("plan", config, among=HEAVY | EXTRAS) == set()


def test_help_loads_nothing_that_a_command_works_with() -> None:
    among = HEAVY | EXTRAS | {"numpy", "pydantic", "synthrelease.toml", "synthrelease.domain", "synthrelease.criteria"}
    assert loaded("--help", among=among) == set()


@pytest.mark.slow
def test_a_release_ends_with_0_writes_the_files_and_loads_neither_torch_nor_jax_nor_opendp(tmp_path: Path) -> None:
    result = released(tmp_path, before=reporting(EXTRAS | {"opendp"}), alone=True)
    assert reported(result) == set()
    assert f"epsilon = {shown_epsilon(Fraction(SPENT))}" in words(result.stdout)
    assert left_in(tmp_path) == INPUTS | LEDGER | {"out"}
    assert left_in(tmp_path / "out") == {
        "data.csv", "data.parquet", "release.json", "datapackage.json", "deployment.yaml", "CITATION.cff", "README.html",
        "README.md", "SIGN.md", "SHA256SUMS", "specification.json", "associations.csv",
    }  # fmt: skip


@pytest.mark.slow
def test_a_release_on_two_processes_ends_with_0_and_prints_no_warning(tmp_path: Path) -> None:
    result = released(tmp_path, "--jobs", 2, alone=True)
    assert result.returncode == 0
    assert "The budget is charged before a row of the private file is read" in words(result.stderr)
    assert "warning" not in result.stderr.lower()  # of a library


@pytest.mark.slow
def test_nothing_released_ends_with_3_and_leaves_no_file(tmp_path: Path) -> None:
    never = {'kind = "face_privacy"\nminimum_count = 2': 'kind = "face_privacy"\nminimum_count = 400'}
    result = released(tmp_path, changes=never | {"stop_probability = 0.001": "stop_probability = 1"})
    assert result.returncode == 3
    assert re.search(r"The search found no acceptable table\. The budget of \d+\.\d\d is spent\.", words(result.stderr))
    assert left_in(tmp_path) == INPUTS | LEDGER


@pytest.mark.slow
def test_a_plan_above_the_limit_ends_with_4_before_the_data_are_opened(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"limit = 25": "limit = 17.38"})
    refused = run("release", config, "--data", tmp_path / "absent.csv", "--out", tmp_path / "out")
    assert refused.returncode == 4
    assert "Refused: the plan costs epsilon = 17.3805912, which is more than the limit of 17.38" in words(refused.stderr)
    assert run("plan", config).returncode == 4
    assert left_in(tmp_path) == INPUTS - {"coins.csv"}


@pytest.mark.slow
def test_a_second_release_beyond_the_limit_of_its_ledger_ends_with_4_and_spends_nothing(tmp_path: Path) -> None:
    ledger = tmp_path / "coins.ledger"
    opened = run("ledger", "open", ledger, "--dataset", "coins", "--limit", "30")
    assert (opened.returncode, "0 of 30" in words(opened.stdout)) == (0, True)
    assert "open another ledger with --delta-limit 1e-8" in words(opened.stdout + opened.stderr)
    assert released(tmp_path, "--ledger", ledger).returncode == 0

    config, data = tmp_path / "coins.toml", tmp_path / "coins.csv"
    second = run("release", config, "--data", data, "--out", tmp_path / "again", "--ledger", ledger, before="pass")
    assert second.returncode == 4
    said = words(second.stderr)  # the path of the ledger may be broken at a hyphen
    assert f"this run would cost epsilon = {SPENT}. The ledger" in said
    assert f"allows epsilon = 30 in total, and {SPENT} is already spent" in said
    assert not (tmp_path / "again").exists()
    assert f"Spent epsilon {SPENT} of 30" in words(run("ledger", "show", ledger).stdout)
    assert (
        run("release", config, "--data", data, "--out", tmp_path / "again", "--ledger", ledger, "--dataset", "x").returncode
        == 4
    )


@pytest.mark.slow
def test_the_budget_is_in_the_ledger_before_a_private_byte_is_read(tmp_path: Path) -> None:
    stopped = "import synthrelease.releasing.release as r\ndef stop(*_):\n    raise KeyboardInterrupt\nr.ingest = stop"
    assert released(tmp_path, before=stopped).returncode == 1
    assert f"Spent epsilon {SPENT} of 25" in words(run("ledger", "show", tmp_path / "out.ledger").stdout)


@pytest.mark.slow
def test_a_file_that_is_not_there_costs_nothing(tmp_path: Path) -> None:
    result = run("release", write_config(tmp_path), "--data", tmp_path / "absent.csv", "--out", tmp_path / "out")
    assert result.returncode == 2
    assert left_in(tmp_path) == INPUTS - {"coins.csv"}


@pytest.mark.slow
def test_a_shortlist_narrows_what_a_release_draws_from(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"minimum_count = 2\n\n[budget]": "minimum_count = [2, 3, 4]\n\n[budget]"})
    shortlist = tmp_path / "shortlist.toml"
    shortlist.write_text(
        """[[configurations]]
transformation = { face = "categories", year = "pairs" }
generator = { family = "privbayes", flavour = "degree", degree = 1, epsilon_split = "1/2", selector = "permute_and_flip" }
projection = { kind = "minimum_count", minimum_count = 4 }
"""
    )
    result = run("release", config, "--data", write_data(tmp_path), "--out", tmp_path / "out", "--shortlist", shortlist)
    assert result.returncode == 0
    document = json.loads((tmp_path / "out" / "release.json").read_text())
    assert document["configuration"]["projection"]["minimum_count"] == 4


@pytest.mark.slow
def test_a_failure_in_private_code_ends_with_1_and_tells_no_cause(tmp_path: Path) -> None:
    broken = f"""
import synthrelease.criteria.marginals_mechanism as marginals
import synthrelease.releasing.release as releasing
def fail(*_):
    raise ValueError("{SECRET}")
read = releasing.ingest
def read_and_break(*arguments):  # before, a dry run on made-up rows would find it
    marginals.largest_difference = fail
    return read(*arguments)
releasing.ingest = read_and_break
"""
    result = released(tmp_path, before=broken)
    assert result.returncode == 1
    assert "The whole planned privacy budget counts as spent" in words(result.stderr)
    assert SECRET not in result.stdout + result.stderr
    assert left_in(tmp_path) == INPUTS | LEDGER


@pytest.mark.slow
def test_an_unforeseen_error_outside_private_code_shows_no_traceback_and_no_message(tmp_path: Path) -> None:
    broken = f"""
import synthrelease.releasing.release as release
def fail(*_):
    raise RuntimeError("{SECRET}")
release.ingest = fail
"""
    result = released(tmp_path, before=broken)
    assert result.returncode == 1
    assert "RuntimeError at synthrelease/releasing/release.py:" in words(result.stderr)
    assert SECRET not in result.stdout + result.stderr
    assert left_in(tmp_path) == INPUTS | LEDGER


@pytest.mark.slow
def test_an_unforeseen_error_of_another_command_shows_no_message(tmp_path: Path) -> None:
    broken = f"""
import synthrelease.enclave.ingest as module
def fail(*_):
    raise RuntimeError("{SECRET}")
module.check_fit = fail
"""
    result = run("check", write_config(tmp_path), "--data", write_data(tmp_path), before=broken)
    assert result.returncode == 1
    assert "RuntimeError at synthrelease/cli/specifying.py:" in words(result.stderr)
    assert SECRET not in result.stdout + result.stderr


@pytest.mark.slow
def test_stopping_by_hand_ends_with_1_and_leaves_no_file(tmp_path: Path) -> None:
    stopped = "import synthrelease.releasing.release as r\ndef stop(*_):\n    raise KeyboardInterrupt\nr.select_by = stop"
    result = released(tmp_path, before=stopped)
    assert result.returncode == 1
    assert "Stopped by hand" in result.stderr
    assert left_in(tmp_path) == INPUTS | LEDGER


@pytest.mark.slow
def test_mistakes_of_the_user_end_with_2_and_say_where(tmp_path: Path) -> None:
    config, data = write_config(tmp_path), write_data(tmp_path)
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    taken = run("release", config, "--data", data, "--out", out)
    assert taken.returncode == 2
    assert "Nothing was overwritten" in words(taken.stderr)
    assert left_in(out) == {"mine.txt"}

    nowhere = run("release", config, "--data", data, "--out", tmp_path / "no" / "out")
    assert (nowhere.returncode, "does not exist. Create it" in words(nowhere.stderr)) == (2, True)

    absent = run("release", config, "--data", tmp_path / "absent.csv", "--out", tmp_path / "new")
    assert (absent.returncode, "no such file" in words(absent.stderr)) == (2, True)

    misspelt = run("check", write_config(tmp_path, {"bounds = [1, 8]": "bonds = [1, 8]"}))
    assert misspelt.returncode == 2
    assert "columns.year.bonds" in words(misspelt.stderr)
    assert "Did you mean 'bounds'?" in words(misspelt.stderr)


@pytest.mark.slow
def test_check_reads_a_file_and_shows_the_number_of_its_rows_alone(tmp_path: Path) -> None:
    result = run("check", write_config(tmp_path), "--data", write_data(tmp_path))
    assert result.returncode == 0
    assert "fits the specification. The file has 401 rows" in words(result.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("command", [[], ["plan"], ["check"], ["release"], ["demo"]], ids=lambda command: " ".join(command))
def test_help_explains_every_command(command: list[str]) -> None:
    result = run(*command, "--help", alone=not command)
    assert result.returncode == 0
    assert len(words(result.stdout)) > 100


@pytest.mark.slow
def test_no_command_says_1_rules(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"minimum_count = 2\n\n[budget]": "minimum_count = 1\n\n[budget]"})
    data, bundle = write_data(tmp_path), tmp_path / "out"
    asked = (
        ["check", str(config), "--data", str(data)],
        ["release", str(config), "--data", str(data), "--out", str(bundle)],
        ["verify", str(bundle)],
    )
    said = " ".join(words(run(*command).stdout) for command in asked)
    assert "2 columns, 1 rule, 1 configuration, 2 criteria," in said
    assert "Coins: 1 charge, epsilon" in said
    assert not re.findall(r"\b1 (?:columns|rules|configurations|criteria|charges|times)\b", said)


def test_a_schema_that_cannot_be_written_is_a_message(tmp_path: Path) -> None:
    result = run("schema", "--out", tmp_path / "missing" / "schema.json")
    assert (result.returncode, result.stdout) == (2, "")
    assert "Cannot write" in words(result.stderr)


def test_unknown_options_end_with_2() -> None:
    assert run("release", "--seed", "1").returncode == 2
    assert run("rehears", alone=True).returncode == 2


@pytest.mark.slow
def test_a_release_takes_no_seed(tmp_path: Path) -> None:
    result = released(tmp_path, "--seed", 1)
    assert (result.returncode, "No such option: --seed" in words(result.stderr)) == (2, True)
    assert "seed" not in words(run("release", "--help").stdout)


def test_what_was_left_out_is_of_the_file_or_of_its_persons() -> None:
    """Of 8,000 rows of 4,000 persons half are left out because each person has one; of the persons nobody need be."""
    found = RowsLeftOut.of_count(n_file=4000, n=3898, margin=62)
    of_persons = excluded_words(found, of_persons=True)
    assert (
        of_persons
        == "Rules and missing or unexpected values excluded at most 3% of the persons in the file (estimated with noise)."
    )
    assert (
        excluded_words(found, of_persons=False)
        == "Rules and missing or unexpected values excluded at most 3% of the file (estimated with noise)."
    )
    many = RowsLeftOut.of_count(n_file=4000, n=1898, margin=62)
    told = excluded_words(many, of_persons=False)
    assert "excluded 49% to 53% of the file (estimated with noise). The release describes only the rest." in told
