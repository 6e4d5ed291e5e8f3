"""What the screens make of a real rehearsal of two columns of coins, and its cheaper plan."""

from __future__ import annotations

import html
import json
import re
import shutil
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs the extra desk")
pytest.importorskip("httpx", reason="needs httpx, of the extra `test`")

from starlette.testclient import TestClient

from synthrelease.spec.load import load_spec
from synthrelease.spec.requests import RehearsalRequest
from synthrelease.spec.shortlist import VerdictTable, judged_digest, shortlist_text
from synthrelease.studio.desk.files import DeskFiles, Rehearsals
from synthrelease.studio.desk.pages import Desk, application
from synthrelease.studio.desk.pages import Opened as Started
from synthrelease.studio.rehearsal.rehearse import rehearse
from synthrelease.studio.rehearsal.report import write_report
from tests.helpers.tiny import MEASURED, NOT_PROMISED, write_config, write_data
from tests.studio.desk.opened import ORIGIN, pressed

pytestmark = pytest.mark.slow
ASKED = """
[[intended_queries]]
query = "year > 4"
given = "face == 'head'"

[budget]"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both files, a public file and its rehearsal."""
    folder = tmp_path_factory.mktemp("rehearsed")
    config = write_config(folder, {**MEASURED, **NOT_PROMISED, "[budget]": ASKED})
    spec, out = load_spec(config), Rehearsals(config, None).folder(load_spec(config))
    found = rehearse(spec, RehearsalRequest(config=config, data=str(write_data(folder)), out=out, keep=2, seed=1))
    write_report(found, out, 0.05)
    return folder


class Window:
    def __init__(self, finished: Path, folder: Path):
        shutil.copytree(finished, folder / "copy")
        self.config = folder / "copy" / "coins.toml"
        self.rehearsals = Rehearsals(self.config, str(folder / "copy" / "coins.csv"))
        guard = application(Desk(Started(files=DeskFiles(self.config), rehearsals=self.rehearsals)), ORIGIN)
        self.browser = TestClient(guard, base_url=ORIGIN, follow_redirects=False)
        self.browser.get(f"/?token={guard.token}")

    def page(self, name: str) -> str:
        return html.unescape(self.browser.get(f"/{name}").text)

    def post(self, screen: str, place: str, **values: str):
        return pressed(self.browser, screen, place, **values)


@pytest.fixture
def window(finished: Path, tmp_path: Path) -> Window:
    return Window(finished, tmp_path)


def test_it_shows_what_the_documents_of_the_rehearsal_say(window: Window) -> None:
    found = window.rehearsals.found(load_spec(window.config))
    assert found is not None
    assert (found.same, found.stands) == (True, True)
    page, document = window.page("rehearsal"), json.loads((found.folder / "rehearsal.json").read_text(encoding="utf-8"))
    assert f"{document['attempts']} attempts on 400 public rows" in page
    assert "These results are from" not in page
    assert document["words"]["binding"] in page
    (concluded,) = document["words"]["conclusions"]
    assert concluded.startswith("share of year > 4 among face == 'head'")
    assert concluded in page
    pairs = document["look"]["unguarded_pairs"]
    assert all(f"{' and '.join(pair['columns'])}</th>" in page for pair in pairs)
    report = window.browser.get("/report")
    assert report.status_code == 200
    assert report.headers["content-security-policy"].startswith("sandbox;")


def test_a_threshold_that_independent_columns_meet_is_red_and_one_that_they_do_not_is_none(window: Window) -> None:
    document = window.rehearsals.found(load_spec(window.config)).document
    alone = document["look"]["criteria"][0]["yardstick"]["independent"]
    page = window.page("questions")
    assert "table of independent columns meets this threshold" in page
    assert 'class="alone wrong"' in page
    assert f"independent columns: {alone:.3g}." in page
    assert window.post("questions", "threshold:0", value=f"{alone / 2:.6f}").status_code == 303
    page = window.page("questions")
    assert "independent columns meets" not in page
    assert 'class="alone wrong"' not in page
    assert "The marks come from a rehearsal of earlier files" in page


def test_words_leave_a_rehearsal_as_it_is_and_the_command_names_its_shortlist(window: Window) -> None:
    name = window.rehearsals.folder(load_spec(window.config)).name
    assert f"--shortlist {window.config.parent}/{name}/shortlist.toml" in window.page("signoff")
    assert window.post("questions", "agreed:0", by="The council", on="2026-11-22").status_code == 303
    page = window.page("rehearsal")
    assert "the same columns, models and criteria" in page
    assert f"--shortlist {window.config.parent}/{name}/shortlist.toml" in window.page("signoff")
    assert window.post("questions", "threshold:0", value="0.5").status_code == 303
    assert "--shortlist" not in window.page("signoff")


def test_a_shortlist_that_release_would_refuse_is_told_and_not_in_the_command(window: Window) -> None:
    acceptance = window.config.parent / "acceptance.toml"
    assert "would refuse the shortlist" not in window.page("signoff")
    text = acceptance.read_text(encoding="utf-8").replace('[not_promised]\ndependence = true\nwhy = "It is a toy"\n', "")
    acceptance.write_text(text, encoding="utf-8")
    page = window.page("signoff")
    assert "would refuse the shortlist" in page
    assert "--shortlist" not in page


def test_lost_pairs_are_named_by_a_button(window: Window) -> None:
    """Where the shortlist says that a pair is lost and the acceptance file promises it."""
    acceptance, spec = window.config.parent / "acceptance.toml", load_spec(window.config)
    assert "Do not promise" not in window.page("rehearsal")
    acceptance.write_text(acceptance.read_text(encoding="utf-8").replace("dependence = true\n", ""), encoding="utf-8")
    found = window.rehearsals.found(spec)
    assert found is not None
    shortlist = found.folder / "shortlist.toml"
    verdict = VerdictTable(
        judged=judged_digest(spec.tables),
        hang_together=True,
        independent_columns_pass=False,
        pairs_off_if_independent=0.5,
        lost=("face:year",),
    )
    text = shortlist_text("Coins", [spec.space[0].describe()], verdict=verdict)
    shortlist.write_text(text, encoding="utf-8")
    assert "Do not promise this pair" in window.page("rehearsal")
    assert window.post("rehearsal", "accept").status_code == 303
    assert load_spec(window.config).not_promised.pairs == ("face:year",)
    assert "Do not promise" not in window.page("rehearsal")


def test_the_cheaper_plan_is_adopted_once_and_undone(window: Window) -> None:
    before, text = load_spec(window.config).plan.total.epsilon, window.config.read_bytes()
    page = window.page("rehearsal")
    told = re.findall(r"A cheaper plan: epsilon = ([\d.]+)", page)
    assert told
    assert window.post("rehearsal", "adopt").status_code == 303
    after = load_spec(window.config)
    assert after.plan.total.epsilon < before
    assert float(after.plan.total.epsilon) == pytest.approx(float(told[0]), abs=1e-6)
    assert "Adopt the cheaper plan" not in window.page("rehearsal")
    assert window.post("rehearsal", "adopt").status_code == 422
    assert window.post("rehearsal", "undo").status_code == 303
    assert window.config.read_bytes() == text
    window.config.write_bytes(text + b"\n# by an editor\n")
    assert (
        window.browser.post("/rehearsal", data={"seen": "0", "place": "adopt"}, headers={"origin": ORIGIN}).status_code == 409
    )
    assert window.config.read_bytes() == text + b"\n# by an editor\n"
