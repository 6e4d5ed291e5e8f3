"""What `verify` finds of a release that somebody has changed who has this program: all documents follow from the change again.

docs/audit.md has the table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from synthrelease.bundle.limits import with_file_ends
from synthrelease.bundle.verify import verify_files
from synthrelease.bundle.write import _sealed, commitment, write_bundle, written
from synthrelease.privacy.grids import noise_grid
from synthrelease.privacy.selection import SelectionRule
from synthrelease.published.document import ReleaseDocument, read_strictly
from synthrelease.published.table import read_csv
from synthrelease.releasing.release import release
from synthrelease.spec.canonical import NAME
from synthrelease.spec.load import load_spec, read_specification
from synthrelease.spec.release_spec import ReleaseSpec
from tests.helpers.cards import rich_bundle, rich_release
from tests.helpers.forgeries import (
    Tables,
    edited,
    interval_of,
    looked_at,
    named,
    problems,
    single_edits,
    with_budgets,
    without_criterion,
)  # fmt: skip
from tests.helpers.tiny import MEASURED, write_config, write_data

COUNTED = {"rows = 400": 'rows = "private"', "generation = 10\nlimit = 25": "generation = 10\nrows = 1\nlimit = 99"}
JOINT = COUNTED | {"[selection]": '[selection]\ntest = "joint"\ntest_epsilon = 2'}


@cache
def bundle_of(tmp: Path, changes: tuple[tuple[str, str], ...]) -> Mapping[str, bytes]:
    found = release(load_spec(write_config(tmp, dict(changes))), write_data(tmp))
    if found is None:
        raise RuntimeError("no round was accepted")
    folder = write_bundle(found, tmp / "bundle")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Mapping[str, bytes]]:
    """Releases whose number of rows is stated and counted, whose noisy tables are published, and which a joint test decided."""
    kinds = {"counted": COUNTED, "measured": MEASURED, "joint": JOINT}
    made = {name: bundle_of(tmp_path_factory.mktemp(name), tuple(changes.items())) for name, changes in kinds.items()}
    return {"rich": rich_bundle(), **made}


def document(files: Mapping[str, bytes]) -> Tables:
    return json.loads(files["release.json"])


def budget(epsilon: Fraction) -> Callable[[ReleaseSpec], ReleaseSpec]:
    return lambda spec: spec.with_budget(generation=epsilon)


def cheaper_rows(spec: ReleaseSpec) -> ReleaseSpec:
    return replace(spec, rows=replace(spec.rows, epsilon=Fraction(1, 1000)))


def rows_for_nothing(spec: ReleaseSpec) -> ReleaseSpec:
    return replace(spec, rows=replace(spec.rows, way="stated", stated=400, epsilon=None))


def soon_ending(spec: ReleaseSpec) -> ReleaseSpec:
    return replace(spec, selection_rule=SelectionRule(stop_probability=Fraction(1, 2)))


def criterion(tables: Tables, name: str) -> Tables:
    return next(each for each in tables["criteria"] if each["name"] == name)


def parameter(name: str, setting: str, value: Any) -> Callable[[Mapping[str, bytes], Tables], Tables]:
    def edit(files: Mapping[str, bytes], tables: Tables) -> Tables:
        criterion(tables, name)["parameters"][setting] = value
        return tables

    return edit


def value(*place: str | int, to: Any) -> Callable[[Mapping[str, bytes], Tables], Tables]:
    return lambda files, tables: edited(tables, place, to)


def projected_once(files: Mapping[str, bytes], tables: Tables) -> Tables:
    """Both who promise it promise less."""
    criterion(tables, "face privacy")["parameters"]["minimum_count"] = 1
    return edited(tables, ("configuration", "projection", "minimum_count"), 1)


def other_bins(files: Mapping[str, bytes], tables: Tables) -> Tables:
    """The name of a bin's category, wherever it stands."""
    return json.loads(json.dumps(tables).replace('"categories": ["head"]', '"categories": ["heads"]'))


