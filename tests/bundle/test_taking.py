"""A name is taken by one run alone, whatever comes between; what a dead run left is removed, and nothing else is."""

from __future__ import annotations

import errno
import multiprocessing
import os
import platform
import signal
import stat
import sys
import threading
from pathlib import Path

import pytest

from synthrelease.bundle import write
from synthrelease.bundle.write import WRITER, keep_space, killed_runs, new_file, taking, write_folder
from synthrelease.errors import OutputError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no locks of folders: nothing is removed there")

FORK = multiprocessing.get_context("fork") if sys.platform != "win32" else multiprocessing.get_context()
"""Other processes that import nothing anew; as daemons, they end with this one where a test fails."""


def _takes(out: Path, taken: multiprocessing.synchronize.Event, ends: multiprocessing.synchronize.Event) -> None:
    with taking(out) as place:
        (place / "content").mkdir()
        (place / "content" / "data.csv").write_text("face")
        taken.set()
        ends.wait()


def started(out: Path) -> tuple[multiprocessing.process.BaseProcess, multiprocessing.synchronize.Event]:
    """Another process that has taken the name and waits, and what lets it end."""
    taken, ends = FORK.Event(), FORK.Event()
    run = FORK.Process(target=_takes, args=(out, taken, ends), daemon=True)
    run.start()
    assert taken.wait(60)
    return run, ends


def killed(out: Path) -> Path:
    """What a run leaves that was killed while it wrote."""
    run, _ = started(out)
    run.kill()
    run.join()
    place = out.parent / f".{out.name}.partial"
    assert sorted(each.name for each in place.iterdir()) == ["content", WRITER]
    return place


@pytest.mark.slow
def test_a_name_that_another_run_has_taken_is_refused_and_its_files_stay(tmp_path: Path) -> None:
    run, ends = started(tmp_path / "out")
    place = tmp_path / ".out.partial"
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    with pytest.raises(OutputError) as caught, taking(tmp_path / "out"):
        pass
    assert "another run uses this name." in str(caught.value)
    assert str(caught.value).endswith(f"If no run is active, remove {place}. Nothing was spent.")
    with taking(tmp_path / "other"):  # which looks for what dead runs left, and finds it
        pass
    assert (place / "content" / "data.csv").exists()
    ends.set()
    run.join()
    assert run.exitcode == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("following", ["out", "another"])
def test_what_a_killed_run_left_is_removed_by_the_next_one(tmp_path: Path, following: str) -> None:
    place = killed(tmp_path / "out")
    with taking(tmp_path / following) as own:
        assert not (place / "content").exists()
        assert [each.name for each in own.iterdir()] == [WRITER]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("how", ["another machine", "another program", "without a mark", "a file", "a link"])
def test_what_is_not_surely_that_of_a_dead_run_stays(tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / ".out.partial"
    if how == "a file":
        place.write_text("mine")
    elif how == "a link":
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "mine").write_text("mine")
        place.symlink_to("elsewhere")
    else:
        killed(tmp_path / "out")
        if how == "another machine":
            monkeypatch.setattr(platform, "node", lambda: "another")
        elif how == "another program":
            (place / WRITER).write_text("firefox")
        else:
            (place / WRITER).unlink()
    assert list(killed_runs(tmp_path)) == []
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    with pytest.raises(OutputError, match="another run uses this name"), taking(tmp_path / "out"):
        pass
    with taking(tmp_path / "other"):
        pass
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before


def test_a_file_of_a_process_that_is_killed_is_absent_and_the_next_run_tells_of_it(tmp_path: Path) -> None:
    """A process killed with half of the file on the disk, and another one killed when the file had its name."""
    path = tmp_path / "rows.csv"
    for named in (False, True):
        if not (child := os.fork()):
            with new_file(path) as file:
                file.write(b"face\ntail\n")
                file.flush()
                if not named:
                    os.kill(os.getpid(), signal.SIGKILL)
                os.close = lambda _: os.kill(os.getpid(), signal.SIGKILL)  # the first folder is closed after the name is given
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        assert (path.exists(), (tmp_path / ".rows.csv.partial").exists()) == (named, True)
        [told] = killed_runs(tmp_path)
        assert f"An earlier run was killed {'after' if named else 'before'} {path} was complete" in told
        assert ("If the ledger lists this run, its budget is spent." in told) is not named
    with new_file(tmp_path / "next.csv"):
        assert list(killed_runs(tmp_path)) == []  # the run that lives is not told of
    assert {each.name for each in tmp_path.iterdir()} == {"rows.csv", "next.csv"}
    assert path.read_bytes() == b"face\ntail\n"


def test_only_a_run_that_spends_removes_what_a_killed_run_that_spends_left(tmp_path: Path) -> None:
    """Otherwise a commitment or rows written into the same folder would take away the notice of the charge."""
    if not (child := os.fork()):
        with taking(tmp_path / "out", spends=True):
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(1)
    os.waitpid(child, 0)
    [told] = killed_runs(tmp_path)
    with new_file(tmp_path / "rows.csv"):
        assert list(killed_runs(tmp_path)) == [told]
    with pytest.raises(OutputError, match="another run uses this name"), new_file(tmp_path / "out"):
        pass
    assert list(killed_runs(tmp_path)) == [told]
    with taking(tmp_path / "next", spends=True):
        assert list(killed_runs(tmp_path)) == []


