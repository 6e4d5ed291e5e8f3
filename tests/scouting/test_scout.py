"""Whole scouts of made-up registers: charged before reading, exact but for noise, verified, drafted from and released."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from synthrelease.bundle.write import taking, write_folder
from synthrelease.cli import app
from synthrelease.cli.terminal import chance_of_nothing
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import BudgetError, InputError, OutputError, SynthreleaseError
from synthrelease.privacy.ledger import load_ledger, open_ledger
from synthrelease.privacy.public_entropy import NoNoise
from synthrelease.scouting.codebook import CodebookEntry
from synthrelease.scouting.columns import OTHER, ScoutedColumn, scouted_columns
from synthrelease.scouting.document import ScoutDocument, lines_of
from synthrelease.scouting.folder import files_of, read_scout, verify_scout
from synthrelease.scouting.pages import pages
from synthrelease.scouting.scout import Scouting, cap_of, measured, scout
from synthrelease.settings.columns import InputTable
from synthrelease.settings.tables import UnitTable
from synthrelease.sources.source import Source
from synthrelease.spec.load import load_spec
from synthrelease.spec.register import check_scout
from synthrelease.spec.requests import ScoutRequest
from synthrelease.studio.drafting.scouted import _repeats, write_scouted_draft
from tests.studio.desk.browser import browser, driver, missing, needs_axe

pytestmark = pytest.mark.slow

COLUMNS = (
    ScoutedColumn(name="age", kind="number", whole=True, low=Fraction(0), high=Fraction(110), missing=("999",)),
    ScoutedColumn(name="sex", kind="listed", codes={"1": "female", "2": "male"}, missing=("9",)),
    ScoutedColumn(name="town", kind="texts"),
    ScoutedColumn(name="pay", kind="number"),
)
ROWS = 14_000


def register(folder: Path, rows: int = ROWS) -> Path:
    """Ages, sexes, towns and pay that hang together; a few gaps, wrong texts and rare towns."""
    rng = np.random.default_rng(11)
    age = rng.integers(18, 90, rows)
    sex = np.where(rng.random(rows) < 0.3 + age / 200, "1", "2")
    town = np.where(age < 50, rng.choice(["North", "South"], rows, p=[0.8, 0.2]), rng.choice(["South", "West"], rows))
    pay = np.where(age > 65, 0, np.round(rng.lognormal(7, 0.5, rows) * (1 + (sex == "2")), 2))
    table = [[str(a), s, t, f"{p:g}"] for a, s, t, p in zip(age, sex, town, pay, strict=True)]
    table[0], table[1], table[2] = ["999", "9", "Hamlet", "much"], ["", "7", "", "-3"], ["old", "", "Farm", "1e30"]
    path = folder / "register.csv"
    path.write_text("\n".join(["age,sex,town,pay", *(",".join(row) for row in table)]) + "\n")
    return path


def asked(rows: int = ROWS, columns: tuple[ScoutedColumn, ...] = COLUMNS, unit: UnitTable | None = None) -> Scouting:
    cap = cap_of(columns, Fraction(2), Fraction(1, 10**9))
    return Scouting(title="Register", columns=columns, policy=InputTable(), unit=unit or UnitTable(), cap=cap, rows=rows)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ScoutDocument]:
    folder = tmp_path_factory.mktemp("register")
    open_ledger(folder / "register.ledger", "register", 2, delta_limit="1e-9")
    data = register(folder)
    document = scout(asked(), Source.of(data), folder / "register.ledger", folder / "scout")
    return folder, document


def exact(path: Path, columns: tuple[ScoutedColumn, ...] = COLUMNS) -> ScoutDocument:
    return measured(asked(columns=columns), Source.of(path), NoNoise())


def test_without_noise_the_counts_are_those_of_the_file(tmp_path: Path) -> None:
    path = register(tmp_path)
    rows = [line.split(",") for line in path.read_text().splitlines()[1:]]
    document = exact(path)
    counts = {(name, value): count for name, value, count, _ in lines_of(document)}
    assert counts["sex", "1"] == sum(row[1] == "1" for row in rows)
    assert (counts["sex", "other texts"], counts["sex", "no value"]) == (1, 2)
    assert counts["town", "North"] == sum(row[2] == "North" for row in rows)
    assert ("town", "Hamlet") not in counts
    assert counts["town", "other texts"] == 2
    assert (counts["age", "not a number"], counts["age", "no value"]) == (1, 2)
    assert counts["pay", "not a number"] == 1
    for part in document.columns:
        table = part.second or [*part.counts.values(), ROWS - sum(part.counts.values())]
        assert sum(table) == ROWS
    old = document.columns[0]
    edges = old.column.second_look(old.first, document.noise_sd)
    inside = [int(row[0]) for row in rows if row[0].isdigit() and row[0] != "999"]
    for low, high, count in zip(edges, [*edges[1:], 10**6], old.second, strict=False):
        assert count == sum(low <= age < high for age in inside)


def test_a_replaced_row_moves_its_own_counts_alone(tmp_path: Path) -> None:
    path = register(tmp_path)
    before = exact(path)
    lines = path.read_text().splitlines()
    lines[500] = "33,2,Hamlet,7000"
    path.write_text("\n".join(lines) + "\n")
    after = exact(path)
    for left, right in zip(before.columns, after.columns, strict=True):
        for one, other in ((left.first, right.first), (left.counts, right.counts)):
            values = [(one.get(key, 0), other.get(key, 0)) for key in {**one, **other}] if isinstance(one, dict) else [
                *zip(one, other, strict=True)
            ]  # fmt: skip
            moved = [a - b for a, b in values if a != b]
            assert sum(map(abs, moved)) <= 2
            assert all(abs(step) == 1 for step in moved)


def test_the_scout_is_charged_and_verified(made: tuple[Path, ScoutDocument]) -> None:
    folder, document = made
    statement = load_ledger(folder / "register.ledger").statement()
    assert [(entry.epsilon, entry.delta) for entry in statement.entries] == [(document.cap.alone, Fraction(1, 10**9))]
    assert statement.entries[0].notes.cap == document.cap
    report = verify_scout(folder / "scout")
    assert report.passed, [check.problems for check in report.checks]
    assert read_scout(folder / "scout")[0] == document
    assert document.rows == ROWS
    assert 5 * document.noise_sd <= 0.03 * ROWS


def test_counts_lie_within_their_noise(made: tuple[Path, ScoutDocument]) -> None:
    folder, document = made
    truth = exact(folder / "register.csv")
    for noisy, clean in zip(document.columns, truth.columns, strict=True):
        pairs = [
            *zip(noisy.first, clean.first, strict=True),
            *((noisy.counts[text], clean.counts[text]) for text in noisy.counts),
        ]
        assert all(abs(left - right) < 6 * document.noise_sd for left, right in pairs)
    error = abs(document.dependence.value - truth.dependence.value)
    assert error < 6 * document.dependence_deviation + 0.02  # and bins that differ


def test_intervals_of_counts_csv_hold_the_exact_counts(made: tuple[Path, ScoutDocument]) -> None:
    """Other texts are all rows less the published counts, so that they have the noise of all of these."""
    _, document = made
    rng, held, drawn = np.random.default_rng(3), 0, 60
    towns = next(part for part in document.columns if part.kind == "texts")
    towns = towns.model_copy(update={"counts": {text: count - 500 for text, count in towns.counts.items()}})
    exact_rest = document.rows - sum(towns.counts.values())
    for _ in range(drawn):
        counts = {text: count + round(rng.normal(0, document.noise_sd)) for text, count in towns.counts.items()}
        columns = [part.model_copy(update={"counts": counts}) if part.name == "town" else part for part in document.columns]
        content = files_of(document.model_copy(update={"columns": columns}))["counts.csv"].decode()
        row = next(row for row in csv.DictReader(io.StringIO(content)) if (row["column"], row["value"]) == ("town", OTHER))
        held += int(row["lower"]) <= max(0, exact_rest) <= int(row["upper"])
    assert exact_rest > 10 * document.noise_sd
    assert held / drawn > 0.85


CHANGES = {
    "a count": lambda tables: tables["columns"][1]["counts"].update({"1": 5}),
    "the cap": lambda tables: tables.update(rare_exact="0"),
    "tables alone": lambda tables: tables.update(tables_exact=tables["rho_exact"]),
    "a cell more": lambda tables: tables["columns"][0]["first"].append(4),
    "a rare text": lambda tables: tables["columns"][2]["counts"].update({"Hamlet": 3}),
    "another code": lambda tables: tables["columns"][1]["codes"].update({"3": "other"}),
    "an unknown field": lambda tables: tables.update(more=1),
    "a column twice": lambda tables: tables["columns"][1].update(name="age"),
    "other steps of the dependence": lambda tables: tables["dependence"].update(one=1),
    "a dependence of more rows": lambda tables: tables["dependence"].update(rows=10**6, one=10**12 * 12),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_scout_does_not_pass(made: tuple[Path, ScoutDocument], tmp_path: Path, change: str) -> None:
    folder, _ = made
    copy = tmp_path / "scout"
    copy.mkdir()
    for file in (folder / "scout").iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    tables = json.loads((copy / "scout.json").read_text())
    CHANGES[change](tables)
    (copy / "scout.json").write_text(json.dumps(tables))
    problems = {check.name for check in verify_scout(copy).checks if check.problems}
    assert "checksums" in problems
    if change != "a count":  # a forger writes checksums and documents anew
        assert problems - {"checksums", "documents"}
    with pytest.raises(InputError, match="this scout does not pass `synthrelease verify`"):
        read_scout(copy)


def test_pages_of_another_version_are_not_compared(made: tuple[Path, ScoutDocument], tmp_path: Path) -> None:
    """A later version may word a page anew; scout.json, its cap and its tables are checked all the same."""
    other = made[1].model_copy(update={"written_by": "0.0.1"})
    files = files_of(other)
    files["README.html"] += b"<!-- as it was -->"
    with taking(tmp_path / "scout") as place:
        write_folder(files, tmp_path / "scout", workspace=place)
    report = verify_scout(tmp_path / "scout")
    assert report.passed
    said = [limit for check in report.checks for limit in check.limits]
    assert said == ["Written by another version, synthrelease 0.0.1; pages not compared."]
    assert read_scout(tmp_path / "scout")[0] == other
    (tmp_path / "scout" / "ask.html").unlink()
    assert not verify_scout(tmp_path / "scout").passed
    files["counts.csv"] = files["counts.csv"].replace(b"1", b"7")  # numbers are compared whoever wrote them
    with taking(tmp_path / "forged") as place:
        write_folder(files, tmp_path / "forged", workspace=place)
    assert not verify_scout(tmp_path / "forged").passed


def test_a_scout_is_read_after_its_cells_are_chosen_otherwise(
    made: tuple[Path, ScoutDocument], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts without their limits were lost, or read as those of other cells, once a version chose the cells otherwise."""
    lines, bins = [*lines_of(made[1])], made[1].bins()
    other = made[1].model_copy(update={"written_by": "0.0.1"})
    monkeypatch.setattr(ScoutedColumn, "second_look", lambda column, *_: column.first_look)
    for name, document in (("old", other), ("forged", made[1])):
        with taking(tmp_path / name) as place:
            write_folder(files_of(document), tmp_path / name, workspace=place)
    read = read_scout(tmp_path / "old")[0]
    assert [*lines_of(read)] == lines
    assert [each.edges for each in read.bins()] == [each.edges for each in bins]
    assert not verify_scout(tmp_path / "forged").passed


