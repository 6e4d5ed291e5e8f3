"""What a folder may hold, whose key may vouch for it, and what its version always does: forgeries beside release.json."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from synthrelease.bundle.verify import verify_bundle, verify_files
from synthrelease.bundle.verify_figures import measurements
from synthrelease.bundle.write import commitment, write_bundle
from synthrelease.errors import InputError
from synthrelease.privacy.grids import noise_grid
from synthrelease.published.document import ReleaseDocument, read_strictly
from synthrelease.published.measurements import read_measurements
from synthrelease.published.verify.parquet_parts import OtherBytes, read_struct, room_problems
from synthrelease.releasing.release import release
from synthrelease.spec.load import load_spec
from tests.conftest import ROOT
from tests.helpers.cards import rich_bundle, rich_release, write_files
from tests.helpers.forgeries import Tables, interval_of, looked_at, problems, resealed, written_anew
from tests.helpers.tiny import write_config, write_data, write_measured_release

KEPT = Path(__file__).parents[2] / "kept"

STRANGERS = (
    "README.de.html", "README.fr.html", "index.html", "data-private.csv", "estimates.csv", "measurements.json", "QUESTIONS.md",
    "members.csv", "data.dta", "data.sav", "read.R", "imputed.csv", "synthetic-data.csv", "dcat.ttl", "ddi.xml", "README",
    "release.json.orig", "commitment.json", "estimates.sav",
)  # fmt: skip


@pytest.mark.parametrize("listed", [False, True], ids=["beside", "in release.json"])
def test_a_file_that_does_not_follow_from_release_json_is_found(listed: bool) -> None:
    """Names that other releases have, and names that none has, in SHA256SUMS, and also among the files of release.json."""
    for name in STRANGERS:
        content = b"epsilon = 0.01\n"
        files = dict(rich_bundle()) | {name: content}
        if listed:
            tables = json.loads(files["release.json"])
            tables["files"][name] = sha256(content).hexdigest()
            files["release.json"] = ReleaseDocument.model_validate_json(json.dumps(tables)).dumped()
        report = verify_files(resealed(files), plan=False, documents=False)
        checks = [one for one in report.checks if one.name in ("files", "specification")]
        assert any(name in problem for one in checks for problem in one.problems), name


@pytest.mark.slow
def test_every_file_that_is_missing_is_named_without_any_document_being_written(tmp_path: Path) -> None:
    """Of a card in two languages, of a release with estimates, and of the first versions, which wrote fewer files."""
    folders = (
        write_measured_release(tmp_path, tmp_path / "out"),
        KEPT / "format-1" / "release",
        KEPT / "provisional" / "release",
    )
    for files in (dict(rich_bundle()), *({path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders)):
        assert verify_files(files, plan=False, documents=False).passed
        for name in files.keys() - {"SHA256SUMS"}:
            without = resealed({other: content for other, content in files.items() if other != name})
            found = problems(verify_files(without, plan=False, documents=False))
            assert [text for text in found if text.startswith(name)] == [f"{name}: this file is missing"]


@pytest.mark.parametrize("name", ["format-1", "provisional"])
def test_every_file_of_a_kept_release_follows_from_its_release_json(name: str) -> None:
    report = verify_bundle(KEPT / name / "release", plan=False, documents=False)
    assert report.passed
    assert "files" in [one.name for one in report.checks]


# --- What a version always does


@pytest.fixture(scope="module")
def joint(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Mapping[str, bytes]]:
    """A release whose figures share a noise, and the same with noises of their own, as versions before 1.0.0 drew them."""
    tmp = tmp_path_factory.mktemp("joint")
    pairs = '[[criteria]]\nname = "pairs"\nkind = "absolute_marginal_error"\nthreshold = 0.9\nepsilon = 0.5\n\n'
    changes = {"limit = 25": "limit = 60", "[selection]": '[selection]\ntest = "joint"\ntest_epsilon = 2',
               '[[criteria]]\nname = "marg': pairs + '[[criteria]]\nname = "marg'}  # fmt: skip
    spec, data = load_spec(write_config(tmp, changes)), write_data(tmp)
    made = {}
    for kind, shares in (("shared", True), ("apart", False)):
        found = release(replace(spec, shares_noise=shares), data)
        assert found is not None
        folder = write_bundle(found, tmp / kind)
        made[kind] = {path.name: path.read_bytes() for path in folder.iterdir()}
    return made


def test_noises_of_their_own_are_those_of_a_version_before_the_first_that_was_published(
    joint: Mapping[str, Mapping[str, bytes]],
) -> None:
    tables = json.loads(joint["apart"]["release.json"])
    assert b"one_noise" in joint["shared"]["release.json"]
    assert b"one_noise" not in joint["apart"]["release.json"]
    assert problems(verify_files(joint["shared"])) == []
    for plan in (True, False):
        found = [one.name for one in verify_files(joint["apart"], plan=plan).checks if one.problems]
        assert found == (["plan", "criterion values"] if plan else [])
    tables["versions"]["synthrelease"] = "0.1.0"
    before = looked_at(joint["apart"], tables)
    assert before is not None
    assert problems(before) == []


def versions_of(run: str, written: str, number: int) -> Tables:
    tables = json.loads(rich_bundle()["release.json"])
    return tables | {"versions": tables["versions"] | {"synthrelease": run}, "written_by": written, "format": number}


@pytest.mark.parametrize(
    ("run", "written", "number", "says"),
    [
        ("1.0.0", "1.0.0", 5, "format: 5 should be 1"),
        ("1.0.0", "0.1.0", 5, "written_by: 0.1.0 is older than version 1.0.0, which made the run"),
        ("0.1.0", "0.1.0", 1, "format: 1 should be 5"),
        ("0.1.0", "1.0.0", 5, "format: 5 should be 1"),
        ("1.0.0", "0.1.0", 1, "format: 1 should be 5"),
        ("1.1.0.dev0", "1.0.0", 1, "written_by: 1.0.0 is older than version 1.1.0.dev0, which made the run"),
    ],
)
def test_the_number_of_the_format_is_that_of_the_version(run: str, written: str, number: int, says: str) -> None:
    files = {name: content for name, content in rich_bundle().items() if name != "SIGN.md"}
    report = looked_at(files, versions_of(run, written, number), plan=False)
    assert report is not None
    assert any(says in problem for problem in problems(report))


# --- Keys and commitments from the folder itself


def test_a_commitment_that_lies_in_the_folder_vouches_for_nothing(tmp_path: Path) -> None:
    folder = write_files(rich_bundle(), tmp_path / "bundle")
    made = tmp_path / "commitment.json"
    made.write_bytes(commitment(rich_release().spec).dumped())
    assert verify_bundle(folder, commitment=made, plan=False, documents=False).vouched_for
    inside, link = folder / "commitment.json", tmp_path / "linked.json"
    inside.write_bytes(made.read_bytes())
    link.symlink_to(inside)
    for path in (inside, link, tmp_path / "bundle" / ".." / "bundle" / "commitment.json"):
        with pytest.raises(InputError, match="a commitment must come from outside the folder"):
            verify_bundle(folder, commitment=path)


def test_the_closing_sentence_of_an_unsigned_folder_names_no_key() -> None:
    report: Any = verify_files(rich_bundle(), plan=False, documents=False)
    assert "Nobody signed the files. No commitment was given" in report.closing
    assert not report.vouched_for


# --- Rows


def with_rows(name: str, content: bytes) -> dict[str, bytes]:
    """A table of rows replaced, with its checksum in release.json, and all documents as they were."""
    tables = json.loads(rich_bundle()["release.json"])
    tables["files"][name] = sha256(content).hexdigest()
    document = ReleaseDocument.model_validate_json(json.dumps(tables)).dumped()
    return resealed({**rich_bundle(), name: content, "release.json": document})


def test_bytes_that_no_reader_of_parquet_looks_at_are_found() -> None:
    """12 kB between the last page and the footer, and rows in another way of writing; each with the same rows."""
    content = rich_bundle()["data.parquet"]
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    hidden = content[:footer] + b"name,age\n" * 1300 + content[footer:]
    table = pq.read_table(io.BytesIO(content))
    sink = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(None), sink, compression="zstd")
    for forged in (hidden, sink.getvalue()):
        assert pq.read_table(io.BytesIO(forged)).equals(table)
        found = [one for one in verify_files(with_rows("data.parquet", forged)).checks if one.name == "documents"]
        assert any(
            problem.startswith("data.parquet: its bytes differ from the bytes that pyarrow") for problem in found[0].problems
        )


def test_bytes_of_another_version_or_processor_are_not_compared_and_that_is_said() -> None:
    files = with_rows("data.parquet", rich_bundle()["data.parquet"])
    for name in ("pyarrow", "processor"):
        tables = json.loads(files["release.json"])
        tables["versions"][name] = "9"
        report = looked_at(files, tables)
        assert report is not None
        assert problems(report) == []
        whole = verify_files(resealed({**files, "release.json": ReleaseDocument.model_validate(tables, strict=False).dumped()}))
        found = next(one.found for one in whole.checks if one.name == "documents")
        said = f"only the rows of data.parquet and the order of its parts were compared, because it was written with {name} 9"
        assert said in found
        assert f"Not all bytes were compared: {said}" in whole.closing


def test_bytes_of_a_release_of_another_version_of_the_program_are_not_compared() -> None:
    """The kept release is of 1.0.0, whose writer was another one."""
    report = verify_bundle(ROOT / "tests" / "kept" / "format-1" / "release")
    (documents,) = [check for check in report.checks if check.name == "documents"]
    assert not [problem for problem in documents.problems if problem.startswith("data.parquet")]
    assert "only the rows of data.parquet" in report.closing
    assert "it was written with synthrelease 1.0.0" in report.closing


def test_bytes_between_the_parts_of_a_parquet_file_are_found_whoever_wrote_it() -> None:
    """Before the footer, in it, between columns, and behind the pages of a column; each with the same rows."""
    content, table = rich_bundle()["data.parquet"], pq.read_table(io.BytesIO(rich_bundle()["data.parquet"]))
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    hidden, length = b"name,age\n" * 1300, len(content) - 8 - footer
    longer = (length + len(hidden)).to_bytes(4, "little")
    paged = io.BytesIO()
    pq.write_table(table, paged, compression="snappy", write_page_index=True)
    forgeries = {
        "before the footer": content[:footer] + hidden + content[footer:],
        "in the footer": content[:-8] + hidden + longer + content[-4:],
        "the library's name": content.replace(b"parquet-cpp-arrow version", b"parquet-cpp-arrow-version"),
        "an index": paged.getvalue(),
    }
    assert list(room_problems(content)) == []
    for name, forged in forgeries.items():
        assert pq.read_table(io.BytesIO(forged)).equals(table), name
        tables = json.loads(rich_bundle()["release.json"])
        tables["versions"]["pyarrow"] = "9.0.0"
        tables["files"]["data.parquet"] = sha256(forged).hexdigest()
        found = written_anew({**rich_bundle(), "data.parquet": forged}, tables)
        assert any(problem.startswith("data.parquet: ") for problem in problems(verify_files(found))), name


def test_the_pages_of_a_column_reach_as_far_as_it_says() -> None:
    """Whatever is done to one byte of a page's header, it is read as far as before, or it is none."""
    content = rich_bundle()["data.parquet"]
    chunk = pq.ParquetFile(io.BytesIO(content)).metadata.row_group(0).column(0)
    header, length = read_struct(content[4:])
    assert header[1] == 2  # a dictionary
    second, _ = read_struct(content[4 + length + header[3] :])
    assert second[1] == 0
    assert second[5][1] == chunk.num_values
    with pytest.raises(OtherBytes):
        read_struct(b"")
    with pytest.raises(OtherBytes):
        read_struct(b"\x15" + b"\xff" * 20)
    moved = content[:4] + content[4 : 4 + length].replace(b"\x15\x04", b"\x15\x02", 1) + content[4 + length :]
    assert list(room_problems(moved)) == ["there are other bytes between or behind the columns and pages"]