def test_a_release_is_on_the_disk_before_and_after_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a machine that stops may keep the charge, and the name of the release without its files."""
    seen, out = list[tuple[int, bool]](), tmp_path / "out"
    monkeypatch.setattr(os, "fsync", lambda descriptor: seen.append((os.fstat(descriptor).st_ino, out.exists())))
    write_folder({"data.csv": b"face"}, out)
    before = [(path.stat().st_ino, False) for path in (out / "data.csv", out / "SHA256SUMS", out)]
    assert seen == [*before, (tmp_path.stat().st_ino, True)]


def test_a_folder_that_cannot_be_synced_is_written_nevertheless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some network file systems refuse it, and the release is paid for."""
    sync = os.fsync

    def refused(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", refused)
    write_folder({"data.csv": b"face"}, tmp_path / "out")
    assert (tmp_path / "out" / "data.csv").read_bytes() == b"face"


@pytest.mark.parametrize("links", [True, False])
def test_a_new_file_is_on_the_disk_and_replaces_no_file_that_came_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    synced, sync = list[int](), os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (synced.append(os.fstat(descriptor).st_ino), sync(descriptor)))
    if not links:
        monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(PermissionError(errno.EPERM, "no hard links")))
    with new_file(tmp_path / "one.csv") as file:
        file.write(b"ours")
    assert (tmp_path / "one.csv").stat().st_ino in synced
    assert [path.name for path in tmp_path.iterdir()] == ["one.csv"]
    check = write.check_free_name

    def then_theirs(path: Path) -> Path:
        """Another program writes the file between the last check and the new name."""
        found = check(path)
        if (tmp_path / ".two.csv.partial" / write.CONTENT).exists():
            path.write_bytes(b"theirs")
        return found

    monkeypatch.setattr(write, "check_free_name", then_theirs)
    if links:
        with pytest.raises(OutputError, match="Nothing was overwritten"), new_file(tmp_path / "two.csv") as file:
            file.write(b"ours")
        assert (tmp_path / "two.csv").read_bytes() == b"theirs"


def test_a_run_that_was_killed_between_making_and_marking_its_folder_is_dead(tmp_path: Path) -> None:
    (tmp_path / ".out.partial").mkdir()
    with taking(tmp_path / "out"):
        pass
    assert list(tmp_path.iterdir()) == []


def _race(out: Path, start: multiprocessing.synchronize.Barrier, taken: multiprocessing.Queue[int]) -> None:
    start.wait()
    for number in range(60):
        try:
            with taking(out) as place:
                inside = place / "content"
                inside.mkdir()  # fails where another one is in there
                inside.rmdir()
                taken.put(1)
        except OutputError:
            taken.put(0)
        except OSError:
            taken.put(-1000 - number)


@pytest.mark.slow
def test_of_many_runs_one_has_the_name_at_a_time(tmp_path: Path) -> None:
    start, taken = FORK.Barrier(4), FORK.Queue()
    runs = [FORK.Process(target=_race, args=(tmp_path / "out", start, taken), daemon=True) for _ in range(4)]
    for run in runs:
        run.start()
    outcomes = [taken.get(timeout=60) for _ in range(4 * 60)]
    for run in runs:
        run.join()
    assert min(outcomes) == 0  # nobody found another one in there
    assert sum(outcomes) > 0
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_was_removed_and_made_anew_before_it_was_locked_is_not_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another run may take an empty folder for a dead one: the lock is then of a folder that has no name any more."""
    import fcntl

    lock, times = fcntl.flock, []

    def between(descriptor: int, how: int) -> None:
        if not times:
            (tmp_path / ".out.partial").rename(tmp_path / "removed")
            (tmp_path / ".out.partial").mkdir()
        times.append(1)
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", between)
    with taking(tmp_path / "out"):
        assert len(times) > 1
        with pytest.raises(OutputError, match="another run uses this name"), taking(tmp_path / "out"):
            pass


def test_threads_of_one_process_are_runs_of_their_own(tmp_path: Path) -> None:
    refused: list[str] = []

    def another() -> None:
        try:
            with taking(tmp_path / "out"):
                pass
        except OutputError as error:
            refused.append(str(error))

    with taking(tmp_path / "out"):
        thread = threading.Thread(target=another)
        thread.start()
        thread.join()
    assert len(refused) == 1


def test_a_folder_that_was_written_meanwhile_is_not_taken(tmp_path: Path) -> None:
    write_folder({"data.csv": b"face"}, tmp_path / "out")
    with pytest.raises(OutputError, match="Nothing was overwritten"), taking(tmp_path / "out"):
        pass
    assert [each.name for each in tmp_path.iterdir()] == ["out"]
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == ["SHA256SUMS", "data.csv"]


def test_more_space_than_there_is_is_refused_and_none_is_kept(tmp_path: Path) -> None:
    with taking(tmp_path / "out") as place:
        with pytest.raises(
            OutputError, match=r"need about [\d,]+\.\d MB of free space, but there is only [\d,]+\.\d MB\. Nothing was spent"
        ):
            keep_space(place, 2**60)
        assert [each.name for each in place.iterdir()] == [WRITER]


def test_a_quota_is_found_by_keeping_the_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, start: int, size: int) -> None:
        raise OSError(errno.EDQUOT, "quota")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with (
        taking(tmp_path / "out") as place,
        pytest.raises(OutputError, match="there is less, because of a quota. Nothing was spent"),
    ):
        keep_space(place, 1000)


def test_what_is_kept_is_there_for_the_files_and_gone_when_they_are_written(tmp_path: Path) -> None:
    with taking(tmp_path / "out") as place:
        keep_space(place, 100_000)
        assert (place / "space").stat().st_size == 100_000
        write_folder({"data.csv": b"face"}, tmp_path / "out", workspace=place)
        assert [each.name for each in place.iterdir()] == [WRITER]
    assert [each.name for each in tmp_path.iterdir()] == ["out"]
