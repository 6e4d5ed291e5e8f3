"""Drafts from public files: they load, fit the file they came from, and leave out what no release should have."""

from __future__ import annotations

import gzip
import json
import tomllib
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator

from synthrelease.criteria.drafts import budget
from synthrelease.data.layout import Layout
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import InputError, OutputError, SynthreleaseError
from synthrelease.generators.measurements import read_terms
from synthrelease.settings.columns import ColumnTable, RuleTable
from synthrelease.settings.tables import ReleaseFile
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.drafting.bins import LEAST_SHARE
from synthrelease.studio.drafting.column_draft import ColumnDraft
from synthrelease.studio.drafting.columns import drafted_columns
from synthrelease.studio.drafting.public_file import read_public_file
from synthrelease.studio.drafting.text import Draft
from synthrelease.studio.rehearsal.attempts import Trials, run_attempts
from synthrelease.studio.rehearsal.plan_race import Promise
from tests.helpers.command_line import run
from tests.helpers.drafts import draft, write_draft
from tests.helpers.labour_force import simulated

pytestmark = pytest.mark.slow


def clinic(n: int = 3000, seed: int = 3) -> pd.DataFrame:
    """A public table with a bit of everything: older patients stay longer, are in other wards and seldom smoke; stays cost."""
    random = np.random.default_rng(seed)
    age = random.integers(18, 95, n)
    old = age > 60
    stay = random.geometric(np.where(old, 0.12, 0.4))
    wards = np.where(
        old,
        random.choice(["medicine", "surgery", "NA"], n, p=[0.75, 0.2, 0.05]),
        random.choice(["surgery", "medicine", "children", "NA"], n, p=[0.45, 0.1, 0.4, 0.05]),
    )
    smokers = np.where(
        old, random.choice(["0", "1", ""], n, p=[0.9, 0.05, 0.05]), random.choice(["0", "1", ""], n, p=[0.35, 0.6, 0.05])
    )
    dates = [random.integers(low, high, n) for low, high in ((2021, 2024), (1, 13), (1, 29))]
    return pd.DataFrame(
        {
            "Patient ID": np.arange(100_000, 100_000 + n),
            "visit": [f"{y}-{m:02d}-{d:02d}" for y, m, d in zip(*dates, strict=True)],
            "age": age,
            "stay (days)": stay,
            "cost": np.round(stay * random.lognormal(6, 0.3, n), 2),
            "ward": wards,
            "temperature": np.round(random.normal(37.4, 0.8, n), 1),
            "smoker": smokers,
            "change": random.choice(["=", "-1", "+1"], n),
            "remark": [f"text {i}" for i in range(n)],
            "country": "IL",
            "class": random.choice([1, 2, 3], n),
            "design_weight": np.where(random.random(n) < 0.1, 0, random.integers(5, 60, n)),  # 0: nobody's
            "ward code": np.select([wards == "medicine", wards == "surgery", wards == "children"], ["M", "S", "C"], "?"),
            "diagnosis": [f"{letter}{number:02d}.{n % 7}" for n, (letter, number) in enumerate(zip(
                random.choice(list("CIJ"), n), random.integers(10, 99, n), strict=True))],
        }
    )  # fmt: skip


def written(frame: pd.DataFrame, folder: Path, **options: str) -> Path:
    path = folder / "public.csv"
    frame.to_csv(path, index=False, **options)  # type: ignore[call-overload]
    return path


@pytest.fixture(scope="module")
def drafted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Draft]:
    where = tmp_path_factory.mktemp("clinic")
    *_, found = write_draft("clinic", written(clinic(), where), where)
    return where, found


@pytest.fixture(scope="module")
def folder(drafted: tuple[Path, Draft]) -> Path:
    return drafted[0]


def two_columns(folder: Path, **options: str) -> Path:
    """A public file that is drafted fast: two columns that are associated, and one that is left out."""
    random = np.random.default_rng(1)
    age = random.integers(0, 90, 1000)
    sex = np.where(random.random(1000) < age / 90, "f", "m")
    return written(pd.DataFrame({"key": np.arange(1000), "old": age > 60, "sex": sex}), folder, **options)


@pytest.fixture(scope="module")
def spec(folder: Path) -> ReleaseSpec:
    return load_spec(folder / "configs" / "clinic.toml")


def plain(default: object) -> object:
    return float(default) if isinstance(default, Fraction) else default


