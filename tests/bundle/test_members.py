"""[members]: the specification, the two files of a release, what is checked of them, and drafts."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise, permutations
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import synthrelease
from synthrelease.bundle import tables as linked_files
from synthrelease.bundle.card.sections import measured_alone
from synthrelease.bundle.tables import row_files
from synthrelease.bundle.verify import verify_bundle
from synthrelease.bundle.verify_documents import statistical
from synthrelease.bundle.write import write_bundle
from synthrelease.cli import app
from synthrelease.data.linked import Linked
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import InputError, SpecError
from synthrelease.published import table as linked
from synthrelease.published.base import Files
from synthrelease.published.document import read_strictly
from synthrelease.published.measurements import EstimatesPart
from synthrelease.published.names import FORMATS
from synthrelease.published.table import TableError, parquet_rows, read_csv, table_of
from synthrelease.releasing.release import release
from synthrelease.scouting.codebook import Codebook
from synthrelease.settings.columns import RuleTable
from synthrelease.settings.options import MembersTable
from synthrelease.settings.tables import BundleTable
from synthrelease.settings.wide import with_members
from synthrelease.sources.source import Source
from synthrelease.spec import options
from synthrelease.spec.load import load_spec
from synthrelease.studio.drafting.members import read_members
from tests.helpers.drafts import write_draft
from tests.helpers.households import CONFIG, Member, Root, some_households, write_households, write_rows, write_tables
from tests.helpers.tiny import write_config, write_data


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a release of 300 households."""
    work = tmp_path_factory.mktemp("households")
    roots, members = write_tables(work, *some_households())
    found = release(load_spec(write_households(work)), Source.of(roots, members=members))
    assert found is not None
    write_bundle(found, work / "out")
    return work / "out"


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))


def problems(folder: Path) -> str:
    found = verify_bundle(folder)
    return "\n".join(problem for check in found.checks for problem in check.problems)


def test_a_release_is_two_files_with_new_keys_that_fit_together_and_verifies(bundle: Path) -> None:
    assert problems(bundle) == ""
    roots, members = rows_of(bundle / "data.csv"), rows_of(bundle / "members.csv")
    assert list(roots[0]) == ["hh", "rent", "town", "persons"]
    assert list(members[0]) == ["hh", "age", "work"]
    assert [row["hh"] for row in roots] == [str(key) for key in range(1, len(roots) + 1)]
    assert Counter(row["hh"] for row in members) == Counter(
        {row["hh"]: int(row["persons"]) for row in roots if row["persons"] != "0"}
    )
    assert {row["age"] for row in members} <= {"0", "1", "2", "3"}
    assert not any(row["age"] == "0" and row["work"] == "yes" for row in members)  # the rule for members
    assert {row["work"] for row in members} <= {"yes", "no", "missing"}


def test_both_formats_hold_the_same_rows(bundle: Path) -> None:
    for name in ("data", "members"):
        table = pq.read_table(bundle / f"{name}.parquet")
        as_texts = [{key: str(value) for key, value in row.items()} for row in table.to_pylist()]
        assert as_texts == rows_of(bundle / f"{name}.csv")


def test_a_loaded_release_has_a_wide_row_for_each_root(bundle: Path) -> None:
    found = synthrelease.load(bundle)
    assert [column.name for column in found.schema] == ["rent", "town", "persons", "age_1", "work_1", "age_2", "work_2"]
    by_hand = []
    members = rows_of(bundle / "members.csv")
    for root in rows_of(bundle / "data.csv"):
        own = [(row["age"], row["work"]) for row in members if row["hh"] == root["hh"]]
        by_hand.append([root["rent"], root["town"], root["persons"], *sum((own + [("absent", "missing")] * 2)[:2], ())])
    labels = [column.labels for column in found.schema]
    assert [[known[code] for known, code in zip(labels, row, strict=True)] for row in found.codes.tolist()] == by_hand


