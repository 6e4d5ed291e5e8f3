"""The desk in the system's Chromium: from a public file to the command, by hand and by keyboard, and all screens."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pandas as pd
import pytest

pytest.importorskip("starlette", reason="needs the extra desk")
pytest.importorskip("httpx", reason="needs httpx, of the extra `test`")

from synthrelease.spec.load import load_spec
from synthrelease.studio.desk.pages import entrance
from synthrelease.studio.drafting.edits import limits_of
from tests.conftest import ROOT
from tests.helpers.labour_force import simulated
from tests.studio.desk.browser import Browser, browser, desk, driver, missing, needs_axe

if TYPE_CHECKING:
    import httpx

pytestmark = pytest.mark.slow
if missing():
    pytest.skip(missing(), allow_module_level=True)

TAB, ENTER, LEFT = "\ue004", "\ue007", "\ue012"
SCREENS = ("people", "columns", "questions", "budget", "rehearsal", "signoff", "folder")


@pytest.fixture(scope="module")
def chromedriver() -> Iterator[httpx.Client]:
    with driver() as client:
        yield client


@pytest.fixture
def chromium(chromedriver: httpx.Client) -> Iterator[Browser]:
    """A browser for each test: one that was left with scripts off, or with a page that waits, would take the next down."""
    with browser(chromedriver) as window:
        yield window


def _drafted(folder: Path, name: str, table: pd.DataFrame) -> Path:
    """A draft by the command, in a folder of its own."""
    table.to_csv(folder / "public.csv", index=False)
    command = [sys.executable, "-m", "synthrelease", "init", name, "--from", "public.csv"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "configs" / f"{name}.toml"


@pytest.fixture(scope="module")
def births(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of so many rows that some criterion of the draft can refuse a table, without which there is nothing to sign."""
    table = pd.read_csv(ROOT / "public_data" / "births_surrogate.csv.gz", nrows=8_000, dtype=str)
    return _drafted(tmp_path_factory.mktemp("births"), "births", table)


@pytest.fixture(scope="module")
def labour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = simulated(1_500)[["region", "sector", "education", "age", "hours"]]
    return _drafted(tmp_path_factory.mktemp("labour"), "labour", table)


SAVED = "//h2[.='The last change']"


def _field(label: str) -> str:
    return f"//*[self::input or self::textarea][@form='edit'][@aria-label='{label}' or ../text()[normalize-space()='{label}']]"


def _write(window: Browser, label: str, text: str, shown: str = SAVED) -> None:
    """Type into a field and save the screen."""
    window.type(_field(label), text)
    window.click("(//button[.='Save'][not(@aria-hidden)])[1]")
    window.wait_for(shown)


def _go(window: Browser, name: str) -> None:
    window.click(f"//nav//a[@href='/{name}']")
    window.wait_for(f"//nav//a[@href='/{name}'][@aria-current='page']")


def _answer(window: Browser) -> None:
    """Say that each row is another person, where nobody has said it."""
    if window.count("//button[.='Each row is a different person']"):
        window.click("//button[.='Each row is a different person']")
    window.wait_for("//ul[@class='promise']")


