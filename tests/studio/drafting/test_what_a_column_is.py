"""Codes with a point, quantities with many values, weights, strata and clusters: told in six languages and by their shape."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthrelease.scouting.codebook import CodebookEntry
from synthrelease.studio.drafting.column_draft import Answers, ColumnDraft, LeftOut
from synthrelease.studio.drafting.columns import draft_column, drafted_columns
from synthrelease.studio.drafting.public_file import Order, read_public_file
from synthrelease.studio.drafting.text import with_means
from tests.helpers.drafts import column_alone

RANDOM = np.random.default_rng(65)
N = 6000


def drafted(name: str, values: object, entry: CodebookEntry | None = None) -> ColumnDraft | LeftOut:
    texts, times = np.unique(np.asarray(values).astype(str), return_counts=True)
    counts = dict(zip(texts.tolist(), times.tolist(), strict=True))
    return column_alone(Answers.of(name, counts, 0, entry or CodebookEntry()))


REGIONS = RANDOM.choice(["11.0", "11.1", "12.0", "12.1", "21.0", "21.3", "24.0", "27.2"], N)
ZIPS = RANDOM.choice([97301, 97302, 97305, 97401, 97402, 97403, 97501, 97504, 97601, 97603], N)
SECTORS = RANDOM.choice(["10.71", "41.20", "47.11", "56.10", "62.01", "84.11", "85.20", "86.10", "97.00"], N)
CODES = {
    "a region with a point": ("region", REGIONS),
    "a region that no name tells": ("q17", REGIONS),
    "a region as a number of a spreadsheet": ("x", RANDOM.choice(["11.0", "12.0", "21.0", "24.0", "27.0", "53.0"], N)),
    "postal codes": ("zip", ZIPS),
    "postal codes of a column without a name": ("v3", ZIPS),
    "leading zeros": ("zone", RANDOM.choice(["011", "012", "013", "021"], N)),
    "industries": ("branche", SECTORS),
    "industries by their digits": ("v12", SECTORS),
    "a department of France": ("département", RANDOM.choice([1, 13, 33, 59, 69, 75, 92, 93, 974], N)),
    "a province of Italy": ("provincia_cod", RANDOM.integers(1, 108, N)),
    "a municipality of Germany": ("Gemeindekennziffer", RANDOM.choice(np.arange(1101, 1150), N)),
    "a canton": ("kanton", RANDOM.integers(1, 27, N)),
    "an occupation of Spain": ("ocupacion", RANDOM.choice([11, 12, 21, 23, 31, 41, 51, 71, 91], N)),
    "a Dutch municipality": ("gemeentecode", RANDOM.choice(np.arange(14, 400, 7), N)),
    "said by its label": ("v9", RANDOM.choice(np.arange(10, 40), N)),
}
LABELS = {"said by its label": "ISCO-08 code of the main job"}


@pytest.mark.parametrize("case", CODES)
def test_codes_are_told_by_names_and_by_how_they_are_written(case: str) -> None:
    name, values = CODES[case]
    found = drafted(name, values, CodebookEntry(description=LABELS.get(case, "")))
    assert isinstance(found, ColumnDraft)
    assert (found.kind, bool(found.bins)) in {("code", False), ("category", False)}, found.remark


MARKS = np.round(np.clip(RANDOM.normal(2.6, 0.9, N), 1, 6), 1)
QUANTITIES = {
    "a ratio to 500": ("debt_ratio", np.minimum(500, np.round(np.exp(RANDOM.normal(4.2, 0.8, N)))).astype(int)),
    "a ratio without a telling name": ("q4", np.minimum(500, np.round(np.exp(RANDOM.normal(4.2, 0.8, N)))).astype(int)),
    "marks with a decimal": ("note", MARKS),
    "a temperature": ("temp", np.round(RANDOM.normal(37.2, 0.8, N), 1)),
    "hours in halves": ("hours", np.round(RANDOM.normal(36, 6, N) * 2) / 2),
    "income of a region": ("region_income", np.round(RANDOM.lognormal(7, 0.4, N))),
    "an age": ("age", RANDOM.integers(0, 95, N)),
    "a floor area": ("area", np.round(RANDOM.lognormal(4.3, 0.4, N))),
}


@pytest.mark.parametrize("case", QUANTITIES)
def test_quantities_stay_numbers(case: str) -> None:
    found = drafted(*QUANTITIES[case])
    assert isinstance(found, ColumnDraft)
    assert found.bins, found.remark


def test_12_and_12_point_0_are_one_key() -> None:
    """A private file that says 12.0 of a code 12 is read so; a draft must not take the two for two codes."""
    found = drafted("region", RANDOM.choice(["12", "12.0", "11.1", "11.10", "21.3", "27.2"], N))
    assert isinstance(found, ColumnDraft)
    assert sorted(map(float, found.codes)) == [11.1, 12.0, 21.3, 27.2]
    assert sum(code.rows for code in found.codes.values()) == N


REPEATED = np.round(RANDOM.lognormal(0, 0.4, 200), 4)[RANDOM.integers(0, 200, N)]
MEAN_1 = np.round(REPEATED / REPEATED.mean(), 4)
TO_POPULATION = np.round(REPEATED * 812.5 / REPEATED.mean(), 2)
WEIGHTS = {
    "no name, mean 1": ("v7", MEAN_1, ""),
    "INSEE": ("extri", MEAN_1, ""),
    "French": ("poids_final", TO_POPULATION, ""),
    "German": ("hochrechnungsfaktor", TO_POPULATION, ""),
    "Spanish": ("factor_expansion", TO_POPULATION, ""),
    "Italian": ("coef_riporto", TO_POPULATION, ""),
    "Dutch": ("weegfactor", MEAN_1, ""),
    "Swedish": ("uppräkningsvikt", TO_POPULATION, ""),
    "a letter": ("w_pupil", np.round(RANDOM.uniform(8, 40, 80), 3)[RANDOM.integers(0, 80, N)], ""),
    "camel case": ("finalWeight", TO_POPULATION, ""),
    "French label": ("v99", TO_POPULATION, "Coefficient de pondération de l'individu"),
    "Portuguese label": ("v1028", TO_POPULATION, "Peso do domicílio e das pessoas com calibração"),
}


@pytest.mark.parametrize("case", WEIGHTS)
def test_weights_are_told_by_name_label_and_mean(case: str) -> None:
    name, values, label = WEIGHTS[case]
    found = drafted(name, values, CodebookEntry(description=label))
    assert isinstance(found, ColumnDraft)
    assert found.weight, found.remark
    assert ("mean is 1" in found.doubt) == (case == "no name, mean 1")


def test_no_quantity_is_a_weight() -> None:
    kilograms = np.round(RANDOM.normal(75, 12, N), 1)
    for name, values in {"weight": kilograms, "ratio": np.round(RANDOM.lognormal(0.4, 0.5, N), 4), "w": MARKS}.items():
        found = drafted(name, values)
        assert isinstance(found, ColumnDraft)
        assert not found.weight


def test_weights_of_children_rise_with_their_heights_and_design_weights_do_not(tmp_path: Path) -> None:
    age = RANDOM.uniform(0, 21, N)
    hgt = np.round(50 + 130 * (1 - np.exp(-age / 8)) + RANDOM.normal(0, 6, N), 1)
    wgt = np.round(np.exp(RANDOM.normal(0, 0.12, N)) * hgt**2.4 / 3300 + 1, 1)
    frame = pd.DataFrame({"age": np.round(age, 2), "hgt": hgt, "wgt": wgt, "wt_final": np.round(MEAN_1, 3)})
    frame.to_csv(tmp_path / "public.csv", index=False)
    columns, *_ = drafted_columns(read_public_file(tmp_path / "public.csv"), {})
    assert {column.name: column.weight for column in columns} == {"age": False, "hgt": False, "wgt": False, "wt_final": True}
    frame.drop(columns="hgt").to_csv(tmp_path / "other.csv", index=False)
    columns, *_ = drafted_columns(read_public_file(tmp_path / "other.csv"), {})
    assert next(column.weight for column in columns if column.name == "wgt")  # its name is all that is known


STRATA = RANDOM.integers(1, 25, N)
DESIGN = {
    "strate": "stratum",
    "Schicht_Nr": "stratum",
    "estrato": "stratum",
    "sdmvstra": "stratum",
    "strato": "stratum",
    "psu": "cluster",
    "grappe": "cluster",
    "Klumpen": "cluster",
    "conglomerado": "cluster",
    "SDMVPSU": "cluster",
}


@pytest.mark.parametrize("name", DESIGN)
def test_strata_and_clusters_are_left_out_unless_a_codebook_wants_them(name: str) -> None:
    found = drafted(name, STRATA)
    assert isinstance(found, LeftOut)
    assert f"it looks like the {DESIGN[name]} of a sample" in found.because
    assert f'{{"{name}": {{"kind": "code"}}}}' in found.because
    assert isinstance(drafted(name, STRATA, CodebookEntry(code=True)), ColumnDraft)


def test_sampling_units_are_clusters_however_few_numbers_they_have() -> None:
    """Within each stratum they are numbered from 1. A cluster of an analysis may have three values, and is an answer."""
    two = RANDOM.integers(1, 3, N)
    for name in ("SDMVPSU", "upm", "psu"):
        found = drafted(name, two)
        assert isinstance(found, LeftOut)
        assert found.design == "clusters"
    assert isinstance(drafted("cluster", two), ColumnDraft)


def test_clusters_within_regions_are_no_areas_to_release(tmp_path: Path) -> None:
    """They identify places or interviewers: a draft that leaves them out must not propose --areas 'region > psu'."""
    units = np.arange(N) % 300
    for name, asked in (("psu", False), ("town", True)):
        table = pd.DataFrame(
            {"region": [f"Region {unit % 8}" for unit in units], name: 10_000 + units, "x": RANDOM.integers(0, 50, N)}
        )
        table.to_csv(tmp_path / f"{name}.csv", index=False)
        columns, *_ = drafted_columns(read_public_file(tmp_path / f"{name}.csv"), {})
        (region,) = (column for column in columns if column.source == "region")
        assert ("--areas" in region.doubt) == asked


def test_the_number_of_an_institution_is_a_code_and_years_of_school_are_none(tmp_path: Path) -> None:
    """2,400 schools from 1 on look like a quantity; school from 3 to 16 are years, which wages grow with."""
    found = drafted("school", RANDOM.integers(1, 2400, 4 * N))
    assert isinstance(found, LeftOut)
    years = np.clip(np.round(RANDOM.normal(12, 1.5, N)), 3, 16).astype(int)
    pd.DataFrame({"school": years, "wage": np.round(years / 8 + RANDOM.normal(0, 0.3, N), 3)}).to_csv(tmp_path / "public.csv")
    columns, *_ = drafted_columns(read_public_file(tmp_path / "public.csv"), {})
    assert [column.kind for column in columns if column.source == "school"] == ["integer"]


def test_a_quantity_of_a_place_is_a_number_and_the_number_of_a_place_is_a_code(tmp_path: Path) -> None:
    """Sixty airports in no order: each has one distance and one number, and both tell the airport in every row."""
    distances, numbers = RANDOM.permutation(np.arange(94, 4983, 71))[:60], RANDOM.permutation(np.arange(94, 4983, 71))[:60]
    place = RANDOM.integers(0, 60, 2 * N)
    table = {
        "airport": [f"AP{one:02d}" for one in place],
        "region": place % 7,
        "distance": distances[place],
        "counter": numbers[place],
    }
    pd.DataFrame(table).to_csv(tmp_path / "public.csv", index=False)
    columns, left_out, *_ = drafted_columns(read_public_file(tmp_path / "public.csv"), {})
    kinds = {column.source: column.kind for column in columns} | {left.source: "left out" for left in left_out}
    assert kinds["distance"] == "integer"
    assert kinds["counter"] in {"code", "left out"}


@pytest.mark.parametrize("name", ["first", "last_name", "surname", "Vorname", "prénom", "apellidos", "achternaam"])
def test_names_of_persons_are_left_out_however_frequent_they_are(name: str) -> None:
    """A frequent name is no category of an answer, and a rare one tells who is in the file."""
    names = np.array(
        [
            f"{a}{b}"
            for a in ("Ann", "Bea", "Cyd", "Dan")
            for b in ("a", "e", "i", "o", "u", "y", "is", "ne", "ra", "lo", "mo", "ti", "vo")
        ]
    )
    texts = names[np.minimum(RANDOM.geometric(0.08, N), len(names)) - 1]
    found = drafted(name, texts)
    assert isinstance(found, LeftOut)
    assert "names of persons" in found.because
    assert isinstance(drafted("first_diagnosis", texts), ColumnDraft)


@pytest.mark.parametrize("name", ["uid", "pid", "survey_uid"])
def test_numbers_that_are_named_a_key_are_a_key_if_most_rows_have_their_own(name: str) -> None:
    """Random numbers, as a quantity has them: the name decides."""
    values = RANDOM.integers(10_000, 60_000, N)
    assert isinstance(drafted(name, values), LeftOut)
    assert isinstance(drafted("amount", values), ColumnDraft)


def test_a_label_tells_a_stratum() -> None:
    found = drafted("v2", STRATA, CodebookEntry(description="Primary sampling unit of the respondent"))
    assert isinstance(found, LeftOut)
    assert "cluster of a sample" in found.because


def test_labels_of_a_column_are_written_alike_where_the_file_allows_it() -> None:
    """Most rows are in small letters; of one category most rows are in capitals, and its label would stand out."""
    texts = [*["surgery"] * 900, *["Surgery"] * 50, *["MEDICINE"] * 60, *["medicine"] * 40, *["births"] * 500]
    found = drafted("ward", texts)
    assert isinstance(found, ColumnDraft)
    assert {code.label for code in found.codes.values()} == {"surgery", "medicine", "births"}
    assert sum(code.rows for code in found.codes.values()) == len(texts)


def test_of_ten_columns_three_are_asked_about(tmp_path: Path) -> None:
    """Ten columns of nine numbers each that nothing tells from codes, and one value that is far from all others."""
    table = {f"q{number}": RANDOM.integers(1, 10, 1500) for number in range(9)}
    table["fee"] = np.append(np.round(RANDOM.gamma(2, 10, 1499)), 90_000)
    pd.DataFrame(table).to_csv(tmp_path / "public.csv", index=False)
    columns, *_ = drafted_columns(read_public_file(tmp_path / "public.csv"), {})
    asked = [column.source for column in columns if column.doubt]
    assert len(asked) == 3
    assert "fee" in asked
    assert all("perhaps" in column.remark for column in columns if column.source not in asked)


@pytest.mark.parametrize("name", ["studied_credits", "x3"])
def test_multiples_of_30_are_a_number_of_credits(name: str) -> None:
    """Neighbouring numbers are unequally frequent and have no order in other columns: a draft took them for codes, unasked."""
    texts = {str(30 * n): 1500 * (1 + 9 * (n in (2, 4))) // n for n in range(1, 16)}
    texts |= {str(number): 5 + number // 9 for number in (45, 55, 70, 75, 80, 100, 110, 135, 140, 195)}
    answers = Answers.of(name, texts, 0, CodebookEntry())
    found = draft_column(answers, (), Order(unlike=0.7, witnesses=4))
    assert isinstance(found, ColumnDraft)
    assert found.kind == "integer"
    codes = RANDOM.choice([31, 47, 60, 75, 90, 128, 150, 181, 213, 240], N)  # some are multiples
    assert drafted("gemeinde", codes).kind == "code"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "name", ["year", "YearBuilt", "modelYear", "Baujahr", "año", "v3", "birth_year", "income", "kcal", "yearly_pay"]
)
def test_the_mean_of_a_calendar_year_is_not_measured(name: str) -> None:
    """The draft says so. Energy in kcal from 1850 to 1990 lost its mean without a word."""
    measured = name in ("birth_year", "income", "kcal", "yearly_pay")
    values = RANDOM.integers(1000, 90_000, N) if name == "income" else RANDOM.integers(2004, 2020, N)
    found = drafted(name, values, CodebookEntry(description="year of the survey" if name == "v3" else ""))
    assert isinstance(found, ColumnDraft)
    assert found.kind == "integer"
    assert (found in with_means([found])) == measured
    assert ("the numbers are years, so their mean is not measured" in found.remark) != measured
