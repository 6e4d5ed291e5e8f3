"""verify finds every edit of a published release, or the edit is one that follows from nothing else in it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from synthrelease.bundle.document import release_document
from synthrelease.bundle.verify import verify_bundle, verify_files
from synthrelease.bundle.verify_documents import first_difference
from synthrelease.bundle.verify_figures import figures
from synthrelease.bundle.write import written
from synthrelease.errors import InputError
from synthrelease.privacy.grids import noise_grid
from synthrelease.published.charges import JointTestPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.table import ReleasedTable
from synthrelease.published.verify.alone import rebuild
from synthrelease.published.verify.charges import charges
from synthrelease.published.verify.checks import Check, Report
from tests.helpers.cards import rich_bundle, rich_release, write_files
from tests.helpers.forgeries import interval_of, resealed

pytestmark = pytest.mark.slow


def forged(document: Mapping[str, Any]) -> dict[str, bytes] | None:
    """What somebody can make who has this program: all documents written anew from an edited release.json.

    None when the edit gives no release.json at all.
    """
    files = dict(rich_bundle())
    try:
        edited = ReleaseDocument.model_validate_json(json.dumps(document))
        table = ReleasedTable.of(rich_release().candidate)
        documents = written(edited, table, {name: len(files.get(name, b"")) for name in edited.files})
    except Exception:  # also of a template that finds nothing to show
        return None
    kept = {name: content for name, content in files.items() if not name.startswith("README.")}
    return resealed(kept | documents | {"release.json": edited.dumped()})


def problems(report: Report) -> str:
    return "\n".join(problem for check in report.checks for problem in check.problems)


def check(report: Report, name: str) -> Check:
    (found,) = [one for one in report.checks if one.name == name]
    return found


def document() -> dict[str, Any]:
    return json.loads(rich_bundle()["release.json"])


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The place of every value in release.json that is neither a table nor a list."""
    if isinstance(value, dict | list):
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, (*path, step))
    else:
        yield path


