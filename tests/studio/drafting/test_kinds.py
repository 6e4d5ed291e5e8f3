"""Numbers or codes: by their shape and by what other columns say. In any language: no test gives a column a telling name."""

from __future__ import annotations

import json
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthrelease.scouting.codebook import CodebookEntry, read_codebook
from synthrelease.studio.drafting.column_draft import Answers, ColumnDraft, LeftOut
from synthrelease.studio.drafting.columns import drafted_columns, number_or_code
from synthrelease.studio.drafting.computed import _in_same_order
from synthrelease.studio.drafting.public_file import Order, orders, public_rows, read_public_file

N = 4000


def drafted(frame: pd.DataFrame, folder: Path, codebook: object = None) -> dict[str, ColumnDraft | LeftOut]:
    """What becomes of every column of a table, by its name in the file."""
    frame.to_csv(folder / "public.csv", index=False)
    (folder / "book.json").write_text(json.dumps(codebook or {}), encoding="utf-8")
    columns, gone, *_ = drafted_columns(read_public_file(folder / "public.csv"), read_codebook(folder / "book.json").entries)
    return {one.source: one for one in (*gone, *columns)}


def column(found: dict[str, ColumnDraft | LeftOut], name: str) -> ColumnDraft:
    one = found[name]
    assert isinstance(one, ColumnDraft), one
    return one


def people(random: np.random.Generator) -> dict[str, np.ndarray]:
    """Ages that few rows have each, and what goes with them."""
    age = (18 + 70 * random.beta(1.6, 2.2, N)).astype(int)
    return {
        "age": age,
        "b": np.round(random.lognormal(6 + age / 40, 0.4), 1),
        "c": np.where(random.random(N) < age / 90, "yes", "no"),
        "d": np.round(random.normal(100 + age, 15), 1),
    }


def test_the_same_numbers_in_another_order_are_codes(tmp_path: Path) -> None:
    """Both columns have the same numbers, and the same rows have one in common: only what is near what is another."""
    random = np.random.default_rng(3)
    table = people(random)
    ages = np.unique(table["age"])
    other = dict(zip(ages.tolist(), random.permutation(ages).tolist(), strict=True))
    quantity = column(drafted(pd.DataFrame(table), tmp_path), "age")
    assert (quantity.kind, quantity.doubt) == ("integer", "")
    table["age"] = np.array([other[age] for age in table["age"].tolist()])
    codes = column(drafted(pd.DataFrame(table), tmp_path), "age")
    assert (codes.kind, codes.doubt) == ("code", "")
    assert "no more similar in other columns than any two" in codes.remark


def order_of(name: str, frame: pd.DataFrame, folder: Path) -> Order:
    """What the other columns of a table say of one."""
    frame.to_csv(folder / "public.csv", index=False)
    file = read_public_file(folder / "public.csv")
    answers = {name: Answers.of(name, texts, 0, CodebookEntry()) for name, texts in file.columns.items()}  # type: ignore[arg-type]
    return orders(answers, public_rows(file, answers))[name]


@pytest.mark.parametrize(("other", "expected"), [("smooth", 0.0), ("ragged", 1.0), ("noise", None)])
def test_neighbours_are_compared_beside_chance(other: str, expected: float | None, tmp_path: Path) -> None:
    """Of a quantity near 0, though ten rows of each value differ by chance; of codes near 1; noise has no say."""
    random = np.random.default_rng(4)
    x = random.integers(0, 400, N)
    means = {"smooth": x / 400, "ragged": random.normal(0, 1, 400)[x], "noise": np.zeros(N)}[other]
    found = order_of("x", pd.DataFrame({"x": x, "other": np.round(means + random.normal(0, 1, N), 2)}), tmp_path)
    assert found.unlike == (expected if expected is None else pytest.approx(expected, abs=0.25))
    assert found.witnesses == (expected is not None)


