"""The files of a bundle as they are on the disk: checksums and signature."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from synthrelease.errors import InputError
from synthrelease.published import signatures
from synthrelease.published.checksums import NAME, checksum_file, read_checksums
from synthrelease.published.files import HELD, Files, OnDisk
from synthrelease.verification.checks import Check

MAX_BYTES = 4_000_000_000
Earlier = tuple[Path, Files]
"""Another release: its folder, and its files by name."""


def read_files(folder: Path) -> Files:
    """Every file: a small one as its content, a large one read once for its checksum.

    Raises
    ------
    InputError : when this is no folder, holds anything but plain files, or cannot be read.
    """
    problem, contents = "", {}
    if not folder.is_dir():
        problem = "expected the folder of a release, found none"
    else:
        try:
            entries = sorted(folder.iterdir())
            odd = [entry.name for entry in entries if entry.is_symlink() or not entry.is_file()]
            if odd:
                problem = f"expected plain files only, found {odd[0]!r}"
            elif sum(entry.stat().st_size for entry in entries) > MAX_BYTES:
                problem = "expected files of at most 4 GB in all, found larger ones"
            else:
                contents = {
                    entry.name: OnDisk.of(entry) if entry.stat().st_size > HELD else entry.read_bytes() for entry in entries
                }
        except OSError as error:
            problem = f"expected files that can be read, found one that cannot ({error.strerror})"
    if problem:
        raise InputError(f"{folder}: {problem}.")
    return Files(contents)


def check_unchanged(folder: Path, files: Files) -> None:
    """Raises InputError when somebody changed a file that was read more than once."""
    for name in files.changed():
        raise InputError(
            f"{folder}: expected files that stay as they are while they are looked at, found that {name} was changed."
        )


def checksums(files: Files) -> Check:
    """Every file is listed in SHA256SUMS with its checksum, and every listed file is there."""
    name = "checksums"
    listed = read_checksums(files[NAME]) if NAME in files else None
    if listed is None:
        return Check(name=name, problems=(f"{NAME}: expected a line with checksum and name for each file, found no such file",))
    present = set(files) - {NAME, signatures.SIGNATURE}
    problems = [f"{missing}: listed in {NAME}, but not there" for missing in sorted(set(listed) - present)]
    problems += [f"{extra}: there, but not listed in {NAME}" for extra in sorted(present - set(listed))]
    changed = [file for file in sorted(present & set(listed)) if files.sha256(file) != listed[file]]
    problems += [f"{file}: its checksum is not the one in {NAME}" for file in changed]
    if not problems and files[NAME] != checksum_file(files.of(present)):
        problems = [f"{NAME}: expected the layout in which it was written, found another"]
    return Check(name=name, found=f"{len(present)} files as listed", problems=tuple(problems))


def check_from_elsewhere(path: Path, folders: Sequence[Path], what: str) -> None:
    """Raise InputError for a key or a commitment in a folder that it should vouch for: whoever made the folder chose it.

    A link into the folder is refused, too; a copy cannot be told from the publisher's own.
    """
    for folder in folders:
        if path.exists() and any(path.samefile(file) for file in folder.iterdir() if file.exists()):
            raise InputError(
                f"{path}: expected {what} from a source other than the folder that is checked, found a file in {folder}. "
                "Whoever made the folder put it there. Fetch it from the publisher's own page or gazette."
            )


@dataclass(frozen=True, kw_only=True)
class Signature:
    """The check of the signature, and whose key it was."""

    check: Check
    signed_by: str | None


def signature(files: Files, public_key: Path | None) -> Signature:
    """SHA256SUMS was signed with the given key, or with the one in the bundle when none is given.

    Raises
    ------
    SigningError : when the given key cannot be read, or the library is missing for a bundle that is signed.
    """
    trusted = None if public_key is None else signatures.load_public_key(public_key)
    if trusted is None and signatures.SIGNATURE not in files and signatures.PUBLIC_KEY not in files:
        found = "nobody signed: nothing shows who made the files"
        return Signature(check=Check(name="signature", found=found, absent=True), signed_by=None)
    problems = tuple(_signature_problems(files, trusted))
    if problems:
        return Signature(check=Check(name="signature", problems=problems), signed_by=None)
    key = trusted or signatures.parse_public_key(files[signatures.PUBLIC_KEY])
    fingerprint = "" if key is None else signatures.fingerprint(key)
    found = "by the given key" if trusted else "by the key in the bundle: compare its fingerprint with the publisher's"
    return Signature(check=Check(name="signature", found=f"{found}, {fingerprint}"), signed_by=fingerprint)


def _signature_problems(files: Files, trusted: signatures.Ed25519PublicKey | None) -> Iterator[str]:
    for name in (signatures.SIGNATURE, signatures.PUBLIC_KEY):
        if name not in files:
            yield f"{name}: expected in a signed bundle, not there"
            return
    own = signatures.parse_public_key(files[signatures.PUBLIC_KEY])
    if own is None:
        yield f"{signatures.PUBLIC_KEY}: expected an Ed25519 public key in PEM, found something else"
        return
    if trusted is not None and signatures.public_pem(trusted) != signatures.public_pem(own):
        yield f"{signatures.PUBLIC_KEY}: is not the given key"
    if not signatures.is_signed(files.get(NAME, b""), files[signatures.SIGNATURE], trusted or own):
        yield f"{signatures.SIGNATURE}: is not a signature of {NAME} by this key"
