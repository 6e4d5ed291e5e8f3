"""A rehearsal from the desk outlives it, is seen by another desk, and stops with all its processes. No request names a path."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs the extra desk")
pytest.importorskip("httpx", reason="needs httpx, of the extra `test`")
pytest.importorskip("fcntl", reason="needs Unix")

from synthrelease.errors import InputError
from synthrelease.spec.load import load_spec
from synthrelease.studio.desk import files as rehearsals
from synthrelease.studio.desk.files import Rehearsals
from tests.studio.desk.browser import until
from tests.studio.desk.opened import ORIGIN, Opened


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opened:
    """A desk whose rehearsals are a shell that starts a second process and writes down how it was called."""
    public = tmp_path / "public.csv"
    public.write_text("parity,birth_weight\n1,3000\n2,3100\n", encoding="utf-8")
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/called\nsleep 600 &\necho $! > {tmp_path}/second\nwait\n')
    program.chmod(0o700)
    found = Opened(tmp_path, data=public)
    monkeypatch.setattr(rehearsals.sys, "executable", str(program))
    return found


def _second(folder: Path) -> int:
    assert until(lambda: (folder / "second").is_file() and (folder / "second").read_text())
    return int((folder / "second").read_text())


def _lives(process: int) -> bool:
    """Whether a process runs; one that ended and was not yet fetched does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_it_is_started_once_seen_by_another_desk_and_stopped_with_all_its_processes(opened: Opened, tmp_path: Path) -> None:
    assert "A rehearsal is running" not in opened.browser.get("/rehearsal").text
    assert opened.write("rehearsal", "start", minutes="5", out="/etc", data="/etc/passwd").status_code == 422
    assert opened.write("rehearsal", "start", minutes="5").status_code == 303
    second, folder = _second(tmp_path), opened.rehearsals.folder(load_spec(opened.config))
    called = (tmp_path / "called").read_text().splitlines()
    assert called == ["-m", "synthrelease", "rehearse", str(opened.config), "--data", opened.rehearsals.data,
                      "--out", str(folder), "--minutes", "5"]  # fmt: skip
    assert folder.parent == opened.config.parent
    page = opened.browser.get("/rehearsal").text
    assert "A rehearsal is running" in page
    assert '<meta http-equiv="refresh"' in page
    assert opened.write("rehearsal", "start", minutes="5").status_code == 422
    other = Rehearsals(opened.config, None)  # of a desk that was started later
    running = other.running()
    assert running is not None
    assert running.folder == folder.name
    other.stop(at_once=False)
    assert until(lambda: other.running() is None and opened.rehearsals.running() is None)
    assert until(lambda: not _lives(second))
    with pytest.raises(InputError, match="No rehearsal is running"):
        other.stop(at_once=True)
    assert opened.write("rehearsal", "kill").status_code == 422


def test_the_file_of_members_is_rehearsed_on_too(opened: Opened, tmp_path: Path) -> None:
    opened.rehearsals.members = "members.csv"
    assert opened.write("rehearsal", "start", minutes="5").status_code == 303
    second = _second(tmp_path)
    called = (tmp_path / "called").read_text().splitlines()
    assert called[called.index("--members") + 1] == "members.csv"
    opened.rehearsals.stop(at_once=True)
    assert until(lambda: not _lives(second))


def test_nobody_else_starts_or_stops_one(opened: Opened, tmp_path: Path) -> None:
    form = {"seen": opened.seen(), "place": "start", "minutes": "5"}
    for headers in (
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {},
        {"origin": ORIGIN, "sec-fetch-site": "cross-site"},
    ):
        assert opened.browser.post("/rehearsal", data=form, headers=headers).status_code == 403
    assert opened.browser.get("/rehearsal?place=start&minutes=5").status_code == 200
    for minutes in ("0", "-1", "1e3", "1.5", "99999", "", "5; rm"):
        assert opened.write("rehearsal", "start", minutes=minutes).status_code == 422
    assert opened.write("rehearsal", "start", seen="0" * 64, minutes="5").status_code == 409
    assert opened.write("rehearsal", "else", minutes="5").status_code == 422
    assert not (tmp_path / "called").exists()
    assert opened.rehearsals.running() is None


def test_a_log_that_is_a_link_is_not_written(opened: Opened, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("mine", encoding="utf-8")
    opened.rehearsals.log.symlink_to(target)
    assert opened.write("rehearsal", "start", minutes="5").status_code == 422
    assert target.read_text(encoding="utf-8") == "mine"


def test_an_earlier_process_is_never_taken_for_the_rehearsal(opened: Opened) -> None:
    opened.rehearsals.log.with_suffix(".pid").write_text(f"{os.getpid()} births-rehearsal-x\n", encoding="ascii")
    assert opened.rehearsals.running() is None
    with pytest.raises(InputError, match="No rehearsal is running"):
        opened.rehearsals.stop(at_once=True)


def test_without_a_public_file_it_says_what_is_missing(tmp_path: Path) -> None:
    opened = Opened(tmp_path)
    assert "--data PUBLIC" in opened.browser.get("/rehearsal").text
    answer = opened.write("rehearsal", "start", minutes="5")
    assert answer.status_code == 422
    assert "--data PUBLIC" in answer.text


@pytest.mark.parametrize("text", ["", "[]", "{", '{"look": null}', "[" * 100_000])
def test_results_that_are_none_are_not_shown(opened: Opened, text: str) -> None:
    folder = opened.config.with_name("births-rehearsal-000000000000")
    folder.mkdir()
    (folder / "rehearsal.json").write_text(text, encoding="utf-8")
    for name in ("rehearsal", "questions", "signoff"):
        answer = opened.browser.get(f"/{name}")
        assert answer.status_code == 200
        assert "What it found" not in answer.text
    assert opened.browser.get("/report").status_code == 404