FORGERIES: dict[str, tuple[str, Callable[[Mapping[str, bytes], Tables], Tables]]] = {
    "a fit at a hundredth, with the price of the selection and all sums": (
        "counted", lambda files, tables: with_budgets(files, tables, budget(Fraction(1, 10)))),
    "shared measurements at a tenth, with all sums": (
        "measured", lambda files, tables: with_budgets(files, tables, budget(Fraction(1)))),
    "a cheaper number of rows, with all sums": (
        "counted", lambda files, tables: with_budgets(files, tables, cheaper_rows)),
    "a number of rows that costs nothing, with all sums": (
        "counted", lambda files, tables: with_budgets(files, tables, rows_for_nothing)),
    "another law of the rounds, with its price": (
        "counted", lambda files, tables: with_budgets(files, tables, soon_ending)
        | {"selection": tables["selection"] | {"stop_probability": "1/2"}}),
    "a criterion taken away, with its charge": (
        "rich", lambda files, tables: without_criterion(files, tables, "pairs")),
    "a criterion taken away, its charge kept": (
        "rich", lambda files, tables: tables | {"criteria": [one for one in tables["criteria"] if one["name"] != "pairs"]}),
    "face privacy taken away": (
        "rich", lambda files, tables: without_criterion(files, tables, "face privacy")),
    "a rule taken away": ("rich", lambda files, tables: tables | {"rules": []}),
    "a rule for released rows alone": ("rich", value("rules", 0, "applies_to", to=["synthetic"])),
    "a threshold that was set afterwards": ("rich", value("criteria", 0, "threshold", to=0.5)),
    "rows that may occur once": ("rich", projected_once),
    "means by no column": ("rich", parameter("mean year", "by", "")),
    "faithfulness in a column that is none": ("rich", parameter("pairs", "exact", "parityx")),
    "a title that moves the cursor": ("rich", value("title", to="Coins\x1b[2J\x1b[31m")),
    "a version that moves the cursor": ("rich", value("versions", "python", to="3\x1b[2J")),
    "a description of a column that hides what it says": ("rich", value("schema", 0, "description", to="\u202e")),
    "what was done with texts that fit nowhere": ("counted", value("schema", 0, "outside", to="error")),
    "where a column comes from": ("rich", value("schema", 0, "source", to="other")),
    "another category behind a bin": ("rich", other_bins),
    "another configuration": ("rich", value("configuration", "generator", "degree", to=2)),
    "fewer configurations": ("rich", value("selection", "configurations", to=2)),
    "a joint test at another risk": ("joint", value("selection", "joint_test", "false_acceptance", to="1/1000")),
    "the digest of another specification": ("rich", value("specification", to="0" * 64)),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_found_by_the_part_that_stands_alone_and_by_the_whole(
    name: str, bundles: Mapping[str, Mapping[str, bytes]]
) -> None:
    """Two programs look at it: the few lines of `stated`, and the plan of a release, which shares nothing with them."""
    kind, edit = FORGERIES[name]
    files = bundles[kind]
    assert verify_files(files).passed
    forged = edit(files, document(files))
    alone, whole = looked_at(files, forged, plan=False), looked_at(files, forged)
    if alone is None or whole is None:
        pytest.fail("this is no release.json")
    assert problems(alone), name
    assert any(one.problems for one in whole.checks if one.name in ("plan", "release.json", "privacy definition")), name


def moved_on_its_grid(files: Mapping[str, bytes], tables: Tables) -> Tables:
    one = criterion(tables, "marginals")
    step = noise_grid(one["sensitivity"]).step
    one["value"] += round(0.2 / step) * step
    one["interval"] = interval_of(tables, "marginals", files)
    return tables


def ten_times_the_file(files: Mapping[str, bytes], tables: Tables) -> Tables:
    rows = tables["domain"]["file_rows"]
    larger = json.dumps(tables).replace(f'"file_rows": {rows}', f'"file_rows": {10 * rows}')
    read = read_strictly(larger.replace(f"N = {rows}", f"N = {10 * rows}"))
    table = read_csv(files[read.csv], read.shape)
    return json.loads(with_file_ends(read, table.counts).dumped())


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (moved_on_its_grid, "somebody could have invented the released values"),
        (ten_times_the_file, "file of 4,010 rows was counted"),
    ],
)
def test_what_nobody_can_find_is_told_by_every_verification(
    edit: Callable[[Mapping[str, bytes], Tables], Tables], told: str
) -> None:
    report = looked_at(rich_bundle(), edit(rich_bundle(), document(rich_bundle())))
    if report is None:
        pytest.fail("nothing was changed")
    assert problems(report) == []
    assert any(told in sentence for sentence in report.beyond)


