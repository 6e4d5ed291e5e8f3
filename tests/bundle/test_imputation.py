"""Complete copies of a released table: what leaves the enclave, and what `verify` finds in forged ones."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import synthrelease
from synthrelease.bundle.imputation import imputed_bytes, relabelled
from synthrelease.bundle.preview import rewritten
from synthrelease.bundle.verify import verify_files
from synthrelease.bundle.write import write_bundle
from synthrelease.data.counts import Counts
from synthrelease.data.donors import Completed
from synthrelease.data.layout import Layout
from synthrelease.errors import SpecError
from synthrelease.published.base import sha256
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.table import ReleasedTable
from synthrelease.releasing.release import release
from synthrelease.settings.tables import BundleTable
from synthrelease.spec.load import load_spec
from tests.bundle.verify.test_verify import check, problems, resealed
from tests.helpers.cards import write_files
from tests.helpers.tiny import write_config, write_data

pytestmark = pytest.mark.slow

CHANGES = {
    "bounds = [1, 8]": 'bounds = [1, 8]\nmissing = "bin"',
    "[budget]\n": '[imputation]\ncopies = 3\nmatch = ["face"]\n\n[budget]\n',
}


@cache
def bundle() -> Mapping[str, bytes]:
    """A release of coins of which every seventh lost its year."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config, data = write_config(folder, CHANGES), write_data(folder)
        lines = data.read_text().splitlines()
        data.write_text("\n".join(f"{line.split(',')[0]}," if i % 7 == 3 else line for i, line in enumerate(lines)) + "\n")
        found = release(load_spec(config), data)
        assert found is not None
        path = write_bundle(found, folder / "bundle")
        return {file.name: file.read_bytes() for file in path.iterdir()}


def rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(bundle()[name].decode())))


def test_every_copy_has_the_observed_values_and_no_gap() -> None:
    data, copies = rows("data.csv"), rows("imputed.csv")
    gaps = [row["year"] == "missing" for row in data]
    assert 20 < sum(gaps) < 120
    assert [(row[".imp"], row[".id"]) for row in copies] == [
        (str(copy), str(place)) for copy in (1, 2, 3) for place in range(1, len(data) + 1)
    ]
    for row in copies:
        original = data[int(row[".id"]) - 1]
        assert row["face"] == original["face"]
        assert row["year"] == original["year"] or original["year"] == "missing"
        assert row["year"] != "missing"
        assert row[".imputed"] == ("year" if original["year"] == "missing" else "")
    for copy in ("1", "2", "3"):
        times = Counter((row["face"], row["year"]) for row in copies if row[".imp"] == copy)
        assert min(times.values()) >= 2
        assert times["tail", "7-8"] == 0


def test_the_documents_say_how_and_on_what_assumption() -> None:
    for name in ("README.md", "README.html"):
        text = bundle()[name].decode()
        assert "missing at random" in text
        assert "Rubin" in text
    part = json.loads(bundle()["release.json"])["imputation"]
    assert (part["copies"], part["match"], part["smallest"], part["failed"]) == (3, ["face"], 2, "")
    assert part["rows"] == sum(row["year"] == "missing" for row in rows("data.csv"))


def test_the_data_package_describes_the_copies(tmp_path: Path) -> None:
    frictionless = pytest.importorskip("frictionless")
    folder = write_files(bundle(), tmp_path / "bundle")
    report = frictionless.validate(str(folder / "datapackage.json"))
    assert report.valid, report.flatten()
    assert len(synthrelease.load(folder).table()) == len(rows("data.csv"))


def forged(content: bytes, change: Callable[[dict], object] = lambda part: None):
    tables = json.loads(bundle()["release.json"])
    tables["files"]["imputed.csv"] = sha256(content)
    change(tables["imputation"])
    document = ReleaseDocument.model_validate_json(json.dumps(tables)).dumped()
    return verify_files(resealed({**bundle(), "imputed.csv": content, "release.json": document}))