def test_limits_of_a_codebook_may_be_negative(tmp_path: Path) -> None:
    """Such a scout ended after its charge, because the document took no negative limit."""
    column = replace(COLUMNS[3], limits=(Fraction(-1, 2), Fraction(1000)))
    document = exact(register(tmp_path), (*COLUMNS[:3], column))
    assert document.columns[3].limits == ["-1/2", "1000"]
    assert {Fraction(-1, 2), Fraction(1000)} <= {*document.columns[3].lower_limits}


def test_what_cannot_be_meant_is_refused_before_the_charge(tmp_path: Path) -> None:
    data, ledger = Source.of(register(tmp_path, 3_000)), tmp_path / "a.ledger"
    open_ledger(ledger, "register", 2, delta_limit="1e-9")
    refused: list[tuple[Scouting, type[SynthreleaseError], str]] = [
        (asked(rows=2_000), BudgetError, "needs at least [0-9],[0-9]{3} rows"),
        (asked(columns=(*COLUMNS, ScoutedColumn(name="gone", kind="texts"))), InputError, "gone"),
        (replace(asked(), cap=replace(asked().cap, epsilon=Fraction(3))), BudgetError, "together cost epsilon = 3"),
    ]
    for scouting, kind, words in refused:
        with pytest.raises(kind, match=words):
            scout(scouting, data, ledger, tmp_path / "out")
    assert load_ledger(ledger).statement().entries == ()
    assert not (tmp_path / "out").exists()