def of_another_specification() -> dict[str, bytes]:
    """The whole bundle written anew, consistent as it is: the same rows, said to be released at a fit of 1/10."""
    files = rich_bundle()
    text = files[NAME].replace(b'"generation": "10"', b'"generation": "1/10"')
    spec = read_specification(text)
    tables = with_budgets(files, document(files), lambda _: spec) | {"specification": spec.digest}
    new = ReleaseDocument.model_validate_json(json.dumps(tables))
    table = read_csv(files["data.csv"], new.shape)
    documents = written(new, table, {name: len(files[name]) for name in new.files}, files.get("measurements.json"))
    kept = {name: content for name, content in files.items() if name in new.files}
    return _sealed({**kept, **documents, NAME: text, "release.json": new.dumped()}, None)


def test_a_whole_bundle_that_was_written_anew_is_found_by_a_commitment_and_by_nothing_else(tmp_path: Path) -> None:
    report = verify_files(of_another_specification())
    assert problems(report) == []
    assert "Anybody with this program could have made such files." in report.closing
    (tmp_path / "commitment.json").write_bytes(commitment(rich_release().spec).dumped())
    found = verify_files(of_another_specification(), commitment=tmp_path / "commitment.json")
    assert "specification: the digest is not" in "\n".join(problems(found))
    kept = verify_files(rich_bundle(), commitment=tmp_path / "commitment.json")
    assert kept.passed
    assert "The specification equals the commitment" in kept.closing


FREE = re.compile(r"card(\..*)?|criteria\.N\.noise_sd|versions(\..*)?|written_by")
"""Words and versions; and how far the redrawn noise of a line went, which only its own figure has (checked below)."""


@pytest.mark.slow
def test_random_single_edits_are_found() -> None:
    """A share of the thousand of tests/benchmarks/forgeries.py."""
    files, tables = rich_bundle(), document(rich_bundle())
    looked, missed = 0, []
    for place, new in single_edits(tables, seed=26):
        report = looked_at(files, edited(tables, place, new))
        if report is None:
            continue
        looked += 1
        if not problems(report) and (not FREE.fullmatch(named(tables, place)) or is_noise_that_is_added(tables, place)):
            missed.append((place, new))
        if looked == 150:
            break
    assert looked == 150
    assert missed == []


def is_noise_that_is_added(tables: Tables, place: tuple[str | int, ...]) -> bool:
    return place[-1] == "noise_sd" and tables["criteria"][place[1]]["noise_bound"] is None


# --- The specification itself


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"by": [\n          "face"\n        ]', '"by": [\n          ""\n        ]'),
        ('"exact": [\n          "face"\n        ]', '"exact": [\n          "parityx"\n        ]'),
        ('"title": "Coins"', '"title": "Coins\\u001b[2J"'),
        ('"kind": "faithfulness"', '"kind": "faith"'),
        ('"specification": 1', '"specification": 2'),
        ('"title": "Coins"', '"acceptance_path": "/home/x", "title": "Coins"'),
        ('"title": "Coins",', '"title": "Coins",\n  "series": {"name": "x", "earlier": ["/etc/passwd"]},'),
    ],
)
def test_a_specification_that_no_release_could_have_is_found_though_its_digest_is_right(old: str, new: str) -> None:
    """Names of columns in settings and texts are checked as before a release."""
    text = rich_bundle()[NAME].decode()
    assert text.count(old) >= 1
    changed = text.replace(old, new, 1).encode()
    from hashlib import sha256

    tables = document(rich_bundle()) | {"specification": sha256(changed).hexdigest()}
    report = looked_at({**rich_bundle(), NAME: changed}, tables)
    if report is None:
        pytest.fail("nothing was changed")
    assert any(one.problems for one in report.checks if one.name == "plan")