def with_line(place: Callable[[dict[str, str]], bool], change: Callable[[dict[str, str]], object]) -> bytes:
    """imputed.csv with the first row at a place changed."""
    copies = rows("imputed.csv")
    change(next(row for row in copies if place(row)))
    written = io.StringIO()
    writer = csv.DictWriter(written, list(copies[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(copies)
    return written.getvalue().encode()


def filled(row: dict[str, str]) -> bool:
    return row[".imputed"] == "year" and row["face"] == "tail"


def observed(row: dict[str, str]) -> bool:
    return row[".imputed"] == "" and row["face"] == "head"


def test_what_release_json_says_of_an_option_is_compared_with_the_specification_by_verify() -> None:
    """The tests of each option compare its own sentence; this one shows that `verify` asks for them."""
    stated = "imputation.donors: release.json has 7, the specification gives 10"
    assert stated in check(forged(bundle()["imputed.csv"], lambda part: part.update(donors=7)), "plan").problems


def test_copies_as_they_were_written_are_in_order() -> None:
    report = verify_files(bundle())
    assert report.passed
    assert check(report, "imputation").found == "3 copies with the observed values of data.csv; each other value has a donor"


@pytest.mark.parametrize(
    ("place", "change", "says"),
    [
        (observed, lambda row: row.update(face="tail"), "an observed value of face differs from the value in data.csv"),
        (filled, lambda row: row.update(year="missing"), "a value of year is still missing"),
        (filled, lambda row: row.update(year="7-8"), "a row breaks the plausibility rules for released rows"),
        (filled, lambda row: row.update(year="9"), "has '9', which is not a bin of 'year' ("),
        (filled, lambda row: row.update({".imputed": ""}), "each with the columns that were filled in"),
        (filled, lambda row: row.update({".id": "1"}), "its lines are not the rows of data.csv in order"),
    ],
)
def test_what_does_not_follow_is_found(place, change, says: str) -> None:
    assert says in problems(forged(with_line(place, change)))


def test_copies_too_few_or_too_many_or_with_other_claims_are_found() -> None:
    content = bundle()["imputed.csv"]
    half = content[: content.rindex(b"\n", 0, len(content) // 2) + 1]
    assert "copy 3: its lines are not the rows" in problems(forged(half))
    assert "there are more rows than 2 copies can have" in problems(forged(content, lambda part: part.update(copies=2)))
    assert "release.json states that each row occurs at least 1 time, but the minimum count is 2" in problems(
        forged(content, lambda part: part.update(smallest=1))
    )
    assert "release.json states 1 row without a value, but data.csv has" in problems(
        forged(content, lambda part: part.update(rows=1))
    )
    assert "this file exists, but release.json says that there are no copies" in problems(
        forged(content, lambda part: part.update(failed="it rained"))
    )


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"bounds = [1, 8]": "bounds = [1, 8]"}, 'imputation: No column has missing = "bin"'),
        ({'match = ["face"]': 'match = ["fase"]'}, "imputation.match: 'fase' is not a column ('face', 'year')"),
        ({'match = ["face"]': 'match = ["face", "face"]'}, "imputation.match: A column is named twice"),
        ({"copies = 3": "copies = 0"}, "imputation.copies: expected a number of at least 1"),
    ],
)
def test_mistakes_are_told_before_anything_is_spent(changes: dict[str, str], says: str, tmp_path: Path) -> None:
    asked = dict(CHANGES)
    for old, new in changes.items():
        asked = {key: new if key == old else value.replace(old, new) for key, value in asked.items()}
    with pytest.raises(SpecError) as caught:
        load_spec(write_config(tmp_path, asked))
    assert says in str(caught.value)


def test_copies_are_labelled_as_synthetic_like_the_table(tmp_path: Path) -> None:
    """Made by `card --bundle` from the plain release: another name, and a column that is 1 in every row; and back again."""
    labelled = BundleTable(synthetic_names=True, synthetic_column=True)
    spec = load_spec(write_config(tmp_path, CHANGES))
    files = resealed(rewritten(bundle(), replace(spec, bundle=labelled)))
    assert "imputed.csv" not in files
    assert all(one.passed for one in verify_files(files).checks)
    plain, marked = bundle()["imputed.csv"].decode().splitlines(), files["synthetic-imputed.csv"].decode().splitlines()
    assert marked == [f"{plain[0]},synthetic", *(f"{line},1" for line in plain[1:])]
    assert "synthetic-imputed.csv has 3 complete copies" in files["README.html"].decode()
    described = {one["path"]: one for one in json.loads(files["datapackage.json"])["resources"]}
    assert described["synthetic-imputed.csv"]["schema"]["fields"][-1]["name"] == "synthetic"
    again = resealed(rewritten(files, spec))
    assert again["imputed.csv"] == bundle()["imputed.csv"]
    wrong = "\n".join([*marked[:-1], marked[-1][:-1] + "0"]) + "\n"
    document = json.loads(files["release.json"])
    document["files"]["synthetic-imputed.csv"] = sha256(wrong.encode())
    edited = ReleaseDocument.model_validate_json(json.dumps(document)).dumped()
    found = verify_files(resealed({**files, "synthetic-imputed.csv": wrong.encode(), "release.json": edited}))
    assert "the column 'synthetic' must be 1 in every row" in problems(found)


def test_a_release_writes_its_copies_with_the_label() -> None:
    """The same file that `card --bundle` makes of the same copies."""
    table = ReleasedTable(
        labels=(("a", "none"),),
        ordered=(False,),
        counts=Counts.of(Layout(columns=("c",), sizes=(2,)), [np.array([0, 1, 0])]),
        marked=True,
    )
    open_ = table.counts.bins[0][:, None] == 1
    copies = [Completed(bins=(np.zeros(3, dtype=np.int64),))]
    made = imputed_bytes(table, copies, open_)
    plain = imputed_bytes(replace(table, marked=False), copies, open_)
    assert made.decode().splitlines() == [".imp,.id,.imputed,c,synthetic", "1,1,,a,1", "1,2,,a,1", "1,3,c,a,1"]
    assert relabelled(plain, marked=False, mark=True) == made
    assert relabelled(made, marked=True, mark=False) == plain