def test_what_is_read_is_what_was_written_in_any_number_of_pieces(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = read_strictly((bundle / "release.json").read_bytes())
    files = [(bundle / name).read_bytes() for name in ("data.csv", "members.csv", "data.parquet", "members.parquet")]
    table = read_csv(files[0], document.shape, files[1])
    for rows, block in ((7, 64), (1000, 2**20)):
        monkeypatch.setattr(linked_files, "_ROWS", rows)
        monkeypatch.setattr(linked, "_BLOCK", block)
        assert [b"".join(pieces) for pieces in row_files(document, table, "csv").values()] == files[:2]
        parquet, members = (b"".join(pieces) for pieces in row_files(document, table, "parquet").values())
        for roots, others in ((parquet, members), (files[2], files[3])):
            again = table_of(parquet_rows(roots, document.shape, n_rows=document.n_rows, members=others), document.shape)
            assert again.counts.same_as(table.counts)
        assert read_csv(files[0], document.shape, files[1]).counts.same_as(table.counts)


def test_a_bound_about_all_members_is_refused_and_says_what_there_is(bundle: Path) -> None:
    with pytest.raises(
        InputError,
        match="'age' is a column of members: 'age_1' is its value for the first member, 'age_2' for the last.*`estimate`",
    ):
        synthrelease.bound(bundle, "age < 2 and town == 'here'")


def edited(lines: list[str], how: str) -> list[str]:
    last = len(lines) - 1
    swapped = next(place for place, (one, other) in enumerate(pairwise(lines)) if place and one[0] != other[0])
    return {
        "a member less": lines[:last],
        "a member more": [*lines, lines[last]],
        "a member of nobody": [*lines[:last], "999,1,no"],
        "a member of another root": [*lines[:swapped], lines[swapped + 1], lines[swapped], *lines[swapped + 2 :]],
        "no key": [lines[0], ",1,no", *lines[2:]],
        "a key that is no number": [lines[0], "x,1,no", *lines[2:]],
        "another value": [lines[0], "1,7,no", *lines[2:]],
        "absent": [lines[0], f"{lines[1].split(',')[0]},absent,missing", *lines[2:]],
        "another header": ["hh,work,age", *lines[1:]],
    }[how]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("a member less", "The members of each root must follow one another"),
        ("a member more", "has further rows after the members of the last root"),
        ("a member of nobody", "The members of each root must follow one another"),
        ("a member of another root", "The members of each root must follow one another"),
        ("no key", "with whole numbers as 'hh'"),
        ("a key that is no number", "with whole numbers as 'hh'"),
        ("another value", "line 2 has '7', which is not a bin of 'age'"),
        ("another header", "They must be 'hh', 'age', 'work'"),
    ],
)
def test_members_that_do_not_fit_their_roots_are_found(bundle: Path, how: str, message: str) -> None:
    document = read_strictly((bundle / "release.json").read_bytes())
    lines = (bundle / "members.csv").read_text(encoding="utf-8").splitlines()
    content = ("\n".join(edited(lines, how)) + "\n").encode()
    with pytest.raises(TableError, match=message):
        read_csv((bundle / "data.csv").read_bytes(), document.shape, content)


def test_a_member_without_values_breaks_a_rule(bundle: Path) -> None:
    """It can be written as one, and then the check of plausibility finds it."""
    document = read_strictly((bundle / "release.json").read_bytes())
    lines = (bundle / "members.csv").read_text(encoding="utf-8").splitlines()
    content = ("\n".join(edited(lines, "absent")) + "\n").encode()
    table = read_csv((bundle / "data.csv").read_bytes(), document.shape, content)
    spec = load_spec(bundle.parent / "households.toml")
    assert spec.synthetic.merge(spec.space[0].transformation).forbidden(table.counts.bins).sum() == 1


def test_release_json_says_whose_members_they_are_and_the_specification_holds_it(bundle: Path) -> None:
    document = json.loads((bundle / "release.json").read_text(encoding="utf-8"))
    assert document["members"]["key"] == "hh"
    stated = json.loads((bundle / "specification.json").read_text(encoding="utf-8"))
    assert list(stated["columns"]) == ["rent", "town"]  # the wide record follows from this
    assert list(stated["members"]["columns"]) == ["age", "work"]
    package = json.loads((bundle / "datapackage.json").read_text(encoding="utf-8"))
    schemas = {one["path"]: one["schema"] for one in package["resources"] if "schema" in one}
    assert schemas["members.csv"]["foreignKeys"] == [
        {"fields": ["hh"], "reference": {"resource": "data-csv", "fields": ["hh"]}}
    ]
    ages = next(field for field in schemas["members.csv"]["fields"] if field["name"] == "age")
    assert ages["constraints"]["enum"] == ["0", "1", "2", "3"]
    assert schemas["data.csv"]["primaryKey"] == ["hh"]


