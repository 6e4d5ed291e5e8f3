"""Files of a bundle that stay on the disk are the same as those that are held, and what somebody changes meanwhile is found."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from synthrelease.bundle.write import new_folder
from synthrelease.errors import InputError, OutputError
from synthrelease.published.base import Files, OnDisk
from synthrelease.published.verify import checks as reading
from synthrelease.published.verify.checks import check_unchanged, read_files

CONTENTS = {"a": b"first\nsecond\n", "b": b""}


def on_disk(folder: Path) -> Files:
    for name, content in CONTENTS.items():
        (folder / name).write_bytes(content)
    return Files({name: OnDisk.of(folder / name) for name in CONTENTS})


def test_held_or_on_the_disk_they_are_the_same(tmp_path: Path) -> None:
    for files in (Files(CONTENTS), on_disk(tmp_path)):
        assert files == CONTENTS
        assert ("a" in files, "c" in files) == (True, False)
        assert [files.size(name) for name in ("a", "b", "c")] == [13, 0, 0]
        assert {name: files.sha256(name) for name in files} == {
            name: hashlib.sha256(content).hexdigest() for name, content in CONTENTS.items()
        }
        assert files | {"a": b"other"} == {"a": b"other", "b": b""}
        assert (files | {"a": b"other"}).sha256("a") == hashlib.sha256(b"other").hexdigest()


@pytest.mark.parametrize(
    ("pieces", "same"),
    [
        ([b"first\nsecond\n"], True), ([b"first", b"", b"\nsecond\n"], True), ([b"first\nsecond"], False),
        ([b"first\nsecond\n", b"third"], False), ([b"First\nsecond\n"], False), ([], False),
    ],
)  # fmt: skip
def test_a_file_holds_its_pieces_and_nothing_else(pieces: list[bytes], same: bool, tmp_path: Path) -> None:
    assert Files(CONTENTS).holds("a", pieces) == on_disk(tmp_path).holds("a", pieces) == same


def test_a_large_file_is_left_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_disk(tmp_path)
    monkeypatch.setattr(reading, "HELD", 5)
    found = read_files(tmp_path)
    assert found == CONTENTS
    assert [isinstance(found.content(name), OnDisk) for name in CONTENTS] == [True, False]


def test_a_file_that_is_changed_or_taken_away_meanwhile_is_named(tmp_path: Path) -> None:
    files = on_disk(tmp_path)
    check_unchanged(tmp_path, files)
    (tmp_path / "a").write_bytes(b"first\nSecond\n")
    with pytest.raises(InputError, match="somebody changed a during the check"):
        check_unchanged(tmp_path, files)
    files = on_disk(tmp_path)
    (tmp_path / "b").unlink()
    with pytest.raises(InputError, match="somebody changed b during the check"):
        check_unchanged(tmp_path, files)


def test_a_folder_whose_pieces_end_in_the_middle_is_not_there(tmp_path: Path) -> None:
    def pieces():
        yield b"a,b\n"
        raise OSError(28, "No space left on device")

    def broken():
        yield b"a,b\n"
        raise ValueError("a mistake")

    def write(failing) -> None:
        with new_folder(tmp_path / "out") as new:
            new.keep("whole", [b"x"])
            new.keep("data.csv", failing())

    for failing, error in ((pieces, OutputError), (broken, ValueError)):
        with pytest.raises(error):
            write(failing)
        assert list(tmp_path.iterdir()) == []


def test_the_checksum_of_what_is_written_in_pieces_is_that_of_the_file(tmp_path: Path) -> None:
    with new_folder(tmp_path / "out") as new:
        kept = new.keep("data.csv", [b"a,b\n", b"1,2\n"])
        new.seal(Files({"data.csv": kept, "release.json": b"{}"}))
    written = Files({path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()})
    assert written["data.csv"] == b"a,b\n1,2\n"
    expected = hashlib.sha256(b"a,b\n1,2\n").hexdigest()
    assert written["SHA256SUMS"].decode().splitlines()[0] == f"{expected}  data.csv"
