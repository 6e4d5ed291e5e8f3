"""Each control of each screen, with values missing, doubled and hostile: refused with 4xx and nothing changed, never 500."""

from __future__ import annotations

import html
import json
import random
import re
import shutil
from pathlib import Path
from urllib.parse import urlencode

import pytest

pytest.importorskip("starlette", reason="needs the extra desk")
pytest.importorskip("httpx", reason="needs httpx, of the extra `test`")

from synthrelease.spec.load import load_spec
from synthrelease.studio.desk.files import Rehearsals
from synthrelease.studio.desk.pages import READ_ONLY, SCREENS
from tests.conftest import ROOT
from tests.studio.desk.opened import ORIGIN
from tests.studio.desk.test_columns import Coins

HOSTILE = (
    *("", "\x00", "\u0661", "-1", "1e400", "nan", "9" * 500, '\'"""\n]', "{", "{{7*7}}", "<script>", "\u202e"),
    *("../../etc/passwd", "\u00e9", "a:b:c", "1\r\nX: y", "0", "9" * 15, "\u00e9" * 300, "undo", "0.000000000001"),
    *("-0", "1.5", "nothing", "criterion"),
)
QUERIES = ("mean year", "mean", "share", "(" * 200, "not " * 300 + "year > 4", "year >= 1e999", "slope year on face")
PLACES = ("criterion", "ask", "own", "start", "adopt", "stop", "key", "undo", "generation", "leave:", "kind:coin", "")
FIELD = re.compile(r'<input value="([^"]*)"[^>]* name="([^"]+)" form="edit"|<select name="([^"]+)" form="edit"')
BUTTON = re.compile(r'<button[^>]* name="place" value="([^"]*)"')


@pytest.fixture
def coins(tmp_path: Path) -> Coins:
    return Coins(tmp_path, folder=shutil.copytree(ROOT / "tests" / "kept" / "format-1" / "release", tmp_path / "released"))


def controls(desk: Coins) -> dict[tuple[str, str], dict[str, str]]:
    """The form of each screen, with the fields as they stand, by its screen and by each button that sends it."""
    forms = {}
    for screen in SCREENS:
        page = html.unescape(desk.browser.get(f"/{screen}").text)
        fields = {name or choice: value for value, name, choice in FIELD.findall(page)}
        for place in BUTTON.findall(page) if 'id="edit"' in page and screen not in READ_ONLY else ():
            seen = page.partition('name="seen" value="')[2].partition('"')[0]
            forms[screen, place] = {"seen": seen, "place": place, **fields}
    return forms


def post(desk: Coins, screen: str, pairs: list[tuple[str, str]]) -> int:
    headers = {"origin": ORIGIN, "content-type": "application/x-www-form-urlencoded"}
    return desk.browser.post(f"/{screen}", content=urlencode(pairs), headers=headers).status_code


def check_refused_or_done(desk: Coins, screen: str, pairs: list[tuple[str, str]]) -> int:
    """Send a form, see that files changed only where it was taken, and put them back."""
    before = desk.texts()
    status = post(desk, screen, pairs)
    asks_first = screen == "columns" and dict(pairs).get("place", "").startswith("leave:")
    assert status == 303 or 400 <= status < 500 or (status == 200 and asks_first), (screen, pairs, status)
    if desk.texts() != before:
        assert status == 303, (screen, pairs)
        for path, text in zip((desk.config, desk.config.with_name("acceptance.toml")), before, strict=True):
            path.write_text(text)
    return status


@pytest.mark.slow
def test_values_that_are_missing_doubled_or_hostile_are_refused_and_nothing_is_changed(coins: Coins) -> None:
    draw, known = random.Random(20261127), controls(coins)
    assert {screen for screen, _ in known} == {"people", "columns", "questions", "budget", "rehearsal", "signoff"}
    assert "criterion/asked" in known["questions", "save="]
    for (screen, place), values in known.items():
        for name in values if place == "save=" else draw.sample([*values], 1):
            check_refused_or_done(coins, screen, [pair for pair in values.items() if pair[0] != name])
            for hostile in draw.sample(HOSTILE, 2 if place == "save=" else 1):
                check_refused_or_done(coins, screen, [(key, hostile if key == name else text) for key, text in values.items()])
            post(coins, screen, [("seen", values["seen"]), ("place", "forget")])
        assert check_refused_or_done(coins, screen, [*values.items(), ("seen", values["seen"])]) == 400
        check_refused_or_done(coins, screen, [("place", place)])
        other = draw.choice([name for name in SCREENS if name not in READ_ONLY])
        check_refused_or_done(coins, other, [("seen", values["seen"]), ("place", place), ("value", draw.choice(HOSTILE))])
        parts = place.partition(":")[0], draw.choice(HOSTILE)
        check_refused_or_done(coins, screen, [("seen", values["seen"]), ("place", ":".join(parts))])