def test_the_card_counts_members_and_says_who_is_protected(bundle: Path) -> None:
    page = (bundle / "README.md").read_text(encoding="utf-8")
    ages = Counter(row["age"] for row in rows_of(bundle / "members.csv"))
    section = page[page.index("#### age (age)") :]
    section = section[: section.index("#### work")]
    assert "This column is in the table of members." in section
    assert all(f"| {age} | " in section and f"| {count:,} |" in section for age, count in ages.items())
    assert "With all its members" in page
    assert "nothing covers such a change" in page  # who leaves for a root that was not there
    assert "age\\_2 of the second member" in page


POPULATION = '[population]\nsize = 1000000\nsample = "simple random, without replacement"\nsource = "A census"\n'
TWO_WAYS = 'alternatives.a = { b = ["yes", "no"] }\nalternatives.c = { y = ["yes"], n = ["no"] }\n'
WRONG: dict[str, tuple[dict[str, str], str]] = {
    "key": ({"[columns.rent]\n": '[columns.rent]\nsource = "hh"\n'}, r"members\.key: The key 'hh' must not be released"),
    "unit": ({'name = "household"\n': 'name = "household"\nkey = "person"\n'}, r"unit\.key: Delete `key`"),
    "names": ({"[columns.rent]\n": "[columns.age_1]\n"}, r"columns: Rename 'age_1': the program makes columns"),
    "size": ({'size = "persons"': 'size = "no of"'}, r"members.size: expected a column name"),
    "least": ({"most = 2": "most = 2\nleast = 3"}, r"members.least: expected at most 2"),
    "refuses": (
        {'outside = "drop"\nalternatives.each = ["0..3"]\n': 'outside = "error"\nalternatives.each = ["0..3"]\n'},
        r"members\.columns\.age\.outside: Members cannot have outside = 'error'",
    ),
    "bins": ({'missing = "bin"\n': 'missing = "bin"\nmissing_label = "yes"\n'}, r"members.columns.work.missing_label"),
    "rule": ({"age == 0 and": "floor == 0 and"}, r"The rule names 'floor', which neither members nor roots have"),
    "category": (
        {"[[members.rules]]": "[[members.rules]]\nnever = \"work == 'maybe'\"\n\n[[members.rules]]"},
        r"'maybe' is not a category of 'work_1'\. Its categories are 'yes', 'no'",
    ),
    "exact": ({"[unit]": '[input]\nrows = "exact"\n[unit]'}, r"input\.rows: rows = 'exact' cannot be combined with .members"),
    "population": (
        {"[budget]": f"{POPULATION}[budget]"},
        r"population: .*it cannot be combined with \[members\], because a root and its members are",
    ),
    "copies": (
        {"[budget]": "[imputation]\ncopies = 2\n[budget]"},
        r"imputation: \[imputation\] cannot be combined with \[members\]",
    ),
    "two ways": (
        {'categories = ["yes", "no"]\n': f'categories = ["yes", "no"]\n{TWO_WAYS}'},
        r"members\.columns\.work\.alternatives: Write only one list of bins",
    ),
}  # fmt: skip


@pytest.mark.parametrize("which", WRONG)
def test_mistakes_are_told_at_their_place(which: str, tmp_path: Path) -> None:
    changes, message = WRONG[which]
    with pytest.raises(SpecError, match=message):
        load_spec(write_households(tmp_path, changes))


def test_a_record_has_at_most_1000_columns(tmp_path: Path) -> None:
    many = "".join(f'[members.columns.c{place}]\nkind = "category"\ncategories = ["a", "b"]\n' for place in range(98))
    assert "[[members.rules]]" in CONFIG
    message = (
        r"members\.most: There are 1,003 columns: 3 of roots and 10 times 100 of members\. At most 1,000 columns are possible"
    )
    with pytest.raises(SpecError, match=message):
        load_spec(write_households(tmp_path, {"[[members.rules]]": f"{many}[[members.rules]]", "most = 2": "most = 10"}))


