"""Define the results of a verification, and check the checksums and the signature of a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from synthrelease.errors import InputError, so_many
from synthrelease.published.base import (
    CHECKSUMS,
    HELD,
    PUBLIC_KEY,
    SIGNATURE,
    Files,
    OnDisk,
    checksum_file,
    fingerprint,
    is_signed,
    load_public_key,
    parse_public_key,
    public_pem,
    read_checksums,
)

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


@dataclass(frozen=True, kw_only=True)
class Check:
    """The result of one check.

    Attributes
    ----------
    found : a line that states the result of the check, if there are no problems.
    problems : one message for each problem, or empty if the check passed.
    made : False if the check was not run, because an earlier check failed.
    limits : sentences on what could not be checked in this bundle.
    absent : whether there is nothing to check, for example because the bundle has no signature. Such a check proves
        nothing.
    unknown : whether the check needs a package that is not installed or trusted here. Such a check proves nothing.
    """

    name: str
    found: str = ""
    problems: tuple[str, ...] = ()
    made: bool = True
    absent: bool = False
    unknown: bool = False
    limits: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.made and not self.problems and not self.unknown

    @property
    def mark(self) -> str:
        if self.unknown:
            return "not known here"
        return "not made" if not self.made else "PROBLEM" if self.problems else "none" if self.absent else "ok"


def made(name: str, check: Callable[[], Check]) -> Check:
    """Run a check. An error in it becomes a problem, because anybody may have written release.json."""
    try:
        return check()
    except Exception as error:
        return Check(name=name, problems=(f"release.json: some values cannot be checked ({type(error).__name__})",))


@dataclass(frozen=True, kw_only=True)
class Report:
    """The result of verifying a bundle.

    Attributes
    ----------
    signed_by : the fingerprint of the key that signed the bundle, or None.
    key_given : whether that key came from a source other than the bundle.
    commitment : sentences on the comparison with a commitment, or empty if no commitment was given.
    committed : whether the commitment covers the specification.
    beyond : statements that nobody can check without the private file.
    left_out : parts of the verification that the caller left out.
    """

    checks: tuple[Check, ...]
    signed_by: str | None
    key_given: bool = False
    commitment: str = ""
    committed: bool = False
    beyond: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    @property
    def unknown(self) -> bool:
        """Whether the result is open: no check found a problem, but some need a package that is not installed or trusted
        here.
        """
        return not self.passed and all(check.passed or check.unknown for check in self.checks)

    @property
    def vouched_for(self) -> bool:
        """Whether evidence from outside the bundle confirms it: a key that shows who made it, or a commitment made before
        the run.
        """
        return self.committed or (self.signed_by is not None and self.key_given)

    @property
    def closing(self) -> str:
        """The closing sentences of a verification without problems: what it shows, and what it does not show."""
        how_far = f" ({' and '.join(self.left_out)} not checked)" if self.left_out else ""
        limits = [limit for check in self.checks for limit in check.limits]
        sentences = (f"The files fit together{how_far}.", *limits, self._signature, self.commitment, self._unknown)
        return " ".join(filter(None, sentences))

    @property
    def _signature(self) -> str:
        if self.signed_by is None:
            return "Nobody signed the files."
        if self.key_given:
            return f"The key that you gave signed the files. Its owner vouches for them. Its fingerprint: {self.signed_by}."
        return (
            "The key in the folder signed the files. The signature shows who made the files only if the publisher has "
            f"announced the fingerprint of this key: {self.signed_by}."
        )

    @property
    def _unknown(self) -> str:
        """A sentence about what remains open for a bundle without a signature, or ""."""
        if self.signed_by is not None:
            return ""
        if self.commitment:
            return "A commitment does not cover rows and results. Anybody with the specification could have made these files."
        return (
            "No commitment was given. Anybody with this program could have made such files. So the checks do not show who "
            "made them, or that there was a private file."
        )


# The files of a bundle on the disk: checksums and signature.

MAX_BYTES = 4_000_000_000
Earlier = tuple[Path, Files]
"""Another release: its folder, and its files by name."""


def read_files(folder: Path) -> Files:
    """Return all files of a folder: small files with their content, large files with their checksum.

    Raises
    ------
    InputError : when the path is not a folder, the folder has other entries than plain files or more than 4 GB, or a file
        cannot be read.
    """
    problem, contents = "", {}
    if not folder.is_dir():
        problem = "there is no such folder"
    else:
        try:
            entries = sorted(folder.iterdir())
            odd = [entry.name for entry in entries if entry.is_symlink() or not entry.is_file()]
            if odd:
                problem = f"{odd[0]!r} is not a plain file. The folder of a release has plain files only"
            elif sum(entry.stat().st_size for entry in entries) > MAX_BYTES:
                problem = "the files of this folder have more than 4 GB, which is too much"
            else:
                contents = {file.name: OnDisk.of(file) if file.stat().st_size > HELD else file.read_bytes() for file in entries}
        except OSError as error:
            problem = f"a file cannot be read ({error.strerror})"
    if problem:
        raise InputError(f"{folder}: {problem}.")
    return Files(contents)


def check_unchanged(folder: Path, files: Files) -> None:
    for name in files.changed():
        raise InputError(f"{folder}: somebody changed {name} during the check. Run the check again.")


def checksums(files: Files) -> Check:
    """Check that SHA256SUMS lists every file with its checksum, and that every listed file exists."""
    name = "checksums"
    listed = read_checksums(files[CHECKSUMS]) if CHECKSUMS in files else None
    if listed is None:
        return Check(name=name, problems=(f"{CHECKSUMS}: this file is missing, or its lines are not checksums with names",))
    present = set(files) - {CHECKSUMS, SIGNATURE}
    problems = [f"{missing}: {CHECKSUMS} lists this file, but the folder lacks it" for missing in sorted(set(listed) - present)]
    problems += [f"{extra}: {CHECKSUMS} does not list this file of the folder" for extra in sorted(present - set(listed))]
    changed = [file for file in sorted(present & set(listed)) if files.sha256(file) != listed[file]]
    problems += [f"{file}: the checksum of this file is not the checksum in {CHECKSUMS}" for file in changed]
    if not problems and files[CHECKSUMS] != checksum_file(files.of(present)):
        problems = [f"{CHECKSUMS}: this file does not have the layout that synthrelease writes"]
    return Check(name=name, found=f"{so_many(len(present), 'file')} as listed", problems=tuple(problems))


def check_from_elsewhere(path: Path, folders: Sequence[Path], role: str) -> None:
    """Refuse a key or commitment in the folder that it is meant to confirm, where the maker of the folder could have put
    it.

    A link into the folder is refused, too. A copy of a file in the folder cannot be recognised.

    Parameters
    ----------
    role : what the file is, such as "a commitment", for the message.

    Raises
    ------
    InputError : if the file lies in one of the folders, or is a link to a file there.
    """
    for folder in folders:
        if path.exists() and any(path.samefile(file) for file in folder.iterdir() if file.exists()):
            raise InputError(
                f"{path}: {role} must come from outside the folder {folder} that is checked, because whoever made the folder "
                "could have put this file there. Fetch it from the publisher's own page or gazette."
            )


@dataclass(frozen=True, kw_only=True)
class Signature:
    """The result of checking the signature, and the fingerprint of the key that signed."""

    check: Check
    signed_by: str | None


def signature(files: Files, public_key: Path | None) -> Signature:
    """Check that SHA256SUMS was signed with the given key or, without a key, with the key in the bundle.

    Raises
    ------
    SigningError : when the given key cannot be read, or the library is missing for a bundle that is signed.
    """
    trusted = None if public_key is None else load_public_key(public_key)
    if trusted is None and SIGNATURE not in files and PUBLIC_KEY not in files:
        summary = "nobody signed the files, so nothing shows who made them"
        return Signature(check=Check(name="signature", found=summary, absent=True), signed_by=None)
    problems = tuple(_signature_problems(files, trusted))
    if problems:
        return Signature(check=Check(name="signature", problems=problems), signed_by=None)
    key = trusted or parse_public_key(files[PUBLIC_KEY])
    signed_by = "" if key is None else fingerprint(key)
    summary = f"the {'given key' if trusted else 'key in the folder'} signed the files. Its fingerprint is {signed_by}"
    summary += "" if trusted else ". Compare it with the fingerprint that the publisher announced"
    return Signature(check=Check(name="signature", found=summary), signed_by=signed_by)


def _signature_problems(files: Files, trusted: Ed25519PublicKey | None) -> Iterator[str]:
    for name in (SIGNATURE, PUBLIC_KEY):
        if name not in files:
            yield f"{name}: this file of a signed release is missing"
            return
    in_bundle = parse_public_key(files[PUBLIC_KEY])
    if in_bundle is None:
        yield f"{PUBLIC_KEY}: this file is not an Ed25519 public key in PEM"
        return
    if trusted is not None and public_pem(trusted) != public_pem(in_bundle):
        yield f"{PUBLIC_KEY}: this key is not the given key"
    if not is_signed(files.get(CHECKSUMS, b""), files[SIGNATURE], trusted or in_bundle):
        yield f"{SIGNATURE}: this file is not a signature of {CHECKSUMS} by this key"