def test_no_line_of_a_draft_says_what_would_hold_without_it(folder: Path) -> None:
    """But for `description`, which asks the steward, and the lines of [unit], which she answers."""
    tables = tomllib.loads((folder / "configs" / "clinic.toml").read_text(encoding="utf-8"))
    of = ReleaseFile.model_fields
    models = {name: of[name].annotation for name in ("input", "budget", "selection", "bundle", "card")}
    read = [(name, table, models[name]) for name, table in tables.items() if name in models]
    read += [(name, table, ColumnTable) for name, table in tables["columns"].items()]
    read += [(table["never"], table, RuleTable) for table in tables.get("rules", ())]
    for name, table, model in read:
        needless = [key for key, value in table.items() if str(value) == str(plain(model.model_fields[key].default))]
        assert needless == [], name
    (generator,) = tables["generators"]
    assert generator["tables"].strip().startswith("by cells:")
    assert generator["tables"].strip().endswith("+ all 1-way")


def test_columns_become_what_they_are(spec: ReleaseSpec) -> None:
    kinds = {column.name: (column.kind, column.source, column.part) for column in spec.schema.columns}
    assert kinds == {
        "visit_year": ("integer", "visit", "year"),
        "visit_month": ("integer", "visit", "month"),
        "age": ("integer", "age", None),
        "stay_days": ("integer", "stay (days)", None),
        "cost": ("real", "cost", None),
        "ward_code": ("category", "ward code", None),  # with the words of the column ward
        "temperature": ("real", "temperature", None),
        "smoker": ("category", "smoker", None),
        "change": ("category", "change", None),
        "class": ("category", "class", None),  # three codes, each often
        "design_weight": ("integer", "design_weight", None),
        "diagnosis": ("category", "diagnosis", None),
    }
    assert spec.schema["design_weight"].alternatives["coarse"].labels[0] == "<1"  # a weight has a number above 0
    assert spec.schema["diagnosis"].characters == 1
    assert spec.schema["diagnosis"].atoms.labels == ("C", "I", "J")
    assert spec.schema["ward_code"].atoms.labels == ("children", "medicine", "surgery", "missing")  # NA is a missing value
    assert spec.schema["change"].atoms.labels == ("-1", "code +1", "code =")  # or a spreadsheet would compute them


def test_identifiers_free_texts_and_constants_are_left_out_with_the_reason(drafted: tuple[Path, Draft]) -> None:
    folder, written = drafted
    found = {left.source: left.because for left in written.left_out}
    assert set(found) == {"Patient ID", "remark", "country", "ward"}
    assert found["ward"].startswith("it holds the labels of 'ward code'")
    assert "may identify" in found["Patient ID"]
    text = (folder / "configs" / "clinic.toml").read_text(encoding="utf-8")
    reasons = " ".join(line for line in text.split("\n") if line.startswith("# Left out: "))
    assert all(repr(source) in reasons for source in found)


def test_both_files_say_that_they_were_drafted_from_a_public_file(folder: Path) -> None:
    for room in ("configs", "acceptance"):
        start = (folder / room / "clinic.toml").read_text(encoding="utf-8")[:700]
        assert start.partition("\n")[2].startswith("# DRAFT by `synthrelease init` from the PUBLIC file 'public.csv'")
        assert "not public, delete this draft" in " ".join(start.replace("#", "").split())
        assert str(folder) not in start


def test_the_first_line_names_a_schema_beside_the_draft_by_which_it_validates(folder: Path) -> None:
    for room in ("configs", "acceptance"):
        draft_file = folder / room / "clinic.toml"
        text = draft_file.read_text(encoding="utf-8")
        directive, _, name = text.partition("\n")[0].partition(" ./")
        assert directive == "#:schema"
        schema = json.loads((folder / room / name).read_text(encoding="utf-8"))
        Draft202012Validator(schema).validate(tomllib.loads(text))
        assert "columns" in schema["properties"] or room == "acceptance"


def test_a_schema_that_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "configuration.schema.json").write_text("mine")
    write_draft("second", two_columns(tmp_path), tmp_path)
    assert (tmp_path / "configs" / "configuration.schema.json").read_text() == "mine"
    assert (tmp_path / "acceptance" / "acceptance.schema.json").read_text() != "mine"