def test_nothing_is_charged_where_a_file_of_members_is_missing_or_not_asked_for(tmp_path: Path) -> None:
    roots, members = write_tables(tmp_path, *some_households(50))
    out = tmp_path / "out"
    with pytest.raises(InputError, match="There is no such file of members"):
        synthrelease.release(write_households(tmp_path), roots, out, members=tmp_path / "none.csv")
    with pytest.raises(InputError, match=r"--members needs \[members\] in the configuration"):
        synthrelease.release(write_config(tmp_path), write_data(tmp_path), out, members=members)
    assert not list(tmp_path.glob("*.ledger"))


def test_the_command_takes_both_files_and_check_tells_how_many_roots_there_are(tmp_path: Path) -> None:
    roots, members = write_tables(tmp_path, *some_households(400))
    config = write_households(tmp_path)
    found = CliRunner().invoke(app, ["check", str(config), "--data", str(roots), "--members", str(members)])
    assert "The file has 400 keys of the two tables (different values of 'hh')." in " ".join(found.output.split())
    asked = ["release", str(config), "--data", str(roots), "--members", str(members), "--out", str(tmp_path / "out")]
    assert CliRunner().invoke(app, asked).exit_code == 0
    assert (tmp_path / "out" / "members.csv").is_file()


def test_a_slot_is_part_of_the_number_that_it_is_named_by() -> None:
    """How many members a root has, by the bin of their number, from the least on and never above the most."""
    linked = Linked(key="k", size="n", names=("a",), slots=(("a_1",), ("a_2",), ("a_3",)), whole=frozenset(), least=1)
    assert linked.numbers(np.array([0, 1, 2])).tolist() == [1, 2, 3]


@pytest.mark.slow
@pytest.mark.parametrize("one_file", [False, True], ids=["two files", "one file"])
def test_a_draft_of_public_files_is_released_and_verifies_as_it_is(tmp_path: Path, one_file: bool) -> None:
    tables = some_households(800, seed=4)
    if one_file:
        of_key = {key: (rent, town) for key, rent, town in tables[0]}
        rows = [(*member, *of_key[member[0]]) for member in tables[1]]
        roots, members = write_rows(tmp_path / "both.csv", "hh,no,age,work,rent,town", rows), None
    else:
        roots, members = write_tables(tmp_path, *tables)
    config, _, found = write_draft("homes", roots, tmp_path, unit="row", members=members, key="hh")
    assert found.members is not None
    assert (found.members.most, found.members.least, found.members.order) == (3, 1, ("no",))
    assert [column.name for column in found.columns] == ["rent", "town"]
    assert [column.name for column in found.members.columns] == ["age", "work"]
    assert found.configuration.count("'hh', because this column is the key of [members]") == 2
    spec = load_spec(config)
    public = read_public(Source.of(roots, members=members), spec.schema, spec.input, spec.raw)
    assert public.total == 800
    result = release(spec, Source.of(roots, members=members))
    assert result is not None
    write_bundle(result, tmp_path / "out")
    assert problems(tmp_path / "out") == ""


@pytest.mark.parametrize(("numbered", "order"), [(True, ("no",)), (False, ("admitted",))], ids=["a number of each", "a date"])
def test_members_are_drafted_in_the_order_of_their_numbers_or_dates(
    tmp_path: Path, numbered: bool, order: tuple[str, ...]
) -> None:
    stays = [
        (str(key), str(place + 1 if numbered else 7), f"2019-{1 + (key * 7 + place * 5) % 12:02d}-11", str(key % 3))
        for key in range(300)
        for place in range(3)
    ]
    members = write_rows(tmp_path / "m.csv", "hh,no,admitted,ward", stays)
    roots = write_rows(tmp_path / "r.csv", "hh,sex", [(str(key), "fm"[key % 2]) for key in range(300)])
    _, found = read_members(roots, members, "hh", Codebook())
    assert found.order == order
    assert found.without({"admitted_month": "it cannot be read"}).order == (("no",) if numbered else ())


