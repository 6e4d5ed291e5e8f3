"""Keys by shape: what no quantity would look like, in any language, and the true words about it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.errors import InputError
from synthrelease.scouting.codebook import CodebookEntry
from synthrelease.studio.drafting.column_draft import Answers, LeftOut, left_out_as_key, missing_keys, of_many_texts
from synthrelease.studio.drafting.options import UnitAnswer, largest_bias
from synthrelease.studio.drafting.public_file import read_public_file
from synthrelease.studio.drafting.text import unit_text
from synthrelease.studio.rehearsal.plan_race import Promise
from tests.helpers.drafts import draft


def plain_text(lines: str) -> str:
    """Lines of a comment as one sentence after the other."""
    return " ".join(lines.replace("\n# ", " ").split())


RANDOM = np.random.default_rng(11)
START = RANDOM.bit_generator.state
N = 5000


@pytest.fixture(autouse=True)
def the_same_numbers_in_any_order() -> None:
    RANDOM.bit_generator.state = START


def key_of(values: Iterable[object], source: str = "kolonne") -> LeftOut | None:
    return left_out_as_key(Answers.of(source, dict(Counter(map(str, values))), 0, CodebookEntry()))


def shared(low: int, high: int, n: int = N, rows: float = 1.25) -> np.ndarray:
    """Numbers drawn once each, of which every one has a row, and some more."""
    numbers = low + RANDOM.choice(high - low, int(n / rows), replace=False)
    return np.repeat(numbers, 1 + RANDOM.poisson(rows - 1, len(numbers)))


def incomes(n: int = N) -> np.ndarray:
    return np.round(RANDOM.lognormal(10, 0.8, n)).astype(int)


def minutes() -> list[str]:
    start = datetime(2019, 1, 1)
    return [(start + timedelta(minutes=minute)).strftime("%Y%m%d%H%M") for minute in RANDOM.integers(0, 525_600, N).tolist()]


def partly_rounded(values: np.ndarray, to: int, share: float) -> np.ndarray:
    return np.where(RANDOM.random(len(values)) < share, np.round(values / to) * to, values).astype(int)


@pytest.mark.parametrize(
    "made",
    [
        lambda: shared(1, 4001),  # running numbers, four for five rows
        lambda: shared(70_000, 70_000 + 2000, rows=2.5),
        lambda: shared(1, 10**6),  # a sample of a register's numbers
        lambda: shared(10**5, 10**6),
        lambda: shared(10**7, 10**8),
        lambda: shared(2 * 10**10, 2 * 10**10 + 9000, rows=1.7),
        lambda: [f"{number:08d}" for number in shared(1, 60_000)],
        lambda: [f"{number}.0" for number in shared(10**5, 10**6)],  # as a column with gaps is written
        lambda: [f"P{number}" for number in shared(10**5, 10**6)],
        lambda: [f"{number:08x}" for number in shared(0, 2**24)],
        lambda: shared(1, 241, 300),  # a small register
        lambda: shared(10**7, 8 * 10**7, rows=4.2) * 10 + 1,  # nine digits of a family, and the first child
    ],
)
def test_numbers_that_were_given_to_somebody_are_a_question(made: Callable[[], Iterable[object]]) -> None:
    values = list(made())
    found = key_of(values)
    assert found is not None
    times = Counter(map(str, values))
    assert (found.rows_of_one, found.mean_rows) == (max(times.values()), pytest.approx(times.total() / len(times), rel=0.01))


@pytest.mark.parametrize(
    "made",
    [
        lambda: incomes(),
        lambda: partly_rounded(incomes(), 500, 0.4),
        lambda: np.round(incomes() / 10) * 10,
        lambda: np.where(RANDOM.random(N) < 0.4, 12_345, incomes()),  # an amount that many have
        lambda: np.round(RANDOM.normal(3300, 500, 50_000)).astype(int),  # grams
        lambda: partly_rounded(RANDOM.normal(3300, 500, N), 10, 0.5),
        lambda: RANDOM.integers(1_546_300_800, 1_577_836_800, 20_000),  # seconds of a year
        lambda: RANDOM.integers(25_771_680, 26_297_280, 20_000) * 60,
        lambda: minutes(),
        lambda: [f"{degrees:.4f}" for degrees in RANDOM.normal(48, 0.1, N)],
        lambda: np.repeat(RANDOM.integers(400_000, 500_000, N // 2), 2) / 10,  # metres with decimals, two rows at each place
        lambda: RANDOM.integers(300_000, 700_000, N),
        lambda: RANDOM.integers(0, 30_000, 9000),
        lambda: RANDOM.binomial(1000, 0.6, N),
        lambda: np.round(RANDOM.exponential(20_000, N)).astype(int),  # durations
        lambda: (np.round(RANDOM.gamma(2, 80_000, N // 2)).astype(int) + 12_000)[
            RANDOM.integers(0, N // 2, N)
        ],  # weights of cells
        lambda: RANDOM.choice(10**6 + np.arange(300) * 7, N),  # codes
    ],
)
def test_quantities_with_many_values_are_no_keys(made: Callable[[], Iterable[object]]) -> None:
    assert key_of(made()) is None


def test_only_what_is_so_in_nearly_every_row_is_said_of_nearly_every_row() -> None:
    """38% of the rows have a number of an event of their own; 97% a name of their own."""
    events = np.concatenate([np.arange(1900), np.repeat(np.arange(1900, 2900), 3), np.repeat(np.arange(2900, 2904), 25)])
    found = key_of(events + 200_000, "tapaus_no")
    assert found is not None
    assert found.because.startswith("it has 2,904 different values, up to 25 rows each, like a key of persons, events")
    assert "(38% of the rows have a unique value)" in found.because
    assert found.rows_of_one == 25
    names = key_of([f"name of {'x' * (number % 7)}{number}" for number in [*range(4900), *range(75), *range(75)]])
    assert names is not None
    assert re.match("nearly every row has a different value", names.because)
    assert names.rows_of_one == 0  # hardly a row shares it: no key of persons who come again
    texts = key_of([f"remark {chr(97 + number % 26)}{number}" for number in [*range(2000), *range(1000)]])
    assert texts is not None
    assert "(33% of the rows have a unique value)" in texts.because


@pytest.mark.parametrize("name", ["childid", "PUPIL_ID", "subjectId", "stuid", "pat_id", "id"])
def test_a_name_tells_a_key_also_of_a_short_file(name: str) -> None:
    """Of 200 three-digit numbers, six rows each, no shape tells what they are."""
    values = np.repeat(RANDOM.choice(np.arange(100, 999), 200, replace=False), 6)
    found = key_of(values, name)
    assert found is not None
    assert found.rows_of_one == 6
    assert key_of(values, "paid") is None
    assert key_of(RANDOM.choice(values, 20_000), name) is None  # a hundred rows each are a code


def test_a_time_that_many_share_is_no_key() -> None:
    """Whole days of follow-up: who entered in one week is seen for as many weeks, so that the same days come again oftener than
    by chance, evenly and without being rounded."""
    days = np.where(RANDOM.random(N) < 0.6, 11 + 7 * RANDOM.integers(0, 600, N), RANDOM.integers(0, 4200, N))
    assert key_of(days, "futime") is None
    assert key_of(days, "person_number") is not None  # "number" names a quantity, too, but also somebody's


def test_many_texts_that_are_about_as_frequent_may_be_a_key_and_are_offered_as_one() -> None:
    """Students who rate up to 90 lectures: too many rows each for a key that the shape tells, and none is frequent."""
    students = of_many_texts(Answers.of("s", dict(Counter(map(str, RANDOM.integers(1, 3000, 70_000)))), 0, CodebookEntry()))
    assert students.rows_of_one > 20
    assert "It may be a key of persons" in students.because
    assert "'s'" in plain_text(unit_text(None, [students]))
    codes = of_many_texts(Answers.of("c", {f"{n:04}": 1 + 9000 // (n + 1) for n in range(3000)}, 0, CodebookEntry()))
    assert codes.rows_of_one == 0


def test_a_value_of_a_key_that_many_rows_have_may_say_that_there_is_none() -> None:
    """A hospital that writes 0 for stays of unknown patients, whom nobody may take for one patient."""
    keys = [*map(str, shared(100_000, 109_999, 2000)), *["0"] * 300]
    drafted = key_of(keys, "patient_id")
    assert drafted is not None
    assert drafted.besides == "besides '0', "
    assert "'patient_id' (besides '0', up to" in plain_text(unit_text(None, [drafted]))
    plain = key_of(keys[:-300], "patient_id")
    assert plain is not None
    assert plain.besides == ""


def test_a_frequent_visitor_is_no_missing_key() -> None:
    assert missing_keys({"a": 40, "b": 1, "c": 1}) == ()
    assert missing_keys({"a": 400, "b": 60, "c": 1}) == ()
    assert missing_keys({"a": 600, "b": 60, "c": 1}) == ("a",)


def test_values_that_are_far_more_frequent_than_any_person_are_missing_keys() -> None:
    some = {f"{key}": 3 for key in range(1, 400)}
    assert missing_keys({**some, "0": 90, "99999": 60, "unknown": 50, "9": 3}) == ("0", "99999", "unknown")
    assert missing_keys({**some, "0": 49}) == ()
    assert missing_keys({**some, "0": 90, "7": 10}) == ()  # a person has a ninth of them
    assert missing_keys({**some, "0": 90, "1234": 900}) == ("0", "1234")  # whatever the most frequent one is called
    assert missing_keys({"0": 900, "9": 60}) == ()


def test_the_answer_with_a_key_asks_about_such_a_value(tmp_path: Path) -> None:
    path = tmp_path / "stays.csv"
    path.write_text("patient,day\n" + "".join(f"{key},1\n" for key in [*range(1, 40), *[0] * 80, *[""] * 90]))
    answer = UnitAnswer.of("patient", ["patient", "day"]).ordered(read_public_file(path, None), [], {})
    assert (answer.missing_keys, answer.without_key, answer.later) == (("0",), 170, 0)
    assert "the key 'patient' is '0' in 80 rows, many more than any other key has. Is the key unknown" in answer.doubt
    assert 'missing_keys = ["0"]' in unit_text(answer, [])
    assert answer.doubt in plain_text(unit_text(answer, []))
    assert UnitAnswer(key="patient").doubt == ""
    file = read_public_file(path, None)
    known = UnitAnswer.of("patient", ["patient", "day"]).ordered(file, [], {}, declared=["0", "99"])  # the codebook says so
    assert (known.missing_keys, known.without_key, known.later) == (("0",), 170, 0)
    assert "many more than any other key" not in known.doubt


def visits(path: Path, persons: int = 400) -> tuple[int, int]:
    """Persons who come up to five times; the first visit is worth 1 to 3 points, a later one more. Rows, and rows that have
    no points among those that may be the one of their person."""
    lines, blank = list[str](), 0
    for person in range(persons):
        for visit in range(1 + person % 5):
            points = "" if person % 100 == 0 else str(RANDOM.integers(1, 4) + 2 * min(visit, 2))
            blank += points == ""
            lines.append(f"{9 * person + 20_000},{visit + 1},{'FM'[person // 5 % 2]},{points},{RANDOM.integers(1, 4)}")
    RANDOM.shuffle(lines)
    path.write_text("patient,visit,sex,points,ward\n" + "\n".join(lines) + "\n")
    return len(lines), blank


def test_the_order_is_asked_for_and_chance_decides(tmp_path: Path) -> None:
    """Every column in which rows of a person differ is named, also the number of the visit that a draft leaves out."""
    rows, _ = visits(tmp_path / "visits.csv")
    answer = UnitAnswer.of("patient", ["patient", "visit"]).ordered(read_public_file(tmp_path / "visits.csv", None), [], {})
    assert (answer.first_by, answer.later, answer.without_key) == ((), rows - 400, 0)
    assert next(iter(answer.varying.items())) == ("visit", 1.0)
    assert set(answer.varying) == {"visit", "points", "ward"}
    assert "The draft releases random rows" in answer.doubt
    assert 'first_by = ["COLUMN"]' in answer.doubt


@pytest.mark.parametrize("released", ["discharged", "visit", "amount"])
def test_no_released_value_chooses_the_row_of_a_person(released: str, tmp_path: Path) -> None:
    """By a date the earliest stay of each person would be released, by an amount the cheapest: both lean. Only the number of
    the record, which is not released, may be drafted as the order, and init says how to draw at random."""
    n = 600
    days = np.sort(RANDOM.integers(0, 330, n))
    values = {
        "discharged": [f"2024-{1 + day // 28:02}-{1 + day % 28:02}" for day in days.tolist()],
        "visit": [number // 200 + 1 for number in range(n)],
        "amount": RANDOM.integers(100, 100_000, n).tolist(),
    }[released]
    persons = [number % 200 + 5000 for number in range(n)]
    lines = [f"{person},{70_000 + i},{value}" for i, (person, value) in enumerate(zip(persons, values, strict=True))]
    RANDOM.shuffle(lines)
    (tmp_path / "stays.csv").write_text(f"patient,record,{released}\n" + "\n".join(lines) + "\n")
    file = read_public_file(tmp_path / "stays.csv", None)
    assert UnitAnswer.of("patient", ["patient"]).ordered(file, [], {}).first_by == ()
    numbered = UnitAnswer.of("patient", ["patient"]).ordered(file, ["record"], {"discharged": "%Y-%m-%d"})
    assert numbered.first_by == (() if released == "amount" else ("record",))  # amounts have no order among the records
    for answer in (numbered, UnitAnswer.of("patient", ["patient"]).ordered(file, [], {})):
        assert "random" in plain_text(unit_text(answer, [])) or 'first_by = "random"' in answer.doubt


def test_an_identifier_that_is_0_in_most_rows_is_no_key_of_one_person(tmp_path: Path) -> None:
    """As CPSID in IPUMS: persons whose household was in no basic sample all have 0."""
    keys = [*map(str, RANDOM.permutation(np.repeat(np.arange(20_190_100, 20_190_700), 2))), *["0"] * 4000]
    found = key_of(keys, "CPSID")
    assert found is not None
    assert (found.rows_of_one, found.mean_rows) == (2, 2)
    assert found.because.startswith("besides '0', it has 600 different values, up to 2 rows each")
    asked = plain_text(unit_text(None, [found]))
    assert "'CPSID' (besides '0', up to 2 rows, 2 on average)." in asked
    assert key_of(["0"] * 4000 + keys[:600], "amount") is None  # an amount that is mostly 0
    (tmp_path / "cps.csv").write_text("CPSID,age\n" + "".join(f"{key},{at % 90}\n" for at, key in enumerate(keys)))
    answer = UnitAnswer.of("CPSID", ["CPSID", "age"]).ordered(read_public_file(tmp_path / "cps.csv", None), [], {})
    assert (answer.later, answer.without_key, answer.missing_keys) == (600, 4000, ("0",))


def test_the_only_key_is_named_where_the_unit_is_asked_for() -> None:
    told = plain_text(
        unit_text(
            None, [LeftOut(source="SERIAL", because="its name looks like the name of a key", rows_of_one=5, mean_rows=2.4)]
        )
    )
    assert "draft again with `init --unit SERIAL`, because budget and thresholds depend on the released rows" in told
    assert 'By hand, set key = "SERIAL", first_by = "random"' in told
    assert "persons or households with all their rows as a second table, draft with `--key SERIAL`" in told


def test_a_command_quotes_a_key_with_a_blank() -> None:
    key = LeftOut(source="person id", because="its name looks like the name of a key", rows_of_one=5, mean_rows=2.4)
    told = plain_text(unit_text(None, [key]))
    for command in ("`init --unit 'person id'`", "`--unit 'person id:3'`", "`--key 'person id'`"):
        assert command in told
    assert "`--key 'person id'`" in plain_text(unit_text(UnitAnswer(key="person id"), []))


def test_statistics_are_called_biased_only_if_rows_are_left_out() -> None:
    told = [plain_text(unit_text(UnitAnswer(key="person", records=3, later=later), [])) for later in (0, 1)]
    assert ["biased towards persons with few rows" in text for text in told] == [False, True]
    assert not any("  " in text.partition("[unit]")[0] for text in told)


def test_with_members_the_question_is_about_their_roots() -> None:
    """A draft with --key asked for --unit KEY or --key KEY."""
    told = plain_text(unit_text(None, [], "SERIAL"))
    assert "All rows with the same SERIAL are one record, such as a household, and are protected together" in told
    assert "--key" not in told


@pytest.mark.slow
def test_a_row_that_is_left_out_for_its_person_is_not_said_to_lack_a_value(tmp_path: Path) -> None:
    rows, blank = visits(tmp_path / "visits.csv", 2000)
    found = draft("visits", tmp_path / "visits.csv", unit="patient", promise=Promise.of("2", pure=False))
    text = " ".join(found.configuration.replace("\n#", " ").split())
    assert 'key = "patient" first_by = "random"' in text
    assert f"{rows - 2000:,} rows of persons with more rows than are released" in text
    assert "draft with `--key patient`" in text  # the way to release them all the same
    assert "Left out: 'visit', because the released rows of persons differ too much from all rows here." in text
    leans = re.search(r"differ most .*: ([\d.]+)% instead of ([\d.]+)%", text)
    assert leans is not None
    # of a person with k visits the first is drawn with probability 1/k: 46% for 33%
    assert 7 <= float(leans[1]) - float(leans[2]) <= 20
    assert "Left out: 'points', because there are too few rows" in text
    lines = (tmp_path / "visits.csv").read_text().splitlines()  # if the ward depends on the sex, the points stay, too
    lines[1:] = [f"{line[:-1]}{int(line[-1]) % 2 + 2 * (',F,' in line)}" for line in lines[1:]]
    (tmp_path / "visits.csv").write_text("\n".join(lines) + "\n")
    found = draft("visits", tmp_path / "visits.csv", unit="patient", promise=Promise.of("2", pure=False))
    text = " ".join(found.configuration.replace("\n#", " ").split())
    assert f"Rows without 'points' are excluded: {blank} of the {rows:,} rows" in text
    assert (found.n_rows, found.n_used) == (rows, 2000 - len(set(range(0, 2000, 100))))  # the plan is about persons


def test_rows_of_persons_that_differ_little_are_not_said_to_have_ten_instead_of_ten_per_cent() -> None:
    layout = Layout(columns=("ill",), sizes=(2,))
    binnings = [SimpleNamespace(labels=("no", "yes"))]
    whole, *some = (Counts(layout, np.arange(2), np.array(counts)) for counts in ((900, 100), (8970, 1030), (9, 1)))
    of_some, of_same = (largest_bias(rows, whole, cast(Any, binnings))[1] for rows in some)
    assert of_some.endswith("in the share of 'no' of ill: 89.7% instead of 90.0%.")
    assert of_same == "The released rows of persons are similar to all rows of the public file."


def test_a_mistyped_key_with_a_number_is_quoted_and_what_may_be_a_password_is_not() -> None:
    with pytest.raises(InputError, match="not 'patiens'. Did you mean 'patient'"):
        UnitAnswer.of("patiens:3", ["patient", "day"])
    with pytest.raises(InputError) as told:
        UnitAnswer.of("postgresql://u:secret@server/db:3", ["patient", "day"])
    assert "secret" not in str(told.value)


@pytest.mark.slow
def test_a_register_in_which_the_ill_come_often_is_drafted_and_says_how_it_leans(tmp_path: Path) -> None:
    """One row of each ill person tells less of all rows than all of them do: that is in the figure, and what leans is told."""
    lines = list[str]()
    for person in range(2000):
        ill = person % 5 == 0
        for _ in range(1 + person % 3 + ill):
            unit, days = ("ward", "ICU")[int(RANDOM.random() < (0.9 if ill else 0.1))], RANDOM.integers(1, 5) + 4 * ill
            lines.append(f"{7 * person + 100_000},{unit},{days}")
    (tmp_path / "stays.csv").write_text("patient,unit,days\n" + "\n".join(lines) + "\n")
    found = draft("stays", tmp_path / "stays.csv", unit="patient")
    assert "differ most from all rows" in found.criteria.kept
    assert "all rows of the persons in the other half" in found.criteria.kept
