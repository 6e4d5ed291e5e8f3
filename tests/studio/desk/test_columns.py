"""A column as another kind, as a weight, as the key, and left out: from the page, with the draft of a small public file."""

from __future__ import annotations

import html
import os
import re
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs the extra desk")
pytest.importorskip("httpx", reason="needs httpx, of the extra `test`")

from starlette.testclient import TestClient

from synthrelease.privacy.charges import decimal_text
from synthrelease.privacy.ledger import open_ledger
from synthrelease.spec.load import load_spec
from synthrelease.studio.desk.files import ANOTHER, DeskFiles, announced
from synthrelease.studio.desk.pages import Desk, application
from synthrelease.studio.desk.pages import Opened as Started
from synthrelease.studio.drafting.edits import Guesses
from synthrelease.studio.drafting.public_file import read_public_file
from tests.helpers.tiny import MEASURED, write_config
from tests.studio.desk.opened import ORIGIN, Opened, pressed

YEARS = """
[columns.coin]
kind = "integer"
bounds = [1, 5]
alternatives.all = ["1..5"]
"""
CHANGES = {**MEASURED, "\n[[rules]]\nnever = \"face == 'tail' and year > 6\"\n": YEARS, "year > 6": "year > 6"}


class Coins:
    """A desk over three columns of coins, each coin in several rows."""

    def __init__(self, folder: Path, /, name: str = "coins.toml", **opened: object):
        self.config = write_config(folder, {key: value for key, value in CHANGES.items() if key != value}).with_name(name)
        if not self.config.exists():
            self.config.write_text('extends = "coins.toml"\ntitle = "Child"\n', encoding="utf-8")
        public = folder / "public.csv"
        rows = [f"{('head', 'tail')[n % 2]},{n % 8 + 1},{n % 5 + 1},m{n // 3},{1 + n % 40}" for n in range(240)]
        public.write_text("face,year,coin,mint,heavy\n" + "\n".join(rows) + "\n", encoding="utf-8")
        file = read_public_file(public)
        started = Started(files=DeskFiles(self.config), public=file, guesses=Guesses.of(file), **opened)
        guard = application(Desk(started), ORIGIN)
        self.browser = TestClient(guard, base_url=ORIGIN, follow_redirects=False)
        self.browser.get(f"/?token={guard.token}")

    def post(self, screen: str, place: str, **values: str):
        return pressed(self.browser, screen, place, **values)

    def texts(self) -> tuple[str, str]:
        return self.config.read_text(), (self.config.parent / "acceptance.toml").read_text()


@pytest.fixture
def coins(tmp_path: Path) -> Coins:
    return Coins(tmp_path)


@pytest.mark.slow
def test_a_column_is_taken_for_codes_and_back_and_undone(coins: Coins) -> None:
    before = coins.texts()
    page = coins.browser.get("/columns").text
    assert "5 different values" in page or "5 codes" in page  # the reason of the guess
    assert coins.post("columns", "kind:coin", value="name").status_code == 303
    column = load_spec(coins.config).schema["coin"]
    assert (column.kind, column.bounds) == ("category", None)
    assert set(column.values) == {"1", "2", "3", "4", "5"}
    assert coins.post("columns", "kind:coin", value="number").status_code == 303
    assert load_spec(coins.config).schema["coin"].bounds is not None
    assert coins.post("columns", "undo").status_code == 303
    assert load_spec(coins.config).schema["coin"].bounds is None
    assert coins.texts()[1] == before[1]


