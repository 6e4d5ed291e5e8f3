"""The one way to spend: its order, what it refuses before and after the charge, and what it leaves as it was."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import threading
import warnings
import zipfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from pyarrow import csv, parquet

import synthrelease
from synthrelease import publish as room
from synthrelease.bundle.write import write_archive
from synthrelease.enclave.ingest import read_public
from synthrelease.errors import BudgetError, InputError, InternalError, Interrupted, OutputError, SynthreleaseError
from synthrelease.privacy.ledger import load_ledger, open_ledger
from synthrelease.privacy.plan import check_delta
from synthrelease.privacy.protection import core_limit, protected, set_core_limit
from synthrelease.publish import publish
from synthrelease.releasing.release import Release
from synthrelease.resources import file_digest
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.spec.requests import ReleaseRequest
from synthrelease.spec.shortlist import RehearsedTable, shortlist_text
from tests.helpers.tiny import EPSILON, NOT_PROMISED, write_config, write_data

pytestmark = pytest.mark.slow

SECRET = "SECRET-7461"
PRIVBAYES = 'family = "privbayes"\nflavour = "degree"\ndegree = 1\nepsilon_split = 0.5'
PRIOR = {PRIVBAYES: 'family = "marginals"\ntables = "face + year + 0 face:year"\nprior = "public.csv"'}


def spent(folder: Path) -> Fraction:
    """Epsilon in the ledger beside the output."""
    path = folder / "out.ledger"
    return Fraction(load_ledger(path).statement().epsilon) if path.exists() else Fraction(0)


def refused(folder: Path, kind: type[SynthreleaseError], **more: object) -> str:
    """The message of a release that is refused; nothing is published."""
    with pytest.raises(kind) as found:
        synthrelease.release(folder / "coins.toml", folder / "coins.csv", folder / "out", **more)  # type: ignore[arg-type]
    assert not (folder / "out").exists()
    return " ".join(str(found.value).split())


# --- A public file that is the private one


@pytest.mark.parametrize("how", ["copy", "hard link", "symbolic link"])
def test_a_prior_that_is_the_private_file_is_refused_before_the_charge(tmp_path: Path, how: str) -> None:
    """Its rows would be the released ones: 0 of 500 differed, at a printed epsilon of 0.004."""
    config, data = write_config(tmp_path, PRIOR), write_data(tmp_path)
    make: dict[str, Callable[[Path, Path], object]] = {
        "copy": shutil.copy, "hard link": os.link, "symbolic link": lambda a, b: b.symlink_to(a),
    }  # fmt: skip
    make[how](data, tmp_path / "public.csv")
    assert load_spec(config).priors
    assert "This file was also given as a public file: the prior 'public.csv'" in refused(tmp_path, InputError)
    assert spent(tmp_path) == 0


def test_a_prior_with_the_private_rows_in_another_order_is_refused_after_the_charge(tmp_path: Path) -> None:
    write_config(tmp_path, PRIOR)
    header, *rows = write_data(tmp_path).read_text().splitlines()
    (tmp_path / "public.csv").write_text("\n".join([header, *sorted(rows, reverse=True)]) + "\n")
    assert "Nothing was published. The whole planned budget counts as spent" in refused(tmp_path, BudgetError)
    assert spent(tmp_path) > 0


def test_such_a_prior_is_refused_too_where_rows_of_each_person_are_drawn(tmp_path: Path) -> None:
    """Each reading draws other rows, so all rows of both files are compared."""
    unit = {"limit = 25": 'limit = 25\n[unit]\nkey = "purse"\nfirst_by = "random"', "rows = 400\n": ""}
    write_config(tmp_path, PRIOR | unit)
    header, *rows = write_data(tmp_path).read_text().splitlines()
    keyed = [f"{header},purse", *(f"{row},{number % 200}" for number, row in enumerate(rows))]
    (tmp_path / "coins.csv").write_text("\n".join(keyed) + "\n")
    (tmp_path / "public.csv").write_text("\n".join([keyed[0], *sorted(keyed[1:], reverse=True)]) + "\n")
    assert "has the same rows as a table that should be public" in refused(tmp_path, BudgetError)


def test_a_prior_with_the_rows_of_the_private_table_of_a_database_is_refused_by_its_counts(tmp_path: Path) -> None:
    config, data = write_config(tmp_path, PRIOR), write_data(tmp_path)
    header, *rows = [line.split(",") for line in data.read_text().splitlines()]
    with closing(sqlite3.connect(tmp_path / "coins.sqlite")) as connection:
        connection.execute(f"CREATE TABLE coins ({', '.join(header)})")
        connection.executemany(f"INSERT INTO coins VALUES ({', '.join('?' for _ in header)})", rows)
        connection.commit()
    shutil.copy(data, tmp_path / "public.csv")
    for number, way in enumerate((tmp_path / "coins.sqlite", f"sqlite+pysqlite:///{tmp_path / 'coins.sqlite'}")):
        with pytest.raises(BudgetError, match="has the same rows as a table that should be public"):
            synthrelease.release(config, way, tmp_path / f"out{number}", table="coins")
    (tmp_path / "public.csv").write_text(data.read_text() + "head,1\n")
    found = synthrelease.release(config, tmp_path / "coins.sqlite", tmp_path / "released", table="coins")
    assert found is not None
    assert found.n_rows == 400


def test_a_folder_that_is_a_prior_is_refused_before_the_charge(tmp_path: Path) -> None:
    write_config(tmp_path, {PRIVBAYES: PRIOR[PRIVBAYES].replace("public.csv", "parts")})
    table = csv.read_csv(write_data(tmp_path))
    for name in ("parts", "copies"):
        (tmp_path / name).mkdir()
        for number in range(2):
            parquet.write_table(table.slice(200 * number, 200), tmp_path / name / f"{number}.parquet")
    for name in ("parts", "copies"):
        with pytest.raises(InputError, match="This file was also given as a public file: the prior 'parts'"):
            synthrelease.release(tmp_path / "coins.toml", tmp_path / name, tmp_path / "out")
    assert spent(tmp_path) == 0


def test_the_private_file_is_opened_before_the_charge_only_where_its_size_is_that_of_a_public_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_config(tmp_path, PRIOR)
    text = write_data(tmp_path).read_text()
    opened: list[Path] = []
    read_by = "synthrelease.enclave.ingest._digest_of_file"
    monkeypatch.setattr(read_by, lambda path: opened.append(Path(path)) or file_digest(path))
    for content, read in ((text.replace("head,1\n", "head,3\n", 1), True), (text + "head,1\n", False)):
        (tmp_path / "public.csv").write_text(content)
        opened.clear()
        synthrelease.release(tmp_path / "coins.toml", tmp_path / "coins.csv", tmp_path / f"out{read}")
        assert ((tmp_path / "coins.csv") in opened) is read
        assert (tmp_path / f"out{read}").exists()  # another file of the same size is no reason to refuse


def test_a_shortlist_that_was_rehearsed_on_the_private_file_is_refused(tmp_path: Path) -> None:
    config, data = write_config(tmp_path, NOT_PROMISED), write_data(tmp_path)
    synthrelease.rehearse(config, data, tmp_path / "trial", keep=1, copies=0, target=0.5, seed=1)
    shortlist = tmp_path / "trial" / "shortlist.toml"
    assert "This file was also given as a public file" in refused(tmp_path, InputError, shortlist=shortlist)
    assert spent(tmp_path) == 0
    data.write_text(data.read_text() + "tail,8\n")  # another file, but the row is left out
    assert "as a table that should be public" in refused(tmp_path, BudgetError, shortlist=shortlist)
    assert spent(tmp_path) == EPSILON


def test_an_older_shortlist_and_one_of_other_rows_are_taken(tmp_path: Path) -> None:
    config, data = write_config(tmp_path), write_data(tmp_path)
    spec = load_spec(config)
    found = read_public(data, spec.schema, spec.input, spec.raw)
    other = RehearsedTable(bytes=7, sha256="0" * 64, table="1" * 64)
    for number, known in enumerate((None, other)):
        shortlist = tmp_path / "shortlist.toml"
        shortlist.write_text(shortlist_text("Coins", [spec.space[0].describe()], known))
        assert synthrelease.release(config, data, tmp_path / f"out{number}", shortlist=shortlist) is not None
    assert found.digest() != other.table


# --- Delta


def with_delta(monkeypatch: pytest.MonkeyPatch, delta: Fraction) -> None:
    """Releases whose plan has this delta."""

    def changed(config: Path, trusted: tuple[str, ...] = ()) -> ReleaseSpec:
        spec = load_spec(config)
        spec.__dict__["plan"] = replace(spec.plan, total=replace(spec.plan.total, delta=delta))
        return spec

    monkeypatch.setattr(room, "load_spec", changed)


def test_a_delta_that_is_too_large_for_so_many_rows_is_refused_after_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_config(tmp_path)
    write_data(tmp_path)
    with_delta(monkeypatch, Fraction(1, 1000))  # of 400 rows
    assert "The whole planned budget counts as spent, and nothing was published" in refused(tmp_path, BudgetError)
    assert spent(tmp_path) == EPSILON


def test_a_delta_that_no_number_of_rows_allows_is_refused_before_the_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_config(tmp_path)
    write_data(tmp_path)
    with_delta(monkeypatch, Fraction(1, 9))
    assert "It should be far below 1 divided by the number of rows" in refused(tmp_path, BudgetError)
    assert spent(tmp_path) == 0
    check_delta(Fraction(1, 10), 1)


# --- Order, once


def test_everything_is_done_once_and_in_this_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, data = write_config(tmp_path, PRIOR), write_data(tmp_path)
    (tmp_path / "public.csv").write_text("face,year\nhead,1\ntail,5\n")
    seen: list[str] = []

    def spied(target: str) -> None:
        module, name = target.rsplit(".", 1)
        real = getattr(sys.modules[module], name)
        monkeypatch.setattr(target, lambda *args, **options: seen.append(name) or real(*args, **options))

    for target in (
        "publish.load_spec", "publish.preview", "releasing.attempt.read_public", "publish.dry_run",
        "publish.reserve_for_release", "releasing.release.ingest", "publish.write_bundle",
    ):  # fmt: skip
        spied(f"synthrelease.{target}")
    check = synthrelease.privacy.plan.Plan.check_limit
    monkeypatch.setattr(synthrelease.privacy.plan.Plan, "check_limit", lambda *args: seen.append("check_limit") or check(*args))
    assert synthrelease.release(config, data, tmp_path / "out") is not None
    assert seen == [
        "load_spec", "preview", "check_limit", "read_public", "dry_run", "reserve_for_release", "ingest", "write_bundle",
    ]  # fmt: skip


def test_the_domain_of_an_exact_number_of_rows_reaches_the_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, data = write_config(tmp_path), write_data(tmp_path)
    open_ledger(tmp_path / "coins.ledger", "coins", 100)

    def on(domain: str | None) -> Callable[[Path], ReleaseSpec]:
        def changed(path: Path, trusted: tuple[str, ...] = ()) -> ReleaseSpec:
            spec = load_spec(path)
            object.__setattr__(spec, "exact_domain", domain)
            return spec

        return changed

    for number, domain in enumerate(("1f" * 32, None)):
        monkeypatch.setattr(room, "load_spec", on(domain))
        assert synthrelease.release(config, data, tmp_path / f"out{number}", ledger=tmp_path / "coins.ledger") is not None
    monkeypatch.setattr(room, "load_spec", on("2e" * 32))
    assert "an exact count of people" in refused(tmp_path, BudgetError, ledger=tmp_path / "coins.ledger")
    entries = load_ledger(tmp_path / "coins.ledger").statement().entries
    assert [entry.domain for entry in entries] == ["1f" * 32, None]


# --- What protects private data, also in a notebook


def state() -> tuple[object, ...]:
    return sys.excepthook, sys.unraisablehook, threading.excepthook, os.environ.get("PYTHONWARNINGS"), core_limit()


@pytest.mark.parametrize("ending", ["a release", "nothing", "an error", "Ctrl-C"])
def test_a_call_from_python_is_protected_and_leaves_everything_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    write_config(tmp_path)
    write_data(tmp_path)
    run, within = room.release, []

    def spied(*args: object, **options: object) -> Release | None:
        within.append((state(), list(warnings.filters)[0][0]))
        if ending == "nothing":
            return None
        if ending == "an error":
            raise ValueError(SECRET)
        if ending == "Ctrl-C":
            raise KeyboardInterrupt(SECRET)
        return run(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(room, "release", spied)
    limit, highest = core_limit(), 4096 if sys.platform != "win32" else 0
    set_core_limit(highest)
    before, filters = state(), list(warnings.filters)
    try:
        if ending in ("an error", "Ctrl-C"):
            kind = InternalError if ending == "an error" else Interrupted
            with pytest.raises(kind) as found:
                synthrelease.release(tmp_path / "coins.toml", tmp_path / "coins.csv", tmp_path / "out")
            assert SECRET not in str(found.value)
            assert (found.value.__cause__, found.value.__context__) == (None, None)
        else:
            synthrelease.release(tmp_path / "coins.toml", tmp_path / "coins.csv", tmp_path / "out")
        assert state() == before
        assert list(warnings.filters) == filters
    finally:
        set_core_limit(limit)
    [((*hooks, told, core), first)] = within
    assert all(hook.__module__ == "synthrelease.privacy.protection" for hook in hooks)
    assert (told, core, first) == ("ignore", 0, "ignore")
    assert spent(tmp_path) == EPSILON


def test_a_message_is_not_shown_while_protected(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise ValueError(SECRET)

    with protected():
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
    shown = capsys.readouterr().err
    assert "ValueError at test_publish.py" in shown
    assert SECRET not in shown


def test_a_function_signs_as_the_command_does(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    from synthrelease.bundle.verify import verify_bundle
    from synthrelease.bundle.write import make_key

    write_config(tmp_path)
    (tmp_path / "password").write_text("coins\n")
    make_key(tmp_path / "key", b"coins")
    data, password = write_data(tmp_path), tmp_path / "password"
    assert "this key is encrypted. Give its password" in refused(tmp_path, SynthreleaseError, sign=tmp_path / "key")
    assert spent(tmp_path) == 0
    synthrelease.release(tmp_path / "coins.toml", data, tmp_path / "out", sign=tmp_path / "key", password_file=password)
    assert verify_bundle(tmp_path / "out", tmp_path / "key.pub").passed


# --- Ledgers nearby


def test_other_ledgers_nearby_are_told_of_where_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    config, data, out = write_config(tmp_path), write_data(tmp_path / "private"), tmp_path / "out"
    request = ReleaseRequest(config=config, data=data, out=out)
    assert room.ledgers_near(request) == ()
    places = [tmp_path / "beside.ledger", tmp_path / "private" / "data.ledger", tmp_path / "work" / "here.ledger"]
    for place in places:
        open_ledger(place, "coins", 100)
    open_ledger(tmp_path / "out.ledger", "Coins", 100)  # its own
    assert set(room.ledgers_near(request)) == set(places)
    with pytest.warns(UserWarning, match=r"there are ledgers nearby.*beside\.ledger.*data\.ledger.*here\.ledger"):
        assert synthrelease.release(config, data, out) is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert synthrelease.release(config, data, tmp_path / "more", ledger=places[0], unrehearsed=True) is not None


def test_a_file_that_does_not_fit_is_said_to_have_cost_the_budget(tmp_path: Path) -> None:
    config, data = write_config(tmp_path, {"[input]": '[input]\nmissing = "error"'}), write_data(tmp_path)
    open_ledger(tmp_path / "coins.ledger", "coins", 100)
    for text in ("face,year\nhead,1\n", "face,year\n" + "head,old\n" * 500, "face,year\nhead\n"):
        data.write_text(text)
        with pytest.raises(InputError, match="The whole planned budget counts as spent") as caught:
            synthrelease.release(config, data, tmp_path / "out", ledger=tmp_path / "coins.ledger")
        assert (caught.value.__cause__, caught.value.__context__) == (None, None)


# --- The archive


def test_the_archive_of_a_folder_is_the_same_bytes_and_tells_no_time(tmp_path: Path) -> None:
    folder = tmp_path / "release"
    folder.mkdir()
    for name, times in (("b.csv", 300), ("README.html", 100), ("a.csv", 500)):  # by size they stand in another order
        (folder / name).write_text(name * times)
    first = write_archive(folder, tmp_path / "first.zip").read_bytes()
    os.utime(folder / "a.csv")
    (folder / "b.csv").chmod(0o644)
    assert write_archive(folder, tmp_path / "second.zip").read_bytes() == first
    with zipfile.ZipFile(tmp_path / "first.zip") as archive:
        found = archive.infolist()
        assert [entry.filename for entry in found] == ["release/README.html", "release/a.csv", "release/b.csv"]
        assert {(entry.date_time, entry.external_attr >> 16, entry.extra, entry.comment) for entry in found} == {
            ((1980, 1, 1, 0, 0, 0), 0o100600, b"", b"")
        }
        assert archive.read("release/a.csv") == b"a.csv" * 500
    if sys.platform != "win32":
        assert (tmp_path / "first.zip").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "first.zip").stat().st_mtime == 315_532_800
    assert {path.name for path in tmp_path.iterdir()} == {"release", "first.zip", "second.zip"}


@pytest.mark.parametrize(
    ("name", "problem"),
    [("taken.zip", "exists already"), ("out/out.zip", "must be outside the released folder"),
     ("out.tar", "must end with .zip"), ("absent/out.zip", "Create it, or choose another folder")],
)  # fmt: skip
def test_an_archive_that_cannot_be_written_costs_nothing(tmp_path: Path, name: str, problem: str) -> None:
    write_config(tmp_path)
    write_data(tmp_path)
    (tmp_path / "taken.zip").touch()
    assert problem in refused(tmp_path, OutputError, archive=tmp_path / name)
    assert spent(tmp_path) == 0


def test_a_release_comes_with_its_archive(tmp_path: Path) -> None:
    write_config(tmp_path)
    write_data(tmp_path)
    request = ReleaseRequest(
        config=tmp_path / "coins.toml", data=tmp_path / "coins.csv", out=tmp_path / "out", archive=tmp_path / "coins.zip"
    )
    published = publish(request)
    assert published is not None
    assert published.archive == tmp_path / "coins.zip"
    with zipfile.ZipFile(published.archive) as archive:
        files = {path.name: path.read_bytes() for path in published.folder.iterdir()}
        assert {name.removeprefix("out/"): archive.read(name) for name in archive.namelist()} == files