def _careful_path(window: Browser, config: Path) -> str:
    """Through all screens to the command, without touching a file: everything looked at, described, agreed to and signed.

    Every fold is opened, and every field is reached by the mouse.
    """
    _answer(window)
    _go(window, "columns")
    for name in load_spec(config).schema.names:
        window.type(_field(f"Description of {name}"), f"What {name} says")
    ways = "//summary[starts-with(., 'Bins as')]"
    for number in range(window.count(ways)):
        window.click(f"({ways})[{number + 1}]")
    window.type("//input[@name='limits_by/value']", "The registry's handbook")
    window.click("//button[@value='save=']" + "[not(@aria-hidden)]")
    window.wait_for("//a[@href='/columns'][contains(., 'done')]")
    _go(window, "questions")
    window.type("//input[@name='ask/query']", window.text("//p[starts-with(., 'For example')]/code[1]"))
    window.type("//input[@name='agreed/by']", "Council of users")
    window.click("//button[@value='save='][not(@aria-hidden)]")
    window.wait_for("//a[@href='/questions'][contains(., 'done')]")
    _go(window, "budget")
    assert "The plan costs epsilon" in window.text("//main")
    _go(window, "rehearsal")
    window.click("//button[.='Start a rehearsal']")
    window.wait_for("//h2[.='Results']", 240)  # the page loads itself anew until it has ended
    for number in range(window.count("//main//summary")):
        window.click(f"(//main//summary)[{number + 1}]")
    _go(window, "signoff")
    gaps = window.run("return [...document.querySelectorAll('#gaps [name]')].map(field => field.name)")
    for name in gaps:
        window.type(f"//*[@name='{name}']", "statistics@example.org" if name == "card:contact/value" else "As agreed")
    window.type(_field("First signatory"), "A. Levi")
    window.type(_field("Second signatory"), "B. Cohen")
    window.click("//button[@value='save=signed']")
    window.wait_for("//td[.='B. Cohen']")
    assert "Nobody has opened this screen" not in window.text("//main")
    assert "This screen has unsaved entries" not in window.text("//main")
    spec = load_spec(config)
    assert all(column.description == f"What {column.name} says" for column in spec.schema.columns)
    assert {column.bounds_by for column in spec.schema.columns if column.bounds} == {"The registry's handbook"}
    assert all(criterion.agreed for criterion in spec.criteria)
    assert len(spec.questions) == 1
    assert spec.card.signed_by == ("A. Levi", "B. Cohen")
    assert (spec.card.contact, spec.unit.answered) == ("statistics@example.org", True)
    return window.text("//pre[@class='command']")


def _comments(config: Path) -> list[str]:
    return re.findall(r"#[^\n]*", config.read_text(encoding="utf-8"))


MOST_CLICKS = 40
"""Of a careful steward's births. Before one Save saved a screen there were 81, counted in the same way."""


@pytest.mark.parametrize("name", ["births", "labour"])
def test_from_a_public_file_to_the_command_without_touching_a_file(chromium: Browser, name: str, request) -> None:
    config = request.getfixturevalue(name)
    before = _comments(config)
    with desk(config, "--data", config.parents[1] / "public.csv") as address:
        chromium.size(1280)
        chromium.enter(address)
        if name == "labour":
            chromium.without_scripts(on=True)
        command = _careful_path(chromium, config)
    program = f"{sys.executable} -m synthrelease"
    assert command.startswith(f"{program} release {config} --data PRIVATE --out FOLDER --ledger LEDGER")
    assert _comments(config) == before
    if name == "births":
        assert chromium.clicks <= MOST_CLICKS


def test_what_is_typed_is_there_after_a_reload(chromium: Browser, births: Path) -> None:
    with desk(births, "--data", births.parents[1] / "public.csv") as address:
        chromium.enter(address)
        _answer(chromium)
        columns, field = f"{address.split('/?')[0]}/columns", "//input[@name='description:parity/value']"
        chromium.open(columns)
        before = chromium.value(field)
        chromium.type(field, "Births so far")
        chromium.open(columns)
        assert chromium.value(field) == "Births so far"
        chromium.click("//button[.='Discard the entries']")
        chromium.wait_for(f"//input[@name='description:parity/value'][@value='{before}']")


def test_a_file_leads_to_the_desk_once(chromium: Browser, births: Path) -> None:
    """A browser sends no strict cookie after a redirect that began in a file: the page must be left for another by itself."""
    with desk(births) as address, entrance(address) as page:
        chromium.size(1280)
        chromium.open(page.as_uri())
        chromium.wait_for("//h1[.='Whom do we protect?']")
        assert chromium.address == f"{address.split('/?')[0]}/people"
        chromium.open(page.as_uri())
        chromium.wait_for("//*[contains(., 'This address was used before')]")


def test_a_key_takes_the_reader_past_the_menu_and_fields_have_names(chromium: Browser, births: Path) -> None:
    with desk(births, "--data", births.parents[1] / "public.csv") as address:
        chromium.size(390)
        chromium.enter(address)
        chromium.keys(TAB, ENTER)
        assert chromium.address.endswith("#main")
        _answer(chromium)
        for screen in SCREENS:
            chromium.open(f"{address.split('/?')[0]}/{screen}")
            assert chromium.count("//main//input[not(@type='hidden')][not(ancestor::label)][not(@aria-label)]") == 0
            assert chromium.run("return document.documentElement.scrollWidth") <= 390, screen
            loaded = chromium.run("return performance.getEntriesByType('resource').map(each => each.name)")
            assert {urlsplit(each).hostname for each in loaded} <= {"127.0.0.1"}