@pytest.mark.parametrize(
    ("place", "values"),
    [
        ("kind:face", {"value": "number"}),  # heads are no numbers
        ("kind:face", {"value": "date"}),
        ("kind:coin", {"value": "else"}),
        ("kind:nobody", {"value": "name"}),
        ("kind:year", {"value": "name"}),  # a measured table has its bins
        ("key:nobody", {}),
        ("key:../public", {}),
        ("weight:face", {}),
        ("leave:nobody", {"sure": "yes"}),
        ("leave:nobody", {}),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_written(coins: Coins, place: str, values: dict[str, str]) -> None:
    before = coins.texts()
    answer = coins.post("columns", place, **values)
    if place == "kind:year":
        assert answer.status_code in (303, 422)
        assert answer.status_code == 422 or load_spec(coins.config).schema["year"].bounds is None
        return
    assert answer.status_code == 422
    assert "Nothing was saved" in answer.text
    assert coins.texts() == before


def test_what_goes_with_a_column_is_asked_first_and_then_gone_and_undone(coins: Coins) -> None:
    before = coins.texts()
    asked = coins.post("columns", "leave:coin")
    assert asked.status_code == 200
    assert "Leave out coin?" in asked.text
    assert coins.texts() == before
    assert coins.post("columns", "leave:coin", value="yes").status_code == 303
    assert load_spec(coins.config).schema.names == ("face", "year")
    assert coins.post("columns", "undo").status_code == 303
    assert coins.texts() == before


def test_a_column_of_the_file_says_whose_row_it_is(coins: Coins) -> None:
    assert ">mint</th>" in coins.browser.get("/columns").text  # a draft leaves it out, and says why
    assert coins.post("columns", "key:mint").status_code == 303
    unit = load_spec(coins.config).unit
    assert (unit.key, unit.records) == ("mint", 1)
    assert "up to 3 rows" in coins.browser.get("/people").text


def test_a_released_column_that_becomes_the_key_is_left_out_with_it(coins: Coins) -> None:
    before = coins.texts()
    assert coins.post("columns", "key:coin").status_code == 303
    spec = load_spec(coins.config)
    assert (spec.unit.key, spec.schema.names) == ("coin", ("face", "year"))
    assert coins.post("columns", "undo").status_code == 303
    assert coins.texts() == before


def test_who_said_a_limit_and_who_agreed_is_written_and_taken_back(coins: Coins) -> None:
    assert coins.post("columns", "bounds:coin", low="1", high="5", by='The mint\'s "book"').status_code == 303
    assert load_spec(coins.config).schema["coin"].bounds_by == 'The mint\'s "book"'
    assert coins.post("columns", "bounds:coin", low="1", high="5", by="").status_code == 303
    assert "bounds_by" not in coins.texts()[0]
    assert coins.post("questions", "agreed:0", by="The council", on="2026-11-22").status_code == 303
    agreed = load_spec(coins.config).criteria[0].agreed
    assert agreed is not None
    assert agreed.words == "Threshold agreed by The council on 2026-11-22."
    for by, on in (("", "2026-11-22"), ("x", "22.11.2026"), ("x", ""), ("a\nb", "2026-11-22"), ("x", "2026-11-22 }\nx = {")):
        before = coins.texts()
        assert coins.post("questions", "agreed:0", by=by, on=on).status_code == 422, (by, on)
        assert coins.texts() == before


def test_two_names_and_texts_of_the_card_are_written(coins: Coins) -> None:
    assert coins.post("signoff", "card:signed_by", first="A. Levi", second=" ").status_code == 303
    assert coins.post("signoff", "card:uses", value="Teaching\r\n\r\nShares").status_code == 303
    assert coins.post("signoff", "description", value="Coins.\nOf a mint.").status_code == 303
    spec = load_spec(coins.config)
    assert spec.card.signed_by == ("A. Levi",)
    assert spec.card.uses == ("Teaching", "Shares")
    assert spec.description == "Coins.\nOf a mint."
    assert "<td>A. Levi</td>" in coins.browser.get("/signoff").text
    for place in ("card:columns", "card:nobody", "card:published", "title"):
        assert coins.post("signoff", place, value="x").status_code == 422


def test_noise_beyond_the_smallest_bin_is_red_and_an_accuracy_has_its_epsilon(coins: Coins) -> None:
    assert coins.post("budget", "limit", value="100").status_code == 303
    assert coins.post("budget", "generation", value="0.1").status_code == 303
    page = coins.browser.get("/budget").text
    assert '<tr class="bad"><th scope="row">year</th>' in page
    assert coins.post("budget", "generation", value="20").status_code == 303
    assert '<tr class="bad">' not in coins.browser.get("/budget").text
    page = coins.browser.get("/budget?count=year&rows=10").text
    needed = page.partition("Save generation = ")[2].partition("<")[0]
    assert coins.post("budget", "generation", value=needed).status_code == 303
    assert f"then costs epsilon = {decimal_text(load_spec(coins.config).plan.total.epsilon)}" in page
    assert float(needed) < 20
    for asked in ("count=nobody&rows=10", "count=year&rows=-1", "count=year&rows=1e9", "count=year&rows=٣"):
        assert "Choose a count and enter a whole number of rows, such as 50" in coins.browser.get(f"/budget?{asked}").text


def test_the_ledger_shows_what_is_left_and_when_it_is_not_enough(tmp_path: Path) -> None:
    path = tmp_path / "coins.ledger"
    open_ledger(path, "coins", 30)
    coins = Coins(tmp_path, ledger=Path(os.path.relpath(path)))
    cost = load_spec(coins.config).plan.total.epsilon
    page = coins.browser.get("/budget").text
    assert "coins: epsilon 0 of 30 is spent" in page
    assert "too little epsilon left" not in page
    assert coins.post("budget", "limit", value="100").status_code == 303
    assert coins.post("budget", "generation", value="30").status_code == 303
    assert "too little epsilon left" in coins.browser.get("/budget").text
    assert cost < 30
    path.write_bytes(b"no ledger")
    page = coins.browser.get("/budget")
    assert page.status_code == 200
    assert 'class="wrong"' in page.text


def test_a_second_desk_on_the_same_files_is_told_and_a_third_after_the_first_is_not(tmp_path: Path) -> None:
    path = write_config(tmp_path)
    with announced(path) as first, announced(path) as second:
        assert (first, second) == ("", ANOTHER)
    with announced(path) as third:
        assert third == ""
    assert sorted(each.name for each in tmp_path.iterdir()) == ["acceptance.toml", "coins.toml"]
    coins = Coins(tmp_path, announced=ANOTHER)
    assert ANOTHER in html.unescape(coins.browser.get("/people").text)


@pytest.mark.slow
def test_the_largest_cost_has_the_longest_bar_also_where_charges_are_curves(tmp_path: Path) -> None:
    """Beside the total: no part costs more alone than all together, at the same delta."""
    desk = Opened(tmp_path, "births-all-generators.toml")
    total = load_spec(desk.config).plan.total
    page = desk.browser.get("/budget").text
    rows = re.findall(
        r'<th scope="row" class="d\d">([^<]*)</th><td>([\d.]+)[^<]*</td>\n<td><svg.*?<rect width="([\d.]+)"', page
    )
    costs = {name: (float(cost), float(width)) for name, cost, width in rows}
    assert costs["selection"][1] == 200
    assert float(total.epsilon) / 2 < costs["selection"][0] <= float(total.epsilon) * 1.001
    assert all(width >= 1 for _, width in costs.values())
    for cost, width in costs.values():
        assert width == pytest.approx(max(200 * cost / costs["selection"][0], 1), abs=0.2)


def test_no_column_becomes_the_key_before_somebody_chose_it(coins: Coins) -> None:
    before = coins.texts()
    page = coins.browser.get("/people").text
    assert '<select name="key/column" form="edit"><option value="">choose a column</option>' in page
    assert " selected" not in page
    assert coins.post("people", "key", column="").status_code == 422
    assert coins.post("people", "key").status_code == 422
    criterion = coins.browser.get("/questions").text.partition('id="more"')[2]
    assert criterion.count(" selected") == 0
    assert coins.texts() == before


def test_where_readers_get_the_program_is_saved_and_taken_out(coins: Coins) -> None:
    before, stated = coins.texts(), {"address": "https://example.org/p.tar.gz", "sha256": "A" * 64}
    assert coins.post("signoff", "card:program", **stated).status_code == 303
    program = load_spec(coins.config).card.program
    assert program is not None
    assert (program.address, program.sha256) == (stated["address"], "a" * 64)
    assert 'value="https://example.org/p.tar.gz"' in coins.browser.get("/signoff").text
    for wrong in ({"address": ""}, {"sha256": "0"}, {"address": "ftp://x"}, {"sha256": '0"\nx = "'}):
        saved = coins.texts()
        assert coins.post("signoff", "card:program", **(stated | wrong)).status_code == 422, wrong
        assert coins.texts() == saved
    assert coins.post("signoff", "card:program", address="", sha256="").status_code == 303
    assert load_spec(coins.config).card.program is None
    assert coins.post("signoff", "card:program").status_code == 422
    assert coins.texts()[1] == before[1]
