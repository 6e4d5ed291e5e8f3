"""The table for Stata, SPSS and R: what their readers find is what release.json says, and verify finds what was changed."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from synthrelease.bundle.formats import SPSS, STATA, PackageLimits, renamed, renamings
from synthrelease.bundle.preview import preview, rewritten
from synthrelease.bundle.verify import verify_files
from synthrelease.bundle.write import _sealed, release_files, written
from synthrelease.errors import InputError, SpecError
from synthrelease.published import load
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.names import FORMATS, FileKind
from synthrelease.published.table import ReleasedTable
from synthrelease.releasing.release import Release, release
from synthrelease.settings.tables import BundleTable
from synthrelease.spec.load import load_spec
from tests.helpers.cards import CARD, write_files
from tests.helpers.tiny import write_config, write_data

pytestmark = pytest.mark.slow

pyreadstat = pytest.importorskip("pyreadstat", reason="needs the extra formats")

ALL = BundleTable(formats=("stata", "spss", "r"), synthetic_column=True, synthetic_names=True)


@cache
def gappy_release() -> Release:
    """Coins, some of whose faces nobody saw, in columns whose names neither program can hold."""
    import tempfile

    changes = {
        'categories = ["head", "tail"]': 'categories = ["head", "tail"]\nmissing = "bin"\nmissing_label = "not seen"',
        "rows = 400": "rows = 390",
        "stop_probability = 0.001\n": f"stop_probability = 0.001\n{CARD}",
        "limit = 25": "limit = 25\nrows = 1",
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = write_data(folder)
        data.write_text(data.read_text().replace("head,1", ",1"))
        found = release(load_spec(write_config(folder, changes)), data)
    if found is None:
        raise RuntimeError("no round was accepted")
    return found


def stated_release(bundle: BundleTable = ALL) -> tuple[ReleasedTable, ReleaseDocument, dict[str, bytes]]:
    found = gappy_release()
    table, document, data = release_files(replace(found, spec=replace(found.spec, bundle=bundle)))
    return table, document, dict(data)


def files_of(bundle: BundleTable = ALL) -> dict[str, bytes]:
    """A whole bundle."""
    table, document, data = stated_release(bundle)
    sizes = {name: len(content) for name, content in data.items()}
    return _sealed(data | {"release.json": document.dumped()} | written(document, table, sizes), None)


@cache
def whole() -> Mapping[str, bytes]:
    """The bundle with every format, written once."""
    return files_of()


def stated() -> dict[str, Any]:
    return json.loads(whole()["release.json"])


def problems(files: Mapping[str, bytes]) -> str:
    return "\n".join(problem for check in verify_files(files).checks for problem in check.problems)


def rows() -> Iterator[list[str]]:
    yield from (line.split(",") for line in whole()["synthetic-data.csv"].decode().splitlines()[1:])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(whole(), tmp_path_factory.mktemp("statistical") / "bundle")


@pytest.mark.parametrize(("ending", "missing"), [("dta", "a"), ("sav", -1)])
def test_rows_labels_order_and_missing_codes_are_those_of_the_card(folder: Path, ending: str, missing: object) -> None:
    read = {"dta": pyreadstat.read_dta, "sav": pyreadstat.read_sav}[ending]
    frame, meta = read(str(folder / f"synthetic-data.{ending}"), user_missing=True)
    labels = meta.variable_value_labels
    for column in stated()["schema"]:
        expected = {missing if one.get("missing") else place: one["label"] for place, one in enumerate(column["bins"], start=1)}
        assert labels[column["name"]] == expected
    found = [[labels[name][value] for name, value in zip(("face", "year"), row, strict=True)] for row in
             frame[["face", "year"]].itertuples(index=False)]  # fmt: skip
    assert [row[:2] for row in rows()] == found
    assert set(frame["synthetic"]) == {1}
    assert "not seen" in {row[0] for row in rows()}
    assert meta.file_label.startswith("Synthetic data: ")
    assert meta.column_names_to_labels["face"] == "Face of the coin"
    if ending == "dta":
        assert meta.missing_user_values == {"face": ["a"]}
    else:
        assert meta.missing_ranges == {"face": [{"lo": -1, "hi": -1}]}
        assert (meta.variable_measure["face"], meta.variable_measure["year"]) == ("nominal", "ordinal")


def test_the_files_tell_no_time_and_are_the_same_whenever_they_are_written() -> None:
    assert b"01 Jan 1980 00:00" in whole()["synthetic-data.dta"][:400]
    assert whole()["synthetic-data.sav"][92:109] == b"01 Jan 8000:00:00"
    assert files_of() == whole()


def test_a_bundle_with_every_format_fits_together_and_is_loaded(folder: Path) -> None:
    assert problems(whole()) == ""
    assert load(folder).n_rows == 390
    assert {name for name in whole() if name.startswith("data.")} == set()


@pytest.mark.parametrize("name", ["synthetic-data.dta", "synthetic-data.sav", "read.R", "read.do"])
def test_an_edit_is_found_also_when_the_checksums_are_made_anew(name: str) -> None:
    """One label more or less, with release.json and everything that follows from it written again."""
    edited = dict(whole())
    edited[name] = whole()[name].replace(b"tail", b"Tail") if b"tail" in whole()[name] else whole()[name][:-2]
    assert edited[name] != whole()[name]
    document = json.loads(edited["release.json"])
    if name in document["files"]:
        import hashlib

        document["files"][name] = hashlib.sha256(edited[name]).hexdigest()
        edited["release.json"] = (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()
    del edited["SHA256SUMS"]
    assert f"{name}: " in problems(_sealed(edited, None))


def test_rows_without_the_mark_or_metadata_without_the_notice_are_found() -> None:
    unmarked = whole()["synthetic-data.csv"].replace(b",1\n", b",0\n", 1)
    of_columns = "the columns are wrong: 'face', 'year'. They must be 'face', 'year', 'synthetic'"
    for name, content, says in [
        ("synthetic-data.csv", unmarked, "the column 'synthetic' must be 1 in every row"),
        ("synthetic-data.parquet", files_of(BundleTable())["data.parquet"], of_columns),
    ]:
        edited = {key: value for key, value in whole().items() if key != "SHA256SUMS"} | {name: content}
        assert f"{name}: {says}" in problems(_sealed(edited, None)).splitlines()


def test_formats_can_be_added_to_a_finished_release_and_taken_away_again() -> None:
    spec = gappy_release().spec
    plain = files_of(BundleTable())
    assert problems(plain) == ""
    added = _sealed(rewritten(plain, replace(spec, bundle=ALL)), None)
    assert problems(added) == ""
    assert {name: content for name, content in added.items() if name != "SHA256SUMS"} == {
        name: content for name, content in whole().items() if name != "SHA256SUMS"
    }
    back = _sealed(rewritten(added, replace(spec, bundle=BundleTable())), None)
    assert back == plain


def test_formats_are_no_part_of_what_a_release_computes() -> None:
    assert stated()["format"] == 1
    assert stated()["specification"] == json.loads(files_of(BundleTable())["release.json"])["specification"]
    assert "bundle" not in json.loads(files_of(BundleTable())["release.json"])


@pytest.mark.parametrize("package", [STATA, SPSS])
def test_every_name_can_be_held_they_differ_and_good_ones_stay(package: PackageLimits) -> None:
    long = "a" * 70
    given = [
        "age",
        "Age",
        "_b",
        "if",
        "to",
        "With",
        long,
        f"{long}b",
        f"{long[:30]}_2",
        "גיל" * 30,
        "weight_",
        "x_2",
        "str7",
        "é",
    ]
    found = renamed(given, package)
    assert list(found) == given
    assert len({package.same(name) for name in found.values()} | {"weight", "synthetic"}) == len(given) + 2
    for name in found.values():
        assert package.length(name) <= package.longest
        assert not package.reserved(name)
        assert re.fullmatch(r"\w+", name)
        assert not name[0].isdigit()
    assert found["age"] == "age"
    assert found["x_2"] == "x_2"
    assert renamed(given, package) == found


def test_names_follow_the_rules_of_each_program() -> None:
    assert renamed(["if", "_x", "to"], STATA) == {"if": "v_if", "_x": "_x", "to": "to"}
    assert renamings(["if", "age"], ("stata", "spss")) == [
        "Stata does not allow some names: if is v_if. The labels show the original names."
    ]
    assert renamed(["if", "_x", "to"], SPSS) == {"if": "if", "_x": "v__x", "to": "v_to"}
    assert renamed(["Age", "age"], STATA) == {"Age": "Age", "age": "age"}
    assert renamed(["Age", "age"], SPSS) == {"Age": "Age", "age": "age_2"}
    assert renamed(["b" * 40, "b" * 41], STATA) == {"b" * 40: "b" * 32, "b" * 41: "b" * 30 + "_2"}


def test_what_a_format_cannot_hold_is_said_before_anything_is_spent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "t" * 121
    changes = {'["head", "tail"]': f'["head", "{long}"]', "face == 'tail' and": "", "stop_probability = 0.001\n":
               'stop_probability = 0.001\n[bundle]\nformats = ["spss"]\n'}  # fmt: skip
    with pytest.raises(SpecError, match=r"columns.face: A label has 121 bytes, but SPSS allows at most 120"):
        load_spec(write_config(tmp_path, changes))
    taken = {"columns.year": "columns.synthetic", "year > 6": "synthetic > 6", "stop_probability = 0.001\n":
             "stop_probability = 0.001\n[bundle]\nsynthetic_column = true\n"}  # fmt: skip
    with pytest.raises(
        SpecError, match=r"columns.synthetic: Use another name for the column, because \[bundle\] adds a column 'synthetic'"
    ):
        load_spec(write_config(tmp_path, taken))
    import sys

    from synthrelease.bundle.preview import preview

    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(InputError, match=r"library pyreadstat is needed .*extra \"formats\""):
        preview(replace(gappy_release().spec, bundle=ALL))


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R")
def test_r_reads_the_rows_with_their_order_labels_and_figures(folder: Path) -> None:
    code = """
    source("read.R", chdir = TRUE)
    cat(class(data$face), "|", class(data$year), "|", levels(data$face), "|", missing[["face"]], "|", nrow(data), "|",
        attr(data$year, "label"), "|", numbers$year, "|", figures$criterion, "|", sum(data$year == "3-4"), "\n")
    """
    done = subprocess.run(["Rscript", "-e", code], cwd=folder, capture_output=True, text=True, check=True, timeout=60)
    found = [part.strip() for part in done.stdout.split("|")]
    count = sum(row[1] == "3-4" for row in rows())
    labels = ["head tail not seen", "not seen", "390", "Year <of> minting", "1.5 3.5 5.5 7.5"]
    assert found == ["factor", "ordered factor", *labels, "marginals face privacy", str(count)]


def test_the_script_for_stata_gives_every_bin_its_number_and_opens_no_macro() -> None:
    text = whole()["read.do"].decode()
    assert text.startswith("* Synthetic data. No row is a person.\n")
    assert 'use "synthetic-data.dta", clear' in text
    assert "recode year (1 = 1.5) (2 = 3.5) (3 = 5.5) (4 = 7.5) (else = .), generate(year_number)" in text
    assert "matrix rownames figures = marginals face_privacy" in text
    assert not re.search(r"[`$]", text)


PLAIN = {"version 14", 'use "synthetic-data.dta", clear', "set type double", "matrix list figures"}
"""Commands of read.do without anything of the release in them."""


def test_the_script_for_stata_recodes_variables_and_values_that_the_file_has(folder: Path) -> None:
    """Each line is a command that Stata's manuals describe; what it names is in the file, and fits into its limits."""
    _, file = pyreadstat.read_dta(folder / "synthetic-data.dta", metadataonly=True)
    labels = file.variable_value_labels
    known, made = set(file.column_names), set()
    for line in whole()["read.do"].decode().splitlines():
        if found := re.fullmatch(r"recode (\w+) ((?:\(\d+ = [-\d.e]+\) )+)\(else = \.\), generate\((\w+)\)", line):
            values = [int(value) for value in re.findall(r"\((\d+) =", found[2])]
            assert found[1] in known
            assert set(values) <= set(labels[found[1]])
            assert len(values) == len(set(values))
            assert found[3] not in known | made
            assert len(found[3]) <= 32
            made.add(found[3])
        elif found := re.fullmatch(r"matrix figures = \((.+)\)", line):
            table = [row.split(", ") for row in found[1].split(" \\ ")]
            assert {len(row) for row in table} == {4}
            assert all(value == "." or float(value) == float(value) for row in table for value in row)
        elif found := re.fullmatch(r"matrix (row|col)names figures = (.+)", line):
            names_given = found[2].split()
            assert len(names_given) == (len(table) if found[1] == "row" else 4)
            assert all(re.fullmatch(r"[A-Za-z_]\w{0,31}", name) for name in names_given)
        else:
            assert line in PLAIN or re.fullmatch(r"\* [^/*]*|notes: [\w .]+", line), line
    assert made == {"year_number"}
    assert labels["year"] == {1: "1-2", 2: "3-4", 3: "5-6", 4: "7-8"}