def test_every_bin_of_numbers_holds_a_share_of_the_rows(folder: Path, spec: ReleaseSpec) -> None:
    frame = pd.read_csv(folder / "public.csv")
    for column in spec.schema.columns:
        if column.kind == "category" or column.part == "month":
            continue
        values = pd.to_datetime(frame["visit"]).dt.year if column.part else frame[column.source]
        for binning in column.alternatives.values():
            rows = [
                int(((values >= low) & (values < high)).sum()) for low, high in zip(binning.lower, binning.upper, strict=True)
            ]
            assert min(rows) >= LEAST_SHARE * len(frame), (column.name, binning.name)
        coarse, fine = (set(column.alternatives.get(name, column.alternatives["coarse"]).lower) for name in ("coarse", "fine"))
        assert coarse <= fine


def test_the_noise_of_every_figure_is_small_beside_its_threshold(folder: Path, spec: ReleaseSpec) -> None:
    public = read_public(folder / "public.csv", spec.schema, spec.input, spec.raw, spec.unit)
    assert 0.9 * len(clinic()) < public.total <= len(clinic())
    again = run_attempts(Trials(spec=spec, counts=public, seed=5), [(0, 0), (0, 1)], spec.budget.generation)
    kinds = {criterion.kind for criterion in spec.criteria}
    assert kinds >= {"absolute_marginal_error", "faithfulness"}
    for place, criterion in enumerate(spec.criteria):
        found = [attempt.sensitivities[place] for attempt in again]
        for sensitivity in filter(None, found):
            noise = 2**0.5 * sensitivity / float(criterion.epsilon)
            assert noise < 0.25 * criterion.threshold, criterion.name
    assert all(attempt.chance > 0.2 for attempt in again)  # another seed than that of the draft


def test_the_limit_covers_the_plan_and_no_more_than_it_must(spec: ReleaseSpec) -> None:
    assert spec.budget.limit is not None
    assert 0 <= float(spec.budget.limit - spec.plan.total.epsilon) < 0.1


def test_every_form_of_the_file_gives_the_same_draft(tmp_path: Path) -> None:
    frame = clinic(600)[["Patient ID", "visit", "stay (days)", "ward", "smoker"]]  # whatever a form may write in its own way
    text = frame.to_csv(index=False)
    forms = {
        "dos.csv": text.replace("\n", "\r\n").encode(),
        "mark.csv": b"\xef\xbb\xbf" + text.encode(),
        "small.csv.gz": gzip.compress(text.encode()),
    }

    def columns(path: Path) -> Sequence[ColumnDraft]:
        return drafted_columns(read_public_file(path), {}, None)[0]

    expected = columns(written(frame, tmp_path))
    assert len(expected) == 5
    for name, content in forms.items():
        (tmp_path / name).write_bytes(content)
        assert columns(tmp_path / name) == expected, name
    (tmp_path / "semicolons.csv").write_text(frame.to_csv(index=False, sep=";"), encoding="utf-8")
    assert columns(tmp_path / "semicolons.csv") == expected
    frame.to_parquet(tmp_path / "p.parquet")
    assert [column.name for column in columns(tmp_path / "p.parquet")] == [column.name for column in expected]
    found = draft("same", two_columns(tmp_path, sep=";"))
    assert [column.name for column in found.columns] == ["old", "sex"]
    assert 'delimiter = ";"' in found.configuration


@pytest.mark.parametrize("seed", range(8))
def test_any_table_gives_a_draft_that_loads_and_fits_it(seed: int, tmp_path: Path) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(30, 2000))
    makers = [
        lambda: random.integers(-50, 50, n),
        lambda: random.integers(0, 10 ** int(random.integers(1, 9)), n),
        lambda: np.round(random.normal(0, 10.0 ** random.integers(-4, 6), n), 3),
        lambda: random.pareto(0.8, n),
        lambda: random.poisson(0.4, n),
        lambda: np.where(random.random(n) < 0.97, 0, random.integers(1, 99, n)),
        lambda: random.choice(["a", "b'c", 'd"e', "f\\g", "ü", "x" * 250, " "], n),
        lambda: random.choice(["1", "2", "x", ""], n),
        lambda: pd.date_range("2020-01-01", periods=n, freq="17D").strftime("%Y-%m-%d"),
        lambda: np.full(n, random.random()),
    ]
    frame = pd.DataFrame({name: makers[random.integers(len(makers))]() for name in ["a", "b c", "and", "3d", "é", "a-"]})
    path = written(frame, tmp_path)
    try:
        configuration, _, _ = write_draft("any", path, tmp_path)
    except InputError as error:
        assert "at least two columns" in str(error)  # noqa: PT017 (most columns can be of one value)
        return
    spec = load_spec(configuration)
    assert 0 < read_public(path, spec.schema, spec.input, spec.raw).total <= n


