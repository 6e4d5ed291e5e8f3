"""Hospital stays with a patient's key: an untouched draft asks whose row it is, and is released once that is answered."""

from __future__ import annotations

import json
import math
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import synthrelease
from synthrelease.privacy.charges import decimal_text
from tests.helpers.command_line import said_by

pytestmark = pytest.mark.slow
N_PATIENTS = 4000


def stays(path: Path, seed: int) -> None:
    """Four patients for five stays, in any order. A first stay takes up to five days, a later one ten or more."""
    random = np.random.default_rng(seed)
    numbers = random.choice(np.arange(100_000, 999_999), N_PATIENTS, replace=False)
    times = 1 + random.poisson(0.25, N_PATIENTS)
    who = np.repeat(np.arange(N_PATIENTS), times)
    visit = np.concatenate([np.arange(each) for each in times])
    sex, born = random.integers(1, 3, N_PATIENTS), random.integers(1930, 2001, N_PATIENTS)
    first = random.integers(0, 700, N_PATIENTS)
    date = np.datetime64("2018-01-01") + first[who] + 5 * visit
    ward = np.where(sex[who] == 2, random.choice(["hoito", "leikkaus", "synnytys"], len(who)), "leikkaus")
    days = np.where(visit == 0, random.integers(1, 6, len(who)), random.integers(10, 20, len(who)))
    rides = np.arange(len(who)) * 3 // 5 + 41_000
    lines = [
        f"{numbers[who[i]]},{date[i]},{born[who[i]]},{sex[who[i]]},{ward[i]},{days[i]},{rides[i]}"
        for i in random.permutation(len(who))
    ]
    path.write_text("potilas,tulo,synt,suku,osasto,paivat,kyyti\n" + "\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stays")
    stays(folder / "public.csv", 1)
    stays(folder / "private.csv", 2)
    return folder


def test_without_an_answer_the_draft_asks_and_nothing_is_promised(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = said_by(monkeypatch, capsys, "init", "stays", "--from", str(files / "public.csv"), "--into", str(tmp_path))
    assert code == 0
    assert "Answer one question: how many rows can one person have?" in said
    config = tmp_path / "configs" / "stays.toml"
    text = " ".join(config.read_text(encoding="utf-8").replace("#", " ").split())
    assert 'records_per_person = "not answered"' in text
    assert re.search(r"'potilas' \(up to \d rows, 1\.2\d on average\)", text)
    assert "'kyyti' (up to 2 rows, 1.67 on average)" in text
    drafted = tomllib.loads(config.read_text(encoding="utf-8"))["columns"]
    assert "osasto" in drafted
    assert not {"potilas", "kyyti"} & {*drafted}
    private = str(files / "private.csv")
    for words in (("plan",), ("check", "--data", private), ("release", "--data", private, "--out", str(tmp_path / "out"))):
        code, said = said_by(monkeypatch, capsys, words[0], str(config), *words[1:])
        assert (code, "State how many rows one person can have." in said) == (2, True), words
    assert not (tmp_path / "out.ledger").exists()
    tried = "--keep", "1", "--target", "0.5", "--copies", "0", "--seed", "1", "--out", str(tmp_path / "trial")
    code, said = said_by(monkeypatch, capsys, "rehearse", str(config), "--data", str(files / "public.csv"), *tried)
    assert code == 0
    assert "The configuration does not say how many rows one person can have" in said


def test_with_the_key_the_untouched_draft_is_released_and_tells_a_stay_of_each_patient(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    public, private, out = str(files / "public.csv"), str(files / "private.csv"), tmp_path / "out"
    code, _ = said_by(monkeypatch, capsys, "init", "stays", "--from", public, "--into", str(tmp_path), "--unit", "potilas")
    assert code == 0
    config = tmp_path / "configs" / "stays.toml"
    text = config.read_text(encoding="utf-8")
    assert 'key = "potilas"\nfirst_by = "random"' in text
    assert "'kyyti'" in text
    code, said = said_by(monkeypatch, capsys, "plan", str(config))
    assert code == 0, said
    code, said = said_by(monkeypatch, capsys, "check", str(config), "--data", private)
    assert (code, f"{N_PATIENTS:,} persons" in said) == (0, True)
    code, said = said_by(monkeypatch, capsys, "release", str(config), "--data", private, "--out", str(out))
    assert code == 0, said
    code, said = said_by(monkeypatch, capsys, "verify", str(out))
    assert code == 0, said
    released = synthrelease.load(out)
    assert json.loads((out / "release.json").read_text())["domain"]["persons"] == N_PATIENTS
    assert {column.name for column in released.schema} & {"potilas", "kyyti"} == set()
    days = released.table()["paivat"]
    later = days.map(lambda label: int(re.findall(r"\d+", label)[0]) > 5).astype(bool).mean()
    drawn_first = (1 - math.exp(-0.25)) / 0.25  # the mean of 1 / k over patients with k stays: one of them is drawn
    assert abs(later - (1 - drawn_first)) < 0.04  # a first stay takes one to five days, a later one ten or more


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("potilaat", "Did you mean 'potilas'?"),
        ("potilaat:2", "not 'potilaat'. Did you mean 'potilas'?"),
        ("potilas:0", "after 'potilas:' must be a whole number from 1 to 1,000, not '0'"),
        ("potilas:many", "after 'potilas:' must be a whole number from 1 to 1,000, not 'many'"),
    ],
)
def test_a_wrong_answer_is_told_before_the_work(
    unit: str, expected: str, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "init", "stays", "--from", str(files / "public.csv"), "--into", str(tmp_path), "--unit", unit
    code, said = said_by(monkeypatch, capsys, *words)
    assert code == 2
    assert expected in said
    assert "reading the public file" not in said
    assert not list(tmp_path.iterdir())


def test_up_to_three_rows_of_each_cost_three_times_the_epsilon_of_a_person(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "init", "stays", "--from", str(files / "public.csv"), "--into", str(tmp_path), "--unit", "potilas:3"
    assert said_by(monkeypatch, capsys, *words)[0] == 0
    config = tmp_path / "configs" / "stays.toml"
    total = synthrelease.plan(config).total.epsilon
    code, said = said_by(monkeypatch, capsys, "plan", str(config))
    assert code == 0
    assert f"together are protected with epsilon = {decimal_text(3 * total)}" in " ".join(said.split())