def changed(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1 if isinstance(value, int) else value * 1.5 + 0.1
    return f"{value}0" if isinstance(value, str) else 1


def edited(path: tuple[str | int, ...], value: Any = None) -> dict[str, Any]:
    """release.json with another value at a place, in a list also that of a name."""
    tables = deepcopy(document())
    inner = tables
    for step in path[:-1]:
        by_name = isinstance(inner, list) and isinstance(step, str)
        inner = next(one for one in inner if one["name"] == step) if by_name else inner[step]
    inner[path[-1]] = changed(inner[path[-1]]) if value is None else value
    return tables


def dotted(path: tuple[str | int, ...]) -> str:
    """A place, with criteria by name."""
    if path[0] == "criteria":
        path = ("criteria", str(document()["criteria"][path[1]]["name"]), *path[2:])
    return ".".join("N" if isinstance(step, int) else step for step in path)


FOLLOWS_FROM_NOTHING = {
    # words that were not fixed beforehand, and which software ran
    r"card\..*|versions\..*|written_by",
    # the slope's noise is in its line, and not added to the figure: how far it moves it was drawn anew
    r"criteria\.slope\.noise_sd",
}
"""Places where a forger who writes all documents anew can put something else, of the same kind, without being found."""


def is_free(path: tuple[str | int, ...]) -> bool:
    return any(re.fullmatch(pattern, dotted(path)) for pattern in FOLLOWS_FROM_NOTHING)


def test_a_bundle_as_it_was_written_passes_every_check(tmp_path: Path) -> None:
    report = verify_bundle(write_files(rich_bundle(), tmp_path / "bundle"))
    assert report.passed
    assert problems(report) == ""
    assert report.signed_by is None
    assert [one.name for one in report.checks] == [
        "checksums", "signature", "release.json", "files", "complete", "specification", "noise", "schema", "table",
        "plausibility", "privacy charges", "privacy definition", "plan", "minimum count", "configuration", "criterion values",
        "documents",
    ]  # fmt: skip
    assert check(report, "signature").mark == "none"
    assert "nobody signed" in check(report, "signature").found
    charged = check(report, "privacy charges").found  # (10 + 0.5 + 5 + 2 + 2 + 2 + 1/3) x 2 + 3
    assert "epsilon = 46.6666666667 (exactly 140/3), delta = 0" in charged


def test_figures_that_were_released_after_a_joint_test_are_not_said_to_be_all_met() -> None:
    found = release_document(rich_release(), {})
    table = ReleasedTable.of(rich_release().candidate)
    above = found.criteria[0].model_copy(update={"decides": False, "value": 2 * found.criteria[0].threshold})
    test = JointTestPart(epsilon_exact="1", false_acceptance="1/50", margin=4)
    selection = found.selection.model_copy(update={"joint_test": test})
    joint = found.model_copy(update={"criteria": [above, *found.criteria[1:]], "selection": selection})
    raw = rebuild(found).raw
    assert figures(found, table, raw).found == "8 criteria, all met"
    assert figures(joint, table, raw).found == "8 criteria, which passed the joint test; 1 released value above the threshold"


FILES = ("data.csv", "data.parquet", "release.json", "datapackage.json", "deployment.yaml", "CITATION.cff", "README.html",
         "README.he.html", "README.md", "SIGN.md", "SHA256SUMS", "associations.csv")  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_bit_that_is_turned_around_anywhere_is_found(name: str) -> None:
    files = rich_bundle()
    content = files[name]
    for place in sorted({0, len(content) // 3, len(content) // 2, len(content) - 1}):
        broken = bytearray(content)
        broken[place] ^= 1
        report = verify_files({**files, name: bytes(broken)})
        assert not check(report, "checksums").passed, place


@pytest.mark.parametrize("name", ["datapackage.json", "deployment.yaml", "CITATION.cff", "README.html", "README.he.html",
                                  "README.md", "SIGN.md"])  # fmt: skip
def test_an_edit_of_a_document_is_found_although_the_checksums_were_made_anew(name: str) -> None:
    files = rich_bundle()
    content = files[name]
    for place in range(7, len(content), len(content) // 6):
        broken = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        report = verify_files(resealed({**files, name: broken}))
        assert check(report, "checksums").passed
        assert [one.name for one in report.checks if one.problems] == ["documents"]
        assert problems(report).startswith(f"{name}: line ")


def test_the_report_says_which_figure_differs() -> None:
    files = rich_bundle()
    stated = "epsilon = 46.6666666667 (exactly 140/3)"
    page = files["README.html"].decode()
    assert page.count(stated) == 1
    report = verify_files(resealed({**files, "README.html": page.replace(stated, "epsilon = 1 (exactly 1)").encode()}))
    line = page[: page.index(stated)].count("\n") + 1
    assert f"README.html: line {line} has" in problems(report)
    assert "46.6666666667 (exactly 140/3)" in problems(report)
    assert "epsilon = 1 (exactly 1)" in problems(report)


PARTS = ({"criteria"}, {"schema", "groups", "rules"}, {"card"}, {"charges", "guarantee"})


@pytest.mark.parametrize("part", [*PARTS, None], ids=["criteria", "schema", "card", "charges", "rest"])
def test_every_value_of_release_json_is_guarded(part: set[str] | None) -> None:
    """Edited alone, with checksums made anew, every value is found. Where even a forger who writes all documents anew is not
    found, the value is one of those that docs/bundle.md names."""
    named = set().union(*PARTS)
    paths = [path for path in leaves(document()) if (path[0] in part if part else path[0] not in named)]
    assert len(paths) >= 20
    for path in paths:
        try:
            content = ReleaseDocument.model_validate_json(json.dumps(edited(path))).dumped()
        except ValueError:
            continue  # this is no release.json
        files = resealed({**rich_bundle(), "release.json": content})
        # what the forger writes anew is by construction what verify writes anew: documents alone do not find that
        if not verify_files(files, documents=False).passed:
            continue
        assert is_free(path), path
        assert check(verify_files(files), "documents").problems, path


def place_of(name: str, field: str) -> tuple[str, str, str]:
    return ("criteria", name, field)


def test_a_figure_on_the_grid_of_its_noise_can_be_forged_and_one_off_the_grid_cannot() -> None:
    """The first is why there are signatures."""
    criterion = document()["criteria"][0]
    step = noise_grid(criterion["sensitivity"]).step
    off = forged(edited(place_of("marginals", "value"), criterion["value"] + step / 2))
    assert off is not None
    assert "is not a multiple of the step of its noise" in problems(verify_files(off))
    moved = edited(place_of("marginals", "value"), criterion["value"] + round(0.2 / step) * step)
    assert "the interval does not follow" in problems(verify_files(forged(moved) or {}))
    moved["criteria"][0]["interval"] = interval_of(moved, "marginals", rich_bundle())
    assert verify_files(forged(moved) or {}).passed


EDITS = {
    "a figure beyond its threshold": (place_of("ratio <of> counts", "threshold"), 1e-9, "exceeds the threshold"),
    "a criterion that was not met": (place_of("mean year", "passed"), False, "was not met"),
    "a smaller sensitivity": (
        place_of("pairs", "sensitivity"),
        1e-3,
        "the sensitivity is 0.001, but the table and the settings give",
    ),
    "a smaller sensitivity of a mean": (
        place_of("mean year", "sensitivity"),
        1e-3,
        "the sensitivity is 0.001, but the table and the settings give",
    ),
    "a smaller sensitivity of a ratio": (
        place_of("ratio <of> counts", "sensitivity"),
        1e-3,
        "the sensitivity is 0.001, but the table and the settings give",
    ),
    "smaller noise": (place_of("pairs", "noise_sd"), 1e-6, "the noise has the standard deviation"),
    "no noise": (place_of("pairs", "noise_sd"), 0.0, "the noise has the standard deviation"),
    "an epsilon that is not charged": (
        place_of("pairs", "epsilon_exact"),
        "1/4",
        "criterion 'pairs': the stated epsilon is 1/4, but the charge is 1/3",
    ),
    "an epsilon that is rounded down": (
        ("guarantee", "epsilon"),
        46.66,
        "epsilon is 46.66, but the charges state 46.6666666667",
    ),
    "a smaller guarantee": (("guarantee", "epsilon_exact"), "1", "epsilon_exact is 1, but the charges state 140/3"),
    "a sum that does not add up": (
        ("charges", "epsilon_exact"),
        "1",
        "its parts give 140/3 (delta 0), but it states 1 (delta 0)",
    ),
    "a selection that is not doubled": (("charges", "parts", 1, "rule"), "sum", "its parts give 131/6"),
    "a rule of one's own": (("charges", "parts", 1, "rule"), "mine", "the rule 'mine' is unknown"),
    "another n": (("n_rows",), 399, "data.csv: the table has 400 rows, but release.json states 399"),
    "other bins": (
        ("schema", 1, "bins", 0, "below"),
        4,
        "the edges contradict the label, or the representative value lies outside the bin",
    ),
    "another label": (
        ("schema", 1, "bins", 0, "label"),
        "1-3",
        "the edges contradict the label, or the representative value lies outside the bin",
    ),
    "a category that is not in the table": (
        ("schema", 0, "bins", 0, "label"),
        "edge",
        "line 2 has 'head', which is not a bin of 'face' ('edge', 'tail')",
    ),
    "a rule that the rows break": (("rules", 0, "never"), "face == 'tail' and year > 4", "rows break the plausibility rules"),
    "a rule about no column": (("rules", 0, "never"), "age > 4", "expected a column"),
    "a higher minimum count": (
        ("configuration", "projection", "minimum_count"),
        99,
        "projection: the specification does not list these settings",
    ),
    "an unknown generator": (("configuration", "generator", "family"), "magic", "the family 'magic' is unknown"),
    "an unknown criterion": (place_of("pairs", "kind"), "pairs", "the kind 'pairs' is unknown"),
    "other neighbours": (("guarantee", "neighbours"), "add one record", "the neighbours are not 'replace one record'"),
    "another checksum of the table": (
        ("files", "data.csv"),
        "0" * 64,
        "data.csv: the checksum of this file is not the checksum in release.json",
    ),
    "rare rows that face privacy does not count": (place_of("face privacy", "value"), 3, "exceeds the threshold"),
    "another interval": (
        place_of("pairs", "interval"),
        {"level": 0.95, "low": 0, "high": 0.01, "how": "noise"},
        "criterion 'pairs': the interval does not follow from the value and its noise",
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_a_forger_with_this_program_is_found(name: str) -> None:
    """All documents are written anew from the edit, and all checksums."""
    path, value, says = EDITS[name]
    forgery = forged(edited(path, value))
    assert forgery is not None
    report = verify_files(forgery)
    assert check(report, "checksums").passed
    assert says in problems(report)


def forged_rows(rows: list[str]) -> dict[str, bytes]:
    """The table with other rows, whose checksum release.json has."""
    content = ("face,year\n" + "\n".join(rows) + "\n").encode()
    tables = document()
    tables["files"]["data.csv"] = hashlib.sha256(content).hexdigest()
    forgery = forged(tables)
    assert forgery is not None
    return resealed({**forgery, "data.csv": content})


def test_a_curve_is_no_guarantee() -> None:
    """A root that was never stated at a delta adds up, with an epsilon of 0."""
    document = json.loads(rich_bundle()["release.json"])
    nothing = {"epsilon": 0, "epsilon_exact": "0", "delta": 0, "delta_exact": "0"}
    curve = {"renyi": {"rho": "7", "constant": "0", "log_mean": "0"}, "because": "", **nothing}
    document["charges"] = {"name": "release", "rule": "sum", "parts": [{"name": "all", "rule": "mechanism", **curve}], **curve}
    document["guarantee"] |= nothing
    found = charges(ReleaseDocument.model_validate_json(json.dumps(document)))
    assert any("the root of the charges states a Renyi curve" in problem for problem in found.problems)


def test_rows_that_are_no_longer_sorted_or_no_longer_the_same_as_in_parquet_are_found() -> None:
    rows = rich_bundle()["data.csv"].decode().splitlines()[1:]
    assert problems(verify_files(forged_rows(rows))) == ""
    assert "the rows are not sorted" in problems(verify_files(forged_rows([rows[-1], *rows[:-1]])))
    assert "data.parquet: the rows are not the rows of data.csv" in problems(verify_files(forged_rows([rows[0], *rows[:-1]])))
    assert "line 401 has 1 value, but the header has 2 columns" in problems(verify_files(forged_rows([*rows[:-1], "tail"])))
    assert "line 401 has '1990', which is not a bin of 'year'" in problems(verify_files(forged_rows([*rows[:-1], "tail,1990"])))
    assert "data.csv: the table has 399 rows, but release.json states 400" in problems(verify_files(forged_rows(rows[:-1])))


def test_files_that_are_missing_or_too_many_are_found() -> None:
    files = rich_bundle()
    for name in files:
        rest = {other: content for other, content in files.items() if other != name}
        assert not verify_files(rest).passed
        if name != "SHA256SUMS":
            assert not verify_files(resealed(rest)).passed, name
    extra = verify_files({**files, "notes.txt": b"trust me"})
    assert problems(extra).startswith("notes.txt: SHA256SUMS does not list this file of the folder")


def test_a_release_json_that_says_something_else_in_other_words_is_found() -> None:
    """Values twice, other spaces: what a person reads is what a program reads."""
    files = rich_bundle()
    text = files["release.json"].decode()
    for other in (text.replace("{\n", '{\n  "n_rows": 7,\n', 1), text + " ", json.dumps(json.loads(text))):
        report = verify_files(resealed({**files, "release.json": other.encode()}))
        assert "does not have the layout that synthrelease writes" in problems(report)


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b"\xff", b"{" * 100_000, b"[" * 100_000, b'{"format": 99}'])
def test_a_release_json_that_is_none_is_told_and_what_builds_on_it_is_not_checked(content: bytes) -> None:
    report = verify_files(resealed({**rich_bundle(), "release.json": content}))
    assert not report.passed
    assert check(report, "release.json").problems
    assert [one.name for one in report.checks if not one.made] == [
        "files", "specification", "schema", "table", "plausibility", "privacy charges", "plan", "minimum count",
        "configuration", "criterion values", "documents",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "the lines cannot be read as CSV in UTF-8 with the columns 'face', 'year'"),
        (b"PAR1", "the lines cannot be read as CSV in UTF-8 with the columns 'face', 'year'"),
        (b"\xff\xfe", "the lines cannot be read as CSV in UTF-8 with the columns 'face', 'year'"),
        (b'face,year\n"', "the file has a byte order mark or an unclosed quotation mark"),
        (b"face\nhead\n", "the columns are wrong: 'face'. They must be 'face', 'year'"),
    ],
)
def test_a_table_that_is_none_is_told(content: bytes, says: str) -> None:
    for name, problem in {"data.csv": says, "data.parquet": "the file cannot be read as a Parquet file"}.items():
        report = verify_files(resealed({**rich_bundle(), name: content}))
        assert f"{name}: {problem}" in check(report, "table").problems


def test_an_epsilon_of_a_billion_digits_is_refused_before_it_is_computed() -> None:
    tables = edited(("charges", "epsilon_exact"), "1e999999999")
    report = verify_files(resealed({**rich_bundle(), "release.json": json.dumps(tables).encode()}))
    assert "charges.epsilon_exact" in problems(report)


@pytest.mark.parametrize(("first", "value"), [(0, "x"), (1, None), (1, []), (0, -1)])
def test_values_of_another_kind_are_problems_and_never_a_crash(first: int, value: object) -> None:
    """Parameters and hyperparameters may be anything that JSON can say. Every second one, from the first or the second on."""
    places = [path for path in leaves(document()) if "parameters" in path or path[0] == "configuration"]
    assert len(places) > 15
    for path in places[first::2]:
        tables = edited(path, value) if value is not None else edited(path[:-1], {})
        content = ReleaseDocument.model_validate_json(json.dumps(tables)).dumped()
        report = verify_files(resealed({**rich_bundle(), "release.json": content}))
        assert not report.passed


def test_a_folder_that_is_none_or_holds_folders_is_a_mistake_of_the_user(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such folder"):
        verify_bundle(tmp_path / "absent")
    folder = write_files(rich_bundle(), tmp_path / "bundle")
    (folder / "more").mkdir()
    with pytest.raises(InputError, match="'more' is not a plain file"):
        verify_bundle(folder)


def test_another_version_of_the_program_says_so() -> None:
    forgery = dict(forged(edited(("written_by",), "1.1.9")) or {})
    assert verify_files(forgery).passed
    forgery["README.md"] += b"words of that version\n"
    assert "synthrelease 1.1.9 wrote the documents" in problems(verify_files(resealed(forgery)))


@pytest.mark.parametrize(
    ("left", "right", "says"),
    [
        (b"a\nb", b"a\nc", "line 2 has 'c' in place of 'b'"),
        (b"a\nb", b"a", "line 2 has nothing in place of 'b'"),
        (b"a", b"a\nb", "line 2 has 'b' in place of nothing"),
        (b"x" * 100 + b"a", b"x" * 100 + b"b", f"line 1 has '…{'x' * 30}b' in place of '…{'x' * 30}a'"),
    ],
)
def test_the_first_difference_is_shown_with_its_surroundings(left: bytes, right: bytes, says: str) -> None:
    assert first_difference(left, right) == says