def test_a_survey_of_another_kind_is_drafted_too(tmp_path: Path) -> None:
    path = written(simulated(4000), tmp_path, sep=";")
    configuration, _, found = write_draft("survey", path, tmp_path)
    assert {column.source for column in found.columns} >= {"interview_date", "region", "sector", "education", "age", "hours"}
    assert load_spec(configuration).plan.total.epsilon < 15


@pytest.mark.parametrize("name", ["", "a/b", "..", "a\\b", "c:x", "con", "LPT1", "a b", "1a", "a.toml", "ü", "-x"])
def test_names_that_are_no_file_names_everywhere_are_refused(name: str, folder: Path) -> None:
    with pytest.raises(InputError, match="The files of the draft cannot have the name") as raised:
        draft(name, folder / "public.csv")
    assert ("Windows uses this name for a device" in str(raised.value)) == (name in ("con", "LPT1"))


def test_nothing_is_overwritten(folder: Path, tmp_path: Path) -> None:
    for room in ("configs", "acceptance"):
        target = tmp_path / room / "mine.toml"
        target.parent.mkdir()
        target.write_text("mine")
        with pytest.raises(OutputError, match="Nothing was overwritten"):
            write_draft("mine", folder / "public.csv", tmp_path)
        assert target.read_text() == "mine"
        target.unlink()
        assert [*tmp_path.rglob("*.toml")] == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "The file is empty"),
        (b"a,b\n", "The file has no rows below its header"),
        (b"a,a\n1,2\n", "Every name in the header is empty or occurs more than once"),
        (b",\n1,2\n", "name every column"),
        (b"a,\n1,2\n2,3\n", "has only one column that can be released .*A draft needs two"),
        (b"a,b\n1,2\n3\n", "Data row 2 .*has 1 field, but the header has 2"),
        (b"PK\x03\x04", "a zip or Excel file"),
        (b"a,b\n1,1\n1,1\n", "has no column that can be released .*A draft needs two"),
    ],
)
def test_files_that_cannot_be_used_are_explained(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "public.csv").write_bytes(content)
    with pytest.raises(SynthreleaseError, match=message):
        draft("x", tmp_path / "public.csv")


def test_budgets_are_round_and_never_below_what_is_wanted() -> None:
    for wanted in np.geomspace(1e-3, 40, 60):
        found = float(budget(float(wanted)))
        assert found >= wanted * (1 - 1e-9)
        assert found <= wanted * (1 + 1e-9) + (0.01 if wanted >= 0.1 else 0.001)
        assert 1000 * found == pytest.approx(round(1000 * found))


def test_the_command_writes_both_files_and_shows_what_became_of_each_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ("init", "clinic", "--from", str(two_columns(tmp_path)))
    monkeypatch.chdir(tmp_path)
    code, out, err = run(monkeypatch, capsys, *command)
    assert code == 0
    assert err.startswith("reading the public file ...\n")  # without a terminal a line for each step, and no more
    assert len(err.splitlines()) == 9
    assert (tmp_path / "acceptance" / "clinic.toml").is_file()
    assert "left out" in out
    code, _, err = run(monkeypatch, capsys, *command)
    assert code == 2
    assert "Nothing was overwritten" in " ".join(err.split())


def test_pairs_with_an_important_column_are_measured_and_get_a_criterion(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    base = random.integers(0, 6, 4000)
    frame = pd.DataFrame({name: (base + random.integers(0, 3, 4000)) % 6 for name in ("one", "two", "three")})
    frame["out come"] = np.where(random.random(4000) < base / 8, "yes", "no")
    path = written(frame.astype(str) + "x", tmp_path)
    found = draft("marks", path, promise=Promise(important=("out come",)))
    (generator,) = tomllib.loads(found.configuration)["generators"]
    layout = Layout(columns=("one", "two", "three", "out_come"), sizes=(6, 6, 6, 2))
    measured = {table for term in read_terms(generator["tables"]) for table in term.sets(layout)}
    assert {(0, 3), (1, 3), (2, 3)} <= measured
    (promised,) = [each for each in tomllib.loads(found.acceptance)["criteria"] if each["name"] == "pairs with out_come"]
    assert promised["tables"] == ["all 2-way with out_come"]
    with pytest.raises(InputError, match="--important: the file has no column 'outcome'"):
        draft("marks", path, promise=Promise(important=("outcome",)))
