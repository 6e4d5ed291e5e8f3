"""Screen 0: a codebook becomes the command of a scout, its folder a draft; nothing private is opened, and nothing is kept."""

from __future__ import annotations

import html
import json
import re
import shlex
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs the extra desk")
pytest.importorskip("httpx", reason="needs httpx, of the extra `test`")

from starlette.testclient import TestClient
from typer.testing import CliRunner

from synthrelease.cli import app
from synthrelease.errors import InputError
from synthrelease.privacy.ledger import open_ledger
from synthrelease.spec.load import load_spec
from synthrelease.studio.desk.files import DeskFiles
from synthrelease.studio.desk.pages import SCREENS, Desk, application
from synthrelease.studio.desk.pages import Opened as Started
from synthrelease.studio.desk.start import Start
from tests.scouting.test_scout import ROWS, register
from tests.studio.desk.browser import browser, desk, driver, missing, needs_axe
from tests.studio.desk.opened import ORIGIN

BOOK = {
    "age": {"description": "Age <in> years", "kind": "integer", "values": {"min": 0, "max": 110}},
    "sex": {"values": {"1": "female", "2": "male"}},
    "town": {"kind": "text"},
}


class Opened:
    """A desk without a configuration, in a folder of its own."""

    def __init__(self, folder: Path, book: object = BOOK):
        self.config, codebook = folder / "configs" / "towns.toml", folder / "book.json"
        codebook.write_text(json.dumps(book))
        self.start = Start.of(self.config, codebook)
        guard = application(Desk(Started(files=DeskFiles(self.config), start=self.start)), ORIGIN)
        self.browser = TestClient(guard, base_url=ORIGIN, follow_redirects=False)
        self.browser.get(f"/?token={guard.token}")

    def shown(self, query: str = "") -> str:
        answer = self.browser.get(f"/start{query}")
        assert answer.status_code == 200
        return html.unescape(answer.text)

    def draft(self):
        return self.browser.post("/start", data={"place": "draft"}, headers={"origin": ORIGIN})


def test_before_the_configuration_is_there_every_screen_leads_to_the_first(tmp_path: Path) -> None:
    opened = Opened(tmp_path)
    for screen in SCREENS:
        assert opened.browser.get(f"/{screen}").headers["location"] == "/start"
    page = opened.browser.get("/start").text
    assert "Age &lt;in&gt; years" in page
    assert "whole numbers from 0 to 110" in page
    assert "texts without a list of codes" in page
    assert "<pre" not in page


def test_the_command_is_the_one_that_the_fields_ask_for(tmp_path: Path) -> None:
    page = Opened(tmp_path).shown(f"?rows={ROWS}&cap=1.5&data=my+file.csv&ledger=a.ledger&delimiter=%3B")
    command = shlex.split(re.findall('<pre class="command"[^>]*>(.*)</pre>', page)[0])
    arguments = command[command.index("scout") :]
    stated = dict(zip(arguments[2::2], arguments[3::2], strict=True))
    assert stated["--data"] == "my file.csv"
    assert (stated["--cap"], stated["--delta"], stated["--rows"], stated["--delimiter"]) == ("1.5", "1e-9", str(ROWS), ";")
    assert "Scout and release together cost epsilon 1.5" in page


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("?rows=500", "needs at least [0-9,]+ rows for this much noise, but --rows says that it has 500"),
        ("?rows=14000&cap=much", "--cap: expected a finite number"),
        ("?rows=14000&encoding=foo", "encoding: expected"),
        ("?rows=14000&unit=person", "--first-by"),
        ("?rows=14000&delta=0", "--delta 0"),
        ("?rows=" + "9" * 400, "rows"),
        ("?rows=-3", "Enter the number of rows"),
    ],
)
def test_what_a_scout_would_refuse_is_said_in_place_of_the_command(tmp_path: Path, query: str, words: str) -> None:
    page = Opened(tmp_path).shown(query)
    assert re.search(words, page)
    assert '<pre class="command"' not in page or len(query) > 300


def test_a_folder_that_does_not_pass_is_not_drafted_from(tmp_path: Path) -> None:
    opened = Opened(tmp_path)
    opened.start.out.mkdir()
    (opened.start.out / "scout.json").write_text("{}")
    assert "does not pass `synthrelease verify`" in opened.shown()
    refused = opened.draft()
    assert refused.status_code == 422
    assert not opened.config.exists()


@pytest.mark.parametrize("place", ["towns.toml", "configs/towns.txt"])
def test_another_place_for_the_draft_is_refused(tmp_path: Path, place: str) -> None:
    (tmp_path / "book.json").write_text(json.dumps(BOOK))
    with pytest.raises(InputError, match="configs/NAME.toml"):
        Start.of(tmp_path / place, tmp_path / "book.json")


def scouted(folder: Path) -> None:
    open_ledger(folder / "a.ledger", "register", 2, delta_limit="1e-9")
    words = ["scout", str(folder / "book.json"), "--data", str(register(folder)), "--ledger", str(folder / "a.ledger")]
    words += ["--cap", "2", "--delta", "1e-9", "--rows", str(ROWS), "--unit", "row", "--out", str(folder / "towns-scout")]
    run = CliRunner().invoke(app, words)
    assert run.exit_code == 0, run.output


@pytest.mark.slow
def test_the_folder_of_the_scout_becomes_the_draft_that_the_other_screens_edit(tmp_path: Path) -> None:
    opened = Opened(tmp_path)
    scouted(tmp_path)
    page = opened.shown()
    assert f"{ROWS:,} rows" in page
    assert "North" in page
    assert "Hamlet" not in page
    assert opened.draft().headers["location"] == "/people"
    assert load_spec(opened.config).options.scout is not None
    for screen in SCREENS:
        answer = opened.browser.get(f"/{screen}")
        assert answer.status_code == 200
        assert 'href="/start"' in answer.text
    assert "no rehearsal is possible" in opened.browser.get("/rehearsal").text
    last = html.unescape(opened.browser.get("/signoff").text)
    assert "--unrehearsed" in last
    assert "The draft has not been rehearsed" not in last
    assert "The configuration exists" in opened.shown()
    assert opened.draft().status_code == 422  # a draft overwrites nothing


@pytest.mark.slow
@needs_axe
@pytest.mark.skipif(bool(missing()), reason=missing())
def test_screen_0_in_a_browser_at_two_widths_without_scripts(tmp_path: Path) -> None:
    (tmp_path / "book.json").write_text(json.dumps(BOOK))
    scouted(tmp_path)
    config = tmp_path / "configs" / "towns.toml"
    with driver() as client, browser(client) as window, desk(config, "--codebook", tmp_path / "book.json") as address:
        window.open(address)
        window.wait_for("//h1[.='We have no public file']")
        window.without_scripts(on=True)
        window.type("//input[@name='rows']", str(ROWS))
        window.click("//button[.='Show cost and command']")
        window.wait_for("//pre")
        window.without_scripts(on=False)
        for width in (1_280, 390):
            window.size(width)
            assert window.run("return document.documentElement.scrollWidth") <= width
            assert window.axe() == []
        window.click("//button[.='Draft the release']")
        window.wait_for("//h1[.='Whom do we protect?']")
    assert config.exists()