def test_ranges_of_a_quantity_and_its_tens_say_nothing_of_codes(tmp_path: Path) -> None:
    age = people(np.random.default_rng(5))["age"]
    table = pd.DataFrame({"age": age, "tens": age // 10, "group": np.array(["young", "middle", "old"])[age // 31]})
    found = order_of("age", table, tmp_path)
    assert (found.part_of, found.tells) == ("", "")
    table["group"] = np.array(["even", "odd"])[age % 2]
    assert order_of("age", table, tmp_path).tells == "group"


RAGGED = np.random.default_rng(1).lognormal(4, 1.3, 30).round().astype(int) + 1
SMOOTH = np.array([400, 420, 410, 390, 350, 300, 240, 180, 120, 70])


@pytest.mark.parametrize(
    ("values", "rows", "order", "codes"),
    [
        (np.arange(10, 40), RAGGED, Order(), True),
        (np.arange(10, 40), RAGGED, Order(unlike=0.05, witnesses=4), False),  # alike in other columns
        (np.arange(10, 40), RAGGED, Order(unlike=0.05, witnesses=4, part_of="z"), True),
        (np.arange(30), np.array([*RAGGED[:1] * 500, *RAGGED[1:]]), Order(), False),  # most are 0
        (np.arange(40, 70), np.where(np.arange(40, 70) % 5, RAGGED, 60 * RAGGED[::-1]), Order(unlike=0.7, witnesses=4), False),
        (10 * np.arange(40, 70), RAGGED, Order(), True),  # given out in tens
        (np.arange(20, 30), SMOOTH, Order(unlike=0.7, witnesses=4), False),
        (np.array([20, 21, 22, 23, 24, 31, 32, 33, 34, 35]), SMOOTH, Order(unlike=0.7, witnesses=4), True),  # a hole
    ],
)  # fmt: skip
def test_every_piece_of_evidence_can_decide(values: np.ndarray, rows: np.ndarray, order: Order, codes: bool) -> None:
    answers = Answers.of("x", dict(zip(map(str, values.tolist()), rows.tolist(), strict=True)), 0, CodebookEntry())
    assert number_or_code(answers, values.astype(float), rows, order).codes == codes


def test_digits_that_other_columns_repeat_are_codes(tmp_path: Path) -> None:
    """A municipality begins with its county and ends with its number there; nobody names anything."""
    random = np.random.default_rng(5)
    county, number = random.integers(10, 30, N), random.integers(1, 15, N)
    found = drafted(pd.DataFrame({**people(random), "x": county * 100 + number, "y": county, "z": number}), tmp_path)
    assert [column(found, name).kind for name in "xyz"] == ["code"] * 3
    assert "'x' has the same first or last digits" in column(found, "y").remark
    age = column(drafted(pd.DataFrame({**people(random), "decade": people(random)["age"] // 10}), tmp_path), "age")
    assert age.kind == "integer"  # all endings occur


def test_a_number_that_tells_another_column_in_no_order_is_a_code(tmp_path: Path) -> None:
    """Products by number, and the group that each is of: ranges of numbers would be no such thing."""
    random = np.random.default_rng(6)
    product = random.choice(np.arange(100, 160), N, p=random.dirichlet(np.full(60, 3.0)))
    table = people(random)
    groups = random.integers(0, 5, 160)
    told = column(drafted(pd.DataFrame({**table, "x": product, "y": groups[product]}), tmp_path), "x")
    assert told.kind == "code"
    assert "'y'" in told.remark
    ranges = column(drafted(pd.DataFrame({**table, "x": table["age"], "y": table["age"] // 15}), tmp_path), "age")
    assert ranges.kind == "integer"


RANDOM = np.random.default_rng(7)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (RANDOM.choice([2010, 2011, 2012, 2013, 2014, 2015], N), "integer"),  # years
        (RANDOM.choice([1990, 2000, 2010], N), "integer"),
        (np.minimum(RANDOM.geometric(0.3, N), 16) - 1, "integer"),  # numbers of things
        (np.clip(np.round(RANDOM.normal(8, 2.5, N)), 1, 15).astype(int), "integer"),  # grades, years of school
        (np.where(RANDOM.random(N) < 0.8, 0, RANDOM.integers(1, 9000, N)), "integer"),  # amounts, most of them none
        (np.where(RANDOM.random(N) < 0.7, 10 * RANDOM.integers(1, 9, N), RANDOM.integers(1, 90, N)), "integer"),  # rounded
        (RANDOM.choice([3, 17, 60], N), "code"),
        (RANDOM.choice(RANDOM.integers(10_000, 99_999, 45), N), "code"),  # five digits, far apart
        (
            RANDOM.choice([*range(1, 20), *range(40, 52)], N, p=RANDOM.dirichlet(np.full(31, 0.8))),
            "code",
        ),  # ragged, with a hole
    ],
    ids=["years", "every tenth year", "numbers of things", "grades", "most 0", "rounded", "few", "far apart", "ragged"],
)
def test_shape_alone(values: np.ndarray, kind: str, tmp_path: Path) -> None:
    assert column(drafted(pd.DataFrame({"sex": RANDOM.choice(["f", "m"], N), "x": values}), tmp_path), "x").kind == kind


def test_what_is_doubtful_is_asked_and_the_answer_turns_it_around(tmp_path: Path) -> None:
    """Nothing says what a column is: the draft asks, and takes what a codebook answers."""
    frame = pd.DataFrame({"sex": RANDOM.choice(["f", "m"], N), "x": np.minimum(RANDOM.zipf(1.4, N), 60)})
    guessed = column(drafted(frame, tmp_path), "x")
    assert guessed.kind == "integer"
    answer = json.loads(guessed.doubt[guessed.doubt.index("{") :])
    assert answer == {"x": {"kind": "code"}}
    turned = column(drafted(frame, tmp_path, answer), "x")
    assert (turned.kind, turned.doubt) == ("code", "")
    back = column(drafted(frame, tmp_path, {"x": {"kind": "number", "values": {"1": "one"}}}), "x")
    assert (back.kind, back.doubt) == ("integer", "")


def test_a_column_that_no_other_one_knows_of_is_asked_about(tmp_path: Path) -> None:
    """Numbers of things and codes in the order of their frequency look alike; with one that depends on them, they do not."""
    x = np.minimum(RANDOM.geometric(0.1, N), 60)
    sexes = RANDOM.choice(["f", "m"], N)
    alone = column(drafted(pd.DataFrame({"sex": sexes, "x": x}), tmp_path), "x")
    assert not column(drafted(pd.DataFrame({"sex": sexes, "x_count": x}), tmp_path), "x_count").doubt
    known = column(drafted(pd.DataFrame({"y": np.round(x + RANDOM.normal(0, 9, N), 1), "x": x}), tmp_path), "x")
    assert (alone.kind, known.kind) == ("integer", "integer")
    assert alone.doubt
    assert not known.doubt


def pupils(random: np.random.Generator) -> pd.DataFrame:
    """Pupils of 60 schools, which differ in what their pupils are like, and in nothing that their numbers or sizes tell."""
    school = random.integers(0, 60, N)
    numbers, sizes = (
        random.choice(np.arange(2000, 4700), 60, replace=False),
        random.choice(np.arange(90, 1300), 60, replace=False),
    )
    sizes[1] = sizes[0]
    ability = random.normal(0, 1, 60)[school]
    return pd.DataFrame({
        "a": numbers[school],
        "b": sizes[school],
        "c": np.round(random.uniform(5, 99, 60), 1)[school],
        "d": np.where(random.random(N) < 1 / (1 + np.exp(-2 * ability)), "yes", "no"),
        "e": np.round(ability + random.normal(0, 1, N), 3),
    })  # fmt: skip


def test_what_a_group_has_is_a_number_and_the_number_of_the_group_a_code(tmp_path: Path) -> None:
    """Sizes and percentages of 60 schools have gaps and unlike neighbours, as codes have: each is that of one school."""
    found = drafted(pupils(np.random.default_rng(8)), tmp_path)
    assert [column(found, name).kind for name in "abc"] == ["code", "integer", "real"]


def test_the_columns_that_the_numbers_explain_most_say_most(tmp_path: Path) -> None:
    """Three columns go with even numbers a little more often; one grows with all of them."""
    random = np.random.default_rng(12)
    mark = random.integers(0, 9, N)
    frame = pd.DataFrame({"x": mark, "y": np.round(mark + random.normal(0, 0.5, N), 2)})
    for name in "abc":
        frame[name] = np.where(random.random(N) < 0.4 + 0.2 * (mark % 2), "yes", "no")
    found = order_of("x", frame, tmp_path)
    assert found.unlike is not None
    assert found.unlike < 0.3


def test_columns_of_one_classification_are_in_one_order_and_say_nothing(tmp_path: Path) -> None:
    """Most people live in the region that they were born in: neighbouring numbers are so, too, which makes no quantity."""
    random = np.random.default_rng(9)
    lives = random.integers(1, 33, N)
    born = np.where(random.random(N) < 0.7, lives, random.integers(1, 33, N))
    frame = pd.DataFrame({"x": lives, "y": born, "z": np.round(random.normal(0, 1, 33)[lives] + random.normal(0, 1, N), 2)})
    found = drafted(frame, tmp_path)
    assert [column(found, name).kind for name in "xy"] == ["code", "code"]


def test_hundreds_of_scores_that_are_fewer_towards_both_ends_are_a_quantity() -> None:
    """Scaled scores of tests of several grades, each with values of its own: neighbours are of different tests, and unlike."""
    random = np.random.default_rng(10)
    values = np.sort(random.choice(np.arange(300, 700), 190, replace=False))
    rows = 1 + np.round(300 * np.exp(-((values - 510) ** 2) / 3000) * random.choice([0.2, 1.0, 1.8], 190)).astype(int)
    answers = Answers.of("x", dict(zip(map(str, values.tolist()), rows.tolist(), strict=True)), 0, CodebookEntry())
    assert not number_or_code(answers, values.astype(float), rows, Order(unlike=1.0, witnesses=9)).codes
    shuffled = random.permutation(rows)  # codes: as many rows here as there
    assert number_or_code(answers, values.astype(float), shuffled, Order(unlike=1.0, witnesses=9)).codes


def test_columns_in_the_same_order_are_found_as_by_comparing_all_pairs_of_rows() -> None:
    for x, y in product(product(range(3), repeat=3), repeat=2):
        pairs = [*combinations(range(3), 2)]
        expected = all(np.sign(x[a] - x[b]) == np.sign(y[a] - y[b]) for a, b in pairs)
        assert _in_same_order(np.array(x), np.array(y)) == expected


def test_numbers_on_a_line_with_others_go_and_say_which_line(tmp_path: Path) -> None:
    """Degrees twice, a score less its mean, its power and its negative exponential. A rounded version says less and stays, as
    do a column with other gaps and one in which two rows have another order.
    """
    random = np.random.default_rng(11)
    celsius = np.round(random.normal(37, 1, N), 1)
    frame = pd.DataFrame({
        "celsius": celsius,
        "fahrenheit": np.round(32 + 1.8 * celsius, 1),
        "centred": celsius - celsius.mean(),
        "power": celsius**3,
        "falling": np.exp(-celsius / 5),
        "degrees": np.round(celsius),
        "exchanged": (celsius**3)[np.where(celsius == celsius.max(), celsius.argmin(), np.arange(N))],
        "some": np.where(np.arange(N) % 9 == 0, np.nan, celsius),
        "other": np.round(celsius + random.normal(0, 0.2, N), 1),
    })  # fmt: skip
    found = drafted(frame, tmp_path)
    assert {name for name, one in found.items() if isinstance(one, LeftOut)} == {
        "fahrenheit", "centred", "power", "falling",
    }  # fmt: skip
    told = found["fahrenheit"]
    assert isinstance(told, LeftOut)
    assert told.because.startswith("in every row of the public file, it is about 1.799 times 'celsius' plus 32")