def _drafts(tmp_path: Path, roots: str, members: str) -> Callable[..., object]:
    (tmp_path / "roots.csv").write_text(roots, encoding="utf-8")
    (tmp_path / "members.csv").write_text(members, encoding="utf-8")
    return lambda key, **more: write_draft(
        "homes", tmp_path / "roots.csv", tmp_path, members=tmp_path / "members.csv", key=key, **more
    )


def test_what_no_draft_can_be_made_of_is_told(tmp_path: Path) -> None:
    drafted = _drafts(tmp_path, "hh,rent\n1,2\n2,3\n", "hh;age\n1;2\n2;3\n")
    with pytest.raises(
        InputError, match="--members: members.csv has no column 'hh'|must have the same delimiter, encoding and decimal mark"
    ):
        drafted("hh")
    drafted = _drafts(tmp_path, "hh,rent\n1,2\n2,3\n", "house,age\n1,2\n2,3\n")
    with pytest.raises(InputError, match="--members: members.csv has no column 'hh', which --key names"):
        drafted("hh")
    with pytest.raises(InputError, match="--members needs --key, the name of the column that links the two files"):
        drafted(None)
    with pytest.raises(InputError, match="--unit must be `row` when --key is used"):
        drafted("hh", unit="rent")


# --- Formats and catalogues


ALL_FORMATS = {
    "[budget]": '[bundle]\nformats = ["stata", "spss", "r"]\ncatalogues = ["croissant", "ddi"]\nsynthetic_column = true\n'
    '[card]\nlicence = "CC-BY-4.0"\norganisation = "Office"\ncontact = "a@office.example"\nurl = "https://office.example/h"\n'
    "[budget]"
}