def test_rows_in_another_order_again_or_left_out_are_found() -> None:
    assert verify_files(rich_bundle()).passed
    lines = rich_bundle()["data.csv"].splitlines(keepends=True)
    for other in ([*lines[:1], *lines[2:], lines[1]], [*lines[:-1], lines[1]], lines[:-1], [*lines, b"tail\n"]):
        assert not verify_files(with_rows("data.csv", b"".join(other))).passed


# --- Numbers that no noise reaches


def test_a_figure_that_its_noise_cannot_reach_is_found() -> None:
    """ "Absolute error" of -1,000,000, with its interval; one as far off as noise can be is listed, not found."""
    for sds, found in ((-1e6, True), (-30, True), (-20, False)):
        tables = json.loads(rich_bundle()["release.json"])
        one = tables["criteria"][0]
        step = noise_grid(one["sensitivity"]).step
        one["value"] = round(sds * one["noise_sd"] / step) * step
        one["interval"] = interval_of(tables, one["name"])
        report = looked_at(rich_bundle(), tables)
        assert report is not None
        assert any("are possible with its noise" in problem for problem in problems(report)) is found, sds


def test_the_distance_of_a_noisy_line_is_within_its_range() -> None:
    """No noise is added to it, so that a negative one is none, however large the noise of the line was."""
    for value, found in ((-1e6, True), (-1e-6, True), (0.0, False), (0.1, False)):
        tables = json.loads(rich_bundle()["release.json"])
        (one,) = [one for one in tables["criteria"] if one["noise_bound"] is not None]
        one["value"] = value
        one["interval"] = interval_of(tables, one["name"])
        report = looked_at(rich_bundle(), tables)
        assert report is not None
        assert any("values from 0 to inf are possible" in problem for problem in problems(report)) is found, value