def test_a_file_that_breaks_off_costs_and_says_no_value(tmp_path: Path) -> None:
    path, ledger = register(tmp_path), tmp_path / "a.ledger"
    path.write_text(path.read_text() + "secret,1\n")
    open_ledger(ledger, "register", 2, delta_limit="1e-9")
    with pytest.raises(InputError, match="counts as spent") as failed:
        scout(asked(), Source.of(path), ledger, tmp_path / "out")
    assert "secret" not in str(failed.value)
    assert len(load_ledger(ledger).statement().entries) == 1


def test_with_a_key_one_row_of_each_person_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    towns = {1: "North", 2: "Hamlet"}
    lines = [f"{person},{day},{person % 2 + 1},{20 + person % 60},{towns[day]}" for person in range(ROWS) for day in (1, 2)]
    path.write_text("\n".join(["person,day,sex,age,town", *lines, *["none,1,1,50,North"] * 99]) + "\n")
    unit = UnitTable(key="person", first_by=["day"], missing_keys=("none",))
    document = measured(asked(columns=COLUMNS[:3], unit=unit), Source.of(path), NoNoise())
    assert document.columns[2].counts == {"North": ROWS, "": 0}
    assert document.rows == ROWS
    assert document.columns[1].counts == {"1": ROWS // 2, "2": ROWS // 2, "": 0}
    assert (document.key, document.first_by, document.missing_keys) == ("person", ["day"], ["none"])
    assert b"Rows whose key is\nnone identify nobody" in files_of(document)["README.html"]


def test_rare_days_are_counted_and_drafted_by_month(tmp_path: Path) -> None:
    """38 rows a day are below 7 standard deviations of the noise; each month is found all the same, and drafted by its days."""
    rng, first = np.random.default_rng(3), date(2025, 1, 1)
    days = [first + timedelta(int(place)) for place in rng.integers(0, 365, ROWS)]
    path = tmp_path / "visits.csv"
    path.write_text("sex,seen\n" + "".join(f"{1 + (day.month > 6)},{day:%d.%m.%Y}\n" for day in days) + "1,soon\n")
    entry = CodebookEntry(dates=("2025-01-01", "2025-12-31", "%d.%m.%Y"))
    columns = (COLUMNS[1], scouted_columns({"seen": entry, "x": CodebookEntry(code=True)})[0])
    exact_counts = measured(asked(ROWS + 1, columns), Source.of(path), NoNoise())
    expected = Counter(f"{day:%Y-%m}" for day in days)
    assert exact_counts.columns[1].counts == {**{month: expected[month] for month in sorted(expected)}, "": 0}
    assert exact_counts.columns[1].other == 1
    open_ledger(tmp_path / "a.ledger", "visits", 2, delta_limit="1e-9")
    document = scout(asked(ROWS + 1, columns), Source.of(path), tmp_path / "a.ledger", tmp_path / "scout")
    assert ROWS / 365 < 7 * document.noise_sd < ROWS / 12
    draft = write_scouted_draft("visits", tmp_path / "scout", tmp_path)
    seen = load_spec(draft.configuration).schema["seen"]
    released = next(iter(seen.alternatives.values()))
    assert [label for label in released.labels if label.startswith("2025")] == sorted(expected)
    assert seen.values["31.12.2025"] == seen.values["01.12.2025"] != seen.values["30.11.2025"]
    torn = document.model_copy(deep=True).model_dump(mode="json", by_alias=True)
    torn["columns"][1]["dates"][1] = "2024-01-01"
    with pytest.raises(ValueError, match="the dates are not whole dates in order"):
        ScoutDocument.model_validate(torn)


def test_whole_numbers_below_zero_are_drafted(tmp_path: Path) -> None:
    """The draft did not load: a configuration refused labels such as -90 to -51, which the scout had given to its bins."""
    path, ledger = tmp_path / "register.csv", tmp_path / "a.ledger"
    path.write_text("sex,balance\n" + "".join(f"{1 + (row % 181 > 90)},{row % 181 - 90}\n" for row in range(ROWS)))
    open_ledger(ledger, "register", 2, delta_limit="1e-9")
    columns = (COLUMNS[1], replace(COLUMNS[0], name="balance", low=Fraction(-90), high=Fraction(90), missing=()))
    scout(asked(columns=columns), Source.of(path), ledger, tmp_path / "scout")
    draft = write_scouted_draft("balances", tmp_path / "scout", tmp_path)
    with pytest.raises(OutputError, match="balances.toml exists already. Nothing was overwritten"):
        write_scouted_draft("balances", tmp_path / "scout", tmp_path)
    (released,) = load_spec(draft.configuration).schema["balance"].alternatives.values()
    assert any(" to -" in label for label in released.labels)


def test_a_draft_from_a_scout_is_a_release_under_the_cap(made: tuple[Path, ScoutDocument]) -> None:
    folder, document = made
    run = CliRunner().invoke(app, ["init", "towns", "--scout", str(folder / "scout"), "--into", str(folder)])
    assert run.exit_code == 0, run.output
    configuration = folder / "configs" / "towns.toml"
    spec = load_spec(configuration)
    assert (spec.plan.total.epsilon, spec.plan.total.delta) == (2, Fraction(1, 10**9))
    assert spec.options.scout is not None
    assert spec.options.scout.cap == document.cap
    assert "This draft is worse" in configuration.read_text().replace("\n# ", " ")
    assert all(column.missing == "bin" and column.outside in ("bin", "clip") for column in spec.schema.columns)
    assert spec.rows.way == "whole"
    pairs = next(criterion for criterion in spec.criteria if criterion.kind == "mean_marginal_error")
    assert pairs.threshold <= document.dependence.value / 2 < pairs.threshold + 0.001
    again = CliRunner().invoke(app, ["init", "towns", "--scout", str(folder / "scout"), "--into", str(folder)])
    assert again.exit_code != 0
    pure = CliRunner().invoke(app, ["init", "pure", "--scout", str(folder / "scout"), "--into", str(folder), "--pure"])
    assert "only --into can be used" in str(pure.exception)
    assert not (folder / "configs" / "pure.toml").exists()
    ledger = folder / "register.ledger"
    arguments = ["release", str(configuration), "--data", str(folder / "register.csv"), "--ledger", str(ledger)]
    released = CliRunner().invoke(app, [*arguments, "--out", str(folder / "out"), "--unrehearsed"])
    assert released.exit_code in (0, 3), released.output
    statement = load_ledger(ledger).statement()
    assert (statement.epsilon, statement.delta, len(statement.entries)) == (2, Fraction(1, 10**9), 2)


def test_the_command_says_what_it_costs_and_what_comes_next(tmp_path: Path) -> None:
    data, book, ledger = register(tmp_path), tmp_path / "book.json", tmp_path / "a.ledger"
    told = {
        "age": {"kind": "integer", "values": {"min": 0, "max": 110}},
        "sex": {"values": {"1": "female", "2": "male"}},
        "town": {"kind": "text"},
    }
    book.write_text(json.dumps(told))
    open_ledger(ledger, "register", 2, delta_limit="1e-9")
    arguments = ["scout", str(book), "--data", str(data), "--ledger", str(ledger), "--cap", "2", "--delta", "1e-9"]
    arguments += ["--rows", str(ROWS), "--out", str(tmp_path / "out")]
    run = CliRunner().invoke(app, [*arguments, "--unit", "row"])
    assert run.exit_code == 0, run.output
    assert "Charged the budget." in run.output
    assert "init NAME --scout" in " ".join(run.output.split())
    checked = CliRunner().invoke(app, ["verify", str(tmp_path / "out")])
    assert checked.exit_code == 0, checked.output
    wrong = CliRunner().invoke(app, [*arguments, "--unit", "person"])
    assert wrong.exit_code != 0


LISTED = (
    COLUMNS[0],
    COLUMNS[1],
    ScoutedColumn(name="town", kind="listed", codes={name: name for name in ("North", "South", "West")}),
    ScoutedColumn(name="pay", kind="number", low=Fraction(0), high=Fraction(20_000)),
)


@pytest.fixture(scope="module")
def pure(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ScoutDocument]:
    folder = tmp_path_factory.mktemp("pure")
    open_ledger(folder / "register.ledger", "register", 4)
    scouting = replace(asked(columns=LISTED), cap=cap_of(LISTED, Fraction(4), Fraction(0)))
    return folder, scout(scouting, Source.of(register(folder)), folder / "register.ledger", folder / "scout")


def test_without_a_delta_epsilons_of_scout_and_release_add_up(pure: tuple[Path, ScoutDocument]) -> None:
    folder, document = pure
    ledger = folder / "register.ledger"
    assert verify_scout(folder / "scout").passed
    assert load_ledger(ledger).statement().epsilon == document.cap.alone == Fraction(4, 5)
    drafted = CliRunner().invoke(app, ["init", "towns", "--scout", str(folder / "scout"), "--into", str(folder)])
    assert drafted.exit_code == 0, drafted.output
    configuration = folder / "configs" / "towns.toml"
    plan = load_spec(configuration).plan
    assert (plan.total.epsilon, plan.total.delta, plan.total.pure) == (4, 0, True)
    arguments = ["release", str(configuration), "--data", str(folder / "register.csv"), "--ledger", str(ledger)]
    run = CliRunner().invoke(app, [*arguments, "--out", str(folder / "out"), "--unrehearsed"])
    assert run.exit_code in (0, 3), run.output
    statement = load_ledger(ledger).statement()
    assert [entry.epsilon for entry in statement.entries] == [Fraction(4, 5), Fraction(16, 5)]
    assert statement.delta == 0


def test_pure_counts_have_laplace_noise_and_intervals(pure: tuple[Path, ScoutDocument]) -> None:
    """Of discrete Laplace noise with scale s a share of e^-1 is beyond s, and of Gaussian noise with its deviation less."""
    folder, document = pure
    truth = exact(folder / "register.csv", LISTED)
    pairs = [
        (left, right)
        for noisy, clean in zip(document.columns, truth.columns, strict=True)
        for left, right in zip([*noisy.first, *noisy.counts.values()], [*clean.first, *clean.counts.values()], strict=True)
    ]
    scale = document.noise_sd / 2**0.5
    beyond = sum(abs(left - right) > scale for left, right in pairs) / len(pairs)
    assert len(pairs) > 40
    assert abs(beyond - 0.368) < 4 * (0.368 * 0.632 / len(pairs)) ** 0.5
    assert (
        sum(abs(left - right) > document.margin for left, right in pairs) / len(pairs) < 0.05 + 4 * (0.05 / len(pairs)) ** 0.5
    )


@pytest.mark.parametrize(
    ("columns", "further", "words"),
    [
        (COLUMNS, {}, "have neither: 'town', 'pay'"),
        ((*LISTED[:3], replace(LISTED[3], high=None)), {}, "have neither: 'pay'"),
        (LISTED, {"rho": Fraction(1, 100)}, "Omit --rho: with --delta 0"),
    ],
)
def test_what_a_scout_without_a_delta_cannot_ask(columns: tuple[ScoutedColumn, ...], further: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        cap_of(columns, Fraction(2), Fraction(0), **further)


BOOK = {"age": {"kind": "integer", "values": {"min": 0, "max": 110}}, "sex": {"values": {"1": "female", "2": "male"}}}


def requested(folder: Path, book: object = BOOK, **further: object) -> ScoutRequest:
    (folder / "book.json").write_text(json.dumps(book))
    places = {"data": folder / "register.csv", "ledger": folder / "a.ledger", "out": folder / "out"}
    stated = {"cap": "2", "delta": "1e-9", "rows": ROWS, "unit": "row"}
    return ScoutRequest(codebook=folder / "book.json", **{**places, **stated, **further})


@pytest.mark.parametrize(
    ("further", "words"),
    [
        ({"title": "two\nlines"}, "--title must be one line"),
        ({"encoding": "foo"}, "encoding: expected"),
        ({"delimiter": ";;"}, "delimiter: expected"),
        ({"cap": "much"}, "^--cap: expected a finite number, found 'much'. Nothing was read.$"),
        ({"rho": "-1"}, "^--rho: expected a number of at least 0, found -1. Nothing was read.$"),
        ({"cap": "0.1", "tests": "0.2"}, "--rho and --tests do not fit together. .*tests below epsilon"),
        *((further, "Epsilon must be above 0 and delta below 1") for further in ({"cap": "0"}, {"delta": "2"})),
        *(({"rho": rho}, "Rho must be above 0, and below the 0.0[0-9]+ that this") for rho in ("0", "1e9")),
        ({"first_by": ("day",)}, "--first-by"),
        ({"unit": "person"}, "--first-by"),
        ({"only": ("gone",)}, "not in the codebook: 'gone'"),
    ],
)
def test_arguments_that_cannot_be_meant_are_named(tmp_path: Path, further: dict[str, object], words: str) -> None:
    with pytest.raises(SynthreleaseError, match=words) as refused:
        Scouting.of(requested(tmp_path, **further))
    assert "pydantic" not in str(refused.value)


def test_another_dataset_is_refused(tmp_path: Path) -> None:
    open_ledger(tmp_path / "a.ledger", "register", 2, delta_limit="1e-9")
    with pytest.raises(SynthreleaseError, match="other"):
        scout(asked(), Source.of(register(tmp_path)), tmp_path / "a.ledger", tmp_path / "out", dataset="other")


def test_places_of_a_file_without_delimiters_come_from_scout_and_draft(tmp_path: Path) -> None:
    """A file of fixed width that a DDI codebook describes: the draft reads it as the scout did."""
    rng = np.random.default_rng(5)
    age = rng.integers(18, 90, ROWS)
    sex = np.where(rng.random(ROWS) < age / 100, 1, 2)
    (tmp_path / "register.txt").write_text("".join(f"{a:3d}{s}\n" for a, s in zip(age, sex, strict=True)))
    places = '<location StartPos="1" EndPos="3"/>', '<location StartPos="4" EndPos="4"/>'
    codes = "".join(f"<catgry><catValu>{code}</catValu><labl>sex {code}</labl></catgry>" for code in (1, 2))
    number = '<valrng><range min="0" max="110"/></valrng><varFormat type="numeric"/>'
    variables = f'<var name="age" intrvl="contin" dcml="0">{places[0]}{number}</var><var name="sex">{places[1]}{codes}</var>'
    (tmp_path / "book.xml").write_text(f"<codeBook><dataDscr>{variables}</dataDscr></codeBook>")
    open_ledger(tmp_path / "a.ledger", "register", 2, delta_limit="1e-9")
    data = Source.of(tmp_path / "register.txt")
    request = replace(requested(tmp_path), codebook=tmp_path / "book.xml")
    document = scout(Scouting.of(request), data, tmp_path / "a.ledger", tmp_path / "scout")
    assert document.input["fixed_width"]["columns"] == {"age": [1, 3], "sex": [4, 4]}
    write_scouted_draft("stays", tmp_path / "scout", tmp_path)
    spec = load_spec(tmp_path / "configs" / "stays.toml")
    assert spec.input.fixed_width is not None
    assert read_public(data, spec.schema, spec.input, spec.raw).total == ROWS


def test_texts_that_a_spreadsheet_would_execute_are_quoted(made: tuple[Path, ScoutDocument]) -> None:
    _, document = made
    towns = next(part for part in document.columns if part.kind == "texts")
    formula = towns.model_copy(update={"counts": {"=1+1": 5_000, **towns.counts}})
    columns = [formula if part is towns else part for part in document.columns]
    rows = csv.reader(io.StringIO(files_of(document.model_copy(update={"columns": columns}))["counts.csv"].decode()))
    assert [row[1] for row in rows if row[1].endswith("=1+1")] == ["'=1+1"]


def test_release_compares_the_folder_of_the_scout(made: tuple[Path, ScoutDocument], tmp_path: Path) -> None:
    folder, _ = made
    write_scouted_draft("again", folder / "scout", tmp_path)
    path = tmp_path / "configs" / "again.toml"
    spec = load_spec(path)
    table = spec.options.scout
    assert table is not None
    check_scout(table, path, spec.unit)
    changed = [
        (table.model_copy(update={"tests": Fraction(1, 5)}), spec.unit),
        (table.model_copy(update={"document": "ab" * 32}), spec.unit),
        (table.model_copy(update={"folder": "nowhere"}), spec.unit),
        (table, UnitTable(key="person", first_by=["day"])),
        (table, spec.unit.model_copy(update={"missing_keys": ("0",)})),
    ]
    for other, unit in changed:
        with pytest.raises(InputError, match="Nothing was spent"):
            check_scout(other, path, unit)


def test_a_column_whose_only_frequent_text_means_no_value_is_drafted(made: tuple[Path, ScoutDocument], tmp_path: Path) -> None:
    """As a date of death that says 9999-99-99 for everybody who lives: who has one still matters."""
    _, document = made
    towns = {"counts": {"": 9_000}, "missing": ["9999-99-99"]}
    columns = [part.model_copy(update=towns if part.name == "town" else {}) for part in document.columns]
    changed = document.model_copy(update={"columns": columns})
    with taking(tmp_path / "scout") as place:
        write_folder(files_of(changed), tmp_path / "scout", workspace=place)
    write_scouted_draft("deaths", tmp_path / "scout", tmp_path)
    spec = load_spec(tmp_path / "configs" / "deaths.toml")
    assert spec.schema.by_name["town"].atoms.labels == ("no value", "all others", "missing")
    assert "Without a public file, nobody can estimate" in " ".join(chance_of_nothing(spec, None))


def test_a_column_of_names_is_left_out(made: tuple[Path, ScoutDocument], tmp_path: Path) -> None:
    """Of names of pets, "Lucy" alone was frequent: one text and all others."""
    _, document = made
    named = {"counts": {"": 40, "Lucy": 400}}
    columns = [part.model_copy(update=named if part.name == "town" else {}) for part in document.columns]
    changed = document.model_copy(update={"columns": columns})
    with taking(tmp_path / "scout") as place:
        write_folder(files_of(changed), tmp_path / "scout", workspace=place)
    draft = write_scouted_draft("names", tmp_path / "scout", tmp_path)
    assert dict(draft.columns)["town"] == "left out: one bin, or hardly any text is frequent"
    assert "town" not in load_spec(draft.configuration).schema.names


def test_a_draft_asks_about_columns_that_say_the_same(made: tuple[Path, ScoutDocument]) -> None:
    """Their counts agree within the noise, in whatever order; two codes agree too easily, and one other count is enough."""
    document, rng = made[1], np.random.default_rng(4)
    age, sex, *_ = document.columns
    again = [count + round(rng.normal(0, 1.4 * document.noise_sd)) for count in age.second[::-1]]
    largest = again.index(max(again))
    other = [count + round(12 * document.noise_sd) * (place == largest) for place, count in enumerate(again)]
    columns = [
        *document.columns,
        age.model_copy(update={"name": "born", "second": again}),
        age.model_copy(update={"name": "hired", "second": other}),
        sex.model_copy(update={"name": "gender"}),
    ]
    wider = document.model_copy(update={"columns": columns})
    assert {part.name: _repeats(part.name, wider) for part in columns if _repeats(part.name, wider)} == {
        "born": ". Its counts agree with 'age': if both have the same meaning, delete one"
    }


def test_a_sum_of_laplace_noises_is_never_farther_in_deviations_than_one() -> None:
    """So the interval of several counts holds: by characteristic functions of sums of 1 to 40 Laplace noises."""
    one = -np.log(0.05) / 2**0.5
    at = np.arange(1, 400_001) * 5e-4
    for number in (2, 3, 5, 10, 40):
        limit = one * (2 * number) ** 0.5
        inside = 2 / np.pi * np.sum(np.sin(at * limit) / at / (1 + at**2) ** number) * 5e-4 + 5e-4 * limit / np.pi
        assert inside > 0.95


@pytest.mark.parametrize("which", ["made", "pure"])
def test_the_page_answers_with_as_few_noises_as_it_can(which: str, request: pytest.FixtureRequest) -> None:
    """Every cell of a column is in its data, so that cells chosen and not chosen are all rows."""
    _, document = request.getfixturevalue(which)
    page = pages(document)["ask.html"].decode()
    data = json.loads(re.findall(r'id="data">(.*?)</script>', page)[0])
    assert (data["rows"], data["deviation"]) == (ROWS, pytest.approx(document.noise_sd))
    lines = [(name, value, count) for name, value, count, _ in lines_of(document)]
    shown = [(column["name"], cell["value"], cell["count"]) for column in data["columns"] for cell in column["cells"]]
    assert [line[:2] for line in shown] == [line[:2] for line in lines]
    unlisted = {part.name for part in document.columns if part.kind == "texts"}
    for (name, value, count), (_, _, noisy) in zip(shown, lines, strict=True):
        assert count == (None if name in unlisted and value == OTHER else noisy)


@needs_axe
@pytest.mark.skipif(bool(missing()), reason=missing())
def test_card_and_page_in_a_browser(made: tuple[Path, ScoutDocument]) -> None:
    folder, document = made
    towns = next(part for part in document.columns if part.kind == "texts")
    with driver() as client, browser(client) as window:
        window.size(1_280)
        window.open((folder / "scout" / "README.html").as_uri())
        assert window.axe() == []
        assert window.run("return document.documentElement.scrollHeight") <= 2 * 900
        window.click("//a[@href='ask.html']")
        window.run(
            "const chosen = document.getElementById('column'); chosen.value = 2; chosen.dispatchEvent(new Event('change'))"
        )
        for value in (OTHER, "West"):
            window.click(f"//label[contains(., '{value}')]/input")
        outside = [count for text, count in towns.counts.items() if text != "West"]
        count, margin = ROWS - sum(outside), document.margin_of(len(outside))
        assert f"About {count:,} of {ROWS:,} rows" in window.text("//*[@id='answer']")
        assert f"interval: {count - margin:,} to {count + margin:,}" in window.text("//*[@id='answer']")
        window.click("//summary")
        window.click("//label[contains(., 'no value')]/input")
        assert f"About {count + towns.counts['']:,}" in window.text("//*[@id='answer']")
        for width in (1_280, 390):
            window.size(width)
            assert window.axe() == []
            assert window.run("return document.documentElement.scrollWidth") <= width