@pytest.mark.skipif(shutil.which("pspp") is None, reason="needs PSPP")
def test_pspp_reads_the_labels_their_order_and_the_missing_code(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "read.sps").write_text(
        f"GET FILE='{folder / 'synthetic-data.sav'}'.\nDISPLAY DICTIONARY.\nFREQUENCIES VARIABLES=face year.\n"
    )
    command = ["pspp", "-O", "format=csv", "-o", "-", str(tmp_path / "read.sps")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    found = list(csv.reader(done.stdout.splitlines()))
    listed = [(line[0], line[1], line[2]) for line in found if len(line) == 3]
    labels = [(value, label) for _, value, label in listed if label in ("head", "tail", "not seen", "1-2", "3-4", "5-6", "7-8")]
    assert labels == [
        ("-1[a]", "not seen"),
        ("1", "head"),
        ("2", "tail"),
        *zip("1234", ("1-2", "3-4", "5-6", "7-8"), strict=True),
    ]
    counts = Counter(row[1] for row in rows())
    for label in ("1-2", "3-4", "5-6", "7-8"):
        assert any(label in line and str(counts[label]) in line for line in found)
    assert any(line and line[0] == "Footnote: a. User-missing value" for line in found)


@pytest.mark.parametrize("name", ["synthetic-data.dta", "synthetic-data.sav"])
def test_a_promised_file_that_nobody_wrote_is_found_from_the_folder_alone(name: str) -> None:
    table, document, data = stated_release()
    data = {file: content for file, content in data.items() if file != name}
    document = document.model_copy(update={"files": {file: digest for file, digest in document.files.items() if file != name}})
    documents = written(document, table, {file: len(content) for file, content in data.items()})
    files = _sealed(data | {"release.json": document.dumped()} | documents, None)
    for alone in (True, False):
        report = verify_files(files, plan=not alone, documents=not alone)
        told = [problem for check in report.checks for problem in check.problems]
        assert f"{name}: release.json does not name this file" in told


def test_a_format_that_nothing_writes_is_refused_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = replace(gappy_release().spec, bundle=BundleTable(formats=("r",), catalogues=("croissant",)))
    preview(spec)
    for asked in ("with_rows", "documents"):
        with monkeypatch.context() as patched:
            further = FileKind(ending="rds", media_type="application/octet-stream", format="rds")
            patched.setitem(getattr(FORMATS, asked), "r", further if asked == "with_rows" else ("read.R", "read.py"))
            with pytest.raises(InputError, match=r"synthrelease cannot write these files: .*(\.rds|read\.py)"):
                preview(spec)