def test_noisy_tables_that_do_not_add_up_to_the_rows_are_found(tmp_path: Path) -> None:
    """Counts tripled, or one more in each of eight cells at an epsilon of 10; an honest table passes."""
    folder = write_measured_release(tmp_path, tmp_path / "release")
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    tables = json.loads(files["measurements.json"])
    document = read_strictly(files["release.json"])

    def told(change: Callable[[float], float]) -> str:
        counts = [[change(value) for value in row] for row in tables["tables"][0]["counts"]]
        other = {**tables, "tables": [{**tables["tables"][0], "counts": counts}]}
        content = (read_measurements(json.dumps(other), unknown="forbid")).dumped()
        return "\n".join(measurements(document, {**files, "measurements.json": content}).problems)

    assert told(lambda value: value) == ""
    for change in (lambda value: 3 * value, lambda value: value + 1):
        assert "not to 400 rows" in told(change)


def test_what_nobody_can_check_is_listed_with_one_configuration_too(tmp_path: Path) -> None:
    folder = write_measured_release(tmp_path, tmp_path / "release")
    report = verify_bundle(folder, documents=False)
    assert read_strictly((folder / "release.json").read_bytes()).selection.configurations == 1
    assert any("made these rows: somebody could have invented rows that fit" in sentence for sentence in report.beyond)
    assert any("the noisy tables count the private file" in sentence for sentence in report.beyond)