@pytest.mark.slow
def test_a_form_that_names_its_place_alone_is_refused_on_every_screen(coins: Coins) -> None:
    before = coins.texts()
    for screen in SCREENS:
        if screen not in READ_ONLY:
            for place in PLACES:
                assert 400 <= coins.post(screen, place).status_code < 500, (screen, place)
    assert coins.texts() == before


@pytest.mark.slow
def test_questions_in_the_address_that_are_missing_doubled_or_hostile_are_answered(coins: Coins) -> None:
    asked = {"columns": ("filter",), "budget": ("count", "rows"), "folder": ("query", "width")}
    for screen, names in asked.items():
        for name in names:
            for hostile in (*HOSTILE, *QUERIES):
                assert coins.browser.get(f"/{screen}?{urlencode({name: hostile})}").status_code in (200, 414), (screen, hostile)
                pairs = [*((other, "5") for other in names if other != name), (name, hostile)]
                assert coins.browser.get(f"/{screen}?{urlencode(pairs)}").status_code in (200, 414), (screen, hostile)
            assert coins.browser.get(f"/{screen}?{name}=1&{name}=1").status_code == 400


@pytest.mark.parametrize("path", ["/people", "/people/", "/folder", "/seen", "/none"])
@pytest.mark.parametrize("query", [b"query=\xff", b"query=%ff", b"\xff", b"&" * 2_000, b";=;=%00"])
def test_bytes_that_are_no_text_are_no_error_of_the_desk(coins: Coins, path: str, query: bytes) -> None:
    """As a program sends them that is no browser: a client of the tests would write them in ASCII."""
    headers = {
        "host": ORIGIN.removeprefix("http://"),
        "cookie": "; ".join(f"{k}={v}" for k, v in coins.browser.cookies.items()),
    }
    scope = {
        "type": "http",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query,
        "headers": [(key.encode(), value.encode()) for key, value in headers.items()],
        "server": ("127.0.0.1", 8765),
        "client": ("127.0.0.1", 1),
    }
    sent = list[dict]()

    async def receive() -> dict:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict) -> None:
        sent.append(message)

    import anyio  # of starlette

    anyio.run(coins.browser.app, scope, receive, send)
    assert sent[0]["status"] in (200, 400, 404)


@pytest.mark.parametrize(
    "results",
    [
        {"look": 5, "words": {}},
        {"look": None, "words": None},
        {"look": {"criteria": []}, "words": {"warnings": 5}},
        {"look": None, "words": {"outlook": []}, "attempts": 3, "n_rows": "x", "complete": True},
        {"look": None, "words": {"warnings": []}, "configurations": None},
    ],
)
def test_results_of_a_rehearsal_in_another_shape_are_left_out_and_named(coins: Coins, results: dict) -> None:
    folder = Rehearsals(coins.config, None).folder(load_spec(coins.config))
    folder.mkdir()
    (folder / "rehearsal.json").write_text(json.dumps(results), encoding="utf-8")
    pages = [coins.browser.get(f"/{screen}") for screen in SCREENS]
    assert [page.status_code for page in pages] == [200] * len(SCREENS)
    assert f"The results in {folder.name} cannot be shown" in coins.browser.get("/rehearsal").text
    assert coins.post("questions", "criterion").status_code == 422
    (folder / "rehearsal.json").unlink()
    assert "cannot be shown" not in coins.browser.get("/rehearsal").text


def test_files_that_are_gone_or_broken_are_told_on_every_page(coins: Coins, tmp_path: Path) -> None:
    text = coins.config.read_bytes()
    others = [text.replace(b"acceptance.toml", name) for name in (b"nothing.toml", b".")]
    for broken in (b"title = [", b"", b"\xff", *others):
        coins.config.write_bytes(broken)
        assert {coins.browser.get(f"/{screen}").status_code for screen in SCREENS} == {409}
        assert coins.browser.get("/report").status_code == 404
        assert coins.browser.get("/seen").status_code == 200
        assert post(coins, "budget", [("place", "generation=1"), ("seen", "x")]) == 422
    coins.config.write_bytes(text)
    shutil.rmtree(tmp_path / "released")
    for address in ("/folder", "/folder?verify=yes", "/folder?query=year+>+4"):
        assert coins.browser.get(address).status_code == 200
    assert coins.browser.get("/card").status_code == 404