def test_a_column_of_members_was_measured_alone_where_no_slot_of_it_was_measured_with_another(bundle: Path) -> None:
    document = read_strictly((bundle / "release.json").read_bytes())
    linked = document.linked
    assert linked is not None
    part = EstimatesPart(level=0.95, together=[[linked.size, linked.slots[-1][0]], [linked.slots[0][1]]], intended=[])
    roots = [name for name in linked.of_roots([one.name for one in document.columns]) if name != linked.size]
    assert measured_alone(document.model_copy(update={"estimates": part})) == [*roots, *linked.names[1:]]


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a release in every format."""
    pytest.importorskip("pyreadstat")
    work = tmp_path_factory.mktemp("formats")
    roots, members = write_tables(work, *some_households())
    found = release(load_spec(write_households(work, ALL_FORMATS)), Source.of(roots, members=members))
    assert found is not None
    write_bundle(found, work / "out")
    return work / "out"


@pytest.mark.slow
def test_every_format_is_verified_and_other_members_in_one_are_found(everything: Path) -> None:
    assert problems(everything) == ""
    document = read_strictly((everything / "release.json").read_bytes())
    files = Files({path.name: path.read_bytes() for path in everything.iterdir()})
    table = read_csv(files["data.csv"], document.shape, files["members.csv"])
    check = statistical(document, table, files)
    assert check.problems == ()
    for name in ("members.dta", "members.sav"):
        content = bytearray(files[name])
        content[len(content) // 2] ^= 1
        check = statistical(document, table, files | {name: bytes(content)})
        [problem] = check.problems
        assert problem.startswith(f"{name}: its rows, labels or missing codes differ from the table")


@pytest.mark.slow
def test_every_format_that_is_not_refused_with_members_writes_them(everything: Path) -> None:
    """Each as a file of its own, or as a script that reads them."""
    named = get_args(get_args(BundleTable.model_fields["formats"].annotation)[0])
    assert set(options.WITH_MEMBERS) <= set(named)
    for name in options.WITH_MEMBERS:
        kinds, scripts = FORMATS.rows_of([name]), FORMATS.documents.get(name, ())
        assert kinds or scripts, name
        assert all((everything / f"members.{kind.ending}").is_file() for kind in kinds), name
        assert all("members" in (everything / script).read_text(encoding="utf-8") for script in scripts), name


def test_a_format_that_does_not_write_members_is_refused_before_the_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "WITH_MEMBERS", ("stata", "spss"))
    asked = {"[budget]": '[bundle]\nformats = ["stata", "r"]\n[budget]'}
    with pytest.raises(
        SpecError,
        match=r"bundle\.formats: The format 'r' cannot contain members\. With \[members\], use one of 'stata', 'spss'",
    ):
        load_spec(write_households(tmp_path, asked))
    load_spec(write_config(tmp_path, {"[budget]": '[bundle]\nformats = ["stata", "r"]\n[budget]'}))  # without members


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["dta", "sav"])
@pytest.mark.parametrize("name", ["data", "members"])
def test_statistical_packages_read_what_the_csv_files_say(everything: Path, name: str, ending: str) -> None:
    import pyreadstat

    read = {"dta": pyreadstat.read_dta, "sav": pyreadstat.read_sav}[ending]
    frame, meta = read(str(everything / f"{name}.{ending}"), apply_value_formats=True, user_missing=True)
    found = [{key: _text(value) for key, value in row.items()} for row in frame.to_dict("records")]
    assert found == rows_of(everything / f"{name}.csv")
    assert meta.column_names_to_labels["hh"] == "Number of the root, which joins the two tables"


def _text(value: object) -> str:
    return str(int(value)) if isinstance(value, float) else str(value)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R")
def test_r_joins_both_tables_by_their_key(everything: Path) -> None:
    code = 'source("read.R"); m <- merge(members, data, by = "hh"); '
    code += 'cat(nrow(m), nrow(members), sum(m$age == "2"), levels(m$age))'
    done = subprocess.run(["Rscript", "-e", code], cwd=everything, capture_output=True, text=True, check=True, timeout=60)
    rows = rows_of(everything / "members.csv")
    twos = sum(row["age"] == "2" for row in rows)
    assert done.stdout == f"{len(rows)} {len(rows)} {twos} 0 1 2 3"


@pytest.mark.slow
def test_croissant_and_ddi_describe_both_tables(everything: Path) -> None:
    found = json.loads((everything / "croissant.json").read_text(encoding="utf-8"))
    fields = {one["name"]: [field["name"] for field in one["field"]] for one in found["recordSet"][:2]}
    assert fields == {"rows": ["hh", "rent", "town", "persons", "synthetic"], "members": ["hh", "age", "work", "synthetic"]}
    [bins] = [one for one in found["recordSet"] if one["name"] == "member_age_bins"]
    assert [record["member_age_bins/label"] for record in bins["data"]] == ["0", "1", "2", "3"]
    name = "{ddi:codebook:2_5}"
    book = ElementTree.parse(everything / "ddi.xml").getroot()
    ages = Counter(row["age"] for row in rows_of(everything / "members.csv"))
    [age] = [one for one in book.iter(f"{name}var") if one.get("name") == "age"]
    told = {one.findtext(f"{name}catValu"): one.findtext(f"{name}catStat") for one in age.iter(f"{name}catgry")}
    assert told == {label: str(ages[label]) for label in ("0", "1", "2", "3")}
    files = {one.get("ID"): one.findtext(f".//{name}fileName") for one in book.iter(f"{name}fileDscr")}
    own = {files[number] for number in str(age.get("files")).split()}
    assert own == {f"members.{ending}" for ending in ("csv", "dta", "parquet", "sav")}
    ids = [one.get("ID") for one in book.iter(f"{name}var")]
    assert len(ids) == len(set(ids))


@pytest.mark.slow
def test_croissant_of_members_is_read_by_its_own_library(everything: Path) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    found = mlcroissant.Dataset(jsonld=everything / "croissant.json")
    assert not found.metadata.issues.errors
    first, expected = next(iter(found.records("members"))), rows_of(everything / "members.csv")[0]
    assert {name.removeprefix("members/"): value for name, value in first.items()} == {
        "hh": int(expected["hh"]), "age": expected["age"].encode(), "work": expected["work"].encode(), "synthetic": 1,
    }  # fmt: skip


@pytest.mark.slow
def test_an_intended_question_about_all_members_is_answered_in_the_release(tmp_path: Path) -> None:
    asked = '[[intended_queries]]\nquery = "{}"\nwhy = "A report asks."\n'
    texts = ["share work == 'yes'", "mean age: work == 'yes' against == 'no'"]
    config = write_households(tmp_path, {"[[generators]]": "".join(map(asked.format, texts)) + "[[generators]]"})
    roots, members = write_tables(tmp_path, *some_households())
    found = release(load_spec(config), Source.of(roots, members=members))
    assert found is not None
    write_bundle(found, tmp_path / "out")
    assert problems(tmp_path / "out") == ""
    estimates = read_strictly((tmp_path / "out" / "release.json").read_bytes()).estimates
    assert estimates is not None
    told = [synthrelease.estimate(tmp_path / "out", text).terms[0].estimate for text in texts[:1]]
    assert [one.estimate for one in estimates.intended[:1] if one] == pytest.approx(told, rel=1e-5)  # written with 6 digits
    assert estimates.intended[1] is not None
    limits = synthrelease.bound(tmp_path / "out", texts[0])
    assert limits.low < told[0] < limits.high
    wrong = asked.format("mean agee")
    with pytest.raises(SpecError, match="'agee'.*Did you mean 'age'"):
        load_spec(write_households(tmp_path, {"[[generators]]": wrong + "[[generators]]"}))


def older(member: tuple[str, str], first: tuple[str, str], root: tuple[str, str, str], persons: int) -> bool:
    return member[0] > "2" or first[0] == "0"


RULES: dict[str, Callable[[tuple[str, str], tuple[str, str], tuple[str, str, str], int], bool]] = {
    "work == 'yes' and first.work == 'no'": lambda member, first, _, __: (member[1], first[1]) == ("yes", "no"),
    "age == 3 and first.age < 1": lambda member, first, _, __: (member[0], first[0]) == ("3", "0"),
    "age == 3 and town == 'here'": lambda member, _, root, __: (member[0], root[2]) == ("3", "here"),
    "age > 2 or first.age == 0": older,
    "work is missing": lambda member, *_: member[1] == "",
    "not (age >= 1) and persons == 2": lambda member, _, __, persons: member[0] == "0" and persons == 2,
    "age == 1 or rent == 3": lambda member, _, root, __: member[0] == "1" or root[1] == "3",
}


def first_members(roots: list[Root], members: list[Member], most: int) -> Iterator[tuple[Root, list[tuple[str, str]]]]:
    """Every household with the age and the work of its first persons, in their order."""
    own: dict[str, list[tuple[str, str, str]]] = {key: [] for key, _, _ in roots}
    for key, number, age, work in members:
        own[key].append((number, age, work))
    for root in roots:
        yield root, [(age, work) for _, age, work in sorted(own[root[0]])[:most]]


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_for_members_leaves_out_the_roots_that_have_such_a_member(rule: str, tmp_path: Path) -> None:
    """Against every member of every household, the first two of each. Where the first one is named, it is about the others."""
    roots, members = some_households()
    kept = []
    for root, persons in first_members(roots, members, 2):
        asked = persons[1:] if "first." in rule else persons
        if not any(RULES[rule](each, persons[0], root, len(persons)) for each in asked):
            kept.append(root)
    files = write_tables(tmp_path, roots, members)
    spec = load_spec(write_households(tmp_path, {"age == 0 and work == 'yes'": rule}))
    found = read_public(Source.of(files[0], members=files[1]), spec.schema, spec.input, spec.raw)
    assert found.total == len(kept)
    assert 0 < len(kept) < len(roots)


@pytest.mark.slow
def test_released_members_keep_a_rule_about_the_first_one(tmp_path: Path) -> None:
    rule = "(work == 'yes' and first.work == 'no') or (age == 3 and rent == 0)"
    roots, members = write_tables(tmp_path, *some_households())
    found = release(
        load_spec(write_households(tmp_path, {"age == 0 and work == 'yes'": rule})), Source.of(roots, members=members)
    )
    assert found is not None
    write_bundle(found, tmp_path / "out")
    assert problems(tmp_path / "out") == ""
    rents = {row["hh"]: row["rent"] for row in rows_of(tmp_path / "out" / "data.csv")}
    own: dict[str, list[dict[str, str]]] = {}
    for row in rows_of(tmp_path / "out" / "members.csv"):
        own.setdefault(row["hh"], []).append(row)
    assert any(len(persons) == 2 for persons in own.values())
    for key, persons in own.items():
        for each in persons[1:]:
            assert (each["work"], persons[0]["work"]) != ("yes", "no")
            assert (each["age"], rents[key]) != ("3", "0")


TWO: dict[str, Callable[[tuple[str, str], tuple[str, str], tuple[str, str, str]], bool]] = {
    "work == 'yes' and other.work == 'yes'": lambda one, other, _: one[1] == other[1] == "yes",
    "age == 3 and other.age == 1": lambda one, other, _: (one[0], other[0]) == ("3", "1"),
    "age == 2 and other.age == 0 and rent == 1": lambda one, other, root: (one[0], other[0], root[1]) == ("2", "0", "1"),
    "age == 3 and (other.age == 0 or other.work is missing)": lambda one, other, _: (
        one[0] == "3" and (other[0] == "0" or other[1] == "")
    ),
}


@pytest.mark.parametrize("rule", TWO)
def test_a_rule_for_two_members_is_about_every_two(rule: str, tmp_path: Path) -> None:
    """Against every ordered pair of the first three members of every household."""
    roots, members = some_households()
    kept = 0
    for root, persons in first_members(roots, members, 3):
        kept += not any(TWO[rule](one, other, root) for one, other in permutations(persons, 2))
    files = write_tables(tmp_path, roots, members)
    spec = load_spec(write_households(tmp_path, {"age == 0 and work == 'yes'": rule, "most = 2": "most = 3"}))
    found = read_public(Source.of(files[0], members=files[1]), spec.schema, spec.input, spec.raw)
    assert found.total == kept
    assert 0 < kept < len(roots)
    assert any(len(persons) > 2 for _, persons in first_members(roots, members, 3))


@pytest.mark.slow
def test_released_members_keep_a_rule_about_every_two(tmp_path: Path) -> None:
    changes = {"age == 0 and work == 'yes'": "age == 3 and other.age == 1", "most = 2": "most = 3"}
    roots, members = write_tables(tmp_path, *some_households())
    spec = load_spec(write_households(tmp_path, changes))
    tries = (release(spec, Source.of(roots, members=members)) for _ in range(5))  # one in 25 finds no table
    found = next(each for each in tries if each is not None)
    write_bundle(found, tmp_path / "out")
    assert problems(tmp_path / "out") == ""
    own: dict[str, list[str]] = {}
    for row in rows_of(tmp_path / "out" / "members.csv"):
        own.setdefault(row["hh"], []).append(row["age"])
    assert not any({"1", "3"} <= set(ages) for ages in own.values())
    assert {age for ages in own.values() for age in ages} >= {"1", "3"}
    assert any(len(ages) == 3 for ages in own.values())


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("ages == 0", r"The rule names 'ages', which neither members nor roots have"),
        ("age == 0 and first.rent == 1", r"The rule names 'first\.rent', which neither members nor roots have"),
        ("age == 0 and other.rent == 1", r"The rule names 'other\.rent', which neither members nor roots have"),
        (
            "rent == 3 and first.age == 1",
            r"The rule names no column of a member \('age', 'work'\)\. Write a rule about roots alone under \[\[rules\]\]",
        ),
    ],
)
def test_a_rule_for_members_that_names_something_else_is_told(rule: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=message):
        load_spec(write_households(tmp_path, {"age == 0 and work == 'yes'": rule}))


def test_rules_stand_in_the_order_in_which_released_bundles_state_them() -> None:
    """Those of a slot after its columns, and those about two members last: `verify` compares them in their order."""
    rules = [{"never": "age == 2 and other.age == 1"}, {"never": "age == 3 and first.age == 0"}]
    table = MembersTable.model_validate(
        {"key": "hh", "most": 2, "columns": {"age": {"kind": "integer", "bounds": [0, 3]}}, "rules": rules}
    )
    _, found = with_members(table, {}, [RuleTable(never="rent == 1")], "drop")
    assert [rule.never for rule in found] == [
        "rent == 1",
        "(members < 1 and not age_1 is missing) or (members >= 1 and age_1 is missing)",
        "(members < 2 and not age_2 is missing) or (members >= 2 and age_2 is missing)",
        "age_2 == 3 and age_1 == 0",
        "age_1 == 2 and age_2 == 1",
        "age_2 == 2 and age_1 == 1",
    ]