def test_save_stands_beside_or_right_beneath_its_fields(chromium: Browser, births: Path) -> None:
    """On a wide and on a narrow screen, at most a line beneath the last field of its section."""
    script = """return [...document.querySelectorAll("main .fields")].map(group => {
        const field = [...group.querySelectorAll("[form=edit]:not(button)")].pop().getBoundingClientRect();
        const button = group.querySelector("button") ?? group.nextElementSibling.querySelector("button");
        const {right, top, bottom} = button.getBoundingClientRect();
        return [right, top - field.bottom, field.top - bottom]})"""
    with desk(births, "--data", births.parents[1] / "public.csv") as address:
        chromium.enter(address)
        _answer(chromium)
        for width in (390, 1280):
            chromium.size(width)
            for screen in ("columns", "questions", "budget"):
                chromium.open(f"{address.split('/?')[0]}/{screen}")
                places = chromium.run(script)
                assert places
                assert all(right <= width and beneath <= 24 and above < 0 for right, beneath, above in places), (
                    width,
                    screen,
                    places,
                )


def test_limits_are_dragged_and_moved_by_keys_and_the_page_follows_an_editor(chromium: Browser, births: Path) -> None:
    field = "//section[@id='bounds-mother_age']//div[@class='limited']//input"
    with desk(births, "--data", births.parents[1] / "public.csv") as address:
        chromium.size(1280)
        chromium.enter(address)
        _answer(chromium)
        chromium.open(f"{address.split('/?')[0]}/columns")

        def limits() -> list[float]:
            return [float(each) for each in str(chromium.value(field)).split(",")]

        first, before = limits(), births.read_text(encoding="utf-8")
        chromium.drag("(//section[@id='bounds-mother_age']//*[@class='handle'])[1]", 40)
        dragged = limits()
        assert first[0] < dragged[0] < first[1]
        assert dragged[1:] == first[1:]
        chromium.focus("(//section[@id='bounds-mother_age']//*[@class='handle'])[1]")
        chromium.keys(LEFT)
        (moved, *rest), places = limits(), chromium.run("return document.querySelector('svg.limits').dataset.places").split(" ")
        assert first[0] < moved < dragged[0]
        assert rest == first[1:]
        chromium.click("//section[@id='bounds-mother_age']//button[.='Save']")
        chromium.wait_for("//button[.='Undo']")
        assert limits_of(load_spec(births).schema["mother_age"])["coarse"] == (moved, *rest)
        assert moved in map(float, places)
        text = births.read_text(encoding="utf-8")
        births.write_text(text.replace('title = "Births"', 'title = "By an editor"'), encoding="utf-8")
        chromium.wait_for("//strong[.='By an editor']")
        chromium.type("//section[@id='bounds-mother_age']//input[@name='bounds:mother_age/by']", "half a wo")
        births.write_text(before, encoding="utf-8")
        chromium.wait_for("//p[@id='moved'][not(@hidden)]")
        assert chromium.value("//section[@id='bounds-mother_age']//input[@name='bounds:mother_age/by']") == "half a wo"


def test_two_windows_lose_nothing(chromium: Browser, births: Path) -> None:
    with desk(births, "--data", births.parents[1] / "public.csv") as address:
        chromium.enter(address)
        chromium.without_scripts(on=True)  # no page is loaded anew by itself
        _answer(chromium)
        budget = f"{address.split('/?')[0]}/budget"
        chromium.open(budget)
        with chromium.second_window():
            chromium.open(budget)
            _write(chromium, "Limit for the epsilon of the release", "9")
        _write(chromium, "Limit for the epsilon of the release", "8", shown="//h2[.='What changed in the files']")
        assert "+limit = 9" in chromium.text("//pre[@class='diff']")
        assert float(load_spec(births).budget.limit) == 9
        chromium.without_scripts(on=False)


@needs_axe
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_on_any_screen(chromium: Browser, births: Path, width: int, dark: bool) -> None:
    with desk(births, "--data", births.parents[1] / "public.csv") as address:
        chromium.size(width, dark=dark)
        chromium.enter(address)
        _answer(chromium)
        for screen in SCREENS:
            chromium.open(f"{address.split('/?')[0]}/{screen}")
            assert chromium.axe() == [], screen
