"""Keys and signatures of releases."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="needs the extra sign")

from synthrelease.bundle.verify import verify_bundle, verify_files
from synthrelease.bundle.write import load_private_key, make_key, write_folder
from synthrelease.errors import InputError, OutputError
from synthrelease.published.base import SigningError, fingerprint, load_public_key
from tests.bundle.verify.test_verify import problems
from tests.helpers.cards import rich_bundle


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    make_key(folder / "mint", None)
    make_key(folder / "other", None)
    return folder


@pytest.fixture(scope="module")
def signed(keys: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    contents = {name: content for name, content in rich_bundle().items() if name != "SHA256SUMS"}
    return write_folder(contents, tmp_path_factory.mktemp("signed") / "bundle", load_private_key(keys / "mint", None))


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_signed_bundle_shows_whose_it_is(signed: Path, keys: Path) -> None:
    expected = fingerprint(load_public_key(keys / "mint.pub"))
    for key in (None, keys / "mint.pub"):
        report = verify_bundle(signed, key)
        assert report.passed, problems(report)
        assert report.signed_by == expected
    assert len(expected.replace(" ", "")) == 64


def test_the_key_that_lies_in_the_folder_vouches_for_nothing(signed: Path, tmp_path: Path) -> None:
    """Neither by its own name nor by another one; without it the closing sentence says whose key to compare."""
    link = tmp_path / "publisher.pub"
    link.symlink_to(signed / "public-key.pem")
    for key in (signed / "public-key.pem", signed / ".." / signed.name / "public-key.pem", link):
        with pytest.raises(InputError, match="the publisher's key must come from outside the folder"):
            verify_bundle(signed, key)
    assert not verify_bundle(signed, plan=False, documents=False).vouched_for


def test_the_closing_sentence_has_the_fingerprint_whoever_gave_the_key(signed: Path, keys: Path) -> None:
    expected = fingerprint(load_public_key(keys / "mint.pub"))
    for key in (None, keys / "mint.pub"):
        report = verify_bundle(signed, key, plan=False, documents=False)
        assert expected in report.closing
        assert report.vouched_for is (key is not None)
        assert next(check.mark for check in report.checks if check.name == "signature") == "ok"


def test_another_key_than_the_publishers_is_found(signed: Path, keys: Path) -> None:
    report = verify_bundle(signed, keys / "other.pub")
    assert not report.passed
    assert report.signed_by is None
    assert problems(report) == (
        "public-key.pem: this key is not the given key\nSHA256SUMS.sig: this file is not a signature of SHA256SUMS by this key"
    )


def test_a_forger_who_signs_with_a_key_of_his_own_is_found_by_the_publishers_key(keys: Path, tmp_path: Path) -> None:
    contents = {name: content for name, content in rich_bundle().items() if name != "SHA256SUMS"}
    folder = write_folder(contents, tmp_path / "forged", load_private_key(keys / "other", None))
    assert verify_bundle(folder).passed  # the bundle's own key proves nothing about the publisher
    assert not verify_bundle(folder, keys / "mint.pub").passed


def test_a_bundle_that_should_be_signed_and_is_not_is_found(signed: Path, keys: Path) -> None:
    assert not verify_files(rich_bundle(), keys / "mint.pub").passed
    for name in ("SHA256SUMS.sig", "public-key.pem"):
        rest = {other: content for other, content in files_of(signed).items() if other != name}
        assert f"{name}: this file of a signed release is missing" in problems(verify_files(rest))


@pytest.mark.parametrize("place", [0, 31, 63])
def test_a_bit_of_the_signature_that_is_turned_around_is_found(signed: Path, place: int) -> None:
    files = files_of(signed)
    broken = bytearray(files["SHA256SUMS.sig"])
    assert len(broken) == 64
    broken[place] ^= 1
    assert "this file is not a signature" in problems(verify_files(files | {"SHA256SUMS.sig": bytes(broken)}))


def test_files_that_are_changed_with_their_checksums_are_found_by_the_signature(signed: Path) -> None:
    from synthrelease.published.base import checksum_file

    files = files_of(signed)
    files["README.md"] += b"More.\n"
    rest = {name: content for name, content in files.items() if not name.startswith("SHA256SUMS")}
    report = verify_files(files | {"SHA256SUMS": checksum_file(rest)})
    assert "this file is not a signature of SHA256SUMS" in problems(report)


def test_openssl_checks_the_signature_too(signed: Path) -> None:
    try:
        command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "public-key.pem", "-rawin", "-in", "SHA256SUMS",
                   "-sigfile", "SHA256SUMS.sig"]  # fmt: skip
        result = subprocess.run(command, cwd=signed, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no openssl here")
    assert "Signature Verified Successfully" in result.stdout + result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no POSIX permissions")
def test_only_the_owner_may_read_a_private_key(keys: Path) -> None:
    assert stat.S_IMODE((keys / "mint").stat().st_mode) == 0o600


def test_a_key_with_a_password_opens_with_it_alone(tmp_path: Path) -> None:
    make_key(tmp_path / "key", b"sesame")
    assert b"ENCRYPTED" in (tmp_path / "key").read_bytes()
    assert load_private_key(tmp_path / "key", b"sesame")
    with pytest.raises(SigningError, match="this key is encrypted. Give its password"):
        load_private_key(tmp_path / "key", None)
    with pytest.raises(SigningError, match="or the password is wrong") as caught:
        load_private_key(tmp_path / "key", b"simsim")
    assert "simsim" not in str(caught.value)


def test_a_key_is_never_overwritten(keys: Path, tmp_path: Path) -> None:
    (tmp_path / "key.pub").write_text("mine")
    with pytest.raises(OutputError, match="Nothing was overwritten"):
        make_key(tmp_path / "key", None)
    assert not (tmp_path / "key").exists()


@pytest.mark.parametrize("content", [b"", b"secret", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
def test_a_file_that_is_no_key_is_told_without_its_content(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(content)
    for load in (lambda path: load_private_key(path, None), load_public_key):
        with pytest.raises(SigningError, match="is not an Ed25519") as caught:
            load(tmp_path / "key")
        assert "secret" not in str(caught.value)
    with pytest.raises(SigningError, match="Cannot read the key file"):
        load_public_key(tmp_path / "absent")
